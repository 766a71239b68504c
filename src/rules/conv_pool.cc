// Convolution and pooling in two dimensions.
//
// `convolution` stands for the kernel that ATen's composite of that name picks (oneDNN, the slow
// kernels, cuDNN); their outputs differ in memory format only, which is what is decided here.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "fake/device.h"
#include "fake/rule.h"
#include "fake/storage.h"
#include "rules/flops.h"
#include "rules/iterator.h"
#include "rules/strict.h"
#include "rules/view.h"

namespace massless {
namespace {

using at::Tensor;
using c10::MemoryFormat;
using c10::SymInt;
using c10::SymIntArrayRef;
using OptionalTensor = std::optional<Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

const Tensor& or_undefined(const OptionalTensor& t) {
  static const Tensor undefined;
  return t ? *t : undefined;
}

// ---- convolution ----

struct Convolution {
  SymDimVector stride;
  SymDimVector padding;
  SymDimVector dilation;
  bool transposed;
  SymDimVector output_padding;
  SymInt groups;
};

// One value stands for all spatial dimensions.
SymDimVector expand_parameter(SymIntArrayRef values, const char* name, std::size_t dims) {
  if (values.size() == 1) {
    return SymDimVector(dims, values[0]);
  }
  TORCH_CHECK(values.size() == dims, "expected ", name,
              " to be a single integer value or a list of ", dims,
              " values to match the convolution dimensions, but got ", name, "=", values);
  return {values.begin(), values.end()};
}

bool all_at_least(SymIntArrayRef values, int64_t least) {
  return std::all_of(values.begin(), values.end(),
                     [&](const SymInt& value) { return value >= least; });
}
bool all_are(SymIntArrayRef values, int64_t wanted) {
  return std::all_of(values.begin(), values.end(),
                     [&](const SymInt& value) { return value == wanted; });
}

Convolution read_parameters(const Tensor& weight, SymIntArrayRef stride, SymIntArrayRef padding,
                            SymIntArrayRef dilation, bool transposed, SymIntArrayRef output_padding,
                            const SymInt& groups) {
  TORCH_CHECK(weight.dim() > 2, "weight should have at least three dimensions");
  TORCH_CHECK(groups > 0, "non-positive groups is not supported");
  const auto dims = static_cast<std::size_t>(weight.dim() - 2);
  Convolution conv{expand_parameter(stride, "stride", dims),
                   expand_parameter(padding, "padding", dims),
                   expand_parameter(dilation, "dilation", dims),
                   transposed,
                   expand_parameter(output_padding, "output_padding", dims),
                   groups};
  TORCH_CHECK(all_at_least(conv.padding, 0), "negative padding is not supported");
  TORCH_CHECK(all_at_least(conv.output_padding, 0), "negative output_padding is not supported");
  TORCH_CHECK(all_at_least(conv.stride, 1), "non-positive stride is not supported");
  TORCH_CHECK(all_at_least(conv.dilation, 1), "non-positive dilation is not supported");
  return conv;
}

void check_channels(const Convolution& conv, const Tensor& input, const Tensor& weight,
                    const Tensor& bias) {
  const auto sizes = weight.sym_sizes();
  TORCH_CHECK(weight.dim() == input.dim(), "Expected ", weight.dim(), "-dimensional input for ",
              weight.dim(), "-dimensional weight ", sizes, ", but got ", input.dim(),
              "-dimensional input of size ", input.sym_sizes(), " instead");
  TORCH_CHECK(sizes[0] >= conv.groups, "Given groups=", conv.groups,
              ", expected weight to be at least ", conv.groups,
              " at dimension 0, but got weight of size ", sizes, " instead");
  TORCH_CHECK(sizes[0] % conv.groups == 0, "Given groups=", conv.groups,
              ", expected weight to be divisible by ", conv.groups,
              " at dimension 0, but got weight of size [", sizes, "] instead");
  const SymInt channels = conv.transposed ? sizes[0] : sizes[1] * conv.groups;
  TORCH_CHECK(input.sym_size(1) == channels, "Given ", conv.transposed ? "transposed=" : "groups=",
              conv.transposed ? SymInt(1) : conv.groups, ", weight of size ", sizes,
              ", expected input", input.sym_sizes(), " to have ", channels, " channels, but got ",
              input.sym_size(1), " channels instead");
  const SymInt out = conv.transposed ? sizes[1] * conv.groups : sizes[0];
  TORCH_CHECK(!bias.defined() || (bias.dim() == 1 && bias.sym_size(0) == out), "Given ",
              conv.transposed ? "transposed=1, " : "", "weight of size ", sizes,
              ", expected bias to be 1-dimensional with ", out, " elements, but got bias of size ",
              bias.defined() ? bias.sym_sizes() : sizes, " instead");
}

void check_same_type(const Tensor& input, const Tensor& parameter, const char* name) {
  TORCH_CHECK(!parameter.defined() || parameter.scalar_type() == input.scalar_type(),
              "Input type (", input.dtype(), ") and ", name, " type (",
              parameter.defined() ? parameter.dtype() : input.dtype(),
              ") should be the same or input should be a MKLDNN tensor and ", name,
              " is a dense tensor");
}

SymInt forward_size(const Convolution& conv, const SymInt& in, const SymInt& kernel,
                    std::size_t dim) {
  const SymInt padded = in + conv.padding[dim] * 2;
  const SymInt extent = conv.dilation[dim] * (kernel - 1) + 1;
  TORCH_CHECK(extent <= padded, "Calculated padded input size per channel: (", padded,
              "). Kernel size: (", extent,
              "). Kernel size can't be greater than actual input size");
  return (padded - extent) / conv.stride[dim] + 1;
}

SymInt transposed_size(const Convolution& conv, const SymInt& in, const SymInt& kernel,
                       std::size_t dim) {
  const SymInt& extra = conv.output_padding[dim];
  TORCH_CHECK(extra < conv.stride[dim] || extra < conv.dilation[dim],
              "output padding must be smaller than either stride or dilation, but got "
              "output_padding: ",
              extra, " stride: ", conv.stride[dim], " dilation: ", conv.dilation[dim]);
  SymInt out = (in - 1) * conv.stride[dim] - conv.padding[dim] * 2 +
               conv.dilation[dim] * (kernel - 1) + extra + 1;
  TORCH_CHECK(out >= 1, "Given input size per channel: (", in,
              "). Calculated output size per channel: (", out, "). Output size is too small");
  return out;
}

// Does oneDNN compute it? Integers and doubles it does not, and small problems in float ATen keeps.
bool takes_one_dnn(const Convolution& conv, const Tensor& input, const Tensor& weight) {
  if (!at::globalContext().userEnabledMkldnn() || !input.device().is_cpu()) {
    return false;
  }
  for (std::size_t i = 0; conv.transposed && i < conv.stride.size(); ++i) {
    if (conv.output_padding[i] >= conv.stride[i]) {
      return false;
    }
  }
  if (input.scalar_type() != c10::kFloat) {
    return c10::isReducedFloatingType(input.scalar_type());
  }
  // A kernel of one dimension is seen as one of two: 1 x its size.
  const auto in = input.sym_sizes();
  const SymInt& width = weight.sym_sizes().back();
  const SymInt height = weight.dim() == 3 ? SymInt(1) : weight.sym_size(-2);
  const bool worth_it = at::get_num_threads() > 1 || width != 1 || height != 1 ||
                        !all_are(conv.stride, 1) || !all_are(conv.dilation, 1) || in[0] >= 16;
  const SymInt volume = in[0] * in[1] * in[2] * (weight.dim() == 3 ? SymInt(1) : in[3]);
  return worth_it && (conv.groups > 1 || (width > 3 && height > 3) || in[0] > 1 || volume > 20480);
}

bool suggests(const Tensor& t, MemoryFormat format) { return t.suggest_memory_format() == format; }

// A dimension of size 1 before the only one that is convolved; the input's is made contiguous
// first, which leaves it as it is where only a channel's stride looks like another format.
bool suggests_one_dimensional(const Tensor& input, const Tensor& weight) {
  if (suggests(unsqueeze_rule(weight, 2), MemoryFormat::ChannelsLast)) {
    return true;
  }
  return !proved_equal(input.sym_strides(), contiguous_strides(input.sym_sizes())) &&
         input.is_contiguous() && suggests(unsqueeze_rule(input, 2), MemoryFormat::ChannelsLast);
}

// channels_last where the input's or the weight's strides suggest it; in three dimensions only
// oneDNN and cuDNN keep it.
MemoryFormat convolution_format(const Convolution& conv, const Tensor& input,
                                const Tensor& weight) {
  const auto suggested = [&](MemoryFormat format) {
    return suggests(input, format) || suggests(weight, format);
  };
  if (weight.dim() == 4 && suggested(MemoryFormat::ChannelsLast)) {
    return MemoryFormat::ChannelsLast;
  }
  if (weight.dim() == 3 && suggests_one_dimensional(input, weight)) {
    return MemoryFormat::ChannelsLast;
  }
  if (weight.dim() == 5 && suggested(MemoryFormat::ChannelsLast3d) &&
      (input.is_cuda() || takes_one_dnn(conv, input, weight))) {
    return MemoryFormat::ChannelsLast3d;
  }
  return MemoryFormat::Contiguous;
}

// The strides of a result; in one dimension those of the result with a dimension of size 1 more.
SymDimVector convolved_strides(SymIntArrayRef sizes, MemoryFormat format) {
  if (sizes.size() != 3 || format == MemoryFormat::Contiguous) {
    return strides_of_format(sizes, format);
  }
  SymDimVector strides = strides_of_format(SymDimVector{sizes[0], sizes[1], 1, sizes[2]}, format);
  strides.erase(strides.begin() + 2);
  return strides;
}

TensorSpec convolved_like(const Tensor& t, MemoryFormat format) {
  const auto sizes = t.sym_sizes();
  return {SymDimVector(sizes.begin(), sizes.end()), convolved_strides(sizes, format),
          t.scalar_type(), claimed_device(t)};
}

// The result of an input without channels has none, whatever the weight says.
SymDimVector convolved_sizes(const Convolution& conv, const Tensor& input, const Tensor& weight) {
  const auto in = input.sym_sizes();
  const auto kernel = weight.sym_sizes();
  SymDimVector sizes{in[0], conv.transposed ? kernel[1] * conv.groups : kernel[0]};
  for (std::size_t dim = 0; dim < conv.stride.size(); ++dim) {
    sizes.push_back(conv.transposed ? transposed_size(conv, in[dim + 2], kernel[dim + 2], dim)
                                    : forward_size(conv, in[dim + 2], kernel[dim + 2], dim));
  }
  if (in[1] == 0) {
    sizes[1] = 0;
  }
  return sizes;
}

// Only an input without batch or without channels may have no elements; of the first kind the
// result is made of the weight's first row.
void check_elements(const Tensor& input, const Tensor& weight) {
  const auto in = input.sym_sizes();
  const auto kernel = weight.sym_sizes().slice(2);
  for (const SymInt& n : weight.sym_sizes().slice(1)) {
    const bool none = n == 0 && in[1] != 0;
    TORCH_CHECK_INDEX(!none || !at_example(in[0].sym_eq(0)) || in[0] != 0,
                      "select(): index 0 out of range for tensor of size [0] at dimension 0");
    TORCH_CHECK(!none, "kernel size should be greater than zero, but got ", kernel);
  }
  for (const SymInt& n : in.slice(2)) {
    TORCH_CHECK(n != 0 || in[0] == 0 || in[1] == 0,
                "Only zero batch or zero channel inputs are supported, but got input shape: ", in);
  }
}

TensorSpec any_convolution(const Convolution& conv, const Tensor& input, const Tensor& weight,
                           const Tensor& bias) {
  check_channels(conv, input, weight, bias);
  SymDimVector sizes = convolved_sizes(conv, input, weight);
  const c10::Device device = same_device({input, weight, bias});
  check_same_type(input, weight, "weight");
  check_same_type(input, bias, "bias");
  check_elements(input, weight);
  const bool empty = taken_as_empty(input);  // then the result is, too
  const MemoryFormat format =
      empty ? MemoryFormat::Contiguous : convolution_format(conv, input, weight);
  return {sizes, convolved_strides(sizes, format), input.scalar_type(), device};
}

// ATen's own transposed kernel in three dimensions resizes a tensor of the input's size, and a
// storage never shrinks.
bool resizes_input_size(const Convolution& conv, const Tensor& input, const Tensor& weight,
                        const SymInt& numel) {
  return conv.transposed && weight.dim() == 5 && input.device().is_cpu() &&
         !proved(numel.sym_ge(input.sym_numel())) && conv.groups == 1 && !taken_as_empty(input) &&
         !takes_one_dnn(conv, input, weight);
}

Tensor convolved(const Convolution& conv, const Tensor& input, const Tensor& weight,
                 const OptionalTensor& bias) {
  const TensorSpec spec = any_convolution(conv, input, weight, or_undefined(bias));
  const SymInt numel = c10::multiply_integers(SymIntArrayRef(spec.sizes));
  if (!resizes_input_size(conv, input, weight, numel)) {
    return make_fake(spec);
  }
  const SymInt nbytes = greatest(numel, input.sym_numel()) * c10::elementSize(spec.dtype);
  return make_fake_over(new_storage(nbytes, spec.device), spec.sizes, spec.strides, 0, spec.dtype,
                        spec.device);
}

Tensor convolution(const Tensor& input, const Tensor& weight, const OptionalTensor& bias,
                   SymIntArrayRef stride, SymIntArrayRef padding, SymIntArrayRef dilation,
                   bool transposed, SymIntArrayRef output_padding, SymInt groups) {
  const Convolution conv =
      read_parameters(weight, stride, padding, dilation, transposed, output_padding, groups);
  return convolved(conv, input, weight, bias);
}

Tensor convolution_flags(const Tensor& input, const Tensor& weight, const OptionalTensor& bias,
                         SymIntArrayRef stride, SymIntArrayRef padding, SymIntArrayRef dilation,
                         bool transposed, SymIntArrayRef output_padding, SymInt groups, bool, bool,
                         bool, bool) {
  return convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding,
                     std::move(groups));
}

Tensor mkldnn_convolution(const Tensor& input, const Tensor& weight, const OptionalTensor& bias,
                          SymIntArrayRef padding, SymIntArrayRef stride, SymIntArrayRef dilation,
                          SymInt groups) {
  return convolution(input, weight, bias, stride, padding, dilation, false, {SymInt(0)},
                     std::move(groups));
}

// The gradients of input and weight have the format of the convolution, except those of an input
// without batch or channels, which are zeros_like, and the weight's of a depthwise convolution
// without oneDNN, which is put together from slices of one channel.
Three convolution_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                           at::OptionalSymIntArrayRef bias_sizes, SymIntArrayRef stride,
                           SymIntArrayRef padding, SymIntArrayRef dilation, bool transposed,
                           SymIntArrayRef output_padding, SymInt groups, std::array<bool, 3> mask) {
  const Convolution conv =
      read_parameters(weight, stride, padding, dilation, transposed, output_padding, groups);
  check_channels(conv, input, weight, {});
  const c10::Device device = same_device({grad, input, weight});
  TORCH_CHECK(grad.dim() == input.dim(),
              "Expected input and grad_output to have the same number "
              "of dimensions, but got: ",
              input.dim(), " and ", grad.dim());
  TORCH_CHECK(transposed || all_are(conv.output_padding, 0),
              "output_padding is not supported for non-transposed convolutions; got: ",
              SymIntArrayRef(conv.output_padding));
  check_sizes(grad, convolved_sizes(conv, input, weight), "a gradient");
  const bool empty = input.sym_size(0) == 0 || input.sym_size(1) == 0;
  if (!empty) {
    check_elements(input, weight);
  }
  const MemoryFormat format =
      empty ? MemoryFormat::Contiguous : convolution_format(conv, input, weight);
  Three made;
  if (mask[0]) {
    std::get<0>(made) = make_fake(empty ? empty_like_spec(input) : convolved_like(input, format));
  }
  if (mask[1]) {
    const bool sliced = !empty && device.is_cpu() && conv.groups > 1 && weight.sym_size(1) == 1 &&
                        !takes_one_dnn(conv, input, weight);
    const MemoryFormat of_weight = sliced ? MemoryFormat::Contiguous : format;
    std::get<1>(made) =
        make_fake(empty ? empty_like_spec(weight) : convolved_like(weight, of_weight));
  }
  if (mask[2]) {
    TORCH_CHECK(!empty || bias_sizes,
                "the gradient of the bias of an empty input has the sizes of the bias, which are "
                "not given");
    std::get<2>(made) =
        make_fake(empty ? contiguous_spec(*bias_sizes, weight.scalar_type(), device)
                        : contiguous_spec({grad.sym_size(1)}, grad.scalar_type(), device));
  }
  return made;
}

