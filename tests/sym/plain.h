// The value of an expression's text at a point, read by a parser of the tests' own, which builds
// nothing: what the engine makes of the same text is compared with it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "sym/tree.h"

namespace massless::sym {

// Integers and truth values (0, 1) in Python's syntax. Nothing: a division by zero anywhere, also
// where Python would not come by. Raises std::invalid_argument for what it cannot read.
std::optional<Wide> plain_value(const std::string& text,
                                const std::map<std::string, std::int64_t>& at);

}  // namespace massless::sym
