#include "fake/accelerator.h"

#include <ATen/core/grad_mode.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/variable.h>

#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "dispatch/error.h"
#include "dispatch/state.h"
#include "fake/ledger.h"
#include "fake/tensor.h"

namespace massless {
namespace {

std::atomic<long> live_uses{0};
bool in_use() noexcept { return live_uses.load(std::memory_order_relaxed) > 0; }

thread_local c10::DeviceIndex current_index = 0;

// No-op streams and events. A stream carries a real index: the engine indexes by it.
struct FakeCudaGuard final : c10::impl::DeviceGuardImplInterface {
  static c10::Device at(c10::DeviceIndex index) { return {c10::kCUDA, index}; }
  c10::DeviceType type() const override { return c10::kCUDA; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device old = at(current_index);
    uncheckedSetDevice(device);
    return old;
  }
  c10::Device getDevice() const override { return at(current_index); }
  void setDevice(c10::Device device) const override { uncheckedSetDevice(device); }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    current_index = device.has_index() ? device.index() : c10::DeviceIndex{0};
  }
  static c10::Stream stream_of(c10::Device device) noexcept {
    return c10::Stream(c10::Stream::DEFAULT,
                       at(device.has_index() ? device.index() : current_index));
  }
  // Autograd asks for it when it makes a node for a tensor of ours, so before every backward.
  c10::Stream getStream(c10::Device device) const override;
  c10::Stream getDefaultStream(c10::Device device) const override { return stream_of(device); }
  c10::Stream getNewStream(c10::Device device, int) const override { return stream_of(device); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return stream_of(device);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    return stream_of(stream.device());
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return in_use() ? kFakeDevices : c10::DeviceIndex{0};
  }
  void record(void**, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeEvent(void*) const override {}
  void synchronizeDevice(c10::DeviceIndex) const override {}
};

struct FakeCudaHooks final : at::CUDAHooksInterface {
  explicit FakeCudaHooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool hasCUDA() const override { return in_use(); }
  bool isBuilt() const override { return in_use(); }
  bool isAvailable() const override { return in_use(); }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return in_use(); }
  c10::DeviceIndex deviceCount() const override { return in_use() ? kFakeDevices : 0; }
  int getNumGPUs() const override { return deviceCount(); }
  c10::DeviceIndex current_device() const override {
    return in_use() ? current_index : c10::DeviceIndex{-1};
  }
  c10::DeviceIndex getCurrentDevice() const override { return current_index; }
  void setCurrentDevice(c10::DeviceIndex index) const override { current_index = index; }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    return std::exchange(current_index, index);
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    return exchangeDevice(index);
  }
};

bool real_cuda_exists() {
  return c10::impl::device_guard_impl_registry[static_cast<std::size_t>(c10::kCUDA)].load() !=
         nullptr;
}

// At load time, and only where no CUDA guard exists. The hooks have fallback priority, so a CUDA
// library that is loaded later registers its own over them.
bool install() {
  if (real_cuda_exists()) {
    return false;
  }
  static FakeCudaGuard guard;
  c10::impl::device_guard_impl_registry[static_cast<std::size_t>(c10::kCUDA)].store(&guard);
  at::CUDAHooksRegistry()->Register(
      "CUDAHooks",
      [](at::CUDAHooksArgs args) -> std::unique_ptr<at::CUDAHooksInterface> {
        return std::make_unique<FakeCudaHooks>(args);
      },
      c10::REGISTRY_FALLBACK);
  return true;
}
const bool installed = install();

bool guard_is_ours() {
  return dynamic_cast<const FakeCudaGuard*>(
             c10::impl::device_guard_impl_registry[static_cast<std::size_t>(c10::kCUDA)].load()) !=
         nullptr;
}

bool hooks_in_time() {
  return dynamic_cast<const FakeCudaHooks*>(&at::detail::getCUDAHooks()) != nullptr;
}

// The engine counts devices once, at the first backward of the process. If that was a real one, it
// has no thread for our devices yet; its own member function makes them.
struct EngineAccess : torch::autograd::Engine {
  static void ensure_device_threads() {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    auto& engine = torch::autograd::Engine::get_default_engine();
    engine.initialize_device_threads_pool();
    constexpr auto queues = &EngineAccess::device_ready_queues_;
    constexpr auto start = &EngineAccess::start_device_threads;
    if ((engine.*queues).empty()) {
      (engine.*start)();
    }
    started_in.store(getpid());
  }
  static inline std::atomic<pid_t> started_in{0};
};

// The engine starts as many threads as there are devices, so only when ours are there.
void ensure_device_threads_once() {
  static thread_local bool ensured = false;
  if (!ensured && in_use()) {
    ensured = true;
    EngineAccess::ensure_device_threads();
  }
}

c10::Stream FakeCudaGuard::getStream(c10::Device device) const {
  static const bool in_time = hooks_in_time();
  if (in_time) {
    ensure_device_threads_once();
  }
  return stream_of(device);
}

}  // namespace

FakeDeviceUse::FakeDeviceUse(c10::Device device)
    : counted_(device.type() == c10::kCUDA && installed) {
  if (counted_) {
    live_uses.fetch_add(1, std::memory_order_relaxed);
  }
}

FakeDeviceUse::~FakeDeviceUse() {
  if (counted_) {
    live_uses.fetch_sub(1, std::memory_order_relaxed);
  }
}

bool fake_devices_in_use() noexcept { return in_use(); }

void meet_device_threads() {
  if (EngineAccess::started_in.load() != getpid()) {  // not at all, or the threads are a parent's
    return;
  }
  const c10::InferenceMode no_inference(false);
  const at::AutoGradMode grad_on(true);
  FakeModeOptions apart;  // what is made here is in no ledger of the program
  apart.ledger = std::make_shared<Ledger>();
  const FakeMode mode(apart);
  for (c10::DeviceIndex index = 0; index < kFakeDevices; ++index) {
    const TensorSpec spec = contiguous_spec({}, c10::kFloat, FakeCudaGuard::at(index));
    const at::Tensor leaf = make_fake(spec).set_requires_grad(true);
    const auto edge = torch::autograd::impl::gradient_edge(leaf);
    torch::autograd::Engine::get_default_engine().execute({edge}, {make_fake(spec)}, false, false,
                                                          false, {edge});
  }
}

AcceleratorReport accelerator_report() { return {guard_is_ours(), hooks_in_time()}; }

void require_backward_support(c10::Device device) {
  if (device.type() != c10::kCUDA || !guard_is_ours()) {
    return;
  }
  static const bool in_time = hooks_in_time();
  if (!in_time) {
    raise(ErrorCode::accelerator_too_late,
          "a backward on fake " + device.str() + " was prepared, but torch was imported first");
  }
  ensure_device_threads_once();
}

}  // namespace massless
