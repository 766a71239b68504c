// Values of tensors whose size is a symbol.
#include "fake/progression.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "dispatch/error.h"
#include "dispatch/state.h"
#include "dispatch/sym_node.h"

namespace massless {
namespace {

class ProgressionTest : public ::testing::Test {
 public:
  std::shared_ptr<ShapeEnv> env = std::make_shared<ShapeEnv>();
  FakeMode mode{{.device = {}, .known_values = true, .ledger = nullptr, .env = env}};
  c10::SymInt s = symbol("s", 6);

  c10::SymInt symbol(const char* name, std::int64_t hint) {
    guard::SymbolOptions options;
    options.hint = hint;
    options.range.lo = 1;
    return size_of(env, env->symbol(name, options));
  }
  at::Tensor positions() { return at::arange(at::Scalar(s), at::kLong); }
  std::string item(const at::Tensor& t) {
    try {
      const at::Scalar value = at::_local_scalar_dense(t);
      return value.isSymbolic()  ? env->print(expr_of(*env, value.toSymInt()))
             : value.isBoolean() ? (value.toBool() ? "true" : "false")
                                 : std::to_string(value.toLong());
    } catch (const Error& error) {
      return std::string(error_info(error.code()).name);
    }
  }
};

TEST_F(ProgressionTest, ViewsAreFollowed) {
  const at::Tensor p = positions();
  EXPECT_EQ(item(p.select(0, 3)), "3");
  EXPECT_EQ(item(p.select(0, -1)), "s - 1");
  EXPECT_EQ(item(p.unsqueeze(0).expand_symint({symbol("b", 5), s}).select(0, 0).select(0, 2)), "2");
  EXPECT_EQ(item(at::zeros_symint({s, s}, at::kLong).select(0, 0).select(0, 0)), "0");
}

// transformers' question whether position ids are those of one sequence.
std::string consecutive(ProgressionTest& test, const at::Tensor& positions, std::int64_t factor) {
  const at::Tensor first = positions.slice(1, 0, 1) - 1;
  const at::Tensor steps = at::diff(positions * factor, 1, -1, first);
  const at::Tensor jumps = (steps != 1).cumsum(-1);
  return test.item((jumps.select(1, -1) == 0).all());
}

TEST_F(ProgressionTest, ConsecutivePositions) {
  EXPECT_EQ(consecutive(*this, positions().unsqueeze(0), 1), "true");
  EXPECT_EQ(consecutive(*this, positions().unsqueeze(0), 2), "data_dependent");
  const c10::SymInt b = symbol("b", 4);
  EXPECT_EQ(consecutive(*this, positions().unsqueeze(0).expand_symint({b, s}), 1), "true");
  EXPECT_TRUE(env->guards().empty());
}

TEST_F(ProgressionTest, ConsecutivePositionsOrNone) {
  guard::SymbolOptions options;  // may be 0
  options.hint = 3;
  const c10::SymInt b = size_of(env, env->symbol("b0", options));
  options.hint = 5;
  const c10::SymInt n = size_of(env, env->symbol("n0", options));
  const at::Tensor p = at::arange(at::Scalar(n), at::kLong).unsqueeze(0).expand_symint({b, n});
  EXPECT_EQ(consecutive(*this, p, 1), "true");
}

TEST_F(ProgressionTest, Operators) {
  const at::Tensor p = positions();
  EXPECT_EQ(item((p + 5).select(0, 1)), "6");
  EXPECT_EQ(item((p * 3 - p).select(0, 4)), "8");
  EXPECT_EQ(item((p + p.new_full({1}, 2)).select(0, 0)), "2");
  EXPECT_EQ(item((p >= 0).all()), "true");
  EXPECT_EQ(item((p < 0).any()), "false");
  EXPECT_EQ(item((p < at::Scalar(s)).all()), "true");
  EXPECT_EQ(item((p > 2).all()), "data_dependent");  // of some elements
  EXPECT_EQ(item(at::ones_symint({s}, at::kBool).logical_not().any()), "false");
  EXPECT_EQ(item((at::ones_symint({s}, at::kLong).to(at::kBool) & (p >= 0)).all()), "true");
  EXPECT_EQ(
      item(at::cat({p, at::arange(at::Scalar(s), at::Scalar(s * 2), at::kLong)}).select(0, -1)),
      "2*s - 1");
  EXPECT_EQ(item(at::cat({p, p}).select(0, 0)), "data_dependent");
  EXPECT_EQ(item(at::ones_symint({s}, at::kLong).cumsum(0).select(0, -1)), "s");
}

TEST_F(ProgressionTest, EmptyTensors) {
  guard::SymbolOptions options;
  options.hint = 3;  // may be 0
  const c10::SymInt n = size_of(env, env->symbol("n", options));
  EXPECT_EQ(item(at::ones_symint({n}, at::kBool).all()), "true");
  EXPECT_EQ(item(at::zeros_symint({n}, at::kBool).any()), "false");
  EXPECT_EQ(item(at::ones_symint({n}, at::kBool).any()), "data_dependent");
  EXPECT_EQ(item(at::zeros_symint({n}, at::kBool).all()), "data_dependent");
}

TEST_F(ProgressionTest, WritesForget) {
  at::Tensor p = positions();
  const at::Tensor view = p.slice(0, 0, 2);
  p.add_(at::empty_symint({s}, at::kLong));
  EXPECT_EQ(item(view.select(0, 0)), "data_dependent");
  at::Tensor zeros = at::zeros_symint({s}, at::kLong);
  zeros.select(0, 0).fill_(1);
  EXPECT_EQ(item(zeros.select(0, 0)), "data_dependent");
}

TEST_F(ProgressionTest, DtypesThatMayNotHoldTheNumbersAreUnknown) {
  EXPECT_EQ(item(at::arange(at::Scalar(s), at::kInt).select(0, 0)), "data_dependent");
  EXPECT_EQ(item(at::zeros_symint({s}, at::kInt).select(0, 0)), "0");
  EXPECT_EQ(item(at::zeros_symint({s}, at::kByte).select(0, 0)), "data_dependent");
  EXPECT_EQ(item(at::zeros_symint({s}, at::kFloat).select(0, 0)), "data_dependent");
}

}  // namespace
}  // namespace massless
