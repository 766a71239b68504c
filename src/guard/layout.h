// How a tensor with symbolic sizes lies in memory: the conditions that c10 computes from integers,
// as expressions. Nothing is decided and no guard arises here.
#pragma once

#include <span>

#include "guard/shape_env.h"

namespace massless::guard {

// The answers of the functions below, all at once; asked again they are remembered.
struct Layout {
  Expr contiguous;
  Expr channels_last_contiguous;
  Expr channels_last_strides;
  Expr non_overlapping_and_dense;
};
Layout layout_of(ShapeEnv& env, std::span<const Expr> sizes, std::span<const Expr> strides);

// Each is true at a point exactly if c10's function of that name is true for the sizes and strides
// there, unless said.
Expr is_contiguous(ShapeEnv& env, std::span<const Expr> sizes, std::span<const Expr> strides);
// Rank 4 (channels_last) and 5 (channels_last_3d); false for others.
Expr is_channels_last_contiguous(ShapeEnv& env, std::span<const Expr> sizes,
                                 std::span<const Expr> strides);
Expr is_channels_last_strides(ShapeEnv& env, std::span<const Expr> sizes,
                              std::span<const Expr> strides);
// Equals c10's answer at the example, and wherever the expression has the same value as there.
Expr is_non_overlapping_and_dense(ShapeEnv& env, std::span<const Expr> sizes,
                                  std::span<const Expr> strides);
// How many elements a storage needs for such a tensor: up to its last one; 0 where a size is 0.
Expr storage_elements(ShapeEnv& env, std::span<const Expr> sizes, std::span<const Expr> strides,
                      Expr offset);

}  // namespace massless::guard
