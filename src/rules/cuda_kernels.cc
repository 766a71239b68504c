// Operators that a CUDA build has a kernel for, while the CPU build has only their composite.
//
// The dispatcher takes the composite instead of the autograd kernel where no backend kernel of the
// device is registered, so in a CPU-only build a fake cuda tensor would never reach the operator's
// rule. A kernel registered here makes it look as a CUDA build does; it is never run, since no real
// CUDA tensor can exist in such a build.
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <array>

#include "rules/config.h"

namespace massless {
namespace {

constexpr std::array<const char*, 3> kOnlyOnCuda{"_fused_rms_norm", "mish_backward",
                                                 "silu_backward"};

void no_cuda(const c10::OperatorHandle& op, torch::jit::Stack*) {
  TORCH_CHECK(false, op.operator_name(), ": this build of PyTorch has no CUDA kernels");
}

TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  if (is_cuda_build()) {
    return;
  }
  for (const char* name : kOnlyOnCuda) {
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&no_cuda>());
  }
}

}  // namespace
}  // namespace massless
