// In which order ATen's TensorIterator walks the dimensions of its operands, and the strides of an
// output that is laid out in that order.
//
// ATen compares strides, operand by operand. Where sizes are symbols the comparisons are proved
// where that is possible (dim_order.cc says how); else the example answers them, and guards say so.
#pragma once

#include <c10/core/SymIntArrayRef.h>

#include "fake/tensor.h"

namespace massless {

// An operand as it is, not yet broadcast; dimensions count from the right.
struct Strided {
  c10::SymIntArrayRef sizes;
  c10::SymIntArrayRef strides;
};

// Of a fresh output of the broadcast sizes `shape`. Some size or stride may be a symbol.
SymDimVector iterated_strides(c10::SymIntArrayRef shape, c10::ArrayRef<Strided> operands);

// Strides of a dense copy that keeps the order of a tensor's dimensions (at::infer_dense_strides):
// what preserve_format gives where a tensor is not itself dense.
SymDimVector dense_strides(c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides);

}  // namespace massless
