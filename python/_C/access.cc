// What Python asks of a tensor or a storage behind the dispatcher's back.
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <optional>
#include <string>

#include "dispatch/error.h"
#include "dispatch/state.h"
#include "fake/accelerator.h"
#include "fake/known.h"
#include "fake/storage.h"
#include "fake/tensor.h"
#include "rules/config.h"

namespace massless::python {

namespace py = pybind11;

namespace {

StorageToken* token_of(const c10::Storage& storage) {
  return storage_token(storage.unsafeGetStorageImpl());
}

void raise_code(const std::string& code, const std::string& found, const std::string& name) {
  for (int i = 0; i < error_count(); ++i) {
    if (error_info(static_cast<ErrorCode>(i)).name == code) {
      raise(static_cast<ErrorCode>(i), found, name);
    }
  }
  raise(ErrorCode::internal, "there is no error code " + code);
}

// massless.is_fake. Every patched method of torch.Tensor asks it first, also for real tensors, so
// it is a plain C function: 30 ns where a pybind11 one takes 200.
PyObject* python_is_fake(PyObject*, PyObject* x) {
  if (!THPVariable_Check(x)) {
    return PyErr_Format(PyExc_TypeError, "is_fake: expected a torch.Tensor, got %s",
                        Py_TYPE(x)->tp_name);
  }
  return PyBool_FromLong(is_fake(THPVariable_Unpack(x)) ? 1 : 0);
}
PyMethodDef is_fake_method = {"is_fake", &python_is_fake, METH_O,
                              "is_fake(x: torch.Tensor) -> bool: is the tensor fake?"};

// RAII for one call from Python: the Fake key is on, so that what is made inside is fake.
class FakeKeyOn {
 public:
  void enter() { guard_.emplace(c10::DispatchKey::Fake); }
  void exit() { guard_.reset(); }

 private:
  std::optional<c10::impl::IncludeDispatchKeyGuard> guard_;
};

// RAII for one call from Python: as before any mode was opened.
class RealWorld {
 public:
  void enter() { scope_.emplace(); }
  void exit() { scope_.reset(); }

 private:
  std::optional<RealScope> scope_;
};

}  // namespace

void bind_access(py::module_& m) {
  m.add_object("is_fake",
               py::reinterpret_steal<py::object>(PyCFunction_New(&is_fake_method, nullptr)));
  m.def("is_fake_storage", [](const c10::Storage& s) { return token_of(s) != nullptr; });
  m.def("storage_device", [](const c10::Storage& s) { return token_of(s)->device; });
  m.def("storage_is_pinned", [](const c10::Storage& s) { return token_of(s)->pinned; });
  m.def("resize_storage", [](const c10::Storage& s, std::int64_t nbytes) {
    resize_storage(s.unsafeGetStorageImpl(), nbytes);
  });
  m.def("raise_error", &raise_code);
  m.def("set_cuda_capability", &set_cuda_capability);
  m.def("cuda_capability", [] {
    const int capability = cuda_config().capability;
    return py::make_tuple(capability / 10, capability % 10);
  });
  m.def("require_backward_support", &require_backward_support);
  m.def("meet_device_threads", &meet_device_threads, py::call_guard<py::gil_scoped_release>());
  m.def("fake_devices_in_use", &fake_devices_in_use);
  py::class_<FakeKeyOn>(m, "FakeKeyOn")
      .def(py::init<>())
      .def("__enter__", &FakeKeyOn::enter)
      .def("__exit__", [](FakeKeyOn& self, const py::args&) { self.exit(); });
  py::class_<RealWorld>(m, "RealWorld")
      .def(py::init<>())
      .def("__enter__", &RealWorld::enter)
      .def("__exit__", [](RealWorld& self, const py::args&) { self.exit(); });
}

}  // namespace massless::python
