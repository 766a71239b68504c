// What ATen's TensorIterator decides about an operator's result, as metadata in SymInt: the
// broadcast sizes, the common dtype, the common device and the strides of a fresh output.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "fake/device.h"
#include "fake/rule.h"
#include "fake/tensor.h"
#include "rules/dim_order.h"

namespace massless {

// The dtypes that a kernel is compiled for, one bit a dtype. They hold for the common dtype of the
// inputs before integers are promoted to floats.
using DtypeSet = std::uint64_t;
constexpr DtypeSet dtype_bit(c10::ScalarType dtype) noexcept {
  return DtypeSet{1} << static_cast<unsigned>(dtype);
}
namespace dtypes {
using enum c10::ScalarType;
constexpr DtypeSet boolean = dtype_bit(Bool);
constexpr DtypeSet integers =
    dtype_bit(Byte) | dtype_bit(Char) | dtype_bit(Short) | dtype_bit(Int) | dtype_bit(Long);
constexpr DtypeSet wide_unsigned = dtype_bit(UInt16) | dtype_bit(UInt32) | dtype_bit(UInt64);
constexpr DtypeSet floats =
    dtype_bit(Float) | dtype_bit(Double) | dtype_bit(Half) | dtype_bit(BFloat16);
constexpr DtypeSet full_floats = dtype_bit(Float) | dtype_bit(Double);
constexpr DtypeSet complexes = dtype_bit(ComplexFloat) | dtype_bit(ComplexDouble);
constexpr DtypeSet half_complex = dtype_bit(ComplexHalf);
constexpr DtypeSet float8 = dtype_bit(Float8_e5m2) | dtype_bit(Float8_e4m3fn) |
                            dtype_bit(Float8_e5m2fnuz) | dtype_bit(Float8_e4m3fnuz);
constexpr DtypeSet real = integers | floats;
constexpr DtypeSet real_or_bool = real | boolean;
constexpr DtypeSet number = real | complexes;
constexpr DtypeSet number_or_bool = number | boolean;
// What is first promoted to a float: every integer is taken.
constexpr DtypeSet any_real = real_or_bool | wide_unsigned;
constexpr DtypeSet any_full_real = boolean | integers | wide_unsigned | full_floats;
constexpr DtypeSet any_number = any_real | complexes;
constexpr DtypeSet all = any_number | half_complex | float8;
}  // namespace dtypes

// Raises like AT_DISPATCH, but with a RuntimeError: torch's own code swallows NotImplementedError.
[[noreturn]] void unsupported_dtype(const char* name, c10::ScalarType dtype);
// CUDA kernels take half complex where the CPU's take complex numbers only.
inline bool takes_dtype(c10::ScalarType dtype, DtypeSet allowed, c10::Device device) {
  if ((allowed & dtypes::complexes) != 0 && !device.is_cpu()) {
    allowed |= dtypes::half_complex;
  }
  return (allowed & dtype_bit(dtype)) != 0;
}
inline void check_dtype(const char* name, c10::ScalarType dtype, DtypeSet allowed,
                        c10::Device device) {
  if (C10_UNLIKELY(!takes_dtype(dtype, allowed, device))) {
    unsupported_dtype(name, dtype);
  }
}

// Raises where a kernel could not convert a number to its dtype.
void check_number(const at::Scalar& number, c10::ScalarType dtype);
template <class T>
void check_number(const T&, c10::ScalarType) noexcept {}

using Operands = c10::ArrayRef<const at::Tensor*>;
template <class... T>
std::array<const at::Tensor*, sizeof...(T)> operands(const T&... tensors) noexcept {
  return {&tensors...};
}

namespace detail {
c10::ScalarType promoted_dtype(Operands tensors, const at::Scalar* number);
TensorSpec general_geometry(Operands tensors, bool with_number, c10::ScalarType compute,
                            c10::Device device);
// The same where every stride is the plain one; nullopt where one is not.
std::optional<TensorSpec> plain_geometry(Operands tensors, c10::ScalarType dtype,
                                         c10::Device device);
}  // namespace detail

// TensorIterator's common dtype; `number` takes part as a wrapped number does.
inline c10::ScalarType common_dtype(Operands tensors, const at::Scalar* number = nullptr) {
  const c10::ScalarType first = tensors[0]->scalar_type();
  bool alike = tensors[0]->dim() > 0;
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    alike = alike && tensors[i]->scalar_type() == first;
  }
  if (number != nullptr) {
    alike = alike && ((c10::isFloatingType(first) && !number->isComplex()) ||
                      (c10::isIntegralType(first, false) && number->isIntegral(true)));
  }
  return C10_LIKELY(alike) ? first : detail::promoted_dtype(tensors, number);
}

inline c10::ScalarType to_float(c10::ScalarType dtype) {
  return c10::isIntegralType(dtype, /*includeBool=*/true) ? c10::get_default_dtype_as_scalartype()
                                                          : dtype;
}

inline c10::Device operands_device(Operands tensors) {
  const c10::Device first = claimed_device(*tensors[0]);
  bool alike = true;
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    alike = alike && claimed_device(*tensors[i]) == first;
  }
  if (C10_LIKELY(alike)) {
    return first;
  }
  CommonDevice common;
  for (const at::Tensor* t : tensors) {
    common.add(*t);
  }
  return common.get();
}

