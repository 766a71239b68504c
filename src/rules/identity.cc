// Operators that ask which tensor, storage or memory this is.
#include <ATen/core/Tensor.h>
#include <c10/core/TensorOptions.h>

#include <optional>

#include "fake/device.h"
#include "fake/rule.h"
#include "fake/storage.h"

namespace massless {
namespace {

StorageToken* token_of(const at::Tensor& t) {
  return is_fake(t) ? storage_token(t.storage().unsafeGetStorageImpl()) : nullptr;
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
  rule<"is_set_to", is_set_to_rule>(m);
  rule<"is_pinned", is_pinned_rule>(m);
  rule<"_pin_memory", pin_memory_rule>(m);
}

}  // namespace
}  // namespace massless
