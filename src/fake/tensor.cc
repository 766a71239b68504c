#include "fake/tensor.h"

#include <c10/core/InferenceMode.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/TensorOptions.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <c10/util/safe_numerics.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "dispatch/error.h"
#include "dispatch/state.h"
#include "fake/known.h"
#include "fake/storage.h"

namespace massless {
namespace {

// A meta tensor in memory that claims a device: c10 asks `device_custom`, since the device is a
// custom one. c10's own way (TensorImpl::set_fake_device) costs an allocation more and is forgotten
// by TensorImpl's copies (`.data`, factories); it serves where the tensor is not of this class.
struct FakeTensorImpl final : c10::TensorImpl {
  // `keys`: the dense key of the claimed device's backend, and Fake.
  FakeTensorImpl(c10::Storage&& storage, c10::DispatchKeySet keys, caffe2::TypeMeta dtype,
                 c10::Device device)
      : TensorImpl(std::move(storage), keys, dtype), device_(device) {
    set_custom_device(true);
  }

  c10::Device device_custom() const override {
    if (!is_fake() || key_set_.has(c10::DispatchKey::Python)) {
      return TensorImpl::device_custom();
    }
    return c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::Fake)
               ? c10::Device(c10::DeviceType::Meta)
               : device_;
  }

  template <class VersionCounter>
  c10::intrusive_ptr<TensorImpl> copy(VersionCounter&& version, bool allow_change) const {
    const bool in_python = key_set_.has(c10::DispatchKey::Python) ||
                           (c10::impl::TorchDispatchModeTLS::stack_len() > 0 &&
                            !c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::Python));
    if (in_python) {  // the copy is Python's to make
      auto made =
          TensorImpl::shallow_copy_and_detach(std::forward<VersionCounter>(version), allow_change);
      sync_device(made.get(), device_);
      return made;
    }
    auto made =
        c10::make_intrusive<FakeTensorImpl>(c10::Storage(storage_), key_set_, data_type_, device_);
    copy_tensor_metadata(this, made.get(), std::forward<VersionCounter>(version), allow_change);
    made->refresh_numel();
    made->refresh_contiguous();
    return made;
  }
  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(const c10::VariableVersion& version,
                                                         bool allow_change) const override {
    return copy(version, allow_change);
  }
  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(c10::VariableVersion&& version,
                                                         bool allow_change) const override {
    return copy(std::move(version), allow_change);
  }
  // set_data: from another fake, or from a real tensor, which this one becomes.
  void shallow_copy_from(const c10::intrusive_ptr<TensorImpl>& other) override {
    TensorImpl::shallow_copy_from(other);
    set_custom_device(is_fake());
    if (is_fake()) {
      device_ = claimed_device(*other);
    }
  }
  // TensorImpl's own _set_zero refuses to set it; key_set_ is protected.
  static void add_zero_key(TensorImpl* impl) {
    constexpr auto keys = &FakeTensorImpl::key_set_;
    impl->*keys = (impl->*keys).add(c10::DispatchKey::ZeroTensor);
  }
  // `set_custom_device` is protected; the pointer to member reaches it on any TensorImpl.
  static void sync_device(TensorImpl* impl, c10::Device device) {
    constexpr auto set =
        static_cast<void (TensorImpl::*)(bool)>(&FakeTensorImpl::set_custom_device);
    (impl->*set)(impl->is_fake());
    if (impl->is_fake() && dynamic_cast<FakeTensorImpl*>(impl) == nullptr) {
      impl->set_fake_device(device);
    }
  }

 private:
  static c10::Device claimed_device(const TensorImpl& fake) {
    if (const auto* ours = dynamic_cast<const FakeTensorImpl*>(&fake)) {
      return ours->device_;
    }
    const StorageToken* token = storage_token(fake.unsafe_storage().unsafeGetStorageImpl());
    return token == nullptr ? fake.device() : token->device;
  }

  c10::Device device_;
};

// What c10's set_fake_device would make of a meta tensor's keys; the constructor of TensorImpl adds
// those of autograd and autocast.
c10::DispatchKeySet keys_of(c10::Device device) {
  return c10::DispatchKeySet(c10::computeDispatchKey(std::nullopt, std::nullopt, device)) |
         c10::DispatchKeySet(c10::DispatchKey::Fake);
}

