// Copies and concatenation, as other families use them.
#pragma once

#include <ATen/core/Tensor.h>

#include "fake/tensor.h"

namespace massless {

// As `cat`: dtype promotion, the legacy rule for empty vectors, the common memory format.
TensorSpec cat_spec(const at::ITensorListRef& tensors, std::int64_t dim);
// As `self.copy_(src)`: src is broadcast to self, any dtype and device.
void check_copy(const at::Tensor& self, const at::Tensor& src);
// True where a tensor is all of its storage, so that a write to it leaves nothing as it was.
bool covers_storage(const at::Tensor& t);

}  // namespace massless
