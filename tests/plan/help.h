// Symbols with examples, for tests of formulas.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "dispatch/error.h"
#include "dispatch/sym_node.h"
#include "sym/text.h"

namespace massless {

class WithSymbols : public ::testing::Test {
 protected:
  std::shared_ptr<ShapeEnv> env = std::make_shared<ShapeEnv>();

  sym::Expr symbol(const char* name, std::int64_t hint, std::int64_t min = 0,
                   std::int64_t max = sym::Range::kPlusInf, std::int64_t multiple_of = 1) {
    guard::SymbolOptions options;
    options.hint = hint;
    options.range = {min, max};
    options.multiple_of = multiple_of;
    return env->symbol(name, options);
  }
  sym::Expr operator()(const std::string& text) { return env->parse(text); }

  static void expect_error(ErrorCode code, const std::string& words,
                           const std::function<void()>& f) {
    try {
      f();
      ADD_FAILURE() << "no error with " << words;
    } catch (const Error& error) {
      EXPECT_EQ(error_info(error.code()).name, error_info(code).name) << error.what();
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }
};

}  // namespace massless
