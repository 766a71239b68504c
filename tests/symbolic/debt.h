// What symbolic runs cost: sizes that a guard fixed, guards, and answers from below the rules. For
// each operator the numbers stand in data/debt.txt and may not grow.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "symbolic/instantiate.h"

namespace massless::vectors {

class Debt {
 public:
  void add(const std::string& operator_name, const Tally& tally) { of_[operator_name] += tally; }

  std::string table() const;
  // Against the file; one text for each operator that is worse. With MASSLESS_UPDATE_DEBT set the
  // file is written instead.
  std::vector<std::string> worse() const;

 private:
  std::map<std::string, Tally> of_;
};

Debt& debt();

}  // namespace massless::vectors
