#include "dispatch/state.h"

#include <ATen/ops/empty.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "dispatch/error.h"
#include "fake/ledger.h"
#include "fake/tensor.h"

namespace massless {
namespace {

bool fake_is_included() { return c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::Fake); }

FakeModeOptions on(c10::DeviceType type) {
  FakeModeOptions options;
  options.device = c10::Device(type);
  return options;
}

const OpReport* find_report(const std::vector<OpReport>& reports, const std::string& name) {
  const auto it = std::find_if(reports.begin(), reports.end(),
                               [&](const OpReport& report) { return report.name == name; });
  return it == reports.end() ? nullptr : &*it;
}

TEST(FakeMode, FactoriesGiveFakesUntilTheEndOfTheScope) {
  EXPECT_EQ(current_mode(), nullptr);
  {
    FakeMode mode;
    EXPECT_EQ(current_mode(), &mode.state());
    EXPECT_TRUE(is_fake(at::empty({2})));
  }
  EXPECT_EQ(current_mode(), nullptr);
  EXPECT_FALSE(fake_is_included());
  EXPECT_FALSE(is_fake(at::empty({2})));
}

TEST(FakeMode, InnerModesInheritDeviceAndLedger) {
  FakeModeOptions options = on(c10::kCUDA);
  options.ledger = std::make_shared<Ledger>();
  FakeMode outer(options);
  {
    FakeMode inner;
    EXPECT_EQ(current_mode(), &inner.state());
    EXPECT_EQ(inner.state().ledger, options.ledger);
    EXPECT_EQ(at::empty({2}).device(), c10::Device(c10::kCUDA, 0));
    FakeMode innermost(on(c10::kCPU));
    EXPECT_EQ(at::empty({2}).device(), c10::Device(c10::kCPU));
    EXPECT_EQ(innermost.state().ledger, options.ledger);
  }
  EXPECT_EQ(current_mode(), &outer.state());
  EXPECT_TRUE(fake_is_included());
  EXPECT_EQ(at::empty({2}).device(), c10::Device(c10::kCUDA, 0));
  EXPECT_EQ(options.ledger->live_bytes(), 0);
}

TEST(FakeMode, AnExceptionEndsIt) {
  try {
    const FakeMode outer;
    const FakeMode inner;
    throw std::runtime_error("from inside");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(current_mode(), nullptr);
  EXPECT_FALSE(fake_is_included());
}

TEST(FakeMode, ThreadsAreApart) {
  const FakeMode mode;
  bool other_saw_none = false;
  bool other_made_real = false;
  std::thread([&] {
    other_saw_none = current_mode() == nullptr;
    other_made_real = !is_fake(at::empty({2}));
  }).join();
  EXPECT_TRUE(other_saw_none);
  EXPECT_TRUE(other_made_real);
}

TEST(FakeMode, ManyThreadsWithModesOfTheirOwn) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i, &wrong] {
      const auto type = i % 2 == 0 ? c10::kCPU : c10::kCUDA;
      for (int n = 0; n < 50; ++n) {
        const FakeMode mode(on(type));
        const at::Tensor t = at::empty({n});
        wrong += is_fake(t) && t.device().type() == type ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong.load(), 0);
}

// What the backward of an operator saw.
struct Seen {
  std::thread::id thread;
  ModeState* mode = nullptr;
  bool made_fake = false;
};
Seen seen;

struct Watch : torch::autograd::Function<Watch> {
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& x) {
    return make_fake(x.sym_sizes(), x.sym_strides(), x.scalar_type(), x.device());
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 const torch::autograd::variable_list& grads) {
    seen = {std::this_thread::get_id(), current_mode(), is_fake(at::empty({2}))};
    return grads;
  }
};

Seen backward_on(c10::DeviceType type) {
  seen = {};
  const FakeMode mode(on(type));
  at::Tensor x = at::empty({3});
  x.requires_grad_(true);
  const at::Tensor y = Watch::apply(x);
  y.backward(at::empty({3}));
  EXPECT_TRUE(is_fake(x.grad()));
  EXPECT_EQ(x.grad().device(), x.device());
  EXPECT_EQ(seen.mode, current_mode());
  return seen;
}

