// libFuzzer on the parser. Built and run by tools/fuzz.sh.
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "fuzz/parse_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong =
      massless::sym::parse_print_prove({reinterpret_cast<const char*>(data), size});
  if (!wrong.empty()) {
    std::cerr << wrong << "\n";
    std::abort();
  }
  return 0;
}
