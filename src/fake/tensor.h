// Making fake tensors. A fake is an ordinary TensorImpl on the Meta backend with c10's own fake
// device: `device()` answers the claimed device, unless the Fake key is excluded on this thread
// ("in a kernel"), where it answers meta.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Storage.h>
#include <c10/core/SymInt.h>
#include <c10/core/SymIntArrayRef.h>
#include <c10/util/SmallVector.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

namespace massless {

using SymDimVector = c10::SmallVector<c10::SymInt, 5>;

// What a rule answers: the metadata of one fresh output.
struct TensorSpec {
  SymDimVector sizes;
  SymDimVector strides;
  c10::ScalarType dtype;
  c10::Device device;
};

// What a rule of several outputs answers.
template <std::size_t n>
using TensorSpecs = std::array<TensorSpec, n>;

inline bool is_fake(const at::Tensor& t) noexcept {
  return t.defined() && t.unsafeGetTensorImpl()->is_fake();
}

// `cuda` -> `cuda:0`; cpu and meta stay without an index.
inline c10::Device normalize_device(c10::Device device) noexcept {
  if (device.is_cpu() || device.is_meta()) {
    return c10::Device(device.type());
  }
  return device.has_index() ? device : c10::Device(device.type(), 0);
}

// normalize_device(t.device()) as a rule sees it, without the virtual calls that lead there.
c10::Device claimed_device(const at::Tensor& t);

// Strides of a contiguous tensor of these sizes (a size of 0 counts as 1, as in ATen).
SymDimVector contiguous_strides(c10::SymIntArrayRef sizes);
// The same for a memory format (contiguous, channels_last, channels_last_3d).
SymDimVector strides_of_format(c10::SymIntArrayRef sizes, c10::MemoryFormat format);
TensorSpec contiguous_spec(c10::SymIntArrayRef sizes, c10::ScalarType dtype, c10::Device device);
TensorSpec contiguous_spec_of(SymDimVector&& sizes, c10::ScalarType dtype, c10::Device device);

// Bytes that a storage needs for this geometry; 0 when a size is 0. Overflow is an error.
c10::SymInt storage_nbytes(c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides,
                           const c10::SymInt& offset, std::size_t itemsize);

// A fresh fake with a storage of its own.
at::Tensor make_fake(const TensorSpec& spec);
at::Tensor make_fake(c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides, c10::ScalarType dtype,
                     c10::Device device);
// Forward AD's zero tangent (`_efficientzerotensor`): the ZeroTensor key stands for the values.
at::Tensor make_zero_fake(const TensorSpec& spec);
// A fake over a given fake storage.
at::Tensor make_fake_over(c10::Storage storage, c10::SymIntArrayRef sizes,
                          c10::SymIntArrayRef strides, const c10::SymInt& offset,
                          c10::ScalarType dtype, c10::Device device);

// A fake view of `base` (same storage, dtype unless given, device, conj and neg bits). A real base
// is seen through its fake twin, which cannot be written.
at::Tensor view_of(const at::Tensor& base, c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides,
                   const c10::SymInt& offset, std::optional<c10::ScalarType> dtype = std::nullopt);

// The fake storage of a fake, or the twin of a real tensor's storage.
c10::Storage fake_storage_of(const at::Tensor& t);

// Sets the metadata of a fake in place (resize_, as_strided_, set_, transpose_ ...); its storage
// is grown where needed.
void set_geometry(const at::Tensor& fake, c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides,
                  const c10::SymInt& offset);
void set_storage(const at::Tensor& fake, c10::Storage storage);

// A fake on `device` with the geometry of a meta tensor that a kernel returned, storage size
// included.
at::Tensor adopt_meta(const at::Tensor& meta, c10::Device device);

// After metadata was copied onto a tensor (set_data): `device()` answers `device` exactly if the
// tensor is a fake now.
void sync_custom_device(c10::TensorImpl* impl, c10::Device device);

struct FakeLikeOptions {
  std::optional<c10::Device> device;  // nullopt: the tensor's own
  // Of a real CPU tensor of integers, or of one number: its values become known, if it is small.
  bool with_values = false;
  // The sizes of the fake, where some are symbols; they must agree with the tensor's own at the
  // example. Strides, offset and the storage's size follow from them where they can: a stride that
  // is no product of sizes stays as it is in the example.
  std::optional<SymDimVector> sizes = {};
};
// Keeps views of one storage views of one fake storage, and one tensor one fake, for its life.
class FakeConverter {
 public:
  FakeConverter();
  ~FakeConverter();
  FakeConverter(const FakeConverter&) = delete;
  FakeConverter& operator=(const FakeConverter&) = delete;
  // size, stride, offset, dtype, device, requires_grad, conj and neg bits of `t` (strided only).
  at::Tensor convert(const at::Tensor& t, const FakeLikeOptions& options = {});

 private:
  struct Memo;
  std::unique_ptr<Memo> memo_;
};
at::Tensor fake_like(const at::Tensor& t, const FakeLikeOptions& options = {});
// A plain meta tensor with the fake's metadata (no key, no token of ours).
at::Tensor meta_like(const at::Tensor& t);

}  // namespace massless
