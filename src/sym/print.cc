// Printing, by an explicit stack of texts and of expressions still to print.
#include <algorithm>
#include <limits>
#include <variant>

#include "sym/checked.h"
#include "sym/real.h"
#include "sym/text.h"

namespace massless::sym {
namespace {

// "s2" before "s10".
int compare_names(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      const std::size_t i0 = i;
      const std::size_t j0 = j;
      while (i < a.size() && digit(a[i])) {
        ++i;
      }
      while (j < b.size() && digit(b[j])) {
        ++j;
      }
      const auto x = a.substr(i0, i - i0);
      const auto y = b.substr(j0, j - j0);
      if (x.size() != y.size()) {
        return x.size() < y.size() ? -1 : 1;
      }
      if (const int c = x.compare(y); c != 0) {
        return c;
      }
    } else {
      if (a[i] != b[j]) {
        return a[i] < b[j] ? -1 : 1;
      }
      ++i;
      ++j;
    }
  }
  return static_cast<int>(a.size() - i) - static_cast<int>(b.size() - j);
}

// An order that no order of creation changes: constants, symbols by name, others by operator and
// by the hash of their structure.
class Order {
 public:
  explicit Order(const Context& context) : context_(context) {}

  int compare(Expr a, Expr b) const {
    if (a == b) {
      return 0;
    }
    const int ka = kind(a);
    const int kb = kind(b);
    if (ka != kb) {
      return ka - kb;
    }
    if (a->is(Op::symbol)) {
      return compare_names(context_.symbol_info(a).name, context_.symbol_info(b).name);
    }
    if (a->is_constant()) {
      return a->value() < b->value() ? -1 : 1;
    }
    if (a->op != b->op) {
      return static_cast<int>(a->op) - static_cast<int>(b->op);
    }
    return a->hash < b->hash ? -1 : 1;
  }
  bool operator()(Expr a, Expr b) const { return compare(a, b) < 0; }

  std::vector<Factor> sorted_factors(Expr monomial) const {
    const Factors factors(monomial);
    std::vector<Factor> all(factors.begin(), factors.end());
    std::sort(all.begin(), all.end(),
              [&](const Factor& x, const Factor& y) { return compare(x.atom, y.atom) < 0; });
    return all;
  }
  // By degree, the highest first, then by the factors; the constant last.
  bool before(const Term& a, const Term& b) const {
    if (a.monomial == nullptr || b.monomial == nullptr) {
      return a.monomial != nullptr && b.monomial == nullptr;
    }
    const auto fa = sorted_factors(a.monomial);
    const auto fb = sorted_factors(b.monomial);
    const auto degree = [](const std::vector<Factor>& all) {
      std::uint64_t d = 0;
      for (const Factor& f : all) {
        d += f.exponent;
      }
      return d;
    };
    if (degree(fa) != degree(fb)) {
      return degree(fa) > degree(fb);
    }
    for (std::size_t i = 0; i < fa.size() && i < fb.size(); ++i) {
      if (const int c = compare(fa[i].atom, fb[i].atom); c != 0) {
        return c < 0;
      }
      if (fa[i].exponent != fb[i].exponent) {
        return fa[i].exponent > fb[i].exponent;
      }
    }
    return fa.size() < fb.size();
  }

 private:
  static int kind(Expr e) {
    return e->is_constant()    ? 0
           : e->is(Op::symbol) ? 1
           : e->is(Op::mul)    ? 2
           : e->is(Op::add)    ? 3
                               : 4;
  }
  const Context& context_;
};

struct Pending {
  Expr expr;
  int precedence;  // of what stands around it: weaker expressions are put in parentheses
};
using Piece = std::variant<std::string, Pending>;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr int kSum = op_info(Op::add).precedence;
constexpr int kProduct = op_info(Op::mul).precedence;
constexpr int kComparison = op_info(Op::eq).precedence;

class Printer {
 public:
  explicit Printer(const Context& context) : context_(context), order_(context) {}

  std::string run(Expr e) {
    stack_.emplace_back(Pending{e, 0});
    std::string out;
    while (!stack_.empty()) {
      const Piece piece = std::move(stack_.back());
      stack_.pop_back();
      if (const auto* text = std::get_if<std::string>(&piece)) {
        out += *text;
        continue;
      }
      pieces_.clear();
      const auto [expr, around] = std::get<Pending>(piece);
      const bool parentheses = precedence(expr) < around;
      if (parentheses) {
        pieces_.emplace_back("(");
      }
      node(expr);
      if (parentheses) {
        pieces_.emplace_back(")");
      }
      stack_.insert(stack_.end(), pieces_.rbegin(), pieces_.rend());
    }
    return out;
  }

 private:
  static int precedence(Expr e) {
    switch (e->op) {
      case Op::constant:
        return e->value() < 0 ? op_info(Op::neg).precedence : 100;
      case Op::add:
        return e->count == 1 ? (e->terms()[0].coefficient < 0 ? kSum : kProduct) : kSum;
      case Op::mul:
        return e->count == 1 ? op_info(Op::pow).precedence : kProduct;
      case Op::logical_not:
        return e->operands()[0]->is(Op::eq) ? kComparison : op_info(Op::logical_not).precedence;
      default:
        return op_info(e->op).precedence;
    }
  }

  void text(std::string_view t) { pieces_.emplace_back(std::string(t)); }
  void sub(Expr e, int around) { pieces_.emplace_back(Pending{e, around}); }

