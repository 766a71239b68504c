#include "guard/layout.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "sym/checked.h"
#include "sym/evaluate.h"

namespace massless::guard {
namespace {

using sym::Builder;
using sym::Op;

Expr conjunction(const Builder& b, const std::vector<Expr>& all) {
  return all.empty() ? b.boolean(true) : b.logical_and(all);
}
Expr disjunction(const Builder& b, const std::vector<Expr>& all) {
  return all.empty() ? b.boolean(false) : b.logical_or(all);
}
Expr either(const Builder& b, Expr x, Expr y) { return b.logical_or(std::array<Expr, 2>{x, y}); }

// In the order given, innermost first: each size is 1 or its stride is the product so far.
Expr chain(const Builder& b, std::span<const Expr> sizes, std::span<const Expr> strides,
           std::span<const std::size_t> order) {
  std::vector<Expr> all;
  Expr step = b.integer(1);
  for (const std::size_t d : order) {
    all.push_back(either(b, b.eq(strides[d], step), b.eq(sizes[d], b.integer(1))));
    if (all.back()->is_false()) {
      return all.back();
    }
    step = b.mul(step, sizes[d]);
  }
  return conjunction(b, all);
}

// max(1, size) -> size, for the sizes of this tensor: the same where none of them is 0.
std::vector<Expr> without_max(const Builder& b, std::span<const Expr> sizes,
                              std::span<const Expr> strides) {
  std::vector<Expr> out(strides.begin(), strides.end());
  const auto stripped = [&](Expr atom) {
    if (!atom->is(Op::max) || atom->operands().size() != 2) {
      return atom;
    }
    for (Expr size : sizes) {
      if (b.max(size, b.integer(1)) == atom) {
        return size;
      }
    }
    return atom;
  };
  for (Expr& stride : out) {
    if (stride->is_constant()) {
      continue;
    }
    std::vector<Expr> terms;
    for (const sym::Term& t : sym::Terms(stride)) {
      Expr product = b.integer(t.coefficient);
      if (t.monomial != nullptr) {
        for (const sym::Factor& f : sym::Factors(t.monomial)) {
          product = b.mul(product, b.pow(stripped(f.atom), f.exponent));
        }
      }
      terms.push_back(product);
    }
    stride = b.sum(terms);
  }
  return out;
}

Expr some_size_is_zero(const Builder& b, std::span<const Expr> sizes) {
  std::vector<Expr> all;
  for (Expr size : sizes) {
    all.push_back(b.eq(size, b.integer(0)));
  }
  return disjunction(b, all);
}

// Innermost first: channels, then the spatial dimensions from the last, then the batch.
std::vector<std::size_t> channels_last_order(std::size_t rank) {
  std::vector<std::size_t> order{1};
  for (std::size_t d = rank - 1; d >= 2; --d) {
    order.push_back(d);
  }
  order.push_back(0);
  return order;
}

Expr compute_contiguous(ShapeEnv& env, std::span<const Expr> sizes, std::span<const Expr> strides) {
  return env.with_builder([&](const Builder& b) {
    std::vector<std::size_t> order(sizes.size());
    std::iota(order.rbegin(), order.rend(), 0);
    Expr laid_out = chain(b, sizes, without_max(b, sizes, strides), order);
    return laid_out->is_true() ? laid_out : either(b, laid_out, some_size_is_zero(b, sizes));
  });
}

Expr compute_channels_last_contiguous(ShapeEnv& env, std::span<const Expr> sizes,
                                      std::span<const Expr> strides) {
  return env.with_builder([&](const Builder& b) {
    const std::size_t rank = sizes.size();
    return rank == 4 || rank == 5 ? chain(b, sizes, strides, channels_last_order(rank))
                                  : b.boolean(false);
  });
}

// c10's is_channels_last_strides_2d_s4 and _3d_s5, line by line.
Expr compute_channels_last_strides(ShapeEnv& env, std::span<const Expr> sizes,
                                   std::span<const Expr> strides) {
  return env.with_builder([&](const Builder& b) {
    const std::size_t rank = sizes.size();
    if (rank != 4 && rank != 5) {
      return b.boolean(false);
    }
    Expr zero = b.integer(0);
    std::vector<Expr> all{b.ne(strides[1], zero)};
    Expr least = zero;
    for (const std::size_t d : channels_last_order(rank)) {
      all.push_back(b.ne(sizes[d], zero));
      all.push_back(b.ge(strides[d], least));
      if (d == 0) {
        all.push_back(b.ne(least, strides[1]));
      }
      if (all.back()->is_false() || all[all.size() - 2]->is_false()) {
        return b.boolean(false);
      }
      // A size of 0 has answered already.
      least = b.mul(strides[d], b.max(sizes[d], b.integer(1)));
    }
    return conjunction(b, all);
  });
}

// c10's order: by stride, sizes 0 and 1 last. Without a hint a size is taken to be large.
std::vector<std::size_t> order_at_example(ShapeEnv& env, std::span<const Expr> sizes,
                                          std::span<const Expr> strides) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](std::size_t d) {
    const bool small = env.hint(sizes[d]).value_or(2) < 2;
    return std::pair(small, small ? 0 : env.hint(strides[d]).value_or(0));
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return key(x) < key(y); });
  return order;
}

