// Precompiled: the headers that every file of the binding includes.
#pragma once

#include <torch/csrc/utils/pybind.h>
#include <torch/library.h>
