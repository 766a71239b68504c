#include "numbers.h"

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fake/number.h"
#include "fake/tensor.h"

namespace massless::truth {
namespace {

constexpr std::int64_t kPlaceholder = 7777777;  // torch/csrc/utils/python_arg_parser.cpp

std::vector<std::string> leaks;
at::CallbackHandle watching = 0;

bool is_placeholder(const at::Tensor& t) {
  if (!t.defined() || is_fake(t) || !t.device().is_cpu() || t.layout() != c10::kStrided ||
      t.numel() != 1 || symbol_of(t)) {
    return false;
  }
  // Memory that nobody wrote may hold nan as well.
  const bool number = t.unsafeGetTensorImpl()->is_wrapped_number();
  const auto found = [&](auto value) {
    return value == kPlaceholder || (number && std::isnan(static_cast<double>(value)));
  };
  switch (t.scalar_type()) {
    case c10::kLong:
      return found(*t.const_data_ptr<std::int64_t>());
    case c10::kDouble:
      return found(*t.const_data_ptr<double>());
    case c10::kFloat:
      return found(*t.const_data_ptr<float>());
    default:
      return false;
  }
}

bool is_placeholder(const c10::IValue& v) {
  if (v.isTensor()) {
    return is_placeholder(v.toTensor());
  }
  return (v.isInt() && v.toInt() == kPlaceholder) ||
         (v.isDouble() && (v.toDouble() == kPlaceholder || std::isnan(v.toDouble())));
}

void look(const std::string& op, const c10::IValue& input) {
  if (input.isList()) {
    for (const c10::IValue& item : input.toListRef()) {
      look(op, item);
    }
  } else if (is_placeholder(input)) {
    leaks.push_back(op);
  }
}

std::unique_ptr<at::ObserverContext> on_call(const at::RecordFunction& fn) {
  for (const c10::IValue& input : fn.inputs()) {
    look(fn.name(), input);
  }
  return nullptr;
}

}  // namespace

void watch_placeholders() {
  leaks.clear();
  watching = at::addGlobalCallback(
      at::RecordFunctionCallback(&on_call).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
}

std::vector<std::string> placeholders_seen() {
  at::removeCallback(watching);
  return std::exchange(leaks, {});
}

}  // namespace massless::truth
