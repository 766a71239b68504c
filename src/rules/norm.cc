// Layer, group, batch and RMS normalisation.
//
// The statistics' dtype is the point of these rules. On CPU a reduced-precision input with float
// parameters ("mixed") has float statistics, any other input statistics of its own dtype; on CUDA
// layer and batch norm keep them in the accumulation type.
#include <ATen/AccumulateType.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "fake/care.h"
#include "fake/device.h"
#include "fake/known.h"
#include "fake/rule.h"
#include "rules/strict.h"

namespace massless {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

const Tensor& or_undefined(const OptionalTensor& t) {
  static const Tensor undefined;
  return t ? *t : undefined;
}

c10::ScalarType accumulation_type(const Tensor& t) {
  return at::toAccumulateType(t.scalar_type(), /*is_cuda=*/true);
}

// The dtype of parameters and statistics as ATen's mixed_data_type.h decides: the first parameter
// that is there tells whether the call is mixed.
c10::ScalarType parameter_type(const Tensor& input, TensorRefs parameters) {
  c10::ScalarType type = input.scalar_type();
  for (const Tensor& p : parameters) {
    if (p.defined()) {
      if (p.scalar_type() != type) {
        TORCH_CHECK(c10::isReducedFloatingType(type) && p.scalar_type() == c10::kFloat,
                    "mixed dtype (CPU): expect parameter to have scalar type of Float");
        type = c10::kFloat;
      }
      break;
    }
  }
  for (const Tensor& p : parameters) {
    if (p.defined() && p.scalar_type() != type) {
      TORCH_CHECK(type == input.scalar_type(),
                  "mixed dtype (CPU): expect parameter to have scalar type of Float");
      TORCH_CHECK(false, "expected scalar type ", type, " but found ", p.scalar_type());
    }
  }
  return type;
}

void check_floating(const char* kernel, const Tensor& input) {
  if (!c10::isFloatingType(input.scalar_type()) && !is_empty(input)) {
    unsupported_dtype(kernel, input.scalar_type());
  }
}

Tensor make_if(bool wanted, const TensorSpec& spec) { return wanted ? make_fake(spec) : Tensor(); }

// Gradient of a parameter; eager fails where one is asked for that is not there.
Tensor parameter_gradient(bool wanted, const Tensor& parameter) {
  if (!wanted) {
    return {};
  }
  TORCH_CHECK(parameter.defined(), "tensor does not have a device");
  return make_fake(contiguous_like_spec(parameter));
}

// ---- layer norm ----

std::size_t check_layer_norm(const Tensor& input, c10::SymIntArrayRef shape, const Tensor& weight,
                             const Tensor& bias) {
  TORCH_CHECK(!shape.empty(),
              "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least "
              "one element, but got normalized_shape = ",
              shape);
  TORCH_CHECK(!weight.defined() || weight.sym_sizes().equals(shape),
              "Expected weight to be of same shape as normalized_shape, but got weight of shape ",
              weight.defined() ? weight.sym_sizes() : shape, " and normalized_shape = ", shape);
  TORCH_CHECK(!bias.defined() || bias.sym_sizes().equals(shape),
              "Expected bias to be of same shape as normalized_shape, but got bias of shape ",
              bias.defined() ? bias.sym_sizes() : shape, " and normalized_shape = ", shape);
  const auto sizes = input.sym_sizes();
  const bool fits =
      sizes.size() >= shape.size() && sizes.slice(sizes.size() - shape.size()).equals(shape);
  TORCH_CHECK(fits, "Given normalized_shape=", shape, ", expected input with shape [*, ", shape,
              "], but got input of size", sizes);
  return sizes.size() - shape.size();
}

// Sizes of the statistics: the outer dimensions, then ones.
SymDimVector statistic_sizes(const Tensor& input, std::size_t outer) {
  const auto sizes = input.sym_sizes();
  SymDimVector made(sizes.begin(), sizes.end());
  for (std::size_t i = outer; i < made.size(); ++i) {
    made[i] = 1;
  }
  return made;
}

Three layer_norm(const Tensor& input, c10::SymIntArrayRef shape, const OptionalTensor& weight,
                 const OptionalTensor& bias, double) {
  const Tensor& w = or_undefined(weight);
  const Tensor& b = or_undefined(bias);
  const std::size_t outer = check_layer_norm(input, shape, w, b);
  const c10::Device device = same_device({input, w, b});
  check_floating("LayerNormKernelImpl", input);
  c10::ScalarType type = parameter_type(input, {w, b});
  if (device.is_cuda()) {
    TORCH_CHECK(type == input.scalar_type(), "expected scalar type ", input.scalar_type(),
                " but found ", type);
    type = accumulation_type(input);
  }
  const TensorSpec statistic = contiguous_spec_of(statistic_sizes(input, outer), type, device);
  return {make_fake(contiguous_like_spec(input)), make_fake(statistic), make_fake(statistic)};
}

Three layer_norm_backward(const Tensor& grad, const Tensor& input, c10::SymIntArrayRef shape,
                          const Tensor& mean, const Tensor& rstd, const OptionalTensor& weight,
                          const OptionalTensor& bias, std::array<bool, 3> mask) {
  const Tensor& w = or_undefined(weight);
  const Tensor& b = or_undefined(bias);
  const std::size_t outer = check_layer_norm(input, shape, w, b);
  check_sizes(grad, input.sym_sizes(), "a gradient");
  const c10::SymInt rows = c10::multiply_integers(input.sym_sizes().slice(0, outer));
  check_numel(mean, rows, "a mean");
  check_numel(rstd, rows, "an inverse deviation");
  same_device({grad, input, mean, rstd, w, b});
  return {make_if(mask[0], contiguous_like_spec(input)), parameter_gradient(mask[1], w),
          parameter_gradient(mask[2], b)};
}

// RMS norm's fused kernel (CUDA): rstd has the accumulation type.
SymDimVector symbolic(at::IntArrayRef sizes) { return {sizes.begin(), sizes.end()}; }

TensorSpecs<2> rms_norm_spec(const Tensor& input, at::IntArrayRef shape,
                             const OptionalTensor& weight, std::optional<double>) {
  const Tensor& w = or_undefined(weight);
  const std::size_t outer = check_layer_norm(input, symbolic(shape), w, {});
  const c10::Device device = same_device({input, w});
  check_floating("LayerNormKernelImpl", input);
  return {contiguous_like_spec(input),
          contiguous_spec(statistic_sizes(input, outer), accumulation_type(input), device)};
}

std::tuple<Tensor, Tensor> rms_norm_backward(const Tensor& grad, const Tensor& input,
                                             at::IntArrayRef shape, const Tensor& rstd,
                                             const OptionalTensor& weight,
                                             std::array<bool, 2> mask) {
  const Tensor& w = or_undefined(weight);
  const std::size_t outer = check_layer_norm(input, symbolic(shape), w, {});
  check_sizes(grad, input.sym_sizes(), "a gradient");
  check_numel(rstd, c10::multiply_integers(input.sym_sizes().slice(0, outer)),
              "an inverse deviation");
  same_device({grad, input, rstd, w});
  return {make_if(mask[0], contiguous_like_spec(input)),
          w.defined() ? parameter_gradient(mask[1], w) : Tensor()};
}

// ---- group norm ----

// On CPU a channels_last input stays so; CUDA's kernel takes contiguous ones only.
c10::MemoryFormat group_norm_format(const Tensor& input) {
  return input.device().is_cpu() ? input.suggest_memory_format() : c10::MemoryFormat::Contiguous;
}

void check_channels(const char* name, const Tensor& parameter, const Tensor& input,
                    const c10::SymInt& channels) {
  TORCH_CHECK(!parameter.defined() || (parameter.dim() == 1 && parameter.sym_numel() == channels),
              "Expected ", name,
              " to be a vector of size equal to the number of channels in input, but got ", name,
              " of shape ", parameter.defined() ? parameter.sym_sizes() : input.sym_sizes(),
              " and input of shape ", input.sym_sizes());
}

TensorSpecs<3> group_norm_spec(const Tensor& input, const OptionalTensor& weight,
                               const OptionalTensor& bias, c10::SymInt N, c10::SymInt C,
                               c10::SymInt inner, int64_t group, double) {
  TORCH_CHECK(group > 0, "Expected num groups to be greater than 0, got ", group);
  TORCH_CHECK(C % group == 0,
              "Expected number of channels in input to be divisible by num_groups, but got input "
              "of shape ",
              input.sym_sizes(), " and num_groups=", group);
  const Tensor& w = or_undefined(weight);
  const Tensor& b = or_undefined(bias);
  check_channels("weight", w, input, C);
  check_channels("bias", b, input, C);
  check_numel(input, N * C * inner, "an input");
  const c10::Device device = same_device({input, w, b});
  const c10::MemoryFormat format = group_norm_format(input);
  TORCH_CHECK(input.is_contiguous(format),
              "Expected X.is_contiguous(memory_format) to be true, but got false.");
  check_floating("GroupNormKernelImpl", input);
  const TensorSpec stats = contiguous_spec({N, group}, parameter_type(input, {w, b}), device);
  return {format_like_spec(input, format), stats, stats};
}

Three group_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& mean,
                          const Tensor& rstd, const OptionalTensor& weight, c10::SymInt N,
                          c10::SymInt C, c10::SymInt inner, int64_t group,
                          std::array<bool, 3> mask) {
  TORCH_CHECK(grad.scalar_type() == input.scalar_type(),
              "Expected scalar types of X and dY are same.");
  const Tensor& w = or_undefined(weight);
  for (const Tensor* t : {&grad, &input}) {
    check_numel(*t, N * C * inner, "an input and a gradient");
  }
  for (const Tensor* t : {&mean, &rstd}) {
    check_numel(*t, N * group, "statistics");
  }
  check_numel(w, C, "a weight");
  same_device({grad, input, mean, rstd, w});
  parameter_type(input, {mean, rstd});
  return {make_if(mask[0], format_like_spec(input, group_norm_format(input))),
          parameter_gradient(mask[1], w), parameter_gradient(mask[2], w)};
}

