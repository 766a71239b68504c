// Walks over expressions, with explicit stacks: values, substitution, symbols.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "sym/build.h"
#include "sym/expr.h"

namespace massless::sym {

// Why an expression has no value at a point.
enum class NoValue : std::uint8_t { overflow, division_by_zero, unbound_symbol, domain };

// The value of an integer or boolean (0 or 1), or a real's bits (real.h).
using Value = std::variant<std::int64_t, NoValue>;

// The value of a symbol by its index (Node::symbol()); nothing: unbound.
using Values = std::function<std::optional<std::int64_t>(std::uint32_t)>;

// Exact: sums and products of 64-bit atoms are formed in 128 bits; what does not fit at last is
// `overflow`. `and`, `or` and `ite` decide by the operands they need, as Python would: one without
// a value that is not needed does no harm.
Value evaluate(Expr e, const Values& values);

// e with symbols replaced, rebuilt by `build`. `replace` answers null for what stays.
Expr substitute(Expr e, const Builder& build, const std::function<Expr(Expr symbol)>& replace);

// The symbols of e, by index, in ascending order.
std::vector<std::uint32_t> symbols_of(Expr e);

}  // namespace massless::sym
