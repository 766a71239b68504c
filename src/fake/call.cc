#include "fake/call.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "dispatch/error.h"
#include "dispatch/state.h"
#include "fake/device.h"
#include "fake/known.h"
#include "fake/tensor.h"
#include "fake/walk.h"

namespace massless {
namespace {

// Their results hold whatever the memory held.
constexpr std::array<std::string_view, 7> kUninitialised = {
    "aten::empty",         "aten::empty_like",     "aten::new_empty", "aten::new_empty_strided",
    "aten::empty_strided", "aten::empty_permuted", "aten::resize_"};

// Operators that take index tensors from another device than self's.
constexpr std::array<std::string_view, 4> kMixedDevices = {
    "aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_device_argument(const c10::Argument& argument) {
  return argument.real_type()->kind() == c10::TypeKind::DeviceObjType ||
         (argument.real_type()->kind() == c10::TypeKind::OptionalType &&
          argument.real_type()->castRaw<c10::OptionalType>()->getElementType()->kind() ==
              c10::TypeKind::DeviceObjType);
}

}  // namespace

c10::OperatorHandle find_operator(std::string_view qualified_name) {
  const std::size_t dot = qualified_name.find('.');
  const std::string name(qualified_name.substr(0, dot));
  const std::string overload(dot == std::string_view::npos ? std::string_view{}
                                                           : qualified_name.substr(dot + 1));
  const auto op = c10::Dispatcher::singleton().findSchema({name, overload});
  if (!op) {
    raise(ErrorCode::internal, "there is no operator " + std::string(qualified_name));
  }
  return *op;
}

bool only_meta_tensors(c10::ArrayRef<c10::IValue> arguments) {
  bool any = false;
  bool only = true;
  for (const c10::IValue& argument : arguments) {
    if (argument.isDevice() && !argument.toDevice().is_meta()) {
      return false;  // the result is no meta tensor
    }
    for_each_tensor(argument, [&](const at::Tensor& t) {
      if (t.unsafeGetTensorImpl()->is_wrapped_number()) {
        return;
      }
      any = true;
      only = only && !is_fake(t) && t.device().is_meta();
    });
  }
  return any && only;
}

bool can_fold(const c10::OperatorHandle& op) {
  return !op.hasTag(at::Tag::nondeterministic_seeded) &&
         !contains(kUninitialised, op.operator_name().name);
}

bool has_symbolic_number(c10::ArrayRef<c10::IValue> arguments) {
  const auto symbolic = [](const c10::IValue& number) {
    return number.isSymInt()     ? !number.toSymInt().maybe_as_int()
           : number.isSymFloat() ? number.toSymFloat().is_symbolic()
           : number.isSymBool()  ? !number.toSymBool().maybe_as_bool()
                                 : false;
  };
  return std::any_of(arguments.begin(), arguments.end(), [&](const c10::IValue& argument) {
    if (!argument.isList()) {
      return symbolic(argument);
    }
    const auto items = argument.toListRef();
    return std::any_of(items.begin(), items.end(), symbolic);
  });
}

torch::jit::Stack run_on_known_values(const c10::OperatorHandle& op,
                                      const torch::jit::Stack& arguments) {
  torch::jit::Stack stack;
  stack.reserve(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (is_device_argument(op.schema().arguments()[i]) && !arguments[i].isNone()) {
      stack.emplace_back(c10::Device(c10::kCPU));
    } else {
      stack.push_back(
          map_tensors(arguments[i], [](const at::Tensor& t) { return known_value(t); }));
    }
  }
  const RealScope real;
  op.callBoxed(stack);
  return stack;
}

c10::Device device_of_call(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
  const auto& formal = op.schema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (is_device_argument(formal[i]) && arguments[i].isDevice()) {
      return normalize_device(arguments[i].toDevice());
    }
  }
  CommonDevice common;
  const bool mixed = contains(kMixedDevices, op.operator_name().name);
  for (const c10::IValue& argument : arguments) {
    for_each_tensor(argument, [&](const at::Tensor& t) {
      if (!mixed || !common.found()) {
        common.add(t);
      }
    });
  }
  return common.get();
}

}  // namespace massless
