// Sizes that are symbols: c10::SymNode over an environment's expressions.
#pragma once

#include <c10/core/SymBool.h>
#include <c10/core/SymFloat.h>
#include <c10/core/SymInt.h>
#include <c10/core/SymNodeImpl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <typeinfo>

#include "base/pool.h"
#include "guard/shape_env.h"

namespace massless {

using guard::ShapeEnv;

// An integer, a truth value or a real by the type of its expression. Every operator of the
// interface is the table's operator of the same meaning (sym/ops.h); what a decision does is the
// environment's (guard/shape_env.h). Operands of two environments: `foreign_symbol`.
class ExprNode final : public c10::SymNodeImpl, public Pooled<ExprNode> {
 public:
  ExprNode(std::shared_ptr<ShapeEnv> env, sym::Expr expr);
  const std::shared_ptr<ShapeEnv>& env() const noexcept { return env_; }
  sym::Expr expr() const noexcept { return expr_; }

  bool is_int() override;
  bool is_bool() override;
  bool is_float() override;
  c10::SymNode add(const c10::SymNode& other) override;
  c10::SymNode sub(const c10::SymNode& other) override;
  c10::SymNode mul(const c10::SymNode& other) override;
  c10::SymNode truediv(const c10::SymNode& other) override;
  c10::SymNode pow(const c10::SymNode& other) override;
  c10::SymNode floordiv(const c10::SymNode& other) override;
  c10::SymNode mod(const c10::SymNode& other) override;
  c10::SymNode eq(const c10::SymNode& other) override;
  c10::SymNode ne(const c10::SymNode& other) override;
  c10::SymNode gt(const c10::SymNode& other) override;
  c10::SymNode lt(const c10::SymNode& other) override;
  c10::SymNode le(const c10::SymNode& other) override;
  c10::SymNode ge(const c10::SymNode& other) override;
  c10::SymNode ceil() override;
  c10::SymNode floor() override;
  c10::SymNode neg() override;
  c10::SymNode sym_min(const c10::SymNode& other) override;
  c10::SymNode sym_max(const c10::SymNode& other) override;
  c10::SymNode sym_or(const c10::SymNode& other) override;
  c10::SymNode sym_and(const c10::SymNode& other) override;
  c10::SymNode sym_not() override;
  c10::SymNode sym_ite(const c10::SymNode& then_value, const c10::SymNode& else_value) override;
  c10::SymNode is_contiguous(c10::ArrayRef<c10::SymNode> sizes,
                             c10::ArrayRef<c10::SymNode> strides) override;
  c10::SymNode is_channels_last_contiguous_2d(c10::ArrayRef<c10::SymNode> sizes,
                                              c10::ArrayRef<c10::SymNode> strides) override;
  c10::SymNode is_channels_last_contiguous_3d(c10::ArrayRef<c10::SymNode> sizes,
                                              c10::ArrayRef<c10::SymNode> strides) override;
  c10::SymNode is_channels_last_strides_2d(c10::ArrayRef<c10::SymNode> sizes,
                                           c10::ArrayRef<c10::SymNode> strides) override;
  c10::SymNode is_channels_last_strides_3d(c10::ArrayRef<c10::SymNode> sizes,
                                           c10::ArrayRef<c10::SymNode> strides) override;
  c10::SymNode is_non_overlapping_and_dense(c10::ArrayRef<c10::SymNode> sizes,
                                            c10::ArrayRef<c10::SymNode> strides) override;
  c10::SymNode clone() override;
  c10::SymNode sym_float() override;
  c10::SymNode wrap_int(std::int64_t value) override;
  c10::SymNode wrap_float(double value) override;
  c10::SymNode wrap_bool(bool value) override;
  std::int64_t guard_int(const char* file, std::int64_t line) override;
  bool guard_bool(const char* file, std::int64_t line) override;
  double guard_float(const char* file, std::int64_t line) override;
  bool guard_size_oblivious(const char* file, std::int64_t line) override;
  bool guard_or_false(const char* file, std::int64_t line) override;
  bool statically_known_true(const char* file, std::int64_t line) override;
  bool guard_or_true(const char* file, std::int64_t line) override;
  bool expect_true(const char* file, std::int64_t line) override;
  std::int64_t int_() override;
  bool bool_() override;
  bool has_hint() override;
  std::string str() override;
  std::optional<std::int64_t> constant_int() override;
  std::optional<bool> constant_bool() override;
  std::optional<std::int64_t> maybe_as_int() override;
  bool is_constant() override;
  bool is_symbolic() override;

  // Any operator of the table on this node's environment.
  c10::SymNode apply(sym::Op op, c10::ArrayRef<c10::SymNode> operands);

 private:
  c10::SymNode unary(sym::Op op);
  c10::SymNode binary(sym::Op op, sym::Op real, const c10::SymNode& other);
  sym::Expr combined(sym::Op op, sym::Op real, sym::Expr a, sym::Expr b) const;
  c10::SymNode at_most(sym::Expr a, sym::Expr b) const;
  sym::Expr truth(bool value) const;
  sym::Expr operand(const c10::SymNode& node) const;
  sym::Expr number(sym::Expr e) const;
  c10::SymNode made(sym::Expr e) const;
  using LayoutQuestion = sym::Expr (*)(ShapeEnv&, std::span<const sym::Expr>,
                                       std::span<const sym::Expr>);
  c10::SymNode layout(LayoutQuestion question, c10::ArrayRef<c10::SymNode> sizes,
                      c10::ArrayRef<c10::SymNode> strides);

  std::shared_ptr<ShapeEnv> env_;
  sym::Expr expr_;
};

// Null where the size is a plain integer, or a symbol of somebody else.
inline ExprNode* expr_node(c10::SymNodeImpl* node) noexcept {
  return node != nullptr && typeid(*node) == typeid(ExprNode) ? static_cast<ExprNode*>(node)
                                                              : nullptr;
}
inline ExprNode* expr_node(const c10::SymInt& size) noexcept {
  return size.is_heap_allocated() ? expr_node(size.toSymNodeImplUnowned()) : nullptr;
}

// An expression as a size: a plain integer where it is constant.
c10::SymInt size_of(const std::shared_ptr<ShapeEnv>& env, sym::Expr e);
// A size as an expression of the environment.
sym::Expr expr_of(ShapeEnv& env, const c10::SymInt& size);

// The value for the example, without a guard; nothing where there is none.
std::optional<std::int64_t> hint_of(const c10::SymInt& n);
std::optional<bool> hint_of(const c10::SymBool& condition);

[[noreturn]] void raise_sym_error(const sym::SymError& error);

// Calls f and turns sym::SymError into the error of ours of the same code.
template <class F>
decltype(auto) with_sym_errors(F&& f) {
  try {
    return f();
  } catch (const sym::SymError& error) {
    raise_sym_error(error);
  }
}

}  // namespace massless
