// Copies and concatenation, as other families use them.
#pragma once

#include <ATen/core/Tensor.h>

#include "fake/sizes.h"
#include "fake/tensor.h"
#include "rules/strict.h"

namespace massless {

// As `cat`: dtype promotion, the legacy rule for empty vectors, the common memory format.
TensorSpec cat_spec(const at::ITensorListRef& tensors, std::int64_t dim);
// As `self.copy_(src)`: src is broadcast to self, any dtype and device.
void check_copy(const at::Tensor& self, const at::Tensor& src);
// True where a tensor is all of its storage, so that a write to it leaves nothing as it was.
bool covers_storage(const at::Tensor& t);
// Raises where the two share memory, as far as ATen looks; the same tensor counts.
void check_disjoint(const at::Tensor& written, const at::Tensor& read);
// (Arguments that are no tensors.)
template <class T>
void check_disjoint(const at::Tensor&, const T&) noexcept {}

namespace detail {

// `out=` of kernels that read at random places: the output may be none of the inputs, save the
// first where `self_may_be_out`.
template <auto spec, bool self_may_be_out, class Sig = decltype(spec)>
struct DisjointOut;
template <auto spec, bool self_may_be_out, class... A>
struct DisjointOut<spec, self_may_be_out, TensorSpec (*)(const at::Tensor&, A...)> {
  static at::Tensor& call(const at::Tensor& self, A... args, at::Tensor& out) {
    // ATen looks for overlaps after it has resized the output, which may reach further then.
    write_out_strict(out, spec(self, args...));
    check_no_internal_overlap(out);
    (check_disjoint(out, args), ...);
    if constexpr (!self_may_be_out) {
      check_disjoint(out, self);
    }
    return out;
  }
};
template <auto spec, class Sig = decltype(spec)>
struct DisjointInplace;
template <auto spec, class... A>
struct DisjointInplace<spec, TensorSpec (*)(const at::Tensor&, A...)> {
  static at::Tensor& call(at::Tensor& self, A... args) {
    const TensorSpec wanted = spec(self, args...);
    (check_disjoint(self, args), ...);
    check_inplace_strict(self, wanted);
    return self;
  }
};

}  // namespace detail

template <auto spec, bool self_may_be_out>
inline constexpr auto out_disjoint = &detail::DisjointOut<spec, self_may_be_out>::call;
template <auto spec>
inline constexpr auto inplace_disjoint = &detail::DisjointInplace<spec>::call;

}  // namespace massless
