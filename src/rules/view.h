// View kernels and their geometry, shared by the views, the in-place geometry operators and the
// `*_copy` forms.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "fake/tensor.h"

namespace massless {

struct Geometry {
  SymDimVector sizes;
  SymDimVector strides;
};

// A new dimension of size 1 at `dim` (wrapped).
Geometry unsqueezed(const at::Tensor& self, std::int64_t dim);
// Without the dimensions of size 1 that are in `mask` (bit i: dimension i).
Geometry squeezed(const at::Tensor& self, std::uint64_t mask);
// Wrapped dimensions as a mask; one that is named twice is an error.
std::uint64_t dims_mask(const at::Tensor& self, at::IntArrayRef dims);

// as_strided's checks: lengths, signs, and that the storage holds it all.
void check_strided(const at::Tensor& self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                   const c10::SymInt& offset);

// [start, start + step, ...) within a dimension, clamped as Python's slices are.
struct SliceRange {
  c10::SymInt start;
  c10::SymInt length;
};
SliceRange slice_range(const c10::SymInt& size, std::optional<c10::SymInt> start,
                       std::optional<c10::SymInt> end, const c10::SymInt& step);

// The kernels.
at::Tensor alias_rule(const at::Tensor& self);
at::Tensor view_rule(const at::Tensor& self, c10::SymIntArrayRef size);
at::Tensor view_dtype_rule(const at::Tensor& self, c10::ScalarType dtype);
at::Tensor reshape_alias_rule(const at::Tensor& self, c10::SymIntArrayRef size,
                              c10::SymIntArrayRef stride);
at::Tensor as_strided_rule(const at::Tensor& self, c10::SymIntArrayRef size,
                           c10::SymIntArrayRef stride, std::optional<c10::SymInt> offset);
at::Tensor expand_rule(const at::Tensor& self, c10::SymIntArrayRef size, bool implicit);
at::Tensor transpose_rule(const at::Tensor& self, std::int64_t dim0, std::int64_t dim1);
at::Tensor t_rule(const at::Tensor& self);
at::Tensor permute_rule(const at::Tensor& self, at::IntArrayRef dims);
at::Tensor select_rule(const at::Tensor& self, std::int64_t dim, c10::SymInt index);
at::Tensor slice_rule(const at::Tensor& self, std::int64_t dim, std::optional<c10::SymInt> start,
                      std::optional<c10::SymInt> end, c10::SymInt step);
at::Tensor unsqueeze_rule(const at::Tensor& self, std::int64_t dim);
at::Tensor squeeze_rule(const at::Tensor& self);
at::Tensor squeeze_dim_rule(const at::Tensor& self, std::int64_t dim);
at::Tensor squeeze_dims_rule(const at::Tensor& self, at::IntArrayRef dims);
std::vector<at::Tensor> split_rule(const at::Tensor& self, c10::SymInt split_size,
                                   std::int64_t dim);
std::vector<at::Tensor> split_with_sizes_rule(const at::Tensor& self,
                                              c10::SymIntArrayRef split_sizes, std::int64_t dim);
std::vector<at::Tensor> unbind_rule(const at::Tensor& self, std::int64_t dim);
at::Tensor diagonal_rule(const at::Tensor& self, std::int64_t offset, std::int64_t dim1,
                         std::int64_t dim2);
at::Tensor unfold_rule(const at::Tensor& self, std::int64_t dim, std::int64_t size,
                       std::int64_t step);
at::Tensor view_as_real_rule(const at::Tensor& self);
at::Tensor view_as_complex_rule(const at::Tensor& self);

}  // namespace massless
