// Pointwise operators of three tensors, clamps, and the backward operators of activations.
#include <ATen/core/Tensor.h>
#include <ATen/native/TypeProperties.h>

#include <string_view>

#include "rules/iterator.h"

namespace massless {
namespace {

using at::Scalar;
using at::Tensor;
using OptScalar = std::optional<Scalar>;
using OptTensor = std::optional<Tensor>;

TensorSpec promoted(Operands tensors, DtypeSet set, const char* name) {
  const auto dtype = common_dtype(tensors);
  check_dtype(name, dtype, set, tensors[0]->device());
  return iterate(tensors, false, dtype, dtype);
}

// A unary kernel that runs on a copy of self in another dtype, on every device.
TensorSpec on_copy(const Tensor& self, c10::ScalarType dtype) {
  if (self.scalar_type() == dtype) {
    return iterate(operands(self), false, dtype, dtype);
  }
  TensorSpec spec = detail::general_geometry(operands(self), false, dtype, c10::kCPU);
  spec.device = operands_device(operands(self));
  return spec;
}

TensorSpec with_number(TensorSpec spec, const Scalar& number) {
  check_number(number, spec.dtype);
  return spec;
}

TensorSpec addcmul(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value) {
  return with_number(
      promoted(operands(self, a, b), dtypes::number | dtypes::half_complex, "addcmul"), value);
}

TensorSpec addcdiv(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value) {
  TORCH_CHECK(
      !(c10::isIntegralType(a.scalar_type(), true) && c10::isIntegralType(b.scalar_type(), true)),
      "Integer division with addcdiv is no longer supported, and in a future release "
      "addcdiv will perform a true division of tensor1 and tensor2.");
  return with_number(promoted(operands(self, a, b), dtypes::floats | dtypes::complexes, "addcdiv"),
                     value);
}

constexpr DtypeSet kLerp = dtypes::floats | dtypes::complexes;

TensorSpec lerp_number(const Tensor& self, const Tensor& end, const Scalar& weight) {
  TORCH_CHECK(self.scalar_type() == end.scalar_type(), "expected dtype ", self.scalar_type(),
              " for `end` but got dtype ", end.scalar_type());
  return with_number(promoted(operands(self, end), kLerp, "lerp"), weight);
}

TensorSpec lerp_tensor(const Tensor& self, const Tensor& end, const Tensor& weight) {
  TORCH_CHECK(self.scalar_type() == end.scalar_type(), "expected dtype ", self.scalar_type(),
              " for `end` but got dtype ", end.scalar_type());
  TORCH_CHECK(self.scalar_type() == weight.scalar_type() || weight.dim() == 0, "expected dtype ",
              self.scalar_type(), " for `weight` but got dtype ", weight.scalar_type());
  return promoted(operands(self, end, weight), kLerp, "lerp");
}

// A 0-dim weight may be of another dtype, and only then is anything cast.
Tensor& lerp_tensor_out(const Tensor& self, const Tensor& end, const Tensor& weight, Tensor& out) {
  detail::check_overlap(out, self);
  detail::check_overlap(out, end);
  detail::check_overlap(out, weight);
  detail::write_result(out, lerp_tensor(self, end, weight),
                       weight.dim() == 0 ? OutCast::safe : OutCast::same,
                       out.is_same(self) || out.is_same(end) || out.is_same(weight));
  return out;
}

// The condition is iterated as it is; self and other are first brought to their common dtype.
TensorSpec where(const Tensor& condition, const Tensor& self, const Tensor& other) {
  TORCH_CHECK(condition.scalar_type() == c10::kBool || condition.scalar_type() == c10::kByte,
              "where expected condition to be a boolean tensor, but got a tensor with dtype ",
              condition.scalar_type());
  const auto dtype = common_dtype(operands(self, other));
  const auto all = operands(condition, self, other);
  if (self.scalar_type() == dtype && other.scalar_type() == dtype &&
      condition.scalar_type() == c10::kBool && all_plain(all)) {
    return iterate(all, false, dtype, dtype);
  }
  TensorSpec spec = detail::general_geometry(all, false, dtype, c10::Device(c10::kMeta));
  spec.device = operands_device(all);
  return spec;
}

// Clamps: numbers take part in the promotion of integers.

void check_clamp(bool is_complex) {
  TORCH_CHECK(!is_complex, "clamp is not supported for complex types");
}

TensorSpec clamp_to(const Tensor& self, const Scalar* min, const Scalar* max) {
  auto dtype = self.scalar_type();
  check_clamp(c10::isComplexType(dtype));
  if (!c10::isFloatingType(dtype)) {
    at::native::ResultTypeState state =
        at::native::update_result_type_state(self, at::native::ResultTypeState{});
    for (const Scalar* limit : {min, max}) {
      if (limit != nullptr) {
        state = at::native::update_result_type_state(*limit, state);
      }
    }
    dtype = at::native::result_type(state);
    check_clamp(c10::isComplexType(dtype));
  }
  check_dtype("clamp", dtype, dtypes::real, self.device());
  for (const Scalar* limit : {min, max}) {
    if (limit != nullptr) {
      check_number(*limit, c10::isFloatingType(dtype) ? c10::kDouble : dtype);
    }
  }
  return on_copy(self, dtype);
}
TensorSpec clamp(const Tensor& self, const OptScalar& min, const OptScalar& max) {
  TORCH_CHECK(min || max, "torch.clamp: At least one of 'min' or 'max' must not be None");
  return clamp_to(self, min ? &*min : nullptr, max ? &*max : nullptr);
}
TensorSpec clamp_limit(const Tensor& self, const Scalar& limit) {
  return clamp_to(self, &limit, nullptr);
}

TensorSpec clamp_tensor_limit(const Tensor& self, const Tensor& limit) {
  return promoted(operands(self, limit), dtypes::real_or_bool, "clamp");
}
TensorSpec clamp_tensors(const Tensor& self, const OptTensor& min, const OptTensor& max) {
  TORCH_CHECK(min || max, "torch.clamp: At least one of 'min' or 'max' must not be None");
  if (min && max) {
    return promoted(operands(self, *min, *max), dtypes::real, "clamp");
  }
  return clamp_tensor_limit(self, min ? *min : *max);
}

// Complex numbers from two real tensors.
template <OpName name, DtypeSet set>
TensorSpec complex_of(const Tensor& real, const Tensor& imag) {
  check_dtype(name.text, real.scalar_type(), set, real.device());
  TORCH_CHECK(real.scalar_type() == imag.scalar_type(), "Expected object of scalar type ",
              real.scalar_type(), " but got scalar type ", imag.scalar_type(),
              " for second argument");
  return iterate(operands(real, imag), false, real.scalar_type(),
                 c10::toComplexType(real.scalar_type()));
}

// Backward operators: a binary operator over the gradient and what was saved.
template <OpName name, DtypeSet set, class... Numbers>
TensorSpec backward(const Tensor& grad, const Tensor& saved, Numbers... numbers) {
  TensorSpec spec = promoted(operands(grad, saved), set, name.text);
  (check_number(numbers, spec.dtype), ...);
  return spec;
}

TensorSpec threshold_backward(const Tensor& grad, const Tensor& self, const Scalar& threshold) {
  return with_number(promoted(operands(self, grad), dtypes::real, "threshold"), threshold);
}

TensorSpec gelu_backward(const Tensor& grad, const Tensor& self, std::string_view approximate) {
  TORCH_CHECK(approximate == "none" || approximate == "tanh",
              "approximate argument must be either none or tanh.");
  return promoted(operands(grad, self), dtypes::floats, "gelu_backward");
}

// The result is made with self's dtype and written as an output.
TensorSpec mish_backward(const Tensor& grad, const Tensor& self) {
  TensorSpec spec = promoted(operands(grad, self), dtypes::floats, "mish_backward");
  TORCH_CHECK(c10::canCast(spec.dtype, self.scalar_type()), "result type ", spec.dtype,
              " can't be cast to the desired output type ", self.scalar_type());
  spec.dtype = self.scalar_type();
  return spec;
}

TensorSpec elu_backward(const Tensor& grad, const Scalar& alpha, const Scalar& scale,
                        const Scalar& input_scale, bool is_result, const Tensor& saved) {
  TORCH_CHECK(!is_result || alpha.to<double>() >= 0.0,
              "In-place elu backward calculation is triggered with a negative slope which is not "
              "supported.");
  TensorSpec spec = promoted(operands(grad, saved), dtypes::floats, "elu_backward");
  check_number(alpha, spec.dtype);
  check_number(scale, spec.dtype);
  check_number(input_scale, spec.dtype);
  return spec;
}

TensorSpec leaky_relu_backward(const Tensor& grad, const Tensor& saved, const Scalar& slope,
                               bool is_result) {
  TORCH_CHECK(!is_result || slope.to<double>() >= 0.0,
              "In-place leakyReLu backward calculation is triggered with a negative slope which is "
              "not supported.");
  return with_number(promoted(operands(saved, grad), dtypes::floats, "leaky_relu_backward"), slope);
}

template <OpName name, auto spec, OpName suffix = ".grad_input">
void backward_rules(torch::Library& m) {
  two_forms<name, name + suffix, spec>(m);
}

MASSLESS_RULES(m) {
  three_forms<"addcmul", "addcmul_", "addcmul.out", addcmul>(m);
  three_forms<"addcdiv", "addcdiv_", "addcdiv.out", addcdiv>(m);
  three_forms<"lerp.Scalar", "lerp_.Scalar", "lerp.Scalar_out", lerp_number>(m);
  rule<"lerp.Tensor", functional<lerp_tensor>>(m);
  rule<"lerp_.Tensor", iter_inplace<lerp_tensor>>(m);
  rule<"lerp.Tensor_out", lerp_tensor_out>(m);
  two_forms<"where.self", "where.self_out", where, OutCast::same>(m);
  constexpr auto same = OutCast::same;
  three_forms<"clamp", "clamp_", "clamp.out", clamp, same>(m);
  three_forms<"clamp_min", "clamp_min_", "clamp_min.out", clamp_limit, same>(m);
  three_forms<"clamp_max", "clamp_max_", "clamp_max.out", clamp_limit, same>(m);
  three_forms<"clamp.Tensor", "clamp_.Tensor", "clamp.Tensor_out", clamp_tensors>(m);
  three_forms<"clamp_min.Tensor", "clamp_min_.Tensor", "clamp_min.Tensor_out", clamp_tensor_limit>(
      m);
  three_forms<"clamp_max.Tensor", "clamp_max_.Tensor", "clamp_max.Tensor_out", clamp_tensor_limit>(
      m);
  two_forms<"complex", "complex.out",
            complex_of<"complex", dtypes::full_floats | dtype_bit(c10::kHalf)>, same>(m);
  two_forms<"polar", "polar.out", complex_of<"polar", dtypes::full_floats>, same>(m);
}

MASSLESS_RULES(m) {
  constexpr auto floats = dtypes::floats;
  constexpr auto with_complex = dtypes::floats | dtypes::complexes;
  backward_rules<"tanh_backward", backward<"tanh_backward", with_complex>>(m);
  backward_rules<"sigmoid_backward", backward<"sigmoid_backward", with_complex>>(m);
  backward_rules<"silu_backward", backward<"silu_backward", with_complex>>(m);
  backward_rules<"gelu_backward", gelu_backward>(m);
  two_forms<"threshold_backward", "threshold_backward.grad_input", threshold_backward,
            OutCast::loose>(m);
  backward_rules<"elu_backward", elu_backward>(m);
  backward_rules<"leaky_relu_backward", leaky_relu_backward>(m);
  backward_rules<"hardtanh_backward",
                 backward<"hardtanh_backward", floats, const Scalar&, const Scalar&>>(m);
  backward_rules<"softplus_backward",
                 backward<"softplus_backward", floats, const Scalar&, const Scalar&>>(m);
  backward_rules<"hardsigmoid_backward", backward<"hardsigmoid_backward", floats>>(m);
  backward_rules<"hardshrink_backward", backward<"hardshrink_backward", floats, const Scalar&>>(m);
  backward_rules<"softshrink_backward", backward<"softshrink_backward", floats, const Scalar&>>(m);
  backward_rules<"logit_backward", backward<"logit_backward", floats, std::optional<double>>>(m);
  rule<"hardswish_backward", functional<backward<"hardswish_backward", floats>>>(m);
  rule<"mish_backward", functional<mish_backward>>(m);
}

}  // namespace
}  // namespace massless
