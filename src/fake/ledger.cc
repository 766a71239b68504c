#include "fake/ledger.h"

#include <ATen/SequenceNumber.h>
#include <torch/csrc/autograd/node.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "dispatch/error.h"
#include "dispatch/state.h"
#include "dispatch/sym_node.h"

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

// Takes the environment's lock and ours, one after the other: never one inside the other.
Ledger::Amount Ledger::amount_of(const c10::SymInt& number) {
  if (const auto plain = number.maybe_as_int(); C10_LIKELY(plain.has_value())) {
    return {*plain, nullptr};
  }
  const ExprNode* node = expr_node(number);
  if (node == nullptr) {
    raise(ErrorCode::foreign_symbol,
          "the size " + number.toSymNode()->str() + " is a symbol of another library");
  }
  const auto hint = with_sym_errors([&] { return node->env()->hint(node->expr()); });
  if (!hint) {
    raise(ErrorCode::unbacked, "the plan met the number " + node->env()->print(node->expr()) +
                                   ", which has no value for the example");
  }
  std::lock_guard lock(mutex_);
  if (env_ != nullptr && env_ != node->env()) {
    raise(ErrorCode::foreign_symbol, "the size " + node->env()->print(node->expr()) +
                                         " of another ShapeEnv met the plan's sizes");
  }
  env_ = node->env();
  return {*hint, node->expr()};
}

Ledger::Amount Ledger::difference(Amount now, Amount before) {
  const std::int64_t bytes = now.bytes - before.bytes;
  if (now.formula == nullptr && before.formula == nullptr) {
    return {bytes, nullptr};
  }
  const auto env = this->env();
  const auto as_expr = [&](const Amount& a) {
    return a.formula != nullptr ? a.formula : env->integer(a.bytes);
  };
  sym::Expr change = with_sym_errors([&] {
    return env->with_builder(
        [&](const sym::Builder& build) { return build.sub(as_expr(now), as_expr(before)); });
  });
  return {bytes, change->is_constant() ? nullptr : change};
}

void Ledger::push(EventKind kind, std::uint32_t storage, Amount change) {
  live_ += change.bytes;
  peak_ = std::max(peak_, live_);
  const std::uint32_t op = intern(std::string(current_operator()));
  if (kind == EventKind::birth) {
    storages_[storage].op = op;
  }
  events_.push_back({kind, in_backward(), storage, change.bytes, live_, op, change.formula});
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

std::uint32_t Ledger::birth(const c10::SymInt& bytes, c10::Device device) {
  const Amount amount = amount_of(bytes);
  PlaceProvider provider = place_provider.load();
  Place where = provider == nullptr ? Place{} : provider();  // may take the GIL: before our lock
  std::lock_guard lock(mutex_);
  const auto id = static_cast<std::uint32_t>(storages_.size());
  StorageRecord record;
  record.bytes = amount.bytes;
  record.formula = amount.formula;
  record.device = device;
  place(record, std::move(where));
  storages_.push_back(record);
  push(EventKind::birth, id, amount);
  return id;
}

void Ledger::resize(std::uint32_t storage, const c10::SymInt& bytes) {
  const Amount now = amount_of(bytes);
  Amount before{};
  {
    std::lock_guard lock(mutex_);
    before = {storages_[storage].bytes, storages_[storage].formula};
  }
  const Amount change = difference(now, before);
  std::lock_guard lock(mutex_);
  storages_[storage].bytes = now.bytes;
  storages_[storage].formula = now.formula;
  push(EventKind::growth, storage, change);
}

// The formula of a death is the negative of the storage's, which it need not have itself: a
// destructor builds no expressions.
void Ledger::death(std::uint32_t storage) {
  std::lock_guard lock(mutex_);
  const StorageRecord& record = storages_[storage];
  push(EventKind::death, storage, {-record.bytes, record.formula});
}

void Ledger::mark(std::uint32_t value) {
  std::lock_guard lock(mutex_);
  push(EventKind::mark, value, {0, nullptr});
}

void Ledger::count_flops(const c10::SymInt& flops) {
  const Amount amount = amount_of(flops);
  std::lock_guard lock(mutex_);
  FlopCount& count = in_backward() ? flops_.backward : flops_.forward;
  if (__builtin_add_overflow(count.total, amount.bytes, &count.total)) {
    raise(ErrorCode::sym_overflow, "the number of floating-point operations does not fit");
  }
  if (amount.formula == nullptr) {
    count.plain += amount.bytes;  // no more than the total
    return;
  }
  const auto same = std::find_if(count.symbolic.begin(), count.symbolic.end(),
                                 [&](const auto& one) { return one.first == amount.formula; });
  if (same != count.symbolic.end()) {
    ++same->second;
  } else {
    count.symbolic.emplace_back(amount.formula, 1);
  }
}

std::shared_ptr<guard::ShapeEnv> Ledger::env() const {
  std::lock_guard lock(mutex_);
  return env_;
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

void count_flops(const c10::SymInt& flops) { current_ledger()->count_flops(flops); }

}  // namespace massless
