#include "sym_arith.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include "dispatch/error.h"
#include "sym/real.h"

namespace massless::python {
namespace {

namespace py = pybind11;
using sym::Builder;
using sym::Expr;
using sym::Op;
using sym::Type;

PyObject* not_implemented() {
  Py_INCREF(Py_NotImplemented);
  return Py_NotImplemented;
}

// One side of an operator.
struct Operand {
  enum class Kind : std::uint8_t {
    other,   // no number: the operator is not ours
    others,  // a symbol of somebody else
    symbol,
    integer,  // of 64 bits
    boolean,
    real,
    number,  // of Python, which the engine has not: a large int, a complex number
  };

  explicit Operand(PyObject* given) : object(given), symbol(given) {
    if (symbol.node() != nullptr) {
      kind = Kind::symbol;
    } else if (symbol.foreign()) {
      kind = Kind::others;
    } else if (PyBool_Check(given)) {
      kind = Kind::boolean;
      integer = given == Py_True ? 1 : 0;
    } else if (PyLong_Check(given)) {
      int overflow = 0;
      integer = PyLong_AsLongLongAndOverflow(given, &overflow);
      kind = overflow == 0 ? Kind::integer : Kind::number;
    } else if (PyFloat_Check(given)) {
      kind = Kind::real;
      real = PyFloat_AS_DOUBLE(given);
    } else if (PyComplex_Check(given)) {
      kind = Kind::number;
    }
  }

  Expr expr(const Builder& build) const {
    switch (kind) {
      case Kind::symbol:
        return symbol.node()->expr();
      case Kind::boolean:
        return build.boolean(integer != 0);
      case Kind::real:
        return sym::real_constant(build.context(), real);
      default:
        return build.integer(integer);
    }
  }
  bool is_boolean() const {
    return kind == Kind::boolean ||
           (kind == Kind::symbol && symbol.node()->expr()->type == Type::boolean);
  }
  bool is_real() const {
    return kind == Kind::real ||
           (kind == Kind::symbol && symbol.node()->expr()->type == Type::real);
  }

