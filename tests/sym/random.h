// Random numbers of the property tests: one fixed seed, or that of the environment's MASSLESS_SEED.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string>

namespace massless::sym {

class Random {
 public:
  Random() : Random(seed_wanted()) {}
  explicit Random(std::uint64_t seed) : seed_(seed), engine_(seed) {}

  std::uint64_t bits() { return engine_(); }
  // lo <= result <= hi.
  std::int64_t between(std::int64_t lo, std::int64_t hi) {
    const std::uint64_t span = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo) + 1;
    const std::uint64_t offset = span == 0 ? bits() : bits() % span;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(lo) + offset);
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  // As likely near an end, near 0 or near a power of two as anywhere else.
  std::int64_t edge(std::int64_t lo, std::int64_t hi) {
    const auto clamped = [&](std::int64_t v) { return std::clamp(v, lo, hi); };
    const std::uint64_t span = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo);
    const auto room = static_cast<std::int64_t>(std::min<std::uint64_t>(span, 3));
    switch (between(0, 4)) {
      case 0:
        return lo + std::min(between(0, 3), room);
      case 1:
        return hi - std::min(between(0, 3), room);
      case 2:
        return clamped(between(-3, 3));
      case 3:
        return clamped((one_in(2) ? 1 : -1) *
                       ((std::int64_t{1} << between(0, 62)) + between(-2, 2)));
      default:
        return between(lo, hi);
    }
  }
  template <class Items>
  const auto& pick(const Items& items) {
    const auto count = static_cast<std::int64_t>(std::size(items));
    return items[static_cast<std::size_t>(between(0, count - 1))];
  }
  // What a failure prints.
  std::string row(const std::string& text) const {
    return "MASSLESS_SEED=" + std::to_string(seed_) + "  " + text;
  }

 private:
  static std::uint64_t seed_wanted() {
    const char* given = std::getenv("MASSLESS_SEED");
    return given == nullptr ? 20260 : std::strtoull(given, nullptr, 10);
  }

  std::uint64_t seed_;
  std::mt19937_64 engine_;
};

}  // namespace massless::sym
