#include "sym/real.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "sym/evaluate.h"
#include "sym/random.h"

namespace massless::sym {
namespace {

constexpr std::int64_t kExact = std::int64_t{1} << 53;

const std::unordered_map<std::string_view, Op>& real_operators() {
  static const auto* const all = [] {
    auto* made = new std::unordered_map<std::string_view, Op>;
    for (std::size_t i = 0; i < kOpCount; ++i) {
      const OpInfo& info = kOps[i];
      if (info.form != Form::leaf && (info.operands == Type::real || info.result == Type::real)) {
        made->emplace(info.text, static_cast<Op>(i));
      }
    }
    return made;
  }();
  return *all;
}

struct Row {
  std::string text;
  Op op = Op::constant;
  std::vector<std::string> operands;
  std::string result;
};

std::vector<Row> rows_of_python() {
  std::ifstream in(MASSLESS_SYM_DATA "/real.txt");
  std::vector<Row> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') {
      continue;
    }
    std::istringstream words(line);
    Row row{line, Op::constant, {}, {}};
    std::string word;
    words >> word;
    row.op = real_operators().at(word);
    while (words >> word) {
      row.operands.push_back(word);
    }
    row.result = row.operands.back();
    row.operands.pop_back();
    rows.push_back(row);
  }
  return rows;
}

std::int64_t operand_bits(Type type, const std::string& text) {
  return type == Type::real ? real_to_bits(std::strtod(text.c_str(), nullptr))
                            : std::strtoll(text.c_str(), nullptr, 10);
}

std::string result_text(Type type, std::optional<std::int64_t> value) {
  return !value                  ? "none"
         : type == Type::real    ? print_real(bits_to_real(*value))
         : type == Type::boolean ? (*value != 0 ? "True" : "False")
                                 : std::to_string(*value);
}

TEST(Real, EvaluatesAsPython) {
  const std::vector<Row> rows = rows_of_python();
  ASSERT_EQ(rows.size(), 2000U);
  std::unordered_map<Op, int> met;
  for (const Row& row : rows) {
    const OpInfo& info = op_info(row.op);
    ++met[row.op];
    std::vector<std::int64_t> bits;
    for (const std::string& operand : row.operands) {
      bits.push_back(operand_bits(info.operands, operand));
    }
    ASSERT_EQ(static_cast<int>(bits.size()), info.arity) << row.text;
    EXPECT_EQ(result_text(info.result, evaluate_real(row.op, bits[0], bits.back())), row.result)
        << row.text;
  }
  for (const auto& [text, op] : real_operators()) {
    EXPECT_TRUE(met[op] >= 20 || op == Op::real_ite) << "few rows of " << text;
  }
}

// Folded when built, or kept where Python raises.
TEST(Real, ConstantsFold) {
  Context context;
  const Builder build(context);
  for (const Row& row : rows_of_python()) {
    const OpInfo& info = op_info(row.op);
    std::vector<Expr> operands;
    for (const std::string& operand : row.operands) {
      const std::int64_t bits = operand_bits(info.operands, operand);
      operands.push_back(info.operands == Type::real ? context.real_bits(bits)
                                                     : context.integer(bits));
    }
    try {
      Expr made = build.apply(row.op, operands);
      EXPECT_EQ(made->type, info.result) << row.text;
      const bool constant = op_info(made->op).form == Form::leaf;
      EXPECT_EQ(result_text(info.result, constant ? std::optional(made->value())
                                                  : std::optional<std::int64_t>{}),
                row.result)
          << row.text;
    } catch (const SymError& error) {
      EXPECT_EQ(error.code(), ErrorCode::division_by_zero) << row.text;
      EXPECT_EQ(row.result, "none") << row.text;
    }
  }
}

