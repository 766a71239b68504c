// Answering questions.
#include <algorithm>
#include <array>
#include <utility>

#include "sym/checked.h"
#include "sym/facts.h"
#include "sym/linear.h"
#include "sym/scratch.h"
#include "sym/shift.h"

namespace massless::sym {
namespace {

constexpr std::size_t kMaxRows = 64;
constexpr std::size_t kMaxPivots = 64;

// A linear system whose variables are monomials, gathered from a question outwards.
class Gathered {
 public:
  using Coefficient = LinearSystem::Coefficient;
  explicit Gathered(const Facts& facts) : facts_(facts) {}

  void row(Expr p, Range bounds) {  // lo <= p <= hi
    const Terms terms(p);
    Scratch<Coefficient> coefficients(terms.size());
    for (const Term& t : terms.variable()) {
      coefficients.push_back({variable(t.monomial), t.coefficient});
    }
    const auto shift = checked_neg(terms.constant());
    if (shift && rows_ < kMaxRows) {
      ++rows_;
      system_.row(coefficients.span(), range_add(bounds, Range::point(*shift)));
    }
  }
  // Monomials not asked for before, in order.
  std::vector<Expr> take_new() { return std::exchange(fresh_, {}); }
  bool mentions_any_of(Expr form) const {
    const Terms terms(form);
    const auto variables = terms.variable();
    return std::any_of(variables.begin(), variables.end(),
                       [&](const Term& t) { return variables_.contains(t.monomial); });
  }
  bool full() const { return rows_ >= kMaxRows; }
  bool infeasible() { return system_.infeasible(kMaxPivots); }

 private:
  LinearSystem::Variable variable(Expr monomial) {
    const auto [it, added] = variables_.try_emplace(monomial, 0);
    if (added) {
      it->second = system_.variable(facts_.range(monomial));
      fresh_.push_back(monomial);
    }
    return it->second;
  }

