#include "plan/undominated.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "dispatch/sym_node.h"
#include "plan/formula.h"
#include "sym/checked.h"
#include "sym/evaluate.h"

namespace massless {
namespace {

using sym::Expr;
using sym::Int128;
using sym::Range;

constexpr Int128 kUnbounded = static_cast<Int128>(1) << 100;  // stands for no bound

// --- shifted polynomials --------------------------------------------------------------------

// Polynomials in the distances of atoms from their least values: x = least + x', x' >= 0.
// An atom without a least value, and a monomial whose shift does not fit, stands for itself and
// may be negative.
class Shift {
 public:
  Shift(guard::ShapeEnv& env, const std::vector<Expr>& monomials) : env_(env) {
    id_of({});
    for (Expr monomial : monomials) {
      rows_.push_back(monomial == nullptr ? Row{{0, 1}} : shifted(monomial));
    }
    find_lower();
  }

  using Poly = std::vector<Int128>;
  // Nothing: a coefficient is larger than any memory.
  std::optional<Poly> of(const Coefficients& c) const {
    constexpr Int128 kMost = static_cast<Int128>(1) << 61;  // products of two differences fit
    Poly sum(keys_.size(), 0);
    for (std::size_t i = 0; i < c.size(); ++i) {
      for (const auto& [id, factor] : rows_[i]) {
        sum[id] += static_cast<Int128>(c[i]) * factor;
        if (sum[id] > kMost * kMost || sum[id] < -kMost * kMost) {
          return std::nullopt;
        }
      }
    }
    const bool fits =
        std::all_of(sum.begin(), sum.end(), [](Int128 v) { return v <= kMost && v >= -kMost; });
    return fits ? std::optional(std::move(sum)) : std::nullopt;
  }

  // Proved: nowhere negative.
  bool nonnegative(Poly d) const {
    for (const std::size_t id : falling_) {
      if (d[id] == 0 || (d[id] > 0 && !free_[id])) {
        continue;
      }
      const Lower& lower = lower_[id];
      Int128 step = 0;  // width * rest is the most that this one is
      if (free_[id] || lower.width >= kUnbounded ||
          __builtin_mul_overflow(d[id], lower.width, &step) || step < -kUnbounded) {
        return false;
      }
      d[lower.id] += step;
      d[id] = 0;
    }
    return d[0] >= 0;
  }

  // Proved for some weights u, v >= 0, not both 0: u * a + v * b is nowhere negative. It is where
  // no coefficient is: the ratio u : v is between the bounds that each coefficient gives.
  bool nonnegative_together(const Poly& a, const Poly& b) const {
    Fraction least{0, 1};
    Fraction most{1, 0};
    for (std::size_t id = 0; id < a.size(); ++id) {
      if ((free_[id] && (a[id] != 0 || b[id] != 0)) || (a[id] < 0 && b[id] < 0)) {
        return false;
      }
      if (a[id] > 0 && b[id] < 0) {
        least = below(least, {-b[id], a[id]}) ? Fraction{-b[id], a[id]} : least;
      } else if (a[id] < 0) {
        most = below({b[id], -a[id]}, most) ? Fraction{b[id], -a[id]} : most;
      } else if (b[id] < 0) {  // a[id] == 0: v must be 0
        return false;
      }
    }
    return !below(most, least);
  }

 private:
  using Key = std::vector<std::pair<Expr, std::uint32_t>>;  // shifted atoms and exponents
  struct Earlier {
    bool operator()(const Key& a, const Key& b) const {
      return std::lexicographical_compare(
          a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
            return x.first->id != y.first->id ? x.first->id < y.first->id : x.second < y.second;
          });
    }
  };
  using Row = std::vector<std::pair<std::uint32_t, std::int64_t>>;
  struct Lower {  // a monomial is at most `width` times that of `id`
    std::uint32_t id = 0;
    Int128 width = kUnbounded;
  };
  struct Fraction {
    Int128 over, under;
  };
  static bool below(Fraction a, Fraction b) { return a.over * b.under < b.over * a.under; }

  std::uint32_t id_of(const Key& key) {
    const auto [it, added] = ids_.try_emplace(key, static_cast<std::uint32_t>(keys_.size()));
    if (added) {
      keys_.push_back(key);
      free_.push_back(false);
    }
    return it->second;
  }

  Row whole(Expr monomial) {
    const std::uint32_t id = id_of({{monomial, 0}});  // exponent 0: not shifted
    free_[id] = env_.bounds(monomial).nonnegative() ? 0 : 1;
    return {{id, 1}};
  }

