// Known values of storages whose size is a symbol, or too large for their bytes to be kept:
// integers that grow evenly, as arange(seq) and zeros(batch, seq) hold them. Models branch on what
// they compute from position ids and masks ("are these positions consecutive?"), and the answer is
// the same for every size.
//
// A progression hangs on the storage's token like the known bytes do (known.h): views share it, a
// write drops it. Integers are taken as 64-bit without overflow: a size is no larger.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/SymInt.h>

#include <optional>

#include "fake/tensor.h"

namespace massless {

// The storage is filled by a contiguous tensor of these sizes (none of them 1); its element at
// (i, j, ...) is first + slopes[0] * i + slopes[1] * j + ... Of bools 0 or 1, and no slope.
struct Progression {
  SymDimVector sizes;
  SymDimVector strides;
  SymDimVector slopes;
  c10::SymInt first;
};

// A fresh fake all of whose elements are one number, or a fresh arange: nothing happens where its
// bytes are known, or its dtype might not hold the numbers (all but int64; bool and int32 hold one
// plain number).
void set_progression(const at::Tensor& fresh, const c10::SymInt& first, const c10::SymInt& step);
// The only element of a tensor, where its storage is a progression; nothing: not known.
std::optional<c10::SymInt> progression_item(const at::Tensor& t);

// What follows for the results of an operator on progressions, known tensors and numbers.
void learn_progressions(const c10::OperatorHandle& op, const torch::jit::Stack& arguments,
                        const torch::jit::Stack& results);

}  // namespace massless
