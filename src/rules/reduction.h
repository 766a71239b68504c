// Sizes of reductions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "rules/iterator.h"

namespace massless {

// What an empty list of dimensions means; no list at all always means every dimension.
enum class EmptyDims { all, none };

// Sizes of `self` reduced over `dims`; they are checked as ATen does (in range, no duplicates).
SymDimVector reduced_sizes(const at::Tensor& self, at::OptionalIntArrayRef dims, bool keepdim,
                           EmptyDims empty = EmptyDims::all);
// The reductions' results are allocated plainly, whatever the input's strides are.
TensorSpec reduced(const at::Tensor& self, at::OptionalIntArrayRef dims, bool keepdim,
                   c10::ScalarType dtype, EmptyDims empty = EmptyDims::all);
// Kernels are chosen by dtype only where there is something to do.
void check_kernel(const at::Tensor& self, c10::ScalarType dtype, DtypeSet set, const char* name);
// Raises where a reduction without a neutral element meets no elements.
void check_reducible(const at::Tensor& self, at::OptionalIntArrayRef dims, const char* name);

}  // namespace massless
