// Is a system of linear inequalities over the rationals without solution? Exact: integers
// throughout, 128 bits in between; where a coefficient outgrows 64 bits, or the budget of pivots is
// spent, the answer is "not known to be infeasible".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sym/range.h"

namespace massless::sym {

class LinearSystem {
 public:
  using Variable = std::uint32_t;
  struct Coefficient {
    Variable variable;
    std::int64_t value;
  };

  Variable variable(Range bounds);
  // lo <= sum of coefficient * variable <= hi; each variable once.
  void row(std::span<const Coefficient> coefficients, Range bounds);
  // True: proved, no rational point satisfies all. (Then no integer point does.)
  bool infeasible(std::size_t max_pivots);

 private:
  // x_basic * divisor = sum over columns of coefficients * nonbasic; divisor > 0. The divisor
  // stands behind the coefficients.
  std::span<std::int64_t> row_at(std::size_t row) {
    return std::span(rows_).subspan(row * (columns_.size() + 1), columns_.size() + 1);
  }
  std::span<const std::int64_t> row_at(std::size_t row) const {
    return std::span(rows_).subspan(row * (columns_.size() + 1), columns_.size() + 1);
  }
  void set_up();
  bool violated(std::size_t row, bool& below) const;
  std::size_t entering(std::size_t row, bool increase) const;
  bool pivot(std::size_t row, std::size_t column, bool below);
  bool eliminate(std::size_t row, std::size_t from, std::size_t column);

  std::vector<Range> bounds_;           // by variable, slacks of rows included
  std::vector<std::int64_t> value_;     // of variables while nonbasic
  std::vector<std::uint32_t> columns_;  // the nonbasic variable of each column
  std::vector<std::uint32_t> basic_;    // the basic variable of each row
  std::vector<std::int64_t> rows_;
  std::vector<__int128> numbers_;  // of the row that is being worked out
  // Rows as they were added: the coefficients of all, and where those of each end.
  std::vector<Coefficient> given_;
  std::vector<std::size_t> given_ends_;
  std::vector<Range> given_bounds_;
};

}  // namespace massless::sym
