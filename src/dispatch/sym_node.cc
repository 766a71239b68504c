#include "dispatch/sym_node.h"

#include <c10/util/SmallVector.h>

#include <array>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "dispatch/error.h"
#include "dispatch/state.h"
#include "guard/layout.h"
#include "sym/real.h"

namespace massless {
namespace {

using c10::SymNode;
using sym::Expr;
using sym::Op;
using sym::Type;

guard::Origin current_origin() { return {user_location(), std::string(current_operator())}; }

// At load time: guards tell where they come from.
const bool kOriginInstalled = [] {
  guard::set_origin_source(&current_origin);
  return true;
}();

}  // namespace

void raise_sym_error(const sym::SymError& error) { raise(error.code(), error.what()); }

ExprNode::ExprNode(std::shared_ptr<ShapeEnv> env, Expr expr) : env_(std::move(env)), expr_(expr) {
  static_cast<void>(kOriginInstalled);
}

c10::SymInt size_of(const std::shared_ptr<ShapeEnv>& env, Expr e) {
  if (e->is_constant()) {
    return e->value();
  }
  return c10::SymInt(SymNode(c10::make_intrusive<ExprNode>(env, e)));
}

Expr expr_of(ShapeEnv& env, const c10::SymInt& size) {
  if (!size.is_heap_allocated()) {
    return env.integer(size.as_int_unchecked());
  }
  const ExprNode* node = expr_node(size);
  if (C10_LIKELY(node != nullptr && node->env().get() == &env)) {
    return node->expr();
  }
  if (const auto plain = size.maybe_as_int()) {
    return env.integer(*plain);
  }
  raise(ErrorCode::foreign_symbol,
        "the size " + size.toSymNode()->str() + " of another ShapeEnv met one of this");
}

std::optional<std::int64_t> hint_of(const c10::SymInt& n) {
  const ExprNode* node = expr_node(n);
  return node == nullptr ? n.maybe_as_int() : node->env()->hint(node->expr());
}

std::optional<bool> hint_of(const c10::SymBool& condition) {
  if (const auto plain = condition.maybe_as_bool()) {
    return plain;
  }
  const ExprNode* node = expr_node(condition.toSymNodeImplUnowned());
  const auto value = node == nullptr ? std::nullopt : node->env()->hint(node->expr());
  return value ? std::optional(*value != 0) : std::nullopt;
}

SymNode ExprNode::made(Expr e) const { return c10::make_intrusive<ExprNode>(env_, e); }

Expr ExprNode::operand(const SymNode& node) const {
  if (const ExprNode* other = expr_node(node.get())) {
    if (other->env_ == env_) {
      return other->expr_;
    }
  } else if (const auto constant = node->maybe_as_int()) {
    return env_->integer(*constant);
  }
  raise(ErrorCode::foreign_symbol,
        "the size " + node->str() + " met the size " + env_->print(expr_) + " of another ShapeEnv");
}

SymNode ExprNode::apply(Op op, c10::ArrayRef<SymNode> operands) {
  return with_sym_errors([&] {
    c10::SmallVector<Expr, 4> exprs;
    for (const SymNode& node : operands) {
      exprs.push_back(operand(node));
    }
    return made(env_->apply(op, {exprs.data(), exprs.size()}));
  });
}

SymNode ExprNode::unary(Op op) {
  return with_sym_errors([&] {
    const std::array<Expr, 1> operands{expr_};
    return made(env_->apply(op, operands));
  });
}

// True + True == 2
Expr ExprNode::number(Expr e) const {
  if (e->type != Type::boolean) {
    return e;
  }
  const std::array<Expr, 3> operands{e, env_->integer(1), env_->integer(0)};
  return env_->apply(Op::ite, operands);
}

// An integer beside a real becomes a real, a truth value a number, as in Python; two truth values
// may be compared.
Expr ExprNode::combined(Op op, Op real, Expr a, Expr b) const {
  std::array<Expr, 2> operands{a, b};
  if (a->type == Type::integer && b->type == Type::integer) {
    return env_->apply(op, operands);
  }
  const bool truths = a->type == Type::boolean && b->type == Type::boolean;
  if (sym::op_info(op).operands == Type::integer && !(truths && op == Op::eq)) {
    operands = {number(operands[0]), number(operands[1])};
  }
  const bool reals = operands[0]->type == Type::real || operands[1]->type == Type::real;
  if (reals) {
    for (Expr& e : operands) {
      if (e->type != Type::real) {
        const std::array<Expr, 1> one{e};
        e = env_->apply(Op::to_real, one);
      }
    }
  }
  return env_->apply(reals ? real : op, operands);
}

SymNode ExprNode::binary(Op op, Op real, const SymNode& other) {
  return with_sym_errors([&] { return made(combined(op, real, expr_, operand(other))); });
}

bool ExprNode::is_int() { return expr_->type == Type::integer; }
bool ExprNode::is_bool() { return expr_->type == Type::boolean; }
bool ExprNode::is_float() { return expr_->type == Type::real; }

SymNode ExprNode::add(const SymNode& other) { return binary(Op::add, Op::real_add, other); }
SymNode ExprNode::sub(const SymNode& other) { return binary(Op::sub, Op::real_sub, other); }
SymNode ExprNode::mul(const SymNode& other) { return binary(Op::mul, Op::real_mul, other); }
SymNode ExprNode::truediv(const SymNode& other) { return binary(Op::truediv, Op::real_div, other); }
SymNode ExprNode::floordiv(const SymNode& other) {
  return binary(Op::floordiv, Op::real_floordiv, other);
}
SymNode ExprNode::mod(const SymNode& other) { return binary(Op::mod, Op::real_mod, other); }
SymNode ExprNode::eq(const SymNode& other) { return binary(Op::eq, Op::real_eq, other); }
SymNode ExprNode::ne(const SymNode& other) {
  return with_sym_errors([&] {
    const std::array<Expr, 1> equal{combined(Op::eq, Op::real_eq, expr_, operand(other))};
    return made(env_->apply(Op::logical_not, equal));
  });
}
SymNode ExprNode::lt(const SymNode& other) { return binary(Op::lt, Op::real_lt, other); }
// A size has 64 bits. The largest number is how slicing says "to the end" (x[:]), which ATen takes
// for no slice only where it is known that the size is not larger.
SymNode ExprNode::at_most(Expr a, Expr b) const {
  if (a->type == Type::integer && b->is_constant(std::numeric_limits<std::int64_t>::max())) {
    return made(truth(true));
  }
  return made(combined(Op::le, Op::real_le, a, b));
}
SymNode ExprNode::le(const SymNode& other) {
  return with_sym_errors([&] { return at_most(expr_, operand(other)); });
}
// a > b is b < a, for reals too: with nan both are false.
SymNode ExprNode::gt(const SymNode& other) {
  return with_sym_errors(
      [&] { return made(combined(Op::lt, Op::real_lt, operand(other), expr_)); });
}
SymNode ExprNode::ge(const SymNode& other) {
  return with_sym_errors([&] { return at_most(operand(other), expr_); });
}
SymNode ExprNode::sym_min(const SymNode& other) { return binary(Op::min, Op::real_min, other); }
SymNode ExprNode::sym_max(const SymNode& other) { return binary(Op::max, Op::real_max, other); }
SymNode ExprNode::sym_or(const SymNode& other) {
  return binary(Op::logical_or, Op::logical_or, other);
}
SymNode ExprNode::sym_and(const SymNode& other) {
  return binary(Op::logical_and, Op::logical_and, other);
}
SymNode ExprNode::sym_not() { return unary(Op::logical_not); }
SymNode ExprNode::neg() { return unary(is_float() ? Op::real_neg : Op::neg); }
SymNode ExprNode::ceil() { return is_int() ? clone() : unary(Op::ceil); }
SymNode ExprNode::floor() { return is_int() ? clone() : unary(Op::floor); }
SymNode ExprNode::sym_float() {
  return with_sym_errors([&] {
    const std::array<Expr, 1> operands{number(expr_)};
    return is_float() ? clone() : made(env_->apply(Op::to_real, operands));
  });
}
// What never changes is its own copy.
SymNode ExprNode::clone() { return SymNode::reclaim_copy(this); }

// A symbolic exponent of an integer is fixed by a guard: the normal form has natural powers only.
SymNode ExprNode::pow(const SymNode& other) {
  Expr exponent = operand(other);
  if (is_float() || exponent->type == Type::real) {
    return binary(Op::real_pow, Op::real_pow, other);
  }
  const std::int64_t n = with_sym_errors([&] { return env_->specialize(exponent); });
  if (n < 0) {
    return sym_float()->pow(wrap_float(static_cast<double>(n)));
  }
  return apply(Op::pow, {clone(), wrap_int(n)});
}

SymNode ExprNode::sym_ite(const SymNode& then_value, const SymNode& else_value) {
  const bool real = then_value->is_float();
  return apply(real ? Op::real_ite : Op::ite, {clone(), then_value, else_value});
}

SymNode ExprNode::wrap_int(std::int64_t value) { return made(env_->integer(value)); }
SymNode ExprNode::wrap_float(double value) { return made(env_->real(sym::real_to_bits(value))); }
SymNode ExprNode::wrap_bool(bool value) { return made(truth(value)); }
Expr ExprNode::truth(bool value) const {
  const std::array<Expr, 2> operands{env_->integer(value ? 1 : 0), env_->integer(1)};
  return env_->apply(Op::eq, operands);
}

std::int64_t ExprNode::guard_int(const char*, std::int64_t) {
  return with_sym_errors([&] { return env_->specialize(expr_); });
}
// A number is true unless it is 0.
bool ExprNode::guard_bool(const char*, std::int64_t) {
  return with_sym_errors([&] {
    if (is_bool()) {
      return env_->decide(expr_);
    }
    const SymNode is_zero = eq(is_int() ? wrap_int(0) : wrap_float(0));
    return !env_->decide(operand(is_zero));
  });
}
double ExprNode::guard_float(const char*, std::int64_t) {
  return with_sym_errors([&] { return sym::bits_to_real(env_->specialize(expr_)); });
}
bool ExprNode::guard_size_oblivious(const char* file, std::int64_t line) {
  return guard_bool(file, line);
}
namespace {

// Where ATen 2.13.0 asks above our key. What it does with the default is in general right for some
// sizes only, and so a guard; in these places it is right for all.
enum class Place { other, default_is_right, first_of_two, second_of_two };

Place place_of(std::string_view file, std::int64_t line) {
  // Broadcasting (infer_size): where `size == 1` is not known, the sizes must be equal, and the
  // result is right if both are 1 as well. Of a gradient and what it is for (maybe_reduce) the
  // same.
  if (file.ends_with("aten/src/ATen/ExpandUtils.cpp") && (line == 34 || line == 41)) {
    return Place::default_is_right;
  }
  if (file.ends_with("torch/csrc/autograd/input_metadata.cpp") && line == 97) {
    return Place::default_is_right;
  }
  // computeStride: size != 1 && stride != step. The first does not matter where the second is
  // false.
  if (file.ends_with("aten/src/ATen/TensorUtils.cpp")) {
    return line == 375 ? Place::first_of_two : line == 376 ? Place::second_of_two : Place::other;
  }
  return Place::other;
}

}  // namespace

// Without hints what is not known counts as the default; with them the decision is a guard, since
// what the caller does with it need not be right for every size.
bool ExprNode::guard_or_false(const char* file, std::int64_t line) {
  if (place_of(file, line) == Place::default_is_right && env_->hint(expr_) == 0 &&
      env_->prove(expr_) == sym::Truth::unknown) {
    return false;
  }
  return env_->prove(expr_) == sym::Truth::unknown && !has_hint() ? false : guard_bool(file, line);
}
bool ExprNode::guard_or_true(const char* file, std::int64_t line) {
  const Place place = place_of(file, line);
  if (place == Place::first_of_two && env_->hint(expr_).value_or(0) != 0 &&
      env_->prove(expr_) == sym::Truth::unknown) {
    env_->set_aside(expr_);
    return true;
  }
  if (place == Place::second_of_two && env_->prove(expr_) == sym::Truth::no) {
    env_->drop_aside();
    return false;
  }
  return env_->prove(expr_) == sym::Truth::unknown && !has_hint() ? true : guard_bool(file, line);
}
bool ExprNode::statically_known_true(const char*, std::int64_t) { return env_->known(expr_); }
bool ExprNode::expect_true(const char*, std::int64_t) {
  return with_sym_errors([&] { return env_->assert_true(expr_); });
}
std::int64_t ExprNode::int_() { return guard_int(__FILE__, __LINE__); }
bool ExprNode::bool_() { return guard_bool(__FILE__, __LINE__); }
bool ExprNode::has_hint() { return env_->has_hint(expr_); }
std::string ExprNode::str() { return env_->print(env_->simplify(expr_)); }

std::optional<std::int64_t> ExprNode::constant_int() {
  return expr_->is_constant() ? std::optional(expr_->value()) : std::nullopt;
}
std::optional<bool> ExprNode::constant_bool() {
  return expr_->is(Op::truth) ? std::optional(expr_->is_true()) : std::nullopt;
}
std::optional<std::int64_t> ExprNode::maybe_as_int() {
  return expr_->is_constant() ? std::optional(expr_->value()) : std::nullopt;
}
bool ExprNode::is_constant() {
  return expr_->is(Op::constant) || expr_->is(Op::truth) || expr_->is(Op::real_constant);
}
bool ExprNode::is_symbolic() { return !is_constant(); }

// Layout questions, asked of one node about the sizes and strides of a tensor.
SymNode ExprNode::layout(LayoutQuestion question, c10::ArrayRef<SymNode> sizes,
                         c10::ArrayRef<SymNode> strides) {
  return with_sym_errors([&] {
    std::vector<Expr> size_exprs;
    std::vector<Expr> stride_exprs;
    for (const SymNode& node : sizes) {
      size_exprs.push_back(operand(node));
    }
    for (const SymNode& node : strides) {
      stride_exprs.push_back(operand(node));
    }
    return made(question(*env_, size_exprs, stride_exprs));
  });
}

SymNode ExprNode::is_contiguous(c10::ArrayRef<SymNode> sizes, c10::ArrayRef<SymNode> strides) {
  return layout(&guard::is_contiguous, sizes, strides);
}
SymNode ExprNode::is_channels_last_contiguous_2d(c10::ArrayRef<SymNode> sizes,
                                                 c10::ArrayRef<SymNode> strides) {
  return sizes.size() == 4 ? layout(&guard::is_channels_last_contiguous, sizes, strides)
                           : wrap_bool(false);
}
SymNode ExprNode::is_channels_last_contiguous_3d(c10::ArrayRef<SymNode> sizes,
                                                 c10::ArrayRef<SymNode> strides) {
  return sizes.size() == 5 ? layout(&guard::is_channels_last_contiguous, sizes, strides)
                           : wrap_bool(false);
}
SymNode ExprNode::is_channels_last_strides_2d(c10::ArrayRef<SymNode> sizes,
                                              c10::ArrayRef<SymNode> strides) {
  return sizes.size() == 4 ? layout(&guard::is_channels_last_strides, sizes, strides)
                           : wrap_bool(false);
}
SymNode ExprNode::is_channels_last_strides_3d(c10::ArrayRef<SymNode> sizes,
                                              c10::ArrayRef<SymNode> strides) {
  return sizes.size() == 5 ? layout(&guard::is_channels_last_strides, sizes, strides)
                           : wrap_bool(false);
}
SymNode ExprNode::is_non_overlapping_and_dense(c10::ArrayRef<SymNode> sizes,
                                               c10::ArrayRef<SymNode> strides) {
  return layout(&guard::is_non_overlapping_and_dense, sizes, strides);
}

}  // namespace massless
