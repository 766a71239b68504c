// Softmax, losses and dropout.
#include <ATen/WrapDimUtils.h>
#include <ATen/core/Generator.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>
#include <utility>

#include "fake/device.h"
#include "fake/rule.h"
#include "rules/iterator.h"
#include "rules/strict.h"

namespace massless {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

const Tensor& or_undefined(const OptionalTensor& t) {
  static const Tensor undefined;
  return t ? *t : undefined;
}

void check_floating(const char* kernel, const Tensor& t) {
  if (!c10::isFloatingType(t.scalar_type()) && !is_empty(t)) {
    unsupported_dtype(kernel, t.scalar_type());
  }
}

// ---- softmax: contiguous whatever the input's strides ----

TensorSpec any_softmax(const char* kernel, const Tensor& input, int64_t dim, bool half_to_float) {
  at::maybe_wrap_dim(dim, input.dim());
  const c10::Device device = input.device();
  if (half_to_float) {
    TORCH_CHECK(!device.is_cpu(), "softmax with half to float conversion is not supported on CPU");
    TORCH_CHECK(input.scalar_type() == c10::kHalf || input.scalar_type() == c10::kBFloat16,
                "conversion is supported for Half and BFloat16 types only");
    return contiguous_like_spec(input, c10::kFloat);
  }
  check_floating(kernel, input);
  return contiguous_like_spec(input);
}

TensorSpec softmax_spec(const Tensor& input, int64_t dim, bool half_to_float) {
  return any_softmax("softmax_lastdim_kernel_impl", input, dim, half_to_float);
}

TensorSpec log_softmax_spec(const Tensor& input, int64_t dim, bool half_to_float) {
  return any_softmax("log_softmax_lastdim_kernel_impl", input, dim, half_to_float);
}

// `input_dtype` is half where the forward pass converted half to float (CUDA).
TensorSpec softmax_backward_spec(const Tensor& grad, const Tensor& output, int64_t dim,
                                 c10::ScalarType input_dtype) {
  at::maybe_wrap_dim(dim, grad.dim());
  TORCH_CHECK(grad.sym_sizes().equals(output.sym_sizes()),
              "Expected tensor for argument #1 'grad' to have same size as tensor for argument #2 "
              "'output'; but ",
              grad.sym_sizes(), " does not equal ", output.sym_sizes(),
              " (while checking arguments for softmax_backward)");
  const c10::Device device = same_device({grad, output});
  const bool converted = grad.scalar_type() != input_dtype;
  if (converted && !device.is_cpu()) {
    TORCH_CHECK(grad.scalar_type() == c10::kFloat &&
                    (input_dtype == c10::kHalf || input_dtype == c10::kBFloat16),
                "expected input and grad types to match, or input to be at::Half and grad to be "
                "at::Float");
  } else {
    TORCH_CHECK(!converted, "expected scalar type ", grad.scalar_type(), " but found ",
                input_dtype);
  }
  TORCH_CHECK(grad.scalar_type() == output.scalar_type(), "expected scalar type ",
              grad.scalar_type(), " but found ", output.scalar_type());
  check_floating("softmax_backward", grad);
  return contiguous_like_spec(grad, input_dtype);
}

// ---- negative log likelihood ----

void check_target_dtype(const Tensor& target) {
  TORCH_CHECK(target.scalar_type() == c10::kLong || target.scalar_type() == c10::kByte,
              "expected target dtype to be Long or Byte, but got ", target.scalar_type());
}

void check_weight_dtype(const Tensor& input, const Tensor& weight) {
  TORCH_CHECK(!weight.defined() || weight.scalar_type() == input.scalar_type(),
              "expected scalar type ", input.scalar_type(), " but found ",
              weight.defined() ? weight.scalar_type() : input.scalar_type());
}

void check_nll(const Tensor& input, const Tensor& target) {
  TORCH_CHECK(input.dim() > 0 && input.dim() <= 2, "input tensor should be 1D or 2D");
  TORCH_CHECK(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  if (input.dim() == 1) {
    TORCH_CHECK_VALUE(
        target.dim() == 0 || target.sym_size(0) == 1,
        "For 1D input, 1D target must have size 1, but got target size: ", target.sym_size(0));
    return;
  }
  TORCH_CHECK(target.dim() == 1 && input.sym_size(0) == target.sym_size(0),
              "size mismatch (got input: ", input.sym_sizes(), ", target: ", target.sym_sizes(),
              ")");
}

void check_class_weight(const Tensor& input, const Tensor& weight, std::string_view what) {
  TORCH_CHECK(!weight.defined() || (weight.dim() == 1 && weight.sym_size(0) == input.sym_size(-1)),
              what, weight.defined() ? weight.sym_sizes() : c10::SymIntArrayRef());
}

TensorSpecs<2> nll_spec(const Tensor& input, const Tensor& target, const OptionalTensor& weight,
                        int64_t reduction, c10::SymInt) {
  check_nll(input, target);
  const Tensor& w = or_undefined(weight);
  check_class_weight(input, w,
                     "weight tensor should be defined either for all classes or no classes but got "
                     "weight tensor of shape: ");
  const c10::Device device = same_device({input, target, w});
  check_target_dtype(target);
  check_weight_dtype(input, w);
  check_floating("nll_loss_out_frame", input);
  const TensorSpec total = contiguous_spec({}, input.scalar_type(), device);
  if (reduction == at::Reduction::None && input.dim() == 2) {
    return {contiguous_spec({input.sym_size(0)}, input.scalar_type(), device), total};
  }
  return {total, total};
}

TensorSpec nll_backward_spec(const Tensor& grad, const Tensor& input, const Tensor& target,
                             const OptionalTensor& weight, int64_t reduction, c10::SymInt,
                             const Tensor& total_weight) {
  check_nll(input, target);
  TORCH_CHECK(total_weight.sym_numel() == 1,
              "expected total_weight to be a  single element tensor, got: ",
              total_weight.sym_sizes(), " (", total_weight.sym_numel(), " elements)");
  const Tensor& w = or_undefined(weight);
  TORCH_CHECK(!w.defined() || w.sym_numel() == input.sym_size(-1),
              "weight tensor should be defined either for all or no classes");
  if (reduction == at::Reduction::None && input.dim() == 2) {
    TORCH_CHECK(grad.dim() == 1 && grad.sym_size(0) == input.sym_size(0),
                "Expected a tensor of dimension 1 and tensor.size[0] == ", input.sym_size(0),
                " but got: dimension ", grad.dim(), " and tensor.size = ", grad.sym_sizes());
  } else {
    TORCH_CHECK(grad.dim() <= 1 && grad.sym_numel() == 1,
                "Expected a single element grad_output tensor, but got: ", grad.sym_sizes());
  }
  same_device({grad, input, target, w, total_weight});
  check_target_dtype(target);
  return contiguous_like_spec(input);
}

void check_nll2d(const Tensor& input, const Tensor& target, const Tensor& weight) {
  TORCH_CHECK(target.dim() == 3,
              "only batches of spatial targets supported (3D tensors) but got targets of "
              "dimension: ",
              target.dim());
  TORCH_CHECK(input.dim() == 4,
              "only batches of spatial inputs supported (4D tensors), but got input of dimension: ",
              input.dim());
  TORCH_CHECK(!weight.defined() || weight.sym_numel() == input.sym_size(1),
              "weight tensor should be defined either for all or no classes");
  TORCH_CHECK(input.sym_size(0) == target.sym_size(0) && input.sym_size(2) == target.sym_size(1) &&
                  input.sym_size(3) == target.sym_size(2),
              "size mismatch (got input: ", input.sym_sizes(), " , target: ", target.sym_sizes());
}

TensorSpecs<2> nll2d_spec(const Tensor& input, const Tensor& target, const OptionalTensor& weight,
                          int64_t reduction, c10::SymInt) {
  const Tensor& w = or_undefined(weight);
  check_nll2d(input, target, w);
  const c10::Device device = same_device({input, target, w});
  check_target_dtype(target);
  check_weight_dtype(input, w);
  check_floating("nll_loss2d_forward_out_frame", input);
  const TensorSpec total = contiguous_spec({}, input.scalar_type(), device);
  if (reduction == at::Reduction::None) {
    return {contiguous_spec(target.sym_sizes(), input.scalar_type(), device), total};
  }
  return {total, total};
}

TensorSpec nll2d_backward_spec(const Tensor& grad, const Tensor& input, const Tensor& target,
                               const OptionalTensor& weight, int64_t reduction, c10::SymInt,
                               const Tensor& total_weight) {
  const Tensor& w = or_undefined(weight);
  check_nll2d(input, target, w);
  TORCH_CHECK(total_weight.sym_numel() == 1,
              "expected total_weight to be a single element tensor, got: ",
              total_weight.sym_sizes(), " (", total_weight.sym_numel(), " elements)");
  const c10::Device device = same_device({grad, input, target, w, total_weight});
  check_target_dtype(target);
  TORCH_CHECK(input.sym_size(1) != 0 || is_empty(target),
              "no class for any target (got input: ", input.sym_sizes(),
              ", target: ", target.sym_sizes(), ")");
  if (reduction == at::Reduction::None) {
    TORCH_CHECK(grad.dim() == 3, "grad_output must have same dimension as target (3) but got ",
                "dimension: ", grad.sym_sizes());
    TORCH_CHECK(grad.sym_sizes().equals(target.sym_sizes()),
                "size mismatch (got grad_output: ", grad.sym_sizes(),
                " target: ", target.sym_sizes());
  } else {
    TORCH_CHECK(grad.sym_numel() == 1,
                "Expected a single element grad_output tensor, but got: ", grad.sym_sizes());
  }
  // The CPU kernel writes into a zeros_like(input) that it needs contiguous.
  TORCH_CHECK(!device.is_cpu() || input.is_contiguous(), "grad_input must be contiguous");
  return empty_like_spec(input);
}

// ---- elementwise losses ----

// A reduced loss keeps the storage of the elementwise one, which it was computed in.
Tensor loss_result(const TensorSpec& elementwise, int64_t reduction) {
  Tensor made = make_fake(elementwise);
  if (reduction != at::Reduction::None) {
    set_geometry(made, {}, {}, 0);
  }
  return made;
}

TensorSpec pair_spec(const char* kernel, const Tensor& input, const Tensor& target) {
  const auto both = operands(input, target);
  const c10::ScalarType dtype = common_dtype(both);
  check_dtype(kernel, dtype, dtypes::floats, operands_device(both));
  return iterate(both, false, dtype, dtype);
}

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return loss_result(pair_spec("mse_cpu", self, target), reduction);
}

Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  TORCH_CHECK(beta >= 0, "smooth_l1_loss does not support negative values for beta.");
  return loss_result(pair_spec("smooth_l1_cpu", self, target), reduction);
}

