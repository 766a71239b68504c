#include "rules/config.h"

#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <atomic>
#include <filesystem>
#include <system_error>

namespace massless {
namespace {

std::atomic<int> capability{CudaConfig{}.capability};
std::atomic<std::int64_t> cudnn{CudaConfig{}.cudnn};
std::atomic<std::int64_t> toolkit{CudaConfig{}.toolkit};

}  // namespace

CudaConfig cuda_config() noexcept { return {capability.load(), cudnn.load(), toolkit.load()}; }

void set_cuda_config(const CudaConfig& config) noexcept {
  capability.store(config.capability);
  cudnn.store(config.cudnn);
  toolkit.store(config.toolkit);
}

bool is_cuda_build() {
  // A CUDA build's libraries lie beside libc10.
  Dl_info found{};
  if (dladdr(reinterpret_cast<void*>(&c10::alloc_cpu), &found) == 0 || found.dli_fname == nullptr) {
    return true;
  }
  std::error_code ignored;
  return std::filesystem::exists(
      std::filesystem::path(found.dli_fname).parent_path() / "libtorch_cuda.so", ignored);
}

void set_cuda_capability(int major, int minor) {
  TORCH_CHECK_VALUE(major >= 1 && major <= 99 && minor >= 0 && minor <= 9,
                    "a compute capability is major.minor, e.g. 9.0, but got ", major, ".", minor);
  capability.store(10 * major + minor);
}

}  // namespace massless
