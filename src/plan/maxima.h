// The most that an amount, changed step by step, ever is: the polynomials of which the largest is
// that, whatever the symbols.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "guard/shape_env.h"
#include "plan/undominated.h"

namespace massless {

// One step of an amount that begins at 0 and is never negative.
struct Change {
  enum class Direction : std::uint8_t { up, down, either };
  std::int64_t number;
  sym::Expr formula;    // null: `number` is it
  std::int64_t sign;    // of `formula`: 1 or -1
  Direction direction;  // of the change, for all values of the symbols
};

class Maxima {
 public:
  explicit Maxima(guard::ShapeEnv& env) : env_(env) {}

  // One expression or more. At every point where the guards hold, the largest of them is the
  // largest value that the amount has after any step, or before the first.
  std::vector<sym::Expr> of(std::span<const Change> changes);

 private:
  using SparseTerms = std::vector<std::pair<std::uint32_t, std::int64_t>>;
  const SparseTerms& terms_of(sym::Expr e);
  std::vector<Coefficients> candidates(std::span<const Change> changes);
  sym::Expr expression(const Coefficients& c) const;

  guard::ShapeEnv& env_;
  std::vector<sym::Expr> monomials_{nullptr};  // the constant's first
  std::unordered_map<sym::Expr, std::uint32_t> indices_;
  std::unordered_map<sym::Expr, SparseTerms> terms_;
};

}  // namespace massless