  const Facts& facts_;
  LinearSystem system_;
  std::unordered_map<Expr, LinearSystem::Variable> variables_;
  std::vector<Expr> fresh_;
  std::size_t rows_ = 0;
};

constexpr Range kNotNegative{0, Range::kPlusInf};

// What defines an atom:
//   d = x // k, k > 0:  0 <= x - k * d <= k - 1
//   m = x % k, k > 0:   x - k * (x // k) - m == 0,  m <= k - 1
//   min <= each operand;  max >= each operand
void define(Gathered& into, const Facts& facts, const Builder& build, Expr atom) {
  const auto division = [&](Expr x, Expr k, Expr d) {
    Expr rest = build.sub(x, build.mul(k, d));
    into.row(rest, kNotNegative);
    into.row(build.sub(build.sub(k, build.integer(1)), rest), kNotNegative);
    // The remainder, where facts give it.
    const Congruence c = facts.congruence(x);
    const Range known = build.range(build.mod(x, k));
    if (k->is_constant() && c.modulus % k->value() == 0) {
      into.row(rest, Range::point(floor_mod(c.remainder, k->value())));
    } else if (known.is_point()) {
      into.row(rest, known);
    }
    return rest;
  };
  const auto operands = atom->operands();
  if ((atom->is(Op::floordiv) || atom->is(Op::mod)) && build.range(operands[1]).positive()) {
    Expr d = atom->is(Op::floordiv) ? atom : build.floordiv(operands[0], operands[1]);
    Expr rest = division(operands[0], operands[1], d);
    if (atom->is(Op::mod)) {
      into.row(build.sub(rest, atom), Range::point(0));
    }
  } else if (atom->is(Op::min) || atom->is(Op::max)) {
    for (Expr operand : operands) {
      into.row(atom->is(Op::min) ? build.sub(operand, atom) : build.sub(atom, operand),
               kNotNegative);
    }
  }
}

// What bounds a product m = x * y from the ends of its factors (McCormick):
//   (x - lo) * (y - lo') >= 0  and  (hi - x) * (hi' - y) >= 0,   multiplied out over m, x and y
//   (x - lo) * (hi' - y) >= 0  and  (hi - x) * (y - lo') >= 0
// for each atom x of the monomial and what is left of it as y.
void define_product(Gathered& into, const Facts& facts, const Builder& build, Expr monomial) {
  const auto ends = [](Range r) {
    std::vector<std::int64_t> finite;
    if (r.lo != Range::kMinusInf) {
      finite.push_back(r.lo);
    }
    if (r.hi != Range::kPlusInf) {
      finite.push_back(r.hi);
    }
    return finite;
  };
  for (const Factor& f : Factors(monomial)) {
    Expr x = f.atom;
    Expr y = build.exact_quotient(monomial, x);
    const Range of_x = facts.range(x);
    const Range of_y = facts.range(y);
    for (const std::int64_t a : ends(of_x)) {
      for (const std::int64_t b : ends(of_y)) {
        try {
          Expr product = build.mul(build.sub(x, build.integer(a)), build.sub(y, build.integer(b)));
          const bool same_side = (a == of_x.lo) == (b == of_y.lo);
          into.row(same_side ? product : build.neg(product), kNotNegative);
        } catch (const SymError&) {  // an end is too large to multiply with: one row less
        }
      }
    }
  }
}

bool is_product(Expr monomial) { return monomial->is(Op::mul); }

}  // namespace

// p >= 0, since facts and p <= -1 have no rational solution. `products`: with what bounds products.
bool Facts::by_linear(Expr p, bool products) const {
  Gathered system(*this);
  system.row(p, {Range::kMinusInf, -1});
  std::vector<bool> used(state_.sums.size(), false);
  for (bool grew = true; grew && !system.full();) {
    grew = false;
    for (Expr monomial : system.take_new()) {
      grew = true;
      if (products && is_product(monomial)) {
        define_product(system, *this, build_, monomial);
      }
      for (const Factor& f : Factors(monomial)) {
        if (f.atom->is(Op::floordiv) || f.atom->is(Op::mod) || f.atom->is(Op::min) ||
            f.atom->is(Op::max)) {
          define(system, *this, with_facts_, f.atom);
        }
      }
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (!used[i] && system.mentions_any_of(state_.sums[i])) {
        used[i] = true;
        grew = true;
        system.row(state_.sums[i], state_.ranges.at(state_.sums[i]));
      }
    }
  }
  return system.infeasible();
}

// p = c * choice + rest, where the choice is the least favourable one of its operands:
//   p >= 0 if c * a + rest >= 0 for every operand a      (max with c < 0, min with c > 0, ite)
// NOLINTNEXTLINE(misc-no-recursion): at most `splits` deep
bool Facts::by_cases(Expr p, int splits) {
  const Terms terms(p);
  for (const Term& t : terms.variable()) {
    const bool choice = t.monomial->is(Op::ite) || (t.monomial->is(Op::max) && t.coefficient < 0) ||
                        (t.monomial->is(Op::min) && t.coefficient > 0);
    if (!choice) {
      continue;
    }
    Expr rest = build_.sub(p, build_.scale(t.monomial, t.coefficient));
    const auto operands = t.monomial->operands().subspan(t.monomial->is(Op::ite) ? 1 : 0);
    for (Expr operand : operands) {
      if (!at_least_zero(build_.add(rest, build_.scale(operand, t.coefficient)), splits - 1)) {
        return false;
      }
    }
    return true;
  }
  return false;
}

// NOLINTNEXTLINE(misc-no-recursion): by_cases comes back at most `splits` times
bool Facts::at_least_zero(Expr p, int splits) {
  if (range(p).nonnegative()) {
    return true;
  }
  if (p->is_constant()) {
    return false;
  }
  const Terms terms(p);
  const auto variable = terms.variable();
  const bool products = std::any_of(variable.begin(), variable.end(),
                                    [](const Term& t) { return is_product(t.monomial); });
  return (products && not_negative_by_shift(p, *this)) || by_linear(p, false) ||
         (products && by_linear(p, true)) || (splits > 0 && by_cases(p, splits));
}

Truth Facts::decide_equation(Expr p) {
  constexpr int kSplits = 2;
  Expr minus = build_.neg(p);
  Expr one = build_.integer(1);
  if (at_least_zero(build_.sub(p, one), kSplits) ||
      at_least_zero(build_.sub(minus, one), kSplits)) {
    return Truth::no;
  }
  return at_least_zero(p, kSplits) && at_least_zero(minus, kSplits) ? Truth::yes : Truth::unknown;
}

Truth Facts::decide_leaf(Expr leaf) {
  constexpr int kSplits = 2;
  if (leaf->is(Op::truth)) {
    return leaf->is_true() ? Truth::yes : Truth::no;
  }
  if (leaf->is(Op::ge)) {
    Expr p = leaf->operands()[0];
    if (at_least_zero(p, kSplits)) {
      return Truth::yes;
    }
    return at_least_zero(build_.sub(build_.integer(-1), p), kSplits) ? Truth::no : Truth::unknown;
  }
  if (leaf->is(Op::eq)) {
    return decide_equation(leaf->operands()[0]);
  }
  if (leaf->is(Op::logical_not) && leaf->operands()[0]->is(Op::eq)) {
    return negate(decide_equation(leaf->operands()[0]->operands()[0]));
  }
  return Truth::unknown;
}

// Connectives over leaves, by an explicit stack.
Truth Facts::decide(Expr question) {
  if (!question->is(Op::logical_and) && !question->is(Op::logical_or)) {
    return decide_leaf(question);
  }
  std::unordered_map<Expr, Truth> done;
  std::vector<std::pair<Expr, bool>> stack{{question, false}};
  while (!stack.empty()) {
    const auto [e, ready] = stack.back();
    stack.pop_back();
    if (done.contains(e)) {
      continue;
    }
    if (!e->is(Op::logical_and) && !e->is(Op::logical_or)) {
      done[e] = decide_leaf(e);
    } else if (!ready) {
      stack.emplace_back(e, true);
      for (Expr operand : e->operands()) {
        stack.emplace_back(operand, false);
      }
    } else {
      // `or` is decided by one yes, `and` by one no.
      const Truth decisive = e->is(Op::logical_or) ? Truth::yes : Truth::no;
      Truth all = negate(decisive);
      for (Expr operand : e->operands()) {
        const Truth one = done.at(operand);
        if (one == decisive) {
          all = decisive;
          break;
        }
        all = one == Truth::unknown ? one : all;
      }
      done[e] = all;
    }
  }
  return done.at(question);
}

Truth Facts::prove(Expr question) {
  if (question->is(Op::truth)) {
    return question->is_true() ? Truth::yes : Truth::no;
  }
  if (const auto found = decided_.find(question); found != decided_.end()) {
    return found->second;
  }
  if (const auto found = undecided_.find(question); found != undecided_.end()) {
    return found->second;
  }
  Truth answer = Truth::unknown;
  try {
    answer = decide(simplify(question));
  } catch (const SymError&) {  // a step does not fit in 64 bits
    answer = Truth::unknown;
  }
  (answer == Truth::unknown ? undecided_ : decided_)[question] = answer;
  return answer;
}

}  // namespace massless::sym
