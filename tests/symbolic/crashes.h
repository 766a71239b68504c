// Points where the real operator ends the process: there is nothing to compare with there.
#pragma once

#include <ATen/core/stack.h>

#include <span>
#include <string>

namespace massless::vectors {

struct Crash {
  const char* operator_name;
  bool (*at)(const torch::jit::Stack& arguments);  // real ones
  int signal;
  const char* reason;
  const char* call;  // a vector that it kills
};

std::span<const Crash> crashes();
// The row that tells that the real operator would not come back; null: none does.
const Crash* crash_at(const std::string& operator_name, const torch::jit::Stack& arguments);

}  // namespace massless::vectors
