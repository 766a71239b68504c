#include "fake/known.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>

#include "dispatch/state.h"
#include "fake/number.h"
#include "fake/progression.h"
#include "fake/tensor.h"

namespace massless {
namespace {

const c10::StorageImpl* storage_of(const at::Tensor& t) noexcept {
  return t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

c10::intrusive_ptr<c10::StorageImpl> real_bytes(std::int64_t nbytes) {
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), nbytes,
                                               c10::GetCPUAllocator(), false);
}

// Not memset and memcpy: those take no null pointer, which is what an empty storage has.
void clear(c10::StorageImpl& bytes) {
  std::fill_n(static_cast<char*>(bytes.mutable_data()), bytes.nbytes(), '\0');
}

void copy_bytes(const void* from, c10::StorageImpl& to) {
  std::copy_n(static_cast<const char*>(from), to.nbytes(), static_cast<char*>(to.mutable_data()));
}

// A real tensor over `bytes` with the dtype of `fake`.
at::Tensor over(const c10::intrusive_ptr<c10::StorageImpl>& bytes, const at::Tensor& fake,
                c10::IntArrayRef sizes, c10::IntArrayRef strides, std::int64_t offset) {
  auto impl = c10::make_intrusive<c10::TensorImpl>(
      c10::Storage(bytes), c10::DispatchKeySet(c10::DispatchKey::CPU), fake.dtype());
  impl->set_sizes_and_strides(sizes, strides, offset);
  return at::Tensor(std::move(impl));
}
at::Tensor over(const c10::intrusive_ptr<c10::StorageImpl>& bytes, const at::Tensor& fake) {
  return over(bytes, fake, fake.sizes(), fake.strides(), fake.storage_offset());
}

}  // namespace

struct RealScope::State {
  c10::impl::IncludeDispatchKeyGuard none{c10::DispatchKeySet()};
  c10::impl::ExcludeDispatchKeyGuard no_modes{
      c10::DispatchKeySet({c10::DispatchKey::Fake, c10::DispatchKey::DeferredInit,
                           c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot,
                           c10::DispatchKey::FuncTorchDynamicLayerBackMode,
                           c10::DispatchKey::FuncTorchDynamicLayerFrontMode}) |
      c10::autocast_dispatch_keyset};
  at::AutoDispatchBelowADInplaceOrView below_autograd;
};
RealScope::RealScope() : state_(std::make_unique<State>()) {}
RealScope::~RealScope() = default;

bool values_wanted() noexcept {
  const ModeState* mode = current_mode();
  return mode == nullptr || mode->known_values;
}

bool small_enough_to_know(const at::Tensor& t) {
  const auto nbytes = storage_of(t)->sym_nbytes().maybe_as_int();
  if (t.unsafeGetTensorImpl()->has_symbolic_sizes_strides() || !nbytes) {
    return false;
  }
  const bool integer = c10::isIntegralType(t.scalar_type(), /*includeBool=*/true);
  const std::int64_t limit = integer ? kKnownIntegers : kKnownFloats;
  return *nbytes <= limit * static_cast<std::int64_t>(t.element_size());
}

bool is_known(const at::Tensor& t) {
  if (!t.defined()) {
    return false;
  }
  if (!is_fake(t)) {
    return t.unsafeGetTensorImpl()->is_wrapped_number() && !symbol_of(t);
  }
  const StorageToken* token = storage_token(storage_of(t));
  return token != nullptr && token->known && !t.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
}

at::Tensor known_value(const at::Tensor& fake) {
  if (!is_fake(fake)) {
    return is_known(fake) ? fake : at::Tensor();
  }
  const StorageToken* token = storage_token(storage_of(fake));
  if (token == nullptr || !token->known ||
      fake.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
    return {};
  }
  at::Tensor value = over(token->known, fake);
  if (fake.is_conj()) {
    value.unsafeGetTensorImpl()->_set_conj(true);
  }
  if (fake.is_neg()) {
    value.unsafeGetTensorImpl()->_set_neg(true);
  }
  return value;
}

at::Tensor known_value_once(const at::Tensor& fake) {
  if (!is_fake(fake)) {
    return known_value(fake);
  }
  const StorageToken* token = storage_token(storage_of(fake));
  if (token == nullptr || !token->known) {
    return {};
  }
  at::DimVector sizes;
  at::DimVector strides;
  for (std::int64_t d = 0; d < fake.dim(); ++d) {
    const auto size = fake.sym_size(d).maybe_as_int();
    const auto stride = fake.sym_stride(d).maybe_as_int();
    if (!stride || (!size && *stride != 0)) {
      return {};
    }
    sizes.push_back(*stride == 0 && size != 0 ? 1 : *size);
    strides.push_back(*stride);
  }
  const auto offset = fake.sym_storage_offset().maybe_as_int();
  return offset ? over(token->known, fake, sizes, strides, *offset) : at::Tensor();
}

void set_known(const at::Tensor& fake, const at::Tensor& value) {
  StorageToken* token = storage_token(storage_of(fake));
  if (token == nullptr) {
    return;
  }
  token->forget();
  // Elements that share a place cannot each be given a value.
  if (!values_wanted() || !small_enough_to_know(fake) ||
      at::has_internal_overlap(fake) == at::MemOverlap::Yes) {
    return;
  }
  const RealScope real;
  auto bytes = real_bytes(static_cast<std::int64_t>(storage_of(fake)->nbytes()));
  // Gaps between the elements are given a value too: eager would leave them uninitialised.
  clear(*bytes);
  over(bytes, fake).copy_(value);
  token->known = std::move(bytes);
}

void set_known_fill(const at::Tensor& fake, const c10::Scalar& value) {
  forget(fake);
  if (!values_wanted()) {
    return;
  }
  if (value.isSymbolic() || !small_enough_to_know(fake)) {
    if (value.isIntegral(/*includeBool=*/!value.isSymbolic())) {
      set_progression(fake, value.toSymInt(), 0);
    }
    return;
  }
  const RealScope real;
  auto bytes = real_bytes(static_cast<std::int64_t>(storage_of(fake)->nbytes()));
  clear(*bytes);
  over(bytes, fake).fill_(value);
  storage_token(storage_of(fake))->known = std::move(bytes);
}

void forget(const at::Tensor& fake) noexcept {
  if (StorageToken* token = storage_token(storage_of(fake))) {
    token->forget();
  }
}

void copy_known(const StorageToken& from, StorageToken& to) {
  to.progression = from.progression;
  if (!from.known) {
    return;
  }
  auto bytes = real_bytes(static_cast<std::int64_t>(from.known->nbytes()));
  copy_bytes(from.known->data(), *bytes);
  to.known = std::move(bytes);
}

void know_real_bytes(const at::Tensor& real, StorageToken& token) {
  const bool integers = c10::isIntegralType(real.scalar_type(), /*includeBool=*/true);
  const auto nbytes = static_cast<std::int64_t>(real.storage().nbytes());
  if ((!integers && real.dim() != 0) || !values_wanted() || !small_enough_to_know(real)) {
    return;
  }
  auto bytes = real_bytes(nbytes);
  copy_bytes(real.storage().data(), *bytes);
  token.known = std::move(bytes);
}

}  // namespace massless
