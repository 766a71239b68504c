// The ladder below the rules: what answers an operator that has none (docs/how-it-works.md).
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dispatch/error.h"
#include "dispatch/state.h"
#include "fake/call.h"
#include "fake/care.h"
#include "fake/collective.h"
#include "fake/fallback.h"
#include "fake/known.h"
#include "fake/ledger.h"
#include "fake/storage.h"
#include "fake/walk.h"

namespace massless {
namespace {

using c10::DispatchKey;
using c10::IValue;
using c10::OperatorHandle;
using torch::jit::Stack;

std::atomic<ExceptionHook> exception_hook{nullptr};

// ATen's own Meta kernels, taken at load time: a Python process may register Python kernels over
// them later (importing torch does), and then these are the only way to reach the native ones.
using NativeMeta = std::unordered_map<c10::OperatorName, c10::SafeKernelFunction>;
const NativeMeta& native_meta() {
  static const NativeMeta* made = [] {
    auto* table = new NativeMeta;
    auto& dispatcher = c10::Dispatcher::singleton();
    if (python_has_registered_meta()) {
      return table;  // too late: what is there now may be Python's
    }
    for (const auto& name : dispatcher.getAllOpNames()) {
      const auto op = dispatcher.findSchema(name);
      if (op && op->hasKernelForDispatchKey(DispatchKey::Meta)) {
        table->emplace(name, op->getComputedKernelForDispatchKey(DispatchKey::Meta));
      }
    }
    return table;
  }();
  return *made;
}
[[maybe_unused]] const NativeMeta& taken_at_load_time = native_meta();

// RAII: fakes look like the meta tensors they are, and so does everything that is made.
struct InKernel {
  c10::impl::ExcludeDispatchKeyGuard no_fake{DispatchKey::Fake};
  c10::impl::IncludeDispatchKeyGuard meta{c10::DispatchKeySet(c10::BackendComponent::MetaBit)};
};

struct Call {
  const OperatorHandle& op;
  Stack* stack;
  Stack arguments;  // as the caller gave them
};

std::vector<at::Tensor> tensors_of(c10::ArrayRef<IValue> values) {
  std::vector<at::Tensor> found;
  for (const IValue& value : values) {
    for_each_tensor(value, [&](const at::Tensor& t) { found.push_back(t); });
  }
  return found;
}

void replace_arguments(const Call& call, Stack arguments) {
  torch::jit::drop(*call.stack, call.arguments.size());
  for (IValue& argument : arguments) {
    call.stack->push_back(std::move(argument));
  }
}

bool is_data_dependent(const OperatorHandle& op) {
  return op.hasTag(at::Tag::data_dependent_output) || op.hasTag(at::Tag::dynamic_output_shape);
}

// A pure function of known values: the real operator answers.
bool answer_from_known(const Call& call) {
  if (call.op.schema().is_mutable() || !can_fold(call.op)) {
    return false;
  }
  if (has_symbolic_number(call.arguments) && !is_data_dependent(call.op)) {
    return false;  // where the values are needed, the size is fixed instead
  }
  const auto tensors = tensors_of(call.arguments);
  bool any_fake = false;
  for (const at::Tensor& t : tensors) {
    if (!is_known(t)) {
      return false;
    }
    any_fake = any_fake || is_fake(t);
  }
  if (!any_fake) {
    return false;
  }
  for (const auto& result : call.op.schema().returns()) {
    if (result.alias_info() != nullptr) {
      return false;  // a view: the ladder keeps its aliasing, the storage its value
    }
  }
  const c10::Device device = device_of_call(call.op, call.arguments);
  Stack values = run_on_known_values(call.op, call.arguments);
  torch::jit::drop(*call.stack, call.arguments.size());
  for (const IValue& value : values) {
    call.stack->push_back(map_tensors(value, [&](const at::Tensor& real) {
      require_strided(real, "the result");
      at::Tensor fake = make_fake(real.sym_sizes(), real.sym_strides(), real.scalar_type(), device);
      set_known(fake, real);
      return fake;
    }));
  }
  return true;
}

// ATen's composite kernel, to be run with Fake still on: it decomposes into operators with rules.
// Only where it is what the CPU would run, too, and where a custom operator has no fake
// implementation of its own (torch.library.register_fake): its kernel may want the bytes.
std::optional<DispatchKey> composite_key(const OperatorHandle& op) {
  const bool custom = op.operator_name().name.rfind("aten::", 0) != 0;
  if (op.hasKernelForDispatchKey(DispatchKey::CPU) ||
      (custom && op.hasKernelForDispatchKey(DispatchKey::Meta))) {
    return std::nullopt;
  }
  for (const DispatchKey key :
       {DispatchKey::CompositeExplicitAutograd, DispatchKey::CompositeImplicitAutograd}) {
    if (op.hasKernelForDispatchKey(key)) {
      return key;
    }
  }
  return std::nullopt;
}

// Storage sizes of the written arguments, to tell the ledger when a kernel resized one.
void note_growth(const std::vector<std::pair<c10::StorageImpl*, c10::SymInt>>& before) {
  for (const auto& [storage, nbytes] : before) {
    StorageToken* token = storage_token(storage);
    if (token == nullptr) {
      continue;
    }
    const c10::SymInt now = storage->sym_nbytes();
    if (token->ledger && !TORCH_STATICALLY_KNOWN_TRUE(now.sym_eq(nbytes))) {
      token->ledger->resize(token->id, now);
    }
  }
}

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

std::vector<std::pair<c10::StorageImpl*, c10::SymInt>> written_storages(const Call& call) {
  std::vector<std::pair<c10::StorageImpl*, c10::SymInt>> found;
  const auto& formal = call.op.schema().arguments();
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    if (is_written(formal[i])) {
      for_each_tensor(call.arguments[i], [&](const at::Tensor& t) {
        c10::StorageImpl* storage = t.storage().unsafeGetStorageImpl();
        found.emplace_back(storage, storage->sym_nbytes());
        forget(t);
      });
    }
  }
  return found;
}

// A meta kernel's result as the caller shall see it.
at::Tensor fake_result(const at::Tensor& result, const std::vector<at::Tensor>& inputs,
                       c10::Device device) {
  for (const at::Tensor& input : inputs) {
    if (input.is_same(result)) {
      return input;
    }
  }
  if (storage_token(result.storage().unsafeGetStorageImpl()) != nullptr) {
    for (const at::Tensor& input : inputs) {
      // Not is_alias_of: for different storages that asks for their data pointers.
      if (input.has_storage() &&
          input.storage().unsafeGetStorageImpl() == result.storage().unsafeGetStorageImpl()) {
        return view_of(input, result.sym_sizes(), result.sym_strides(), result.sym_storage_offset(),
                       result.scalar_type());
      }
    }
  }
  return adopt_meta(result, device);
}

// The result that the schema ties to a written argument is that argument.
const IValue* written_argument(const Call& call, const c10::Argument& result) {
  if (result.alias_info() == nullptr || !result.alias_info()->isWrite()) {
    return nullptr;
  }
  const auto& formal = call.op.schema().arguments();
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    if (is_written(formal[i]) &&
        formal[i].alias_info()->beforeSets() == result.alias_info()->beforeSets()) {
      return &call.arguments[i];
    }
  }
  return nullptr;
}

