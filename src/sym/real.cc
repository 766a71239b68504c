// Real-valued sizes. Only rewrites whose result is bit for bit what Python would get.
#include "sym/real.h"

#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "sym/checked.h"

namespace massless::sym {
namespace {

using Real = std::optional<double>;

// All integers up to here, and no larger ones, are reals without exception.
constexpr std::int64_t kExact = std::int64_t{1} << 53;

// 2^63, the least real that is too large for 64 bits; -2^63 is not too small.
constexpr double kTooLarge = 9223372036854775808.0;

// A function of Python's math module: what makes a number into nan, or a finite one infinite,
// raises.
Real as_math_module(double x, double result) {
  const bool raises =
      (std::isnan(result) && !std::isnan(x)) || (std::isinf(result) && std::isfinite(x));
  return raises ? std::nullopt : Real(result);
}

Real math_function(Op op, double x) {
  switch (op) {
    case Op::sqrt:
      return as_math_module(x, std::sqrt(x));
    case Op::exp:
      return as_math_module(x, std::exp(x));
    case Op::log:
      return as_math_module(x, std::log(x));
    case Op::log2:
      return as_math_module(x, std::log2(x));
    case Op::sin:
      return as_math_module(x, std::sin(x));
    case Op::cos:
      return as_math_module(x, std::cos(x));
    case Op::tan:
      return as_math_module(x, std::tan(x));
    case Op::asin:
      return as_math_module(x, std::asin(x));
    case Op::acos:
      return as_math_module(x, std::acos(x));
    case Op::atan:
      return as_math_module(x, std::atan(x));
    case Op::sinh:
      return as_math_module(x, std::sinh(x));
    case Op::cosh:
      return as_math_module(x, std::cosh(x));
    case Op::tanh:
      return as_math_module(x, std::tanh(x));
    case Op::real_neg:
      return -x;
    case Op::real_abs:
      return std::fabs(x);
    default:
      return std::nullopt;
  }
}

int bit_length(std::uint64_t a) { return 64 - std::countl_zero(a); }

// a / b rounded once, half to even. With q = |a| * 2^s // |b|, s such that q has 55 bits or more
// and |a| * 2^s at most 120: q's last bit is set where the division leaves a rest, so q rounds as
// the quotient does (two bits at least fall away, and a tie has no rest). Nothing underflows.
Real divide_integers(std::int64_t a, std::int64_t b) {
  if (b == 0) {
    return std::nullopt;
  }
  const bool negative = (a < 0) != (b < 0);  // Python: 0 / -5 is -0.0
  const std::uint64_t divisor = magnitude(b);
  const int shift = std::max(0, 56 + bit_length(divisor) - bit_length(magnitude(a)));
  const auto shifted = a == 0 ? 0 : static_cast<unsigned __int128>(magnitude(a)) << shift;
  auto quotient = static_cast<std::uint64_t>(shifted / divisor);
  quotient |= static_cast<std::uint64_t>(shifted % divisor != 0);
  const double result = std::ldexp(static_cast<double>(quotient), -shift);
  return negative ? -result : result;
}

// CPython's float_rem and float_floor_div.
double remainder(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) {
    return std::copysign(0.0, b);
  }
  return (b < 0) != (rest < 0) ? rest + b : rest;
}
double floor_quotient(double a, double b) {
  const double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) {
    quotient -= 1.0;
  }
  if (quotient == 0) {
    return std::copysign(0.0, a / b);
  }
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1.0 : whole;
}

// CPython's float_pow; a negative number to a power that is not whole is complex.
Real power(double a, double b) {
  const bool odd = std::fmod(std::fabs(b), 2.0) == 1.0;
  if (b == 0) {
    return 1.0;
  }
  if (std::isnan(a) || std::isnan(b)) {
    return a == 1.0 ? a : std::isnan(a) ? a : b;
  }
  if (std::isinf(b)) {
    const double base = std::fabs(a);
    return base == 1.0 ? 1.0 : (b > 0) == (base > 1) ? std::fabs(b) : 0.0;
  }
  if (std::isinf(a)) {
    return b > 0 ? (odd ? a : std::fabs(a)) : odd ? std::copysign(0.0, a) : 0.0;
  }
  if (a == 0) {
    return b < 0 ? std::nullopt : Real(odd ? a : 0.0);
  }
  if (a < 0 && b != std::floor(b)) {
    return std::nullopt;
  }
  errno = 0;
  const double result = std::pow(std::fabs(a), b);
  if (std::isinf(result) || (errno == ERANGE && result != 0)) {
    return std::nullopt;
  }
  return a < 0 && odd ? -result : result;
}