  Row shifted(Expr monomial) {
    std::map<Key, std::int64_t, Earlier> product{{{}, 1}};
    for (const sym::Factor& f : sym::Factors(monomial)) {
      const Range range = env_.bounds(f.atom);
      if (range.lo == Range::kMinusInf) {
        return whole(monomial);
      }
      for (std::uint32_t i = 0; i < f.exponent; ++i) {
        std::map<Key, std::int64_t, Earlier> next;
        for (const auto& [key, factor] : product) {
          const auto scaled = sym::checked_mul(factor, range.lo);
          const auto sum = scaled ? sym::checked_add(next[key], *scaled) : std::nullopt;
          const auto more = sym::checked_add(next[times(key, f.atom)], factor);
          if (!sum || !more) {
            return whole(monomial);
          }
          next[key] = *sum;
          next[times(key, f.atom)] = *more;
        }
        product = std::move(next);
      }
    }
    Row row;
    for (const auto& [key, factor] : product) {
      if (factor != 0) {
        row.emplace_back(id_of(key), factor);
      }
    }
    return row;
  }

  static Key times(Key key, Expr atom) {
    const auto same =
        std::find_if(key.begin(), key.end(), [&](auto& f) { return f.first == atom; });
    if (same != key.end()) {
      ++same->second;
    } else {
      key.emplace_back(atom, 1);
      std::sort(key.begin(), key.end(),
                [](const auto& x, const auto& y) { return x.first->id < y.first->id; });
    }
    return key;
  }

  // For each shifted monomial the one with a bounded atom taken out of it; larger degrees first.
  void find_lower() {
    for (std::uint32_t id = 0; id < keys_.size(); ++id) {  // grows meanwhile
      lower_.push_back({});
      const Key key = keys_[id];
      for (std::size_t i = 0; i < key.size() && key[i].second != 0; ++i) {
        const Range range = env_.bounds(key[i].first);
        if (range.hi == Range::kPlusInf) {
          continue;
        }
        Key rest = key;
        if (--rest[i].second == 0) {
          rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
        }
        lower_[id] = {id_of(rest), static_cast<Int128>(range.hi) - range.lo};
        break;
      }
      if (id != 0) {
        falling_.push_back(id);
      }
    }
    const auto degree = [&](std::size_t id) {
      std::uint32_t sum = 0;
      for (const auto& [atom, exponent] : keys_[id]) {
        sum += std::max<std::uint32_t>(exponent, 1);
      }
      return sum;
    };
    std::stable_sort(falling_.begin(), falling_.end(),
                     [&](std::size_t x, std::size_t y) { return degree(x) > degree(y); });
  }

  guard::ShapeEnv& env_;
  std::map<Key, std::uint32_t, Earlier> ids_;
  std::vector<Key> keys_;
  std::vector<char> free_;
  std::vector<Row> rows_;  // by monomial
  std::vector<Lower> lower_;
  std::vector<std::size_t> falling_;
};

// --- points ---------------------------------------------------------------------------------

// The monomials' values at some points within the guards. At each of them a polynomial that is
// nowhere below another is not below it: the cheap question before a proof.
class Samples {
 public:
  Samples(guard::ShapeEnv& env, const std::vector<Expr>& monomials) {
    for (const Point& point : points(env)) {
      if (!env.holds(point, nullptr)) {
        continue;
      }
      std::vector<Int128> values;
      for (Expr monomial : monomials) {
        constexpr std::int64_t kMost = std::int64_t{1} << 50;  // 2^14 terms of 2^63 times it fit
        const auto value = monomial == nullptr ? 1 : env.value(monomial, point);
        if (!value || *value > kMost || *value < -kMost) {
          break;
        }
        values.push_back(*value);
      }
      if (values.size() == monomials.size()) {
        values_.push_back(std::move(values));
      }
    }
  }

  std::vector<Int128> of(const Coefficients& c) const {
    std::vector<Int128> out;
    out.reserve(values_.size());
    for (const auto& values : values_) {
      Int128 sum = 0;
      for (std::size_t i = 0; i < c.size(); ++i) {
        sum += values[i] * c[i];
      }
      out.push_back(sum);
    }
    return out;
  }

 private:
  // The example; each symbol at its least value, and far out, alone and all together.
  static std::vector<Point> points(guard::ShapeEnv& env) {
    const Point example = point_of(env, {});
    std::vector<Point> all{example};
    for (const std::int64_t times : {0, 7, 100, 4096}) {
      Point together = example;
      for (Expr symbol : env.symbols()) {
        const auto known = example.find(symbol->symbol());
        if (known == example.end()) {
          continue;
        }
        const Range range = env.bounds(symbol);
        const std::int64_t far = sym::checked_mul(std::max<std::int64_t>(known->second, 1), times)
                                     .value_or(known->second);
        Point alone = example;
        alone[known->first] = together[known->first] = std::clamp(far, range.lo, range.hi);
        all.push_back(std::move(alone));
      }
      all.push_back(std::move(together));
    }
    return all;
  }