TEST(Real, PrintsWhatReadsBack) {
  Random random;
  for (int i = 0; i < 20000; ++i) {
    const double value = bits_to_real(static_cast<std::int64_t>(random.bits()));
    const std::string text = print_real(value);
    const double back = std::strtod(text.c_str(), nullptr);
    EXPECT_EQ(real_to_bits(back), real_to_bits(value)) << random.row(text);
  }
  for (const auto& [value, text] : std::vector<std::pair<double, std::string>>{
           {1e16, "1e+16"},
           {9999999999999998.0, "9999999999999998.0"},
           {123456.0, "123456.0"},
           {0.0001, "0.0001"},
           {0.00001, "1e-05"},
           {0.00012345, "0.00012345"},
           {1.5e-7, "1.5e-07"},
           {-2.5, "-2.5"},
           {-0.0, "-0.0"},
           {1e22, "1e+22"},
           {1.7976931348623157e308, "1.7976931348623157e+308"},
           {5e-324, "5e-324"}}) {
    EXPECT_EQ(print_real(value), text);
  }
}

class RealRewrites : public testing::Test {
 protected:
  Expr real(double value) { return real_constant(context_, value); }
  Expr apply(Op op, std::vector<Expr> operands) { return build_.apply(op, operands); }
  Expr to_real(Expr i) { return apply(Op::to_real, {i}); }
  Expr integer(std::int64_t i) { return context_.integer(i); }

  Context context_;
  Builder build_{context_};
  Expr small_ = context_.symbol("small", {0, kExact});
  Expr signed_ = context_.symbol("signed", {-kExact, kExact});
  Expr large_ = context_.symbol("large", {0, kExact + 1});
  Expr size_ = context_.symbol("size", {2, Range::kPlusInf});
  Expr divisor_ = context_.symbol("divisor", {1, Range::kPlusInf});
  Expr any_ = context_.symbol("any");
};

TEST_F(RealRewrites, WholePartsOfWholeNumbers) {
  for (const Op op : {Op::floor, Op::ceil, Op::trunc, Op::round}) {
    EXPECT_EQ(apply(op, {to_real(signed_)}), signed_);
    // 2.0**53 + 1 is no real.
    EXPECT_TRUE(apply(op, {to_real(large_)})->is(op));
    EXPECT_TRUE(apply(op, {to_real(any_)})->is(op));
    // A whole part is a real again, however large.
    Expr whole = apply(op, {apply(Op::real_mul, {to_real(any_), real(0.5)})});
    ASSERT_TRUE(whole->is(op));
    EXPECT_EQ(apply(Op::floor, {to_real(whole)}), whole);
  }
}

TEST_F(RealRewrites, WholePartsOfQuotients) {
  const auto part = [&](Op op, Expr a, Expr b) { return apply(op, {apply(Op::truediv, {a, b})}); };
  EXPECT_EQ(part(Op::floor, signed_, divisor_), build_.floordiv(signed_, divisor_));
  EXPECT_EQ(part(Op::floor, signed_, any_), build_.floordiv(signed_, any_));
  EXPECT_EQ(part(Op::ceil, signed_, divisor_), build_.ceildiv(signed_, divisor_));
  EXPECT_EQ(part(Op::trunc, small_, divisor_), build_.floordiv(small_, divisor_));
  EXPECT_EQ(part(Op::trunc, small_, integer(-3)), build_.ceildiv(small_, integer(-3)));
  EXPECT_TRUE(part(Op::trunc, signed_, divisor_)->is(Op::trunc));
  EXPECT_TRUE(part(Op::floor, large_, divisor_)->is(Op::floor));
  EXPECT_TRUE(part(Op::round, small_, divisor_)->is(Op::round));
  EXPECT_EQ(part(Op::floor, build_.mul(size_, divisor_), divisor_)->op, Op::floor);
}

TEST_F(RealRewrites, Quotients) {
  EXPECT_EQ(apply(Op::truediv, {any_, integer(1)}), to_real(any_));
  EXPECT_EQ(apply(Op::truediv, {build_.scale(any_, 6), integer(3)}),
            to_real(build_.scale(any_, 2)));
  // 0 / -3 is -0.0.
  EXPECT_TRUE(apply(Op::truediv, {build_.scale(any_, 6), integer(-3)})->is(Op::truediv));
  EXPECT_EQ(apply(Op::real_div, {to_real(signed_), real(2.0)}),
            apply(Op::truediv, {signed_, integer(2)}));
  EXPECT_TRUE(apply(Op::real_div, {to_real(any_), real(2.0)})->is(Op::real_div));
}

