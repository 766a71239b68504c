// Pointwise operators of two tensors, or of a tensor and a number.
#include <ATen/core/Tensor.h>
#include <ATen/native/TypeProperties.h>

#include <string_view>

#include "rules/iterator.h"

namespace massless {
namespace {

using at::Scalar;
using at::Tensor;

// Scalar::equal knows no symbols: of a size the decision is a guard.
bool equals(const Scalar& number, std::int64_t value) {
  if (!number.isSymbolic()) {
    return number.equal(value);
  }
  if (number.isFloatingPoint()) {
    return number.toSymFloat() == c10::SymFloat(static_cast<double>(value));
  }
  return !number.isBoolean() && number.toSymInt() == value;
}
bool is_negative(const Scalar& number) {
  return number.isSymbolic() && !number.isBoolean() ? number.toSymInt() < 0 : number.toLong() < 0;
}

enum class Result { common, promoted, boolean };

// A binary operator of TensorIterator: what dtype the result has, what the kernel is made for.
struct Binary {
  Result result;
  DtypeSet set;
  const char* name;
};

inline TensorSpec binary_spec(const Binary& op, Operands tensors, const Scalar* number) {
  const auto common = common_dtype(tensors, number);
  check_dtype(op.name, common, op.set, tensors[0]->device());
  const auto compute = op.result == Result::promoted ? to_float(common) : common;
  return iterate(tensors, number != nullptr, compute,
                 op.result == Result::boolean ? c10::kBool : compute);
}

template <OpName name, Result result, DtypeSet set>
TensorSpec tensors(const Tensor& self, const Tensor& other) {
  return binary_spec({result, set, name.text}, operands(self, other), nullptr);
}
template <OpName name, Result result, DtypeSet set>
TensorSpec tensor_number(const Tensor& self, const Scalar& other) {
  return binary_spec({result, set, name.text}, operands(self), &other);
}
template <OpName name, Result result, DtypeSet set>
TensorSpec number_tensor(const Scalar& self, const Tensor& other) {
  return binary_spec({result, set, name.text}, operands(other), &self);
}

constexpr DtypeSet kAdd = dtypes::number_or_bool | dtypes::half_complex;
constexpr DtypeSet kMul = dtypes::all;

// add and sub.

void check_alpha(c10::ScalarType dtype, const Scalar& alpha) {
  TORCH_CHECK(!alpha.isBoolean() || dtype == c10::kBool,
              "Boolean alpha only supported for Boolean results.");
  TORCH_CHECK(c10::isFloatingType(dtype) || c10::isComplexType(dtype) || alpha.isIntegral(true),
              "For integral input tensors, argument alpha must not be a floating point number.");
  TORCH_CHECK(c10::isComplexType(dtype) || !alpha.isComplex(),
              "For non-complex input tensors, argument alpha must not be a complex number.");
}

void check_sub(bool self_is_bool, bool other_is_bool) {
  TORCH_CHECK(!self_is_bool || !other_is_bool,
              "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` "
              "or `logical_xor()` operator instead.");
  TORCH_CHECK(!self_is_bool && !other_is_bool,
              "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
              "trying to invert a mask, use the `~` or `logical_not()` operator instead.");
}

TensorSpec add(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  TensorSpec spec = binary_spec({Result::common, kAdd, "add"}, operands(self, other), nullptr);
  check_alpha(spec.dtype, alpha);
  return spec;
}
TensorSpec add_number(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  TensorSpec spec = binary_spec({Result::common, kAdd, "add"}, operands(self), &other);
  check_alpha(spec.dtype, alpha);
  return spec;
}
bool is_bool(const Tensor& t) { return t.scalar_type() == c10::kBool; }

TensorSpec sub(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  check_sub(is_bool(self), is_bool(other));
  return add(self, other, alpha);
}
TensorSpec sub_number(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  check_sub(is_bool(self), other.isBoolean());
  return add_number(self, other, alpha);
}
TensorSpec rsub(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return sub(other, self, alpha);
}
TensorSpec rsub_number(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  check_sub(other.isBoolean(), is_bool(self));
  return add_number(self, other, alpha);
}

// div with a rounding mode.

// The CPU's integer kernels raise where they meet a divisor of 0, which only a number shows here.
TensorSpec check_divisor(TensorSpec spec, const Tensor& self, const Scalar& divisor) {
  TORCH_CHECK(!(c10::isIntegralType(spec.dtype, true) && spec.device.is_cpu() &&
                equals(divisor, 0) && self.sym_numel() != 0),
              "ZeroDivisionError");
  return spec;
}
template <OpName name>
TensorSpec modulo_number(const Tensor& self, const Scalar& other) {
  return check_divisor(tensor_number<name, Result::common, dtypes::real>(self, other), self, other);
}
template <OpName name>
void modulo_rules(torch::Library& m) {
  three_forms<name + OpName(".Tensor"), name + OpName("_.Tensor"), name + OpName(".Tensor_out"),
              tensors<name, Result::common, dtypes::real>>(m);
  three_forms<name + OpName(".Scalar"), name + OpName("_.Scalar"), name + OpName(".Scalar_out"),
              modulo_number<name>>(m);
}

Binary division(std::optional<std::string_view> mode) {
  if (!mode) {
    return {Result::promoted, dtypes::any_number, "div"};
  }
  TORCH_CHECK(*mode == "trunc" || *mode == "floor",
              "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '",
              *mode, "'");
  return {Result::common, dtypes::real, "div"};
}
TensorSpec div_mode(const Tensor& self, const Tensor& other, std::optional<std::string_view> mode) {
  return binary_spec(division(mode), operands(self, other), nullptr);
}
TensorSpec div_mode_number(const Tensor& self, const Scalar& other,
                           std::optional<std::string_view> mode) {
  return check_divisor(binary_spec(division(mode), operands(self), &other), self, other);
}

// maximum and the like say that they refuse complex numbers.
template <OpName name>
TensorSpec ordered(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(!self.is_complex() && !other.is_complex(), name.text,
              " not implemented for complex tensors.");
  return tensors<name, Result::common, dtypes::real_or_bool>(self, other);
}

TensorSpec heaviside(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(!self.is_complex() && !other.is_complex(),
              "heaviside is not yet implemented for complex tensors.");
  TORCH_CHECK(self.scalar_type() == other.scalar_type(),
              "heaviside is not yet implemented for tensors with different dtypes.");
  return tensors<"heaviside", Result::common, dtypes::real_or_bool>(self, other);
}

// pow with a number as exponent works on a copy in the common dtype, on every device.

TensorSpec pow_number(const Tensor& self, const Scalar& exponent) {
  TORCH_CHECK(!(c10::isIntegralType(self.scalar_type(), true) && exponent.isIntegral(true) &&
                is_negative(exponent)),
              "Integers to negative integer powers are not allowed.");
  const auto common = common_dtype(operands(self), &exponent);
  if (self.scalar_type() == common) {
    return iterate(operands(self), false, common, common);
  }
  TensorSpec spec = detail::general_geometry(operands(self), false, common, c10::kCPU);
  spec.device = operands_device(operands(self));
  return spec;
}

// Powers of 1 are filled in; others are made by pow of two tensors, but into a plain result.
TensorSpec pow_of_number(const Scalar& self, const Tensor& exponent) {
  const auto common = common_dtype(operands(exponent), &self);
  if (!equals(self, 1)) {
    check_dtype("pow", common, dtypes::number, exponent.device());
  }
  return contiguous_spec(exponent.sym_sizes(), common, operands_device(operands(exponent)));
}
Tensor& pow_of_number_out(const Scalar& self, const Tensor& exponent, Tensor& out) {
  detail::write_result(out, pow_of_number(self, exponent),
                       equals(self, 1) ? OutCast::any : OutCast::safe, out.is_same(exponent));
  return out;
}

template <OpName name, Result result, DtypeSet set, OutCast cast = OutCast::safe>
void tensor_rules(torch::Library& m) {
  three_forms<name + OpName(".Tensor"), name + OpName("_.Tensor"), name + OpName(".Tensor_out"),
              tensors<name, result, set>, cast>(m);
}
template <OpName name, Result result, DtypeSet set, OutCast cast = OutCast::safe>
void number_rules(torch::Library& m) {
  three_forms<name + OpName(".Scalar"), name + OpName("_.Scalar"), name + OpName(".Scalar_out"),
              tensor_number<name, result, set>, cast>(m);
}

// Where the out= form is generated it wants the exact dtype and is a composite over the others.
template <OpName name, Result result, DtypeSet set>
void number_rules_no_out(torch::Library& m) {
  rule<name + OpName(".Scalar"), functional<tensor_number<name, result, set>>>(m);
  rule<name + OpName("_.Scalar"), iter_inplace<tensor_number<name, result, set>>>(m);
}

template <OpName name, DtypeSet set>
void comparison_rules(torch::Library& m) {
  tensor_rules<name, Result::boolean, set, OutCast::any>(m);
  number_rules<name, Result::boolean, set, OutCast::any>(m);
}

template <OpName name>
void logical_rules(torch::Library& m) {
  three_forms<name, name + OpName("_"), name + OpName(".out"),
              tensors<name, Result::boolean, dtypes::number_or_bool>, OutCast::any>(m);
}

template <OpName name>
void bitwise_rules(torch::Library& m) {
  constexpr DtypeSet set = dtypes::integers | dtypes::boolean | dtypes::wide_unsigned;
  tensor_rules<name, Result::common, set>(m);
  number_rules<name, Result::common, set>(m);
  rule<name + OpName(".Scalar_Tensor"), functional<number_tensor<name, Result::common, set>>>(m);
}

template <OpName name, OpName operator_name>
void shift_rules(torch::Library& m) {
  constexpr auto common = Result::common;
  tensor_rules<name, common, dtypes::integers>(m);
  three_forms<name + OpName(".Tensor_Scalar"), name + OpName("_.Tensor_Scalar"),
              name + OpName(".Tensor_Scalar_out"), tensor_number<name, common, dtypes::integers>>(
      m);
  rule<name + OpName(".Scalar_Tensor"), functional<number_tensor<name, common, dtypes::integers>>>(
      m);
  constexpr OpName shift = OpName("__") + operator_name;
  constexpr OpName assign = OpName("__i") + operator_name;
  rule<shift + OpName("__.Tensor"), functional<tensors<name, common, dtypes::integers>>>(m);
  rule<shift + OpName("__.Scalar"), functional<tensor_number<name, common, dtypes::integers>>>(m);
  rule<assign + OpName("__.Tensor"), iter_inplace<tensors<name, common, dtypes::integers>>>(m);
  rule<assign + OpName("__.Scalar"), iter_inplace<tensor_number<name, common, dtypes::integers>>>(
      m);
}

template <OpName name, Result result, DtypeSet set>
void plain_rules(torch::Library& m) {
  two_forms<name, name + OpName(".out"), tensors<name, result, set>>(m);
}
template <OpName name, Result result, DtypeSet set>
void plain_rules_inplace(torch::Library& m) {
  plain_rules<name, result, set>(m);
  rule<name + OpName("_"), iter_inplace<tensors<name, result, set>>>(m);
}

MASSLESS_RULES(m) {
  three_forms<"add.Tensor", "add_.Tensor", "add.out", add>(m);
  rule<"add.Scalar", functional<add_number>>(m);
  rule<"add_.Scalar", iter_inplace<add_number>>(m);
  three_forms<"sub.Tensor", "sub_.Tensor", "sub.out", sub>(m);
  rule<"sub.Scalar", functional<sub_number>>(m);
  rule<"sub_.Scalar", iter_inplace<sub_number>>(m);
  rule<"rsub.Tensor", functional<rsub>>(m);
  rule<"rsub.Scalar", functional<rsub_number>>(m);
  three_forms<"mul.Tensor", "mul_.Tensor", "mul.out", tensors<"mul", Result::common, kMul>>(m);
  number_rules_no_out<"mul", Result::common, kMul>(m);
  constexpr auto promoted = Result::promoted;
  three_forms<"div.Tensor", "div_.Tensor", "div.out", tensors<"div", promoted, dtypes::any_number>>(
      m);
  number_rules_no_out<"div", promoted, dtypes::any_number>(m);
  three_forms<"div.Tensor_mode", "div_.Tensor_mode", "div.out_mode", div_mode>(m);
  rule<"div.Scalar_mode", functional<div_mode_number>>(m);
  rule<"div_.Scalar_mode", iter_inplace<div_mode_number>>(m);
  three_forms<"floor_divide", "floor_divide_.Tensor", "floor_divide.out",
              tensors<"floor_divide", Result::common, dtypes::real>>(m);
  modulo_rules<"remainder">(m);
  rule<"remainder.Scalar_Tensor",
       functional<number_tensor<"remainder", Result::common, dtypes::real>>>(m);
  modulo_rules<"fmod">(m);
  three_forms<"pow.Tensor_Tensor", "pow_.Tensor", "pow.Tensor_Tensor_out",
              tensors<"pow", Result::common, dtypes::number>>(m);
  three_forms<"pow.Tensor_Scalar", "pow_.Scalar", "pow.Tensor_Scalar_out", pow_number>(m);
  rule<"pow.Scalar", functional<pow_of_number>>(m);
  rule<"pow.Scalar_out", pow_of_number_out>(m);
}

MASSLESS_RULES(m) {
  comparison_rules<"eq", dtypes::all>(m);
  comparison_rules<"ne", dtypes::all>(m);
  comparison_rules<"lt", dtypes::real_or_bool>(m);
  comparison_rules<"le", dtypes::real_or_bool>(m);
  comparison_rules<"gt", dtypes::real_or_bool>(m);
  comparison_rules<"ge", dtypes::real_or_bool>(m);
  logical_rules<"logical_and">(m);
  logical_rules<"logical_or">(m);
  logical_rules<"logical_xor">(m);
  bitwise_rules<"bitwise_and">(m);
  bitwise_rules<"bitwise_or">(m);
  bitwise_rules<"bitwise_xor">(m);
  shift_rules<"bitwise_left_shift", "lshift">(m);
  shift_rules<"bitwise_right_shift", "rshift">(m);
}

MASSLESS_RULES(m) {
  two_forms<"maximum", "maximum.out", ordered<"maximum">>(m);
  two_forms<"minimum", "minimum.out", ordered<"minimum">>(m);
  two_forms<"fmax", "fmax.out", ordered<"fmax">>(m);
  two_forms<"fmin", "fmin.out", ordered<"fmin">>(m);
  three_forms<"heaviside", "heaviside_", "heaviside.out", heaviside, OutCast::same>(m);
  constexpr auto promoted = Result::promoted;
  plain_rules_inplace<"atan2", promoted, dtypes::any_real>(m);
  three_forms<"copysign.Tensor", "copysign_.Tensor", "copysign.out",
              tensors<"copysign", promoted, dtypes::any_real>>(m);
  number_rules<"copysign", promoted, dtypes::any_real>(m);
  three_forms<"xlogy.Tensor", "xlogy_.Tensor", "xlogy.OutTensor",
              tensors<"xlogy", promoted, dtypes::any_real>>(m);
  three_forms<"xlogy.Scalar_Other", "xlogy_.Scalar_Other", "xlogy.OutScalar_Other",
              tensor_number<"xlogy", promoted, dtypes::any_real>>(m);
  two_forms<"xlogy.Scalar_Self", "xlogy.OutScalar_Self",
            number_tensor<"xlogy", promoted, dtypes::any_real>>(m);
  plain_rules<"special_xlog1py", promoted, dtypes::any_real>(m);
  plain_rules<"special_zeta", promoted, dtypes::any_full_real>(m);
  constexpr auto common = Result::common;
  plain_rules_inplace<"gcd", common, dtypes::integers>(m);
  plain_rules_inplace<"lcm", common, dtypes::integers>(m);
  plain_rules_inplace<"hypot", common, dtypes::floats>(m);
  plain_rules_inplace<"igamma", common, dtypes::floats>(m);
  plain_rules_inplace<"igammac", common, dtypes::floats>(m);
  plain_rules_inplace<"nextafter", common, dtypes::floats>(m);
  plain_rules<"logaddexp", common, dtypes::floats | dtypes::complexes>(m);
  plain_rules<"logaddexp2", common, dtypes::floats>(m);
}

}  // namespace
}  // namespace massless
