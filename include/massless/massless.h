// The public C++ names of Massless. Link against the CMake target massless::massless.
//
//   massless::FakeMode mode;                       // RAII: factories give fakes in this scope
//   at::Tensor x = at::empty({1 << 20, 1 << 20});  // 4 TiB that nobody allocates
//   at::Tensor y = at::mm(x, x);                   // y.sizes(), y.strides(), y.device() as eager
//
// All errors are massless::Error, a c10::Error with a code (base/errors.h).
#pragma once

#include "dispatch/error.h"  // IWYU pragma: export
#include "dispatch/state.h"  // IWYU pragma: export
#include "fake/ledger.h"     // IWYU pragma: export
#include "fake/tensor.h"     // IWYU pragma: export
#include "plan/plan.h"       // IWYU pragma: export
