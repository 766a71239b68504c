#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>

#include "sym/checked.h"
#include "sym/expr.h"

namespace massless::sym {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16;
constexpr std::size_t kCache = std::size_t{1} << 12;

std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
  h ^= v + 0x9E3779B97F4A7C15ULL + (h << 6) + (h >> 2);
  h *= 0xFF51AFD7ED558CCDULL;
  return h ^ (h >> 32);
}

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t h = 0xCBF29CE484222325ULL;
  for (const char c : text) {
    h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  }
  return h;
}

Range sum_range(std::span<const Term> terms) {
  Range all = Range::point(0);
  for (const Term& t : terms) {
    const Range one = t.monomial == nullptr ? Range::point(t.coefficient)
                                            : range_scale(t.monomial->range, t.coefficient);
    all = range_add(all, one);
  }
  return all;
}

Range product_range(std::span<const Factor> factors) {
  Range all = Range::point(1);
  for (const Factor& f : factors) {
    all = range_mul(all, range_pow(f.atom->range, f.exponent));
  }
  return all;
}

bool is_name(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto more = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.'; };
  // What the parser takes for something else.
  constexpr std::array<std::string_view, 7> kWords{"True", "False", "and", "or",
                                                   "not",  "nan",   "inf"};
  return !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), more) &&
         std::find(kWords.begin(), kWords.end(), name) == kWords.end();
}

}  // namespace

// What decides identity; `payload` is compared bytewise.
struct Context::Key {
  Op op;
  Type type;
  std::uint32_t count;
  std::span<const std::byte> payload;
  std::uint64_t hash;
  Range range;
  bool has_symbols;

  bool matches(Expr e) const {
    return e->hash == hash && e->op == op && e->count == count && e->type == type &&
           std::memcmp(e + 1, payload.data(), payload.size()) == 0;
  }
};

Terms::Terms(Expr e) : single_{1, e} {
  if (e->op == Op::add) {
    view_ = e->terms();
  } else if (e->is_constant(0)) {
    view_ = {};
  } else {
    if (e->is_constant()) {
      single_ = {e->value(), nullptr};
    }
    view_ = {&single_, 1};
  }
}

std::int64_t Terms::constant() const {
  return !view_.empty() && view_[0].monomial == nullptr ? view_[0].coefficient : 0;
}

std::span<const Term> Terms::variable() const& {
  return !view_.empty() && view_[0].monomial == nullptr ? view_.subspan(1) : view_;
}

Factors::Factors(Expr monomial) : single_{monomial, 1} {
  view_ = monomial->op == Op::mul ? monomial->factors() : std::span<const Factor>(&single_, 1);
}

Context::Context() : table_(1024, nullptr), cache_(kCache) {
  small_.resize(2 * kSmall + 1, nullptr);
  false_ = boolean(false);
  true_ = boolean(true);
}

Context::~Context() = default;

Node* Context::allocate(std::size_t payload_bytes) {
  const std::size_t bytes = sizeof(Node) + payload_bytes;
  if (block_used_ + bytes > block_size_) {
    block_size_ = std::max(kBlock, bytes);
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(block_size_));
    block_used_ = 0;
    held_ += block_size_;
  }
  std::byte* at = blocks_.back().get() + block_used_;
  block_used_ += bytes;
  return new (at) Node;
}

void Context::grow() {
  std::vector<Expr> larger(table_.size() * 2, nullptr);
  const std::size_t mask = larger.size() - 1;
  for (Expr e : table_) {
    if (e != nullptr) {
      std::size_t at = e->hash & mask;
      while (larger[at] != nullptr) {
        at = (at + 1) & mask;
      }
      larger[at] = e;
    }
  }
  table_.swap(larger);
}

Expr Context::intern(const Key& key) {
  std::size_t mask = table_.size() - 1;
  std::size_t at = key.hash & mask;
  for (; table_[at] != nullptr; at = (at + 1) & mask) {
    if (key.matches(table_[at])) {
      return table_[at];
    }
  }
  if (count_ >= std::numeric_limits<std::uint32_t>::max() - 1) {
    throw SymError(ErrorCode::sym_overflow, "an environment holds 2^32 expressions");
  }
  Node* made = allocate(key.payload.size());
  made->hash = key.hash;
  made->range = key.range;
  made->id = static_cast<std::uint32_t>(count_);
  made->count = key.count;
  made->op = key.op;
  made->type = key.type;
  made->has_symbols = key.has_symbols;
  std::memcpy(static_cast<void*>(made + 1), key.payload.data(), key.payload.size());
  table_[at] = made;
  ++count_;
  if (count_ * 4 > table_.size() * 3) {
    grow();
  }
  return made;
}

namespace {

template <class T>
std::span<const std::byte> bytes_of(std::span<const T> items) {
  return std::as_bytes(items);
}

}  // namespace

Expr Context::integer(std::int64_t value) {
  const bool small = value >= -kSmall && value <= kSmall;
  if (small && small_[static_cast<std::size_t>(value + kSmall)] != nullptr) {
    return small_[static_cast<std::size_t>(value + kSmall)];
  }
  const std::uint64_t h =
      mix(static_cast<std::uint64_t>(Op::constant), static_cast<std::uint64_t>(value));
  Expr e = intern({Op::constant,
                   Type::integer,
                   1,
                   bytes_of(std::span<const std::int64_t>(&value, 1)),
                   h,
                   {value, value},
                   false});
  if (small) {
    small_[static_cast<std::size_t>(value + kSmall)] = e;
  }
  return e;
}

