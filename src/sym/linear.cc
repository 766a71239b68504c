// The general simplex of SMT solvers: each row gets a slack variable; nonbasic variables sit at
// integers within their bounds; a basic variable out of its bounds is swapped with a nonbasic one
// that can move the right way, the smallest first (Bland's rule ends). A row with none is a proof.
#include "sym/linear.h"

#include <algorithm>

#include "sym/checked.h"

namespace massless::sym {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

bool fits(Int128 v) {
  return v >= std::numeric_limits<std::int64_t>::min() &&
         v <= std::numeric_limits<std::int64_t>::max();
}

using Unsigned128 = unsigned __int128;

Unsigned128 gcd128(Unsigned128 a, Unsigned128 b) {
  constexpr Unsigned128 k64 = std::numeric_limits<std::uint64_t>::max();
  while (b != 0) {
    if (a <= k64 && b <= k64) {
      return gcd(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
    }
    const Unsigned128 r = a % b;
    a = b;
    b = r;
  }
  return a;
}

// Divides the numbers by their greatest common divisor; false where one does not fit in 64 bits.
bool reduce(const std::vector<Int128>& numbers, std::vector<std::int64_t>& out) {
  Unsigned128 g = 0;
  for (const Int128 v : numbers) {
    g = gcd128(static_cast<Unsigned128>(v < 0 ? -v : v), g);
    if (g == 1) {
      break;
    }
  }
  out.clear();
  for (const Int128 v : numbers) {
    const Int128 reduced = g > 1 ? v / static_cast<Int128>(g) : v;
    if (!fits(reduced)) {
      return false;
    }
    out.push_back(static_cast<std::int64_t>(reduced));
  }
  return true;
}

}  // namespace

LinearSystem::Variable LinearSystem::variable(Range bounds) {
  bounds_.push_back(bounds);
  return static_cast<Variable>(bounds_.size() - 1);
}

void LinearSystem::row(std::span<const Coefficient> coefficients, Range bounds) {
  given_.emplace_back(coefficients.begin(), coefficients.end());
  given_bounds_.push_back(bounds);
}

// Compares the row's value with its basic variable's bounds: sum(a * x) against divisor * bound.
bool LinearSystem::violated(std::size_t row, bool& below) const {
  const Row& r = rows_[row];
  Int128 value = 0;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    Int128 step = static_cast<Int128>(r.coefficients[c]) * value_[columns_[c]];
    if (__builtin_add_overflow(value, step, &value)) {
      return false;  // cannot tell: as if in bounds, which proves nothing
    }
  }
  const Range bounds = bounds_[basic_[row]];
  below = bounds.lo != Range::kMinusInf && value < static_cast<Int128>(bounds.lo) * r.divisor;
  return below ||
         (bounds.hi != Range::kPlusInf && value > static_cast<Int128>(bounds.hi) * r.divisor);
}

std::size_t LinearSystem::entering(std::size_t row, bool increase) const {
  std::size_t best = kNone;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const std::int64_t a = rows_[row].coefficients[c];
    if (a == 0) {
      continue;
    }
    const Range bounds = bounds_[columns_[c]];
    const std::int64_t at = value_[columns_[c]];
    const bool up = (a > 0) == increase;
    const bool can = up ? bounds.hi == Range::kPlusInf || at < bounds.hi
                        : bounds.lo == Range::kMinusInf || at > bounds.lo;
    if (can && (best == kNone || columns_[c] < columns_[best])) {
      best = c;
    }
  }
  return best;
}

// Swaps the row's basic variable, which goes to its violated bound, with the column's.
bool LinearSystem::pivot(std::size_t row, std::size_t column, bool below) {
  const std::int64_t a = rows_[row].coefficients[column];
  const int sign = a < 0 ? -1 : 1;
  const auto divisor = checked_mul(a, sign);
  if (!divisor) {
    return false;
  }
  // |a| * x_j = sign * (d * x_i - the others)
  std::vector<Int128> numbers;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Int128 k = c == column ? static_cast<Int128>(rows_[row].divisor)
                                 : -static_cast<Int128>(rows_[row].coefficients[c]);
    numbers.push_back(sign * k);
  }
  numbers.push_back(*divisor);
  std::vector<std::int64_t> entered;
  if (!reduce(numbers, entered)) {
    return false;
  }
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const std::int64_t b = rows_[r].coefficients[column];
    if (r == row || b == 0) {
      continue;
    }
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const Int128 own =
          c == column ? 0 : static_cast<Int128>(rows_[r].coefficients[c]) * entered.back();
      if (__builtin_add_overflow(own, static_cast<Int128>(b) * entered[c], &numbers[c])) {
        return false;
      }
    }
    numbers.back() = static_cast<Int128>(rows_[r].divisor) * entered.back();
    std::vector<std::int64_t> changed;
    if (!reduce(numbers, changed)) {
      return false;
    }
    rows_[r].divisor = changed.back();
    changed.pop_back();
    rows_[r].coefficients = std::move(changed);
  }
  rows_[row].divisor = entered.back();
  entered.pop_back();
  rows_[row].coefficients = std::move(entered);
  value_[basic_[row]] = below ? bounds_[basic_[row]].lo : bounds_[basic_[row]].hi;
  std::swap(basic_[row], columns_[column]);
  return true;
}

bool LinearSystem::infeasible(std::size_t max_pivots) {
  const std::size_t variables = bounds_.size();
  columns_.clear();
  value_.clear();
  for (std::size_t v = 0; v < variables; ++v) {
    const Range b = bounds_[v];
    if (b.lo > b.hi) {
      return true;
    }
    columns_.push_back(static_cast<std::uint32_t>(v));
    value_.push_back(b.lo != Range::kMinusInf ? b.lo : b.hi != Range::kPlusInf ? b.hi : 0);
  }
  rows_.clear();
  basic_.clear();
  for (std::size_t i = 0; i < given_.size(); ++i) {
    Row r;
    r.coefficients.assign(variables, 0);
    for (const auto& [v, coefficient] : given_[i]) {
      r.coefficients[v] = coefficient;
    }
    rows_.push_back(std::move(r));
    basic_.push_back(static_cast<std::uint32_t>(bounds_.size()));
    bounds_.push_back(given_bounds_[i]);
    value_.push_back(0);
  }
  for (std::size_t step = 0; step <= max_pivots; ++step) {
    std::size_t row = kNone;
    bool below = false;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      bool side = false;
      if ((row == kNone || basic_[r] < basic_[row]) && violated(r, side)) {
        row = r;
        below = side;
      }
    }
    if (row == kNone) {
      return false;
    }
    const std::size_t column = entering(row, below);
    if (column == kNone) {
      return true;
    }
    if (!pivot(row, column, below)) {
      return false;
    }
  }
  return false;
}

}  // namespace massless::sym
