// Every rewrite by evaluation: what a builder makes has the value of what was written, at each
// point of a small box, and near the ends of 64 bits. tree.h has the values by themselves.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "sym/evaluate.h"
#include "sym/facts.h"
#include "sym/tree.h"

namespace massless::sym {
namespace {

constexpr Wide kLeast = Range::kMinusInf;
constexpr Wide kMost = Range::kPlusInf;
bool fits(Wide v) { return kLeast <= v && v <= kMost; }

// Another number of rounds than usual: MASSLESS_ROUNDS.
int rounds(int usual) {
  const char* given = std::getenv("MASSLESS_ROUNDS");
  return given == nullptr ? usual : std::atoi(given);
}

sym::Values at(const std::vector<std::int64_t>& point) {
  return [&point](std::uint32_t i) { return std::optional(point[i]); };
}

std::vector<Expr> symbols_in(Context& context, const std::vector<Range>& box) {
  std::vector<Expr> symbols;
  for (std::size_t i = 0; i < box.size(); ++i) {
    symbols.push_back(context.symbol(std::string(1, static_cast<char>('a' + i)), box[i]));
  }
  return symbols;
}

std::vector<Range> small_box(Random& random) {
  std::vector<Range> box;
  for (int i = 0; i < 3; ++i) {
    const std::int64_t lo = random.between(-4, 2);
    box.push_back({lo, lo + random.between(0, 4)});
  }
  return box;
}

std::vector<Range> large_box(Random& random) {
  std::vector<Range> box;
  for (int i = 0; i < 3; ++i) {
    std::int64_t lo = random.edge(Range::kMinusInf, Range::kPlusInf - 1);
    std::int64_t hi = random.edge(Range::kMinusInf + 1, Range::kPlusInf);
    if (lo > hi) {
      std::swap(lo, hi);
    }
    box.push_back({lo, hi});
  }
  return box;
}

class Rewrites : public testing::Test {
 protected:
  // `exact`: nothing may overflow on the way.
  void check(const Forest& forest, const std::vector<Range>& box, std::size_t most, bool exact) {
    Context context;
    const Builder build(context);
    std::vector<ErrorCode> raised;
    const std::vector<Expr> built = forest.build(build, symbols_in(context, box), &raised);
    for (const auto& point : points_of(random_, box, most)) {
      const Forest::Values values = forest.evaluate(point);
      for (int i = 0; i < forest.size() && !HasFatalFailure(); ++i) {
        const auto& value = values[static_cast<std::size_t>(i)];
        Expr made = built[static_cast<std::size_t>(i)];
        if (made != nullptr) {
          check_value(forest, i, made, value, box, point, exact);
        } else {
          EXPECT_FALSE(raised[static_cast<std::size_t>(i)] == ErrorCode::division_by_zero && value)
              << random_.row(point_text(box, point) + forest.text(i));
        }
      }
    }
  }

  void check_value(const Forest& forest, int i, Expr made, std::optional<Wide> wanted,
                   const std::vector<Range>& box, const std::vector<std::int64_t>& point,
                   bool exact) {
    if (!wanted) {
      return;
    }
    const auto row = [&] { return random_.row(point_text(box, point) + forest.text(i)); };
    const Value found = evaluate(made, at(point));
    if (const auto* v = std::get_if<std::int64_t>(&found)) {
      ASSERT_TRUE(fits(*wanted) && *v == static_cast<std::int64_t>(*wanted))
          << row() << " is " << *v;
      ASSERT_TRUE(made->range.contains(*v)) << row() << " range " << to_string(made->range);
      ++compared_;
    } else {
      ASSERT_EQ(std::get<NoValue>(found), NoValue::overflow) << row();
      ASSERT_FALSE(exact) << row();
    }
  }

  Random random_;
  int compared_ = 0;
};

// Small enough that no step of any rewrite leaves 64 bits: (4 * 8 + 8)**(3**4) would.
bool is_small(const Forest& forest, Random& random, const std::vector<Range>& box) {
  for (const auto& point : points_of(random, box, 512)) {
    for (const auto& v : forest.evaluate(point)) {
      if (v && (*v > (Wide{1} << 40) || *v < -(Wide{1} << 40))) {
        return false;
      }
    }
  }
  return true;
}

TEST_F(Rewrites, KeepTheValueInSmallBoxes) {
  for (int i = 0; i < rounds(1500) && !HasFatalFailure(); ++i) {
    const std::vector<Range> box = small_box(random_);
    Forest forest;
    forest.random_integer(random_, 3, 4, 8);
    forest.random_truth(random_, 3, 4, 8);
    check(forest, box, 125, is_small(forest, random_, box));
  }
  EXPECT_GT(compared_, 100000);
}

TEST_F(Rewrites, NeverWrapNearTheEnds) {
  for (int i = 0; i < rounds(4000) && !HasFatalFailure(); ++i) {
    const std::vector<Range> box = large_box(random_);
    Forest forest;
    forest.random_integer(random_, 3, 3, Range::kPlusInf);
    forest.random_truth(random_, 3, 3, Range::kPlusInf);
    check(forest, box, 20, false);
  }
  EXPECT_GT(compared_, 100000);
}

// Symbols without ends: what rests on no range holds everywhere.
TEST_F(Rewrites, KeepTheValueWithoutRanges) {
  for (int i = 0; i < rounds(1500) && !HasFatalFailure(); ++i) {
    Forest forest;
    forest.random_integer(random_, 3, 4, 8);
    forest.random_truth(random_, 3, 4, 8);
    check(forest, std::vector<Range>(3, Range::all()), 20, false);
  }
}

// What is proved, simplified and bounded under facts, at the points where the facts hold.
class UnderFacts : public testing::Test {
 protected:
  void check(const std::vector<Range>& box, int facts) {
    Forest forest;
    std::vector<int> fact_roots;
    for (int i = 0; i < facts; ++i) {
      fact_roots.push_back(forest.random_truth(random_, 3, 3, 6));
    }
    const int question = forest.random_truth(random_, 3, 4, 6);
    const int number = forest.random_integer(random_, 3, 4, 6);

    Context context;
    const Builder build(context);
    const std::vector<Expr> built = forest.build(build, symbols_in(context, box));
    const auto expr = [&](int i) { return built[static_cast<std::size_t>(i)]; };
    Facts known(context);
    std::vector<std::vector<std::int64_t>> points = points_of(random_, box, 512);
    std::string said = point_text(box, {});
    for (const int fact : fact_roots) {
      if (expr(fact) != nullptr && !assume(known, forest, fact, expr(fact), points, said)) {
        return;
      }
    }
    if (expr(question) != nullptr) {
      check_question(known, forest, question, expr(question), points, said);
    }
    if (expr(number) != nullptr) {
      check_number(known, forest, number, expr(number), points, said);
    }
  }

