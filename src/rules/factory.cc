// Factories: tensors that are made from sizes and numbers.
#include "rules/factory.h"

#include <ATen/Dispatch.h>
#include <ATen/Dispatch_v2.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/TensorOptions.h>
#include <c10/core/WrapDimMinimal.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "dispatch/error.h"
#include "fake/device.h"
#include "fake/rule.h"
#include "fake/storage.h"
#include "rules/iterator.h"
#include "rules/strict.h"

namespace massless {

using c10::Scalar;
using c10::SymInt;
using c10::SymIntArrayRef;
using OptDtype = std::optional<c10::ScalarType>;
using OptLayout = std::optional<c10::Layout>;
using OptDevice = std::optional<c10::Device>;
using OptBool = std::optional<bool>;
using OptFormat = std::optional<c10::MemoryFormat>;

at::Tensor fresh(const TensorSpec& spec, OptBool pin_memory) {
  at::Tensor made = fresh(spec);
  if (pin_memory.value_or(false) && is_fake(made)) {
    storage_token(made.storage().unsafeGetStorageImpl())->pinned = true;
  }
  return made;
}

at::Tensor fresh(const TensorSpec& spec) {
  if (C10_LIKELY(!spec.device.is_meta())) {
    return make_fake(spec);
  }
  const c10::impl::ExcludeDispatchKeyGuard no_fake(c10::DispatchKey::Fake);
  return at::empty_strided_symint(spec.sizes, spec.strides, spec.dtype, c10::kStrided,
                                  c10::Device(c10::kMeta), false);
}

at::Tensor fresh_filled(const TensorSpec& spec, const Scalar& value, OptBool pin_memory) {
  at::Tensor made = fresh(spec, pin_memory);
  if (is_fake(made)) {
    set_known_fill(made, value);
  }
  return made;
}

void check_options(OptLayout layout, c10::Device device, OptBool pin_memory) {
  if (layout && *layout != c10::kStrided) {
    raise(ErrorCode::unsupported_value,
          "a tensor of layout " + c10::str(*layout) + " was asked for; fakes are strided");
  }
  TORCH_CHECK(!pin_memory.value_or(false) || device.is_cpu(),
              "Only dense CPU tensors can be pinned");
}

TensorSpec options_spec(SymIntArrayRef size, OptDtype dtype, OptLayout layout, OptDevice device,
                        OptBool pin_memory) {
  const c10::Device where = factory_device(device);
  check_options(layout, where, pin_memory);
  for (const SymInt& s : size) {
    TORCH_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", size);
  }
  return contiguous_spec(size, c10::dtype_or_default(dtype), where);
}

TensorSpec like_spec(const at::Tensor& self, OptDtype dtype, OptLayout layout, OptDevice device,
                     OptBool pin_memory, OptFormat format) {
  TensorSpec spec = format.value_or(c10::MemoryFormat::Preserve) == c10::MemoryFormat::Preserve
                        ? empty_like_spec(self, dtype)
                        : format_like_spec(self, *format);
  spec.dtype = dtype.value_or(self.scalar_type());
  spec.device = normalize_device(device.value_or(self.device()));
  check_options(layout.value_or(self.layout()), spec.device, pin_memory);
  return spec;
}

void check_fill(c10::ScalarType dtype, const Scalar& value) {
  if (value.isSymbolic() || (dtypes::all & dtype_bit(dtype)) == 0) {
    return;
  }
  AT_DISPATCH_V2(dtype, "fill_", AT_WRAP([&] { (void)value.to<scalar_t>(); }),
                 AT_EXPAND(AT_ALL_TYPES_AND_COMPLEX), AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES),
                 AT_EXPAND(AT_FLOAT8_TYPES), c10::kComplexHalf, c10::kHalf, c10::kBFloat16,
                 c10::kBool);
}

void resize_out(const at::Tensor& out, SymIntArrayRef size) {
  if (!equal_sizes(out.sym_sizes(), size)) {
    set_geometry(out, size, contiguous_strides(size), out.sym_storage_offset());
  }
}

