// "Without solution" is never said of a system that a point of a small box satisfies, also where
// coefficients fill 64 bits; and it is said of systems that have none.
#include "sym/linear.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sym/random.h"
#include "sym/tree.h"

namespace massless::sym {
namespace {

constexpr std::size_t kPivots = 64;

struct Inequality {
  std::vector<std::int64_t> coefficients;  // by variable
  Range bounds;
};
struct System {
  std::vector<Range> variables;
  std::vector<Inequality> rows;

  bool infeasible() const {
    LinearSystem system;
    std::vector<LinearSystem::Variable> names;
    for (const Range range : variables) {
      names.push_back(system.variable(range));
    }
    for (const Inequality& row : rows) {
      std::vector<LinearSystem::Coefficient> coefficients;
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (row.coefficients[i] != 0) {
          coefficients.push_back({names[i], row.coefficients[i]});
        }
      }
      system.row(coefficients, row.bounds);
    }
    return system.infeasible(kPivots);
  }

  bool satisfied_by(const std::vector<std::int64_t>& point) const {
    for (const Inequality& row : rows) {
      Wide sum = 0;
      for (std::size_t i = 0; i < point.size(); ++i) {
        sum += static_cast<Wide>(row.coefficients[i]) * point[i];
      }
      if ((row.bounds.lo != Range::kMinusInf && sum < row.bounds.lo) ||
          (row.bounds.hi != Range::kPlusInf && sum > row.bounds.hi)) {
        return false;
      }
    }
    return true;
  }

  std::string text() const {
    std::string all;
    for (const Inequality& row : rows) {
      for (const std::int64_t c : row.coefficients) {
        all += std::to_string(c) + " ";
      }
      all += "in " + to_string(row.bounds) + "; ";
    }
    return all;
  }
};

Range random_bounds(Random& random, std::int64_t largest) {
  const std::int64_t lo = random.edge(-largest, largest);
  const std::int64_t hi = random.edge(lo, largest);
  return random.one_in(3)   ? Range{lo, Range::kPlusInf}
         : random.one_in(3) ? Range{Range::kMinusInf, hi}
                            : Range{lo, hi};
}

System random_system(Random& random, std::int64_t largest) {
  System made;
  const auto variables = static_cast<std::size_t>(random.between(1, 3));
  for (std::size_t i = 0; i < variables; ++i) {
    const std::int64_t lo = random.between(-3, 3);
    made.variables.push_back({lo, random.between(lo, 4)});
  }
  const std::int64_t rows = random.between(1, 5);
  for (std::int64_t r = 0; r < rows; ++r) {
    Inequality row{{}, random_bounds(random, largest)};
    for (std::size_t i = 0; i < variables; ++i) {
      row.coefficients.push_back(random.edge(-largest, largest));
    }
    made.rows.push_back(row);
  }
  return made;
}

// How many of the systems without a point in their box were found to have none.
int check(std::int64_t largest, int& without) {
  Random random;
  int found = 0;
  for (int round = 0; round < 3000 && !testing::Test::HasFailure(); ++round) {
    const System system = random_system(random, largest);
    bool any = false;
    for (const auto& point : points_of(random, system.variables, 1000)) {
      any = any || system.satisfied_by(point);
    }
    const bool infeasible = system.infeasible();
    EXPECT_FALSE(any && infeasible) << random.row(system.text());
    without += static_cast<int>(!any);
    found += static_cast<int>(infeasible);
  }
  return found;
}

TEST(Linear, NothingSolvableIsInfeasible) {
  int without = 0;
  const int found = check(6, without);
  // What has rational points only is not found, by design.
  EXPECT_GT(found, without * 8 / 10) << "of " << without;
}

TEST(Linear, NorWhereCoefficientsFillTheirBits) {
  int without = 0;
  const int found = check(Range::kPlusInf - 1, without);
  EXPECT_GT(found, without / 2) << "of " << without;
}

TEST(Linear, Rows) {
  const Range positive{1, Range::kPlusInf};
  const Range any = Range::all();
  // x + y <= 5, x >= y + 1, y >= 3
  EXPECT_TRUE(
      (System{{any, any}, {{{1, 1}, {Range::kMinusInf, 5}}, {{1, -1}, positive}, {{0, 1}, {3, 9}}}})
          .infeasible());
  EXPECT_FALSE(
      (System{{any, any}, {{{1, 1}, {Range::kMinusInf, 7}}, {{1, -1}, positive}, {{0, 1}, {3, 9}}}})
          .infeasible());
  // A cycle: x < y < z < x.
  EXPECT_TRUE((System{{any, any, any},
                      {{{-1, 1, 0}, positive}, {{0, -1, 1}, positive}, {{1, 0, -1}, positive}}})
                  .infeasible());
  // Only rational points: 2 * x == 1.
  EXPECT_FALSE((System{{any}, {{{2}, Range::point(1)}}}).infeasible());
  // An end that is none.
  EXPECT_TRUE((System{{Range{3, 2}}, {}}).infeasible());
  EXPECT_FALSE((System{{}, {}}).infeasible());
}

}  // namespace
}  // namespace massless::sym
