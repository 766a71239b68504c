// massless._C: names and conversions only; the logic is in libmassless.
#include <torch/csrc/utils/device_lazy_init.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/utils/tensor_new.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dispatch/state.h"
#include "fake/accelerator.h"
#include "fake/fallback.h"
#include "fake/known.h"
#include "fake/ledger.h"
#include "fake/storage.h"
#include "fake/tensor.h"
#include "fake/twin.h"
#include "guard/shape_env.h"
#include "hooks.h"

namespace massless::python {

void bind_access(pybind11::module_& m);
void bind_ledger(pybind11::module_& m);
void bind_symbols(pybind11::module_& m);

namespace {

namespace py = pybind11;

// A FakeMode that Python opens and closes; opened on the thread that closes it.
class OpenMode {
 public:
  OpenMode(std::optional<c10::Device> device, bool known_values, std::shared_ptr<Ledger> ledger,
           std::shared_ptr<guard::ShapeEnv> env)
      : options_{device, known_values, std::move(ledger), std::move(env)} {}
  void enter() { mode_ = std::make_unique<FakeMode>(options_); }
  void exit() { mode_.reset(); }

 private:
  FakeModeOptions options_;
  std::unique_ptr<FakeMode> mode_;
};

py::list reports() {
  py::list rows;
  for (const OpReport& report : explain_ops()) {
    py::dict calls;
    for (int i = 0; i < kRungs; ++i) {
      if (report.calls[i] != 0) {
        calls[py::str(std::string(rung_name(static_cast<Rung>(i))))] = report.calls[i];
      }
    }
    rows.append(py::make_tuple(report.name, calls, report.seconds));
  }
  return rows;
}

std::optional<at::Tensor> known_value_or_none(const at::Tensor& t) {
  at::Tensor value = known_value(t);
  const RealScope real;
  return value.defined() ? std::optional<at::Tensor>(value.clone()) : std::nullopt;
}

void bind_fakes(py::module_& m) {
  py::class_<OpenMode>(m, "OpenMode")
      .def(py::init<std::optional<c10::Device>, bool, std::shared_ptr<Ledger>,
                    std::shared_ptr<guard::ShapeEnv>>())
      .def("enter", &OpenMode::enter)
      .def("exit", &OpenMode::exit);
  py::class_<FakeConverter>(m, "FakeConverter")
      .def(py::init<>())
      .def(
          "convert",
          [](FakeConverter& self, const at::Tensor& t, std::optional<c10::Device> device,
             bool with_values, const std::optional<std::vector<c10::SymInt>>& sizes) {
            FakeLikeOptions options{.device = device, .with_values = with_values};
            if (sizes) {
              options.sizes.emplace(sizes->begin(), sizes->end());
            }
            return self.convert(t, options);
          },
          py::arg("t"), py::arg("device"), py::arg("with_values") = false,
          py::arg("sizes") = py::none());
  py::class_<Impersonation>(m, "Impersonation")
      .def(py::init(
          [](const at::Tensor& target, const at::Tensor& fake, std::optional<at::Tensor> grad) {
            return Impersonation(target, fake, grad.value_or(at::Tensor()));
          }))
      .def("restore", &Impersonation::restore);
  m.def("meta_like", &meta_like);
  m.def("known_value", &known_value_or_none);
  m.def("explain_ops", &reports);
  m.def("reset_op_counts", &reset_op_counts);
  m.def("rule_names", &rule_names);
  m.def("answering_rung", &answering_rung);
  m.def("in_mode", [] { return current_mode() != nullptr; });
  m.def("set_requires_device_init", [](const c10::Device& device, bool wanted) {
    torch::utils::set_requires_device_init(device.type(), wanted);
  });
  m.def("set_only_lift_cpu_tensors", &torch::utils::set_only_lift_cpu_tensors);
  m.def("only_lift_cpu_tensors", &torch::utils::only_lift_cpu_tensors);
  m.def("accelerator_report", [] {
    const AcceleratorReport report = accelerator_report();
    return py::make_tuple(report.guard_is_ours, report.hooks_in_time);
  });
}

}  // namespace

PYBIND11_MODULE(_C, m) {
  bind_fakes(m);
  install_hooks(m);
  bind_access(m);
  bind_ledger(m);
  bind_symbols(m);
}

}  // namespace massless::python
