#include "fake/accelerator.h"

#include <ATen/Functions.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "dispatch/state.h"
#include "fake/help.h"

namespace massless {
namespace {

const c10::Device kCuda(c10::kCUDA, 0);

c10::DeviceIndex devices() { return c10::impl::getDeviceGuardImpl(c10::kCUDA)->deviceCount(); }

TEST(Accelerator, AnswersOnlyWhileAFakeOfItIsAlive) {
  if (!accelerator_report().guard_is_ours) {
    GTEST_SKIP() << "this build has real CUDA";
  }
  EXPECT_FALSE(fake_devices_in_use());
  EXPECT_EQ(devices(), 0);
  EXPECT_FALSE(at::detail::getCUDAHooks().hasCUDA());
  {
    const at::Tensor fake = fake_of({2}, c10::kFloat, kCuda);
    EXPECT_TRUE(fake_devices_in_use());
    EXPECT_EQ(devices(), kFakeDevices);
    const at::Tensor view = fake.detach();
  }
  EXPECT_EQ(devices(), 0);
  const at::Tensor on_cpu = fake_of({2});
  EXPECT_EQ(devices(), 0);
}

TEST(Accelerator, HooksAreInTimeInThisProcess) {
  if (!accelerator_report().guard_is_ours) {
    GTEST_SKIP() << "this build has real CUDA";
  }
  EXPECT_TRUE(accelerator_report().hooks_in_time);
  require_backward_support(kCuda);
  require_backward_support(c10::Device(c10::kCPU));
}

TEST(Accelerator, UsesAreCountedAcrossThreads) {
  const at::Tensor fake = fake_of({2}, c10::kFloat, kCuda);
  std::thread other([] {
    for (int i = 0; i < 100; ++i) {
      const FakeDeviceUse use(kCuda);
    }
  });
  for (int i = 0; i < 100; ++i) {
    const FakeDeviceUse use(kCuda);
  }
  other.join();
  EXPECT_EQ(fake_devices_in_use(), accelerator_report().guard_is_ours);
}

// One training step of a small model on a device that is not there.
void train_on(c10::Device device) {
  FakeModeOptions options;
  options.device = device;
  const FakeMode mode(options);
  at::Tensor weight = fake_of({8, 4}, c10::kFloat, device);
  at::Tensor bias = fake_of({8}, c10::kFloat, device);
  weight.requires_grad_(true);
  bias.requires_grad_(true);
  const at::Tensor x = fake_of({3, 4}, c10::kFloat, device);
  const at::Tensor loss = at::relu(at::linear(x, weight, bias)).pow(2).mean();
  EXPECT_EQ(loss.device(), device);
  loss.backward();
  const at::NoGradGuard no_grad;
  for (const at::Tensor& parameter : {weight, bias}) {
    ASSERT_TRUE(parameter.grad().defined());
    EXPECT_TRUE(is_fake(parameter.grad()));
    EXPECT_EQ(parameter.grad().device(), device);
    EXPECT_EQ(parameter.grad().sizes(), parameter.sizes());
    parameter.add_(parameter.grad(), -0.1);
    EXPECT_EQ(parameter.device(), device);
  }
}

TEST(Backward, OnFakeCpu) { train_on(c10::Device(c10::kCPU)); }
TEST(Backward, OnFakeCuda) { train_on(kCuda); }
TEST(Backward, OnAnotherFakeCuda) { train_on(c10::Device(c10::kCUDA, 3)); }

TEST(Backward, OfARealProgramIsRealAfterwards) {
  train_on(kCuda);
  at::Tensor real = at::ones({2});
  real.requires_grad_(true);
  real.mul(3).sum().backward();
  EXPECT_FALSE(is_fake(real.grad()));
  EXPECT_TRUE(at::equal(real.grad(), at::full({2}, 3.0)));
}

TEST(Backward, OnManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([i] { train_on(i == 0 ? c10::Device(c10::kCPU) : kCuda); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace massless
