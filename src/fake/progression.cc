#include "fake/progression.h"

#include <ATen/core/ivalue.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <c10/core/WrapDimMinimal.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dispatch/sym_node.h"
#include "fake/known.h"
#include "fake/number.h"
#include "fake/storage.h"
#include "fake/tensor.h"

namespace massless {
namespace {

using at::Tensor;
using c10::IValue;
using c10::SymInt;

bool surely(const c10::SymBool& condition) { return TORCH_STATICALLY_KNOWN_TRUE(condition); }
bool surely_one(const SymInt& size) { return surely(size.sym_eq(1)); }
bool surely_zero(const SymInt& n) { return surely(n.sym_eq(0)); }

// Where none of the sizes is 0.
bool surely_where_filled(const c10::SymBool& condition, c10::SymIntArrayRef sizes) {
  if (surely(condition)) {
    return true;
  }
  const ExprNode* asked =
      condition.is_heap_allocated() ? expr_node(condition.toSymNodeImplUnowned()) : nullptr;
  if (asked == nullptr) {
    return false;
  }
  sym::Expr filled = asked->env()->with_builder([&](const sym::Builder& build) {
    std::vector<sym::Expr> all{build.boolean(true), build.boolean(true)};
    for (const SymInt& size : sizes) {
      all.push_back(build.ge(expr_of(*asked->env(), size), build.integer(1)));
    }
    return build.logical_and(all);
  });
  return asked->env()->prove_given(filled, asked->expr()) == sym::Truth::yes;
}

// The element at (i, j, ...) is base + slopes[0] * i + slopes[1] * j + ...; the slope of a size
// that is 1 is 0.
struct Affine {
  SymInt base;
  SymDimVector slopes;

