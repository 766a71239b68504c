#include "symbolic/symbolic_call.h"

#include <ATen/ops/empty.h>

#include <limits>
#include <utility>

#include "fake/tensor.h"
#include "fake/walk.h"

namespace massless::vectors {

using c10::IValue;
using c10::SymInt;
using torch::jit::Stack;

std::string to_string(ShapeEnv& env, const Point& point) {
  std::string text;
  for (sym::Expr symbol : env.symbols()) {
    const auto found = point.find(symbol->symbol());
    if (found != point.end()) {
      text += (text.empty() ? "" : ", ") + env.print(symbol) + "=" + std::to_string(found->second);
    }
  }
  return text;
}

std::optional<std::int64_t> value_at(ShapeEnv& env, const SymInt& n, const Point& point) {
  if (const auto plain = n.maybe_as_int()) {
    return plain;
  }
  return env.value(expr_of(env, n), point);
}

namespace {

guard::ShapeEnvOptions options_of(const Way& way) {
  return {/*specialize_zero_one=*/!way.own, /*duck_shape=*/!way.own};
}

template <class Range>
std::optional<std::vector<std::int64_t>> values_at(ShapeEnv& env, const Range& range,
                                                   const Point& point) {
  std::vector<std::int64_t> values;
  for (const SymInt& n : range) {
    const auto value = value_at(env, n, point);
    if (!value) {
      return std::nullopt;
    }
    values.push_back(*value);
  }
  return values;
}

}  // namespace

SymbolicCall::SymbolicCall(const Call& call, const Way& way)
    : call_(call), way_(way), env_(std::make_shared<ShapeEnv>(options_of(way))) {
  const auto& formal = call.op.schema().arguments();
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    arguments_.push_back(symbolic(call.arguments[i], formal[i].real_type()));
  }
}

SymInt SymbolicCall::size(std::int64_t example) {
  return size_of(env_, env_->dynamic_size(example));
}

// -1 stands for what follows from others, and the largest integer for an end that lies past all.
IValue SymbolicCall::number(std::int64_t example) {
  const bool special = example < 0 || example == std::numeric_limits<std::int64_t>::max();
  return special || !way_.numbers ? IValue(example) : IValue(size(example));
}

IValue SymbolicCall::symbolic(const IValue& argument, const c10::TypePtr& type) {
  if (const auto* optional = type->castRaw<c10::OptionalType>()) {
    return argument.isNone() ? argument : symbolic(argument, optional->getElementType());
  }
  if (argument.isStorage()) {
    return fake_of(at::empty({0}, at::kByte).set_(argument.toStorage())).storage();
  }
  const bool list = type->kind() == c10::TypeKind::ListType;
  const auto kind = list ? type->castRaw<c10::ListType>()->getElementType()->kind() : type->kind();
  if (kind != c10::TypeKind::SymIntType) {
    return map_tensors(argument, [&](const at::Tensor& t) { return fake_of(t); });
  }
  if (!list) {
    return number(argument.toInt());
  }
  std::vector<SymInt> made;
  for (const std::int64_t example : argument.toIntVector()) {
    made.push_back(number(example).toSymInt());
  }
  return made;
}

at::Tensor SymbolicCall::fake_of(const at::Tensor& t) {
  if (t.unsafeGetTensorImpl()->is_wrapped_number()) {
    return t;
  }
  at::Tensor& fake = fakes_[t.unsafeGetTensorImpl()];
  if (fake.defined()) {
    return fake;
  }
  bool keeps_values = false;
  for (const at::Tensor& other : call_.with_values) {
    keeps_values = keeps_values || other.is_same(t);
  }
  FakeLikeOptions options;
  if (!keeps_values) {
    options.sizes.emplace();
    for (const std::int64_t n : t.sizes()) {
      options.sizes->push_back(size(n));
    }
  }
  fake = fake_like(t, options);
  before_.push_back({t, fake.storage(), keeps_values, fake.sym_sizes().vec(),
                     fake.sym_strides().vec(), fake.sym_storage_offset(),
                     fake.storage().sym_nbytes()});
  return fake;
}

std::optional<at::Tensor> SymbolicCall::real_at(const Before& before, const Point& point) const {
  const auto dtype = before.written.scalar_type();
  const auto sizes = values_at(*env_, before.sizes, point);
  const auto strides = values_at(*env_, before.strides, point);
  const auto offset = value_at(*env_, before.offset, point);
  const auto nbytes = value_at(*env_, before.nbytes, point);
  if (!sizes || !strides || !offset || !nbytes) {
    return std::nullopt;
  }
  const auto numel = *nbytes / static_cast<std::int64_t>(c10::elementSize(dtype));
  const at::Tensor elements = before.keeps_values
                                  ? before.written.clone().as_strided({numel}, {1}, 0)
                                  : filled(numel, dtype);
  return strided_over(elements, *sizes, *strides, *offset);
}

std::optional<IValue> SymbolicCall::argument_at(
    const IValue& argument, const std::unordered_map<const c10::TensorImpl*, at::Tensor>& reals,
    const Point& point) const {
  if (argument.isSymInt()) {
    const auto value = value_at(*env_, argument.toSymInt(), point);
    return value ? std::optional<IValue>(*value) : std::nullopt;
  }
  if (argument.isSymIntList()) {
    const auto values = values_at(*env_, argument.toSymIntVector(), point);
    return values ? std::optional<IValue>(*values) : std::nullopt;
  }
  return map_tensors(argument, [&](const at::Tensor& t) {
    const auto found = reals.find(t.unsafeGetTensorImpl());
    return found == reals.end() ? t : found->second;
  });
}

std::optional<Stack> SymbolicCall::at(const Point& point) const {
  std::unordered_map<const c10::TensorImpl*, at::Tensor> reals;  // by fake
  std::unordered_map<const c10::StorageImpl*, c10::Storage> storages;
  for (const Before& before : before_) {
    const auto real = real_at(before, point);
    if (!real) {
      return std::nullopt;
    }
    const at::Tensor& fake = fakes_.at(before.written.unsafeGetTensorImpl());
    reals.emplace(fake.unsafeGetTensorImpl(), *real);
    storages.emplace(before.storage.unsafeGetStorageImpl(), real->storage());
  }
  Stack made;
  for (const IValue& argument : arguments_) {
    if (argument.isStorage()) {
      made.emplace_back(storages.at(argument.toStorage().unsafeGetStorageImpl()));
      continue;
    }
    auto real = argument_at(argument, reals, point);
    if (!real) {
      return std::nullopt;
    }
    made.push_back(std::move(*real));
  }
  return made;
}

std::optional<std::int64_t> SymbolicCall::elements_at(const Point& point) const {
  std::int64_t total = 0;
  for (const Before& before : before_) {
    const auto nbytes = value_at(*env_, before.nbytes, point);
    if (!nbytes || *nbytes < 0 || *nbytes > std::int64_t{1} << 40) {
      return std::nullopt;
    }
    total += *nbytes / static_cast<std::int64_t>(before.written.element_size());
  }
  return total;
}

}  // namespace massless::vectors
