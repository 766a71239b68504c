// The one table of the operators of symbolic expressions. Names, arity, types, printing and
// parsing, the builder that normalises, the evaluation and the opcodes of the guard machine follow
// it; a new operator is a row here, a builder (build_*.cc) and its meaning (evaluate.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace massless::sym {

// Integers are mathematical integers; reals are IEEE doubles as Python's float.
enum class Type : std::uint8_t { integer, boolean, real };

// How an operator is written: in front of, between or after its operands, or as f(a, b).
enum class Form : std::uint8_t { leaf, prefix, infix, call };

// Sign conventions, once for all (tests/sym/conventions_test.cc reads them from here):
//   a // b   floor division: rounds to minus infinity;  -7 // 2 == -4,  7 // -2 == -4
//   a % b    has the sign of b:  -7 % 2 == 1,  7 % -2 == -1;  a == (a // b) * b + a % b
//   ceildiv(a, b)  == -((-a) // b):  ceildiv(7, 2) == 4,  ceildiv(-7, 2) == -3
//   a ** n   n >= 0, 0 ** 0 == 1
//   a // 0, a % 0: no value.
//
// X(op, text, form, precedence, arity (-1: two or more), operands, result)
// `kept`: the operator stays in the normal form; others are rewritten by their builders.
#define MASSLESS_SYM_EXACT_OPS(X)                                         \
  /* leaves and the polynomial normal form */                             \
  X(constant, "", leaf, 100, 0, integer, integer)                         \
  X(symbol, "", leaf, 100, 0, integer, integer)                           \
  X(truth, "", leaf, 100, 0, boolean, boolean)                            \
  X(real_constant, "", leaf, 100, 0, real, real)                          \
  X(add, "+", infix, 60, -1, integer, integer)                            \
  X(mul, "*", infix, 70, -1, integer, integer)                            \
  /* integers, rewritten */                                               \
  X(sub, "-", infix, 60, 2, integer, integer)                             \
  X(neg, "-", prefix, 80, 1, integer, integer)                            \
  X(pow, "**", infix, 90, 2, integer, integer)                            \
  X(ceildiv, "ceildiv", call, 100, 2, integer, integer)                   \
  X(abs, "abs", call, 100, 1, integer, integer)                           \
  /* integers, atoms */                                                   \
  X(floordiv, "//", infix, 70, 2, integer, integer)                       \
  X(mod, "%", infix, 70, 2, integer, integer)                             \
  X(min, "min", call, 100, -1, integer, integer)                          \
  X(max, "max", call, 100, -1, integer, integer)                          \
  X(ite, "ite", call, 100, 3, integer, integer)                           \
  /* comparisons of integers; eq and ge are kept, as p == 0 and p >= 0 */ \
  X(eq, "==", infix, 50, 2, integer, boolean)                             \
  X(ne, "!=", infix, 50, 2, integer, boolean)                             \
  X(lt, "<", infix, 50, 2, integer, boolean)                              \
  X(le, "<=", infix, 50, 2, integer, boolean)                             \
  X(gt, ">", infix, 50, 2, integer, boolean)                              \
  X(ge, ">=", infix, 50, 2, integer, boolean)                             \
  X(logical_not, "not", prefix, 40, 1, boolean, boolean)                  \
  X(logical_and, "and", infix, 30, -1, boolean, boolean)                  \
  X(logical_or, "or", infix, 20, -1, boolean, boolean)

// Evaluated as Python would, in this order of operations.
#define MASSLESS_SYM_REAL_OPS(X)                          \
  X(to_real, "float", call, 100, 1, integer, real)        \
  X(truediv, "truediv", call, 100, 2, integer, real)      \
  X(real_add, "fadd", call, 100, 2, real, real)           \
  X(real_sub, "fsub", call, 100, 2, real, real)           \
  X(real_mul, "fmul", call, 100, 2, real, real)           \
  X(real_div, "fdiv", call, 100, 2, real, real)           \
  X(real_pow, "fpow", call, 100, 2, real, real)           \
  X(real_floordiv, "ffloordiv", call, 100, 2, real, real) \
  X(real_mod, "fmod", call, 100, 2, real, real)           \
  X(real_min, "fmin", call, 100, 2, real, real)           \
  X(real_max, "fmax", call, 100, 2, real, real)           \
  X(real_neg, "fneg", call, 100, 1, real, real)           \
  X(real_abs, "fabs", call, 100, 1, real, real)           \
  X(real_ite, "fite", call, 100, 3, real, real)           \
  X(sqrt, "sqrt", call, 100, 1, real, real)               \
  X(exp, "exp", call, 100, 1, real, real)                 \
  X(log, "log", call, 100, 1, real, real)                 \
  X(log2, "log2", call, 100, 1, real, real)               \
  X(sin, "sin", call, 100, 1, real, real)                 \
  X(cos, "cos", call, 100, 1, real, real)                 \
  X(tan, "tan", call, 100, 1, real, real)                 \
  X(asin, "asin", call, 100, 1, real, real)               \
  X(acos, "acos", call, 100, 1, real, real)               \
  X(atan, "atan", call, 100, 1, real, real)               \
  X(sinh, "sinh", call, 100, 1, real, real)               \
  X(cosh, "cosh", call, 100, 1, real, real)               \
  X(tanh, "tanh", call, 100, 1, real, real)               \
  X(floor, "floor", call, 100, 1, real, integer)          \
  X(ceil, "ceil", call, 100, 1, real, integer)            \
  X(trunc, "trunc", call, 100, 1, real, integer)          \
  X(round, "round", call, 100, 1, real, integer)          \
  X(real_round, "fround", call, 100, 2, real, real)       \
  X(real_eq, "feq", call, 100, 2, real, boolean)          \
  X(real_lt, "flt", call, 100, 2, real, boolean)          \
  X(real_le, "fle", call, 100, 2, real, boolean)

#define MASSLESS_SYM_OPS(X) \
  MASSLESS_SYM_EXACT_OPS(X) \
  MASSLESS_SYM_REAL_OPS(X)

enum class Op : std::uint8_t {
#define MASSLESS_SYM_OP(op, text, form, precedence, arity, operands, result) op,
  MASSLESS_SYM_OPS(MASSLESS_SYM_OP)
#undef MASSLESS_SYM_OP
};

struct OpInfo {
  std::string_view name;
  std::string_view text;
  Form form;
  int precedence;
  int arity;
  Type operands;  // of `ite` and `real_ite`: of the second and third; the first is boolean.
                  // `real_round`'s second is a real constant, a whole number of digits
  Type result;
};

inline constexpr OpInfo kOps[] = {
#define MASSLESS_SYM_OP(op, text, form, precedence, arity, operands, result) \
  {#op, text, Form::form, precedence, arity, Type::operands, Type::result},
    MASSLESS_SYM_OPS(MASSLESS_SYM_OP)
#undef MASSLESS_SYM_OP
};
inline constexpr std::size_t kOpCount = sizeof(kOps) / sizeof(kOps[0]);

constexpr const OpInfo& op_info(Op op) noexcept { return kOps[static_cast<std::size_t>(op)]; }

}  // namespace massless::sym
