// Printing and parsing: rows of text.
#include "sym/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>

#include "sym/build.h"
#include "sym/evaluate.h"

namespace massless::sym {
namespace {

struct Row {
  const char* input;
  const char* printed;
};

// b s h t: sizes from 0; n: from 2; x y: any integer.
void declare(Context& context) {
  for (const char* name : {"b", "s", "h", "t"}) {
    context.symbol(name, {0, Range::kPlusInf});
  }
  context.symbol("n", {2, Range::kPlusInf});
  context.symbol("x");
  context.symbol("y");
}

const Row kRows[] = {
    // sums and products
    {"s + s", "2*s"},
    {"s - s", "0"},
    {"2*(s + 1)", "2*s + 2"},
    {"s*s", "s**2"},
    {"(s + 1)*(s - 1)", "s**2 - 1"},
    {"(s + 1)**3", "s**3 + 3*s**2 + 3*s + 1"},
    {"s**0", "1"},
    {"-s + 1", "1 - s"},
    {"-s - 1", "-s - 1"},
    {"-(s*b)", "-b*s"},
    {"s*b + b*2", "b*s + 2*b"},
    {"0*s", "0"},
    // floor division
    {"(4*s + 2)//2", "2*s + 1"},
    {"(s//2)//3", "s//6"},
    {"((s - 1)//2 + 1 - 1)//2 + 1", "(s + 3)//4"},
    {"(6*s + 3)//9", "(2*s + 1)//3"},
    {"s//1", "s"},
    {"s//-1", "-s"},
    {"s//-2", "(-s)//2"},
    {"-(s//2)", "-(s//2)"},
    {"2*(s//3)", "2*(s//3)"},
    {"(s//3)*b", "b*(s//3)"},
    {"b*s*n//n", "b*s"},
    {"b*s//s", "b*s//s"},
    {"b*s*n//(s*n)", "b*s//s"},
    {"(b*n + s)//n", "b + s//n"},
    {"(n*n + n)//(n + 1)", "n"},
    {"0//n", "0"},
    {"7//2", "3"},
    {"-7//2", "-4"},
    {"b//(s//n)", "b//(s//n)"},
    // modulo
    {"(6*s) % 3", "0"},
    {"(6*s + 5) % 3", "2"},
    {"(s + 7) % 4", "(s + 3)%4"},
    {"(2*s) % 4", "2*(s%2)"},
    {"(s % 8) % 4", "s%4"},
    {"b*n % n", "0"},
    {"-s % 2", "s%2"},
    {"7 % -2", "-1"},
    // choices
    {"max(s, 0)", "s"},
    {"max(1, n)", "n"},
    {"max(s, s + 2)", "s + 2"},
    {"max(s, b, 3, max(h, 2))", "max(3, b, h, s)"},
    {"min(s, s)", "s"},
    {"abs(x)", "max(x, -x)"},
    {"abs(s)", "s"},
    {"ceildiv(s, 4)", "(s + 3)//4"},
    {"ite(s >= 0, b, h)", "b"},
    {"ite(s >= 1, b, h)", "ite(s >= 1, b, h)"},
    // comparisons
    {"s >= 0", "True"},
    {"s < 0", "False"},
    {"s >= 3", "s >= 3"},
    {"s > 3", "s >= 4"},
    {"s <= 3", "s <= 3"},
    {"not s >= 3", "s <= 2"},
    {"2*b < 2*s", "s >= b + 1"},
    {"2*b + 1 == 2*s", "False"},
    {"2*b + 3*s <= 10", "2*b + 3*s <= 10"},
    {"s*2 + 1 == s + 3", "s == 2"},
    {"s == b", "b == s"},
    {"b != s", "b != s"},
    {"b*s == 0", "s == 0 or b == 0"},
    {"n*s == 0", "s == 0"},
    {"n*s == n*b", "b == s"},
    {"n == 1", "False"},
    {"x == y + 1", "x == y + 1"},
    {"x**2 >= 0", "True"},
    // truth
    {"True and s == 1", "s == 1"},
    {"False and s == 1", "False"},
    {"s == 1 or not s == 1", "True"},
    {"s == 1 and s != 1", "False"},
    {"not (s >= 3 and b == 2)", "s <= 2 or b != 2"},
    {"(s == 1 or b == 2) and h == 3", "h == 3 and (b == 2 or s == 1)"},
    // edges of 64 bits
    {"9223372036854775807", "9223372036854775807"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"s + 9223372036854775807", "s + 9223372036854775807"},
    // reals
    {"2.5", "2.5"},
    {"s/2", "truediv(s, 2)"},
    {"2.5*s", "fmul(2.5, float(s))"},
    {"1e300*1e300", "inf"},
    {"-0.0", "-0.0"},
};

TEST(Text, Rows) {
  for (const Row& row : kRows) {
    Context context;
    declare(context);
    Expr e = parse(context, row.input, false);
    EXPECT_EQ(print(e, context), row.printed) << row.input;
    EXPECT_EQ(parse(context, print(e, context), false), e)
        << row.input << " -> " << print(e, context);
  }
}

// The same text whatever was made first.
TEST(Text, DoesNotDependOnTheOrderOfCreation) {
  std::vector<std::string> inputs;
  for (const Row& row : kRows) {
    inputs.emplace_back(row.input);
  }
  Context there;
  declare(there);
  Context back;
  for (const char* name : {"y", "x"}) {
    back.symbol(name);
  }
  back.symbol("n", {2, Range::kPlusInf});
  for (const char* name : {"t", "h", "s", "b"}) {
    back.symbol(name, {0, Range::kPlusInf});
  }
  std::vector<std::string> first;
  for (const std::string& input : inputs) {
    first.push_back(print(parse(there, input, false), there));
  }
  for (std::size_t i = inputs.size(); i-- > 0;) {
    EXPECT_EQ(print(parse(back, inputs[i], false), back), first[i]) << inputs[i];
  }
}

TEST(Text, WhatIsNoExpressionIsAnErrorWithItsColumn) {
  const Row wrong[] = {
      {"", "column 1: a number, a name"},
      {"s +", "column 4: a number, a name"},
      {"s s", "column 3: an operator was expected"},
      {"(s", "column 1: a parenthesis is not closed"},
      {"s)", "column 2: \")\" without an opening parenthesis"},
      {"s, b", "column 2: \",\" without an opening parenthesis"},
      {"(s, b)", "column 3: a comma outside of a function's operands"},
      {"f(s)", "column 1: there is no function \"f\""},
      {"max()", "column 5: a number, a name"},
      {"ite(s, b)", "column 1: ite takes 3 operands"},
      {"s < b < h", "column 7: comparisons do not chain"},
      {"unknown + 1", "column 1: there is no symbol \"unknown\""},
      {"99999999999999999999", "column 1: the number 99999999999999999999 does not fit"},
      {"s ** b", "column 3: the exponent of a power is a symbol"},
      {"s ** -1", "column 3: the power -1"},
      {"s and b", "column 3: logical_and takes a truth value"},
      {"s ? b", "column 3: an operator was expected, found \"?\""},
      {"$", "column 1: a number, a name"},
  };
  for (const Row& row : wrong) {
    Context context;
    declare(context);
    try {
      ADD_FAILURE() << row.input << " -> " << print(parse(context, row.input, false), context);
    } catch (const SymError& error) {
      EXPECT_EQ(error.code(), ErrorCode::sym_parse) << row.input;
      EXPECT_NE(std::string(error.what()).find(row.printed), std::string::npos)
          << row.input << ": " << error.what();
    }
  }
}

TEST(Text, AHundredThousandDeep) {
  constexpr int kDepth = 100000;
  Context context;
  declare(context);
  std::string nested;
  for (int i = 0; i < kDepth; ++i) {
    nested += "(";
  }
  nested += "s";
  for (int i = 0; i < kDepth; ++i) {
    nested += ")";
  }
  EXPECT_EQ(print(parse(context, nested, false), context), "s");
  Builder build(context);
  Expr e = context.find_symbol("s");
  for (int i = 0; i < kDepth; ++i) {
    e = build.floordiv(build.add(e, build.integer(1)), context.find_symbol("n"));
  }
  const std::string text = print(e, context);
  EXPECT_EQ(parse(context, text, false), e);
  EXPECT_EQ(symbols_of(e).size(), 2U);
  EXPECT_EQ(std::get<std::int64_t>(evaluate(e, [](std::uint32_t) { return 3; })), 0);
  Expr swapped = substitute(e, build, [&](Expr symbol) {
    return symbol == context.find_symbol("s") ? context.find_symbol("b") : nullptr;
  });
  EXPECT_NE(swapped, e);
  std::string negations;
  for (int i = 0; i < kDepth; ++i) {
    negations += "not ";
  }
  EXPECT_EQ(print(parse(context, negations + "s == 1", false), context), "s == 1");
}

// The examples in the comment of ops.h are true.
TEST(Text, SignConventionsAreAsWritten) {
  std::ifstream file(std::string(MASSLESS_SYM_DATA) + "/../../../src/sym/ops.h");
  ASSERT_TRUE(file.good());
  const std::regex example(R"((-?\d+ (?://|%|\*\*) -?\d+|ceildiv\([-\d, ]+\)) == (-?\d+))");
  int found = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("//   ", 0) != 0) {
      continue;
    }
    for (std::sregex_iterator it(line.begin() + 2, line.end(), example), end; it != end; ++it) {
      Context context;
      EXPECT_TRUE(parse(context, it->str())->is_true()) << it->str();
      ++found;
    }
  }
  EXPECT_GE(found, 7);
}

}  // namespace
}  // namespace massless::sym
