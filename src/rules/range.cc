// Factories of sequences: arange, linspace, eye and their like. Their values are known where they
// are small.
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/logspace.h>
#include <ATen/ops/range.h>
#include <ATen/ops/tril_indices.h>
#include <ATen/ops/triu_indices.h>

#include <cmath>

#include "fake/progression.h"
#include "fake/rule.h"
#include "rules/factory.h"
#include "rules/iterator.h"

namespace massless {
namespace {

using c10::Scalar;
using c10::SymInt;
using OptDtype = std::optional<c10::ScalarType>;
using OptLayout = std::optional<c10::Layout>;
using OptDevice = std::optional<c10::Device>;
using OptBool = std::optional<bool>;

std::int64_t checked_length(double length) {
  TORCH_CHECK(length >= 0 && length < 0x1p63, "invalid size, possible overflow?");
  return static_cast<std::int64_t>(length);
}

// `start` and `end` as the kernel compares them: integers as 64-bit, floats as double.
void check_bounds(const Scalar& start, const Scalar& end, const Scalar& step, bool integers) {
  const double sign = integers ? static_cast<double>(step.to<std::int64_t>()) : step.to<double>();
  TORCH_CHECK(sign > 0 || sign < 0, "step must be nonzero");
  TORCH_CHECK(std::isfinite(start.toDouble()) && std::isfinite(end.toDouble()),
              "unsupported range: ", start.toDouble(), " -> ", end.toDouble());
  const bool rising = integers ? end.to<std::int64_t>() >= start.to<std::int64_t>()
                               : end.to<double>() >= start.to<double>();
  const bool falling = integers ? end.to<std::int64_t>() <= start.to<std::int64_t>()
                                : end.to<double>() <= start.to<double>();
  TORCH_CHECK((sign > 0 && rising) || (sign < 0 && falling),
              "upper bound and lower bound inconsistent with step sign");
}

// Length of arange: in doubles whatever the dtype, save int64, where they would lose bits.
SymInt arange_length(const Scalar& start, const Scalar& end, const Scalar& step,
                     c10::ScalarType dtype) {
  if (start.isSymbolic() || end.isSymbolic() || step.isSymbolic()) {
    const SymInt by = step.toSymInt();
    TORCH_CHECK(by != 0, "step must be nonzero");
    const SymInt distance = end.toSymInt() - start.toSymInt();
    TORCH_CHECK(by > 0 ? distance >= 0 : distance <= 0,
                "upper bound and lower bound inconsistent with step sign");
    return by > 0 ? (distance + by - 1) / by : (-distance - by - 1) / -by;
  }
  check_bounds(start, end, step, c10::isIntegralType(dtype, false));
  if (dtype != c10::kLong) {
    return checked_length(std::ceil((end.to<double>() - start.to<double>()) / step.to<double>()));
  }
  // The sum may overflow as the kernel's does, and is then refused by the check.
  using U = std::uint64_t;
  const std::int64_t by = step.to<std::int64_t>();
  const U sum = static_cast<U>(end.to<std::int64_t>()) - static_cast<U>(start.to<std::int64_t>()) +
                static_cast<U>(by) - static_cast<U>(by > 0 ? 1 : -1);
  // Negated without a division where the kernel's own would trap: INT64_MIN / -1.
  const std::int64_t length =
      by == -1 ? static_cast<std::int64_t>(U{0} - sum) : static_cast<std::int64_t>(sum) / by;
  return checked_length(static_cast<double>(length));
}

c10::ScalarType arange_dtype(const Scalar& start, const Scalar& end, const Scalar& step,
                             OptDtype dtype) {
  const bool integers = start.isIntegral(true) && end.isIntegral(true) && step.isIntegral(true);
  return dtype.value_or(integers ? c10::kLong : c10::get_default_dtype_as_scalartype());
}

at::Tensor arange_step(const Scalar& start, const Scalar& end, const Scalar& step, OptDtype dtype,
                       OptLayout layout, OptDevice device, OptBool pin_memory) {
  const c10::ScalarType type = arange_dtype(start, end, step, dtype);
  TensorSpec spec = options_spec({}, type, layout, device, pin_memory);
  check_dtype("arange_cpu", type, dtypes::real, spec.device);
  spec.sizes.push_back(arange_length(start, end, step, type));
  spec.strides.emplace_back(1);
  at::Tensor made = with_value(fresh(spec), [&] { return at::arange(start, end, step, type); });
  if (is_fake(made) && start.isIntegral(false) && step.isIntegral(false)) {
    set_progression(made, start.toSymInt(), step.toSymInt());
  }
  return made;
}

at::Tensor arange_start(const Scalar& start, const Scalar& end, OptDtype dtype, OptLayout layout,
                        OptDevice device, OptBool pin_memory) {
  return arange_step(start, end, 1, dtype, layout, device, pin_memory);
}

at::Tensor arange_end(const Scalar& end, OptDtype dtype, OptLayout layout, OptDevice device,
                      OptBool pin_memory) {
  return arange_step(0, end, 1, dtype, layout, device, pin_memory);
}

// These kernels keep any shape of the right number of elements.
void resize_out_numel(const at::Tensor& out, const SymInt& numel) {
  if (out.sym_numel() != numel) {
    resize_out(out, {numel});
  }
}

at::Tensor& arange_out(const Scalar& start, const Scalar& end, const Scalar& step,
                       at::Tensor& out) {
  check_dtype("arange_cpu", out.scalar_type(), dtypes::real, out.device());
  resize_out_numel(out, arange_length(start, end, step, out.scalar_type()));
  return out;
}

// torch.range, deprecated: its end is included.
std::int64_t range_length(const Scalar& start, const Scalar& end, const Scalar& step,
                          c10::ScalarType dtype) {
  check_bounds(start, end, step, c10::isIntegralType(dtype, false));
  if (dtype == c10::kLong) {
    return (end.to<std::int64_t>() - start.to<std::int64_t>()) / step.to<std::int64_t>() + 1;
  }
  return checked_length((end.to<double>() - start.to<double>()) / step.to<double>() + 1);
}

at::Tensor range_step(const Scalar& start, const Scalar& end, const Scalar& step, OptDtype dtype,
                      OptLayout layout, OptDevice device, OptBool pin_memory) {
  TensorSpec spec = options_spec({}, dtype, layout, device, pin_memory);
  check_dtype("range_cpu", spec.dtype, dtypes::real, spec.device);
  spec.sizes.emplace_back(range_length(start, end, step, spec.dtype));
  spec.strides.emplace_back(1);
  return fresh(spec);
}

at::Tensor range_start(const Scalar& start, const Scalar& end, OptDtype dtype, OptLayout layout,
                       OptDevice device, OptBool pin_memory) {
  return range_step(start, end, 1, dtype, layout, device, pin_memory);
}

at::Tensor& range_out(const Scalar& start, const Scalar& end, const Scalar& step, at::Tensor& out) {
  check_dtype("range_cpu", out.scalar_type(), dtypes::real, out.device());
  resize_out_numel(out, range_length(start, end, step, out.scalar_type()));
  return out;
}

// linspace and logspace: complex bounds need a complex dtype.
TensorSpec space_spec(const char* name, bool complex, std::int64_t steps, OptDtype dtype,
                      OptLayout layout, OptDevice device, OptBool pin_memory) {
  TORCH_CHECK(steps >= 0, "number of steps must be non-negative");
  if (complex) {
    const auto inferred = c10::toComplexType(c10::get_default_dtype_as_scalartype());
    TORCH_CHECK(!dtype || c10::isComplexType(*dtype), name, "(): inferred dtype ", inferred,
                " can't be safely cast to passed dtype ", dtype.value_or(inferred));
    dtype = dtype.value_or(inferred);
  }
  TensorSpec spec = options_spec({SymInt(steps)}, dtype, layout, device, pin_memory);
  if (steps > 1) {
    check_dtype(name, spec.dtype, dtypes::number, spec.device);
  }
  return spec;
}

at::Tensor linspace_rule(const Scalar& start, const Scalar& end, std::int64_t steps, OptDtype dtype,
                         OptLayout layout, OptDevice device, OptBool pin_memory) {
  const TensorSpec spec = space_spec("linspace", start.isComplex() || end.isComplex(), steps, dtype,
                                     layout, device, pin_memory);
  return with_value(fresh(spec), [&] { return at::linspace(start, end, steps, spec.dtype); });
}

at::Tensor logspace_rule(const Scalar& start, const Scalar& end, std::int64_t steps, double base,
                         OptDtype dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  const TensorSpec spec = space_spec("logspace", start.isComplex() || end.isComplex(), steps, dtype,
                                     layout, device, pin_memory);
  return with_value(fresh(spec), [&] { return at::logspace(start, end, steps, base, spec.dtype); });
}

bool bound_is_complex(const char* name, const at::Tensor& bound) {
  TORCH_CHECK(bound.dim() == 0, name,
              " only supports 0-dimensional start and end tensors, but got ", bound.dim(),
              " dimension(s).");
  return bound.is_complex();
}
bool bound_is_complex(const char*, const Scalar& bound) { return bound.isComplex(); }

// Bounds given as tensors: the values do not matter for the result's shape.
template <class S, class E>
at::Tensor linspace_tensor(S start, E end, std::int64_t steps, OptDtype dtype, OptLayout layout,
                           OptDevice device, OptBool pin_memory) {
  const bool first = bound_is_complex("linspace", start);
  const bool last = bound_is_complex("linspace", end);
  return fresh(space_spec("linspace", first || last, steps, dtype, layout, device, pin_memory));
}

template <class S, class E>
at::Tensor logspace_tensor(S start, E end, std::int64_t steps, double, OptDtype dtype,
                           OptLayout layout, OptDevice device, OptBool pin_memory) {
  const bool first = bound_is_complex("logspace", start);
  const bool last = bound_is_complex("logspace", end);
  return fresh(space_spec("logspace", first || last, steps, dtype, layout, device, pin_memory));
}

template <class S, class E>
at::Tensor& linspace_out(S start, E end, std::int64_t steps, at::Tensor& out) {
  (void)bound_is_complex("linspace", start);
  (void)bound_is_complex("linspace", end);
  TORCH_CHECK(steps >= 0, "number of steps must be non-negative");
  if (steps > 1) {
    check_dtype("linspace", out.scalar_type(), dtypes::number, out.device());
  }
  resize_out_numel(out, steps);
  return out;
}

template <class S, class E>
at::Tensor& logspace_out(S start, E end, std::int64_t steps, double, at::Tensor& out) {
  return linspace_out<S, E>(start, end, steps, out);
}

at::Tensor eye_m(SymInt n, SymInt m, OptDtype dtype, OptLayout layout, OptDevice device,
                 OptBool pin_memory) {
  TORCH_CHECK(n >= 0, "n must be greater or equal to 0, got ", n);
  TORCH_CHECK(m >= 0, "m must be greater or equal to 0, got ", m);
  const TensorSpec spec = options_spec({n, m}, dtype, layout, device, pin_memory);
  return with_value(fresh(spec), [&] {
    return at::eye(n.expect_int(), m.expect_int(), at::TensorOptions(spec.dtype));
  });
}

at::Tensor eye_n(SymInt n, OptDtype dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  const SymInt m = n;
  return eye_m(std::move(n), m, dtype, layout, device, pin_memory);
}

at::Tensor& eye_m_out(SymInt n, SymInt m, at::Tensor& out) {
  TORCH_CHECK(n >= 0, "n must be greater or equal to 0, got ", n);
  TORCH_CHECK(m >= 0, "m must be greater or equal to 0, got ", m);
  resize_out(out, {n, m});
  return out;
}

at::Tensor& eye_n_out(SymInt n, at::Tensor& out) {
  const SymInt m = n;
  return eye_m_out(std::move(n), m, out);
}

// Entries on and below the diagonal `offset` of a row x col matrix.
std::int64_t tril_size(std::int64_t row, std::int64_t col, std::int64_t offset) {
  if (row == 0 || col == 0) {
    return 0;
  }
  const auto first = offset > 0 ? std::min<std::int64_t>(col, 1 + offset)
                                : static_cast<std::int64_t>(row + offset > 0);
  const auto last = std::max<std::int64_t>(0, std::min<std::int64_t>(col, row + offset));
  const auto rows = std::max<std::int64_t>(0, std::min<std::int64_t>(row, row + offset));
  const auto growing = last - first + 1;  // rows in which the count grows by one each
  const auto full = rows - growing;
  const auto size = (first + last) * growing / 2 + (full > 0 ? full * col : 0);
  return size;
}

TensorSpec tri_spec(const char* name, std::int64_t row, std::int64_t col, bool lower,
                    std::int64_t offset, OptDtype dtype, OptLayout layout, OptDevice device,
                    OptBool pin_memory) {
  TORCH_CHECK(row >= 0, "row must be non-negative, got", row);
  TORCH_CHECK(col >= 0, "col must be non-negative, got", col);
  const std::int64_t count =
      lower ? tril_size(row, col, offset) : row * col - tril_size(row, col, offset - 1);
  TensorSpec spec = options_spec({SymInt(2), SymInt(count)}, dtype.value_or(c10::kLong), layout,
                                 device, pin_memory);
  check_dtype(name, spec.dtype, dtypes::integers, spec.device);
  return spec;
}

at::Tensor tril_indices_rule(std::int64_t row, std::int64_t col, std::int64_t offset,
                             OptDtype dtype, OptLayout layout, OptDevice device,
                             OptBool pin_memory) {
  const TensorSpec spec =
      tri_spec("tril_indices", row, col, true, offset, dtype, layout, device, pin_memory);
  return with_value(fresh(spec), [&] {
    return at::tril_indices(row, col, offset, at::TensorOptions(spec.dtype));
  });
}

at::Tensor triu_indices_rule(std::int64_t row, std::int64_t col, std::int64_t offset,
                             OptDtype dtype, OptLayout layout, OptDevice device,
                             OptBool pin_memory) {
  const TensorSpec spec =
      tri_spec("triu_indices", row, col, false, offset, dtype, layout, device, pin_memory);
  return with_value(fresh(spec), [&] {
    return at::triu_indices(row, col, offset, at::TensorOptions(spec.dtype));
  });
}

using Number = const Scalar&;
using Bound = const at::Tensor&;

MASSLESS_RULES(m) {
  rule<"arange", arange_end>(m);
  rule<"arange.start", arange_start>(m);
  rule<"arange.start_step", arange_step>(m);
  rule<"arange.start_out", arange_out>(m);
  rule<"range", range_start>(m);
  rule<"range.step", range_step>(m);
  rule<"range.out", range_out>(m);
  rule<"linspace", linspace_rule>(m);
  rule<"linspace.Tensor_Tensor", linspace_tensor<Bound, Bound>>(m);
  rule<"linspace.Tensor_Scalar", linspace_tensor<Bound, Number>>(m);
  rule<"linspace.Scalar_Tensor", linspace_tensor<Number, Bound>>(m);
  rule<"linspace.out", linspace_out<Number, Number>>(m);
  rule<"linspace.Tensor_Tensor_out", linspace_out<Bound, Bound>>(m);
  rule<"linspace.Tensor_Scalar_out", linspace_out<Bound, Number>>(m);
  rule<"linspace.Scalar_Tensor_out", linspace_out<Number, Bound>>(m);
  rule<"logspace", logspace_rule>(m);
  rule<"logspace.Tensor_Tensor", logspace_tensor<Bound, Bound>>(m);
  rule<"logspace.Tensor_Scalar", logspace_tensor<Bound, Number>>(m);
  rule<"logspace.Scalar_Tensor", logspace_tensor<Number, Bound>>(m);
  rule<"logspace.out", logspace_out<Number, Number>>(m);
  rule<"logspace.Tensor_Tensor_out", logspace_out<Bound, Bound>>(m);
  rule<"logspace.Tensor_Scalar_out", logspace_out<Bound, Number>>(m);
  rule<"logspace.Scalar_Tensor_out", logspace_out<Number, Bound>>(m);
  rule<"eye", eye_n>(m);
  rule<"eye.m", eye_m>(m);
  rule<"eye.out", eye_n_out>(m);
  rule<"eye.m_out", eye_m_out>(m);
  rule<"tril_indices", tril_indices_rule>(m);
  rule<"triu_indices", triu_indices_rule>(m);
}

}  // namespace
}  // namespace massless
