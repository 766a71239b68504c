// The LSTM layer of oneDNN, which lstm.input takes on CPU (nn.LSTM in float32 and bfloat16).
#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <tuple>

#include "fake/device.h"
#include "fake/rule.h"
#include "rules/strict.h"

namespace massless {
namespace {

using at::Tensor;
using c10::SymInt;
using OptionalTensor = std::optional<Tensor>;
using Seven = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;

constexpr int64_t kLstm = 2;  // the mode's number in ATen

// Leading dimension of oneDNN's buffers: whole cache lines, and never a multiple of 256.
SymInt leading_dimension(const SymInt& size, int64_t itemsize) {
  const int64_t line = 64 / itemsize;
  const SymInt rounded = (size + (line - 1)) / line * line;
  return rounded % 256 == 0 ? rounded + line : rounded;
}

SymInt whole_pages(const SymInt& bytes) { return (bytes + 4095) / 4096 * 4096; }

// Bytes of the workspace that the backward pass reads, by experiment: gates and hidden states of
// each step; states of layer and cell with one more step, their differences always in float32; each
// part in whole pages. Held against oneDNN 3.x in torch 2.13.0 for 300 random shapes (steps 1-70,
// batch 1-64, input 1-300, hidden 1-257, float32 and bfloat16; SSE4.1, AVX2, AVX-512): no
// difference.
SymInt workspace_bytes(const SymInt& steps, const SymInt& batch, const SymInt& in,
                       const SymInt& hidden, int64_t itemsize) {
  const SymInt rows = steps * batch;
  const SymInt state_rows = (steps + 1) * batch * 2;
  const SymInt widest = in.max(hidden);
  const SymInt gates = rows * leading_dimension(hidden * 4, itemsize) * itemsize;
  const SymInt outputs = rows * leading_dimension(hidden, itemsize) * itemsize;
  const SymInt layer = state_rows * leading_dimension(widest, itemsize) * itemsize;
  const SymInt layer_difference = state_rows * leading_dimension(widest, 4) * 4;
  const SymInt cell = state_rows * hidden * itemsize;
  const SymInt cell_difference = state_rows * hidden * 4;
  return whole_pages(gates) + whole_pages(outputs) + whole_pages(layer) +
         whole_pages(layer_difference) * 2 + whole_pages(cell) + whole_pages(cell_difference);
}

std::tuple<TensorSpec, TensorSpec, TensorSpec, TensorSpec> layer_spec(
    const Tensor& input, const Tensor& weight0, const Tensor& weight1, const Tensor& weight2,
    const Tensor& weight3, const Tensor& hx, const Tensor& cx, bool, at::IntArrayRef, int64_t mode,
    int64_t hidden_size, int64_t, bool has_biases, bool, bool, bool) {
  TORCH_CHECK(mode == kLstm, "mkldnn_rnn: only LSTM is supported, but got mode ", mode);
  TORCH_CHECK(input.dim() == 3, "mkldnn_rnn: expected an input of 3 dimensions, but got ",
              input.dim());
  const c10::Device device = has_biases
                                 ? same_device({input, weight0, weight1, weight2, weight3, hx, cx})
                                 : same_device({input, weight0, weight1, hx, cx});
  const c10::ScalarType dtype = input.scalar_type();
  TORCH_CHECK(dtype == c10::kFloat || c10::isReducedFloatingType(dtype),
              "could not create a primitive descriptor for the LSTM forward propagation primitive");
  const SymInt steps = input.sym_size(0);
  const SymInt batch = input.sym_size(1);
  const SymInt in = input.sym_size(2);
  TORCH_CHECK(
      weight0.dim() == 2 && weight0.sym_size(1) == in && weight0.sym_size(0) == hidden_size * 4,
      "mkldnn_rnn: expected a weight of size [", hidden_size * 4, ", ", in, "], but got ",
      weight0.sym_sizes());
  TORCH_CHECK(weight1.dim() == 2 && weight1.sym_size(1) == hidden_size,
              "mkldnn_rnn: expected a recurrent weight of size [", hidden_size * 4, ", ",
              hidden_size, "], but got ", weight1.sym_sizes());
  const SymInt bytes =
      workspace_bytes(steps, batch, in, hidden_size, static_cast<int64_t>(c10::elementSize(dtype)));
  return {contiguous_spec({steps, batch, hidden_size}, dtype, device),
          contiguous_spec(hx.sym_sizes(), dtype, device),
          contiguous_spec(cx.sym_sizes(), dtype, device),
          contiguous_spec({bytes}, c10::kByte, device)};
}

// All gradients are float32, those of a bfloat16 layer too: oneDNN accumulates in it.
Seven layer_backward(const Tensor& input, const Tensor& weight1, const Tensor& weight2,
                     const Tensor& weight3, const Tensor& weight4, const Tensor& hx,
                     const Tensor& cx, const Tensor&, const Tensor&, const Tensor&,
                     const OptionalTensor&, const OptionalTensor&, const OptionalTensor&, bool,
                     int64_t mode, int64_t, int64_t, bool, bool, bool, at::IntArrayRef, bool,
                     const Tensor& workspace) {
  TORCH_CHECK(mode == kLstm, "mkldnn_rnn: only LSTM is supported, but got mode ", mode);
  same_device({input, weight1, weight2, weight3, weight4, hx, cx, workspace});
  const auto gradient = [](const Tensor& t) {
    return make_fake(contiguous_like_spec(t, c10::kFloat));
  };
  return {gradient(input),   gradient(weight1), gradient(weight2), gradient(weight3),
          gradient(weight4), gradient(hx),      gradient(cx)};
}

MASSLESS_RULES(m) {
  rule<"mkldnn_rnn_layer", functional<layer_spec>>(m);
  rule<"mkldnn_rnn_layer_backward", layer_backward>(m);
}

}  // namespace
}  // namespace massless