// ---- pooling ----

struct Window {
  std::array<int64_t, 2> kernel;
  std::array<int64_t, 2> stride;
  std::array<int64_t, 2> padding;
  std::array<int64_t, 2> dilation;
  bool ceil;
};

std::array<int64_t, 2> two(at::IntArrayRef values, const char* what) {
  TORCH_CHECK(values.size() == 1 || values.size() == 2, what);
  return {values[0], values.back()};
}

Window read_window(const std::string& name, at::IntArrayRef kernel, at::IntArrayRef stride,
                   at::IntArrayRef padding, at::IntArrayRef dilation, bool ceil) {
  const std::string pair = " must either be a single int, or a tuple of two ints";
  Window w{};
  w.kernel = two(kernel, (name + ": kernel_size" + pair).c_str());
  TORCH_CHECK(stride.size() <= 2, name,
              ": stride must either be omitted, a single int, or a tuple of two ints");
  w.stride = stride.empty() ? w.kernel : two(stride, "");
  w.padding = two(padding, (name + ": padding" + pair).c_str());
  w.dilation = two(dilation, (name + ": dilation" + pair).c_str());
  w.ceil = ceil;
  return w;
}

SymInt pooled_size(const Window& w, const SymInt& in, std::size_t dim) {
  TORCH_CHECK(w.stride[dim] != 0, "stride should not be zero");
  TORCH_CHECK(w.padding[dim] >= 0, "pad must be non-negative, but got pad: ", w.padding[dim]);
  const int64_t extent = w.dilation[dim] * (w.kernel[dim] - 1) + 1;
  TORCH_CHECK(w.padding[dim] <= extent / 2,
              "pad should be at most half of effective kernel size, but got pad=", w.padding[dim],
              ", kernel_size=", w.kernel[dim], " and dilation=", w.dilation[dim]);
  const SymInt room = in + 2 * w.padding[dim] - extent + (w.ceil ? w.stride[dim] - 1 : 0);
  if (room < 0) {
    return 0;
  }
  const SymInt out = room / w.stride[dim] + 1;
  // The last window must start inside the input or the left padding.
  const bool outside = w.ceil && (out - 1) * w.stride[dim] >= in + w.padding[dim];
  return outside ? out - 1 : out;
}

