#include "sym/evaluate.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "sym/checked.h"
#include "sym/real.h"

namespace massless::sym {
namespace {

Value fit(std::optional<Int128> v) {
  if (!v || *v < std::numeric_limits<std::int64_t>::min() ||
      *v > std::numeric_limits<std::int64_t>::max()) {
    return NoValue::overflow;
  }
  return static_cast<std::int64_t>(*v);
}

std::optional<Int128> times(std::optional<Int128> a, Int128 b) {
  Int128 r = 0;
  return !a || __builtin_mul_overflow(*a, b, &r) ? std::nullopt : std::optional(r);
}
std::optional<Int128> plus(std::optional<Int128> a, std::optional<Int128> b) {
  Int128 r = 0;
  return !a || !b || __builtin_add_overflow(*a, *b, &r) ? std::nullopt : std::optional(r);
}

// One walk: values of nodes by identity.
class Evaluation {
 public:
  explicit Evaluation(const Values& values) : values_(values) {}

  Value run(Expr root) {
    std::vector<Expr> stack{root};
    while (!stack.empty()) {
      Expr e = stack.back();
      if (done_.contains(e) || !push_needed(e, stack)) {
        if (!done_.contains(e)) {
          done_.emplace(e, value_of(e));
        }
        stack.pop_back();
      }
    }
    return done_.at(root);
  }

 private:
  const Value* find(Expr e) const {
    const auto found = done_.find(e);
    return found == done_.end() ? nullptr : &found->second;
  }
  // The value of a child that is done, or the reason that it has none.
  std::optional<std::int64_t> number(Expr e) const { return number(done_.at(e)); }
  static std::optional<std::int64_t> number(const Value& v) {
    const auto* n = std::get_if<std::int64_t>(&v);
    return n == nullptr ? std::nullopt : std::optional(*n);
  }

  // Pushes what has to be known first; false: all is there.
  bool push_needed(Expr e, std::vector<Expr>& stack) {
    if (e->is(Op::logical_and) || e->is(Op::logical_or)) {
      return push_until_decided(e, stack);
    }
    if (e->is(Op::ite) || e->is(Op::real_ite)) {
      Expr condition = e->operands()[0];
      const Value* known = find(condition);
      if (known == nullptr) {
        stack.push_back(condition);
        return true;
      }
      const auto truth = number(*known);
      if (!truth) {
        return false;
      }
      Expr chosen = e->operands()[*truth != 0 ? 1 : 2];
      if (find(chosen) == nullptr) {
        stack.push_back(chosen);
        return true;
      }
      return false;
    }
    bool pushed = false;
    for_each_child(e, [&](Expr child) {
      if (find(child) == nullptr) {
        stack.push_back(child);
        pushed = true;
      }
    });
    return pushed;
  }

  bool push_until_decided(Expr e, std::vector<Expr>& stack) {
    const std::int64_t decisive = e->is(Op::logical_or) ? 1 : 0;
    for (Expr child : e->operands()) {
      const Value* known = find(child);
      if (known == nullptr) {
        stack.push_back(child);
        return true;
      }
      if (number(*known) == decisive) {
        return false;
      }
    }
    return false;
  }

  Value value_of(Expr e) const {
    switch (e->op) {
      case Op::constant:
      case Op::truth:
      case Op::real_constant:
        return e->value();
      case Op::symbol: {
        const auto found = values_(e->symbol());
        return found ? Value(*found) : Value(NoValue::unbound_symbol);
      }
      case Op::add:
        return sum(e);
      case Op::mul:
        return product(e);
      case Op::logical_and:
      case Op::logical_or:
        return connective(e);
      case Op::ite:
      case Op::real_ite: {
        const auto truth = number(e->operands()[0]);
        return truth ? done_.at(e->operands()[*truth != 0 ? 1 : 2]) : done_.at(e->operands()[0]);
      }
      default:
        return on_operands(e);
    }
  }

  Value sum(Expr e) const {
    std::optional<Int128> all = 0;
    for (const Term& t : e->terms()) {
      if (t.monomial == nullptr) {
        all = plus(all, t.coefficient);
        continue;
      }
      const Value& v = done_.at(t.monomial);
      const auto n = number(v);
      if (!n) {
        return v;
      }
      all = plus(all, static_cast<Int128>(t.coefficient) * *n);
    }
    return fit(all);
  }

