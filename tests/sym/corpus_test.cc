// The questions that tracing Llama, BERT and ResNet asks of torch's ShapeEnv (tools/record_sym.py):
// what it decided with what it had assumed so far is decided here, and alike.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "sym/facts.h"
#include "sym/text.h"

namespace massless::sym {
namespace {

class Corpus : public testing::TestWithParam<const char*> {
 protected:
  void run() {
    const std::string path = std::string(MASSLESS_SYM_DATA) + "/questions_" + GetParam() + ".txt";
    std::ifstream in(path);
    ASSERT_TRUE(in.good()) << path;
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
      SCOPED_TRACE(path + ":" + std::to_string(number));
      std::istringstream words(line);
      std::string command;
      words >> command;
      command == "#" ? void() : take(command, words);
    }
  }

  void take(const std::string& command, std::istringstream& words) {
    if (command == "reset") {
      facts_ = nullptr;
      context_ = std::make_unique<Context>();
      facts_ = std::make_unique<Facts>(*context_);
    } else if (command == "symbol") {
      std::string name;
      std::string hi;
      std::int64_t lo = 0;
      words >> name >> lo >> hi;
      context_->symbol(name, {lo, hi == "inf" ? Range::kPlusInf : std::stoll(hi)});
    } else if (command == "assume") {
      EXPECT_NE(facts_->assume(rest(words)), Truth::no);
    } else {
      ASSERT_TRUE(command == "decided" || command == "guarded");
      std::string verdict;
      words >> verdict;
      ask(rest(words), verdict == "yes" ? Truth::yes : Truth::no, command == "decided");
    }
  }

  Expr rest(std::istringstream& words) {
    std::string text;
    std::getline(words, text);
    return parse(*context_, text, false);
  }

  void ask(Expr question, Truth verdict, bool decided) {
    const Truth ours = facts_->prove(question);
    if (decided) {
      EXPECT_EQ(ours, verdict) << print(question, *context_);
      ++decided_;
    } else {  // torch made a guard: ours may know without
      EXPECT_NE(ours, negate(verdict)) << print(question, *context_);
      ++guarded_;
      spared_ += ours == verdict ? 1 : 0;
    }
  }

  std::unique_ptr<Context> context_;
  std::unique_ptr<Facts> facts_;
  int decided_ = 0;
  int guarded_ = 0;
  int spared_ = 0;
};

TEST_P(Corpus, DecidesWhatShapeEnvDecided) {
  run();
  EXPECT_GT(decided_, 900);
  std::printf("%s: %d decided; of %d that torch guarded, %d decided here\n", GetParam(), decided_,
              guarded_, spared_);
}

INSTANTIATE_TEST_SUITE_P(Models, Corpus, testing::Values("llama", "bert", "resnet"));

}  // namespace
}  // namespace massless::sym
