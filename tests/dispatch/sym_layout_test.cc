// Layout conditions against c10's own functions on integers, at random points.
#pragma GCC diagnostic ignored \
    "-Wmaybe-uninitialized"  // g++ 12 on c10's _compute_non_overlapping_and_dense
#include <c10/core/Contiguity.h>
#include <c10/core/MemoryFormat.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "guard/layout.h"

namespace massless::guard {
namespace {

struct Case {
  std::vector<Expr> sizes;
  std::vector<Expr> strides;
};

class Layouts : public ::testing::Test {
 protected:
  ShapeEnv env{{false, false}};
  std::mt19937 random{seed()};

  static unsigned seed() {
    const char* given = std::getenv("MASSLESS_SEED");
    const unsigned made = given == nullptr ? 20260701U : static_cast<unsigned>(std::atoi(given));
    std::printf("seed: MASSLESS_SEED=%u\n", made);
    return made;
  }
  int pick(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

  // Sizes: symbols and small constants. Strides: dense in a random order, with or without max(1,
  // .), now and then one of them replaced.
  Case make(std::size_t rank) {
    Case c;
    for (std::size_t d = 0; d < rank; ++d) {
      SymbolOptions options;
      options.hint = pick(4);
      std::string name = std::to_string(env.symbols().size());
      name.insert(0, 1, 'x');
      c.sizes.push_back(pick(4) == 0 ? env.integer(pick(4)) : env.symbol(name, options));
    }
    std::vector<std::size_t> order(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      order[d] = rank - 1 - d;
    }
    if (rank >= 4 && pick(2) == 0) {
      order = {1};
      for (std::size_t d = rank - 1; d >= 2; --d) {
        order.push_back(d);
      }
      order.push_back(0);
    } else if (pick(2) == 0) {
      std::shuffle(order.begin(), order.end(), random);
    }
    c.strides.assign(rank, env.integer(0));
    const bool at_least_one = pick(2) == 0;
    env.with_builder([&](const sym::Builder& b) {
      Expr step = b.integer(1);
      for (const std::size_t d : order) {
        c.strides[d] = step;
        step = b.mul(step, at_least_one ? b.max(c.sizes[d], b.integer(1)) : c.sizes[d]);
      }
    });
    if (rank > 0 && pick(3) == 0) {
      c.strides[static_cast<std::size_t>(pick(static_cast<int>(rank)))] = env.integer(pick(4));
    }
    return c;
  }

  std::vector<std::int64_t> at(const std::vector<Expr>& all,
                               const std::unordered_map<std::uint32_t, std::int64_t>& point) {
    std::vector<std::int64_t> values;
    for (Expr e : all) {
      values.push_back(*env.value(e, point));
    }
    return values;
  }
};

bool contiguous(c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  std::int64_t numel = 1;
  for (const std::int64_t n : sizes) {
    numel *= n;
  }
  return c10::_compute_contiguous<std::int64_t>(sizes, strides, numel);
}
bool channels_last_contiguous(c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  return sizes.size() == 4
             ? c10::_compute_channels_last_contiguous_2d<std::int64_t>(sizes, strides)
             : c10::_compute_channels_last_contiguous_3d<std::int64_t>(sizes, strides);
}
bool channels_last(c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  return sizes.size() == 4 ? c10::is_channels_last_strides_2d(sizes, strides)
                           : c10::is_channels_last_strides_3d(sizes, strides);
}
bool dense(c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  // As TensorImpl asks.
  return contiguous(sizes, strides) ||
         (sizes.size() >= 4 && channels_last_contiguous(sizes, strides)) ||
         c10::_compute_non_overlapping_and_dense<std::int64_t>(sizes, strides);
}

TEST_F(Layouts, EqualC10AtEveryPoint) {
  for (int round = 0; round < 400; ++round) {
    const Case c = make(static_cast<std::size_t>(pick(6)));
    const std::array<std::pair<Expr, bool (*)(c10::IntArrayRef, c10::IntArrayRef)>, 3> questions{
        {{is_contiguous(env, c.sizes, c.strides), &contiguous},
         {is_channels_last_contiguous(env, c.sizes, c.strides), &channels_last_contiguous},
         {is_channels_last_strides(env, c.sizes, c.strides), &channels_last}}};
    Expr expected_dense = is_non_overlapping_and_dense(env, c.sizes, c.strides);
    const bool at_example = *env.hint(expected_dense) != 0;
    EXPECT_EQ(at_example, dense(at(c.sizes, {}), at(c.strides, {}))) << env.print(expected_dense);
    for (int i = 0; i < 30; ++i) {
      std::unordered_map<std::uint32_t, std::int64_t> point;
      for (Expr size : c.sizes) {
        if (size->is(sym::Op::symbol)) {
          point[size->symbol()] = pick(5);
        }
      }
      const auto sizes = at(c.sizes, point);
      const auto strides = at(c.strides, point);
      for (const auto& [e, oracle] : questions) {
        EXPECT_EQ(*env.value(e, point) != 0, oracle(sizes, strides))
            << env.print(e) << " at " << c10::IntArrayRef(sizes) << c10::IntArrayRef(strides);
      }
      if ((*env.value(expected_dense, point) != 0) == at_example) {
        EXPECT_EQ(dense(sizes, strides), at_example)
            << env.print(expected_dense) << " at " << c10::IntArrayRef(sizes)
            << c10::IntArrayRef(strides);
      }
    }
  }
  EXPECT_TRUE(env.guards().empty());
}

}  // namespace
}  // namespace massless::guard
