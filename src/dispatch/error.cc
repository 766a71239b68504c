#include "dispatch/error.h"

#include <atomic>
#include <utility>

#include "dispatch/state.h"

namespace massless {
namespace {

std::atomic<RaiseHook> raise_hook{nullptr};

}  // namespace

Error::Error(ErrorCode code, std::string operator_name, std::string location, std::string text)
    : c10::Error(std::move(text)),
      code_(code),
      operator_name_(std::move(operator_name)),
      location_(std::move(location)) {}

void set_raise_hook(RaiseHook hook) noexcept { raise_hook.store(hook); }

void raise(ErrorCode code, std::string_view found, std::string_view operator_name) {
  std::string name(operator_name.empty() ? current_operator() : operator_name);
  std::string location = user_location();
  std::string text = error_text(code, name, found, location);
  Error error(code, std::move(name), std::move(location), std::move(text));
  if (RaiseHook hook = raise_hook.load()) {
    hook(error);
  }
  throw error;
}

}  // namespace massless
