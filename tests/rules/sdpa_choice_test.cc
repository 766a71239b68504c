// The table that decides between CUDA's attention kernels, against what
// native/transformers/cuda/sdp_utils.cpp says for some devices.
#include "rules/sdpa_choice.h"

#include <ATen/SDPBackend.h>
#include <gtest/gtest.h>

#include "fake/tensor.h"
#include "rules/config.h"

namespace massless {
namespace {

constexpr auto kMath = static_cast<std::int64_t>(at::SDPBackend::math);
constexpr auto kFlash = static_cast<std::int64_t>(at::SDPBackend::flash_attention);
constexpr auto kEfficient = static_cast<std::int64_t>(at::SDPBackend::efficient_attention);
constexpr auto kCudnn = static_cast<std::int64_t>(at::SDPBackend::cudnn_attention);

SdpaCall call_of(c10::ScalarType dtype, std::int64_t size, std::int64_t key_heads = 4) {
  const c10::Device cuda(c10::kCUDA, 0);
  const auto query = make_fake(contiguous_spec({2, 4, 64, size}, dtype, cuda));
  const auto key = make_fake(contiguous_spec({2, key_heads, 64, size}, dtype, cuda));
  return {query, key, key, std::nullopt, 0.0, false, key_heads != 4};
}

class SdpaChoice : public testing::Test {
 protected:
  ~SdpaChoice() override { set_cuda_config({}); }
};

TEST_F(SdpaChoice, HalfGoesToCudnnOnHopperAndToFlashOnAmpere) {
  const SdpaCall call = call_of(c10::kBFloat16, 64);
  EXPECT_EQ(sdpa_choice(call), kCudnn);
  set_cuda_capability(8, 0);
  EXPECT_EQ(sdpa_choice(call), kFlash);
}

TEST_F(SdpaChoice, AnOldCudnnIsNotPreferred) {
  set_cuda_config({90, 91000, 12800});
  EXPECT_EQ(sdpa_choice(call_of(c10::kHalf, 64)), kFlash);
}

TEST_F(SdpaChoice, FloatIsServedByTheMemoryEfficientKernel) {
  EXPECT_EQ(sdpa_choice(call_of(c10::kFloat, 64)), kEfficient);
  EXPECT_EQ(sdpa_choice(call_of(c10::kFloat, 62)), kMath);
  EXPECT_EQ(sdpa_choice(call_of(c10::kDouble, 64)), kMath);
}

TEST_F(SdpaChoice, TuringHasNoFlashAndNoBfloat16) {
  set_cuda_capability(7, 5);
  EXPECT_EQ(sdpa_choice(call_of(c10::kHalf, 64)), kEfficient);
  EXPECT_EQ(sdpa_choice(call_of(c10::kBFloat16, 64)), kMath);
}

TEST_F(SdpaChoice, GroupedQueriesNeedAKernelThatKnowsThem) {
  EXPECT_EQ(sdpa_choice(call_of(c10::kBFloat16, 64, 2)), kCudnn);
  set_cuda_capability(8, 0);
  EXPECT_EQ(sdpa_choice(call_of(c10::kBFloat16, 64, 2)), kFlash);
  EXPECT_EQ(sdpa_choice(call_of(c10::kFloat, 64, 2)), kMath);
}

TEST_F(SdpaChoice, DropoutAndLargeHeadsLeaveCudnn) {
  SdpaCall call = call_of(c10::kBFloat16, 64);
  call.dropout = 0.1;
  EXPECT_EQ(sdpa_choice(call), kFlash);
  EXPECT_EQ(sdpa_choice(call_of(c10::kBFloat16, 256)), kFlash);
  EXPECT_EQ(sdpa_choice(call_of(c10::kBFloat16, 264)), kEfficient);
}

TEST_F(SdpaChoice, TheTableNamesTheObstacle) {
  EXPECT_EQ(sdpa_obstacle("flash", call_of(c10::kBFloat16, 64)), "");
  EXPECT_EQ(sdpa_obstacle("flash", call_of(c10::kFloat, 64)),
            "one dtype: float16, or bfloat16 from sm80");
  EXPECT_GT(sdpa_table().size(), 20U);
}

TEST_F(SdpaChoice, ACapabilityIsChecked) {
  EXPECT_THROW(set_cuda_capability(0, 0), c10::ValueError);
  EXPECT_EQ(cuda_config().capability, 90);
}

}  // namespace
}  // namespace massless
