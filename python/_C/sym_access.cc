// What Python asks of single symbols and nodes: values, proofs, how they are made up, and operators
// by name.
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dispatch/error.h"
#include "guard/shape_env.h"
#include "sym/real.h"
#include "sym_arith.h"
#include "sym_object.h"

namespace massless::python {

namespace py = pybind11;

namespace {

using sym::Expr;

py::object stolen(PyObject* made) { return py::reinterpret_steal<py::object>(made); }

const ExprNode* any_node(py::handle object) {
  if (const ExprNode* node = node_of(object.ptr())) {
    return node;
  }
  return SymOperand(object.ptr()).node();
}

const ExprNode& required_node(py::handle object, const char* asked) {
  const ExprNode* node = any_node(object);
  if (node == nullptr) {
    raise(ErrorCode::bad_argument,
          py::cast<std::string>(py::repr(object)) + " is no symbol of massless", asked);
  }
  return *node;
}

py::object hint_of(py::handle object) {
  const ExprNode& node = required_node(object, "hint");
  return stolen(number_object(node.expr(), node.env()->hint(node.expr())));
}

// How an expression is made up, operands first: (operator, places of operands) or (operator,
// value). Sums and products as `add` of `mul` of `pow` of constants and atoms.
class Walk {
 public:
  explicit Walk(ShapeEnv& env) : env_(env) {}

  py::list rows(Expr e) {
    std::vector<Expr> open{e};
    while (!open.empty()) {
      Expr next = open.back();
      bool ready = places_.count(next) == 0;
      if (ready) {
        for (Expr child : sym::children_of(next)) {
          if (places_.count(child) == 0) {
            open.push_back(child);
            ready = false;
          }
        }
      }
      if (open.back() != next) {
        continue;
      }
      open.pop_back();
      if (ready) {
        places_[next] = row(next);
      }
    }
    return rows_;
  }

 private:
  std::size_t put(const char* op, const py::object& content) {
    rows_.append(py::make_tuple(op, content));
    return rows_.size() - 1;
  }
  std::size_t number(std::int64_t value) { return put("constant", py::int_(value)); }

  std::size_t row(Expr e) {
    switch (e->op) {
      case sym::Op::constant:
        return number(e->value());
      case sym::Op::truth:
        return put("truth", py::bool_(e->is_true()));
      case sym::Op::real_constant:
        return put("real", py::float_(sym::real_value(e)));
      case sym::Op::symbol: {
        const bool has_hint = env_.options_of(e).hint.has_value();
        return put("symbol", py::make_tuple(env_.print(e), has_hint, e->range.lo));
      }
      case sym::Op::add:
        return sum(e);
      case sym::Op::mul:
        return product(e);
      default:
        return others(e);
    }
  }

  std::size_t sum(Expr e) {
    py::list terms;
    for (const sym::Term& term : e->terms()) {
      if (term.monomial == nullptr) {
        terms.append(number(term.coefficient));
        continue;
      }
      const std::size_t monomial = places_.at(term.monomial);
      if (term.coefficient == 1) {
        terms.append(monomial);
      } else {
        const std::size_t factor = number(term.coefficient);
        terms.append(put("mul", py::make_tuple(factor, monomial)));
      }
    }
    return put("add", py::tuple(terms));
  }

  std::size_t product(Expr e) {
    py::list factors;
    for (const sym::Factor& factor : e->factors()) {
      const std::size_t atom = places_.at(factor.atom);
      if (factor.exponent == 1) {
        factors.append(atom);
      } else {
        const std::size_t exponent = number(factor.exponent);
        factors.append(put("pow", py::make_tuple(atom, exponent)));
      }
    }
    return put("mul", py::tuple(factors));
  }

  std::size_t others(Expr e) {
    py::list operands;
    for (Expr operand : e->operands()) {
      operands.append(places_.at(operand));
    }
    return put(sym::op_info(e->op).name.data(), py::tuple(operands));
  }

