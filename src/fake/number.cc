#include "fake/number.h"

#include <atomic>

#include "fake/tensor.h"

namespace massless {
namespace {

std::atomic<NumberResolver> number_resolver{nullptr};

}  // namespace

void set_number_resolver(NumberResolver resolver) noexcept { number_resolver.store(resolver); }

std::optional<c10::Scalar> symbol_of(const at::Tensor& number) {
  if (!number.defined() || is_fake(number) || !number.unsafeGetTensorImpl()->is_wrapped_number()) {
    return std::nullopt;
  }
  const NumberResolver resolver = number_resolver.load();
  return resolver == nullptr ? std::nullopt : resolver(number);
}

}  // namespace massless
