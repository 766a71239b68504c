#include "fake/tensor.h"

#include <c10/core/InferenceMode.h>
#include <c10/core/SymbolicShapeMeta.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/TensorOptions.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <c10/util/safe_numerics.h>

#include <algorithm>
#include <mutex>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dispatch/error.h"
#include "dispatch/state.h"
#include "dispatch/sym_node.h"
#include "fake/known.h"
#include "fake/storage.h"
#include "guard/layout.h"

namespace massless {
namespace {

// Tells c10 the layout's conditions, so that it does not work them out itself.
void assume_layout(c10::SymbolicShapeMeta& meta) {
  const ExprNode* node = nullptr;
  for (const auto* all : {&meta.sizes_, &meta.strides_}) {
    for (const c10::SymInt& n : *all) {
      node = node != nullptr ? node : expr_node(n);
    }
  }
  if (node == nullptr) {  // the offset alone is a symbol: c10 computes with integers
    return;
  }
  const std::shared_ptr<ShapeEnv>& env = node->env();
  c10::SmallVector<sym::Expr, 8> sizes;
  c10::SmallVector<sym::Expr, 8> strides;
  for (std::size_t i = 0; i < meta.sizes_.size(); ++i) {
    sizes.push_back(expr_of(*env, meta.sizes_[i]));
    strides.push_back(expr_of(*env, meta.strides_[i]));
  }
  const auto told = [&](sym::Expr e) {
    return e->is(sym::Op::truth)
               ? c10::SymBool(e->is_true())
               : c10::SymBool(c10::SymNode(c10::make_intrusive<ExprNode>(env, e)));
  };
  const auto at_rank = [&](std::size_t rank, sym::Expr e) {
    return sizes.size() == rank ? told(e) : c10::SymBool(false);
  };
  const guard::Layout layout =
      with_sym_errors([&] { return guard::layout_of(*env, sizes, strides); });
  meta.assume_contiguous(told(layout.contiguous));
  meta.assume_channels_last_contiguous(at_rank(4, layout.channels_last_contiguous));
  meta.assume_channels_last_3d_contiguous(at_rank(5, layout.channels_last_contiguous));
  meta.assume_channels_last(at_rank(4, layout.channels_last_strides));
  meta.assume_channels_last_3d(at_rank(5, layout.channels_last_strides));
  meta.assume_non_overlapping_and_dense(told(layout.non_overlapping_and_dense));
}

// Kernels that take plain sizes only are given those of the example, which guards fix.
struct PlainGeometry {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
};

std::int64_t fixed(const c10::SymInt& n) {
  if (const auto plain = n.maybe_as_int()) {
    return *plain;
  }
  const ExprNode* node = expr_node(n);
  if (node == nullptr || !node->env()->simplify(node->expr())->is_constant()) {
    note_specialized();
  }
  return n.guard_int(__FILE__, __LINE__);
}

// A meta tensor in memory that claims a device: c10 asks `device_custom`, since the device is a
// custom one. c10's own way (TensorImpl::set_fake_device) costs an allocation more and is forgotten
// by TensorImpl's copies (`.data`, factories); it serves where the tensor is not of this class.
struct FakeTensorImpl final : c10::TensorImpl, Pooled<FakeTensorImpl> {
  // `keys`: all that it has, as the constructor for views takes them.
  FakeTensorImpl(c10::Storage&& storage, c10::DispatchKeySet keys, caffe2::TypeMeta dtype,
                 c10::Device device)
      : TensorImpl(VIEW, std::move(storage), keys, dtype), device_(device) {
    set_custom_device(true);
  }
  // The claimed device without a look at the thread's keys; null where the tensor is not of this
  // class, or Python has a say.
  static const c10::Device* plain_device(const c10::TensorImpl& impl) {
    const bool plain = typeid(impl) == typeid(FakeTensorImpl) && impl.is_fake() &&
                       !impl.key_set().has(c10::DispatchKey::Python);
    return plain ? &static_cast<const FakeTensorImpl&>(impl).device_ : nullptr;
  }

  c10::Device device_custom() const override {
    if (!is_fake() || key_set_.has(c10::DispatchKey::Python)) {
      return TensorImpl::device_custom();
    }
    return c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::Fake)
               ? c10::Device(c10::DeviceType::Meta)
               : device_;
  }

