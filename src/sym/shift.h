// A quick sufficient condition for the sign of a polynomial with products.
#pragma once

#include "sym/expr.h"

namespace massless::sym {

// True: p >= 0 wherever each atom is within its bounds. With each atom written as its least value
// plus something not negative (or its greatest minus it), no coefficient of p is negative:
//   b*s - b >= 0  for b, s >= 2:  (2 + b')*(2 + s') - (2 + b') = 2 + b' + 2*s' + b'*s'
bool not_negative_by_shift(Expr p, const Bounds& bounds);

}  // namespace massless::sym