  static std::optional<Wide> value(const Forest& forest, int i,
                                   const std::vector<std::int64_t>& point) {
    return forest.evaluate(point)[static_cast<std::size_t>(i)];
  }

  // Keeps the points where the fact holds. False: none is left.
  bool assume(Facts& known, const Forest& forest, int fact, Expr e,
              std::vector<std::vector<std::int64_t>>& points, std::string& said) {
    const Truth answer = known.assume(e);
    std::vector<std::vector<std::int64_t>> kept;
    for (const auto& point : points) {
      const auto holds = value(forest, fact, point);
      if (holds == Wide{1}) {
        kept.push_back(point);
      }
      EXPECT_FALSE(answer == Truth::yes && holds == Wide{0})
          << random_.row(said) << "known " << forest.text(fact);
    }
    if (answer == Truth::no) {
      EXPECT_TRUE(kept.empty()) << random_.row(said) << "refused " << forest.text(fact);
      return !HasFailure();
    }
    said += "assume " + forest.text(fact) + "; ";
    points.swap(kept);
    return !points.empty();
  }

  void check_question(Facts& known, const Forest& forest, int i, Expr e,
                      const std::vector<std::vector<std::int64_t>>& points,
                      const std::string& said) {
    const Truth answer = known.prove(e);
    Expr simple = simplified(known, e);
    for (const auto& point : points) {
      const auto truth = value(forest, i, point);
      if (!truth) {
        continue;
      }
      ASSERT_TRUE(answer == Truth::unknown || (answer == Truth::yes) == (*truth != 0))
          << random_.row(said) << "prove " << forest.text(i) << " at "
          << point_text(std::vector<Range>(3), point);
      ASSERT_TRUE(same(simple, point, *truth))
          << random_.row(said) << "simplify " << forest.text(i);
    }
    ++(answer == Truth::unknown ? undecided_ : decided_);
  }

  void check_number(Facts& known, const Forest& forest, int i, Expr e,
                    const std::vector<std::vector<std::int64_t>>& points, const std::string& said) {
    const Range range = known.range(e);
    const Congruence congruence = known.congruence(e);
    Expr simple = simplified(known, e);
    for (const auto& point : points) {
      const auto number = value(forest, i, point);
      if (!number || !fits(*number)) {
        continue;
      }
      const auto n = static_cast<std::int64_t>(*number);
      ASSERT_TRUE(range.contains(n))
          << random_.row(said) << "bounds " << forest.text(i) << " " << to_string(range);
      ASSERT_TRUE(congruence.modulus == 0 ? n == congruence.remainder
                                          : (n - congruence.remainder) % congruence.modulus == 0)
          << random_.row(said) << "residue of " << forest.text(i);
      ASSERT_TRUE(same(simple, point, n)) << random_.row(said) << "simplify " << forest.text(i);
    }
  }

  static Expr simplified(Facts& known, Expr e) {
    try {
      return known.simplify(e);
    } catch (const SymError&) {
      return nullptr;
    }
  }

  static bool same(Expr simple, const std::vector<std::int64_t>& point, Wide wanted) {
    if (simple == nullptr) {
      return true;
    }
    const Value found = evaluate(simple, at(point));
    const auto* const v = std::get_if<std::int64_t>(&found);
    return v == nullptr ? std::get<NoValue>(found) == NoValue::overflow : *v == wanted;
  }

  Random random_;
  int decided_ = 0;
  int undecided_ = 0;
};

TEST_F(UnderFacts, AnswersHoldWhereTheFactsDo) {
  for (int i = 0; i < rounds(3000) && !HasFailure(); ++i) {
    check(small_box(random_), static_cast<int>(random_.between(1, 5)));
  }
  EXPECT_GT(decided_, 100);
  std::printf("%s%d decided, %d not\n", random_.row("").c_str(), decided_, undecided_);
}

}  // namespace
}  // namespace massless::sym
