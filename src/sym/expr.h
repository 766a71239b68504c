// Interned expressions. Two expressions of one context are equal as values of the normal form
// exactly if they are the same node, so equality is a comparison of pointers.
//
// Normal form (each clause is a row of tests/sym/normal_form_test.cc):
//   * an integer is a constant, an atom, a product or a sum;
//   * a sum has two terms or more, or one whose coefficient is not 1; terms are
//     coefficient * monomial, one for each monomial, no coefficient 0; the constant term comes
//     first:  s + s -> 2*s,  s - s -> 0,  2*(s + 1) -> 2*s + 2
//   * a monomial is an atom or a product: powers of distinct atoms:  s*s -> s**2
//   * atoms are symbols, floordiv, mod, min, max, ite, and the whole-number parts of reals;
//     (4*s + 2)//2 -> 2*s + 1,  (s//2)//3 -> s//6,  (6*s)%3 -> 0
//   * a comparison is p == 0 or p >= 0 over a polynomial whose coefficients have no common factor,
//     and negations of the former:  2*a < 2*b -> b - a - 1 >= 0;  not of >= is >= again
//   * `and`, `or`, `min` and `max` are flat, their operands distinct and in order of their ids.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/errors.h"
#include "sym/ops.h"
#include "sym/range.h"

namespace massless::sym {

// A question's answer. Unknown is an answer: every caller states what it does with it.
enum class Truth : std::uint8_t { no, yes, unknown };
constexpr Truth negate(Truth t) {
  return t == Truth::unknown ? t : t == Truth::yes ? Truth::no : Truth::yes;
}

// Raised by builders: sym_overflow (a coefficient does not fit in 64 bits, or an expression has
// more terms than kMaxTerms), division_by_zero, sym_parse.
class SymError : public std::runtime_error {
 public:
  SymError(ErrorCode code, const std::string& found) : std::runtime_error(found), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

struct Node;
using Expr = const Node*;

struct Term {
  std::int64_t coefficient;
  Expr monomial;  // null: the constant term
  bool operator==(const Term&) const = default;
};
struct Factor {
  Expr atom;
  std::uint32_t exponent;
  std::uint32_t padding = 0;  // nodes are compared bytewise
  bool operator==(const Factor&) const = default;
};

// 40 bytes and the operands behind: Terms of a sum, Factors of a product, Exprs of other operators,
// the value of a constant (a real's bits), a symbol's index.
struct Node {
  std::uint64_t hash;  // of the structure and the names: the same in every run and context
  Range range;         // by the symbols' declared ranges; of reals: of all values but nan
  std::uint32_t id;    // in order of creation
  std::uint32_t count;
  Op op;  // add: a sum; mul: a product
  Type type;
  bool has_symbols;

  std::span<const Term> terms() const { return {payload<Term>(), count}; }        // of a sum
  std::span<const Factor> factors() const { return {payload<Factor>(), count}; }  // of a product
  std::span<const Expr> operands() const { return {payload<Expr>(), count}; }     // of others
  std::int64_t value() const { return *payload<std::int64_t>(); }  // constant, truth, real's bits
  std::uint32_t symbol() const { return static_cast<std::uint32_t>(value()); }

  bool is(Op o) const { return op == o; }
  bool is_constant() const { return op == Op::constant; }
  bool is_constant(std::int64_t v) const { return op == Op::constant && value() == v; }
  bool is_true() const { return op == Op::truth && value() != 0; }
  bool is_false() const { return op == Op::truth && value() == 0; }

 private:
  template <class T>
  const T* payload() const {
    return reinterpret_cast<const T*>(this + 1);
  }
};
static_assert(sizeof(Node) == 40);

// Views a polynomial of any shape (constant, atom, product, sum) as its terms.
class Terms {
 public:
  explicit Terms(Expr e);
  Terms(const Terms&) = delete;  // the view may be of `single_`
  Terms& operator=(const Terms&) = delete;
  std::span<const Term> span() const& { return view_; }
  std::span<const Term> span() const&& = delete;
  auto begin() const { return view_.begin(); }
  auto end() const { return view_.end(); }
  std::size_t size() const { return view_.size(); }
  std::int64_t constant() const;            // 0 where there is no constant term
  std::span<const Term> variable() const&;  // all but the constant term
  std::span<const Term> variable() const&& = delete;

