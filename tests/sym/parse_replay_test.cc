// The fuzzer's kept corpus, file by file, without the fuzzer.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/parse_target.h"

namespace massless::sym {
namespace {

TEST(ParseReplay, NothingOfTheCorpusFails) {
  const std::filesystem::path corpus =
      std::filesystem::path(MASSLESS_SYM_DATA) / ".." / ".." / "fuzz" / "corpus" / "parse";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(parse_print_prove(text), "") << entry.path();
    ++files;
  }
  EXPECT_GT(files, 50) << corpus;
}

}  // namespace
}  // namespace massless::sym
