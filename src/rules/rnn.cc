// LSTM: the layer of oneDNN, which lstm.input takes on CPU (nn.LSTM in float32 and bfloat16), and
// what it takes on CUDA: the fused cell, or cuDNN.
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "dispatch/error.h"
#include "fake/device.h"
#include "fake/rule.h"
#include "rules/strict.h"

namespace massless {
namespace {

using at::Tensor;
using c10::SymInt;
using OptionalTensor = std::optional<Tensor>;
using Five = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;
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

// ATen's composites give oneDNN no input without elements, which it may not survive.
void check_layer_input(const Tensor& input) {
  TORCH_CHECK(input.dim() == 3, "mkldnn_rnn: expected an input of 3 dimensions, but got ",
              input.dim());
  TORCH_CHECK(!is_empty(input), "mkldnn_rnn: expected an input with elements, but got the sizes ",
              input.sym_sizes());
}

// oneDNN reads what it is given as it needs it; tensors of other sizes are refused here.
void check_layer(const Tensor& input, TensorRefs weights, TensorRefs states, const SymInt& hidden) {
  const std::array<SymInt, 2> columns{input.sym_size(2), hidden};
  std::size_t i = 0;
  for (const Tensor& weight : weights) {
    check_sizes(weight, SymDimVector{hidden * 4, columns[i++]}, "a weight");
  }
  for (const Tensor& state : states) {
    check_numel(state, input.sym_size(1) * hidden, "a state");
  }
}

// Without grad mode the layer runs for inference and leaves no workspace, whatever `train` says.
std::tuple<Tensor, Tensor, Tensor, Tensor> layer(const Tensor& input, const Tensor& weight0,
                                                 const Tensor& weight1, const Tensor& weight2,
                                                 const Tensor& weight3, const Tensor& hx,
                                                 const Tensor& cx, bool, at::IntArrayRef,
                                                 int64_t mode, int64_t hidden_size, int64_t,
                                                 bool has_biases, bool, bool, bool) {
  TORCH_CHECK(mode == kLstm, "mkldnn_rnn: only LSTM is supported, but got mode ", mode);
  check_layer_input(input);
  const c10::Device device = has_biases
                                 ? same_device({input, weight0, weight1, weight2, weight3, hx, cx})
                                 : same_device({input, weight0, weight1, hx, cx});
  const c10::ScalarType dtype = input.scalar_type();
  TORCH_CHECK(dtype == c10::kFloat || c10::isReducedFloatingType(dtype),
              "could not create a primitive descriptor for the LSTM forward propagation primitive");
  const SymInt steps = input.sym_size(0);
  const SymInt batch = input.sym_size(1);
  const SymInt in = input.sym_size(2);
  check_layer(input, {weight0, weight1}, {hx, cx}, hidden_size);
  if (has_biases) {
    check_sizes(weight2, SymDimVector{hidden_size * 4}, "a bias");
    check_sizes(weight3, SymDimVector{hidden_size * 4}, "a bias");
  }
  Tensor workspace;
  if (at::GradMode::is_enabled()) {
    const SymInt bytes = workspace_bytes(steps, batch, in, hidden_size,
                                         static_cast<int64_t>(c10::elementSize(dtype)));
    workspace = make_fake(contiguous_spec({bytes}, c10::kByte, device));
  }
  return {make_fake(contiguous_spec({steps, batch, hidden_size}, dtype, device)),
          make_fake(contiguous_spec(hx.sym_sizes(), dtype, device)),
          make_fake(contiguous_spec(cx.sym_sizes(), dtype, device)), std::move(workspace)};
}

// As check_layer, and what the forward pass made.
void check_layer_backward(const Tensor& input, TensorRefs weights, TensorRefs sequences,
                          TensorRefs states, const SymInt& hidden, const Tensor& workspace) {
  check_layer_input(input);
  const SymInt steps = input.sym_size(0);
  const SymInt batch = input.sym_size(1);
  const SymInt in = input.sym_size(2);
  const std::array<SymInt, 4> sizes{hidden * 4 * in, hidden * 4 * hidden, hidden * 4, hidden * 4};
  std::size_t i = 0;
  for (const Tensor& weight : weights) {
    check_numel(weight, sizes[i++], "a weight");
  }
  for (const Tensor& t : sequences) {
    check_sizes(t, SymDimVector{steps, batch, hidden}, "an output");
  }
  for (const Tensor& t : states) {
    check_numel(t, batch * hidden, "a state");
  }
  const auto itemsize = static_cast<int64_t>(input.element_size());
  check_numel(workspace, workspace_bytes(steps, batch, in, hidden, itemsize), "a workspace");
}

// All gradients are float32, those of a bfloat16 layer too: oneDNN accumulates in it.
Seven layer_backward(const Tensor& input, const Tensor& weight1, const Tensor& weight2,
                     const Tensor& weight3, const Tensor& weight4, const Tensor& hx,
                     const Tensor& cx, const Tensor& output, const Tensor& hy, const Tensor& cy,
                     const OptionalTensor& grad_output, const OptionalTensor& grad_hy,
                     const OptionalTensor& grad_cy, bool, int64_t mode, int64_t hidden_size,
                     int64_t, bool, bool, bool, at::IntArrayRef, bool, const Tensor& workspace) {
  TORCH_CHECK(mode == kLstm, "mkldnn_rnn: only LSTM is supported, but got mode ", mode);
  const Tensor of_output = grad_output.value_or(Tensor());
  const Tensor of_hy = grad_hy.value_or(Tensor());
  const Tensor of_cy = grad_cy.value_or(Tensor());
  check_layer_backward(input, {weight1, weight2, weight3, weight4}, {output, of_output},
                       {hx, cx, hy, cy, of_hy, of_cy}, hidden_size, workspace);
  same_device({input, weight1, weight2, weight3, weight4, hx, cx, workspace});
  const auto gradient = [](const Tensor& t) {
    return make_fake(contiguous_like_spec(t, c10::kFloat));
  };
  return {gradient(input),   gradient(weight1), gradient(weight2), gradient(weight3),
          gradient(weight4), gradient(hx),      gradient(cx)};
}

// ---- the fused cell that CUDA takes without cuDNN ----

TensorSpecs<3> cell_spec(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cx,
                         const OptionalTensor& input_bias, const OptionalTensor& hidden_bias) {
  TORCH_CHECK(input_gates.dim() == 2 && input_gates.sym_sizes().equals(hidden_gates.sym_sizes()),
              "_thnn_fused_lstm_cell: expected gates of one size, but got ",
              input_gates.sym_sizes(), " and ", hidden_gates.sym_sizes());
  TORCH_CHECK(cx.dim() == 2 && input_gates.sym_size(1) == cx.sym_size(1) * 4,
              "_thnn_fused_lstm_cell: expected a state of size [", input_gates.sym_size(0), ", ",
              input_gates.sym_size(1), " / 4], but got ", cx.sym_sizes());
  TORCH_CHECK(input_bias.has_value() == hidden_bias.has_value(),
              "_thnn_fused_lstm_cell: either both biases are given or none");
  const Tensor bias = input_bias.value_or(Tensor());
  const Tensor other_bias = hidden_bias.value_or(Tensor());
  same_device({input_gates, hidden_gates, cx, bias, other_bias});
  const TensorSpec state = contiguous_like_spec(cx);
  return {state, state, contiguous_like_spec(input_gates)};
}

std::tuple<Tensor, Tensor, Tensor> cell_backward(const OptionalTensor& grad_hy,
                                                 const OptionalTensor& grad_cy, const Tensor& cx,
                                                 const Tensor& cy, const Tensor& workspace,
                                                 bool has_bias) {
  const bool has_grad =
      (grad_hy.has_value() && grad_hy->defined()) || (grad_cy.has_value() && grad_cy->defined());
  if (!has_grad) {
    return {};
  }
  const Tensor of_hy = grad_hy.value_or(Tensor());
  const Tensor of_cy = grad_cy.value_or(Tensor());
  same_device({of_hy, of_cy, cx, cy, workspace});
  Tensor bias;
  if (has_bias) {
    bias = make_fake(
        contiguous_spec({workspace.sym_size(1)}, workspace.scalar_type(), workspace.device()));
  }
  return {make_fake(contiguous_like_spec(workspace)), make_fake(contiguous_like_spec(cx)),
          std::move(bias)};
}

// ---- cuDNN ----

// cuDNN alone tells the size of the reserve space that training leaves for the backward pass, and
// that of a buffer of weights which the call would make.
[[noreturn]] void refuse_cudnn_size(const char* what) {
  raise(ErrorCode::unsupported_operator,
        std::string("the size of ") + what +
            " is known to cuDNN only; with torch.backends.cudnn.enabled = False ATen's own LSTM, "
            "GRU and RNN answer");
}

// As ATen's kernel: packed input has the steps and batches in one dimension.
Five cudnn(const Tensor& input, at::TensorList weight, int64_t, const OptionalTensor& weight_buf,
           const Tensor& hx, const OptionalTensor& cx, int64_t mode, SymInt hidden_size,
           SymInt proj_size, int64_t num_layers, bool batch_first, double, bool train,
           bool bidirectional, c10::SymIntArrayRef batch_sizes, const OptionalTensor&) {
  const bool packed = !batch_sizes.empty();
  const bool has_cell = cx.has_value() && cx->defined();
  TORCH_CHECK(input.dim() == (packed ? 2 : 3), "_cudnn_rnn: expected an input of ", packed ? 2 : 3,
              " dimensions, but got ", input.dim());
  TORCH_CHECK(has_cell || mode != kLstm, "_cudnn_rnn: an LSTM needs a cell state");
  TORCH_CHECK(!has_cell || mode == kLstm, "rnn: illegal defined cx for non-LSTM RNN");
  const Tensor cell = has_cell ? *cx : Tensor();
  const c10::Device device = same_device({input, hx, cell});
  for (const Tensor& t : weight) {
    same_device({input, t});
    TORCH_CHECK(t.scalar_type() == input.scalar_type(), "Input and parameter tensors are not of ",
                "the same dtype, found input tensor with ", input.scalar_type(),
                " and parameter tensor with ", t.scalar_type());
  }
  TORCH_CHECK(hx.is_contiguous(), "rnn: hx is not contiguous");
  TORCH_CHECK(!has_cell || cell.is_contiguous(), "rnn: cx is not contiguous");
  if (train) {
    refuse_cudnn_size("the reserve space of training");
  }
  if (!weight_buf.has_value() || !weight_buf->defined()) {
    refuse_cudnn_size("the buffer of weights");
  }
  const int64_t directions = bidirectional ? 2 : 1;
  const SymInt& out_size = proj_size != 0 ? proj_size : hidden_size;
  const SymInt batch = packed ? batch_sizes[0] : input.sym_size(batch_first ? 0 : 1);
  SymDimVector sizes{input.sym_size(0), out_size * directions};
  if (!packed) {
    sizes.insert(sizes.begin() + 1, input.sym_size(1));
  }
  TensorSpec output = contiguous_spec(sizes, input.scalar_type(), device);
  if (batch_first && !packed) {  // the kernel works on steps x batch, and transposes what it made
    output.strides[0] = sizes[2];
    output.strides[1] = sizes[0] * sizes[2];
  }
  const SymDimVector cell_size{directions * num_layers, batch, hidden_size};
  TORCH_CHECK(!has_cell || cell.sym_sizes().equals(cell_size), "Expected cell size ",
              c10::SymIntArrayRef(cell_size), ", got ", cell.sym_sizes());
  const c10::ScalarType dtype = hx.scalar_type();
  return {make_fake(output),
          make_fake(contiguous_spec({directions * num_layers, batch, out_size}, dtype, device)),
          make_fake(has_cell ? contiguous_spec(cell_size, cell.scalar_type(), device)
                             : contiguous_spec({0}, dtype, device)),
          make_fake(contiguous_spec({0}, c10::kByte, device)), *weight_buf};
}

MASSLESS_RULES(m) {
  rule<"_cudnn_rnn", cudnn>(m);
  rule<"_thnn_fused_lstm_cell", functional<cell_spec>>(m);
  rule<"_thnn_fused_lstm_cell_backward_impl", cell_backward>(m);
  rule<"mkldnn_rnn_layer", layer>(m);
  rule<"mkldnn_rnn_layer_backward", layer_backward>(m);
}

}  // namespace
}  // namespace massless
