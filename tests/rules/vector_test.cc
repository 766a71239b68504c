// Every line of src/rules/*.vec, of the operators that the models met, and what is not covered.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "dispatch/state.h"
#include "fake/fallback.h"
#include "rules/vector_parse.h"
#include "rules/vector_run.h"

namespace massless::vectors {

// How gtest prints the parameter of a failed test.
void PrintTo(const Line& line, std::ostream* out) { *out << line.where << ": " << line.text; }

namespace {

std::string paste_ready(const Line& line, const char* pass,
                        const std::vector<std::string>& differences) {
  std::string text = line.where + " (" + pass + ")\n  " + line.text;
  for (const std::string& difference : differences) {
    text += "\n  - " + difference;
  }
  return text;
}

void expect_same(const Line& line, const char* pass,
                 std::vector<std::string> (*compare)(const Line&)) {
  std::vector<std::string> differences;
  try {
    differences = compare(line);
  } catch (const ParseError& error) {
    differences.emplace_back(std::string("the line cannot be read: ") + error.what());
  }
  EXPECT_TRUE(differences.empty()) << paste_ready(line, pass, differences);
}

std::string test_name(const testing::TestParamInfo<Line>& info) {
  std::string name = info.param.where;
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

class Vectors : public testing::TestWithParam<Line> {};

TEST_P(Vectors, FakesOnCpuEqualTheRealOperator) {
  if (!GetParam().marks.cuda_only) {
    expect_same(GetParam(), "fakes on cpu", compare_on_cpu);
  }
}

TEST_P(Vectors, FakesOnCudaStayThere) {
  if (!GetParam().marks.cpu_only) {
    expect_same(GetParam(), "fakes on cuda", compare_on_cuda);
  }
}

TEST_P(Vectors, KnownValuesEqualTheRealOnes) {
  if (!GetParam().marks.cuda_only) {
    expect_same(GetParam(), "fakes of known value", compare_known);
  }
}

// The tree's own vectors, or the file or folder that the environment names.
std::string vectors_path() {
  const char* named = std::getenv("MASSLESS_VECTORS");
  return named != nullptr ? named : MASSLESS_VECTORS;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Vectors);
INSTANTIATE_TEST_SUITE_P(Rules, Vectors, testing::ValuesIn(read_lines(vectors_path())), test_name);

// Recorded calls of operators that the models met (tests/data/model_operators.json).
class ModelOperators : public testing::TestWithParam<Line> {};

TEST_P(ModelOperators, AnsweredByRuleOrComposite) {
  expect_same(GetParam(), "fakes on cpu", compare_on_cpu);
}

INSTANTIATE_TEST_SUITE_P(Recorded, ModelOperators,
                         testing::ValuesIn(read_lines(MASSLESS_MODEL_OPERATORS)), test_name);

// Operators that only the models' CUDA runs meet: there is no CPU kernel to compare with.
class CudaOperators : public testing::TestWithParam<Line> {};

TEST_P(CudaOperators, AnsweredByRuleOrComposite) {
  expect_same(GetParam(), "fakes on cuda", compare_on_cuda);
}

INSTANTIATE_TEST_SUITE_P(Recorded, CudaOperators,
                         testing::ValuesIn(read_lines(MASSLESS_CUDA_OPERATORS)), test_name);

std::string listed(const std::vector<std::string>& names) {
  std::string text = std::to_string(names.size());
  for (const std::string& name : names) {
    text += "\n  " + name;
  }
  return text;
}

TEST(Coverage, EveryRuleHasAVector) {
  // A stream has no text, and pinning for real needs an accelerator.
  std::set<std::string> with_vectors = {"aten::record_stream", "aten::_pin_memory"};
  for (const Line& line : read_lines(MASSLESS_VECTORS)) {
    with_vectors.insert(line.operator_name);
  }
  std::vector<std::string> missing;
  for (const std::string& name : rule_names()) {
    if (with_vectors.count(name) == 0) {
      missing.push_back(name);
    }
  }
  EXPECT_TRUE(missing.empty()) << "rules without a vector: " << listed(missing);
}

TEST(Coverage, EveryVectorIsAnsweredByARuleOrComposite) {
  std::set<std::string> strange;
  for (const Line& line : read_lines(MASSLESS_VECTORS)) {
    const std::string rung = answering_rung(line.operator_name);
    if (rung != rung_name(Rung::rule) && rung != rung_name(Rung::composite) && !line.marks.ladder) {
      strange.insert(line.operator_name + " (" + line.where + ")");
    }
  }
  EXPECT_TRUE(strange.empty()) << "vectors of operators without a rule: "
                               << listed({strange.begin(), strange.end()});
}

TEST(Coverage, NoRuleIsRegisteredTwice) {
  const auto names = rule_names();
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace massless::vectors
