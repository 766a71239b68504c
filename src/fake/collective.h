// Collectives of torch.distributed over fakes.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace massless {

// Is it one of torch.distributed's own operators, whose arguments hold a process group?
bool is_collective(const c10::OperatorHandle& op);

// Runs it on the "fake" backend (torch.testing's FakeProcessGroup), which only copies between the
// tensors at hand; a backend that would send bytes is an error.
void run_collective(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace massless
