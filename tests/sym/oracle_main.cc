// Facts as a command-line tool, for tests in other languages. Reads a command a line and answers a
// line for each:
//   symbol NAME LO HI    -> ok               ends may be -inf and inf
//   assume EXPR          -> yes, no, unknown
//   prove EXPR           -> yes, no, unknown
//   bounds EXPR          -> LO HI
//   simplify EXPR        -> the expression
//   build EXPR           -> the expression, without facts
//   reset                -> ok               no symbols, no facts
// or "error: ..." where the library raises.
#include <charconv>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include "sym/facts.h"
#include "sym/text.h"

namespace massless::sym {
namespace {

const char* text_of(Truth truth) {
  return truth == Truth::yes ? "yes" : truth == Truth::no ? "no" : "unknown";
}

std::string end_text(std::int64_t end) {
  return end == Range::kMinusInf ? "-inf" : end == Range::kPlusInf ? "inf" : std::to_string(end);
}

std::int64_t end_of(const std::string& text) {
  if (text == "inf" || text == "-inf") {
    return text == "inf" ? Range::kPlusInf : Range::kMinusInf;
  }
  std::int64_t value = 0;
  const char* const last = text.data() + text.size();
  if (std::from_chars(text.data(), last, value).ptr != last) {
    throw SymError(ErrorCode::sym_parse, "\"" + text + "\" is no end of a range");
  }
  return value;
}

class Oracle {
 public:
  Oracle() { reset(); }

  std::string answer(const std::string& line) {
    const std::size_t space = line.find(' ');
    const std::string command = line.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    try {
      return answer(command, rest);
    } catch (const SymError& error) {
      return "error: " + std::string(error_info(error.code()).name) + ": " + error.what();
    }
  }

 private:
  void reset() {
    facts_ = nullptr;
    context_ = std::make_unique<Context>();
    facts_ = std::make_unique<Facts>(*context_);
  }

  std::string answer(const std::string& command, const std::string& rest) {
    if (command == "reset") {
      reset();
      return "ok";
    }
    if (command == "symbol") {
      std::istringstream words(rest);
      std::string name;
      std::string lo;
      std::string hi;
      words >> name >> lo >> hi;
      context_->symbol(name, {end_of(lo), end_of(hi)});
      return "ok";
    }
    Expr e = parse(*context_, rest, false);
    if (command == "assume") {
      return text_of(facts_->assume(e));
    }
    if (command == "prove") {
      return text_of(facts_->prove(e));
    }
    if (command == "bounds") {
      const Range range = facts_->range(e);
      return end_text(range.lo) + " " + end_text(range.hi);
    }
    if (command == "simplify") {
      return print(facts_->simplify(e), *context_);
    }
    return command == "build" ? print(e, *context_) : "error: unknown command " + command;
  }

  std::unique_ptr<Context> context_;
  std::unique_ptr<Facts> facts_;
};

}  // namespace
}  // namespace massless::sym

int main() {
  massless::sym::Oracle oracle;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << oracle.answer(line) << std::endl;
  }
  return 0;
}
