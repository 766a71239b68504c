// The geometry of a view of other sizes (`view`, `_unsafe_view`, `unflatten`).
#pragma once

#include <c10/core/SymIntArrayRef.h>

#include "fake/tensor.h"

namespace massless {

struct Viewed {
  SymDimVector sizes;
  SymDimVector strides;
};

// `size` may hold one -1, which is worked out. Raises where the sizes do not fit.
SymDimVector viewed_sizes(c10::SymIntArrayRef old_sizes, c10::SymIntArrayRef size);

// The same with strides. Raises where the sizes do not fit or no view is possible.
Viewed viewed(c10::SymIntArrayRef old_sizes, c10::SymIntArrayRef old_strides,
              c10::SymIntArrayRef size);

}  // namespace massless
