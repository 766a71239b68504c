// Fake devices without the hardware. Autograd's engine wants a device guard and device hooks for
// the device of a gradient; both answer "no device" unless a fake of that device is alive, so that
// a real program never sees them.
#pragma once

#include <c10/core/Device.h>

namespace massless {

// One live fake storage on a device that this build of torch does not have. Counted process-wide.
class FakeDeviceUse {
 public:
  explicit FakeDeviceUse(c10::Device device);
  ~FakeDeviceUse();
  FakeDeviceUse(const FakeDeviceUse&) = delete;
  FakeDeviceUse& operator=(const FakeDeviceUse&) = delete;

 private:
  bool counted_;
};

// Is any fake on such a device alive?
bool fake_devices_in_use() noexcept;

// Sends a task through each device thread of autograd's engine, if a fake made it start them; not
// to be called with Python's GIL. After it no thread still waits for the interpreter: a thread that
// does so while the interpreter ends is unwound by it, which ends the process in std::terminate.
void meet_device_threads();

// Number of devices that the fake accelerator claims while it is in use.
constexpr c10::DeviceIndex kFakeDevices = 8;

struct AcceleratorReport {
  bool guard_is_ours;  // false: this build has real CUDA
  bool hooks_in_time;  // false: torch was imported first, backward on fake cuda cannot work
};
AcceleratorReport accelerator_report();

// Raises accelerator_too_late unless backward on this device can work.
void require_backward_support(c10::Device device);

}  // namespace massless