TEST_F(RealRewrites, Comparisons) {
  const auto lt = [&](Expr a, Expr b) { return apply(Op::real_lt, {a, b}); };
  const auto le = [&](Expr a, Expr b) { return apply(Op::real_le, {a, b}); };
  const auto eq = [&](Expr a, Expr b) { return apply(Op::real_eq, {a, b}); };
  Expr x = to_real(any_);
  EXPECT_EQ(lt(x, real(2.5)), build_.lt(any_, integer(3)));
  EXPECT_EQ(le(x, real(2.5)), build_.le(any_, integer(2)));
  EXPECT_EQ(lt(real(2.5), x), build_.lt(integer(2), any_));
  EXPECT_EQ(le(real(2.5), x), build_.le(integer(3), any_));
  EXPECT_EQ(lt(x, real(-2.5)), build_.lt(any_, integer(-2)));
  EXPECT_EQ(le(real(-2.5), x), build_.le(integer(-2), any_));
  EXPECT_EQ(lt(x, real(3.0)), build_.lt(any_, integer(3)));
  EXPECT_EQ(le(real(3.0), x), build_.le(integer(3), any_));
  EXPECT_EQ(eq(x, real(3.0)), build_.eq(any_, integer(3)));
  EXPECT_EQ(eq(x, real(-0.0)), build_.eq(any_, integer(0)));
  EXPECT_TRUE(eq(x, real(2.5))->is_false());
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(lt(x, real(infinity))->is_true());
  EXPECT_TRUE(le(real(infinity), x)->is_false());
  EXPECT_TRUE(lt(real(-infinity), x)->is_true());
  EXPECT_TRUE(lt(x, real(std::nan("")))->is_false());
  EXPECT_TRUE(le(real(std::nan("")), x)->is_false());
  // float(2**53 + 1) == 2.0**53
  EXPECT_TRUE(eq(x, real(0x1p53))->is(Op::real_eq));
  EXPECT_TRUE(le(x, real(0x1p53))->is(Op::real_le));
  EXPECT_TRUE(eq(x, to_real(size_))->is(Op::real_eq));
  Expr few = context_.symbol("few", {-kExact + 1, kExact - 1});
  EXPECT_EQ(lt(x, to_real(few)), build_.lt(any_, few));
  EXPECT_EQ(le(to_real(few), x), build_.le(few, any_));
  EXPECT_TRUE(lt(x, to_real(signed_))->is(Op::real_lt));
  EXPECT_TRUE(eq(x, x)->is_true());
  EXPECT_TRUE(lt(x, x)->is_false());
  // sqrt(x) may raise, fpow(x, x) may be nan: not decided.
  Expr root = apply(Op::real_sub, {apply(Op::exp, {x}), apply(Op::exp, {x})});
  EXPECT_TRUE(eq(root, root)->is(Op::real_eq));
}

TEST_F(RealRewrites, ArithmeticOfWholeNumbers) {
  Expr few = context_.symbol("few", {-1000, 1000});
  Expr count = context_.symbol("count", {1, 1000});
  EXPECT_EQ(apply(Op::real_add, {to_real(few), real(2.0)}), to_real(build_.add(few, integer(2))));
  EXPECT_EQ(apply(Op::real_sub, {to_real(few), to_real(count)}), to_real(build_.sub(few, count)));
  EXPECT_EQ(apply(Op::real_mul, {to_real(count), real(4.0)}), to_real(build_.scale(count, 4)));
  EXPECT_TRUE(apply(Op::real_mul, {to_real(few), real(-4.0)})->is(Op::real_mul));
  EXPECT_EQ(apply(Op::real_neg, {to_real(count)}), to_real(build_.neg(count)));
  EXPECT_TRUE(apply(Op::real_neg, {to_real(few)})->is(Op::real_neg));
  EXPECT_EQ(apply(Op::real_abs, {to_real(few)}), to_real(build_.abs(few)));
  EXPECT_EQ(apply(Op::real_max, {to_real(few), to_real(count)}), to_real(build_.max(few, count)));
  EXPECT_TRUE(apply(Op::real_add, {to_real(size_), real(2.0)})->is(Op::real_add));
  EXPECT_TRUE(apply(Op::real_add, {to_real(few), real(-0.0)})->is(Op::real_add));
  EXPECT_EQ(apply(Op::real_round, {to_real(any_), real(2.0)}), to_real(any_));
  EXPECT_TRUE(apply(Op::real_round, {to_real(any_), real(-1.0)})->is(Op::real_round));
}

