#include "fake/device.h"

#include "dispatch/error.h"
#include "dispatch/state.h"
#include "fake/tensor.h"

namespace massless {
namespace {

[[noreturn]] void mismatch(c10::Device a, c10::Device b) {
  raise(ErrorCode::device_mismatch,
        "Expected all tensors to be on the same device, but found at least two devices, " +
            a.str() + " and " + b.str());
}

}  // namespace

void CommonDevice::add(const at::Tensor& t) {
  if (!t.defined()) {
    return;
  }
  const c10::Device device = claimed_device(t);
  const bool scalar = t.dim() == 0 && device.is_cpu();
  if (!device_) {
    device_ = device;
    from_scalar_ = scalar;
  } else if (*device_ == device) {
    from_scalar_ = from_scalar_ && scalar;
  } else if (from_scalar_) {
    device_ = device;
    from_scalar_ = false;
  } else if (!scalar) {
    mismatch(*device_, device);
  }
}

void CommonDevice::add(const std::optional<at::Tensor>& t) {
  if (t) {
    add(*t);
  }
}

c10::Device CommonDevice::get() const { return device_ ? *device_ : factory_device(std::nullopt); }

c10::Device common_device(at::TensorList tensors) {
  CommonDevice common;
  for (const at::Tensor& t : tensors) {
    common.add(t);
  }
  return common.get();
}

c10::Device same_device(TensorRefs tensors) {
  std::optional<c10::Device> found;
  for (const at::Tensor& t : tensors) {
    if (!t.defined()) {
      continue;
    }
    const c10::Device device = claimed_device(t);
    if (found && *found != device) {
      mismatch(*found, device);
    }
    found = device;
  }
  return found ? *found : factory_device(std::nullopt);
}

c10::Device factory_device(std::optional<c10::Device> device) {
  if (device) {
    return normalize_device(*device);
  }
  const ModeState* mode = current_mode();
  return mode != nullptr && mode->default_device ? normalize_device(*mode->default_device)
                                                 : c10::Device(c10::kCPU);
}

}  // namespace massless
