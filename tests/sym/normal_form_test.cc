// The normal form: each clause of expr.h and each rewrite of build_*.cc as a row of text, read,
// printed, and compared with the value of the text as it is written (plain.h) at every point of a
// small box. Then the clauses themselves, on every node of random expressions.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sym/checked.h"
#include "sym/evaluate.h"
#include "sym/plain.h"
#include "sym/random.h"
#include "sym/text.h"
#include "sym/tree.h"

namespace massless::sym {
namespace {

constexpr std::int64_t kMin = Range::kMinusInf;
constexpr std::int64_t kMax = Range::kPlusInf;

struct Declared {
  const char* name;
  Range range;
};
// Any integers; sizes; positive; at least 2; negative; few values.
const Declared kDeclared[] = {
    {"a", {kMin, kMax}}, {"b", {kMin, kMax}}, {"c", {kMin, kMax}}, {"d", {kMin, kMax}},
    {"s", {0, kMax}},    {"t", {0, kMax}},    {"u", {0, kMax}},    {"p", {1, kMax}},
    {"q", {1, kMax}},    {"n", {2, kMax}},    {"m", {2, kMax}},    {"z", {kMin, -1}},
    {"k", {0, 7}},
};

void declare(Context& context) {
  for (const Declared& d : kDeclared) {
    context.symbol(d.name, d.range);
  }
}

struct Row {
  const char* written;
  const char* normal;
};

const Row kRows[] = {
    // Polynomials.
    {"s + s", "2*s"},
    {"s - s", "0"},
    {"2*(s + 1)", "2*s + 2"},
    {"s*s", "s**2"},
    {"1*s + 0*t", "s"},
    {"(a + b)*(a - b)", "a**2 - b**2"},
    {"(a + b)**2 - 2*a*b", "a**2 + b**2"},
    {"a*b*a**2", "a**3*b"},
    {"3 + a - 3", "a"},
    {"(a - 1)**3", "a**3 - 3*a**2 + 3*a - 1"},
    {"a**0", "1"},
    {"-(a - b)", "b - a"},
    {"s*4 + 2*s // 2", "5*s"},
    // Floor division by a constant.
    {"(4*s + 2) // 2", "2*s + 1"},
    {"(4*a + 3) // 2", "2*a + 1"},
    {"(2*a + b) // 2", "a + b//2"},
    {"(6*a + 4) // 4", "3*a//2 + 1"},
    {"(6*a + 5) // 4", "3*a//2 + 1"},
    {"(a + 7) // 3", "(a + 1)//3 + 2"},
    {"(a - 1) // 3", "(a + 2)//3 - 1"},
    {"(s // 2) // 3", "s//6"},
    {"(a // 2 + b) // 3", "(a + 2*b)//6"},
    {"(a // 2 + 1) // 2", "(a + 2)//4"},
    {"a // -3", "(-a)//3"},
    {"(-a) // -3", "a//3"},
    {"(2*a) // -2", "-a"},
    {"k // 8", "0"},
    {"k // -8", "(-k)//8"},
    {"(k + 8) // 8", "1"},
    {"0 // n", "0"},
    {"7 // 2", "3"},
    {"-7 // 2", "-4"},
    // Floor division by what may not be a constant.
    {"(n*a) // n", "a"},
    {"(a*b) // b", "a*b//b"},
    {"(n*a + s) // n", "a + s//n"},
    {"(n*a + n) // n", "a + 1"},
    {"(a*n) // (b*n)", "a//b"},
    {"(6*a) // (4*b)", "3*a//(2*b)"},
    {"(n*n - 1) // (n + 1)", "n - 1"},
    {"(a*n*m + a*n) // (n*m + n)", "a"},
    {"a // z", "(-a)//(-z)"},
    {"(a*z) // z", "a"},
    {"k // (k + 1)", "k//(k + 1)"},
    {"k // (s + 8)", "0"},
    // Modulo.
    {"(6*s) % 3", "0"},
    {"(6*s + 5) % 3", "2"},
    {"(a + 7) % 4", "(a + 3)%4"},
    {"(5*a - 1) % 4", "(a + 3)%4"},
    {"(2*a) % 4", "2*(a%2)"},
    {"(2*a + 3) % 4", "2*((a + 1)%2) + 1"},
    {"(s % 8) % 4", "s%4"},
    {"(s % 4) % 8", "s%4"},
    {"(2*(s % 4) + t) % 8", "(2*s + t)%8"},
    {"a % 1", "0"},
    {"a % -3", "-(2*a%3)"},
    {"k % 8", "k"},
    {"(k + 8) % 8", "k"},
    {"(n*a) % n", "0"},
    {"(n*a + s) % n", "s%n"},
    {"(a*n) % (b*n)", "n*(a%b)"},
    {"(6*a) % (4*b)", "2*(3*a%(2*b))"},
    {"a % z", "-((-a)%(-z))"},
    {"(a*b) % b", "a*b%b"},
    {"k % (s + 8)", "k"},
    // Ceiling division.
    {"ceildiv(a, 4)", "(a + 3)//4"},
    {"ceildiv(4*a, 4)", "a"},
    {"ceildiv(a, n)", "(a - 1)//n + 1"},
    {"ceildiv(a, -2)", "-(a//2)"},
    // Choices.
    {"max(a, a)", "a"},
    {"max(a, max(b, c))", "max(a, b, c)"},
    {"min(a, min(b, a))", "min(a, b)"},
    {"max(s, 0)", "s"},
    {"min(s, -1)", "-1"},
    {"max(a, a + s)", "a + s"},
    {"min(n, 1)", "1"},
    {"min(k, s + 7)", "k"},
    {"max(3, 5, a)", "max(5, a)"},
    {"abs(a)", "max(a, -a)"},
    {"abs(-s)", "s"},
    {"abs(z)", "-z"},
    {"ite(s >= 0, a, b)", "a"},
    {"ite(z == 0, a, b)", "b"},
    {"ite(a >= b, c, c)", "c"},
    {"ite(a >= b, a + 1, b)", "ite(a >= b, a + 1, b)"},
    // Comparisons.
    {"2*a < 2*b", "b >= a + 1"},
    {"a > b", "a >= b + 1"},
    {"a <= b", "b >= a"},
    {"not a >= b", "b >= a + 1"},
    {"3*a >= 7", "a >= 3"},
    {"3*a <= 7", "a <= 2"},
    {"2*a == 3", "False"},
    {"4*a == 6*b + 8", "2*a == 3*b + 4"},
    {"-a == -b", "a == b"},
    {"b == a", "a == b"},
    {"a + b <= 10", "a + b <= 10"},
    {"10 >= a + b", "a + b <= 10"},
    {"2*a == b + 1", "2*a == b + 1"},
    {"s >= 3", "s >= 3"},
    {"s >= 0", "True"},
    {"z >= 0", "False"},
    {"s == -1", "False"},
    {"n*a == n*b", "a == b"},
    {"a*s == 0", "s == 0 or a == 0"},
    {"a*b == a", "b == 1 or a == 0"},
    {"n*a >= n*b", "a >= b"},
    {"a*b >= a", "a*b >= a"},
    {"n*m >= 3", "True"},
    {"a**2 >= 0", "True"},
    {"a**2 == -1", "False"},
    {"a != b", "a != b"},
    {"not a == b", "a != b"},
    {"not a != b", "a == b"},
    // Truth values.
    {"a >= 1 and True", "a >= 1"},
    {"a >= 1 and False", "False"},
    {"a >= 1 or True", "True"},
    {"a >= 1 or False", "a >= 1"},
    {"a >= 1 and a >= 1", "a >= 1"},
    {"a == 1 and a != 1", "False"},
    {"a >= 1 or a <= 0", "True"},
    {"a >= 1 and (b >= 1 and c >= 1)", "c >= 1 and a >= 1 and b >= 1"},
    {"not (a >= 1 and b >= 1)", "b <= 0 or a <= 0"},
    {"not (a >= 1 or b == 1)", "a <= 0 and b != 1"},
};

class NormalForm : public testing::Test {
 protected:
  NormalForm() { declare(context_); }

