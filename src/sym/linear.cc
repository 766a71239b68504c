// The general simplex of SMT solvers: each row gets a slack variable; nonbasic variables sit at
// integers within their bounds; a basic variable out of its bounds is swapped with a nonbasic one
// that can move the right way, the smallest first (Bland's rule ends). A row with none is a proof.
#include "sym/linear.h"

#include <algorithm>
#include <numeric>

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
bool reduce_wide(std::span<const Int128> numbers, std::span<std::int64_t> out) {
  Unsigned128 g = 0;
  for (const Int128 v : numbers) {
    g = gcd128(static_cast<Unsigned128>(v < 0 ? -v : v), g);
    if (g == 1) {
      break;
    }
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Int128 reduced = g > 1 ? numbers[i] / static_cast<Int128>(g) : numbers[i];
    if (!fits(reduced)) {
      return false;
    }
    out[i] = static_cast<std::int64_t>(reduced);
  }
  return true;
}

// The same where all fit already, as nearly always.
bool reduce(std::span<const Int128> numbers, std::span<std::int64_t> out) {
  if (!std::all_of(numbers.begin(), numbers.end(), fits)) {
    return reduce_wide(numbers, out);
  }
  std::uint64_t g = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    out[i] = static_cast<std::int64_t>(numbers[i]);
    g = g == 1 ? g : gcd(magnitude(out[i]), g);
  }
  if (g > static_cast<std::uint64_t>(Range::kPlusInf)) {
    return reduce_wide(numbers, out);
  }
  if (g > 1) {
    for (std::int64_t& v : out) {
      v /= static_cast<std::int64_t>(g);
    }
  }
  return true;
}

}  // namespace

LinearSystem::Variable LinearSystem::variable(Range bounds) {
  bounds_.push_back(bounds);
  return static_cast<Variable>(bounds_.size() - 1);
}

void LinearSystem::row(std::span<const Coefficient> coefficients, Range bounds) {
  given_.insert(given_.end(), coefficients.begin(), coefficients.end());
  given_ends_.push_back(given_.size());
  given_bounds_.push_back(bounds);
}

// Compares the row's value with its basic variable's bounds: sum(a * x) against divisor * bound.
bool LinearSystem::violated(std::size_t row, bool& below) const {
  const auto coefficients = row_at(row);
  Int128 value = 0;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Int128 step = static_cast<Int128>(coefficients[c]) * value_[columns_[c]];
    if (__builtin_add_overflow(value, step, &value)) {
      return false;  // cannot tell: as if in bounds, which proves nothing
    }
  }
  const Range bounds = bounds_[basic_[row]];
  const std::int64_t divisor = coefficients.back();
  below = bounds.lo != Range::kMinusInf && value < static_cast<Int128>(bounds.lo) * divisor;
  return below ||
         (bounds.hi != Range::kPlusInf && value > static_cast<Int128>(bounds.hi) * divisor);
}

std::size_t LinearSystem::entering(std::size_t row, bool increase) const {
  std::size_t best = kNone;
  const auto coefficients = row_at(row);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const std::int64_t a = coefficients[c];
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
  const auto entered = row_at(row);
  const int sign = entered[column] < 0 ? -1 : 1;
  const auto divisor = checked_mul(entered[column], sign);
  if (!divisor) {
    return false;
  }
  // |a| * x_j = sign * (d * x_i - the others)
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Int128 k =
        c == column ? static_cast<Int128>(entered.back()) : -static_cast<Int128>(entered[c]);
    numbers_[c] = sign * k;
  }
  numbers_.back() = *divisor;
  if (!reduce(numbers_, entered)) {
    return false;
  }
  for (std::size_t r = 0; r < basic_.size(); ++r) {
    if (r != row && row_at(r)[column] != 0 && !eliminate(r, row, column)) {
      return false;
    }
  }
  value_[basic_[row]] = below ? bounds_[basic_[row]].lo : bounds_[basic_[row]].hi;
  std::swap(basic_[row], columns_[column]);
  return true;
}

// Puts what the row `from` says of the column's variable into another row.
bool LinearSystem::eliminate(std::size_t row, std::size_t from, std::size_t column) {
  const auto changed = row_at(row);
  const auto entered = row_at(from);
  const auto b = static_cast<Int128>(changed[column]);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Int128 own = c == column ? 0 : static_cast<Int128>(changed[c]) * entered.back();
    if (__builtin_add_overflow(own, b * entered[c], &numbers_[c])) {
      return false;
    }
  }
  numbers_.back() = static_cast<Int128>(changed.back()) * entered.back();
  return reduce(numbers_, changed);
}

// The rows as given: their slacks basic, the variables at an end or at 0.
void LinearSystem::set_up() {
  const std::size_t variables = bounds_.size();
  columns_.resize(variables);
  std::iota(columns_.begin(), columns_.end(), 0);
  numbers_.resize(variables + 1);
  value_.clear();
  for (const Range b : bounds_) {
    value_.push_back(b.lo != Range::kMinusInf ? b.lo : b.hi != Range::kPlusInf ? b.hi : 0);
  }
  rows_.assign(given_ends_.size() * (variables + 1), 0);
  basic_.clear();
  std::size_t at = 0;
  for (std::size_t i = 0; i < given_ends_.size(); ++i) {
    const auto coefficients = row_at(i);
    for (; at < given_ends_[i]; ++at) {
      coefficients[given_[at].variable] = given_[at].value;
    }
    coefficients.back() = 1;
    basic_.push_back(static_cast<std::uint32_t>(bounds_.size()));
    bounds_.push_back(given_bounds_[i]);
    value_.push_back(0);
  }
}

bool LinearSystem::infeasible(std::size_t max_pivots) {
  if (std::any_of(bounds_.begin(), bounds_.end(), [](Range b) { return b.lo > b.hi; })) {
    return true;
  }
  set_up();
  for (std::size_t step = 0; step <= max_pivots; ++step) {
    std::size_t row = kNone;
    bool below = false;
    for (std::size_t r = 0; r < basic_.size(); ++r) {
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
