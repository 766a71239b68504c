#include "rules/vector_parse.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace massless::vectors {
namespace {

Line one(const std::string& text) { return split_lines(text, "test.vec").at(0); }
Call call(const std::string& text) { return parse_call(one(text)); }
at::Tensor tensor(const std::string& text) {
  return call("alias(" + text + ")").arguments.at(0).toTensor();
}

TEST(VectorParse, CommentsAndBlankLinesAreSkipped) {
  const auto lines = split_lines("# all\n\n  neg(f32[2])  # why\n", "test.vec");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].where, "test.vec:3");
  EXPECT_EQ(lines[0].text, "neg(f32[2])");
  EXPECT_EQ(lines[0].operator_name, "aten::neg");
}

TEST(VectorParse, Marks) {
  EXPECT_TRUE(one("neg(bool[2]) -> error").marks.error);
  EXPECT_TRUE(one("neg(f32[2]) -> cpu only").marks.cpu_only);
  EXPECT_TRUE(one("neg(f32[2]) -> cuda only").marks.cuda_only);
  const Marks both = one("neg(f32[2]) ~ladder ~known").marks;
  EXPECT_TRUE(both.ladder && both.known && !both.error);
}

TEST(VectorParse, Geometry) {
  const at::Tensor plain = tensor("f32[2,3]");
  EXPECT_EQ(plain.sizes(), c10::IntArrayRef({2, 3}));
  EXPECT_EQ(plain.strides(), c10::IntArrayRef({3, 1}));
  EXPECT_EQ(plain.storage().nbytes(), 24U);
  const at::Tensor strided = tensor("f16[3,2]:1,3+4");
  EXPECT_EQ(strided.strides(), c10::IntArrayRef({1, 3}));
  EXPECT_EQ(strided.storage_offset(), 4);
  EXPECT_EQ(strided.storage().nbytes(), 20U);
  EXPECT_EQ(tensor("i64[]").dim(), 0);
  EXPECT_EQ(tensor("u8[0,3]").storage().nbytes(), 0U);
  EXPECT_EQ(tensor("f32[4]:0").storage().nbytes(), 4U);
  EXPECT_FALSE(strided.is_view());
  EXPECT_EQ(tensor("u64[2]").scalar_type(), c10::kUInt64);
}

TEST(VectorParse, Values) {
  const at::Tensor given = tensor("i64[2,2]:1,2=[1,2,3,4]");
  EXPECT_EQ(given[0][1].item<std::int64_t>(), 2);
  EXPECT_EQ(given[1][0].item<std::int64_t>(), 3);
  EXPECT_EQ(tensor("i32[3]").sum().item<std::int64_t>(), 0);
  EXPECT_TRUE(tensor("bool[2]")[0].item<bool>());
  EXPECT_FALSE(tensor("bool[2]")[1].item<bool>());
  EXPECT_EQ(tensor("f64[2]=[1.5,-inf]")[0].item<double>(), 1.5);
}

TEST(VectorParse, StridesEndWithTheRank) {
  const Call found = call("mm(f32[2,3]:1,2, f32[3,2])");
  EXPECT_EQ(found.arguments.at(0).toTensor().strides(), c10::IntArrayRef({1, 2}));
  const auto list = call("cat([f32[2,2]:1,2,f32[2,2]], 1)").arguments.at(0).toTensorVector();
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].strides(), c10::IntArrayRef({1, 2}));
}

TEST(VectorParse, NumbersForTensorsAreWrapped) {
  const at::Tensor number = call("add.Tensor(f32[2], 2, alpha=3)").arguments.at(1).toTensor();
  EXPECT_TRUE(number.unsafeGetTensorImpl()->is_wrapped_number());
  EXPECT_EQ(number.scalar_type(), c10::kLong);
}

