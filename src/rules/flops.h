// Floating-point operations of the operators that multiply matrices; nothing else is counted. The
// conventions are those of torch.utils.flop_counter: a multiply-add is two operations, padding and
// causality are not looked at, attention's backward computes the scores anew.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/SymInt.h>

#include <tuple>

namespace massless {

// (m, k) times (k, n), in each of `batches`. Raises sym_overflow where that is no 64-bit number.
c10::SymInt product_flops(const c10::SymInt& batches, const c10::SymInt& m, const c10::SymInt& k,
                          const c10::SymInt& n);

// Functors for `rule`: called with the result, then the operator's own arguments.
struct MmFlops {  // (self, mat2, ...)
  template <class R, class... Rest>
  c10::SymInt operator()(const R&, const at::Tensor& self, const at::Tensor& mat2,
                         const Rest&...) const {
    return product_flops(1, self.sym_size(0), self.sym_size(1), mat2.sym_size(1));
  }
};
struct AddmmFlops {  // (self, mat1, mat2, ...)
  template <class R, class... Rest>
  c10::SymInt operator()(const R& result, const at::Tensor&, const at::Tensor& mat1,
                         const at::Tensor& mat2, const Rest&...) const {
    return MmFlops()(result, mat1, mat2);
  }
};
struct BmmFlops {  // (self, mat2, ...)
  template <class R, class... Rest>
  c10::SymInt operator()(const R&, const at::Tensor& self, const at::Tensor& mat2,
                         const Rest&...) const {
    return product_flops(self.sym_size(0), self.sym_size(1), self.sym_size(2), mat2.sym_size(2));
  }
};
struct BaddbmmFlops {  // (self, batch1, batch2, ...)
  template <class R, class... Rest>
  c10::SymInt operator()(const R& result, const at::Tensor&, const at::Tensor& batch1,
                         const at::Tensor& batch2, const Rest&...) const {
    return BmmFlops()(result, batch1, batch2);
  }
};

// (B, H, S, D) queries against (B, H', T, D) keys and (B, H', T, V) values.
c10::SymInt attention_flops(const at::Tensor& query, const at::Tensor& key,
                            const at::Tensor& value);
c10::SymInt attention_backward_flops(const at::Tensor& query, const at::Tensor& key,
                                     const at::Tensor& value);
struct AttentionFlops {  // (query, key, value, ...)
  template <class R, class... Rest>
  c10::SymInt operator()(const R&, const at::Tensor& query, const at::Tensor& key,
                         const at::Tensor& value, const Rest&...) const {
    return attention_flops(query, key, value);
  }
};
struct AttentionBackwardFlops {  // (grad_out, query, key, value, ...)
  template <class R, class... Rest>
  c10::SymInt operator()(const R&, const at::Tensor&, const at::Tensor& query,
                         const at::Tensor& key, const at::Tensor& value, const Rest&...) const {
    return attention_backward_flops(query, key, value);
  }
};

// `weight` is (out, in / groups, kernel...), of a transposed one (in, out / groups, kernel...); the
// spatial sizes that count are the output's, of a transposed one the input's.
c10::SymInt convolution_flops(const at::Tensor& input, const at::Tensor& weight,
                              const at::Tensor& output, bool transposed);
// Gradients of input and weight, as far as they were computed (defined).
c10::SymInt convolution_backward_flops(const at::Tensor& grad_output, const at::Tensor& input,
                                       const at::Tensor& weight, bool transposed,
                                       const at::Tensor& grad_input, const at::Tensor& grad_weight);

struct ConvolutionFlops {  // (input, weight, bias, stride, padding, dilation, transposed, ...)
  template <class B, class S, class P, class D, class... Rest>
  c10::SymInt operator()(const at::Tensor& result, const at::Tensor& input,
                         const at::Tensor& weight, const B&, const S&, const P&, const D&,
                         bool transposed, const Rest&...) const {
    return convolution_flops(input, weight, result, transposed);
  }
};
struct ConvolutionBackwardFlops {  // (grad_output, input, weight, bias_sizes, stride, padding, ...)
  template <class R, class B, class S, class P, class D, class... Rest>
  c10::SymInt operator()(const R& result, const at::Tensor& grad_output, const at::Tensor& input,
                         const at::Tensor& weight, const B&, const S&, const P&, const D&,
                         bool transposed, const Rest&...) const {
    return convolution_backward_flops(grad_output, input, weight, transposed, std::get<0>(result),
                                      std::get<1>(result));
  }
};

}  // namespace massless