// ---- batch norm ----

struct BatchNorm {
  c10::Device device;
  c10::ScalarType statistic;
  c10::SymInt channels;
};

BatchNorm check_batch_norm(const Tensor& input, TensorRefs parameters) {
  CommonDevice common;
  common.add(input);
  for (const Tensor& p : parameters) {
    common.add(p);
  }
  const c10::SymInt channels = input.sym_size(1);
  for (const Tensor& p : parameters) {
    check_numel(p, channels, "parameters and statistics");
  }
  const c10::Device device = common.get();
  if (!c10::isFloatingType(input.scalar_type())) {
    unsupported_dtype("batch_norm", input.scalar_type());
  }
  if (device.is_cuda()) {
    return {device, accumulation_type(input), channels};
  }
  const c10::ScalarType type = parameter_type(input, parameters);
  return {device, type, channels};
}

// CPU writes the input's suggested format, CUDA a tensor like the input.
TensorSpec batch_norm_output(const Tensor& input) {
  return input.device().is_cuda() ? empty_like_spec(input)
                                  : format_like_spec(input, input.suggest_memory_format());
}

// Training writes the running statistics, of which the schema of native_batch_norm says nothing.
void write_running(const Tensor& running, const char* name) {
  if (running.defined()) {
    check_written(running, name, std::string(current_operator()));
    if (is_fake(running)) {
      forget(running);
    }
  }
}

