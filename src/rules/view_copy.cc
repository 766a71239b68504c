// The `*_copy` forms of the views: a contiguous copy of what the view shows; and the `*_scatter`
// forms: a copy of the base with a new value for what the view shows.
#include <ATen/core/Tensor.h>
#include <c10/core/WrapDimMinimal.h>

#include "fake/rule.h"
#include "fake/storage.h"
#include "rules/copy.h"
#include "rules/reshape.h"
#include "rules/strict.h"
#include "rules/view.h"

namespace massless {
namespace {

using c10::SymInt;
using c10::SymIntArrayRef;

TensorSpec dense(const at::Tensor& view) { return contiguous_like_spec(view); }
std::vector<TensorSpec> dense(const std::vector<at::Tensor>& views) {
  std::vector<TensorSpec> specs;
  specs.reserve(views.size());
  for (const at::Tensor& view : views) {
    specs.push_back(dense(view));
  }
  return specs;
}

template <auto view, class Sig = decltype(view)>
struct CopyOf;
template <auto view, class R, class... A>
struct CopyOf<view, R (*)(A...)> {
  static auto spec(A... args) { return dense(view(std::forward<A>(args)...)); }
};
template <auto view>
inline constexpr auto copy_of = &CopyOf<view>::spec;

template <OpName name, OpName out_name, auto view>
void copy_rules(torch::Library& m) {
  rule<name, functional<copy_of<view>>>(m);
  rule<out_name, out_strict<copy_of<view>>>(m);
}

// view_copy and _reshape_copy take any geometry: where no view is possible they copy first.
TensorSpec view_copy_spec(const at::Tensor& self, SymIntArrayRef size) {
  const SymDimVector sizes = viewed_sizes(self.sym_sizes(), size);
  return contiguous_spec(sizes, self.scalar_type(), self.device());
}

TensorSpec narrow_copy_spec(const at::Tensor& self, std::int64_t dim, SymInt start, SymInt length) {
  TORCH_CHECK(self.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  TORCH_CHECK(length >= 0, "narrow(): length must be non-negative.");
  dim = c10::maybe_wrap_dim(dim, self.dim());
  const SymInt& size = self.sym_sizes()[dim];
  TORCH_CHECK_INDEX(start >= -size && start <= size,
                    "start out of range (expected to be in range "
                    "of [",
                    -size, ", ", size, "], but got ", start, ")");
  if (start < 0) {
    start = start + size;
  }
  TORCH_CHECK(start + length <= size, "start (", start, ") + length (", length,
              ") exceeds dimension size (", size, ").");
  SymDimVector sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  sizes[dim] = std::move(length);
  return contiguous_spec(sizes, self.scalar_type(), self.device());
}

// A copy of the whole storage, seen as self is; an expanded tensor is cloned instead.
at::Tensor clone_preserving_strides(const at::Tensor& self) {
  if (overlaps_itself(self)) {
    return make_fake(empty_like_spec(self));
  }
  const auto itemsize = static_cast<std::int64_t>(self.element_size());
  const SymInt nbytes = self.storage().sym_nbytes() / itemsize * itemsize;
  const c10::Device device = claimed_device(self);
  return make_fake_over(new_storage(nbytes, device), self.sym_sizes(), self.sym_strides(),
                        self.sym_storage_offset(), self.scalar_type(), device);
}

at::Tensor scattered(const at::Tensor& self, const at::Tensor& src, const at::Tensor& slice) {
  TORCH_CHECK(equal_sizes(slice.sym_sizes(), src.sym_sizes()),
              "expected src to have a size equal to the slice of self. src size = ",
              src.sym_sizes(), ", slice size = ", slice.sym_sizes());
  check_no_internal_overlap(slice);
  return clone_preserving_strides(self);
}

at::Tensor select_scatter_rule(const at::Tensor& self, const at::Tensor& src, std::int64_t dim,
                               SymInt index) {
  return scattered(self, src, select_rule(self, dim, std::move(index)));
}
at::Tensor slice_scatter_rule(const at::Tensor& self, const at::Tensor& src, std::int64_t dim,
                              std::optional<SymInt> start, std::optional<SymInt> end, SymInt step) {
  return scattered(self, src,
                   slice_rule(self, dim, std::move(start), std::move(end), std::move(step)));
}
at::Tensor diagonal_scatter_rule(const at::Tensor& self, const at::Tensor& src, std::int64_t offset,
                                 std::int64_t dim1, std::int64_t dim2) {
  return scattered(self, src, diagonal_rule(self, offset, dim1, dim2));
}
at::Tensor as_strided_scatter_rule(const at::Tensor& self, const at::Tensor& src,
                                   SymIntArrayRef size, SymIntArrayRef stride,
                                   std::optional<SymInt> offset) {
  return scattered(self, src, as_strided_rule(self, size, stride, std::move(offset)));
}

// ATen's out forms make the tensor and copy it: its sizes, contiguous.
template <auto fn, class Sig = decltype(fn)>
struct ScatterOut;
template <auto fn, class... A>
struct ScatterOut<fn, at::Tensor (*)(A...)> {
  static TensorSpec spec(A... args) { return dense(fn(std::forward<A>(args)...)); }
};
template <OpName name, OpName out_name, auto fn>
void scatter_rules(torch::Library& m) {
  rule<name, fn>(m);
  rule<out_name, out<&ScatterOut<fn>::spec>>(m);
}

// Gradients of views: zeros of the input's size with the gradient written in.
template <class View>
at::Tensor zeros_around(const at::Tensor& grad, SymIntArrayRef sizes, View&& view) {
  at::Tensor made = make_fake(contiguous_spec(sizes, grad.scalar_type(), claimed_device(grad)));
  check_expand(grad, view(made).sym_sizes());
  return made;
}
at::Tensor select_backward(const at::Tensor& grad, SymIntArrayRef sizes, std::int64_t dim,
                           SymInt index) {
  return zeros_around(grad, sizes, [&](const at::Tensor& t) { return select_rule(t, dim, index); });
}
at::Tensor slice_backward(const at::Tensor& grad, SymIntArrayRef sizes, std::int64_t dim,
                          SymInt start, SymInt end, SymInt step) {
  return zeros_around(grad, sizes,
                      [&](const at::Tensor& t) { return slice_rule(t, dim, start, end, step); });
}
at::Tensor diagonal_backward(const at::Tensor& grad, SymIntArrayRef sizes, std::int64_t offset,
                             std::int64_t dim1, std::int64_t dim2) {
  return zeros_around(grad, sizes,
                      [&](const at::Tensor& t) { return diagonal_rule(t, offset, dim1, dim2); });
}
at::Tensor unfold_backward(const at::Tensor& grad, SymIntArrayRef sizes, std::int64_t dim,
                           std::int64_t size, std::int64_t step) {
  return zeros_around(grad, sizes,
                      [&](const at::Tensor& t) { return unfold_rule(t, dim, size, step); });
}

// ATen's alias is checked by nobody; a copy of what lies outside of the storage is refused here.
at::Tensor checked_alias(const at::Tensor& self, SymIntArrayRef size, SymIntArrayRef stride) {
  return as_strided_rule(self, size, stride, self.sym_storage_offset());
}

MASSLESS_RULES(m) {
  copy_rules<"alias_copy", "alias_copy.out", alias_rule>(m);
  copy_rules<"detach_copy", "detach_copy.out", alias_rule>(m);
  copy_rules<"as_strided_copy", "as_strided_copy.out", as_strided_rule>(m);
  copy_rules<"expand_copy", "expand_copy.out", expand_rule>(m);
  copy_rules<"t_copy", "t_copy.out", t_rule>(m);
  copy_rules<"transpose_copy.int", "transpose_copy.int_out", transpose_rule>(m);
  copy_rules<"permute_copy", "permute_copy.out", permute_rule>(m);
  copy_rules<"select_copy.int", "select_copy.int_out", select_rule>(m);
  copy_rules<"slice_copy.Tensor", "slice_copy.Tensor_out", slice_rule>(m);
  copy_rules<"unsqueeze_copy", "unsqueeze_copy.out", unsqueeze_rule>(m);
  copy_rules<"squeeze_copy", "squeeze_copy.out", squeeze_rule>(m);
  copy_rules<"squeeze_copy.dim", "squeeze_copy.dim_out", squeeze_dim_rule>(m);
  copy_rules<"squeeze_copy.dims", "squeeze_copy.dims_out", squeeze_dims_rule>(m);
  copy_rules<"diagonal_copy", "diagonal_copy.out", diagonal_rule>(m);
  copy_rules<"unfold_copy", "unfold_copy.out", unfold_rule>(m);
  copy_rules<"view_as_real_copy", "view_as_real_copy.out", view_as_real_rule>(m);
  copy_rules<"view_as_complex_copy", "view_as_complex_copy.out", view_as_complex_rule>(m);
  copy_rules<"view_copy.dtype", "view_copy.dtype_out", view_dtype_rule>(m);
  copy_rules<"_reshape_alias_copy", "_reshape_alias_copy.out", checked_alias>(m);
  rule<"view_copy", functional<view_copy_spec>>(m);
  rule<"view_copy.out", out_strict<view_copy_spec>>(m);
  rule<"_reshape_copy", functional<view_copy_spec>>(m);
  rule<"split_copy.Tensor", functional<copy_of<split_rule>>>(m);
  rule<"split_with_sizes_copy", functional<copy_of<split_with_sizes_rule>>>(m);
  rule<"unbind_copy.int", functional<copy_of<unbind_rule>>>(m);
  rule<"narrow_copy", functional<narrow_copy_spec>>(m);
  rule<"narrow_copy.out", out<narrow_copy_spec>>(m);
  scatter_rules<"select_scatter", "select_scatter.out", select_scatter_rule>(m);
  scatter_rules<"slice_scatter", "slice_scatter.out", slice_scatter_rule>(m);
  scatter_rules<"diagonal_scatter", "diagonal_scatter.out", diagonal_scatter_rule>(m);
  scatter_rules<"as_strided_scatter", "as_strided_scatter.out", as_strided_scatter_rule>(m);
  rule<"select_backward", select_backward>(m);
  rule<"slice_backward", slice_backward>(m);
  rule<"diagonal_backward", diagonal_backward>(m);
  rule<"unfold_backward", unfold_backward>(m);
}

}  // namespace
}  // namespace massless
