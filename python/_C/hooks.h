// The seams between the library, which knows no Python, and the interpreter.
#pragma once

#include <pybind11/pybind11.h>

namespace massless::python {

// Errors of the library become the classes of the `massless` module; the user's line comes from
// the Python stack. Called once, at import.
void install_hooks(pybind11::module_& module);

}  // namespace massless::python