// The decimal digits of |x|, without exception: `point` of them before the decimal point.
std::string exact_digits(double x, std::size_t& point) {
  constexpr int kMostDecimals = 1074;  // of the least number, 2^-1074
  std::array<char, 1400> text{};       // 309 digits at most before the point
  std::snprintf(text.data(), text.size(), "%.*f", kMostDecimals, std::fabs(x));
  std::string digits(text.data());
  point = digits.find('.');
  digits.erase(point, 1);
  return digits;
}

// round(x, n): to the n-th decimal, exact ties to the even digit, then to the nearest real.
Real round_decimals(double x, double n) {
  // Beyond the decimals that a real has; below, all is rounded away (CPython's limits).
  constexpr double kMostDecimals = 323;
  constexpr double kLeastDecimals = -308;
  if (n != std::floor(n)) {
    return std::nullopt;
  }
  if (!std::isfinite(x) || n > kMostDecimals) {
    return x;
  }
  if (n < kLeastDecimals) {
    return 0.0 * x;
  }
  std::size_t point = 0;
  std::string digits = exact_digits(x, point);
  const auto decimals = static_cast<std::ptrdiff_t>(n);
  if (decimals < 0 && point < static_cast<std::size_t>(-decimals)) {
    return 0.0 * x;  // below a tenth of the unit
  }
  const auto kept = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(point) + decimals);
  const char next = digits[kept];
  const bool tie = next == '5' && digits.find_first_not_of('0', kept + 1) == std::string::npos;
  const bool even = kept == 0 || (digits[kept - 1] - '0') % 2 == 0;
  const bool up = tie ? !even : next >= '5';
  digits = "0" + digits.substr(0, kept);
  std::size_t at = kept;
  for (; up && digits[at] == '9'; --at) {
    digits[at] = '0';
  }
  digits[at] = static_cast<char>(digits[at] + (up ? 1 : 0));
  digits += "e" + std::to_string(-decimals);
  const double result = std::strtod(digits.c_str(), nullptr);
  return std::isinf(result) ? std::nullopt : Real(std::copysign(result, x));
}

double half_to_even(double x) {
  const double whole = std::round(x);
  return std::fabs(x - whole) == 0.5 ? 2.0 * std::round(x / 2.0) : whole;
}

std::optional<std::int64_t> whole_number(Op op, double x) {
  const double whole = op == Op::floor   ? std::floor(x)
                       : op == Op::ceil  ? std::ceil(x)
                       : op == Op::trunc ? std::trunc(x)
                                         : half_to_even(x);
  // False of nan as well.
  if (!(whole >= -kTooLarge && whole < kTooLarge)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(whole);
}

Real arithmetic(Op op, double a, double b) {
  switch (op) {
    case Op::real_add:
      return a + b;
    case Op::real_sub:
      return a - b;
    case Op::real_mul:
      return a * b;
    case Op::real_div:
      return b == 0 ? std::nullopt : Real(a / b);
    case Op::real_floordiv:
      return b == 0 ? std::nullopt : Real(floor_quotient(a, b));
    case Op::real_mod:
      return b == 0 ? std::nullopt : Real(remainder(a, b));
    case Op::real_pow:
      return power(a, b);
    // Python's min(a, b) and max(a, b) keep the first unless the second is better: nan never is.
    case Op::real_min:
      return b < a ? b : a;
    case Op::real_max:
      return b > a ? b : a;
    case Op::real_round:
      return round_decimals(a, b);
    default:
      return math_function(op, a);
  }
}

bool is_whole_part(Op op) {
  return op == Op::floor || op == Op::ceil || op == Op::trunc || op == Op::round;
}
bool is_division(Op op) {
  return op == Op::truediv || op == Op::real_div || op == Op::real_floordiv || op == Op::real_mod;
}
bool is_comparison(Op op) { return op == Op::real_eq || op == Op::real_lt || op == Op::real_le; }

}  // namespace

