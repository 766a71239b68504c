// libFuzzer on the parser: whatever the bytes, an expression that prints and parses back to itself,
// or a SymError. Built and run by tools/fuzz.sh.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "sym/facts.h"
#include "sym/text.h"

using massless::sym::Context;
using massless::sym::Expr;
using massless::sym::Facts;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Context context;
  try {
    Expr e = massless::sym::parse(context, text);
    const std::string printed = massless::sym::print(e, context);
    if (massless::sym::parse(context, printed, false) != e) {
      std::cerr << "does not parse back: " << printed << "\n";
      std::abort();
    }
    if (e->type == massless::sym::Type::boolean) {
      Facts facts(context);
      facts.assume(e);
      facts.prove(e);
    }
  } catch (const massless::sym::SymError&) {
    return 0;  // told, not crashed
  }
  return 0;
}
