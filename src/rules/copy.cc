// Operators that copy: into a tensor, into another dtype or device, into a longer tensor.
#include "rules/copy.h"
#include "fake/sizes.h"

#include <ATen/TensorUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/TypeProperties.h>
#include <c10/core/WrapDimMinimal.h>

#include "dispatch/error.h"
#include "fake/known.h"
#include "fake/rule.h"
#include "rules/factory.h"
#include "rules/iterator.h"
#include "rules/strict.h"
#include "rules/view.h"

namespace massless {

using c10::Scalar;
using c10::SymInt;
using c10::SymIntArrayRef;
using OptDtype = std::optional<c10::ScalarType>;
using OptLayout = std::optional<c10::Layout>;
using OptDevice = std::optional<c10::Device>;
using OptBool = std::optional<bool>;
using OptFormat = std::optional<c10::MemoryFormat>;

void check_copy(const at::Tensor& self, const at::Tensor& src) {
  check_expand(src, self.sym_sizes());
  check_no_internal_overlap(self);
  detail::check_overlap(self, src);
}

bool covers_storage(const at::Tensor& t) {
  return !t.unsafeGetTensorImpl()->has_symbolic_sizes_strides() &&
         t.is_non_overlapping_and_dense() && t.storage().nbytes() == t.nbytes();
}

void check_disjoint(const at::Tensor& written, const at::Tensor& read) {
  const auto storage = [](const at::Tensor& t) { return t.storage().unsafeGetStorageImpl(); };
  bool shared = written.is_same(read);
  if (!shared && storage(written) == storage(read) && written.sym_numel() != 0 &&
      read.sym_numel() != 0 &&
      written.unsafeGetTensorImpl()->is_non_overlapping_and_dense_or_false() &&
      read.unsafeGetTensorImpl()->is_non_overlapping_and_dense_or_false()) {
    const SymInt begin = written.sym_storage_offset() * written.element_size();
    const SymInt read_begin = read.sym_storage_offset() * read.element_size();
    shared = begin < read_begin + read.sym_numel() * read.element_size() &&
             read_begin < begin + written.sym_numel() * written.element_size();
  }
  TORCH_CHECK(!shared,
              "unsupported operation: some elements of the input tensor and the written-to tensor "
              "refer to a single memory location. Please clone() the tensor before performing the "
              "operation.");
}

namespace {

at::Tensor& copy_inplace(at::Tensor& self, const at::Tensor& src, bool) {
  if (self.is_same(src)) {
    return self;
  }
  check_copy(self, src);
  // A whole storage takes over what is known of the source; the careful path keeps up to date, or
  // forgets, what self knew before.
  if (const at::Tensor value = known_value(src); value.defined() && covers_storage(self)) {
    set_known(self, value);
  }
  return self;
}

TensorSpec copy_spec(const at::Tensor& self, const at::Tensor& src, bool) {
  check_expand(src, self.sym_sizes());
  return empty_like_spec(self);
}

at::Tensor to_copy_rule(const at::Tensor& self, OptDtype dtype, OptLayout layout, OptDevice device,
                        OptBool pin_memory, bool, OptFormat format) {
  const TensorSpec spec = like_spec(self, dtype, layout, device, pin_memory, format);
  TORCH_CHECK(is_fake(self) || !self.device().is_meta() || spec.device.is_meta(),
              "Cannot copy out of meta tensor; no data!");
  return fresh(spec);
}

TensorSpec clone_spec(const at::Tensor& self, OptFormat format) {
  return format.value_or(c10::MemoryFormat::Preserve) == c10::MemoryFormat::Preserve
             ? empty_like_spec(self)
             : format_like_spec(self, *format);
}

// cat passes over vectors of no elements, whatever the other tensors look like.
bool skipped_by_cat(const at::Tensor& t) {
  return t.dim() == 1 && TORCH_GUARD_OR_FALSE(t.sym_sizes()[0].sym_eq(0));
}

void check_cat_shape(const at::Tensor& first, const at::Tensor& other, std::int64_t dim,
                     std::size_t position) {
  TORCH_CHECK(first.dim() == other.dim(), "Tensors must have same number of dimensions: got ",
              first.dim(), " and ", other.dim());
  for (std::int64_t i = 0; i < first.dim(); ++i) {
    const SymInt& expected = first.sym_sizes()[i];
    const SymInt& got = other.sym_sizes()[i];
    TORCH_CHECK(i == dim || expected == got, "Sizes of tensors must match except in dimension ",
                dim, ". Expected size ", expected, " but got size ", got, " for tensor number ",
                position, " in the list.");
  }
}

// One format that all tensors are in; else contiguous.
c10::MemoryFormat cat_format(at::ITensorListRef tensors) {
  std::optional<c10::MemoryFormat> common;
  for (const at::Tensor& t : tensors) {
    const c10::MemoryFormat format = t.suggest_memory_format();
    if (format == c10::MemoryFormat::Contiguous || common.value_or(format) != format) {
      return c10::MemoryFormat::Contiguous;
    }
    common = format;
  }
  return common.value_or(c10::MemoryFormat::Contiguous);
}

}  // namespace

TensorSpec cat_spec(const at::ITensorListRef& tensors, std::int64_t dim) {
  TORCH_CHECK_VALUE(tensors.size() > 0, "torch.cat(): expected a non-empty list of Tensors");
  CommonDevice device;
  at::native::ResultTypeState types;
  const at::Tensor* first = nullptr;
  SymInt total = 0;
  std::size_t position = 0;
  const at::ITensorListRef::iterator end = tensors.end();
  std::vector<at::Tensor> kept;  // the list's references do not outlive its iterators
  kept.reserve(tensors.size());
  for (auto it = tensors.begin(); it != end; ++it) {
    kept.push_back(*it);
  }
  for (const at::Tensor& t : kept) {
    TORCH_CHECK(t.dim() > 0, "zero-dimensional tensor (at position ", position,
                ") cannot be concatenated");
    device.add(t);
    types = at::native::update_result_type_state(t, types);
    if (!skipped_by_cat(t)) {
      if (first == nullptr) {
        first = &t;
        dim = c10::maybe_wrap_dim(dim, t.dim());
      }
      check_cat_shape(*first, t, dim, position);
      total = total + t.sym_sizes()[dim];
    }
    ++position;
  }
  const c10::ScalarType dtype = at::native::result_type(types);
  if (first == nullptr) {
    return contiguous_spec({SymInt(0)}, dtype, device.get());
  }
  SymDimVector sizes(first->sym_sizes().begin(), first->sym_sizes().end());
  sizes[dim] = std::move(total);
  SymDimVector strides = strides_of_format(sizes, cat_format(kept));
  return {std::move(sizes), std::move(strides), dtype, device.get()};
}

namespace {

at::Tensor& cat_out(const at::ITensorListRef& tensors, std::int64_t dim, at::Tensor& out) {
  const TensorSpec spec = cat_spec(tensors, dim);
  TORCH_CHECK_TYPE(c10::canCast(spec.dtype, out.scalar_type()),
                   "torch.cat(): input types can't be cast to the desired output type ",
                   out.scalar_type());
  check_no_internal_overlap(out);
  for (const at::Tensor& t : tensors) {
    check_disjoint(out, t);
  }
  write_out(out, spec);
  return out;
}

// stack is cat, seen with one dimension more.
TensorSpec stack_spec(at::TensorList tensors, std::int64_t dim) {
  TORCH_CHECK(!tensors.empty(), "stack expects a non-empty TensorList");
  const at::Tensor& first = tensors[0];
  dim = c10::maybe_wrap_dim(dim, first.dim() + 1);
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    TORCH_CHECK(first.sym_sizes().equals(tensors[i].sym_sizes()),
                "stack expects each tensor to be equal size, but got ", first.sym_sizes(),
                " at entry 0 and ", tensors[i].sym_sizes(), " at entry ", i);
  }
  if (dim == first.dim()) {
    std::vector<at::Tensor> deeper;
    deeper.reserve(tensors.size());
    for (const at::Tensor& t : tensors) {
      deeper.push_back(unsqueeze_rule(t, dim));
    }
    return cat_spec(deeper, dim);
  }
  // Vectors of no elements are stacked like others, but cat would pass over them.
  TensorSpec spec = cat_spec(tensors, dim);
  SymDimVector sizes(first.sym_sizes().begin(), first.sym_sizes().end());
  sizes.insert(sizes.begin() + dim, SymInt(static_cast<std::int64_t>(tensors.size())));
  const auto strides = at::detail::computeStride(
      SymIntArrayRef(spec.sizes), SymIntArrayRef(spec.strides), SymIntArrayRef(sizes));
  TORCH_INTERNAL_ASSERT(strides);
  spec.sizes = std::move(sizes);
  spec.strides = *strides;
  return spec;
}

at::Tensor& stack_out(at::TensorList tensors, std::int64_t dim, at::Tensor& out) {
  const TensorSpec spec = stack_spec(tensors, dim);
  TORCH_CHECK_TYPE(c10::canCast(spec.dtype, out.scalar_type()),
                   "torch.stack(): input types can't be cast to the desired output type ",
                   out.scalar_type());
  for (const at::Tensor& t : tensors) {
    check_disjoint(out, t);
  }
  write_out(out, spec);
  return out;
}

// The part of self that negative padding leaves.
at::Tensor cropped(const at::Tensor& self, SymIntArrayRef pad) {
  at::Tensor part = self;
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    const auto dim = self.dim() - 1 - static_cast<std::int64_t>(i);
    for (const bool left : {true, false}) {
      const SymInt& by = pad[2 * i + (left ? 0 : 1)];
      if (by < 0) {
        const SymInt size = part.sym_sizes()[dim];
        TORCH_CHECK(size + by >= 0, "narrow(): length must be non-negative.");
        part = left ? slice_rule(part, dim, -by, size, 1) : slice_rule(part, dim, 0, size + by, 1);
      }
    }
  }
  return part;
}