c10::intrusive_ptr<FakeTensorImpl> new_impl(c10::Storage storage, c10::ScalarType dtype,
                                            c10::Device device) {
  return c10::make_intrusive<FakeTensorImpl>(std::move(storage), keys_of(device),
                                             c10::scalarTypeToTypeMeta(dtype), device);
}

void set_sizes(c10::TensorImpl* impl, c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides,
               const c10::SymInt& offset) {
  const auto plain_sizes = c10::asIntArrayRefSlowOpt(sizes);
  const auto plain_strides = c10::asIntArrayRefSlowOpt(strides);
  const auto plain_offset = offset.maybe_as_int();
  if (plain_sizes && plain_strides && plain_offset && !impl->has_symbolic_sizes_strides()) {
    impl->set_sizes_and_strides(*plain_sizes, *plain_strides, *plain_offset);
  } else {
    impl->set_sizes_and_strides(sizes, strides, offset);
  }
}

bool is_zero(const c10::SymInt& n) { return TORCH_GUARD_OR_FALSE(n.sym_eq(0)); }

// Checked 64-bit arithmetic, as at::detail::computeStorageNbytes.
std::int64_t plain_nbytes(c10::IntArrayRef sizes, c10::IntArrayRef strides, std::int64_t offset,
                          std::int64_t itemsize) {
  std::int64_t last = offset;
  bool overflows = false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) {
      return 0;
    }
    std::int64_t step = 0;
    overflows |= c10::mul_overflows(strides[i], sizes[i] - 1, &step);
    overflows |= c10::add_overflows(last, step, &last);
  }
  std::int64_t nbytes = 0;
  overflows |= c10::add_overflows(last, std::int64_t{1}, &last);
  overflows |= c10::mul_overflows(last, itemsize, &nbytes);
  TORCH_CHECK(!overflows, "Storage size calculation overflowed with sizes=", sizes,
              " and strides=", strides);
  return nbytes;
}

// A meta tensor without key or token of ours.
at::Tensor plain_meta(c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides,
                      const c10::SymInt& offset, c10::ScalarType dtype, const c10::SymInt& nbytes) {
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), nbytes,
      c10::DataPtr(nullptr, c10::Device(c10::DeviceType::Meta)), c10::GetAllocator(c10::kMeta),
      true);
  auto impl = c10::make_intrusive<c10::TensorImpl>(c10::Storage(std::move(storage)),
                                                   c10::DispatchKeySet(c10::DispatchKey::Meta),
                                                   c10::scalarTypeToTypeMeta(dtype));
  set_sizes(impl.get(), sizes, strides, offset);
  return at::Tensor(std::move(impl));
}

void copy_bits(const at::Tensor& from, c10::TensorImpl* to) {
  if (from.is_conj()) {
    to->_set_conj(true);
  }
  if (from.is_neg()) {
    to->_set_neg(true);
  }
  if (from._is_zerotensor()) {
    FakeTensorImpl::add_zero_key(to);
  }
}

}  // namespace

c10::Device normalize_device(c10::Device device) noexcept {
  const bool indexed =
      device.type() != c10::DeviceType::CPU && device.type() != c10::DeviceType::Meta;
  if (!indexed) {
    return c10::Device(device.type());
  }
  return device.has_index() ? device : c10::Device(device.type(), 0);
}

SymDimVector contiguous_strides(c10::SymIntArrayRef sizes) {
  SymDimVector strides(sizes.size());
  if (const auto plain = c10::asIntArrayRefSlowOpt(sizes)) {
    std::int64_t step = 1;
    for (std::size_t i = sizes.size(); i-- > 0;) {
      strides[i] = step;
      TORCH_CHECK(!c10::mul_overflows(step, std::max<std::int64_t>((*plain)[i], 1), &step),
                  "Stride calculation overflowed with sizes=", *plain);
    }
    return strides;
  }
  c10::SymInt step = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step = step * sizes[i].max(1);
  }
  return strides;
}

SymDimVector strides_of_format(c10::SymIntArrayRef sizes, c10::MemoryFormat format) {
  if (format == c10::MemoryFormat::Contiguous || format == c10::MemoryFormat::Preserve) {
    return contiguous_strides(sizes);
  }
  const std::size_t rank = format == c10::MemoryFormat::ChannelsLast ? 4 : 5;
  TORCH_CHECK(sizes.size() == rank, "required rank ", rank, " tensor to use ",
              rank == 4 ? "channels_last" : "channels_last_3d", " format");
  // Batch outermost, then the spatial dimensions, channels innermost.
  SymDimVector strides(rank);
  c10::SymInt step = 1;
  const auto place = [&](std::size_t dim) {
    strides[dim] = step;
    step = step * sizes[dim].max(1);
  };
  place(1);
  for (std::size_t dim = rank - 1; dim >= 2; --dim) {
    place(dim);
  }
  place(0);
  return strides;
}

