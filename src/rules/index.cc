// Indexing with tensors: x[i, j], x[mask], their writes, and masked operators.
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/nonzero.h>

#include "dispatch/error.h"
#include "fake/known.h"
#include "fake/rule.h"
#include "fake/sizes.h"
#include "rules/factory.h"
#include "rules/iterator.h"
#include "rules/strict.h"
#include "rules/view.h"

namespace massless {
namespace {

using c10::Scalar;
using c10::SymInt;
using c10::SymIntArrayRef;
using OptTensors = c10::List<std::optional<at::Tensor>>;
using Tensors = std::vector<at::Tensor>;  // an undefined one: the dimension is kept

bool is_mask(const at::Tensor& t) {
  return t.scalar_type() == c10::kBool || t.scalar_type() == c10::kByte;
}

// The columns of mask.nonzero(), which needs the mask's values.
void append_mask(Tensors& indices, const at::Tensor& mask, const at::Tensor& self,
                 std::size_t position) {
  for (std::int64_t j = 0; j < mask.dim(); ++j) {
    const auto dim = static_cast<std::int64_t>(indices.size()) + j;
    TORCH_CHECK_INDEX(dim < self.dim() && mask.sym_sizes()[j] == self.sym_sizes()[dim],
                      "The shape of the mask ", mask.sym_sizes(), " at index ", j,
                      " does not match the shape of the indexed tensor ", self.sym_sizes(),
                      " at index ", dim);
  }
  const at::Tensor value = known_value(mask);
  if (!value.defined()) {
    raise(ErrorCode::data_dependent,
          "the mask at index " + std::to_string(position) + " decides the size of the result");
  }
  at::Tensor found;
  {
    const RealScope real;
    found = at::nonzero(value);
  }
  const at::Tensor fake =
      make_fake(found.sym_sizes(), found.sym_strides(), c10::kLong, claimed_device(mask));
  set_known(fake, found);
  for (std::int64_t j = 0; j < mask.dim(); ++j) {
    indices.push_back(select_rule(fake, 1, j));
  }
}

Tensors expand_masks(const at::Tensor& self, const OptTensors& given) {
  Tensors indices;
  std::size_t position = 0;
  for (const std::optional<at::Tensor> index : given) {
    if (!index || !index->defined()) {
      indices.emplace_back();
    } else if (is_mask(*index)) {
      append_mask(indices, *index, self, position);
    } else {
      const c10::ScalarType dtype = index->scalar_type();
      TORCH_CHECK_INDEX(dtype == c10::kLong || dtype == c10::kInt,
                        "tensors used as indices must be long, int, byte or bool tensors");
      indices.push_back(*index);
    }
    ++position;
  }
  TORCH_CHECK_INDEX(static_cast<std::int64_t>(indices.size()) <= self.dim(),
                    "too many indices for tensor of dimension ", self.dim(), " (got ",
                    indices.size(), ")");
  return indices;
}

// All indices broadcast to one shape, which is returned.
SymDimVector broadcast_indices(Tensors& indices) {
  SymDimVector shape;
  for (const at::Tensor& index : indices) {
    if (index.defined()) {
      try {
        shape = broadcast_sizes(shape, index.sym_sizes());
      } catch (const c10::Error&) {
        std::string shapes;
        for (const at::Tensor& t : indices) {
          shapes += t.defined() ? c10::str(shapes.empty() ? "" : ", ", t.sym_sizes()) : "";
        }
        TORCH_CHECK_INDEX(
            false, "shape mismatch: indexing tensors could not be broadcast together with shapes ",
            shapes);
      }
    }
  }
  for (at::Tensor& index : indices) {
    if (index.defined() && !proved_equal(index.sym_sizes(), shape)) {
      index = expand_rule(index, shape, false);
    }
  }
  return shape;
}

// The indexed dimensions stand side by side.
bool adjacent(const Tensors& indices) {
  const auto defined = [](const at::Tensor& t) { return t.defined(); };
  const auto first = std::find_if(indices.begin(), indices.end(), defined);
  const auto last = std::find_if(indices.rbegin(), indices.rend(), defined).base();
  return std::all_of(first, last, defined);
}

// What the kernel iterates over: self with the indexed dimensions replaced by the indices' shape
// (stride 0), and the indices, seen in the result's dimensions.
struct Indexed {
  at::Tensor source;
  Tensors indices;
};

at::Tensor restrided(const at::Tensor& self, std::size_t before, std::size_t indexed,
                     SymIntArrayRef replacement) {
  SymDimVector sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  SymDimVector strides(self.sym_strides().begin(), self.sym_strides().end());
  sizes.erase(sizes.begin() + before, sizes.begin() + before + indexed);
  strides.erase(strides.begin() + before, strides.begin() + before + indexed);
  sizes.insert(sizes.begin() + before, replacement.begin(), replacement.end());
  strides.insert(strides.begin() + before, replacement.size(), SymInt(0));
  return view_of(self, sizes, strides, self.sym_storage_offset());
}

// Size-1 dimensions before and after, as `reshape` gives them: a view.
at::Tensor padded_index(const at::Tensor& index, std::size_t before, std::size_t after) {
  SymDimVector sizes(index.sym_sizes().begin(), index.sym_sizes().end());
  SymDimVector strides(index.sym_strides().begin(), index.sym_strides().end());
  sizes.insert(sizes.begin(), before, SymInt(1));
  sizes.insert(sizes.end(), after, SymInt(1));
  strides.insert(strides.begin(), before, SymInt(1));
  strides.insert(strides.end(), after, SymInt(1));
  return view_of(index, sizes, strides, index.sym_storage_offset());
}

// CUDA's kernel wants all indices in one striding.
void match_strides(Tensors& indices, c10::Device device) {
  if (!device.is_cuda() || indices.size() < 2) {
    return;
  }
  const SymDimVector first(indices[0].sym_strides().begin(), indices[0].sym_strides().end());
  const bool match = std::all_of(indices.begin(), indices.end(), [&](const at::Tensor& t) {
    return t.sym_strides().equals(first);
  });
  for (at::Tensor& index : indices) {
    if (!match) {
      index = make_fake(contiguous_like_spec(index));
    }
  }
}

Indexed index_info(const at::Tensor& given_self, const OptTensors& given) {
  at::Tensor self = given_self;
  Tensors indices = expand_masks(self, given);
  const SymDimVector shape = broadcast_indices(indices);
  indices.resize(self.dim());
  if (!adjacent(indices)) {
    // The indexed dimensions go to the front.
    std::vector<std::int64_t> order;
    Tensors front;
    for (const bool defined : {true, false}) {
      for (std::size_t i = 0; i < indices.size(); ++i) {
        if (indices[i].defined() == defined) {
          order.push_back(static_cast<std::int64_t>(i));
          front.push_back(indices[i]);
        }
      }
    }
    self = permute_rule(self, order);
    indices = std::move(front);
  }
  std::size_t before = 0;
  while (before < indices.size() && !indices[before].defined()) {
    ++before;
  }
  Indexed info;
  bool indexes_nothing = false;
  for (std::size_t i = before; i < indices.size() && indices[i].defined(); ++i) {
    indexes_nothing = indexes_nothing || self.sym_sizes()[i] == 0;
    info.indices.push_back(indices[i]);
  }
  TORCH_CHECK_INDEX(!indexes_nothing || is_empty(shape),
                    "index is out of bounds for dimension with size 0");
  const std::size_t indexed = info.indices.size();
  info.source = restrided(self, before, indexed, shape);
  for (at::Tensor& index : info.indices) {
    index = padded_index(index, before, indices.size() - before - indexed);
  }
  match_strides(info.indices, self.device());
  return info;
}

TensorSpec index_spec(const at::Tensor& self, const OptTensors& given) {
  TORCH_CHECK_INDEX(!given.empty(), "at least one index must be provided");
  TORCH_CHECK_INDEX(static_cast<std::int64_t>(given.size()) <= self.dim(),
                    "too many indices for tensor of dimension ", self.dim(), " (got ", given.size(),
                    ")");
  const Indexed info = index_info(self, given);
  TORCH_CHECK(!info.indices.empty(), "index: at least one index must be a tensor");
  c10::SmallVector<const at::Tensor*, 4> iterated{&info.source};
  for (const at::Tensor& index : info.indices) {
    iterated.push_back(&index);
  }
  // Nothing is converted, whatever the dtypes: no device is the CPU here.
  TensorSpec spec =
      detail::general_geometry(iterated, false, self.scalar_type(), c10::Device(c10::kMeta));
  spec.dtype = self.scalar_type();
  spec.device = claimed_device(self);
  return spec;
}

at::Tensor& index_out(const at::Tensor& self, const OptTensors& given, at::Tensor& out) {
  const TensorSpec spec = index_spec(self, given);
  TORCH_CHECK(out.scalar_type() == spec.dtype, "index_out: self (", spec.dtype, ") and result (",
              out.scalar_type(), ") must have the same scalar type");
  detail::check_overlap(out, self);
  check_no_internal_overlap(out);
  write_out(out, spec);
  return out;
}

bool unknown_mask(const OptTensors& given) {
  for (const std::optional<at::Tensor> index : given) {
    if (index && index->defined() && is_mask(*index) && !known_value(*index).defined()) {
      return true;
    }
  }
  return false;
}

at::Tensor& index_put_impl(at::Tensor& self, const OptTensors& given, const at::Tensor& values,
                           bool, bool) {
  TORCH_CHECK_INDEX(static_cast<std::int64_t>(given.size()) <= self.dim(),
                    "too many indices for tensor of dimension ", self.dim(), " (got ", given.size(),
                    ")");
  TORCH_CHECK(self.scalar_type() == values.scalar_type(),
              "Index put requires the source and destination dtypes match, got ",
              self.scalar_type(), " for the destination and ", values.scalar_type(),
              " for the source.");
  TORCH_CHECK(claimed_device(self) == claimed_device(values) || values.dim() == 0 ||
                  (values.dim() == 1 && values.sym_numel() == 1),
              "expected the values on the device of self, ", self.device(), ", but got them on ",
              values.device());
  if (unknown_mask(given)) {
    // How many elements are written is not known, but self stays what it is.
    return self;
  }
  const Indexed info = index_info(self, given);
  TORCH_CHECK(expand_to(values.sym_sizes(), info.source.sym_sizes()),
              "shape mismatch: value tensor of shape ", values.sym_sizes(),
              " cannot be broadcast to indexing result of shape ", info.source.sym_sizes());
  return self;
}

at::Tensor& index_put_inplace(at::Tensor& self, const OptTensors& given, const at::Tensor& values,
                              bool accumulate) {
  return index_put_impl(self, given, values, accumulate, false);
}

// A copy of self is written.
TensorSpec index_put_spec(const at::Tensor& self, const OptTensors& given, const at::Tensor& values,
                          bool accumulate) {
  at::Tensor same = self;
  (void)index_put_impl(same, given, values, accumulate, false);
  return empty_like_spec(self);
}

void check_mask(const char* name, const at::Tensor& mask) {
  TORCH_CHECK(mask.scalar_type() == c10::kBool, name,
              " only supports boolean masks, but got mask with dtype ", mask.dtype());
}

void check_masked_fill(const at::Tensor& self, const at::Tensor& mask) {
  check_mask("masked_fill_", mask);
  const TensorSpec both = iterate(operands(self, mask), false, c10::kBool, c10::kBool);
  TORCH_CHECK(equal_sizes(self.sym_sizes(), both.sizes), "output with shape ", self.sym_sizes(),
              " doesn't match the broadcast shape ", SymIntArrayRef(both.sizes));
  detail::check_overlap(self, mask);
}

// A complex number fits a real tensor only if its imaginary part is 0, which is for its value to
// tell. Other casts of a value wrap around, or are as eager makes them for most values.
void check_fill_value(const at::Tensor& self, const at::Tensor& value) {
  TORCH_CHECK(value.dim() == 0,
              "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
              value.dim(), " dimension(s).");
  if (!value.is_complex() || self.is_complex()) {
    return;
  }
  if (!is_known(value)) {
    raise(ErrorCode::data_dependent,
          "whether a complex value fits a tensor of real numbers depends on its imaginary part");
  }
  const RealScope real;
  const at::Tensor number = is_fake(value) ? known_value(value) : value;
  check_fill(self.scalar_type(), number.item());
}

at::Tensor& masked_fill_scalar(at::Tensor& self, const at::Tensor& mask, const Scalar& value) {
  check_masked_fill(self, mask);
  check_fill(self.scalar_type(), value);
  return self;
}

at::Tensor& masked_fill_tensor(at::Tensor& self, const at::Tensor& mask, const at::Tensor& value) {
  check_fill_value(self, value);
  check_masked_fill(self, mask);
  return self;
}

// The functional forms broadcast self and mask to each other and copy contiguously.
TensorSpec masked_spec(const at::Tensor& self, const at::Tensor& mask) {
  const TensorSpec both = iterate(operands(self, mask), false, c10::kBool, c10::kBool);
  return contiguous_spec(both.sizes, self.scalar_type(), claimed_device(self));
}

TensorSpec masked_fill_scalar_spec(const at::Tensor& self, const at::Tensor& mask,
                                   const Scalar& value) {
  check_mask("masked_fill_", mask);
  check_fill(self.scalar_type(), value);
  return masked_spec(self, mask);
}

TensorSpec masked_fill_tensor_spec(const at::Tensor& self, const at::Tensor& mask,
                                   const at::Tensor& value) {
  check_mask("masked_fill_", mask);
  check_fill_value(self, value);
  return masked_spec(self, mask);
}

void check_masked_scatter(const at::Tensor& self, const at::Tensor& mask,
                          const at::Tensor& source) {
  TORCH_CHECK(self.scalar_type() == source.scalar_type(),
              "masked_scatter: expected self and source to have same dtypes but got",
              self.scalar_type(), " and ", source.scalar_type());
  check_mask("masked_scatter_", mask);
}

at::Tensor& masked_scatter_inplace(at::Tensor& self, const at::Tensor& mask,
                                   const at::Tensor& source) {
  check_masked_scatter(self, mask, source);
  check_expand(mask, self.sym_sizes());
  check_no_internal_overlap(self);
  detail::check_overlap(self, source);
  return self;
}

TensorSpec masked_scatter_spec(const at::Tensor& self, const at::Tensor& mask,
                               const at::Tensor& source) {
  check_masked_scatter(self, mask, source);
  return masked_spec(self, mask);
}

MASSLESS_RULES(m) {
  rule<"index.Tensor", functional<index_spec>>(m);
  rule<"_unsafe_index.Tensor", functional<index_spec>>(m);
  rule<"index.Tensor_out", index_out>(m);
  rule<"index_put_", index_put_inplace>(m);
  rule<"_index_put_impl_", index_put_impl>(m);
  rule<"index_put", functional<index_put_spec>>(m);
  rule<"_unsafe_index_put", functional<index_put_spec>>(m);
  rule<"masked_fill_.Scalar", masked_fill_scalar>(m);
  rule<"masked_fill_.Tensor", masked_fill_tensor>(m);
  rule<"masked_fill.Scalar", functional<masked_fill_scalar_spec>>(m);
  rule<"masked_fill.Tensor", functional<masked_fill_tensor_spec>>(m);
  rule<"masked_scatter_", masked_scatter_inplace>(m);
  rule<"masked_scatter", functional<masked_scatter_spec>>(m);
}

}  // namespace
}  // namespace massless