// c10's answer there, along that order: sizes 0 and 1 end the chain.
bool dense_at_example(ShapeEnv& env, std::span<const Expr> sizes, std::span<const Expr> strides,
                      const std::vector<std::size_t>& order) {
  std::int64_t step = 1;
  for (const std::size_t d : order) {
    const std::int64_t size = env.hint(sizes[d]).value_or(2);
    if (size < 2) {
      return true;
    }
    if (env.hint(strides[d]).value_or(0) != step) {
      return false;
    }
    step = sym::checked_mul(step, size).value_or(-1);  // no stride equals that
  }
  return true;
}

// True along one order is true. Not dense follows from an extent that is not the number of
// elements:
//   sum of (size - 1) * stride + 1 != product of sizes, no size 0.
// Where neither tells at the example, every size and stride is compared with its own.
Expr compute_non_overlapping_and_dense(ShapeEnv& env, std::span<const Expr> sizes,
                                       std::span<const Expr> strides) {
  Expr contiguous = compute_contiguous(env, sizes, strides);
  if (contiguous->is_true()) {
    return contiguous;
  }
  const auto order = order_at_example(env, sizes, strides);
  return env.with_builder([&](const Builder& b) {
    Expr dense = chain(b, sizes, without_max(b, sizes, strides), order);
    dense = either(b, dense, some_size_is_zero(b, sizes));  // without elements: contiguous
    if (dense->is_true() || env.hint(dense).value_or(0) != 0) {
      return dense;
    }
    Expr extent = b.integer(1);
    Expr numel = b.integer(1);
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      extent = b.add(extent, b.mul(b.sub(sizes[d], b.integer(1)), strides[d]));
      numel = b.mul(numel, sizes[d]);
    }
    Expr maybe = either(b, b.eq(extent, numel), some_size_is_zero(b, sizes));
    if (maybe->is_false() || env.hint(maybe).value_or(1) == 0) {
      return maybe;
    }
    std::vector<Expr> differs;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      for (Expr e : {sizes[d], strides[d]}) {
        if (const auto value = env.hint(e)) {
          differs.push_back(b.ne(e, b.integer(*value)));
        }
      }
    }
    const bool answer = dense_at_example(env, sizes, strides, order);
    Expr elsewhere = disjunction(b, differs);
    return answer ? b.logical_not(elsewhere) : elsewhere;
  });
}

// Where no size is 0, max(1, size) is size, and of packed strides the last element's place + 1 is
// the product of the sizes, which is right where one is 0 as well.
Expr compute_elements(ShapeEnv& env, std::span<const Expr> sizes, std::span<const Expr> strides,
                      Expr offset) {
  return env.with_builder([&](const Builder& b) {
    const std::vector<Expr> steps = without_max(b, sizes, strides);
    std::vector<Expr> places{offset, b.integer(1)};
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      places.push_back(b.mul(b.sub(sizes[d], b.integer(1)), steps[d]));
    }
    Expr extent = b.sum(places);
    Expr zero = some_size_is_zero(b, sizes);
    if (zero->is_false() || extent == b.product(sizes)) {
      return extent;
    }
    return b.ite(zero, b.integer(0), extent);
  });
}

// The expressions that an answer is about, one after the other.
class Question {
 public:
  Question(std::span<const Expr> sizes, std::span<const Expr> strides, Expr offset = nullptr)
      : count_(sizes.size() + strides.size() + (offset == nullptr ? 0 : 1)) {
    Expr* all = few_.data();
    if (count_ > few_.size()) {
      many_.resize(count_);
      all = many_.data();
    }
    all = std::copy(sizes.begin(), sizes.end(), all);
    all = std::copy(strides.begin(), strides.end(), all);
    if (offset != nullptr) {
      *all = offset;
    }
  }
  std::span<const Expr> about() const {
    return {many_.empty() ? few_.data() : many_.data(), count_};
  }

 private:
  std::size_t count_;
  std::array<Expr, 16> few_;
  std::vector<Expr> many_;
};

}  // namespace

Layout layout_of(ShapeEnv& env, std::span<const Expr> sizes, std::span<const Expr> strides) {
  const Question question(sizes, strides);
  const auto [contiguous, channels_last, channels_last_strides, dense] =
      env.remembered(question.about(), [&] {
        return ShapeEnv::Answers{compute_contiguous(env, sizes, strides),
                                 compute_channels_last_contiguous(env, sizes, strides),
                                 compute_channels_last_strides(env, sizes, strides),
                                 compute_non_overlapping_and_dense(env, sizes, strides)};
      });
  return {contiguous, channels_last, channels_last_strides, dense};
}

Expr is_contiguous(ShapeEnv& env, std::span<const Expr> sizes, std::span<const Expr> strides) {
  return layout_of(env, sizes, strides).contiguous;
}
Expr is_channels_last_contiguous(ShapeEnv& env, std::span<const Expr> sizes,
                                 std::span<const Expr> strides) {
  return layout_of(env, sizes, strides).channels_last_contiguous;
}
Expr is_channels_last_strides(ShapeEnv& env, std::span<const Expr> sizes,
                              std::span<const Expr> strides) {
  return layout_of(env, sizes, strides).channels_last_strides;
}
Expr is_non_overlapping_and_dense(ShapeEnv& env, std::span<const Expr> sizes,
                                  std::span<const Expr> strides) {
  return layout_of(env, sizes, strides).non_overlapping_and_dense;
}
// An odd number of expressions, where a layout is asked about with an even one.
Expr storage_elements(ShapeEnv& env, std::span<const Expr> sizes, std::span<const Expr> strides,
                      Expr offset) {
  const Question question(sizes, strides, offset);
  return env.remembered(question.about(), [&] {
    return ShapeEnv::Answers{compute_elements(env, sizes, strides, offset)};
  })[0];
}

}  // namespace massless::guard