void wrap_results(const Call& call, c10::Device device) {
  const auto inputs = tensors_of(call.arguments);
  const auto& returns = call.op.schema().returns();
  const std::size_t first = call.stack->size() - returns.size();
  for (std::size_t i = 0; i < returns.size(); ++i) {
    IValue& result = (*call.stack)[first + i];
    if (const IValue* argument = written_argument(call, returns[i])) {
      result = *argument;
      continue;
    }
    result =
        map_tensors(result, [&](const at::Tensor& t) { return fake_result(t, inputs, device); });
  }
}

// Devices named in the arguments become meta; a real argument is seen as its fake twin, so that no
// kernel can touch its data.
Stack meta_arguments(const Call& call) {
  Stack arguments;
  for (const IValue& argument : call.arguments) {
    if (argument.isDevice()) {
      arguments.emplace_back(c10::Device(c10::kMeta));
      continue;
    }
    arguments.push_back(map_tensors(argument, [](const at::Tensor& t) {
      const bool keep =
          is_fake(t) || t.unsafeGetTensorImpl()->is_wrapped_number() || t.device().is_meta();
      return keep ? t : view_of(t, t.sym_sizes(), t.sym_strides(), t.sym_storage_offset());
    }));
  }
  return arguments;
}

// ATen's own view functions copy the keys of a fake but not its device, so that the view answers
// meta; it is replaced by a view of ours.
void remember_devices(const Call& call) {
  const std::size_t count = call.op.schema().returns().size();
  for (std::size_t i = call.stack->size() - count; i < call.stack->size(); ++i) {
    bool lost = false;
    for_each_tensor((*call.stack)[i], [&](const at::Tensor& t) {
      lost = lost || (is_fake(t) && t.device().is_meta());
    });
    if (!lost) {
      continue;
    }
    (*call.stack)[i] = map_tensors((*call.stack)[i], [](const at::Tensor& t) {
      const StorageToken* token = storage_token(t.storage().unsafeGetStorageImpl());
      if (!is_fake(t) || !t.device().is_meta() || token == nullptr) {
        return t;
      }
      at::Tensor view = make_fake_over(t.storage(), t.sym_sizes(), t.sym_strides(),
                                       t.sym_storage_offset(), t.scalar_type(), token->device);
      view._set_conj(t.is_conj());
      view._set_neg(t.is_neg());
      return view;
    });
  }
}