 private:
  Term single_;
  std::span<const Term> view_;
};
// The factors of a monomial (atom or product).
class Factors {
 public:
  explicit Factors(Expr monomial);
  Factors(const Factors&) = delete;
  Factors& operator=(const Factors&) = delete;
  auto begin() const { return view_.begin(); }
  auto end() const { return view_.end(); }
  std::size_t size() const { return view_.size(); }

 private:
  Factor single_;
  std::span<const Factor> view_;
};

// Calls f with what a walk visits below e: the monomials of a sum, the atoms of a product, the
// operands of others.
template <class F>
void for_each_child(Expr e, F&& f) {
  if (e->op == Op::add) {
    for (const Term& t : e->terms()) {
      if (t.monomial != nullptr) {
        f(t.monomial);
      }
    }
  } else if (e->op == Op::mul) {
    for (const Factor& factor : e->factors()) {
      f(factor.atom);
    }
  } else if (op_info(e->op).form != Form::leaf) {
    for (Expr operand : e->operands()) {
      f(operand);
    }
  }
}
std::vector<Expr> children_of(Expr e);

// Where builders ask what is known of values: the ranges declared with the symbols, or the facts of
// an environment (facts.h).
class Bounds {
 public:
  virtual ~Bounds() = default;
  virtual Range range(Expr e) const { return e->range; }
};

struct SymbolInfo {
  std::string name;
  Range range;
  Expr node;
};

// Owns nodes and symbols; nodes live as long as their context. Not synchronised: one thread at a
// time builds.
class Context {
 public:
  static constexpr std::size_t kMaxTerms = 1U << 14;  // of a product of sums

  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Expr integer(std::int64_t value);
  Expr boolean(bool value);
  Expr real_bits(std::int64_t bits);  // see real.h
  // A new symbol, or the one of that name (its range must be the same: bad_argument). Names are
  // identifiers: letters, digits, '_' and '.', not starting with a digit, and none of the words of
  // text.h: True, False, and, or, not, nan, inf.
  Expr symbol(std::string_view name, Range range = Range::all());
  Expr find_symbol(std::string_view name) const;  // null: none of that name
  const SymbolInfo& symbol_info(Expr symbol) const { return symbols_[symbol->symbol()]; }
  const std::vector<SymbolInfo>& symbols() const { return symbols_; }

  // Raw constructors: intern what already is in normal form.
  Expr raw_sum(std::span<const Term> terms);
  Expr raw_product(std::span<const Factor> factors);
  Expr raw(Op op, std::span<const Expr> operands, Range range = Range::all());

  std::size_t size() const { return count_; }  // nodes
  std::size_t memory() const;                  // bytes held
  bool owns(Expr e) const;                     // for checks, not fast

  // The last results of builders on two operands, direct mapped.
  struct CacheEntry {
    std::uint32_t a = 0;  // ids + 1; 0: free
    std::uint32_t b = 0;
    Op op = Op::constant;
    Expr result = nullptr;
  };
  CacheEntry& cached(Op op, Expr a, Expr b);

 private:
  struct Key;
  Expr intern(const Key& key);
  Node* allocate(std::size_t payload_bytes);
  void grow();

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::size_t block_used_ = 0;
  std::size_t block_size_ = 0;
  std::size_t held_ = 0;
  std::vector<Expr> table_;  // open addressing, a power of two
  std::size_t count_ = 0;
  std::vector<SymbolInfo> symbols_;
  std::unordered_map<std::string, Expr> names_;
  std::vector<CacheEntry> cache_;
  static constexpr std::int64_t kSmall = 64;
  std::vector<Expr> small_;  // constants -kSmall .. kSmall
  Expr true_ = nullptr;
  Expr false_ = nullptr;
};

}  // namespace massless::sym
