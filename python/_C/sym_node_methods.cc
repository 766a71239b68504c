// Methods and attributes of torch._C._SymNode in C: those that torch's Python operators call for
// every operation, ten times as fast as pybind11's, and two that it reads each time. A node of
// somebody else goes to what was there before.
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "dispatch/error.h"
#include "sym/real.h"
#include "sym_arith.h"
#include "sym_object.h"

namespace massless::python {

namespace py = pybind11;

namespace {

// Leaked: name -> torch's own method.
PyObject* torch_methods() {
  static PyObject* const all = PyDict_New();
  return all;
}

template <class... Arguments>
PyObject* torch_method(const char* name, PyObject* self, Arguments... arguments) {
  return PyObject_CallFunctionObjArgs(PyDict_GetItemString(torch_methods(), name), self,
                                      arguments..., nullptr);
}

template <class F>
PyObject* method(F&& f) noexcept {
  return at_border(static_cast<PyObject*>(nullptr), f);
}

using BinaryMember = c10::SymNode (ExprNode::*)(const c10::SymNode&);
template <BinaryMember member>
constexpr const char* kName = nullptr;

template <BinaryMember member>
PyObject* binary_method(PyObject* self, PyObject* other) noexcept {
  return method([&] {
    ExprNode* a = node_of(self);
    ExprNode* b = node_of(other);
    if (a != nullptr && b == nullptr && !PyObject_TypeCheck(other, node_class())) {
      raise(ErrorCode::foreign_symbol, "the size " + a->str() + " met the size " +
                                           py::cast<std::string>(py::str(py::handle(other))) +
                                           ", which is none of massless");
    }
    if (a == nullptr || b == nullptr) {
      return torch_method(kName<member>, self, other);
    }
    return node_object((a->*member)(c10::SymNode::reclaim_copy(b)));
  });
}

#define MASSLESS_NODE_BINARY(X) \
  X(add)                        \
  X(sub)                        \
  X(mul)                        \
  X(mod)                        \
  X(eq)                         \
  X(ne)                         \
  X(lt)                         \
  X(le)                         \
  X(gt)                         \
  X(ge)                         \
  X(floordiv)                   \
  X(sym_max)                    \
  X(sym_min)                    \
  X(sym_and)                    \
  X(sym_or)
#define MASSLESS_NODE_NAME(name) \
  template <>                    \
  constexpr const char* kName<&ExprNode::name> = #name;
MASSLESS_NODE_BINARY(MASSLESS_NODE_NAME)
#undef MASSLESS_NODE_NAME

PyObject* int_floordiv(PyObject* self, PyObject* other) noexcept {
  ExprNode* a = node_of(self);
  return a == nullptr ? method([&] { return torch_method("int_floordiv", self, other); })
                      : binary_method<&ExprNode::floordiv>(self, other);
}

PyObject* wrap_int(PyObject* self, PyObject* number) noexcept {
  return method([&] {
    ExprNode* node = node_of(self);
    int overflow = 0;
    const std::int64_t value =
        PyLong_Check(number) ? PyLong_AsLongLongAndOverflow(number, &overflow) : 0;
    if (node == nullptr || !PyLong_Check(number)) {
      return torch_method("wrap_int", self, number);
    }
    if (overflow != 0) {
      raise(ErrorCode::sym_overflow,
            "the number " + py::cast<std::string>(py::str(py::handle(number))) + " met a size");
    }
    return node_object(node->wrap_int(value));
  });
}

using Question = bool (*)(ExprNode&);
template <Question question>
constexpr const char* kQuestionName = nullptr;
template <Question question>
PyObject* question_method(PyObject* self, PyObject*) noexcept {
  return method([&] {
    ExprNode* node = node_of(self);
    return node == nullptr ? torch_method(kQuestionName<question>, self)
                           : PyBool_FromLong(question(*node) ? 1 : 0);
  });
}
bool is_int(ExprNode& node) { return node.is_int(); }
bool is_float(ExprNode& node) { return node.is_float(); }
bool is_bool(ExprNode& node) { return node.is_bool(); }
bool is_constant(ExprNode& node) { return node.is_constant(); }
template <>
constexpr const char* kQuestionName<&is_int> = "is_int";
template <>
constexpr const char* kQuestionName<&is_float> = "is_float";
template <>
constexpr const char* kQuestionName<&is_bool> = "is_bool";
template <>
constexpr const char* kQuestionName<&is_constant> = "is_constant";

#define MASSLESS_NODE_ROW(name) \
  PyMethodDef{#name, &binary_method<&ExprNode::name>, METH_O, nullptr},
std::array definitions{
    MASSLESS_NODE_BINARY(MASSLESS_NODE_ROW)
        PyMethodDef{"int_floordiv", &int_floordiv, METH_O, nullptr},
    PyMethodDef{"wrap_int", &wrap_int, METH_O, nullptr},
    PyMethodDef{"is_int", &question_method<&is_int>, METH_NOARGS, nullptr},
    PyMethodDef{"is_float", &question_method<&is_float>, METH_NOARGS, nullptr},
    PyMethodDef{"is_bool", &question_method<&is_bool>, METH_NOARGS, nullptr},
    PyMethodDef{"is_constant", &question_method<&is_constant>, METH_NOARGS, nullptr},
};
#undef MASSLESS_NODE_ROW

// torch.fx.experimental.sym_node.SymNode: isinstance(node, SymNode) asks for the attributes that
// massless/_sym_node.py gives nodes of ours. It asks the type first, then this.
PyObject* python_node_class = nullptr;

PyObject* class_of(PyObject* self, void*) {
  return Py_NewRef(node_of(self) != nullptr ? python_node_class
                                            : reinterpret_cast<PyObject*>(Py_TYPE(self)));
}

// The number that a node of ours is, or None.
PyObject* constant_of(PyObject* self, void*) {
  ExprNode* node = node_of(self);
  if (node == nullptr) {
    return PyErr_Format(PyExc_AttributeError,
                        "'torch._C._SymNode' object has no attribute 'constant'");
  }
  return number_object(node->expr(),
                       node->is_constant() ? std::optional(node->expr()->value()) : std::nullopt);
}

std::array attributes{
    PyGetSetDef{"__class__", &class_of, nullptr, nullptr, nullptr},
    PyGetSetDef{"constant", &constant_of, nullptr, nullptr, nullptr},
};

// Not through the type's own __setattr__, for which `__class__` is the class of the type.
void put(const char* name, PyObject* made) {
  const auto owned = py::reinterpret_steal<py::object>(made);
  if (!owned || PyDict_SetItemString(node_class()->tp_dict, name, made) != 0) {
    throw py::error_already_set();
  }
}

// Called once.
void install_node_methods(const py::object& python_node) {
  python_node_class = py::object(python_node).release().ptr();
  for (PyMethodDef& definition : definitions) {
    PyObject* found = PyDict_GetItemString(node_class()->tp_dict, definition.ml_name);
    if (found == nullptr || PyDict_SetItemString(torch_methods(), definition.ml_name, found) != 0) {
      raise(ErrorCode::internal, std::string("torch._C._SymNode has no ") + definition.ml_name);
    }
    put(definition.ml_name, PyDescr_NewMethod(node_class(), &definition));
  }
  for (PyGetSetDef& attribute : attributes) {
    put(attribute.name, PyDescr_NewGetSet(node_class(), &attribute));
  }
  PyType_Modified(node_class());
}

}  // namespace

void bind_node_methods(py::module_& m) { m.def("install_node_methods", &install_node_methods); }

}  // namespace massless::python
