// Operators that change a tensor's own geometry or storage, and the geometry that they share with
// the views.
#include <ATen/core/Tensor.h>
#include <c10/core/WrapDimMinimal.h>

#include <utility>

#include "dispatch/error.h"
#include "fake/rule.h"
#include "fake/sizes.h"
#include "fake/storage.h"
#include "rules/view.h"

namespace massless {

using c10::SymInt;
using c10::SymIntArrayRef;

Geometry unsqueezed(const at::Tensor& self, std::int64_t dim) {
  const std::int64_t rank = self.dim();
  dim = c10::maybe_wrap_dim(dim, rank + 1);
  const SymIntArrayRef sizes = self.sym_sizes();
  const SymIntArrayRef strides = self.sym_strides();
  Geometry g{{sizes.begin(), sizes.end()}, {strides.begin(), strides.end()}};
  g.sizes.insert(g.sizes.begin() + dim, SymInt(1));
  g.strides.insert(g.strides.begin() + dim, dim >= rank ? SymInt(1) : sizes[dim] * strides[dim]);
  return g;
}

Geometry squeezed(const at::Tensor& self, std::uint64_t mask) {
  Geometry g;
  const SymIntArrayRef sizes = self.sym_sizes();
  const SymIntArrayRef strides = self.sym_strides();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool named = i < 64 && (mask >> i & 1U) != 0;
    if (!named || sizes[i] != 1) {
      g.sizes.push_back(sizes[i]);
      g.strides.push_back(strides[i]);
    }
  }
  return g;
}

std::uint64_t dims_mask(const at::Tensor& self, at::IntArrayRef dims) {
  std::uint64_t mask = 0;
  TORCH_CHECK(self.dim() <= 64, "only tensors with up to 64 dims are supported");
  for (const std::int64_t given : dims) {
    const std::int64_t dim = c10::maybe_wrap_dim(given, self.dim());
    const std::uint64_t bit = std::uint64_t{1} << dim;
    TORCH_CHECK((mask & bit) == 0, "dim ", dim, " appears multiple times in the list of dims");
    mask |= bit;
  }
  return mask;
}

namespace {

// ATen's test for a storage that is not resized: what holds no element fits everywhere.
void check_in_storage(const c10::StorageImpl* storage, SymIntArrayRef size, SymIntArrayRef stride,
                      const SymInt& offset, std::size_t itemsize) {
  const SymInt needed = storage_nbytes(size, stride, offset, itemsize);
  if (needed == 0) {
    return;
  }
  TORCH_CHECK(needed <= storage->sym_nbytes(), "setStorage: sizes ", size, ", strides ", stride,
              ", storage offset ", offset, ", and itemsize ", itemsize,
              " requiring a storage size of ", needed, " are out of bounds for storage of size ",
              storage->sym_nbytes());
}

}  // namespace

void check_strided(const at::Tensor& self, SymIntArrayRef size, SymIntArrayRef stride,
                   const SymInt& offset) {
  TORCH_CHECK(size.size() == stride.size(), "mismatch in length of strides and shape");
  for (const SymInt& s : stride) {
    TORCH_CHECK(
        s >= 0,
        "as_strided: Negative strides are not supported at the moment, got strides: ", stride);
  }
  TORCH_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
  check_in_storage(self.storage().unsafeGetStorageImpl(), size, stride, offset,
                   self.element_size());
}

namespace {

at::Tensor& moved_into(at::Tensor& self, const Geometry& g) {
  set_geometry(self, g.sizes, g.strides, self.sym_storage_offset());
  return self;
}

at::Tensor& transpose_inplace(at::Tensor& self, std::int64_t dim0, std::int64_t dim1) {
  dim0 = c10::maybe_wrap_dim(dim0, self.dim());
  dim1 = c10::maybe_wrap_dim(dim1, self.dim());
  if (dim0 == dim1) {
    return self;
  }
  const SymIntArrayRef sizes = self.sym_sizes();
  const SymIntArrayRef strides = self.sym_strides();
  Geometry g{{sizes.begin(), sizes.end()}, {strides.begin(), strides.end()}};
  std::swap(g.sizes[dim0], g.sizes[dim1]);
  std::swap(g.strides[dim0], g.strides[dim1]);
  return moved_into(self, g);
}

at::Tensor& t_inplace(at::Tensor& self) {
  TORCH_CHECK(self.dim() <= 2, "t_() expects a tensor with <= 2 dimensions, but self is ",
              self.dim(), "D");
  return self.dim() < 2 ? self : transpose_inplace(self, 0, 1);
}

at::Tensor& squeeze_inplace(at::Tensor& self) {
  return moved_into(self, squeezed(self, ~std::uint64_t{0}));
}

at::Tensor& squeeze_dim_inplace(at::Tensor& self, std::int64_t dim) {
  return moved_into(self, squeezed(self, dims_mask(self, {dim})));
}

at::Tensor& squeeze_dims_inplace(at::Tensor& self, at::IntArrayRef dims) {
  return moved_into(self, squeezed(self, dims_mask(self, dims)));
}

at::Tensor& unsqueeze_inplace(at::Tensor& self, std::int64_t dim) {
  return moved_into(self, unsqueezed(self, dim));
}

// (This and resize_ take self by constant reference in ATen.)
const at::Tensor& as_strided_inplace(const at::Tensor& self, SymIntArrayRef size,
                                     SymIntArrayRef stride, std::optional<SymInt> offset) {
  const SymInt start = offset ? *offset : self.sym_storage_offset();
  check_strided(self, size, stride, start);
  set_geometry(self, size, stride, start);
  return self;
}

const at::Tensor& resize_inplace(const at::Tensor& self, SymIntArrayRef size,
                                 std::optional<c10::MemoryFormat> format) {
  for (const SymInt& s : size) {
    TORCH_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", size);
  }
  TORCH_CHECK(!format || *format != c10::MemoryFormat::Preserve, "Unsupported memory format",
              format.value_or(c10::MemoryFormat::Contiguous));
  // The same sizes keep their strides, unless a format is named.
  if (!format && equal_sizes(self.sym_sizes(), size)) {
    return self;
  }
  set_geometry(self, size, strides_of_format(size, format.value_or(c10::MemoryFormat::Contiguous)),
               self.sym_storage_offset());
  return self;
}

const at::Tensor& resize_as_inplace(const at::Tensor& self, const at::Tensor& other,
                                    std::optional<c10::MemoryFormat> format) {
  resize_inplace(self, other.sym_sizes(), std::nullopt);
  if (format) {
    const c10::MemoryFormat wanted =
        *format == c10::MemoryFormat::Preserve ? other.suggest_memory_format() : *format;
    const SymDimVector sizes(other.sym_sizes().begin(), other.sym_sizes().end());
    set_geometry(self, sizes, strides_of_format(sizes, wanted), self.sym_storage_offset());
  }
  return self;
}

// The fake storage that stands for `source`, which may be a real one.
c10::Storage fake_source(const c10::Storage& source, const at::Tensor& self) {
  if (storage_token(source.unsafeGetStorageImpl()) != nullptr) {
    return source;
  }
  const auto backend = source.device().is_meta() ? c10::DispatchKey::Meta : c10::DispatchKey::CPU;
  const at::Tensor real = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(source), c10::DispatchKeySet(backend), self.dtype());
  return fake_storage_of(real);
}