  static bool mentions(const std::string& text, const std::string& name) {
    return std::regex_search(text, std::regex("\\b" + name + "\\b"));
  }
  // The points of [-4, 4] within the ranges, of the symbols of the text.
  static std::vector<std::map<std::string, std::int64_t>> points(const std::string& text) {
    std::vector<std::map<std::string, std::int64_t>> all{{}};
    for (const Declared& d : kDeclared) {
      if (!mentions(text, d.name)) {
        continue;
      }
      std::vector<std::map<std::string, std::int64_t>> longer;
      for (const auto& point : all) {
        for (std::int64_t v = std::max<std::int64_t>(d.range.lo, -4);
             v <= std::min<std::int64_t>(d.range.hi, 4); ++v) {
          longer.push_back(point);
          longer.back()[d.name] = v;
        }
      }
      all = std::move(longer);
    }
    return all;
  }
  Context context_;
};

TEST_F(NormalForm, Rows) {
  for (const Row& row : kRows) {
    Expr e = parse(context_, row.written, false);
    EXPECT_EQ(print(e, context_), row.normal) << row.written;
    EXPECT_EQ(parse(context_, row.normal, false), e) << row.written;
    const auto all = points(row.written);
    int compared = 0;
    for (const auto& point : all) {
      const auto wanted = plain_value(row.written, point);
      if (!wanted) {
        continue;
      }
      const Value found = evaluate(
          e, [&](std::uint32_t i) { return std::optional(point.at(context_.symbols()[i].name)); });
      EXPECT_EQ(found, Value(static_cast<std::int64_t>(*wanted)))
          << row.written << " at " << testing::PrintToString(point);
      ++compared;
    }
    EXPECT_GT(compared, 0) << row.written;
  }
}

// The reader that the rows are compared with, on its own.
TEST(Plain, ReadsAsPython) {
  const std::map<std::string, std::int64_t> at{{"a", -7}, {"b", 2}};
  const std::pair<const char*, std::int64_t> rows[] = {
      {"a // b", -4},
      {"a % b", 1},
      {"-a // b", 3},
      {"-b ** 2", -4},
      {"2 ** 3 ** 2", 512},
      {"a - 1 - 1", -9},
      {"8 // 3 * 2", 4},
      {"7 % -2", -1},
      {"ceildiv(a, b)", -3},
      {"ceildiv(7, 2)", 4},
      {"ceildiv(7, -2)", -3},
      {"min(a, b, 0)", -7},
      {"abs(a)", 7},
      {"ite(a < b, 1, 2)", 1},
      {"not a == b and b == 2", 1},
      {"a == b or b != 2", 0},
  };
  for (const auto& [text, value] : rows) {
    EXPECT_EQ(plain_value(text, at), std::optional<Wide>(value)) << text;
  }
  EXPECT_EQ(plain_value("a // (b - 2)", at), std::nullopt);
  EXPECT_THROW(plain_value("a +", at), std::invalid_argument);
  EXPECT_THROW(plain_value("a b", at), std::invalid_argument);
}

// The clauses themselves: "" or the one that the node breaks. Not: what its operands break.
std::string broken_sum(Expr e) {
  const auto terms = e->terms();
  if (terms.empty() ||
      (terms.size() == 1 && (terms[0].monomial == nullptr || terms[0].coefficient == 1))) {
    return "a sum that is a constant or a monomial";
  }
  for (std::size_t i = 0; i < terms.size(); ++i) {
    Expr m = terms[i].monomial;
    if (terms[i].coefficient == 0) {
      return "a coefficient of 0";
    }
    if (m == nullptr ? i != 0 : m->is_constant() || m->is(Op::add) || m->type != Type::integer) {
      return "no monomial, or a constant that does not come first";
    }
    if (i > 0 && terms[i - 1].monomial != nullptr && terms[i - 1].monomial->id >= m->id) {
      return "monomials twice, or not in order";
    }
  }
  return "";
}

std::string broken_product(Expr e) {
  const auto factors = e->factors();
  if (factors.empty() || (factors.size() == 1 && factors[0].exponent == 1)) {
    return "a product that is an atom";
  }
  for (std::size_t i = 0; i < factors.size(); ++i) {
    Expr atom = factors[i].atom;
    if (factors[i].exponent == 0 || atom->is_constant() || atom->is(Op::add) || atom->is(Op::mul) ||
        atom->type != Type::integer) {
      return "a factor that is no atom, or to the power 0";
    }
    if (i > 0 && factors[i - 1].atom->id >= atom->id) {
      return "atoms twice, or not in order";
    }
  }
  return "";
}

std::string broken_comparison(Expr e) {
  Expr p = e->operands()[0];
  std::uint64_t g = 0;
  const Terms terms(p);
  for (const Term& t : terms.variable()) {
    g = gcd(g, magnitude(t.coefficient));
  }
  // 2**63 is the magnitude of a coefficient, but no divisor that fits.
  return terms.variable().empty()      ? "a comparison of constants"
         : g != 1 && g != (1ULL << 63) ? "coefficients with a common factor"
                                       : "";
}

std::string broken_list(Expr e) {
  const auto operands = e->operands();
  if (operands.size() < 2) {
    return "fewer than two operands";
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i]->is(e->op) || operands[i]->is(Op::truth)) {
      return "not flat, or a truth value among the operands";
    }
    if (i > 0 && operands[i - 1]->id >= operands[i]->id) {
      return "operands twice, or not in order";
    }
  }
  return "";
}