// The statistics of a batch need one.
void check_batch_elements(const BatchNorm& call, const Tensor& input) {
  TORCH_CHECK(
      call.device.is_cuda() || !is_empty(input),
      "input tensor must have at least one element, but got input_sizes = ", input.sym_sizes());
}

TensorSpecs<3> batch_norm_any(const Tensor& input, const Tensor& weight, const Tensor& bias,
                              const Tensor& running_mean, const Tensor& running_var,
                              bool training) {
  const BatchNorm call = check_batch_norm(input, {weight, bias, running_mean, running_var});
  TORCH_CHECK(training || (running_mean.defined() && running_var.defined()),
              "Expected running_mean and running_var to be defined when training=False");
  if (training) {
    write_running(running_mean, "running_mean");
    write_running(running_var, "running_var");
  }
  if (training) {
    check_batch_elements(call, input);
  }
  // In evaluation the CPU saves nothing, CUDA a copy of the running statistics.
  const bool saves = training || call.device.is_cuda();
  const TensorSpec saved =
      contiguous_spec({saves ? call.channels : c10::SymInt(0)}, call.statistic, call.device);
  return {batch_norm_output(input), saved, saved};
}

TensorSpecs<3> batch_norm_spec(const Tensor& input, const OptionalTensor& weight,
                               const OptionalTensor& bias, const OptionalTensor& running_mean,
                               const OptionalTensor& running_var, bool training, double, double) {
  return batch_norm_any(input, or_undefined(weight), or_undefined(bias), or_undefined(running_mean),
                        or_undefined(running_var), training);
}

