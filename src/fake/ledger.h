// Birth, growth and death of every fake storage: the allocation history of the eager run without
// the allocation. The program's own reference counts end lifetimes.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/SymInt.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "guard/shape_env.h"

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

// Numbers are those of the example; where they depend on symbols, the expression stands beside them
// (of Ledger::env), else null. That of a death is of the bytes freed.
struct LedgerEvent {
  EventKind kind;
  bool in_backward;             // autograd's engine was evaluating a node
  std::uint32_t storage;        // index into Ledger::storages(); of a mark: its user value
  std::int64_t bytes;           // change of the live total (negative for a death)
  std::int64_t live;            // live total after the event
  std::uint32_t op;             // index into Ledger::names()
  sym::Expr formula = nullptr;  // of |bytes|, or of the growth
};

struct StorageRecord {
  std::int64_t bytes = 0;
  sym::Expr formula = nullptr;  // of `bytes`
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

// Counts of one phase: those without symbols, and how often each symbolic count was met.
struct FlopCount {
  std::int64_t plain = 0;
  std::vector<std::pair<sym::Expr, std::int64_t>> symbolic;  // in the order they were met
  std::int64_t total = 0;                                    // at the example
};
struct Flops {
  FlopCount forward;
  FlopCount backward;
};

// Thread-safe: autograd's device threads write to it too. The first symbolic number brings its
// environment, and one of another environment is `foreign_symbol`; a size without an example
// (unbacked) is an error, since a guessed number would be none.
class Ledger {
 public:
  Ledger();

  std::uint32_t birth(const c10::SymInt& bytes, c10::Device device);
  void resize(std::uint32_t storage, const c10::SymInt& bytes);
  void death(std::uint32_t storage);
  void mark(std::uint32_t value);  // a point in time of the caller's meaning

  void count_flops(const c10::SymInt& flops);
  std::shared_ptr<guard::ShapeEnv> env() const;  // null: nothing is symbolic

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

  struct Amount {
    std::int64_t bytes;
    sym::Expr formula;  // null: `bytes` is it
  };
  Amount amount_of(const c10::SymInt& number);
  Amount difference(Amount now, Amount before);
  std::uint32_t intern(std::string text);
  void push(EventKind kind, std::uint32_t storage, Amount change);
  void place(StorageRecord& record, Place where);

  mutable std::mutex mutex_;
  std::vector<LedgerEvent> events_;
  std::vector<StorageRecord> storages_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> name_ids_;
  std::int64_t live_ = 0;
  std::int64_t peak_ = 0;
  Flops flops_;
  std::shared_ptr<guard::ShapeEnv> env_;
  std::vector<ForwardPlace> forward_places_;  // by sequence number, of one thread
};

// Adds to the current ledger, which must be open.
void count_flops(const c10::SymInt& flops);

}  // namespace massless