namespace {

at::Tensor empty_rule(SymIntArrayRef size, OptDtype dtype, OptLayout layout, OptDevice device,
                      OptBool pin_memory, OptFormat format) {
  TensorSpec spec = options_spec(size, dtype, layout, device, pin_memory);
  if (format && *format != c10::MemoryFormat::Contiguous) {
    TORCH_CHECK(*format != c10::MemoryFormat::Preserve, "unsupported memory format ", *format);
    spec.strides = strides_of_format(size, *format);
  }
  return fresh(spec, pin_memory);
}

at::Tensor strided(TensorSpec spec, SymIntArrayRef stride) {
  TORCH_CHECK(spec.sizes.size() == stride.size(), "dimensionality of sizes (", spec.sizes.size(),
              ") must match dimensionality of strides (", stride.size(), ")");
  for (const SymInt& s : stride) {
    TORCH_CHECK(s >= 0,
                "Storage size calculation overflowed with sizes=", SymIntArrayRef(spec.sizes),
                " and strides=", stride);
  }
  spec.strides.assign(stride.begin(), stride.end());
  return fresh(spec);
}

at::Tensor empty_strided_rule(SymIntArrayRef size, SymIntArrayRef stride, OptDtype dtype,
                              OptLayout layout, OptDevice device, OptBool pin_memory) {
  return strided(options_spec(size, dtype, layout, device, pin_memory), stride);
}

at::Tensor empty_permuted_rule(SymIntArrayRef size, at::IntArrayRef order, OptDtype dtype,
                               OptLayout layout, OptDevice device, OptBool pin_memory) {
  TensorSpec spec = options_spec(size, dtype, layout, device, pin_memory);
  TORCH_CHECK(order.size() == size.size(),
              "Number of dimensions in size does not match the length "
              "of the physical_layout; i.e. len(size) = ",
              size.size(), " is not equal to len(physical_layout) = ", order.size());
  c10::SmallVector<bool, 8> seen(size.size(), false);
  SymInt step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::int64_t dim = order[i];
    TORCH_CHECK(dim >= 0 && dim < static_cast<std::int64_t>(size.size()),
                "Dimension out of range (expected to be between 0 and ", size.size() - 1,
                ", but got ", dim, " at index ", i,
                ").  NB: negative dims not currently supported");
    TORCH_CHECK(!seen[dim], "Duplicate dim not allowed");
    seen[dim] = true;
    spec.strides[dim] = step;
    step = step * size[dim].max(1);
  }
  return fresh(spec);
}

at::Tensor zeros_rule(SymIntArrayRef size, OptDtype dtype, OptLayout layout, OptDevice device,
                      OptBool pin_memory) {
  return fresh_filled(options_spec(size, dtype, layout, device, pin_memory), 0, pin_memory);
}

at::Tensor ones_rule(SymIntArrayRef size, OptDtype dtype, OptLayout layout, OptDevice device,
                     OptBool pin_memory) {
  return fresh_filled(options_spec(size, dtype, layout, device, pin_memory), 1, pin_memory);
}

// torch.full without a dtype takes the number's kind.
c10::ScalarType dtype_of_number(const Scalar& value) {
  if (value.isBoolean()) {
    return c10::kBool;
  }
  if (value.isIntegral(/*includeBool=*/false)) {
    return c10::kLong;
  }
  const c10::ScalarType real = c10::get_default_dtype_as_scalartype();
  return value.isComplex() ? c10::toComplexType(real) : real;
}

at::Tensor full_rule(SymIntArrayRef size, const Scalar& value, OptDtype dtype, OptLayout layout,
                     OptDevice device, OptBool pin_memory) {
  const c10::ScalarType type = dtype ? *dtype : dtype_of_number(value);
  const TensorSpec spec = options_spec(size, type, layout, device, pin_memory);
  check_fill(type, value);
  return fresh_filled(spec, value, pin_memory);
}

at::Tensor scalar_tensor_rule(const Scalar& value, OptDtype dtype, OptLayout layout,
                              OptDevice device, OptBool pin_memory) {
  const TensorSpec spec = options_spec({}, dtype, layout, device, pin_memory);
  check_fill(spec.dtype, value);
  return fresh_filled(spec, value, pin_memory);
}

at::Tensor empty_like_rule(const at::Tensor& self, OptDtype dtype, OptLayout layout,
                           OptDevice device, OptBool pin_memory, OptFormat format) {
  return fresh(like_spec(self, dtype, layout, device, pin_memory, format), pin_memory);
}

at::Tensor zeros_like_rule(const at::Tensor& self, OptDtype dtype, OptLayout layout,
                           OptDevice device, OptBool pin_memory, OptFormat format) {
  return fresh_filled(like_spec(self, dtype, layout, device, pin_memory, format), 0, pin_memory);
}

at::Tensor ones_like_rule(const at::Tensor& self, OptDtype dtype, OptLayout layout,
                          OptDevice device, OptBool pin_memory, OptFormat format) {
  return fresh_filled(like_spec(self, dtype, layout, device, pin_memory, format), 1, pin_memory);
}

