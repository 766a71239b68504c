// What the rules of the heavy operators (matrix products, norms, losses, attention, convolution)
// share: outputs of exactly one dtype, the layout of `empty_like`, the checks of `expand`.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/SymIntArrayRef.h>

#include <optional>

#include "fake/rule.h"
#include "fake/sizes.h"
#include "rules/iterator.h"

namespace massless {

// As structured kernels without a TensorIterator take `out=`: dtype and device must be the
// result's; a wrong size is resized.
void write_out_strict(const at::Tensor& out, const TensorSpec& spec);
// Their in-place form: nothing is broadcast or cast.
void check_inplace_strict(const at::Tensor& self, const TensorSpec& spec);

// Strides of `empty_like(t)` with the preserve format: t's own where t is dense, else dense ones
// in the order of t's.
SymDimVector empty_like_strides(const at::Tensor& t);
TensorSpec empty_like_spec(const at::Tensor& t, std::optional<c10::ScalarType> dtype = {});
// A fresh tensor of t's sizes in one memory format.
TensorSpec contiguous_like_spec(const at::Tensor& t, std::optional<c10::ScalarType> dtype = {});
TensorSpec format_like_spec(const at::Tensor& t, c10::MemoryFormat format);

// As `expand`: each dimension of `from`, counted from the right, is 1 or the target's.
void check_expand(const at::Tensor& from, c10::SymIntArrayRef target);
// Of tensors that kernels read without asking, ATen's too: one of other sizes is refused here.
void check_sizes(const at::Tensor& t, c10::SymIntArrayRef sizes, const char* name);
void check_numel(const at::Tensor& t, const c10::SymInt& numel, const char* name);
inline bool is_bool(const at::Tensor& t) { return t.scalar_type() == c10::kBool; }

namespace detail {

template <auto spec, class Sig = decltype(spec)>
struct StrictOut;
template <auto spec, class R, class... A>
struct StrictOut<spec, R (*)(A...)> {
  static at::Tensor& call(A... args, at::Tensor& out) {
    write_out_strict(out, spec(std::forward<A>(args)...));
    return out;
  }
};

template <auto spec, class Sig = decltype(spec)>
struct StrictInplace;
template <auto spec, class R, class... A>
struct StrictInplace<spec, R (*)(const at::Tensor&, A...)> {
  static at::Tensor& call(at::Tensor& self, A... args) {
    check_inplace_strict(self, spec(self, std::forward<A>(args)...));
    return self;
  }
};

}  // namespace detail

template <auto spec>
inline constexpr auto out_strict = &detail::StrictOut<spec>::call;
template <auto spec>
inline constexpr auto inplace_strict = &detail::StrictInplace<spec>::call;

}  // namespace massless
