// Fakes are made of pooled blocks (base/pool.h).
#include "base/pool.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "dispatch/state.h"

namespace massless {
namespace {

// `last` is made before the thread keeps its first block, so it dies after the blocks were freed.
TEST(Pooled, FakesMayDieWhenTheirThreadEnds) {
  std::thread([] {
    static thread_local std::vector<at::Tensor> last;
    last.reserve(2);
    const FakeMode mode;
    last.push_back(at::empty({2, 3}));
    last.push_back(last[0].view({3, 2}));
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(at::add(last[0], last[0]).numel(), 6);
    }
  }).join();
}

}  // namespace
}  // namespace massless
