// Comparisons and the operators on truth values.
#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "sym/build.h"
#include "sym/checked.h"

namespace massless::sym {
namespace {

constexpr Range kTruth{0, 1};

bool by_id(Expr a, Expr b) { return a->id < b->id; }

std::uint64_t content(const Terms& terms) {
  std::uint64_t g = 0;
  for (const Term& t : terms.variable()) {
    g = gcd(g, magnitude(t.coefficient));
  }
  return g;
}

// The variable term that decides the sign of p in p == 0: by its hash, which no order of creation
// changes.
const Term& sign_term(const Terms& terms) {
  const auto variable = terms.variable();
  return *std::max_element(variable.begin(), variable.end(), [](const Term& a, const Term& b) {
    return a.monomial->hash < b.monomial->hash;
  });
}

}  // namespace

// p / g with the constant rounded down: of p >= 0 the same solutions. g > 0 divides the others.
Expr Builder::reduced(Expr p, std::int64_t g) const {
  if (g == 1) {
    return p;
  }
  const std::int64_t constant = Terms(p).constant();
  Expr variable = sub(p, context_.integer(constant));
  return add(exact_quotient(variable, context_.integer(g)),
             context_.integer(*checked_floordiv(constant, g)));
}

//   p = c            ->  c == 0
//   g * p + c        ->  no, where g does not divide c;  else p + c / g == 0
//   f * p            ->  f == 0 or p == 0     for a common factor f of all terms
//   -p               ->  p == 0
Expr Builder::equals_zero(Expr p) const {
  if (p->is_constant()) {
    return boolean(p->value() == 0);
  }
  const std::uint64_t g = content(Terms(p));
  if (magnitude(Terms(p).constant()) % g != 0) {
    return boolean(false);
  }
  if (g <= static_cast<std::uint64_t>(Range::kPlusInf)) {
    p = reduced(p, static_cast<std::int64_t>(g));
  }
  if (!range(p).contains(0)) {
    return boolean(false);
  }
  std::vector<Expr> roots;
  if (Expr f = common_factor(p, p); !f->is_constant()) {
    p = exact_quotient(p, f);
    for (const Factor& factor : Factors(f)) {
      if (!range(factor.atom).nonzero()) {
        roots.push_back(bare_equation(factor.atom));
      }
    }
  }
  roots.push_back(bare_equation(p));
  return roots.size() == 1 ? roots[0] : logical_or(roots);
}

//   a == min(a, b)   ->  a <= b;   a == max(a, b)   ->  a >= b.   Null: no such equation.
Expr Builder::bounded_by(Expr p) const {
  const Terms terms(p);
  for (const Term& t : terms.variable()) {
    const bool least = t.monomial->is(Op::min);
    if ((!least && !t.monomial->is(Op::max)) || magnitude(t.coefficient) != 1) {
      continue;
    }
    Expr rest = sub(p, scale(t.monomial, t.coefficient));
    Expr chosen = scale(rest, -t.coefficient);
    const auto operands = t.monomial->operands();
    if (std::find(operands.begin(), operands.end(), chosen) == operands.end()) {
      continue;
    }
    std::vector<Expr> bounds;
    for (Expr other : operands) {
      bounds.push_back(least ? ge(other, chosen) : ge(chosen, other));
    }
    return logical_and(bounds);
  }
  return nullptr;
}

// p has no common factor.
Expr Builder::bare_equation(Expr p) const {
  if (p->is_constant()) {
    return boolean(p->value() == 0);
  }
  if (!range(p).contains(0)) {
    return boolean(false);
  }
  if (Expr bounds = bounded_by(p)) {
    return bounds;
  }
  if (sign_term(Terms(p)).coefficient < 0) {
    p = neg(p);
  }
  return context_.raw(Op::eq, std::array<Expr, 1>{p}, kTruth);
}

//   p = c            ->  c >= 0
//   g * p + c >= 0   ->  p + c // g >= 0
//   f * p >= 0       ->  p >= 0               for a common factor f > 0 of all terms
Expr Builder::not_negative(Expr p) const {
  if (p->is_constant()) {
    return boolean(p->value() >= 0);
  }
  const std::uint64_t g = content(Terms(p));
  if (g <= static_cast<std::uint64_t>(Range::kPlusInf)) {
    p = reduced(p, static_cast<std::int64_t>(g));
  }
  if (Expr f = common_factor(p, p); !f->is_constant()) {
    for (const Factor& factor : Factors(f)) {
      for (std::uint32_t i = 0; i < factor.exponent && range(factor.atom).positive(); ++i) {
        p = exact_quotient(p, factor.atom);
      }
    }
  }
  const Range values = range(p);
  if (values.nonnegative() || values.hi < 0) {
    return boolean(values.nonnegative());
  }
  return context_.raw(Op::ge, std::array<Expr, 1>{p}, kTruth);
}

Expr Builder::eq(Expr a, Expr b) const {
  if (a == b) {
    return boolean(true);
  }
  if (a->type == Type::boolean) {
    return logical_or(
        std::array<Expr, 2>{logical_and(std::array<Expr, 2>{a, b}),
                            logical_and(std::array<Expr, 2>{logical_not(a), logical_not(b)})});
  }
  return a->id < b->id ? cached(Op::eq, a, b, &Builder::eq_fresh)
                       : cached(Op::eq, b, a, &Builder::eq_fresh);
}
// a and b stand in the order of their ids: where one difference does not fit the other one is
// tried, lest the order of creation decide what overflows.
Expr Builder::eq_fresh(Expr a, Expr b) const {
  try {
    return equals_zero(sub(a, b));
  } catch (const SymError&) {
    return equals_zero(sub(b, a));
  }
}
Expr Builder::ne(Expr a, Expr b) const { return logical_not(eq(a, b)); }

Expr Builder::ge(Expr a, Expr b) const {
  return a == b ? boolean(true) : cached(Op::ge, a, b, &Builder::ge_fresh);
}
Expr Builder::ge_fresh(Expr a, Expr b) const { return not_negative(sub(a, b)); }
Expr Builder::gt(Expr a, Expr b) const { return ge(a, add(b, context_.integer(1))); }

//   not (p >= 0)     ->  -p - 1 >= 0
//   not not a        ->  a
//   not (a and b)    ->  not a or not b,  and the other way round
Expr Builder::logical_not(Expr a) const {
  std::unordered_map<Expr, Expr> done;
  std::vector<std::pair<Expr, bool>> stack{{a, false}};
  while (!stack.empty()) {
    const auto [e, ready] = stack.back();
    stack.pop_back();
    if (done.contains(e)) {
      continue;
    }
    const bool connective = e->is(Op::logical_and) || e->is(Op::logical_or);
    if (!connective) {
      done[e] = negated_leaf(e);
    } else if (!ready) {
      stack.emplace_back(e, true);
      for (Expr operand : e->operands()) {
        stack.emplace_back(operand, false);
      }
    } else {
      std::vector<Expr> operands;
      for (Expr operand : e->operands()) {
        operands.push_back(done[operand]);
      }
      done[e] = connected(e->is(Op::logical_and) ? Op::logical_or : Op::logical_and, operands);
    }
  }
  return done[a];
}

Expr Builder::negated_leaf(Expr e) const {
  if (e->is(Op::truth)) {
    return boolean(e->is_false());
  }
  if (e->is(Op::logical_not)) {
    return e->operands()[0];
  }
  if (e->is(Op::ge)) {
    return not_negative(sub(context_.integer(-1), e->operands()[0]));
  }
  return context_.raw(Op::logical_not, std::array<Expr, 1>{e}, kTruth);
}

//   a and True -> a,  a and False -> False,  a and a -> a,  a == 0 and not a == 0 -> False
Expr Builder::connected(Op op, std::span<const Expr> operands) const {
  const bool is_and = op == Op::logical_and;
  std::vector<Expr> flat;
  for (Expr e : operands) {
    if (e->is(Op::truth)) {
      if (e->is_true() != is_and) {
        return e;
      }
    } else if (e->is(op)) {
      flat.insert(flat.end(), e->operands().begin(), e->operands().end());
    } else {
      flat.push_back(e);
    }
  }
  std::sort(flat.begin(), flat.end(), by_id);
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  for (Expr e : flat) {
    const bool is_leaf = !e->is(Op::logical_and) && !e->is(Op::logical_or);
    if (is_leaf && std::binary_search(flat.begin(), flat.end(), negated_leaf(e), by_id)) {
      return boolean(!is_and);
    }
  }
  if (flat.empty()) {
    return boolean(is_and);
  }
  return flat.size() == 1 ? flat[0] : context_.raw(op, flat, kTruth);
}

Expr Builder::logical_and(std::span<const Expr> operands) const {
  return connected(Op::logical_and, operands);
}
Expr Builder::logical_or(std::span<const Expr> operands) const {
  return connected(Op::logical_or, operands);
}

}  // namespace massless::sym
