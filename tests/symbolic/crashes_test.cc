// Each row of the table of crashes is true: the real operator does not come back.
#include "symbolic/crashes.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "rules/vector_call.h"
#include "rules/vector_parse.h"

namespace massless::vectors {
namespace {

void run_and_leave(const Call& call) {
  const Outcome outcome = outcome_of([&] { return call_boxed(call.op, call.arguments); });
  std::_Exit(outcome.error.empty() ? 0 : 1);
}

TEST(Crashes, RealOperatorEndsTheProcess) {
  for (const Crash& crash : crashes()) {
    const std::vector<Line> lines = split_lines(crash.call, "crashes.cc");
    ASSERT_EQ(lines.size(), 1U) << crash.call;
    EXPECT_EQ(lines[0].operator_name, crash.operator_name);
    const Call call = parse_call(lines[0]);
    EXPECT_TRUE(crash.at(call.arguments)) << crash.call;
    EXPECT_EXIT(run_and_leave(call), testing::KilledBySignal(crash.signal), "") << crash.call;
  }
}

}  // namespace
}  // namespace massless::vectors
