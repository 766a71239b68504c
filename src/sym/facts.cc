// Learning: a fact is simplified by what is known, split into leaves, and stored as a range of a
// form, a substitution, a residue, or a truth.
#include "sym/facts.h"

#include <algorithm>
#include <array>

#include "sym/checked.h"
#include "sym/evaluate.h"

namespace massless::sym {
namespace {

// The fact that a form lies in a range, as comparisons.
void push_range(const Builder& build, Expr form, Range range, std::vector<Expr>& pending) {
  if (range.lo != Range::kMinusInf) {
    pending.push_back(build.ge(form, build.integer(range.lo)));
  }
  if (range.hi != Range::kPlusInf) {
    pending.push_back(build.le(form, build.integer(range.hi)));
  }
}

bool contains_symbol(Expr e, Expr symbol) {
  const auto all = symbols_of(e);
  return std::binary_search(all.begin(), all.end(), symbol->symbol());
}

// The value that solves both, if they meet: r1 + m1 * t == r2 (mod m2). The modulus of both must
// fit in 32 bits, else the first is kept, which is sound.
std::optional<Congruence> both(Congruence a, Congruence b) {
  constexpr std::int64_t kMax = 1LL << 31;
  if (a.modulus > kMax || b.modulus > kMax) {
    return a;
  }
  const auto g = static_cast<std::int64_t>(gcd(magnitude(a.modulus), magnitude(b.modulus)));
  if (floor_mod(a.remainder - b.remainder, g) != 0) {
    return std::nullopt;
  }
  const std::int64_t lcm = a.modulus / g * b.modulus;
  // At most b.modulus / g steps; facts have small moduli, and 2^16 steps are a bound.
  std::int64_t r = a.remainder;
  for (std::int64_t step = 0; floor_mod(r - b.remainder, b.modulus) != 0; ++step) {
    if (step == 1 << 16) {
      return a;
    }
    r += a.modulus;
  }
  return Congruence{lcm, floor_mod(r, lcm)};
}

}  // namespace

// A question that was not decided since the last fact: its negation would not be either. (Who asks
// p, is told "unknown" and evaluates it to false, assumes not p next.)
bool Facts::negation_is_open(Expr fact) const {
  if (undecided_.empty()) {
    return false;
  }
  try {
    return undecided_.contains(build_.logical_not(fact));
  } catch (const SymError&) {  // a constant does not fit in 64 bits
    return false;
  }
}

Truth Facts::assume(Expr fact) {
  if (!negation_is_open(fact)) {
    const Truth already = prove(fact);
    if (already != Truth::unknown) {
      return already;
    }
  }
  State before = state_;
  try {
    if (work_off({fact})) {
      assumed_.push_back(fact);
      return Truth::unknown;
    }
  } catch (const SymError&) {
    // A consequence does not fit in 64 bits. The fact itself is dropped: sound, and less is proved.
    state_ = std::move(before);
    changed();
    return Truth::unknown;
  }
  state_ = std::move(before);
  changed();
  return Truth::no;
}

void Facts::changed() {
  range_memo_.clear();
  simplified_.clear();
  undecided_.clear();
}

// Consequences are cut off: they need not come to an end (x <= y - 1, y <= x - 1 would narrow for
// ever). What is left out is only not proved.
bool Facts::may_derive() { return derivations_-- > 0; }

bool Facts::work_off(std::vector<Expr> pending) {
  constexpr int kMaxDerivations = 24;
  derivations_ = kMaxDerivations;
  for (std::size_t i = 0; i < pending.size(); ++i) {
    Expr fact = simplify(pending[i]);
    if (fact->is(Op::truth)) {
      if (fact->is_false()) {
        return false;
      }
      continue;
    }
    if (!learn(fact, pending)) {
      return false;
    }
    changed();
    for (std::size_t d = 0; d < state_.disjunctions.size(); ++d) {
      Expr old = state_.disjunctions[d];
      // Its own truth is not what may simplify it.
      state_.truths.erase(old);
      Expr now = simplify(old);
      state_.truths[old] = true;
      simplified_.clear();
      if (now != old) {
        state_.disjunctions.erase(state_.disjunctions.begin() + static_cast<std::ptrdiff_t>(d--));
        pending.push_back(now);
      }
    }
  }
  return true;
}

bool Facts::learn(Expr fact, std::vector<Expr>& pending) {
  switch (fact->op) {
    case Op::logical_and:
      pending.insert(pending.end(), fact->operands().begin(), fact->operands().end());
      return true;
    case Op::logical_or:
      state_.truths[fact] = true;
      state_.disjunctions.push_back(fact);
      return true;
    case Op::ge:
      return learn_not_negative(fact->operands()[0], pending);
    case Op::eq:
      return learn_equation(fact, pending);
    case Op::logical_not:
      return learn_unequal(fact->operands()[0], pending);
    default:
      state_.truths[fact] = true;
      return true;
  }
}

bool Facts::learn_not_negative(Expr p, std::vector<Expr>& pending) {
  const Signed s = as_form(p);
  // factor * form + constant >= 0
  const auto bound = checked_neg(s.constant);
  if (!bound) {
    return true;
  }
  Range range;
  if (s.factor > 0) {
    range.lo = -*checked_floordiv(-*bound, s.factor);  // rounded up
  } else {
    range.hi = *checked_floordiv(*bound, s.factor);
  }
  if (!narrow(s.form, range, pending)) {
    return false;
  }
  narrow_parts(p, pending);
  return true;
}

// p >= 0 bounds each of its monomials by the ranges of the others.
void Facts::narrow_parts(Expr p, std::vector<Expr>& pending) {
  const Terms terms(p);
  if (terms.variable().size() < 2 || !may_derive()) {
    return;
  }
  for (const Term& t : terms.variable()) {
    Range rest = Range::point(terms.constant());
    for (const Term& other : terms.variable()) {
      if (other.monomial != t.monomial) {
        rest = range_add(rest, range_scale(range(other.monomial), other.coefficient));
      }
    }
    if (rest.hi == Range::kPlusInf) {
      continue;
    }
    const Range own = range(t.monomial);
    // coefficient * m >= -rest.hi
    const auto least = checked_neg(rest.hi);
    if (!least) {
      continue;
    }
    if (t.coefficient > 0) {
      const auto lo = checked_neg(*checked_floordiv(rest.hi, t.coefficient));
      if (lo && *lo > own.lo) {
        pending.push_back(build_.ge(t.monomial, build_.integer(*lo)));
      }
    } else {
      const auto hi = checked_floordiv(*least, t.coefficient);
      if (hi && *hi < own.hi) {
        pending.push_back(build_.le(t.monomial, build_.integer(*hi)));
      }
    }
  }
}

bool Facts::narrow(Expr form, Range range, std::vector<Expr>& pending) {
  const auto found = state_.ranges.find(form);
  const auto met =
      range_intersect(found == state_.ranges.end() ? this->range(form) : found->second, range);
  if (!met) {
    return false;
  }
  if (found == state_.ranges.end() && form->is(Op::add)) {
    state_.sums.push_back(form);
  }
  state_.ranges[form] = *met;
  changed();
  if (met->is_point()) {
    if (!solve(build_.sub(form, build_.integer(met->lo)), pending) && form->is(Op::mod) &&
        !learn_residue(form, met->lo)) {
      return false;
    }
  }
  inside(form, *met, pending);
  return true;
}

//   x // k >= v   ->  x >= k * v           (k a positive constant)
//   x // k <= v   ->  x <= k * v + k - 1
//   min(a, b) >= v  ->  a >= v, b >= v;   max(a, b) <= v  ->  a <= v, b <= v
void Facts::inside(Expr form, Range range, std::vector<Expr>& pending) {
  if (!may_derive()) {
    return;
  }
  if (form->is(Op::floordiv) && form->operands()[1]->is_constant() &&
      form->operands()[1]->value() > 0) {
    const std::int64_t k = form->operands()[1]->value();
    Range of;
    if (range.lo != Range::kMinusInf) {
      of.lo = checked_mul(range.lo, k).value_or(Range::kMinusInf);
    }
    if (const auto next = checked_add(range.hi, 1); range.hi != Range::kPlusInf && next) {
      const auto end = checked_mul(*next, k);
      of.hi = end ? *end - 1 : Range::kPlusInf;
    }
    push_range(build_, form->operands()[0], of, pending);
  }
  if (form->is(Op::min) || form->is(Op::max)) {
    const Range of =
        form->is(Op::min) ? Range{range.lo, Range::kPlusInf} : Range{Range::kMinusInf, range.hi};
    for (Expr operand : form->operands()) {
      push_range(build_, operand, of, pending);
    }
  }
}

// (x + c) % k == v  ->  x == v - c (mod k);  (-x + c) % k == v  ->  x == c - v (mod k)
bool Facts::learn_residue(Expr modulo, std::int64_t value) {
  Expr divisor = modulo->operands()[1];
  const Terms terms(modulo->operands()[0]);
  if (!divisor->is_constant() || divisor->value() <= 0 || terms.variable().size() != 1) {
    return true;
  }
  const std::int64_t k = divisor->value();
  const Term t = terms.variable()[0];
  const std::int64_t c = floor_mod(t.coefficient, k);
  const std::int64_t difference = floor_mod(value, k) - floor_mod(terms.constant(), k);
  Congruence now{k, floor_mod(difference, k)};
  if (c == k - 1) {
    now.remainder = floor_mod(-difference, k);
  } else if (c != 1) {
    return true;
  }
  const auto found = state_.residues.find(t.monomial);
  const auto met = found == state_.residues.end() ? now : both(found->second, now);
  if (!met) {
    return false;
  }
  state_.residues[t.monomial] = *met;
  changed();
  return true;
}

bool Facts::learn_equation(Expr equation, std::vector<Expr>& pending) {
  Expr p = equation->operands()[0];
  if (solve(p, pending)) {
    return true;
  }
  state_.truths[equation] = true;
  const Signed s = as_form(p);
  const auto value = checked_neg(s.constant);
  // p has no common factor of its coefficients, so the form's factor is 1 or -1.
  if (!value || (s.factor != 1 && s.factor != -1)) {
    return true;
  }
  const auto at = checked_mul(*value, s.factor);
  return !at || narrow(s.form, Range::point(*at), pending);
}

// Not p == 0: at an end of the form's range it narrows.
bool Facts::learn_unequal(Expr equation, std::vector<Expr>& pending) {
  state_.truths[equation] = false;
  if (!equation->is(Op::eq)) {
    return true;
  }
  Expr p = equation->operands()[0];
  const Range now = range(p);
  if (now.lo == 0) {
    pending.push_back(build_.not_negative(build_.sub(p, build_.integer(1))));
  } else if (now.hi == 0) {
    pending.push_back(build_.not_negative(build_.sub(build_.integer(-1), p)));
  }
  return true;
}

// p == 0 where p = c * symbol + rest, c = 1 or -1, and the symbol is not in the rest. The youngest
// such symbol goes: names given first stay.
bool Facts::solve(Expr p, std::vector<Expr>& pending) {
  const Terms terms(p);
  Expr best = nullptr;
  std::int64_t sign = 1;
  for (const Term& t : terms.variable()) {
    if (!t.monomial->is(Op::symbol) || magnitude(t.coefficient) != 1 ||
        (best != nullptr && t.monomial->symbol() < best->symbol())) {
      continue;
    }
    const bool elsewhere =
        std::any_of(terms.variable().begin(), terms.variable().end(), [&](const Term& other) {
          return other.monomial != t.monomial && contains_symbol(other.monomial, t.monomial);
        });
    if (!elsewhere) {
      best = t.monomial;
      sign = t.coefficient;
    }
  }
  if (best == nullptr) {
    return false;
  }
  Expr rest = build_.sub(p, build_.scale(best, sign));
  replace(best, build_.scale(rest, -sign), pending);
  return true;
}

// Facts that mention the symbol are taken out and learnt again in terms of its value.
void Facts::replace(Expr symbol, Expr value, std::vector<Expr>& pending) {
  const auto swap = [&](Expr e) {
    return substitute(e, build_, [&](Expr s) { return s == symbol ? value : nullptr; });
  };
  push_range(build_, value, symbol->range, pending);
  for (auto& [name, old] : state_.solved) {
    old = swap(old);
  }
  state_.solved[symbol] = value;
  const auto mentions = [&](Expr e) { return contains_symbol(e, symbol); };
  for (auto it = state_.ranges.begin(); it != state_.ranges.end();) {
    if (mentions(it->first)) {
      push_range(build_, swap(it->first), it->second, pending);
      it = state_.ranges.erase(it);
    } else {
      ++it;
    }
  }
  std::erase_if(state_.sums, mentions);
  for (auto it = state_.residues.begin(); it != state_.residues.end();) {
    if (mentions(it->first)) {
      const auto [modulus, remainder] = it->second;
      pending.push_back(build_.eq(build_.mod(swap(it->first), build_.integer(modulus)),
                                  build_.integer(remainder)));
      it = state_.residues.erase(it);
    } else {
      ++it;
    }
  }
  for (auto it = state_.truths.begin(); it != state_.truths.end();) {
    if (mentions(it->first)) {
      Expr now = swap(it->first);
      pending.push_back(it->second ? now : build_.logical_not(now));
      it = state_.truths.erase(it);
    } else {
      ++it;
    }
  }
  std::erase_if(state_.disjunctions, mentions);
  changed();
}

}  // namespace massless::sym