at::Tensor full_like_rule(const at::Tensor& self, const Scalar& value, OptDtype dtype,
                          OptLayout layout, OptDevice device, OptBool pin_memory,
                          OptFormat format) {
  const TensorSpec spec = like_spec(self, dtype, layout, device, pin_memory, format);
  check_fill(spec.dtype, value);
  return fresh_filled(spec, value, pin_memory);
}

// new_*: self gives the dtype and the device.
TensorSpec new_spec(const at::Tensor& self, SymIntArrayRef size, OptDtype dtype, OptLayout layout,
                    OptDevice device, OptBool pin_memory) {
  return options_spec(size, dtype.value_or(self.scalar_type()), layout,
                      device.value_or(self.device()), pin_memory);
}

at::Tensor new_empty_rule(const at::Tensor& self, SymIntArrayRef size, OptDtype dtype,
                          OptLayout layout, OptDevice device, OptBool pin_memory) {
  return fresh(new_spec(self, size, dtype, layout, device, pin_memory), pin_memory);
}

at::Tensor new_empty_strided_rule(const at::Tensor& self, SymIntArrayRef size,
                                  SymIntArrayRef stride, OptDtype dtype, OptLayout layout,
                                  OptDevice device, OptBool pin_memory) {
  return strided(new_spec(self, size, dtype, layout, device, pin_memory), stride);
}

at::Tensor new_zeros_rule(const at::Tensor& self, SymIntArrayRef size, OptDtype dtype,
                          OptLayout layout, OptDevice device, OptBool pin_memory) {
  return fresh_filled(new_spec(self, size, dtype, layout, device, pin_memory), 0, pin_memory);
}

at::Tensor new_ones_rule(const at::Tensor& self, SymIntArrayRef size, OptDtype dtype,
                         OptLayout layout, OptDevice device, OptBool pin_memory) {
  return fresh_filled(new_spec(self, size, dtype, layout, device, pin_memory), 1, pin_memory);
}

at::Tensor new_full_rule(const at::Tensor& self, SymIntArrayRef size, const Scalar& value,
                         OptDtype dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  const TensorSpec spec = new_spec(self, size, dtype, layout, device, pin_memory);
  check_fill(spec.dtype, value);
  return fresh_filled(spec, value, pin_memory);
}

// fill_: where self is its whole storage, the value is known from then on. (A known self of any
// shape is kept up to date by the careful path.)
void learn_fill(const at::Tensor& self, const Scalar& value) {
  if (self.is_non_overlapping_and_dense() && small_enough_to_know(self) &&
      self.storage().nbytes() == self.nbytes()) {
    set_known_fill(self, value);
  }
}

at::Tensor& fill_scalar(at::Tensor& self, const Scalar& value) {
  check_fill(self.scalar_type(), value);
  learn_fill(self, value);
  return self;
}

at::Tensor& fill_tensor(at::Tensor& self, const at::Tensor& value) {
  TORCH_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ",
              value.dim(), " dimensions.");
  if (const at::Tensor known = known_value(value); known.defined()) {
    Scalar number;
    {
      const RealScope real;
      number = known.item();
    }
    return fill_scalar(self, number);
  }
  return self;
}

at::Tensor& zero_inplace(at::Tensor& self) { return fill_scalar(self, 0); }

at::Tensor fill_scalar_functional(const at::Tensor& self, const Scalar& value) {
  check_fill(self.scalar_type(), value);
  return fresh_filled(empty_like_spec(self), value, std::nullopt);
}

MASSLESS_RULES(m) {
  rule<"empty.memory_format", empty_rule>(m);
  rule<"empty_strided", empty_strided_rule>(m);
  rule<"empty_permuted", empty_permuted_rule>(m);
  rule<"zeros", zeros_rule>(m);
  rule<"ones", ones_rule>(m);
  rule<"full", full_rule>(m);
  rule<"scalar_tensor", scalar_tensor_rule>(m);
  rule<"empty_like", empty_like_rule>(m);
  rule<"zeros_like", zeros_like_rule>(m);
  rule<"ones_like", ones_like_rule>(m);
  rule<"full_like", full_like_rule>(m);
  rule<"new_empty", new_empty_rule>(m);
  rule<"new_empty_strided", new_empty_strided_rule>(m);
  rule<"new_zeros", new_zeros_rule>(m);
  rule<"new_ones", new_ones_rule>(m);
  rule<"new_full", new_full_rule>(m);
  rule<"fill_.Scalar", fill_scalar>(m);
  rule<"fill_.Tensor", fill_tensor>(m);
  rule<"fill.Scalar", fill_scalar_functional>(m);
  rule<"zero_", zero_inplace>(m);
}

}  // namespace
}  // namespace massless
