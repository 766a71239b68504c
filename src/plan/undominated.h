// Of many polynomials, those that can be the largest.
#pragma once

#include <cstdint>
#include <vector>

#include "guard/shape_env.h"

namespace massless {

// A polynomial by its coefficients of given monomials.
using Coefficients = std::vector<std::int64_t>;

// A subset of `all`, not empty unless `all` is: wherever the guards of the environment hold, the
// largest of the subset is the largest of all. monomials[0] is null and stands for 1; none is
// constant. What is left out is proved, by the ranges and facts of the environment:
//   p is nowhere above q:  q - p, written in the distances of atoms from their least values, has
//     no negative coefficient (after x <= most is used), or the environment proves q >= p;
//   p is nowhere above both q and r:  so for u * (q - p) + v * (r - p) with weights u, v >= 0.
std::vector<Coefficients> undominated(guard::ShapeEnv& env, const std::vector<sym::Expr>& monomials,
                                      std::vector<Coefficients> all);

}  // namespace massless
