#include "rules/reshape.h"

#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dispatch/sym_node.h"
#include "fake/sizes.h"

namespace massless {
namespace {

using c10::SymInt;
using c10::SymIntArrayRef;
using sym::Expr;

[[noreturn]] void not_viewable() {
  TORCH_CHECK(false,
              "view size is not compatible with input tensor's size and stride (at least one "
              "dimension spans across two contiguous subspaces). Use .reshape(...) instead.");
}

Viewed plain_view(c10::IntArrayRef old_sizes, c10::IntArrayRef old_strides, c10::IntArrayRef size) {
  const at::DimVector inferred = at::infer_size_dv(size, c10::multiply_integers(old_sizes));
  const auto strides = at::detail::computeStride(old_sizes, old_strides, inferred);
  if (!strides) {
    not_viewable();
  }
  return {SymDimVector(inferred.begin(), inferred.end()),
          SymDimVector(strides->begin(), strides->end())};
}

// The products of two lists of sizes without the sizes that are in both. Equal products of what is
// left are equal products; where what was left out may be 0, both are 0 there.
std::pair<SymInt, SymInt> products_of_others(SymIntArrayRef a, SymIntArrayRef b) {
  c10::SmallVector<SymInt, 5> rest(b.begin(), b.end());
  SymInt left = 1;
  for (const SymInt& n : a) {
    auto* same = std::find_if(rest.begin(), rest.end(),
                              [&](const SymInt& other) { return proved_equal(n, other); });
    if (same == rest.end()) {
      left = left * n;
    } else {
      rest.erase(same);
    }
  }
  SymInt right = 1;
  for (const SymInt& n : rest) {
    right = right * n;
  }
  return {std::move(left), std::move(right)};
}

// The place of the -1, and the other sizes, which may not be negative.
std::optional<std::size_t> place_to_infer(SymIntArrayRef size, SymDimVector& others) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < size.size(); ++i) {
    if (is_plain(size[i], -1) || (at_example(size[i].sym_eq(-1)) && size[i] == -1)) {
      TORCH_CHECK(!found, "only one dimension can be inferred");
      found = i;
      continue;
    }
    TORCH_CHECK(required(size[i].sym_ge(0)), "invalid shape dimension ", size[i], " at index ", i,
                " of shape ", size);
    others.push_back(size[i]);
  }
  return found;
}

SymDimVector inferred_sizes(SymIntArrayRef old_sizes, SymIntArrayRef size) {
  SymDimVector others;
  const auto place = place_to_infer(size, others);
  const auto [given, asked] = products_of_others(old_sizes, others);
  SymDimVector out(size.begin(), size.end());
  if (!place) {
    // Where it does not hold, sizes that are in both may still make both products 0.
    const bool both_zero =
        at_example(given.sym_ne(asked)) && is_empty(old_sizes) && is_empty(others);
    TORCH_CHECK(both_zero || required(given.sym_eq(asked)), "shape '", size,
                "' is invalid for input of size ", c10::multiply_integers(old_sizes));
    return out;
  }
  TORCH_CHECK(!is_empty(others) || !is_empty(old_sizes),
              "cannot reshape tensor of 0 elements into shape ", size,
              " because the unspecified dimension size -1 can be any value and is ambiguous");
  TORCH_CHECK(!is_empty(others) && (is_plain(asked, 1) || required((given % asked).sym_eq(0))),
              "shape '", size, "' is invalid for input of size ",
              c10::multiply_integers(old_sizes));
  out[*place] = simplified(given / asked);
  return out;
}

// Dimensions that lie in one piece: numel elements, `stride` apart.
struct Piece {
  SymInt numel;
  SymInt stride;
};

// From the innermost on; dimensions of size 1 are left out. Two dimensions are one piece where that
// is proved (where a size is 0 there are no elements, and anything may be said).
c10::SmallVector<Piece, 5> pieces_of(SymIntArrayRef sizes, SymIntArrayRef strides) {
  c10::SmallVector<Piece, 5> pieces;
  SymInt next;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (is_plain(sizes[d], 1)) {
      continue;
    }
    if (!pieces.empty() && proved_equal(strides[d], next)) {
      pieces.back().numel = pieces.back().numel * sizes[d];
    } else {
      pieces.push_back({sizes[d], strides[d]});
    }
    next = strides[d] * sizes[d].max(1);
  }
  return pieces;
}

// Each piece is cut into the next of the new dimensions whose product is proved to be its size;
// what is left over are sizes of 1. For other values of the symbols pieces may happen to lie
// together, but then their strides are these, too.
std::optional<SymDimVector> strides_of_pieces(SymIntArrayRef old_sizes, SymIntArrayRef old_strides,
                                              SymIntArrayRef sizes) {
  SymDimVector strides(sizes.size());
  std::size_t d = sizes.size();
  SymInt next = 1;
  for (const Piece& piece : pieces_of(old_sizes, old_strides)) {
    SymInt numel = 1;
    next = piece.stride;
    while (!proved_equal(numel, piece.numel)) {
      if (d == 0) {
        return std::nullopt;
      }
      --d;
      strides[d] = next;
      numel = numel * sizes[d];
      next = next * sizes[d].max(1);
    }
  }
  while (d-- > 0) {
    if (!is_plain(sizes[d], 1)) {
      return std::nullopt;
    }
    strides[d] = next;
  }
  return strides;
}

