#include "rules/sdpa_choice.h"

#include <ATen/Context.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <ATen/ops/_fused_sdp_choice_ops.h>
#include <c10/util/env.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "fake/device.h"
#include "fake/sizes.h"
#include "rules/config.h"

namespace massless {
namespace {

using at::SDPBackend;
using sdp::sdp_params;

// The conditions that CPU and CUDA share are inline functions of ATen's sdp_utils_cpp.h and are
// called as they are; the others are CUDA's own, from native/transformers/cuda/sdp_utils.cpp.
using Condition = bool (*)(const sdp_params&);
struct Row {
  const char* text;
  const char* source;
  Condition holds;
};

bool capability_between(int low, int high) {
  const int capability = cuda_config().capability;
  return capability >= low && capability <= high;
}

bool is_half(const sdp_params& p) {
  const auto dtype = p.query.scalar_type();
  return dtype == c10::kHalf || dtype == c10::kBFloat16;
}

bool one_dtype(const sdp_params& p) {
  return p.query.scalar_type() == p.key.scalar_type() &&
         p.query.scalar_type() == p.value.scalar_type();
}

bool four_dimensions(const sdp_params& p) { return sdp::check_tensor_shapes(p, false); }
bool no_nested(const sdp_params& p) { return sdp::has_only_dense_inputs(p); }
bool no_mask(const sdp_params& p) { return sdp::check_for_attn_mask(p, false); }
bool mask_broadcasts(const sdp_params& p) { return sdp::check_attn_mask_shape(p, false); }
bool sequences_not_empty(const sdp_params& p) {
  return sdp::check_nonzero_sequence_lengths_dense(p, false);
}
bool last_stride_one(const sdp_params& p) {
  return sdp::check_last_dim_stride_equals_1_dense<false>(p, false);
}
bool last_stride_one_or_size_one(const sdp_params& p) {
  return sdp::check_last_dim_stride_equals_1_dense<true>(p, false);
}
bool heads_equal(const sdp_params& p) {
  return sdp::check_batch_size_and_num_heads_dense<false>(p, false);
}
bool heads_grouped(const sdp_params& p) {
  return sdp::check_batch_size_and_num_heads_dense<true>(p, false);
}
bool heads_grouped_each(const sdp_params& p) {
  return sdp::check_batch_size_and_num_heads_dense<true, false>(p, false);
}

bool half_dtype(const sdp_params& p) {
  const auto dtype = p.query.scalar_type();
  return one_dtype(p) &&
         (dtype == c10::kHalf || (dtype == c10::kBFloat16 && cuda_config().capability >= 80));
}

// ---- flash ----

bool flash_on(const sdp_params& p) { return sdp::check_runtime_disabled_flash(p, false); }
bool sm80_to_121(const sdp_params&) { return capability_between(80, 121); }

bool flash_head_size(const sdp_params& p) {
  const auto size = p.query.sym_size(-1);
  return size == p.key.sym_size(-1) && size == p.value.sym_size(-1) && size <= 256;
}

bool flash_trains_head_size(const sdp_params& p) {
  const bool small_shared_memory = capability_between(86, 89) || capability_between(120, 121);
  if (!small_shared_memory || !sdp::input_requires_grad(p)) {
    return true;
  }
  const auto size = p.query.sym_size(-1);
  return size <= 192 || (size > 224 && p.dropout == 0.0);
}

bool causal_is_square(const sdp_params& p) {
  return !p.is_causal || p.query.sym_size(-2) == p.key.sym_size(-2);
}

constexpr std::array<Row, 11> kFlash{{
    {"flash attention is enabled", "check_runtime_disabled_flash", flash_on},
    {"dense tensors of 4 dimensions", "check_tensor_shapes", four_dimensions},
    {"no nested tensor", "has_only_dense_inputs", no_nested},
    {"no attention mask", "check_for_attn_mask", no_mask},
    {"one head size for query, key and value, at most 256", "check_head_dim_size_flash",
     flash_head_size},
    {"sm80 to sm121", "check_flash_attention_hardware_support", sm80_to_121},
    {"training on sm86-89 and sm120-121: head size up to 192, or over 224 without dropout",
     "check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_120",
     flash_trains_head_size},
    {"causal: as many queries as keys", "check_flash_causal_non_square_seqlens", causal_is_square},
    {"one dtype: float16, or bfloat16 from sm80", "check_dtypes_low_precision", half_dtype},
    {"one batch size; equal numbers of heads, or key's dividing query's with enable_gqa",
     "check_batch_size_and_num_heads_dense<true>", heads_grouped},
    {"sequences not empty, last strides 1", "check_last_dim_stride_equals_1_dense<true>",
     [](const sdp_params& p) { return sequences_not_empty(p) && last_stride_one_or_size_one(p); }},
}};

// ---- memory efficient ----

bool efficient_on(const sdp_params& p) {
  return sdp::check_runtime_disabled_mem_efficient(p, false);
}
bool sm50_to_121(const sdp_params&) { return capability_between(50, 121); }

// What CUTLASS can load: 16 bytes with tensor cores, else 4 elements (sm80) or one.
std::int64_t gemm_alignment(const sdp_params& p) {
  const int capability = cuda_config().capability;
  const bool tensor_cores = capability >= 80 || (capability >= 70 && is_half(p));
  const std::int64_t by_device = capability >= 80 ? 4 : 1;
  return tensor_cores ? std::max<std::int64_t>(by_device, is_half(p) ? 8 : 4) : by_device;
}

bool efficient_head_size(const sdp_params& p) {
  const std::int64_t alignment = gemm_alignment(p);
  const auto size = p.query.sym_size(-1);
  const auto value_size = p.value.sym_size(-1);
  return size == p.key.sym_size(-1) && size % alignment == 0 && size > 0 &&
         value_size % alignment == 0 && value_size > 0;
}

bool efficient_dtype(const sdp_params& p) {
  return p.query.scalar_type() == c10::kFloat ? one_dtype(p) : half_dtype(p);
}

constexpr std::array<Row, 8> kEfficient{{
    {"memory efficient attention is enabled", "check_runtime_disabled_mem_efficient", efficient_on},
    {"sm50 to sm121", "check_mem_efficient_hardware_support", sm50_to_121},
    {"dense tensors of 4 dimensions", "check_tensor_shapes", four_dimensions},
    {"no nested tensor", "has_only_dense_inputs", no_nested},
    {"head sizes are multiples of the GEMM alignment (half: 8; float: 4, or 1 before sm80)",
     "check_head_dim_size_mem_efficient", efficient_head_size},
    {"sequences not empty, last strides 1 (the mask's, too)",
     "check_last_dim_stride_equals_1_dense<false>",
     [](const sdp_params& p) { return sequences_not_empty(p) && last_stride_one(p); }},
    {"one batch size and number of heads (no grouped queries)",
     "check_batch_size_and_num_heads_dense<false>", heads_equal},
    {"one dtype: float32, float16, or bfloat16 from sm80", "can_use_mem_efficient_attention",
     efficient_dtype},
}};

// ---- cuDNN ----

bool cudnn_on(const sdp_params&) { return at::globalContext().userEnabledCuDNNSDP(); }

bool cudnn_deterministic(const sdp_params&) {
  const auto& context = at::globalContext();
  return !context.deterministicAlgorithms() || context.deterministicAlgorithmsWarnOnly();
}

bool cudnn_dropout(const sdp_params& p) {
  const auto version = cuda_config().cudnn;
  const bool broken = p.dropout > 0.0 && version > 91100 && version < 91400;
  return !broken && p.dropout * 16.0 == std::floor(p.dropout * 16.0);
}

bool cudnn_head_size(const sdp_params& p) {
  const auto size = p.query.sym_size(3);
  const auto value_size = p.value.sym_size(3);
  const int capability = cuda_config().capability;
  const bool newest = capability == 90 || capability / 10 == 10;
  const int limit =
      newest && cuda_config().cudnn >= 91100 && size == 192 && value_size == 128 ? 192 : 128;
  return size <= limit && value_size <= limit && size % 8 == 0 && value_size % 8 == 0;
}

bool cudnn_sequences(const sdp_params& p) {
  return p.key.sym_size(2) != 1 && (p.dropout == 0.0 || p.query.sym_size(2) != 1);
}

constexpr std::array<Row, 12> kCudnn{{
    {"cuDNN 9.0 or later", "can_use_cudnn_attention",
     [](const sdp_params&) { return cuda_config().cudnn >= 90000; }},
    {"cuDNN attention is enabled", "check_runtime_disabled_cudnn", cudnn_on},
    {"no nested tensor", "check_for_nested_inputs", no_nested},
    {"dense tensors of 4 dimensions", "check_tensor_shapes", four_dimensions},
    {"no deterministic algorithms are asked for", "check_cudnn_deterministic", cudnn_deterministic},
    {"one dtype: float16, or bfloat16 from sm80", "check_dtypes_low_precision", half_dtype},
    {"the mask needs no gradient and broadcasts in 2 or 4 dimensions", "check_attn_mask_shape",
     mask_broadcasts},
    {"sm80 to sm121", "check_cudnn_hardware_support", sm80_to_121},
    {"dropout is a multiple of 1/16, and not with cuDNN 9.11 to 9.13", "check_cudnn_dropout",
     cudnn_dropout},
    {"sequences not empty, last strides 1", "check_last_dim_stride_equals_1_dense<true>",
     [](const sdp_params& p) { return sequences_not_empty(p) && last_stride_one_or_size_one(p); }},
    {"one batch size; equal numbers of heads, or key's and value's dividing query's with "
     "enable_gqa",
     "check_batch_size_and_num_heads_dense<true, false>", heads_grouped_each},
    {"head sizes are multiples of 8 up to 128 (192/128 on sm90 and sm100 from cuDNN 9.11); keys "
     "are more than one, queries with dropout, too",
     "check_cudnn_tensor_shapes",
     [](const sdp_params& p) { return cudnn_head_size(p) && cudnn_sequences(p); }},
}};

template <std::size_t N>
std::string_view first_obstacle(const std::array<Row, N>& rows, const sdp_params& params) {
  for (const Row& row : rows) {
    if (!row.holds(params)) {
      return row.text;
    }
  }
  return {};
}

// From cuDNN 9.15.1 on sm90 and sm100 (with CUDA 12 only their minor 0 and 3) cuDNN comes first.
bool prefers_cudnn() {
  const CudaConfig config = cuda_config();
  const int major = config.capability / 10;
  const int minor = config.capability % 10;
  return c10::utils::check_env("TORCH_CUDNN_SDPA_DEPRIORITIZED") != true && config.cudnn > 91500 &&
         (major == 9 || major == 10) && (config.toolkit >= 13000 || minor == 0 || minor == 3);
}

// The user's order (torch.nn.attention.sdpa_kernel), or the default with cuDNN put in front.
std::array<SDPBackend, at::num_sdp_backends> priority_order() {
  const auto order = at::globalContext().sDPPriorityOrder();
  constexpr std::array<SDPBackend, at::num_sdp_backends> untouched{
      SDPBackend::flash_attention, SDPBackend::efficient_attention, SDPBackend::math,
      SDPBackend::cudnn_attention, SDPBackend::overrideable};
  if (order != untouched || !prefers_cudnn()) {
    return order;
  }
  return {SDPBackend::cudnn_attention, SDPBackend::flash_attention, SDPBackend::efficient_attention,
          SDPBackend::math, SDPBackend::overrideable};
}

bool can_take(SDPBackend backend, const sdp_params& params) {
  switch (backend) {
    case SDPBackend::cudnn_attention:
      return first_obstacle(kCudnn, params).empty();
    case SDPBackend::flash_attention:
      return first_obstacle(kFlash, params).empty();
    case SDPBackend::efficient_attention:
      return first_obstacle(kEfficient, params).empty();
    case SDPBackend::math:
      return at::globalContext().userEnabledMathSDP();
    default:
      return false;
  }
}

sdp_params as_params(const SdpaCall& call) {
  return {call.query,   call.key,    call.value,     mask_of_plain_ones(call.mask),
          call.dropout, call.causal, call.enable_gqa};
}

std::int64_t cuda_choice(const sdp_params& params) {
  for (const SDPBackend backend : priority_order()) {
    if (can_take(backend, params)) {
      return static_cast<std::int64_t>(backend);
    }
  }
  C10_THROW_ERROR(Error, "No available kernel. Aborting execution.");
}

std::int64_t cuda_stub(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                       const std::optional<at::Tensor>& mask, double dropout, bool causal,
                       std::optional<double>, bool enable_gqa) {
  return cuda_choice({query, key, value, mask, dropout, causal, enable_gqa});
}

// The composite scaled_dot_product_attention asks a dispatch stub, which has no entry for CUDA in a
// CPU-only build (and would take the math path). A CUDA build has its own, for its real device.
[[maybe_unused]] const bool stub_filled = [] {
  const bool fill = !is_cuda_build();
  if (fill) {
    at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(&cuda_stub);
  }
  return fill;
}();

template <std::size_t N>
void append(std::vector<SdpaRow>& table, std::string_view backend, const std::array<Row, N>& rows) {
  for (const Row& row : rows) {
    table.push_back({backend, row.text, row.source});
  }
}

}  // namespace

std::optional<at::Tensor> mask_of_plain_ones(const std::optional<at::Tensor>& mask) {
  if (!mask || !mask->defined() || mask->requires_grad() ||
      !mask->unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
    return mask;
  }
  SymDimVector sizes(mask->sym_sizes().begin(), mask->sym_sizes().end());
  for (c10::SymInt& n : sizes) {
    if (at_example(n.sym_eq(1)) && n == 1) {
      n = 1;
    }
  }
  return view_of(*mask, sizes, mask->sym_strides(), mask->sym_storage_offset());
}

std::int64_t sdpa_choice(const SdpaCall& call) {
  const c10::DeviceType device = call.query.device().type();
  if (device == c10::kCUDA) {
    return cuda_choice(as_params(call));
  }
  if (device == c10::kCPU) {
    return at::_ops::_fused_sdp_choice::redispatch(
        c10::DispatchKeySet(c10::DispatchKey::CPU), call.query, call.key, call.value,
        mask_of_plain_ones(call.mask), call.dropout, call.causal, std::nullopt, call.enable_gqa);
  }
  return static_cast<std::int64_t>(SDPBackend::math);
}

std::vector<SdpaRow> sdpa_table() {
  std::vector<SdpaRow> table;
  append(table, "cudnn", kCudnn);
  append(table, "flash", kFlash);
  append(table, "efficient", kEfficient);
  return table;
}

std::string_view sdpa_obstacle(std::string_view backend, const SdpaCall& call) {
  const sdp_params params = as_params(call);
  if (backend == "cudnn") {
    return first_obstacle(kCudnn, params);
  }
  return backend == "flash" ? first_obstacle(kFlash, params) : first_obstacle(kEfficient, params);
}

}  // namespace massless
