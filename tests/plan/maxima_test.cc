#include "plan/maxima.h"

#include <algorithm>

#include "plan/formula.h"
#include "plan/help.h"
#include "sym/random.h"

namespace massless {
namespace {

using Direction = Change::Direction;

class MaximaTest : public WithSymbols {
 protected:
  // "+8*b, -4*b, ~b": up, down, and a change whose sign is not known.
  std::vector<Change> changes(const std::vector<std::string>& steps) {
    std::vector<Change> all;
    for (const std::string& step : steps) {
      sym::Expr e = (*this)(step.substr(1));
      const Direction direction = step[0] == '+'   ? Direction::up
                                  : step[0] == '-' ? Direction::down
                                                   : Direction::either;
      const std::int64_t sign = step[0] == '-' ? -1 : 1;
      if (e->is_constant()) {
        all.push_back({sign * e->value(), nullptr, sign, direction});
      } else {
        all.push_back({0, e, sign, direction});
      }
    }
    return all;
  }
  std::string most(const std::vector<std::string>& steps) {
    Maxima maxima(*env);
    std::vector<std::string> texts;
    for (sym::Expr e : maxima.of(changes(steps))) {
      texts.push_back(env->print(e));
    }
    std::sort(texts.begin(), texts.end());
    std::string all;
    for (const std::string& text : texts) {
      all += (all.empty() ? "" : "; ") + text;
    }
    return all;
  }
};

TEST_F(MaximaTest, OnlyTheTopsOfStepsCount) {
  symbol("b", 4);
  symbol("s", 6);
  EXPECT_EQ(most({}), "0");
  EXPECT_EQ(most({"+8*b"}), "8*b");
  EXPECT_EQ(most({"+8*b", "+b*s", "-b*s", "-8*b"}), "b*s + 8*b");
  EXPECT_EQ(most({"+8*b", "-8*b", "+b*s", "-b*s"}), "8*b; b*s");
  EXPECT_EQ(most({"+8*b", "~s - b", "-1"}), "7*b + s; 8*b");
}

TEST_F(MaximaTest, DominatedTermsAreDropped) {
  symbol("b", 4, 1);
  symbol("s", 6, 2);
  const auto tops = [&](const std::string& a, const std::string& c) {
    return most({"+" + a, "-" + a, "+" + c, "-" + c});
  };
  EXPECT_EQ(tops("8*b", "8*b + 8"), "8*b + 8");
  EXPECT_EQ(tops("100*b*s", "50*b"), "100*b*s");   // s >= 1
  EXPECT_EQ(tops("100*b*s", "200*b"), "100*b*s");  // s >= 2
  EXPECT_EQ(tops("100*b*s", "201*b"), "100*b*s; 201*b");
  EXPECT_EQ(tops("100*b*s*s", "200*b*s + 200*b"), "100*b*s**2; 200*b*s + 200*b");
  EXPECT_EQ(tops("100*b*s*s", "100*b*s + 200*b"), "100*b*s**2");
  EXPECT_EQ(tops("8*(s//2)", "4*s"), "4*s");  // by the environment's own proof
  EXPECT_EQ(tops("7*b", "s"), "7*b; s");
}

TEST_F(MaximaTest, UpperEndsCount) {
  symbol("b", 4, 1);
  symbol("s", 6, 1, 50);
  const auto tops = [&](const std::string& a, const std::string& c) {
    return most({"+" + a, "-" + a, "+" + c, "-" + c});
  };
  EXPECT_EQ(tops("100*b", "2*b*s"), "100*b");
  EXPECT_EQ(tops("100*b", "2*b*s + 1"), "100*b; 2*b*s + 1");
  EXPECT_EQ(tops("2500*b", "b*s*s"), "2500*b");
}

// As the layers of a backward: activations go, gradients come.
TEST_F(MaximaTest, BetweenTwoOthersIsDropped) {
  symbol("b", 4, 1);
  std::vector<std::string> steps{"+32*b"};
  for (int i = 0; i < 32; ++i) {
    steps.insert(steps.end(), {"-b", "+1000"});
  }
  EXPECT_EQ(most(steps), "32*b; 32000");  // 32*b, 31*b + 1000, ..., 32000
}

TEST_F(MaximaTest, GuardsArePutIn) {
  symbol("b", 4);
  symbol("s", 4);
  env->decide((*this)("b == s"));
  EXPECT_EQ(most({"+8*b", "-8*b", "+7*s"}), most({"+8*b"}));
}

// The largest of what is kept is the largest of all, at every point of a box.
TEST_F(MaximaTest, NothingIsLost) {
  sym::Random random;
  const std::vector<std::string> factors{"1", "b", "s", "b*s", "s*s", "(s//2)", "max(1, s)", "b*b"};
  std::size_t kept = 0;
  std::size_t tops = 0;
  for (int round = 0; round < 300; ++round) {
    env = std::make_shared<ShapeEnv>();
    const std::int64_t lo = random.between(0, 2);
    const std::int64_t hi = random.one_in(2) ? sym::Range::kPlusInf : 7;
    symbol("b", 4, lo, hi);
    symbol("s", 5, lo, hi);
    if (random.one_in(3)) {
      env->decide((*this)("b <= s"));
    }
    std::vector<std::string> alive;
    std::vector<std::string> steps;
    for (int i = 0; i < 12; ++i) {
      if (!alive.empty() && random.one_in(2)) {
        const auto at = random.between(0, static_cast<std::int64_t>(alive.size()) - 1);
        steps.push_back("-" + alive[static_cast<std::size_t>(at)]);
        alive.erase(alive.begin() + at);
      } else {
        alive.push_back(std::to_string(random.between(0, 9)) + "*" + random.pick(factors) + " + " +
                        std::to_string(random.between(0, 9)) + "*" + random.pick(factors));
        steps.push_back("+" + alive.back());
      }
    }
    const auto all = changes(steps);
    Maxima maxima(*env);
    const auto terms = maxima.of(all);
    kept += terms.size();
    tops += static_cast<std::size_t>(std::count_if(
        steps.begin(), steps.end(), [](const std::string& step) { return step[0] == '+'; }));
    for (std::int64_t b = lo; b <= 7; ++b) {
      for (std::int64_t s = lo; s <= 7; ++s) {
        const Point point{{0, b}, {1, s}};
        if (!env->holds(point, nullptr)) {
          continue;
        }
        std::int64_t live = 0;
        std::int64_t peak = 0;
        for (const Change& c : all) {
          live += c.formula == nullptr ? c.number : c.sign * *env->value(c.formula, point);
          peak = std::max(peak, live);
        }
        std::int64_t most = 0;
        for (sym::Expr term : terms) {
          most = std::max(most, *env->value(term, point));
        }
        ASSERT_EQ(most, peak) << random.row("") << " round " << round << " b " << b << " s " << s;
      }
    }
  }
  EXPECT_LT(kept, tops / 3);
}

}  // namespace
}  // namespace massless