TEST_F(RealRewrites, Neutral) {
  Expr x = apply(Op::exp, {to_real(any_)});
  EXPECT_EQ(apply(Op::real_mul, {x, real(1.0)}), x);
  EXPECT_EQ(apply(Op::real_mul, {real(1.0), x}), x);
  EXPECT_EQ(apply(Op::real_div, {x, real(1.0)}), x);
  EXPECT_EQ(apply(Op::real_pow, {x, real(1.0)}), x);
  EXPECT_EQ(apply(Op::real_sub, {x, real(0.0)}), x);
  EXPECT_EQ(apply(Op::real_neg, {apply(Op::real_neg, {x})}), x);
  // -0.0 + 0.0 is 0.0
  EXPECT_TRUE(apply(Op::real_add, {x, real(0.0)})->is(Op::real_add));
  EXPECT_TRUE(apply(Op::real_sub, {x, real(-0.0)})->is(Op::real_sub));
}

TEST_F(RealRewrites, Refused) {
  const auto refused = [&](Op op, std::vector<Expr> operands, ErrorCode code) {
    try {
      apply(op, operands);
      ADD_FAILURE() << op_info(op).name;
    } catch (const SymError& error) {
      EXPECT_EQ(error.code(), code);
    }
  };
  refused(Op::truediv, {any_, integer(0)}, ErrorCode::division_by_zero);
  refused(Op::real_mod, {to_real(any_), real(-0.0)}, ErrorCode::division_by_zero);
  refused(Op::real_round, {to_real(any_), real(0.5)}, ErrorCode::bad_argument);
  refused(Op::real_round, {to_real(any_), to_real(any_)}, ErrorCode::bad_argument);
  refused(Op::real_add, {any_, real(1.0)}, ErrorCode::bad_argument);
  EXPECT_TRUE(apply(Op::sqrt, {real(-1.0)})->is(Op::sqrt));
}

// floor, ceil and trunc of a / b as integers, around the edges where quotients are rounded:
// |a| <= 2^53, near powers of two and near multiples of b.
TEST(RealBrute, WholePartsOfQuotientsAreExact) {
  Random random;
  const auto check = [&](std::int64_t a, std::int64_t b) {
    const auto part = [&](Op op) {
      return *evaluate_real(op, *evaluate_real(Op::truediv, a, b), 0);
    };
    const std::int64_t below = a / b - static_cast<std::int64_t>(a % b != 0 && (a < 0) != (b < 0));
    const std::int64_t above = below + static_cast<std::int64_t>(a % b != 0);
    ASSERT_EQ(part(Op::floor), below) << random.row(std::to_string(a) + " / " + std::to_string(b));
    ASSERT_EQ(part(Op::ceil), above) << random.row(std::to_string(a) + " / " + std::to_string(b));
    ASSERT_EQ(part(Op::trunc), a / b) << random.row(std::to_string(a) + " / " + std::to_string(b));
  };
  const auto near = [&](std::int64_t a, std::int64_t b) {
    for (std::int64_t d = -3; d <= 3; ++d) {
      const std::int64_t dividend = a + d;
      if (b != 0 && -kExact <= dividend && dividend <= kExact) {
        check(dividend, b);
        check(-dividend, b);
        check(dividend, -b);
      }
    }
  };
  for (int i = 0; i <= 53; ++i) {
    for (int j = 0; j <= 62; ++j) {
      for (std::int64_t d = -2; d <= 2; ++d) {
        near(std::int64_t{1} << i, (std::int64_t{1} << j) + d);
      }
    }
  }
  for (int i = 0; i < 200000; ++i) {
    const std::int64_t b = random.between(1, std::int64_t{1} << random.between(1, 53));
    near(kExact / b * b, b);
    near(b * random.between(0, kExact / b), b);
  }
  // One past the edge it fails: the side condition is needed.
  EXPECT_NE(evaluate_real(Op::floor, *evaluate_real(Op::truediv, kExact + 1, 1), 0), kExact + 1);
}

