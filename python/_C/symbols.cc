// massless.ShapeEnv and what Python asks of its symbols.
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/utils/python_symnode.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dispatch/error.h"
#include "dispatch/state.h"
#include "guard/shape_env.h"
#include "sym/real.h"
#include "sym_methods.h"
#include "sym_object.h"

namespace massless::python {

namespace py = pybind11;

void bind_sym_access(py::module_& m);
void bind_node_methods(py::module_& m);
void bind_numbers(py::module_& m);

namespace {

using Env = std::shared_ptr<ShapeEnv>;
using sym::Expr;
using sym::Range;

[[noreturn]] void bad(const std::string& found, const char* asked) {
  raise(ErrorCode::bad_argument, found, asked);
}

std::string shown(py::handle object) { return py::cast<std::string>(py::repr(object)); }

// An int of 64 bits; bools are none.
std::int64_t integer_of(py::handle object, const std::string& what, const char* asked) {
  int overflow = 0;
  const bool fits = PyLong_Check(object.ptr()) != 0 && PyBool_Check(object.ptr()) == 0;
  const std::int64_t value = fits ? PyLong_AsLongLongAndOverflow(object.ptr(), &overflow) : 0;
  if (!fits || overflow != 0) {
    bad("the " + what + " is " + shown(object) +
            (fits ? ", which does not fit in 64 bits" : ", and not an int"),
        asked);
  }
  return value;
}

Range range_of(py::handle min, py::handle max, const char* asked) {
  Range range{0, Range::kPlusInf};
  if (!min.is_none()) {
    range.lo = integer_of(min, "min", asked);
  }
  if (!max.is_none()) {
    range.hi = integer_of(max, "max", asked);
  }
  return range;
}

py::object object_of(const Env& env, Expr e) {
  return py::reinterpret_steal<py::object>(symbol_object(env, e));
}

// The expression behind an int, a float, a bool or a symbol of this environment.
Expr expr_of(ShapeEnv& env, py::handle object, const char* asked) {
  const SymOperand operand(object.ptr());
  if (operand.node() != nullptr) {
    if (operand.node()->env().get() != &env) {
      raise(ErrorCode::foreign_symbol,
            "the size " + operand.node()->env()->print(operand.node()->expr()) +
                " belongs to another ShapeEnv",
            asked);
    }
    return operand.node()->expr();
  }
  if (operand.foreign()) {
    raise(ErrorCode::foreign_symbol,
          "the size " + shown(object) + " belongs to no massless.ShapeEnv", asked);
  }
  if (PyBool_Check(object.ptr()) != 0) {
    return env.with_builder(
        [&](const sym::Builder& build) { return build.boolean(object.is(py::handle(Py_True))); });
  }
  if (PyFloat_Check(object.ptr()) != 0) {
    return env.real(sym::real_to_bits(PyFloat_AS_DOUBLE(object.ptr())));
  }
  return env.integer(integer_of(object, "size", asked));
}

Expr make_symbol(ShapeEnv& env, const std::string& name, const guard::SymbolOptions& options,
                 const char* asked) {
  try {
    return env.symbol(name, options);
  } catch (const sym::SymError& error) {
    raise(error.code(), error.what(), asked);
  }
}

std::string name_of(const py::object& name, const char* asked) {
  if (!py::isinstance<py::str>(name)) {
    bad("the name of a size is " + shown(name) + ", and no str", asked);
  }
  return py::cast<std::string>(name);
}

py::object symbol(const Env& env, const py::object& given, const py::object& hint,
                  const py::object& min, const py::object& max, const py::object& multiple_of,
                  bool strict) {
  constexpr const char* kAsked = "ShapeEnv.symbol";
  const std::string name = name_of(given, kAsked);
  guard::SymbolOptions options;
  options.hint = integer_of(hint, "hint of " + name, kAsked);
  options.range = range_of(min, max, kAsked);
  options.multiple_of = multiple_of.is_none() ? 1 : integer_of(multiple_of, "multiple_of", kAsked);
  options.strict = strict;
  return object_of(env, make_symbol(*env, name, options, kAsked));
}

py::object unbacked(const Env& env, const py::object& name, const py::object& min,
                    const py::object& max) {
  constexpr const char* kAsked = "ShapeEnv.unbacked";
  guard::SymbolOptions options;
  options.range = range_of(min, max, kAsked);
  return object_of(env, name.is_none()
                            ? with_sym_errors([&] { return env->unbacked(options.range); })
                            : make_symbol(*env, name_of(name, kAsked), options, kAsked));
}

py::object end_of(std::int64_t value) {
  const double infinity = std::numeric_limits<double>::infinity();
  return value == Range::kPlusInf    ? py::object(py::float_(infinity))
         : value == Range::kMinusInf ? py::object(py::float_(-infinity))
                                     : py::object(py::int_(value));
}

py::tuple bounds(ShapeEnv& env, const py::object& size) {
  Expr e = expr_of(env, size, "ShapeEnv.bounds");
  if (e->type == sym::Type::real) {
    raise(ErrorCode::sym_unsupported, "the bounds of the real " + env.print(e) + " were asked for",
          "ShapeEnv.bounds");
  }
  const Range range = with_sym_errors([&] { return env.bounds(e); });
  return py::make_tuple(end_of(range.lo), end_of(range.hi));
}

std::unordered_map<std::uint32_t, std::int64_t> values_of(ShapeEnv& env, const py::dict& values,
                                                          const char* asked) {
  std::unordered_map<std::uint32_t, std::int64_t> made;
  for (const auto& [name, value] : values) {
    const std::string text = py::cast<std::string>(py::str(name));
    Expr found = nullptr;
    env.with_builder([&](const sym::Builder& build) { found = build.context().find_symbol(text); });
    if (found == nullptr) {
      bad("there is no size named " + text, asked);
    }
    made[found->symbol()] = integer_of(value, "value of " + text, asked);
  }
  return made;
}

py::object value(ShapeEnv& env, const py::object& size, const py::dict& values, bool check) {
  constexpr const char* kAsked = "ShapeEnv.value";
  Expr e = expr_of(env, size, kAsked);
  const auto at = values_of(env, values, kAsked);
  std::string why;
  if (check && !env.holds(at, &why)) {
    raise(ErrorCode::guard_failed, why, kAsked);
  }
  return py::reinterpret_steal<py::object>(number_object(e, env.value(e, at)));
}

py::object why(ShapeEnv& env, const py::dict& values) {
  std::string text;
  return env.holds(values_of(env, values, "ShapeEnv.why"), &text) ? py::object(py::none())
                                                                  : py::object(py::str(text));
}

// A guard as Python sees it: a snapshot.
struct GuardView {
  std::string text;
  std::string location;
  std::string operator_name;
  bool implied;
  bool assertion;
  Expr condition;
  Env env;
};

std::vector<GuardView> guards(const Env& env) {
  std::vector<GuardView> views;
  const std::vector<bool> implied = env->implied_guards();
  const std::vector<guard::Guard> all = env->guards();
  for (std::size_t i = 0; i < all.size(); ++i) {
    views.push_back({env->print(all[i].condition), all[i].origin.location,
                     all[i].origin.operator_name, i < implied.size() && implied[i],
                     all[i].assertion, all[i].condition, env});
  }
  return views;
}

std::string describe(const GuardView& guard) {
  return "<Guard " + guard.text +
         (guard.operator_name.empty() ? "" : " of " + guard.operator_name) +
         (guard.location.empty() ? "" : " at " + guard.location) +
         (guard.assertion ? ", asserted" : "") + (guard.implied ? ", implied" : "") + ">";
}

// name -> (hint, lo, hi, multiple_of, strict)
py::dict symbols(ShapeEnv& env) {
  py::dict all;
  for (Expr e : env.symbols()) {
    const guard::SymbolOptions options = env.options_of(e);
    all[py::str(env.print(e))] =
        py::make_tuple(options.hint, end_of(options.range.lo), end_of(options.range.hi),
                       options.multiple_of, options.strict);
  }
  return all;
}

std::string describe_env(ShapeEnv& env) {
  std::string names;
  for (Expr e : env.symbols()) {
    const auto hint = env.hint(e);
    names += (names.empty() ? "" : ", ") + env.print(e) +
             (hint ? "=" + std::to_string(*hint) : std::string());
  }
  return "<ShapeEnv " + names + "; guards: " + std::to_string(env.guards().size()) + ">";
}

// Called once, before the first environment that Python asks for.
py::object& on_first_use() {
  static auto& callback = *new py::object;
  return callback;
}
void first_use() {
  if (on_first_use()) {
    const py::object callback = std::exchange(on_first_use(), py::object());
    callback();
  }
}

// Of fakes made outside of every mode: one as long as anything of it is alive.
Env default_env() {
  static auto& current = *new std::weak_ptr<ShapeEnv>;
  Env env = current.lock();
  if (!env) {
    first_use();
    env = std::make_shared<ShapeEnv>();
    current = env;
  }
  return env;
}

Env mode_env() {
  const ModeState* mode = current_mode();
  return mode == nullptr ? nullptr : mode->env;
}

void bind_guard(py::module_& m) {
  py::class_<GuardView>(m, "Guard", "What the program decided about sizes.")
      .def_readonly("text", &GuardView::text)
      .def_readonly("location", &GuardView::location)
      .def_readonly("operator", &GuardView::operator_name)
      .def_readonly("implied", &GuardView::implied, "The other guards say it already.")
      .def_readonly("assertion", &GuardView::assertion, "The program states it (torch._check).")
      .def_property_readonly(
          "condition", [](const GuardView& self) { return object_of(self.env, self.condition); },
          "The torch.SymBool that is true.")
      .def("__str__", [](const GuardView& self) { return self.text; })
      .def("__repr__", &describe)
      .attr("__module__") = "massless";
}

using EnvClass = py::class_<ShapeEnv, Env>;

Env make_env(bool specialize_zero_one, bool duck_shape) {
  first_use();
  return std::make_shared<ShapeEnv>(guard::ShapeEnvOptions{specialize_zero_one, duck_shape});
}

py::object dynamic_size(const Env& env, const py::object& hint) {
  const std::int64_t size = integer_of(hint, "hint", "ShapeEnv.dynamic_size");
  return object_of(env, with_sym_errors([&] { return env->dynamic_size(size); }));
}

std::string simplified(ShapeEnv& env, const py::object& size) {
  return env.print(env.simplify(expr_of(env, size, "ShapeEnv.simplify")));
}

std::string printed(ShapeEnv& env, const py::object& size) {
  return env.print(expr_of(env, size, "ShapeEnv.print"));
}

py::object parsed(const Env& env, const std::string& text) {
  return object_of(env, with_sym_errors([&] { return env->parse(text); }));
}

bool holds(ShapeEnv& env, const py::dict& values) {
  return env.holds(values_of(env, values, "ShapeEnv.holds"), nullptr);
}

void bind_making(EnvClass& env) {
  const py::object none = py::none();
  env.def(py::init(&make_env), py::kw_only(), py::arg("specialize_zero_one") = true,
          py::arg("duck_shape") = true)
      .def("symbol", &symbol, py::arg("name"), py::arg("hint"), py::arg("min") = none,
           py::arg("max") = none, py::kw_only(), py::arg("multiple_of") = none,
           py::arg("strict") = false,
           "A size with a name and an example; asked for twice, the same. `strict`: no guard may "
           "fix it.")
      .def("unbacked", &unbacked, py::arg("name") = none, py::arg("min") = none,
           py::arg("max") = none, "A size without an example.")
      .def("dynamic_size", &dynamic_size, py::arg("hint"),
           "A size without a name: 0 and 1 stay as they are, equal ones share one.")
      .def("parse", &parsed, py::arg("text"), "The size that `print` wrote.")
      .def("note", &ShapeEnv::note, py::arg("text"));
}

void bind_questions(EnvClass& env) {
  env.def_property_readonly("guards", &guards)
      .def_property_readonly("symbols", &symbols,
                             "{name: (example or None, least, largest, multiple of, strict)}")
      .def_property_readonly("notes", &ShapeEnv::notes,
                             "Sizes asked to be dynamic without a name that stayed as they are.")
      .def("bounds", &bounds, py::arg("size"), "(least, largest); infinities are floats.")
      .def("simplify", &simplified, py::arg("size"), "The text of a size, by all that is known.")
      .def("print", &printed, py::arg("size"), "The text of a size as it was made.")
      .def("holds", &holds, py::arg("values"), "Do ranges and guards hold with {name: value}?")
      .def("why", &why, py::arg("values"), "The first that does not hold, or None.")
      .def("value", &value, py::arg("size"), py::arg("values"), py::kw_only(),
           py::arg("check") = true,
           "The number that the size is with {name: value}, other symbols at their example; None: "
           "it has none there. GuardError outside of the guards.")
      .def_property_readonly("memory", &ShapeEnv::memory, "Bytes that its expressions take.")
      .def("__repr__", &describe_env);
}

void bind_env(py::module_& m) {
  EnvClass env(m, "ShapeEnv",
               "Where symbolic sizes live: symbols, their examples, and the guards under which "
               "what was decided about them holds.");
  bind_making(env);
  bind_questions(env);
  env.attr("__module__") = "massless";
}

}  // namespace

void bind_symbols(py::module_& m) {
  bind_guard(m);
  bind_env(m);
  m.def("on_first_symbol", [](py::object callback) { on_first_use() = std::move(callback); });
  m.def("default_env", &default_env);
  m.def("mode_env", &mode_env, "The ShapeEnv of the innermost mode, or None.");
  bind_sym_access(m);
  bind_node_methods(m);
  bind_numbers(m);
  bind_sym_methods(m);
}

}  // namespace massless::python
