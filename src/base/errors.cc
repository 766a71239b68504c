#include "base/errors.h"

#include <array>
#include <cstddef>

namespace massless {
namespace {

constexpr std::array kTable = {
#define MASSLESS_ERROR_ROW(code, kind, python_class, needed, advice) \
  ErrorInfo{#code, ErrorKind::kind, python_class, needed, advice},
    MASSLESS_ERRORS(MASSLESS_ERROR_ROW)
#undef MASSLESS_ERROR_ROW
};

}  // namespace

const ErrorInfo& error_info(ErrorCode code) noexcept {
  return kTable[static_cast<std::size_t>(code)];
}

int error_count() noexcept { return static_cast<int>(kTable.size()); }

std::string error_text(ErrorCode code, std::string_view operator_name, std::string_view found,
                       std::string_view location) {
  const ErrorInfo& info = error_info(code);
  std::string text = "[";
  text.append(info.name).append("] ");
  if (!operator_name.empty()) {
    text.append(operator_name).append(": ");
  }
  text.append(found).append(". Needed: ").append(info.needed);
  text.append(". What to do: ").append(info.advice).append(".");
  if (!location.empty()) {
    text.append(" (at ").append(location).append(")");
  }
  return text;
}

}  // namespace massless