Expr real_constant(Context& context, double value) {
  return context.real_bits(real_to_bits(value));
}
double real_value(Expr constant) { return bits_to_real(constant->value()); }
double bits_to_real(std::int64_t bits) { return std::bit_cast<double>(bits); }

// One nan: its sign and payload are not Python's to see.
std::int64_t real_to_bits(double value) {
  return std::bit_cast<std::int64_t>(std::isnan(value) ? std::numeric_limits<double>::quiet_NaN()
                                                       : value);
}

std::optional<std::int64_t> evaluate_real(Op op, std::int64_t a, std::int64_t b) {
  if (op == Op::to_real) {
    return real_to_bits(static_cast<double>(a));
  }
  if (op == Op::truediv) {
    const Real quotient = divide_integers(a, b);
    return quotient ? std::optional(real_to_bits(*quotient)) : std::nullopt;
  }
  const double x = bits_to_real(a);
  const double y = bits_to_real(b);
  if (is_whole_part(op)) {
    return whole_number(op, x);
  }
  if (is_comparison(op)) {
    return op == Op::real_eq ? x == y : op == Op::real_lt ? x < y : x <= y;
  }
  const Real result = arithmetic(op, x, y);
  return result ? std::optional(real_to_bits(*result)) : std::nullopt;
}

// repr: the shortest digits that read back as the same, with an exponent from 1e16 and below 1e-4.
std::string print_real(double value) {
  if (!std::isfinite(value)) {
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  }
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), std::fabs(value),
                                 std::chars_format::scientific);
  std::string digits(text.data(), end.ptr);
  const std::size_t e = digits.find('e');
  const int exponent = std::atoi(digits.c_str() + e + 1);
  const std::string sign = std::signbit(value) ? "-" : "";
  if (exponent >= 16 || exponent < -4) {
    return sign + digits;
  }
  digits.resize(e);
  std::erase(digits, '.');
  if (exponent < 0) {
    return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  }
  const auto before_point = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= before_point) {
    return sign + digits + std::string(before_point - digits.size(), '0') + ".0";
  }
  return sign + digits.insert(before_point, ".");
}

namespace {

bool within(Range r, std::int64_t limit) { return -limit <= r.lo && r.hi <= limit; }

// To the nearest real, which is not past an end that is a real itself.
Range rounded(Range r) {
  return {r.lo < -kExact ? Range::kMinusInf : std::min(r.lo, kExact),
          r.hi > kExact ? Range::kPlusInf : std::max(r.hi, -kExact)};
}

// Whole bounds of all values but nan.
Range bounds_of(Expr e) {
  if (!e->is(Op::real_constant)) {
    return e->range;
  }
  const double value = real_value(e);
  if (std::fabs(value) <= static_cast<double>(kExact)) {
    return {static_cast<std::int64_t>(std::floor(value)),
            static_cast<std::int64_t>(std::ceil(value))};
  }
  return value > 0 ? Range{kExact, Range::kPlusInf}
                   : Range{Range::kMinusInf, std::isnan(value) ? Range::kPlusInf : -kExact};
}

constexpr Range kNotNegative{0, Range::kPlusInf};

Range quotient_range(Range a, Range b) {
  if (b.nonzero()) {
    const Range below = range_floordiv(a, b);
    const Range above = range_neg(range_floordiv(range_neg(a), b));
    return rounded({below.lo, above.hi});
  }
  return a.nonnegative() && b.nonnegative() ? kNotNegative : Range::all();
}

// Of a real operator's values, nan left out: what holds between exact numbers holds between their
// roundings, since rounding keeps the order and whole ends up to 2^53 are not rounded.
Range real_range(Op op, Range a, Range b) {
  switch (op) {
    case Op::to_real:
      return rounded(a);
    case Op::truediv:
    case Op::real_div:
      return quotient_range(a, b);
    case Op::real_add:
      return rounded(range_add(a, b));
    case Op::real_sub:
      return rounded(range_add(a, range_neg(b)));
    case Op::real_mul:
      return rounded(range_mul(a, b));
    case Op::real_neg:
      return range_neg(a);
    case Op::real_abs:
      return {std::max<std::int64_t>(range_max(a, range_neg(a)).lo, 0),
              range_max(a, range_neg(a)).hi};
    case Op::real_floordiv:
      return a.nonnegative() && b.nonnegative() ? kNotNegative : Range::all();
    case Op::real_mod:  // -1e-20 % 3.0 == 3.0
      return {std::min<std::int64_t>(b.lo, 0), std::max<std::int64_t>(b.hi, 0)};
    case Op::real_min:  // min(a, nan) is a
      return {std::min(a.lo, b.lo), a.hi};
    case Op::real_max:
      return {a.lo, std::max(a.hi, b.hi)};
    case Op::real_pow:
      return a.nonnegative() ? kNotNegative : Range::all();
    case Op::sqrt:
    case Op::exp:
      return kNotNegative;
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::round:
      return a;
    default:
      return is_comparison(op) ? Range{0, 1} : Range::all();
  }
}

// NOLINTBEGIN(misc-no-recursion): a rewrite builds float(i) or truediv(i, j), which are rewritten
// once more at most
// The rewrites of one operator; each answers null where it does not apply.
class RealRules {
 public:
  RealRules(const Builder& build, std::span<const Expr> operands)
      : build_(build), a_(operands[0]), b_(operands.size() > 1 ? operands[1] : operands[0]) {}

