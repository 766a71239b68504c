// Fakes whose sizes are symbols: the everyday proofs leave no guard.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "dispatch/state.h"
#include "dispatch/sym_node.h"
#include "fake/help.h"

namespace massless {
namespace {

class Symbolic : public ::testing::Test {
 protected:
  std::shared_ptr<ShapeEnv> env = std::make_shared<ShapeEnv>();
  c10::SymInt b = symbol("b", 4);
  c10::SymInt s = symbol("s", 6);

  c10::SymInt symbol(const char* name, std::int64_t hint) {
    guard::SymbolOptions options;
    options.hint = hint;
    options.strict = true;
    return size_of(env, env->symbol(name, options));
  }
  static at::Tensor fake(SymDimVector sizes) {
    return make_fake(contiguous_spec(sizes, c10::kFloat, c10::kCPU));
  }
  std::string shape(const at::Tensor& t) {
    std::string text;
    for (const c10::SymInt& n : t.sym_sizes()) {
      text += text.empty() ? "" : ", ";
      text += env->print(expr_of(*env, n));
    }
    text += " |";
    for (const c10::SymInt& n : t.sym_strides()) {
      text += " ";
      text += env->print(expr_of(*env, n));
    }
    return text;
  }
  std::string guards() {
    std::string text;
    for (const guard::Guard& g : env->guards()) {
      text += env->print(g.condition);
      text += "; ";
    }
    return text;
  }
};

TEST_F(Symbolic, ViewsThereAndBack) {
  const at::Tensor x = fake({b, s, 8});
  const at::Tensor flat = x.view_symint({b * s, 8});
  EXPECT_EQ(shape(flat), "b*s, 8 | 8 1");
  EXPECT_EQ(shape(flat.view_symint({b, s, 8})), "b, s, 8 | 8*max(1, s) 8 1");
  EXPECT_EQ(shape(x.view_symint({b, -1})), "b, 8*s | max(1, 8*s) 1");
  EXPECT_EQ(shape(x.reshape_symint({-1, 2, 4})), "b*s, 2, 4 | 8 4 1");
  EXPECT_TRUE(x.is_contiguous());
  // Nothing is an error to reshape to (0, -1).
  EXPECT_EQ(guards(), "b != 0; ");
}

TEST_F(Symbolic, Pointwise) {
  const at::Tensor x = fake({b, s, 8});
  EXPECT_EQ(shape(x + x), "b, s, 8 | 8*max(1, s) 8 1");
  EXPECT_EQ(shape(x + fake({8})), "b, s, 8 | 8*max(1, s) 8 1");
  EXPECT_EQ(shape(x + fake({s, 1})), "b, s, 8 | 8*max(1, s) 8 1");
  EXPECT_EQ(shape((x * 2).transpose(0, 1) + 1), "s, b, 8 | 8 8*max(1, s) 1");
  EXPECT_EQ(guards(), "");
}

TEST_F(Symbolic, ProductsAndNorms) {
  const at::Tensor x = fake({b * s, 8});
  EXPECT_EQ(shape(at::mm(x, fake({8, 16}))), "b*s, 16 | 16 1");
  EXPECT_EQ(shape(at::softmax(x, -1)), "b*s, 8 | 8 1");
  EXPECT_EQ(shape(at::layer_norm(x, {8})), "b*s, 8 | 8 1");
  EXPECT_EQ(shape(at::cat({x, x}, 0)), "2*b*s, 8 | 8 1");
  EXPECT_EQ(guards(), "");
}

TEST_F(Symbolic, SlicesClamp) {
  const at::Tensor x = fake({b, s});
  EXPECT_EQ(shape(x.slice(1, 0, 5)), "b, min(5, s) | max(1, s) 1");
  EXPECT_EQ(shape(x.slice_symint(1, 0, s)), "b, s | max(1, s) 1");
  EXPECT_EQ(guards(), "");
}

TEST_F(Symbolic, MixedEnvironmentsAreAnError) {
  const auto other = std::make_shared<ShapeEnv>();
  guard::SymbolOptions options;
  options.hint = 4;
  const c10::SymInt foreign = size_of(other, other->symbol("b", options));
  EXPECT_THROW(b + foreign, Error);
}

TEST_F(Symbolic, AStrictSizeStaysDynamic) {
  const at::Tensor x = fake({b, s});
  try {
    static_cast<void>(x.sizes());
    FAIL() << "sizes() answered";
  } catch (const c10::Error&) {
  }
  try {
    b.guard_int(__FILE__, __LINE__);
    FAIL() << "specialised";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::specialization);
  }
  EXPECT_EQ(guards(), "");
}

}  // namespace
}  // namespace massless
