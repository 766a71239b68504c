#include "rules/vector_run.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>

#include <cmath>
#include <mutex>
#include <optional>
#include <utility>

#include "dispatch/state.h"
#include "fake/known.h"
#include "fake/tensor.h"
#include "fake/walk.h"
#include "rules/vector_call.h"

namespace massless::vectors {
namespace {

using c10::IValue;
using torch::jit::Stack;
using Differences = std::vector<std::string>;

class Comparison {
 public:
  Comparison(const Stack& real_arguments, const Stack& fake_arguments, bool devices)
      : real_in_(tensors_of(real_arguments)),
        fake_in_(tensors_of(fake_arguments)),
        devices_(devices) {}

  Differences run(const Stack& real, const Stack& fake) {
    kinds(real, fake);
    const auto real_out = tensors_of(real);
    const auto fake_out = tensors_of(fake);
    if (real_out.size() != fake_out.size()) {
      differ("number of output tensors", real_out.size(), fake_out.size());
      return std::move(found_);
    }
    for (std::size_t i = 0; i < real_out.size(); ++i) {
      tensor("output " + std::to_string(i), real_out[i], fake_out[i]);
    }
    for (std::size_t i = 0; i < real_in_.size(); ++i) {
      tensor("argument tensor " + std::to_string(i) + " after the call", real_in_[i], fake_in_[i]);
    }
    aliasing(real_out, fake_out);
    return std::move(found_);
  }

 private:
  template <class A, class B>
  void differ(const std::string& what, const A& real, const B& fake) {
    found_.push_back(what + ": real " + c10::str(real) + ", fake " + c10::str(fake));
  }

  void kinds(const Stack& real, const Stack& fake) {
    if (real.size() != fake.size()) {
      differ("number of results", real.size(), fake.size());
      return;
    }
    for (std::size_t i = 0; i < real.size(); ++i) {
      const std::string name = "result " + std::to_string(i);
      if (real[i].tagKind() != fake[i].tagKind()) {
        differ(name, real[i].tagKind(), fake[i].tagKind());
      } else if (real[i].isInt() || real[i].isBool() || real[i].isString() || real[i].isIntList() ||
                 real[i].isDouble()) {
        const bool nan =
            real[i].isDouble() && std::isnan(real[i].toDouble()) && std::isnan(fake[i].toDouble());
        if (!nan && real[i] != fake[i]) {
          differ(name, real[i], fake[i]);
        }
      }
    }
  }

  void tensor(const std::string& name, const at::Tensor& real, const at::Tensor& fake) {
    if (real.defined() != fake.defined()) {
      differ(name + " defined", real.defined(), fake.defined());
      return;
    }
    if (!real.defined()) {
      return;
    }
    if (real.sizes() != fake.sizes()) {
      differ(name + " sizes", real.sizes(), fake.sizes());
    } else if (!same_strides(real, fake)) {
      differ(name + " strides", real.strides(), fake.strides());
    }
    check(name + " dtype", real.scalar_type(), fake.scalar_type());
    check(name + " offset", real.storage_offset(), fake.storage_offset());
    check(name + " storage bytes", real.storage().nbytes(), fake.storage().nbytes());
    check(name + " conj bit", real.is_conj(), fake.is_conj());
    check(name + " neg bit", real.is_neg(), fake.is_neg());
    check(name + " wrapped number", real.unsafeGetTensorImpl()->is_wrapped_number(),
          fake.unsafeGetTensorImpl()->is_wrapped_number());
    if (devices_) {
      check(name + " device", real.device(), fake.device());
    }
    if (!is_fake(fake) && !fake.unsafeGetTensorImpl()->is_wrapped_number()) {
      found_.push_back(name + " is not a fake");
    }
  }

  template <class T>
  void check(const std::string& name, const T& real, const T& fake) {
    if (real != fake) {
      differ(name, real, fake);
    }
  }

  // The stride of a size-1 dimension, and all of an empty tensor's, are not observable.
  static bool same_strides(const at::Tensor& real, const at::Tensor& fake) {
    if (real.numel() == 0) {
      return true;
    }
    for (std::int64_t i = 0; i < real.dim(); ++i) {
      if (real.sizes()[i] != 1 && real.strides()[i] != fake.strides()[i]) {
        return false;
      }
    }
    return true;
  }

