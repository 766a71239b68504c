#include "symbolic/crashes.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace massless::vectors {
namespace {

using torch::jit::Stack;

// Arguments 0 and 1: [batch, heads, length, size].
bool no_rows(const Stack& arguments) {
  const at::Tensor& query = arguments.at(0).toTensor();
  const at::Tensor& key = arguments.at(1).toTensor();
  return query.size(2) == 0 || key.size(1) == 0 || key.size(2) == 0;
}
// Argument 1: [batch, channels, ...].
bool no_batch(const Stack& arguments) {
  const at::Tensor& input = arguments.at(1).toTensor();
  return input.size(0) == 0 || input.size(1) == 0;
}
bool no_elements(const Stack& arguments) { return arguments.at(0).toTensor().numel() == 0; }
// Arguments 1 and 2: [batch, classes] and the targets.
bool no_classes(const Stack& arguments) {
  const at::Tensor& input = arguments.at(1).toTensor();
  return input.numel() == 0 && arguments.at(2).toTensor().numel() != 0;
}

constexpr std::array kCrashes = {
    Crash{"aten::_scaled_dot_product_flash_attention_for_cpu", no_rows, SIGFPE,
          "the kernel divides by the lengths and by the number of the key's heads",
          "_scaled_dot_product_flash_attention_for_cpu(f32[2,2,4,8], f32[2,2,0,8], f32[2,2,0,8])"},
    Crash{"aten::native_batch_norm_backward", no_batch, SIGFPE,
          "the kernel divides by the batch and by the number of channels",
          "native_batch_norm_backward(f32[0,2,3,3], f32[0,2,3,3], f32[2], f32[2], f32[2], f32[2], "
          "f32[2], true, 1e-05, [true,true,true])"},
    Crash{"aten::batch_norm_backward", no_batch, SIGFPE,
          "the kernel divides by the batch and by the number of channels",
          "batch_norm_backward(f32[0,2,3,3], f32[0,2,3,3], f32[2], f32[2], f32[2], f32[2], f32[2], "
          "true, 1e-05, [true,true,true], u8[0])"},
    Crash{"aten::_cummax_helper", no_elements, SIGSEGV,
          "the kernel reads the first element before it looks whether there is one",
          "_cummax_helper(f32[2,0], f32[2,0], i64[2,0], 0)"},
    Crash{"aten::_cummin_helper", no_elements, SIGSEGV,
          "the kernel reads the first element before it looks whether there is one",
          "_cummin_helper(f32[2,0], f32[2,0], i64[2,0], 0)"},
    Crash{"aten::nll_loss_backward", no_classes, SIGSEGV,
          "the kernel writes to the target's class without asking whether there is one",
          "nll_loss_backward(f32[5], f32[5,0], i64[5], f32[0], 0, -100, f32[])"},
};

}  // namespace

std::span<const Crash> crashes() { return kCrashes; }

const Crash* crash_at(const std::string& operator_name, const Stack& arguments) {
  const auto* found = std::find_if(kCrashes.begin(), kCrashes.end(), [&](const Crash& crash) {
    return operator_name == crash.operator_name && crash.at(arguments);
  });
  return found == kCrashes.end() ? nullptr : found;
}

}  // namespace massless::vectors
