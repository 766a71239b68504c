// Operators that ask which tensor, storage or memory this is, and the few that Python calls to
// change it.
#include <ATen/core/Tensor.h>

#include <optional>

#include "dispatch/error.h"
#include "fake/device.h"
#include "fake/rule.h"
#include "fake/storage.h"

namespace massless {
namespace {

StorageToken* token_of(const at::Tensor& t) {
  return is_fake(t) ? storage_token(t.storage().unsafeGetStorageImpl()) : nullptr;
}

// Asked by `x.data = y` and by Module.to(): may x take the identity of y? A fake may become real
// in place, and one fake another; a real tensor never becomes fake.
bool has_compatible_shallow_copy_type_rule(const at::Tensor& self, const at::Tensor& from) {
  if (!is_fake(self) && is_fake(from) && !self.device().is_meta()) {
    raise(ErrorCode::real_write, "a real tensor of shape " + c10::str(self.sym_sizes()) +
                                     " was to take the data of a fake tensor");
  }
  return self.layout() == from.layout();
}

bool is_set_to_rule(const at::Tensor& self, const at::Tensor& tensor) {
  return self.storage().unsafeGetStorageImpl() == tensor.storage().unsafeGetStorageImpl() &&
         self.sym_storage_offset() == tensor.sym_storage_offset() &&
         self.sym_sizes().equals(tensor.sym_sizes()) &&
         self.sym_strides().equals(tensor.sym_strides());
}

bool is_pinned_rule(const at::Tensor& self, std::optional<c10::Device>) {
  const StorageToken* token = token_of(self);
  return token != nullptr && token->pinned;
}

// Eager asks the accelerator for page-locked memory of the storage's size; the copy keeps sizes
// and strides.
at::Tensor pin_memory_rule(const at::Tensor& self, std::optional<c10::Device>) {
  TORCH_CHECK(self.device().is_cpu(), "cannot pin '", self.toString(),
              "' only dense CPU tensors can be pinned");
  at::Tensor made =
      make_fake(self.sym_sizes(), self.sym_strides(), self.scalar_type(), self.device());
  token_of(made)->pinned = true;
  return made;
}

MASSLESS_RULES(m) {
  rule<"_has_compatible_shallow_copy_type", has_compatible_shallow_copy_type_rule>(m);
  rule<"is_set_to", is_set_to_rule>(m);
  rule<"is_pinned", is_pinned_rule>(m);
  rule<"_pin_memory", pin_memory_rule>(m);
}

}  // namespace
}  // namespace massless
