#include "fake/device.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "dispatch/state.h"
#include "fake/help.h"

namespace massless {
namespace {

const c10::Device kCpu(c10::kCPU);
const c10::Device kCuda(c10::kCUDA, 0);

at::Tensor on(c10::Device device) { return fake_of({2}, c10::kFloat, device); }
at::Tensor scalar_on(c10::Device device) { return fake_of({}, c10::kFloat, device); }

TEST(CommonDevice, IsThatOfAll) {
  EXPECT_EQ(common_device(on(kCuda), on(kCuda)), kCuda);
  EXPECT_EQ(common_device(on(kCpu), on(kCpu)), kCpu);
}

TEST(CommonDevice, AScalarOfTheCpuGoesWithAny) {
  EXPECT_EQ(common_device(scalar_on(kCpu), on(kCuda)), kCuda);
  EXPECT_EQ(common_device(on(kCuda), scalar_on(kCpu)), kCuda);
  EXPECT_EQ(common_device(scalar_on(kCpu), scalar_on(kCuda), on(kCuda)), kCuda);
  expect_code(ErrorCode::device_mismatch, [] { common_device(scalar_on(kCuda), on(kCpu)); });
}

TEST(CommonDevice, DifferentDevicesAreAnError) {
  expect_code(ErrorCode::device_mismatch, [] { common_device(on(kCuda), on(kCpu)); });
  expect_code(ErrorCode::device_mismatch,
              [] { common_device(scalar_on(kCpu), on(kCuda), on(kCpu)); });
  expect_code(ErrorCode::device_mismatch,
              [] { common_device(on(kCuda), on(c10::Device(c10::kCUDA, 1))); });
}

TEST(CommonDevice, UndefinedTensorsArePassedOver) {
  EXPECT_EQ(common_device(at::Tensor(), std::optional<at::Tensor>(), on(kCuda)), kCuda);
  const std::vector<at::Tensor> list = {at::Tensor(), on(kCuda)};
  EXPECT_EQ(common_device(at::TensorList(list)), kCuda);
}

TEST(SameDevice, TakesNoScalarInPlace) {
  const at::Tensor cuda = on(kCuda);
  const at::Tensor scalar = scalar_on(kCpu);
  const at::Tensor none;
  EXPECT_EQ(same_device({cuda, none, cuda}), kCuda);
  expect_code(ErrorCode::device_mismatch, [&] { same_device({cuda, scalar}); });
}

TEST(FactoryDevice, IsTheArgumentThenTheModesThenTheCpu) {
  EXPECT_EQ(factory_device(std::nullopt), kCpu);
  FakeModeOptions options;
  options.device = c10::Device(c10::kCUDA);
  const FakeMode mode(options);
  EXPECT_EQ(factory_device(std::nullopt), kCuda);
  EXPECT_EQ(factory_device(kCpu), kCpu);
  EXPECT_EQ(common_device(at::Tensor()), kCuda);
  EXPECT_EQ(same_device({}), kCuda);
}

}  // namespace
}  // namespace massless
