// Fused optimizer steps and gradient scaling: kernels that write into lists of tensors.
//
// The _foreach_ family needs no rules but five. Its CPU kernels are ATen's composites ("slow
// paths") that call the single-tensor operator for each element, so promotion, errors and known
// values are those of the element's own rule, and the ladder answers them. Four read their scalars
// from a tensor; the kernel of _foreach_max asks for a number of elements, which fixes sizes.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/max.h>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "fake/device.h"
#include "fake/known.h"
#include "fake/rule.h"
#include "fake/sizes.h"

namespace massless {
namespace {

using OptionalTensor = std::optional<at::Tensor>;

bool has_one_element(const at::Tensor& t) { return t.sym_numel() == 1; }

void check_floating(const char* kernel, const at::Tensor& t) {
  TORCH_CHECK(c10::isFloatingType(t.scalar_type()) && c10::elementSize(t.scalar_type()) > 1, '"',
              kernel, "\" not implemented for '", c10::toString(t.scalar_type()), "'");
}

void check_dtype(const at::Tensor& t, c10::ScalarType wanted) {
  TORCH_CHECK(t.scalar_type() == wanted, "expected scalar type ", wanted, " but found ",
              t.scalar_type());
}

// The kernels read one number through a pointer to float.
void check_float(const OptionalTensor& t) {
  if (t && t->defined()) {
    check_dtype(*t, c10::kFloat);
  }
}

void check_number(const at::Tensor& t) {
  TORCH_CHECK(has_one_element(t), "a Tensor with ", t.sym_numel(),
              " elements cannot be converted to Scalar");
}
void check_number(double) {}

// What stands beside each parameter: a gradient or a state.
void check_beside(const char* name, at::TensorList params, at::TensorList list) {
  TORCH_CHECK(list.size() == params.size(), "Expected ", name,
              ".size() == n_tensors to be true, but got false.");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const at::Tensor& param = params[i];
    check_dtype(list[i], param.scalar_type());
    // The kernels read the other lists at the parameter's elements without asking for their sizes.
    TORCH_CHECK(list[i].sym_sizes().equals(param.sym_sizes()), name, "[", i, "] has the size ",
                list[i].sym_sizes(), " instead of its parameter's ", param.sym_sizes());
    if (list[i].device() != param.device()) {
      same_device({param, list[i]});  // raises unless only the index was missing
    }
  }
}

void check_absent(const char* name, at::TensorList list) {
  TORCH_CHECK(list.empty(), "Expected ", name, ".empty() to be true, but got false.");
}

void check_steps(at::TensorList params, at::TensorList steps) {
  TORCH_CHECK(steps.size() == params.size(),
              "Expected state_steps.size() == n_tensors to be true, but got false.");
  for (const at::Tensor& step : steps) {
    check_number(step);
  }
}

// Eager finds no kernel for empty lists: nothing tells it a backend.
void check_params(const char* kernel, at::TensorList params) {
  TORCH_CHECK(!params.empty(), kernel, ": there were no tensor arguments to this function");
  for (const at::Tensor& param : params) {
    check_floating(kernel, param);
  }
}

template <class Rate>
void fused_adam(at::TensorList self, at::TensorList grads, at::TensorList exp_avgs,
                at::TensorList exp_avg_sqs, at::TensorList max_exp_avg_sqs, at::TensorList steps,
                Rate lr, double, double, double, double, bool amsgrad, bool,
                const OptionalTensor& grad_scale, const OptionalTensor& found_inf) {
  check_params("fused_adam_kernel", self);
  check_float(grad_scale);
  check_float(found_inf);
  check_number(lr);
  check_beside("grads", self, grads);
  check_beside("exp_avgs", self, exp_avgs);
  check_beside("exp_avg_sqs", self, exp_avg_sqs);
  if (amsgrad) {
    check_beside("max_exp_avg_sqs", self, max_exp_avg_sqs);
  } else {
    check_absent("max_exp_avg_sqs", max_exp_avg_sqs);
  }
  check_steps(self, steps);
}

template <class Rate>
void fused_sgd(at::TensorList self, at::TensorList grads, at::TensorList momentum_buffers, double,
               double momentum, Rate lr, double, bool, bool, bool, const OptionalTensor& grad_scale,
               const OptionalTensor& found_inf) {
  check_params("fused_sgd_kernel", self);
  check_float(grad_scale);
  check_float(found_inf);
  check_number(lr);
  check_beside("grads", self, grads);
  if (momentum == 0.0) {
    check_absent("momentum_buffer_list", momentum_buffers);
  } else {
    check_beside("momentum_buffer_list", self, momentum_buffers);
  }
}

template <class Rate>
void fused_adagrad(at::TensorList self, at::TensorList grads, at::TensorList state_sums,
                   at::TensorList steps, Rate lr, double, double, double, bool,
                   const OptionalTensor& grad_scale, const OptionalTensor& found_inf) {
  check_params("fused_adagrad_kernel", self);
  check_float(grad_scale);
  check_float(found_inf);
  check_number(lr);
  check_beside("grads", self, grads);
  check_beside("state_sums", self, state_sums);
  check_steps(self, steps);
}

void check_scale_part(const char* name, const at::Tensor& t, c10::ScalarType dtype,
                      const char* dtype_name) {
  TORCH_CHECK(has_one_element(t), name, " must be a 1-element tensor.");
  TORCH_CHECK(t.scalar_type() == dtype, name, " must be ", dtype_name, " tensor.");
}

void unscale(at::TensorList self, at::Tensor& found_inf, const at::Tensor& inv_scale) {
  check_scale_part("inv_scale", inv_scale, c10::kFloat, "a float");
  check_scale_part("found_inf", found_inf, c10::kFloat, "a float");
  for (const at::Tensor& grad : self) {
    check_floating("_amp_foreach_non_finite_check_and_unscale_cpu", grad);
    check_no_internal_overlap(grad);
    same_device({grad, found_inf, inv_scale});
  }
}

at::Tensor& update_scale(at::Tensor& self, at::Tensor& growth_tracker, const at::Tensor& found_inf,
                         double, double, std::int64_t) {
  check_scale_part("growth_tracker", growth_tracker, c10::kInt, "an int");
  check_scale_part("current_scale", self, c10::kFloat, "a float");
  check_scale_part("found_inf", found_inf, c10::kFloat, "a float");
  same_device({self, growth_tracker, found_inf});
  return self;
}

// The checks of ATen's conversion of `scalars`, in its order.
void check_scalars(at::TensorList self, const at::Tensor& scalars) {
  TORCH_CHECK(scalars.device().is_cpu(), "Expected scalars to be on CPU, got ", scalars.device(),
              " instead.");
  TORCH_CHECK(scalars.is_contiguous(), "Expected scalars to be contiguous.");
  TORCH_CHECK(scalars.dim() == 1, "Expected packed scalar Tensor to be of dimension 1. Got ",
              scalars.dim(), " instead.");
  TORCH_CHECK(scalars.sym_size(0) == static_cast<std::int64_t>(self.size()),
              "Expected length of scalars to match input of length ", self.size(), " but got ",
              scalars.sym_size(0), " instead.");
}

// One scalar for each element: the known ones, else stand-ins of the same kind. Only the kind
// decides an element's metadata; what must not be folded with them is forgotten by the callers.
std::vector<at::Scalar> scalars_of(const at::Tensor& scalars, std::size_t count) {
  const at::Tensor known = is_fake(scalars) ? known_value(scalars) : at::Tensor();
  std::vector<at::Scalar> made;
  for (std::size_t i = 0; i < count; ++i) {
    if (known.defined()) {
      const RealScope real;
      made.push_back(known.select(0, static_cast<std::int64_t>(i)).item());
    } else if (c10::isIntegralType(scalars.scalar_type(), /*includeBool=*/true)) {
      made.emplace_back(1);
    } else {
      made.emplace_back(1.0);
    }
  }
  return made;
}

void forget_all(at::TensorList list) {
  for (const at::Tensor& t : list) {
    if (is_fake(t)) {
      forget(t);
    }
  }
}

// Registered without the careful path of rule<>: each element takes its own.
template <OpName name, auto each>
struct PackedScalars {
  static OpStat& stat() {
    static OpStat made(std::string("aten::") + name.text);
    return made;
  }
  static std::vector<at::Tensor> call(at::TensorList self, at::TensorList tensor1,
                                      at::TensorList tensor2, const at::Tensor& scalars) {
    const OpScope scope(stat(), Rung::rule);
    check_scalars(self, scalars);
    std::vector<at::Tensor> made = each(self, tensor1, tensor2, scalars_of(scalars, self.size()));
    if (!is_known(scalars)) {
      forget_all(made);
    }
    return made;
  }
  static void call_(at::TensorList self, at::TensorList tensor1, at::TensorList tensor2,
                    const at::Tensor& scalars) {
    const OpScope scope(stat(), Rung::rule);
    check_scalars(self, scalars);
    if (!is_known(scalars)) {
      forget_all(self);
    }
    each(self, tensor1, tensor2, scalars_of(scalars, self.size()));
  }
};

using Packed = at::ArrayRef<at::Scalar>;
std::vector<at::Tensor> addcmul(at::TensorList a, at::TensorList b, at::TensorList c, Packed s) {
  return at::_foreach_addcmul(a, b, c, s);
}
std::vector<at::Tensor> addcdiv(at::TensorList a, at::TensorList b, at::TensorList c, Packed s) {
  return at::_foreach_addcdiv(a, b, c, s);
}
void addcmul_(at::TensorList a, at::TensorList b, at::TensorList c, Packed s) {
  at::_foreach_addcmul_(a, b, c, s);
}
void addcdiv_(at::TensorList a, at::TensorList b, at::TensorList c, Packed s) {
  at::_foreach_addcdiv_(a, b, c, s);
}

template <OpName name, auto each>
void packed(torch::Library& m) {
  using Rule = PackedScalars<name, each>;
  register_rule_stat(&Rule::stat());
  if constexpr (std::is_void_v<decltype(each({}, {}, {}, {}))>) {
    m.impl(name.text, torch::CppFunction::makeFromUnboxedFunction(&Rule::call_));
  } else {
    m.impl(name.text, torch::CppFunction::makeFromUnboxedFunction(&Rule::call));
  }
}

std::vector<at::Tensor> foreach_max(at::TensorList tensors) {
  TORCH_CHECK(!tensors.empty(), "Tensor list must have at least one tensor.");
  std::vector<at::Tensor> made;
  made.reserve(tensors.size());
  for (const at::Tensor& t : tensors) {
    made.push_back(at::max(t));
  }
  return made;
}

MASSLESS_RULES(m) {
  rule<"_foreach_max", foreach_max>(m);
  packed<"_foreach_addcmul.Tensor", addcmul>(m);
  packed<"_foreach_addcmul_.Tensor", addcmul_>(m);
  packed<"_foreach_addcdiv.Tensor", addcdiv>(m);
  packed<"_foreach_addcdiv_.Tensor", addcdiv_>(m);
  rule<"_fused_adam_", fused_adam<double>>(m);
  rule<"_fused_adam_.tensor_lr", fused_adam<const at::Tensor&>>(m);
  rule<"_fused_adamw_", fused_adam<double>>(m);
  rule<"_fused_adamw_.tensor_lr", fused_adam<const at::Tensor&>>(m);
  rule<"_fused_sgd_", fused_sgd<double>>(m);
  rule<"_fused_sgd_.tensor_lr", fused_sgd<const at::Tensor&>>(m);
  rule<"_fused_adagrad_", fused_adagrad<double>>(m);
  rule<"_fused_adagrad_.tensor_lr", fused_adagrad<const at::Tensor&>>(m);
  rule<"_amp_foreach_non_finite_check_and_unscale_", unscale>(m);
  rule<"_amp_update_scale_", update_scale>(m);
}

}  // namespace
}  // namespace massless
