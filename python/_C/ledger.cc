// The storage ledger as Python objects.
#include "fake/ledger.h"

#include <torch/csrc/utils/pybind.h>

#include <memory>

#include "fake/storage.h"
#include "fake/tensor.h"
#include "plan/analysis.h"

namespace massless::python {

namespace py = pybind11;

namespace {

void bind_analysis(py::module_& m) {
  py::class_<Analysis>(m, "Analysis")
      .def_readonly("peak", &Analysis::peak)
      .def_readonly("peak_event", &Analysis::peak_event)
      .def_readonly("at_peak", &Analysis::at_peak)
      .def_readonly("maxima", &Analysis::maxima)
      .def_readonly("live", &Analysis::live)
      .def_readonly("alive_at_peak", &Analysis::alive_at_peak);
  // (ledger, device, ends_with_graph) -> (analysis, events, storages, reserved bytes)
  m.def("analyse", [](const Ledger& ledger, const c10::Device& device, bool ends_with_graph) {
    auto events = ledger.events();
    auto storages = ledger.storages();
    Analysis result = analyse(events, storages, device.type(), ends_with_graph);
    const auto reserved = caching_allocator_bytes(events, storages, device.type());
    return py::make_tuple(std::move(result), std::move(events), std::move(storages), reserved);
  });
}

}  // namespace

void bind_ledger(py::module_& m) {
  py::enum_<StorageKind>(m, "StorageKind")
      .value("temporary", StorageKind::temporary)
      .value("parameter", StorageKind::parameter)
      .value("gradient", StorageKind::gradient)
      .value("optimizer_state", StorageKind::optimizer_state)
      .value("activation", StorageKind::activation)
      .value("buffer", StorageKind::buffer)
      .value("input", StorageKind::input);
  py::enum_<EventKind>(m, "EventKind")
      .value("birth", EventKind::birth)
      .value("growth", EventKind::growth)
      .value("death", EventKind::death)
      .value("mark", EventKind::mark);
  py::class_<LedgerEvent>(m, "LedgerEvent")
      .def_readonly("kind", &LedgerEvent::kind)
      .def_readonly("storage", &LedgerEvent::storage)
      .def_readonly("bytes", &LedgerEvent::bytes)
      .def_readonly("live", &LedgerEvent::live)
      .def_readonly("in_backward", &LedgerEvent::in_backward)
      .def_readonly("op", &LedgerEvent::op);
  py::class_<StorageRecord>(m, "StorageRecord")
      .def_readonly("bytes", &StorageRecord::bytes)
      .def_readonly("kind", &StorageRecord::kind)
      .def_readonly("op", &StorageRecord::op)
      .def_readonly("location", &StorageRecord::location)
      .def_readonly("module", &StorageRecord::module)
      .def_readonly("name", &StorageRecord::name);
  py::class_<Ledger, std::shared_ptr<Ledger>>(m, "Ledger")
      .def(py::init<>())
      .def("mark", &Ledger::mark)
      .def("set_kind", &Ledger::set_kind)
      .def("set_name", &Ledger::set_name)
      .def("live_bytes", &Ledger::live_bytes)
      .def("peak_bytes", &Ledger::peak_bytes)
      .def("size", &Ledger::size)
      .def("events", &Ledger::events)
      .def("storages", &Ledger::storages)
      .def("names", &Ledger::names)
      .def("id_of",
           [](const Ledger& self, const at::Tensor& t) -> py::object {
             const StorageToken* token = storage_token(t.storage().unsafeGetStorageImpl());
             if (token == nullptr || token->ledger.get() != &self) {
               return py::none();
             }
             return py::int_(token->id);
           })
      .def("flops", [](const Ledger& self) {
        const Flops flops = self.flops();
        return py::make_tuple(flops.forward, flops.backward);
      });
  bind_analysis(m);
}

}  // namespace massless::python
