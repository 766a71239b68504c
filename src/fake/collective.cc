#include "fake/collective.h"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <optional>
#include <string>
#include <vector>

#include "dispatch/error.h"
#include "dispatch/state.h"
#include "fake/care.h"
#include "fake/known.h"
#include "fake/tensor.h"
#include "fake/walk.h"

namespace massless {
namespace {

// The backend of the group for the device that the tensors claim.
std::string backend_name(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                         c10::DeviceType device) {
  return group->getBackend(device)->getBackendName();
}

}  // namespace

bool is_collective(const c10::OperatorHandle& op) {
  return op.operator_name().name.rfind("c10d::", 0) == 0;
}

void run_collective(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const std::string name = c10::str(op.operator_name());
  const OpScope scope(fallback_stat(name), Rung::composite);
  const auto& formal = op.schema().arguments();
  const auto arguments = torch::jit::last(*stack, formal.size());
  c10::intrusive_ptr<c10d::ProcessGroup> group;
  std::optional<c10::Device> device;
  for (std::size_t i = 0; i < formal.size(); ++i) {
    if (arguments[i].isObject()) {
      if (formal[i].name() == "process_group") {
        group = arguments[i].toCustomClass<c10d::ProcessGroup>();
      }
      continue;
    }
    for_each_tensor(arguments[i], [&](const at::Tensor& t) {
      device = device.value_or(t.device());
      // Written or not: a collective's schema does not always say.
      check_written(t, formal[i].name(), name);
      forget(t);
    });
  }
  const std::string backend =
      group && device ? backend_name(group, device->type()) : std::string("(none)");
  if (backend != "fake") {
    raise(ErrorCode::unsupported_operator,
          "the process group's backend is '" + backend + "', which needs the bytes", name);
  }
  const c10::impl::IncludeDispatchKeyGuard fake_on(c10::DispatchKey::Fake);
  op.callBoxedForDispatchKey(device->is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU,
                             *stack);
}

}  // namespace massless