std::string broken(Expr e) {
  switch (e->op) {
    case Op::add:
      return broken_sum(e);
    case Op::mul:
      return broken_product(e);
    case Op::eq:
    case Op::ge:
      return broken_comparison(e);
    case Op::min:
    case Op::max:
    case Op::logical_and:
    case Op::logical_or:
      return broken_list(e);
    case Op::logical_not:
      return e->operands()[0]->is(Op::eq) ? "" : "a negation of what is no equation";
    case Op::floordiv:
    case Op::mod:
      return e->operands()[1]->is_constant(0) || e->operands()[1]->is_constant(1)
                 ? "a division by 0 or 1"
                 : "";
    case Op::ite:
      return e->operands()[0]->is(Op::truth) || e->operands()[1] == e->operands()[2]
                 ? "a choice that is decided"
                 : "";
    case Op::constant:
    case Op::symbol:
    case Op::truth:
      return "";
    default:
      return "an operator that its builder rewrites";
  }
}

void check_all(Expr root, const Context& context, const std::string& row) {
  std::set<Expr> seen;
  std::vector<Expr> stack{root};
  while (!stack.empty()) {
    Expr e = stack.back();
    stack.pop_back();
    if (seen.insert(e).second) {
      ASSERT_EQ(broken(e), "") << row << ": " << print(e, context);
      for (Expr child : children_of(e)) {
        stack.push_back(child);
      }
    }
  }
}