Three batch_norm_legit(const Tensor& input, const OptionalTensor& weight,
                       const OptionalTensor& bias, Tensor& running_mean, Tensor& running_var,
                       bool training, double, double) {
  return detail::realize(batch_norm_any(input, or_undefined(weight), or_undefined(bias),
                                        running_mean, running_var, training));
}

TensorSpecs<3> batch_norm_no_stats_spec(const Tensor& input, const OptionalTensor& weight,
                                        const OptionalTensor& bias, bool training, double, double) {
  return batch_norm_any(input, or_undefined(weight), or_undefined(bias), {}, {}, training);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm_with_update(
    const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
    Tensor& running_mean, Tensor& running_var, double, double) {
  auto [out, mean, var] = batch_norm_any(input, or_undefined(weight), or_undefined(bias),
                                         running_mean, running_var, true);
  return {make_fake(out), make_fake(mean), make_fake(var),
          make_fake(contiguous_spec({0}, c10::kByte, out.device))};
}

using ThreeOut = std::tuple<Tensor&, Tensor&, Tensor&>;

// In evaluation the CPU leaves the saved statistics as they are given.
ThreeOut batch_norm_into(const TensorSpecs<3>& specs, bool training, Tensor& out, Tensor& save_mean,
                         Tensor& save_invstd) {
  const auto& [result, mean, invstd] = specs;
  write_out_strict(out, result);
  if (training || result.device.is_cuda()) {
    write_out_strict(save_mean, mean);
    write_out_strict(save_invstd, invstd);
  }
  return {out, save_mean, save_invstd};
}

ThreeOut batch_norm_out(const Tensor& input, const OptionalTensor& weight,
                        const OptionalTensor& bias, const OptionalTensor& running_mean,
                        const OptionalTensor& running_var, bool training, double, double,
                        Tensor& out, Tensor& save_mean, Tensor& save_invstd) {
  return batch_norm_into(
      batch_norm_any(input, or_undefined(weight), or_undefined(bias), or_undefined(running_mean),
                     or_undefined(running_var), training),
      training, out, save_mean, save_invstd);
}

ThreeOut batch_norm_legit_out(const Tensor& input, const OptionalTensor& weight,
                              const OptionalTensor& bias, Tensor& running_mean, Tensor& running_var,
                              bool training, double, double, Tensor& out, Tensor& save_mean,
                              Tensor& save_invstd) {
  return batch_norm_into(batch_norm_any(input, or_undefined(weight), or_undefined(bias),
                                        running_mean, running_var, training),
                         training, out, save_mean, save_invstd);
}

ThreeOut batch_norm_no_stats_out(const Tensor& input, const OptionalTensor& weight,
                                 const OptionalTensor& bias, bool training, double, double,
                                 Tensor& out, Tensor& save_mean, Tensor& save_invstd) {
  return batch_norm_into(
      batch_norm_any(input, or_undefined(weight), or_undefined(bias), {}, {}, training), training,
      out, save_mean, save_invstd);
}

TensorSpecs<2> batch_norm_update_stats_spec(const Tensor& input, const OptionalTensor& running_mean,
                                            const OptionalTensor& running_var, double) {
  const BatchNorm call =
      check_batch_norm(input, {or_undefined(running_mean), or_undefined(running_var)});
  write_running(or_undefined(running_mean), "running_mean");
  write_running(or_undefined(running_var), "running_var");
  check_batch_elements(call, input);
  const TensorSpec saved = contiguous_spec({call.channels}, call.statistic, call.device);
  return {saved, saved};
}

Three batch_norm_backward(const Tensor& grad, const Tensor& input, const OptionalTensor& weight,
                          const OptionalTensor& running_mean, const OptionalTensor& running_var,
                          const OptionalTensor& save_mean, const OptionalTensor& save_invstd,
                          bool training, double, std::array<bool, 3> mask) {
  const Tensor& w = or_undefined(weight);
  same_device({grad, input, w, or_undefined(running_mean), or_undefined(running_var),
               or_undefined(save_mean), or_undefined(save_invstd)});
  const BatchNorm call =
      check_batch_norm(input, {w, or_undefined(running_mean), or_undefined(running_var)});
  check_sizes(grad, input.sym_sizes(), "a gradient");
  for (const OptionalTensor* saved : {&save_mean, &save_invstd}) {
    if (training) {
      check_numel(or_undefined(*saved), call.channels, "saved statistics");
    }
  }
  const c10::ScalarType type = w.defined() ? w.scalar_type() : call.statistic;
  const TensorSpec parameter = contiguous_spec({call.channels}, type, call.device);
  // Both devices follow the input's memory format here.
  return {make_if(mask[0], format_like_spec(input, input.suggest_memory_format())),
          make_if(mask[1], parameter), make_if(mask[2], parameter)};
}

Three batch_norm_backward_reserve(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                  const OptionalTensor& running_mean,
                                  const OptionalTensor& running_var,
                                  const OptionalTensor& save_mean, const OptionalTensor& save_var,
                                  bool update, double eps, std::array<bool, 3> mask,
                                  const Tensor&) {
  return batch_norm_backward(grad, input, weight, running_mean, running_var, save_mean, save_var,
                             update, eps, mask);
}

// cuDNN's statistics have the weight's dtype (float, also for a reduced-precision input); the
// reserve's size is cuDNN's to say, and it is 0 for the modes without a fused activation.
std::tuple<Tensor, Tensor, Tensor, Tensor> cudnn_batch_norm(const Tensor& input,
                                                            const Tensor& weight,
                                                            const OptionalTensor& bias,
                                                            const OptionalTensor& running_mean,
                                                            const OptionalTensor& running_var,
                                                            bool training, double, double) {
  const c10::Device device = same_device(
      {input, weight, or_undefined(bias), or_undefined(running_mean), or_undefined(running_var)});
  if (training) {
    write_running(or_undefined(running_mean), "running_mean");
    write_running(or_undefined(running_var), "running_var");
  }
  const c10::SymInt saved = training ? input.sym_size(1) : c10::SymInt(0);
  const TensorSpec stats = contiguous_spec({saved}, weight.scalar_type(), device);
  return {make_fake(format_like_spec(input, input.suggest_memory_format())), make_fake(stats),
          make_fake(stats), make_fake(contiguous_spec({0}, c10::kByte, device))};
}

Three cudnn_batch_norm_backward(const Tensor& input, const Tensor& grad, const Tensor& weight,
                                const OptionalTensor&, const OptionalTensor&,
                                const OptionalTensor& save_mean, const OptionalTensor& save_var,
                                double, const Tensor& reserve) {
  same_device({input, grad, weight, or_undefined(save_mean), or_undefined(save_var), reserve});
  const TensorSpec parameter = contiguous_like_spec(weight);
  return {make_fake(format_like_spec(input, input.suggest_memory_format())), make_fake(parameter),
          make_fake(parameter)};
}

MASSLESS_RULES(m) {
  rule<"native_layer_norm", layer_norm>(m);
  rule<"native_layer_norm_backward", layer_norm_backward>(m);
  rule<"_fused_rms_norm", functional<rms_norm_spec>>(m);
  rule<"_fused_rms_norm_backward", rms_norm_backward>(m);
  rule<"native_group_norm", functional<group_norm_spec>>(m);
  rule<"native_group_norm_backward", group_norm_backward>(m);
  rule<"native_batch_norm", functional<batch_norm_spec>>(m);
  rule<"native_batch_norm.out", batch_norm_out>(m);
  rule<"_native_batch_norm_legit", batch_norm_legit>(m);
  rule<"_native_batch_norm_legit.out", batch_norm_legit_out>(m);
  rule<"_native_batch_norm_legit.no_stats", functional<batch_norm_no_stats_spec>>(m);
  rule<"_native_batch_norm_legit.no_stats_out", batch_norm_no_stats_out>(m);
  rule<"_batch_norm_with_update", batch_norm_with_update>(m);
  rule<"batch_norm_update_stats", functional<batch_norm_update_stats_spec>>(m);
  rule<"native_batch_norm_backward", batch_norm_backward>(m);
  rule<"batch_norm_backward", batch_norm_backward_reserve>(m);
  rule<"cudnn_batch_norm", cudnn_batch_norm>(m);
  rule<"cudnn_batch_norm_backward", cudnn_batch_norm_backward>(m);
}

}  // namespace
}  // namespace massless
