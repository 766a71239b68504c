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

// Of a number that torch made for the call: another tensor of one element may hold anything before
// it is filled, and what takes its value from a placeholder was itself given the placeholder.
bool is_placeholder(const at::Tensor& t) {
  if (!t.defined() || is_fake(t) || !t.unsafeGetTensorImpl()->is_wrapped_number() || symbol_of(t)) {
    return false;
  }
  switch (t.scalar_type()) {
    case c10::kLong:
      return *t.const_data_ptr<std::int64_t>() == kPlaceholder;
    case c10::kDouble:
      return *t.const_data_ptr<double>() == kPlaceholder || std::isnan(*t.const_data_ptr<double>());
    case c10::kFloat:
      return *t.const_data_ptr<float>() == kPlaceholder || std::isnan(*t.const_data_ptr<float>());
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
