// Birth, growth and death of every fake storage: the allocation history of the eager run without
// the allocation. The program's own reference counts end lifetimes.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/SymInt.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace massless {

// What a storage is for, at its birth or as told later (plan/).
enum class StorageKind : std::uint8_t {
  temporary,
  parameter,
  gradient,
  optimizer_state,
  activation,
  buffer,
  input
};
constexpr int kStorageKinds = 7;

enum class EventKind : std::uint8_t { birth, growth, death, mark };

struct LedgerEvent {
  EventKind kind;
  bool in_backward;       // autograd's engine was evaluating a node
  std::uint32_t storage;  // index into Ledger::storages(); of a mark: its user value
  std::int64_t bytes;     // change of the live total (negative for a death)
  std::int64_t live;      // live total after the event
  std::uint32_t op;       // index into Ledger::names()
};

struct StorageRecord {
  std::int64_t bytes = 0;
  StorageKind kind = StorageKind::temporary;
  c10::Device device{c10::DeviceType::CPU};
  std::uint32_t op = 0;        // the operator that made it
  std::uint32_t module = 0;    // path of the module whose forward made it, or is differentiated
  std::uint32_t location = 0;  // the user's line
  std::uint32_t name = 0;      // of a parameter or buffer, else the empty name
};

// The place in the user's program where a storage is made, from a provider that the binding
// installs; empty in a process without Python.
struct Place {
  std::string module;
  std::string line;
};
using PlaceProvider = Place (*)();
void set_place_provider(PlaceProvider provider) noexcept;

struct Flops {
  std::int64_t forward = 0;
  std::int64_t backward = 0;
};

// Thread-safe: autograd's device threads write to it too.
class Ledger {
 public:
  Ledger();

  std::uint32_t birth(std::int64_t bytes, c10::Device device);
  void resize(std::uint32_t storage, std::int64_t bytes);
  void death(std::uint32_t storage);
  void mark(std::uint32_t value);  // a point in time of the caller's meaning

  void count_flops(std::int64_t flops);

  void set_kind(std::uint32_t storage, StorageKind kind);
  void set_name(std::uint32_t storage, const std::string& name);
  std::int64_t live_bytes() const;
  std::int64_t peak_bytes() const;  // since the start, or the last reset
  void reset_peak();
  std::uint32_t size() const;  // number of events so far

  // Copies, so that the program may go on meanwhile.
  std::vector<LedgerEvent> events() const;
  std::vector<StorageRecord> storages() const;
  std::vector<std::string> names() const;
  Flops flops() const;

 private:
  // Where a node of the backward was made: the first forward birth after its sequence number.
  struct ForwardPlace {
    std::uint64_t sequence;
    std::uint32_t module;
    std::uint32_t location;
  };

  std::uint32_t intern(std::string text);
  void push(EventKind kind, std::uint32_t storage, std::int64_t bytes);
  void place(StorageRecord& record, Place where);

  mutable std::mutex mutex_;
  std::vector<LedgerEvent> events_;
  std::vector<StorageRecord> storages_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> name_ids_;
  std::int64_t live_ = 0;
  std::int64_t peak_ = 0;
  Flops flops_;
  std::vector<ForwardPlace> forward_places_;  // by sequence number, of one thread
};

// Adds to the current ledger, which must be open; a symbolic count is taken at its hint.
void count_flops(const c10::SymInt& flops);

}  // namespace massless
