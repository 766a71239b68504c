// What one rule costs when called from C++, allocation of the result included.
#include <ATen/ops/_softmax.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/native_layer_norm.h>
#include <benchmark/benchmark.h>
#include <torch/library.h>

#include <vector>

#include "dispatch/state.h"

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

BENCHMARK(add);
BENCHMARK(mm);
BENCHMARK(view);
BENCHMARK(softmax);
BENCHMARK(layer_norm);

}  // namespace

BENCHMARK_MAIN();
