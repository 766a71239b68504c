#include "dispatch/state.h"

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "dispatch/error.h"

namespace massless {
namespace {

constexpr std::string_view kModeName = "MASSLESS_MODE";
constexpr c10::DebugInfoKind kModeKind(&kModeName);

std::atomic<LocationProvider> location_provider{nullptr};

// All OpStat objects of the process. Leaked, so that counting works during shutdown.
struct Registry {
  std::mutex mutex;
  std::vector<OpStat*> rules;
  std::unordered_map<std::string, std::unique_ptr<OpStat>> fallbacks;
};
Registry& registry() {
  static auto* made = new Registry;
  return *made;
}

// Seconds in one tick of getApproximateTime, measured against the steady clock since load time.
struct TickClock {
  c10::approx_time_t ticks = c10::getApproximateTime();
  std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();
  double seconds_per_tick() const {
    const auto dt = std::chrono::duration<double>(std::chrono::steady_clock::now() - time).count();
    const auto ticks_passed = c10::getApproximateTime() - ticks;
    return ticks_passed > 0 ? dt / static_cast<double>(ticks_passed) : 0.0;
  }
};
const TickClock tick_clock;

OpReport report_of(const OpStat& stat, double seconds_per_tick) {
  OpReport report{stat.name, {}, static_cast<double>(stat.ticks.load()) * seconds_per_tick};
  for (int i = 0; i < kRungs; ++i) {
    report.calls[i] = stat.calls[i].load();
  }
  return report;
}

bool was_met(const OpReport& report) {
  return std::any_of(report.calls.begin(), report.calls.end(), [](auto n) { return n != 0; });
}

template <class F>
void for_each_stat(F&& f) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  for (OpStat* stat : all.rules) {
    f(*stat);
  }
  for (auto& entry : all.fallbacks) {
    f(*entry.second);
  }
}

}  // namespace

constinit thread_local OpStat* OpScope::current = nullptr;

std::string_view current_operator() noexcept {
  return OpScope::current == nullptr ? std::string_view{} : OpScope::current->name;
}

void note_specialized() noexcept {
  if (OpScope::current != nullptr) {
    OpScope::current->calls[static_cast<std::size_t>(Rung::specialized)].fetch_add(
        1, std::memory_order_relaxed);
  }
}

ModeState* current_mode() noexcept {
  return static_cast<ModeState*>(c10::ThreadLocalDebugInfo::get(kModeKind));
}

Ledger* current_ledger() noexcept {
  if (recording_modes.load(std::memory_order_relaxed) == 0) {
    return nullptr;
  }
  const ModeState* mode = current_mode();
  return mode == nullptr ? nullptr : mode->ledger.get();
}

FakeMode::FakeMode(const FakeModeOptions& options)
    : state_(std::make_shared<ModeState>()),
      was_included_(c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::Fake)) {
  const ModeState* outer = current_mode();
  state_->known_values = options.known_values;
  state_->default_device = options.device;
  state_->ledger = options.ledger;
  state_->env = options.env;
  if (outer != nullptr) {
    if (!state_->default_device) {
      state_->default_device = outer->default_device;
    }
    if (!state_->ledger) {
      state_->ledger = outer->ledger;
    }
    if (!state_->env) {
      state_->env = outer->env;
    }
  }
  if (state_->ledger) {
    recording_modes.fetch_add(1, std::memory_order_relaxed);
  }
  c10::ThreadLocalDebugInfo::_push(kModeKind, state_);
  c10::impl::tls_set_dispatch_key_included(c10::DispatchKey::Fake, true);
}

FakeMode::~FakeMode() {
  c10::impl::tls_set_dispatch_key_included(c10::DispatchKey::Fake, was_included_);
  c10::ThreadLocalDebugInfo::_pop(kModeKind);
  if (state_->ledger) {
    recording_modes.fetch_sub(1, std::memory_order_relaxed);
  }
}

std::string_view rung_name(Rung rung) noexcept {
  constexpr std::array<std::string_view, kRungs> names = {
      "rule", "composite", "native_meta", "python_meta", "known", "error", "specialized"};
  return names[static_cast<std::size_t>(rung)];
}

OpStat::OpStat(std::string_view qualified_name) : name(qualified_name) {}

void register_rule_stat(OpStat* stat) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  all.rules.push_back(stat);
}

OpStat& fallback_stat(std::string_view qualified_name) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  auto& slot = all.fallbacks[std::string(qualified_name)];
  if (!slot) {
    slot = std::make_unique<OpStat>(qualified_name);
  }
  return *slot;
}

std::vector<OpReport> explain_ops() {
  const double scale = tick_clock.seconds_per_tick();
  std::vector<OpReport> met;
  for_each_stat([&](const OpStat& stat) {
    OpReport report = report_of(stat, scale);
    if (was_met(report)) {
      met.push_back(std::move(report));
    }
  });
  std::sort(met.begin(), met.end(), [](auto& a, auto& b) { return a.name < b.name; });
  return met;
}

void reset_op_counts() {
  for_each_stat([](OpStat& stat) {
    for (auto& n : stat.calls) {
      n.store(0);
    }
    stat.ticks.store(0);
  });
}

std::vector<std::string> rule_names() {
  Registry& all = registry();
  std::vector<std::string> names;
  {
    std::lock_guard lock(all.mutex);
    for (const OpStat* stat : all.rules) {
      names.push_back(stat->name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

void set_location_provider(LocationProvider provider) noexcept {
  location_provider.store(provider);
}

std::string user_location() {
  LocationProvider provider = location_provider.load();
  return provider == nullptr ? std::string{} : provider();
}

}  // namespace massless
