// Ranges by brute force: over all operand ranges within a small box, every point is inside (sound),
// and how many results are the smallest possible is counted.
#include "sym/range.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "sym/checked.h"
#include "sym/random.h"

namespace massless::sym {
namespace {

constexpr std::int64_t kBox = 6;
constexpr std::int64_t kFar = 40;  // stands for a far point of an infinite end

std::vector<Range> small_ranges() {
  std::vector<Range> all;
  for (std::int64_t lo = -kBox; lo <= kBox; ++lo) {
    for (std::int64_t hi = lo; hi <= kBox; ++hi) {
      all.push_back({lo, hi});
    }
  }
  for (std::int64_t end = -kBox; end <= kBox; ++end) {
    all.push_back({end, Range::kPlusInf});
    all.push_back({Range::kMinusInf, end});
  }
  all.push_back(Range::all());
  return all;
}

std::int64_t first(Range r) { return r.lo == Range::kMinusInf ? -kFar : r.lo; }
std::int64_t last(Range r) { return r.hi == Range::kPlusInf ? kFar : r.hi; }
bool finite(Range r) { return r.lo != Range::kMinusInf && r.hi != Range::kPlusInf; }

using Point = std::function<std::optional<std::int64_t>(std::int64_t, std::int64_t)>;
using Op2 = std::function<Range(Range, Range)>;

struct Tightness {
  int finite = 0;    // pairs of finite ranges with a value at all
  int smallest = 0;  // of these, results that are as small as can be
};

Tightness check(const Op2& op, const Point& point) {
  Tightness counted;
  const auto ranges = small_ranges();
  for (const Range a : ranges) {
    for (const Range b : ranges) {
      const Range result = op(a, b);
      Range seen{Range::kPlusInf, Range::kMinusInf};
      for (std::int64_t x = first(a); x <= last(a); ++x) {
        for (std::int64_t y = first(b); y <= last(b); ++y) {
          if (const auto v = point(x, y)) {
            EXPECT_TRUE(result.contains(*v))
                << to_string(a) << " " << to_string(b) << " -> " << to_string(result) << ", but "
                << x << ", " << y << " -> " << *v;
            seen = {std::min(seen.lo, *v), std::max(seen.hi, *v)};
          }
        }
      }
      if (finite(a) && finite(b) && seen.lo <= seen.hi) {
        ++counted.finite;
        counted.smallest += static_cast<int>(result == seen);
      }
    }
  }
  return counted;
}

TEST(Range, AddAndMultiplyAreSoundAndSmallest) {
  const auto add = check(&range_add, [](auto x, auto y) { return std::optional(x + y); });
  EXPECT_EQ(add.smallest, add.finite);
  const auto mul = check(&range_mul, [](auto x, auto y) { return std::optional(x * y); });
  EXPECT_EQ(mul.smallest, mul.finite);
}

TEST(Range, MinAndMaxAreSoundAndSmallest) {
  const auto least =
      check(&range_min, [](auto x, auto y) { return std::optional(std::min(x, y)); });
  EXPECT_EQ(least.smallest, least.finite);
  const auto most = check(&range_max, [](auto x, auto y) { return std::optional(std::max(x, y)); });
  EXPECT_EQ(most.smallest, most.finite);
}

TEST(Range, FloorDivisionIsSoundAndSmallest) {
  const auto counted = check(&range_floordiv, [](auto x, auto y) {
    return y == 0 ? std::nullopt : checked_floordiv(x, y);
  });
  EXPECT_EQ(counted.smallest, counted.finite);
}

// 128 bits, where no sum or product of 64-bit numbers wraps: what is near the ends stays inside.
TEST(Range, NothingWrapsNearTheEnds) {
  using Wide = __int128;
  Random random;
  const auto any = [&] { return random.edge(Range::kMinusInf, Range::kPlusInf); };
  const auto inside = [](Range r, Wide v) {
    return (r.lo == Range::kMinusInf || r.lo <= v) && (r.hi == Range::kPlusInf || v <= r.hi);
  };
  for (int i = 0; i < 200000 && !testing::Test::HasFailure(); ++i) {
    std::int64_t ends[2][2];
    std::int64_t at[2];
    for (int k = 0; k < 2; ++k) {
      const auto [lo, hi] = std::minmax({any(), any()});
      // An end of 64 bits says infinity, which is no lower end above, nor an upper one below.
      ends[k][0] = std::min(lo, Range::kPlusInf - 1);
      ends[k][1] = std::max(hi, Range::kMinusInf + 1);
      at[k] = random.edge(ends[k][0], ends[k][1]);
    }
    const Range a{ends[0][0], ends[0][1]};
    const Range b{ends[1][0], ends[1][1]};
    const Wide x = at[0];
    const Wide y = at[1];
    const std::string row = random.row(to_string(a) + " " + to_string(b) + " at " +
                                       std::to_string(at[0]) + ", " + std::to_string(at[1]));
    EXPECT_TRUE(inside(range_add(a, b), x + y)) << row << " add";
    EXPECT_TRUE(inside(range_neg(a), -x)) << row << " neg";
    EXPECT_TRUE(inside(range_mul(a, b), x * y)) << row << " mul";
    EXPECT_TRUE(inside(range_scale(a, at[1]), x * y)) << row << " scale";
    EXPECT_TRUE(inside(range_pow(a, 2), x * x)) << row << " pow";
    if (y != 0) {
      const Wide rest = x % y != 0 && (x % y < 0) != (y < 0) ? x % y + y : x % y;
      EXPECT_TRUE(inside(range_mod(a, b), rest)) << row << " mod";
      EXPECT_TRUE(inside(range_floordiv(a, b), (x - rest) / y)) << row << " floordiv";
    }
  }
}

TEST(Range, ModuloIsSound) {
  const auto counted = check(&range_mod, [](auto x, auto y) {
    return y == 0 ? std::nullopt : std::optional(floor_mod(x, y));
  });
  // Held: the count may only rise, and the number here with it.
  constexpr int kSmallest = 7050;
  EXPECT_EQ(counted.smallest, kSmallest) << "of " << counted.finite;
}

TEST(Range, PowersAreSoundAndSmallest) {
  for (std::uint32_t n = 0; n <= 5; ++n) {
    const auto counted = check([n](Range a, Range) { return range_pow(a, n); },
                               [n](std::int64_t x, std::int64_t) {
                                 std::int64_t v = 1;
                                 for (std::uint32_t i = 0; i < n; ++i) {
                                   v *= x;
                                 }
                                 return std::optional(v);
                               });
    EXPECT_EQ(counted.smallest, counted.finite) << n;
  }
}

TEST(Range, ScaleAndNegation) {
  for (std::int64_t k = -3; k <= 3; ++k) {
    const auto counted = check([k](Range a, Range) { return range_scale(a, k); },
                               [k](auto x, auto) { return std::optional(k * x); });
    EXPECT_EQ(counted.smallest, counted.finite) << k;
  }
  EXPECT_EQ(range_neg({-3, Range::kPlusInf}), (Range{Range::kMinusInf, 3}));
}

TEST(Range, ForcedRows) {
  constexpr std::int64_t kMax = Range::kPlusInf;
  // An even power of a range around 0, and the rival's fault: (a - 10)//3 squared for a in [0, 12].
  EXPECT_EQ(range_pow({-3, 1}, 2), (Range{0, 9}));
  EXPECT_EQ(range_pow(range_floordiv({-10, 2}, Range::point(3)), 2), (Range{0, 16}));
  // Near the edge nothing wraps, and no end turns into an infinity on the wrong side.
  EXPECT_EQ(range_add(Range::point(kMax - 1), Range::point(kMax - 1)).hi, kMax);
  EXPECT_LE(range_add(Range::point(kMax - 1), Range::point(kMax - 1)).lo, kMax - 1);
  EXPECT_TRUE(range_mul(Range::point(kMax), Range::point(kMax)).contains(kMax - 1));
  EXPECT_EQ(range_mul({0, 0}, Range::all()), (Range{0, 0}));
  EXPECT_TRUE(range_add(Range::point(kMax), Range::point(-1)).contains(kMax - 1));
  EXPECT_TRUE(range_neg(Range::point(Range::kMinusInf)).contains(kMax));
  // A divisor that is 0 alone has no value to be sound for; around 0 both signs count.
  EXPECT_EQ(range_floordiv({7, 7}, {-1, 1}), (Range{-7, 7}));
  EXPECT_EQ(range_mod({5, 9}, {10, 20}), (Range{5, 9}));
  EXPECT_EQ(range_intersect({0, 3}, {4, 9}), std::nullopt);
  EXPECT_EQ(to_string(Range{2, kMax}), "[2, inf]");
}

}  // namespace
}  // namespace massless::sym
