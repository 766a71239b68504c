// Real-valued sizes: the one file of this layer with floating point. Such expressions are kept as
// written, evaluated exactly as Python would, and reasoned about only where the result is exact;
// no proof about integers reads a rounded number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sym/build.h"

namespace massless::sym {

Expr real_constant(Context& context, double value);
double real_value(Expr constant);  // of a real_constant
double bits_to_real(std::int64_t bits);
std::int64_t real_to_bits(double value);

// One real operator on values, as Python: `a` and `b` are bits for operands of real type, integers
// for integers. The result likewise (comparisons: 0 or 1). Nothing: Python would raise, or an
// integer result does not fit.
std::optional<std::int64_t> evaluate_real(Op op, std::int64_t a, std::int64_t b);

// Python's str() of a float, and back ("nan", "inf", "-inf" too).
std::string print_real(double value);
// The bits of the number written so; nothing where it is none.
std::optional<std::int64_t> parse_real(std::string_view text);

}  // namespace massless::sym
