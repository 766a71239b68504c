// Reductions to sums, extremes, truth values, norms and moments.
#include "rules/reduction.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/WrapDimUtilsMulti.h>

#include <bitset>
#include <limits>
#include <utility>

#include "fake/sizes.h"

namespace massless {

using at::OptionalIntArrayRef;
using at::Scalar;
using at::Tensor;

SymDimVector reduced_sizes(const Tensor& self, OptionalIntArrayRef dims, bool keepdim,
                           EmptyDims empty) {
  const auto sizes = self.sym_sizes();
  TORCH_CHECK(sizes.size() <= 64, "only tensors with up to 64 dims are supported");
  const bool all = !dims || (dims->empty() && empty == EmptyDims::all);
  const auto reduces = all ? std::bitset<64>().flip()
                           : at::dim_list_to_bitset(*dims, static_cast<std::int64_t>(sizes.size()));
  SymDimVector reduced;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!reduces[i]) {
      reduced.push_back(sizes[i]);
    } else if (keepdim) {
      reduced.emplace_back(1);
    }
  }
  return reduced;
}

TensorSpec reduced(const Tensor& self, OptionalIntArrayRef dims, bool keepdim,
                   c10::ScalarType dtype, EmptyDims empty) {
  SymDimVector sizes = reduced_sizes(self, dims, keepdim, empty);
  SymDimVector strides = contiguous_strides(sizes);
  return {std::move(sizes), std::move(strides), dtype, claimed_device(self)};
}

// Without elements no kernel runs.
void check_kernel(const Tensor& self, c10::ScalarType dtype, DtypeSet set, const char* name) {
  if (!takes_dtype(dtype, set, self.device()) && !is_empty(self)) {
    unsupported_dtype(name, dtype);
  }
}

// ATen asks only where there are no elements; a dimension of size 0 says that there are none.
void check_reducible(const Tensor& self, OptionalIntArrayRef dims, const char* name) {
  if (!dims || dims->empty()) {
    TORCH_CHECK_INDEX(!is_empty(self), name,
                      "(): Expected reduction dim to be specified for input.numel() == 0. Specify "
                      "the reduction dim with the 'dim' argument.");
    return;
  }
  for (const std::int64_t dim : *dims) {
    TORCH_CHECK_INDEX(self.dim() == 0 || self.sym_size(dim) != 0, name,
                      "(): Expected reduction dim ", dim, " to have non-zero size.");
  }
}