TensorSpec contiguous_spec(c10::SymIntArrayRef sizes, c10::ScalarType dtype, c10::Device device) {
  return {SymDimVector(sizes.begin(), sizes.end()), contiguous_strides(sizes), dtype, device};
}

c10::SymInt storage_nbytes(c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides,
                           const c10::SymInt& offset, std::size_t itemsize) {
  const auto plain_sizes = c10::asIntArrayRefSlowOpt(sizes);
  const auto plain_strides = c10::asIntArrayRefSlowOpt(strides);
  const auto plain_offset = offset.maybe_as_int();
  if (plain_sizes && plain_strides && plain_offset) {
    return plain_nbytes(*plain_sizes, *plain_strides, *plain_offset,
                        static_cast<std::int64_t>(itemsize));
  }
  c10::SymInt last = offset;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (is_zero(sizes[i])) {
      return 0;
    }
    last = last + strides[i] * (sizes[i] - 1);
  }
  return (last + 1) * static_cast<std::int64_t>(itemsize);
}

at::Tensor make_fake_over(c10::Storage storage, c10::SymIntArrayRef sizes,
                          c10::SymIntArrayRef strides, const c10::SymInt& offset,
                          c10::ScalarType dtype, c10::Device device) {
  auto impl = new_impl(std::move(storage), dtype, device);
  set_sizes(impl.get(), sizes, strides, offset);
  return at::Tensor(std::move(impl));
}

at::Tensor make_fake(c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides, c10::ScalarType dtype,
                     c10::Device device) {
  if (device.is_meta()) {  // asked for by the user: no fake of ours
    return plain_meta(sizes, strides, 0, dtype,
                      storage_nbytes(sizes, strides, 0, c10::elementSize(dtype)));
  }
  const auto nbytes = storage_nbytes(sizes, strides, 0, c10::elementSize(dtype));
  return make_fake_over(new_storage(nbytes, device), sizes, strides, 0, dtype, device);
}

at::Tensor make_fake(const TensorSpec& spec) {
  return make_fake(spec.sizes, spec.strides, spec.dtype, spec.device);
}

at::Tensor make_zero_fake(const TensorSpec& spec) {
  // Eager touches no memory, though its storage tells the whole size: the ledger sees none.
  c10::Storage storage = new_storage(0, spec.device);
  storage.unsafeGetStorageImpl()->set_nbytes(
      storage_nbytes(spec.sizes, spec.strides, 0, c10::elementSize(spec.dtype)));
  at::Tensor made =
      make_fake_over(std::move(storage), spec.sizes, spec.strides, 0, spec.dtype, spec.device);
  FakeTensorImpl::add_zero_key(made.unsafeGetTensorImpl());
  return made;
}

c10::Storage fake_storage_of(const at::Tensor& t) {
  if (is_fake(t)) {
    return t.storage();
  }
  require_strided(t, "a real argument");
  c10::StorageImpl* real = t.storage().unsafeGetStorageImpl();
  ModeState* mode = current_mode();
  if (mode == nullptr) {
    c10::Storage made = new_storage(real->sym_nbytes(), normalize_device(t.device()));
    storage_token(made.unsafeGetStorageImpl())->stands_for_real = true;
    return made;
  }
  std::lock_guard lock(mode->mutex);
  auto it = mode->twins.find(real);
  if (it == mode->twins.end()) {
    c10::Storage made = new_storage(real->sym_nbytes(), normalize_device(t.device()));
    storage_token(made.unsafeGetStorageImpl())->stands_for_real = true;
    auto held = c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(real);
    it = mode->twins
             .emplace(real, ModeState::Twin{c10::weak_intrusive_ptr<c10::StorageImpl>(held),
                                            c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(
                                                made.unsafeGetStorageImpl())})
             .first;
  }
  return c10::Storage(it->second.fake);
}

