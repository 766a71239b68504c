// Printing and parsing: rows of text.
#include "sym/text.h"

#include <gtest/gtest.h>

#include <algorithm>

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
    {"s == min(s, 64)", "s <= 64"},
    {"s != min(s, 64)", "s >= 65"},
    {"max(s, b) == b", "b >= s"},
    {"x == min(x, 5, y)", "x <= 5 and y >= x"},
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
    {"-9223372036854775808*x", "-9223372036854775808*x"},
    {"b + -9223372036854775808*s", "b + -9223372036854775808*s"},
    {"-9223372036854775808*x >= 1", "-9223372036854775808*x - 1 >= 0"},
    {"y - x + -9223372036854775808 >= 0", "y - x + -9223372036854775808 >= 0"},
    {"x - 9223372036854775807 != 1", "x + -9223372036854775808 != 0"},
    {"-9223372036854775808//n", "-9223372036854775808//n"},
    {"9223372036854775807 + 1 - 1", "9223372036854775807"},
    {"1 - 1 + 9223372036854775807", "9223372036854775807"},
    {"9223372036854775807*x + x - x", "9223372036854775807*x"},
    // runs of one operator
    {"h - b + s - 1 - h", "s - b - 1"},
    {"s - (b - h)", "h - b + s"},
    {"s*2*b*3 // 4 * 2", "2*(3*b*s//2)"},
    {"s + 1 + 2.5", "fadd(float(s + 1), 2.5)"},
    {"2.5 + s - 1", "fsub(fadd(2.5, float(s)), 1.0)"},
    {"2*s*2.5*b", "fmul(fmul(float(2*s), 2.5), float(b))"},
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
      {"s + 1 + (b == 1)", "column 7: add takes an integer as operand 2"},
      {"s == 1 and b and h", "column 8: logical_and takes a truth value as operand 2"},
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

TEST(Text, ItsOwnWordsAreNoNames) {
  Context context;
  for (const char* word : {"True", "False", "and", "or", "not", "nan", "inf"}) {
    EXPECT_THROW(context.symbol(word), SymError) << word;
  }
  for (const char* name : {"max", "nan1", "Inf", "true", "_", "layer.0.size"}) {
    Expr made = parse(context, name);
    EXPECT_EQ(print(made, context), name);
    EXPECT_EQ(made, context.find_symbol(name)) << name;
  }
}

// A run is built at once: the work and what is kept grow with its length, not with its square.
TEST(Text, LongRunsTakeMemoryByTheirLength) {
  constexpr int kLength = 5000;
  constexpr std::size_t kBytesEach = 1000;
  for (const char* op : {" + ", " - ", "*", " and ", " or "}) {
    const bool truths = std::string(op).find_first_of("ao") != std::string::npos;
    std::string text = truths ? "s0 == 7" : "s0";
    for (int i = 1; i < kLength; ++i) {
      text += op + ("s" + std::to_string(i)) + (truths ? " == 7" : "");
    }
    Context context;
    Expr e = parse(context, text);
    EXPECT_TRUE(parse(context, print(e, context), false) == e) << op;
    EXPECT_TRUE(truths || print(e, context) == text) << op;
    EXPECT_LT(context.memory(), kBytesEach * kLength) << op;
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

}  // namespace
}  // namespace massless::sym