  PyObject* object;
  SymOperand symbol;
  Kind kind = Kind::other;
  std::int64_t integer = 0;
  double real = 0;
};
using Kind = Operand::Kind;

bool any(Kind kind, const Operand& a, const Operand& b) { return a.kind == kind || b.kind == kind; }

// The environment of operands of which one is a symbol.
const std::shared_ptr<ShapeEnv>& env_of(const Operand& a, const Operand& b) {
  const ExprNode* x = a.symbol.node();
  const ExprNode* y = b.symbol.node();
  if (x != nullptr && y != nullptr && x->env() != y->env()) {
    raise(ErrorCode::foreign_symbol, "the size " + y->env()->print(y->expr()) + " met the size " +
                                         x->env()->print(x->expr()) + " of another ShapeEnv");
  }
  return x != nullptr ? x->env() : y->env();
}

// f(builder, x, y) for the operands' expressions, as a Python object.
template <class F>
PyObject* built(const Operand& a, const Operand& b, F&& f) {
  const std::shared_ptr<ShapeEnv>& env = env_of(a, b);
  Expr made = with_sym_errors([&] {
    return env->with_builder(
        [&](const Builder& build) { return f(build, a.expr(build), b.expr(build)); });
  });
  return symbol_object(env, made);
}

// f(builder, x)
template <class F>
PyObject* built(const Operand& a, F&& f) {
  return built(a, a, [&](const Builder& build, Expr x, Expr) { return f(build, x); });
}

// True + True == 2
Expr number(const Builder& build, Expr e) {
  return e->type == Type::boolean ? build.ite(e, build.integer(1), build.integer(0)) : e;
}
Expr as_real(const Builder& build, Expr e) {
  e = number(build, e);
  return e->type == Type::real ? e : build.real(Op::to_real, std::array<Expr, 1>{e});
}

struct Pair {
  Op integer;
  Op real;
};
constexpr Pair kArithmetic[] = {
    {Op::add, Op::real_add},     {Op::sub, Op::real_sub},           {Op::mul, Op::real_mul},
    {Op::truediv, Op::real_div}, {Op::floordiv, Op::real_floordiv}, {Op::mod, Op::real_mod},
};
Pair arithmetic_op(Binary op) {
  return op == Binary::max   ? Pair{Op::max, Op::real_max}
         : op == Binary::min ? Pair{Op::min, Op::real_min}
                             : kArithmetic[static_cast<std::size_t>(op)];
}

// An int beside a float becomes a float.
Expr arithmetic(const Builder& build, Binary op, Expr x, Expr y) {
  const Pair ops = arithmetic_op(op);
  if (x->type == Type::real || y->type == Type::real) {
    return build.real(ops.real, std::array<Expr, 2>{as_real(build, x), as_real(build, y)});
  }
  const std::array<Expr, 2> operands{number(build, x), number(build, y)};
  switch (op) {  // the common ones without the table's checks
    case Binary::add:
      return build.add(operands[0], operands[1]);
    case Binary::sub:
      return build.sub(operands[0], operands[1]);
    case Binary::mul:
      return build.mul(operands[0], operands[1]);
    default:
      return build.apply(ops.integer, operands);
  }
}

py::object stolen(PyObject* made) {
  if (made == nullptr) {
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::object>(made);
}

using Numbers = PyObject* (*)(PyObject*, PyObject*);
constexpr Numbers kPython[] = {
    &PyNumber_Add,         &PyNumber_Subtract,
    &PyNumber_Multiply,    &PyNumber_TrueDivide,
    &PyNumber_FloorDivide, &PyNumber_Remainder,
    &PyNumber_Divmod,      [](PyObject* a, PyObject* b) { return PyNumber_Power(a, b, Py_None); },
    &PyNumber_Lshift,      &PyNumber_Rshift,
    &PyNumber_And,         &PyNumber_Or,
    &PyNumber_Xor,
};

// Python's own operator on the numbers that the symbols are for the example.
PyObject* by_python(Binary op, const Operand& a, const Operand& b) {
  if (op == Binary::max || op == Binary::min) {
    return not_implemented();
  }
  const py::object x = stolen(specialized(a.object));
  const py::object y = stolen(specialized(b.object));
  return stolen(kPython[static_cast<std::size_t>(op)](x.ptr(), y.ptr())).release().ptr();
}

// s & (2**k - 1) is s % 2**k, of negative numbers as well.
PyObject* bitwise(Binary op, const Operand& a, const Operand& b) {
  if (a.is_boolean() && b.is_boolean()) {
    return built(a, b, [op](const Builder& build, Expr x, Expr y) {
      const std::array<Expr, 2> both{x, y};
      return op == Binary::bit_and  ? build.logical_and(both)
             : op == Binary::bit_or ? build.logical_or(both)
                                    : build.ne(x, y);
    });
  }
  const Operand& mask = a.kind == Kind::integer ? a : b;
  const Operand& value = a.kind == Kind::integer ? b : a;
  const auto bits = static_cast<std::uint64_t>(mask.integer) + 1;
  if (op == Binary::bit_and && mask.kind == Kind::integer && mask.integer > 0 &&
      (bits & (bits - 1)) == 0 && bits <= (std::uint64_t{1} << 62) && !value.is_real()) {
    return built(value, [bits](const Builder& build, Expr x) {
      return build.mod(number(build, x), build.integer(static_cast<std::int64_t>(bits)));
    });
  }
  return by_python(op, a, b);
}

// By a number of bits that is fixed.
PyObject* shifted(Binary op, const Operand& a, const Operand& b) {
  const py::object bits_object = stolen(specialized(b.object));
  const Operand bits(bits_object.ptr());
  if (bits.kind != Kind::integer || bits.integer < 0 || bits.integer > 62 || a.is_real() ||
      a.kind != Kind::symbol) {
    return by_python(op, a, bits);
  }
  return built(a, [&](const Builder& build, Expr x) {
    Expr factor = build.integer(std::int64_t{1} << bits.integer);
    return op == Binary::lshift ? build.mul(number(build, x), factor)
                                : build.floordiv(number(build, x), factor);
  });
}

// The engine has natural powers: an integer exponent is fixed.
PyObject* integer_power(const Operand& a, const Operand& b) {
  const py::object exponent_object = stolen(specialized(b.object));
  const Operand exponent(exponent_object.ptr());
  if (a.kind != Kind::symbol || exponent.kind == Kind::number) {
    return by_python(Binary::pow, a, exponent);
  }
  return built(a, exponent, [](const Builder& build, Expr x, Expr n) {
    n = number(build, n);
    if (n->value() >= 0) {
      return build.pow(number(build, x), n->value());
    }
    return build.real(Op::real_pow, std::array<Expr, 2>{as_real(build, x), as_real(build, n)});
  });
}

bool is_not_negative(const Operand& a) {
  if (a.kind != Kind::symbol) {
    return a.kind == Kind::real ? a.real >= 0 : a.integer >= 0;
  }
  const py::object zero = py::int_(0);
  return truth(stolen(compare(a.object, zero.ptr(), Py_GE)).ptr());
}

// A negative base to a power that is no whole number is complex, which symbols are not: that the
// base is not negative is asked, unless the exponent is a whole number.
PyObject* real_power(const Operand& a, const Operand& b) {
  const bool whole = (b.kind == Kind::real && std::trunc(b.real) == b.real) || !b.is_real();
  if (!whole && !is_not_negative(a)) {
    return by_python(Binary::pow, a, b);
  }
  return built(a, b, [](const Builder& build, Expr x, Expr y) {
    return build.real(Op::real_pow, std::array<Expr, 2>{as_real(build, x), as_real(build, y)});
  });
}

Op comparison(int op) {
  constexpr Op kOps[] = {Op::lt, Op::le, Op::eq, Op::ne, Op::gt, Op::ge};
  return kOps[op];
}

// x op y for reals: > and >= by the others with their sides changed, since of nan all are false.
Expr compared_reals(const Builder& build, int op, Expr x, Expr y) {
  const bool turned = op == Py_GT || op == Py_GE;
  const std::array<Expr, 2> sides{turned ? y : x, turned ? x : y};
  const Op real = op == Py_EQ || op == Py_NE   ? Op::real_eq
                  : op == Py_LT || op == Py_GT ? Op::real_lt
                                               : Op::real_le;
  Expr made = build.real(real, sides);
  return op == Py_NE ? build.logical_not(made) : made;
}

// Python compares an int with a float as they are, without rounding the int.
Expr exact_integer(const Builder& build, Expr e) {
  if (!e->is(Op::real_constant)) {
    return e;
  }
  const double value = sym::real_value(e);
  const bool fits = std::trunc(value) == value && std::fabs(value) < 0x1p63;
  return fits ? build.integer(static_cast<std::int64_t>(value)) : e;
}

Expr compared(const Builder& build, int op, Expr x, Expr y) {
  if (x->type == Type::boolean && y->type == Type::boolean && (op == Py_EQ || op == Py_NE)) {
    return op == Py_EQ ? build.eq(x, y) : build.ne(x, y);
  }
  x = number(build, x);
  y = number(build, y);
  if (x->type != y->type) {
    x = exact_integer(build, x);
    y = exact_integer(build, y);
  }
  if (x->type == Type::real || y->type == Type::real) {
    return compared_reals(build, op, as_real(build, x), as_real(build, y));
  }
  switch (op) {
    case Py_EQ:
      return build.eq(x, y);
    case Py_NE:
      return build.ne(x, y);
    default:
      return build.apply(comparison(op), std::array<Expr, 2>{x, y});
  }
}

// An int beyond 64 bits lies beyond every size; what else is compared is fixed.
PyObject* compare_number(const Operand& a, const Operand& b, int op) {
  const Operand& large = a.kind == Kind::number ? a : b;
  const Operand& size = a.kind == Kind::number ? b : a;
  if (PyLong_Check(large.object) && !size.is_real()) {
    const py::object zero = py::int_(0);
    const py::object same_side =
        large.object == b.object ? zero : py::reinterpret_borrow<py::object>(large.object);
    const py::object other_side =
        large.object == b.object ? py::reinterpret_borrow<py::object>(large.object) : zero;
    return stolen(PyObject_RichCompare(same_side.ptr(), other_side.ptr(), op)).release().ptr();
  }
  const py::object x = stolen(specialized(a.object));
  const py::object y = stolen(specialized(b.object));
  return stolen(PyObject_RichCompare(x.ptr(), y.ptr(), op)).release().ptr();
}

Expr whole_part(const Builder& build, Op op, Expr x) {
  x = number(build, x);
  return x->type == Type::real ? build.real(op, std::array<Expr, 1>{x}) : x;
}

Expr apply_unary(const Builder& build, Unary op, Expr x) {
  const bool real = x->type == Type::real;
  const std::array<Expr, 1> one{number(build, x)};
  switch (op) {
    case Unary::neg:
      return build.apply(real ? Op::real_neg : Op::neg, one);
    case Unary::pos:
      return one[0];
    case Unary::abs:
      return build.apply(real ? Op::real_abs : Op::abs, one);
    case Unary::invert:
      return build.sub(build.integer(-1), one[0]);
    case Unary::floor:
      return whole_part(build, Op::floor, x);
    case Unary::ceil:
      return whole_part(build, Op::ceil, x);
    case Unary::trunc:
      return whole_part(build, Op::trunc, x);
    case Unary::to_real:
      return as_real(build, x);
    case Unary::logical_not:
      return build.logical_not(x);
  }
  return x;
}

Expr chosen(const Builder& build, Expr condition, Expr x, Expr y) {
  if (x->type == Type::boolean && y->type == Type::boolean) {
    return build.logical_or(std::array<Expr, 2>{
        build.logical_and(std::array<Expr, 2>{condition, x}),
        build.logical_and(std::array<Expr, 2>{build.logical_not(condition), y})});
  }
  const bool real = x->type == Type::real || y->type == Type::real;
  return build.ite(condition, real ? as_real(build, x) : number(build, x),
                   real ? as_real(build, y) : number(build, y));
}

}  // namespace

bool is_others(PyObject* a) { return is_symbol_type(Py_TYPE(a)) && SymOperand(a).foreign(); }

// NOLINTNEXTLINE(misc-no-recursion): once, divmod is two other operations
PyObject* binary(Binary op, PyObject* left, PyObject* right) {
  const Operand a(left);
  const Operand b(right);
  if (any(Kind::others, a, b)) {
    return nullptr;
  }
  if (any(Kind::other, a, b)) {
    return not_implemented();
  }
  if (any(Kind::number, a, b)) {
    return by_python(op, a, b);
  }
  switch (op) {
    case Binary::divmod: {
      const py::object quotient = stolen(binary(Binary::floordiv, left, right));
      const py::object remainder = stolen(binary(Binary::mod, left, right));
      return py::make_tuple(quotient, remainder).release().ptr();
    }
    case Binary::pow:
      return a.is_real() || b.is_real() ? real_power(a, b) : integer_power(a, b);
    case Binary::lshift:
    case Binary::rshift:
      return shifted(op, a, b);
    case Binary::bit_and:
    case Binary::bit_or:
    case Binary::bit_xor:
      return bitwise(op, a, b);
    default:
      return built(
          a, b, [op](const Builder& build, Expr x, Expr y) { return arithmetic(build, op, x, y); });
  }
}

PyObject* compare(PyObject* left, PyObject* right, int op) {
  const Operand a(left);
  const Operand b(right);
  if (any(Kind::others, a, b)) {
    return nullptr;
  }
  if (any(Kind::other, a, b)) {
    return not_implemented();
  }
  if (any(Kind::number, a, b)) {
    return compare_number(a, b, op);
  }
  return built(a, b,
               [op](const Builder& build, Expr x, Expr y) { return compared(build, op, x, y); });
}

PyObject* unary(Unary op, PyObject* object) {
  const Operand a(object);
  if (a.kind == Kind::others) {
    return nullptr;
  }
  if (op == Unary::invert && a.is_real()) {
    return by_python(Binary::bit_xor, a, a);  // the error of a float
  }
  return built(a, [op](const Builder& build, Expr x) { return apply_unary(build, op, x); });
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus == Py_None) {
    return binary(Binary::pow, a, b);
  }
  if (is_others(a) || is_others(b) || is_others(modulus)) {
    return nullptr;
  }
  const py::object x = stolen(specialized(a));
  const py::object y = stolen(specialized(b));
  const py::object z = stolen(specialized(modulus));
  return stolen(PyNumber_Power(x.ptr(), y.ptr(), z.ptr())).release().ptr();
}

// An int rounded to places before the point is fixed; to others it stays.
PyObject* rounded(PyObject* object, PyObject* digits) {
  const Operand a(object);
  if (a.kind == Kind::others) {
    return nullptr;
  }
  const py::object fixed = stolen(specialized(digits));
  const Operand places(fixed.ptr());
  if (digits == Py_None) {
    return built(a, [](const Builder& build, Expr x) { return whole_part(build, Op::round, x); });
  }
  if (places.kind == Kind::integer && a.is_real() && std::abs(places.integer) < 400) {
    return built(a, places, [](const Builder& build, Expr x, Expr n) {
      return build.real(Op::real_round, std::array<Expr, 2>{x, as_real(build, n)});
    });
  }
  if (places.kind == Kind::integer && !a.is_real() && places.integer >= 0) {
    return built(a, [](const Builder& build, Expr x) { return number(build, x); });
  }
  const py::object value = stolen(specialized(object));
  return stolen(PyObject_CallMethod(value.ptr(), "__round__", "O", fixed.ptr())).release().ptr();
}

PyObject* choice(PyObject* condition, PyObject* yes, PyObject* no) {
  const Operand when(condition);
  const Operand a(yes);
  const Operand b(no);
  if (when.kind == Kind::others || any(Kind::others, a, b)) {
    return nullptr;
  }
  if (any(Kind::other, a, b) || any(Kind::number, a, b)) {
    return not_implemented();
  }
  static_cast<void>(env_of(when, a));
  static_cast<void>(env_of(when, b));
  return built(when, [&](const Builder& build, Expr c) {
    return chosen(build, c, a.expr(build), b.expr(build));
  });
}

PyObject* is_whole(PyObject* object) {
  const Operand a(object);
  return a.kind == Kind::others ? nullptr : built(a, [](const Builder& build, Expr x) {
    return compared(build, Py_EQ, as_real(build, whole_part(build, Op::floor, x)), x);
  });
}

PyObject* real_function(sym::Op op, PyObject* object) {
  const Operand a(object);
  return a.kind == Kind::others ? nullptr : built(a, [op](const Builder& build, Expr x) {
    return build.real(op, std::array<Expr, 1>{as_real(build, x)});
  });
}

PyObject* sum(std::span<PyObject* const> integers) {
  std::deque<Operand> operands;
  const Operand* symbol = nullptr;
  for (PyObject* item : integers) {
    const Operand& added = operands.emplace_back(item);
    if (added.kind == Kind::others) {
      return nullptr;
    }
    if (added.kind != Kind::symbol && added.kind != Kind::integer) {
      return not_implemented();
    }
    symbol = added.kind == Kind::symbol ? &added : symbol;
  }
  if (symbol == nullptr) {
    return not_implemented();
  }
  return built(*symbol, [&](const Builder& build, Expr) {
    std::vector<Expr> terms;
    for (const Operand& operand : operands) {
      static_cast<void>(env_of(*symbol, operand));
      terms.push_back(number(build, operand.expr(build)));
    }
    return build.sum(terms);
  });
}

bool truth(PyObject* object) {
  const SymOperand a(object);
  if (a.node() == nullptr) {
    return object == Py_True;
  }
  const std::shared_ptr<ShapeEnv>& env = a.node()->env();
  Expr e = a.node()->expr();
  return with_sym_errors([&] {
    if (e->type != Type::boolean) {
      e = env->with_builder(
          [&](const Builder& build) { return compared(build, Py_NE, e, build.integer(0)); });
    }
    return env->decide(e);
  });
}

PyObject* specialized(PyObject* object) {
  const SymOperand a(object);
  if (a.node() == nullptr) {
    Py_INCREF(object);
    return object;
  }
  Expr e = a.node()->expr();
  return number_object(e, with_sym_errors([&] { return a.node()->env()->specialize(e); }));
}

}  // namespace massless::python
