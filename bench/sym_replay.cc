// The engine of src/sym: operations on sizes as recorded from real models (tools/record_sym.py),
// and single figures. Without torch.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "sym/facts.h"
#include "sym/real.h"

namespace {

using namespace massless::sym;  // NOLINT(google-build-using-namespace)

struct Operand {
  std::int64_t value = 0;  // the number of a value, or a constant
  Type type = Type::integer;
  bool constant = false;
};

enum class Kind : std::uint8_t { reset, symbol, operation, ask };

// What follows a value: nothing, or a question with the answer that the example gives.
enum class Result : std::uint8_t { none, yes, no, unknown, number };

struct Step {
  Kind kind = Kind::operation;
  Op op = Op::constant;
  std::vector<Operand> operands;
  Result result = Result::none;
  std::int64_t number = 0;  // of Result::number
  bool guards = true;       // `known` asks only
  std::string name;         // of symbols
  Range range;
};

const std::unordered_map<std::string, Op>& methods() {
  static const auto* const all =
      new std::unordered_map<std::string, Op>{{"add", Op::add},
                                              {"sub", Op::sub},
                                              {"mul", Op::mul},
                                              {"int_floordiv", Op::floordiv},
                                              {"mod", Op::mod},
                                              {"eq", Op::eq},
                                              {"ne", Op::ne},
                                              {"lt", Op::lt},
                                              {"le", Op::le},
                                              {"gt", Op::gt},
                                              {"ge", Op::ge},
                                              {"and", Op::logical_and},
                                              {"or", Op::logical_or},
                                              {"sym_not", Op::logical_not},
                                              {"sym_max", Op::max},
                                              {"sym_min", Op::min},
                                              {"neg", Op::neg},
                                              {"sym_float", Op::to_real},
                                              {"sym_sum", Op::add},
                                              {"int_truediv", Op::truediv},
                                              {"float_truediv", Op::real_div}};
  return *all;
}

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "sym_replay: %s\n", what.c_str());
  std::exit(1);
}

// One recorded file as steps.
class Recording {
 public:
  explicit Recording(const std::string& model) {
    const std::string path = std::string(MASSLESS_BENCH_DATA) + "/size_ops_" + model + ".txt";
    std::ifstream in(path);
    if (!in.good()) {
      fail("no " + path);
    }
    for (std::string line; std::getline(in, line);) {
      if (line[0] != '#') {
        std::istringstream words(line);
        read(words);
      }
    }
  }
  const std::vector<Step>& steps() const { return steps_; }
  std::size_t values() const { return most_; }

 private:
  void read(std::istringstream& words) {
    Step step;
    std::string word;
    words >> word;
    if (word == "reset") {
      step.kind = Kind::reset;
      made_ = 0;
    } else if (word == "symbol") {
      step.kind = Kind::symbol;
      std::string hi;
      words >> step.name >> step.range.lo >> hi;
      step.range.hi = hi == "inf" ? Range::kPlusInf : std::stoll(hi);
      ++made_;
    } else {
      const bool asks = word == "guard" || word == "known";
      step.kind = asks ? Kind::ask : Kind::operation;
      step.guards = word != "known";
      if (!asks) {
        step.op = methods().at(word);
      }
      while (words >> word) {
        take(step, word);
      }
      made_ += asks ? 0 : 1;
    }
    most_ = std::max(most_, static_cast<std::size_t>(made_));
    steps_.push_back(step);
  }

  void take(Step& step, const std::string& word) const {
    if (word == "y" || word == "n" || word == "u") {
      step.result = word == "y" ? Result::yes : word == "n" ? Result::no : Result::unknown;
    } else if (word[0] == '=') {
      step.result = Result::number;
      step.number = std::stoll(word.substr(1));
    } else if (word[0] != '#') {
      const std::int64_t at = std::stoll(word);
      step.operands.push_back({at < 0 ? made_ + at : at, Type::integer, false});
    } else if (word == "#True" || word == "#False") {
      step.operands.push_back({word == "#True" ? 1 : 0, Type::boolean, true});
    } else if (word.find('.') != std::string::npos) {
      step.operands.push_back({real_to_bits(std::stod(word.substr(1))), Type::real, true});
    } else {
      step.operands.push_back({std::stoll(word.substr(1)), Type::integer, true});
    }
  }

  std::vector<Step> steps_;
  std::int64_t made_ = 0;
  std::size_t most_ = 0;
};

