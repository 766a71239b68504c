#include "symbolic/debt.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <sstream>

namespace massless::vectors {
namespace {

// operator, runs, symbols, fixed, guards, below
std::map<std::string, Tally> read() {
  std::map<std::string, Tally> found;
  std::ifstream in(MASSLESS_SYMBOLIC_DEBT);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') {
      continue;
    }
    std::istringstream fields(line);
    std::string name;
    Tally tally;
    fields >> name >> tally.runs >> tally.symbols >> tally.fixed >> tally.guards >> tally.below;
    found[name] = tally;
  }
  return found;
}

void write(const std::map<std::string, Tally>& all) {
  std::ofstream out(MASSLESS_SYMBOLIC_DEBT);
  out << "# operator, runs, symbols, symbols that guards fix, guards, runs answered below the\n"
         "# rules. Written by `MASSLESS_UPDATE_DEBT=1 symbolic_tests`; the last three may not "
         "grow.\n";
  for (const auto& [name, tally] : all) {
    if (tally.fixed + tally.guards + tally.below != 0) {
      out << name << ' ' << tally.runs << ' ' << tally.symbols << ' ' << tally.fixed << ' '
          << tally.guards << ' ' << tally.below << '\n';
    }
  }
}

}  // namespace

Debt& debt() {
  static Debt all;
  return all;
}

std::string Debt::table() const {
  Tally total;
  int whole = 0;
  for (const auto& [name, tally] : of_) {
    total += tally;
    whole += tally.symbols > 0 && tally.fixed == tally.symbols ? 1 : 0;
  }
  std::ostringstream out;
  out << "operators " << of_.size() << ", runs " << total.runs << ", points " << total.points
      << " (" << total.refused << " refused by a guard, " << total.values
      << " where the values matter); not run: " << total.on_cuda << " for CUDA, " << total.known
      << " of known values\n"
      << "symbols " << total.symbols << ", of these fixed " << total.fixed << ", guards "
      << total.guards << "\n"
      << "operators whose symbols are all fixed " << whole << ", runs below the rules "
      << total.below << ", runs with few points " << total.few << "\n";
  for (const Crash& crash : crashes()) {
    const auto found = total.crashes.find(&crash);
    out << "points not run, where " << crash.operator_name << " ends the process (" << crash.reason
        << ") " << (found == total.crashes.end() ? 0 : found->second) << "\n";
  }
  std::vector<std::pair<std::string, Tally>> most(of_.begin(), of_.end());
  std::stable_sort(most.begin(), most.end(), [](const auto& a, const auto& b) {
    return a.second.fixed + a.second.guards > b.second.fixed + b.second.guards;
  });
  most.resize(std::min<std::size_t>(most.size(), 20));
  out << std::left << std::setw(48) << "most"
      << "runs symbols fixed guards below\n";
  for (const auto& [name, tally] : most) {
    out << std::left << std::setw(48) << name << std::right << std::setw(4) << tally.runs
        << std::setw(8) << tally.symbols << std::setw(6) << tally.fixed << std::setw(7)
        << tally.guards << std::setw(6) << tally.below << '\n';
  }
  return out.str();
}

std::vector<std::string> Debt::worse() const {
  if (std::getenv("MASSLESS_UPDATE_DEBT") != nullptr) {
    write(of_);
    return {};
  }
  std::vector<std::string> found;
  const auto allowed = read();
  for (const auto& [name, tally] : of_) {
    const auto it = allowed.find(name);
    const Tally limit = it == allowed.end() ? Tally{} : it->second;
    // Of a run of some of the vectors only nothing is said; new vectors are entered by an update.
    const bool all_ran = it == allowed.end() || tally.runs == limit.runs;
    if (all_ran &&
        (tally.fixed > limit.fixed || tally.guards > limit.guards || tally.below > limit.below)) {
      found.push_back(name + ": fixed " + std::to_string(tally.fixed) + " (was " +
                      std::to_string(limit.fixed) + "), guards " + std::to_string(tally.guards) +
                      " (was " + std::to_string(limit.guards) + "), below the rules " +
                      std::to_string(tally.below) + " (was " + std::to_string(limit.below) + ")");
    }
  }
  return found;
}

}  // namespace massless::vectors
