// What one rule costs when called from C++, allocation of the result included.
#include <ATen/ops/_softmax.h>
#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/native_layer_norm.h>
#include <benchmark/benchmark.h>
#include <torch/library.h>

#include <vector>

#include "dispatch/state.h"
#include "dispatch/sym_node.h"

namespace {

struct Fakes {
  massless::FakeMode mode;
  at::NoGradGuard no_grad;
  at::Tensor a = at::empty({128, 256});
  at::Tensor b = at::empty({128, 256});
  at::Tensor square = at::empty({256, 256});
  at::Tensor weight = at::empty({256});
};

template <class F>
void run(benchmark::State& state, F&& f) {
  Fakes fakes;
  for (auto _ : state) {
    benchmark::DoNotOptimize(f(fakes));
  }
}

void add(benchmark::State& state) {
  run(state, [](Fakes& t) { return at::add(t.a, t.b); });
}
void mm(benchmark::State& state) {
  run(state, [](Fakes& t) { return at::mm(t.a, t.square); });
}
void view(benchmark::State& state) {
  run(state, [](Fakes& t) { return t.a.view({64, 512}); });
}
void softmax(benchmark::State& state) {
  run(state, [](Fakes& t) { return at::_softmax(t.a, -1, false); });
}
void layer_norm(benchmark::State& state) {
  run(state, [](Fakes& t) { return at::native_layer_norm(t.a, {256}, t.weight, t.weight, 1e-5); });
}

// The same with symbols for sizes.
struct SymbolicFakes {
  std::shared_ptr<massless::ShapeEnv> env = std::make_shared<massless::ShapeEnv>();
  c10::SymInt batch = massless::size_of(env, env->dynamic_size(6));
  c10::SymInt seq = massless::size_of(env, env->dynamic_size(10));
  massless::FakeMode mode{{std::nullopt, true, nullptr, env}};
  at::NoGradGuard no_grad;
  at::Tensor a = at::empty_symint({batch, seq, 256}, at::TensorOptions());
  at::Tensor flat = at::empty_symint({batch * seq, 256}, at::TensorOptions());
  at::Tensor square = at::empty({256, 256});
};

template <class F>
void run_symbolic(benchmark::State& state, F&& f) {
  SymbolicFakes fakes;
  for (auto _ : state) {
    benchmark::DoNotOptimize(f(fakes));
  }
}

void symbolic_add(benchmark::State& state) {
  run_symbolic(state, [](SymbolicFakes& t) { return at::add(t.a, t.a); });
}
void symbolic_mm(benchmark::State& state) {
  run_symbolic(state, [](SymbolicFakes& t) { return at::mm(t.flat, t.square); });
}
void symbolic_view(benchmark::State& state) {
  run_symbolic(state, [](SymbolicFakes& t) { return t.a.view_symint({t.batch * t.seq, 256}); });
}
void symbolic_softmax(benchmark::State& state) {
  run_symbolic(state, [](SymbolicFakes& t) { return at::_softmax(t.a, -1, false); });
}
void symbolic_cat(benchmark::State& state) {
  run_symbolic(state, [](SymbolicFakes& t) { return at::cat({t.a, t.a}, 1); });
}
// (s*2 + 1) == (s + 3) through torch's own SymInt.
void symbolic_comparison(benchmark::State& state) {
  SymbolicFakes fakes;
  const c10::SymInt& s = fakes.seq;
  for (auto _ : state) {
    benchmark::DoNotOptimize((s * 2 + 1).sym_eq(s + 3));
  }
}

BENCHMARK(add);
BENCHMARK(mm);
BENCHMARK(view);
BENCHMARK(softmax);
BENCHMARK(layer_norm);
BENCHMARK(symbolic_add);
BENCHMARK(symbolic_mm);
BENCHMARK(symbolic_view);
BENCHMARK(symbolic_softmax);
BENCHMARK(symbolic_cat);
BENCHMARK(symbolic_comparison);

}  // namespace

BENCHMARK_MAIN();