TensorSpec constant_pad_spec(const at::Tensor& self, SymIntArrayRef pad, const Scalar& value) {
  TORCH_CHECK(pad.size() % 2 == 0, "Length of pad must be even but instead it equals ", pad.size());
  TORCH_CHECK(static_cast<std::int64_t>(pad.size()) <= 2 * self.dim(),
              "Length of pad should be no more than twice the number of dimensions of the input. "
              "Pad length is ",
              pad.size(), "while the input has ", self.dim(), "dimensions.");
  bool grows = false;
  for (const SymInt& by : pad) {
    grows = grows || by > 0;
  }
  if (!grows) {
    return empty_like_spec(cropped(self, pad));
  }
  SymDimVector sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    const std::size_t dim = sizes.size() - 1 - i;
    const SymInt padded = sizes[dim] + pad[2 * i] + pad[2 * i + 1];
    TORCH_CHECK(padded >= 0, "The input size ", sizes[dim], ", plus negative padding ", pad[2 * i],
                " and ", pad[2 * i + 1],
                " resulted in a negative output size, which is invalid. Check dimension ", dim,
                " of your input.");
    sizes[dim] = padded;
  }
  (void)cropped(self, pad);  // ATen narrows after this check
  check_fill(self.scalar_type(), value);
  SymDimVector strides = strides_of_format(sizes, self.suggest_memory_format());
  return {std::move(sizes), std::move(strides), self.scalar_type(), self.device()};
}

