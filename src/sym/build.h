// Builders: bring an operator over normal operands into the normal form. What they may take for
// granted of values comes from `bounds`: without, the symbols' declared ranges.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "sym/expr.h"

namespace massless::sym {

class Builder {
 public:
  explicit Builder(Context& context, const Bounds* bounds = nullptr)
      : context_(context), bounds_(bounds) {}
  Context& context() const { return context_; }

  // Any operator of the table. bad_argument: wrong number or type of operands.
  Expr apply(Op op, std::span<const Expr> operands) const;

  // e's own operator over other operands: `child` answers for each of its atoms, monomials and
  // operands. Leaves stay.
  Expr rebuilt(Expr e, const std::function<Expr(Expr)>& child) const;

  Expr integer(std::int64_t value) const { return context_.integer(value); }
  Expr boolean(bool value) const { return context_.boolean(value); }

  // Polynomials (build_poly.cc). Raise sym_overflow.
  Expr add(Expr a, Expr b) const;
  Expr sum(std::span<const Expr> operands) const;
  Expr sub(Expr a, Expr b) const;
  Expr neg(Expr a) const;
  Expr scale(Expr a, std::int64_t factor) const;
  Expr mul(Expr a, Expr b) const;
  Expr pow(Expr a, std::int64_t exponent) const;

  // Divisions (build_div.cc). A divisor of 0 raises division_by_zero. Rewrites that drop a division
  // need the divisor's range to leave 0 out.
  Expr floordiv(Expr a, Expr b) const;
  Expr mod(Expr a, Expr b) const;
  Expr ceildiv(Expr a, Expr b) const;
  // a / b where it divides exactly as polynomials, else null. No side condition on values.
  Expr exact_quotient(Expr a, Expr b) const;
  // The sum of t / b over the terms t of a that b divides, where b is one term; else 0.
  Expr multiples(Expr a, Expr b) const;
  // The greatest term (coefficient and monomial) that divides every term of a and b; positive.
  Expr common_factor(Expr a, Expr b) const;

  Expr product(std::span<const Expr> operands) const;

  // Choices (build_choice.cc).
  Expr min(std::span<const Expr> operands) const;
  Expr max(std::span<const Expr> operands) const;
  Expr min(Expr a, Expr b) const;
  Expr max(Expr a, Expr b) const;
  Expr abs(Expr a) const;
  Expr ite(Expr condition, Expr a, Expr b) const;  // integers or reals

  // Truth values (build_bool.cc).
  Expr eq(Expr a, Expr b) const;
  Expr ne(Expr a, Expr b) const;
  Expr ge(Expr a, Expr b) const;
  Expr gt(Expr a, Expr b) const;
  Expr le(Expr a, Expr b) const { return ge(b, a); }
  Expr lt(Expr a, Expr b) const { return gt(b, a); }
  Expr equals_zero(Expr p) const;
  Expr not_negative(Expr p) const;
  Expr logical_not(Expr a) const;
  Expr logical_and(std::span<const Expr> operands) const;
  Expr logical_or(std::span<const Expr> operands) const;

  // Reals (real.cc): an operator of the table whose operands or result are real.
  Expr real(Op op, std::span<const Expr> operands) const;

  Range range(Expr e) const;  // integers

 private:
  Expr cached(Op op, Expr a, Expr b, Expr (Builder::*make)(Expr, Expr) const) const;
  Expr apply_power(Expr a, Expr exponent) const;
  Expr long_quotient(Expr a, Expr b) const;
  Expr nonzero_factor(Expr a, Expr b) const;
  Expr floordiv_constant(Expr a, std::int64_t divisor) const;
  Expr mod_constant(Expr a, std::int64_t divisor) const;
  // (p, k) for p // k with a nested division taken in, or null.
  Expr unnested(Expr a, std::int64_t& divisor) const;
  Expr add_fresh(Expr a, Expr b) const;
  Expr mul_fresh(Expr a, Expr b) const;
  Expr floordiv_fresh(Expr a, Expr b) const;
  Expr mod_fresh(Expr a, Expr b) const;
  Expr min_fresh(Expr a, Expr b) const;
  Expr max_fresh(Expr a, Expr b) const;
  Expr extremum(Op op, std::span<const Expr> operands) const;
  Expr reduced(Expr p, std::int64_t g) const;
  Expr bare_equation(Expr p) const;
  Expr bounded_by(Expr p) const;
  Expr negated_leaf(Expr e) const;
  Expr connected(Op op, std::span<const Expr> operands) const;
  Expr eq_fresh(Expr a, Expr b) const;
  Expr ge_fresh(Expr a, Expr b) const;

  Context& context_;
  const Bounds* bounds_;
};

}  // namespace massless::sym
