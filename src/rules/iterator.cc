#include "rules/iterator.h"

#include <ATen/ExpandUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TypeProperties.h>

#include <utility>

#include "fake/sizes.h"

namespace massless {
namespace {

using c10::SymInt;
using c10::SymIntArrayRef;

// One operand as it is iterated over. The flags are proved where a size is a symbol.
struct Operand {
  SymIntArrayRef sizes;
  SymDimVector strides;
  bool contiguous;
  bool channels_last;
  bool dense;
};

bool strides_are(SymIntArrayRef sizes, SymIntArrayRef strides, SymIntArrayRef expected) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!is_plain(sizes[i], 1) && !proved_equal(strides[i], expected[i])) {
      return false;
    }
  }
  return true;
}

Operand as_is(const at::Tensor& t) {
  const c10::TensorImpl* impl = t.unsafeGetTensorImpl();
  const auto strides = t.sym_strides();
  return {t.sym_sizes(), SymDimVector(strides.begin(), strides.end()),
          proved(impl->sym_is_contiguous(c10::MemoryFormat::Contiguous)),
          proved(impl->sym_is_contiguous(c10::MemoryFormat::ChannelsLast)), is_dense(t)};
}

// The copy in another dtype: `to` keeps the strides of a dense tensor only.
Operand converted(const at::Tensor& t) {
  Operand operand = as_is(t);
  if (operand.dense) {
    return operand;
  }
  operand.strides = dense_strides(operand.sizes, operand.strides);
  operand.dense = true;
  operand.contiguous =
      proved(t.sym_numel().sym_eq(0)) ||
      strides_are(operand.sizes, operand.strides, contiguous_strides(operand.sizes));
  operand.channels_last =
      operand.sizes.size() == 4 &&
      strides_are(operand.sizes, operand.strides,
                  strides_of_format(operand.sizes, c10::MemoryFormat::ChannelsLast));
  return operand;
}

// Contiguous in the strides of dimensions of size 1, too, and not empty. However such operands are
// broadcast, none of them ever asks for another order of dimensions than the plain one.
bool has_plain_strides(const c10::TensorImpl& impl) {
  if (impl.has_symbolic_sizes_strides() || !impl.is_contiguous()) {
    return false;
  }
  const auto sizes = impl.sym_sizes();
  const auto strides = impl.sym_strides();
  std::int64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (strides[i].as_int_unchecked() != step) {
      return false;
    }
    step *= sizes[i].as_int_unchecked();
  }
  return step != 0;
}

// The shorter ways for operands of one layout differ from the general one only in strides that no
// element shows: where it is not proved that they can be taken, they need not be.
SymDimVector output_strides(const c10::SmallVector<Operand, 4>& operands, SymIntArrayRef shape,
                            bool same_shape) {
  const auto all_of = [&](bool Operand::*flag) {
    return std::all_of(operands.begin(), operands.end(),
                       [&](const Operand& operand) { return operand.*flag; });
  };
  if (same_shape && all_of(&Operand::contiguous)) {
    return contiguous_strides(shape);
  }
  if (same_shape && all_of(&Operand::channels_last)) {
    return strides_of_format(shape, c10::MemoryFormat::ChannelsLast);
  }
  if (same_shape && all_of(&Operand::dense) &&
      std::all_of(operands.begin(), operands.end(), [&](const Operand& operand) {
        return proved_equal(operand.strides, operands[0].strides);
      })) {
    return operands[0].strides;
  }
  c10::SmallVector<Strided, 4> strided;
  for (const Operand& operand : operands) {
    strided.push_back({operand.sizes, operand.strides});
  }
  return iterated_strides(shape, strided);
}

void check_cast(c10::ScalarType from, c10::ScalarType to, OutCast cast) {
  if (cast == OutCast::safe || cast == OutCast::loose) {
    TORCH_CHECK(c10::canCast(from, to), "result type ", from,
                " can't be cast to the desired output type ", to);
  } else if (cast == OutCast::same) {
    TORCH_CHECK(from == to, "Found dtype ", to, " but expected ", from);
  } else if (cast == OutCast::plain) {
    TORCH_CHECK(from == to, "Expected out tensor to have dtype ", from, ", but got ", to,
                " instead");
  }
}

void check_out_device(const at::Tensor& out, const TensorSpec& spec) {
  const c10::Device device = claimed_device(out);
  TORCH_CHECK(device == spec.device, "Expected all tensors to be on the same device, but found at ",
              "least two devices, ", spec.device, " and ", device, "!");
}

}  // namespace

void unsupported_dtype(const char* name, c10::ScalarType dtype) {
  TORCH_CHECK(false, "\"", name, "\" not implemented for '", c10::toString(dtype), "'");
}

void check_number(const at::Scalar& number, c10::ScalarType dtype) {
  switch (dtype) {
    case c10::kByte:
      number.toByte();
      return;
    case c10::kChar:
      number.toChar();
      return;
    case c10::kShort:
      number.toShort();
      return;
    case c10::kInt:
      number.toInt();
      return;
    case c10::kLong:
      number.toLong();
      return;
    case c10::kDouble:
      number.toDouble();
      return;
    case c10::kFloat:
    case c10::kHalf:
    case c10::kBFloat16:  // the kernels compute in float
      number.toFloat();
      return;
    default:
      return;
  }
}