  std::vector<std::vector<Int128>> values_;
};

// --- choosing -------------------------------------------------------------------------------

struct Candidate {
  Coefficients coefficients;
  std::vector<Int128> samples;
  std::optional<Shift::Poly> shifted;
};

bool nowhere_below(const std::vector<Int128>& a, const std::vector<Int128>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] < b[i]) {
      return false;
    }
  }
  return true;
}

Shift::Poly difference(const Candidate& a, const Candidate& b) {
  Shift::Poly d = *a.shifted;
  for (std::size_t i = 0; i < d.size(); ++i) {
    d[i] -= (*b.shifted)[i];
  }
  return d;
}

class Chosen {
 public:
  Chosen(guard::ShapeEnv& env, const std::vector<Expr>& monomials)
      : env_(env), monomials_(monomials), shift_(env, monomials), samples_(env, monomials) {}

  std::vector<Coefficients> of(std::vector<Coefficients> all) {
    std::vector<Candidate> candidates;
    for (Coefficients& c : all) {
      auto samples = samples_.of(c);
      auto shifted = shift_.of(c);
      candidates.push_back({std::move(c), std::move(samples), std::move(shifted)});
    }
    // The largest far out first: those exceed most others.
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return std::lexicographical_compare(b.samples.rbegin(), b.samples.rend(), a.samples.rbegin(),
                                          a.samples.rend()) ||
             (a.samples == b.samples && a.coefficients > b.coefficients);
    });
    for (Candidate& c : candidates) {
      if (!dominated(c)) {
        kept_.push_back(std::move(c));
      }
    }
    drop([&](std::size_t i) { return below_one(i); });
    drop([&](std::size_t i) { return below_two(i); });
    drop([&](std::size_t i) { return proved_below_one(i); });
    std::vector<Coefficients> out;
    for (Candidate& c : kept_) {
      out.push_back(std::move(c.coefficients));
    }
    return out;
  }

 private:
  bool above(const Candidate& a, const Candidate& b) const {
    return nowhere_below(a.samples, b.samples) && a.shifted && b.shifted &&
           shift_.nonnegative(difference(a, b));
  }

  bool dominated(const Candidate& c) const {
    return std::any_of(kept_.begin(), kept_.end(), [&](const Candidate& k) { return above(k, c); });
  }

  // From the last (the smallest) to the first.
  template <class Question>
  void drop(Question question) {
    for (std::size_t i = kept_.size(); i-- > 0;) {
      if (question(i)) {
        kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }

  bool below_one(std::size_t i) const {
    for (std::size_t k = 0; k < kept_.size(); ++k) {
      if (k != i && above(kept_[k], kept_[i])) {
        return true;
      }
    }
    return false;
  }

  bool below_two(std::size_t i) const {
    if (!kept_[i].shifted || kept_.size() > kMostPairs) {
      return false;
    }
    std::vector<Shift::Poly> above_by;
    for (std::size_t k = 0; k < kept_.size(); ++k) {
      if (k != i && kept_[k].shifted) {
        above_by.push_back(difference(kept_[k], kept_[i]));
      }
    }
    for (std::size_t a = 0; a < above_by.size(); ++a) {
      for (std::size_t b = 0; b < above_by.size(); ++b) {
        if (a != b && shift_.nonnegative_together(above_by[a], above_by[b])) {
          return true;
        }
      }
    }
    return false;
  }

  // Where one atom bounds another (s // 2 <= s), which the distances do not know.
  bool proved_below_one(std::size_t i) {
    for (std::size_t k = 0; k < kept_.size() && questions_ < kMostQuestions; ++k) {
      if (k == i || !nowhere_below(kept_[k].samples, kept_[i].samples)) {
        continue;
      }
      ++questions_;
      Expr more = env_.with_builder([&](const sym::Builder& build) {
        std::vector<Expr> terms{build.integer(0)};
        for (std::size_t m = 0; m < monomials_.size(); ++m) {
          const auto by = sym::checked_sub(kept_[k].coefficients[m], kept_[i].coefficients[m]);
          Expr monomial = m == 0 ? build.integer(1) : monomials_[m];
          terms.push_back(build.scale(monomial, by.value_or(0)));
          if (!by) {
            return build.boolean(false);
          }
        }
        return build.ge(build.sum(terms), build.integer(0));
      });
      if (env_.known(more)) {
        return true;
      }
    }
    return false;
  }

  static constexpr std::size_t kMostPairs = 400;
  static constexpr std::size_t kMostQuestions = 500;
  guard::ShapeEnv& env_;
  const std::vector<Expr>& monomials_;
  Shift shift_;
  Samples samples_;
  std::vector<Candidate> kept_;
  std::size_t questions_ = 0;
};

}  // namespace

std::vector<Coefficients> undominated(guard::ShapeEnv& env, const std::vector<Expr>& monomials,
                                      std::vector<Coefficients> all) {
  return Chosen(env, monomials).of(std::move(all));
}

}  // namespace massless