at::Tensor view_of(const at::Tensor& base, c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides,
                   const c10::SymInt& offset, std::optional<c10::ScalarType> dtype) {
  // A view of a normal tensor is a normal tensor in inference mode, too.
  std::optional<c10::InferenceMode> normal;
  if (C10_UNLIKELY(c10::InferenceMode::is_enabled()) && !base.is_inference()) {
    normal.emplace(false);
  }
  at::Tensor view =
      make_fake_over(fake_storage_of(base), sizes, strides, offset,
                     dtype.value_or(base.scalar_type()), normalize_device(base.device()));
  copy_bits(base, view.unsafeGetTensorImpl());
  return view;
}

void set_geometry(const at::Tensor& fake, c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides,
                  const c10::SymInt& offset) {
  const auto nbytes = storage_nbytes(sizes, strides, offset, fake.element_size());
  grow_storage(fake.storage().unsafeGetStorageImpl(), nbytes);
  set_sizes(fake.unsafeGetTensorImpl(), sizes, strides, offset);
}

void set_storage(const at::Tensor& fake, c10::Storage storage) {
  fake.unsafeGetTensorImpl()->set_storage_keep_dtype(std::move(storage));
}

at::Tensor adopt_meta(const at::Tensor& meta, c10::Device device) {
  if (device.is_meta()) {
    return meta;
  }
  require_strided(meta, "the result");
  c10::Storage storage = new_storage(meta.storage().sym_nbytes(), device);
  at::Tensor fake = make_fake_over(std::move(storage), meta.sym_sizes(), meta.sym_strides(),
                                   meta.sym_storage_offset(), meta.scalar_type(), device);
  copy_bits(meta, fake.unsafeGetTensorImpl());
  if (meta.unsafeGetTensorImpl()->is_wrapped_number()) {
    fake.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return fake;
}

void sync_custom_device(c10::TensorImpl* impl, c10::Device device) {
  FakeTensorImpl::sync_device(impl, device);
}

struct FakeConverter::Memo {
  // The originals are kept alive, so that their addresses stay theirs.
  std::unordered_map<const c10::TensorImpl*, std::pair<at::Tensor, at::Tensor>> tensors;
  std::unordered_map<const c10::StorageImpl*, std::pair<c10::Storage, c10::Storage>> storages;
};

FakeConverter::FakeConverter() : memo_(std::make_unique<Memo>()) {}
FakeConverter::~FakeConverter() = default;

at::Tensor FakeConverter::convert(const at::Tensor& t, const FakeLikeOptions& options) {
  if (const auto it = memo_->tensors.find(t.unsafeGetTensorImpl()); it != memo_->tensors.end()) {
    return it->second.second;
  }
  require_strided(t, "the tensor to make a fake of");
  const c10::Device device = normalize_device(options.device.value_or(t.device()));
  const c10::Storage& real = t.storage();
  auto it = memo_->storages.find(real.unsafeGetStorageImpl());
  if (it == memo_->storages.end()) {
    c10::Storage made = new_storage(real.sym_nbytes(), device);
    if (const StorageToken* token = storage_token(real.unsafeGetStorageImpl())) {
      copy_known(*token, *storage_token(made.unsafeGetStorageImpl()));
    } else if (options.with_values && t.device().is_cpu()) {
      know_real_bytes(t, *storage_token(made.unsafeGetStorageImpl()));
    }
    it = memo_->storages.emplace(real.unsafeGetStorageImpl(), std::pair(real, made)).first;
  }
  at::Tensor fake = make_fake_over(it->second.second, t.sym_sizes(), t.sym_strides(),
                                   t.sym_storage_offset(), t.scalar_type(), device);
  copy_bits(t, fake.unsafeGetTensorImpl());
  if (t.requires_grad()) {
    fake.requires_grad_(true);
  }
  memo_->tensors.emplace(t.unsafeGetTensorImpl(), std::pair(t, fake));
  return fake;
}

at::Tensor fake_like(const at::Tensor& t, const FakeLikeOptions& options) {
  return FakeConverter().convert(t, options);
}

at::Tensor meta_like(const at::Tensor& t) {
  at::Tensor meta = plain_meta(t.sym_sizes(), t.sym_strides(), t.sym_storage_offset(),
                               t.scalar_type(), t.storage().sym_nbytes());
  copy_bits(t, meta.unsafeGetTensorImpl());
  if (t.requires_grad()) {
    meta.requires_grad_(true);
  }
  return meta;
}

}  // namespace massless
