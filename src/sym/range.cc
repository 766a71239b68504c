#include "sym/range.h"

#include <algorithm>
#include <array>

#include "sym/checked.h"

namespace massless::sym {
namespace {

// Ends as 128-bit numbers, in which sums and products of 64-bit ones fit; the infinities stand
// beyond every product.
constexpr Int128 kInf = static_cast<Int128>(1) << 126;

Int128 low(Range r) { return r.lo == Range::kMinusInf ? -kInf : static_cast<Int128>(r.lo); }
Int128 high(Range r) { return r.hi == Range::kPlusInf ? kInf : static_cast<Int128>(r.hi); }
bool infinite(Int128 v) { return v >= kInf || v <= -kInf; }

// Widens to 64 bits.
Range rounded(Int128 lo, Int128 hi) {
  constexpr Int128 kMin = Range::kMinusInf;
  constexpr Int128 kMax = Range::kPlusInf;
  return {static_cast<std::int64_t>(std::clamp(lo, kMin, kMax - 1)),
          static_cast<std::int64_t>(std::clamp(hi, kMin + 1, kMax))};
}

Int128 add(Int128 a, Int128 b) {
  if (infinite(a) || infinite(b)) {
    return infinite(a) ? a : b;
  }
  return a + b;
}

// 0 times infinity is 0: the end stands for numbers, however large.
Int128 mul(Int128 a, Int128 b) {
  if (a == 0 || b == 0) {
    return 0;
  }
  Int128 r = 0;
  if (infinite(a) || infinite(b) || __builtin_mul_overflow(a, b, &r)) {
    return (a < 0) == (b < 0) ? kInf : -kInf;
  }
  return std::clamp(r, -kInf, kInf);
}

Int128 floordiv(Int128 a, Int128 b) {
  const bool negative = (a < 0) != (b < 0);
  if (infinite(b)) {
    return a != 0 && negative ? -1 : 0;
  }
  if (infinite(a)) {
    return negative ? -kInf : kInf;
  }
  return a / b - static_cast<Int128>(a % b != 0 && negative);
}

Int128 power(Int128 a, std::uint32_t n) {
  Int128 r = 1;
  if (a == 0 || a == 1 || a == -1) {
    return a == -1 && n % 2 == 0 ? 1 : a;
  }
  for (std::uint32_t i = 0; i < n && !infinite(r); ++i) {
    r = mul(r, a);
  }
  // The sign that an even number of further steps would leave.
  return infinite(r) && a < 0 ? (n % 2 == 0 ? kInf : -kInf) : r;
}

// Over the corners, since f is monotone in each operand.
template <class F>
Range corners(Int128 a0, Int128 a1, Int128 b0, Int128 b1, F f) {
  const std::array<Int128, 4> all{f(a0, b0), f(a0, b1), f(a1, b0), f(a1, b1)};
  return rounded(*std::min_element(all.begin(), all.end()),
                 *std::max_element(all.begin(), all.end()));
}

// The positive part of b.
std::optional<Range> positive_part(Range b) {
  return b.hi > 0 ? std::optional<Range>({std::max<std::int64_t>(b.lo, 1), b.hi}) : std::nullopt;
}

// a % b for b > 0.
Range mod_positive(Range a, Range b) {
  Range r{0, b.hi == Range::kPlusInf ? b.hi : b.hi - 1};
  if (a.lo >= 0) {
    r.hi = std::min(r.hi, a.hi);
    if (a.hi < b.lo) {
      return a;
    }
  }
  if (b.is_point() && a.lo != Range::kMinusInf && a.hi != Range::kPlusInf &&
      *checked_floordiv(a.lo, b.lo) == *checked_floordiv(a.hi, b.lo)) {
    return {floor_mod(a.lo, b.lo), floor_mod(a.hi, b.lo)};
  }
  return r;
}

Range join(std::optional<Range> a, std::optional<Range> b) {
  if (a && b) {
    return range_union(*a, *b);
  }
  return a ? *a : b.value_or(Range::all());
}

}  // namespace

Range range_add(Range a, Range b) { return rounded(add(low(a), low(b)), add(high(a), high(b))); }

Range range_neg(Range a) { return rounded(-high(a), -low(a)); }

Range range_mul(Range a, Range b) { return corners(low(a), high(a), low(b), high(b), &mul); }

Range range_scale(Range a, std::int64_t factor) {
  const Int128 x = mul(low(a), factor);
  const Int128 y = mul(high(a), factor);
  return rounded(std::min(x, y), std::max(x, y));
}

Range range_pow(Range a, std::uint32_t exponent) {
  if (exponent == 0) {
    return Range::point(1);
  }
  const Int128 x = power(low(a), exponent);
  const Int128 y = power(high(a), exponent);
  if (exponent % 2 == 1) {
    return rounded(x, y);
  }
  return rounded(a.contains(0) ? 0 : std::min(x, y), std::max(x, y));
}

Range range_floordiv(Range a, Range b) {
  std::optional<Range> up;
  std::optional<Range> down;
  if (const auto p = positive_part(b)) {
    up = corners(low(a), high(a), low(*p), high(*p), &floordiv);
  }
  if (const auto p = positive_part(range_neg(b))) {
    const Range n = range_neg(a);
    down = corners(low(n), high(n), low(*p), high(*p), &floordiv);
  }
  return join(up, down);
}

Range range_mod(Range a, Range b) {
  std::optional<Range> up;
  std::optional<Range> down;
  if (const auto p = positive_part(b)) {
    up = mod_positive(a, *p);
  }
  if (const auto p = positive_part(range_neg(b))) {
    down = range_neg(mod_positive(range_neg(a), *p));
  }
  return join(up, down);
}

Range range_min(Range a, Range b) { return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)}; }
Range range_max(Range a, Range b) { return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)}; }
Range range_union(Range a, Range b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

std::optional<Range> range_intersect(Range a, Range b) {
  const Range r{std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
  return r.lo <= r.hi ? std::optional(r) : std::nullopt;
}

std::string to_string(Range range) {
  return "[" + (range.lo == Range::kMinusInf ? "-inf" : std::to_string(range.lo)) + ", " +
         (range.hi == Range::kPlusInf ? "inf" : std::to_string(range.hi)) + "]";
}

}  // namespace massless::sym
