#include "base/pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace massless {
namespace {

struct Node final : Pooled<Node> {
  explicit Node(int n) : number(n) {}
  int number;
  char more[56] = {};
};

TEST(Pooled, BlocksAreHandedOutAgainAndApart) {
  std::vector<std::unique_ptr<Node>> nodes;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 1000; ++i) {
      nodes.push_back(std::make_unique<Node>(i));
    }
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ(nodes[static_cast<std::size_t>(i)]->number, i);
    }
    nodes.clear();
  }
}

TEST(Pooled, BlocksMayDieOnAnotherThread) {
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<Node>> nodes;
    std::thread([&] {
      for (int i = 0; i < 400; ++i) {
        nodes.push_back(std::make_unique<Node>(i));
      }
    }).join();
    std::thread([&] { nodes.erase(nodes.begin(), nodes.begin() + 300); }).join();
    EXPECT_EQ(nodes.front()->number, 300);
  }
}

}  // namespace
}  // namespace massless