TensorSpec like_spec(const at::Tensor& t, c10::ScalarType dtype) {
  const auto sizes = t.sym_sizes();
  const auto strides = t.sym_strides();
  return {
      SymDimVector(sizes.begin(), sizes.end()),
      is_dense(t) ? SymDimVector(strides.begin(), strides.end()) : dense_strides(sizes, strides),
      dtype, claimed_device(t)};
}

namespace detail {

c10::ScalarType promoted_dtype(Operands tensors, const at::Scalar* number) {
  at::native::ResultTypeState state;
  bool alike = number == nullptr;
  bool scalars = true;
  for (const at::Tensor* t : tensors) {
    alike = alike && t->scalar_type() == tensors[0]->scalar_type();
    scalars = scalars && t->dim() == 0;
    state = at::native::update_result_type_state(*t, state);
  }
  // Operands of one dtype are not promoted, unless all are 0-dim (wrapped numbers).
  if (alike && !scalars) {
    return tensors[0]->scalar_type();
  }
  if (number != nullptr) {
    state = at::native::update_result_type_state(*number, state);
  }
  return at::native::result_type(state);
}

std::optional<TensorSpec> plain_geometry(Operands tensors, c10::ScalarType dtype,
                                         c10::Device device) {
  const at::Tensor* widest = tensors[0];
  for (const at::Tensor* t : tensors) {
    if (!has_plain_strides(*t->unsafeGetTensorImpl())) {
      return std::nullopt;
    }
    widest = t->dim() > widest->dim() ? t : widest;
  }
  at::DimVector shape(widest->sizes());
  for (const at::Tensor* t : tensors) {
    if (t->dim() != 0 && t->sizes() != shape) {
      shape = at::infer_size_dimvector(shape, t->sizes());
    }
  }
  return contiguous_spec(c10::fromIntArrayRefKnownNonNegative(shape), dtype, device);
}

TensorSpec general_geometry(Operands tensors, bool with_number, c10::ScalarType compute,
                            c10::Device device) {
  const auto first = tensors[0]->sym_sizes();
  SymDimVector shape(first.begin(), first.end());
  bool same_shape = !with_number || first.empty();
  for (const at::Tensor* t : tensors.slice(1)) {
    const auto sizes = t->sym_sizes();
    if (!proved_equal(sizes, shape)) {
      same_shape = false;
      shape = broadcast_sizes(shape, sizes);
    }
  }
  c10::SmallVector<Operand, 4> operands;
  for (const at::Tensor* t : tensors) {
    const bool copied = device.is_cpu() && t->scalar_type() != compute;
    operands.push_back(copied ? converted(*t) : as_is(*t));
  }
  SymDimVector strides = output_strides(operands, shape, same_shape);
  return {std::move(shape), std::move(strides), compute, device};
}

void write_inplace(const at::Tensor& self, const TensorSpec& spec, OutCast cast) {
  if (checks_overlap(cast)) {
    check_no_internal_overlap(self);
  }
  TORCH_CHECK(equal_sizes(self.sym_sizes(), spec.sizes), "output with shape ", self.sym_sizes(),
              " doesn't match the broadcast shape ", SymIntArrayRef(spec.sizes));
  check_out_device(self, spec);
  check_cast(spec.dtype, self.scalar_type(), cast);
}

void write_result(const at::Tensor& out, const TensorSpec& spec, OutCast cast, bool is_input) {
  if (is_input && cast != OutCast::plain) {  // only TensorIterator refuses to resize an input
    write_inplace(out, spec, cast);
    return;
  }
  if (checks_overlap(cast)) {
    check_no_internal_overlap(out);
  }
  check_out_device(out, spec);
  check_cast(spec.dtype, out.scalar_type(), cast);
  if (equal_sizes(out.sym_sizes(), spec.sizes)) {
    return;
  }
  if (!out.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
    // Warns about an output that is resized though it has elements.
    static_cast<void>(at::native::resize_output_check_symint(out, spec.sizes));
  }
  set_geometry(out, spec.sizes, spec.strides, out.sym_storage_offset());
}

void check_partial_overlap(const at::Tensor& written, const at::Tensor& read) {
  if (!written.unsafeGetTensorImpl()->is_non_overlapping_and_dense_or_false() ||
      !read.unsafeGetTensorImpl()->is_non_overlapping_and_dense_or_false() ||
      written.sym_numel() == 0 || read.sym_numel() == 0) {
    return;  // ATen does not look closer, either
  }
  const auto span = [](const at::Tensor& t) {
    const SymInt begin = t.sym_storage_offset() * t.element_size();
    return std::pair(begin, begin + t.sym_numel() * t.element_size());
  };
  const auto [begin, end] = span(written);
  const auto [read_begin, read_end] = span(read);
  const bool full =
      begin == read_begin && end == read_end && written.sym_strides().equals(read.sym_strides());
  TORCH_CHECK(full || end <= read_begin || read_end <= begin,
              "unsupported operation: some elements of the input tensor and the written-to tensor "
              "refer to a single memory location. Please clone() the tensor before performing the "
              "operation.");
}

}  // namespace detail
}  // namespace massless
