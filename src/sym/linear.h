// Is a system of linear inequalities over the rationals without solution? Exact: integers
// throughout, 128 bits in between; where a coefficient outgrows 64 bits, or the budget of pivots is
// spent, the answer is "not known to be infeasible".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sym/range.h"

namespace massless::sym {

class LinearSystem {
 public:
  using Variable = std::uint32_t;
  using Coefficient = std::pair<Variable, std::int64_t>;

  Variable variable(Range bounds);
  // lo <= sum of coefficient * variable <= hi; each variable once.
  void row(std::span<const Coefficient> coefficients, Range bounds);
  // True: proved, no rational point satisfies all. (Then no integer point does.)
  bool infeasible(std::size_t max_pivots);

 private:
  // x_basic * divisor = sum over columns of coefficients * nonbasic; divisor > 0.
  struct Row {
    std::int64_t divisor = 1;
    std::vector<std::int64_t> coefficients;
  };
  bool violated(std::size_t row, bool& below) const;
  std::size_t entering(std::size_t row, bool increase) const;
  bool pivot(std::size_t row, std::size_t column, bool below);

  std::vector<Range> bounds_;           // by variable, slacks of rows included
  std::vector<std::int64_t> value_;     // of variables while nonbasic
  std::vector<std::uint32_t> columns_;  // the nonbasic variable of each column
  std::vector<std::uint32_t> basic_;    // the basic variable of each row
  std::vector<Row> rows_;
  std::vector<std::vector<Coefficient>> given_;  // rows as they were added
  std::vector<Range> given_bounds_;
};

}  // namespace massless::sym
