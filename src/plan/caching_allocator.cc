#include <algorithm>
#include <cstddef>
#include <iterator>
#include <list>
#include <set>
#include <unordered_map>

#include "plan/analysis.h"

namespace massless {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kMinBlock = 512;  // every size is a multiple of it
constexpr std::int64_t kSmall = kMiB;    // the largest "small" block
constexpr std::int64_t kSmallSegment = 2 * kMiB;
constexpr std::int64_t kLargeSegment = 20 * kMiB;  // for blocks below kMinLarge
constexpr std::int64_t kMinLarge = 10 * kMiB;
constexpr std::int64_t kRoundLarge = 2 * kMiB;

std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

struct Block {
  std::int64_t address;
  std::int64_t size;
  bool free;
};
using Segment = std::list<Block>;
using BlockRef = Segment::iterator;

struct SmallerFirst {
  bool operator()(const BlockRef& a, const BlockRef& b) const {
    return a->size != b->size ? a->size < b->size : a->address < b->address;
  }
};

// One of the two pools: small blocks and large ones never share a segment.
class Pool {
 public:
  explicit Pool(bool small) : small_(small) {}

  BlockRef allocate(std::int64_t size, std::int64_t& reserved, std::int64_t& next_address) {
    const BlockRef best = best_fit(size);
    if (best != none_.end()) {
      free_.erase(best);
      best->free = false;
      split(best, size);
      return best;
    }
    const std::int64_t segment = segment_size(size);
    reserved += segment;
    segments_.push_back({{next_address, segment, false}});
    const BlockRef block = segments_.back().begin();
    owner_[block->address] = std::prev(segments_.end());
    next_address += segment + kMinBlock;  // segments are never neighbours
    split(block, size);
    return block;
  }

  void release(BlockRef block) {
    Segment& segment = *owner_.at(block->address);
    block->free = true;
    if (block != segment.begin() && std::prev(block)->free) {
      const BlockRef before = std::prev(block);
      free_.erase(before);
      before->size += block->size;
      forget(segment, block);
      block = before;
    }
    if (const BlockRef after = std::next(block); after != segment.end() && after->free) {
      free_.erase(after);
      block->size += after->size;
      forget(segment, after);
    }
    free_.insert(block);
  }

 private:
  std::int64_t segment_size(std::int64_t size) const {
    if (small_) {
      return kSmallSegment;
    }
    return size < kMinLarge ? kLargeSegment : round_up(size, kRoundLarge);
  }

  BlockRef best_fit(std::int64_t size) {
    none_.assign(1, {-1, size, false});
    const auto it = free_.lower_bound(none_.begin());
    return it == free_.end() ? none_.end() : *it;
  }

  void split(BlockRef block, std::int64_t size) {
    const std::int64_t rest = block->size - size;
    if (rest < kMinBlock || (!small_ && rest <= kSmall)) {
      return;
    }
    const auto segment = owner_.at(block->address);
    block->size = size;
    const BlockRef tail = segment->insert(std::next(block), {block->address + size, rest, true});
    owner_[tail->address] = segment;
    free_.insert(tail);
  }

  void forget(Segment& segment, BlockRef block) {
    owner_.erase(block->address);
    segment.erase(block);
  }

  bool small_;
  std::list<Segment> segments_;
  std::unordered_map<std::int64_t, std::list<Segment>::iterator> owner_;  // by block address
  std::set<BlockRef, SmallerFirst> free_;
  Segment none_;  // holds the key of a search
};

}  // namespace

std::int64_t caching_allocator_bytes(const std::vector<LedgerEvent>& events,
                                     const std::vector<StorageRecord>& storages,
                                     c10::DeviceType device) {
  Pool small(true);
  Pool large(false);
  struct Held {
    Pool* pool;
    BlockRef block;
  };
  std::unordered_map<std::uint32_t, Held> held;
  std::vector<std::int64_t> bytes(storages.size(), 0);
  std::int64_t reserved = 0;
  std::int64_t next_address = 0;
  for (const LedgerEvent& event : events) {
    if (!counts(event, storages, device)) {
      continue;
    }
    bytes[event.storage] += event.bytes;
    const std::int64_t size = round_up(bytes[event.storage], kMinBlock);
    // A storage that grows holds both blocks while its bytes are copied.
    Held made{nullptr, {}};
    if (size > 0) {
      Pool& pool = size <= kSmall ? small : large;
      made = {&pool, pool.allocate(size, reserved, next_address)};
    }
    if (const auto it = held.find(event.storage); it != held.end()) {
      it->second.pool->release(it->second.block);
      held.erase(it);
    }
    if (made.pool != nullptr) {
      held.emplace(event.storage, made);
    }
  }
  return reserved;
}

}  // namespace massless