// Every real operator on symbols, against evaluate_real step by step.
class RealPrograms {
 public:
  explicit RealPrograms(Random& random) : random_(random) {
    // Ranges as wide as the values, so that all rules and their side conditions take part.
    constexpr std::array<std::int64_t, 7> kWidths{
        1, 3, 1000, kExact - 1, kExact, kExact + 1, Range::kPlusInf - 1};
    for (const char* name : {"a", "b", "c"}) {
      const std::int64_t hi = random_.pick(kWidths);
      const std::int64_t lo = random_.one_in(2) ? -hi : random_.between(0, 1);
      values_.push_back(random_.edge(lo, hi));
      integers_.push_back({context_.symbol(name, {lo, hi}), values_.back()});
      said_ << name << " = " << values_.back() << " in [" << lo << ", " << hi << "]; ";
      Expr real = build_.apply(Op::to_real, std::array<Expr, 1>{integers_.back().e});
      reals_.push_back({real, *evaluate_real(Op::to_real, values_.back(), 0)});
    }
    for (const double c : {0.0, -0.0, 1.0, -2.0, 0.5, 3.0, 0x1p53}) {
      reals_.push_back({real_constant(context_, c), real_to_bits(c)});
    }
  }

  void step() {
    const Op op = operator_to_try();
    const OpInfo& info = op_info(op);
    const std::vector<Item>& from = info.operands == Type::real ? reals_ : integers_;
    const Item x = random_.pick(from);
    Item y = info.arity == 1 ? x : random_.pick(from);
    if (op == Op::real_round) {
      const auto digits = static_cast<double>(random_.between(-2, 2));
      y = {real_constant(context_, digits), real_to_bits(digits)};
    }
    const auto value = evaluate_real(op, x.value, y.value);
    if (!value) {
      return;
    }
    said_ << info.text << "(" << shown(info.operands, x.value) << ", "
          << shown(info.operands, y.value) << "); ";
    const std::array<Expr, 2> operands{x.e, y.e};
    check(build_.apply(op, std::span(operands).first(static_cast<std::size_t>(info.arity))),
          *value);
  }

 private:
  struct Item {
    Expr e;
    std::int64_t value;
  };

  Op operator_to_try() {
    while (true) {
      const auto op = static_cast<Op>(random_.between(0, static_cast<std::int64_t>(kOpCount) - 1));
      if (op != Op::real_ite && real_operators().contains(op_info(op).text)) {
        return op;
      }
    }
  }

  static std::string shown(Type type, std::int64_t value) { return result_text(type, value); }

  void check(Expr made, std::int64_t value) {
    const Value built = evaluate(made, [&](std::uint32_t i) { return std::optional(values_[i]); });
    const auto* const found = std::get_if<std::int64_t>(&built);
    if (found == nullptr) {  // ceildiv(a, b) forms a + b - 1
      ASSERT_EQ(std::get<NoValue>(built), NoValue::overflow) << random_.row(said_.str());
      return;
    }
    ASSERT_EQ(shown(made->type, *found), shown(made->type, value)) << random_.row(said_.str());
    if (made->type == Type::real) {
      const double real = bits_to_real(value);
      const auto end = [](std::int64_t e) {
        return e == Range::kMinusInf  ? -std::numeric_limits<double>::infinity()
               : e == Range::kPlusInf ? std::numeric_limits<double>::infinity()
                                      : static_cast<double>(e);
      };
      ASSERT_TRUE(made->is(Op::real_constant) || std::isnan(real) ||
                  (end(made->range.lo) <= real && real <= end(made->range.hi)))
          << random_.row(said_.str());
      reals_.push_back({made, value});
    } else if (made->type == Type::integer) {
      ASSERT_TRUE(made->range.contains(value)) << random_.row(said_.str());
      integers_.push_back({made, value});
    }
  }

  Random& random_;
  Context context_;
  Builder build_{context_};
  std::vector<std::int64_t> values_;
  std::vector<Item> integers_;
  std::vector<Item> reals_;
  std::ostringstream said_;
};

TEST(RealBrute, RewritesKeepTheValue) {
  Random random;
  for (int i = 0; i < 4000 && !testing::Test::HasFatalFailure(); ++i) {
    RealPrograms programs(random);
    for (int step = 0; step < 16; ++step) {
      programs.step();
    }
  }
}

}  // namespace
}  // namespace massless::sym
