#include "plan/interval.h"

#include <utility>
#include <vector>

namespace massless {

using sym::Expr;
using sym::Op;
using sym::Range;

namespace {

constexpr Range kEither{0, 1};

Range truth(bool can_be_false, bool can_be_true) {
  return {can_be_false ? 0 : 1, can_be_true ? 1 : 0};
}

}  // namespace

Range Interval::from_children(Expr e) const {
  const auto at = [&](Expr child) { return memo_.at(child); };
  const auto operand = [&](std::size_t i) { return at(e->operands()[i]); };
  switch (e->op) {
    case Op::add: {
      Range all = Range::point(0);
      for (const sym::Term& t : e->terms()) {
        all = range_add(all, t.monomial == nullptr ? Range::point(t.coefficient)
                                                   : range_scale(at(t.monomial), t.coefficient));
      }
      return all;
    }
    case Op::mul: {
      Range all = Range::point(1);
      for (const sym::Factor& f : e->factors()) {
        all = range_mul(all, range_pow(at(f.atom), f.exponent));
      }
      return all;
    }
    case Op::floordiv:
      return range_floordiv(operand(0), operand(1));
    case Op::mod:
      return range_mod(operand(0), operand(1));
    case Op::min:
    case Op::max: {
      Range all = operand(0);
      for (Expr child : e->operands()) {
        all = e->is(Op::min) ? range_min(all, at(child)) : range_max(all, at(child));
      }
      return all;
    }
    case Op::ite: {
      const Range condition = operand(0);
      return condition.lo == 1   ? operand(1)
             : condition.hi == 0 ? operand(2)
                                 : range_union(operand(1), operand(2));
    }
    case Op::eq:
      return truth(operand(0) != Range::point(0), operand(0).contains(0));
    case Op::ge:
      return truth(operand(0).lo < 0, operand(0).hi >= 0);
    case Op::logical_not:
      return {1 - operand(0).hi, 1 - operand(0).lo};
    case Op::logical_and:
    case Op::logical_or: {
      Range all = operand(0);
      for (Expr child : e->operands()) {
        all = e->is(Op::logical_and) ? range_min(all, at(child)) : range_max(all, at(child));
      }
      return all;
    }
    default:  // reals, and what comes from them
      return e->type == sym::Type::boolean ? kEither : Range::all();
  }
}

Range Interval::of(Expr e) {
  std::vector<std::pair<Expr, bool>> stack{{e, false}};
  while (!stack.empty()) {
    const auto [node, ready] = stack.back();
    stack.pop_back();
    if (memo_.contains(node)) {
      continue;
    }
    if (node->is(Op::symbol)) {
      memo_[node] = symbols_(node->symbol());
    } else if (node->is_constant() || node->is(Op::truth)) {
      memo_[node] = Range::point(node->value());
    } else if (ready) {
      memo_[node] = from_children(node);
    } else {
      stack.emplace_back(node, true);
      for (Expr child : children_of(node)) {
        stack.emplace_back(child, false);
      }
    }
  }
  return memo_.at(e);
}

}  // namespace massless
