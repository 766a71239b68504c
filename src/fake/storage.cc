#include "fake/storage.h"

#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <string>
#include <utility>

#include "dispatch/error.h"
#include "dispatch/state.h"
#include "fake/ledger.h"

namespace massless {
namespace {

void delete_token(void* context) {
  auto* token = static_cast<StorageToken*>(context);
  if (token->ledger) {
    token->ledger->death(token->id);
  }
  delete token;
}

// The allocator that fake storages carry. ATen's own resize of a meta storage never allocates; a
// call here means that bytes are wanted.
struct NoAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t nbytes) override {
    if (nbytes == 0) {
      return {nullptr, c10::Device(c10::DeviceType::Meta)};
    }
    raise(ErrorCode::data_access,
          "an allocation of " + std::to_string(nbytes) + " bytes was asked for a fake storage");
  }
  c10::DeleterFnPtr raw_deleter() const override { return &delete_token; }
  void copy_data(void*, const void*, std::size_t) const override {
    raise(ErrorCode::data_access, "a copy of a fake storage's bytes was asked for");
  }
};

c10::Allocator* no_allocator() {
  static auto* made = new NoAllocator;
  return made;
}

// What a C++ caller that asks for the bytes is told. Only the code: a string of 15 characters at
// most needs no allocation, and every storage holds one. The ladder and Python word it in full.
constexpr const char* kAccessMessage = "[data_access]";

struct FakeStorageImpl final : c10::StorageImpl, Pooled<FakeStorageImpl> {
  FakeStorageImpl(const c10::SymInt& nbytes, StorageToken* token)
      : StorageImpl(use_byte_size_t(), nbytes,
                    {nullptr, token, &delete_token, c10::Device(c10::DeviceType::Meta)},
                    no_allocator(), true) {
    release_data_and_set_meta_custom_data_ptr_error_msg_(kAccessMessage);
  }
};

// Stands in a real storage's DataPtr, keeps the original one, and tells the ledger of the death.
struct WatchedNumber {
  c10::DataPtr original;
  std::shared_ptr<Ledger> ledger;
  std::uint32_t id;
};

void delete_watched(void* context) {
  auto* watched = static_cast<WatchedNumber*>(context);
  watched->ledger->death(watched->id);
  delete watched;
}

// Autograd asks the device of every tensor for its guard, and where there is none the process may
// end.
void require_guard(c10::Device device) {
  if (!device.is_cpu() && !c10::impl::hasDeviceGuardImpl(device.type())) {
    raise(ErrorCode::bad_argument,
          "a fake on " + device.str() + " was asked for, a device that this build of torch lacks");
  }
}

}  // namespace

void require_strided(const at::Tensor& t, const char* what) {
  const char* kind = t.is_nested() ? "nested" : t.is_quantized() ? "quantized" : nullptr;
  if (kind == nullptr && t.layout() == c10::kStrided) {
    return;
  }
  raise(ErrorCode::unsupported_value,
        std::string(what) +
            (kind != nullptr ? std::string(" is a ") + kind + " tensor"
                             : " has the layout " + c10::str(t.layout())) +
            ", which fakes do not have");
}

c10::Storage new_storage(const c10::SymInt& nbytes, c10::Device device) {
  require_guard(device);
  auto token = std::make_unique<StorageToken>(device);
  if (C10_UNLIKELY(current_ledger() != nullptr)) {
    token->ledger = current_mode()->ledger;
    token->id = token->ledger->birth(nbytes, device);
  }
  return c10::Storage(c10::make_intrusive<FakeStorageImpl>(nbytes, token.release()));
}

StorageToken* storage_token(const c10::StorageImpl* storage) noexcept {
  if (storage == nullptr) {
    return nullptr;
  }
  // The only accessor that does not raise for a fake; nothing is written through it.
  const c10::DataPtr& data = const_cast<c10::StorageImpl*>(storage)->_mutable_data_ptr_no_checks();
  return data.get_deleter() == &delete_token ? static_cast<StorageToken*>(data.get_context())
                                             : nullptr;
}

// Without a guard: where it is not known which is larger, the size is the larger of both.
void grow_storage(c10::StorageImpl* storage, const c10::SymInt& nbytes) {
  const c10::SymInt old = storage->sym_nbytes();
  if (TORCH_STATICALLY_KNOWN_TRUE(nbytes.sym_le(old))) {
    return;
  }
  resize_storage(storage, old.max(nbytes));
}

void resize_storage(c10::StorageImpl* storage, const c10::SymInt& nbytes) {
  storage->set_nbytes(nbytes);
  if (StorageToken* token = storage_token(storage)) {
    token->forget();
    if (token->ledger) {
      token->ledger->resize(token->id, nbytes);
    }
  }
}

void record_number(const at::Tensor& number) {
  if (current_ledger() == nullptr || !number.has_storage()) {
    return;
  }
  c10::StorageImpl* storage = number.storage().unsafeGetStorageImpl();
  if (storage->data_ptr().get_deleter() == &delete_watched) {
    return;
  }
  const auto ledger = current_mode()->ledger;
  const auto nbytes = static_cast<std::int64_t>(storage->nbytes());
  const c10::Device device = storage->device();
  auto* watched = new WatchedNumber{{}, ledger, ledger->birth(nbytes, device)};
  void* data = storage->data_ptr().get();
  watched->original = storage->set_data_ptr({data, watched, &delete_watched, device});
}

}  // namespace massless