namespace {

using OptDtype = std::optional<c10::ScalarType>;
using OptScalar = std::optional<Scalar>;

// The length of an optional dimension as a list, for the functions above.
OptionalIntArrayRef as_dims(const std::optional<std::int64_t>& dim) {
  return dim ? OptionalIntArrayRef(at::IntArrayRef(*dim)) : OptionalIntArrayRef();
}

Tensor& write_plain(Tensor& out, const TensorSpec& spec) {
  detail::write_result(out, spec, OutCast::plain, false);
  return out;
}

// sum, nansum and prod: integers are summed as int64; an output's dtype is taken where none is
// asked for.

c10::ScalarType sum_dtype(const Tensor& self, OptDtype dtype) {
  if (dtype) {
    return *dtype;
  }
  return c10::isIntegralType(self.scalar_type(), true) ? c10::kLong : self.scalar_type();
}

TensorSpec sum(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, OptDtype dtype) {
  const auto result = sum_dtype(self, dtype);
  TensorSpec spec = reduced(self, dim, keepdim, result);
  check_kernel(self, result, dtypes::any_number, "sum");
  return spec;
}
TensorSpec sum_all(const Tensor& self, OptDtype dtype) { return sum(self, {}, false, dtype); }
Tensor& sum_out(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, OptDtype dtype,
                Tensor& out) {
  return write_plain(out, sum(self, dim, keepdim, dtype ? *dtype : out.scalar_type()));
}

TensorSpec nansum(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, OptDtype dtype) {
  TensorSpec spec = sum(self, dim, keepdim, dtype);
  TORCH_CHECK(!self.is_complex(), "nansum does not support complex inputs");
  check_kernel(self, spec.dtype, dtypes::any_real, "nansum");
  return spec;
}
Tensor& nansum_out(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, OptDtype dtype,
                   Tensor& out) {
  TORCH_CHECK(!dtype || *dtype == out.scalar_type(),
              "nansum: provided dtype must match dtype of result. Got ", out.scalar_type());
  return write_plain(out, nansum(self, dim, keepdim, dtype ? *dtype : out.scalar_type()));
}

TensorSpec prod(const Tensor& self, std::int64_t dim, bool keepdim, OptDtype dtype) {
  return sum(self, at::IntArrayRef(dim), keepdim, dtype);
}
Tensor& prod_out(const Tensor& self, std::int64_t dim, bool keepdim, OptDtype dtype, Tensor& out) {
  return write_plain(out, prod(self, dim, keepdim, dtype ? *dtype : out.scalar_type()));
}

TensorSpec mean(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, OptDtype dtype) {
  const auto in = dtype.value_or(self.scalar_type());
  TORCH_CHECK(c10::isFloatingType(in) || c10::isComplexType(in),
              "mean(): could not infer output dtype. ", dtype ? "Optional" : "Input",
              " dtype must be either a floating point or complex dtype. Got: ", in);
  return sum(self, dim, keepdim, in);
}
TensorSpec mean_all(const Tensor& self, OptDtype dtype) { return mean(self, {}, false, dtype); }
Tensor& mean_out(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, OptDtype dtype,
                 Tensor& out) {
  TensorSpec spec = mean(self, dim, keepdim, dtype);
  // A sum into the output, which is then divided in place.
  TORCH_CHECK(!c10::isIntegralType(out.scalar_type(), true),
              "result type Float can't be cast to the desired output type ", out.scalar_type());
  spec.dtype = dtype ? *dtype : out.scalar_type();
  return write_plain(out, spec);
}

// Extremes.

template <OpName name>
TensorSpec extreme(const Tensor& self, at::IntArrayRef dim, bool keepdim) {
  TORCH_CHECK(!dim.empty() || !is_empty(self), name.text,
              "(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
              "reduction dim with the 'dim' argument.");
  check_reducible(self, dim, name.text);
  TensorSpec spec = reduced(self, dim, keepdim, self.scalar_type());
  check_kernel(self, self.scalar_type(), dtypes::real_or_bool, name.text);
  return spec;
}
template <OpName name>
Tensor& extreme_out(const Tensor& self, at::IntArrayRef dim, bool keepdim, Tensor& out) {
  TORCH_CHECK(self.scalar_type() == out.scalar_type(),
              "Expected the dtype for input and out to match, but got ", self.scalar_type(),
              " for input's dtype and ", out.scalar_type(), " for out's dtype.");
  return write_plain(out, extreme<name>(self, dim, keepdim));
}
template <OpName name>
TensorSpec extreme_all(const Tensor& self) {
  TORCH_CHECK(!is_empty(self), name.text,
              "(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
              "reduction dim with the 'dim' argument.");
  check_kernel(self, self.scalar_type(), dtypes::real_or_bool, name.text);
  return reduced(self, {}, false, self.scalar_type());
}

// The output's kernel asks for no elements.
template <OpName name>
Tensor& extreme_all_out(const Tensor& self, Tensor& out) {
  check_kernel(self, self.scalar_type(), dtypes::real_or_bool, name.text);
  detail::write_result(out, reduced(self, {}, false, self.scalar_type()), OutCast::loose, false);
  return out;
}

using Pair = TensorSpecs<2>;

Pair with_indices(TensorSpec values) {
  TensorSpec indices = values;
  indices.dtype = c10::kLong;
  return {std::move(values), std::move(indices)};
}
std::tuple<Tensor&, Tensor&> write_pair(const Pair& specs, Tensor& first, Tensor& second) {
  write_plain(first, specs[0]);
  write_plain(second, specs[1]);
  return {first, second};
}

template <OpName name>
Pair extreme_dim(const Tensor& self, std::int64_t dim, bool keepdim) {
  const std::int64_t wrapped = at::maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK(!self.is_complex(), name.text, "(): does not support complex input");
  check_reducible(self, at::IntArrayRef(wrapped), name.text);
  check_kernel(self, self.scalar_type(), dtypes::real_or_bool, name.text);
  return with_indices(reduced(self, at::IntArrayRef(wrapped), keepdim, self.scalar_type()));
}
template <OpName name>
std::tuple<Tensor&, Tensor&> extreme_dim_out(const Tensor& self, std::int64_t dim, bool keepdim,
                                             Tensor& values, Tensor& indices) {
  return write_pair(extreme_dim<name>(self, dim, keepdim), values, indices);
}

Pair aminmax(const Tensor& self, std::optional<std::int64_t> dim, bool keepdim) {
  TORCH_CHECK(dim || !is_empty(self),
              "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
              "identity.");
  check_reducible(self, as_dims(dim), "aminmax");
  TensorSpec spec = reduced(self, as_dims(dim), keepdim, self.scalar_type());
  check_kernel(self, self.scalar_type(), dtypes::real_or_bool, "aminmax");
  return {spec, spec};
}
std::tuple<Tensor&, Tensor&> aminmax_out(const Tensor& self, std::optional<std::int64_t> dim,
                                         bool keepdim, Tensor& min, Tensor& max) {
  return write_pair(aminmax(self, dim, keepdim), min, max);
}

template <OpName name>
TensorSpec arg_extreme(const Tensor& self, std::optional<std::int64_t> dim, bool keepdim) {
  check_dtype(name.text, self.scalar_type(), dtypes::real, self.device());
  check_reducible(self, as_dims(dim), name.text);
  return reduced(self, as_dims(dim), keepdim, c10::kLong);
}

// Truth values: bool, but uint8 for uint8 (and whichever of the two an output has).

c10::ScalarType truth_dtype(const Tensor& self) {
  return self.scalar_type() == c10::kByte ? c10::kByte : c10::kBool;
}
TensorSpec truth_dims(const Tensor& self, OptionalIntArrayRef dim, bool keepdim) {
  return reduced(self, dim, keepdim, truth_dtype(self), EmptyDims::none);
}
TensorSpec truth_dim(const Tensor& self, std::int64_t dim, bool keepdim) {
  return reduced(self, at::IntArrayRef(dim), keepdim, truth_dtype(self));
}
TensorSpec truth_all(const Tensor& self) { return reduced(self, {}, false, truth_dtype(self)); }

template <auto spec, class Sig = decltype(spec)>
struct TruthOut;
template <auto spec, class... A>
struct TruthOut<spec, TensorSpec (*)(A...)> {
  static Tensor& call(A... args, Tensor& out) {
    TORCH_CHECK(out.scalar_type() == c10::kBool || out.scalar_type() == c10::kByte,
                "all and any only support bool tensor for result, got: ", out.scalar_type());
    TensorSpec result = spec(args...);
    result.dtype = out.scalar_type();
    return write_plain(out, result);
  }
};

TensorSpec count_nonzero(const Tensor& self, at::IntArrayRef dim) {
  check_kernel(self, self.scalar_type(), dtypes::number_or_bool | dtypes::half_complex,
               "count_nonzero");
  return reduced(self, dim, false, c10::kLong);
}
TensorSpec count_nonzero_dim(const Tensor& self, std::optional<std::int64_t> dim) {
  return count_nonzero(self, dim ? at::IntArrayRef(*dim) : at::IntArrayRef());
}

// Norms.

void check_norm_dtype(const Tensor& self, OptDtype dtype, const char* name) {
  const auto in = self.scalar_type();
  TORCH_CHECK(c10::isFloatingType(in) || c10::isComplexType(in), name,
              ": Expected a floating point or complex tensor as input. Got ", in);
  if (dtype) {
    TORCH_CHECK(c10::isFloatingType(*dtype) || c10::isComplexType(*dtype), name,
                ": dtype should be floating point or complex. Got ", *dtype);
    TORCH_CHECK(c10::isComplexType(in) == c10::isComplexType(*dtype), name, ": dtype should be ",
                c10::isComplexType(in) ? "complex" : "real", " for ",
                c10::isComplexType(in) ? "complex" : "real", " inputs, but got ", *dtype);
    TORCH_CHECK(c10::promoteTypes(in, *dtype) == *dtype, name, ": the dtype of the input (", in,
                ") should be convertible without narrowing to the specified dtype (", *dtype, ")");
  }
}

// Norms of no elements exist only where the norm has a neutral element.
void check_norm_elements(const Tensor& self, double order, OptionalIntArrayRef dim) {
  if (order >= 0 && order != std::numeric_limits<double>::infinity()) {
    return;
  }
  if (!dim || dim->empty()) {
    TORCH_CHECK(!is_empty(self), "linalg.vector_norm cannot compute the ", order,
                " norm on an empty tensor because the operation does not have an identity");
    return;
  }
  for (const std::int64_t d : *dim) {
    TORCH_CHECK(self.dim() == 0 || self.sym_size(d) != 0, "linalg.vector_norm cannot compute the ",
                order, " norm on the dimension ", d,
                " because this dimension is empty and the operation does not have an identity");
  }
}

TensorSpec vector_norm(const Tensor& self, const Scalar& order, OptionalIntArrayRef dim,
                       bool keepdim, OptDtype dtype) {
  check_norm_dtype(self, dtype, "linalg.vector_norm");
  TORCH_CHECK(!order.isComplex(), "linalg.vector_norm: Expected a non-complex scalar as the order ",
              "of norm.");
  check_norm_elements(self, order.toDouble(), dim);
  return reduced(self, dim, keepdim, c10::toRealValueType(dtype.value_or(self.scalar_type())));
}

// The sum of |x|^order: of no elements it is 0 for every order, and any dtype is converted.
TensorSpec powsum(const Tensor& self, const Scalar& order, OptionalIntArrayRef dim, bool keepdim,
                  OptDtype dtype) {
  TORCH_CHECK(!order.isComplex(), "linalg__powsum: Expected a non-complex scalar as the order.");
  const c10::ScalarType result = c10::toRealValueType(dtype.value_or(self.scalar_type()));
  TORCH_CHECK(c10::isFloatingType(result), "\"powsum\" not implemented for '", result, "'");
  return reduced(self, dim, keepdim, result);
}

// Without a dtype of its own an order is checked as linalg.vector_norm does; 2 stands for none.
void check_norm(const Tensor& self, const OptScalar& p, at::IntArrayRef dim, OptDtype dtype) {
  check_norm_dtype(self, dtype, "norm");
  if (p) {
    TORCH_CHECK(!p->isComplex(), "linalg.vector_norm: Expected a non-complex scalar as the order ",
                "of norm.");
    check_norm_elements(self, p->toDouble(), dim);
  }
}
void check_norm_float(c10::ScalarType dtype, const char* what) {
  TORCH_CHECK(c10::isFloatingType(dtype) || c10::isComplexType(dtype), "norm(): ", what,
              " dtype should be either floating point or complex. Got ", dtype, " instead.");
}
TensorSpec norm_dim(const Tensor& self, const OptScalar& p, at::IntArrayRef dim, bool keepdim) {
  check_norm_float(self.scalar_type(), "input");
  TensorSpec spec = reduced(self, dim, keepdim, self.scalar_type());
  check_norm(self, p, dim, std::nullopt);
  spec.dtype = c10::toRealValueType(self.scalar_type());
  return spec;
}
TensorSpec norm_dtype(const Tensor& self, const OptScalar& p, at::IntArrayRef dim, bool keepdim,
                      c10::ScalarType dtype) {
  check_norm_float(dtype, "the desired output");
  TensorSpec spec = reduced(self, dim, keepdim, dtype);
  check_norm(self, p, dim, dtype);
  spec.dtype = c10::toRealValueType(dtype);
  return spec;
}
TensorSpec norm_all(const Tensor& self, const Scalar& p) {
  return norm_dim(self, OptScalar(p), {}, false);
}

// Moments.

TensorSpec moment(const Tensor& self, OptionalIntArrayRef dim, const OptScalar& correction,
                  bool keepdim) {
  if (correction) {
    check_number(*correction, c10::kDouble);
  }
  TORCH_CHECK(c10::isFloatingType(self.scalar_type()) || c10::isComplexType(self.scalar_type()),
              "std and var only support floating point and complex dtypes");
  return reduced(self, dim, keepdim, c10::toRealValueType(self.scalar_type()));
}
// The dtype of an output is computed in.
Tensor& moment_out(const Tensor& self, OptionalIntArrayRef dim, const OptScalar& correction,
                   bool keepdim, Tensor& out) {
  TensorSpec spec = moment(self, dim, correction, keepdim);
  TORCH_CHECK(!c10::isIntegralType(out.scalar_type(), true),
              "result type Float can't be cast to the desired output type ", out.scalar_type());
  check_dtype("std", out.scalar_type(),
              self.is_complex() ? dtypes::floats | dtypes::complexes : dtypes::floats,
              self.device());
  spec.dtype = out.scalar_type();
  return write_plain(out, spec);
}
Pair moment_and_mean(const Tensor& self, OptionalIntArrayRef dim, const OptScalar& correction,
                     bool keepdim) {
  TensorSpec first = moment(self, dim, correction, keepdim);
  TensorSpec second = first;
  second.dtype = self.scalar_type();
  return {std::move(first), std::move(second)};
}

TensorSpec logsumexp(const Tensor& self, at::IntArrayRef dim, bool keepdim) {
  TORCH_CHECK(!dim.empty() || keepdim || self.dim() == 0 || is_empty(self),
              "logsumexp(): an empty list of dimensions reduces all of them, which needs keepdim");
  check_kernel(self, self.scalar_type(), dtypes::any_number, "logsumexp");
  return reduced(self, dim, keepdim, to_float(self.scalar_type()));
}

// The output's dtype is computed in.
Tensor& logsumexp_out(const Tensor& self, at::IntArrayRef dim, bool keepdim, Tensor& out) {
  TORCH_CHECK(
      c10::isFloatingType(out.scalar_type()) || c10::isComplexType(out.scalar_type()),
      "logsumexp(): Expected floating point type for result tensor, but got: ", out.scalar_type());
  TensorSpec spec = logsumexp(self, dim, keepdim);
  spec.dtype = out.scalar_type();
  return write_plain(out, spec);
}

TensorSpec trace(const Tensor& self) {
  TORCH_CHECK(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
  check_dtype("trace", self.scalar_type(), dtypes::number, self.device());
  return reduced(self, {}, false, sum_dtype(self, std::nullopt));
}

template <auto spec>
inline constexpr auto plain_out = iter_out<spec, OutCast::plain>;
template <auto spec>
inline constexpr auto truth_out = &TruthOut<spec>::call;

MASSLESS_RULES(m) {
  rule<"sum", functional<sum_all>>(m);
  rule<"sum.dim_IntList", functional<sum>>(m);
  rule<"sum.IntList_out", sum_out>(m);
  rule<"nansum", functional<nansum>>(m);
  rule<"nansum.out", nansum_out>(m);
  rule<"prod", functional<sum_all>>(m);
  rule<"prod.dim_int", functional<prod>>(m);
  rule<"prod.int_out", prod_out>(m);
  rule<"mean", functional<mean_all>>(m);
  rule<"mean.dim", functional<mean>>(m);
  rule<"mean.out", mean_out>(m);
  rule<"amax", functional<extreme<"amax">>>(m);
  rule<"amax.out", extreme_out<"amax">>(m);
  rule<"amin", functional<extreme<"amin">>>(m);
  rule<"amin.out", extreme_out<"amin">>(m);
  rule<"max", functional<extreme_all<"max">>>(m);
  rule<"max.unary_out", extreme_all_out<"max">>(m);
  rule<"min", functional<extreme_all<"min">>>(m);
  rule<"min.unary_out", extreme_all_out<"min">>(m);
  rule<"max.dim", functional<extreme_dim<"max">>>(m);
  rule<"max.dim_max", extreme_dim_out<"max">>(m);
  rule<"min.dim", functional<extreme_dim<"min">>>(m);
  rule<"min.dim_min", extreme_dim_out<"min">>(m);
  rule<"aminmax", functional<aminmax>>(m);
  rule<"aminmax.out", aminmax_out>(m);
  rule<"argmax", functional<arg_extreme<"argmax">>>(m);
  rule<"argmax.out", plain_out<arg_extreme<"argmax">>>(m);
  rule<"argmin", functional<arg_extreme<"argmin">>>(m);
  rule<"argmin.out", plain_out<arg_extreme<"argmin">>>(m);
}

MASSLESS_RULES(m) {
  rule<"all", functional<truth_all>>(m);
  rule<"all.all_out", truth_out<truth_all>>(m);
  rule<"all.dim", functional<truth_dim>>(m);
  rule<"all.out", truth_out<truth_dim>>(m);
  rule<"all.dims", functional<truth_dims>>(m);
  rule<"all.dims_out", truth_out<truth_dims>>(m);
  rule<"any", functional<truth_all>>(m);
  rule<"any.all_out", truth_out<truth_all>>(m);
  rule<"any.dim", functional<truth_dim>>(m);
  rule<"any.out", truth_out<truth_dim>>(m);
  rule<"any.dims", functional<truth_dims>>(m);
  rule<"any.dims_out", truth_out<truth_dims>>(m);
  rule<"count_nonzero", functional<count_nonzero_dim>>(m);
  rule<"count_nonzero.dim_IntList", functional<count_nonzero>>(m);
  rule<"linalg__powsum", functional<powsum>>(m);
  rule<"linalg_vector_norm", functional<vector_norm>>(m);
  rule<"linalg_vector_norm.out", plain_out<vector_norm>>(m);
  rule<"norm.Scalar", functional<norm_all>>(m);
  rule<"norm.ScalarOpt_dim", functional<norm_dim>>(m);
  rule<"norm.out", plain_out<norm_dim>>(m);
  rule<"norm.ScalarOpt_dim_dtype", functional<norm_dtype>>(m);
  rule<"norm.dtype_out", plain_out<norm_dtype>>(m);
  rule<"var.correction", functional<moment>>(m);
  rule<"var.correction_out", moment_out>(m);
  rule<"std.correction", functional<moment>>(m);
  rule<"std.correction_out", moment_out>(m);
  rule<"var_mean.correction", functional<moment_and_mean>>(m);
  rule<"std_mean.correction", functional<moment_and_mean>>(m);
  rule<"logsumexp", functional<logsumexp>>(m);
  rule<"logsumexp.out", logsumexp_out>(m);
  rule<"trace", functional<trace>>(m);
}

}  // namespace
}  // namespace massless
