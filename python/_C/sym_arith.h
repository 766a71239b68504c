// What Python's operators mean for symbols of ours: as for an int, a bool or a float of that value,
// kept as an expression where the engine has one, else specialised (with a guard) and left to
// Python. All take and give new references, and raise by exception.
#pragma once

#include <Python.h>

#include <pybind11/pybind11.h>
#include <torch/csrc/Exceptions.h>

#include <cstdint>
#include <exception>
#include <span>

#include "sym_object.h"

namespace massless::python {

enum class Binary : std::uint8_t {
  add,
  sub,
  mul,
  truediv,
  floordiv,
  mod,
  divmod,
  pow,
  lshift,
  rshift,
  bit_and,
  bit_or,
  bit_xor,
  // not Python's operators, but torch's functions
  max,
  min,
};
enum class Unary : std::uint8_t { neg, pos, abs, invert, floor, ceil, trunc, to_real, logical_not };

// Each answers NotImplemented where an operand is neither a number nor a symbol, and null where one
// is a symbol of somebody else, whose operator it is.
PyObject* binary(Binary op, PyObject* a, PyObject* b);
PyObject* compare(PyObject* a, PyObject* b, int op);  // Py_LT ...
PyObject* unary(Unary op, PyObject* a);
PyObject* power(PyObject* a, PyObject* b, PyObject* modulus);  // modulus may be None
PyObject* rounded(PyObject* a, PyObject* digits);              // digits may be None
PyObject* choice(PyObject* condition, PyObject* yes, PyObject* no);
PyObject* is_whole(PyObject* a);  // float.is_integer
PyObject* real_function(sym::Op op, PyObject* a);
PyObject* sum(std::span<PyObject* const> integers);

// Is it a symbol of somebody else (or a torch.SymInt without a node)?
bool is_others(PyObject* a);
// Of a symbol of ours.
bool truth(PyObject* a);
// The int, bool or float that a symbol of ours is for the example, which is guarded; other objects
// as they are.
PyObject* specialized(PyObject* a);

// Runs f at the border to C: exceptions become Python's, and the result `failed`.
template <class F, class R>
R at_border(R failed, F&& f) noexcept {
  try {
    return f();
  } catch (python_error& error) {
    error.restore();
  } catch (pybind11::error_already_set& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return failed;
}

}  // namespace massless::python