// The kernel writes into an empty_like(input), which broadcasting resizes; the mean or the sum is
// a fresh tensor.
Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  TORCH_CHECK(delta > 0, "huber_loss does not support non-positive values for delta.");
  TensorSpec spec = pair_spec("huber_cpu", self, target);
  spec.dtype = self.scalar_type();
  if (reduction != at::Reduction::None) {
    return make_fake(contiguous_spec({}, spec.dtype, spec.device));
  }
  Tensor made = make_fake(empty_like_spec(self));
  if (!equal_sizes(self.sym_sizes(), spec.sizes)) {
    set_geometry(made, spec.sizes, spec.strides, 0);
  }
  return made;
}

// Gradients go into a zeros_like(input, contiguous) of the input's dtype, which broadcasting
// resizes.
Tensor loss_gradient(const Tensor& grad, const Tensor& input, const Tensor& target) {
  const TensorSpec spec = pair_spec("mse_backward", input, target);
  const TensorSpec all = iterate(operands(input, target, grad), false, spec.dtype, spec.dtype);
  Tensor made = make_fake(contiguous_like_spec(input));
  if (!equal_sizes(input.sym_sizes(), all.sizes)) {
    set_geometry(made, all.sizes, all.strides, 0);
  }
  return made;
}

Tensor mse_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t) {
  return loss_gradient(grad, self, target);
}

