// The storage ledger as Python objects.
#include "fake/ledger.h"

#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <utility>

#include "dispatch/sym_node.h"
#include "fake/storage.h"
#include "fake/tensor.h"
#include "plan/fits.h"
#include "plan/plan.h"

namespace massless::python {

namespace py = pybind11;

namespace {

// The environment of a tensor's symbolic sizes, or null.
std::shared_ptr<ShapeEnv> shape_env_of(const at::Tensor& t) {
  for (const c10::SymInt& size : t.sym_sizes()) {
    if (const ExprNode* node = expr_node(size)) {
      return node->env();
    }
  }
  return nullptr;
}

void bind_formula(py::module_& m) {
  py::class_<Formula>(m, "Formula")
      .def(py::init<std::int64_t>())
      .def("value", &Formula::value)
      .def("subs", &Formula::subs)
      .def("at", &Formula::at)
      .def("symbols", &Formula::symbols)
      .def("text", &Formula::text);
  m.def("largest_within", &largest_within);
}

void bind_plan(py::module_& m) {
  py::class_<Analysis>(m, "Analysis")
      .def_readonly("peak", &Analysis::peak)
      .def_readonly("peak_event", &Analysis::peak_event)
      .def_readonly("at_peak", &Analysis::at_peak)
      .def_readonly("live", &Analysis::live)
      .def_readonly("alive_at_peak", &Analysis::alive_at_peak);
  py::class_<Plan>(m, "Plan")
      .def_readonly("analysis", &Plan::analysis)
      .def_readonly("events", &Plan::events)
      .def_readonly("storages", &Plan::storages)
      .def_readonly("names", &Plan::names)
      .def_property_readonly("peak", [](const Plan& p) { return p.formulas.peak; })
      .def_property_readonly("kinds", [](const Plan& p) { return p.formulas.kinds; })
      .def_property_readonly("flops",
                             [](const Plan& p) {
                               return py::make_tuple(p.flops.forward, p.flops.backward,
                                                     p.flops.total);
                             })
      .def("reserved", &Plan::reserved)
      .def_readonly("env", &Plan::env)
      .def("symbols",
           [](const Plan& p) {
             py::dict all;
             for (const auto& [name, value] : p.symbols()) {
               all[py::str(name)] = value;
             }
             return all;
           })
      .def("at", &Plan::at);
  // (ledger, environment or None, device, ends_with_graph)
  m.def("make_plan", [](const Ledger& ledger, std::shared_ptr<guard::ShapeEnv> env,
                        const c10::Device& device, bool ends_with_graph) {
    return make_plan(ledger, std::move(env), device.type(), ends_with_graph);
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
      .def("id_of", [](const Ledger& self, const at::Tensor& t) -> py::object {
        const StorageToken* token = storage_token(t.storage().unsafeGetStorageImpl());
        if (token == nullptr || token->ledger.get() != &self) {
          return py::none();
        }
        return py::int_(token->id);
      });
  m.def("shape_env_of", &shape_env_of);
  bind_formula(m);
  bind_plan(m);
}

}  // namespace massless::python