// All of one concrete shape and contiguous: nothing has to be worked out.
inline bool all_plain(Operands tensors) {
  const c10::TensorImpl* first = tensors[0]->unsafeGetTensorImpl();
  if (first->has_symbolic_sizes_strides() || !first->is_contiguous()) {
    return false;
  }
  const auto sizes = first->sym_sizes();
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    const c10::TensorImpl* impl = tensors[i]->unsafeGetTensorImpl();
    if (impl->has_symbolic_sizes_strides() || !impl->is_contiguous()) {
      return false;
    }
    const auto other = impl->sym_sizes();
    if (other.size() != sizes.size() || !std::equal(sizes.begin(), sizes.end(), other.begin(),
                                                    [](const c10::SymInt& a, const c10::SymInt& b) {
                                                      return a.as_int_unchecked() ==
                                                             b.as_int_unchecked();
                                                    })) {
      return false;
    }
  }
  return true;
}

// The result of iterating over `tensors` in the dtype `compute`; its own dtype is `result`.
// `with_number`: a wrapped number is an operand, too. On the CPU an operand of another dtype is
// iterated as its converted copy, whose strides may differ.
inline TensorSpec iterate(Operands tensors, bool with_number, c10::ScalarType compute,
                          c10::ScalarType result) {
  const c10::Device device = operands_device(tensors);
  if (C10_LIKELY(all_plain(tensors) && !(with_number && tensors[0]->dim() > 0))) {
    return contiguous_spec(tensors[0]->sym_sizes(), result, device);
  }
  if (auto spec = detail::plain_geometry(tensors, result, device)) {
    return std::move(*spec);
  }
  TensorSpec spec = detail::general_geometry(tensors, with_number, compute, device);
  spec.dtype = result;
  return spec;
}

// A fresh tensor like `t` (at::empty_like): its strides where it is dense, else dense_strides.
TensorSpec like_spec(const at::Tensor& t, c10::ScalarType dtype);

// How a result is brought into a tensor that is already there.
enum class OutCast {
  safe,  // any dtype that the result's can be cast to
  same,  // the result's dtype only
  any,
  loose,  // as safe, but overlap is not checked
  plain,  // the result's dtype only; the kernel is none of TensorIterator's: overlap is not checked
};

constexpr bool checks_overlap(OutCast cast) noexcept {
  return cast != OutCast::plain && cast != OutCast::loose;
}

namespace detail {

void write_inplace(const at::Tensor& self, const TensorSpec& spec, OutCast cast);
void write_result(const at::Tensor& out, const TensorSpec& spec, OutCast cast, bool is_input);
void check_partial_overlap(const at::Tensor& written, const at::Tensor& read);

template <class T>
bool same_tensor(const at::Tensor&, const T&) noexcept {
  return false;
}
inline bool same_tensor(const at::Tensor& a, const at::Tensor& b) noexcept { return a.is_same(b); }
inline bool same_tensor(const at::Tensor& a, const std::optional<at::Tensor>& b) noexcept {
  return b && a.is_same(*b);
}

template <class T>
void check_overlap(const at::Tensor&, const T&) noexcept {}
inline void check_overlap(const at::Tensor& written, const at::Tensor& read) {
  const auto storage = [](const at::Tensor& t) {
    return t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  };
  if (C10_UNLIKELY(read.defined() && !written.is_same(read) && storage(written) == storage(read))) {
    check_partial_overlap(written, read);
  }
}
inline void check_overlap(const at::Tensor& written, const std::optional<at::Tensor>& read) {
  if (read) {
    check_overlap(written, *read);
  }
}

template <auto spec, OutCast cast, class Sig = decltype(spec)>
struct IterInplace;
template <auto spec, OutCast cast, class... A>
struct IterInplace<spec, cast, TensorSpec (*)(const at::Tensor&, A...)> {
  static at::Tensor& call(at::Tensor& self, A... args) {
    if constexpr (checks_overlap(cast)) {
      (check_overlap(self, args), ...);
    }
    write_inplace(self, spec(self, args...), cast);
    return self;
  }
};

template <auto spec, OutCast cast, class Sig = decltype(spec)>
struct IterOut;
template <auto spec, OutCast cast, class... A>
struct IterOut<spec, cast, TensorSpec (*)(A...)> {
  static at::Tensor& call(A... args, at::Tensor& out) {
    if constexpr (checks_overlap(cast)) {
      (check_overlap(out, args), ...);
    }
    write_result(out, spec(args...), cast, (same_tensor(out, args) || ...));
    return out;
  }
};

}  // namespace detail

template <auto spec, OutCast cast = OutCast::safe>
inline constexpr auto iter_inplace = &detail::IterInplace<spec, cast>::call;
template <auto spec, OutCast cast = OutCast::safe>
inline constexpr auto iter_out = &detail::IterOut<spec, cast>::call;

template <std::size_t N, std::size_t M>
constexpr OpName<N + M - 1> operator+(const OpName<N>& a, const OpName<M>& b) {
  char text[N + M - 1] = {};
  for (std::size_t i = 0; i + 1 < N; ++i) {
    text[i] = a.text[i];
  }
  for (std::size_t i = 0; i < M; ++i) {
    text[N - 1 + i] = b.text[i];
  }
  return OpName<N + M - 1>(text);
}

// The three forms of one operator.
template <OpName name, OpName inplace_name, OpName out_name, auto spec,
          OutCast cast = OutCast::safe>
void three_forms(torch::Library& m) {
  rule<name, functional<spec>>(m);
  rule<inplace_name, iter_inplace<spec, cast>>(m);
  rule<out_name, iter_out<spec, cast>>(m);
}
template <OpName name, OpName out_name, auto spec, OutCast cast = OutCast::safe>
void two_forms(torch::Library& m) {
  rule<name, functional<spec>>(m);
  rule<out_name, iter_out<spec, cast>>(m);
}

}  // namespace massless
