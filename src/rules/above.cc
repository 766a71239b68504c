// Composite operators that ATen runs above the Fake key, and that decide more about symbols than
// their result depends on. Fakes of symbolic sizes carry the key DeferredInit (fake/tensor.cc),
// which is above autograd and which nothing else uses; what has a kernel here comes here first.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_unsafe_view.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <c10/core/WrapDimMinimal.h>
#include <torch/library.h>

#include "rules/reshape.h"
#include "rules/sdpa_choice.h"

namespace massless {
namespace {

using at::Tensor;
using c10::DispatchKey;
using c10::SymIntArrayRef;

// ATen asks first whether the tensor is contiguous, then dimension by dimension whether it is 1.
Tensor reshape(const Tensor& self, SymIntArrayRef shape) {
  const c10::impl::ExcludeDispatchKeyGuard below(DispatchKey::DeferredInit);
  const SymDimVector sizes = viewed_sizes(self.sym_sizes(), shape);
  if (viewed_strides(self.sym_sizes(), self.sym_strides(), sizes)) {
    return self.view_symint(sizes);
  }
  return at::_unsafe_view_symint(self.clone(at::MemoryFormat::Contiguous), sizes);
}

Tensor flatten(const Tensor& self, std::int64_t start, std::int64_t end) {
  start = c10::maybe_wrap_dim(start, self.dim());
  end = c10::maybe_wrap_dim(end, self.dim());
  TORCH_CHECK(start <= end, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (self.dim() == 0) {
    return reshape(self, {1});
  }
  if (start == end) {
    return self;
  }
  SymDimVector shape;
  for (std::int64_t d = 0; d < self.dim(); ++d) {
    if (d > start && d <= end) {
      shape.back() = shape.back() * self.sym_size(d);
    } else {
      shape.push_back(self.sym_size(d));
    }
  }
  return reshape(self, shape);
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const std::optional<Tensor>& mask, double dropout, bool causal,
                                    std::optional<double> scale, bool enable_gqa) {
  const c10::impl::ExcludeDispatchKeyGuard below(DispatchKey::DeferredInit);
  return at::scaled_dot_product_attention(query, key, value, mask_of_plain_ones(mask), dropout,
                                          causal, scale, enable_gqa);
}

TORCH_LIBRARY_IMPL(aten, DeferredInit, m) {
  m.impl("reshape", &reshape);
  m.impl("flatten.using_ints", &flatten);
  m.impl("scaled_dot_product_attention", &scaled_dot_product_attention);
}

}  // namespace
}  // namespace massless