class Replay {
 public:
  explicit Replay(const Recording& recording) : recording_(recording) {
    values_.reserve(recording.values());
  }

  // Number of answers that needed a guard.
  std::int64_t run() {
    for (const Step& step : recording_.steps()) {
      switch (step.kind) {
        case Kind::reset:
          begin();
          break;
        case Kind::symbol:
          values_.push_back(context_->symbol(step.name, step.range));
          break;
        case Kind::operation:
          values_.push_back(made(step));
          ask(step, values_.back());
          break;
        case Kind::ask:
          ask(step, value(step.operands[0]));
          break;
      }
    }
    return guards_;
  }

 private:
  void begin() {
    build_.reset();
    facts_.reset();
    context_ = std::make_unique<Context>();
    facts_ = std::make_unique<Facts>(*context_);
    build_ = std::make_unique<Builder>(*context_);
    values_.clear();
  }

  Expr value(const Operand& operand) const {
    if (!operand.constant) {
      return values_[static_cast<std::size_t>(operand.value)];
    }
    return operand.type == Type::integer   ? context_->integer(operand.value)
           : operand.type == Type::boolean ? context_->boolean(operand.value != 0)
                                           : context_->real_bits(operand.value);
  }

  Expr made(const Step& step) {
    operands_.clear();
    for (const Operand& operand : step.operands) {
      operands_.push_back(value(operand));
    }
    const bool real = operands_.front()->type == Type::real;
    return build_->apply(real ? real_form(step.op) : step.op, operands_);
  }

  // SymNode has one name for both.
  static Op real_form(Op op) {
    switch (op) {
      case Op::add:
        return Op::real_add;
      case Op::sub:
        return Op::real_sub;
      case Op::mul:
        return Op::real_mul;
      case Op::neg:
        return Op::real_neg;
      case Op::eq:
        return Op::real_eq;
      case Op::lt:
        return Op::real_lt;
      case Op::le:
        return Op::real_le;
      default:
        return op;
    }
  }

  void ask(const Step& step, Expr e) {
    if (step.result == Result::none) {
      return;
    }
    Expr question =
        step.result == Result::number ? build_->eq(e, context_->integer(step.number)) : e;
    const Truth answer = facts_->prove(question);
    if (answer != Truth::unknown) {
      if (step.result != Result::unknown && (answer == Truth::yes) != (step.result != Result::no)) {
        fail("an answer that the example contradicts");
      }
      return;
    }
    if (step.guards) {
      ++guards_;
      facts_->assume(step.result == Result::no ? build_->logical_not(question) : question);
    }
  }

  const Recording& recording_;
  std::unique_ptr<Context> context_;
  std::unique_ptr<Facts> facts_;
  std::unique_ptr<Builder> build_;
  std::vector<Expr> values_;
  std::vector<Expr> operands_;
  std::int64_t guards_ = 0;
};

void replay(benchmark::State& state, const char* model) {
  const Recording recording(model);
  std::int64_t guards = 0;
  for (auto _ : state) {
    guards = Replay(recording).run();
  }
  state.counters["steps"] = static_cast<double>(recording.steps().size());
  state.counters["guards"] = static_cast<double>(guards);
}
BENCHMARK_CAPTURE(replay, llama, "llama")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, bert, "bert")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, resnet, "resnet")->Unit(benchmark::kMillisecond);

// (s*2 + 1) == (s + 3), made anew each time from s.
void compare_sizes(benchmark::State& state) {
  Context context;
  const Builder build(context);
  Expr s = context.symbol("s", {2, Range::kPlusInf});
  for (auto _ : state) {
    Expr left = build.add(build.mul(s, build.integer(2)), build.integer(1));
    benchmark::DoNotOptimize(build.eq(left, build.add(s, build.integer(3))));
  }
}
BENCHMARK(compare_sizes);

// 100 facts as a transformer's sizes leave them, and questions of what its layers do.
class Shapes {
 public:
  enum class Kind : std::uint8_t { view, reshape, broadcast, slice, strides };

