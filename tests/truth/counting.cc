// massless_truth (tests only): a CPU allocator that counts live bytes, and an observer that notes
// them at the end of every top-level operator, of a real run and of a fake one alike. Also what
// numbers.h has.
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dispatch/state.h"
#include "fake/ledger.h"
#include "numbers.h"

namespace massless::truth {
namespace {

namespace py = pybind11;

// Wraps torch's own CPU allocator; every block is counted with the bytes that were asked for.
class CountingAllocator final : public c10::Allocator {
 public:
  explicit CountingAllocator(c10::Allocator* inner) : inner_(inner) {}

  c10::DataPtr allocate(std::size_t nbytes) override {
    c10::DataPtr data = inner_->allocate(nbytes);
    void* pointer = data.get();
    if (pointer == nullptr) {
      return data;
    }
    {
      const std::lock_guard lock(mutex_);
      sizes_[pointer] = nbytes;
    }
    const std::int64_t live =
        live_.fetch_add(static_cast<std::int64_t>(nbytes)) + static_cast<std::int64_t>(nbytes);
    std::int64_t peak = peak_.load();
    while (live > peak && !peak_.compare_exchange_weak(peak, live)) {
    }
    data.release_context();
    return {pointer, pointer, &CountingAllocator::free, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &CountingAllocator::free; }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    inner_->copy_data(to, from, count);
  }
  std::int64_t live() const { return live_.load(); }
  std::int64_t peak() const { return peak_.load(); }
  void reset_peak() { peak_.store(live_.load()); }

  static CountingAllocator& installed() {
    static auto* made = [] {
      auto* allocator = new CountingAllocator(c10::GetDefaultCPUAllocator());
      c10::SetCPUAllocator(allocator, /*priority=*/100);
      return allocator;
    }();
    return *made;
  }

 private:
  static void free(void* pointer) {
    CountingAllocator& self = installed();
    std::size_t nbytes = 0;  // stays 0 for a block that is older than this allocator
    {
      const std::lock_guard lock(self.mutex_);
      if (const auto it = self.sizes_.find(pointer); it != self.sizes_.end()) {
        nbytes = it->second;
        self.sizes_.erase(it);
      }
    }
    self.live_.fetch_sub(static_cast<std::int64_t>(nbytes));
    self.inner_->raw_deleter()(pointer);
  }

  c10::Allocator* inner_;
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;
  std::atomic<std::int64_t> live_{0};
  std::atomic<std::int64_t> peak_{0};
};

// What this thread's run holds: the ledger under a fake mode that has one, else the allocator.
std::int64_t live_now() {
  const Ledger* ledger = current_ledger();
  return ledger != nullptr ? ledger->live_bytes() : CountingAllocator::installed().live();
}
std::int64_t peak_now() {
  const Ledger* ledger = current_ledger();
  return ledger != nullptr ? ledger->peak_bytes() : CountingAllocator::installed().peak();
}
void reset_peak() {
  if (Ledger* ledger = current_ledger()) {
    ledger->reset_peak();
  } else {
    CountingAllocator::installed().reset_peak();
  }
}

// An operator's name, the live bytes at its end, and the most that were live meanwhile.
using Sample = std::tuple<std::string, std::int64_t, std::int64_t>;
std::vector<Sample> samples;
thread_local int depth = 0;

struct Entered final : at::ObserverContext {};

// A node of the backward is no operator: the operators inside it are looked at one by one.
bool is_operator(const at::RecordFunction& fn) { return fn.operator_name().has_value(); }

std::unique_ptr<at::ObserverContext> on_enter(const at::RecordFunction& fn) {
  if (is_operator(fn) && depth++ == 0) {
    reset_peak();
  }
  return std::make_unique<Entered>();
}

// torch.tensor(...) fills a real tensor with the Fake key excluded and lifts it then: what it calls
// meanwhile is the inside of one operator of the program, on fakes and for real alike.
void on_exit(const at::RecordFunction& fn, at::ObserverContext*) {
  if (is_operator(fn) && --depth == 0 &&
      !c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::Fake)) {
    samples.emplace_back(fn.name(), live_now(), peak_now());
  }
}

at::CallbackHandle handle = 0;

void start() {
  samples.clear();
  samples.emplace_back("start", live_now(), live_now());
  handle = at::addGlobalCallback(
      at::RecordFunctionCallback(&on_enter, &on_exit).scopes({at::RecordScope::FUNCTION}));
}

auto stop() {
  at::removeCallback(handle);
  samples.emplace_back("stop", live_now(), live_now());
  return std::exchange(samples, {});
}

}  // namespace

PYBIND11_MODULE(massless_truth, m) {
  m.def("install", [] { CountingAllocator::installed(); });
  m.def("live", [] { return CountingAllocator::installed().live(); });
  m.def("start", &start);
  m.def("stop", &stop);
  m.def("watch_placeholders", &watch_placeholders);
  m.def("placeholders_seen", &placeholders_seen);
}

}  // namespace massless::truth