Tensor smooth_l1_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                               int64_t, double) {
  return loss_gradient(grad, self, target);
}

Tensor huber_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t,
                           double) {
  for (const Tensor* t : {&target, &grad}) {
    TORCH_CHECK(t->scalar_type() == self.scalar_type(), "Found dtype ", t->scalar_type(),
                " but expected ", self.scalar_type());
  }
  return loss_gradient(grad, self, target);
}

// Binary cross entropy takes one dtype and sizes that the iterator broadcasts to the input's.
TensorSpec bce_spec(const Tensor& self, const Tensor& target, const Tensor& weight,
                    const Tensor& grad) {
  c10::SmallVector<const Tensor*, 4> all{&self, &target};
  for (const Tensor* t : {&weight, &grad}) {
    if (t->defined()) {
      all.push_back(t);
    }
  }
  for (const Tensor* t : all) {
    TORCH_CHECK(t->scalar_type() == self.scalar_type(), "Found dtype ", t->scalar_type(),
                " but expected ", self.scalar_type());
  }
  if (!c10::isFloatingType(self.scalar_type())) {
    unsupported_dtype("binary_cross_entropy", self.scalar_type());
  }
  const TensorSpec made = iterate(all, false, self.scalar_type(), self.scalar_type());
  TORCH_CHECK(equal_sizes(self.sym_sizes(), made.sizes), "output with shape ", self.sym_sizes(),
              " doesn't match the broadcast shape ", c10::SymIntArrayRef(made.sizes));
  return empty_like_spec(self);
}

Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const OptionalTensor& weight,
                            int64_t reduction) {
  return loss_result(bce_spec(self, target, or_undefined(weight), {}), reduction);
}