// Not hasComputedKernelForDispatchKey: that also finds ATen's fallback on the Meta key, which only
// says that there is none.
bool has_meta_kernel(const OperatorHandle& op) {
  for (const DispatchKey key :
       {DispatchKey::Meta, DispatchKey::CompositeExplicitAutogradNonFunctional,
        DispatchKey::CompositeExplicitAutograd, DispatchKey::CompositeImplicitAutograd}) {
    if (op.hasKernelForDispatchKey(key)) {
      return true;
    }
  }
  return false;
}

bool is_symbolic(const IValue& argument) {
  bool found = argument.isSymInt() || argument.isSymIntList();
  for_each_tensor(argument, [&](const at::Tensor& t) {
    found = found || t.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
  });
  return found;
}

// A Python meta kernel keeps symbols; a native one asks for plain sizes, which guards fix then.
bool prefers_python(const Call& call, const c10::SafeKernelFunction& native) {
  return python_has_registered_meta() &&
         std::any_of(call.arguments.begin(), call.arguments.end(), is_symbolic) &&
         call.op.getComputedKernelForDispatchKey(DispatchKey::Meta).debug() != native.debug();
}

bool answer_by_meta(const Call& call, OpStat& stat) {
  const auto native = native_meta().find(call.op.operator_name());
  const bool is_native = native != native_meta().end() && !prefers_python(call, native->second);
  if (!is_native && !has_meta_kernel(call.op)) {
    return false;
  }
  const OpScope scope(
      stat, is_native || !python_has_registered_meta() ? Rung::native_meta : Rung::python_meta);
  const c10::Device device = device_of_call(call.op, call.arguments);
  const auto written = written_storages(call);
  replace_arguments(call, meta_arguments(call));
  {
    const InKernel in_kernel;
    const c10::DispatchKeySet meta(DispatchKey::Meta);
    if (is_native) {
      native->second.callBoxed(call.op, meta, call.stack);
    } else {
      call.op.redispatchBoxed(meta, call.stack);
    }
  }
  note_growth(written);
  wrap_results(call, device);
  return true;
}

[[noreturn]] void no_answer(const Call& call, const std::string& why) {
  std::string text = why + "; arguments (";
  const char* separator = "";
  for (const IValue& argument : call.arguments) {
    text += separator;
    if (argument.isTensor() && argument.toTensor().defined()) {
      const at::Tensor& t = argument.toTensor();
      text += c10::str(t.scalar_type(), t.sym_sizes());
    } else {
      text += argument.tagKind();
    }
    separator = ", ";
  }
  raise(ErrorCode::unsupported_operator, text + ")", c10::str(call.op.operator_name()));
}

// Symbols among the integers, fixed by guards.
Stack with_plain_integers(const Stack& arguments) {
  Stack made;
  for (const IValue& argument : arguments) {
    if (argument.isSymInt()) {
      made.emplace_back(argument.toSymInt().guard_int(__FILE__, __LINE__));
    } else if (argument.isSymIntList()) {
      std::vector<std::int64_t> values;
      for (const c10::SymInt& n : argument.toSymIntVector()) {
        values.push_back(n.guard_int(__FILE__, __LINE__));
      }
      made.emplace_back(std::move(values));
    } else {
      made.push_back(argument);
    }
  }
  return made;
}

void run_composite(const Call& call, DispatchKey key) {
  // Factories inside make fakes, also where no mode is open.
  const c10::impl::IncludeDispatchKeyGuard fake_on(DispatchKey::Fake);
  const std::size_t below = call.stack->size() - call.arguments.size();
  try {
    call.op.callBoxedForDispatchKey(key, *call.stack);
  } catch (const c10::Error& error) {
    // What ATen's wrapper says, before all else, of a kernel that takes plain integers.
    const bool wants_plain =
        std::string_view(error.what_without_backtrace()).find("only concrete integers") !=
        std::string_view::npos;
    if (!wants_plain || std::none_of(call.arguments.begin(), call.arguments.end(), is_symbolic)) {
      throw;
    }
    note_specialized();
    call.stack->resize(below);
    for (IValue& argument : with_plain_integers(call.arguments)) {
      call.stack->push_back(std::move(argument));
    }
    call.op.callBoxedForDispatchKey(key, *call.stack);
  }
  remember_devices(call);
}

