#include "fake/care.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <string>
#include <utility>

#include "dispatch/error.h"
#include "dispatch/state.h"
#include "fake/call.h"
#include "fake/known.h"
#include "fake/progression.h"
#include "fake/sizes.h"
#include "fake/storage.h"
#include "fake/walk.h"

namespace massless {
namespace {

const c10::StorageImpl* storage_of(const at::Tensor& t) noexcept {
  return t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

// Raises where backward would put a fake gradient into a real tensor's `.grad`, which happens
// without an operator. Hangs on the AccumulateGrad node, not on the tensor: it goes with the graph.
class RefuseFakeGradient final : public torch::autograd::FunctionPreHook {
 public:
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& grads) override {
    for (const at::Tensor& grad : grads) {
      if (is_fake(grad)) {
        raise(ErrorCode::real_write,
              "backward reached a real parameter of shape " + c10::str(grad.sym_sizes()) +
                  ", whose .grad would be a fake tensor",
              "backward");
      }
    }
    return grads;
  }
};

void guard_gradient(const at::Tensor& real) {
  if (!at::GradMode::is_enabled() || !real.requires_grad() || !real.is_leaf()) {
    return;
  }
  const auto node = torch::autograd::impl::grad_accumulator(real);
  if (!node) {
    return;
  }
  for (const auto& hook : node->pre_hooks()) {
    if (dynamic_cast<const RefuseFakeGradient*>(hook.get()) != nullptr) {
      return;
    }
  }
  node->add_pre_hook(std::make_unique<RefuseFakeGradient>());
}

// The schema says written, but no kernel writes it: the step counts are the optimizer's own to add.
bool only_declared_written(const c10::OperatorHandle& op, const std::string& argument) {
  return argument == "state_steps" && op.operator_name().name == "aten::_fused_adagrad_";
}

}  // namespace

void check_written(const at::Tensor& t, const std::string& argument, const std::string& op) {
  const char* what = nullptr;
  if (!is_fake(t)) {
    what = t.device().is_meta() ? nullptr : "a real tensor";
  } else if (const StorageToken* token = storage_token(storage_of(t));
             token != nullptr && token->stands_for_real) {
    what = "a view of a real tensor";
  }
  if (what != nullptr) {
    raise(ErrorCode::real_write,
          "the argument '" + argument + "', which is written, is " + what + " of shape " +
              c10::str(t.sym_sizes()),
          op);
  }
}

bool tensor_needs_care(const at::Tensor& t) noexcept {
  if (!t.defined()) {
    return false;
  }
  const c10::TensorImpl* impl = t.unsafeGetTensorImpl();
  if (!impl->is_fake()) {
    return !impl->is_wrapped_number() || current_ledger() != nullptr;
  }
  const StorageToken* token = storage_token(impl->unsafe_storage().unsafeGetStorageImpl());
  return token != nullptr && (token->known || token->progression || token->stands_for_real);
}

void check_real_arguments(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
  const auto& schema = op.schema();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const c10::AliasInfo* alias = schema.arguments()[i].alias_info();
    const bool written = alias != nullptr && alias->isWrite();
    for_each_tensor(arguments[i], [&](const at::Tensor& t) {
      if (written) {
        check_written(t, schema.arguments()[i].name(), c10::str(op.operator_name()));
      } else if (t.unsafeGetTensorImpl()->is_wrapped_number()) {
        record_number(t);
      } else if (!is_fake(t)) {
        guard_gradient(t);
      }
    });
  }
}

Care::Care(std::string_view operator_name, torch::jit::Stack arguments)
    : op_(find_operator(operator_name)), arguments_(std::move(arguments)) {
  if (only_meta_tensors(arguments_)) {
    const c10::impl::ExcludeDispatchKeyGuard no_fake(c10::DispatchKey::Fake);
    results_ = arguments_;
    op_.callBoxed(results_);
    passes_through_ = true;
    return;
  }
  check_real_arguments(op_, arguments_);
}

bool Care::all_known() const {
  bool known = !has_symbolic_number(arguments_);
  for (const c10::IValue& argument : arguments_) {
    for_each_tensor(argument, [&](const at::Tensor& t) { known = known && is_known(t); });
  }
  return known;
}

void Care::finish(const torch::jit::Stack& results) {
  if (op_.hasTag(at::Tag::inplace_view)) {
    return;  // only the geometry changed: the bytes are as known as they were
  }
  const bool mutates = op_.schema().is_mutable();
  if (!can_fold(op_) || !all_known()) {
    forget_written();
    learn_progressions(op_, arguments_, results);
    return;
  }
  bool wanted = mutates;
  for (const c10::IValue& result : results) {
    bool fits = true;
    for_each_tensor(result, [&](const at::Tensor& t) {
      wanted = wanted || !is_known(t);
      fits = fits && small_enough_to_know(t);
    });
    if (!fits) {
      forget_written();
      learn_progressions(op_, arguments_, results);
      return;
    }
  }
  if (wanted) {
    fold(results);
  }
}

void Care::fold(const torch::jit::Stack& results) {
  const torch::jit::Stack values = run_on_known_values(op_, arguments_);
  for (std::size_t i = 0; i < results.size() && i < values.size(); ++i) {
    learn(results[i], values[i]);
  }
}

void Care::learn(const c10::IValue& result, const c10::IValue& value) const {
  std::vector<at::Tensor> fakes;
  std::vector<at::Tensor> reals;
  for_each_tensor(result, [&](const at::Tensor& t) { fakes.push_back(t); });
  for_each_tensor(value, [&](const at::Tensor& t) { reals.push_back(t); });
  TORCH_INTERNAL_ASSERT(fakes.size() == reals.size());
  for (std::size_t i = 0; i < fakes.size(); ++i) {
    if (is_fake(fakes[i]) && !is_known(fakes[i])) {
      set_known(fakes[i], reals[i]);
    }
  }
}

void Care::forget_written() const {
  const auto& schema = op_.schema();
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const c10::AliasInfo* alias = schema.arguments()[i].alias_info();
    if (alias != nullptr && alias->isWrite() &&
        !only_declared_written(op_, schema.arguments()[i].name())) {
      for_each_tensor(arguments_[i], [](const at::Tensor& t) {
        if (is_fake(t)) {
          forget(t);
        }
      });
    }
  }
}

void check_inplace(const at::Tensor& self, const TensorSpec& spec) {
  TORCH_CHECK(equal_sizes(self.sym_sizes(), spec.sizes), "output with shape ", self.sym_sizes(),
              " doesn't match the broadcast shape ", c10::SymIntArrayRef(spec.sizes));
  TORCH_CHECK(c10::canCast(spec.dtype, self.scalar_type()), "result type ", spec.dtype,
              " can't be cast to the desired output type ", self.scalar_type());
  check_no_internal_overlap(self);
}

void write_out(const at::Tensor& out, const TensorSpec& spec) {
  TORCH_CHECK(c10::canCast(spec.dtype, out.scalar_type()), "result type ", spec.dtype,
              " can't be cast to the desired output type ", out.scalar_type());
  TORCH_CHECK(claimed_device(out) == normalize_device(spec.device),
              "Expected all tensors to be on the same device, but got out on ", out.device(),
              ", different from the result's ", spec.device);
  if (equal_sizes(out.sym_sizes(), spec.sizes)) {
    check_no_internal_overlap(out);
    return;
  }
  set_geometry(out, spec.sizes, spec.strides, out.sym_storage_offset());
}

}  // namespace massless
