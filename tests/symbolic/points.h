// Other sizes for which the guards hold.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "symbolic/symbolic_call.h"

namespace massless::vectors {

struct Points {
  std::vector<Point> good;  // distinct; the example first, where `fits` takes it
  int refused = 0;          // tried, but a guard or a range does not hold there
};

// Random values for the symbols that nothing fixes, the others by what the guards say of them.
// `fits`: is the call small enough there?
Points sample_points(ShapeEnv& env, std::size_t wanted, std::uint64_t seed,
                     const std::function<bool(const Point&)>& fits);

}  // namespace massless::vectors