  c10::IntArrayRef sizes_custom() const override {
    return is_symbolic() ? fixed_values(&PlainGeometry::sizes, sym_sizes())
                         : TensorImpl::sizes_custom();
  }
  c10::IntArrayRef strides_custom() const override {
    return is_symbolic() ? fixed_values(&PlainGeometry::strides, sym_strides())
                         : TensorImpl::strides_custom();
  }
  std::int64_t numel_custom() const override {
    return is_symbolic() ? fixed(sym_numel()) : TensorImpl::numel_custom();
  }
  std::int64_t storage_offset_custom() const override {
    return is_symbolic() ? fixed(sym_storage_offset()) : TensorImpl::storage_offset_custom();
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
    made->assume_layout();
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
  // Of a new tensor with the strides that contiguous_strides gives.
  void set_contiguous(c10::IntArrayRef sizes, c10::IntArrayRef strides, std::int64_t numel) {
    sizes_and_strides_.set_sizes(sizes);
    sizes_and_strides_.set_strides(strides);
    numel_ = numel;
    if (sizes.size() > 3) {  // the flags of a new tensor are right for fewer dimensions
      refresh_contiguous();
    }
  }
  // As set_sizes_and_strides, which checks what is known of a new tensor. A negative stride means
  // something else there.
  void set_plain(c10::IntArrayRef sizes, c10::IntArrayRef strides, std::int64_t offset) {
    if (C10_UNLIKELY(std::any_of(strides.begin(), strides.end(), [](auto n) { return n < 0; }))) {
      set_sizes_and_strides(sizes, strides, offset);
      return;
    }
    sizes_and_strides_.set_sizes(sizes);
    sizes_and_strides_.set_strides(strides);
    storage_offset_ = offset;
    refresh_numel();
    refresh_contiguous();
  }
  // c10 would ask for the layout with decisions, which leave guards; the conditions are known
  // without (guard/layout.h), and are decided where somebody asks. The key leads to rules/above.cc.
  void assume_layout() {
    if (has_symbolic_sizes_strides()) {
      key_set_ = key_set_.add(c10::DispatchKey::DeferredInit);
      massless::assume_layout(*extra_meta_->symbolic_shape_meta_);
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
  // Symbols of ours, and no subclass in Python that has a say.
  bool is_symbolic() const {
    return has_symbolic_sizes_strides() &&
           !matches_python_custom(SizesStridesPolicy::CustomStrides);
  }
  // What is handed out stays where it is while the geometry does.
  c10::IntArrayRef fixed_values(std::vector<std::int64_t> PlainGeometry::*member,
                                c10::SymIntArrayRef symbolic) const {
    static std::mutex mutex;
    std::vector<std::int64_t> values;
    for (const c10::SymInt& n : symbolic) {
      values.push_back(fixed(n));
    }
    const std::lock_guard lock(mutex);
    if (plain_ == nullptr) {
      plain_ = std::make_unique<PlainGeometry>();
    }
    std::vector<std::int64_t>& kept = (*plain_).*member;
    if (kept != values) {
      kept = std::move(values);
    }
    return kept;
  }

  static c10::Device claimed_device(const TensorImpl& fake) {
    if (const auto* ours = dynamic_cast<const FakeTensorImpl*>(&fake)) {
      return ours->device_;
    }
    const StorageToken* token = storage_token(fake.unsafe_storage().unsafeGetStorageImpl());
    return token == nullptr ? fake.device() : token->device;
  }

  c10::Device device_;
  mutable std::unique_ptr<PlainGeometry> plain_;
};

// A node that folded to a constant is a plain integer from here on.
bool is_folded(const c10::SymInt& n) {
  if (!n.is_heap_allocated()) {
    return false;
  }
  const ExprNode* node = expr_node(n);
  return node == nullptr ? n.maybe_as_int().has_value() : node->expr()->is_constant();
}
c10::SymInt unfolded(const c10::SymInt& n) {
  const auto value = n.maybe_as_int();
  return value ? c10::SymInt(*value) : n;
}

void set_unfolded_sizes(c10::TensorImpl* impl, c10::SymIntArrayRef sizes,
                        c10::SymIntArrayRef strides, const c10::SymInt& offset) {
  const auto all_sizes = c10::asIntArrayRefSlowOpt(sizes);
  const auto all_strides = c10::asIntArrayRefSlowOpt(strides);
  const auto plain_offset = offset.maybe_as_int();
  if (all_sizes && all_strides && plain_offset && !impl->has_symbolic_sizes_strides()) {
    impl->set_sizes_and_strides(*all_sizes, *all_strides, *plain_offset);
    return;
  }
  impl->set_sizes_and_strides(sizes, strides, offset);
  if (auto* fake = dynamic_cast<FakeTensorImpl*>(impl)) {
    fake->assume_layout();
  }
}

void set_symbolic_sizes(c10::TensorImpl* impl, c10::SymIntArrayRef sizes,
                        c10::SymIntArrayRef strides, const c10::SymInt& offset) {
  const bool folded = std::any_of(sizes.begin(), sizes.end(), is_folded) ||
                      std::any_of(strides.begin(), strides.end(), is_folded) || is_folded(offset);
  if (C10_LIKELY(!folded)) {
    set_unfolded_sizes(impl, sizes, strides, offset);
    return;
  }
  SymDimVector plain_sizes(sizes.size());
  SymDimVector plain_strides(strides.size());
  std::transform(sizes.begin(), sizes.end(), plain_sizes.begin(), unfolded);
  std::transform(strides.begin(), strides.end(), plain_strides.begin(), unfolded);
  set_unfolded_sizes(impl, plain_sizes, plain_strides, unfolded(offset));
}

// What c10's set_fake_device and the constructor of TensorImpl would make of a meta tensor's keys.
c10::DispatchKeySet all_keys_of(c10::DeviceType type) {
  const auto dense =
      c10::DispatchKeySet(c10::computeDispatchKey(std::nullopt, std::nullopt, type)) |
      c10::DispatchKeySet(c10::DispatchKey::Fake);
  const auto backend = dense.highestBackendKey();
  return dense | c10::getAutocastRelatedKeySetFromBackend(backend) |
         c10::getAutogradRelatedKeySetFromBackend(backend);
}

c10::DispatchKeySet keys_of(c10::Device device) {
  static const c10::DispatchKeySet cpu = all_keys_of(c10::kCPU);
  static const c10::DispatchKeySet cuda = all_keys_of(c10::kCUDA);
  const c10::DispatchKeySet keys = device.is_cpu()    ? cpu
                                   : device.is_cuda() ? cuda
                                                      : all_keys_of(device.type());
  return C10_UNLIKELY(c10::InferenceMode::is_enabled())
             ? keys - c10::autograd_dispatch_keyset_with_ADInplaceOrView
             : keys;
}

c10::intrusive_ptr<FakeTensorImpl> new_impl(c10::Storage&& storage, c10::ScalarType dtype,
                                            c10::Device device) {
  return c10::make_intrusive<FakeTensorImpl>(std::move(storage), keys_of(device),
                                             c10::scalarTypeToTypeMeta(dtype), device);
}

// Of a new tensor.
void place(FakeTensorImpl& impl, c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides,
           const c10::SymInt& offset) {
  const auto plain_sizes = c10::asIntArrayRefSlowOpt(sizes);
  const auto plain_strides = c10::asIntArrayRefSlowOpt(strides);
  if (C10_LIKELY(plain_sizes && plain_strides && !offset.is_heap_allocated())) {
    impl.set_plain(*plain_sizes, *plain_strides, offset.as_int_unchecked());
  } else {
    set_symbolic_sizes(&impl, sizes, strides, offset);
  }
}

void set_sizes(c10::TensorImpl* impl, c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides,
               const c10::SymInt& offset) {
  const auto plain_sizes = c10::asIntArrayRefSlowOpt(sizes);
  const auto plain_strides = c10::asIntArrayRefSlowOpt(strides);
  const auto plain_offset = offset.maybe_as_int();
  if (plain_sizes && plain_strides && plain_offset && !impl->has_symbolic_sizes_strides()) {
    impl->set_sizes_and_strides(*plain_sizes, *plain_strides, *plain_offset);
  } else {
    set_symbolic_sizes(impl, sizes, strides, offset);
  }
}

// The environment of the symbols in a geometry that has some.
const std::shared_ptr<ShapeEnv>& env_of(c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides,
                                        const c10::SymInt& offset) {
  for (const auto all : {sizes, strides, c10::SymIntArrayRef(offset)}) {
    for (const c10::SymInt& n : all) {
      if (const ExprNode* node = expr_node(n)) {
        return node->env();
      }
    }
  }
  raise(ErrorCode::foreign_symbol, "a size is a symbol of another library");
}

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

// The number of elements where the geometry is plain and the strides are those that
// contiguous_strides gives.
std::optional<std::int64_t> contiguous_numel(c10::SymIntArrayRef sizes,
                                             c10::SymIntArrayRef strides) {
  if (sizes.size() != strides.size()) {
    return std::nullopt;
  }
  std::int64_t numel = 1;
  bool empty = false;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i].is_heap_allocated() || strides[i].is_heap_allocated()) {
      return std::nullopt;
    }
    const std::int64_t size = sizes[i].as_int_unchecked();
    if (size < 0 || strides[i].as_int_unchecked() != numel ||
        c10::mul_overflows(numel, std::max<std::int64_t>(size, 1), &numel)) {
      return std::nullopt;
    }
    empty = empty || size == 0;
  }
  return empty ? 0 : numel;
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

c10::Device claimed_device(const at::Tensor& t) {
  const c10::Device* claimed = FakeTensorImpl::plain_device(*t.unsafeGetTensorImpl());
  return claimed != nullptr ? *claimed : normalize_device(t.device());
}

namespace {

// From the innermost symbol of the sizes on, whose stride is set; further in there are more.
void set_outer_strides(c10::SymIntArrayRef sizes, SymDimVector& strides) {
  std::size_t i = sizes.size() - 1;
  const ExprNode* node = expr_node(sizes[i]);
  if (C10_UNLIKELY(node == nullptr)) {  // of another library, or below -2^62
    for (; i > 0; --i) {
      strides[i - 1] = strides[i] * sizes[i].max(1);
    }
    return;
  }
  ShapeEnv& env = *node->env();
  with_sym_errors([&] {
    sym::Expr outer = expr_of(env, strides[i]);
    for (; i > 0; --i) {
      const std::array<sym::Expr, 2> at_least{expr_of(env, sizes[i]), env.integer(1)};
      const std::array<sym::Expr, 2> factors{outer, env.apply(sym::Op::max, at_least)};
      outer = env.apply(sym::Op::mul, factors);
      strides[i - 1] = size_of(node->env(), outer);
    }
  });
}

}  // namespace

SymDimVector contiguous_strides(c10::SymIntArrayRef sizes) {
  SymDimVector strides;
  strides.resize(sizes.size());
  std::int64_t step = 1;
  std::size_t i = sizes.size();
  for (; i > 0 && !sizes[i - 1].is_heap_allocated(); --i) {
    strides[i - 1].unsafe_set_data(step);  // it was 0, and no positive number is kept as a node
    const std::int64_t size = std::max<std::int64_t>(sizes[i - 1].as_int_unchecked(), 1);
    const bool overflows = c10::mul_overflows(step, size, &step);
    TORCH_CHECK(i == 1 || !overflows, "Stride calculation overflowed with sizes=", sizes);
  }
  if (i > 0) {
    strides[i - 1] = step;
    set_outer_strides(sizes.slice(0, i), strides);
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

TensorSpec contiguous_spec_of(SymDimVector&& sizes, c10::ScalarType dtype, c10::Device device) {
  SymDimVector strides = contiguous_strides(sizes);
  return {std::move(sizes), std::move(strides), dtype, device};
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
  const std::shared_ptr<ShapeEnv>& env = env_of(sizes, strides, offset);
  const auto exprs = [&](c10::SymIntArrayRef all) {
    c10::SmallVector<sym::Expr, 8> out;
    for (const c10::SymInt& n : all) {
      out.push_back(expr_of(*env, n));
    }
    return out;
  };
  return with_sym_errors([&] {
    const std::array<sym::Expr, 2> factors{
        guard::storage_elements(*env, exprs(sizes), exprs(strides), expr_of(*env, offset)),
        env->integer(static_cast<std::int64_t>(itemsize))};
    return size_of(env, env->apply(sym::Op::mul, factors));
  });
}

at::Tensor make_fake_over(c10::Storage storage, c10::SymIntArrayRef sizes,
                          c10::SymIntArrayRef strides, const c10::SymInt& offset,
                          c10::ScalarType dtype, c10::Device device) {
  auto impl = new_impl(std::move(storage), dtype, device);
  place(*impl, sizes, strides, offset);
  return at::Tensor(std::move(impl));
}

at::Tensor make_fake(c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides, c10::ScalarType dtype,
                     c10::Device device) {
  if (device.is_meta()) {  // asked for by the user: no fake of ours
    return plain_meta(sizes, strides, 0, dtype,
                      storage_nbytes(sizes, strides, 0, c10::elementSize(dtype)));
  }
  const std::size_t itemsize = c10::elementSize(dtype);
  const auto numel = contiguous_numel(sizes, strides);
  std::int64_t plain_bytes = 0;
  if (C10_LIKELY(numel && !c10::mul_overflows(*numel, std::int64_t(itemsize), &plain_bytes))) {
    auto impl = new_impl(new_storage(plain_bytes, device), dtype, device);
    impl->set_contiguous(c10::asIntArrayRefUnchecked(sizes), c10::asIntArrayRefUnchecked(strides),
                         *numel);
    return at::Tensor(std::move(impl));
  }
  const auto nbytes = storage_nbytes(sizes, strides, 0, itemsize);
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
    c10::Storage made = new_storage(real->sym_nbytes(), claimed_device(t));
    storage_token(made.unsafeGetStorageImpl())->stands_for_real = true;
    return made;
  }
  std::lock_guard lock(mode->mutex);
  auto it = mode->twins.find(real);
  if (it == mode->twins.end()) {
    c10::Storage made = new_storage(real->sym_nbytes(), claimed_device(t));
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
  if (C10_LIKELY(is_fake(base))) {
    // As in ATen the base's keys are the view's: its conj, neg and zero bits, and whether it is an
    // inference tensor, whatever the mode is now.
    auto impl = c10::make_intrusive<FakeTensorImpl>(
        c10::Storage(base.storage()), base.key_set(),
        dtype ? c10::scalarTypeToTypeMeta(*dtype) : base.dtype(), claimed_device(base));
    place(*impl, sizes, strides, offset);
    return at::Tensor(std::move(impl));
  }
  // A view of a normal tensor is a normal tensor in inference mode, too.
  std::optional<c10::InferenceMode> normal;
  if (c10::InferenceMode::is_enabled() && !base.is_inference()) {
    normal.emplace(false);
  }
  at::Tensor view = make_fake_over(fake_storage_of(base), sizes, strides, offset,
                                   dtype.value_or(base.scalar_type()), claimed_device(base));
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

namespace {

struct Geometry {
  SymDimVector sizes;
  SymDimVector strides;
  c10::SymInt offset;
  c10::SymInt nbytes;
};

std::int64_t example(const c10::SymInt& n) {
  const auto plain = n.maybe_as_int();
  return plain ? *plain : expr_node(n)->env()->hint(expr_node(n)->expr()).value_or(-1);
}

// Strides of the example in terms of the sizes: each is looked up among the products of the sizes
// that lie further in; one that is none of them (0, or of a cut out piece) stays as it is.
SymDimVector strides_in_terms_of(c10::SymIntArrayRef sizes, c10::IntArrayRef strides) {
  SymDimVector contiguous = contiguous_strides(sizes);
  if (std::equal(strides.begin(), strides.end(), contiguous.begin(),
                 [](std::int64_t a, const c10::SymInt& b) { return a == example(b); })) {
    return contiguous;
  }
  c10::SmallVector<std::size_t, 5> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return strides[a] < strides[b]; });
  SymDimVector out(sizes.size());
  c10::SymInt next = 1;
  for (const std::size_t d : order) {
    out[d] = example(next) == strides[d] ? next : c10::SymInt(strides[d]);
    next = out[d] * sizes[d].max(1);
  }
  return out;
}

Geometry geometry_of(const at::Tensor& t, const std::optional<SymDimVector>& dynamic) {
  const c10::SymInt nbytes = t.storage().sym_nbytes();
  const auto as_vector = [](c10::SymIntArrayRef a) { return SymDimVector(a.begin(), a.end()); };
  const bool plain = !dynamic || c10::asIntArrayRefSlowOpt(*dynamic).has_value();
  if (plain) {
    return {as_vector(t.sym_sizes()), as_vector(t.sym_strides()), t.sym_storage_offset(), nbytes};
  }
  Geometry made{*dynamic, strides_in_terms_of(*dynamic, t.strides()), t.storage_offset(), nbytes};
  const c10::SymInt needed =
      storage_nbytes(made.sizes, made.strides, made.offset, t.element_size());
  if (nbytes.maybe_as_int() == example(needed)) {
    made.nbytes = needed;
  }
  return made;
}

}  // namespace

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
  const Geometry geometry = geometry_of(t, options.sizes);
  auto it = memo_->storages.find(real.unsafeGetStorageImpl());
  if (it == memo_->storages.end()) {
    c10::Storage made = new_storage(geometry.nbytes, device);
    if (const StorageToken* token = storage_token(real.unsafeGetStorageImpl())) {
      copy_known(*token, *storage_token(made.unsafeGetStorageImpl()));
    } else if (options.with_values && t.device().is_cpu() && !geometry.nbytes.is_symbolic()) {
      know_real_bytes(t, *storage_token(made.unsafeGetStorageImpl()));
    }
    it = memo_->storages.emplace(real.unsafeGetStorageImpl(), std::pair(real, made)).first;
  }
  at::Tensor fake = make_fake_over(it->second.second, geometry.sizes, geometry.strides,
                                   geometry.offset, t.scalar_type(), device);
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