void check_pool_input(const Window& w, const Tensor& input) {
  TORCH_CHECK(w.kernel[0] > 0 && w.kernel[1] > 0,
              "kernel size should be greater than zero, but got kH: ", w.kernel[0],
              " kW: ", w.kernel[1]);
  TORCH_CHECK(w.stride[0] > 0 && w.stride[1] > 0,
              "stride should be greater than zero, but got dH: ", w.stride[0],
              " dW: ", w.stride[1]);
  TORCH_CHECK(w.dilation[0] > 0 && w.dilation[1] > 0,
              "dilation should be greater than zero, but got dilationH: ", w.dilation[0],
              " dilationW: ", w.dilation[1]);
  const auto sizes = input.sym_sizes();
  for (std::size_t i = sizes.size() - 3; i < sizes.size(); ++i) {
    TORCH_CHECK(sizes[i] != 0,
                "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, "
                "but got:",
                sizes);
  }
}

// Sizes of the pooled tensor.
SymDimVector pooled_sizes(const Window& w, const Tensor& input) {
  TORCH_CHECK(input.dim() == 3 || input.dim() == 4,
              "non-empty 3D or 4D (batch mode) tensor expected for input");
  SymDimVector sizes(input.sym_sizes().begin(), input.sym_sizes().end());
  const std::size_t rank = sizes.size();
  for (std::size_t dim = 0; dim < 2; ++dim) {
    sizes[rank - 2 + dim] = pooled_size(w, sizes[rank - 2 + dim], dim);
  }
  check_pool_input(w, input);
  TORCH_CHECK(sizes[rank - 2] >= 1 && sizes[rank - 1] >= 1, "Given input size: (",
              input.sym_size(-3), "x", input.sym_size(-2), "x", input.sym_size(-1),
              "). Calculated output size: (", sizes[rank - 3], "x", sizes[rank - 2], "x",
              sizes[rank - 1], "). Output size is too small");
  return sizes;
}

