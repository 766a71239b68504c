// Plans: what a function on tensors costs, without a byte allocated.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fake/tensor.h"
#include "plan/analysis.h"
#include "plan/formula.h"

namespace massless {

// All hold wherever the guards of the run hold.
struct PlanFormulas {
  Formula peak;
  std::array<Formula, kPlanKinds> kinds;  // the most that each kind ever holds
};
struct PlanFlops {
  Formula forward;
  Formula backward;
  Formula total;
};

// The costs of a run at its example, or at another point of its symbols.
struct Plan {
  Analysis analysis;
  std::vector<LedgerEvent> events;
  std::vector<StorageRecord> storages;
  std::vector<std::string> names;  // of operators and places, by index
  PlanFlops flops;
  PlanFormulas formulas;
  std::shared_ptr<guard::ShapeEnv> env;  // null: the plan has no symbols
  c10::DeviceType device = c10::DeviceType::CPU;

  std::int64_t peak() const noexcept { return analysis.peak; }
  // What a caching allocator would ask of the driver (analysis.h).
  std::int64_t reserved() const { return caching_allocator_bytes(events, storages, device); }
  // The plan at another point: what a run there would give. Raises guard_failed outside of the
  // guards.
  Plan at(const NamedValues& values) const;
  // The symbols and their values at the example, in the order of their declaration.
  std::vector<std::pair<std::string, std::int64_t>> symbols() const;
};

// From what a run wrote into its ledger. `ends_with_graph`: see analyse. `env`: that of the run's
// symbols; null where it had none.
Plan make_plan(const Ledger& ledger, std::shared_ptr<guard::ShapeEnv> env, c10::DeviceType device,
               bool ends_with_graph);

struct PlanOptions {
  c10::Device device{c10::DeviceType::CPU};  // where the inputs' twins live, and what is counted
  std::shared_ptr<guard::ShapeEnv> env = {};
  // The sizes of inputs, where some are symbols of `env`; shorter than the inputs, or nothing: as
  // they are.
  std::vector<std::optional<SymDimVector>> sizes = {};
};

using TensorFunction = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

// Runs `fn` on fake twins of `inputs`; nothing real is read or written.
Plan plan(const TensorFunction& fn, const std::vector<at::Tensor>& inputs,
          const PlanOptions& options = {});

}  // namespace massless
