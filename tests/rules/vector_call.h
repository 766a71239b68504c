// One call of a vector, however it is made: what it gave or raised, and what its tensors share.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/util/Exception.h>

#include <functional>
#include <string>
#include <vector>

namespace massless::vectors {

// What a call did: its results, or the error it raised.
struct Outcome {
  torch::jit::Stack results;
  std::string error;  // class and text; empty: none
  std::string error_class;
  bool unsupported = false;  // an error of ours that is no answer
};

Outcome outcome_of(const std::function<torch::jit::Stack()>& call);
// Without autograd.
torch::jit::Stack call_boxed(const c10::OperatorHandle& op, torch::jit::Stack stack);

// Warnings (a resized output, a deprecated call) are not under test.
struct Quiet final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

// All tensors, also undefined ones that are no list's.
std::vector<at::Tensor> tensors_of(const torch::jit::Stack& stack);

// For each tensor the first of all that shares its storage, and whether it is the same one.
std::vector<std::string> sharing(const std::vector<at::Tensor>& in,
                                 const std::vector<at::Tensor>& out);

}  // namespace massless::vectors
