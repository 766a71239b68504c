#include "fake/tensor.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/variable.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "dispatch/state.h"
#include "fake/help.h"
#include "fake/storage.h"

namespace massless {
namespace {

const c10::Device kCuda(c10::kCUDA, 0);

bool same_storage(const at::Tensor& a, const at::Tensor& b) {
  return a.storage().unsafeGetStorageImpl() == b.storage().unsafeGetStorageImpl();
}

TEST(MakeFake, HasTheMetadataThatWasAsked) {
  const at::Tensor fake = make_fake({2, 3}, {1, 4}, c10::kHalf, kCuda);
  EXPECT_TRUE(is_fake(fake));
  EXPECT_EQ(fake.sizes(), c10::IntArrayRef({2, 3}));
  EXPECT_EQ(fake.strides(), c10::IntArrayRef({1, 4}));
  EXPECT_EQ(fake.scalar_type(), c10::kHalf);
  EXPECT_EQ(fake.device(), kCuda);
  EXPECT_TRUE(fake.is_cuda());
  EXPECT_EQ(fake.storage().nbytes(), 20U);
  EXPECT_FALSE(is_fake(at::Tensor()));
}

TEST(MakeFake, EmptyAndScalar) {
  EXPECT_EQ(fake_of({0, 3}).storage().nbytes(), 0U);
  EXPECT_EQ(fake_of({}).storage().nbytes(), 4U);
  EXPECT_EQ(fake_of({}).dim(), 0);
}

TEST(Geometry, StridesOfFormats) {
  EXPECT_EQ(contiguous_strides({2, 0, 3}), (SymDimVector{3, 3, 1}));
  const SymDimVector sizes = {2, 3, 4, 5};
  EXPECT_EQ(strides_of_format(sizes, c10::MemoryFormat::ChannelsLast),
            (SymDimVector{60, 1, 15, 3}));
  const SymDimVector sizes_3d = {2, 3, 4, 5, 6};
  EXPECT_EQ(strides_of_format(sizes_3d, c10::MemoryFormat::ChannelsLast3d),
            (SymDimVector{360, 1, 90, 18, 3}));
  EXPECT_THROW(strides_of_format(sizes, c10::MemoryFormat::ChannelsLast3d), c10::Error);
}

// c10 keeps the answers with the tensor; fakes of plain strides are given them without a question.
TEST(Geometry, LayoutFlagsAreThoseOfARealTensor) {
  const std::vector<std::vector<std::int64_t>> all = {{},
                                                      {0},
                                                      {5},
                                                      {2, 3},
                                                      {2, 0, 3},
                                                      {1, 1, 1},
                                                      {4, 1, 2},
                                                      {2, 3, 4, 5},
                                                      {2, 1, 4, 5},
                                                      {2, 3, 1, 1},
                                                      {0, 3, 4, 5},
                                                      {2, 3, 4, 5, 6},
                                                      {1, 1, 1, 1, 1},
                                                      {2, 1, 3, 1, 2},
                                                      {2, 3, 1, 2, 1, 2}};
  for (const auto& sizes : all) {
    const at::Tensor real = at::empty(sizes);
    const at::Tensor fake =
        make_fake(contiguous_spec(c10::fromIntArrayRefSlow(sizes), c10::kFloat, c10::kCPU));
    EXPECT_EQ(fake.strides(), real.strides());
    EXPECT_EQ(fake.numel(), real.numel());
    EXPECT_EQ(fake.is_non_overlapping_and_dense(), real.is_non_overlapping_and_dense());
    EXPECT_EQ(fake.suggest_memory_format(), real.suggest_memory_format());
    for (const auto format : {c10::MemoryFormat::Contiguous, c10::MemoryFormat::ChannelsLast,
                              c10::MemoryFormat::ChannelsLast3d}) {
      EXPECT_EQ(fake.is_contiguous(format), real.is_contiguous(format)) << real.sizes() << format;
    }
    for (const auto type : {c10::MemoryFormat::ChannelsLast, c10::MemoryFormat::ChannelsLast3d}) {
      EXPECT_EQ(fake.unsafeGetTensorImpl()->is_strides_like(type),
                real.unsafeGetTensorImpl()->is_strides_like(type))
          << real.sizes() << type;
    }
  }
}

TEST(Geometry, WhatLiesOutsideOfTheOutermostSizeMayOverflow) {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_EQ(contiguous_strides({huge, huge, 0}), (SymDimVector{huge, 1, 1}));
  EXPECT_THROW(contiguous_strides({1, huge, huge}), c10::Error);
}

TEST(Geometry, AnOverflowIsAnError) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max() / 2;
  EXPECT_THROW(make_fake({huge, huge}, {huge, 1}, c10::kFloat, c10::kCPU), c10::Error);
}

TEST(ViewOf, IsAnInferenceTensorExactlyIfItsBaseIs) {
  const at::Tensor normal = fake_of({2, 3});
  at::Tensor made_inside;
  const auto view = [](const at::Tensor& t) { return view_of(t, {3, 2}, {2, 1}, 0); };
  {
    const c10::InferenceMode inference;
    made_inside = fake_of({2, 3});
    EXPECT_FALSE(view(normal).is_inference());
    EXPECT_TRUE(view(made_inside).is_inference());
  }
  EXPECT_FALSE(view(normal).is_inference());
  EXPECT_TRUE(view(made_inside).is_inference());
}

TEST(Geometry, NormalizedDevices) {
  EXPECT_EQ(normalize_device(c10::Device(c10::kCUDA)), kCuda);
  EXPECT_EQ(normalize_device(c10::Device(c10::kCUDA, 3)), c10::Device(c10::kCUDA, 3));
  EXPECT_EQ(normalize_device(c10::Device(c10::kCPU, 0)), c10::Device(c10::kCPU));
}

// Each copy of the metadata that autograd and modules make without an operator.
TEST(Copies, KeepTheDevice) {
  const at::Tensor fake = fake_of({2, 3}, c10::kFloat, kCuda);
  for (const at::Tensor& copy :
       {fake.detach(), fake.alias(), fake.variable_data(), fake.tensor_data()}) {
    EXPECT_TRUE(is_fake(copy));
    EXPECT_EQ(copy.device(), kCuda);
    EXPECT_EQ(copy.sizes(), fake.sizes());
    EXPECT_TRUE(same_storage(copy, fake));
    EXPECT_FALSE(copy.is_same(fake));
  }
}

TEST(Copies, SetDataKeepsTheDevice) {
  at::Tensor target = fake_of({1}, c10::kFloat, kCuda);
  const at::Tensor source = fake_of({4, 4}, c10::kFloat, kCuda);
  target.set_data(source);
  EXPECT_EQ(target.device(), kCuda);
  EXPECT_EQ(target.sizes(), source.sizes());
  EXPECT_TRUE(same_storage(target, source));
}

TEST(Copies, ParametersCanBeMadeOfThem) {
  at::Tensor leaf = fake_of({2}, c10::kFloat, kCuda);
  leaf.requires_grad_(true);
  EXPECT_TRUE(leaf.is_leaf());
  EXPECT_FALSE(leaf.detach().requires_grad());
  EXPECT_EQ(leaf.detach().device(), kCuda);
}

TEST(Converter, KeepsSharedStoragesAndIdentity) {
  const at::Tensor base = at::ones({4, 4});
  const at::Tensor view = base.t();
  FakeConverter converter;
  const at::Tensor fake = converter.convert(base);
  const at::Tensor fake_view = converter.convert(view);
  EXPECT_TRUE(same_storage(fake, fake_view));
  EXPECT_EQ(fake_view.strides(), view.strides());
  EXPECT_TRUE(converter.convert(base).is_same(fake));
  EXPECT_EQ(fake.storage().nbytes(), base.storage().nbytes());
  EXPECT_FALSE(same_storage(FakeConverter().convert(base), fake));
}

TEST(Converter, KeepsOffsetsBitsAndRequiresGrad) {
  at::Tensor real = at::ones({6}, c10::kComplexFloat).narrow(0, 2, 3);
  const at::Tensor fake = fake_like(real.conj());
  EXPECT_TRUE(fake.is_conj());
  EXPECT_EQ(fake.storage_offset(), 2);
  EXPECT_EQ(fake.storage().nbytes(), 48U);
  at::Tensor leaf = at::ones({2});
  leaf.requires_grad_(true);
  EXPECT_TRUE(fake_like(leaf).requires_grad());
  FakeLikeOptions options;
  options.device = c10::Device(c10::kCUDA);
  EXPECT_EQ(fake_like(leaf, options).device(), kCuda);
}

TEST(Converter, RefusesOtherLayouts) {
  const at::Tensor sparse = at::zeros({2, 2}).to_sparse();
  expect_code(ErrorCode::unsupported_value, [&] { fake_like(sparse); });
}

TEST(MetaLike, IsAPlainMetaTensor) {
  const at::Tensor meta = meta_like(fake_of({2, 3}, c10::kHalf, kCuda));
  EXPECT_FALSE(is_fake(meta));
  EXPECT_TRUE(meta.is_meta());
  EXPECT_EQ(meta.sizes(), c10::IntArrayRef({2, 3}));
  EXPECT_EQ(meta.storage().nbytes(), 12U);
}

TEST(RealTensors, AreSeenThroughOneTwinInAMode) {
  const at::Tensor real = at::ones({4});
  const FakeMode mode;
  const at::Tensor a = view_of(real, {2}, {1}, 0);
  const at::Tensor b = view_of(real, {2}, {1}, 2);
  EXPECT_TRUE(is_fake(a));
  EXPECT_TRUE(same_storage(a, b));
  EXPECT_TRUE(storage_token(a.storage().unsafeGetStorageImpl())->stands_for_real);
}

TEST(SetGeometry, GrowsTheStorage) {
  const at::Tensor fake = fake_of({2});
  set_geometry(fake, {4, 4}, {4, 1}, 1);
  EXPECT_EQ(fake.sizes(), c10::IntArrayRef({4, 4}));
  EXPECT_EQ(fake.storage_offset(), 1);
  EXPECT_EQ(fake.storage().nbytes(), 68U);
}

}  // namespace
}  // namespace massless
