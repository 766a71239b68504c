// Operators along one dimension: cumulative ones, sorting and selection.
#include <ATen/WrapDimUtils.h>
#include <ATen/core/Tensor.h>

#include <utility>

#include "fake/sizes.h"
#include "rules/iterator.h"
#include "rules/reduction.h"
#include "rules/strict.h"

namespace massless {
namespace {

using at::Tensor;
using OptDtype = std::optional<c10::ScalarType>;
using Pair = TensorSpecs<2>;

Pair with_indices(TensorSpec values) {
  TensorSpec indices = values;
  indices.dtype = c10::kLong;
  return {std::move(values), std::move(indices)};
}
std::tuple<Tensor&, Tensor&> write_pair(const Pair& specs, Tensor& values, Tensor& indices) {
  detail::write_result(values, std::get<0>(specs), OutCast::plain, false);
  detail::write_result(indices, std::get<1>(specs), OutCast::plain, false);
  return {values, indices};
}
template <auto spec, class Sig = decltype(spec)>
struct PairOut;
template <auto spec, class... A>
struct PairOut<spec, Pair (*)(A...)> {
  static std::tuple<Tensor&, Tensor&> call(A... args, Tensor& values, Tensor& indices) {
    return write_pair(spec(args...), values, indices);
  }
};
// kthvalue and median read their input after the outputs' first writes: it may not overlap them.
template <auto spec, class Sig = decltype(spec)>
struct SelectedOut;
template <auto spec, class... A>
struct SelectedOut<spec, Pair (*)(const Tensor&, A...)> {
  static std::tuple<Tensor&, Tensor&> call(const Tensor& self, A... args, Tensor& values,
                                           Tensor& indices) {
    TORCH_CHECK(!self.is_same(values), "unsupported operation: some elements of the input tensor ",
                "and the written-to tensor refer to a single memory location. Please clone() the ",
                "tensor before performing the operation.");
    detail::check_overlap(values, self);
    return write_pair(spec(self, args...), values, indices);
  }
};
template <auto spec>
inline constexpr auto selected_out = &SelectedOut<spec>::call;
template <auto spec>
inline constexpr auto pair_out = &PairOut<spec>::call;

TensorSpec plain_like(const Tensor& self, c10::ScalarType dtype) {
  return contiguous_spec(self.sym_sizes(), dtype, claimed_device(self));
}

// cumsum and cumprod: integers count as int64 unless a dtype or an output says otherwise.
TensorSpec cumulative(const Tensor& self, std::int64_t dim, OptDtype dtype) {
  at::maybe_wrap_dim(dim, self.dim());
  const auto own = self.scalar_type();
  const auto result = dtype.value_or(c10::isIntegralType(own, true) ? c10::kLong : own);
  check_kernel(self, result, dtypes::number | dtypes::wide_unsigned, "cumsum");
  return plain_like(self, result);
}
Tensor& cumulative_out(const Tensor& self, std::int64_t dim, OptDtype dtype, Tensor& out) {
  detail::write_result(out, cumulative(self, dim, dtype ? *dtype : out.scalar_type()),
                       OutCast::plain, false);
  return out;
}
Tensor& cumulative_inplace(Tensor& self, std::int64_t dim, OptDtype dtype) {
  detail::write_inplace(self, cumulative(self, dim, dtype ? *dtype : self.scalar_type()),
                        OutCast::same);
  return self;
}

TensorSpec logcumsumexp(const Tensor& self, std::int64_t dim) {
  at::maybe_wrap_dim(dim, self.dim());
  check_dtype("logcumsumexp", self.scalar_type(), dtypes::floats | dtypes::complexes,
              self.device());
  return plain_like(self, self.scalar_type());
}

// Without elements nothing is checked.
Pair cumulative_extreme(const Tensor& self, std::int64_t dim) {
  const bool in_range = dim >= -self.dim() && dim < self.dim();
  const bool good =
      in_range && takes_dtype(self.scalar_type(), dtypes::real_or_bool, self.device());
  if (self.dim() == 0) {
    at::maybe_wrap_dim(dim, std::int64_t{0});
  } else if (!good && !is_empty(self)) {
    at::maybe_wrap_dim(dim, self.dim());
    unsupported_dtype("cummax", self.scalar_type());
  }
  return with_indices(plain_like(self, self.scalar_type()));
}
// Writes into tensors that its callers have sized.
void cumulative_extreme_helper(const Tensor& self, Tensor& values, Tensor& indices, std::int64_t) {
  check_dtype("cummax", self.scalar_type(), dtypes::real_or_bool, self.device());
  TORCH_CHECK(values.scalar_type() == self.scalar_type(), "expected scalar type ",
              self.scalar_type(), " but found ", values.scalar_type());
  TORCH_CHECK(indices.scalar_type() == c10::kLong, "expected scalar type Long but found ",
              indices.scalar_type());
  check_sizes(values, self.sym_sizes(), "values");
  check_sizes(indices, self.sym_sizes(), "indices");
}

// Sorting keeps the order of the dimensions, densely.
Pair sort_stable(const Tensor& self, std::optional<bool>, std::int64_t dim, bool) {
  at::maybe_wrap_dim(dim, self.dim());
  check_dtype("sort", self.scalar_type(), dtypes::any_real, self.device());
  return with_indices(like_spec(self, self.scalar_type()));
}
Pair sort(const Tensor& self, std::int64_t dim, bool descending) {
  return sort_stable(self, false, dim, descending);
}

Pair topk(const Tensor& self, c10::SymInt k, std::int64_t dim, bool, bool) {
  const std::int64_t wrapped = at::maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK(k >= 0 && k <= (self.dim() > 0 ? self.sym_size(wrapped) : c10::SymInt(1)),
              "selected index k out of range");
  check_dtype("topk", self.scalar_type(), dtypes::real, self.device());
  TensorSpec spec = plain_like(self, self.scalar_type());
  if (self.dim() > 0) {
    spec.sizes[wrapped] = k;
    spec.strides = contiguous_strides(spec.sizes);
  }
  return with_indices(std::move(spec));
}

// kthvalue, median and mode: values and where they were found.
Pair selected(const Tensor& self, std::int64_t dim, bool keepdim, const char* name, DtypeSet set) {
  const std::int64_t wrapped = at::maybe_wrap_dim(dim, self.dim());
  check_reducible(self, at::IntArrayRef(wrapped), name);
  if (self.dim() != 0) {
    check_kernel(self, self.scalar_type(), set, name);
  }
  return with_indices(reduced(self, at::IntArrayRef(wrapped), keepdim, self.scalar_type()));
}
Pair kthvalue(const Tensor& self, c10::SymInt k, std::int64_t dim, bool keepdim) {
  const std::int64_t wrapped = at::maybe_wrap_dim(dim, self.dim());
  check_reducible(self, at::IntArrayRef(wrapped), "kthvalue");
  TORCH_CHECK(k >= 1 && k <= (self.dim() > 0 ? self.sym_size(wrapped) : c10::SymInt(1)),
              "kthvalue(): selected number k out of range for dimension ", wrapped);
  return selected(self, dim, keepdim, "kthvalue", dtypes::real);
}
Pair median_dim(const Tensor& self, std::int64_t dim, bool keepdim) {
  const std::int64_t wrapped = at::maybe_wrap_dim(dim, self.dim());
  check_reducible(self, at::IntArrayRef(wrapped), "median");
  check_dtype("median", self.scalar_type(), dtypes::real, self.device());
  return selected(self, dim, keepdim, "median", dtypes::real);
}
Pair mode(const Tensor& self, std::int64_t dim, bool keepdim) {
  return selected(self, dim, keepdim, "mode", dtypes::real_or_bool);
}
TensorSpec median(const Tensor& self) {
  check_kernel(self, self.scalar_type(), dtypes::real, "median");
  return reduced(self, {}, false, self.scalar_type());
}

MASSLESS_RULES(m) {
  rule<"cumsum", functional<cumulative>>(m);
  rule<"cumsum_", cumulative_inplace>(m);
  rule<"cumsum.out", cumulative_out>(m);
  rule<"cumprod", functional<cumulative>>(m);
  rule<"cumprod_", cumulative_inplace>(m);
  rule<"cumprod.out", cumulative_out>(m);
  two_forms<"logcumsumexp", "logcumsumexp.out", logcumsumexp, OutCast::plain>(m);
  two_forms<"_logcumsumexp", "_logcumsumexp.out", logcumsumexp, OutCast::plain>(m);
  rule<"cummax", functional<cumulative_extreme>>(m);
  rule<"cummin", functional<cumulative_extreme>>(m);
  rule<"cummax.out", pair_out<cumulative_extreme>>(m);
  rule<"cummin.out", pair_out<cumulative_extreme>>(m);
  rule<"_cummax_helper", cumulative_extreme_helper>(m);
  rule<"_cummin_helper", cumulative_extreme_helper>(m);
  rule<"sort", functional<sort>>(m);
  rule<"sort.stable", functional<sort_stable>>(m);
  rule<"sort.values_stable", pair_out<sort_stable>>(m);
  rule<"topk", functional<topk>>(m);
  rule<"topk.values", pair_out<topk>>(m);
  rule<"kthvalue", functional<kthvalue>>(m);
  rule<"kthvalue.values", selected_out<kthvalue>>(m);
  rule<"median", functional<median>>(m);
  rule<"median.dim", functional<median_dim>>(m);
  rule<"median.dim_values", selected_out<median_dim>>(m);
  rule<"nanmedian", functional<median>>(m);
  rule<"nanmedian.dim", functional<median_dim>>(m);
  rule<"nanmedian.dim_values", selected_out<median_dim>>(m);
  rule<"mode", functional<mode>>(m);
  rule<"mode.values", pair_out<mode>>(m);
}

}  // namespace
}  // namespace massless
