#include "rules/vector_call.h"

#include <ATen/core/grad_mode.h>

#include <utility>

#include "dispatch/error.h"
#include "fake/walk.h"

namespace massless::vectors {

using c10::IValue;
using torch::jit::Stack;

Outcome outcome_of(const std::function<Stack()>& call) {
  const auto failed = [](const char* kind, const std::exception& error, bool unsupported = false) {
    const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
    const std::string text = torch_error ? torch_error->what_without_backtrace() : error.what();
    return Outcome{{}, std::string(kind) + ": " + text, kind, unsupported};
  };
  try {
    return Outcome{call(), {}, {}, false};
  } catch (const Error& error) {
    const bool answer =
        error.code() == ErrorCode::device_mismatch || error.code() == ErrorCode::bad_argument;
    return failed("Error", error, !answer);
  } catch (const c10::IndexError& error) {
    return failed("IndexError", error);
  } catch (const c10::ValueError& error) {
    return failed("ValueError", error);
  } catch (const c10::TypeError& error) {
    return failed("TypeError", error);
  } catch (const c10::NotImplementedError& error) {
    return failed("NotImplementedError", error);
  } catch (const c10::Error& error) {
    return failed("Error", error);
  } catch (const std::exception& error) {
    return failed("Error", error);
  }
}

Stack call_boxed(const c10::OperatorHandle& op, Stack stack) {
  const at::NoGradGuard no_grad;
  op.callBoxed(stack);
  return stack;
}

std::vector<at::Tensor> tensors_of(const Stack& stack) {
  std::vector<at::Tensor> found;
  for (const IValue& value : stack) {
    if (value.isTensor()) {
      found.push_back(value.toTensor());  // undefined ones too
    } else {
      for_each_tensor(value, [&](const at::Tensor& t) { found.push_back(t); });
    }
  }
  return found;
}

std::vector<std::string> sharing(const std::vector<at::Tensor>& in,
                                 const std::vector<at::Tensor>& out) {
  std::vector<std::pair<std::string, at::Tensor>> all;
  for (std::size_t i = 0; i < in.size(); ++i) {
    all.emplace_back("argument tensor " + std::to_string(i), in[i]);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    all.emplace_back("output " + std::to_string(i), out[i]);
  }
  std::vector<std::string> found;
  for (const auto& [name, t] : all) {
    std::string text = name;
    for (const auto& [other_name, other] : all) {
      if (t.defined() && other.defined() &&
          t.storage().unsafeGetStorageImpl() == other.storage().unsafeGetStorageImpl()) {
        text += (t.is_same(other) ? " is " : " shares its storage with ") + other_name;
        break;
      }
    }
    found.push_back(text);
  }
  return found;
}

}  // namespace massless::vectors
