// The largest value of one symbol for which a formula stays within a budget.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan/formula.h"

namespace massless {

// The largest value of the symbol for which the guards hold and the formula is at most `budget`,
// where the symbols in `fixed` have these values and the others those of the formula's example.
// 0: there is none; nothing: there is no largest one. Raises guard_failed where the guards hold for
// no value at all, and sym_unsupported where kMaxSteps intervals do not decide.
//
// Exact whatever the formula's shape: the symbol's range is halved, from its upper end downwards,
// until interval arithmetic decides a part (all of it fits, none of it does, some guard fails
// everywhere) or a point is left, which is evaluated.
std::optional<std::int64_t> largest_within(const Formula& formula, const NamedValues& fixed,
                                           const std::string& symbol, std::int64_t budget);

}  // namespace massless