  Expr rewritten(Op op) const {
    if (is_whole_part(op)) {
      return whole_part(op);
    }
    if (is_comparison(op)) {
      return compared(op);
    }
    if (op == Op::truediv) {
      return whole_quotient();
    }
    if (Expr same = unchanged(op)) {
      return same;
    }
    try {
      return lifted(op);
    } catch (const SymError&) {  // the integers do not fit in 64 bits
      return nullptr;
    }
  }

 private:
  Expr to_real(Expr i) const { return build_.real(Op::to_real, std::array<Expr, 1>{i}); }
  bool fits(Expr i) const { return within(build_.range(i), kExact); }

  // The integer that a real is by its form, and that it equals bit for bit; -0.0 is none.
  Expr exact_integer(Expr x) const {
    if (x->is(Op::to_real)) {
      Expr i = x->operands()[0];
      // The whole part of a real is a real, large or not.
      return fits(i) || is_whole_part(i->op) ? i : nullptr;
    }
    if (x->is(Op::real_constant)) {
      const double value = real_value(x);
      if (value == std::trunc(value) && std::fabs(value) <= static_cast<double>(kExact) &&
          !(value == 0 && std::signbit(value))) {
        return build_.integer(static_cast<std::int64_t>(value));
      }
    }
    return nullptr;
  }

  //   floor(float(i))         ->  i                 |i| <= 2^53; likewise ceil, trunc, round
  //   floor(truediv(a, b))    ->  a // b            |a| <= 2^53
  //   ceil(truediv(a, b))     ->  ceildiv(a, b)     |a| <= 2^53
  //   trunc(truediv(a, b))    ->  one of both       as the sign of a and b says
  // Proof of the latter: say |a / b| lies strictly between the whole numbers n - 1 and n, and is
  // not rounded onto either. With |a| = n * |b| - r, r >= 1: the distance from n is r / |b| = n * r
  // / (|a| + r) >= n / (2^53 + 1), which for 2^e < n < 2^(e + 1) is more than 2^(e - 53), half of
  // the step between reals below n, and for n = 2^e more than 2^(e - 54), half of the step there.
  // Likewise above m = n - 1 > 0: |a| = m * |b| + r, so the distance is
  // m * r / (|a| - r) >= m / (2^53 - 1) > 2^(e - 53) for 2^e <= m < 2^(e + 1). Nothing but 0 is
  // rounded to 0. (Where b is 0 neither side has a value.)
  Expr whole_part(Op op) const {
    if (Expr i = a_->is(Op::to_real) ? exact_integer(a_) : nullptr) {
      return i;
    }
    if (!a_->is(Op::truediv) || !fits(a_->operands()[0]) || op == Op::round) {
      return nullptr;
    }
    Expr dividend = a_->operands()[0];
    Expr divisor = a_->operands()[1];
    const Range p = build_.range(dividend);
    const Range q = build_.range(divisor);
    const bool same_sign = (p.lo >= 0 && q.lo >= 0) || (p.hi <= 0 && q.hi <= 0);
    const bool other_sign = (p.lo >= 0 && q.hi <= 0) || (p.hi <= 0 && q.lo >= 0);
    try {
      if (op == Op::floor || (op == Op::trunc && same_sign)) {
        return build_.floordiv(dividend, divisor);
      }
      if (op == Op::ceil || (op == Op::trunc && other_sign)) {
        return build_.ceildiv(dividend, divisor);
      }
    } catch (const SymError&) {  // does not fit in 64 bits
    }
    return nullptr;
  }

