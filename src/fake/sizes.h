// Questions about sizes that may be symbols. A comparison of SymInts in an `if` decides: what is
// not proved is answered by the example, and a guard says so. What is here asks only for what the
// answer needs. Plain integers are compared as such.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/SymBool.h>
#include <c10/core/SymInt.h>
#include <c10/core/SymIntArrayRef.h>

#include <algorithm>
#include <cstdint>

#include "fake/tensor.h"

namespace massless {

// True for every size that is possible. False: not known to be. No guard.
inline bool proved(const c10::SymBool& condition) { return TORCH_STATICALLY_KNOWN_TRUE(condition); }
bool proved_equal(const c10::SymInt& a, const c10::SymInt& b);
bool proved_equal(c10::SymIntArrayRef a, c10::SymIntArrayRef b);
// Is n this number, whatever the symbols are?
inline bool is_plain(const c10::SymInt& n, std::int64_t value) {
  return !n.is_heap_allocated() ? n.as_int_unchecked() == value : n.maybe_as_int() == value;
}

// With what guards say put in.
c10::SymInt simplified(const c10::SymInt& n);

// What holds for the example; false without one. No guard: to find out which question to ask.
bool at_example(const c10::SymBool& condition);

// Are they equal? Of sizes that differ the guard names one.
bool equal_sizes(c10::SymIntArrayRef a, c10::SymIntArrayRef b);

// Must hold: a guard, or where nothing is known of the sizes an assertion for the run.
bool required(const c10::SymBool& condition);

// min and max, without an expression where one is proved to be the smaller.
c10::SymInt least(const c10::SymInt& a, const c10::SymInt& b);
c10::SymInt greatest(const c10::SymInt& a, const c10::SymInt& b);
inline std::int64_t least(std::int64_t a, std::int64_t b) { return std::min(a, b); }
inline std::int64_t greatest(std::int64_t a, std::int64_t b) { return std::max(a, b); }

// Does the tensor have no elements? Guards of the sizes, not of their product.
bool is_empty(c10::SymIntArrayRef sizes);
inline bool is_empty(const at::Tensor& t) { return is_empty(t.sym_sizes()); }

// As is_empty, but where it is not proved a tensor that has elements in the example is taken to
// have some, without a guard: for checks that a tensor without elements need not pass, but may.
bool taken_as_empty(const at::Tensor& t);

// Non-overlapping and dense. Proved where a size is a symbol: a tensor that is dense for some sizes
// only is treated like others, which gives the strides of the dense one where it is.
bool is_dense(const at::Tensor& t);

// at::has_internal_overlap(t) == Yes: several elements are one.
bool overlaps_itself(const at::Tensor& t);
// at::assert_no_internal_overlap.
void check_no_internal_overlap(const at::Tensor& t);

// The sizes of two broadcast operands; an error where they do not fit.
SymDimVector broadcast_sizes(c10::SymIntArrayRef a, c10::SymIntArrayRef b);
// Can `from` be expanded to `to`: is it that, or 1?
bool expands_to(const c10::SymInt& from, const c10::SymInt& to);
bool expand_to(c10::SymIntArrayRef from, c10::SymIntArrayRef to);

}  // namespace massless
