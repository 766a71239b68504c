#include "symbolic/instantiate.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "dispatch/state.h"
#include "fake/tensor.h"
#include "rules/vector_call.h"
#include "symbolic/points.h"

namespace massless::vectors {

using c10::IValue;
using c10::SymInt;
using torch::jit::Stack;
using Differences = std::vector<std::string>;

Tally& Tally::operator+=(const Tally& other) {
  for (int Tally::*field :
       {&Tally::runs, &Tally::symbols, &Tally::fixed, &Tally::guards, &Tally::below, &Tally::points,
        &Tally::on_cuda, &Tally::known, &Tally::refused, &Tally::values, &Tally::few}) {
    this->*field += other.*field;
  }
  for (const auto& [crash, count] : other.crashes) {
    crashes[crash] += count;
  }
  return *this;
}

namespace {

constexpr std::size_t kPoints = 20;
// Elements of the arguments, or twice the example's; of the results twice that.
constexpr std::int64_t kMostElements = 1 << 14;

// What the symbolic run gave, against the real operator at points.
class Instance {
 public:
  Instance(const SymbolicCall& call, const Stack& results)
      : env_(call.env()),
        arguments_(tensors_of(call.arguments())),
        results_(results),
        outputs_(tensors_of(results)) {}

  bool small_at(const Point& point, std::int64_t most) const {
    std::int64_t total = 0;
    for (const at::Tensor& t : outputs_) {
      const auto numel =
          t.defined() ? value_at(env_, t.sym_numel(), point) : std::optional<std::int64_t>(0);
      if (!numel || *numel > most || (total += *numel) > most) {
        return false;
      }
    }
    return true;
  }

  Differences at(const Point& point, const Stack& real_arguments, const Stack& real) {
    point_ = &point;
    found_.clear();
    if (results_.size() != real.size()) {
      differ("number of results", real.size(), results_.size());
      return std::move(found_);
    }
    for (std::size_t i = 0; i < real.size(); ++i) {
      plain_result("result " + std::to_string(i), real[i], results_[i]);
    }
    const auto real_in = tensors_of(real_arguments);
    const auto real_out = tensors_of(real);
    if (real_out.size() != outputs_.size()) {
      differ("number of output tensors", real_out.size(), outputs_.size());
      return std::move(found_);
    }
    for (std::size_t i = 0; i < real_out.size(); ++i) {
      tensor("output " + std::to_string(i), real_out[i], outputs_[i]);
    }
    for (std::size_t i = 0; i < real_in.size(); ++i) {
      tensor("argument tensor " + std::to_string(i) + " after the call", real_in[i], arguments_[i]);
    }
    const auto shared_real = sharing(real_in, real_out);
    const auto shared_fake = sharing(arguments_, outputs_);
    for (std::size_t i = 0; i < shared_real.size(); ++i) {
      if (shared_real[i] != shared_fake[i]) {
        differ("aliasing", shared_real[i], shared_fake[i]);
      }
    }
    return std::move(found_);
  }

 private:
  template <class A, class B>
  void differ(const std::string& what, const A& real, const B& symbolic) {
    found_.push_back(what + ": real " + c10::str(real) + ", symbolic " + c10::str(symbolic));
  }
  template <class T>
  void check(const std::string& what, const T& real, const T& symbolic) {
    if (real != symbolic) {
      differ(what, real, symbolic);
    }
  }
  void check(const std::string& what, std::int64_t real, const SymInt& symbolic) {
    const auto value = value_at(env_, symbolic, *point_);
    if (!value || *value != real) {
      differ(what, real,
             c10::str(symbolic, value ? " = " + std::to_string(*value) : " (no value)"));
    }
  }

  void plain_result(const std::string& name, const IValue& real, const IValue& symbolic) {
    if (real.isInt() && (symbolic.isInt() || symbolic.isSymInt())) {
      check(name, real.toInt(), symbolic.toSymInt());
    } else if (real.tagKind() != symbolic.tagKind()) {
      differ(name, real.tagKind(), symbolic.tagKind());
    } else if ((real.isBool() || real.isString() || real.isIntList()) && real != symbolic) {
      differ(name, real, symbolic);
    }
  }

