// Known values. A small storage whose bytes are known (made from literals, or computed from known
// values) carries a real CPU copy of them; views share it, since they share the storage. A write
// of known values updates it, a write of anything else drops it.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <optional>

#include "fake/storage.h"

namespace massless {

// Largest tensors whose values are kept: integers (position ids, masks) and others.
constexpr std::int64_t kKnownIntegers = 65536;
constexpr std::int64_t kKnownFloats = 4096;
bool small_enough_to_know(const at::Tensor& t);
bool values_wanted() noexcept;  // by the mode

// True when a fake's bytes are known; a real wrapped number counts as known, too, unless it stands
// for a size (number.h).
bool is_known(const at::Tensor& t);
// The value as a real CPU tensor that shares the known bytes; undefined if not known.
at::Tensor known_value(const at::Tensor& fake);
// The same where dimensions are expanded, maybe to symbols: they are of size 1.
at::Tensor known_value_once(const at::Tensor& fake);
// Makes the value of `fake` known: `value` is a real CPU tensor of the same sizes and dtype.
void set_known(const at::Tensor& fake, const at::Tensor& value);
// A fresh fake filled with one number.
void set_known_fill(const at::Tensor& fake, const c10::Scalar& value);
void forget(const at::Tensor& fake) noexcept;
// A copy of the bytes for the storage of another fake.
void copy_known(const StorageToken& from, StorageToken& to);

// The bytes of a real CPU tensor's storage, if it holds integers or one number, and is small.
void know_real_bytes(const at::Tensor& real, StorageToken& token);

// RAII: operators called in its scope run for real (no fake, no Python mode, no autograd).
class RealScope {
 public:
  RealScope();
  ~RealScope();
  RealScope(const RealScope&) = delete;
  RealScope& operator=(const RealScope&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace massless
