// The table's operators by name: checks the operands, calls the builder.
#include <string>
#include <vector>

#include "sym/build.h"

namespace massless::sym {
namespace {

std::string_view type_name(Type type) {
  return type == Type::integer ? "an integer" : type == Type::boolean ? "a truth value" : "a real";
}

void check_operands(Op op, std::span<const Expr> operands) {
  const OpInfo& info = op_info(op);
  const auto count = static_cast<int>(operands.size());
  const bool fits = info.arity < 0 ? count >= 1 : count == info.arity;
  if (info.form == Form::leaf || !fits) {
    throw SymError(ErrorCode::bad_argument,
                   std::string(info.name) + " takes " +
                       (info.arity < 0 ? "one or more" : std::to_string(info.arity)) +
                       " operands, and was given " + std::to_string(count));
  }
  const bool choice = op == Op::ite || op == Op::real_ite;
  for (int i = 0; i < count; ++i) {
    const Type wanted = choice && i == 0 ? Type::boolean : info.operands;
    // Two truth values may be compared.
    const bool truths = (op == Op::eq || op == Op::ne) && operands[0]->type == Type::boolean;
    const Type found = operands[static_cast<std::size_t>(i)]->type;
    if (found != (truths ? Type::boolean : wanted)) {
      throw SymError(ErrorCode::bad_argument, std::string(info.name) + " takes " +
                                                  std::string(type_name(wanted)) + " as operand " +
                                                  std::to_string(i + 1) + ", and was given " +
                                                  std::string(type_name(found)));
    }
  }
}

}  // namespace

Expr Builder::apply_power(Expr a, Expr exponent) const {
  if (!exponent->is_constant()) {
    throw SymError(ErrorCode::bad_argument, "the exponent of a power is a symbol");
  }
  return pow(a, exponent->value());
}

// By halves: each product on the way is interned, and of n factors one after the other these would
// be n * n / 2 factors to keep.
Expr Builder::product(std::span<const Expr> operands) const {
  std::vector<Expr> parts(operands.begin(), operands.end());
  while (parts.size() > 1) {
    std::size_t made = 0;
    for (std::size_t i = 0; i < parts.size(); i += 2) {
      parts[made++] = i + 1 < parts.size() ? mul(parts[i], parts[i + 1]) : parts[i];
    }
    parts.resize(made);
  }
  return parts.empty() ? context_.integer(1) : parts[0];
}

Expr Builder::apply(Op op, std::span<const Expr> operands) const {
  check_operands(op, operands);
  const auto at = [&](std::size_t i) { return operands[i]; };
  switch (op) {
    case Op::add:
      return operands.size() == 2 ? add(at(0), at(1)) : sum(operands);
    case Op::mul:
      return operands.size() == 2 ? mul(at(0), at(1)) : product(operands);
    case Op::sub:
      return sub(at(0), at(1));
    case Op::neg:
      return neg(at(0));
    case Op::pow:
      return apply_power(at(0), at(1));
    case Op::ceildiv:
      return ceildiv(at(0), at(1));
    case Op::abs:
      return abs(at(0));
    case Op::floordiv:
      return floordiv(at(0), at(1));
    case Op::mod:
      return mod(at(0), at(1));
    case Op::min:
      return min(operands);
    case Op::max:
      return max(operands);
    case Op::ite:
    case Op::real_ite:
      return ite(at(0), at(1), at(2));
    case Op::eq:
      return eq(at(0), at(1));
    case Op::ne:
      return ne(at(0), at(1));
    case Op::lt:
      return lt(at(0), at(1));
    case Op::le:
      return le(at(0), at(1));
    case Op::gt:
      return gt(at(0), at(1));
    case Op::ge:
      return ge(at(0), at(1));
    case Op::logical_not:
      return logical_not(at(0));
    case Op::logical_and:
      return logical_and(operands);
    case Op::logical_or:
      return logical_or(operands);
    default:
      return real(op, operands);
  }
}

std::vector<Expr> children_of(Expr e) {
  std::vector<Expr> all;
  for_each_child(e, [&](Expr child) { all.push_back(child); });
  return all;
}

Expr Builder::rebuilt(Expr e, const std::function<Expr(Expr)>& child) const {
  if (op_info(e->op).form == Form::leaf) {
    return e;
  }
  std::vector<Expr> parts;
  if (e->is(Op::add)) {
    for (const Term& t : e->terms()) {
      parts.push_back(t.monomial == nullptr ? integer(t.coefficient)
                                            : scale(child(t.monomial), t.coefficient));
    }
    return sum(parts);
  }
  if (e->is(Op::mul)) {
    for (const Factor& f : e->factors()) {
      parts.push_back(pow(child(f.atom), f.exponent));
    }
    return product(parts);
  }
  for (Expr operand : e->operands()) {
    parts.push_back(child(operand));
  }
  if (e->is(Op::eq) || e->is(Op::ge)) {
    return e->is(Op::eq) ? equals_zero(parts[0]) : not_negative(parts[0]);
  }
  return apply(e->op, parts);
}

}  // namespace massless::sym
