// What is done to each text by the fuzzer (parse_fuzz.cc) and by the test that replays its corpus
// (tests/sym/parse_replay_test.cc).
#pragma once

#include <string>
#include <string_view>

#include "sym/facts.h"
#include "sym/text.h"

namespace massless::sym {

// Whatever the bytes: an expression that prints and parses back to itself, or a SymError. "" or
// what went wrong.
inline std::string parse_print_prove(std::string_view text) {
  Context context;
  try {
    Expr e = parse(context, text);
    const std::string printed = print(e, context);
    try {
      if (parse(context, printed, false) != e) {
        return "does not parse back: " + printed;
      }
    } catch (const SymError& error) {
      return "does not parse: " + printed + ": " + error.what();
    }
    if (e->type == Type::boolean) {
      Facts facts(context);
      if (facts.assume(e) != Truth::no && facts.prove(e) == Truth::no) {
        return "is assumed, and then denied: " + printed;
      }
    }
  } catch (const SymError&) {
    return "";  // told, not crashed
  }
  return "";
}

}  // namespace massless::sym
