// Checked 64-bit arithmetic: nothing where the result does not fit.
#pragma once

#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>

namespace massless::sym {

using Int128 = __int128;

inline std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}
inline std::optional<std::int64_t> checked_sub(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}
inline std::optional<std::int64_t> checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}
inline std::optional<std::int64_t> checked_neg(std::int64_t a) { return checked_sub(0, a); }
// b != 0. Floor division; INT64_MIN // -1 does not fit.
inline std::optional<std::int64_t> checked_floordiv(std::int64_t a, std::int64_t b) {
  if (b == -1) {
    return checked_neg(a);
  }
  const std::int64_t q = a / b;  // NOLINT(clang-analyzer-core.DivideZero): the caller's b is not 0
  return q - static_cast<std::int64_t>(a % b != 0 && ((a < 0) != (b < 0)));
}
// b != 0. The result has the sign of b.
inline std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  if (b == -1) {
    return 0;
  }
  const std::int64_t r = a % b;
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}
// Not negative; of INT64_MIN and 0 alone it would not fit, and is INT64_MAX + 1 as unsigned.
inline std::uint64_t magnitude(std::int64_t a) {
  return a < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(a) : static_cast<std::uint64_t>(a);
}
inline std::uint64_t gcd(std::uint64_t a, std::uint64_t b) { return std::gcd(a, b); }

}  // namespace massless::sym
