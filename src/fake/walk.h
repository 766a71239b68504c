// The one visitor of IValue kinds: every tensor inside an argument, also in lists, tuples, dicts
// and optionals. A kind that may hide a tensor from it is an error.
#pragma once

#include <ATen/core/ivalue.h>

#include <vector>

#include "dispatch/error.h"

namespace massless {

// Calls f(const at::Tensor&) for every defined tensor in `value`. No recursion: an explicit stack.
template <class F>
void for_each_tensor(const c10::IValue& value, F&& f) {
  if (value.isTensor()) {
    if (const at::Tensor& t = value.toTensor(); t.defined()) {
      f(t);
    }
    return;
  }
  std::vector<c10::IValue> open{value};
  while (!open.empty()) {
    const c10::IValue item = std::move(open.back());
    open.pop_back();
    if (item.isTensor()) {
      if (item.toTensor().defined()) {
        f(item.toTensor());
      }
    } else if (item.isList()) {
      const auto list = item.toListRef();
      open.insert(open.end(), list.rbegin(), list.rend());
    } else if (item.isTuple()) {
      const auto& elements = item.toTupleRef().elements();
      for (std::size_t i = elements.size(); i-- > 0;) {
        open.push_back(elements[i]);
      }
    } else if (item.isGenericDict()) {
      for (const auto& entry : item.toGenericDict()) {
        open.push_back(entry.value());
        open.push_back(entry.key());
      }
    } else if (item.isStorage() || item.isObject() || item.isPyObject() || item.isFuture()) {
      if (item.isObject() || item.isPyObject() || item.isFuture()) {
        raise(ErrorCode::unsupported_value, "an argument of kind " + item.tagKind());
      }
    }
  }
}

// The same structure with every tensor replaced by f(tensor); other values are kept.
template <class F>
c10::IValue map_tensors(const c10::IValue& value, F&& f) {
  if (value.isTensor()) {
    return value.toTensor().defined() ? c10::IValue(f(value.toTensor())) : value;
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> made;
    for (const at::Tensor& t : value.toTensorVector()) {
      made.push_back(t.defined() ? f(t) : t);
    }
    return made;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> made;
    for (const std::optional<at::Tensor> t : value.toOptionalTensorList()) {
      made.push_back(t && t->defined() ? std::optional<at::Tensor>(f(*t)) : t);
    }
    return made;
  }
  bool holds_tensor = false;
  for_each_tensor(value, [&](const at::Tensor&) { holds_tensor = true; });
  if (holds_tensor) {
    raise(ErrorCode::unsupported_value, "an argument of kind " + value.tagKind());
  }
  return value;
}

}  // namespace massless
