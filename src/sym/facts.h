// What is taken to be true of symbols, and what follows from it.
//
// Decided: by ranges (interval arithmetic over the normal form, which also knows facts about single
// monomials and about whole linear forms), by substitution of solved equalities, by congruences of
// symbols, and by linear reasoning over the rationals where each monomial counts as a variable,
// with what defines floordiv, mod, min, max and ite, and the ends of the factors of products, as
// further inequalities. Not decided: what needs the integers beyond common factors of coefficients,
// products of facts, or more than the budget.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "sym/build.h"
#include "sym/expr.h"

namespace massless::sym {

// value == remainder (mod modulus); modulus 1: nothing is known, 0: the value is the remainder.
struct Congruence {
  std::int64_t modulus = 1;
  std::int64_t remainder = 0;
  bool operator==(const Congruence&) const = default;
};

class Facts final : public Bounds {
 public:
  explicit Facts(Context& context)
      : context_(context), build_(context), with_facts_(context, this) {}
  Facts(const Facts&) = delete;
  Facts& operator=(const Facts&) = delete;

  // yes: it followed already, nothing changes. no: it contradicts what is known, nothing changes.
  // unknown: it holds from now on. (A contradiction that is not found stays unnoticed: then
  // everything proved follows from facts that cannot hold together.)
  Truth assume(Expr fact);
  // Remembers its answers: yes and no for ever, since facts only grow. Never raises: what does not
  // fit in 64 bits is unknown.
  Truth prove(Expr question);

  // The tightest range found for an integer expression.
  Range range(Expr e) const override;
  Congruence congruence(Expr e) const;
  // With solved symbols replaced, and what facts decide decided.
  Expr simplify(Expr e);

  // Facts as they were assumed, simplified then, in order.
  const std::vector<Expr>& assumed() const { return assumed_; }
  Context& context() const { return context_; }

 private:
  // facts.cc: learning
  bool work_off(std::vector<Expr> pending);  // false: contradiction
  bool learn(Expr fact, std::vector<Expr>& pending);
  bool learn_not_negative(Expr p, std::vector<Expr>& pending);
  bool learn_equation(Expr equation, std::vector<Expr>& pending);
  bool learn_unequal(Expr equation, std::vector<Expr>& pending);
  bool narrow(Expr form, Range range, std::vector<Expr>& pending);
  void narrow_parts(Expr p, std::vector<Expr>& pending);
  void inside(Expr form, Range range, std::vector<Expr>& pending);
  bool learn_residue(Expr modulo, std::int64_t value);
  bool solve(Expr p, std::vector<Expr>& pending);
  void replace(Expr symbol, Expr value, std::vector<Expr>& pending);
  void changed();
  bool negation_is_open(Expr fact) const;
  bool may_derive();  // counts down

  // facts_range.cc
  struct Signed {  // e == sign * scale * form + constant
    Expr form;
    std::int64_t factor;
    std::int64_t constant;
  };
  Signed as_form(Expr e) const;
  Range compute_range(Expr e) const;
  Range known_range(Expr e) const;
  Expr with_simplified_children(Expr e) const;
  Expr simplify_node(Expr e) const;
  Expr without_exact_quotients(Expr e) const;
  Expr without_exact_quotient(Expr e, Expr quotient) const;

  // facts_prove.cc
  Truth decide(Expr question);
  Truth decide_leaf(Expr leaf);
  Truth decide_equation(Expr p);
  bool at_least_zero(Expr p, int splits);  // true: proved
  bool by_linear(Expr p, bool products) const;
  bool by_cases(Expr p, int splits);

  // What is true. Copied before a fact is worked in, and put back where it contradicts.
  struct State {
    std::unordered_map<Expr, Expr> solved;   // symbol -> expression without solved symbols
    std::unordered_map<Expr, Range> ranges;  // of forms: monomials, and sums without constant
    std::vector<Expr> sums;                  // the sums among them, in order
    std::unordered_map<Expr, Congruence> residues;  // of atoms
    std::unordered_map<Expr, bool> truths;          // equations, disjunctions, comparisons of reals
    std::vector<Expr> disjunctions;
  };

  Context& context_;
  Builder build_;       // by declared ranges
  Builder with_facts_;  // by these facts
  State state_;
  std::vector<Expr> assumed_;
  int derivations_ = 0;  // left for the fact being worked in
  mutable std::unordered_map<Expr, Range> range_memo_;
  mutable std::unordered_map<Expr, Expr> simplified_;
  std::unordered_map<Expr, Truth> decided_;    // by question as it was put, for ever
  std::unordered_map<Expr, Truth> undecided_;  // until the next fact
};

}  // namespace massless::sym