TensorSpec pool_output(SymDimVector sizes, const Tensor& input, c10::ScalarType dtype) {
  SymDimVector strides = strides_of_format(sizes, input.suggest_memory_format());
  return {std::move(sizes), std::move(strides), dtype, input.device()};
}

TensorSpecs<2> max_pool_spec(const Tensor& self, at::IntArrayRef kernel, at::IntArrayRef stride,
                             at::IntArrayRef padding, at::IntArrayRef dilation, bool ceil) {
  const Window w = read_window("max_pool2d", kernel, stride, padding, dilation, ceil);
  const SymDimVector sizes = pooled_sizes(w, self);
  check_dtype("max_pool2d", self.scalar_type(), dtypes::real, self.device());
  return {pool_output(sizes, self, self.scalar_type()), pool_output(sizes, self, c10::kLong)};
}

TensorSpec avg_pool_spec(const Tensor& self, at::IntArrayRef kernel, at::IntArrayRef stride,
                         at::IntArrayRef padding, bool ceil, bool, std::optional<int64_t> divisor) {
  const Window w = read_window("avg_pool2d", kernel, stride, padding, {1, 1}, ceil);
  TORCH_CHECK(!divisor || *divisor != 0, "divisor must be not zero");
  SymDimVector sizes = pooled_sizes(w, self);
  check_dtype("avg_pool2d", self.scalar_type(), dtypes::floats | dtype_bit(c10::kLong),
              self.device());
  return pool_output(std::move(sizes), self, self.scalar_type());
}

