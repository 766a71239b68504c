#include "fake/known.h"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <vector>

#include "dispatch/state.h"
#include "fake/help.h"

namespace massless {
namespace {

at::Tensor known_of(const at::Tensor& value) {
  const at::Tensor fake = fake_like(value);
  set_known(fake, value);
  return fake;
}

void expect_value(const at::Tensor& fake, const at::Tensor& value) {
  ASSERT_TRUE(is_fake(fake));
  ASSERT_TRUE(is_known(fake));
  EXPECT_TRUE(at::equal(known_value(fake), value));
}

TEST(Known, AFreshFakeIsNot) {
  const at::Tensor fake = fake_of({2});
  EXPECT_FALSE(is_known(fake));
  EXPECT_FALSE(known_value(fake).defined());
  EXPECT_FALSE(is_known(at::Tensor()));
  EXPECT_FALSE(is_known(at::ones({2})));
}

TEST(Known, AWrappedNumberIs) {
  at::Tensor number = at::ones({});
  number.unsafeGetTensorImpl()->set_wrapped_number(true);
  EXPECT_TRUE(is_known(number));
  EXPECT_TRUE(known_value(number).is_same(number));
}

TEST(Known, IsACopyOfTheValue) {
  at::Tensor value = at::arange(6, at::kLong).view({2, 3});
  const at::Tensor fake = known_of(value);
  value.zero_();
  expect_value(fake, at::arange(6, at::kLong).view({2, 3}));
}

TEST(Known, ViewsShareIt) {
  const at::Tensor base = known_of(at::arange(6, at::kLong));
  const at::Tensor view = view_of(base, {2}, {2}, 1);
  expect_value(view, at::full({2}, 1, at::kLong).add_(at::arange(2, at::kLong).mul_(2)));
  forget(view);
  EXPECT_FALSE(is_known(base));
}

TEST(Known, HasLimits) {
  EXPECT_TRUE(small_enough_to_know(fake_of({kKnownFloats})));
  EXPECT_FALSE(small_enough_to_know(fake_of({kKnownFloats + 1})));
  EXPECT_TRUE(small_enough_to_know(fake_of({kKnownIntegers}, c10::kLong)));
  EXPECT_FALSE(small_enough_to_know(fake_of({kKnownIntegers + 1}, c10::kLong)));
  // A small view of a large storage counts by its storage.
  EXPECT_FALSE(small_enough_to_know(view_of(fake_of({kKnownFloats + 1}), {1}, {1}, 0)));
  const at::Tensor large = fake_of({kKnownFloats + 1});
  set_known(large, at::zeros({kKnownFloats + 1}));
  EXPECT_FALSE(is_known(large));
}

TEST(Known, AModeMayTurnItOff) {
  FakeModeOptions options;
  options.known_values = false;
  const FakeMode mode(options);
  const at::Tensor fake = fake_of({2});
  set_known_fill(fake, 1);
  EXPECT_FALSE(is_known(fake));
}

TEST(Known, GapsAreNotUninitialised) {
  const at::Tensor fake = make_fake({2}, {2}, c10::kInt, c10::kCPU);
  set_known_fill(fake, 5);
  expect_value(view_of(fake, {3}, {1}, 0),
               at::full({3}, 5, at::kInt).mul_(at::arange(3, at::kInt).add_(1).remainder_(2)));
}

TEST(Known, ConjugateAndNegativeBitsAreSeen) {
  const at::Tensor value = at::full({2}, c10::complex<double>(1, 2), at::kComplexDouble);
  const at::Tensor fake = known_of(value);
  const at::Tensor conj = fake.conj();
  ASSERT_TRUE(conj.is_conj());
  expect_value(conj, value.conj());
}

TEST(Known, OperatorsOverKnownValuesFold) {
  const at::Tensor a = known_of(at::arange(3, at::kLong));
  expect_value(at::add(a, a), at::arange(3, at::kLong).mul_(2));
  expect_value(at::add(a, 1), at::arange(3, at::kLong).add_(1));
  EXPECT_FALSE(is_known(at::add(a, fake_of({3}))));
}

TEST(Known, AWriteOfKnownValuesUpdates) {
  const at::Tensor a = known_of(at::zeros({2}));
  const at::Tensor view = view_of(a, {1}, {1}, 1);
  view.add_(1);
  expect_value(a, at::arange(2, at::kFloat));
  a.mul_(known_of(at::full({2}, 3.0)));
  expect_value(view, at::full({1}, 3.0));
}

TEST(Known, AWriteOfAnythingElseForgets) {
  const at::Tensor a = known_of(at::zeros({2}));
  a.add_(fake_of({2}));
  EXPECT_FALSE(is_known(a));
  const at::Tensor b = known_of(at::zeros({2}));
  b.copy_(fake_of({2}));
  EXPECT_FALSE(is_known(b));
  const at::Tensor c = known_of(at::zeros({2}));
  at::Tensor out = c;
  at::add_out(out, fake_of({2}), fake_of({2}));
  EXPECT_FALSE(is_known(c));
}

TEST(Known, RandomNumbersAreNot) {
  const at::Tensor a = known_of(at::zeros({4}));
  a.uniform_();
  EXPECT_FALSE(is_known(a));
}

TEST(Known, FactoriesOfLiteralsAre) {
  const FakeMode mode;
  EXPECT_FALSE(is_known(at::empty({2})));
  EXPECT_TRUE(is_known(at::zeros({2})));
  EXPECT_TRUE(is_known(at::ones({2})));
  EXPECT_TRUE(is_known(at::full({2}, 3)));
  EXPECT_TRUE(is_known(at::arange(4)));
  EXPECT_EQ(at::full({}, 3).item<std::int64_t>(), 3);
}

// In a list each tensor has its own fate.
TEST(Known, ListsWrittenInPlaceKeepWhatIsKnown) {
  const std::vector<at::Tensor> list = {known_of(at::zeros({})), fake_of({}),
                                        known_of(at::ones({}))};
  at::_foreach_add_(list, 1);
  expect_value(list[0], at::ones({}));
  EXPECT_FALSE(is_known(list[1]));
  expect_value(list[2], at::full({}, 2.0));
  at::_foreach_add_(list, std::vector<at::Tensor>{list[0], list[0], fake_of({})});
  expect_value(list[0], at::full({}, 2.0));
  EXPECT_FALSE(is_known(list[2]));
}

TEST(RealScope, OperatorsRunForReal) {
  const FakeMode mode;
  const RealScope real;
  EXPECT_FALSE(is_fake(at::ones({2})));
}

}  // namespace
}  // namespace massless
