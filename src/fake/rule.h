// How a rule becomes a kernel on the Fake key.
//
// A rule is a pure function from arguments to metadata:
//     TensorSpec add_spec(const at::Tensor& self, const at::Tensor& other, const at::Scalar&);
// and is registered in its family's file:
//     MASSLESS_RULES(m) {
//       rule<"add.Tensor", functional<add_spec>>(m);
//       rule<"add_.Tensor", inplace<add_spec>>(m);
//       rule<"add.out", out<add_spec>>(m);
//     }
// `functional` makes fresh fakes of the spec (TensorSpecs or a vector of specs: several);
// `inplace` checks the spec against self; `out` resizes the last argument to the spec.
// Views and other special operators register a kernel function of the operator's own C++ type.
// A third template argument counts floating-point operations where a ledger is open
// (rules/flops.h):
//     rule<"mm", functional<mm_spec>, mm_flops>(m);    // c10::SymInt mm_flops(result,
//     arguments...)
#pragma once

#include <ATen/core/boxing/impl/boxing.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dispatch/state.h"
#include "fake/care.h"
#include "fake/ledger.h"
#include "fake/tensor.h"

namespace massless {

// A string literal as a template argument.
template <std::size_t N>
struct OpName {
  char text[N];
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is meant to convert
  constexpr OpName(const char (&literal)[N]) {
    for (std::size_t i = 0; i < N; ++i) {
      text[i] = literal[i];
    }
  }
};

namespace detail {

inline at::Tensor realize(const TensorSpec& spec) { return make_fake(spec); }
inline std::vector<at::Tensor> realize(const std::vector<TensorSpec>& specs) {
  std::vector<at::Tensor> made;
  made.reserve(specs.size());
  for (const TensorSpec& spec : specs) {
    made.push_back(make_fake(spec));
  }
  return made;
}
template <std::size_t n>
auto realize(const TensorSpecs<n>& specs) {
  return std::apply([](const auto&... spec) { return std::make_tuple(make_fake(spec)...); }, specs);
}

template <auto spec, class Sig = decltype(spec)>
struct Functional;
template <auto spec, class R, class... A>
struct Functional<spec, R (*)(A...)> {
  static auto call(A... args) { return realize(spec(std::forward<A>(args)...)); }
};

template <auto spec, class Sig = decltype(spec)>
struct Inplace;
template <auto spec, class R, class... A>
struct Inplace<spec, R (*)(const at::Tensor&, A...)> {
  static at::Tensor& call(at::Tensor& self, A... args) {
    check_inplace(self, spec(self, std::forward<A>(args)...));
    return self;
  }
};

template <auto spec, class Sig = decltype(spec)>
struct Out;
template <auto spec, class R, class... A>
struct Out<spec, R (*)(A...)> {
  static at::Tensor& call(A... args, at::Tensor& out) {
    write_out(out, spec(std::forward<A>(args)...));
    return out;
  }
};

// Does an argument need more than its rule: is it real, or of known value?
template <class T>
bool needs_care(const T&) noexcept {
  return false;
}
inline bool needs_care(const at::Tensor& t) noexcept { return tensor_needs_care(t); }
inline bool needs_care(const std::optional<at::Tensor>& t) noexcept {
  return t && tensor_needs_care(*t);
}
inline bool needs_care(at::ITensorListRef list) noexcept {
  for (const at::Tensor& t : list) {
    if (tensor_needs_care(t)) {
      return true;
    }
  }
  return false;
}
inline bool needs_care(at::TensorList list) noexcept {
  for (const at::Tensor& t : list) {
    if (tensor_needs_care(t)) {
      return true;
    }
  }
  return false;
}
inline bool needs_care(const c10::List<std::optional<at::Tensor>>& list) noexcept {
  for (const std::optional<at::Tensor> t : list) {
    if (t && tensor_needs_care(*t)) {
      return true;
    }
  }
  return false;
}

template <class R>
struct Push {
  static void onto(torch::jit::Stack& stack, const R& result) {
    c10::impl::push_outputs<std::decay_t<R>, true>::copy(result, &stack);
  }
};
template <>
struct Push<void> {};

// The tensor that a `Tensor&` result refers to: the one that has this identity among the args.
template <class... A>
at::Tensor& same_argument(const at::Tensor& wanted, A&... args) {
  at::Tensor* found = nullptr;
  const auto look = [&](auto& arg) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(arg)>, at::Tensor>) {
      if (arg.is_same(wanted)) {
        found = const_cast<at::Tensor*>(&arg);
      }
    }
  };
  (look(args), ...);
  return *found;
}

// The results of out= forms with several outputs.
template <class R>
struct TupleOfReferences : std::false_type {};
template <class... T>
struct TupleOfReferences<std::tuple<T&...>> : std::true_type {};

struct NoCost {};

template <OpName name, auto fn, auto cost, class Sig = decltype(fn)>
struct Kernel;
template <OpName name, auto fn, auto cost, class R, class... A>
struct Kernel<name, fn, cost, R (*)(A...)> {
  static OpStat& stat() {
    static OpStat made(std::string("aten::") + name.text);
    return made;
  }

  static R call(A... args) {
    const OpScope scope(stat(), Rung::rule);
    if constexpr (!std::is_same_v<std::remove_cv_t<decltype(cost)>, NoCost>) {
      if (C10_UNLIKELY(current_ledger() != nullptr)) {
        return counted(std::forward<A>(args)...);
      }
    }
    return answer(std::forward<A>(args)...);
  }

 private:
  static R answer(A... args) {
    if (C10_UNLIKELY((needs_care(args) || ...))) {
      return careful(std::forward<A>(args)...);
    }
    return fn(std::forward<A>(args)...);
  }

  static R counted(A... args) {
    R result = answer(std::forward<A>(args)...);
    count_flops(cost(result, args...));
    return result;
  }

  static R careful(A... args) {
    Care care(stat().name, c10::impl::boxArgs<std::remove_cvref_t<A>...>(args...));
    if constexpr (std::is_void_v<R>) {
      if (!care.passes_through()) {
        fn(std::forward<A>(args)...);
        care.finish({});
      }
    } else {
      if (care.passes_through()) {
        return popped(care.results(), args...);
      }
      R result = fn(std::forward<A>(args)...);
      torch::jit::Stack results;
      Push<R>::onto(results, result);
      care.finish(results);
      return result;
    }
  }

  static R popped(torch::jit::Stack stack, A&... args) {
    if constexpr (std::is_reference_v<R>) {
      return same_argument(stack.at(0).toTensor(), args...);
    } else if constexpr (TupleOfReferences<R>::value) {
      return [&]<std::size_t... i>(std::index_sequence<i...>) {
        return R(same_argument(stack.at(i).toTensor(), args...)...);
      }
      (std::make_index_sequence<std::tuple_size_v<R>>());
    } else {
      return c10::impl::PopResult<R>::call(stack);
    }
  }
};

}  // namespace detail

template <auto spec>
inline constexpr auto functional = &detail::Functional<spec>::call;
template <auto spec>
inline constexpr auto inplace = &detail::Inplace<spec>::call;
template <auto spec>
inline constexpr auto out = &detail::Out<spec>::call;

template <OpName name, auto fn, auto cost = detail::NoCost{}>
void rule(torch::Library& m) {
  using K = detail::Kernel<name, fn, cost>;
  register_rule_stat(&K::stat());
  m.impl(name.text, torch::CppFunction::makeFromUnboxedFunction(&K::call));
}

}  // namespace massless

#define MASSLESS_RULES(m) TORCH_LIBRARY_IMPL(aten, Fake, m)
