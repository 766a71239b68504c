// The device of an operator's result.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <initializer_list>
#include <optional>

namespace massless {

// The common device of several tensors as ATen's kernels see it: a 0-dim CPU tensor goes with
// tensors of any device; anything else must agree (device_mismatch otherwise).
class CommonDevice {
 public:
  void add(const at::Tensor& t);
  void add(const std::optional<at::Tensor>& t);
  bool found() const noexcept { return device_.has_value(); }
  // Of no tensor at all: the mode's default device, else the CPU.
  c10::Device get() const;

 private:
  std::optional<c10::Device> device_;
  bool from_scalar_ = false;  // device_ is that of a 0-dim CPU tensor
};

// Tensors by reference, as `{self, other}`: a list of tensors would count them up and down.
using TensorRefs = std::initializer_list<std::reference_wrapper<const at::Tensor>>;

// Undefined tensors are passed over.
template <class... T>
c10::Device common_device(const T&... tensors) {
  CommonDevice common;
  (common.add(tensors), ...);
  return common.get();
}
c10::Device common_device(at::TensorList tensors);

// Strict form for kernels that take no 0-dim CPU tensor in place of one on the device (mm, conv).
c10::Device same_device(TensorRefs tensors);

// Device of a factory: the argument, else the mode's default, else the CPU.
c10::Device factory_device(std::optional<c10::Device> device);

}  // namespace massless
