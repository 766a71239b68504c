#include "plan/formula.h"

#include "plan/help.h"

namespace massless {
namespace {

class FormulaTest : public WithSymbols {
 protected:
  void SetUp() override {
    symbol("b", 4, 1, 100);
    symbol("s", 6, 1);
  }
  Formula formula(std::vector<std::string> texts) {
    std::vector<sym::Expr> terms;
    for (const std::string& text : texts) {
      terms.push_back((*this)(text));
    }
    return {env, std::move(terms)};
  }
};

TEST_F(FormulaTest, ValueAndText) {
  const Formula one = formula({"8*b*s + 16"});
  EXPECT_EQ(one.value(), 208);
  EXPECT_EQ(one.text(), "8*b*s + 16");
  EXPECT_EQ(one.symbols(), (std::vector<std::string>{"b", "s"}));
  const Formula most = formula({"100*b", "8*b*s"});
  EXPECT_EQ(most.value(), 400);
  EXPECT_EQ(most.text(), "max(100*b, 8*b*s)");
  EXPECT_EQ(most.at({{"s", 100}}).text(), "max(8*b*s, 100*b)");
}

TEST_F(FormulaTest, AConstantHasNoSymbols) {
  EXPECT_EQ(Formula().value(), 0);
  EXPECT_EQ(Formula(7).text(), "7");
  EXPECT_TRUE(Formula(7).symbols().empty());
  EXPECT_EQ(Formula(7).subs({}).value(), 7);
  expect_error(ErrorCode::guard_failed, "'b' is no symbol", [] { Formula(7).subs({{"b", 1}}); });
  // One of a plan that has symbols may be asked at another point.
  EXPECT_EQ(formula({"7"}).subs({{"b", 1}}).value(), 7);
  EXPECT_EQ(formula({"7"}).text(), "7");
}

TEST_F(FormulaTest, SubstitutionLeavesTheOthersFree) {
  const Formula f = formula({"8*b*s + b", "100*b"});
  const Formula at_two = f.subs({{"b", 2}});
  EXPECT_EQ(at_two.value(), 200);
  EXPECT_EQ(at_two.text(), "max(200, 16*s + 2)");
  EXPECT_EQ(at_two.symbols(), std::vector<std::string>{"s"});
  EXPECT_EQ(at_two.subs({{"s", 1000}}).text(), "16002");
  EXPECT_EQ(f.subs({{"b", 2}, {"s", 1000}}).value(), 16002);
  EXPECT_EQ(at_two.subs({{"b", 2}}).value(), 200);
  expect_error(ErrorCode::guard_failed, "replaced by 2", [&] { at_two.subs({{"b", 3}}); });
}

TEST_F(FormulaTest, OutsideOfTheGuardsIsAnError) {
  const Formula f = formula({"b*s"});
  expect_error(ErrorCode::guard_failed, "b = 101", [&] { f.subs({{"b", 101}}); });
  expect_error(ErrorCode::guard_failed, "b = 0", [&] { f.subs({{"b", 0}}); });
  expect_error(ErrorCode::guard_failed, "'x' is no symbol of this plan, which has b, s", [&] {
    f.subs({{"x", 1}});
  });
  EXPECT_TRUE(env->decide((*this)("b < s")));
  EXPECT_EQ(f.subs({{"b", 5}}).value(), 30);
  expect_error(ErrorCode::guard_failed, "s >= b + 1", [&] { f.subs({{"b", 6}}); });
  EXPECT_EQ(f.subs({{"b", 6}, {"s", 7}}).value(), 42);
}

TEST_F(FormulaTest, WhatDoesNotFitIsAnError) {
  const Formula f = formula({"b*s*s"});
  EXPECT_EQ(f.subs({{"s", std::int64_t{1} << 30}}).value(), std::int64_t{4} << 60);
  expect_error(ErrorCode::sym_overflow, "does not fit", [&] {
    f.subs({{"s", std::int64_t{1} << 32}});
  });
}

}  // namespace
}  // namespace massless