void climb(const Call& call) {
  OpStat& stat = fallback_stat(c10::str(call.op.operator_name()));
  if (answer_from_known(call)) {
    const OpScope scope(stat, Rung::known);
    return;
  }
  if (is_data_dependent(call.op) &&
      !call.op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd)) {
    const OpScope scope(stat, Rung::error);
    raise(ErrorCode::data_dependent, "the result depends on the values of its arguments");
  }
  if (const auto key = composite_key(call.op)) {
    const OpScope scope(stat, Rung::composite);
    run_composite(call, *key);
    return;
  }
  if (answer_by_meta(call, stat)) {
    return;
  }
  const OpScope scope(stat, Rung::error);
  no_answer(call, "no rule and no meta kernel");
}

bool holds_tensor(const c10::TypePtr& type) {
  std::vector<c10::TypePtr> open{type};
  while (!open.empty()) {
    const c10::TypePtr item = std::move(open.back());
    open.pop_back();
    if (item->kind() == c10::TypeKind::TensorType || item->kind() == c10::TypeKind::AnyType ||
        item->kind() == c10::TypeKind::StorageType) {
      return true;
    }
    const auto contained = item->containedTypes();
    open.insert(open.end(), contained.begin(), contained.end());
  }
  return false;
}

// Operators that neither take nor give tensors (the profiler's marks) are none of our business.
bool touches_tensors(const OperatorHandle& op) {
  const auto holds = [](const c10::Argument& a) { return holds_tensor(a.real_type()); };
  const auto& schema = op.schema();
  return std::any_of(schema.arguments().begin(), schema.arguments().end(), holds) ||
         std::any_of(schema.returns().begin(), schema.returns().end(), holds);
}

void fake_fallback(const OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  if (!touches_tensors(op)) {
    op.redispatchBoxed(
        keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, DispatchKey::Fake), stack);
    return;
  }
  if (is_collective(op)) {
    run_collective(op, stack);
    return;
  }
  const auto arguments = torch::jit::last(*stack, op.schema().arguments().size());
  const Call call{op, stack, Stack(arguments.begin(), arguments.end())};
  if (only_meta_tensors(call.arguments)) {
    const c10::impl::ExcludeDispatchKeyGuard no_fake(DispatchKey::Fake);
    op.callBoxed(*stack);
    return;
  }
  check_real_arguments(op, call.arguments);
  try {
    climb(call);
  } catch (const c10::NotImplementedError& error) {
    // torch's own code swallows NotImplementedError and goes on with something else.
    no_answer(call, error.what_without_backtrace());
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    // A kernel asked a fake storage for its bytes; the text is the storage's own.
    const std::string what = error.what_without_backtrace();
    if (what.rfind("[data_access]", 0) == 0) {
      raise(ErrorCode::data_access, "the kernel reads the bytes of its arguments",
            c10::str(op.operator_name()));
    }
    throw;
  } catch (...) {
    if (ExceptionHook hook = exception_hook.load()) {
      hook(c10::str(op.operator_name()));
    }
    throw;
  }
}

TORCH_LIBRARY_IMPL(_, Fake, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&fake_fallback>());
}

// On fakes of symbolic sizes, for the few operators of rules/above.cc.
TORCH_LIBRARY_IMPL(_, DeferredInit, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

}  // namespace

void set_exception_hook(ExceptionHook hook) noexcept { exception_hook.store(hook); }

bool python_has_registered_meta() {
  // torch/_meta_registrations.py registers this one for every Python process.
  const auto op = c10::Dispatcher::singleton().findSchema({"aten::take", ""});
  return op && op->hasKernelForDispatchKey(DispatchKey::Meta);
}

std::string answering_rung(const std::string& qualified_name) {
  for (const std::string& name : rule_names()) {
    if (name == qualified_name) {
      return std::string(rung_name(Rung::rule));
    }
  }
  const OperatorHandle op = find_operator(qualified_name);
  if (composite_key(op)) {
    return std::string(rung_name(Rung::composite));
  }
  if (native_meta().count(op.operator_name()) != 0) {
    return std::string(rung_name(Rung::native_meta));
  }
  const bool meta = has_meta_kernel(op);
  return std::string(rung_name(meta ? Rung::python_meta : Rung::error));
}

}  // namespace massless
