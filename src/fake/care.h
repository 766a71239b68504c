// The part of an operator call that most calls do not need: real arguments, known values.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string>
#include <string_view>

#include "fake/tensor.h"

namespace massless {

// True for a real tensor that is no wrapped number, and for a fake of known value.
bool tensor_needs_care(const at::Tensor& t) noexcept;

// One careful call. The constructor checks that nothing real is written and, when all tensors are
// meta tensors of the user's own, runs the operator on them instead (`passes_through`).
// `finish` folds: if every tensor argument is known, the real operator runs on the known values
// and its results become known; what is written with unknown values is forgotten.
class Care {
 public:
  Care(std::string_view operator_name, torch::jit::Stack arguments);
  bool passes_through() const noexcept { return passes_through_; }
  torch::jit::Stack results() { return std::move(results_); }
  void finish(const torch::jit::Stack& results);

 private:
  bool all_known() const;
  bool may_fold() const;
  void fold(const torch::jit::Stack& results);
  void forget_written() const;
  void learn(const c10::IValue& result, const c10::IValue& value) const;

  c10::OperatorHandle op_;
  torch::jit::Stack arguments_;
  torch::jit::Stack results_;
  bool passes_through_ = false;
};

// Raises if `t`, which the operator `op` writes, is real or the twin of a real tensor.
void check_written(const at::Tensor& t, const std::string& argument, const std::string& op);

// Shared with the fallback: raises if a real tensor stands in a written argument of `op`; makes
// backward raise where it would write a fake gradient into a real tensor.
void check_real_arguments(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments);

// For rules (fake/rule.h): sizes must equal self's, the dtype must be castable to self's.
void check_inplace(const at::Tensor& self, const TensorSpec& spec);
// Resizes `out` as ATen's structured kernels do; dtype and device are checked.
void write_out(const at::Tensor& out, const TensorSpec& spec);

}  // namespace massless