TEST(FakeMode, BackwardOnCpuRunsHere) {
  const Seen found = backward_on(c10::kCPU);
  EXPECT_EQ(found.thread, std::this_thread::get_id());
  EXPECT_TRUE(found.made_fake);
}

TEST(FakeMode, TheDeviceThreadOfBackwardInheritsIt) {
  const Seen found = backward_on(c10::kCUDA);
  EXPECT_NE(found.thread, std::this_thread::get_id());
  EXPECT_NE(found.thread, std::thread::id());
  EXPECT_TRUE(found.made_fake);
}

TEST(OpScope, NestsAndCounts) {
  reset_op_counts();
  OpStat& outer_stat = fallback_stat("test::outer");
  OpStat& inner_stat = fallback_stat("test::inner");
  EXPECT_EQ(&fallback_stat("test::outer"), &outer_stat);
  EXPECT_EQ(current_operator(), "");
  {
    const OpScope outer(outer_stat, Rung::composite);
    EXPECT_EQ(current_operator(), "test::outer");
    {
      const OpScope inner(inner_stat, Rung::native_meta);
      EXPECT_EQ(current_operator(), "test::inner");
    }
    EXPECT_EQ(current_operator(), "test::outer");
  }
  EXPECT_EQ(current_operator(), "");
  const auto reports = explain_ops();
  const OpReport* report = find_report(reports, "test::outer");
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(report->calls[static_cast<int>(Rung::composite)], 1U);
  EXPECT_GE(report->seconds, 0.0);
  reset_op_counts();
  EXPECT_EQ(find_report(explain_ops(), "test::outer"), nullptr);
}

TEST(OpScope, CountsOfAllThreadsAddUp) {
  reset_op_counts();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int n = 0; n < 100; ++n) {
        const OpScope scope(fallback_stat("test::shared"), Rung::rule);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const auto reports = explain_ops();
  const OpReport* report = find_report(reports, "test::shared");
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(report->calls[static_cast<int>(Rung::rule)], 400U);
}

TEST(OpScope, TimesOfARuleStandForThoseThatWereNotTaken) {
  reset_op_counts();
  constexpr int calls = 64 + 160;
  constexpr auto least = std::chrono::microseconds(20);
  for (int n = 0; n < calls; ++n) {
    const OpScope scope(fallback_stat("test::slow"), Rung::rule);
    const auto end = std::chrono::steady_clock::now() + least;
    while (std::chrono::steady_clock::now() < end) {
    }
  }
  const auto reports = explain_ops();
  const OpReport* report = find_report(reports, "test::slow");
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(report->calls[static_cast<int>(Rung::rule)], static_cast<std::uint64_t>(calls));
  EXPECT_GE(report->seconds, 0.9 * calls * std::chrono::duration<double>(least).count());
}

TEST(Rungs, HaveNames) {
  for (int i = 0; i < kRungs; ++i) {
    EXPECT_FALSE(rung_name(static_cast<Rung>(i)).empty());
  }
}

TEST(RuleNames, AreSortedAndQualified) {
  const auto names = rule_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_NE(std::find(names.begin(), names.end(), "aten::empty.memory_format"), names.end());
}

TEST(Raise, NamesOperatorAndPlace) {
  set_location_provider([] { return std::string("model.py:7"); });
  try {
    const OpScope scope(fallback_stat("test::raises"), Rung::error);
    raise(ErrorCode::bad_argument, "found this");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_argument);
    EXPECT_EQ(error.operator_name(), "test::raises");
    EXPECT_EQ(error.location(), "model.py:7");
    EXPECT_NE(std::string(error.what()).find("(at model.py:7)"), std::string::npos);
  }
  set_location_provider(nullptr);
  EXPECT_EQ(user_location(), "");
}

TEST(Raise, TheHookMayThrowItsOwn) {
  set_raise_hook([](const Error& error) { throw std::out_of_range(error.operator_name()); });
  EXPECT_THROW(raise(ErrorCode::internal, "found this", "test::op"), std::out_of_range);
  set_raise_hook(nullptr);
  EXPECT_THROW(raise(ErrorCode::internal, "found this", "test::op"), Error);
  EXPECT_THROW(raise(ErrorCode::internal, "found this", "test::op"), c10::Error);
}

}  // namespace
}  // namespace massless
