// Floor division and modulo. Python's signs: ops.h.
#include <array>
#include <utility>
#include <vector>

#include "sym/build.h"
#include "sym/checked.h"

namespace massless::sym {
namespace {

[[noreturn]] void divided_by_zero() {
  throw SymError(ErrorCode::division_by_zero, "a size is divided by 0");
}

// gcd of the coefficients of the terms that are not constant, and of `k`.
std::int64_t shared_divisor(const Terms& terms, std::int64_t k) {
  std::uint64_t g = magnitude(k);
  for (const Term& t : terms.variable()) {
    g = gcd(g, magnitude(t.coefficient));
  }
  return static_cast<std::int64_t>(g);  // <= k
}

Range floordiv_range(Expr a, Expr b) { return range_floordiv(a->range, b->range); }

}  // namespace

Expr Builder::floordiv(Expr a, Expr b) const {
  if (b->is_constant(1)) {
    return a;
  }
  return cached(Op::floordiv, a, b, &Builder::floordiv_fresh);
}

// The common factor without what may be 0 (then both sides have no value only before).
Expr Builder::nonzero_factor(Expr a, Expr b) const {
  Expr kept = common_factor(a, b);
  if (range(b).nonzero()) {
    return kept;  // as a factor of b it is not 0
  }
  const Terms terms(kept);
  const Term term = *terms.begin();
  kept = context_.integer(term.coefficient);
  if (term.monomial != nullptr) {
    for (const Factor& f : Factors(term.monomial)) {
      if (range(f.atom).nonzero()) {
        kept = mul(kept, pow(f.atom, f.exponent));
      }
    }
  }
  return kept;
}

// For b of which 0 is ruled out:
//   a = q * b                ->  q
//   (g * p) // (g * q)       ->  p // q
//   (t * b + r) // b         ->  t + r // b
//   a // b with b < 0        ->  (-a) // (-b)
Expr Builder::floordiv_fresh(Expr a, Expr b) const {
  if (b->is_constant(0)) {
    divided_by_zero();
  }
  if (!b->is_constant()) {
    if (Expr q = exact_quotient(a, b); q != nullptr && range(b).nonzero()) {
      return q;
    }
    if (Expr g = nonzero_factor(a, b); !g->is_constant(1)) {
      a = exact_quotient(a, g);
      b = exact_quotient(b, g);
    }
  }
  if (range(b).hi < 0 && !b->is_constant(Range::kMinusInf)) {
    a = neg(a);
    b = neg(b);
  }
  Expr whole = context_.integer(0);
  if (!b->is_constant() && range(b).nonzero()) {
    whole = multiples(a, b);
    a = sub(a, mul(whole, b));
  }
  if (b->is_constant() && b->value() > 0) {
    return add(whole, floordiv_constant(a, b->value()));
  }
  const Range quotient = range_floordiv(range(a), range(b));
  if (quotient.is_point() && range(b).nonzero()) {
    return add(whole, context_.integer(quotient.lo));
  }
  if (a->is_constant() && b->is_constant()) {  // b is INT64_MIN
    return context_.integer(*checked_floordiv(a->value(), b->value()));
  }
  const std::array<Expr, 2> operands{a, b};
  return add(whole, context_.raw(Op::floordiv, operands, floordiv_range(a, b)));
}

// One floordiv among the terms, by a positive constant m and with coefficient 1:
//   (x // m + r) // k  ->  (x + m * r) // (m * k)    for every integer r and k > 0
Expr Builder::unnested(Expr a, std::int64_t& divisor) const {
  Expr inner = nullptr;
  for (const Term& t : Terms(a)) {
    if (t.monomial != nullptr && t.monomial->is(Op::floordiv)) {
      if (inner != nullptr || t.coefficient != 1) {
        return nullptr;
      }
      inner = t.monomial;
    }
  }
  if (inner == nullptr || !inner->operands()[1]->is_constant() ||
      inner->operands()[1]->value() <= 0) {
    return nullptr;
  }
  const std::int64_t m = inner->operands()[1]->value();
  const auto product = checked_mul(m, divisor);
  if (!product) {
    return nullptr;
  }
  try {
    Expr made = add(inner->operands()[0], scale(sub(a, inner), m));
    divisor = *product;
    return made;
  } catch (const SymError&) {  // does not fit: stays nested
    return nullptr;
  }
}

// k > 0:
//   (k * t + r) // k          ->  t + r // k     terms that k divides, and the constant's multiple
//   (g * p + c) // (g * k)    ->  (p + c // g) // k
Expr Builder::floordiv_constant(Expr a, std::int64_t k) const {
  Expr whole = context_.integer(0);
  while (true) {
    std::vector<Expr> out;
    std::vector<Expr> rest;
    const Terms terms(a);
    for (const Term& t : terms.variable()) {
      const bool divides = t.coefficient % k == 0;
      (divides ? out : rest)
          .push_back(scale(t.monomial, divides ? t.coefficient / k : t.coefficient));
    }
    out.push_back(context_.integer(*checked_floordiv(terms.constant(), k)));
    std::int64_t constant = floor_mod(terms.constant(), k);
    whole = add(whole, sum(out));
    if (rest.empty()) {
      return whole;
    }
    Expr variable = sum(rest);
    const std::int64_t g = shared_divisor(Terms(variable), k);
    k /= g;
    constant /= g;  // not negative
    a = add(exact_quotient(variable, context_.integer(g)), context_.integer(constant));
    if (k == 1) {
      return add(whole, a);
    }
    Expr flat = unnested(a, k);
    if (flat == nullptr) {
      break;
    }
    a = flat;
  }
  const Range quotient = range_floordiv(range(a), Range::point(k));
  if (quotient.is_point()) {
    return add(whole, context_.integer(quotient.lo));
  }
  const std::array<Expr, 2> operands{a, context_.integer(k)};
  return add(whole, context_.raw(Op::floordiv, operands, floordiv_range(a, operands[1])));
}

Expr Builder::mod(Expr a, Expr b) const { return cached(Op::mod, a, b, &Builder::mod_fresh); }

// For b of which 0 is ruled out:
//   (q * b) % b               ->  0
//   (g * p) % (g * q)         ->  g * (p % q)    floor(p / q) is the same
//   (t * b + r) % b           ->  r % b
//   a % b with b < 0          ->  -((-a) % (-b))
//   a % b with 0 <= a < b     ->  a
Expr Builder::mod_fresh(Expr a, Expr b) const {
  if (b->is_constant(0)) {
    divided_by_zero();
  }
  Expr factor = context_.integer(1);
  if (!b->is_constant()) {
    if (range(b).nonzero() && exact_quotient(a, b) != nullptr) {
      return context_.integer(0);
    }
    if (Expr g = nonzero_factor(a, b); !g->is_constant(1)) {
      a = exact_quotient(a, g);
      b = exact_quotient(b, g);
      factor = g;
    }
  }
  if (range(b).hi < 0 && !b->is_constant(Range::kMinusInf)) {
    a = neg(a);
    b = neg(b);
    factor = neg(factor);
  }
  if (!b->is_constant() && range(b).nonzero()) {
    a = sub(a, mul(multiples(a, b), b));
  }
  if (b->is_constant() && b->value() > 0) {
    return mul(factor, mod_constant(a, b->value()));
  }
  if (a->is_constant() && b->is_constant()) {  // b is INT64_MIN
    return mul(factor, context_.integer(floor_mod(a->value(), b->value())));
  }
  if (range(a).nonnegative() && range(sub(b, a)).positive()) {
    return mul(factor, a);
  }
  const std::array<Expr, 2> operands{a, b};
  return mul(factor, context_.raw(Op::mod, operands, range_mod(a->range, b->range)));
}

// k > 0; c * (x % m) is as good as c * x where k divides c * m:
//   coefficients and the constant are reduced to 0 .. k - 1
//   (g * p + c) % (g * k)     ->  g * ((p + c // g) % k) + c % g
Expr Builder::mod_constant(Expr a, std::int64_t k) const {
  // Each round opens one level of `%`.
  for (bool opened = true; opened;) {
    opened = false;
    std::vector<Expr> reduced;
    const Terms terms(a);
    for (const Term& t : terms.variable()) {
      const std::int64_t c = floor_mod(t.coefficient, k);
      Expr m = t.monomial;
      if (m->is(Op::mod) && m->operands()[1]->is_constant()) {
        const Int128 period = static_cast<Int128>(c) * m->operands()[1]->value();
        if (c != 0 && period % k == 0) {
          m = m->operands()[0];
          opened = true;
        }
      }
      // With c < k the product may not fit, where the coefficient of m's own terms is large.
      reduced.push_back(scale(m, c));
    }
    reduced.push_back(context_.integer(floor_mod(terms.constant(), k)));
    a = sum(reduced);
  }
  const Terms terms(a);
  if (terms.variable().empty()) {
    return context_.integer(floor_mod(terms.constant(), k));
  }
  const std::int64_t g = shared_divisor(terms, k);
  const std::int64_t constant = floor_mod(terms.constant(), k);
  Expr variable = sub(a, context_.integer(terms.constant()));
  Expr p = add(exact_quotient(variable, context_.integer(g)), context_.integer(constant / g));
  const Range values = range(p);
  Expr rest = p;
  if (k == g) {
    rest = context_.integer(0);
  } else if (!(values.lo >= 0 && values.hi < k / g)) {
    const std::array<Expr, 2> operands{p, context_.integer(k / g)};
    rest = context_.raw(Op::mod, operands, range_mod(p->range, operands[1]->range));
  }
  return add(scale(rest, g), context_.integer(constant % g));
}

// For b > 0:  (a + b - 1) // b.
Expr Builder::ceildiv(Expr a, Expr b) const {
  if (range(b).positive()) {
    return floordiv(add(a, add(b, context_.integer(-1))), b);
  }
  return neg(floordiv(neg(a), b));
}

}  // namespace massless::sym
