#include "fake/sizes.h"

#include <algorithm>
#include <array>

#include "dispatch/sym_node.h"

namespace massless {

using c10::SymBool;
using c10::SymInt;
using c10::SymIntArrayRef;

bool proved_equal(const SymInt& a, const SymInt& b) {
  if (!a.is_heap_allocated() && !b.is_heap_allocated()) {
    return a.as_int_unchecked() == b.as_int_unchecked();
  }
  const ExprNode* node = expr_node(a);
  const ExprNode* other = expr_node(b);
  node = node != nullptr ? node : other;
  if (node == nullptr) {
    return proved(a.sym_eq(b));
  }
  ShapeEnv& env = *node->env();
  const std::array<sym::Expr, 2> both{expr_of(env, a), expr_of(env, b)};
  return both[0] == both[1] ||
         with_sym_errors([&] { return env.known(env.apply(sym::Op::eq, both)); });
}

bool proved_equal(SymIntArrayRef a, SymIntArrayRef b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const SymInt& x, const SymInt& y) { return proved_equal(x, y); });
}

SymInt simplified(const SymInt& n) {
  const ExprNode* node = expr_node(n);
  return node == nullptr ? n : size_of(node->env(), node->env()->simplify(node->expr()));
}

bool at_example(const SymBool& condition) { return hint_of(condition).value_or(false); }

bool equal_sizes(SymIntArrayRef a, SymIntArrayRef b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool symbolic = a[i].is_heap_allocated() || b[i].is_heap_allocated();
    if ((!symbolic || at_example(a[i].sym_ne(b[i]))) && a[i] != b[i]) {
      return false;
    }
  }
  return a.equals(b);
}

bool required(const SymBool& condition) {
  return hint_of(condition) ? condition.guard_bool(__FILE__, __LINE__)
                            : condition.expect_true(__FILE__, __LINE__);
}

SymInt least(const SymInt& a, const SymInt& b) {
  return proved(a.sym_le(b)) ? a : proved(b.sym_le(a)) ? b : a.min(b);
}
SymInt greatest(const SymInt& a, const SymInt& b) {
  return proved(a.sym_ge(b)) ? a : proved(b.sym_ge(a)) ? b : a.max(b);
}

bool is_empty(SymIntArrayRef sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [](const SymInt& n) { return n == 0; });
}

bool taken_as_empty(const at::Tensor& t) {
  const auto sizes = t.sym_sizes();
  return std::any_of(sizes.begin(), sizes.end(),
                     [](const SymInt& n) { return at_example(n.sym_eq(0)) && n == 0; });
}

bool is_dense(const at::Tensor& t) {
  const c10::TensorImpl* impl = t.unsafeGetTensorImpl();
  return impl->has_symbolic_sizes_strides() ? proved(impl->sym_is_non_overlapping_and_dense())
                                            : impl->is_non_overlapping_and_dense();
}

// ATen looks for a stride of 0 in a dimension longer than 1, in tensors that are not dense; a dense
// one has such strides only where it has no elements.
bool overlaps_itself(const at::Tensor& t) {
  if (is_dense(t)) {
    return false;
  }
  const auto sizes = t.sym_sizes();
  const auto strides = t.sym_strides();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (strides[i] == 0 && sizes[i] > 1 && !is_empty(sizes)) {
      return true;
    }
  }
  return false;
}

void check_no_internal_overlap(const at::Tensor& t) {
  TORCH_CHECK(!overlaps_itself(t),
              "unsupported operation: more than one element of the written-to tensor refers to a "
              "single memory location. Please clone() the tensor before performing the operation.");
}

namespace {

// Equality is proved, else one is the number 1, else the example tells what is asked for.
const SymInt& broadcast_size(const SymInt& a, const SymInt& b, std::size_t dim) {
  if (proved_equal(a, b) || is_plain(b, 1)) {
    return a;
  }
  if (is_plain(a, 1)) {
    return b;
  }
  const bool from_a = !at_example(a.sym_eq(b)) && at_example(a.sym_eq(1));
  const bool from_b = !from_a && at_example(b.sym_eq(1)) && !at_example(a.sym_eq(b));
  if (from_a && a == 1) {
    return b;
  }
  if (from_b && b == 1) {
    return a;
  }
  TORCH_CHECK(required(a.sym_eq(b)), "The size of tensor a (", a,
              ") must match the size of tensor b (", b, ") at non-singleton dimension ", dim);
  return a;
}

}  // namespace

SymDimVector broadcast_sizes(SymIntArrayRef a, SymIntArrayRef b) {
  const std::size_t rank = std::max(a.size(), b.size());
  SymDimVector out(rank);
  for (std::size_t i = rank; i-- > 0;) {
    const std::size_t back = rank - i;  // counted from the right, 1 the last
    out[i] = back > a.size()   ? b[b.size() - back]
             : back > b.size() ? a[a.size() - back]
                               : broadcast_size(a[a.size() - back], b[b.size() - back], i);
  }
  return out;
}

bool expands_to(const SymInt& from, const SymInt& to) {
  if (proved_equal(from, to) || is_plain(from, 1)) {
    return true;
  }
  if (!at_example(from.sym_eq(to)) && at_example(from.sym_eq(1))) {
    return from == 1;
  }
  return required(from.sym_eq(to));
}

bool expand_to(SymIntArrayRef from, SymIntArrayRef to) {
  if (from.size() > to.size()) {
    return false;
  }
  const SymIntArrayRef last = to.slice(to.size() - from.size());
  return std::equal(from.begin(), from.end(), last.begin(), expands_to);
}

}  // namespace massless
