#include "rules/flops.h"

#include "dispatch/error.h"

namespace massless {

using at::Tensor;
using c10::SymInt;

SymInt product_flops(const SymInt& batches, const SymInt& m, const SymInt& k, const SymInt& n) {
  SymInt product = 2;
  for (const SymInt* factor : {&batches, &m, &k, &n}) {
    const auto plain = product.maybe_as_int();
    const auto other = factor->maybe_as_int();
    if (plain && other) {  // of symbols the product is checked where it is built
      std::int64_t value = 0;
      if (__builtin_mul_overflow(*plain, *other, &value)) {
        raise(ErrorCode::sym_overflow, "the number of floating-point operations does not fit");
      }
      product = value;
    } else {
      product = product * *factor;
    }
  }
  return product;
}

SymInt attention_flops(const Tensor& query, const Tensor& key, const Tensor& value) {
  const SymInt batches = query.sym_size(0) * query.sym_size(1);
  const SymInt rows = query.sym_size(2);
  const SymInt keys = key.sym_size(2);
  return product_flops(batches, rows, query.sym_size(3), keys) +  // scores
         product_flops(batches, rows, keys, value.sym_size(3));   // output
}

SymInt attention_backward_flops(const Tensor& query, const Tensor& key, const Tensor& value) {
  const SymInt batches = query.sym_size(0) * query.sym_size(1);
  const SymInt rows = query.sym_size(2);
  const SymInt keys = key.sym_size(2);
  const SymInt on_keys = product_flops(batches, rows, query.sym_size(3), keys);
  const SymInt on_values = product_flops(batches, rows, keys, value.sym_size(3));
  // scores anew, gradients of query and key; gradients of scores and value
  return on_keys * 3 + on_values * 2;
}

namespace {

SymInt spatial(const Tensor& t) {
  SymInt product = 1;
  for (int64_t dim = 2; dim < t.dim(); ++dim) {
    product = product * t.sym_size(dim);
  }
  return product;
}

// Every point of `places` (per batch) meets the whole of `filter`.
SymInt filter_flops(const SymInt& batches, const SymInt& places, const Tensor& filter) {
  return batches * places * filter.sym_numel() * 2;
}

}  // namespace

SymInt convolution_flops(const Tensor& input, const Tensor& weight, const Tensor& output,
                         bool transposed) {
  return filter_flops(input.sym_size(0), spatial(transposed ? input : output), weight);
}

SymInt convolution_backward_flops(const Tensor& grad_output, const Tensor& input,
                                  const Tensor& weight, bool transposed, const Tensor& grad_input,
                                  const Tensor& grad_weight) {
  SymInt flops = 0;
  if (grad_input.defined()) {  // the convolution of the other kind, of grad_output
    flops = flops + convolution_flops(grad_output, weight, grad_input, !transposed);
  }
  if (grad_weight.defined()) {
    // Channels take the batch's place: the grad of the output is the filter that meets every point
    // of the weight's gradient (of a transposed one: the input is the filter).
    const Tensor& filter = transposed ? input : grad_output;
    const Tensor& data = transposed ? grad_output : input;
    flops = flops + filter_flops(data.sym_size(1), spatial(grad_weight), filter);
  }
  return flops;
}

}  // namespace massless