TEST_F(NormalForm, ClausesHoldOfRandomExpressions) {
  Random random;
  for (const std::int64_t largest : {std::int64_t{8}, kMax}) {
    for (int round = 0; round < 1000 && !HasFatalFailure(); ++round) {
      Forest forest;
      forest.random_integer(random, 3, 4, largest);
      forest.random_truth(random, 3, 4, largest);
      Context context;
      const Range range = random.one_in(2) ? Range::all() : Range{random.between(-2, 2), 6};
      const std::vector<Expr> symbols{context.symbol("a", range), context.symbol("b", range),
                                      context.symbol("c", range)};
      const std::vector<Expr> built = forest.build(Builder(context), symbols);
      for (int i = 0; i < forest.size(); ++i) {
        if (Expr e = built[static_cast<std::size_t>(i)]; e != nullptr) {
          const std::string row = random.row(forest.text(i) + " of " + to_string(range));
          check_all(e, context, row);
          ASSERT_TRUE(parse(context, print(e, context), false) == e)
              << row << " prints as " << print(e, context);
        }
      }
    }
  }
}

// Each check above can fail.
TEST_F(NormalForm, ChecksFindWhatIsBroken) {
  Expr a = context_.find_symbol("a");
  Expr b = context_.find_symbol("b");
  Expr one = context_.integer(1);
  const auto sum = [&](std::vector<Term> terms) { return broken(context_.raw_sum(terms)); };
  const auto product = [&](std::vector<Factor> fs) { return broken(context_.raw_product(fs)); };
  const auto of = [&](Op op, std::vector<Expr> es) { return broken(context_.raw(op, es)); };
  Expr twice = context_.raw_sum(std::vector<Term>{{2, a}});
  Expr both = context_.raw_sum(std::vector<Term>{{1, a}, {1, b}});
  Expr square = context_.raw_product(std::vector<Factor>{{a, 2}});
  Expr equation = context_.raw(Op::eq, std::vector<Expr>{a});
  Expr order = context_.raw(Op::ge, std::vector<Expr>{a});
  EXPECT_EQ(broken(twice) + broken(both) + broken(square) + broken(equation) + broken(order), "");
  EXPECT_EQ(sum({{1, a}}), "a sum that is a constant or a monomial");
  EXPECT_EQ(sum({{1, a}, {0, b}}), "a coefficient of 0");
  EXPECT_EQ(sum({{1, a}, {3, nullptr}}), "no monomial, or a constant that does not come first");
  EXPECT_EQ(sum({{1, a}, {1, twice}}), "no monomial, or a constant that does not come first");
  EXPECT_EQ(sum({{1, b}, {1, a}}), "monomials twice, or not in order");
  EXPECT_EQ(sum({{1, a}, {1, a}}), "monomials twice, or not in order");
  EXPECT_EQ(product({{a, 1}}), "a product that is an atom");
  EXPECT_EQ(product({{a, 1}, {one, 1}}), "a factor that is no atom, or to the power 0");
  EXPECT_EQ(product({{a, 0}, {b, 1}}), "a factor that is no atom, or to the power 0");
  EXPECT_EQ(product({{a, 1}, {both, 1}}), "a factor that is no atom, or to the power 0");
  EXPECT_EQ(product({{b, 1}, {a, 1}}), "atoms twice, or not in order");
  EXPECT_EQ(of(Op::eq, {one}), "a comparison of constants");
  EXPECT_EQ(of(Op::ge, {twice}), "coefficients with a common factor");
  EXPECT_EQ(of(Op::max, {a}), "fewer than two operands");
  EXPECT_EQ(of(Op::min, {b, a}), "operands twice, or not in order");
  EXPECT_EQ(of(Op::logical_and, {equation, context_.boolean(true)}),
            "not flat, or a truth value among the operands");
  EXPECT_EQ(of(Op::logical_not, {order}), "a negation of what is no equation");
  EXPECT_EQ(of(Op::floordiv, {a, one}), "a division by 0 or 1");
  EXPECT_EQ(of(Op::ite, {equation, b, b}), "a choice that is decided");
  EXPECT_EQ(of(Op::sub, {a, b}), "an operator that its builder rewrites");
}

}  // namespace
}  // namespace massless::sym
