// Symbols with an example each, and the guards under which what was decided about them holds.
//
// A decision is: proved -> no guard; else evaluated on the hints, recorded as a guard with its
// origin, and taken for true from then on; without hints (unbacked) -> an error.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "sym/build.h"
#include "sym/expr.h"
#include "sym/facts.h"

namespace massless::guard {

using sym::Expr;
using sym::Range;
using sym::Truth;

// Where a question came from.
struct Origin {
  std::string location;       // the user's line
  std::string operator_name;  // empty: none was running
};
// The layer above knows; asked only when a guard is recorded.
using OriginSource = Origin (*)();
void set_origin_source(OriginSource source) noexcept;

struct Guard {
  Expr condition;
  Origin origin;
  bool assertion = false;  // stated by the program (torch._check), checked when it runs
};

struct SymbolOptions {
  std::optional<std::int64_t> hint;  // nothing: unbacked
  Range range = {0, Range::kPlusInf};
  std::int64_t multiple_of = 1;
  // Must stay dynamic: no guard may fix it or tie it to other strict symbols.
  bool strict = false;
  // Its name is not the user's (dynamic_size, unbacked): nobody can mean it by that name.
  bool named = true;
};

struct ShapeEnvOptions {
  // Of sizes made dynamic without a name: example sizes 0 and 1 stay static, and equal ones share a
  // symbol.
  bool specialize_zero_one = true;
  bool duck_shape = true;
};

// Every member may be called from any thread. Errors are sym::SymError. The origin source is called
// unlocked. Each thread remembers the last answers that it got, and has them again without the
// lock.
class ShapeEnv {
 public:
  explicit ShapeEnv(const ShapeEnvOptions& options = {});
  ShapeEnv(const ShapeEnv&) = delete;
  ShapeEnv& operator=(const ShapeEnv&) = delete;

  // A new symbol, or the one of that name if all agrees; else `contradiction`, which quotes both.
  Expr symbol(std::string_view name, const SymbolOptions& options);
  // A size without a name: a constant where it is specialised.
  Expr dynamic_size(std::int64_t hint);
  // A symbol without example, with a name that is still free ("u0").
  Expr unbacked(Range range);

  // The operators of the table. Operands of one environment.
  Expr apply(sym::Op op, std::span<const Expr> operands);
  // f(const sym::Builder&), with the environment locked.
  template <class F>
  decltype(auto) with_builder(F&& f) {
    const std::lock_guard lock(mutex_);
    return f(build_);
  }
  // make(), remembered under the expressions it is about (its answer must follow from them). Every
  // tensor is asked for its layout, and most have one of the same few.
  using Answers = std::array<Expr, 4>;
  template <class F>
  Answers remembered(std::span<const Expr> about, F&& make) {
    const std::lock_guard lock(mutex_);
    if (const auto found = memo_.find(about); found != memo_.end()) {
      return found->second;
    }
    const Answers made = make();
    constexpr std::size_t kMost = 1U << 14;
    if (memo_.size() == kMost) {
      memo_.clear();
    }
    memo_.emplace(std::vector<Expr>(about.begin(), about.end()), made);
    return made;
  }
  Expr integer(std::int64_t value);
  Expr real(std::int64_t bits);
  Expr parse(std::string_view text);
  std::string print(Expr e);

  // As the class comment says. `specialization`: it would fix a strict symbol. `unbacked`.
  bool decide(Expr condition);
  // The example's value, which is guarded.
  std::int64_t specialize(Expr e);  // integers and truth values; a real's bits
  // The program states it: false where it is disproved, or false for the example.
  bool assert_true(Expr condition);
  // The caller goes on as if the condition held, and its next question may show that it does not
  // matter: then `drop_aside`. If anything else is decided first, guards are asked for, or more
  // than kAsideSteps operators are applied (so another question is the next), it is decided like
  // others.
  void set_aside(Expr condition);
  void drop_aside();
  // What is known without asking the hints.
  Truth prove(Expr condition);
  // The same where `assumption` holds as well, which is not remembered; slow.
  Truth prove_given(Expr assumption, Expr condition);
  // Proved, or not known to be true: no guard (torch's guard_or_false).
  bool known(Expr condition) { return prove(condition) == Truth::yes; }

  bool has_hint(Expr e);
  // The value for the example: an integer, 0 or 1, or a real's bits. Nothing where unbacked or
  // without a value.
  std::optional<std::int64_t> hint(Expr e);
  Range bounds(Expr e);
  Expr simplify(Expr e);

  // In the order they were met; `implied[i]`: the others say it already.
  std::vector<Guard> guards();
  std::vector<bool> implied_guards();
  std::vector<Expr> symbols();
  const SymbolOptions& options_of(Expr symbol);
  // Do the guards and the symbols' ranges hold with these values of the symbols, by index (those
  // left out keep their hints)? The first that fails is printed into `why`.
  bool holds(const std::unordered_map<std::uint32_t, std::int64_t>& values, std::string* why);
  // e at such a point.
  std::optional<std::int64_t> value(Expr e,
                                    const std::unordered_map<std::uint32_t, std::int64_t>& values);
  std::size_t memory();

  // What the user should know beside the guards: sizes asked to be dynamic that stayed as they are.
  void note(std::string text);
  std::vector<std::string> notes();

 private:
  template <class F>
  auto recording(F&& f);
  void settle_aside();
  bool decide_locked(Expr condition);
  std::int64_t specialize_locked(Expr e);
  bool assert_locked(Expr condition);
  bool decide_on_hint(Expr condition);
  void record(Expr condition, bool assertion);
  void check_strict(Expr condition);
  void learn_hint(Expr condition);
  std::optional<std::int64_t> hint_locked(Expr e);
  [[noreturn]] void raise_unbacked(Expr e);
  std::vector<Expr> declared() const;

  Expr apply_locked(sym::Op op, std::span<const Expr> operands);
  Truth prove_locked(Expr condition);
  void assume(Expr fact);

  struct HashExprs {
    using is_transparent = void;
    std::size_t operator()(std::span<const Expr> all) const {
      std::size_t h = all.size();
      for (Expr e : all) {
        h = (h ^ e->id) * 0x9E3779B97F4A7C15ULL;
      }
      return h ^ (h >> 32);
    }
  };
  struct EqualExprs {
    using is_transparent = void;
    bool operator()(std::span<const Expr> a, std::span<const Expr> b) const {
      return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }
  };

  const std::uint64_t serial_;  // of no other environment of the process
  std::recursive_mutex mutex_;
  std::unordered_map<std::vector<Expr>, Answers, HashExprs, EqualExprs> memo_;
  ShapeEnvOptions options_;
  sym::Context context_;
  sym::Builder build_{context_};
  sym::Facts facts_{context_};
  std::vector<Guard> guards_;
  std::vector<SymbolOptions> symbols_;  // by index
  std::unordered_map<std::int64_t, Expr> duck_;
  std::unordered_map<Expr, std::int64_t> hints_;
  std::vector<bool> implied_;
  static constexpr int kAsideSteps = 2;  // a product, and the comparison with it
  struct Aside {
    Expr condition = nullptr;
    std::thread::id thread;
    int steps = 0;
  };
  Aside aside_;
  // What a thread reads without the lock: is something set aside, and how often facts were learned.
  std::atomic<bool> something_aside_{false};
  std::atomic<std::uint32_t> facts_learned_{0};
  std::vector<std::string> notes_;
};

}  // namespace massless::guard
