// What the rules assume of the fake CUDA device: what a CUDA build would ask the device and its
// libraries. One setting for the process.
#pragma once

#include <cstdint>

namespace massless {

struct CudaConfig {
  int capability = 90;           // 10 * major + minor
  std::int64_t cudnn = 91900;    // of the CUDA wheels: 10000 * major + 100 * minor + patch
  std::int64_t toolkit = 13000;  // CUDA_VERSION of the build
};

CudaConfig cuda_config() noexcept;
void set_cuda_config(const CudaConfig& config) noexcept;
// Whether this PyTorch was built with CUDA (its libraries may be loaded after ours).
bool is_cuda_build();
// Compute capability major.minor, e.g. (9, 0). Raises for a capability that no device has.
void set_cuda_capability(int major, int minor);

}  // namespace massless
