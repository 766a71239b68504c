#include "sym/tree.h"

#include <algorithm>
#include <array>

namespace massless::sym {
namespace {

constexpr Wide kLargest = Wide{1} << 125;

std::optional<Wide> sum(Wide a, Wide b) {
  Wide r = 0;
  return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}
std::optional<Wide> product(Wide a, Wide b) {
  Wide r = 0;
  return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}
// Floor division by the definition: the rest has the sign of b.
Wide quotient(Wide a, Wide b) {
  const Wide q = a / b;
  const Wide rest = a - q * b;
  return q - (rest != 0 && (rest < 0) != (b < 0) ? 1 : 0);
}

std::optional<Wide> power(Wide a, Wide n) {
  std::optional<Wide> r = 1;
  for (; n > 0 && r; --n) {
    r = product(*r, a);
  }
  return r;
}

}  // namespace

std::optional<Wide> Forest::apply(Op op, const std::vector<Wide>& v) {
  switch (op) {
    case Op::add:
      return sum(v[0], v[1]);
    case Op::sub:
      return sum(v[0], -v[1]);
    case Op::mul:
      return product(v[0], v[1]);
    case Op::neg:
      return -v[0];
    case Op::abs:
      return v[0] < 0 ? -v[0] : v[0];
    case Op::pow:
      return power(v[0], v[1]);
    case Op::floordiv:
      return v[1] == 0 ? std::nullopt : std::optional(quotient(v[0], v[1]));
    case Op::mod:
      return v[1] == 0 ? std::nullopt : std::optional(v[0] - quotient(v[0], v[1]) * v[1]);
    case Op::ceildiv:
      return v[1] == 0 ? std::nullopt : std::optional(-quotient(-v[0], v[1]));
    case Op::min:
      return *std::min_element(v.begin(), v.end());
    case Op::max:
      return *std::max_element(v.begin(), v.end());
    case Op::ite:
      return v[0] != 0 ? v[1] : v[2];
    case Op::eq:
      return v[0] == v[1];
    case Op::ne:
      return v[0] != v[1];
    case Op::lt:
      return v[0] < v[1];
    case Op::le:
      return v[0] <= v[1];
    case Op::gt:
      return v[0] > v[1];
    case Op::ge:
      return v[0] >= v[1];
    case Op::logical_not:
      return v[0] == 0;
    case Op::logical_and:
      return std::all_of(v.begin(), v.end(), [](Wide x) { return x != 0; });
    case Op::logical_or:
      return std::any_of(v.begin(), v.end(), [](Wide x) { return x != 0; });
    default:
      return std::nullopt;
  }
}

Forest::Values Forest::evaluate(const std::vector<std::int64_t>& point) const {
  Values values;
  values.reserve(nodes_.size());
  std::vector<Wide> operands;
  for (const Node& node : nodes_) {
    if (node.op == Op::constant) {
      values.emplace_back(node.value);
      continue;
    }
    if (node.op == Op::symbol) {
      values.emplace_back(point[static_cast<std::size_t>(node.value)]);
      continue;
    }
    operands.clear();
    for (const int i : node.operands) {
      if (const auto& v = values[static_cast<std::size_t>(i)]) {
        operands.push_back(*v);
      }
    }
    auto result = operands.size() == node.operands.size() ? apply(node.op, operands) : std::nullopt;
    // Room for one step more: -v and q * b of `apply` do not overflow.
    const bool fits = result && -kLargest <= *result && *result <= kLargest;
    values.push_back(fits ? result : std::nullopt);
  }
  return values;
}

std::vector<Expr> Forest::build(const Builder& builder, const std::vector<Expr>& symbols,
                                std::vector<ErrorCode>* raised) const {
  std::vector<Expr> built;
  for (const Node& node : nodes_) {
    std::vector<Expr> operands;
    for (const int i : node.operands) {
      operands.push_back(built[static_cast<std::size_t>(i)]);
    }
    Expr made = nullptr;
    ErrorCode code = ErrorCode::internal;
    const bool whole = std::find(operands.begin(), operands.end(), nullptr) == operands.end();
    try {
      made = node.op == Op::constant ? builder.integer(node.value)
             : node.op == Op::symbol ? symbols[static_cast<std::size_t>(node.value)]
             : whole                 ? builder.apply(node.op, operands)
                                     : nullptr;
    } catch (const SymError& error) {
      code = error.code();
    }
    built.push_back(made);
    if (raised != nullptr) {
      raised->push_back(code);
    }
  }
  return built;
}

std::string Forest::text(int root) const {
  std::vector<std::string> texts;
  for (int i = 0; i <= root; ++i) {
    const Node& node = (*this)[i];
    if (node.op == Op::constant || node.op == Op::symbol) {
      texts.push_back(node.op == Op::symbol ? std::string(1, static_cast<char>('a' + node.value))
                                            : std::to_string(node.value));
      continue;
    }
    const OpInfo& info = op_info(node.op);
    const auto at = [&](std::size_t k) {
      return texts[static_cast<std::size_t>(node.operands[k])];
    };
    std::string all = info.form == Form::infix    ? "(" + at(0)
                      : info.form == Form::prefix ? "(" + std::string(info.text) + " " + at(0)
                                                  : std::string(info.text) + "(" + at(0);
    for (std::size_t k = 1; k < node.operands.size(); ++k) {
      all += info.form == Form::infix ? " " + std::string(info.text) + " " + at(k) : ", " + at(k);
    }
    texts.push_back(all + ")");
  }
  return texts.back();
}

int Forest::random_integer(Random& random, int symbols, int depth, std::int64_t largest) {
  if (depth == 0 || random.one_in(6)) {
    return random.one_in(3) ? constant(random.edge(-largest, largest))
                            : symbol(random.between(0, symbols - 1));
  }
  constexpr std::array<Op, 13> kOperators{Op::add, Op::add,      Op::sub, Op::mul,     Op::mul,
                                          Op::neg, Op::floordiv, Op::mod, Op::ceildiv, Op::min,
                                          Op::max, Op::abs,      Op::ite};
  const Op op = random.one_in(16) ? Op::pow : random.pick(kOperators);
  const auto operand = [&] { return random_integer(random, symbols, depth - 1, largest); };
  const bool divides = op == Op::floordiv || op == Op::mod || op == Op::ceildiv;
  if (op == Op::ite) {
    const int condition = random_truth(random, symbols, depth - 1, largest);
    const int a = operand();
    return add({op, {condition, a, operand()}, 0, false});
  }
  const int a = operand();
  if (op == Op::neg || op == Op::abs) {
    return add({op, {a}, 0, false});
  }
  if (op == Op::pow) {
    return add({op, {a, constant(random.between(0, 3))}, 0, false});
  }
  // Divisions by constants have rules of their own.
  const int b =
      divides && random.one_in(2)
          ? constant(random.one_in(4) ? random.edge(-largest, largest)
                                      : random.between(1, std::min<std::int64_t>(largest, 8)))
          : operand();
  return add({op, {a, b}, 0, false});
}

int Forest::random_truth(Random& random, int symbols, int depth, std::int64_t largest) {
  constexpr std::array<Op, 6> kComparisons{Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge};
  if (depth <= 1 || !random.one_in(3)) {
    const int below = std::max(depth - 1, 0);
    const int a = random_integer(random, symbols, below, largest);
    const int b = random_integer(random, symbols, below, largest);
    return add({random.pick(kComparisons), {a, b}, 0, true});
  }
  const int a = random_truth(random, symbols, depth - 1, largest);
  if (random.one_in(4)) {
    return add({Op::logical_not, {a}, 0, true});
  }
  const int b = random_truth(random, symbols, depth - 1, largest);
  constexpr std::array<Op, 4> kConnectives{Op::logical_and, Op::logical_or, Op::eq, Op::ne};
  return add({random.pick(kConnectives), {a, b}, 0, true});
}

std::vector<std::vector<std::int64_t>> points_of(Random& random, const std::vector<Range>& box,
                                                 std::size_t most) {
  std::size_t count = 1;
  for (const Range& r : box) {
    const auto width = static_cast<std::uint64_t>(r.hi) - static_cast<std::uint64_t>(r.lo);
    count = width >= most ? most + 1 : std::min(most + 1, count * (width + 1));
  }
  std::vector<std::vector<std::int64_t>> points;
  if (count > most) {
    for (std::size_t i = 0; i < most; ++i) {
      std::vector<std::int64_t> point;
      for (const Range& r : box) {
        point.push_back(random.edge(r.lo, r.hi));
      }
      points.push_back(point);
    }
    return points;
  }
  points.emplace_back();
  for (const Range& r : box) {
    std::vector<std::vector<std::int64_t>> longer;
    for (const auto& point : points) {
      for (std::int64_t i = 0; i <= r.hi - r.lo; ++i) {
        longer.push_back(point);
        longer.back().push_back(r.lo + i);
      }
    }
    points.swap(longer);
  }
  return points;
}

std::string point_text(const std::vector<Range>& box, const std::vector<std::int64_t>& point) {
  std::string text;
  for (std::size_t i = 0; i < box.size(); ++i) {
    text += std::string(1, static_cast<char>('a' + i)) + " in " + to_string(box[i]);
    text += i < point.size() ? " = " + std::to_string(point[i]) + "; " : "; ";
  }
  return text;
}

}  // namespace massless::sym
