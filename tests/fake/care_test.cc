#include "fake/care.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <vector>

#include "dispatch/state.h"
#include "fake/help.h"
#include "fake/known.h"

namespace massless {
namespace {

at::Tensor copy_of(const at::Tensor& real) {
  const RealScope to_copy;
  return real.clone();
}

// `write` raises real_write and leaves `real` as it was.
void expect_refused(at::Tensor real, const std::function<void()>& write) {
  const at::Tensor before = copy_of(real);
  const auto version = real._version();
  expect_code(ErrorCode::real_write, write);
  const RealScope to_compare;
  EXPECT_TRUE(at::equal(real, before));
  EXPECT_EQ(real._version(), version);
}

TEST(RealWrites, AreRefusedWithFakesAndInAMode) {
  const at::Tensor real = at::zeros({2});
  const at::Tensor fake = fake_of({2});
  at::Tensor out = real;
  expect_refused(real, [&] { real.add_(fake); });
  expect_refused(real, [&] { real.copy_(fake); });
  expect_refused(real, [&] { at::add_out(out, fake, fake); });
  expect_refused(real, [&] { at::_foreach_add_({real}, {fake}); });
  const FakeMode mode;
  expect_refused(real, [&] { real.add_(1); });
  expect_refused(real, [&] { real.zero_(); });
  expect_refused(real, [&] { real.fill_(2); });
  expect_refused(real, [&] { at::_foreach_add_({fake, real}, 1); });
}

TEST(RealWrites, ThroughAViewAreRefused) {
  const at::Tensor real = at::zeros({4});
  const FakeMode mode;
  const at::Tensor view = real.narrow(0, 1, 2);
  ASSERT_TRUE(is_fake(view));
  expect_code(ErrorCode::real_write, [&] { view.add_(1); });
  expect_code(ErrorCode::real_write, [&] { view.detach().zero_(); });
}

TEST(RealReads, AreTakenByTheirMetadata) {
  const at::Tensor real = at::ones({2, 1});
  const at::Tensor sum = at::add(real, fake_of({3}));
  EXPECT_TRUE(is_fake(sum));
  EXPECT_EQ(sum.sizes(), c10::IntArrayRef({2, 3}));
  EXPECT_FALSE(is_known(sum));
}

TEST(RealGradients, AreNotWrittenByBackward) {
  at::Tensor real = at::ones({2});
  real.requires_grad_(true);
  const at::Tensor loss = at::mul(real, fake_of({2})).sum();
  ASSERT_TRUE(is_fake(loss));
  expect_code(ErrorCode::real_write, [&] { loss.backward(); });
  EXPECT_FALSE(real.grad().defined());
}

TEST(RealGradients, ARealBackwardStillWorksAfterwards) {
  at::Tensor real = at::ones({2});
  real.requires_grad_(true);
  { const at::Tensor unused = at::mul(real, fake_of({2})); }
  at::mul(real, 2).sum().backward();
  ASSERT_TRUE(real.grad().defined());
  EXPECT_TRUE(at::equal(real.grad(), at::ones({2}).mul_(2)));
}

TEST(FakeGradients, AreFakes) {
  at::Tensor leaf = fake_of({2, 3});
  leaf.requires_grad_(true);
  at::mul(leaf, fake_of({2, 3})).sum().backward();
  ASSERT_TRUE(leaf.grad().defined());
  EXPECT_TRUE(is_fake(leaf.grad()));
  EXPECT_EQ(leaf.grad().sizes(), leaf.sizes());
  at::mul(leaf, leaf).sum().backward();
  EXPECT_TRUE(is_fake(leaf.grad()));
}

TEST(MetaTensors, OfTheUserPassThrough) {
  const at::Tensor meta = at::empty({2}, at::TensorOptions(at::kMeta));
  const FakeMode mode;
  const at::Tensor sum = at::add(meta, meta);
  EXPECT_FALSE(is_fake(sum));
  EXPECT_TRUE(sum.is_meta());
  at::add(meta, 1);
  EXPECT_TRUE(meta.add_(1).is_meta());
}

TEST(NeedsCare, WhatIsRealOrKnown) {
  EXPECT_FALSE(tensor_needs_care(at::Tensor()));
  EXPECT_TRUE(tensor_needs_care(at::ones({2})));
  const at::Tensor fake = fake_of({2});
  EXPECT_FALSE(tensor_needs_care(fake));
  set_known_fill(fake, 0);
  EXPECT_TRUE(tensor_needs_care(fake));
}

TEST(InPlace, ChecksSizeDtypeAndOverlap) {
  const at::Tensor self = fake_of({2});
  EXPECT_THROW(check_inplace(self, contiguous_spec({3}, c10::kFloat, c10::kCPU)), c10::Error);
  EXPECT_THROW(check_inplace(self, contiguous_spec({2}, c10::kComplexFloat, c10::kCPU)),
               c10::Error);
  const at::Tensor expanded = view_of(self, {4}, {0}, 0);
  EXPECT_THROW(check_inplace(expanded, contiguous_spec({4}, c10::kFloat, c10::kCPU)), c10::Error);
  check_inplace(self, contiguous_spec({2}, c10::kDouble, c10::kCPU));
}

TEST(Out, IsResizedAndChecked) {
  const at::Tensor out = fake_of({0});
  write_out(out, contiguous_spec({2, 3}, c10::kFloat, c10::kCPU));
  EXPECT_EQ(out.sizes(), c10::IntArrayRef({2, 3}));
  EXPECT_EQ(out.storage().nbytes(), 24U);
  EXPECT_THROW(write_out(out, contiguous_spec({2}, c10::kComplexFloat, c10::kCPU)), c10::Error);
  EXPECT_THROW(write_out(out, contiguous_spec({2}, c10::kFloat, c10::Device(c10::kCUDA, 0))),
               c10::Error);
}

}  // namespace
}  // namespace massless
