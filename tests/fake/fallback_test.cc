#include "fake/fallback.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <stdexcept>
#include <string>

#include "dispatch/state.h"
#include "fake/help.h"

namespace massless {
namespace {

at::Tensor cpu_kernel(const at::Tensor& x) { return x.clone(); }
at::Tensor meta_kernel(const at::Tensor& x) { return at::empty_like(x); }
at::Tensor reading_kernel(const at::Tensor& x) {
  static_cast<void>(x.const_data_ptr());
  return x;
}
at::Tensor composite_kernel(const at::Tensor& x) { return at::empty_like(x).detach(); }

TORCH_LIBRARY(massless_test_ops, m) {
  m.def("cpu_only(Tensor x) -> Tensor");
  m.def("with_meta(Tensor x) -> Tensor");
  m.def("with_reading_meta(Tensor x) -> Tensor");
  m.def("explicit_composite(Tensor x) -> Tensor");
  m.def("implicit_composite(Tensor x) -> Tensor", composite_kernel);
}
TORCH_LIBRARY_IMPL(massless_test_ops, CPU, m) {
  m.impl("cpu_only", cpu_kernel);
  m.impl("with_meta", cpu_kernel);
  m.impl("with_reading_meta", cpu_kernel);
}
TORCH_LIBRARY_IMPL(massless_test_ops, Meta, m) {
  m.impl("with_meta", meta_kernel);
  m.impl("with_reading_meta", reading_kernel);
}
TORCH_LIBRARY_IMPL(massless_test_ops, CompositeExplicitAutograd, m) {
  m.impl("explicit_composite", composite_kernel);
}

at::Tensor call(const std::string& name, const at::Tensor& x) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow(("massless_test_ops::" + name).c_str(), "")
      .typed<at::Tensor(const at::Tensor&)>()
      .call(x);
}

std::uint64_t calls(const std::string& name, Rung rung) {
  for (const OpReport& report : explain_ops()) {
    if (report.name == name) {
      return report.calls[static_cast<std::size_t>(rung)];
    }
  }
  return 0;
}

TEST(Ladder, AnOperatorWithoutAnyAnswerIsUnsupported) {
  const at::Tensor fake = fake_of({2});
  reset_op_counts();
  expect_code(ErrorCode::unsupported_operator, [&] { call("cpu_only", fake); });
  EXPECT_EQ(calls("massless_test_ops::cpu_only", Rung::error), 1U);
  try {
    call("cpu_only", fake);
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.operator_name(), "massless_test_ops::cpu_only");
    EXPECT_NE(text.find("Float[2]"), std::string::npos) << text;
    EXPECT_NE(text.find("register_fake"), std::string::npos) << text;
  }
}

TEST(Ladder, ACustomMetaKernelAnswers) {
  const at::Tensor fake = fake_of({2, 3}, c10::kHalf, c10::Device(c10::kCUDA, 0));
  reset_op_counts();
  const at::Tensor made = call("with_meta", fake);
  EXPECT_TRUE(is_fake(made));
  EXPECT_EQ(made.device(), fake.device());
  EXPECT_EQ(made.sizes(), fake.sizes());
  EXPECT_EQ(calls("massless_test_ops::with_meta", Rung::native_meta), 1U);
}

TEST(Ladder, AKernelThatReadsDataIsAnErrorOfOurs) {
  expect_code(ErrorCode::data_access, [&] { call("with_reading_meta", fake_of({2})); });
}

TEST(Ladder, CompositesDecomposeIntoRules) {
  const at::Tensor fake = fake_of({2}, c10::kFloat, c10::Device(c10::kCUDA, 0));
  reset_op_counts();
  const at::Tensor made = call("explicit_composite", fake);
  EXPECT_TRUE(is_fake(made));
  EXPECT_EQ(made.device(), fake.device());
  EXPECT_EQ(calls("massless_test_ops::explicit_composite", Rung::composite), 1U);
  EXPECT_EQ(calls("aten::detach", Rung::rule), 1U);
  EXPECT_TRUE(is_fake(call("implicit_composite", fake)));
}

TEST(Ladder, RealProgramsDoNotMeetIt) {
  reset_op_counts();
  EXPECT_FALSE(is_fake(call("cpu_only", at::ones({2}))));
  EXPECT_TRUE(explain_ops().empty());
}

TEST(Ladder, AFailingKernelKeepsItsKindOfError) {
  EXPECT_THROW(at::select(fake_of({2}), 3, 0), c10::IndexError);
  EXPECT_THROW(at::add(fake_of({2}), fake_of({3})), c10::Error);
}

TEST(Ladder, SaysWhoAnswers) {
  EXPECT_EQ(answering_rung("aten::detach"), "rule");
  EXPECT_EQ(answering_rung("massless_test_ops::explicit_composite"), "composite");
  EXPECT_EQ(answering_rung("massless_test_ops::cpu_only"), "error");
  expect_code(ErrorCode::internal, [] { answering_rung("massless_test_ops::not_there"); });
}

TEST(Ladder, ValuesThatNobodyComputedAreDataDependent) {
  const at::Tensor fake = fake_of({2});
  expect_code(ErrorCode::data_dependent, [&] { fake_of({}).item(); });
  expect_code(ErrorCode::data_dependent, [&] { at::nonzero(fake); });
  expect_code(ErrorCode::data_dependent,
              [&] { at::masked_select(fake, fake_of({2}, c10::kBool)); });
  expect_code(ErrorCode::data_dependent, [&] { at::equal(fake, fake_of({2})); });
}

TEST(Generators, AreNotMoved) {
  auto generator = at::detail::getDefaultCPUGenerator();
  const at::Tensor before = generator.get_state();
  {
    const FakeMode mode;
    at::rand({4});
    at::randn({4});
    at::randint(10, {4});
    at::randperm(4);
    const at::Tensor fake = at::empty({4});
    fake.uniform_();
    fake.normal_();
    fake.bernoulli_(0.5);
    at::dropout(fake, 0.5, /*train=*/true);
    at::bernoulli(fake);
  }
  EXPECT_TRUE(at::equal(before, generator.get_state()));
}

}  // namespace
}  // namespace massless