  Shapes() {
    for (std::size_t i = 0; i < kLayers; ++i) {
      const auto symbol = [&](const char* name) {
        return context_.symbol(name + std::to_string(i), {2, Range::kPlusInf});
      };
      batch_.push_back(symbol("b"));
      seq_.push_back(symbol("s"));
      mask_.push_back(symbol("m"));
      width_.push_back(symbol("w"));
      facts_.assume(build_.eq(build_.mod(width_[i], integer(64)), integer(0)));
      facts_.assume(build_.le(seq_[i], integer(kLongest)));
      facts_.assume(build_.eq(mask_[i], seq_[i]));
      facts_.assume(build_.ge(build_.mul(batch_[i], seq_[i]), integer(20)));
      facts_.assume(
          build_.ge(width_[i], i == 0 ? integer(128) : build_.add(width_[i - 1], seq_[i])));
    }
    if (facts_.assumed().size() != kFacts) {
      fail("fewer facts than meant");
    }
  }

  // Built and proved; another one for each n.
  Truth ask(Kind kind, std::int64_t n) {
    const auto i = static_cast<std::size_t>(n) % kLayers;
    Expr longer = build_.add(seq_[i], integer(n));
    Expr rows = build_.mul(batch_[i], longer);
    switch (kind) {
      case Kind::view:  // (b, s, w) as (b*s, -1): is w left?
        return yes(build_.eq(build_.floordiv(build_.mul(rows, width_[i]), rows), width_[i]));
      case Kind::reshape:  // (b, s, w) as (b, s, w//64, 64): as many numbers?
        return yes(build_.eq(
            build_.mul(rows, build_.mul(build_.floordiv(width_[i], integer(64)), integer(64))),
            build_.mul(rows, width_[i])));
      case Kind::broadcast:  // s against the mask's
        return yes(build_.eq(build_.add(mask_[i], integer(n)), longer));
      case Kind::slice:  // x[:, :longest]
        return yes(build_.eq(build_.min(longer, integer(kLongest + n)), longer));
      case Kind::strides:  // is the stride of b the larger one?
        return yes(build_.gt(build_.mul(rows, width_[i]), rows));
    }
    return Truth::unknown;
  }

 private:
  Expr integer(std::int64_t value) const { return build_.integer(value); }
  Truth yes(Expr question) { return facts_.prove(question); }

  static constexpr std::size_t kLayers = 20;
  static constexpr std::size_t kFacts = 100;
  static constexpr std::int64_t kLongest = 4096;
  Context context_;
  Builder build_{context_};
  Facts facts_{context_};
  std::vector<Expr> batch_;
  std::vector<Expr> seq_;
  std::vector<Expr> mask_;
  std::vector<Expr> width_;
};

// Each question once of the same facts.
void prove(benchmark::State& state, Shapes::Kind kind) {
  constexpr std::int64_t kQuestions = 2000;
  std::unique_ptr<Shapes> shapes;
  std::int64_t next = kQuestions;
  for (auto _ : state) {
    if (next == kQuestions) {
      state.PauseTiming();
      shapes = std::make_unique<Shapes>();
      next = 0;
      state.ResumeTiming();
    }
    if (shapes->ask(kind, next++) != Truth::yes) {
      fail("a question that is not proved");
    }
  }
}
BENCHMARK_CAPTURE(prove, view, Shapes::Kind::view);
BENCHMARK_CAPTURE(prove, reshape, Shapes::Kind::reshape);
BENCHMARK_CAPTURE(prove, broadcast, Shapes::Kind::broadcast);
BENCHMARK_CAPTURE(prove, slice, Shapes::Kind::slice);
BENCHMARK_CAPTURE(prove, strides, Shapes::Kind::strides);

// The same questions again and again, building included.
void prove_memoised(benchmark::State& state) {
  Shapes shapes;
  std::int64_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(shapes.ask(Shapes::Kind::strides, next));
    next = (next + 1) % 16;
  }
}
BENCHMARK(prove_memoised);

// A million distinct expressions as sizes and strides are: products, sums, quotients, comparisons.
void memory_of_a_million(benchmark::State& state) {
  constexpr std::size_t kExpressions = 1'000'000;
  for (auto _ : state) {
    Context context;
    const Builder build(context);
    Expr s = context.symbol("s", {2, Range::kPlusInf});
    Expr b = context.symbol("b", {2, Range::kPlusInf});
    for (std::int64_t i = 3; context.size() < kExpressions; ++i) {
      Expr rows = build.mul(build.add(s, build.integer(i)), b);
      Expr quotient = build.floordiv(rows, build.integer(i));
      benchmark::DoNotOptimize(build.eq(quotient, build.scale(s, i)));
    }
    state.counters["bytes"] =
        static_cast<double>(context.memory()) / static_cast<double>(context.size());
  }
}
BENCHMARK(memory_of_a_million)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