  // Comparisons are of integers where one side is an integer i, |i| < 2^53, and the other float(j),
  // for every j: with |j| <= 2^53 both are exact, and a larger j is rounded to 2^53 or more.
  //   float(j) < 2.5          ->  j < 3             likewise <= and ==
  //   float(j) < inf          ->  True
  //   x == x                  ->  True              x is float(j) or truediv(a, b): never nan
  Expr compared(Op op) const {
    if (a_ == b_ && (a_->is(Op::to_real) || a_->is(Op::truediv))) {
      return build_.boolean(op != Op::real_lt);
    }
    if (a_->is(Op::to_real) && b_->is(Op::to_real)) {
      Expr i = a_->operands()[0];
      Expr j = b_->operands()[0];
      const bool exact = within(build_.range(i), kExact - 1) || within(build_.range(j), kExact - 1);
      return exact ? compare(op, i, j) : nullptr;
    }
    if (a_->is(Op::to_real) && b_->is(Op::real_constant)) {
      return compared_with(op, a_->operands()[0], real_value(b_), false);
    }
    if (a_->is(Op::real_constant) && b_->is(Op::to_real)) {
      return compared_with(op, b_->operands()[0], real_value(a_), true);
    }
    return nullptr;
  }

  Expr compare(Op op, Expr i, Expr j) const {
    try {
      return op == Op::real_eq   ? build_.eq(i, j)
             : op == Op::real_lt ? build_.lt(i, j)
                                 : build_.le(i, j);
    } catch (const SymError&) {  // the difference does not fit in 64 bits
      return nullptr;
    }
  }

  // float(i) op c, or c op float(i).
  Expr compared_with(Op op, Expr i, double c, bool constant_first) const {
    if (!std::isfinite(c)) {
      const bool holds = op != Op::real_eq && (constant_first ? c < 0 : c > 0);
      return build_.boolean(holds);  // no comparison holds of nan
    }
    if (std::fabs(c) >= static_cast<double>(kExact)) {
      return nullptr;
    }
    const double whole = std::floor(c);
    if (op == Op::real_eq && whole != c) {
      return build_.boolean(false);
    }
    // i < c is i < ceil(c), i <= c is i <= floor(c); c < i is floor(c) < i, c <= i is ceil(c) <= i.
    const bool up = whole != c && (op == Op::real_lt) != constant_first;
    Expr bound = build_.integer(static_cast<std::int64_t>(whole) + (up ? 1 : 0));
    return constant_first ? compare(op, bound, i) : compare(op, i, bound);
  }

  //   truediv(a, 1)           ->  float(a)
  //   truediv(q * b, b)       ->  float(q)          b > 0 (0 / -1 is -0.0): both round q once
  Expr whole_quotient() const {
    if (b_->is_constant(1)) {
      return to_real(a_);
    }
    Expr q = build_.range(b_).positive() ? build_.exact_quotient(a_, b_) : nullptr;
    return q == nullptr ? nullptr : to_real(q);
  }

  //   x * 1.0,  1.0 * x,  x / 1.0,  x ** 1.0,  x - 0.0  ->  x    of -0.0, inf and nan as well
  //   -(-x)                   ->  x
  //   round(float(i), n)      ->  float(i)          n >= 0
  Expr unchanged(Op op) const {
    const auto is = [](Expr e, double value) {
      return e->is(Op::real_constant) && e->value() == real_to_bits(value);
    };
    const bool by_one = op == Op::real_mul || op == Op::real_div || op == Op::real_pow;
    if ((by_one && is(b_, 1.0)) || (op == Op::real_sub && is(b_, 0.0))) {
      return a_;
    }
    if (op == Op::real_mul && is(a_, 1.0)) {
      return b_;
    }
    if (op == Op::real_neg && a_->is(Op::real_neg)) {
      return a_->operands()[0];
    }
    const bool whole = op == Op::real_round && a_->is(Op::to_real) && real_value(b_) >= 0;
    return whole ? a_ : nullptr;
  }

