// Walks over expressions: values at points, substitution, symbols. The values of random trees are
// compared in rewrite_test.cc; here the rows that say why there is no value, and the edges.
#include "sym/evaluate.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "sym/facts.h"
#include "sym/random.h"
#include "sym/real.h"
#include "sym/text.h"
#include "sym/tree.h"

namespace massless::sym {
namespace {

constexpr std::int64_t kMin = Range::kMinusInf;
constexpr std::int64_t kMax = Range::kPlusInf;

using Point = std::map<std::string, std::int64_t>;

// The names of `at` are bound; others of the text are not.
Value value_of(const std::string& text, const Point& at) {
  Context context;
  Expr e = parse(context, text);
  return evaluate(e, [&](std::uint32_t i) {
    const auto found = at.find(context.symbols()[i].name);
    return found == at.end() ? std::nullopt : std::optional(found->second);
  });
}

struct Row {
  const char* text;
  Point at;
  Value value;
};

Value number(std::int64_t v) { return v; }

TEST(Evaluate, Rows) {
  const Row rows[] = {
      {"7", {}, number(7)},
      {"a*b + 2*a - 3", {{"a", 5}, {"b", -2}}, number(-3)},
      {"a**3 // b", {{"a", -2}, {"b", 3}}, number(-3)},
      {"a**3 % b", {{"a", -2}, {"b", 3}}, number(1)},
      {"min(a, b, 4)", {{"a", 5}, {"b", 9}}, number(4)},
      {"max(a, b, -4)", {{"a", -5}, {"b", -9}}, number(-4)},
      {"ite(a >= b, a, b)", {{"a", 5}, {"b", 9}}, number(9)},
      {"a == b", {{"a", 5}, {"b", 5}}, number(1)},
      {"a != b", {{"a", 5}, {"b", 5}}, number(0)},
      {"a < b and b < c", {{"a", 1}, {"b", 2}, {"c", 3}}, number(1)},
      {"a < b or b < c", {{"a", 2}, {"b", 2}, {"c", 2}}, number(0)},
      // No value, and why.
      {"a + b", {{"a", 1}}, NoValue::unbound_symbol},
      {"a // b", {{"a", 1}, {"b", 0}}, NoValue::division_by_zero},
      {"a % b", {{"a", 1}, {"b", 0}}, NoValue::division_by_zero},
      {"a + 1", {{"a", kMax}}, NoValue::overflow},
      {"a*b", {{"a", kMax}, {"b", 2}}, NoValue::overflow},
      {"a**3", {{"a", kMin}}, NoValue::overflow},
      {"a // b", {{"a", kMin}, {"b", -1}}, NoValue::overflow},
      {"sqrt(float(a))", {{"a", -1}}, NoValue::domain},
      // Of what has no value nothing has, but what does not need it.
      {"2*(a // b) + c", {{"a", 1}, {"b", 0}, {"c", 1}}, NoValue::division_by_zero},
      {"b != 0 and a // b == 1", {{"a", 1}, {"b", 0}}, number(0)},
      {"a // b == 1 and b != 0", {{"a", 1}, {"b", 0}}, number(0)},
      {"b == 0 or a // b == 1", {{"a", 1}, {"b", 0}}, number(1)},
      {"b == 0 and a // b == 1", {{"a", 1}, {"b", 0}}, NoValue::division_by_zero},
      {"ite(b == 0, a, a // b)", {{"a", 7}, {"b", 0}}, number(7)},
      {"ite(a // b == 0, a, b)", {{"a", 7}, {"b", 0}}, NoValue::division_by_zero},
      {"ite(c >= 0, a, 2*a)", {{"a", 7}}, NoValue::unbound_symbol},
      // The ends of 64 bits: only what does not fit at last overflows.
      {"a + b + c", {{"a", kMax}, {"b", kMax}, {"c", kMin}}, number(kMax - 1)},
      {"2*a - b", {{"a", kMax}, {"b", kMax}}, number(kMax)},
      {"a - b", {{"a", kMin}, {"b", kMin}}, number(0)},
      {"a*b*c", {{"a", kMax}, {"b", kMax}, {"c", 0}}, number(0)},
      {"a % b", {{"a", kMin}, {"b", -1}}, number(0)},
      {"a % b", {{"a", kMin}, {"b", kMax}}, number(kMax - 1)},
      {"a % b", {{"a", kMax}, {"b", kMin}}, number(-1)},
      {"a // b", {{"a", kMin}, {"b", kMin}}, number(1)},
      {"a**2", {{"a", -3037000499}}, number(9223372030926249001)},
      {"a**4294967295", {{"a", -1}}, number(-1)},
      {"a**4294967294", {{"a", -1}}, number(1)},
      {"a**4294967295", {{"a", 0}}, number(0)},
      {"a**63", {{"a", 2}}, NoValue::overflow},
      {"a**63", {{"a", -2}}, number(kMin)},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(value_of(row.text, row.at), row.value) << row.text;
  }
}

TEST(Evaluate, RealsAreAsPythons) {
  const auto real = [](const char* text, const Point& at) {
    return print_real(bits_to_real(std::get<std::int64_t>(value_of(text, at))));
  };
  EXPECT_EQ(real("a / b", {{"a", 1}, {"b", 3}}), "0.3333333333333333");
  EXPECT_EQ(real("sqrt(float(a)) * 2.0", {{"a", 2}}), "2.8284271247461903");
  EXPECT_EQ(value_of("round(a / 2)", {{"a", 5}}), number(2));
  EXPECT_EQ(value_of("floor(a / 2) * 3", {{"a", -5}}), number(-9));
  EXPECT_EQ(value_of("a / b", {{"a", 1}, {"b", 0}}), Value(NoValue::domain));
}

class Substitute : public testing::Test {
 protected:
  Expr read(const std::string& text) { return parse(context_, text); }
  std::string replaced(const std::string& text, const std::map<std::string, std::string>& by) {
    const Builder build(context_);
    std::map<Expr, Expr> nodes;
    for (const auto& [name, value] : by) {
      nodes[read(name)] = read(value);
    }
    return print(substitute(read(text), build,
                            [&](Expr symbol) -> Expr {
                              const auto found = nodes.find(symbol);
                              return found == nodes.end() ? nullptr : found->second;
                            }),
                 context_);
  }
  Context context_;
};

TEST_F(Substitute, RebuildsInNormalForm) {
  EXPECT_EQ(replaced("a*b + 2*a", {{"a", "3"}}), "3*b + 6");
  EXPECT_EQ(replaced("(a + b)**2", {{"a", "-b"}}), "0");
  EXPECT_EQ(replaced("a // 4", {{"a", "8*b + 3"}}), "2*b");
  EXPECT_EQ(replaced("a % b", {{"a", "17"}, {"b", "5"}}), "2");
  EXPECT_EQ(replaced("max(a, b)", {{"a", "b - 1"}}), "b");
  EXPECT_EQ(replaced("ite(a >= b, c, d)", {{"a", "b"}}), "c");
  EXPECT_EQ(replaced("a >= 3 and b == 2", {{"a", "7"}}), "b == 2");
  EXPECT_EQ(replaced("not a == b", {{"a", "b"}}), "False");
  EXPECT_EQ(replaced("truediv(a, b)", {{"a", "1"}, {"b", "4"}}), "0.25");
}

// All at once: what is put in is not replaced again.
TEST_F(Substitute, ReplacesAllAtOnce) {
  EXPECT_EQ(replaced("a - 2*b", {{"a", "b"}, {"b", "a"}}), "b - 2*a");
  EXPECT_EQ(replaced("a", {{"a", "a + 1"}}), "a + 1");
}

TEST_F(Substitute, KeepsWhatDoesNotChange) {
  const Builder build(context_);
  Expr kept = read("(c + d) // (c*d)");
  Expr e = read("a + (c + d) // (c*d)");
  const std::size_t before = context_.size();
  EXPECT_EQ(substitute(e, build, [](Expr) { return nullptr; }), e);
  EXPECT_EQ(substitute(kept, build, [&](Expr s) { return s == read("a") ? read("b") : nullptr; }),
            kept);
  EXPECT_EQ(context_.size(), before) << "nothing is made";
  Expr changed = substitute(e, build, [&](Expr s) { return s == read("a") ? read("b") : nullptr; });
  EXPECT_EQ(changed, build.add(read("b"), kept));
}

TEST_F(Substitute, TellsWhatHasNoValue) {
  EXPECT_THROW(replaced("a // b", {{"b", "0"}}), SymError);
  EXPECT_THROW(replaced("a*b", {{"a", "9223372036854775807"}, {"b", "2"}}), SymError);
}

// At every point: put the numbers in, and what is left is the value.
TEST_F(Substitute, OfNumbersIsTheValue) {
  Random random;
  const std::vector<Range> box(3, Range{-4, 4});
  int compared = 0;
  for (int round = 0; round < 300 && !HasFailure(); ++round) {
    Forest forest;
    forest.random_integer(random, 3, 4, 6);
    forest.random_truth(random, 3, 4, 6);
    Context context;
    const Builder build(context);
    const std::vector<Expr> symbols{context.symbol("a"), context.symbol("b"), context.symbol("c")};
    const std::vector<Expr> built = forest.build(build, symbols);
    for (const auto& point : points_of(random, box, 10)) {
      const auto at = [&](std::uint32_t i) { return std::optional(point[i]); };
      for (Expr e : built) {
        const Value value = e == nullptr ? NoValue::overflow : evaluate(e, at);
        const auto* const v = std::get_if<std::int64_t>(&value);
        if (v == nullptr) {
          continue;
        }
        try {
          Expr now = substitute(e, build, [&](Expr s) { return build.integer(*at(s->symbol())); });
          EXPECT_TRUE(now ==
                      (e->type == Type::boolean ? build.boolean(*v != 0) : build.integer(*v)))
              << random.row(point_text(box, point)) << print(e, context);
          ++compared;
        } catch (const SymError&) {
          continue;  // an operand that is not needed has no value, or a step does not fit
        }
      }
    }
  }
  EXPECT_GT(compared, 10000);
}

TEST(SymbolsOf, AreEachOnceInOrder) {
  Context context;
  for (const char* name : {"a", "b", "c", "d"}) {
    context.symbol(name);
  }
  EXPECT_EQ(symbols_of(parse(context, "d*a + ite(c >= a, d, 2)")),
            (std::vector<std::uint32_t>{0, 2, 3}));
  EXPECT_EQ(symbols_of(parse(context, "b/2 >= 1.5")), (std::vector<std::uint32_t>{1}));
  EXPECT_TRUE(symbols_of(parse(context, "7")).empty());
  EXPECT_TRUE(symbols_of(parse(context, "b - b")).empty());
}

// Every walk over a chain of 100,000 operators, by an explicit stack.
class Deep : public testing::Test {
 protected:
  static constexpr int kDepth = 100000;
  Deep()
      : build_(context_), s_(context_.symbol("s", {0, 1000})), n_(context_.symbol("n", {2, 9})) {}