Expr Context::boolean(bool value) {
  if (true_ != nullptr) {
    return value ? true_ : false_;
  }
  const std::int64_t bits = value ? 1 : 0;
  return intern({Op::truth,
                 Type::boolean,
                 1,
                 bytes_of(std::span<const std::int64_t>(&bits, 1)),
                 mix(static_cast<std::uint64_t>(Op::truth), value ? 1 : 0),
                 {bits, bits},
                 false});
}

Expr Context::real_bits(std::int64_t bits) {
  return intern(
      {Op::real_constant, Type::real, 1, bytes_of(std::span<const std::int64_t>(&bits, 1)),
       mix(static_cast<std::uint64_t>(Op::real_constant), static_cast<std::uint64_t>(bits)),
       Range::all(), false});
}

Expr Context::find_symbol(std::string_view name) const {
  const auto found = names_.find(std::string(name));
  return found == names_.end() ? nullptr : found->second;
}

Expr Context::symbol(std::string_view name, Range range) {
  if (!is_name(name)) {
    throw SymError(ErrorCode::bad_argument,
                   "\"" + std::string(name) + "\" is no name for a symbol");
  }
  if (range.lo > range.hi) {
    throw SymError(ErrorCode::contradiction, "the symbol " + std::string(name) + " has the range " +
                                                 to_string(range) + ", which holds no number");
  }
  range.lo = std::min(range.lo, Range::kPlusInf - 1);
  range.hi = std::max(range.hi, Range::kMinusInf + 1);
  if (Expr found = find_symbol(name)) {
    if (found->range != range) {
      throw SymError(ErrorCode::bad_argument, "the symbol " + std::string(name) +
                                                  " has the range " + to_string(found->range) +
                                                  " already, and now " + to_string(range));
    }
    return found;
  }
  const auto index = static_cast<std::int64_t>(symbols_.size());
  Expr made =
      intern({Op::symbol, Type::integer, 1, bytes_of(std::span<const std::int64_t>(&index, 1)),
              mix(hash_text(name), static_cast<std::uint64_t>(Op::symbol)), range, true});
  symbols_.push_back({std::string(name), range, made});
  names_.emplace(name, made);
  return made;
}

Expr Context::raw_sum(std::span<const Term> terms) {
  std::uint64_t h = static_cast<std::uint64_t>(Op::add);
  // The order of terms is by id, which is not the same in every run: their hashes are summed.
  std::uint64_t all = 0;
  bool symbols = false;
  for (const Term& t : terms) {
    all += mix(static_cast<std::uint64_t>(t.coefficient),
               t.monomial == nullptr ? 0 : t.monomial->hash);
    symbols |= t.monomial != nullptr && t.monomial->has_symbols;
  }
  h = mix(h, all);
  return intern({Op::add, Type::integer, static_cast<std::uint32_t>(terms.size()), bytes_of(terms),
                 h, sum_range(terms), symbols});
}

Expr Context::raw_product(std::span<const Factor> factors) {
  std::uint64_t all = 0;
  bool symbols = false;
  for (const Factor& f : factors) {
    all += mix(f.exponent, f.atom->hash);
    symbols |= f.atom->has_symbols;
  }
  return intern({Op::mul, Type::integer, static_cast<std::uint32_t>(factors.size()),
                 bytes_of(factors), mix(static_cast<std::uint64_t>(Op::mul), all),
                 product_range(factors), symbols});
}

Expr Context::raw(Op op, std::span<const Expr> operands, Range range) {
  const bool ordered =
      op == Op::min || op == Op::max || op == Op::logical_and || op == Op::logical_or;
  std::uint64_t h = static_cast<std::uint64_t>(op) + 101;
  std::uint64_t all = 0;
  bool symbols = false;
  for (Expr e : operands) {
    if (ordered) {  // by id: see raw_sum
      all += mix(7, e->hash);
    } else {
      h = mix(h, e->hash);
    }
    symbols |= e->has_symbols;
  }
  h = ordered ? mix(h, all) : h;
  Type type = op_info(op).result;
  return intern({op, type, static_cast<std::uint32_t>(operands.size()), bytes_of(operands), h,
                 range, symbols});
}

std::size_t Context::memory() const {
  // NOLINTNEXTLINE(bugprone-sizeof-expression): the table holds pointers
  return held_ + table_.size() * sizeof(Expr) + cache_.size() * sizeof(CacheEntry) +
         symbols_.size() * sizeof(SymbolInfo);
}

bool Context::owns(Expr e) const {
  const std::size_t mask = table_.size() - 1;
  for (std::size_t at = e->hash & mask; table_[at] != nullptr; at = (at + 1) & mask) {
    if (table_[at] == e) {
      return true;
    }
  }
  return false;
}

Context::CacheEntry& Context::cached(Op op, Expr a, Expr b) {
  const std::uint64_t h = mix(a->id * 0x9E3779B1ULL + static_cast<std::uint64_t>(op), b->id);
  return cache_[h & (kCache - 1)];
}

}  // namespace massless::sym