  // Operators over reals that are integers (one of them a float(i), or all would be folded):
  //   float(i) + float(j)     ->  float(i + j)      all of i, j, i + j within 2^53; likewise -
  //   float(i) * float(j)     ->  float(i * j)      and no 0 of the product is -0.0
  //   -float(i)               ->  float(-i)         i is not 0: -0.0
  //   fabs(float(i))          ->  float(abs(i))
  //   float(i) / float(j)     ->  truediv(i, j)     one rounding, and of 0 the same sign
  //   fmin(float(i), float(j))  ->  float(min(i, j))
  Expr lifted(Op op) const {
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): operands are never null
    Expr i = a_->type == Type::real ? exact_integer(a_) : nullptr;
    Expr j = b_->type == Type::real ? exact_integer(b_) : nullptr;
    if (i == nullptr || j == nullptr || !fits(i) || !fits(j)) {
      return nullptr;
    }
    const auto zero_is_positive = [&](Expr product) {
      return (build_.range(i).nonnegative() && build_.range(j).nonnegative()) ||
             build_.range(product).nonzero();
    };
    const auto real = [&](Expr result) { return fits(result) ? to_real(result) : nullptr; };
    switch (op) {
      case Op::real_add:
        return real(build_.add(i, j));
      case Op::real_sub:
        return real(build_.sub(i, j));
      case Op::real_mul: {
        Expr product = build_.mul(i, j);
        return zero_is_positive(product) ? real(product) : nullptr;
      }
      case Op::real_neg:
        return build_.range(i).nonzero() ? real(build_.neg(i)) : nullptr;
      case Op::real_abs:
        return real(build_.abs(i));
      case Op::real_div:
        return build_.real(Op::truediv, std::array<Expr, 2>{i, j});
      case Op::real_min:
        return real(build_.min(i, j));
      case Op::real_max:
        return real(build_.max(i, j));
      default:
        return nullptr;
    }
  }

  const Builder& build_;
  Expr a_;
  Expr b_;
};

Expr constant_of(const Builder& build, Type type, std::int64_t value) {
  return type == Type::real      ? build.context().real_bits(value)
         : type == Type::boolean ? build.boolean(value != 0)
                                 : build.integer(value);
}

bool is_number(Expr e) { return e->is_constant() || e->is(Op::real_constant); }

void check_real(Op op, std::span<const Expr> operands) {
  if (op == Op::real_round) {
    const bool whole = operands[1]->is(Op::real_constant) &&
                       real_value(operands[1]) == std::floor(real_value(operands[1]));
    if (!whole) {
      throw SymError(ErrorCode::bad_argument, "the number of digits to round to is not whole");
    }
  }
  if (is_division(op)) {
    Expr divisor = operands[1];
    if (divisor->is_constant(0) || (divisor->is(Op::real_constant) && real_value(divisor) == 0)) {
      throw SymError(ErrorCode::division_by_zero, "a real number is divided by 0");
    }
  }
}

}  // namespace

Expr Builder::real(Op op, std::span<const Expr> operands) const {
  check_real(op, operands);
  const OpInfo& info = op_info(op);
  Expr a = operands[0];
  Expr b = operands.size() > 1 ? operands[1] : a;
  if (is_number(a) && is_number(b)) {
    // Without a value (sqrt(-1.0)) it stays: only where it is evaluated something is wrong.
    if (const auto value = evaluate_real(op, a->value(), b->value())) {
      return constant_of(*this, info.result, *value);
    }
  } else if (Expr simpler = RealRules(*this, operands).rewritten(op)) {
    return simpler;
  }
  return context_.raw(op, operands, real_range(op, bounds_of(a), bounds_of(b)));
}
// NOLINTEND(misc-no-recursion)

std::optional<std::int64_t> parse_real(std::string_view text) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return real_to_bits(value);
}

}  // namespace massless::sym
