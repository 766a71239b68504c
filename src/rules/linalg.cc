// Matrix factorisations that have no meta kernel, and what their composites check.
#include <ATen/core/Tensor.h>

#include <string_view>
#include <tuple>
#include <utility>

#include "fake/device.h"
#include "fake/rule.h"
#include "rules/strict.h"

namespace massless {
namespace {

using at::Tensor;
using c10::SymInt;

// inv, solve, cholesky, lu_factor, matrix_power ... ask here whether LAPACK met a singular matrix.
// That is for the values to tell; a fake takes them for good, as it does with indices.
void check_errors(const Tensor&, std::string_view, bool) {}

// Batches of matrices as LAPACK wants them: each column contiguous.
SymDimVector column_major(c10::SymIntArrayRef sizes) {
  SymDimVector strides = contiguous_strides(sizes);
  const SymInt& rows = sizes[sizes.size() - 2];
  strides[sizes.size() - 2] = 1;
  strides[sizes.size() - 1] = rows.max(1);
  return strides;
}

TensorSpecs<2> geqrf_spec(const Tensor& self) {
  TORCH_CHECK(self.dim() >= 2, "torch.geqrf: input must have at least 2 dimensions.");
  const c10::ScalarType dtype = self.scalar_type();
  TORCH_CHECK(dtype == c10::kFloat || dtype == c10::kDouble || dtype == c10::kComplexFloat ||
                  dtype == c10::kComplexDouble,
              "\"geqrf\" not implemented for '", dtype, "'");
  const c10::Device device = common_device(self);
  TensorSpec factors{SymDimVector(self.sym_sizes()), column_major(self.sym_sizes()), dtype, device};
  SymDimVector tau(self.sym_sizes().slice(0, self.dim() - 2));
  tau.push_back(self.sym_size(-2).min(self.sym_size(-1)));
  return {std::move(factors), contiguous_spec(tau, dtype, device)};
}

// As ATen: LAPACK writes into `a` itself if it can stay or become column-major; else what it made
// is copied, and an output of wrong size is resized contiguously.
std::tuple<Tensor&, Tensor&> geqrf_out(const Tensor& self, Tensor& a, Tensor& tau) {
  auto [factors, scales] = geqrf_spec(self);
  const bool same_dtypes = a.scalar_type() == factors.dtype && tau.scalar_type() == factors.dtype;
  const bool tau_fits =
      is_empty(tau) || (tau.sym_sizes().equals(scales.sizes) && tau.is_contiguous());
  const bool a_fits =
      is_empty(a) || (a.sym_sizes().equals(factors.sizes) && a.mT().is_contiguous());
  if (!same_dtypes || !tau_fits || !a_fits) {
    factors.strides = contiguous_strides(factors.sizes);
  }
  write_out(a, factors);
  write_out(tau, scales);
  return {a, tau};
}

MASSLESS_RULES(m) {
  rule<"_linalg_check_errors", check_errors>(m);
  rule<"geqrf", functional<geqrf_spec>>(m);
  rule<"geqrf.a", geqrf_out>(m);
}

}  // namespace
}  // namespace massless
