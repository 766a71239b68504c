// Matrix products. All results are contiguous and fresh; the matrices lie on one device, and no
// dtype is promoted.
#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <tuple>
#include <utility>

#include "fake/device.h"
#include "fake/rule.h"
#include "rules/flops.h"
#include "rules/strict.h"

namespace massless {
namespace {

using at::Scalar;
using at::Tensor;

// The CPU kernels have no code for bool, but return early where there is nothing to write.
void check_product_dtype(const char* kernel, const Tensor& t, const c10::SymInt& numel) {
  if (is_bool(t) && t.device().is_cpu() && numel != 0) {
    unsupported_dtype(kernel, t.scalar_type());
  }
}

void check_matrices(const Tensor& mat1, const Tensor& mat2) {
  TORCH_CHECK(mat1.sym_size(1) == mat2.sym_size(0), "mat1 and mat2 shapes cannot be multiplied (",
              mat1.sym_size(0), "x", mat1.sym_size(1), " and ", mat2.sym_size(0), "x",
              mat2.sym_size(1), ")");
}

TensorSpec mm_spec(const Tensor& self, const Tensor& mat2) {
  TORCH_CHECK(self.dim() == 2, "self must be a matrix");
  TORCH_CHECK(mat2.dim() == 2, "mat2 must be a matrix");
  check_matrices(self, mat2);
  const c10::Device device = same_device({self, mat2});
  TORCH_CHECK(self.dtype() == mat2.dtype(),
              "expected m1 and m2 to have the same dtype, but got: ", self.dtype(),
              " != ", mat2.dtype());
  check_product_dtype("addmm_impl_cpu_", self, self.sym_size(0) * mat2.sym_size(1));
  return contiguous_spec({self.sym_size(0), mat2.sym_size(1)}, self.scalar_type(), device);
}

TensorSpec addmm_spec(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar&,
                      const Scalar&) {
  TORCH_CHECK(self.scalar_type() == mat2.scalar_type(),
              "self and mat2 must have the same dtype, but got ", self.scalar_type(), " and ",
              mat2.scalar_type());
  TORCH_CHECK(mat1.dim() == 2, "mat1 must be a matrix, got ", mat1.dim(), "-D tensor");
  TORCH_CHECK(mat2.dim() == 2, "mat2 must be a matrix, got ", mat2.dim(), "-D tensor");
  check_matrices(mat1, mat2);
  const c10::Device device = same_device({self, mat1, mat2});
  TORCH_CHECK(mat1.dtype() == mat2.dtype(),
              "expected m1 and m2 to have the same dtype, but got: ", mat1.dtype(),
              " != ", mat2.dtype());
  TensorSpec made =
      contiguous_spec({mat1.sym_size(0), mat2.sym_size(1)}, mat1.scalar_type(), device);
  check_expand(self, made.sizes);
  check_product_dtype("addmm_impl_cpu_", mat1, made.sizes[0] * made.sizes[1]);
  return made;
}

TensorSpec addmm_activation_spec(const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                                 const Scalar& beta, const Scalar& alpha, bool) {
  return addmm_spec(self, mat1, mat2, beta, alpha);
}

SymDimVector batched_sizes(const Tensor& batch1, const Tensor& batch2) {
  TORCH_CHECK(batch1.dim() == 3, "batch1 must be a 3D tensor");
  TORCH_CHECK(batch2.dim() == 3, "batch2 must be a 3D tensor");
  TORCH_CHECK(batch2.sym_size(0) == batch1.sym_size(0) && batch2.sym_size(1) == batch1.sym_size(2),
              "Expected size for first two dimensions of batch2 tensor to be: [",
              batch1.sym_size(0), ", ", batch1.sym_size(2), "] but got: [", batch2.sym_size(0),
              ", ", batch2.sym_size(1), "].");
  return {batch1.sym_size(0), batch1.sym_size(1), batch2.sym_size(2)};
}

// The dtypes are compared by the kernel, which returns early from an empty result.
TensorSpec batched_spec(const char* kernel, const Tensor& batch1, const Tensor& batch2,
                        SymDimVector sizes, c10::Device device) {
  const c10::SymInt numel = sizes[0] * sizes[1] * sizes[2];
  TORCH_CHECK(batch1.scalar_type() == batch2.scalar_type() || numel == 0, "expected scalar type ",
              batch1.scalar_type(), " but found ", batch2.scalar_type());
  check_product_dtype(kernel, batch1, numel);
  return contiguous_spec(sizes, batch2.scalar_type(), device);
}

TensorSpec bmm_spec(const Tensor& self, const Tensor& mat2) {
  SymDimVector sizes = batched_sizes(self, mat2);
  return batched_spec("bmm", self, mat2, std::move(sizes), same_device({self, mat2}));
}

TensorSpec baddbmm_spec(const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                        const Scalar&, const Scalar&) {
  SymDimVector sizes = batched_sizes(batch1, batch2);
  check_expand(self, sizes);
  TORCH_CHECK(self.scalar_type() == batch1.scalar_type(),
              "Input dtypes must be the same, got: input ", self.dtype(),
              ", batch1: ", batch1.dtype(), ", batch2: ", batch2.dtype());
  return batched_spec("baddbmm", batch1, batch2, std::move(sizes),
                      same_device({self, batch1, batch2}));
}

// The batches are multiplied one by one into one matrix, by addmm.
TensorSpec addbmm_spec(const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                       const Scalar&, const Scalar&) {
  TORCH_CHECK(batch1.dim() == 3, "batch1 must be a 3D tensor");
  TORCH_CHECK(batch2.dim() == 3, "batch2 must be a 3D tensor");
  TORCH_CHECK(batch1.sym_size(0) == batch2.sym_size(0),
              "batch1 and batch2 must have same number of batches, got ", batch1.sym_size(0),
              " and ", batch2.sym_size(0));
  TORCH_CHECK(batch1.sym_size(2) == batch2.sym_size(1), "Incompatible matrix sizes for bmm (",
              batch1.sym_size(1), "x", batch1.sym_size(2), " and ", batch2.sym_size(1), "x",
              batch2.sym_size(2), ")");
  const SymDimVector sizes{batch1.sym_size(1), batch2.sym_size(2)};
  check_expand(self, sizes);
  TORCH_CHECK(
      self.scalar_type() == batch2.scalar_type() && self.scalar_type() == batch1.scalar_type(),
      "self and mat2 must have the same dtype, but got ", self.scalar_type(), " and ",
      batch2.scalar_type());
  return contiguous_spec(sizes, self.scalar_type(), same_device({self, batch1, batch2}));
}

Tensor& addbmm_inplace(Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                       const Scalar& alpha) {
  // Not a structured kernel: a self of another size is resized, as an out= would be.
  write_out_strict(self, addbmm_spec(self, batch1, batch2, beta, alpha));
  return self;
}

// The vector-matrix product is checked as `input + mat @ vec`; mv has a 0-dim input.
TensorSpec matrix_vector(const c10::SymInt& input_size, int64_t input_dim,
                         c10::ScalarType input_dtype, const Tensor& mat, const Tensor& vec,
                         c10::Device device) {
  TORCH_CHECK(mat.dim() == 2 && vec.dim() == 1 && input_dim <= 1,
              "vector + matrix @ vector expected, got ", input_dim, ", ", mat.dim(), ", ",
              vec.dim());
  const c10::SymInt rows = mat.sym_size(0);
  TORCH_CHECK(mat.sym_size(1) == vec.sym_size(0) && (rows == input_size || input_size == 1),
              "size mismatch, got input (", input_size, "), mat (", rows, "x", mat.sym_size(1),
              "), vec (", vec.sym_size(0), ")");
  TORCH_CHECK(mat.scalar_type() == vec.scalar_type() && input_dtype == vec.scalar_type(),
              "addmv input tensors must have the same dtype, but got ", input_dtype, ", ",
              mat.scalar_type(), ", and ", vec.scalar_type());
  check_product_dtype("addmv_impl_cpu", mat, rows);
  return contiguous_spec({rows}, vec.scalar_type(), device);
}

TensorSpec mv_spec(const Tensor& self, const Tensor& vec) {
  TORCH_CHECK(self.dim() >= 1, "vector + matrix @ vector expected, got 1, 0, ", vec.dim());
  return matrix_vector(self.sym_size(0), 1, vec.scalar_type(), self, vec, same_device({self, vec}));
}

Tensor& mv_out(const Tensor& self, const Tensor& vec, Tensor& out) {
  TORCH_CHECK(self.dim() >= 1, "vector + matrix @ vector expected, got 1, 0, ", vec.dim());
  write_out_strict(out, matrix_vector(self.sym_size(0), 1, out.scalar_type(), self, vec,
                                      same_device({self, vec, out})));
  return out;
}

// Of a matrix without elements the result is beta * self, which is not broadcast.
TensorSpec addmv_spec(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
                      const Scalar&) {
  const c10::SymInt size = self.dim() == 1 ? self.sym_size(0) : self.sym_numel();
  TensorSpec spec =
      matrix_vector(size, self.dim(), self.scalar_type(), mat, vec, same_device({self, mat, vec}));
  const bool broadcast = self.dim() != 1 || !proved_equal(size, spec.sizes[0]);
  if (broadcast && !beta.equal(0) && is_empty(mat)) {
    return contiguous_spec(self.sym_sizes(), spec.dtype, spec.device);
  }
  return spec;
}

// The memory is that of the product, also where beta * self takes its place.
Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
             const Scalar& alpha) {
  const TensorSpec spec = addmv_spec(self, mat, vec, beta, alpha);
  Tensor made = make_fake(contiguous_spec({mat.sym_size(0)}, spec.dtype, spec.device));
  if (!proved_equal(spec.sizes, made.sym_sizes())) {
    set_geometry(made, spec.sizes, spec.strides, 0);
  }
  return made;
}

TensorSpec dot_spec(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(self.dim() == 1 && other.dim() == 1, "1D tensors expected, but got ", self.dim(),
              "D and ", other.dim(), "D tensors");
  TORCH_CHECK(self.scalar_type() == other.scalar_type(),
              "dot : expected both vectors to have same dtype, but found ", self.scalar_type(),
              " and ", other.scalar_type());
  TORCH_CHECK(self.sym_size(0) == other.sym_size(0), "inconsistent tensor size, expected tensor [",
              self.sym_size(0), "] and src [", other.sym_size(0),
              "] to have the same number of elements, but got ", self.sym_size(0), " and ",
              other.sym_size(0), " elements respectively");
  const c10::Device device = same_device({self, other});
  if (is_bool(self)) {
    unsupported_dtype("dot", self.scalar_type());
  }
  return contiguous_spec({}, self.scalar_type(), device);
}

// A product of conjugated views is the conjugate of the product without them, as a bit.
Tensor conjugated_if(bool conjugated, const TensorSpec& spec) {
  Tensor made = make_fake(spec);
  if (conjugated) {
    made.unsafeGetTensorImpl()->_set_conj(true);
  }
  return made;
}

Tensor dot(const Tensor& self, const Tensor& other) {
  return conjugated_if(self.is_conj() && other.is_conj(), dot_spec(self, other));
}

Tensor vdot(const Tensor& self, const Tensor& other) {
  return conjugated_if(!self.is_conj() && other.is_conj(), dot_spec(self, other));
}

Tensor& dot_out(const Tensor& self, const Tensor& other, Tensor& out) {
  TORCH_CHECK(out.scalar_type() == self.scalar_type(), "result dtype ", out.scalar_type(),
              " does not match input dtype ", self.scalar_type());
  write_out_strict(out, dot_spec(self, other));
  return out;
}

// Column-major matrices, batch dimensions outermost.
SymDimVector column_major(c10::SymIntArrayRef sizes) {
  SymDimVector strides = contiguous_strides(sizes);
  const std::size_t rank = sizes.size();
  strides[rank - 2] = 1;
  strides[rank - 1] = sizes[rank - 2].max(1);
  return strides;
}

TensorSpecs<2> qr_spec(const Tensor& A, c10::string_view mode) {
  TORCH_CHECK(A.dim() >= 2, "linalg.qr: The input tensor A must have at least 2 dimensions.");
  TORCH_CHECK(c10::isFloatingType(A.scalar_type()) || c10::isComplexType(A.scalar_type()),
              "linalg.qr: Expected a floating point or complex tensor as input. Got ",
              A.scalar_type());
  const bool reduced = mode == "reduced";
  TORCH_CHECK(reduced || mode == "complete" || mode == "r", "qr received unrecognized mode '", mode,
              "' but expected one of 'reduced' (default), 'r', or 'complete'");
  if (c10::isReducedFloatingType(A.scalar_type())) {
    unsupported_dtype("geqrf_cpu", A.scalar_type());
  }
  const auto sizes = A.sym_sizes();
  const std::size_t rank = sizes.size();
  const c10::SymInt& rows = sizes[rank - 2];
  const c10::SymInt inner = mode == "complete" ? rows : rows.min(sizes[rank - 1]);
  SymDimVector q(sizes.begin(), sizes.end());
  SymDimVector r = q;
  q[rank - 1] = inner;
  r[rank - 2] = inner;
  if (mode == "r") {
    q = {0};
  }
  SymDimVector q_strides = mode == "r" ? contiguous_strides(q) : column_major(q);
  SymDimVector r_strides = column_major(r);
  return {TensorSpec{std::move(q), std::move(q_strides), A.scalar_type(), A.device()},
          TensorSpec{std::move(r), std::move(r_strides), A.scalar_type(), A.device()}};
}

std::tuple<Tensor&, Tensor&> qr_out(const Tensor& A, c10::string_view mode, Tensor& Q, Tensor& R) {
  const auto [q, r] = qr_spec(A, mode);
  write_out_strict(Q, q);
  write_out_strict(R, r);
  return {Q, R};
}

MASSLESS_RULES(m) {
  rule<"mm", functional<mm_spec>, MmFlops{}>(m);
  rule<"mm.out", out_strict<mm_spec>, MmFlops{}>(m);
  rule<"addmm", functional<addmm_spec>, AddmmFlops{}>(m);
  rule<"addmm.out", out_strict<addmm_spec>, AddmmFlops{}>(m);
  rule<"addmm_", inplace_strict<addmm_spec>, AddmmFlops{}>(m);
  rule<"_addmm_activation", functional<addmm_activation_spec>, AddmmFlops{}>(m);
  rule<"bmm", functional<bmm_spec>, BmmFlops{}>(m);
  rule<"bmm.out", out_strict<bmm_spec>, BmmFlops{}>(m);
  rule<"baddbmm", functional<baddbmm_spec>, BaddbmmFlops{}>(m);
  rule<"baddbmm.out", out_strict<baddbmm_spec>, BaddbmmFlops{}>(m);
  rule<"baddbmm_", inplace_strict<baddbmm_spec>, BaddbmmFlops{}>(m);
  rule<"addbmm", functional<addbmm_spec>>(m);
  rule<"addbmm.out", out_strict<addbmm_spec>>(m);
  rule<"addbmm_", addbmm_inplace>(m);
  rule<"mv", functional<mv_spec>>(m);
  rule<"mv.out", mv_out>(m);
  rule<"addmv", addmv>(m);
  rule<"addmv.out", out_strict<addmv_spec>>(m);
  rule<"addmv_", inplace_strict<addmv_spec>>(m);
  rule<"dot", dot>(m);
  rule<"dot.out", dot_out>(m);
  rule<"vdot", vdot>(m);
  rule<"vdot.out", dot_out>(m);
  rule<"linalg_qr", functional<qr_spec>>(m);
  rule<"linalg_qr.out", qr_out>(m);
}

}  // namespace
}  // namespace massless