TensorSpec repeat_spec(const at::Tensor& self, SymIntArrayRef repeats) {
  const std::size_t rank = self.dim();
  TORCH_CHECK(repeats.size() >= rank,
              "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
              "tensor");
  const std::size_t lead = repeats.size() - rank;
  SymDimVector sizes(repeats.begin(), repeats.end());
  for (std::size_t i = lead; i < sizes.size(); ++i) {
    sizes[i] = sizes[i] * self.sym_sizes()[i - lead];
  }
  for (const SymInt& s : sizes) {
    TORCH_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ",
                SymIntArrayRef(sizes));
  }
  return contiguous_spec(sizes, self.scalar_type(), self.device());
}

// The CPU rolls one dimension as a cat of two slices, whose memory format shows; other devices
// write a contiguous tensor.
at::Tensor roll_one(const at::Tensor& self, const SymInt& shift, std::int64_t dim) {
  if (self.sym_numel() == 0) {
    return make_fake(empty_like_spec(self));
  }
  if (!self.device().is_cpu()) {
    (void)c10::maybe_wrap_dim(dim, self.dim(), /*wrap_scalar=*/false);
    return make_fake(contiguous_like_spec(self));
  }
  dim = c10::maybe_wrap_dim(dim, self.dim(), /*wrap_scalar=*/false);
  const SymInt size = self.sym_sizes()[dim];
  // Python's remainder, which is never negative.
  SymInt start = (size - shift) % size;
  if (start < 0) {
    start = start + size;
  }
  const at::Tensor parts[] = {slice_rule(self, dim, start, size, 1),
                              slice_rule(self, dim, 0, start, 1)};
  return make_fake(cat_spec(at::TensorList(parts), dim));
}

at::Tensor roll_rule(const at::Tensor& self, SymIntArrayRef shifts, at::IntArrayRef dims) {
  TORCH_CHECK(!shifts.empty(), "`shifts` required");
  if (dims.empty() && shifts.size() == 1) {
    return make_fake(contiguous_like_spec(self));  // rolled as a vector
  }
  TORCH_CHECK(shifts.size() == dims.size(),
              "shifts and dimensions must align. shifts: ", shifts.size(), ", dims:", dims.size());
  at::Tensor rolled = self;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    rolled = roll_one(rolled, shifts[i], dims[i]);
  }
  return rolled;
}

TensorSpec flip_spec(const at::Tensor& self, at::IntArrayRef dims) {
  (void)dims_mask(self, dims);
  return empty_like_spec(self);
}

MASSLESS_RULES(m) {
  rule<"copy_", copy_inplace>(m);
  rule<"copy", functional<copy_spec>>(m);
  rule<"_to_copy", to_copy_rule>(m);
  rule<"clone", functional<clone_spec>>(m);
  rule<"cat", functional<cat_spec>>(m);
  rule<"cat.out", cat_out>(m);
  rule<"stack", functional<stack_spec>>(m);
  rule<"stack.out", stack_out>(m);
  rule<"constant_pad_nd", functional<constant_pad_spec>>(m);
  rule<"repeat", functional<repeat_spec>>(m);
  rule<"roll", roll_rule>(m);
  rule<"flip", functional<flip_spec>>(m);
}

}  // namespace
}  // namespace massless
