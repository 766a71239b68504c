#include "sym_object.h"

#include <c10/core/SymNodeImpl.h>
#include <torch/csrc/utils/python_symnode.h>

#include <typeinfo>
#include <utility>

#include "sym/real.h"

namespace massless::python {
namespace {

namespace py = pybind11;

PyTypeObject* as_type(py::handle h) { return reinterpret_cast<PyTypeObject*>(h.ptr()); }

PyObject* node_name() {
  static PyObject* const name = PyUnicode_InternFromString("node");
  return name;
}

}  // namespace

const SymClasses& sym_classes() {
  static const SymClasses classes{as_type(torch::get_symint_class()),
                                  as_type(torch::get_symbool_class()),
                                  as_type(torch::get_symfloat_class())};
  return classes;
}

PyTypeObject* node_class() {
  static PyTypeObject* const type = as_type(py::type::of<c10::SymNodeImpl>());
  return type;
}

// What py::cast does, but for the registry of known pointers: a node has one Python object, the one
// made here, and nobody asks for it by its address.
PyObject* node_object(c10::SymNode node) {
  PyObject* self = py::detail::make_new_instance(node_class());
  auto* instance = reinterpret_cast<py::detail::instance*>(self);
  instance->owned = true;
  py::detail::value_and_holder slot = instance->get_value_and_holder();
  slot.value_ptr() = node.get();
  new (&slot.holder<c10::SymNode>()) c10::SymNode(std::move(node));
  slot.set_holder_constructed();
  return self;
}

PyObject* number_object(sym::Expr e, std::optional<std::int64_t> value) {
  if (!value) {
    Py_RETURN_NONE;
  }
  switch (e->type) {
    case sym::Type::boolean:
      return PyBool_FromLong(*value != 0 ? 1 : 0);
    case sym::Type::real:
      return PyFloat_FromDouble(sym::bits_to_real(*value));
    case sym::Type::integer:
      return PyLong_FromLongLong(*value);
  }
  return nullptr;
}

PyObject* symbol_object(const std::shared_ptr<ShapeEnv>& env, sym::Expr e) {
  if (e->is(sym::Op::constant) || e->is(sym::Op::truth) || e->is(sym::Op::real_constant)) {
    return number_object(e, e->value());
  }
  const SymClasses& classes = sym_classes();
  PyTypeObject* type = e->type == sym::Type::integer   ? classes.integer
                       : e->type == sym::Type::boolean ? classes.boolean
                                                       : classes.real;
  const auto node =
      py::reinterpret_steal<py::object>(node_object(c10::make_intrusive<ExprNode>(env, e)));
  // Without __init__, which does no more than this.
  auto made = py::reinterpret_steal<py::object>(type->tp_alloc(type, 0));
  if (!made || PyObject_GenericSetAttr(made.ptr(), node_name(), node.ptr()) != 0) {
    throw py::error_already_set();
  }
  return made.release().ptr();
}

ExprNode* node_of(PyObject* sym_node) {
  if (!PyObject_TypeCheck(sym_node, node_class())) {
    return nullptr;
  }
  auto* instance = reinterpret_cast<py::detail::instance*>(sym_node);
  auto* node = static_cast<c10::SymNodeImpl*>(instance->get_value_and_holder().value_ptr());
  return node != nullptr && typeid(*node) == typeid(ExprNode) ? static_cast<ExprNode*>(node)
                                                              : nullptr;
}

SymOperand::SymOperand(PyObject* object) {
  if (!is_symbol_type(Py_TYPE(object))) {
    return;
  }
  node_object_ = PyObject_GenericGetAttr(object, node_name());
  if (node_object_ == nullptr) {
    PyErr_Clear();
  } else {
    node_ = node_of(node_object_);
  }
  foreign_ = node_ == nullptr;
}

}  // namespace massless::python