void check_gradient_sizes(const Tensor& grad, SymIntArrayRef expected) {
  TORCH_CHECK(equal_sizes(grad.sym_sizes(), expected), "Expected a tensor of sizes ", expected,
              " but got: ", grad.sym_sizes());
}

TensorSpec pool_gradient(const Tensor& input) {
  return format_like_spec(input, input.suggest_memory_format());
}

TensorSpec max_pool_backward_spec(const Tensor& grad, const Tensor& self, at::IntArrayRef kernel,
                                  at::IntArrayRef stride, at::IntArrayRef padding,
                                  at::IntArrayRef dilation, bool ceil, const Tensor& indices) {
  const Window w = read_window("max_pool2d", kernel, stride, padding, dilation, ceil);
  TORCH_CHECK(self.scalar_type() == grad.scalar_type(), "expected dtype ", self.dtype(),
              " for `gradOutput` but got dtype ", grad.dtype());
  same_device({grad, self, indices});
  const SymDimVector sizes = pooled_sizes(w, self);
  check_gradient_sizes(grad, sizes);
  check_gradient_sizes(indices, sizes);
  return pool_gradient(self);
}

TensorSpec avg_pool_backward_spec(const Tensor& grad, const Tensor& self, at::IntArrayRef kernel,
                                  at::IntArrayRef stride, at::IntArrayRef padding, bool ceil, bool,
                                  std::optional<int64_t> divisor) {
  const Window w = read_window("avg_pool2d", kernel, stride, padding, {1, 1}, ceil);
  TORCH_CHECK(!divisor || *divisor != 0, "divisor must be not zero");
  same_device({grad, self});
  check_gradient_sizes(grad, pooled_sizes(w, self));
  return pool_gradient(self);
}

