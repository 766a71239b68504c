// Questions about the ladder below the rules, and its seams to Python.
#pragma once

#include <string>

namespace massless {

// Has this process's Python registered meta kernels over ATen's own?
bool python_has_registered_meta();

// The name of the rung that would answer this operator ("aten::add.Tensor").
std::string answering_rung(const std::string& qualified_name);

// Called with the exception in flight (std::current_exception) when a kernel below a fake raised;
// may throw another exception in its place.
using ExceptionHook = void (*)(const std::string& operator_name);
void set_exception_hook(ExceptionHook hook) noexcept;

}  // namespace massless
