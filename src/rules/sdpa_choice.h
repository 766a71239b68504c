// Which kernel scaled_dot_product_attention takes.
//
// On a CPU ATen's own choice is a function of metadata and is asked itself. On CUDA a CPU-only
// build has no choice to ask; the tables of sdpa_choice.cc say what a CUDA build of 2.13 would take
// on the configured device (rules/config.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace massless {

struct SdpaCall {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  std::optional<at::Tensor> mask;
  double dropout;
  bool causal;
  bool enable_gqa;
};

// ATen takes a size of the mask for broadcast only where it is the number 1: the mask with that
// number for every size that is 1 in the example, which is guarded. One that requires a gradient
// stays as it is.
std::optional<at::Tensor> mask_of_plain_ones(const std::optional<at::Tensor>& mask);

// at::SDPBackend as an integer, as `_fused_sdp_choice` returns it. Raises where every kernel that
// could serve the call is switched off.
std::int64_t sdpa_choice(const SdpaCall& call);

// One row of the tables, for documentation and tests: a kernel can be taken if all its rows hold.
struct SdpaRow {
  std::string_view backend;    // "flash"
  std::string_view condition;  // "no attention mask"
  std::string_view source;     // function of ATen that it was read from
};
std::vector<SdpaRow> sdpa_table();

// The first condition that rules out `backend` ("cudnn", "flash", "efficient") for a call; empty
// if it could be taken.
std::string_view sdpa_obstacle(std::string_view backend, const SdpaCall& call);

}  // namespace massless