  Value product(Expr e) const {
    std::optional<Int128> all = 1;
    bool zero = false;
    for (const Factor& f : e->factors()) {
      const Value& v = done_.at(f.atom);
      const auto n = number(v);
      if (!n) {
        return v;
      }
      zero |= *n == 0;
      // A power that does not end is of 0, 1 or -1, or does not fit.
      const bool small = *n >= -1 && *n <= 1;
      const std::uint32_t steps =
          small ? (f.exponent % 2 == 0 ? 2 : 1) : std::min(f.exponent, 128U);
      for (std::uint32_t i = 0; i < steps; ++i) {
        all = times(all, *n);
      }
    }
    return zero ? Value(std::int64_t{0}) : fit(all);
  }

  // A decided one, else the first without a value, else the neutral one.
  Value connective(Expr e) const {
    const std::int64_t decisive = e->is(Op::logical_or) ? 1 : 0;
    Value answer = 1 - decisive;
    for (Expr child : e->operands()) {
      const Value* v = find(child);
      if (v == nullptr || number(*v) == decisive) {
        return decisive;
      }
      if (!number(*v) && number(answer)) {
        answer = *v;
      }
    }
    return answer;
  }

  Value on_operands(Expr e) const {
    std::int64_t values[2] = {0, 0};
    std::size_t i = 0;
    for (Expr child : e->operands()) {
      const Value& v = done_.at(child);
      const auto n = number(v);
      if (!n) {
        return v;
      }
      if (e->is(Op::min) || e->is(Op::max)) {
        values[0] = i == 0           ? *n
                    : e->is(Op::min) ? std::min(values[0], *n)
                                     : std::max(values[0], *n);
      } else if (i < 2) {
        values[i] = *n;
      }
      ++i;
    }
    return apply(e->op, values[0], values[1]);
  }

  static Value apply(Op op, std::int64_t a, std::int64_t b) {
    switch (op) {
      case Op::min:
      case Op::max:
        return a;
      case Op::eq:
        return std::int64_t{a == 0};
      case Op::ge:
        return std::int64_t{a >= 0};
      case Op::logical_not:
        return std::int64_t{a == 0};
      case Op::floordiv:
      case Op::mod:
        if (b == 0) {
          return NoValue::division_by_zero;
        }
        if (op == Op::mod) {
          return floor_mod(a, b);
        }
        return fit(checked_floordiv(a, b) ? std::optional<Int128>(*checked_floordiv(a, b))
                                          : std::nullopt);
      default: {
        const auto real = evaluate_real(op, a, b);
        return real ? Value(*real) : Value(NoValue::domain);
      }
    }
  }

  const Values& values_;
  std::unordered_map<Expr, Value> done_;
};

}  // namespace

Value evaluate(Expr e, const Values& values) { return Evaluation(values).run(e); }

Expr substitute(Expr e, const Builder& build, const std::function<Expr(Expr symbol)>& replace) {
  std::unordered_map<Expr, Expr> done;
  std::vector<std::pair<Expr, bool>> stack{{e, false}};
  while (!stack.empty()) {
    const auto [node, ready] = stack.back();
    stack.pop_back();
    if (done.contains(node)) {
      continue;
    }
    if (!node->has_symbols) {
      done[node] = node;
    } else if (node->is(Op::symbol)) {
      Expr now = replace(node);
      done[node] = now == nullptr ? node : now;
    } else if (ready) {
      bool same = true;
      for_each_child(node, [&](Expr child) { same = same && done.at(child) == child; });
      done[node] = same ? node : build.rebuilt(node, [&](Expr child) { return done.at(child); });
    } else {
      stack.emplace_back(node, true);
      for_each_child(node, [&](Expr child) { stack.emplace_back(child, false); });
    }
  }
  return done.at(e);
}

std::vector<std::uint32_t> symbols_of(Expr e) {
  std::vector<std::uint32_t> all;
  std::unordered_map<Expr, bool> seen;
  std::vector<Expr> stack{e};
  while (!stack.empty()) {
    Expr node = stack.back();
    stack.pop_back();
    if (!node->has_symbols || !seen.emplace(node, true).second) {
      continue;
    }
    if (node->is(Op::symbol)) {
      all.push_back(node->symbol());
    }
    for_each_child(node, [&](Expr child) { stack.push_back(child); });
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace massless::sym
