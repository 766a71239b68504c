// The operators of torch.SymInt, SymBool and SymFloat in C.
#pragma once

#include <pybind11/pybind11.h>

namespace massless::python {

void bind_sym_methods(pybind11::module_& m);

}  // namespace massless::python