Tensor binary_cross_entropy_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                     const OptionalTensor& weight, int64_t) {
  return make_fake(bce_spec(self, target, or_undefined(weight), grad));
}

// ---- dropout ----

// The mask has the input's layout; eager asks bernoulli_ for 1 - p. The CPU's kernel hands an input
// without elements back, before any check, with a mask of its dtype.
std::tuple<Tensor, Tensor> dropout(const Tensor& input, double p, std::optional<bool> train) {
  if (input.device().is_cpu() && is_empty(input)) {
    return {input, make_fake(empty_like_spec(input))};
  }
  const bool drops = train.value_or(true);
  TORCH_CHECK(!drops || (p >= 0 && p <= 1),
              "bernoulli_ expects p to be in [0, 1], but got p=", 1 - p);
  TORCH_CHECK(!drops || p == 0 || !c10::isIntegralType(input.scalar_type(), true),
              "result type Float can't be cast to the desired output type ", input.scalar_type());
  return {make_fake(empty_like_spec(input)), make_fake(empty_like_spec(input, c10::kBool))};
}

TensorSpec dropout_backward_spec(const Tensor& grad, const Tensor& mask, double) {
  TORCH_CHECK(mask.scalar_type() == c10::kBool, "Mask should be Bool Scalar Type",
              mask.scalar_type());
  const auto both = operands(grad, mask);
  // The scale is a number with a point: integers become floats.
  const c10::ScalarType dtype = to_float(common_dtype(both));
  return iterate(both, false, dtype, dtype);
}

MASSLESS_RULES(m) {
  rule<"_softmax", functional<softmax_spec>>(m);
  rule<"_softmax.out", out_strict<softmax_spec>>(m);
  rule<"_log_softmax", functional<log_softmax_spec>>(m);
  rule<"_log_softmax.out", out_strict<log_softmax_spec>>(m);
  rule<"_softmax_backward_data", functional<softmax_backward_spec>>(m);
  rule<"_softmax_backward_data.out", out_strict<softmax_backward_spec>>(m);
  rule<"_log_softmax_backward_data", functional<softmax_backward_spec>>(m);
  rule<"_log_softmax_backward_data.out", out_strict<softmax_backward_spec>>(m);
  rule<"nll_loss_forward", functional<nll_spec>>(m);
  rule<"nll_loss_backward", functional<nll_backward_spec>>(m);
  rule<"nll_loss_backward.grad_input", out_strict<nll_backward_spec>>(m);
  rule<"nll_loss2d_forward", functional<nll2d_spec>>(m);
  rule<"nll_loss2d_backward", functional<nll2d_backward_spec>>(m);
  rule<"mse_loss", mse_loss>(m);
  rule<"mse_loss_backward", mse_loss_backward>(m);
  rule<"smooth_l1_loss", smooth_l1_loss>(m);
  rule<"smooth_l1_loss_backward", smooth_l1_loss_backward>(m);
  rule<"huber_loss", huber_loss>(m);
  rule<"huber_loss_backward", huber_loss_backward>(m);
  rule<"binary_cross_entropy", binary_cross_entropy>(m);
  rule<"binary_cross_entropy_backward", binary_cross_entropy_backward>(m);
  rule<"native_dropout", dropout>(m);
  rule<"native_dropout_backward", functional<dropout_backward_spec>>(m);
}

}  // namespace
}  // namespace massless
