// Views: the same storage seen through another geometry. Sizes and strides are ATen's, also where
// they cannot be observed (size-1 dimensions, no elements).
#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>
#include <ATen/core/Tensor.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/WrapDimMinimal.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "dispatch/sym_node.h"
#include "fake/known.h"
#include "fake/rule.h"
#include "fake/sizes.h"
#include "rules/reshape.h"
#include "rules/view.h"

namespace massless {

using c10::SymInt;
using c10::SymIntArrayRef;

namespace {

SymDimVector to_vector(SymIntArrayRef ref) { return {ref.begin(), ref.end()}; }

// torch.tensor(...) makes a real CPU tensor and lifts it: nobody else holds it, so the fake is a
// fresh one, and its value is known.
at::Tensor fresh_of_literal(const at::Tensor& real) {
  at::Tensor fake = make_fake(real.sym_sizes(), real.sym_strides(), real.scalar_type(),
                              normalize_device(real.device()));
  // Memory that somebody else owns (torch.from_numpy) may change under us.
  if (real.storage().data_ptr().get_deleter() == c10::GetCPUAllocator()->raw_deleter()) {
    set_known(fake, real);
  }
  return fake;
}

// A fake is handed back as it is.
at::Tensor lift_rule(const at::Tensor& self) {
  return is_fake(self) ? self : fresh_of_literal(self);
}

// Autograd's kernel has detached self already.
at::Tensor& detach_inplace(at::Tensor& self) { return self; }

at::Tensor fw_primal_rule(const at::Tensor& self, std::int64_t) { return alias_rule(self); }

// view.dtype to a type of another size: the last dimension, which must be dense, grows or shrinks.
at::Tensor view_dtype_resized(const at::Tensor& self, c10::ScalarType dtype, std::int64_t from,
                              std::int64_t to) {
  TORCH_CHECK(self.dim() > 0, "self.dim() cannot be 0 to view ", self.scalar_type(), " as ", dtype,
              " (different element sizes)");
  TORCH_CHECK(self.sym_strides().back() == 1, "self.stride(-1) must be 1 to view ",
              self.scalar_type(), " as ", dtype, " (different element sizes), but got ",
              self.sym_strides().back());
  SymDimVector sizes = to_vector(self.sym_sizes());
  SymDimVector strides = to_vector(self.sym_strides());
  const std::size_t last = sizes.size() - 1;
  if (from > to) {
    const SymInt ratio = from / to;
    for (std::size_t i = 0; i < last; ++i) {
      strides[i] = strides[i] * ratio;
    }
    sizes[last] = sizes[last] * ratio;
    return view_of(self, sizes, strides, self.sym_storage_offset() * ratio, dtype);
  }
  const SymInt ratio = to / from;
  TORCH_CHECK(sizes[last] % ratio == 0, "self.size(-1) must be divisible by ", ratio, " to view ",
              self.scalar_type(), " as ", dtype, " (different element sizes), but got ",
              sizes[last]);
  TORCH_CHECK(self.sym_storage_offset() % ratio == 0, "self.storage_offset() must be divisible by ",
              ratio, " to view ", self.scalar_type(), " as ", dtype,
              " (different element sizes), but got ", self.sym_storage_offset());
  for (std::size_t i = 0; i < last; ++i) {
    TORCH_CHECK(strides[i] % ratio == 0, "self.stride(", i, ") must be divisible by ", ratio,
                " to view ", self.scalar_type(), " as ", dtype,
                " (different element sizes), but got ", strides[i]);
    strides[i] = strides[i] / ratio;
  }
  sizes[last] = sizes[last] / ratio;
  return view_of(self, sizes, strides, self.sym_storage_offset() / ratio, dtype);
}

at::Tensor transposed(const at::Tensor& self, std::int64_t dim0, std::int64_t dim1) {
  SymDimVector sizes = to_vector(self.sym_sizes());
  SymDimVector strides = to_vector(self.sym_strides());
  std::swap(sizes[dim0], sizes[dim1]);
  std::swap(strides[dim0], strides[dim1]);
  return view_of(self, sizes, strides, self.sym_storage_offset());
}

// One element of a dimension, which is in range.
at::Tensor selected(const at::Tensor& self, std::int64_t dim, const SymInt& index) {
  SymDimVector sizes = to_vector(self.sym_sizes());
  SymDimVector strides = to_vector(self.sym_strides());
  const SymInt offset = self.sym_storage_offset() + index * strides[dim];
  sizes.erase(sizes.begin() + dim);
  strides.erase(strides.begin() + dim);
  return view_of(self, sizes, strides, offset);
}

// Elements [start, start + length) of a dimension, which are in range.
at::Tensor narrowed(const at::Tensor& self, std::int64_t dim, const SymInt& start,
                    const SymInt& length) {
  SymDimVector sizes = to_vector(self.sym_sizes());
  sizes[dim] = length;
  return view_of(self, sizes, self.sym_strides(),
                 self.sym_storage_offset() + start * self.sym_strides()[dim]);
}

}  // namespace

at::Tensor alias_rule(const at::Tensor& self) {
  return view_of(self, self.sym_sizes(), self.sym_strides(), self.sym_storage_offset());
}

at::Tensor view_rule(const at::Tensor& self, SymIntArrayRef size) {
  const Viewed view = viewed(self.sym_sizes(), self.sym_strides(), size);
  return view_of(self, view.sizes, view.strides, self.sym_storage_offset());
}

at::Tensor reshape_alias_rule(const at::Tensor& self, SymIntArrayRef size, SymIntArrayRef stride) {
  return view_of(self, size, stride, self.sym_storage_offset());
}

at::Tensor view_dtype_rule(const at::Tensor& self, c10::ScalarType dtype) {
  if (self.scalar_type() == dtype) {
    return alias_rule(self);
  }
  TORCH_CHECK(!self.is_conj(),
              "torch.Tensor.view is not supported for conjugate view tensors when converting to a "
              "different dtype.");
  TORCH_CHECK(
      !self.is_neg(),
      "torch.Tensor.view is not supported for tensors with negative bit set when converting "
      "to a different dtype.");
  const auto from = static_cast<std::int64_t>(self.element_size());
  const auto to = static_cast<std::int64_t>(c10::elementSize(dtype));
  if (from != to) {
    return view_dtype_resized(self, dtype, from, to);
  }
  return view_of(self, self.sym_sizes(), self.sym_strides(), self.sym_storage_offset(), dtype);
}

at::Tensor as_strided_rule(const at::Tensor& self, SymIntArrayRef size, SymIntArrayRef stride,
                           std::optional<SymInt> offset) {
  const SymInt start = offset ? *offset : self.sym_storage_offset();
  check_strided(self, size, stride, start);
  return view_of(self, size, stride, start);
}

at::Tensor expand_rule(const at::Tensor& self, SymIntArrayRef size, bool) {
  const SymIntArrayRef old_sizes = self.sym_sizes();
  const SymIntArrayRef old_strides = self.sym_strides();
  TORCH_CHECK(size.size() >= old_sizes.size(), "expand: the number of sizes provided (",
              size.size(), ") must be greater or equal to the number of dimensions in the tensor (",
              old_sizes.size(), ")");
  const std::size_t added = size.size() - old_sizes.size();
  SymDimVector sizes(size.size());
  SymDimVector strides(size.size());
  for (std::size_t i = size.size(); i-- > 0;) {
    const SymInt& wanted = size[i];
    const bool given = !(!wanted.is_symbolic() && wanted == -1);
    if (i < added) {
      TORCH_CHECK(given, "The expanded size of the tensor (", wanted,
                  ") isn't allowed in a leading, non-existing dimension ", i);
      TORCH_CHECK(wanted >= 0, "The expanded size of the tensor (", wanted,
                  ") must not be negative at dimension ", i);
      sizes[i] = wanted;
      // A new dimension of size 1 has the stride of a dense outer dimension; any other is
      // repeated. A 0-dim tensor gives strides of 0 throughout.
      const bool dense = !old_sizes.empty() && is_plain(wanted, 1);
      strides[i] = dense ? sizes[i + 1] * strides[i + 1] : SymInt(0);
      continue;
    }
    const SymInt& old = old_sizes[i - added];
    const bool to_another = !is_plain(wanted, 1) && is_plain(old, 1);
    if (!given || proved_equal(old, wanted) ||
        (!to_another && at_example(old.sym_eq(wanted)) && old == wanted)) {
      sizes[i] = old;
      strides[i] = old_strides[i - added];
      continue;
    }
    TORCH_CHECK(old == 1, "The expanded size of the tensor (", wanted,
                ") must match the existing size (", old, ") at non-singleton dimension ", i,
                ".  Target sizes: ", size, ".  Tensor sizes: ", old_sizes);
    TORCH_CHECK(wanted >= 0, "The expanded size of the tensor (", wanted,
                ") must not be negative at dimension ", i);
    sizes[i] = wanted;
    strides[i] = 0;
  }
  return view_of(self, sizes, strides, self.sym_storage_offset());
}

at::Tensor transpose_rule(const at::Tensor& self, std::int64_t dim0, std::int64_t dim1) {
  dim0 = c10::maybe_wrap_dim(dim0, self.dim());
  dim1 = c10::maybe_wrap_dim(dim1, self.dim());
  return dim0 == dim1 ? alias_rule(self) : transposed(self, dim0, dim1);
}

at::Tensor t_rule(const at::Tensor& self) {
  TORCH_CHECK(self.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ",
              self.dim(), "D");
  return self.dim() < 2 ? alias_rule(self) : transposed(self, 0, 1);
}

at::Tensor permute_rule(const at::Tensor& self, at::IntArrayRef dims) {
  const std::int64_t rank = self.dim();
  TORCH_CHECK(
      rank == static_cast<std::int64_t>(dims.size()),
      "permute(): number of dimensions in the tensor input does not match the length of the "
      "desired ordering of dimensions i.e. input.dim() = ",
      rank, " is not equal to len(dims) = ", dims.size());
  SymDimVector sizes(rank);
  SymDimVector strides(rank);
  c10::SmallVector<bool, 8> seen(rank, false);
  for (std::int64_t i = 0; i < rank; ++i) {
    const std::int64_t dim = c10::maybe_wrap_dim(dims[i], rank);
    TORCH_CHECK(!seen[dim], "permute(): duplicate dims are not allowed.");
    seen[dim] = true;
    sizes[i] = self.sym_sizes()[dim];
    strides[i] = self.sym_strides()[dim];
  }
  return view_of(self, sizes, strides, self.sym_storage_offset());
}

at::Tensor select_rule(const at::Tensor& self, std::int64_t dim, SymInt index) {
  TORCH_CHECK_INDEX(self.dim() != 0, "select() cannot be applied to a 0-dim tensor.");
  dim = c10::maybe_wrap_dim(dim, self.dim());
  const SymInt& size = self.sym_sizes()[dim];
  TORCH_CHECK_INDEX(index >= -size && index < size, "select(): index ", index,
                    " out of range for tensor of size ", self.sym_sizes(), " at dimension ", dim);
  return selected(self, dim, index < 0 ? index + size : index);
}

namespace {

// Python's clamping, for integers and for symbols. No end: the whole rest. Only the signs of the
// ends are asked for.
template <class Int>
std::pair<Int, Int> clamped_slice(const Int& size, const Int& start, const std::optional<Int>& end,
                                  const Int& step) {
  TORCH_CHECK(step > 0, "slice step must be positive");
  const auto clamped = [&](const Int& place) {
    return place < 0 ? greatest(place + size, Int(0)) : least(place, size);
  };
  Int first = clamped(start);
  const Int last = greatest(end ? clamped(*end) : size, first);
  Int length = step == 1 ? last - first : (last - first + step - 1) / step;
  return {std::move(first), std::move(length)};
}

}  // namespace

SliceRange slice_range(const SymInt& size, std::optional<SymInt> start, std::optional<SymInt> end,
                       const SymInt& step) {
  // The default end lies past every size.
  if (end && !end->is_symbolic() && *end == std::numeric_limits<std::int64_t>::max()) {
    end.reset();
  }
  const auto plain = [](const SymInt& n) { return !n.is_heap_allocated(); };
  if (plain(size) && plain(step) && (!start || plain(*start)) && (!end || plain(*end))) {
    auto [first, length] = clamped_slice<std::int64_t>(
        size.as_int_unchecked(), start ? start->as_int_unchecked() : 0,
        end ? std::optional(end->as_int_unchecked()) : std::nullopt, step.as_int_unchecked());
    return {first, length};
  }
  auto [first, length] = clamped_slice<SymInt>(size, start ? *start : SymInt(0), end, step);
  return {std::move(first), std::move(length)};
}

at::Tensor slice_rule(const at::Tensor& self, std::int64_t dim, std::optional<SymInt> start,
                      std::optional<SymInt> end, SymInt step) {
  TORCH_CHECK_INDEX(self.dim() != 0, "slice() cannot be applied to a 0-dim tensor.");
  dim = c10::maybe_wrap_dim(dim, self.dim());
  SymDimVector sizes = to_vector(self.sym_sizes());
  SymDimVector strides = to_vector(self.sym_strides());
  SliceRange range = slice_range(sizes[dim], std::move(start), std::move(end), step);
  const SymInt offset = self.sym_storage_offset() + range.start * strides[dim];
  sizes[dim] = std::move(range.length);
  strides[dim] = strides[dim] * step;
  return view_of(self, sizes, strides, offset);
}

at::Tensor unsqueeze_rule(const at::Tensor& self, std::int64_t dim) {
  const Geometry g = unsqueezed(self, dim);
  return view_of(self, g.sizes, g.strides, self.sym_storage_offset());
}

at::Tensor squeeze_rule(const at::Tensor& self) {
  const Geometry g = squeezed(self, ~std::uint64_t{0});
  return view_of(self, g.sizes, g.strides, self.sym_storage_offset());
}

at::Tensor squeeze_dim_rule(const at::Tensor& self, std::int64_t dim) {
  const Geometry g = squeezed(self, dims_mask(self, {dim}));
  return view_of(self, g.sizes, g.strides, self.sym_storage_offset());
}

at::Tensor squeeze_dims_rule(const at::Tensor& self, at::IntArrayRef dims) {
  const Geometry g = squeezed(self, dims_mask(self, dims));
  return view_of(self, g.sizes, g.strides, self.sym_storage_offset());
}

namespace {

// The length of a list is a plain number: size <= count * split_size, and no smaller count does.
std::int64_t count_of_pieces(const SymInt& size, const SymInt& split_size) {
  const SymInt pieces = greatest((size + split_size - 1) / split_size, 1);
  const auto there = hint_of(pieces);
  if (there && size <= split_size * *there && (*there == 1 || size > split_size * (*there - 1))) {
    return *there;
  }
  return pieces.guard_int(__FILE__, __LINE__);
}

}  // namespace

std::vector<at::Tensor> split_rule(const at::Tensor& self, SymInt split_size, std::int64_t dim) {
  TORCH_CHECK(self.dim() != 0, "split expects at least a 1-dimensional tensor");
  TORCH_CHECK(split_size >= 0,
              "split expects split_size be non-negative, but got split_size=", split_size);
  dim = c10::maybe_wrap_dim(dim, self.dim());
  const SymInt& size = self.sym_sizes()[dim];
  TORCH_CHECK(split_size > 0 || size == 0,
              "split_size can only be 0 if dimension size is 0, but got dimension size of ", size);
  const std::int64_t count = split_size != 0 ? count_of_pieces(size, split_size) : 1;
  std::vector<at::Tensor> made;
  made.reserve(count);
  for (std::int64_t i = 0; i < count; ++i) {
    const SymInt start = split_size * i;
    made.push_back(narrowed(self, dim, start, i + 1 < count ? split_size : size - start));
  }
  return made;
}

std::vector<at::Tensor> split_with_sizes_rule(const at::Tensor& self, SymIntArrayRef split_sizes,
                                              std::int64_t dim) {
  TORCH_CHECK(self.dim() != 0, "split expects at least a 1-dimensional tensor");
  dim = c10::maybe_wrap_dim(dim, self.dim());
  const SymInt& size = self.sym_sizes()[dim];
  std::vector<at::Tensor> made;
  made.reserve(split_sizes.size());
  SymInt start = 0;
  for (const SymInt& length : split_sizes) {
    TORCH_CHECK(length >= 0,
                "split_with_sizes expects split_sizes have only non-negative entries, but got "
                "split_sizes=",
                split_sizes);
    made.push_back(narrowed(self, dim, start, length));
    start = start + length;
  }
  TORCH_CHECK(start == size, "split_with_sizes expects split_sizes to sum exactly to ", size,
              " (input tensor's size at dimension ", dim, "), but got split_sizes=", split_sizes);
  return made;
}

std::vector<at::Tensor> unbind_rule(const at::Tensor& self, std::int64_t dim) {
  dim = c10::maybe_wrap_dim(dim, self.dim(), /*wrap_scalar=*/false);
  const std::int64_t count = self.sym_sizes()[dim].guard_int(__FILE__, __LINE__);
  std::vector<at::Tensor> made;
  made.reserve(count);
  for (std::int64_t i = 0; i < count; ++i) {
    made.push_back(selected(self, dim, i));
  }
  return made;
}

at::Tensor diagonal_rule(const at::Tensor& self, std::int64_t offset, std::int64_t dim1,
                         std::int64_t dim2) {
  dim1 = c10::maybe_wrap_dim(dim1, self.dim());
  dim2 = c10::maybe_wrap_dim(dim2, self.dim());
  TORCH_CHECK(dim1 != dim2, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  SymDimVector sizes = to_vector(self.sym_sizes());
  SymDimVector strides = to_vector(self.sym_strides());
  const SymInt rows = offset < 0 ? sizes[dim1] + offset : sizes[dim1];
  const SymInt columns = offset < 0 ? sizes[dim2] : sizes[dim2] - offset;
  const SymInt length = greatest(least(rows, columns), 0);
  // An empty diagonal starts where self does.
  const SymInt away = offset < 0 ? strides[dim1] * -offset : strides[dim2] * offset;
  const SymInt start = self.sym_storage_offset() + least(length, 1) * away;
  const SymInt step = strides[dim1] + strides[dim2];
  for (const std::int64_t dim : {std::max(dim1, dim2), std::min(dim1, dim2)}) {
    sizes.erase(sizes.begin() + dim);
    strides.erase(strides.begin() + dim);
  }
  sizes.push_back(length);
  strides.push_back(step);
  return view_of(self, sizes, strides, start);
}

at::Tensor unfold_rule(const at::Tensor& self, std::int64_t dim, std::int64_t size,
                       std::int64_t step) {
  dim = c10::maybe_wrap_dim(dim, self.dim());
  const SymInt most = self.dim() == 0 ? SymInt(1) : self.sym_sizes()[dim];
  TORCH_CHECK(size >= 0, "size is ", size, " but must be >= 0");
  TORCH_CHECK(SymInt(size) <= most, "maximum size for tensor at dimension ", dim, " is ", most,
              " but size is ", size);
  TORCH_CHECK(step > 0, "step is ", step, " but must be > 0");
  SymDimVector sizes = to_vector(self.sym_sizes());
  SymDimVector strides = to_vector(self.sym_strides());
  strides.push_back(self.dim() == 0 ? SymInt(1) : strides[dim]);
  if (self.dim() > 0) {
    sizes[dim] = (sizes[dim] - size) / step + 1;
    strides[dim] = strides[dim] * step;
  }
  sizes.push_back(size);
  return view_of(self, sizes, strides, self.sym_storage_offset());
}

at::Tensor view_as_real_rule(const at::Tensor& self) {
  TORCH_CHECK(self.is_complex(), "view_as_real is only supported for complex tensors");
  TORCH_CHECK(!self.is_conj(),
              "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the "
              "conjugate tensor so you can view it as real, use self.resolve_conj(); however, be "
              "warned that the resulting tensor will NOT alias the original.");
  SymDimVector sizes = to_vector(self.sym_sizes());
  SymDimVector strides;
  for (const SymInt& stride : self.sym_strides()) {
    strides.push_back(stride * 2);
  }
  sizes.emplace_back(2);
  strides.emplace_back(1);
  return view_of(self, sizes, strides, self.sym_storage_offset() * 2,
                 c10::toRealValueType(self.scalar_type()));
}

at::Tensor view_as_complex_rule(const at::Tensor& self) {
  const c10::ScalarType dtype = self.scalar_type();
  TORCH_CHECK(dtype == c10::kFloat || dtype == c10::kDouble || dtype == c10::kHalf,
              "view_as_complex is only supported for half, float and double tensors, but got a "
              "tensor of scalar type: ",
              dtype);
  SymDimVector sizes = to_vector(self.sym_sizes());
  SymDimVector strides = to_vector(self.sym_strides());
  TORCH_CHECK(!sizes.empty(), "Input tensor must have one or more dimensions");
  TORCH_CHECK(sizes.back() == 2, "Tensor must have a last dimension of size 2");
  TORCH_CHECK(strides.back() == 1, "Tensor must have a last dimension with stride 1");
  sizes.pop_back();
  strides.pop_back();
  for (SymInt& stride : strides) {
    TORCH_CHECK(stride % 2 == 0,
                "Tensor must have a stride divisible by 2 for all but last dimension");
    stride = stride / 2;
  }
  TORCH_CHECK(self.sym_storage_offset() % 2 == 0,
              "Tensor must have a storage_offset divisible by 2");
  return view_of(self, sizes, strides, self.sym_storage_offset() / 2, c10::toComplexType(dtype));
}

namespace {

at::Tensor conj_rule(const at::Tensor& self) {
  at::Tensor view = alias_rule(self);
  view.unsafeGetTensorImpl()->_set_conj(!self.is_conj());
  return view;
}

at::Tensor neg_view_rule(const at::Tensor& self) {
  at::Tensor view = alias_rule(self);
  view.unsafeGetTensorImpl()->_set_neg(!self.is_neg());
  return view;
}

MASSLESS_RULES(m) {
  rule<"alias", alias_rule>(m);
  rule<"detach", alias_rule>(m);
  rule<"detach_", detach_inplace>(m);
  rule<"lift_fresh", lift_rule>(m);
  rule<"lift", lift_rule>(m);
  rule<"_fw_primal", fw_primal_rule>(m);
  rule<"view", view_rule>(m);
  rule<"_unsafe_view", view_rule>(m);
  rule<"_reshape_alias", reshape_alias_rule>(m);
  rule<"view.dtype", view_dtype_rule>(m);
  rule<"as_strided", as_strided_rule>(m);
  rule<"expand", expand_rule>(m);
  rule<"t", t_rule>(m);
  rule<"transpose.int", transpose_rule>(m);
  rule<"permute", permute_rule>(m);
  rule<"select.int", select_rule>(m);
  rule<"slice.Tensor", slice_rule>(m);
  rule<"unsqueeze", unsqueeze_rule>(m);
  rule<"squeeze", squeeze_rule>(m);
  rule<"squeeze.dim", squeeze_dim_rule>(m);
  rule<"squeeze.dims", squeeze_dims_rule>(m);
  rule<"split.Tensor", split_rule>(m);
  rule<"split_with_sizes", split_with_sizes_rule>(m);
  rule<"unsafe_split.Tensor", split_rule>(m);
  rule<"unsafe_split_with_sizes", split_with_sizes_rule>(m);
  rule<"unbind.int", unbind_rule>(m);
  rule<"diagonal", diagonal_rule>(m);
  rule<"unfold", unfold_rule>(m);
  rule<"view_as_real", view_as_real_rule>(m);
  rule<"view_as_complex", view_as_complex_rule>(m);
  rule<"_conj", conj_rule>(m);
  rule<"_neg_view", neg_view_rule>(m);
}

}  // namespace
}  // namespace massless
