// Facts: a scenario a row. "name lo hi; ..." symbols, facts, then questions with their answers.
#include "sym/facts.h"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "sym/text.h"

namespace massless::sym {
namespace {

struct Answer {
  const char* question;
  Truth truth;
};

struct Scenario {
  const char* symbols;  // "b s h": sizes; "b+": positive; "b2": at least 2
  std::vector<const char*> facts;
  std::vector<Answer> answers;
};

constexpr Truth kYes = Truth::yes;
constexpr Truth kNo = Truth::no;
constexpr Truth kUnknown = Truth::unknown;

std::vector<Scenario> scenarios_of_structure() {
  return {
      // A row of unknowns: what is not said is not guessed.
      {"b s", {}, {{"b == s", kUnknown}, {"b >= 1", kUnknown}, {"b % 2 == 0", kUnknown}}},
      // By structure and declared ranges.
      {"b s h+",
       {},
       {{"b*s*h == h*s*b", kYes},
        {"b >= 0", kYes},
        {"b + s >= b", kYes},
        {"b < 0", kNo},
        {"h != 0", kYes},
        {"b*s*h % h == 0", kYes},
        {"(b*s*h)//h == b*s", kYes},
        {"b*s == 0", kUnknown}}},
      {"b2 s2", {}, {{"b*s >= 4", kYes}, {"b*s == 3", kNo}, {"max(1, b) == b", kYes}}},
      // Equalities replace, and carry the ranges over.
      {"b s", {"b == 2*s"}, {{"b % 2 == 0", kYes}, {"b >= s", kYes}, {"b == 3*s", kUnknown}}},
      {"b2 s", {"s == b"}, {{"s >= 2", kYes}, {"s == b", kYes}, {"b*s == s*s", kYes}}},
      {"b s t", {"b == s", "s == t"}, {{"b == t", kYes}, {"b + s == 2*t", kYes}}},
      // Two inequalities meet.
      {"b s", {"b <= s", "b >= s"}, {{"b == s", kYes}}},
      {"b", {"b <= 5", "b >= 5"}, {{"b == 5", kYes}, {"b*b == 25", kYes}}},
  };
}

std::vector<Scenario> scenarios_of_reasoning() {
  return {
      // Linear reasoning over several facts.
      {"a b c", {"a <= b", "b <= c"}, {{"a <= c", kYes}, {"a > c", kNo}, {"c <= a", kUnknown}}},
      {"a b c", {"a + 2*b <= 10", "b >= c", "c >= 3"}, {{"a <= 4", kYes}, {"a == 5", kNo}}},
      {"a b", {"2*a + 3*b == 12"}, {{"a <= 6", kYes}, {"b <= 4", kYes}, {"a == 7", kNo}}},
      // Divisibility.
      {"s",
       {"s % 8 == 0"},
       {{"s % 4 == 0", kYes},
        {"(s + 4) % 8 == 4", kYes},
        {"s == 12", kNo},
        {"(s//8)*8 == s", kYes},
        {"s % 16 == 0", kUnknown}}},
      {"s", {"s % 4 == 0", "s % 6 == 0"}, {{"s % 12 == 0", kYes}, {"s == 18", kNo}}},
      // What defines the atoms.
      {"s",
       {},
       {{"(s//8)*8 <= s", kYes},
        {"(s//8)*8 + s % 8 == s", kYes},
        {"s % 8 <= 7", kYes},
        {"min(s, 5) <= s", kYes},
        {"max(s, 5) >= s", kYes},
        {"min(s, 5) == 5", kUnknown}}},
      {"s", {"s//8 >= 2"}, {{"s >= 16", kYes}, {"s >= 17", kUnknown}}},
      {"s t", {"min(s, t) >= 3"}, {{"s >= 3", kYes}, {"t >= 3", kYes}}},
      {"s t", {}, {{"max(s, t) <= s + t", kYes}, {"min(s, t) >= 0", kYes}}},
      // Disequalities tighten an end, and combine.
      {"s", {"s != 0"}, {{"s >= 1", kYes}, {"max(1, s) == s", kYes}, {"s != 1", kUnknown}}},
      {"s", {"s != 0", "s != 1"}, {{"s >= 2", kYes}}},
      // Disjunctions shrink when a part is ruled out.
      {"s t", {"s == 0 or t == 0", "s >= 1"}, {{"t == 0", kYes}}},
      {"b s", {"b*s == 0", "b >= 1"}, {{"s == 0", kYes}}},
      // Rows of the two rival faults (../shared/style.md): an even power, numbers near 2^60.
      {"a", {"a <= 4"}, {{"((a - 10)//3)**2 >= 9", kUnknown}, {"((a - 10)//3)**2 >= 4", kYes}}},
      {"a",
       {},
       {{"a + 1152921504606846977 > a + 1152921504606846976", kYes},
        {"1152921504606846977*a == 1152921504606846976*a", kUnknown}}},
  };
}

void declare(Context& context, const std::string& symbols) {
  std::istringstream names(symbols);
  for (std::string name; names >> name;) {
    Range range{0, Range::kPlusInf};
    if (name.back() == '+' || name.back() == '2') {
      range.lo = name.back() == '+' ? 1 : 2;
      name.pop_back();
    }
    context.symbol(name, range);
  }
}

void check(const std::vector<Scenario>& scenarios) {
  for (const Scenario& scenario : scenarios) {
    Context context;
    Facts facts(context);
    declare(context, scenario.symbols);
    std::string told = std::string(scenario.symbols) + " |";
    for (const char* fact : scenario.facts) {
      told += std::string(" ") + fact + ";";
      EXPECT_NE(facts.assume(parse(context, fact, false)), Truth::no) << told;
    }
    for (const Answer& answer : scenario.answers) {
      EXPECT_EQ(facts.prove(parse(context, answer.question, false)), answer.truth)
          << told << " " << answer.question;
    }
  }
}

TEST(Facts, Structure) { check(scenarios_of_structure()); }
TEST(Facts, Reasoning) { check(scenarios_of_reasoning()); }

TEST(Facts, AContradictionChangesNothing) {
  Context context;
  Facts facts(context);
  declare(context, "a b");
  EXPECT_EQ(facts.assume(parse(context, "a <= b")), Truth::unknown);
  EXPECT_EQ(facts.assume(parse(context, "a == b + 1")), Truth::no);
  EXPECT_EQ(facts.assume(parse(context, "a <= b + 3")), Truth::yes);
  EXPECT_EQ(facts.prove(parse(context, "a == b")), Truth::unknown);
  EXPECT_EQ(facts.assumed().size(), 1U);
}

TEST(Facts, AnOverflowIsUnknown) {
  Context context;
  Facts facts(context);
  declare(context, "a b");
  Expr big = parse(context, "9000000000000000000*a >= b");
  EXPECT_NE(facts.prove(big), Truth::no);
  EXPECT_EQ(facts.prove(parse(context, "9000000000000000000*a + b >= 1 - 9000000000000000000*b")),
            Truth::unknown);
}

TEST(Facts, AHundredThousandDeep) {
  Context context;
  Facts facts(context);
  declare(context, "s");
  Builder build(context);
  const auto deep = [&](int depth) {
    Expr e = context.find_symbol("s");
    for (int i = 0; i < depth; ++i) {
      e = build.floordiv(build.add(build.mul(e, build.integer(3)), build.integer(1)),
                         build.integer(2));
    }
    return e;
  };
  EXPECT_EQ(facts.prove(build.ge(deep(100000), build.integer(0))), Truth::yes);
  // A fact walks its expression once for each consequence, so a tenth of the depth here.
  Expr e = deep(10000);
  EXPECT_EQ(facts.assume(build.ge(e, build.integer(5))), Truth::unknown);
  EXPECT_GE(facts.range(facts.simplify(e)).lo, 5);
}

}  // namespace
}  // namespace massless::sym
