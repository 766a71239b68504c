// Errors as exceptions: derived from c10::Error, so that C++ callers of LibTorch catch them; in a
// Python process a hook turns them into the classes of the `massless` module instead.
#pragma once

#include <c10/util/Exception.h>

#include <string>
#include <string_view>

#include "base/errors.h"

namespace massless {

class Error : public c10::Error {
 public:
  Error(ErrorCode code, std::string operator_name, std::string location, std::string text);
  ErrorCode code() const noexcept { return code_; }
  const std::string& operator_name() const noexcept { return operator_name_; }
  const std::string& location() const noexcept { return location_; }

 private:
  ErrorCode code_;
  std::string operator_name_;
  std::string location_;
};

// Throws Error (or what the hook throws). `operator_name` empty: the operator now running.
[[noreturn]] void raise(ErrorCode code, std::string_view found,
                        std::string_view operator_name = {});

// Called with every error before it is thrown; may throw its own exception instead.
using RaiseHook = void (*)(const Error&);
void set_raise_hook(RaiseHook hook) noexcept;

}  // namespace massless
