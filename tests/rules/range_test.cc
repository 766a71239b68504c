// What no vector can hold against the real operator, because that one ends the process.
#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "dispatch/state.h"

namespace massless {
namespace {

TEST(Arange, ADistanceThatOverflowsIsRefused) {
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  const FakeMode mode;
  EXPECT_THROW(at::arange(kFar, -kFar, -1, at::kLong), c10::Error);
  EXPECT_EQ(at::arange(kFar, kFar - 3, -1, at::kLong).size(0), 3);
}

}  // namespace
}  // namespace massless
