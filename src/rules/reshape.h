// The geometry of a view of other sizes (`view`, `_unsafe_view`, `unflatten`).
#pragma once

#include <c10/core/SymIntArrayRef.h>

#include <optional>

#include "fake/tensor.h"

namespace massless {

struct Viewed {
  SymDimVector sizes;
  SymDimVector strides;
};

// `size` may hold one -1, which is worked out. Raises where the sizes do not fit.
SymDimVector viewed_sizes(c10::SymIntArrayRef old_sizes, c10::SymIntArrayRef size);

// The strides of a view of these sizes, which fit; nothing where there is no view.
std::optional<SymDimVector> viewed_strides(c10::SymIntArrayRef old_sizes,
                                           c10::SymIntArrayRef old_strides,
                                           c10::SymIntArrayRef sizes);

// Sizes and strides. Raises where the sizes do not fit or no view is possible.
Viewed viewed(c10::SymIntArrayRef old_sizes, c10::SymIntArrayRef old_strides,
              c10::SymIntArrayRef size);

}  // namespace massless
