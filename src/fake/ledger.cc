#include "fake/ledger.h"

#include <ATen/SequenceNumber.h>
#include <torch/csrc/autograd/node.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "dispatch/state.h"

namespace massless {
namespace {

std::atomic<PlaceProvider> place_provider{nullptr};

bool in_backward() { return torch::autograd::get_current_node().defined(); }

}  // namespace

void set_place_provider(PlaceProvider provider) noexcept { place_provider.store(provider); }

Ledger::Ledger() { intern(""); }

std::uint32_t Ledger::intern(std::string text) {
  const auto [it, added] =
      name_ids_.emplace(std::move(text), static_cast<std::uint32_t>(names_.size()));
  if (added) {
    names_.push_back(it->first);
  }
  return it->second;
}

void Ledger::push(EventKind kind, std::uint32_t storage, std::int64_t bytes) {
  live_ += bytes;
  peak_ = std::max(peak_, live_);
  const std::uint32_t op = intern(std::string(current_operator()));
  if (kind == EventKind::birth) {
    storages_[storage].op = op;
  }
  events_.push_back({kind, in_backward(), storage, bytes, live_, op});
}

// In the backward the user's line is that of backward(); the module is the one whose forward made
// the node. A node takes its number before its operator runs, so the operator's own birth is the
// first one with a larger number.
void Ledger::place(StorageRecord& record, Place where) {
  record.location = intern(std::move(where.line));
  record.module = intern(std::move(where.module));
  const auto node = torch::autograd::get_current_node();
  if (!node) {
    const std::uint64_t sequence = at::sequence_number::peek();
    if (forward_places_.empty() || forward_places_.back().sequence < sequence) {
      forward_places_.push_back({sequence, record.module, record.location});
    }
    return;
  }
  const auto it = std::upper_bound(
      forward_places_.begin(), forward_places_.end(), node->sequence_nr(),
      [](std::uint64_t sequence, const ForwardPlace& p) { return sequence < p.sequence; });
  if (it != forward_places_.end()) {
    record.module = it->module;
    record.location = it->location;
  }
}

std::uint32_t Ledger::birth(std::int64_t bytes, c10::Device device) {
  PlaceProvider provider = place_provider.load();
  Place where = provider == nullptr ? Place{} : provider();  // may take the GIL: before our lock
  std::lock_guard lock(mutex_);
  const auto id = static_cast<std::uint32_t>(storages_.size());
  StorageRecord record;
  record.bytes = bytes;
  record.device = device;
  place(record, std::move(where));
  storages_.push_back(record);
  push(EventKind::birth, id, bytes);
  return id;
}

void Ledger::resize(std::uint32_t storage, std::int64_t bytes) {
  std::lock_guard lock(mutex_);
  const std::int64_t change = bytes - storages_[storage].bytes;
  storages_[storage].bytes = bytes;
  push(EventKind::growth, storage, change);
}

void Ledger::death(std::uint32_t storage) {
  std::lock_guard lock(mutex_);
  push(EventKind::death, storage, -storages_[storage].bytes);
}

void Ledger::mark(std::uint32_t value) {
  std::lock_guard lock(mutex_);
  push(EventKind::mark, value, 0);
}

void Ledger::count_flops(std::int64_t flops) {
  std::lock_guard lock(mutex_);
  (in_backward() ? flops_.backward : flops_.forward) += flops;
}

Flops Ledger::flops() const {
  std::lock_guard lock(mutex_);
  return flops_;
}

void Ledger::set_kind(std::uint32_t storage, StorageKind kind) {
  std::lock_guard lock(mutex_);
  storages_.at(storage).kind = kind;
}

void Ledger::set_name(std::uint32_t storage, const std::string& name) {
  std::lock_guard lock(mutex_);
  storages_.at(storage).name = intern(name);
}

std::int64_t Ledger::live_bytes() const {
  std::lock_guard lock(mutex_);
  return live_;
}

std::int64_t Ledger::peak_bytes() const {
  std::lock_guard lock(mutex_);
  return peak_;
}

void Ledger::reset_peak() {
  std::lock_guard lock(mutex_);
  peak_ = live_;
}

std::uint32_t Ledger::size() const {
  std::lock_guard lock(mutex_);
  return static_cast<std::uint32_t>(events_.size());
}

std::vector<LedgerEvent> Ledger::events() const {
  std::lock_guard lock(mutex_);
  return events_;
}

std::vector<StorageRecord> Ledger::storages() const {
  std::lock_guard lock(mutex_);
  return storages_;
}

std::vector<std::string> Ledger::names() const {
  std::lock_guard lock(mutex_);
  return names_;
}

void count_flops(const c10::SymInt& flops) {
  const auto plain = flops.maybe_as_int();
  current_ledger()->count_flops(plain ? *plain : flops.guard_int(__FILE__, __LINE__));
}

}  // namespace massless
