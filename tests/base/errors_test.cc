#include "base/errors.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <string_view>

namespace massless {
namespace {

TEST(Errors, EveryCodeSaysWhatWasNeededAndWhatToDo) {
  std::set<std::string_view> names;
  ASSERT_GT(error_count(), 0);
  for (int i = 0; i < error_count(); ++i) {
    const ErrorInfo& info = error_info(static_cast<ErrorCode>(i));
    EXPECT_FALSE(info.name.empty());
    EXPECT_FALSE(info.needed.empty()) << info.name;
    EXPECT_FALSE(info.advice.empty()) << info.name;
    EXPECT_TRUE(names.insert(info.name).second) << "twice in the table: " << info.name;
    // torch's own code swallows NotImplementedError and goes on with something else.
    EXPECT_EQ(info.python_class.find("NotImplemented"), std::string_view::npos) << info.name;
    EXPECT_EQ(info.kind == ErrorKind::unsupported,
              info.python_class == std::string_view("UnsupportedOperatorError"))
        << info.name;
  }
}

TEST(Errors, TextHasAllItsParts) {
  for (int i = 0; i < error_count(); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    const ErrorInfo& info = error_info(code);
    const std::string text = error_text(code, "aten::add.Tensor", "found this", "train.py:3");
    std::ostringstream wanted;
    wanted << "[" << info.name << "] aten::add.Tensor: found this. Needed: " << info.needed
           << ". What to do: " << info.advice << ". (at train.py:3)";
    EXPECT_EQ(text, wanted.str());
  }
}

TEST(Errors, OperatorAndPlaceMayBeUnknown) {
  const std::string text = error_text(ErrorCode::internal, "", "found this", "");
  EXPECT_EQ(text.rfind("[internal] found this. Needed: ", 0), 0U) << text;
  EXPECT_EQ(text.find("(at"), std::string::npos) << text;
}

}  // namespace
}  // namespace massless
