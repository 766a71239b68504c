// Re-instantiation: every vector, and every call that the models made, is run with symbols for
// sizes; at other sizes that satisfy the guards the real operator gives what the symbols say.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "rules/vector_parse.h"
#include "symbolic/debt.h"
#include "symbolic/instantiate.h"

namespace massless::vectors {
namespace {

// Printed with every difference; MASSLESS_SEED sets another.
std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char* given = std::getenv("MASSLESS_SEED");
    return given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
  }();
  return value;
}

std::string file_of(const Line& line) { return line.where.substr(0, line.where.find(':')); }

struct File {
  std::string name;
  std::vector<Line> lines;
};

// The tree's own vectors, or the file or folder that the environment names.
std::vector<File> all_files() {
  const char* named = std::getenv("MASSLESS_VECTORS");
  std::vector<Line> lines = read_lines(named != nullptr ? named : MASSLESS_VECTORS);
  if (named == nullptr) {
    for (Line& line : read_lines(MASSLESS_MODEL_OPERATORS)) {
      lines.push_back(std::move(line));
    }
  }
  std::vector<File> files;
  for (Line& line : lines) {
    if (files.empty() || files.back().name != file_of(line)) {
      files.push_back({file_of(line), {}});
    }
    files.back().lines.push_back(std::move(line));
  }
  return files;
}

const std::vector<File>& files() {
  static const std::vector<File> found = all_files();
  return found;
}

using Case = std::tuple<std::size_t, std::size_t>;  // of files(), of kWays

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string name =
      files()[std::get<0>(info.param)].name + "_" + kWays[std::get<1>(info.param)].name;
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

class Reinstantiation : public testing::TestWithParam<Case> {};

TEST_P(Reinstantiation, EqualsTheRealOperator) {
  const Way& way = kWays[std::get<1>(GetParam())];
  for (const Line& line : files()[std::get<0>(GetParam())].lines) {
    std::vector<std::string> differences;
    Tally tally;
    try {
      differences = compare_at_points(line, way, seed(), tally);
    } catch (const std::exception& error) {
      differences.emplace_back(std::string("the test itself raised ") + error.what());
    }
    debt().add(line.operator_name, tally);
    if (!differences.empty()) {
      std::string text =
          line.where + " (" + way.name + ", seed " + std::to_string(seed()) + ")\n  " + line.text;
      for (const std::string& difference : differences) {
        text += "\n  - " + difference;
      }
      ADD_FAILURE() << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Vectors, Reinstantiation,
                         testing::Combine(testing::Range<std::size_t>(0, files().size()),
                                          testing::Range<std::size_t>(0, std::size(kWays))),
                         case_name);

// After all others: what the symbols cost may not grow (data/debt.txt).
class Report : public testing::Environment {
 public:
  void TearDown() override {
    std::cout << debt().table();
    for (const std::string& worse : debt().worse()) {
      ADD_FAILURE() << worse;
    }
  }
};
const auto* const kReport = testing::AddGlobalTestEnvironment(new Report);

}  // namespace
}  // namespace massless::vectors