  void aliasing(const std::vector<at::Tensor>& real_out, const std::vector<at::Tensor>& fake_out) {
    const auto real = sharing(real_in_, real_out);
    const auto fake = sharing(fake_in_, fake_out);
    for (std::size_t i = 0; i < real.size(); ++i) {
      if (real[i] != fake[i]) {
        differ("aliasing", real[i], fake[i]);
      }
    }
  }

  std::vector<at::Tensor> real_in_;
  std::vector<at::Tensor> fake_in_;
  bool devices_;
  Differences found_;
};

enum class Pass { cpu, cuda, known };

bool written_on_cuda(const Call& call, const at::Tensor& t) {
  for (const at::Tensor& other : call.on_cuda) {
    if (other.is_same(t)) {
      return true;
    }
  }
  return false;
}

Stack fake_arguments(const Call& call, Pass pass) {
  FakeConverter converter;
  const auto convert = [&](const at::Tensor& t) {
    if (t.unsafeGetTensorImpl()->is_wrapped_number()) {
      return t;
    }
    FakeLikeOptions options;
    if (pass == Pass::cuda || written_on_cuda(call, t)) {
      options.device = c10::Device(c10::kCUDA);
    }
    at::Tensor fake = converter.convert(t, options);
    if (pass == Pass::known || call.marks.known) {
      set_known(fake, t);
    }
    return fake;
  };
  Stack made;
  for (const IValue& argument : call.arguments) {
    if (pass == Pass::cuda && argument.isDevice()) {
      made.emplace_back(c10::Device(c10::kCUDA));
    } else if (argument.isStorage()) {
      const c10::Storage storage = argument.toStorage();
      made.emplace_back(convert(at::empty({0}, at::kByte).set_(storage)).storage());
    } else {
      made.push_back(map_tensors(argument, convert));
    }
  }
  return made;
}

Stack real_arguments(const Call& call) {
  Stack made;
  for (const IValue& argument : call.arguments) {
    made.push_back(argument.isDevice() ? IValue(c10::Device(c10::kCPU)) : argument);
  }
  return made;
}

at::Tensor generator_state() {
  auto generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

// The call with fakes, in a mode, with what it may not do checked.
Outcome run_fake(const Call& call, Stack arguments, Pass pass, Differences& found) {
  FakeModeOptions options;
  if (pass == Pass::cuda) {
    options.device = c10::Device(c10::kCUDA);
  }
  const at::Tensor generator_before = generator_state();
  reset_op_counts();
  Outcome outcome = outcome_of([&] {
    const FakeMode mode(options);
    return call_boxed(call.op, std::move(arguments));
  });
  if (!at::equal(generator_before, generator_state())) {
    found.emplace_back("the fake call moved the CPU generator");
  }
  const bool lower_allowed = call.marks.ladder || call.marks.known || pass == Pass::known;
  for (const OpReport& report : explain_ops()) {
    for (int i = 0; i < kRungs; ++i) {
      const auto rung = static_cast<Rung>(i);
      const bool ours = rung == Rung::rule || rung == Rung::composite;
      if (report.calls[i] != 0 && !ours && !lower_allowed && rung != Rung::error) {
        found.push_back(report.name + " was answered by " + std::string(rung_name(rung)));
      }
    }
  }
  return outcome;
}

// What is wrong with the errors of the two sides; empty: both gave results, or both raised rightly.
Differences compare_errors(const Marks& marks, const Outcome& real, const Outcome& fake) {
  Differences found;
  if (!real.error.empty() && !marks.error) {
    found.push_back("the real operator raised (mark the line ' -> error'): " + real.error);
  } else if (real.error.empty() && marks.error) {
    found.emplace_back("the line says error, but the real operator raised none");
  }
  if (fake.error_class == "NotImplementedError") {
    found.push_back("the fake raised what torch's own code swallows: " + fake.error);
  } else if (real.error.empty() != fake.error.empty()) {
    found.push_back("real " + (real.error.empty() ? "gave a result" : "raised " + real.error) +
                    "\n    fake " +
                    (fake.error.empty() ? "gave a result" : "raised " + fake.error));
  } else if (fake.unsupported) {
    found.push_back("the fake did not answer: " + fake.error);
  } else if (real.error_class != "NotImplementedError" && real.error_class != fake.error_class) {
    found.push_back("class of error: real " + real.error + "\n    fake " + fake.error);
  }
  return found;
}

void append(Differences& to, Differences from) {
  for (std::string& text : from) {
    to.push_back(std::move(text));
  }
}

// All results of a call on cuda are there, unless it named a device.
Differences compare_devices(const Stack& arguments, const Stack& results) {
  c10::Device wanted(c10::kCUDA, 0);
  for (const IValue& argument : arguments) {
    wanted = argument.isDevice() ? normalize_device(argument.toDevice()) : wanted;
  }
  Differences found;
  const auto out = tensors_of(results);
  for (std::size_t i = 0; i < out.size(); ++i) {
    // A scalar may stay on the CPU (the seed of the memory efficient attention).
    const bool scalar = out[i].defined() && out[i].dim() == 0 && out[i].device().is_cpu();
    if (out[i].defined() && is_fake(out[i]) && out[i].device() != wanted && !scalar) {
      found.push_back("output " + std::to_string(i) + " is on " + out[i].device().str() +
                      " instead of " + wanted.str());
    }
  }
  return found;
}

// An error between devices has no counterpart on the CPU.
Differences compare_mixed_error(const Outcome& fake) {
  Differences found;
  if (fake.error.empty()) {
    found.emplace_back("the fake raised no error");
  } else if (fake.unsupported || fake.error_class == "NotImplementedError") {
    found.push_back("the fake did not answer: " + fake.error);
  }
  return found;
}

Differences compare_values(const Stack& real, const Stack& fake) {
  Differences found;
  const auto real_tensors = tensors_of(real);
  const auto fake_tensors = tensors_of(fake);
  for (std::size_t i = 0; i < real_tensors.size() && i < fake_tensors.size(); ++i) {
    if (!real_tensors[i].defined() || !is_known(fake_tensors[i])) {
      continue;
    }
    const at::Tensor value = known_value(fake_tensors[i]);
    if (value.sizes() != real_tensors[i].sizes() ||
        !at::allclose(value, real_tensors[i], 0, 0, /*equal_nan=*/true)) {
      found.push_back("known value of tensor " + std::to_string(i) + " differs");
    }
  }
  return found;
}

Differences compare(const Line& line, Pass pass) {
  static Quiet quiet;
  const c10::WarningUtils::WarningHandlerGuard no_warnings(&quiet);
  const Call call = parse_call(line);
  Differences found;
  const Stack fake_in = fake_arguments(call, pass);
  const Stack real_in = real_arguments(call);
  const Outcome fake = run_fake(call, fake_in, pass, found);
  if (call.mentions_cuda && call.marks.error) {
    append(found, compare_mixed_error(fake));
    return found;
  }
  const Outcome real = outcome_of([&] { return call_boxed(call.op, real_in); });
  append(found, compare_errors(call.marks, real, fake));
  if (!real.error.empty() || !fake.error.empty()) {
    return found;
  }
  append(found, Comparison(real_in, fake_in, !call.mentions_cuda).run(real.results, fake.results));
  if (call.mentions_cuda) {
    append(found, compare_devices(fake_in, fake.results));
  }
  if (pass == Pass::known || call.marks.known) {
    append(found, compare_values(real.results, fake.results));
    append(found, compare_values(real_in, fake_in));
  }
  return found;
}

}  // namespace

std::vector<std::string> compare_on_cpu(const Line& line) { return compare(line, Pass::cpu); }

std::vector<std::string> compare_known(const Line& line) { return compare(line, Pass::known); }

std::vector<std::string> compare_on_cuda(const Line& line) {
  const Call call = parse_call(line);
  Differences found;
  if (call.mentions_cuda && !call.marks.cuda_only) {
    return found;  // mixes devices on purpose
  }
  const Stack arguments = fake_arguments(call, Pass::cuda);
  const Outcome fake = run_fake(call, arguments, Pass::cuda, found);
  if (call.marks.error) {
    append(found, compare_mixed_error(fake));
  } else if (!fake.error.empty()) {
    found.push_back("the fake raised " + fake.error);
  }
  append(found, compare_devices(arguments, fake.results));
  return found;
}

}  // namespace massless::vectors
