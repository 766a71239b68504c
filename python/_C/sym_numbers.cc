// Sizes that meet tensors. torch's argument parser makes a wrapped number of a size, with a
// placeholder as its value, and sets the size as the attribute `_wrapped_number` of its Python
// object. Ours is a data descriptor of that name on torch.Tensor: it sees both.
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <ATen/ops/scalar_tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cstdint>
#include <optional>

#include "fake/known.h"
#include "fake/number.h"
#include "sym_arith.h"
#include "sym_object.h"

namespace massless::python {

namespace py = pybind11;

namespace {

constexpr const char* kName = "_wrapped_number";

// The instance's own dictionary: borrowed, or null.
PyObject* kept(PyObject* tensor) {
  const auto dict = py::reinterpret_steal<py::object>(PyObject_GenericGetDict(tensor, nullptr));
  if (!dict) {
    PyErr_Clear();
    return nullptr;
  }
  return PyDict_GetItemString(dict.ptr(), kName);
}

PyObject* get_number(PyObject* tensor, void*) {
  PyObject* found = kept(tensor);
  return found != nullptr ? Py_NewRef(found)
                          : PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%s'",
                                         Py_TYPE(tensor)->tp_name, kName);
}

// torch's own caster to Scalar cannot load.
c10::Scalar scalar_of(PyObject* number) {
  const SymClasses& classes = sym_classes();
  const py::handle object(number);
  if (Py_TYPE(number) == classes.integer) {
    return py::cast<c10::SymInt>(object);
  }
  if (Py_TYPE(number) == classes.boolean) {
    return py::cast<c10::SymBool>(object);
  }
  if (Py_TYPE(number) == classes.real) {
    return py::cast<c10::SymFloat>(object);
  }
  if (PyBool_Check(number) != 0) {
    return py::cast<bool>(object);
  }
  return PyLong_Check(number) != 0 ? c10::Scalar(py::cast<std::int64_t>(object))
                                   : c10::Scalar(py::cast<double>(object));
}

bool in_fake_mode() { return c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::Fake); }

// Outside of every mode a real kernel may be what reads the number: the size is fixed, and the
// number becomes its value.
void become_value(const at::Tensor& number, PyObject* symbol) {
  const auto value = py::reinterpret_steal<py::object>(specialized(symbol));
  const RealScope real;
  const_cast<at::Tensor&>(number).fill_(scalar_of(value.ptr()));
}

int set_number(PyObject* tensor, PyObject* symbol, void*) {
  return at_border(-1, [&] {
    const auto dict = py::reinterpret_steal<py::object>(PyObject_GenericGetDict(tensor, nullptr));
    if (!dict) {
      return -1;
    }
    if (symbol == nullptr) {
      return PyDict_DelItemString(dict.ptr(), kName);
    }
    const bool number = THPVariable_Unpack(tensor).unsafeGetTensorImpl()->is_wrapped_number();
    if (number && SymOperand(symbol).node() != nullptr && !in_fake_mode()) {
      become_value(THPVariable_Unpack(tensor), symbol);
      return 0;
    }
    return PyDict_SetItemString(dict.ptr(), kName, symbol);
  });
}

PyGetSetDef descriptor{kName, &get_number, &set_number, nullptr, nullptr};

// Of the wrapped numbers those alone have a Python object that stand for a size.
std::optional<c10::Scalar> resolve(const at::Tensor& number) {
  PyObject* object = number.unsafeGetTensorImpl()->pyobj_slot()->load_pyobj();
  if (object == nullptr || Py_IsInitialized() == 0) {
    return std::nullopt;
  }
  const py::gil_scoped_acquire gil;
  PyObject* symbol = kept(object);
  if (symbol == nullptr || !is_symbol_type(Py_TYPE(symbol))) {
    return std::nullopt;
  }
  return scalar_of(symbol);
}

void install_numbers() {
  auto* type = reinterpret_cast<PyTypeObject*>(THPVariableClass);
  const auto made = py::reinterpret_steal<py::object>(PyDescr_NewGetSet(type, &descriptor));
  if (!made || PyObject_SetAttrString(THPVariableClass, kName, made.ptr()) != 0) {
    throw py::error_already_set();
  }
  set_number_resolver(&resolve);
}

}  // namespace

void bind_numbers(py::module_& m) { m.def("install_numbers", &install_numbers); }

}  // namespace massless::python
