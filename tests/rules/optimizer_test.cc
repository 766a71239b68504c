// What vectors cannot say of optimizer steps: known values, and sizes the real kernels never check.
#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <vector>

#include "fake/known.h"
#include "fake/tensor.h"

namespace massless {
namespace {

std::vector<at::Tensor> fakes(std::size_t count, std::int64_t size) {
  std::vector<at::Tensor> made;
  for (std::size_t i = 0; i < count; ++i) {
    made.push_back(make_fake(contiguous_spec({size}, c10::kFloat, c10::kCPU)));
  }
  return made;
}

std::vector<at::Tensor> known_steps(std::size_t count) {
  std::vector<at::Tensor> steps;
  for (std::size_t i = 0; i < count; ++i) {
    steps.push_back(make_fake(contiguous_spec({}, c10::kFloat, c10::kCPU)));
    set_known_fill(steps.back(), 0);
  }
  return steps;
}

void fused_adam(const std::vector<at::Tensor>& params, const std::vector<at::Tensor>& grads,
                const std::vector<at::Tensor>& states, const std::vector<at::Tensor>& steps) {
  at::_fused_adam_(params, grads, states, fakes(params.size(), 4), {}, steps, /*lr=*/0.1,
                   /*beta1=*/0.9, /*beta2=*/0.99, /*weight_decay=*/0.0, /*eps=*/1e-8,
                   /*amsgrad=*/false, /*maximize=*/false);
}

TEST(FusedStep, KeepsStepCountsKnown) {
  const auto params = fakes(3, 4);
  const auto steps = known_steps(3);
  for (int i = 1; i <= 3; ++i) {
    at::_foreach_add_(steps, 1);
    fused_adam(params, fakes(3, 4), fakes(3, 4), steps);
    for (const at::Tensor& step : steps) {
      ASSERT_TRUE(is_known(step));
      EXPECT_EQ(known_value(step).item<float>(), static_cast<float>(i));
    }
  }
}

TEST(FusedStep, ForgetsStatesThatMeetGradients) {
  const auto states = fakes(2, 4);
  for (const at::Tensor& state : states) {
    set_known_fill(state, 0);
  }
  fused_adam(fakes(2, 4), fakes(2, 4), states, known_steps(2));
  for (const at::Tensor& state : states) {
    EXPECT_FALSE(is_known(state));
  }
}

// The real kernel would read and write past the end.
TEST(FusedStep, RefusesGradientsOfAnotherSize) {
  EXPECT_THROW(fused_adam(fakes(1, 4), fakes(1, 2), fakes(1, 4), known_steps(1)), c10::Error);
  EXPECT_THROW(fused_adam(fakes(1, 4), fakes(1, 4), fakes(1, 8), known_steps(1)), c10::Error);
}

TEST(PackedScalars, KnownOnesFoldAndOthersForget) {
  const auto self = known_steps(2);
  const auto ones = known_steps(2);
  at::_foreach_add_(ones, 1);
  const at::Tensor scalars = make_fake(contiguous_spec({2}, c10::kFloat, c10::kCPU));
  set_known_fill(scalars, 3);
  at::_foreach_addcmul_(self, ones, ones, scalars);
  ASSERT_TRUE(is_known(self[1]));
  EXPECT_EQ(known_value(self[1]).item<float>(), 3.0F);
  const auto made = at::_foreach_addcdiv(self, ones, ones, scalars);
  ASSERT_TRUE(is_known(made[0]));
  EXPECT_EQ(known_value(made[0]).item<float>(), 6.0F);
  forget(scalars);
  EXPECT_FALSE(is_known(at::_foreach_addcmul(self, ones, ones, scalars)[0]));
  EXPECT_TRUE(is_known(self[0]));
  at::_foreach_addcdiv_(self, ones, ones, scalars);
  EXPECT_FALSE(is_known(self[0]));
}

}  // namespace
}  // namespace massless