TEST(VectorParse, ScalarsKeepTheirKind) {
  EXPECT_TRUE(call("add.Scalar(f32[2], 2)").arguments.at(1).toScalar().isIntegral(false));
  EXPECT_TRUE(call("add.Scalar(f32[2], true)").arguments.at(1).toScalar().isBoolean());
  EXPECT_EQ(call("add.Scalar(f32[2], -1e-08)").arguments.at(1).toScalar().toDouble(), -1e-08);
  EXPECT_TRUE(call("add.Scalar(f32[2], 2j)").arguments.at(1).toScalar().isComplex());
  EXPECT_EQ(call("_foreach_add.ScalarList([f32[2]], [2.5])").arguments.at(1).toListRef().size(),
            1U);
}

TEST(VectorParse, DefaultsAndKeywords) {
  const Call found = call("softmax.int(f32[2], dim=-1)");
  EXPECT_EQ(found.arguments.at(1).toInt(), -1);
  EXPECT_TRUE(found.arguments.at(2).isNone());
  const Call factory = call(
      "empty.memory_format([2,3], dtype=bf16, layout=strided, device=cpu, pin_memory=false, "
      "memory_format=contiguous_format)");
  EXPECT_EQ(factory.arguments.at(1).toScalarType(), c10::kBFloat16);
  EXPECT_EQ(factory.arguments.at(3).toDevice(), c10::Device(c10::kCPU));
  EXPECT_EQ(factory.arguments.at(5).toMemoryFormat(), c10::MemoryFormat::Contiguous);
}

TEST(VectorParse, ListsOfEveryKind) {
  EXPECT_EQ(call("max_pool2d(f32[1,1,4,4], 2)").arguments.at(1).toIntVector().size(), 2U);
  const auto indices = call("index.Tensor(f32[2,2], [None, i64[2]])").arguments.at(1);
  EXPECT_TRUE(indices.isOptionalTensorList());
  EXPECT_EQ(indices.toOptionalTensorList().size(), 2U);
  EXPECT_TRUE(
      call("div.Tensor_mode(f32[2], f32[2], rounding_mode=\"floor\")").arguments.at(2).isString());
}

TEST(VectorParse, CudaTensorsAreRemembered) {
  const Call found = call("add.Tensor(f32[2]@cuda, f32[2])");
  ASSERT_EQ(found.on_cuda.size(), 1U);
  EXPECT_TRUE(found.on_cuda[0].is_same(found.arguments.at(0).toTensor()));
  EXPECT_TRUE(found.mentions_cuda);
}

TEST(VectorParse, LinesWithoutACallAreErrors) {
  for (const char* text :
       {"neg", "neg(f32[2]", "(f32[2])", "neg(f32[2]) -> maybe", "neg f32[2])"}) {
    EXPECT_THROW(
        {
          for (const Line& line : split_lines(text, "test.vec")) {
            parse_call(line);
          }
        },
        ParseError)
        << text;
  }
}

TEST(VectorParse, MalformedArgumentsAreErrors) {
  for (const char* text : {"no_such_operator(f32[2])",
                           "add.NoOverload(f32[2], 1)",
                           "neg()",
                           "neg(f32[2], f32[2])",
                           "neg(f33[2])",
                           "neg(f32[2)",
                           "neg(f32[-1])",
                           "neg(f32[2]:1,)",
                           "neg(f32[2,2]:1)",
                           "neg(f32[2]=[1])",
                           "neg(f32[2]=[1,x])",
                           "neg(f32[2]@tpu)",
                           "add.Tensor(f32[2], f32[2], beta=1)",
                           "add.Tensor(self=f32[2], f32[2])",
                           "add.Tensor(f32[2], f32[2], alpha=1, alpha=2)",
                           "sum(f32[2], dtype=f33)",
                           "softmax.int(f32[2], 1.5)",
                           "softmax.int(f32[2], [1])",
                           "cat(f32[2])",
                           "div.Tensor_mode(f32[2], 2, rounding_mode=\"floor)",
                           "neg(f32[99999999999999999999])",
                           "neg(f32[2]) neg(f32[2])",
                           "neg(f32[2]) extra)"}) {
    EXPECT_THROW(parse_call(one(text)), ParseError) << text;
  }
}

}  // namespace
}  // namespace massless::vectors