  ShapeEnv& env_;
  py::list rows_;
  std::unordered_map<Expr, std::size_t> places_;
};

// The operators by name, for symbols that torch's own Python classes do not know how to work with.
template <class F>
auto by_name(const char* asked, const std::string& name, const F& table) {
  for (const auto& [known, op] : table) {
    if (name == known) {
      return op;
    }
  }
  raise(ErrorCode::internal, "there is no operator " + name, asked);
}

py::object checked(PyObject* made, const char* asked) {
  if (made == nullptr || made == Py_NotImplemented) {
    Py_XDECREF(made);
    raise(ErrorCode::foreign_symbol, "a size of ours met one of somebody else, or no number",
          asked);
  }
  return stolen(made);
}

void bind_operators(py::module_& m) {
  m.def("sym_binary", [](const std::string& name, py::handle a, py::handle b) {
    constexpr std::array<std::pair<const char*, Binary>, 5> kTable{{{"lshift", Binary::lshift},
                                                                    {"rshift", Binary::rshift},
                                                                    {"bit_and", Binary::bit_and},
                                                                    {"bit_or", Binary::bit_or},
                                                                    {"bit_xor", Binary::bit_xor}}};
    return checked(binary(by_name("sym_binary", name, kTable), a.ptr(), b.ptr()), "sym_binary");
  });
  m.def("sym_unary", [](const std::string& name, py::handle a) {
    constexpr std::array<std::pair<const char*, Unary>, 3> kTable{
        {{"abs", Unary::abs}, {"pos", Unary::pos}, {"trunc", Unary::trunc}}};
    return checked(unary(by_name("sym_unary", name, kTable), a.ptr()), "sym_unary");
  });
  m.def("sym_function", [](const std::string& name, py::handle a) {
    std::array<std::pair<std::string_view, sym::Op>, sym::kOpCount> table;
    for (std::size_t i = 0; i < table.size(); ++i) {
      table[i] = {sym::kOps[i].name, static_cast<sym::Op>(i)};
    }
    return checked(real_function(by_name("sym_function", name, table), a.ptr()), "sym_function");
  });
  m.def("sym_round", [](py::handle a, py::handle digits) {
    return checked(rounded(a.ptr(), digits.ptr()), "round");
  });
  m.def("sym_choice", [](py::handle condition, py::handle yes, py::handle no) {
    return checked(choice(condition.ptr(), yes.ptr(), no.ptr()), "sym_ite");
  });
  m.def("sym_is_integer", [](py::handle a) { return checked(is_whole(a.ptr()), "is_integer"); });
  m.def("sym_sum", [](const std::vector<py::object>& items) {
    std::vector<PyObject*> all(items.size());
    std::transform(items.begin(), items.end(), all.begin(),
                   [](const py::object& item) { return item.ptr(); });
    return checked(sum(all), "sym_sum");
  });
}

void bind_questions(py::module_& m) {
  m.def("is_symbol", [](py::handle object) { return any_node(object) != nullptr; });
  m.def("sym_env", [](py::handle object) { return required_node(object, "sym_env").env(); });
  m.def("sym_hint", &hint_of);
  m.def("sym_type", [](py::handle object) {
    const sym::Type type = required_node(object, "sym_type").expr()->type;
    PyTypeObject* python = type == sym::Type::boolean ? &PyBool_Type
                           : type == sym::Type::real  ? &PyFloat_Type
                                                      : &PyLong_Type;
    return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(python));
  });
  // The symbol of a node, or the number that it is.
  m.def("sym_wrap", [](py::handle object) {
    const ExprNode& node = required_node(object, "sym_wrap");
    return stolen(symbol_object(node.env(), node.expr()));
  });
  m.def("sym_walk", [](py::handle object) {
    const ExprNode& node = required_node(object, "sym_walk");
    return Walk(*node.env()).rows(node.env()->simplify(node.expr()));
  });
  m.def("sym_specialized", [](py::handle object) {
    const ExprNode& node = required_node(object, "specialize");
    const auto value = with_sym_errors([&] { return node.env()->specialize(node.expr()); });
    return stolen(number_object(node.expr(), value));
  });
  m.def("sym_same", [](py::handle a, py::handle b) {
    const ExprNode* x = any_node(a);
    const ExprNode* y = any_node(b);
    return x != nullptr && y != nullptr && x->expr() == y->expr();
  });
  // True, False or None: not known.
  m.def("sym_prove", [](py::handle object) -> py::object {
    const ExprNode& node = required_node(object, "sym_prove");
    switch (node.env()->prove(node.expr())) {
      case sym::Truth::yes:
        return py::bool_(true);
      case sym::Truth::no:
        return py::bool_(false);
      case sym::Truth::unknown:
        return py::none();
    }
    return py::none();
  });
}

}  // namespace

void bind_sym_access(py::module_& m) {
  bind_questions(m);
  bind_operators(m);
}

}  // namespace massless::python
