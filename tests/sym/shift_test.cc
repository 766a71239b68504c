#include "sym/shift.h"

#include <gtest/gtest.h>

#include <array>

#include "sym/evaluate.h"
#include "sym/facts.h"
#include "sym/text.h"
#include "sym/tree.h"

namespace massless::sym {
namespace {

struct Row {
  const char* polynomial;
  bool proved;
};

TEST(Shift, Rows) {
  Context context;
  for (const char* name : {"b", "s", "w"}) {
    context.symbol(name, {2, Range::kPlusInf});
  }
  context.symbol("few", {Range::kMinusInf, -3});
  context.symbol("any");
  const Bounds declared;
  for (const Row& row :
       std::initializer_list<Row>{{"b*s - b", true},
                                  {"b*s*w - b*s - 1", true},
                                  {"b*s - b - s", true},
                                  {"b*s - b - s - 1", false},  // 2*2 - 2 - 2 - 1
                                  {"b*b - 2*b", true},
                                  {"b*s - w", false},
                                  {"b*(-few) - 6", true},
                                  {"few*few - 9", true},
                                  {"b*any", false},
                                  {"any - any*b + (b - 1)*any", true},  // no atom is left
                                  {"9223372036854775807*b*s - b", true},
                                  {"b**7*s**7*w - 1", false},  // more terms than it expands
                                  {"b**4 - 16", true}}) {
    EXPECT_EQ(not_negative_by_shift(parse(context, row.polynomial), declared), row.proved)
        << row.polynomial;
  }
}

// What it says holds at every point of a box.
TEST(Shift, HoldsAtEveryPoint) {
  Random random;
  int proved = 0;
  for (int i = 0; i < 20000; ++i) {
    Context context;
    const Builder build(context);
    std::vector<Range> box;
    std::vector<Expr> symbols;
    for (const char* name : {"a", "b", "c"}) {
      const std::int64_t lo = random.between(-3, 3);
      box.push_back({lo, lo + random.between(0, 3)});
      symbols.push_back(context.symbol(name, box.back()));
    }
    Expr p = build.integer(random.between(-6, 6));
    for (int t = 0; t < 4; ++t) {
      Expr monomial = build.integer(random.between(-3, 4));
      for (std::int64_t d = random.between(1, 3); d > 0; --d) {
        monomial = build.mul(monomial, random.pick(symbols));
      }
      p = build.add(p, monomial);
    }
    if (!not_negative_by_shift(p, Bounds())) {
      continue;
    }
    ++proved;
    for (const auto& point : points_of(random, box, 64)) {
      const Value v = evaluate(p, [&](std::uint32_t s) { return std::optional(point[s]); });
      ASSERT_GE(std::get<std::int64_t>(v), 0)
          << random.row(point_text(box, point) + print(p, context));
    }
  }
  EXPECT_GT(proved, 1000);
}

struct Proof {
  const char* fact;
  const char* question;
  Truth truth;
};

// Proofs about products, by shift or by linear reasoning with the ends of factors, and of exact
// quotients inside of products.
TEST(Products, Proofs) {
  for (const Proof& row : std::initializer_list<Proof>{
           {"True", "b*s*w > b*s", Truth::yes},
           {"True", "b*s == b", Truth::no},
           {"True", "s < w*s", Truth::yes},
           {"s <= 64", "b*s <= 64*b", Truth::yes},
           {"b + s >= 10", "b*s >= 16", Truth::yes},  // (b - 2)*(s - 2) >= 0
           {"b + s >= 10", "b*s >= 17", Truth::unknown},
           {"b <= w", "b*s <= w*s", Truth::yes},
           {"b <= w", "b*b <= w*w", Truth::unknown},  // a product of facts
           {"w % 64 == 0", "64*b*s*(w//64) == b*s*w", Truth::yes},
           {"w % 64 == 0", "64*b*(s + 1)*(w//64) == b*(s + 1)*w", Truth::yes},
           {"w % 64 == 3", "64*s*(w//64) == s*w - 3*s", Truth::yes},
           {"w % 64 == 3", "64*s*(w//64) == s*w", Truth::no},
           {"w % 32 == 0", "64*s*(w//64) == s*w", Truth::unknown}}) {
    Context context;
    for (const char* name : {"b", "s", "w"}) {
      context.symbol(name, {2, Range::kPlusInf});
    }
    Facts facts(context);
    facts.assume(parse(context, row.fact));
    EXPECT_EQ(facts.prove(parse(context, row.question)), row.truth)
        << row.fact << ": " << row.question;
  }
}

}  // namespace
}  // namespace massless::sym
