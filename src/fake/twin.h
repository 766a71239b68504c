// A tensor object that acts as its own fake twin for a while: whoever holds it (modules, closures,
// optimizers, graphs) sees the fake, and afterwards it is what it was.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace massless {

class Impersonation {
 public:
  // `fake` becomes the data of `target`, in place. The gradient of `target` is set aside; `grad`
  // (may be undefined) takes its place.
  Impersonation(const at::Tensor& target, const at::Tensor& fake, const at::Tensor& grad);
  // Puts back data, geometry, version, gradient and requires_grad. Never throws.
  void restore() noexcept;

 private:
  at::Tensor target_;
  c10::intrusive_ptr<c10::TensorImpl> saved_;
  at::Tensor saved_grad_;
  std::int64_t version_ = 0;
  bool requires_grad_ = false;
  bool leaf_ = false;
};

}  // namespace massless
