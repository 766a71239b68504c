// min, max, abs and if-then-else.
#include <algorithm>
#include <array>
#include <vector>

#include "sym/build.h"

namespace massless::sym {
namespace {

bool by_id(Expr a, Expr b) { return a->id < b->id; }

// Operands of nested `op`s in one list, each once. Those of a normal form are flat already.
std::vector<Expr> flattened(Op op, std::span<const Expr> operands) {
  std::vector<Expr> flat;
  for (Expr e : operands) {
    if (e->is(op)) {
      flat.insert(flat.end(), e->operands().begin(), e->operands().end());
    } else {
      flat.push_back(e);
    }
  }
  std::sort(flat.begin(), flat.end(), by_id);
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  return flat;
}

}  // namespace

// Drops each operand that another one bounds: x for max(x, y) where y - x >= 0 by ranges.
Expr Builder::extremum(Op op, std::span<const Expr> operands) const {
  std::vector<Expr> kept = flattened(op, operands);
  constexpr std::size_t kMaxCompared = 32;
  const auto dominated = [&](Expr x, Expr y) {
    try {
      return range(op == Op::max ? sub(y, x) : sub(x, y)).nonnegative();
    } catch (const SymError&) {  // the difference does not fit
      return false;
    }
  };
  if (kept.size() <= kMaxCompared) {
    for (std::size_t i = 0; i < kept.size();) {
      const bool drop = std::any_of(kept.begin(), kept.end(), [&](Expr other) {
        return other != kept[i] && dominated(kept[i], other);
      });
      if (drop) {
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }
  if (kept.size() == 1) {
    return kept[0];
  }
  Range all = kept[0]->range;
  for (Expr e : kept) {
    all = op == Op::max ? range_max(all, e->range) : range_min(all, e->range);
  }
  return context_.raw(op, kept, all);
}

Expr Builder::min(std::span<const Expr> operands) const { return extremum(Op::min, operands); }
Expr Builder::max(std::span<const Expr> operands) const { return extremum(Op::max, operands); }

Expr Builder::min(Expr a, Expr b) const { return cached(Op::min, a, b, &Builder::min_fresh); }
Expr Builder::max(Expr a, Expr b) const { return cached(Op::max, a, b, &Builder::max_fresh); }
Expr Builder::min_fresh(Expr a, Expr b) const {
  return extremum(Op::min, std::array<Expr, 2>{a, b});
}
Expr Builder::max_fresh(Expr a, Expr b) const {
  return extremum(Op::max, std::array<Expr, 2>{a, b});
}

Expr Builder::abs(Expr a) const { return max(a, neg(a)); }

Expr Builder::ite(Expr condition, Expr a, Expr b) const {
  if (condition->is(Op::truth)) {
    return condition->is_true() ? a : b;
  }
  if (a == b) {
    return a;
  }
  const std::array<Expr, 3> operands{condition, a, b};
  if (a->type == Type::real) {
    return context_.raw(Op::real_ite, operands);
  }
  return context_.raw(Op::ite, operands, range_union(a->range, b->range));
}

}  // namespace massless::sym
