// A size in the place of a tensor. For `t * s` torch's argument parser makes a wrapped number whose
// value is a placeholder (7777777, nan or true) and keeps the size aside, in Python; the binding
// knows where. No rule may read the placeholder.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <optional>

namespace massless {

// The symbol that a wrapped number stands for (a symbolic Scalar); nothing: its value is its own.
std::optional<c10::Scalar> symbol_of(const at::Tensor& number);

// Answers for real wrapped numbers.
using NumberResolver = std::optional<c10::Scalar> (*)(const at::Tensor& number);
void set_number_resolver(NumberResolver resolver) noexcept;

}  // namespace massless
