// Views: the same storage seen through another geometry.
#include <ATen/core/Tensor.h>

#include "fake/rule.h"

namespace massless {
namespace {

// A view of self with the same geometry (detach, alias, lift_fresh of a fake).
at::Tensor alias_rule(const at::Tensor& self) {
  return view_of(self, self.sym_sizes(), self.sym_strides(), self.sym_storage_offset());
}

MASSLESS_RULES(m) {
  rule<"alias", alias_rule>(m);
  rule<"detach", alias_rule>(m);
}

}  // namespace
}  // namespace massless
