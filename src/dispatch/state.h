// What travels with a thread while a fake mode is on, and what every operator is counted by.
//
// The state hangs on c10::ThreadLocalDebugInfo, which autograd's device threads inherit from the
// thread that called backward(); a thread_local of ours would not travel there.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/ApproximateClock.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace massless {

class Ledger;
namespace guard {
class ShapeEnv;
}

// State of one open FakeMode, shared with the threads that inherit it.
struct ModeState final : c10::DebugInfoBase {
  std::optional<c10::Device> default_device;  // of factories that name none
  bool known_values = true;
  std::shared_ptr<Ledger> ledger;        // null: storages are not recorded
  std::shared_ptr<guard::ShapeEnv> env;  // null: no symbolic sizes are made here

  // Fake storage that stands for a real one, so that two views of a real storage share one.
  // Keyed by identity; the weak reference keeps the address from being used again.
  struct Twin {
    c10::weak_intrusive_ptr<c10::StorageImpl> real;
    c10::intrusive_ptr<c10::StorageImpl> fake;
  };
  std::mutex mutex;
  std::unordered_map<const c10::StorageImpl*, Twin> twins;
};

// Null outside every mode.
ModeState* current_mode() noexcept;

// Number of open modes with a ledger, in the whole process: the cheap first question.
inline std::atomic<int> recording_modes{0};
// The ledger of this thread's mode, or null.
Ledger* current_ledger() noexcept;

struct FakeModeOptions {
  std::optional<c10::Device> device;  // nullopt: the enclosing mode's, or cpu
  bool known_values = true;
  std::shared_ptr<Ledger> ledger;             // null: the enclosing mode's
  std::shared_ptr<guard::ShapeEnv> env = {};  // null: the enclosing mode's
};

// RAII: factories give fakes until the end of the scope. Nestable; on this thread and on the
// autograd threads that work for it.
class FakeMode {
 public:
  explicit FakeMode(const FakeModeOptions& options = {});
  ~FakeMode();
  FakeMode(const FakeMode&) = delete;
  FakeMode& operator=(const FakeMode&) = delete;
  ModeState& state() noexcept { return *state_; }

 private:
  std::shared_ptr<ModeState> state_;
  bool was_included_;
};

// The rungs of the ladder that can answer an operator (docs/how-it-works.md).
// `specialized` comes beside another one: a kernel asked for plain sizes, and guards fixed symbols.
enum class Rung : std::uint8_t {
  rule,
  composite,
  native_meta,
  python_meta,
  known,
  error,
  specialized
};
constexpr int kRungs = 7;
std::string_view rung_name(Rung rung) noexcept;

// Counts of one operator; lives as long as the process.
struct OpStat {
  explicit OpStat(std::string_view qualified_name);  // "aten::add.Tensor"
  const std::string name;
  std::array<std::atomic<std::uint64_t>, kRungs> calls{};
  std::atomic<std::uint64_t> ticks{0};  // c10::getApproximateTime
};

struct OpReport {
  std::string name;
  std::array<std::uint64_t, kRungs> calls;
  double seconds;
};
std::vector<OpReport> explain_ops();  // operators met since the last reset, by name
void reset_op_counts();
// Makes a rule known to explain_ops; called once by each rule at load time.
void register_rule_stat(OpStat* stat);
// Operators that have a rule, by name.
std::vector<std::string> rule_names();
OpStat& fallback_stat(std::string_view qualified_name);  // made on first use

// Counts for the innermost operator that it fixed a symbol; outside of all, nothing.
void note_specialized() noexcept;

// Innermost operator of ours now running on this thread; empty outside.
std::string_view current_operator() noexcept;

// RAII around one operator: counts it, times it, and names it for errors and the ledger.
class OpScope {
 public:
  OpScope(OpStat& stat, Rung rung) noexcept : stat_(stat), current_(current), outer_(current_) {
    current_ = &stat;
    const auto before =
        stat.calls[static_cast<std::size_t>(rung)].fetch_add(1, std::memory_order_relaxed);
    if (rung != Rung::rule || before < kAllTimed) {
      stands_for_ = 1;
    } else if (before % kOneTimedIn == 0) {
      stands_for_ = kOneTimedIn;
    }
    if (stands_for_ != 0) {
      start_ = c10::getApproximateTime();
    }
  }
  ~OpScope() {
    current_ = outer_;
    if (stands_for_ != 0) {
      stat_.ticks.fetch_add(stands_for_ * (c10::getApproximateTime() - start_),
                            std::memory_order_relaxed);
    }
  }
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

 private:
  friend std::string_view current_operator() noexcept;
  friend void note_specialized() noexcept;
  static constinit thread_local OpStat* current;
  // To read the clock twice takes a fifth of a rule's time. So of the calls of a rule the first are
  // timed, and of the later ones one in some, which stands for all of these.
  static constexpr std::uint64_t kAllTimed = 64;
  static constexpr std::uint64_t kOneTimedIn = 16;
  OpStat& stat_;
  OpStat*& current_;  // the thread's
  OpStat* outer_;
  std::uint64_t stands_for_ = 0;  // so many calls; 0: this one is not timed
  c10::approx_time_t start_ = 0;
};

// "file.py:12 in forward" of the user's code, from the provider that the binding installs; empty
// in a process without Python.
using LocationProvider = std::string (*)();
void set_location_provider(LocationProvider provider) noexcept;
std::string user_location();

}  // namespace massless