  void tensor(const std::string& name, const at::Tensor& real, const at::Tensor& symbolic) {
    if (real.defined() != symbolic.defined()) {
      differ(name + " defined", real.defined(), symbolic.defined());
      return;
    }
    if (!real.defined()) {
      return;
    }
    if (real.dim() != symbolic.dim()) {
      differ(name + " rank", real.dim(), symbolic.dim());
      return;
    }
    const bool empty = real.numel() == 0;
    for (std::int64_t d = 0; d < real.dim(); ++d) {
      check(name + " size " + std::to_string(d), real.sizes()[d], symbolic.sym_sizes()[d]);
      // The stride of a size-1 dimension, and all of an empty tensor's, are not observable.
      if (!empty && real.sizes()[d] != 1) {
        check(name + " stride " + std::to_string(d), real.strides()[d], symbolic.sym_strides()[d]);
      }
    }
    check(name + " offset", real.storage_offset(), symbolic.sym_storage_offset());
    check(name + " storage bytes", static_cast<std::int64_t>(real.storage().nbytes()),
          symbolic.storage().sym_nbytes());
    check(name + " dtype", real.scalar_type(), symbolic.scalar_type());
    check(name + " conj bit", real.is_conj(), symbolic.is_conj());
    check(name + " neg bit", real.is_neg(), symbolic.is_neg());
    check(name + " device", real.device(), symbolic.device());
    if (!is_fake(symbolic) && !symbolic.unsafeGetTensorImpl()->is_wrapped_number()) {
      found_.push_back(name + " is not a fake");
    }
  }

