#include "rules/strict.h"

#include "fake/sizes.h"

namespace massless {

void write_out_strict(const at::Tensor& out, const TensorSpec& spec) {
  TORCH_CHECK(out.scalar_type() == spec.dtype, "Expected out tensor to have dtype ",
              c10::scalarTypeToTypeMeta(spec.dtype), ", but got ", out.dtype(), " instead");
  write_out(out, spec);
}

void check_inplace_strict(const at::Tensor& self, const TensorSpec& spec) {
  TORCH_CHECK(equal_sizes(self.sym_sizes(), spec.sizes), "Bad in-place call: input tensor size ",
              self.sym_sizes(), " and output tensor size ", c10::SymIntArrayRef(spec.sizes),
              " should match");
  TORCH_CHECK(self.scalar_type() == spec.dtype, "Expected out tensor to have dtype ",
              c10::scalarTypeToTypeMeta(spec.dtype), ", but got ", self.dtype(), " instead");
  check_no_internal_overlap(self);
}

SymDimVector empty_like_strides(const at::Tensor& t) {
  const auto strides = t.sym_strides();
  if (is_dense(t)) {
    return {strides.begin(), strides.end()};
  }
  return dense_strides(t.sym_sizes(), strides);
}

TensorSpec empty_like_spec(const at::Tensor& t, std::optional<c10::ScalarType> dtype) {
  const auto sizes = t.sym_sizes();
  return {SymDimVector(sizes.begin(), sizes.end()), empty_like_strides(t),
          dtype.value_or(t.scalar_type()), claimed_device(t)};
}

TensorSpec contiguous_like_spec(const at::Tensor& t, std::optional<c10::ScalarType> dtype) {
  return contiguous_spec(t.sym_sizes(), dtype.value_or(t.scalar_type()), claimed_device(t));
}

TensorSpec format_like_spec(const at::Tensor& t, c10::MemoryFormat format) {
  const auto sizes = t.sym_sizes();
  return {SymDimVector(sizes.begin(), sizes.end()), strides_of_format(sizes, format),
          t.scalar_type(), claimed_device(t)};
}

void check_expand(const at::Tensor& from, c10::SymIntArrayRef target) {
  const auto sizes = from.sym_sizes();
  TORCH_CHECK(sizes.size() <= target.size(), "expand(", from.toString(), "{", sizes,
              "}, size=", target, "): the number of sizes provided (", target.size(),
              ") must be greater or equal to the number of dimensions in the tensor (",
              sizes.size(), ")");
  const std::size_t lead = target.size() - sizes.size();
  for (std::size_t i = sizes.size(); i-- > 0;) {
    TORCH_CHECK(expands_to(sizes[i], target[lead + i]), "The expanded size of the tensor (",
                target[lead + i], ") must match the existing size (", sizes[i],
                ") at non-singleton dimension ", lead + i, ".  Target sizes: ", target,
                ".  Tensor sizes: ", sizes);
  }
}

void check_sizes(const at::Tensor& t, c10::SymIntArrayRef sizes, const char* name) {
  TORCH_CHECK(!t.defined() || equal_sizes(t.sym_sizes(), sizes), "expected ", name, " of sizes ",
              sizes, ", but got ", t.defined() ? t.sym_sizes() : sizes);
}

void check_numel(const at::Tensor& t, const c10::SymInt& numel, const char* name) {
  TORCH_CHECK(!t.defined() || required(t.sym_numel().sym_eq(numel)), "expected ", name, " of ",
              numel, " elements, but got the sizes ",
              t.defined() ? t.sym_sizes() : c10::SymIntArrayRef());
}

}  // namespace massless
