// Shared by the tests of src/fake.
#pragma once

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "dispatch/error.h"
#include "fake/tensor.h"

namespace massless {

inline at::Tensor fake_of(std::initializer_list<std::int64_t> sizes,
                          c10::ScalarType dtype = c10::kFloat,
                          c10::Device device = c10::Device(c10::kCPU)) {
  SymDimVector symbolic;
  for (const std::int64_t size : sizes) {
    symbolic.emplace_back(size);
  }
  return make_fake(contiguous_spec(symbolic, dtype, device));
}

// The call raises an error of ours with this code, which is never a NotImplementedError.
inline void expect_code(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "no error was raised instead of " << error_info(code).name;
  } catch (const Error& error) {
    EXPECT_EQ(error_info(error.code()).name, error_info(code).name) << error.what();
    EXPECT_EQ(dynamic_cast<const c10::NotImplementedError*>(&static_cast<const c10::Error&>(error)),
              nullptr);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error was raised instead of " << error_info(code).name << ": "
                  << error.what();
  }
}

}  // namespace massless