  ShapeEnv& env_;
  std::vector<at::Tensor> arguments_;
  const Stack& results_;
  std::vector<at::Tensor> outputs_;
  const Point* point_ = nullptr;
  Differences found_;
};

bool answered_below(const std::vector<OpReport>& reports) {
  return std::any_of(reports.begin(), reports.end(), [](const OpReport& report) {
    return report.calls[static_cast<int>(Rung::native_meta)] +
               report.calls[static_cast<int>(Rung::python_meta)] +
               report.calls[static_cast<int>(Rung::known)] !=
           0;
  });
}

std::string guards_of(ShapeEnv& env) {
  std::string text;
  const auto implied = env.implied_guards();
  const auto guards = env.guards();
  for (std::size_t i = 0; i < guards.size(); ++i) {
    text += (text.empty() ? "" : "; ") + env.print(guards[i].condition) +
            (implied[i] ? " (implied)" : "");
  }
  return text.empty() ? "none" : text;
}

void count_guards(ShapeEnv& env, Tally& tally) {
  for (sym::Expr symbol : env.symbols()) {
    ++tally.symbols;
    tally.fixed += env.simplify(symbol)->is_constant() ? 1 : 0;
  }
  for (const bool implied : env.implied_guards()) {
    tally.guards += implied ? 0 : 1;
  }
}

// An index that no element answers to, repeats or a mask that say another size: the kernel looks at
// the numbers.
bool about_values(const Outcome& real, const Stack& arguments) {
  const auto in = tensors_of(arguments);
  const bool integers = std::any_of(in.begin(), in.end(), [](const at::Tensor& t) {
    return t.defined() && c10::isIntegralType(t.scalar_type(), false);
  });
  const auto says = [&](const char* text) { return real.error.find(text) != std::string::npos; };
  return (integers && (says("out of range") || says("out of bounds") ||
                       says("allocated size does not match"))) ||
         says("number of ones in mask");
}

Differences compare_example(const Marks& marks, const Outcome& real, const Outcome& symbolic) {
  Differences found;
  if (real.error.empty() != symbolic.error.empty()) {
    found.push_back("at the example: real " +
                    (real.error.empty() ? "gave a result" : "raised " + real.error) +
                    "\n    symbolic " +
                    (symbolic.error.empty() ? "gave a result" : "raised " + symbolic.error));
  } else if (symbolic.unsupported && !marks.ladder) {
    found.push_back("the symbolic run did not answer: " + symbolic.error);
  } else if (real.error_class != "NotImplementedError" &&
             real.error_class != symbolic.error_class) {
    found.push_back("class of error: real " + real.error + "\n    symbolic " + symbolic.error);
  }
  return found;
}

// With MASSLESS_TRACE set: what runs, for the case that it does not come back.
void trace(const std::string& text) {
  static const bool wanted = std::getenv("MASSLESS_TRACE") != nullptr;
  if (wanted) {
    std::cerr << text << std::endl;
  }
}

Differences compare_point(const SymbolicCall& call, const Call& written, Instance& instance,
                          const Point& point, Tally& tally) {
  const auto arguments = call.at(point);
  if (!arguments) {
    return {"a size of the arguments has no value"};
  }
  const std::string at = to_string(call.env(), point);
  if (const Crash* crash = crash_at(c10::toString(written.op.operator_name()), *arguments)) {
    trace("  not at " + at + ": " + crash->reason);
    ++tally.crashes[crash];
    return {};
  }
  trace("  at " + at);
  const Outcome real = outcome_of([&] { return call_boxed(written.op, *arguments); });
  if (!real.error.empty() && about_values(real, *arguments)) {
    ++tally.values;
    return {};
  }
  ++tally.points;
  return real.error.empty() ? instance.at(point, *arguments, real.results)
                            : Differences{"real raised " + real.error};
}

}  // namespace

Differences compare_at_points(const Line& line, const Way& way, std::uint64_t seed, Tally& tally) {
  static Quiet quiet;
  const c10::WarningUtils::WarningHandlerGuard no_warnings(&quiet);
  const Call call = parse_call(line);
  if (call.mentions_cuda || call.marks.cuda_only) {
    ++tally.on_cuda;
    return {};
  }
  if (call.marks.known) {
    ++tally.known;
    return {};
  }
  trace(line.where + " (" + way.name + ") " + line.text);
  const SymbolicCall symbolic(call, way);
  ShapeEnv& env = symbolic.env();
  ++tally.runs;
  reset_op_counts();
  const Outcome outcome = outcome_of([&] {
    const FakeMode mode;
    return call_boxed(call.op, symbolic.arguments());
  });
  tally.below += answered_below(explain_ops()) ? 1 : 0;
  count_guards(env, tally);
  trace("  guards: " + guards_of(env));
  const Outcome real = outcome_of([&] { return call_boxed(call.op, call.arguments); });
  Differences found = compare_example(call.marks, real, outcome);
  if (!real.error.empty() || !outcome.error.empty()) {
    return found;
  }
  std::string why;
  if (!env.holds({}, &why)) {
    found.push_back("the example does not satisfy the guards: " + why);
  }
  Instance instance(symbolic, outcome.results);
  const auto most = std::max(kMostElements, 2 * symbolic.elements_at({}).value_or(0));
  const Points points = sample_points(env, kPoints, seed, [&](const Point& point) {
    const auto elements = symbolic.elements_at(point);
    return elements && *elements <= most && instance.small_at(point, 2 * most);
  });
  if (points.good.empty()) {
    found.emplace_back("no point was compared");
  }
  tally.refused += points.refused;
  tally.few += points.good.size() < kPoints ? 1 : 0;
  for (const Point& point : points.good) {
    for (std::string& text : compare_point(symbolic, call, instance, point, tally)) {
      found.push_back("at " + to_string(env, point) + ": " + std::move(text) +
                      "\n    guards: " + guards_of(env));
    }
    if (!found.empty()) {
      break;  // one point says enough
    }
  }
  return found;
}

}  // namespace massless::vectors
