#include "fake/ledger.h"

#include <algorithm>
#include <utility>

#include "dispatch/state.h"

namespace massless {

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
  std::uint32_t location = 0;
  if (kind == EventKind::birth) {
    storages_[storage].op = op;
    location = storages_[storage].location;
  }
  events_.push_back({kind, storage, bytes, live_, op, location});
}

std::uint32_t Ledger::birth(std::int64_t bytes, c10::Device device) {
  std::string where = user_location();  // may take the GIL: before our lock
  std::lock_guard lock(mutex_);
  const auto id = static_cast<std::uint32_t>(storages_.size());
  StorageRecord record;
  record.bytes = bytes;
  record.device = device;
  record.location = intern(std::move(where));
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

}  // namespace massless
