// What values an expression can take while its symbols range over intervals.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "sym/expr.h"

namespace massless {

class Interval {
 public:
  using Ranges = std::function<sym::Range(std::uint32_t symbol)>;
  explicit Interval(Ranges symbols) : symbols_(std::move(symbols)) {}

  // Holds every value that e has at points within the ranges: of a truth value 0 and 1; of a
  // real, anything.
  sym::Range of(sym::Expr e);

 private:
  sym::Range from_children(sym::Expr e) const;

  Ranges symbols_;
  std::unordered_map<sym::Expr, sym::Range> memo_;
};

}  // namespace massless
