// What factories share: a spec from options, fresh tensors of known content.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Layout.h>
#include <c10/core/Scalar.h>

#include <optional>

#include "fake/tensor.h"

namespace massless {

// The tensor that a factory hands out: a fake, or a plain meta tensor of the user's own where meta
// is the device that was asked for.
at::Tensor fresh(const TensorSpec& spec);
at::Tensor fresh(const TensorSpec& spec, std::optional<bool> pin_memory);
// The same with every element equal to `value`, which is then known.
at::Tensor fresh_filled(const TensorSpec& spec, const c10::Scalar& value,
                        std::optional<bool> pin_memory);
// Sets what is known of `made` to the value of `compute()`, a real CPU tensor. Called only where
// the value is kept.
template <class F>
at::Tensor with_value(at::Tensor made, F&& compute);

// Fakes are strided; pinned memory is the CPU's.
void check_options(std::optional<c10::Layout> layout, c10::Device device,
                   std::optional<bool> pin_memory);

// A contiguous tensor of a factory's options.
TensorSpec options_spec(c10::SymIntArrayRef size, std::optional<c10::ScalarType> dtype,
                        std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                        std::optional<bool> pin_memory);
// As `empty_like`.
TensorSpec like_spec(const at::Tensor& self, std::optional<c10::ScalarType> dtype,
                     std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                     std::optional<bool> pin_memory, std::optional<c10::MemoryFormat> format);

// Raises where `value` does not fit the dtype, as fill_ does.
void check_fill(c10::ScalarType dtype, const c10::Scalar& value);

// Kernels without a TensorIterator resize `out` and take any dtype.
void resize_out(const at::Tensor& out, c10::SymIntArrayRef size);

}  // namespace massless

#include "fake/known.h"

template <class F>
at::Tensor massless::with_value(at::Tensor made, F&& compute) {
  if (is_fake(made) && small_enough_to_know(made)) {
    at::Tensor value;
    {
      const RealScope real;
      value = compute();
    }
    set_known(made, value);
  }
  return made;
}
