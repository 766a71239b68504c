// Plans from C++: what a function on tensors costs, without a byte allocated.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "plan/analysis.h"

namespace massless {

struct PlanOptions {
  c10::Device device{c10::DeviceType::CPU};  // where the inputs' twins live, and what is counted
};

struct Plan {
  Analysis analysis;
  std::vector<LedgerEvent> events;
  std::vector<StorageRecord> storages;
  std::vector<std::string> names;  // of operators and places, by index
  Flops flops;
  std::int64_t peak() const noexcept { return analysis.peak; }
};

using TensorFunction = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

// Runs `fn` on fake twins of `inputs`; nothing real is read or written.
Plan plan(const TensorFunction& fn, const std::vector<at::Tensor>& inputs,
          const PlanOptions& options = {});

}  // namespace massless
