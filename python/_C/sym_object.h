// torch.SymInt, SymBool and SymFloat over expressions, made and read without pybind11's lookups:
// what a symbol's operator costs in Python is mostly this.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "dispatch/sym_node.h"

namespace massless::python {

// The three classes, fetched once.
struct SymClasses {
  PyTypeObject* integer;  // torch.SymInt
  PyTypeObject* boolean;  // torch.SymBool
  PyTypeObject* real;     // torch.SymFloat
};
const SymClasses& sym_classes();

inline bool is_symbol_type(const PyTypeObject* type) {
  const SymClasses& classes = sym_classes();
  return type == classes.integer || type == classes.boolean || type == classes.real;
}

// A new reference: a symbol's object, or a plain int, bool or float where e is constant.
PyObject* symbol_object(const std::shared_ptr<ShapeEnv>& env, sym::Expr e);

// A new reference: a torch._C._SymNode.
PyObject* node_object(c10::SymNode node);

// A new reference: the number that e's value is (an integer, 0 or 1, or a real's bits); None.
PyObject* number_object(sym::Expr e, std::optional<std::int64_t> value);

// What stands behind an object while it is worked with.
class SymOperand {
 public:
  explicit SymOperand(PyObject* object);
  ~SymOperand() { Py_XDECREF(node_object_); }
  SymOperand(const SymOperand&) = delete;
  SymOperand& operator=(const SymOperand&) = delete;
  // Null: the object is no symbol, or one of others (`foreign`).
  const ExprNode* node() const { return node_; }
  bool foreign() const { return foreign_; }

 private:
  PyObject* node_object_ = nullptr;  // keeps the node
  const ExprNode* node_ = nullptr;
  bool foreign_ = false;
};

// torch._C._SymNode
PyTypeObject* node_class();
// The node of ours in a torch._C._SymNode; null: somebody else's, or another object.
ExprNode* node_of(PyObject* sym_node);

}  // namespace massless::python
