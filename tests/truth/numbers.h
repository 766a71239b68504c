// Does a placeholder that torch puts in the place of a size (fake/number.h) reach an operator
// without leading to its size? Looked at with the inputs of every operator, at any depth.
#pragma once

#include <string>
#include <vector>

namespace massless::truth {

void watch_placeholders();
// The operators that were given one since; ends the watch.
std::vector<std::string> placeholders_seen();

}  // namespace massless::truth
