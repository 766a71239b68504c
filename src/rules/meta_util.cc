// Operators whose answer is a plain value, not a tensor.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/equal.h>
#include <c10/core/Stream.h>

#include "dispatch/error.h"
#include "fake/known.h"
#include "fake/progression.h"
#include "fake/rule.h"

namespace massless {
namespace {

// The value of a fake, where it is known, or a real tensor itself, whose value is its own: nothing
// that a mode runs can have changed it.
at::Tensor value_of(const at::Tensor& t) { return is_fake(t) ? known_value(t) : t; }

at::Scalar local_scalar_rule(const at::Tensor& self) {
  if (const auto number = progression_item(self)) {
    return self.scalar_type() == c10::kBool ? at::Scalar(*number != 0) : at::Scalar(*number);
  }
  const at::Tensor value = value_of(self);
  if (!value.defined()) {
    raise(ErrorCode::data_dependent, "the number in a fake tensor of dtype " +
                                         c10::str(self.scalar_type()) + " was asked for");
  }
  const RealScope real;
  return at::_local_scalar_dense(value);
}

bool equal_rule(const at::Tensor& self, const at::Tensor& other) {
  TORCH_CHECK(self.device() == other.device(),
              "Cannot compare two tensors on different devices. Got: ", self.device(), " and ",
              other.device());
  TORCH_CHECK(self.scalar_type() == other.scalar_type(), "Expected object of data type ",
              self.scalar_type(), " but got data type ", other.scalar_type());
  if (!self.sym_sizes().equals(other.sym_sizes())) {
    return false;
  }
  if (self.sym_numel() == 0) {
    return true;
  }
  const at::Tensor a = value_of(self);
  const at::Tensor b = value_of(other);
  if (!a.defined() || !b.defined()) {
    raise(ErrorCode::data_dependent, "two tensors were compared, of which one is fake");
  }
  const RealScope real;
  return at::equal(a, b);
}

bool is_same_size_rule(const at::Tensor& self, const at::Tensor& other) {
  return self.sym_sizes().equals(other.sym_sizes());
}

// A fake's memory is nobody's, so there is no stream to wait for.
void record_stream_rule(at::Tensor&, at::Stream) {}

MASSLESS_RULES(m) {
  rule<"_local_scalar_dense", local_scalar_rule>(m);
  rule<"equal", equal_rule>(m);
  rule<"is_same_size", is_same_size_rule>(m);
  rule<"record_stream", record_stream_rule>(m);
}

}  // namespace
}  // namespace massless
