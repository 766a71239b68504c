// A vector's call with symbols for sizes, and the same call at a point: with plain sizes.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/core/SymInt.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dispatch/sym_node.h"
#include "rules/vector_parse.h"

namespace massless::vectors {

// What becomes a symbol, and which symbols are one.
struct Way {
  const char* name;
  bool own;      // a symbol of its own for each size, also for 0 and 1; else equal ones share one
  bool numbers;  // the integers among the arguments, too
};
constexpr Way kWays[] = {
    {"shared sizes", false, false},
    {"shared sizes and numbers", false, true},
    {"own sizes", true, false},
    {"own sizes and numbers", true, true},
};

// Values of the symbols, by index.
using Point = std::unordered_map<std::uint32_t, std::int64_t>;
std::string to_string(ShapeEnv& env, const Point& point);

// A size there; nothing where it has no value (a division by 0, an overflow).
std::optional<std::int64_t> value_at(ShapeEnv& env, const c10::SymInt& n, const Point& point);

class SymbolicCall {
 public:
  SymbolicCall(const Call& call, const Way& way);

  ShapeEnv& env() const { return *env_; }
  // Fakes and symbols.
  const torch::jit::Stack& arguments() const { return arguments_; }
  // Real tensors on the CPU and integers; nothing where a size has no value.
  std::optional<torch::jit::Stack> at(const Point& point) const;
  // Elements of all tensors together.
  std::optional<std::int64_t> elements_at(const Point& point) const;

 private:
  // As the call found it: an operator may change the fake.
  struct Before {
    at::Tensor written;    // the vector's own
    c10::Storage storage;  // the fake's
    bool keeps_values;
    std::vector<c10::SymInt> sizes;
    std::vector<c10::SymInt> strides;
    c10::SymInt offset;
    c10::SymInt nbytes;
  };
  c10::SymInt size(std::int64_t example);
  c10::IValue number(std::int64_t example);
  c10::IValue symbolic(const c10::IValue& argument, const c10::TypePtr& type);
  at::Tensor fake_of(const at::Tensor& t);
  std::optional<at::Tensor> real_at(const Before& before, const Point& point) const;
  std::optional<c10::IValue> argument_at(
      const c10::IValue& argument,
      const std::unordered_map<const c10::TensorImpl*, at::Tensor>& reals,
      const Point& point) const;

  const Call& call_;
  const Way& way_;
  std::shared_ptr<ShapeEnv> env_;
  std::unordered_map<const c10::TensorImpl*, at::Tensor> fakes_;  // of the vector's tensors
  std::vector<Before> before_;
  torch::jit::Stack arguments_;
};

}  // namespace massless::vectors
