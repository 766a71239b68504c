#include "fake/walk.h"

#include <gtest/gtest.h>
#include <torch/custom_class.h>

#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "fake/help.h"

namespace massless {
namespace {

int tensors_in(const c10::IValue& value) {
  int count = 0;
  for_each_tensor(value, [&](const at::Tensor&) { ++count; });
  return count;
}

struct Holder : torch::CustomClassHolder {};
const auto registered = torch::class_<Holder>("massless_test", "Holder").def(torch::init<>());

TEST(Walk, FindsTensorsOfEveryKind) {
  const at::Tensor t = fake_of({2});
  EXPECT_EQ(tensors_in(t), 1);
  EXPECT_EQ(tensors_in(at::Tensor()), 0);
  EXPECT_EQ(tensors_in(std::vector<at::Tensor>{t, t}), 2);
  EXPECT_EQ(tensors_in(c10::List<std::optional<at::Tensor>>({t, std::nullopt})), 1);
  EXPECT_EQ(tensors_in(std::make_tuple(t, std::int64_t{1}, std::vector<at::Tensor>{t})), 2);
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("a", t);
  EXPECT_EQ(tensors_in(dict), 1);
}

TEST(Walk, GoesDeepWithoutRecursion) {
  c10::IValue nested = fake_of({1});
  for (int i = 0; i < 100; ++i) {
    nested = c10::ivalue::Tuple::create({nested, std::int64_t{i}});
  }
  EXPECT_EQ(tensors_in(nested), 1);
}

TEST(Walk, KeepsTheOrder) {
  const at::Tensor a = fake_of({1});
  const at::Tensor b = fake_of({2});
  const at::Tensor c = fake_of({3});
  std::vector<std::int64_t> sizes;
  for_each_tensor(std::make_tuple(a, std::vector<at::Tensor>{b}, c),
                  [&](const at::Tensor& t) { sizes.push_back(t.size(0)); });
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{1, 2, 3}));
}

TEST(Walk, PassesOverWhatHoldsNone) {
  for (const c10::IValue& value :
       {c10::IValue(), c10::IValue(1.5), c10::IValue(std::int64_t{2}), c10::IValue(true),
        c10::IValue("text"), c10::IValue(std::vector<std::int64_t>{1, 2}),
        c10::IValue(c10::Device(c10::kCPU)), c10::IValue(std::vector<double>{0.5})}) {
    EXPECT_EQ(tensors_in(value), 0) << value.tagKind();
    EXPECT_EQ(map_tensors(value, [](const at::Tensor& t) { return t; }).tagKind(), value.tagKind());
  }
}

TEST(Walk, WhatMayHideATensorIsAnError) {
  const c10::IValue object(c10::make_intrusive<Holder>());
  expect_code(ErrorCode::unsupported_value, [&] { tensors_in(object); });
  expect_code(ErrorCode::unsupported_value,
              [&] { tensors_in(c10::ivalue::Tuple::create({object})); });
}

TEST(MapTensors, ReplacesAndKeepsTheKind) {
  const at::Tensor from = fake_of({1});
  const at::Tensor to = fake_of({2});
  const auto map = [&](const at::Tensor&) { return to; };
  EXPECT_TRUE(map_tensors(from, map).toTensor().is_same(to));
  EXPECT_FALSE(map_tensors(at::Tensor(), map).toTensor().defined());
  const c10::IValue list = map_tensors(std::vector<at::Tensor>{from, at::Tensor()}, map);
  ASSERT_TRUE(list.isTensorList());
  EXPECT_TRUE(list.toTensorVector().at(0).is_same(to));
  EXPECT_FALSE(list.toTensorVector().at(1).defined());
  const c10::IValue optional =
      map_tensors(c10::List<std::optional<at::Tensor>>({std::nullopt, from}), map);
  ASSERT_TRUE(optional.isOptionalTensorList());
  EXPECT_FALSE(optional.toOptionalTensorList().get(0).has_value());
  EXPECT_TRUE(optional.toOptionalTensorList().get(1)->is_same(to));
}

}  // namespace
}  // namespace massless
