// Operators that read or write along one dimension at the places an index tensor names: gather,
// scatter, index_*, take, put, embedding, and the searches that make such indices.
#include <ATen/core/Tensor.h>
#include <c10/core/WrapDimMinimal.h>

#include <numeric>
#include <string_view>

#include "dispatch/error.h"
#include "fake/known.h"
#include "fake/rule.h"
#include "fake/sizes.h"
#include "rules/copy.h"
#include "rules/factory.h"
#include "rules/iterator.h"
#include "rules/strict.h"

namespace massless {
namespace {

using c10::Scalar;
using c10::SymInt;
using c10::SymIntArrayRef;

bool is_index(const at::Tensor& t) {
  return t.scalar_type() == c10::kLong || t.scalar_type() == c10::kInt;
}

// A 0-dim tensor is taken as a vector of one element.
std::int64_t nonempty_dim(const at::Tensor& t) { return std::max<std::int64_t>(t.dim(), 1); }
SymInt nonempty_size(const at::Tensor& t, std::int64_t dim) {
  return t.dim() == 0 ? SymInt(1) : t.sym_sizes()[dim];
}

TensorSpec contiguous_as(const at::Tensor& self) {
  return contiguous_spec(self.sym_sizes(), self.scalar_type(), claimed_device(self));
}

TensorSpec gather_spec(const at::Tensor& self, std::int64_t dim, const at::Tensor& index, bool) {
  dim = c10::maybe_wrap_dim(dim, self.dim());
  const c10::Device device = same_device({self, index});
  if (!taken_as_empty(index)) {
    TORCH_CHECK(is_index(index), "gather(): Expected dtype int32/int64 for index");
    TORCH_CHECK(nonempty_dim(self) == nonempty_dim(index),
                "Index tensor must have the same number of dimensions as input tensor");
    for (std::int64_t i = 0; i < nonempty_dim(self); ++i) {
      TORCH_CHECK(i == dim || nonempty_size(index, i) <= nonempty_size(self, i),
                  "Size does not match at dimension ", i, " expected index ", index.sym_sizes(),
                  " to be no larger than self ", self.sym_sizes(), " apart from dimension ", dim);
    }
  }
  return contiguous_spec(index.sym_sizes(), self.scalar_type(), device);
}

// src: null where a number is scattered.
void check_scatter_shape(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                         const at::Tensor* src) {
  if (taken_as_empty(index)) {
    return;
  }
  TORCH_CHECK(nonempty_dim(self) == nonempty_dim(index),
              "Index tensor must have the same number of dimensions as self tensor");
  TORCH_CHECK(src == nullptr || nonempty_dim(*src) == nonempty_dim(index),
              "Index tensor must have the same number of dimensions as src tensor");
  for (std::int64_t i = 0; i < nonempty_dim(self); ++i) {
    const SymInt size = nonempty_size(index, i);
    TORCH_CHECK((i == dim || size <= nonempty_size(self, i)) &&
                    (src == nullptr || size <= nonempty_size(*src, i)),
                "Expected index ", index.sym_sizes(), " to be no larger than self ",
                self.sym_sizes(), " apart from dimension ", dim,
                src == nullptr ? "" : " and to be no larger size than src");
  }
}

TensorSpec scatter_checked(const char* name, const at::Tensor& self, std::int64_t dim,
                           const at::Tensor& index, const at::Tensor* src) {
  dim = c10::maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK(is_index(index) || is_empty(index), name, "(): Expected dtype int32/int64 for index");
  TORCH_CHECK(src == nullptr || src->scalar_type() == self.scalar_type(), name,
              "(): Expected self.dtype to be equal to src.dtype");
  (void)same_device({self, index, src == nullptr ? self : *src});
  check_scatter_shape(self, dim, index, src);
  return contiguous_as(self);
}

void check_reduce(std::string_view reduce) {
  TORCH_CHECK(reduce == "add" || reduce == "multiply",
              "reduce argument must be either add or multiply.");
}

TensorSpec scatter_src_spec(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                            const at::Tensor& src) {
  return scatter_checked("scatter", self, dim, index, &src);
}
TensorSpec scatter_value_spec(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                              const Scalar& value) {
  check_fill(self.scalar_type(), value);
  return scatter_checked("scatter", self, dim, index, nullptr);
}
TensorSpec scatter_reduce_spec(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                               const at::Tensor& src, c10::string_view reduce) {
  check_reduce(reduce);
  return scatter_checked("scatter", self, dim, index, &src);
}
TensorSpec scatter_value_reduce_spec(const at::Tensor& self, std::int64_t dim,
                                     const at::Tensor& index, const Scalar& value,
                                     c10::string_view reduce) {
  check_reduce(reduce);
  check_fill(self.scalar_type(), value);
  return scatter_checked("scatter", self, dim, index, nullptr);
}
TensorSpec scatter_add_spec(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                            const at::Tensor& src) {
  return scatter_checked("scatter_add", self, dim, index, &src);
}

void check_reduce_name(std::string_view reduce) {
  TORCH_CHECK(reduce == "sum" || reduce == "prod" || reduce == "mean" || reduce == "amax" ||
                  reduce == "amin",
              "reduce argument must be either sum, prod, mean, amax or amin, got ", reduce);
}
TensorSpec scatter_reduce_two_spec(const at::Tensor& self, std::int64_t dim,
                                   const at::Tensor& index, const at::Tensor& src,
                                   c10::string_view reduce, bool) {
  check_reduce_name(reduce);
  return scatter_checked("scatter_reduce", self, dim, index, &src);
}

TensorSpec index_select_spec(const at::Tensor& self, std::int64_t dim, const at::Tensor& index) {
  TORCH_CHECK_INDEX(index.dim() <= 1, "index_select(): Index is supposed to be a vector");
  dim = c10::maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK(is_index(index), "index_select(): Expected dtype int32 or int64 for index");
  const c10::Device device = same_device({self, index});
  SymDimVector sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  if (sizes.empty()) {
    TORCH_CHECK(index.sym_numel() == 1,
                "index_select(): Index to scalar can have only 1 value, got ", index.sym_numel(),
                " value(s)");
  } else {
    TORCH_CHECK(sizes[dim] != 0 || is_empty(index),
                "index_select(): self indexing axis dim should be positive");
    sizes[dim] = index.sym_numel();
  }
  return contiguous_spec(sizes, self.scalar_type(), device);
}

// Unlike the others its kernel looks at the output as it was given, too.
at::Tensor& index_select_out(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                             at::Tensor& out) {
  check_no_internal_overlap(out);
  return out_disjoint<index_select_spec, false>(self, dim, index, out);
}

// index_add and index_reduce.
TensorSpec index_func_spec(const char* name, const at::Tensor& self, std::int64_t dim,
                           const at::Tensor& index, const at::Tensor& source) {
  dim = c10::maybe_wrap_dim(dim, self.dim());
  (void)same_device({self, index, source});
  TORCH_CHECK_INDEX(index.dim() <= 1, name,
                    "(): Index is supposed to be a vector, but got dim: ", index.dim());
  TORCH_CHECK(is_index(index), name,
              "(): Expected dtype int32/int64 for index but got: ", index.scalar_type());
  TORCH_CHECK(self.scalar_type() == source.scalar_type(), name, "(): self (", self.scalar_type(),
              ") and source (", source.scalar_type(), ") must have the same scalar type");
  TORCH_CHECK(dim == 0 || dim < source.dim(), name, "(): Indexing dim ", dim,
              " is out of bounds of the source tensor with dim ", source.dim());
  TORCH_CHECK(index.sym_numel() == nonempty_size(source, dim), name, "(): Number of indices (",
              index.sym_numel(), ") should be equal to source.size(dim): (",
              nonempty_size(source, dim), "), for dim: ", dim);
  bool same = self.dim() == source.dim();
  for (std::int64_t i = 0; same && i < self.dim(); ++i) {
    same = i == dim || self.sym_sizes()[i] == source.sym_sizes()[i];
  }
  TORCH_CHECK(same,
              "source tensor shape must match self tensor shape, excluding the specified "
              "dimension. Got self.shape = ",
              self.sym_sizes(), " source.shape = ", source.sym_sizes());
  return contiguous_as(self);
}

TensorSpec index_add_spec(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                          const at::Tensor& source, const Scalar&) {
  return index_func_spec("index_add_", self, dim, index, source);
}
TensorSpec index_reduce_spec(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                             const at::Tensor& source, c10::string_view reduce, bool) {
  TORCH_CHECK(reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
              "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ",
              reduce, ".");
  return index_func_spec("index_reduce_", self, dim, index, source);
}

void check_copied_slices(const at::Tensor& self, std::int64_t dim, const at::Tensor& source) {
  SymDimVector slice(self.sym_sizes().begin(), self.sym_sizes().end());
  SymDimVector source_slice(source.sym_sizes().begin(), source.sym_sizes().end());
  if (!slice.empty()) {
    slice.erase(slice.begin() + dim);
  }
  if (!source_slice.empty()) {
    source_slice.erase(source_slice.begin() + dim);
  }
  TORCH_CHECK(SymIntArrayRef(slice).equals(source_slice),
              "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
              "slice shape: ",
              SymIntArrayRef(slice), " at dimension ", dim,
              " and source slice shape: ", SymIntArrayRef(source_slice), " at dimension 0.");
}

TensorSpec index_copy_spec(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                           const at::Tensor& source) {
  dim = c10::maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK_INDEX(index.dim() < 2, "index_copy_(): Index should have dimension 1 or 0 (got ",
                    index.dim(), ")");
  TORCH_CHECK(self.scalar_type() == source.scalar_type(),
              "index_copy_(): self and source expected to have the same dtype, but got (self) ",
              self.scalar_type(), " and (source) ", source.scalar_type());
  TORCH_CHECK(index.scalar_type() == c10::kLong,
              "index_copy_(): Expected a long tensor for index, but got ", index.scalar_type());
  (void)same_device({self, index, source});
  const SymInt count = index.sym_numel();
  TORCH_CHECK_INDEX(source.dim() != 0 || count == 1,
                    "index_copy_(): When source is scalar, index should have one element (got ",
                    count, ")");
  TORCH_CHECK_INDEX(source.dim() == self.dim() || source.dim() == 0 || self.dim() == 0,
                    "index_copy_(): When source and destination are not scalars, their "
                    "dimensionality must match. Source dimensionality (",
                    source.dim(), "), destination dimensionality (", self.dim(), ")");
  check_copied_slices(self, dim, source);
  TORCH_CHECK_INDEX(source.dim() == 0 || count == source.sym_sizes()[dim],
                    "index_copy_(): Number of indices (", count,
                    ") should be equal to source.size(dim) (", nonempty_size(source, dim), ")");
  return contiguous_as(self);
}

void check_index_fill(const at::Tensor& self, std::int64_t dim, const at::Tensor& index) {
  TORCH_CHECK_INDEX(index.scalar_type() == c10::kLong,
                    "index_fill_(): Expected dtype int64 for index.");
  (void)c10::maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK(index.dim() <= 1, "Index has to be a vector/scalar");
  (void)same_device({self, index});
}
TensorSpec index_fill_scalar_spec(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                                  const Scalar& value) {
  check_index_fill(self, dim, index);
  TORCH_CHECK(self.is_complex() || !value.isComplex(),
              "index_fill_(): Converting complex Scalar to non-complex type is not supported");
  check_fill(self.scalar_type(), value);
  return empty_like_spec(self);
}
TensorSpec index_fill_tensor_spec(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                                  const at::Tensor& value) {
  TORCH_CHECK(value.dim() == 0,
              "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
              value.dim(), " dimension(s).");
  check_index_fill(self, dim, index);
  TORCH_CHECK(self.is_complex() || !value.is_complex(),
              "index_fill_(): Converting complex Scalar to non-complex type is not supported");
  return empty_like_spec(self);
}
at::Tensor& index_fill_scalar(at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                              const Scalar& value) {
  (void)index_fill_scalar_spec(self, dim, index, value);
  return self;  // an expanded self is deprecated, but taken
}
at::Tensor& index_fill_tensor(at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                              const at::Tensor& value) {
  (void)index_fill_tensor_spec(self, dim, index, value);
  return self;
}

TensorSpec take_spec(const at::Tensor& self, const at::Tensor& index) {
  TORCH_CHECK(index.scalar_type() == c10::kLong,
              "take(): Expected a long tensor for index, but got ", index.scalar_type());
  TORCH_CHECK_INDEX(!is_empty(self) || is_empty(index),
                    "take(): tried to take from an empty tensor");
  return contiguous_spec(index.sym_sizes(), self.scalar_type(), same_device({self, index}));
}

TensorSpec put_spec(const at::Tensor& self, const at::Tensor& index, const at::Tensor& source,
                    bool) {
  TORCH_CHECK(index.scalar_type() == c10::kLong,
              "put_(): Expected a long tensor for index, but got ", index.scalar_type());
  TORCH_CHECK(self.scalar_type() == source.scalar_type(),
              "put_(): self and source expected to have the same dtype, but got self.dtype = ",
              self.scalar_type(), " and source.dtype = ", source.scalar_type());
  TORCH_CHECK_INDEX(
      source.sym_numel() == index.sym_numel(),
      "put_(): Expected source and index to have the same number of elements, but got "
      "source.numel() = ",
      source.sym_numel(), ", index.numel() = ", index.sym_numel());
  TORCH_CHECK_INDEX(!is_empty(self) || is_empty(index),
                    "put_(): Tried to put elements into an empty tensor");
  (void)same_device({self, index, source});
  return empty_like_spec(self);
}
at::Tensor& put_inplace(at::Tensor& self, const at::Tensor& index, const at::Tensor& source,
                        bool accumulate) {
  (void)put_spec(self, index, source, accumulate);
  check_no_internal_overlap(self);
  check_disjoint(self, index);
  check_disjoint(self, source);
  return self;
}

void check_embedding_indices(const at::Tensor& indices, int position) {
  TORCH_CHECK(is_index(indices), "Expected tensor for argument #", position,
              " 'indices' to have one of the following scalar types: Long, Int; but got ",
              indices.toString(), " instead (while checking arguments for embedding)");
}
TensorSpec embedding_spec(const at::Tensor& weight, const at::Tensor& indices, SymInt, bool, bool) {
  TORCH_CHECK(weight.dim() == 2, "'weight' must be 2-D");
  check_embedding_indices(indices, 1);
  TORCH_CHECK(weight.sym_sizes()[0] != 0 || is_empty(indices),
              "index_select(): self indexing axis dim should be positive");
  SymDimVector sizes(indices.sym_sizes().begin(), indices.sym_sizes().end());
  sizes.push_back(weight.sym_sizes()[1]);
  return contiguous_spec(sizes, weight.scalar_type(), same_device({weight, indices}));
}
TensorSpec embedding_dense_backward_spec(const at::Tensor& grad, const at::Tensor& indices,
                                         SymInt count, SymInt, bool) {
  check_embedding_indices(indices, 2);
  const SymInt expected = indices.sym_numel() * grad.sym_sizes().back();
  TORCH_CHECK(required(grad.sym_numel().sym_eq(expected)), "shape '[", indices.sym_numel(), ", ",
              grad.sym_sizes().back(), "]' is invalid for input of size ", grad.sym_numel());
  return contiguous_spec({count, grad.sym_sizes().back()}, grad.scalar_type(),
                         same_device({grad, indices}));
}
at::Tensor& embedding_renorm_inplace(at::Tensor& self, const at::Tensor& indices, double, double) {
  TORCH_CHECK(self.dim() == 2, "Expected 2-dimensional tensor, but got ", self.dim(),
              "-dimensional tensor for argument #1 'self' (while checking arguments for "
              "embedding_renorm_)");
  check_embedding_indices(indices, 2);
  return self;
}

// The sum of known repeats.
std::int64_t sum_of_repeats(const at::Tensor& value) {
  const RealScope real;
  const at::Tensor counts = value.to(c10::kLong).contiguous();
  const auto* first = counts.const_data_ptr<std::int64_t>();
  TORCH_CHECK(std::all_of(first, first + counts.numel(), [](auto n) { return n >= 0; }),
              "repeats can not be negative");
  return std::accumulate(first, first + counts.numel(), std::int64_t{0});
}

// How many rows `repeat_interleave` makes is in the values, unless it is said.
TensorSpec repeat_interleave_spec(const at::Tensor& repeats, std::optional<SymInt> output_size) {
  TORCH_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  check_dtype("repeat_interleave_cpu", repeats.scalar_type(),
              dtype_bit(c10::kLong) | dtype_bit(c10::kInt), repeats.device());
  SymInt total = 0;
  if (repeats.sym_sizes()[0] == 0) {
    total = 0;
  } else if (output_size) {
    total = *output_size;
  } else if (const at::Tensor value = known_value(repeats); value.defined()) {
    total = sum_of_repeats(value);
  } else {
    raise(ErrorCode::data_dependent, "the repeats decide the size of the result");
  }
  return contiguous_spec({total}, repeats.scalar_type(), claimed_device(repeats));
}

void check_searched(const at::Tensor& boundaries, bool right,
                    const std::optional<c10::string_view>& side,
                    const std::optional<at::Tensor>& sorter) {
  if (side) {
    TORCH_CHECK(*side == "left" || *side == "right",
                "torch.searchsorted(): side can only be 'left' or 'right' but got ", *side);
    TORCH_CHECK(*side == "right" || !right,
                "torch.searchsorted(): side and right can't be set to opposites, got side of left "
                "while right was True");
  }
  TORCH_CHECK(boundaries.dim() != 0,
              "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 "
              "dimension");
  if (sorter && sorter->defined()) {
    (void)same_device({boundaries, *sorter});
    TORCH_CHECK(
        boundaries.sym_sizes().equals(sorter->sym_sizes()),
        "torch.searchsorted(): boundary and sorter must have the same size, but got boundary "
        "tensor ",
        boundaries.sym_sizes(), "and got sorter tensor ", sorter->sym_sizes());
    TORCH_CHECK(sorter->scalar_type() == c10::kLong,
                "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype ",
                sorter->scalar_type());
  }
}

TensorSpec found_at(SymIntArrayRef sizes, const at::Tensor& boundaries, bool out_int32) {
  check_dtype("searchsorted_out_cpu", boundaries.scalar_type(), dtypes::real, boundaries.device());
  return contiguous_spec(sizes, out_int32 ? c10::kInt : c10::kLong, claimed_device(boundaries));
}

TensorSpec searchsorted_spec(const at::Tensor& sorted, const at::Tensor& self, bool out_int32,
                             bool right, std::optional<c10::string_view> side,
                             const std::optional<at::Tensor>& sorter) {
  check_searched(sorted, right, side, sorter);
  (void)same_device({sorted, self});
  TORCH_CHECK(self.dim() > 0 || sorted.dim() == 1,
              "torch.searchsorted(): input value can be a scalar only when boundaries tensor "
              "dimension is 1, but we got boundaries tensor dim(",
              sorted.dim(), ") and input value's dim(", self.dim(), ") numel(", self.sym_numel(),
              ")");
  bool matched = sorted.dim() == 1 || sorted.dim() == self.dim();
  for (std::int64_t i = 0; sorted.dim() != 1 && matched && i + 1 < sorted.dim(); ++i) {
    matched = sorted.sym_sizes()[i] == self.sym_sizes()[i];
  }
  TORCH_CHECK(matched,
              "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
              "dimensions of boundaries tensor and input value tensor must match, but we got "
              "boundaries tensor ",
              sorted.sym_sizes(), " and input value tensor ", self.sym_sizes());
  return found_at(self.sym_sizes(), sorted, out_int32);
}
TensorSpec searchsorted_scalar_spec(const at::Tensor& sorted, const Scalar&, bool out_int32,
                                    bool right, std::optional<c10::string_view> side,
                                    const std::optional<at::Tensor>& sorter) {
  check_searched(sorted, right, side, sorter);
  TORCH_CHECK(sorted.dim() == 1,
              "torch.searchsorted(): input value can be a scalar only when boundaries tensor "
              "dimension is 1, but we got boundaries tensor dim(",
              sorted.dim(), ") and input value's dim(0) numel(1)");
  return found_at({}, sorted, out_int32);
}
TensorSpec bucketize_spec(const at::Tensor& self, const at::Tensor& boundaries, bool out_int32,
                          bool) {
  TORCH_CHECK(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(",
              boundaries.dim(), ")");
  (void)same_device({self, boundaries});
  return found_at(self.sym_sizes(), boundaries, out_int32);
}
TensorSpec bucketize_scalar_spec(const Scalar&, const at::Tensor& boundaries, bool out_int32,
                                 bool) {
  TORCH_CHECK(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(",
              boundaries.dim(), ")");
  return found_at({}, boundaries, out_int32);
}

template <OpName name, OpName inplace_name, OpName out_name, auto spec>
void strict_forms(torch::Library& m) {
  rule<name, functional<spec>>(m);
  rule<inplace_name, inplace_disjoint<spec>>(m);
  rule<out_name, out_disjoint<spec, true>>(m);
}
template <OpName name, OpName out_name, auto spec>
void strict_pair(torch::Library& m) {
  rule<name, functional<spec>>(m);
  rule<out_name, out_disjoint<spec, false>>(m);
}

MASSLESS_RULES(m) {
  strict_pair<"gather", "gather.out", gather_spec>(m);
  strict_forms<"scatter.src", "scatter_.src", "scatter.src_out", scatter_src_spec>(m);
  strict_forms<"scatter.value", "scatter_.value", "scatter.value_out", scatter_value_spec>(m);
  strict_forms<"scatter.reduce", "scatter_.reduce", "scatter.reduce_out", scatter_reduce_spec>(m);
  strict_forms<"scatter.value_reduce", "scatter_.value_reduce", "scatter.value_reduce_out",
               scatter_value_reduce_spec>(m);
  strict_forms<"scatter_add", "scatter_add_", "scatter_add.out", scatter_add_spec>(m);
  strict_forms<"scatter_reduce.two", "scatter_reduce_.two", "scatter_reduce.two_out",
               scatter_reduce_two_spec>(m);
  strict_forms<"index_add", "index_add_", "index_add.out", index_add_spec>(m);
  strict_forms<"index_reduce", "index_reduce_", "index_reduce.out", index_reduce_spec>(m);
  strict_forms<"index_copy", "index_copy_", "index_copy.out", index_copy_spec>(m);
  rule<"index_select", functional<index_select_spec>>(m);
  rule<"index_select.out", index_select_out>(m);
  rule<"index_fill.int_Scalar", functional<index_fill_scalar_spec>>(m);
  rule<"index_fill.int_Tensor", functional<index_fill_tensor_spec>>(m);
  rule<"index_fill_.int_Scalar", index_fill_scalar>(m);
  rule<"index_fill_.int_Tensor", index_fill_tensor>(m);
  strict_pair<"take", "take.out", take_spec>(m);
  rule<"put", functional<put_spec>>(m);
  rule<"put_", put_inplace>(m);
  rule<"embedding", functional<embedding_spec>>(m);
  rule<"embedding_dense_backward", functional<embedding_dense_backward_spec>>(m);
  rule<"embedding_renorm_", embedding_renorm_inplace>(m);
  rule<"repeat_interleave.Tensor", functional<repeat_interleave_spec>>(m);
  rule<"searchsorted.Tensor", functional<searchsorted_spec>>(m);
  rule<"searchsorted.Tensor_out", out_strict<searchsorted_spec>>(m);
  rule<"searchsorted.Scalar", functional<searchsorted_scalar_spec>>(m);
  rule<"searchsorted.Scalar_out", out_strict<searchsorted_scalar_spec>>(m);
  rule<"bucketize.Tensor", functional<bucketize_spec>>(m);
  rule<"bucketize.Tensor_out", out_strict<bucketize_spec>>(m);
  rule<"bucketize.Scalar", functional<bucketize_scalar_spec>>(m);
}

}  // namespace
}  // namespace massless
