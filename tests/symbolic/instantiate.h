// Runs a vector with symbols for sizes, puts other sizes in, and says in what the real operator
// differs there.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rules/vector_parse.h"
#include "symbolic/crashes.h"
#include "symbolic/symbolic_call.h"

namespace massless::vectors {

// What one line left, or several lines together.
struct Tally {
  int runs = 0;     // of a line in a way
  int symbols = 0;  // in them
  int fixed = 0;    // of these: the guards leave one value
  int guards = 0;   // that do not follow from others
  int below = 0;    // runs that a rung below the rules answered
  int points = 0;   // compared with the real operator
  int refused = 0;  // points where a guard says no
  int values = 0;   // points where the real operator minds its tensors' values
  int few = 0;      // runs for which the guards leave fewer points than wanted
  int on_cuda = 0;  // not run: there is no real operator here to compare with
  int known = 0;    // not run: of fakes whose values are known, so whose sizes are
  std::map<const Crash*, int> crashes;  // points not run, by row

  Tally& operator+=(const Tally& other);
};

// Each difference ready to be read; empty: none.
std::vector<std::string> compare_at_points(const Line& line, const Way& way, std::uint64_t seed,
                                           Tally& tally);

}  // namespace massless::vectors
