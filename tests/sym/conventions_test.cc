// The sign conventions, read from the comment of ops.h: what it says is what the engine does.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "sym/evaluate.h"
#include "sym/range.h"
#include "sym/text.h"

namespace massless::sym {
namespace {

// The lines of the comment that begins with `heading`.
std::vector<std::string> comment_of(const std::string& heading) {
  std::ifstream file(std::string(MASSLESS_SYM_DATA) + "/../../../src/sym/ops.h");
  std::vector<std::string> lines;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    inside = line.rfind("//", 0) == 0 && (inside || line.find(heading) != std::string::npos);
    if (inside) {
      lines.push_back(line.substr(2));
    }
  }
  return lines;
}

// All matches of `pattern` in the comment.
std::vector<std::string> found_in(const std::vector<std::string>& lines, const char* pattern) {
  const std::regex wanted(pattern);
  std::vector<std::string> all;
  for (const std::string& line : lines) {
    for (std::sregex_iterator it(line.begin(), line.end(), wanted), end; it != end; ++it) {
      all.push_back(it->str());
    }
  }
  return all;
}

const char* const kHeading = "Sign conventions";
const char* const kExample = R"((-?\d+ (?://|%|\*\*) -?\d+|ceildiv\(-?\d+, -?\d+\)) == -?\d+)";

std::vector<std::pair<std::string, std::string>> examples() {
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string& text : found_in(comment_of(kHeading), kExample)) {
    const auto middle = text.find(" == ");
    all.emplace_back(text.substr(0, middle), text.substr(middle + 4));
  }
  return all;
}

TEST(Conventions, ExamplesHoldForConstants) {
  int found = 0;
  for (const auto& [written, value] : examples()) {
    Context context;
    EXPECT_EQ(print(parse(context, written), context), value) << written;
    ++found;
  }
  EXPECT_EQ(found, 7) << "an example of ops.h is not read any more, or a new one is not counted";
}

// The same by evaluation: the operands are symbols, so that nothing is folded.
TEST(Conventions, ExamplesHoldForSymbols) {
  const std::regex number(R"(-?\d+)");
  for (const auto& [written, value] : examples()) {
    if (written.find("**") != std::string::npos) {
      continue;  // an exponent is no symbol
    }
    std::vector<std::int64_t> operands;
    for (std::sregex_iterator it(written.begin(), written.end(), number), end; it != end; ++it) {
      operands.push_back(std::stoll(it->str()));
    }
    ASSERT_EQ(operands.size(), 2U) << written;
    const std::string first =
        std::regex_replace(written, number, "x", std::regex_constants::format_first_only);
    const std::string text = std::regex_replace(first, std::regex(R"(-?\d+)"), "y");
    Context context;
    context.symbol("x");
    context.symbol("y");
    const Value found = evaluate(parse(context, text, false), [&](std::uint32_t i) {
      return std::optional(operands[static_cast<std::size_t>(i)]);
    });
    EXPECT_EQ(found, Value(std::int64_t{std::stoll(value)})) << written << " as " << text;
  }
}

// "a == (a // b) * b + a % b" and "ceildiv(a, b) == -((-a) // b)", over a box.
TEST(Conventions, IdentitiesHold) {
  const auto lines = comment_of(kHeading);
  const auto identities =
      found_in(lines, R"(a == \(a // b\) \* b \+ a % b|ceildiv\(a, b\)  == -\(\(-a\) // b\))");
  ASSERT_EQ(identities.size(), 2U);
  Context context;
  context.symbol("a");
  context.symbol("b");
  for (const std::string& identity : identities) {
    const auto middle = identity.find("==");
    Expr left = parse(context, identity.substr(0, middle), false);
    Expr right = parse(context, identity.substr(middle + 2), false);
    for (std::int64_t a = -12; a <= 12; ++a) {
      for (std::int64_t b = -6; b <= 6; ++b) {
        const auto at = [&](std::uint32_t i) { return std::optional(i == 0 ? a : b); };
        const Value l = evaluate(left, at);
        const Value r = evaluate(right, at);
        const bool valued = std::holds_alternative<std::int64_t>(r);
        EXPECT_EQ(valued, b != 0) << identity << " at " << a << ", " << b;
        EXPECT_TRUE(!valued || l == r) << identity << " at " << a << ", " << b;
      }
    }
  }
}

TEST(Conventions, ADivisionByZeroHasNoValue) {
  ASSERT_EQ(found_in(comment_of(kHeading), R"(a // 0, a % 0: no value)").size(), 1U);
  Context context;
  context.symbol("a");
  context.symbol("b");
  for (const char* text : {"a // 0", "a % 0", "ceildiv(a, 0)", "7 // 0"}) {
    try {
      parse(context, text, false);
      ADD_FAILURE() << text;
    } catch (const SymError& error) {
      EXPECT_EQ(error.code(), ErrorCode::division_by_zero) << text;
    }
  }
  for (const char* text : {"a // b", "a % b", "ceildiv(a, b)"}) {
    const Value found = evaluate(parse(context, text, false), [](std::uint32_t i) {
      return std::optional(std::int64_t{i == 0 ? 7 : 0});
    });
    EXPECT_EQ(found, Value(NoValue::division_by_zero)) << text;
  }
}

}  // namespace
}  // namespace massless::sym
