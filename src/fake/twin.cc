#include "fake/twin.h"

#include <c10/core/TensorImpl.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/variable.h>

#include "fake/tensor.h"

namespace massless {

Impersonation::Impersonation(const at::Tensor& target, const at::Tensor& fake,
                             const at::Tensor& grad)
    : target_(target),
      saved_(target.unsafeGetTensorImpl()->shallow_copy_and_detach(c10::VariableVersion(0), true)),
      saved_grad_(target.grad()),
      requires_grad_(target.requires_grad()),
      leaf_(target.is_leaf()) {
  if (!target.is_inference()) {
    version_ = torch::autograd::impl::version_counter(target).current_version();
  }
  target.set_data(fake);
  sync_custom_device(target.unsafeGetTensorImpl(), fake.device());
  if (saved_grad_.defined() || grad.defined()) {
    target_.mutable_grad() = grad;
  }
}

void Impersonation::restore() noexcept {
  target_.mutable_grad() = at::Tensor();
  target_.set_data(at::Tensor(saved_));
  sync_custom_device(target_.unsafeGetTensorImpl(), saved_->device());
  if (leaf_ && target_.requires_grad() != requires_grad_) {
    target_.set_requires_grad(requires_grad_);
  }
  if (saved_grad_.defined()) {
    target_.mutable_grad() = saved_grad_;
  }
  if (!target_.is_inference()) {
    // a copy shares the counter
    c10::VariableVersion counter = torch::autograd::impl::version_counter(target_);
    counter.set_version(version_);
  }
}

}  // namespace massless
