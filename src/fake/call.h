// What the careful path of a rule and the fallback ladder share: questions about one boxed call.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string_view>

namespace massless {

// "aten::add.Tensor" -> handle; raises internal if there is none.
c10::OperatorHandle find_operator(std::string_view qualified_name);

// At least one tensor argument, and all are meta tensors of the user's own (no fake).
bool only_meta_tensors(c10::ArrayRef<c10::IValue> arguments);

// May the real operator run on known values? Not when it is random or leaves memory unwritten.
bool can_fold(const c10::OperatorHandle& op);
// Is a symbol among the numbers of a call? What is made of it is not known then: to run the real
// operator would fix the size.
bool has_symbolic_number(c10::ArrayRef<c10::IValue> arguments);
// Runs the real operator on the known values of `arguments` (every tensor must be known). A
// written argument's known bytes are updated in place. Devices become the CPU.
torch::jit::Stack run_on_known_values(const c10::OperatorHandle& op,
                                      const torch::jit::Stack& arguments);

// The device of a call's fresh outputs: the `device` argument if given, else the tensors' common
// device (a 0-dim CPU tensor goes with any), else the mode's default, else the CPU.
// Raises device_mismatch.
c10::Device device_of_call(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments);

}  // namespace massless