  // ite(s == n, (... + 1) // n, ...) shares nothing but s and n between the levels.
  Expr chain() {
    Expr e = s_;
    for (int i = 0; i < kDepth; ++i) {
      e = i % 2 == 0 ? build_.floordiv(build_.add(e, build_.integer(i % 7 + 1)), n_)
                     : build_.ite(build_.ge(e, n_), s_, e);
    }
    return e;
  }
  Context context_;
  Builder build_;
  Expr s_;
  Expr n_;
};

TEST_F(Deep, ValueSymbolsAndSubstitution) {
  Expr e = chain();
  EXPECT_EQ(symbols_of(e), (std::vector<std::uint32_t>{0, 1}));
  const Value value = evaluate(e, [&](std::uint32_t i) { return std::optional(i == 0 ? 5L : 3L); });
  ASSERT_TRUE(std::holds_alternative<std::int64_t>(value));
  Expr t = context_.symbol("t", {0, 1000});
  Expr swapped = substitute(e, build_, [&](Expr symbol) { return symbol == s_ ? t : nullptr; });
  EXPECT_EQ(symbols_of(swapped), (std::vector<std::uint32_t>{1, 2}));
  Expr back = substitute(swapped, build_, [&](Expr symbol) { return symbol == t ? s_ : nullptr; });
  EXPECT_EQ(back, e);
  Expr number =
      substitute(e, build_, [&](Expr symbol) { return build_.integer(symbol == s_ ? 5 : 3); });
  EXPECT_TRUE(number->is_constant(std::get<std::int64_t>(value)));
}

TEST_F(Deep, SimplifyRangeAndProve) {
  Expr e = chain();
  Facts facts(context_);
  facts.assume(build_.eq(s_, build_.integer(5)));
  Expr simple = facts.simplify(e);
  const auto at = [](std::uint32_t i) { return std::optional(std::int64_t{i == 0 ? 5 : 3}); };
  EXPECT_EQ(evaluate(simple, at), evaluate(e, at));
  EXPECT_TRUE(facts.range(e).contains(std::get<std::int64_t>(evaluate(e, at))));
  EXPECT_NE(facts.prove(build_.ge(e, build_.integer(-1))), Truth::no);
}

TEST_F(Deep, Truths) {
  Expr e = build_.eq(s_, build_.integer(0));
  for (int i = 1; i < kDepth; ++i) {
    const std::array<Expr, 2> both{e, build_.eq(s_, build_.integer(i % 900))};
    e = i % 2 == 0 ? build_.logical_and(both) : build_.logical_or(both);
  }
  Expr opposite = build_.logical_not(e);
  EXPECT_EQ(build_.logical_not(opposite), e);
  const auto at = [](std::uint32_t) { return std::optional(std::int64_t{7}); };
  EXPECT_NE(evaluate(e, at), evaluate(opposite, at));
  EXPECT_EQ(parse(context_, print(e, context_), false), e);
}

}  // namespace
}  // namespace massless::sym
