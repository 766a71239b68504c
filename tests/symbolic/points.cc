#include "symbolic/points.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>

namespace massless::vectors {
namespace {

constexpr std::array<std::int64_t, 16> kValues = {0, 1, 1, 2, 2,  3,  4,  5,
                                                  6, 7, 8, 9, 11, 16, 31, 64};
constexpr int kTriesForEach = 12;
// Where random points are too few, all in a box are tried: its side for so many symbols, which
// keeps it to about 4,000 points.
constexpr std::array<std::int64_t, 13> kBoxSides = {0, 512, 64, 16, 8, 5, 4, 3, 2, 2, 2, 2, 2};

using Random = std::mt19937_64;

std::int64_t below(Random& random, std::int64_t n) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
}

// The example, one near it, a multiple of it, another symbol's value, a value of the list, or
// sometimes a large prime.
std::int64_t candidate(Random& random, std::int64_t hint, const std::vector<std::int64_t>& chosen) {
  switch (below(random, 8)) {
    case 0:
      return hint;
    case 1:
      return std::max<std::int64_t>(0, hint + below(random, 3) - 1);
    case 2:
      return hint * (2 + below(random, 3));
    case 3:
      return chosen.empty() ? hint
                            : chosen[below(random, static_cast<std::int64_t>(chosen.size()))];
    case 4:
      return below(random, 6) == 0 ? 1009 : 13;
    default:
      return kValues[below(random, kValues.size())];
  }
}

std::vector<std::int64_t> random_values(Random& random, const std::vector<std::int64_t>& hints) {
  std::vector<std::int64_t> chosen;
  for (const std::int64_t hint : hints) {
    chosen.push_back(candidate(random, hint, chosen));
  }
  return chosen;
}

std::int64_t box_side(std::size_t symbols) {
  return symbols < kBoxSides.size() ? kBoxSides[symbols] : 0;
}
std::int64_t box_size(std::size_t symbols) {
  std::int64_t size = box_side(symbols);
  for (std::size_t i = 1; i < symbols; ++i) {
    size *= box_side(symbols);
  }
  return size;
}
// The i-th point of it.
std::vector<std::int64_t> box_values(std::int64_t i, std::size_t symbols) {
  const std::int64_t side = box_side(symbols);
  std::vector<std::int64_t> chosen;
  for (std::size_t s = 0; s < symbols; ++s, i /= side) {
    chosen.push_back(i % side);
  }
  return chosen;
}

}  // namespace

Points sample_points(ShapeEnv& env, std::size_t wanted, std::uint64_t seed,
                     const std::function<bool(const Point&)>& fits) {
  Random random(seed);
  Points points;
  std::set<std::map<std::uint32_t, std::int64_t>> seen;
  std::vector<std::pair<sym::Expr, sym::Expr>> solved;  // symbol, what it follows from
  std::vector<sym::Expr> free;
  for (sym::Expr symbol : env.symbols()) {
    sym::Expr simple = env.simplify(symbol);
    if (simple == symbol) {
      free.push_back(symbol);
    } else {
      solved.emplace_back(symbol, simple);
    }
  }
  const auto consider = [&](const std::vector<std::int64_t>& chosen) {
    Point point;
    for (std::size_t i = 0; i < free.size(); ++i) {
      point[free[i]->symbol()] = chosen[i];
    }
    bool has_value = true;
    for (const auto& [symbol, value] : solved) {
      const auto found = env.value(value, point);
      has_value = has_value && found;
      point[symbol->symbol()] = found.value_or(0);
    }
    if (!has_value || !fits(point) || !seen.insert({point.begin(), point.end()}).second) {
      return;
    }
    if (env.holds(point, nullptr)) {
      points.good.push_back(std::move(point));
    } else {
      ++points.refused;
    }
  };
  std::vector<std::int64_t> hints;
  for (sym::Expr symbol : free) {
    hints.push_back(env.hint(symbol).value_or(0));
  }
  consider(hints);
  for (std::size_t i = 0; i < wanted * kTriesForEach && points.good.size() < wanted; ++i) {
    consider(random_values(random, hints));
  }
  for (std::int64_t i = 0; i < box_size(free.size()) && points.good.size() < wanted; ++i) {
    consider(box_values(i, free.size()));
  }
  return points;
}

}  // namespace massless::vectors
