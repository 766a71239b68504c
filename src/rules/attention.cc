// Scaled dot product attention: the kernels that the composite chooses between
// (rules/sdpa_choice.h). Tensors are [batch, heads, sequence, head size].
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "fake/device.h"
#include "fake/rule.h"
#include "rules/flops.h"
#include "rules/sdpa_choice.h"
#include "rules/strict.h"

namespace massless {
namespace {

using at::Tensor;
using c10::SymInt;
using OptionalTensor = std::optional<Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

const Tensor& or_undefined(const OptionalTensor& t) {
  static const Tensor undefined;
  return t ? *t : undefined;
}

int64_t fused_choice(const Tensor& query, const Tensor& key, const Tensor& value,
                     const OptionalTensor& mask, double dropout, bool causal, std::optional<double>,
                     bool enable_gqa) {
  return sdpa_choice({query, key, value, mask, dropout, causal, enable_gqa});
}

// The [B,H,S,D] view of a contiguous [B,S,H,D] tensor.
TensorSpec sequence_major(const SymInt& batch, const SymInt& heads, const SymInt& length,
                          const SymInt& size, c10::ScalarType dtype, c10::Device device) {
  const SymDimVector buffer = contiguous_strides(SymDimVector{batch, length, heads, size});
  return {
      {batch, heads, length, size}, {buffer[0], buffer[2], buffer[1], buffer[3]}, dtype, device};
}

TensorSpec sequence_major_like(const Tensor& t) {
  return sequence_major(t.sym_size(0), t.sym_size(1), t.sym_size(2), t.sym_size(3), t.scalar_type(),
                        t.device());
}

// Outputs that the kernels allocate as empty_like of the transposed query keep its order of
// dimensions.
TensorSpec like_query(const Tensor& query) { return empty_like_spec(query); }

void check_four(const Tensor& query, const Tensor& key, const Tensor& value) {
  TORCH_CHECK(query.dim() == 4 && key.dim() == 4 && value.dim() == 4,
              "scaled_dot_product_attention: expected query, key and value of 4 dimensions, but "
              "got ",
              query.dim(), ", ", key.dim(), " and ", value.dim());
}

// Key and value belong together, and their heads are shared out among the query's. (ATen's CPU
// kernel does not ask.)
void check_groups(const Tensor& query, const Tensor& key, const Tensor& value) {
  for (const std::int64_t dim : {0, 1, 2}) {
    TORCH_CHECK(key.sym_size(dim) == value.sym_size(dim) &&
                    (dim != 0 || key.sym_size(0) == query.sym_size(0)),
                "scaled_dot_product_attention: the sizes of query ", query.sym_sizes(), ", key ",
                key.sym_sizes(), " and value ", value.sym_sizes(), " do not fit");
  }
  const SymInt heads = query.sym_size(1);
  const SymInt shared = key.sym_size(1);
  TORCH_CHECK(proved_equal(heads, shared) || (shared != 0 && heads % shared == 0),
              "scaled_dot_product_attention: ", heads, " heads of the query cannot share ", shared,
              " heads of the key");
}

void check_one_dtype(const Tensor& query, const Tensor& key, const Tensor& value) {
  for (const Tensor* t : {&key, &value}) {
    TORCH_CHECK(t->scalar_type() == query.scalar_type(), "expected scalar type ",
                query.scalar_type(), " but found ", t->scalar_type());
  }
}

// ---- flash attention on CPU ----

constexpr const char* kCpuFlash = "scaled_dot_product_attention_flash_attention: ";

void check_cpu_mask(const Tensor& query, const Tensor& key, const Tensor& mask) {
  if (!mask.defined()) {
    return;
  }
  const bool mixed =
      c10::isReducedFloatingType(query.scalar_type()) && mask.scalar_type() == c10::kFloat;
  TORCH_CHECK(mask.scalar_type() == query.scalar_type() || mixed, kCpuFlash,
              "Attention mask is the same data type as query");
  TORCH_CHECK(mask.dim() == 2 || mask.dim() == 4, kCpuFlash, "Attention mask dim in {2, 4}");
  check_expand(mask, {query.sym_size(0), query.sym_size(1), query.sym_size(2), key.sym_size(2)});
}

TensorSpecs<2> cpu_flash_spec(const Tensor& query, const Tensor& key, const Tensor& value,
                              double dropout, bool, const OptionalTensor& mask,
                              std::optional<double>) {
  TORCH_CHECK(c10::isFloatingType(query.scalar_type()), kCpuFlash,
              "Expected data type in FP32, FP64, BF16, FP16, but got ", query.scalar_type(),
              " instead.");
  TORCH_CHECK(query.dim() == 4 && key.dim() == 4 && value.dim() == 4, kCpuFlash,
              "Accept only 4 dims inputs shape of {B, H, T, K}");
  TORCH_CHECK(dropout == 0.0, kCpuFlash, "Currently do not support dropout > 0");
  TORCH_CHECK(query.sym_size(3) == value.sym_size(3) && key.sym_size(3) == value.sym_size(3),
              kCpuFlash, "Q/K/V should have the same head size");
  const c10::Device device = same_device({query, key, value, or_undefined(mask)});
  check_groups(query, key, value);
  check_cpu_mask(query, key, or_undefined(mask));
  check_one_dtype(query, key, value);
  const SymInt heads = query.sym_size(1);
  const SymInt length = query.sym_size(2);
  TensorSpec logsumexp =
      contiguous_spec({query.sym_size(0), length, heads},
                      query.scalar_type() == c10::kDouble ? c10::kDouble : c10::kFloat, device);
  std::swap(logsumexp.sizes[1], logsumexp.sizes[2]);
  std::swap(logsumexp.strides[1], logsumexp.strides[2]);
  return {like_query(query), std::move(logsumexp)};
}

// Gradients lie sequence-major, whatever the order of the inputs.
TensorSpecs<3> cpu_flash_backward_spec(const Tensor& grad, const Tensor& query, const Tensor& key,
                                       const Tensor& value, const Tensor& out,
                                       const Tensor& logsumexp, double, bool,
                                       const OptionalTensor& mask, std::optional<double>) {
  check_four(query, key, value);
  check_groups(query, key, value);
  check_sizes(grad, query.sym_sizes(), "a gradient");
  check_sizes(out, query.sym_sizes(), "an output");
  check_sizes(logsumexp, query.sym_sizes().slice(0, 3), "a logsumexp");
  TORCH_CHECK(query.sym_size(3) == value.sym_size(3) && key.sym_size(3) == value.sym_size(3),
              kCpuFlash, "Q/K/V should have the same head size");
  if (mask && mask->defined()) {
    check_cpu_mask(query, key, *mask);
  }
  same_device({grad, query, key, value, out, logsumexp, or_undefined(mask)});
  return {sequence_major_like(query), sequence_major_like(key), sequence_major_like(value)};
}

// ---- flash attention on CUDA ----

using FlashResult =
    std::tuple<Tensor, Tensor, Tensor, Tensor, SymInt, SymInt, Tensor, Tensor, Tensor>;

// The softmax that is asked for to debug is padded to the kernel's blocks.
TensorSpec debug_mask_spec(const Tensor& query, const Tensor& key, bool wanted) {
  const c10::Device device = query.device();
  if (!wanted) {
    return contiguous_spec({0}, query.scalar_type(), device);
  }
  const SymInt length = query.sym_size(2);
  const SymInt keys = key.sym_size(2);
  const auto round_up = [](const SymInt& n) { return (n + 127) / 128 * 128; };
  return contiguous_spec({query.sym_size(0), query.sym_size(1), round_up(length), round_up(keys)},
                         query.scalar_type(), device);
}

FlashResult cuda_flash(const Tensor& query, const Tensor& key, const Tensor& value, double, bool,
                       bool return_debug_mask, std::optional<double>) {
  check_four(query, key, value);
  const c10::Device device = same_device({query, key, value});
  check_one_dtype(query, key, value);
  TORCH_CHECK(c10::isReducedFloatingType(query.scalar_type()),
              "FlashAttention only support fp16 and bf16 data type");
  TORCH_CHECK(query.sym_size(3) % 8 == 0, "query should have a head size that is a multiple of 8");
  TORCH_CHECK(query.sym_size(3) <= 256,
              "FlashAttention forward only supports head dimension at most 256");
  const SymInt batch = query.sym_size(0);
  const SymInt heads = query.sym_size(1);
  const SymInt length = query.sym_size(2);
  // The state of the generator lies on the device, so that the kernel can be captured.
  return {make_fake(like_query(query)),
          make_fake(contiguous_spec({batch, heads, length}, c10::kFloat, device)),
          Tensor(),
          Tensor(),
          length,
          key.sym_size(2),
          make_fake(contiguous_spec({2}, c10::kUInt64, device)),
          make_fake(contiguous_spec({}, c10::kUInt64, device)),
          make_fake(debug_mask_spec(query, key, return_debug_mask))};
}

TensorSpecs<3> cuda_flash_backward_spec(const Tensor& grad, const Tensor& query, const Tensor& key,
                                        const Tensor& value, const Tensor& out,
                                        const Tensor& logsumexp, const Tensor&, const Tensor&,
                                        SymInt, SymInt, double, bool, const Tensor&, const Tensor&,
                                        std::optional<double>) {
  check_four(query, key, value);
  same_device({grad, query, key, value, out, logsumexp});
  return {empty_like_spec(query), empty_like_spec(key), empty_like_spec(value)};
}

// ---- memory efficient attention ----

// logsumexp is padded to the 32 rows that a warp loads in the backward pass; it is empty where no
// backward pass will come.
std::tuple<Tensor, Tensor, Tensor, Tensor> efficient(const Tensor& query, const Tensor& key,
                                                     const Tensor& value,
                                                     const OptionalTensor& bias,
                                                     bool compute_logsumexp, double, bool,
                                                     std::optional<double>) {
  check_four(query, key, value);
  const c10::Device device = same_device({query, key, value, or_undefined(bias)});
  check_one_dtype(query, key, value);
  const SymInt batch = query.sym_size(0);
  const SymInt heads = query.sym_size(1);
  const SymInt length = query.sym_size(2);
  const SymInt rows = compute_logsumexp ? (length + 31) / 32 * 32 : SymInt(0);
  // Seed and offset are CPU scalars outside of a capture.
  const TensorSpec state = contiguous_spec({}, c10::kLong, c10::kCPU);
  return {make_fake(
              sequence_major(batch, heads, length, value.sym_size(3), query.scalar_type(), device)),
          make_fake(contiguous_spec({batch, heads, rows}, c10::kFloat, device)), make_fake(state),
          make_fake(state)};
}

// The bias's gradient is a slice of a tensor whose rows are padded to 16 elements.
Tensor bias_gradient(const Tensor& bias) {
  const auto sizes = bias.sym_sizes();
  SymDimVector padded(sizes.begin(), sizes.end());
  padded.back() = (padded.back() + 15) / 16 * 16;
  Tensor made = make_fake(contiguous_spec(padded, bias.scalar_type(), bias.device()));
  set_geometry(made, sizes, contiguous_strides(padded), 0);
  return made;
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient_backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
    const Tensor& bias, const Tensor& out, const Tensor& logsumexp, const Tensor&, const Tensor&,
    double, std::array<bool, 4> mask, bool, std::optional<double>) {
  if (!grad.defined()) {
    return {};
  }
  check_four(query, key, value);
  same_device({grad, query, key, value, bias, out, logsumexp});
  return {make_fake(sequence_major_like(query)), make_fake(sequence_major_like(key)),
          make_fake(sequence_major_like(value)),
          bias.defined() && mask[3] ? bias_gradient(bias) : Tensor()};
}

// ---- cuDNN attention ----

// The output has the order of the query's dimensions, with the value's head size.
TensorSpec in_layout_of(const Tensor& query, const SymInt& value_size) {
  TensorSpec spec = empty_like_spec(query);
  if (spec.sizes[3] == value_size) {
    return spec;
  }
  std::array<std::size_t, 4> order{0, 1, 2, 3};
  const auto strides = query.sym_strides();
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return strides[a] > strides[b]; });
  spec.sizes[3] = value_size;
  SymInt step = 1;
  for (std::size_t i = 4; i-- > 0;) {
    spec.strides[order[i]] = step;
    step = step * spec.sizes[order[i]];
  }
  return spec;
}

