#include "plan/fits.h"

#include "plan/help.h"
#include "plan/interval.h"
#include "sym/random.h"

namespace massless {
namespace {

class FitsTest : public WithSymbols {
 protected:
  Formula formula(const std::vector<std::string>& texts) {
    std::vector<sym::Expr> terms;
    for (const std::string& text : texts) {
      terms.push_back((*this)(text));
    }
    return {env, std::move(terms)};
  }
  std::string largest(const std::vector<std::string>& texts, std::int64_t budget,
                      const NamedValues& fixed = {}, const char* name = "b") {
    const auto found = largest_within(formula(texts), fixed, name, budget);
    return found ? std::to_string(*found) : "none";
  }
};

TEST_F(FitsTest, Rows) {
  symbol("b", 4);
  symbol("s", 6, 1);
  EXPECT_EQ(largest({"8*b + 100"}, 180), "10");
  EXPECT_EQ(largest({"8*b + 100"}, 179), "9");
  EXPECT_EQ(largest({"8*b + 100"}, 100), "0");
  EXPECT_EQ(largest({"8*b + 100"}, 99), "0");  // not even the smallest
  EXPECT_EQ(largest({"8*b + 100", "b*s"}, 1 << 20, {{"s", 1024}}), "1024");
  EXPECT_EQ(largest({"b*s"}, 600, {}, "s"), "150");
  EXPECT_EQ(largest({"7*s"}, 1000), "none");
  EXPECT_EQ(largest({"min(b, 100)"}, 1000), "none");
  EXPECT_EQ(largest({"7*s"}, 41), "0");
  EXPECT_EQ(largest({"8*b"}, std::numeric_limits<std::int64_t>::max()), "1152921504606846975");
  expect_error(ErrorCode::guard_failed, "no symbol", [&] { largest({"b"}, 1, {}, "x"); });
  expect_error(ErrorCode::guard_failed, "no symbol", [&] { largest({"b"}, 1, {{"x", 1}}); });
}

TEST_F(FitsTest, NotMonotone) {
  symbol("b", 4, 1, 1000);
  // A hill in the middle, a saw, and a step down at 100.
  EXPECT_EQ(largest({"100*b - b*b + 10000"}, 12000), "1000");
  EXPECT_EQ(largest({"100*(b%10) + b"}, 300), "300");
  EXPECT_EQ(largest({"100*(b%10) + b"}, 150), "150");
  EXPECT_EQ(largest({"100*(b%10) + b"}, 149), "140");
  EXPECT_EQ(largest({"ite(b >= 100, b, 1000)"}, 999), "999");
  EXPECT_EQ(largest({"ite(b >= 100, b, 1000)"}, 99), "0");
}

TEST_F(FitsTest, GuardsBound) {
  symbol("b", 4, 1, sym::Range::kPlusInf, 4);
  symbol("s", 6, 1);
  EXPECT_EQ(largest({"b"}, 1003), "1000");
  env->decide((*this)("b <= 5*s"));
  EXPECT_EQ(largest({"b"}, 1003), "28");
  EXPECT_EQ(largest({"b"}, 1003, {{"s", 100}}), "500");
  env->decide((*this)("(b + s) % 3 != 0"));
  EXPECT_EQ(largest({"b"}, 1003, {{"s", 100}}), "496");  // (500 + 100) % 3 == 0
  env->decide((*this)("s >= 2"));
  expect_error(ErrorCode::guard_failed, "s >= 2", [&] { largest({"b"}, 1003, {{"s", 1}}); });
}

TEST_F(FitsTest, AgreesWithATrialOfEveryValue) {
  sym::Random random;
  const std::vector<std::string> pieces{"b",
                                        "b*b",
                                        "b*s",
                                        "(b//3)",
                                        "(b%5)",
                                        "min(b, 9)",
                                        "max(b, 20)",
                                        "s",
                                        "1",
                                        "b*b*s",
                                        "ite(b >= 17, b, 3*b)"};
  const std::vector<std::string> questions{"b <= 40",      "b*s >= 3", "b % 2 == 0",   "b != 7",
                                           "b*b <= 900*s", "b >= s",   "(b//4)*4 == b"};
  for (int round = 0; round < 400; ++round) {
    env = std::make_shared<ShapeEnv>();
    symbol("b", random.between(1, 50), 1, 60);
    symbol("s", random.between(1, 9), 1, 9);
    for (int i = 0; i < 2; ++i) {
      if (random.one_in(2)) {
        env->decide((*this)(random.pick(questions)));
      }
    }
    std::vector<std::string> texts;
    for (std::int64_t i = random.between(1, 3); i > 0; --i) {
      texts.push_back(std::to_string(random.between(0, 9)) + "*" + random.pick(pieces) + " + " +
                      std::to_string(random.between(-3, 9)) + "*" + random.pick(pieces));
    }
    const Formula f = formula(texts);
    const std::int64_t budget = random.between(0, 500);
    std::int64_t want = 0;
    for (std::int64_t b = 1; b <= 60; ++b) {
      try {
        want = f.at({{"b", b}}).value() <= budget ? b : want;
      } catch (const Error&) {  // outside of the guards
      }
    }
    ASSERT_EQ(largest_within(f, {}, "b", budget), want) << random.row(f.text());
  }
}

// Every value is inside of the interval.
TEST_F(FitsTest, IntervalsHoldEveryValue) {
  sym::Random random;
  const std::vector<std::string> texts{"b*b - 3*b*s",
                                       "(b - 4)//(s - 2)",
                                       "(b - 7) % (s + 1)",
                                       "ite(b >= s, b - s, s*s)",
                                       "min(b, s) + max(b, 2*s)",
                                       "(b - 3)**3"};
  const std::vector<std::string> questions{"b >= s", "b == 2*s", "b != s and b >= 3",
                                           "b % 2 == 0 or s == 1", "not (b*s >= 20)"};
  symbol("b", 4, -9, 9);
  symbol("s", 6, -9, 9);
  for (int round = 0; round < 2000; ++round) {
    const bool number = random.one_in(2);
    sym::Expr e = (*this)(number ? random.pick(texts) : random.pick(questions));
    const std::int64_t b0 = random.between(-9, 9);
    const std::int64_t s0 = random.between(-9, 9);
    const sym::Range b{b0, random.between(b0, 9)};
    const sym::Range s{s0, random.between(s0, 9)};
    Interval interval([&](std::uint32_t index) { return index == 0 ? b : s; });
    const sym::Range range = interval.of(e);
    for (std::int64_t x = b.lo; x <= b.hi; ++x) {
      for (std::int64_t y = s.lo; y <= s.hi; ++y) {
        if (const auto value = env->value(e, {{0, x}, {1, y}})) {
          ASSERT_TRUE(range.contains(*value)) << env->print(e) << " at " << x << ", " << y;
        }
      }
    }
  }
}

}  // namespace
}  // namespace massless
