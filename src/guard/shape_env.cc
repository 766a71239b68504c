#include "guard/shape_env.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "sym/evaluate.h"
#include "sym/text.h"

namespace massless::guard {
namespace {

using sym::Op;
using sym::SymError;

std::atomic<OriginSource> origin_source{nullptr};

// What the thread was answered last, direct mapped. An answer follows from its question alone, and
// is right for as long as its environment lives, whose serial no other ever has.
enum class Asked : std::uint32_t { nothing, applied, integer, proved, hint };
struct Answer {
  std::uint64_t env = 0;
  Expr a = nullptr;  // an operand, or what was asked about
  Expr b = nullptr;
  std::int64_t number = 0;  // of Asked::integer the question
  Expr result = nullptr;
  Asked asked = Asked::nothing;
  std::uint32_t more = 0;  // the operator; of what could not be proved: facts_learned_ then

  bool is(std::uint64_t other_env, Asked other, Expr x, Expr y = nullptr) const {
    return env == other_env && a == x && b == y && asked == other;
  }
};

Answer& answer(Asked asked, std::uint64_t x, std::uint64_t y) noexcept {
  constexpr int kBits = 9;
  static constinit thread_local std::array<Answer, std::size_t{1} << kBits> answers{};
  const std::uint64_t h =
      (x ^ (y << 21) ^ (static_cast<std::uint64_t>(asked) << 57)) * 0x9E3779B97F4A7C15ULL;
  return answers[h >> (64 - kBits)];
}
Answer& answer(Asked asked, Expr a, Expr b = nullptr, Op op = Op::constant) noexcept {
  // NOLINTBEGIN(performance-no-int-to-ptr): an address as a number
  return answer(asked, reinterpret_cast<std::uintptr_t>(a),
                reinterpret_cast<std::uintptr_t>(b) + static_cast<std::uint64_t>(op));
  // NOLINTEND(performance-no-int-to-ptr)
}

std::uint64_t next_serial() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

Origin origin() {
  const OriginSource source = origin_source.load();
  return source == nullptr ? Origin{} : source();
}

std::string told(const SymbolOptions& options) {
  std::string text = "range " + sym::to_string(options.range);
  if (options.multiple_of != 1) {
    text += ", multiple of " + std::to_string(options.multiple_of);
  }
  text += options.hint ? ", example " + std::to_string(*options.hint) : ", no example";
  return text + (options.strict ? ", strict" : "") + (options.named ? "" : ", made without a name");
}

void check_options(std::string_view name, const SymbolOptions& options) {
  const auto fail = [&](const std::string& what) {
    throw SymError(ErrorCode::contradiction,
                   "the size " + std::string(name) + " has the " + told(options) + ": " + what);
  };
  if (options.range.lo > options.range.hi) {
    fail("min is larger than max");
  }
  if (options.multiple_of < 1) {
    fail("a multiple must be of 1 or more");
  }
  if (options.hint && !options.range.contains(*options.hint)) {
    fail("the example is outside of the range");
  }
  if (options.hint && *options.hint % options.multiple_of != 0) {
    fail("the example is no multiple of " + std::to_string(options.multiple_of));
  }
}

}  // namespace

void set_origin_source(OriginSource source) noexcept { origin_source.store(source); }

ShapeEnv::ShapeEnv(const ShapeEnvOptions& options) : serial_(next_serial()), options_(options) {}

Expr ShapeEnv::symbol(std::string_view name, const SymbolOptions& options) {
  const std::lock_guard lock(mutex_);
  check_options(name, options);
  if (Expr found = context_.find_symbol(name)) {
    const SymbolOptions& first = symbols_[found->symbol()];
    if (first.hint != options.hint || first.range != options.range ||
        first.multiple_of != options.multiple_of || first.strict != options.strict ||
        first.named != options.named) {
      throw SymError(ErrorCode::contradiction, "the size " + std::string(name) +
                                                   " was given twice: " + told(first) + "; and " +
                                                   told(options));
    }
    return found;
  }
  Expr made = context_.symbol(name, options.range);
  symbols_.push_back(options);
  if (options.multiple_of > 1) {
    Expr divides =
        build_.eq(build_.mod(made, build_.integer(options.multiple_of)), build_.integer(0));
    assume(divides);
  }
  return made;
}

Expr ShapeEnv::dynamic_size(std::int64_t hint) {
  const std::lock_guard lock(mutex_);
  if (options_.specialize_zero_one && (hint == 0 || hint == 1)) {
    return context_.integer(hint);
  }
  if (const auto found = duck_.find(hint); options_.duck_shape && found != duck_.end()) {
    return found->second;
  }
  std::string name;
  for (std::size_t i = symbols_.size(); name.empty() || context_.find_symbol(name) != nullptr;
       ++i) {
    name = "s" + std::to_string(i);
  }
  SymbolOptions options;
  options.named = false;
  options.hint = hint;
  options.range.lo = options_.specialize_zero_one ? 2 : 0;
  return duck_[hint] = symbol(name, options);
}

Expr ShapeEnv::unbacked(Range range) {
  const std::lock_guard lock(mutex_);
  std::string name;
  for (std::size_t i = 0; name.empty() || context_.find_symbol(name) != nullptr; ++i) {
    name = "u" + std::to_string(i);
  }
  SymbolOptions options;
  options.named = false;
  options.range = range;
  return symbol(name, options);
}

Expr ShapeEnv::apply(Op op, std::span<const Expr> operands) {
  const bool remembers = (operands.size() == 1 || operands.size() == 2) &&
                         !something_aside_.load(std::memory_order_relaxed);
  if (!remembers) {
    return apply_locked(op, operands);
  }
  Expr second = operands.size() == 2 ? operands[1] : nullptr;
  Answer& last = answer(Asked::applied, operands[0], second, op);
  if (!last.is(serial_, Asked::applied, operands[0], second) ||
      last.more != static_cast<std::uint32_t>(op)) {
    Expr made = apply_locked(op, operands);
    last = {serial_, operands[0], second, 0, made, Asked::applied, static_cast<std::uint32_t>(op)};
  }
  return last.result;
}

Expr ShapeEnv::apply_locked(Op op, std::span<const Expr> operands) {
  const std::lock_guard lock(mutex_);
  if (aside_.condition != nullptr) {
    ++aside_.steps;
  }
  return build_.apply(op, operands);
}

Expr ShapeEnv::integer(std::int64_t value) {
  Answer& last = answer(Asked::integer, static_cast<std::uint64_t>(value), serial_);
  if (!last.is(serial_, Asked::integer, nullptr) || last.number != value) {
    const std::lock_guard lock(mutex_);
    last = {serial_, nullptr, nullptr, value, context_.integer(value), Asked::integer, 0};
  }
  return last.result;
}

Expr ShapeEnv::real(std::int64_t bits) {
  const std::lock_guard lock(mutex_);
  return context_.real_bits(bits);
}

Expr ShapeEnv::parse(std::string_view text) {
  const std::lock_guard lock(mutex_);
  return sym::parse(context_, text, /*create=*/false);
}

std::string ShapeEnv::print(Expr e) {
  const std::lock_guard lock(mutex_);
  return sym::print(e, context_);
}

// Where the guards come from that f records is asked after f, unlocked: the layer above may wait
// for an interpreter, which another thread holds that waits for this environment.
template <class F>
auto ShapeEnv::recording(F&& f) {
  std::unique_lock lock(mutex_);
  const std::size_t first = guards_.size();
  const auto answer = f();
  const std::size_t last = guards_.size();
  if (first != last) {
    lock.unlock();
    const Origin from = origin();
    lock.lock();
    std::for_each(guards_.begin() + static_cast<std::ptrdiff_t>(first),
                  guards_.begin() + static_cast<std::ptrdiff_t>(last),
                  [&](Guard& guard) { guard.origin = from; });
  }
  return answer;
}

bool ShapeEnv::decide(Expr condition) {
  if (!something_aside_.load(std::memory_order_relaxed)) {
    const Truth known = prove(condition);
    if (known != Truth::unknown) {
      return known == Truth::yes;
    }
  }
  return recording([&] {
    settle_aside();
    return decide_locked(condition);
  });
}

void ShapeEnv::set_aside(Expr condition) {
  recording([&] {
    settle_aside();
    aside_ = {condition, std::this_thread::get_id(), 0};
    something_aside_ = true;
    return true;
  });
}

void ShapeEnv::drop_aside() {
  recording([&] {
    if (aside_.thread == std::this_thread::get_id() && aside_.steps <= kAsideSteps) {
      aside_ = {};
      something_aside_ = false;
    }
    settle_aside();
    return true;
  });
}

void ShapeEnv::settle_aside() {
  something_aside_ = false;
  if (Expr condition = std::exchange(aside_, {}).condition) {
    decide_locked(condition);
  }
}

bool ShapeEnv::decide_locked(Expr condition) {
  const Truth known = prove_locked(condition);
  return known == Truth::unknown ? decide_on_hint(condition) : known == Truth::yes;
}

bool ShapeEnv::decide_on_hint(Expr condition) {
  const auto value = hint_locked(condition);
  if (!value) {
    raise_unbacked(condition);
  }
  Expr fact = *value != 0 ? condition : build_.logical_not(condition);
  check_strict(fact);
  record(fact, false);
  return *value != 0;
}

// Facts that fix a strict symbol, or relate strict symbols only by an equation, are refused before
// anything is recorded.
void ShapeEnv::check_strict(Expr fact) {
  Expr simple = facts_.simplify(fact);
  const auto is_strict = [&](std::uint32_t s) { return symbols_[s].strict; };
  const auto involved = sym::symbols_of(simple);
  const bool any = std::any_of(involved.begin(), involved.end(), is_strict);
  if (!any) {
    return;
  }
  const auto refuse = [&](std::uint32_t s, const std::string& how) {
    throw SymError(ErrorCode::specialization, "the size " + context_.symbols()[s].name +
                                                  " was given as a Dim, which must stay "
                                                  "dynamic, and " +
                                                  how + " (" + sym::print(simple, context_) + ")");
  };
  if (simple->is(Op::eq) && std::all_of(involved.begin(), involved.end(), is_strict)) {
    const bool alone = involved.size() == 1;
    refuse(involved[0], alone ? "it would be fixed" : "it would be tied to another one");
  }
  // By two inequalities: x >= 5 after x <= 5.
  if (simple->is(Op::ge) && involved.size() == 1) {
    sym::Facts trial(context_);
    for (Expr known : facts_.assumed()) {
      trial.assume(known);
    }
    trial.assume(fact);
    Expr symbol = context_.symbols()[involved[0]].node;
    if (trial.simplify(symbol)->is_constant()) {
      refuse(involved[0], "it would be fixed");
    }
  }
}

void ShapeEnv::record(Expr condition, bool assertion) {
  assume(condition);
  guards_.push_back({condition, {}, assertion});
  learn_hint(condition);
}

// u + rest == 0 with one symbol u that has no hint, and not in the rest: it has one from now on.
void ShapeEnv::learn_hint(Expr condition) {
  if (!condition->is(Op::eq)) {
    return;
  }
  Expr p = condition->operands()[0];
  Expr unknown = nullptr;
  std::int64_t sign = 1;
  const sym::Terms terms(p);
  for (const sym::Term& t : terms.variable()) {
    const bool plain = t.monomial->is(Op::symbol) && (t.coefficient == 1 || t.coefficient == -1);
    if (plain && !symbols_[t.monomial->symbol()].hint) {
      unknown = t.monomial;
      sign = t.coefficient;
    }
  }
  if (unknown == nullptr) {
    return;
  }
  Expr rest = build_.sub(p, build_.scale(unknown, sign));
  if (const auto value = hint_locked(build_.scale(rest, -sign))) {
    symbols_[unknown->symbol()].hint = value;
  }
}

std::int64_t ShapeEnv::specialize(Expr e) {
  return recording([&] {
    settle_aside();
    return specialize_locked(e);
  });
}

std::int64_t ShapeEnv::specialize_locked(Expr e) {
  if (e->type == sym::Type::boolean) {
    return decide_locked(e) ? 1 : 0;
  }
  const auto value = hint_locked(e);
  if (!value) {
    raise_unbacked(e);
  }
  Expr constant =
      e->type == sym::Type::real ? context_.real_bits(*value) : context_.integer(*value);
  const std::array<Expr, 2> operands{e, constant};
  decide_locked(build_.apply(e->type == sym::Type::real ? Op::real_eq : Op::eq, operands));
  return *value;
}

bool ShapeEnv::assert_true(Expr condition) {
  return recording([&] {
    settle_aside();
    return assert_locked(condition);
  });
}

bool ShapeEnv::assert_locked(Expr condition) {
  const Truth known = prove_locked(condition);
  if (known != Truth::unknown) {
    return known == Truth::yes;
  }
  if (const auto value = hint_locked(condition); value && *value == 0) {
    return false;
  }
  check_strict(condition);
  record(condition, true);
  return true;
}

Truth ShapeEnv::prove(Expr condition) {
  if (condition->is(Op::truth)) {
    return condition->is_true() ? Truth::yes : Truth::no;
  }
  const Answer& last = answer(Asked::proved, condition);
  if (last.is(serial_, Asked::proved, condition)) {
    const auto known = static_cast<Truth>(last.number);
    if (known != Truth::unknown || last.more == facts_learned_.load(std::memory_order_relaxed)) {
      return known;
    }
  }
  const std::lock_guard lock(mutex_);
  return prove_locked(condition);
}

// Facts only grow: what is proved stays so, what is not may be later.
Truth ShapeEnv::prove_locked(Expr condition) {
  const Truth known = facts_.prove(condition);
  answer(Asked::proved, condition) = {serial_,
                                      condition,
                                      nullptr,
                                      static_cast<std::int64_t>(known),
                                      nullptr,
                                      Asked::proved,
                                      facts_learned_.load(std::memory_order_relaxed)};
  return known;
}

void ShapeEnv::assume(Expr fact) {
  facts_.assume(fact);
  ++facts_learned_;
}

Truth ShapeEnv::prove_given(Expr assumption, Expr condition) {
  const std::lock_guard lock(mutex_);
  const Truth known = facts_.prove(condition);
  if (known != Truth::unknown) {
    return known;
  }
  sym::Facts trial(context_);
  for (Expr fact : facts_.assumed()) {
    trial.assume(fact);
  }
  // Where it contradicts what is known there is no such point, and anything is true of it.
  return trial.assume(assumption) == Truth::no ? Truth::yes : trial.prove(condition);
}

void ShapeEnv::raise_unbacked(Expr e) {
  throw SymError(ErrorCode::unbacked, "the value of " + sym::print(facts_.simplify(e), context_) +
                                          " was asked for, which depends on data");
}

std::optional<std::int64_t> ShapeEnv::hint_locked(Expr e) {
  if (e->is_constant()) {
    return e->value();
  }
  if (const auto found = hints_.find(e); found != hints_.end()) {
    return found->second;
  }
  // An unbacked size that was found equal to others may have a hint after all.
  for (Expr form : {e, facts_.simplify(e)}) {
    const auto value = sym::evaluate(form, [&](std::uint32_t s) { return symbols_[s].hint; });
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      hints_.emplace(e, *number);
      return *number;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> ShapeEnv::hint(Expr e) {
  if (e->is_constant()) {
    return e->value();
  }
  Answer& last = answer(Asked::hint, e);
  if (last.is(serial_, Asked::hint, e)) {
    return last.number;
  }
  const std::lock_guard lock(mutex_);
  const auto value = hint_locked(e);
  if (value) {
    last = {serial_, e, nullptr, *value, nullptr, Asked::hint, 0};
  }
  return value;
}

bool ShapeEnv::has_hint(Expr e) { return hint(e).has_value(); }

Range ShapeEnv::bounds(Expr e) {
  const std::lock_guard lock(mutex_);
  Expr simple = facts_.simplify(e);
  return sym::range_intersect(facts_.range(e), facts_.range(simple)).value_or(simple->range);
}

Expr ShapeEnv::simplify(Expr e) {
  const std::lock_guard lock(mutex_);
  return facts_.simplify(e);
}

std::vector<Guard> ShapeEnv::guards() {
  const std::lock_guard lock(mutex_);
  settle_aside();
  return guards_;
}

std::vector<Expr> ShapeEnv::declared() const {
  std::vector<Expr> all;
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    if (symbols_[i].multiple_of > 1) {
      Expr symbol = context_.symbols()[i].node;
      all.push_back(build_.eq(build_.mod(symbol, build_.integer(symbols_[i].multiple_of)),
                              build_.integer(0)));
    }
  }
  return all;
}

// From the first to the last, each against those before and after it that are not implied: what an
// early guard says may follow from a later one.
std::vector<bool> ShapeEnv::implied_guards() {
  const std::lock_guard lock(mutex_);
  settle_aside();
  if (implied_.size() == guards_.size()) {
    return implied_;
  }
  implied_.assign(guards_.size(), false);
  for (std::size_t i = 0; i < guards_.size(); ++i) {
    sym::Facts others(context_);
    for (Expr fact : declared()) {
      others.assume(fact);
    }
    for (std::size_t j = 0; j < guards_.size(); ++j) {
      if (j != i && !implied_[j]) {
        others.assume(guards_[j].condition);
      }
    }
    implied_[i] = others.prove(guards_[i].condition) == Truth::yes;
  }
  return implied_;
}

std::vector<Expr> ShapeEnv::symbols() {
  const std::lock_guard lock(mutex_);
  std::vector<Expr> all;
  for (const sym::SymbolInfo& s : context_.symbols()) {
    all.push_back(s.node);
  }
  return all;
}

const SymbolOptions& ShapeEnv::options_of(Expr symbol) {
  const std::lock_guard lock(mutex_);
  return symbols_[symbol->symbol()];
}

std::optional<std::int64_t> ShapeEnv::value(
    Expr e, const std::unordered_map<std::uint32_t, std::int64_t>& values) {
  const std::lock_guard lock(mutex_);
  const auto at = [&](std::uint32_t s) -> std::optional<std::int64_t> {
    const auto found = values.find(s);
    return found == values.end() ? symbols_[s].hint : found->second;
  };
  const auto result = sym::evaluate(e, at);
  const auto* number = std::get_if<std::int64_t>(&result);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

bool ShapeEnv::holds(const std::unordered_map<std::uint32_t, std::int64_t>& values,
                     std::string* why) {
  const std::lock_guard lock(mutex_);
  settle_aside();
  const auto fail = [&](const std::string& text) {
    if (why != nullptr) {
      *why = text;
    }
    return false;
  };
  for (const auto& [index, given] : values) {
    const SymbolOptions& options = symbols_.at(index);
    if (!options.range.contains(given) || given % options.multiple_of != 0) {
      return fail(context_.symbols()[index].name + " = " + std::to_string(given) +
                  " is outside of its " + told(options));
    }
  }
  for (const Guard& guard : guards_) {
    const auto found = value(guard.condition, values);
    if (!found || *found == 0) {
      return fail(
          sym::print(guard.condition, context_) +
          (found ? " does not hold" : " has no value there") +
          (guard.origin.location.empty() ? "" : " (asked at " + guard.origin.location + ")"));
    }
  }
  return true;
}

void ShapeEnv::note(std::string text) {
  const std::lock_guard lock(mutex_);
  notes_.push_back(std::move(text));
}

std::vector<std::string> ShapeEnv::notes() {
  const std::lock_guard lock(mutex_);
  return notes_;
}

std::size_t ShapeEnv::memory() {
  const std::lock_guard lock(mutex_);
  return context_.memory();
}

}  // namespace massless::guard
