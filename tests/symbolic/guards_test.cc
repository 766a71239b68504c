// Sizes that violate a guard: the guard says no, and names itself. Each row has a twin for which
// all guards hold, and at which the real operator gives what the symbols say.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dispatch/state.h"
#include "rules/vector_call.h"
#include "rules/vector_parse.h"
#include "symbolic/symbolic_call.h"

namespace massless::vectors {
namespace {

struct Row {
  const char* call;
  Way way;
  std::vector<std::int64_t> accepted;  // the symbols' values, in their order
  std::vector<std::int64_t> refused;
  const char* guard;  // that refuses
};

constexpr Way kOwn{"own sizes", true, false};
constexpr Way kOwnNumbers{"own sizes and numbers", true, true};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"add.Tensor(f32[4,6], f32[4,6])", kOwn, {5, 7, 5, 7}, {5, 7, 4, 7}, "s0 == s2"},
      {"mm(f32[2,3], f32[3,4])", kOwn, {5, 7, 7, 0}, {5, 7, 6, 0}, "s1 == s2"},
      {"view(f32[4,6], [24])", kOwn, {3, 8}, {3, 7}, "s0*s1 == 24"},
      {"select.int(f32[4,2], 0, 3)", kOwn, {9, 0}, {3, 2}, "s0 >= 4"},
      {"split.Tensor(f32[7,2], 3)", kOwn, {9, 2}, {10, 2}, "s0 <= 9"},
      {"view(f32[4,6], [2,-1])", kOwnNumbers, {5, 6, 3}, {5, 6, 4}, "s0*s1%s2 == 0"},
      {"expand(f32[1,6], [4,6])", kOwn, {1, 6}, {2, 6}, "s0 == 1"},
      {"convolution(f32[2,4,6,6], f32[8,4,3,3], None, [1,1], [0,0], [1,1], false, [0,0], 1)",
       kOwn,
       {1, 5, 7, 7, 3, 5, 1, 7},
       {1, 5, 7, 7, 3, 5, 8, 7},
       "s2 >= s6"},
  };
  return all;
}

Point point_of(ShapeEnv& env, const std::vector<std::int64_t>& values) {
  Point point;
  const auto symbols = env.symbols();
  EXPECT_EQ(symbols.size(), values.size());
  for (std::size_t i = 0; i < std::min(symbols.size(), values.size()); ++i) {
    point[symbols[i]->symbol()] = values[i];
  }
  return point;
}

TEST(Guards, SayNoWhereTheyAreViolated) {
  for (const Row& row : rows()) {
    SCOPED_TRACE(row.call);
    const std::vector<Line> lines = split_lines(row.call, "guards_test.cc");
    ASSERT_EQ(lines.size(), 1U);
    const Call call = parse_call(lines[0]);
    const SymbolicCall symbolic(call, row.way);
    const Outcome outcome = outcome_of([&] {
      const FakeMode mode;
      return call_boxed(call.op, symbolic.arguments());
    });
    EXPECT_EQ(outcome.error, "");
    ShapeEnv& env = symbolic.env();
    std::string why;
    EXPECT_TRUE(env.holds({}, &why)) << why;
    EXPECT_TRUE(env.holds(point_of(env, row.accepted), &why)) << why;
    EXPECT_FALSE(env.holds(point_of(env, row.refused), &why));
    EXPECT_NE(why.find(row.guard), std::string::npos) << why;
  }
}

}  // namespace
}  // namespace massless::vectors