  void node(Expr e) {
    switch (e->op) {
      case Op::constant:
        return text(std::to_string(e->value()));
      case Op::truth:
        return text(e->is_true() ? "True" : "False");
      case Op::real_constant:
        return text(print_real(real_value(e)));
      case Op::symbol:
        return text(context_.symbol_info(e).name);
      case Op::add:
        return sum({e->terms().begin(), e->terms().end()});
      case Op::mul:
        return factors(e);
      case Op::eq:
        return comparison(e->operands()[0], " == ", " == ");
      case Op::ge:
        return comparison(e->operands()[0], " >= ", " <= ");
      case Op::logical_not:
        if (e->operands()[0]->is(Op::eq)) {
          return comparison(e->operands()[0]->operands()[0], " != ", " != ");
        }
        text("not ");
        return sub(e->operands()[0], precedence(e) + 1);
      default:
        return other(e);
    }
  }

  void other(Expr e) {
    const OpInfo& info = op_info(e->op);
    std::vector<Expr> operands(e->operands().begin(), e->operands().end());
    const bool ordered =
        e->is(Op::min) || e->is(Op::max) || e->is(Op::logical_and) || e->is(Op::logical_or);
    if (ordered) {
      std::sort(operands.begin(), operands.end(), order_);
    }
    const bool call = info.form == Form::call;
    const bool spaced = e->type == Type::boolean;
    if (call) {
      text(std::string(info.text == "fite" ? "ite" : info.text) + "(");
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (i > 0) {
        text(call ? ", " : spaced ? " " + std::string(info.text) + " " : std::string(info.text));
      }
      // The right operand binds tighter: a // (b // c); `and` and `or` are flat.
      sub(operands[i], call ? 0 : info.precedence + (i > 0 || spaced ? 1 : 0));
    }
    if (call) {
      text(")");
    }
  }

  void factors(Expr monomial) {
    bool first = true;
    for (const Factor& f : order_.sorted_factors(monomial)) {
      if (!first) {
        text("*");
      }
      first = false;
      const bool power = f.exponent != 1;
      sub(f.atom, power ? op_info(Op::pow).precedence + 1 : kProduct + 1);
      if (power) {
        text("**" + std::to_string(f.exponent));
      }
    }
  }

  // Without its sign. `negated`: after a sign that binds tighter than `//`: -(a//2).
  void term(const Term& t, bool negated = false) {
    if (t.monomial == nullptr) {
      return text(std::to_string(magnitude(t.coefficient)));
    }
    const bool scaled = magnitude(t.coefficient) != 1;
    if (scaled) {
      text(std::to_string(magnitude(t.coefficient)) + "*");
    }
    if (t.monomial->is(Op::mul)) {
      return factors(t.monomial);
    }
    sub(t.monomial, scaled || negated ? kProduct + 1 : kProduct);
  }

  void sum(std::vector<Term> terms) {
    const auto by_order = [&](const Term& a, const Term& b) { return order_.before(a, b); };
    std::sort(terms.begin(), terms.end(), by_order);
    const auto positive =
        std::find_if(terms.begin(), terms.end(), [](const Term& t) { return t.coefficient > 0; });
    if (positive != terms.end()) {
      std::rotate(terms.begin(), positive, positive + 1);
    }
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const bool minus = terms[i].coefficient < 0;
      // Its magnitude alone is no number that the parser knows: a + -9223372036854775808*b.
      const bool least = terms[i].coefficient == kLeast;
      text(i == 0 ? (minus ? "-" : "") : least ? " + -" : minus ? " - " : " + ");
      term(terms[i], i == 0 && minus);
    }
  }

  // p against 0 with positive terms on both sides; as it is where a sign cannot be turned.
  void comparison(Expr p, std::string_view relation, std::string_view mirrored) {
    std::vector<Term> left;
    std::vector<Term> right;
    const Terms terms(p);
    if (std::any_of(terms.begin(), terms.end(),
                    [](const Term& t) { return t.coefficient == kLeast; })) {
      sum({terms.begin(), terms.end()});
      return text(std::string(relation) + "0");
    }
    for (const Term& t : terms.variable()) {
      (t.coefficient > 0 ? left : right).push_back(t);
    }
    std::int64_t c = terms.constant();
    // Of an equation the side whose first term comes first is the left one.
    const auto by_order = [&](const Term& a, const Term& b) { return order_.before(a, b); };
    if (relation == mirrored && !left.empty() && !right.empty() &&
        by_order(*std::min_element(right.begin(), right.end(), by_order),
                 *std::min_element(left.begin(), left.end(), by_order))) {
      std::swap(left, right);
      c = -c;
    }
    const bool swapped = left.empty();
    // The constant goes where it is positive, or alone beside the terms.
    const bool alone = left.empty() || right.empty();
    if (c != 0 && (alone || c < 0)) {
      (swapped ? left : right).push_back({c, nullptr});
    } else if (c != 0) {
      left.push_back({c, nullptr});
    }
    // Signs of the right side are turned; a lone constant on the left keeps its own.
    side(swapped ? right : left, swapped);
    text(swapped ? mirrored : relation);
    side(swapped ? left : right, !swapped);
  }

  void side(const std::vector<Term>& terms, bool turned) {
    if (terms.empty()) {
      return text("0");
    }
    if (terms.size() == 1 && terms[0].monomial == nullptr) {
      const bool minus = (terms[0].coefficient < 0) != turned;
      return text((minus ? "-" : "") + std::to_string(magnitude(terms[0].coefficient)));
    }
    std::vector<Term> sorted = terms;
    std::sort(sorted.begin(), sorted.end(),
              [&](const Term& a, const Term& b) { return order_.before(a, b); });
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      text(i == 0 ? "" : " + ");
      term(sorted[i]);
    }
  }

  const Context& context_;
  Order order_;
  std::vector<Piece> stack_;
  std::vector<Piece> pieces_;
};

}  // namespace

std::string print(Expr e, const Context& context) { return Printer(context).run(e); }

}  // namespace massless::sym
