// Closed ranges of integers with infinite ends. No range is empty: what would be empty is a
// contradiction, which the caller meets where it intersects.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace massless::sym {

// INT64_MIN and INT64_MAX stand for the infinities: an end that would not fit is widened to them,
// which is sound (a range may only say too much).
struct Range {
  static constexpr std::int64_t kMinusInf = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kPlusInf = std::numeric_limits<std::int64_t>::max();
  std::int64_t lo = kMinusInf;
  std::int64_t hi = kPlusInf;

  static constexpr Range all() { return {}; }
  // At the two ends of 64 bits one number more: an end there would say infinity.
  static constexpr Range point(std::int64_t value) {
    return {value == kPlusInf ? value - 1 : value, value == kMinusInf ? value + 1 : value};
  }
  constexpr bool is_point() const { return lo == hi; }
  constexpr bool contains(std::int64_t value) const { return lo <= value && value <= hi; }
  // Every value is positive, not negative, or not zero.
  constexpr bool positive() const { return lo > 0; }
  constexpr bool nonnegative() const { return lo >= 0; }
  constexpr bool nonzero() const { return lo > 0 || hi < 0; }
  constexpr bool operator==(const Range&) const = default;
};

// Each holds every value that the operator takes on operands of the ranges (for which it has a
// value), and is the smallest such range for intervals unless said.
Range range_add(Range a, Range b);
Range range_neg(Range a);
Range range_mul(Range a, Range b);
Range range_scale(Range a, std::int64_t factor);
Range range_pow(Range a, std::uint32_t exponent);
Range range_floordiv(Range a, Range b);  // a divisor of 0 is left out
Range range_mod(Range a, Range b);       // not always the smallest; a divisor of 0 is left out
Range range_min(Range a, Range b);
Range range_max(Range a, Range b);
Range range_union(Range a, Range b);
// Nothing: the ranges do not meet.
std::optional<Range> range_intersect(Range a, Range b);
// "[2, inf]"
std::string to_string(Range range);

}  // namespace massless::sym
