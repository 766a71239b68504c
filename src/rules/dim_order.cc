#include "rules/dim_order.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "dispatch/sym_node.h"
#include "fake/sizes.h"

namespace massless {
namespace {

using c10::SymInt;
using c10::SymIntArrayRef;
using Order = c10::SmallVector<std::size_t, 6>;  // the fastest moving dimension first
template <class Int>
using Strides = c10::SmallVector<c10::SmallVector<Int, 5>, 4>;  // of each operand, broadcast

// 1: dim0 goes behind dim1; -1: it stays before it; 0: cannot be said. The first operand that has
// an opinion decides; a stride of 0 (broadcast) has none.
template <class Int>
int compare_dims(c10::ArrayRef<Int> shape, const Strides<Int>& strides, std::size_t dim0,
                 std::size_t dim1) {
  for (const auto& of : strides) {
    const Int& stride0 = of[dim0];
    const Int& stride1 = of[dim1];
    if (stride0 == 0 || stride1 == 0) {
      continue;
    }
    if (stride0 < stride1) {
      return -1;
    }
    if (stride0 > stride1) {
      return 1;
    }
    if (shape[dim0] > shape[dim1]) {
      return 1;
    }
  }
  return 0;
}

Order plain_order(std::size_t rank) {
  Order order(rank);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  return order;
}

// An insertion sort, since the comparison is no strict order and ATen's result depends on how it is
// asked.
template <class Int>
Order sorted_order(c10::ArrayRef<Int> shape, const Strides<Int>& strides) {
  Order order = plain_order(shape.size());
  for (std::size_t i = 1; i < order.size(); ++i) {
    std::size_t at = i;
    for (std::size_t j = i; j-- > 0;) {
      const int comparison = compare_dims(shape, strides, order[j], order[at]);
      if (comparison > 0) {
        std::swap(order[j], order[at]);
        at = j;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  return order;
}

template <class Int>
c10::SmallVector<Int, 5> broadcast_strides(c10::ArrayRef<Int> shape, c10::ArrayRef<Int> sizes,
                                           c10::ArrayRef<Int> strides) {
  const std::size_t missing = shape.size() - sizes.size();
  c10::SmallVector<Int, 5> out(shape.size(), Int(0));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!(sizes[i] == 1 && shape[missing + i] != 1)) {
      out[missing + i] = strides[i];
    }
  }
  return out;
}

// What ATen does, with a decision for each comparison.
Order decided_order(SymIntArrayRef shape, c10::ArrayRef<Strided> operands) {
  Strides<SymInt> strides;
  for (const Strided& operand : operands) {
    strides.push_back(broadcast_strides<SymInt>(shape, operand.sizes, operand.strides));
  }
  return sorted_order<SymInt>(shape, strides);
}

std::optional<c10::SmallVector<std::int64_t, 5>> examples(SymIntArrayRef all) {
  c10::SmallVector<std::int64_t, 5> out;
  for (const SymInt& n : all) {
    const auto hint = hint_of(n);
    if (!hint) {
      return std::nullopt;
    }
    out.push_back(*hint);
  }
  return out;
}

// The same for the example, without decisions; nothing where a size has no example.
std::optional<Order> order_at_example(SymIntArrayRef shape, c10::ArrayRef<Strided> operands) {
  const auto shape_there = examples(shape);
  Strides<std::int64_t> strides;
  for (const Strided& operand : operands) {
    const auto sizes = examples(operand.sizes);
    const auto steps = examples(operand.strides);
    if (!shape_there || !sizes || !steps) {
      return std::nullopt;
    }
    strides.push_back(broadcast_strides<std::int64_t>(*shape_there, *sizes, *steps));
  }
  return sorted_order<std::int64_t>(*shape_there, strides);
}

// Proved: along the order each dimension's stride is at least 1 and at least the extent
// (stride * max(1, size)) of the one before it, strides of 0 left out. The operand is then `nested`
// in the order: of two of its dimensions the inner one has the smaller stride, or both have the
// same and the inner one has size 1 (or there are no elements).
bool is_nested(const Strided& operand, const Order& order) {
  const std::size_t missing = order.size() - operand.sizes.size();
  SymInt least = 1;
  for (const std::size_t dim : order) {
    if (dim < missing || is_plain(operand.strides[dim - missing], 0)) {
      continue;
    }
    const SymInt& stride = operand.strides[dim - missing];
    if (!proved(stride.sym_ge(least))) {
      return false;
    }
    least = stride * operand.sizes[dim - missing].max(1);
  }
  return true;
}

// Proved: it is not broadcast, and has an opinion on all dimensions.
bool is_complete(const Strided& operand, SymIntArrayRef shape) {
  return proved_equal(operand.sizes, shape) &&
         std::none_of(operand.strides.begin(), operand.strides.end(),
                      [](const SymInt& n) { return is_plain(n, 0); });
}

// Where the order leads to the right strides for all sizes. Without elements and in dimensions of
// size 1 strides cannot be observed.
//
// (1) All operands are nested in the plain order, in which the sort begins. No comparison then asks
//     for a swap, so the order stays plain.
// (2) The first operand that is complete, C, is nested in the order, and so are those before it.
//     Then the order is that of C's strides: the sort keeps what it has sorted ordered by them,
//     since where C's strides differ, no operand before it says otherwise, and those behind are not
//     asked. Of dimensions that are equal in C all but the outermost have size 1, so those of other
//     sizes are in one order.
bool order_proved(const Order& order, SymIntArrayRef shape, c10::ArrayRef<Strided> operands) {
  const bool plain = std::is_sorted(order.rbegin(), order.rend());
  bool all = plain;
  for (const Strided& operand : operands) {
    if (!is_nested(operand, order)) {
      return false;
    }
    if (is_complete(operand, shape)) {
      return true;
    }
  }
  return all;
}

Order iteration_order(SymIntArrayRef shape, c10::ArrayRef<Strided> operands) {
  const auto there = order_at_example(shape, operands);
  const bool plain = there && c10::asIntArrayRefSlowOpt(shape) &&
                     std::all_of(operands.begin(), operands.end(), [](const Strided& operand) {
                       return c10::asIntArrayRefSlowOpt(operand.sizes) &&
                              c10::asIntArrayRefSlowOpt(operand.strides);
                     });
  if (plain) {
    return *there;
  }
  for (const Order& order : {plain_order(shape.size()), there.value_or(Order())}) {
    if (order.size() == shape.size() && order_proved(order, shape, operands)) {
      return order;
    }
  }
  return decided_order(shape, operands);
}

}  // namespace

// A symbol counts as 1 where it is 0, which no element shows. (ATen's strides outside of a size of
// 0 are 0.)
SymDimVector iterated_strides(SymIntArrayRef shape, c10::ArrayRef<Strided> operands) {
  const Order order = iteration_order(shape, operands);
  if (order == plain_order(shape.size())) {
    return contiguous_strides(shape);
  }
  SymDimVector strides(shape.size());
  SymInt step = 1;
  for (const std::size_t dim : order) {
    strides[dim] = step;
    step = step * (shape[dim].is_heap_allocated() ? shape[dim].max(1) : shape[dim]);
  }
  return strides;
}

SymDimVector dense_strides(SymIntArrayRef sizes, SymIntArrayRef strides) {
  SymDimVector dense(sizes.size());
  SymInt step = 1;
  for (const std::size_t dim : iteration_order(sizes, Strided{sizes, strides})) {
    dense[dim] = step;
    step = step * sizes[dim].max(1);
  }
  return dense;
}

}  // namespace massless
