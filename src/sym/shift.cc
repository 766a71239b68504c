#include "sym/shift.h"

#include <algorithm>
#include <array>
#include <optional>

#include "sym/checked.h"

namespace massless::sym {
namespace {

constexpr unsigned kBits = 4;  // of an exponent
constexpr std::size_t kMaxAtoms = 64 / kBits;
constexpr std::uint32_t kMaxExponent = 7;
constexpr std::size_t kMaxTerms = 64;

// Exponents of up to kMaxAtoms atoms in one word.
using Exponents = std::uint64_t;

struct Coefficient {
  Exponents at;
  Int128 value;
};

// Sums of coefficients by exponents; at most kMaxTerms of them.
class Polynomial {
 public:
  // False: too many terms, or too large.
  bool add(Exponents at, Int128 value) {
    for (std::size_t i = 0; i < count_; ++i) {
      if (terms_[i].at == at) {
        return !__builtin_add_overflow(terms_[i].value, value, &terms_[i].value);
      }
    }
    if (count_ == kMaxTerms) {
      return false;
    }
    terms_[count_++] = {at, value};
    return true;
  }
  std::span<const Coefficient> terms() const { return std::span(terms_).first(count_); }

 private:
  std::array<Coefficient, kMaxTerms> terms_;
  std::size_t count_ = 0;
};

// An atom as end + sign * x with x >= 0.
struct Shift {
  Expr atom;
  std::int64_t end;
  std::int64_t sign;
};

class Shifted {
 public:
  explicit Shifted(const Bounds& bounds) : bounds_(bounds) {}

  bool add(const Term& term) {
    Polynomial product;
    product.add(0, term.coefficient);
    if (term.monomial != nullptr) {
      for (const Factor& f : Factors(term.monomial)) {
        const auto index = index_of(f.atom);
        if (!index || f.exponent > kMaxExponent) {
          return false;
        }
        for (std::uint32_t i = 0; i < f.exponent; ++i) {
          if (!multiply(product, *index)) {
            return false;
          }
        }
      }
    }
    const auto terms = product.terms();
    return std::all_of(terms.begin(), terms.end(),
                       [&](const Coefficient& c) { return sum_.add(c.at, c.value); });
  }

  bool not_negative() const {
    const auto terms = sum_.terms();
    return std::all_of(terms.begin(), terms.end(),
                       [](const Coefficient& c) { return c.value >= 0; });
  }

 private:
  // Nothing: without end, or one atom too many.
  std::optional<std::size_t> index_of(Expr atom) {
    for (std::size_t i = 0; i < count_; ++i) {
      if (shifts_[i].atom == atom) {
        return i;
      }
    }
    const Range range = bounds_.range(atom);
    const bool from_below = range.lo != Range::kMinusInf;
    if (count_ == kMaxAtoms || (!from_below && range.hi == Range::kPlusInf)) {
      return std::nullopt;
    }
    shifts_[count_] = {atom, from_below ? range.lo : range.hi, from_below ? 1 : -1};
    return count_++;
  }

  bool multiply(Polynomial& product, std::size_t index) const {
    const Shift& shift = shifts_[index];
    Polynomial next;
    for (const Coefficient& c : product.terms()) {
      Int128 constant = 0;
      Int128 linear = 0;
      if (__builtin_mul_overflow(c.value, static_cast<Int128>(shift.end), &constant) ||
          __builtin_mul_overflow(c.value, static_cast<Int128>(shift.sign), &linear) ||
          !next.add(c.at, constant) ||
          !next.add(c.at + (Exponents{1} << (kBits * index)), linear)) {
        return false;
      }
    }
    product = next;
    return true;
  }

  const Bounds& bounds_;
  std::array<Shift, kMaxAtoms> shifts_{};
  std::size_t count_ = 0;
  Polynomial sum_;
};

}  // namespace

bool not_negative_by_shift(Expr p, const Bounds& bounds) {
  Shifted shifted(bounds);
  const Terms terms(p);
  return std::all_of(terms.begin(), terms.end(), [&](const Term& t) { return shifted.add(t); }) &&
         shifted.not_negative();
}

}  // namespace massless::sym
