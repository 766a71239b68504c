// Pointwise operators of one tensor.
#include <ATen/core/Tensor.h>
#include <ATen/native/TypeProperties.h>

#include <string_view>

#include "rules/iterator.h"

namespace massless {
namespace {

using at::Scalar;
using at::Tensor;

// Integers become floats.
TensorSpec float_unary(const Tensor& self, DtypeSet set, const char* name) {
  check_dtype(name, self.scalar_type(), set, self.device());
  const auto dtype = to_float(self.scalar_type());
  return iterate(operands(self), false, dtype, dtype);
}
template <OpName name, DtypeSet set>
TensorSpec float_spec(const Tensor& self) {
  return float_unary(self, set, name.text);
}

// Every input keeps its dtype; the output must have it, too.
TensorSpec same_unary(const Tensor& self, DtypeSet set, const char* name) {
  check_dtype(name, self.scalar_type(), set, self.device());
  return iterate(operands(self), false, self.scalar_type(), self.scalar_type());
}
template <OpName name, DtypeSet set, class... Numbers>
TensorSpec same_spec(const Tensor& self, Numbers... numbers) {
  (check_number(numbers, self.scalar_type()), ...);
  return same_unary(self, set, name.text);
}

template <OpName name, DtypeSet set>
TensorSpec bool_spec(const Tensor& self) {
  check_dtype(name.text, self.scalar_type(), set, self.device());
  return iterate(operands(self), false, self.scalar_type(), c10::kBool);
}

template <OpName name, DtypeSet set = dtypes::any_number>
void float_rules(torch::Library& m) {
  three_forms<name, name + OpName("_"), name + OpName(".out"), float_spec<name, set>>(m);
}
template <OpName name, DtypeSet set = dtypes::any_real>
void float_rules_no_inplace(torch::Library& m) {
  two_forms<name, name + OpName(".out"), float_spec<name, set>>(m);
}
template <OpName name, DtypeSet set>
void same_rules(torch::Library& m) {
  three_forms<name, name + OpName("_"), name + OpName(".out"), same_spec<name, set>, OutCast::same>(
      m);
}

TensorSpec abs_spec(const Tensor& self) {
  return self.is_complex() ? like_spec(self, c10::toRealValueType(self.scalar_type()))
                           : same_unary(self, dtypes::real | dtypes::float8, "abs");
}
TensorSpec angle_spec(const Tensor& self) {
  return self.is_complex()
             ? contiguous_spec(self.sym_sizes(), c10::toRealValueType(self.scalar_type()),
                               claimed_device(self))
             : float_unary(self, dtypes::any_real, "angle");
}

// An output takes a complex result where it is complex itself, and else a contiguous copy.
template <auto spec>
Tensor& complex_to_real_out(const Tensor& self, Tensor& out) {
  TensorSpec result = spec(self);
  if (self.is_complex()) {
    result = out.is_complex() ? same_unary(self, dtypes::number, "abs")
                              : contiguous_spec(self.sym_sizes(), result.dtype, result.device);
  }
  const bool same = !self.is_complex() && spec == &abs_spec;
  detail::check_overlap(out, self);
  detail::write_result(out, result, same ? OutCast::same : OutCast::safe, out.is_same(self));
  return out;
}

Tensor& abs_inplace(Tensor& self) {
  TORCH_CHECK(!self.is_complex(), "In-place abs is not supported for complex tensors.");
  detail::write_inplace(self, abs_spec(self), OutCast::same);
  return self;
}

TensorSpec neg_spec(const Tensor& self) {
  TORCH_CHECK(self.scalar_type() != c10::kBool,
              "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
              "invert a mask, use the `~` or `logical_not()` operator instead.");
  return same_unary(self, dtypes::number | dtypes::half_complex, "neg");
}

TensorSpec sign_spec(const Tensor& self) {
  TORCH_CHECK(!self.is_complex(),
              "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use "
              "torch.sgn instead.");
  return same_unary(self, dtypes::real_or_bool, "sign");
}

template <OpName name>
TensorSpec rounding_spec(const Tensor& self) {
  TORCH_CHECK(!self.is_complex(), name.text, " is not supported for complex inputs");
  return same_unary(self, dtypes::real | dtypes::wide_unsigned, name.text);
}
template <OpName name>
void rounding_rules(torch::Library& m) {
  three_forms<name, name + OpName("_"), name + OpName(".out"), rounding_spec<name>, OutCast::same>(
      m);
}

TensorSpec round_decimals_spec(const Tensor& self, std::int64_t) {
  return same_unary(self, dtypes::floats, "round");
}

// Integers are never looked at: the result is made like self.
TensorSpec isinf_spec(const Tensor& self) {
  return c10::isIntegralType(self.scalar_type(), true) ? like_spec(self, c10::kBool)
                                                       : bool_spec<"isinf", dtypes::all>(self);
}

// Bool outputs only.
template <OpName name>
TensorSpec real_test_spec(const Tensor& self) {
  TORCH_CHECK(!self.is_complex(), name.text, " does not support complex inputs.");
  return iterate(operands(self), false, self.scalar_type(), c10::kBool);
}
template <OpName name>
void real_test_rules(torch::Library& m) {
  two_forms<name, name + OpName(".out"), real_test_spec<name>, OutCast::same>(m);
}

TensorSpec relu_spec(const Tensor& self) {
  TORCH_CHECK(self.scalar_type() != c10::kBool, "Boolean inputs not supported for relu");
  return same_unary(self, dtypes::real, "relu");
}

TensorSpec gelu_spec(const Tensor& self, std::string_view approximate) {
  TORCH_CHECK(approximate == "none" || approximate == "tanh",
              "approximate argument must be either none or tanh.");
  return same_unary(self, dtypes::floats, "gelu");
}

TensorSpec softshrink_spec(const Tensor& self, const Scalar& lambd) {
  TORCH_CHECK(lambd.toDouble() >= 0, "lambda must be greater or equal to 0, but found to be ",
              lambd.toDouble(), ".");
  return same_unary(self, dtypes::floats, "softshrink");
}

// hardtanh clamps into a tensor that is made like self.
TensorSpec hardtanh_spec(const Tensor& self, const Scalar& min, const Scalar& max) {
  TORCH_CHECK(self.scalar_type() != c10::kBool, "Bool inputs not supported for hardtanh");
  TORCH_CHECK(self.scalar_type() != c10::kByte || (min.toDouble() >= 0 && max.toDouble() >= 0),
              "cannot do hardtanh on an unsigned type with negative limits");
  check_number(min, self.scalar_type());
  check_number(max, self.scalar_type());
  check_dtype("hardtanh", self.scalar_type(), dtypes::real, self.device());
  return like_spec(self, self.scalar_type());
}

TensorSpec logit_spec(const Tensor& self, std::optional<double>) {
  return float_unary(self, dtypes::any_real, "logit");
}

TensorSpec polygamma_spec(std::int64_t n, const Tensor& self) {
  TORCH_CHECK(n >= 0, "polygamma(n, x) does not support negative n.");
  return float_unary(self, dtypes::any_real, "polygamma");
}
Tensor& polygamma_inplace(Tensor& self, std::int64_t n) {
  detail::write_inplace(self, polygamma_spec(n, self), OutCast::safe);
  return self;
}

using OptDouble = std::optional<double>;
TensorSpec nan_to_num_spec(const Tensor& self, OptDouble, OptDouble, OptDouble) {
  check_dtype("nan_to_num", self.scalar_type(), dtypes::any_number, self.device());
  return like_spec(self, self.scalar_type());
}
// Integers are only copied.
Tensor& nan_to_num_out(const Tensor& self, OptDouble, OptDouble, OptDouble, Tensor& out) {
  if (c10::isIntegralType(self.scalar_type(), true)) {
    detail::write_result(
        out, contiguous_spec(self.sym_sizes(), self.scalar_type(), claimed_device(self)),
        OutCast::plain, out.is_same(self));
    return out;
  }
  detail::check_overlap(out, self);
  detail::write_result(out, same_unary(self, dtypes::number, "nan_to_num"), OutCast::same,
                       out.is_same(self));
  return out;
}
Tensor& nan_to_num_inplace(Tensor& self, OptDouble nan, OptDouble posinf, OptDouble neginf) {
  return nan_to_num_out(self, nan, posinf, neginf, self);
}

TensorSpec conj_physical_like(const Tensor& self) { return like_spec(self, self.scalar_type()); }
TensorSpec conj_physical_spec(const Tensor& self) {
  return same_unary(self, dtypes::all, "conj_physical");
}
Tensor& conj_physical_inplace(Tensor& self) {
  if (self.is_complex()) {
    detail::write_inplace(self, conj_physical_spec(self), OutCast::same);
  }
  return self;
}

TensorSpec triangle_spec(const Tensor& self, std::int64_t) {
  TORCH_CHECK(self.dim() >= 2, "tril: input tensor must have at least 2 dimensions");
  check_dtype("tril", self.scalar_type(), dtypes::number_or_bool | dtypes::half_complex,
              self.device());
  return contiguous_spec(self.sym_sizes(), self.scalar_type(), operands_device(operands(self)));
}

MASSLESS_RULES(m) {
  float_rules<"acos">(m);
  float_rules<"acosh">(m);
  float_rules<"asin">(m);
  float_rules<"asinh">(m);
  float_rules<"atan">(m);
  float_rules<"atanh">(m);
  float_rules<"cos">(m);
  float_rules<"cosh">(m);
  float_rules<"digamma", dtypes::any_real>(m);
  float_rules<"erf", dtypes::any_real>(m);
  float_rules<"erfc", dtypes::any_real>(m);
  float_rules<"erfinv", dtypes::any_real>(m);
  float_rules<"exp">(m);
  float_rules<"exp2">(m);
  float_rules<"expm1">(m);
  float_rules<"i0", dtypes::any_real>(m);
  float_rules<"lgamma", dtypes::any_real>(m);
  float_rules<"log">(m);
  float_rules<"log10">(m);
  float_rules<"log1p">(m);
  float_rules<"log2">(m);
  float_rules<"reciprocal">(m);
  float_rules<"rsqrt">(m);
  float_rules<"sigmoid">(m);
  float_rules<"sin">(m);
  float_rules<"sinc">(m);
  float_rules<"sinh">(m);
  float_rules<"sqrt">(m);
  float_rules<"tan">(m);
  float_rules<"tanh">(m);
}

MASSLESS_RULES(m) {
  float_rules_no_inplace<"special_entr">(m);
  float_rules_no_inplace<"special_erfcx", dtypes::any_full_real>(m);
  float_rules_no_inplace<"special_i0e">(m);
  float_rules_no_inplace<"special_i1">(m);
  float_rules_no_inplace<"special_i1e">(m);
  float_rules_no_inplace<"special_log_ndtr", dtypes::any_full_real>(m);
  float_rules_no_inplace<"special_ndtri", dtypes::any_full_real>(m);
  three_forms<"logit", "logit_", "logit.out", logit_spec>(m);
  two_forms<"polygamma", "polygamma.out", polygamma_spec>(m);
  rule<"polygamma_", polygamma_inplace>(m);
}

MASSLESS_RULES(m) {
  rule<"abs", functional<abs_spec>>(m);
  rule<"abs_", abs_inplace>(m);
  rule<"abs.out", complex_to_real_out<abs_spec>>(m);
  rule<"angle", functional<angle_spec>>(m);
  rule<"angle.out", complex_to_real_out<angle_spec>>(m);
  three_forms<"neg", "neg_", "neg.out", neg_spec, OutCast::same>(m);
  three_forms<"sign", "sign_", "sign.out", sign_spec, OutCast::same>(m);
  same_rules<"sgn", dtypes::number_or_bool | dtypes::half_complex>(m);
  same_rules<"bitwise_not", dtypes::integers | dtypes::boolean>(m);
  same_rules<"frac", dtypes::floats>(m);
  rounding_rules<"ceil">(m);
  rounding_rules<"floor">(m);
  rounding_rules<"round">(m);
  rounding_rules<"trunc">(m);
  three_forms<"round.decimals", "round_.decimals", "round.decimals_out", round_decimals_spec,
              OutCast::same>(m);
  rule<"isnan", functional<bool_spec<"isnan", dtypes::all>>>(m);
  rule<"isinf", functional<isinf_spec>>(m);
  real_test_rules<"isposinf">(m);
  real_test_rules<"isneginf">(m);
  real_test_rules<"signbit">(m);
  three_forms<"logical_not", "logical_not_", "logical_not.out",
              bool_spec<"logical_not", dtypes::number_or_bool>, OutCast::any>(m);
  rule<"_conj_physical", functional<conj_physical_like>>(m);
  rule<"conj_physical.out", iter_out<conj_physical_spec, OutCast::same>>(m);
  rule<"conj_physical_", conj_physical_inplace>(m);
  rule<"nan_to_num", functional<nan_to_num_spec>>(m);
  rule<"nan_to_num_", nan_to_num_inplace>(m);
  rule<"nan_to_num.out", nan_to_num_out>(m);
  three_forms<"tril", "tril_", "tril.out", triangle_spec, OutCast::plain>(m);
  three_forms<"triu", "triu_", "triu.out", triangle_spec, OutCast::plain>(m);
}

// Activations.
MASSLESS_RULES(m) {
  constexpr auto same = OutCast::same;
  rule<"relu", functional<relu_spec>>(m);
  rule<"relu_", iter_inplace<relu_spec, same>>(m);
  three_forms<"gelu", "gelu_", "gelu.out", gelu_spec, same>(m);
  same_rules<"silu", dtypes::floats | dtypes::complexes>(m);
  same_rules<"mish", dtypes::floats>(m);
  same_rules<"hardsigmoid", dtypes::floats>(m);
  same_rules<"hardswish", dtypes::floats>(m);
  three_forms<"hardtanh", "hardtanh_", "hardtanh.out", hardtanh_spec, same>(m);
  three_forms<"leaky_relu", "leaky_relu_", "leaky_relu.out",
              same_spec<"leaky_relu", dtypes::floats, const Scalar&>, same>(m);
  three_forms<"elu", "elu_", "elu.out",
              same_spec<"elu", dtypes::floats, const Scalar&, const Scalar&, const Scalar&>, same>(
      m);
  three_forms<"threshold", "threshold_", "threshold.out",
              same_spec<"threshold", dtypes::real, const Scalar&, const Scalar&>, OutCast::loose>(
      m);
  two_forms<"softplus", "softplus.out",
            same_spec<"softplus", dtypes::floats, const Scalar&, const Scalar&>, same>(m);
  two_forms<"hardshrink", "hardshrink.out", same_spec<"hardshrink", dtypes::floats, const Scalar&>,
            same>(m);
  two_forms<"softshrink", "softshrink.out", softshrink_spec, same>(m);
}

}  // namespace
}  // namespace massless