Viewed symbolic_view(SymIntArrayRef old_sizes, SymIntArrayRef old_strides, SymIntArrayRef size) {
  SymDimVector sizes = inferred_sizes(old_sizes, size);
  auto strides = viewed_strides(old_sizes, old_strides, sizes);
  if (!strides) {
    not_viewable();
  }
  return {std::move(sizes), std::move(*strides)};
}

const std::shared_ptr<ShapeEnv>* env_of(std::initializer_list<SymIntArrayRef> lists) {
  for (const SymIntArrayRef list : lists) {
    for (const SymInt& n : list) {
      if (const ExprNode* node = expr_node(n)) {
        return &node->env();
      }
    }
  }
  return nullptr;
}

// A view that this thread made. Its guards are the environment's, so it may be had again: layers
// that are alike ask for the same views.
class PastView {
 public:
  bool is(const std::shared_ptr<ShapeEnv>& env, std::size_t rank,
          c10::ArrayRef<Expr> about) const noexcept {
    // The weak reference keeps the place of the environment's counts from being used again.
    return !env_.owner_before(env) && !env.owner_before(env_) && rank_ == rank &&
           about.equals(about_);
  }
  void set(const std::shared_ptr<ShapeEnv>& env, std::size_t rank, c10::ArrayRef<Expr> about,
           const Viewed& made) {
    env_ = env;
    rank_ = rank;
    about_.assign(about.begin(), about.end());
    const auto exprs = [&](const SymDimVector& all, std::vector<Expr>& out) {
      out.clear();
      for (const SymInt& n : all) {
        out.push_back(expr_of(*env, n));
      }
    };
    exprs(made.sizes, sizes_);
    exprs(made.strides, strides_);
  }
  // `size`: as it was asked for.
  Viewed again(const std::shared_ptr<ShapeEnv>& env, SymIntArrayRef size) const {
    Viewed view{SymDimVector(sizes_.size()), SymDimVector(strides_.size())};
    const Expr* asked = &about_[2 * rank_];
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      view.sizes[i] = asked[i] == sizes_[i] ? size[i] : size_of(env, sizes_[i]);
      view.strides[i] = size_of(env, strides_[i]);
    }
    return view;
  }

 private:
  std::weak_ptr<ShapeEnv> env_;
  std::size_t rank_ = 0;
  std::vector<Expr> about_;  // the old sizes and strides, and the sizes asked for
  std::vector<Expr> sizes_;
  std::vector<Expr> strides_;
};

PastView& past_view(c10::ArrayRef<Expr> about) {
  constexpr int kBits = 6;
  static thread_local std::array<PastView, std::size_t{1} << kBits> past;
  std::uint64_t h = about.size();
  for (Expr e : about) {
    h = (h ^ e->id) * 0x9E3779B97F4A7C15ULL;
  }
  return past[h >> (64 - kBits)];
}

}  // namespace

SymDimVector viewed_sizes(SymIntArrayRef old_sizes, SymIntArrayRef size) {
  const auto plain_sizes = c10::asIntArrayRefSlowOpt(old_sizes);
  const auto plain = c10::asIntArrayRefSlowOpt(size);
  if (plain_sizes && plain) {
    const auto sizes = at::infer_size_dv(*plain, c10::multiply_integers(*plain_sizes));
    return {sizes.begin(), sizes.end()};
  }
  return inferred_sizes(old_sizes, size);
}

std::optional<SymDimVector> viewed_strides(SymIntArrayRef old_sizes, SymIntArrayRef old_strides,
                                           SymIntArrayRef sizes) {
  if (proved_equal(sizes, old_sizes)) {
    return SymDimVector(old_strides.begin(), old_strides.end());
  }
  auto strides = strides_of_pieces(old_sizes, old_strides, sizes);
  if (!strides) {
    strides = at::detail::computeStride(old_sizes, old_strides, sizes);
  }
  return strides;
}

Viewed viewed(SymIntArrayRef old_sizes, SymIntArrayRef old_strides, SymIntArrayRef size) {
  const auto plain_sizes = c10::asIntArrayRefSlowOpt(old_sizes);
  const auto plain_strides = c10::asIntArrayRefSlowOpt(old_strides);
  const auto plain = c10::asIntArrayRefSlowOpt(size);
  if (plain_sizes && plain_strides && plain) {
    return plain_view(*plain_sizes, *plain_strides, *plain);
  }
  const std::shared_ptr<ShapeEnv>* env = env_of({old_sizes, old_strides, size});
  if (env == nullptr) {  // symbols of another library
    return symbolic_view(old_sizes, old_strides, size);
  }
  c10::SmallVector<Expr, 16> about;
  for (const SymIntArrayRef all : {old_sizes, old_strides, size}) {
    for (const SymInt& n : all) {
      about.push_back(expr_of(**env, n));
    }
  }
  PastView& past = past_view(about);
  if (!past.is(*env, old_sizes.size(), about)) {
    Viewed made = symbolic_view(old_sizes, old_strides, size);
    past.set(*env, old_sizes.size(), about, made);
    return made;
  }
  return past.again(*env, size);
}

}  // namespace massless
