// The storage of fakes: no bytes, a size, and a token that carries what Massless knows of it.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Storage.h>
#include <c10/core/SymInt.h>

#include <cstdint>
#include <memory>

#include "base/pool.h"
#include "fake/accelerator.h"

namespace massless {

class Ledger;
struct Progression;

// Hangs on the storage's DataPtr as its context, so it is shared by all views and dies with the
// storage.
struct StorageToken final : Pooled<StorageToken> {
  explicit StorageToken(c10::Device claimed) : device(claimed), use(claimed) {}
  std::shared_ptr<Ledger> ledger;  // null: not recorded
  std::uint32_t id = 0;            // in the ledger
  c10::Device device;
  FakeDeviceUse use;             // keeps the fake accelerator's answers alive
  bool stands_for_real = false;  // twin of a real storage met in a bare mode: read only
  bool pinned = false;           // made by pin_memory
  // The bytes, where they are known (fake/known.h); on the CPU whatever the fake device.
  c10::intrusive_ptr<c10::StorageImpl> known;
  std::shared_ptr<const Progression> progression;  // what is known of a symbolic number of them

  void forget() noexcept {
    known.reset();
    progression.reset();
  }
};

// Raises unsupported_value unless `t` is strided and dense: sparse, nested and quantized tensors
// hold more than a storage. `what` tells where it was met ("the result").
void require_strided(const at::Tensor& t, const char* what);

// A new fake storage of `nbytes` bytes that claims `device`; recorded by the current mode's ledger.
// Raises bad_argument for a device that has no guard in this process.
c10::Storage new_storage(const c10::SymInt& nbytes, c10::Device device);

// Null for a storage that is not ours.
StorageToken* storage_token(const c10::StorageImpl* storage) noexcept;

// Grows (never shrinks) a fake storage, as resize_ does.
void grow_storage(c10::StorageImpl* storage, const c10::SymInt& nbytes);
// Sets the size of a fake storage, as Python's untyped_storage().resize_ does; known values go.
void resize_storage(c10::StorageImpl* storage, const c10::SymInt& nbytes);

// A wrapped number is a real CPU tensor of 8 bytes, which eager's memory holds as well (and
// autograd may save): the current ledger, if any, records its life.
void record_number(const at::Tensor& number);

}  // namespace massless
