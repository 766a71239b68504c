// Random operators: metadata only. No generator moves, and the values are not known.
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <limits>

#include "fake/rule.h"
#include "fake/sizes.h"
#include "rules/factory.h"
#include "rules/iterator.h"
#include "rules/strict.h"

namespace massless {
namespace {

using c10::SymInt;
using c10::SymIntArrayRef;
using Gen = std::optional<at::Generator>;
using OptDtype = std::optional<c10::ScalarType>;
using OptLayout = std::optional<c10::Layout>;
using OptDevice = std::optional<c10::Device>;
using OptBool = std::optional<bool>;
using OptFormat = std::optional<c10::MemoryFormat>;

constexpr DtypeSet kContinuous = dtypes::floats | dtypes::complexes | dtypes::half_complex;
constexpr DtypeSet kDiscrete = dtypes::real_or_bool | dtypes::wide_unsigned;

void check_uniform(c10::ScalarType dtype, c10::Device device) {
  check_dtype("check_uniform_bounds", dtype, kContinuous, device);
}
void check_normal(c10::ScalarType dtype, c10::Device device, double std = 1.0) {
  TORCH_CHECK(std >= 0.0, "normal expects std >= 0.0, but found std ", std);
  check_dtype("normal_kernel_cpu", dtype, kContinuous, device);
}

// Least and greatest integer of a dtype that a number can leave; of a 64-bit one, none can.
struct Limits {
  std::int64_t least;
  std::int64_t most;
};
std::optional<Limits> limits_of(c10::ScalarType dtype) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  switch (dtype) {
    case c10::kBool:
      return Limits{0, 1};
    case c10::kByte:
      return Limits{0, 255};
    case c10::kChar:
      return Limits{-128, 127};
    case c10::kShort:
      return Limits{-32768, 32767};
    case c10::kInt:
      return Limits{-2147483648, 2147483647};
    case c10::kUInt16:
      return Limits{0, 65535};
    case c10::kUInt32:
      return Limits{0, 4294967295};
    case c10::kUInt64:
      return Limits{0, kMost};
    case c10::kHalf:
      return Limits{-65504, 65504};
    default:
      return std::nullopt;
  }
}

// Bounds [from, to) of random integers.
void check_random(const SymInt& from, const SymInt& to, c10::ScalarType dtype, c10::Device device) {
  TORCH_CHECK(from < to, "random_ expects 'from' to be less than 'to', but got from=", from,
              " >= to=", to);
  TORCH_CHECK((kDiscrete & dtype_bit(dtype)) != 0,
              "check_random_bounds handles only integral, floating-point and boolean types");
  const auto limits = limits_of(dtype);
  if (!limits) {
    return;
  }
  TORCH_CHECK(from >= limits->least && from <= limits->most, "from is out of bounds for ", dtype);
  TORCH_CHECK(to > limits->least && to - 1 <= limits->most, "to - 1 is out of bounds for ", dtype);
}

at::Tensor rand_generator(SymIntArrayRef size, Gen, OptDtype dtype, OptLayout layout,
                          OptDevice device, OptBool pin_memory) {
  const TensorSpec spec = options_spec(size, dtype, layout, device, pin_memory);
  check_uniform(spec.dtype, spec.device);
  return fresh(spec);
}
at::Tensor rand_rule(SymIntArrayRef size, OptDtype dtype, OptLayout layout, OptDevice device,
                     OptBool pin_memory) {
  return rand_generator(size, std::nullopt, dtype, layout, device, pin_memory);
}

at::Tensor normal_fresh(double, double std, SymIntArrayRef size, Gen, OptDtype dtype,
                        OptLayout layout, OptDevice device, OptBool pin_memory) {
  const TensorSpec spec = options_spec(size, dtype, layout, device, pin_memory);
  check_normal(spec.dtype, spec.device, std);
  return fresh(spec);
}
at::Tensor randn_generator(SymIntArrayRef size, Gen, OptDtype dtype, OptLayout layout,
                           OptDevice device, OptBool pin_memory) {
  return normal_fresh(0, 1, size, std::nullopt, dtype, layout, device, pin_memory);
}
at::Tensor randn_rule(SymIntArrayRef size, OptDtype dtype, OptLayout layout, OptDevice device,
                      OptBool pin_memory) {
  return normal_fresh(0, 1, size, std::nullopt, dtype, layout, device, pin_memory);
}

at::Tensor randint_low_generator(SymInt low, SymInt high, SymIntArrayRef size, Gen, OptDtype dtype,
                                 OptLayout layout, OptDevice device, OptBool pin_memory) {
  const TensorSpec spec =
      options_spec(size, dtype.value_or(c10::kLong), layout, device, pin_memory);
  check_random(low, high, spec.dtype, spec.device);
  return fresh(spec);
}
at::Tensor randint_low(SymInt low, SymInt high, SymIntArrayRef size, OptDtype dtype,
                       OptLayout layout, OptDevice device, OptBool pin_memory) {
  return randint_low_generator(std::move(low), std::move(high), size, std::nullopt, dtype, layout,
                               device, pin_memory);
}
at::Tensor randint_generator(SymInt high, SymIntArrayRef size, Gen, OptDtype dtype,
                             OptLayout layout, OptDevice device, OptBool pin_memory) {
  return randint_low(0, std::move(high), size, dtype, layout, device, pin_memory);
}
at::Tensor randint_rule(SymInt high, SymIntArrayRef size, OptDtype dtype, OptLayout layout,
                        OptDevice device, OptBool pin_memory) {
  return randint_low(0, std::move(high), size, dtype, layout, device, pin_memory);
}

// A permutation of n must be exact in the dtype.
void check_randperm(const SymInt& n, c10::ScalarType dtype, c10::Device device) {
  TORCH_CHECK(n >= 0, "n must be non-negative, got ", n);
  check_dtype("randperm", dtype, dtypes::real, device);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto limits = limits_of(dtype);
  const std::int64_t most = dtype == c10::kBFloat16 ? 257
                            : dtype == c10::kHalf   ? 2049
                            : dtype == c10::kFloat  ? 16777217
                            : limits                ? limits->most
                                                    : kMost;
  TORCH_CHECK(n <= most, "n cannot be greater than ", most, " for ", dtype, " type.");
}

at::Tensor randperm_generator(SymInt n, Gen, OptDtype dtype, OptLayout layout, OptDevice device,
                              OptBool pin_memory) {
  const TensorSpec spec = options_spec({n}, dtype.value_or(c10::kLong), layout, device, pin_memory);
  check_randperm(n, spec.dtype, spec.device);
  return fresh(spec);
}
at::Tensor randperm_rule(SymInt n, OptDtype dtype, OptLayout layout, OptDevice device,
                         OptBool pin_memory) {
  return randperm_generator(std::move(n), std::nullopt, dtype, layout, device, pin_memory);
}
at::Tensor& randperm_out(SymInt n, Gen, at::Tensor& out) {
  check_randperm(n, out.scalar_type(), out.device());
  resize_out(out, {n});
  return out;
}

at::Tensor rand_like_generator(const at::Tensor& self, Gen, OptDtype dtype, OptLayout layout,
                               OptDevice device, OptBool pin_memory, OptFormat format) {
  const TensorSpec spec = like_spec(self, dtype, layout, device, pin_memory, format);
  check_uniform(spec.dtype, spec.device);
  return fresh(spec);
}
at::Tensor rand_like_rule(const at::Tensor& self, OptDtype dtype, OptLayout layout,
                          OptDevice device, OptBool pin_memory, OptFormat format) {
  return rand_like_generator(self, std::nullopt, dtype, layout, device, pin_memory, format);
}
at::Tensor randn_like_generator(const at::Tensor& self, Gen, OptDtype dtype, OptLayout layout,
                                OptDevice device, OptBool pin_memory, OptFormat format) {
  const TensorSpec spec = like_spec(self, dtype, layout, device, pin_memory, format);
  check_normal(spec.dtype, spec.device);
  return fresh(spec);
}
at::Tensor randn_like_rule(const at::Tensor& self, OptDtype dtype, OptLayout layout,
                           OptDevice device, OptBool pin_memory, OptFormat format) {
  return randn_like_generator(self, std::nullopt, dtype, layout, device, pin_memory, format);
}
at::Tensor randint_like_low(const at::Tensor& self, SymInt low, SymInt high, OptDtype dtype,
                            OptLayout layout, OptDevice device, OptBool pin_memory,
                            OptFormat format) {
  const TensorSpec spec = like_spec(self, dtype, layout, device, pin_memory, format);
  check_random(low, high, spec.dtype, spec.device);
  return fresh(spec);
}
at::Tensor randint_like_rule(const at::Tensor& self, SymInt high, OptDtype dtype, OptLayout layout,
                             OptDevice device, OptBool pin_memory, OptFormat format) {
  return randint_like_low(self, 0, std::move(high), dtype, layout, device, pin_memory, format);
}

// In place: self keeps its metadata.
at::Tensor& written(at::Tensor& self) {
  check_no_internal_overlap(self);
  return self;
}

at::Tensor& normal_inplace(at::Tensor& self, double, double std, Gen) {
  check_normal(self.scalar_type(), self.device(), std);
  return written(self);
}
at::Tensor& uniform_inplace(at::Tensor& self, double from, double to, Gen) {
  check_uniform(self.scalar_type(), self.device());
  TORCH_CHECK(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from,
              " > to=", to);
  return written(self);
}
at::Tensor& bernoulli_float(at::Tensor& self, double p, Gen) {
  TORCH_CHECK(0 <= p && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  check_dtype("bernoulli_scalar_cpu_", self.scalar_type(), kDiscrete, self.device());
  return written(self);
}
at::Tensor& bernoulli_tensor(at::Tensor& self, const at::Tensor& p, Gen) {
  check_expand(p, self.sym_sizes());
  check_dtype("bernoulli_tensor_cpu_self_", self.scalar_type(), kDiscrete, self.device());
  check_dtype("bernoulli_tensor_cpu_p_", p.scalar_type(), dtypes::floats, p.device());
  return written(self);
}
TensorSpec bernoulli_spec(const at::Tensor& self, Gen) {
  check_dtype("bernoulli_tensor_cpu_p_", self.scalar_type(), dtypes::floats, self.device());
  return contiguous_like_spec(self);
}
TensorSpec bernoulli_p_spec(const at::Tensor& self, double p, Gen) {
  TORCH_CHECK(0 <= p && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  check_dtype("bernoulli_scalar_cpu_", self.scalar_type(), kDiscrete, self.device());
  return contiguous_like_spec(self);
}
at::Tensor& bernoulli_out(const at::Tensor& self, Gen, at::Tensor& out) {
  check_dtype("bernoulli_tensor_cpu_self_", out.scalar_type(), kDiscrete, out.device());
  check_dtype("bernoulli_tensor_cpu_p_", self.scalar_type(), dtypes::floats, self.device());
  resize_out(out, self.sym_sizes());
  return written(out);
}
at::Tensor& random_inplace(at::Tensor& self, Gen) {
  check_dtype("random_kernel_cpu", self.scalar_type(), kDiscrete, self.device());
  return written(self);
}
at::Tensor& random_from(at::Tensor& self, std::int64_t from, std::optional<std::int64_t> to, Gen) {
  if (to) {
    check_random(from, *to, self.scalar_type(), self.device());
  }
  return random_inplace(self, std::nullopt);
}
at::Tensor& random_to(at::Tensor& self, std::int64_t to, Gen) {
  return random_from(self, 0, to, std::nullopt);
}
at::Tensor& exponential_inplace(at::Tensor& self, double lambda, Gen) {
  TORCH_CHECK(lambda > 0.0, "exponential_ expects lambda > 0.0, but found lambda=", lambda);
  TORCH_CHECK(c10::isFloatingType(self.scalar_type()),
              "Exponential distribution is a continuous probability distribution. dtype must be a "
              "floating point but you specified ",
              self.scalar_type());
  return written(self);
}
at::Tensor& cauchy_inplace(at::Tensor& self, double, double sigma, Gen) {
  TORCH_CHECK(sigma > 0.0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  TORCH_CHECK(c10::isFloatingType(self.scalar_type()),
              "Cauchy distribution is a continuous probability distribution. dtype must be a "
              "floating point but you specified ",
              self.scalar_type());
  return written(self);
}
at::Tensor& log_normal_inplace(at::Tensor& self, double, double std, Gen) {
  TORCH_CHECK(std > 0.0, "log_normal_ expects std > 0.0, but found std=", std);
  check_dtype("log_normal_cpu", self.scalar_type(), dtypes::floats, self.device());
  return written(self);
}
at::Tensor& geometric_inplace(at::Tensor& self, double p, Gen) {
  TORCH_CHECK(0 < p && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
  check_dtype("geometric_cpu", self.scalar_type(), dtypes::real, self.device());
  return written(self);
}

// normal with tensors for the mean or the deviation: dense, of the mean's dtype where there is one.
TensorSpec normal_mean_spec(const at::Tensor& mean, double std, Gen) {
  check_normal(mean.scalar_type(), mean.device(), std);
  return contiguous_like_spec(mean);
}
TensorSpec normal_std_spec(double, const at::Tensor& std, Gen) {
  TORCH_CHECK(!std.is_complex(), "normal expects standard deviation to be non-complex");
  check_normal(std.scalar_type(), std.device());
  return contiguous_like_spec(std);
}
TensorSpec normal_both_spec(const at::Tensor& mean, const at::Tensor& std, Gen) {
  TORCH_CHECK(!std.is_complex(), "normal expects standard deviation to be non-complex");
  check_normal(mean.scalar_type(), mean.device());
  const auto tensors = operands(mean, std);
  const TensorSpec iterated = iterate(tensors, false, mean.scalar_type(), mean.scalar_type());
  return contiguous_spec(iterated.sizes, mean.scalar_type(), iterated.device);
}

// With one tensor the kernel broadcasts it to the output that is given, and resizes that.
template <auto spec, class Sig = decltype(spec)>
struct NormalOut;
template <auto spec, class A, class B>
struct NormalOut<spec, TensorSpec (*)(A, B, Gen)> {
  static at::Tensor& call(A mean, B std, Gen generator, at::Tensor& out) {
    const TensorSpec one = spec(mean, std, std::move(generator));
    check_normal(out.scalar_type(), out.device());
    resize_out(out, broadcast_sizes(one.sizes, out.sym_sizes()));
    return written(out);
  }
};

TensorSpec multinomial_spec(const at::Tensor& self, SymInt count, bool replacement, Gen) {
  TORCH_CHECK(self.dim() > 0 && self.dim() <= 2, "prob_dist must be 1 or 2 dim");
  TORCH_CHECK(
      c10::isFloatingType(self.scalar_type()),
      "multinomial only supports floating-point dtypes for input, got: ", self.scalar_type());
  TORCH_CHECK(count > 0, "cannot sample n_sample <= 0 samples");
  TORCH_CHECK(replacement || count <= self.sym_sizes().back(),
              "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  SymDimVector sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  sizes.back() = count;
  return contiguous_spec(sizes, c10::kLong, claimed_device(self));
}

MASSLESS_RULES(m) {
  rule<"rand", rand_rule>(m);
  rule<"rand.generator", rand_generator>(m);
  rule<"randn", randn_rule>(m);
  rule<"randn.generator", randn_generator>(m);
  rule<"normal.float_float", normal_fresh>(m);
  rule<"randint", randint_rule>(m);
  rule<"randint.generator", randint_generator>(m);
  rule<"randint.low", randint_low>(m);
  rule<"randint.low_generator", randint_low_generator>(m);
  rule<"randperm", randperm_rule>(m);
  rule<"randperm.generator", randperm_generator>(m);
  rule<"randperm.generator_out", randperm_out>(m);
  rule<"rand_like", rand_like_rule>(m);
  rule<"rand_like.generator", rand_like_generator>(m);
  rule<"randn_like", randn_like_rule>(m);
  rule<"randn_like.generator", randn_like_generator>(m);
  rule<"randint_like", randint_like_rule>(m);
  rule<"randint_like.low_dtype", randint_like_low>(m);
  rule<"normal_", normal_inplace>(m);
  rule<"uniform_", uniform_inplace>(m);
  rule<"bernoulli_.float", bernoulli_float>(m);
  rule<"bernoulli_.Tensor", bernoulli_tensor>(m);
  rule<"bernoulli", functional<bernoulli_spec>>(m);
  rule<"bernoulli.p", functional<bernoulli_p_spec>>(m);
  rule<"bernoulli.out", bernoulli_out>(m);
  rule<"random_", random_inplace>(m);
  rule<"random_.from", random_from>(m);
  rule<"random_.to", random_to>(m);
  rule<"exponential_", exponential_inplace>(m);
  rule<"cauchy_", cauchy_inplace>(m);
  rule<"log_normal_", log_normal_inplace>(m);
  rule<"geometric_", geometric_inplace>(m);
  rule<"normal.Tensor_float", functional<normal_mean_spec>>(m);
  rule<"normal.float_Tensor", functional<normal_std_spec>>(m);
  rule<"normal.Tensor_Tensor", functional<normal_both_spec>>(m);
  rule<"normal.Tensor_float_out", &NormalOut<normal_mean_spec>::call>(m);
  rule<"normal.float_Tensor_out", &NormalOut<normal_std_spec>::call>(m);
  rule<"normal.Tensor_Tensor_out", out<normal_both_spec>>(m);
  rule<"multinomial", functional<multinomial_spec>>(m);
  rule<"multinomial.out", out_strict<multinomial_spec>>(m);
}

}  // namespace
}  // namespace massless