void adopt_storage(at::Tensor& self, c10::Storage storage, const SymInt& offset,
                   SymIntArrayRef size, SymIntArrayRef stride) {
  TORCH_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
  const StorageToken* from = storage_token(storage.unsafeGetStorageImpl());
  const c10::Device device = claimed_device(self);
  TORCH_CHECK(from->device == device, "Attempted to set the storage of a tensor on device \"",
              device, "\" to a storage on different device \"", from->device,
              "\".  This is no longer allowed; the devices must match.");
  if (from->stands_for_real) {
    // ATen resizes what is too small; a real storage is never touched.
    check_in_storage(storage.unsafeGetStorageImpl(), size, stride, offset, self.element_size());
  }
  set_storage(self, std::move(storage));
  set_geometry(self, size, stride, offset);
}

at::Tensor& set_storage_offset_inplace(at::Tensor& self, at::Storage source, SymInt offset,
                                       SymIntArrayRef size, SymIntArrayRef stride) {
  TORCH_CHECK(stride.empty() || stride.size() == size.size(), "unequal size length (", size.size(),
              ") and stride length (", stride.size(), ")");
  const bool given = !stride.empty() || size.empty();
  const SymDimVector dense = given ? SymDimVector() : contiguous_strides(size);
  const SymIntArrayRef strides = given ? stride : SymIntArrayRef(dense);
  c10::Storage storage = fake_source(source, self);
  // Where only the offset changes ATen does not resize, but refuses what is out of bounds.
  if (self.sym_sizes().equals(size) && self.sym_strides().equals(strides)) {
    check_in_storage(storage.unsafeGetStorageImpl(), size, strides, offset, self.element_size());
  }
  adopt_storage(self, std::move(storage), offset, size, strides);
  return self;
}

at::Tensor& set_storage_inplace(at::Tensor& self, at::Storage source) {
  const auto itemsize = static_cast<std::int64_t>(self.element_size());
  const SymInt count = source.sym_nbytes() / itemsize;
  adopt_storage(self, fake_source(source, self), 0, {count}, {SymInt(1)});
  return self;
}

at::Tensor& set_tensor_inplace(at::Tensor& self, const at::Tensor& source) {
  if (self.is_same(source)) {
    return self;
  }
  const SymDimVector sizes(source.sym_sizes().begin(), source.sym_sizes().end());
  const SymDimVector strides(source.sym_strides().begin(), source.sym_strides().end());
  adopt_storage(self, fake_storage_of(source), source.sym_storage_offset(), sizes, strides);
  return self;
}

at::Tensor& set_empty_inplace(at::Tensor& self) {
  adopt_storage(self, new_storage(0, claimed_device(self)), 0, {SymInt(0)}, {SymInt(1)});
  return self;
}

MASSLESS_RULES(m) {
  rule<"t_", t_inplace>(m);
  rule<"transpose_", transpose_inplace>(m);
  rule<"squeeze_", squeeze_inplace>(m);
  rule<"squeeze_.dim", squeeze_dim_inplace>(m);
  rule<"squeeze_.dims", squeeze_dims_inplace>(m);
  rule<"unsqueeze_", unsqueeze_inplace>(m);
  rule<"as_strided_", as_strided_inplace>(m);
  rule<"resize_", resize_inplace>(m);
  rule<"resize_as_", resize_as_inplace>(m);
  rule<"set_", set_empty_inplace>(m);
  rule<"set_.source_Storage", set_storage_inplace>(m);
  rule<"set_.source_Storage_storage_offset", set_storage_offset_inplace>(m);
  rule<"set_.source_Tensor", set_tensor_inplace>(m);
}

}  // namespace
}  // namespace massless
