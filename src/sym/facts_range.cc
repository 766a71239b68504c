// Ranges, congruences and simplification under facts.
#include <algorithm>
#include <array>

#include "sym/checked.h"
#include "sym/facts.h"

namespace massless::sym {
namespace {

Range round_to(Range range, Congruence c) {
  if (c.modulus <= 1) {
    return range;
  }
  if (range.lo != Range::kMinusInf) {
    const auto up = checked_sub(c.remainder, range.lo);
    const auto lo = up ? checked_add(range.lo, floor_mod(*up, c.modulus)) : std::nullopt;
    range.lo = lo.value_or(range.lo);
  }
  if (range.hi != Range::kPlusInf) {
    const auto down = checked_sub(range.hi, c.remainder);
    const auto hi = down ? checked_sub(range.hi, floor_mod(*down, c.modulus)) : std::nullopt;
    range.hi = hi.value_or(range.hi);
  }
  return range;
}

std::int64_t modulus_gcd(std::int64_t a, std::int64_t b) {
  const std::uint64_t g = gcd(magnitude(a), magnitude(b));
  return static_cast<std::int64_t>(g);
}

}  // namespace

Facts::Signed Facts::as_form(Expr e) const {
  const Terms terms(e);
  const std::int64_t constant = terms.constant();
  Expr variable = build_.sub(e, build_.integer(constant));
  std::uint64_t content = 0;
  const Term* lead = nullptr;
  for (const Term& t : terms.variable()) {
    content = gcd(content, magnitude(t.coefficient));
    if (lead == nullptr || t.monomial->hash > lead->monomial->hash) {
      lead = &t;
    }
  }
  auto factor = static_cast<std::int64_t>(content & static_cast<std::uint64_t>(Range::kPlusInf));
  if (factor == 0) {
    return {variable, 1, constant};
  }
  if (lead->coefficient < 0) {
    factor = -factor;
  }
  return {build_.exact_quotient(variable, build_.integer(factor)), factor, constant};
}

// What facts say of e's form, beside what its parts say.
Range Facts::known_range(Expr e) const {
  if (!e->is(Op::add)) {
    const auto found = state_.ranges.find(e);
    const Range range = found == state_.ranges.end() ? Range::all() : found->second;
    const auto residue = state_.residues.find(e);
    return residue == state_.residues.end()
               ? range
               : round_to(range_intersect(range, e->range).value_or(range), residue->second);
  }
  if (state_.sums.empty()) {
    return Range::all();
  }
  const Signed s = as_form(e);
  const auto found = state_.ranges.find(s.form);
  return found == state_.ranges.end()
             ? Range::all()
             : range_add(range_scale(found->second, s.factor), Range::point(s.constant));
}

// From the ranges of its children, which are in the memo.
Range Facts::compute_range(Expr e) const {
  const auto at = [&](Expr child) {
    const auto found = range_memo_.find(child);
    return found == range_memo_.end() ? child->range : found->second;
  };
  Range range = e->range;
  const auto meet = [&](Range other) { range = range_intersect(range, other).value_or(range); };
  const auto operand = [&](std::size_t i) { return at(e->operands()[i]); };
  if (e->is(Op::add)) {
    Range all = Range::point(0);
    for (const Term& t : e->terms()) {
      all = range_add(all, t.monomial == nullptr ? Range::point(t.coefficient)
                                                 : range_scale(at(t.monomial), t.coefficient));
    }
    meet(all);
  } else if (e->is(Op::mul)) {
    Range all = Range::point(1);
    for (const Factor& f : e->factors()) {
      all = range_mul(all, range_pow(at(f.atom), f.exponent));
    }
    meet(all);
  } else if (e->is(Op::floordiv)) {
    meet(range_floordiv(operand(0), operand(1)));
  } else if (e->is(Op::mod)) {
    meet(range_mod(operand(0), operand(1)));
  } else if (e->is(Op::ite)) {
    meet(range_union(operand(1), operand(2)));
  } else if (e->is(Op::min) || e->is(Op::max)) {
    Range all = operand(0);
    for (Expr child : e->operands()) {
      all = e->is(Op::min) ? range_min(all, at(child)) : range_max(all, at(child));
    }
    meet(all);
  }
  meet(known_range(e));
  return range;
}

Range Facts::range(Expr e) const {
  if (e->is_constant() || e->type != Type::integer ||
      (state_.ranges.empty() && state_.residues.empty())) {
    return e->range;
  }
  if (const auto found = range_memo_.find(e); found != range_memo_.end()) {
    return found->second;
  }
  std::vector<std::pair<Expr, bool>> stack{{e, false}};
  while (!stack.empty()) {
    const auto [node, ready] = stack.back();
    stack.pop_back();
    if (range_memo_.contains(node)) {
      continue;
    }
    if (ready) {
      range_memo_[node] = compute_range(node);
      continue;
    }
    stack.emplace_back(node, true);
    for_each_child(node, [&](Expr child) {
      if (child->type == Type::integer && !child->is_constant() && !range_memo_.contains(child)) {
        stack.emplace_back(child, false);
      }
    });
  }
  return range_memo_[e];
}

Congruence Facts::congruence(Expr e) const {
  Congruence all{0, 0};
  for (const Term& t : Terms(e)) {
    Congruence one{0, t.coefficient};
    if (t.monomial != nullptr) {
      // coefficient * m with m == r (mod n):  coefficient * r (mod coefficient * n). A product has
      // every factor's modulus where that factor's remainder is 0.
      std::int64_t modulus = 1;
      std::int64_t remainder = 0;
      for (const Factor& f : Factors(t.monomial)) {
        const auto found = state_.residues.find(f.atom);
        if (found == state_.residues.end()) {
          continue;
        }
        if (t.monomial == f.atom) {
          modulus = found->second.modulus;
          remainder = found->second.remainder;
        } else if (found->second.remainder == 0) {
          modulus = checked_mul(modulus, found->second.modulus).value_or(modulus);
        }
      }
      const auto m = checked_mul(modulus, t.coefficient);
      const auto r = checked_mul(remainder, t.coefficient);
      if (!m || !r || *m == Range::kMinusInf) {
        return {};
      }
      one = {*m < 0 ? -*m : *m, *r};
    }
    const auto sum = checked_add(all.remainder, one.remainder);
    if (!sum) {
      return {};
    }
    all = {modulus_gcd(all.modulus, one.modulus), *sum};
    if (all.modulus != 0) {
      all.remainder = floor_mod(all.remainder, all.modulus);
    }
  }
  return all;
}

// A node whose children are simplified already.
Expr Facts::simplify_node(Expr e) const {
  if (const auto found = state_.solved.find(e); found != state_.solved.end()) {
    return found->second;
  }
  if (const auto found = state_.truths.find(e); found != state_.truths.end()) {
    return build_.boolean(found->second);
  }
  if (e->is(Op::eq)) {
    const Congruence c = congruence(e->operands()[0]);
    if (c.modulus != 1 && (c.modulus == 0 ? c.remainder : floor_mod(c.remainder, c.modulus)) != 0) {
      return build_.boolean(false);
    }
  }
  if (e->type != Type::integer || e->is_constant()) {
    return e;
  }
  if (e->is(Op::mod) && e->operands()[1]->is_constant() && e->operands()[1]->value() > 0) {
    const std::int64_t k = e->operands()[1]->value();
    const Congruence c = congruence(e->operands()[0]);
    if (c.modulus % k == 0) {
      return build_.integer(floor_mod(c.remainder, k));
    }
  }
  const Range values = range(e);
  return values.is_point() ? build_.integer(values.lo) : without_exact_quotients(e);
}

//   k * c * (x // k) * m -> c * (x - r) * m    where x == r (mod k)
// and only if no x // k is left: it would no longer be known to be related to x.
Expr Facts::without_exact_quotients(Expr e) const {
  if (!e->is(Op::add)) {
    return e;
  }
  const Terms terms(e);
  for (const Term& t : terms.variable()) {
    for (const Factor& f : Factors(t.monomial)) {
      if (Expr opened = f.atom->is(Op::floordiv) ? without_exact_quotient(e, f.atom) : nullptr) {
        return opened;
      }
    }
  }
  return e;
}

// Null: it stays.
Expr Facts::without_exact_quotient(Expr e, Expr quotient) const {
  Expr x = quotient->operands()[0];
  Expr divisor = quotient->operands()[1];
  if (!divisor->is_constant() || divisor->value() <= 0) {
    return nullptr;
  }
  const std::int64_t k = divisor->value();
  const Congruence c = congruence(x);
  if (c.modulus % k != 0) {
    return nullptr;
  }
  Expr exact = build_.sub(x, build_.integer(floor_mod(c.remainder, k)));
  std::vector<Expr> parts;
  for (const Term& t : e->terms()) {
    Expr part = build_.integer(t.coefficient);
    if (t.monomial != nullptr) {
      Expr rest = build_.exact_quotient(t.monomial, quotient);
      const bool divides = rest != nullptr && t.coefficient % k == 0;
      if (rest != nullptr && (!divides || build_.exact_quotient(rest, quotient) != nullptr)) {
        return nullptr;
      }
      part = divides ? build_.scale(build_.mul(exact, rest), t.coefficient / k)
                     : build_.scale(t.monomial, t.coefficient);
    }
    parts.push_back(part);
  }
  return build_.sum(parts);
}

// A sum or product of what did not change is itself; other operators ask for ranges again.
Expr Facts::with_simplified_children(Expr e) const {
  bool changed = !e->is(Op::add) && !e->is(Op::mul);
  for_each_child(e, [&](Expr child) { changed = changed || simplified_.at(child) != child; });
  return changed ? with_facts_.rebuilt(e, [&](Expr child) { return simplified_.at(child); }) : e;
}

Expr Facts::simplify(Expr e) {
  if (const auto found = simplified_.find(e); found != simplified_.end()) {
    return found->second;
  }
  std::vector<std::pair<Expr, bool>> stack{{e, false}};
  while (!stack.empty()) {
    const auto [node, ready] = stack.back();
    stack.pop_back();
    if (simplified_.contains(node)) {
      continue;
    }
    if (!ready) {
      stack.emplace_back(node, true);
      for_each_child(node, [&](Expr child) {
        if (!simplified_.contains(child)) {
          stack.emplace_back(child, false);
        }
      });
      continue;
    }
    Expr now = node;
    try {
      now = with_simplified_children(node);
      now = simplify_node(now);
    } catch (const SymError&) {
      now = node;  // does not fit, or divides by what facts say is 0: stays as it is
    }
    simplified_[node] = now;
  }
  return simplified_[e];
}

}  // namespace massless::sym