TensorSpec adaptive_pool_spec(const Tensor& self, SymIntArrayRef output_size) {
  TORCH_CHECK(output_size.size() == 2, "adaptive_avg_pool2d: output_size must be 2");
  TORCH_CHECK(self.dim() == 3 || self.dim() == 4,
              "adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got ", self.sym_sizes());
  for (int64_t dim = self.dim() - 2; dim < self.dim(); ++dim) {
    TORCH_CHECK(self.sym_size(dim) != 0,
                "adaptive_avg_pool2d(): Expected input to have non-zero size for non-batch "
                "dimensions, but input has sizes ",
                self.sym_sizes(), " with dimension ", dim, " being empty");
  }
  TORCH_CHECK(output_size[0] >= 0 && output_size[1] >= 0,
              "adaptive_avg_pool2d: elements of output_size must be greater than or equal to 0, "
              "but got ",
              output_size);
  check_dtype("adaptive_avg_pool2d", self.scalar_type(), dtypes::floats, self.device());
  SymDimVector sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  sizes[sizes.size() - 2] = output_size[0];
  sizes[sizes.size() - 1] = output_size[1];
  return pool_output(std::move(sizes), self, self.scalar_type());
}

TensorSpec adaptive_pool_backward_spec(const Tensor& grad, const Tensor& self) {
  TORCH_CHECK(grad.dim() == self.dim() && (self.dim() == 3 || self.dim() == 4),
              "adaptive_avg_pool2d_backward(): Expected grad_output of the input's dimensions, but "
              "got ",
              grad.sym_sizes());
  TORCH_CHECK(grad.scalar_type() == self.scalar_type(),
              "adaptive_avg_pool2d_backward: Expected dtype ", self.dtype(),
              " for `grad_output` but got dtype ", grad.dtype());
  same_device({grad, self});
  const auto sizes = grad.sym_sizes();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    TORCH_CHECK(i == 0 || sizes[i] != 0, "adaptive_avg_pool2d_backward(): Expected grad_output to ",
                "have non-zero size for non-batch dimensions, but grad_output has sizes ", sizes);
    TORCH_CHECK(i + 2 >= sizes.size() || sizes[i] == self.sym_sizes()[i],
                "adaptive_avg_pool2d_backward(): expected a gradient of the batch and channels of ",
                self.sym_sizes(), ", but got ", sizes);
    // ATen writes past the end of such a gradient.
    TORCH_CHECK(
        i == 0 || self.sym_sizes()[i] != 0,
        "adaptive_avg_pool2d_backward(): Expected input to have non-zero size for non-batch "
        "dimensions, but input has sizes ",
        self.sym_sizes());
  }
  return pool_gradient(self);
}

MASSLESS_RULES(m) {
  rule<"convolution", convolution, ConvolutionFlops{}>(m);
  rule<"_convolution", convolution_flags>(m);
  rule<"mkldnn_convolution", mkldnn_convolution>(m);
  rule<"convolution_backward", convolution_backward, ConvolutionBackwardFlops{}>(m);
  rule<"max_pool2d_with_indices", functional<max_pool_spec>>(m);
  rule<"max_pool2d_with_indices_backward", functional<max_pool_backward_spec>>(m);
  rule<"avg_pool2d", functional<avg_pool_spec>>(m);
  rule<"avg_pool2d_backward", functional<avg_pool_backward_spec>>(m);
  rule<"_adaptive_avg_pool2d", functional<adaptive_pool_spec>>(m);
  rule<"_adaptive_avg_pool2d_backward", functional<adaptive_pool_backward_spec>>(m);
}

}  // namespace
}  // namespace massless