FlashResult cudnn(const Tensor& query, const Tensor& key, const Tensor& value,
                  const OptionalTensor& bias, bool compute_logsumexp, double, bool, bool,
                  std::optional<double>) {
  check_four(query, key, value);
  const c10::Device device = same_device({query, key, value, or_undefined(bias)});
  check_one_dtype(query, key, value);
  const SymInt length = query.sym_size(2);
  Tensor logsumexp;
  if (compute_logsumexp) {
    logsumexp = make_fake(
        contiguous_spec({query.sym_size(0), query.sym_size(1), length, 1}, c10::kFloat, device));
  }
  const TensorSpec state = contiguous_spec({}, c10::kLong, device);
  return {make_fake(in_layout_of(query, value.sym_size(3))),
          std::move(logsumexp),
          Tensor(),
          Tensor(),
          length,
          key.sym_size(2),
          make_fake(state),
          make_fake(state),
          Tensor()};
}

TensorSpecs<3> cudnn_backward_spec(const Tensor& grad, const Tensor& query, const Tensor& key,
                                   const Tensor& value, const Tensor& out, const Tensor& logsumexp,
                                   const Tensor&, const Tensor&, const Tensor& bias, const Tensor&,
                                   const Tensor&, SymInt, SymInt, double, bool,
                                   std::optional<double>) {
  check_four(query, key, value);
  same_device({grad, query, key, value, out, logsumexp, bias});
  return {empty_like_spec(query), empty_like_spec(key), empty_like_spec(value)};
}

MASSLESS_RULES(m) {
  rule<"_fused_sdp_choice", fused_choice>(m);
  rule<"_scaled_dot_product_flash_attention_for_cpu", functional<cpu_flash_spec>, AttentionFlops{}>(
      m);
  rule<"_scaled_dot_product_flash_attention_for_cpu_backward", functional<cpu_flash_backward_spec>,
       AttentionBackwardFlops{}>(m);
  rule<"_scaled_dot_product_flash_attention", cuda_flash, AttentionFlops{}>(m);
  rule<"_scaled_dot_product_flash_attention_backward", functional<cuda_flash_backward_spec>,
       AttentionBackwardFlops{}>(m);
  rule<"_scaled_dot_product_efficient_attention", efficient, AttentionFlops{}>(m);
  rule<"_scaled_dot_product_efficient_attention_backward", efficient_backward,
       AttentionBackwardFlops{}>(m);
  rule<"_scaled_dot_product_cudnn_attention", cudnn, AttentionFlops{}>(m);
  rule<"_scaled_dot_product_cudnn_attention_backward", functional<cudnn_backward_spec>,
       AttentionBackwardFlops{}>(m);
}

}  // namespace
}  // namespace massless
