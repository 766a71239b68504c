#include "guard/shape_env.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <thread>

#include "sym/text.h"

namespace massless::guard {
namespace {

using sym::SymError;

class Env : public ::testing::Test {
 protected:
  ShapeEnv env;

  Expr size(const char* name, std::int64_t hint, bool strict = false) {
    SymbolOptions options;
    options.hint = hint;
    options.strict = strict;
    return env.symbol(name, options);
  }
  Expr operator()(const char* text) { return env.parse(text); }
  std::string guards() {
    std::string all;
    for (const Guard& g : env.guards()) {
      all += (all.empty() ? "" : "; ") + env.print(g.condition);
    }
    return all;
  }
  static void expect_error(ErrorCode code, const std::string& words,
                           const std::function<void()>& f) {
    try {
      f();
      ADD_FAILURE() << "no error with " << words;
    } catch (const SymError& error) {
      EXPECT_EQ(error_info(error.code()).name, error_info(code).name) << error.what();
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }
};

TEST_F(Env, AProofLeavesNoGuardAndADecisionOne) {
  size("b", 4);
  size("s", 6);
  EXPECT_TRUE(env.decide((*this)("b*s >= 0")));
  EXPECT_EQ(guards(), "");
  EXPECT_FALSE(env.decide((*this)("b == s")));
  EXPECT_EQ(guards(), "b != s");
  EXPECT_FALSE(env.decide((*this)("s == b")));
  EXPECT_TRUE(env.decide((*this)("b >= 2")));
  EXPECT_TRUE(env.decide((*this)("b + 1 >= 2")));
  EXPECT_EQ(guards(), "b != s; b >= 2");
}

TEST_F(Env, WhatIsSetAsideIsDroppedOrDecided) {
  Expr b = size("b", 4);
  const auto product = [&] {
    const std::vector<Expr> operands{b, env.integer(8)};
    return env.apply(sym::Op::mul, operands);
  };
  env.set_aside((*this)("b != 1"));
  product();
  env.drop_aside();
  EXPECT_EQ(guards(), "");
  env.set_aside((*this)("b != 1"));
  for (int i = 0; i < 3; ++i) {
    product();
  }
  env.drop_aside();  // of a later question
  EXPECT_EQ(guards(), "b != 1");
  env.set_aside((*this)("b != 2"));
  EXPECT_TRUE(env.decide((*this)("b >= 3")));
  EXPECT_EQ(guards(), "b != 1; b != 2; b >= 3");
  env.set_aside((*this)("b <= 9"));
  std::thread([&] { env.drop_aside(); }).join();
  EXPECT_EQ(guards(), "b != 1; b != 2; b >= 3; b <= 9");
  env.set_aside((*this)("b != 5"));
  EXPECT_FALSE(env.holds({{0, 5}}, nullptr));
}

TEST_F(Env, EarlierGuardsMayBeImpliedLater) {
  size("b", 4);
  env.decide((*this)("b >= 2"));
  env.decide((*this)("b >= 3"));
  EXPECT_EQ(env.implied_guards(), (std::vector<bool>{true, false}));
}

TEST_F(Env, AStrictSizeIsNotFixedNorTied) {
  size("b", 4, true);
  size("c", 4, true);
  size("s", 4);
  expect_error(ErrorCode::specialization, "b was given as a Dim",
               [&] { env.specialize((*this)("b")); });
  expect_error(ErrorCode::specialization, "tied", [&] { env.decide((*this)("b == c")); });
  expect_error(ErrorCode::specialization, "tied", [&] { env.decide((*this)("2*b == b + c")); });
  env.decide((*this)("b <= 4"));
  expect_error(ErrorCode::specialization, "fixed", [&] { env.decide((*this)("b >= 4")); });
  EXPECT_EQ(guards(), "b <= 4");
  // A soft one may be found equal.
  EXPECT_TRUE(env.decide((*this)("s == b")));
  EXPECT_EQ(env.prove((*this)("s <= 4")), Truth::yes);
}

TEST_F(Env, SizesWithoutANameAreSpecialisedAndShared) {
  EXPECT_TRUE(env.dynamic_size(1)->is_constant(1));
  EXPECT_TRUE(env.dynamic_size(0)->is_constant(0));
  Expr a = env.dynamic_size(7);
  EXPECT_EQ(env.dynamic_size(7), a);
  EXPECT_NE(env.dynamic_size(8), a);
  EXPECT_EQ(env.bounds(a).lo, 2);
  ShapeEnv free({false, false});
  EXPECT_FALSE(free.dynamic_size(1)->is_constant());
  EXPECT_NE(free.dynamic_size(7), free.dynamic_size(7));
}

TEST_F(Env, UnbackedSizesAreProvedOrRefused) {
  Expr u = env.unbacked({0, Range::kPlusInf});
  EXPECT_TRUE(env.decide((*this)("u0 >= 0")));
  expect_error(ErrorCode::unbacked, "u0", [&] { env.decide((*this)("u0 == 3")); });
  EXPECT_TRUE(env.assert_true((*this)("u0 >= 5")));
  EXPECT_TRUE(env.decide((*this)("u0 != 3")));
  EXPECT_FALSE(env.assert_true((*this)("u0 == 1")));
  EXPECT_FALSE(env.has_hint(u));
  size("s", 8);
  EXPECT_TRUE(env.assert_true((*this)("u0 == s")));
  EXPECT_EQ(env.hint((*this)("2*u0")), 16);
}

TEST_F(Env, MultiplesAndRanges) {
  SymbolOptions options;
  options.hint = 24;
  options.multiple_of = 8;
  options.range = {8, 64};
  env.symbol("s", options);
  EXPECT_TRUE(env.decide((*this)("s % 4 == 0")));
  EXPECT_TRUE(env.decide((*this)("s <= 64")));
  EXPECT_EQ(guards(), "");
  std::string why;
  EXPECT_FALSE(env.holds({{0, 20}}, &why));
  EXPECT_NE(why.find("s = 20"), std::string::npos);
  EXPECT_TRUE(env.holds({{0, 32}}, &why));
}

TEST_F(Env, ContradictionsAreToldWithBothSides) {
  const auto wrong = [&](Range range, std::int64_t hint, std::int64_t multiple, const char* words) {
    expect_error(ErrorCode::contradiction, words, [&] {
      SymbolOptions options;
      options.hint = hint;
      options.range = range;
      options.multiple_of = multiple;
      env.symbol("x", options);
    });
  };
  wrong({5, 3}, 4, 1, "min is larger than max");
  wrong({2, 8}, 1, 1, "outside of the range");
  wrong({0, 8}, 3, 2, "no multiple of 2");
  wrong({0, 8}, 3, 0, "a multiple must be of 1 or more");
  size("b", 4);
  expect_error(ErrorCode::contradiction, "given twice", [&] { size("b", 5); });
}

TEST_F(Env, AGuardThatHasNoValueAtAPointDoesNotHold) {
  size("b", 4);
  size("s", 12);
  env.decide((*this)("s//b == 3"));
  EXPECT_TRUE(env.holds({{0, 2}, {1, 6}}, nullptr));
  std::string why;
  EXPECT_FALSE(env.holds({{0, 0}, {1, 6}}, &why));
}

TEST_F(Env, ManyThreadsDecide) {
  size("b", 4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string text = "b + " + std::to_string(t * 1000 + i) + " >= 3";
        EXPECT_TRUE(env.decide(env.parse(text)));
      }
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
}

TEST(ShapeEnvs, ComeAndGo) {
  for (int i = 0; i < 10000; ++i) {
    ShapeEnv env;
    env.dynamic_size(5);
  }
}

// Each thread remembers answers: of one environment, though the next may lie where it lay.
TEST(ShapeEnvs, DoNotShareAnswers) {
  for (std::int64_t i = 0; i < 100; ++i) {
    ShapeEnv env;
    SymbolOptions options;
    options.range.lo = i % 4;
    options.hint = 5 + i;
    Expr s = env.symbol("s", options);
    const std::array<Expr, 2> operands{s, env.integer(3)};
    Expr large = env.apply(sym::Op::ge, operands);
    EXPECT_EQ(env.print(env.apply(sym::Op::add, operands)), "s + 3");
    EXPECT_EQ(env.prove(large), i % 4 == 3 ? Truth::yes : Truth::unknown);
    EXPECT_EQ(env.hint(s), 5 + i);
  }
}

TEST_F(Env, WhatWasUnknownMayBeProvedLater) {
  size("s", 8);
  Expr large = (*this)("s >= 5");
  EXPECT_EQ(env.prove(large), Truth::unknown);
  EXPECT_EQ(env.prove(large), Truth::unknown);
  EXPECT_TRUE(env.assert_true((*this)("s >= 7")));
  EXPECT_EQ(env.prove(large), Truth::yes);
  Expr u = env.unbacked({0, Range::kPlusInf});
  EXPECT_EQ(env.hint(u), std::nullopt);
  EXPECT_TRUE(env.assert_true((*this)("u0 == s")));
  EXPECT_EQ(env.hint(u), 8);
}

}  // namespace
}  // namespace massless::guard
