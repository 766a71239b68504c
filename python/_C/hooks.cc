#include "hooks.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

#include <exception>
#include <string>
#include <utility>

#include "dispatch/error.h"
#include "dispatch/state.h"
#include "fake/fallback.h"
#include "fake/ledger.h"

namespace massless::python {
namespace {

namespace py = pybind11;

// Leaked: they are asked for until the interpreter is gone.
py::object* python_raise = nullptr;  // (code, class, operator, location, text) -> exception
py::object* user_frame = nullptr;    // () -> str

// Turns the error into the Python exception that the user sees; torch's bindings let python_error
// through as it is, where a c10::Error would become a plain RuntimeError.
void raise_in_python(const Error& error) {
  if (python_raise == nullptr || Py_IsInitialized() == 0) {
    return;
  }
  const py::gil_scoped_acquire gil;
  const ErrorInfo& info = error_info(error.code());
  const py::object exception =
      (*python_raise)(std::string(info.name), std::string(info.python_class), error.operator_name(),
                      error.location(), error.msg());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  python_error thrown;
  thrown.persist();
  throw thrown;
}

// Called for every storage that a ledger records; null: no place is noted.
py::object* python_place = nullptr;

Place place_of_storage() {
  if (python_place == nullptr || Py_IsInitialized() == 0) {
    return {};
  }
  const py::gil_scoped_acquire gil;
  if (python_place == nullptr) {
    return {};
  }
  const auto both = py::cast<std::pair<std::string, std::string>>((*python_place)());
  return {both.first, both.second};
}

void set_python_place(const py::object& place) {
  py::object* old = python_place;
  python_place = place.is_none() ? nullptr : new py::object(place);
  set_place_provider(&place_of_storage);
  delete old;
}

std::string python_location() {
  if (user_frame == nullptr || Py_IsInitialized() == 0) {
    return {};
  }
  const py::gil_scoped_acquire gil;
  return py::cast<std::string>((*user_frame)());
}

// A Python meta kernel raised NotImplementedError, which torch's own code swallows, or an
// exception of torch's fake tensors about data: both are ours to word.
void translate_kernel_exception(const std::string& operator_name) {
  try {
    throw;
  } catch (python_error& error) {
    std::string text;
    ErrorCode code = ErrorCode::unsupported_operator;
    {
      const py::gil_scoped_acquire gil;
      const py::handle type(error.type);
      const auto name = py::cast<std::string>(type.attr("__name__"));
      const bool on_data =
          name == "DataDependentOutputException" || name == "DynamicOutputShapeException";
      if (!on_data && PyErr_GivenExceptionMatches(error.type, PyExc_NotImplementedError) == 0) {
        throw;
      }
      code = on_data ? ErrorCode::data_dependent : ErrorCode::unsupported_operator;
      text = py::cast<std::string>(py::str(py::handle(error.value)));
    }
    raise(code, text, operator_name);
  } catch (...) {
    throw;
  }
}

}  // namespace

void install_hooks(py::module_& module) {
  module.def("set_python_place", &set_python_place);
  module.def("set_python_hooks", [](py::object raise_object, py::object frame) {
    python_raise = new py::object(std::move(raise_object));
    user_frame = new py::object(std::move(frame));
    set_raise_hook(&raise_in_python);
    set_location_provider(&python_location);
    set_exception_hook(&translate_kernel_exception);
  });
}

}  // namespace massless::python