  bool is_constant() const {
    for (const SymInt& slope : slopes) {
      if (!surely_zero(slope)) {
        return false;
      }
    }
    return true;
  }
};
using MaybeAffine = std::optional<Affine>;

const Progression* progression_of(const Tensor& t) {
  if (!t.defined() || !is_fake(t)) {
    return nullptr;
  }
  const StorageToken* token =
      storage_token(t.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl());
  return token == nullptr ? nullptr : token->progression.get();
}

// Sums and products of two such numbers, over all places of a tensor, stay within 64 bits. (Those
// of symbols are checked where they are built.)
bool is_bounded(const SymInt& n) {
  const auto plain = n.maybe_as_int();
  return !plain || (*plain < (std::int64_t{1} << 30) && *plain > -(std::int64_t{1} << 30));
}
bool is_bounded(const Affine& a) {
  return is_bounded(a.base) && std::all_of(a.slopes.begin(), a.slopes.end(),
                                           [](const SymInt& s) { return is_bounded(s); });
}

// Of known bytes.
MaybeAffine affine_of_known(const Tensor& known) {
  Tensor value = known_value_once(known);
  if (!value.defined() || value.numel() == 0 || !c10::isIntegralType(value.scalar_type(), true)) {
    return std::nullopt;
  }
  const RealScope real;
  value = value.to(c10::kLong);
  const auto at = [&](std::int64_t d) {  // the first element, or its neighbour in dimension d
    Tensor element = value;
    for (std::int64_t e = 0; e < value.dim(); ++e) {
      element = element.select(0, e == d ? 1 : 0);
    }
    return element.item<std::int64_t>();
  };
  Affine made{at(-1), SymDimVector(value.dim(), 0)};
  Tensor expected = value.new_full({}, made.base.expect_int());
  for (std::int64_t d = 0; d < value.dim(); ++d) {
    if (value.size(d) > 1) {
      const std::int64_t slope = at(d) - made.base.expect_int();
      std::vector<std::int64_t> along(static_cast<std::size_t>(value.dim()), 1);
      along[static_cast<std::size_t>(d)] = value.size(d);
      expected = expected.add(at::arange(value.size(d), value.options()).mul(slope).reshape(along));
      made.slopes[static_cast<std::size_t>(d)] = slope;
    }
  }
  return is_bounded(made) && at::equal(expected.expand(value.sizes()), value) ? MaybeAffine(made)
                                                                              : std::nullopt;
}

bool is_constant(const Progression& p) {
  return std::all_of(p.slopes.begin(), p.slopes.end(), &surely_zero);
}

// A view's element, by its place in the storage, as an element of the tensor that filled it: each
// dimension of the view must run along one of that one, and end within it.
MaybeAffine affine_of_view(const Tensor& t, const Progression& p) {
  std::vector<SymInt> indices;  // of the view's first element
  SymInt rest = t.sym_storage_offset();
  Affine made{p.first, SymDimVector(t.dim(), 0)};
  for (std::size_t j = 0; j < p.sizes.size(); ++j) {
    indices.push_back(surely_where_filled(rest.sym_lt(p.strides[j]), t.sym_sizes())
                          ? SymInt(0)
                          : rest / p.strides[j]);
    rest = rest - indices[j] * p.strides[j];
    made.base = made.base + indices[j] * p.slopes[j];
  }
  std::vector<char> used(p.sizes.size(), 0);
  for (std::int64_t d = 0; d < t.dim(); ++d) {
    const SymInt size = t.sym_size(d);
    const SymInt stride = t.sym_stride(d);
    if (surely_one(size) || surely_zero(stride)) {
      continue;
    }
    std::size_t j = 0;
    while (j < used.size() && (used[j] != 0 || !surely(stride.sym_eq(p.strides[j])))) {
      ++j;
    }
    if (j == used.size() ||
        !surely_where_filled((indices[j] + size).sym_le(p.sizes[j]), t.sym_sizes())) {
      return std::nullopt;
    }
    used[j] = 1;
    made.slopes[static_cast<std::size_t>(d)] = p.slopes[j];
  }
  return made;
}

MaybeAffine affine_of(const Tensor& t) {
  const Progression* p = progression_of(t);
  if (p == nullptr) {
    if (const auto symbol = symbol_of(t)) {
      return symbol->isSymInt() ? MaybeAffine(Affine{symbol->toSymInt(), {}}) : std::nullopt;
    }
    return affine_of_known(t);
  }
  return is_constant(*p) ? MaybeAffine(Affine{p->first, SymDimVector(t.dim(), 0)})
                         : affine_of_view(t, *p);
}

MaybeAffine affine_of(const IValue& v) {
  MaybeAffine made;
  if (v.isTensor()) {
    made = affine_of(v.toTensor());
  } else if (v.isInt() || v.isBool() || v.isSymInt()) {
    made = Affine{v.isBool() ? SymInt(v.toBool() ? 1 : 0) : v.toSymInt(), {}};
  }
  return made && is_bounded(*made) ? made : std::nullopt;
}

// In the dimensions of `result`: an argument's missing leading ones, and those that are broadcast,
// have slope 0.
MaybeAffine broadcast(const IValue& v, const Tensor& result) {
  MaybeAffine a = affine_of(v);
  if (!a || static_cast<std::int64_t>(a->slopes.size()) > result.dim()) {
    return std::nullopt;
  }
  const std::size_t missing = static_cast<std::size_t>(result.dim()) - a->slopes.size();
  for (std::size_t d = 0; d < a->slopes.size(); ++d) {
    const SymInt size = v.toTensor().sym_size(static_cast<std::int64_t>(d));
    if (!surely_zero(a->slopes[d]) &&
        !surely(size.sym_eq(result.sym_size(static_cast<std::int64_t>(d + missing))))) {
      return std::nullopt;
    }
  }
  a->slopes.insert(a->slopes.begin(), missing, SymInt(0));
  return a;
}

Affine combined(const Affine& a, const Affine& b, const SymInt& factor) {  // a + factor * b
  Affine sum{a.base + factor * b.base, a.slopes};
  for (std::size_t d = 0; d < sum.slopes.size(); ++d) {
    sum.slopes[d] = sum.slopes[d] + factor * b.slopes[d];
  }
  return sum;
}

// The least and the largest of the elements; nothing: a slope's sign is not known.
std::optional<std::pair<SymInt, SymInt>> ends(const Affine& a, const Tensor& shape) {
  SymInt least = a.base;
  SymInt most = a.base;
  for (std::size_t d = 0; d < a.slopes.size(); ++d) {
    const SymInt reach = a.slopes[d] * (shape.sym_size(static_cast<std::int64_t>(d)) - 1);
    if (surely(a.slopes[d].sym_ge(0))) {
      most = most + reach;
    } else if (surely(a.slopes[d].sym_le(0))) {
      least = least + reach;
    } else {
      return std::nullopt;
    }
  }
  return std::pair(least, most);
}

Affine number(SymInt value, const Tensor& shape) {
  return {std::move(value), SymDimVector(shape.dim(), 0)};
}

// --- operators --------------------------------------------------------------------------------

using Arguments = c10::ArrayRef<IValue>;
using Transfer = MaybeAffine (*)(Arguments, const Tensor& result);

// add, sub: (self, other, alpha)
template <int sign>
MaybeAffine sum(Arguments in, const Tensor& result) {
  const auto a = broadcast(in[0], result);
  const auto b = broadcast(in[1], result);
  const auto alpha = affine_of(in[2]);
  return a && b && alpha ? MaybeAffine(combined(*a, *b, alpha->base * sign)) : std::nullopt;
}

MaybeAffine product(Arguments in, const Tensor& result) {
  auto a = broadcast(in[0], result);
  auto b = broadcast(in[1], result);
  if (a && b && a->is_constant()) {
    std::swap(a, b);
  }
  return a && b && b->is_constant() ? MaybeAffine(combined(number(0, result), *a, b->base))
                                    : std::nullopt;
}

enum class Comparison { eq, ne, lt, le, gt, ge };

// Of all elements at once, by the ends of the difference.
template <Comparison c>
MaybeAffine compared(Arguments in, const Tensor& result) {
  const auto a = broadcast(in[0], result);
  const auto b = broadcast(in[1], result);
  const auto range = a && b ? ends(combined(*a, *b, -1), result) : std::nullopt;
  if (!range) {
    return std::nullopt;
  }
  const auto& [least, most] = *range;
  const auto answer = [&](bool yes, bool no) {
    return yes || no ? MaybeAffine(number(yes ? 1 : 0, result)) : std::nullopt;
  };
  const bool below = surely(most.sym_lt(0));
  const bool above = surely(least.sym_gt(0));
  switch (c) {
    case Comparison::eq:
      return answer(surely_zero(least) && surely_zero(most), below || above);
    case Comparison::ne:
      return answer(below || above, surely_zero(least) && surely_zero(most));
    case Comparison::lt:
      return answer(below, surely(least.sym_ge(0)));
    case Comparison::le:
      return answer(surely(most.sym_le(0)), above);
    case Comparison::gt:
      return answer(above, surely(most.sym_le(0)));
    case Comparison::ge:
      return answer(surely(least.sym_ge(0)), below);
  }
  return std::nullopt;
}

bool is_bool(const IValue& v) {
  return v.isBool() || (v.isTensor() && v.toTensor().scalar_type() == c10::kBool);
}

std::optional<bool> truth_of(const IValue& v, const Tensor& result) {
  const auto a = broadcast(v, result);
  if (!a || !a->is_constant() || !a->base.maybe_as_int()) {
    return std::nullopt;
  }
  return *a->base.maybe_as_int() != 0;
}

MaybeAffine negated(Arguments in, const Tensor& result) {
  const auto value = truth_of(in[0], result);
  return value && is_bool(in[0]) ? MaybeAffine(number(*value ? 0 : 1, result)) : std::nullopt;
}

template <bool conjunction>
MaybeAffine connected(Arguments in, const Tensor& result) {
  const auto a = truth_of(in[0], result);
  const auto b = truth_of(in[1], result);
  if (!is_bool(in[0]) || !is_bool(in[1]) || !a || !b) {
    return std::nullopt;
  }
  return number((conjunction ? *a && *b : *a || *b) ? 1 : 0, result);
}

// all, any: of equal elements; of none, `all` is true and `any` false.
template <bool conjunction>
MaybeAffine reduced(Arguments in, const Tensor& result) {
  const auto a = affine_of(in[0]);
  if (!a || !a->is_constant() || !a->base.maybe_as_int()) {
    return std::nullopt;
  }
  const bool value = *a->base.maybe_as_int() != 0;
  const bool has_elements = surely(in[0].toTensor().sym_numel().sym_gt(0));
  return value == conjunction || has_elements ? MaybeAffine(number(value ? 1 : 0, result))
                                              : std::nullopt;
}

MaybeAffine running_sum(Arguments in, const Tensor& result) {  // cumsum(self, dim, dtype)
  auto a = affine_of(in[0]);
  if (!a || !a->is_constant()) {
    return std::nullopt;
  }
  if (result.dim() > 0) {
    const auto d = static_cast<std::size_t>(c10::maybe_wrap_dim(in[1].toInt(), result.dim()));
    a->slopes[d] = a->base;
  }
  return a;
}

// The pieces must go on where the one before ends, and be empty all or none.
MaybeAffine joined(Arguments in, const Tensor& result) {  // cat(tensors, dim)
  const std::int64_t dim = c10::maybe_wrap_dim(in[1].toInt(), result.dim());
  const auto d = static_cast<std::size_t>(dim);
  std::vector<Affine> pieces;
  SymDimVector sizes;
  std::optional<SymInt> slope;  // of a piece of size 1 it is any: that of the others
  for (const IValue& piece : in[0].toListRef()) {
    const auto a = affine_of(piece);
    if (!a || piece.toTensor().dim() != result.dim()) {
      return std::nullopt;
    }
    pieces.push_back(*a);
    sizes.push_back(piece.toTensor().sym_size(dim));
    slope = surely_one(sizes.back()) ? slope : a->slopes[d];
  }
  if (pieces.size() > 1 && !slope) {
    slope = pieces[1].base - pieces[0].base;
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    pieces[i].slopes[d] = surely_one(sizes[i]) && slope ? *slope : pieces[i].slopes[d];
    if (i == 0) {
      continue;
    }
    const SymInt end = pieces[i - 1].base + pieces[i - 1].slopes[d] * sizes[i - 1];
    if (!surely_where_filled(sizes[i].sym_ge(1), {sizes[i - 1]}) ||
        !surely_where_filled(sizes[i - 1].sym_ge(1), {sizes[i]}) ||
        !surely_where_filled(pieces[i].base.sym_eq(end), sizes)) {
      return std::nullopt;
    }
    for (std::size_t j = 0; j < pieces[i].slopes.size(); ++j) {
      if (!surely(pieces[i].slopes[j].sym_eq(pieces[0].slopes[j]))) {
        return std::nullopt;
      }
    }
  }
  return pieces.empty() ? std::nullopt : MaybeAffine(pieces[0]);
}

MaybeAffine same(Arguments in, const Tensor& result) {  // clone, _to_copy
  auto a = affine_of(in[0]);
  if (a && result.scalar_type() == c10::kBool && !is_bool(in[0])) {
    const auto value = truth_of(in[0], result);
    return value ? MaybeAffine(number(*value ? 1 : 0, result)) : std::nullopt;
  }
  return a;
}

const std::unordered_map<std::string, Transfer>& transfers() {
  static const std::unordered_map<std::string, Transfer> table{
      {"aten::add", &sum<1>},
      {"aten::sub", &sum<-1>},
      {"aten::mul", &product},
      {"aten::eq", &compared<Comparison::eq>},
      {"aten::ne", &compared<Comparison::ne>},
      {"aten::lt", &compared<Comparison::lt>},
      {"aten::le", &compared<Comparison::le>},
      {"aten::gt", &compared<Comparison::gt>},
      {"aten::ge", &compared<Comparison::ge>},
      {"aten::logical_not", &negated},
      {"aten::bitwise_not", &negated},
      {"aten::logical_and", &connected<true>},
      {"aten::bitwise_and", &connected<true>},
      {"aten::logical_or", &connected<false>},
      {"aten::bitwise_or", &connected<false>},
      {"aten::all", &reduced<true>},
      {"aten::any", &reduced<false>},
      {"aten::cumsum", &running_sum},
      {"aten::cat", &joined},
      {"aten::clone", &same},
      {"aten::_to_copy", &same},
  };
  return table;
}

// --- results ----------------------------------------------------------------------------------

bool holds(c10::ScalarType dtype, const Affine& a) {
  const auto plain = a.base.maybe_as_int();
  if (dtype == c10::kLong) {
    return true;
  }
  return plain && a.is_constant() &&
         (dtype == c10::kBool ||
          (dtype == c10::kInt && *plain == static_cast<std::int32_t>(*plain)));
}

void set_affine(const Tensor& fresh, const Affine& a) {
  StorageToken* token =
      storage_token(fresh.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl());
  if (token == nullptr || token->known || !holds(fresh.scalar_type(), a)) {
    return;
  }
  auto made = std::make_shared<Progression>();
  made->first = fresh.scalar_type() == c10::kBool ? SymInt(a.base != 0 ? 1 : 0) : a.base;
  if (!a.is_constant()) {
    SymInt step = 1;
    for (std::int64_t d = fresh.dim(); d-- > 0;) {
      const SymInt size = fresh.sym_size(d);
      if (surely_one(size)) {
        continue;
      }
      if (!surely(fresh.sym_stride(d).sym_eq(step))) {
        return;  // not contiguous
      }
      made->sizes.insert(made->sizes.begin(), size);
      made->strides.insert(made->strides.begin(), step);
      made->slopes.insert(made->slopes.begin(), a.slopes[static_cast<std::size_t>(d)]);
      step = step * size.max(1);
    }
  }
  token->progression = std::move(made);
}

}  // namespace

void set_progression(const Tensor& fresh, const SymInt& first, const SymInt& step) {
  set_affine(fresh, {first, SymDimVector(fresh.dim(), step)});
}

std::optional<SymInt> progression_item(const Tensor& t) {
  if (progression_of(t) == nullptr || !surely(t.sym_numel().sym_eq(1))) {
    return std::nullopt;
  }
  const MaybeAffine value = affine_of(t);
  return value ? std::optional(value->base) : std::nullopt;
}

void learn_progressions(const c10::OperatorHandle& op, const torch::jit::Stack& arguments,
                        const torch::jit::Stack& results) {
  const auto found = transfers().find(op.operator_name().name);
  if (found == transfers().end() || op.schema().is_mutable() || results.size() != 1 ||
      !results[0].isTensor() || !values_wanted()) {
    return;
  }
  const Tensor& result = results[0].toTensor();
  const MaybeAffine value = found->second(arguments, result);
  if (!value) {
    return;
  }
  const auto plain = value->base.maybe_as_int();
  if (plain && value->is_constant()) {
    set_known_fill(result, result.scalar_type() == c10::kBool ? c10::Scalar(*plain != 0)
                                                              : c10::Scalar(*plain));
  } else {
    set_affine(result, *value);
  }
}

}  // namespace massless
