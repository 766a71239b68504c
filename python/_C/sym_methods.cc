// The operators of torch.SymInt, SymBool and SymFloat in C, in the place of torch's own, which are
// Python: 20 times as fast and more. They are there while a mode with symbolic sizes is open; the
// operators of symbols that are not ours go to torch's own.
#include "sym_methods.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "sym_arith.h"

namespace massless::python {
namespace {

namespace py = pybind11;

enum Classes : std::uint8_t { kInt = 1, kBool = 2, kReal = 4, kNumber = kInt | kReal, kAll = 7 };

// What was there before, by class and name. Changed and read under the GIL.
PyObject*& originals(const PyTypeObject* type) {
  static std::array<PyObject*, 3> all{PyDict_New(), PyDict_New(), PyDict_New()};
  const SymClasses& classes = sym_classes();
  return all[type == classes.integer ? 0 : type == classes.boolean ? 1 : 2];
}

// The operator of torch's own; NotImplemented where it has none.
template <class... Arguments>
PyObject* others(const char* name, PyObject* self, Arguments... arguments) {
  PyObject* method = is_symbol_type(Py_TYPE(self))
                         ? PyDict_GetItemString(originals(Py_TYPE(self)), name)
                         : nullptr;
  if (method == nullptr) {
    Py_INCREF(Py_NotImplemented);
    return Py_NotImplemented;
  }
  return PyObject_CallFunctionObjArgs(method, self, arguments..., nullptr);
}

struct BinaryName {
  const char* name;
  const char* reflected;
};
constexpr BinaryName kBinaryNames[] = {
    {"__add__", "__radd__"},           {"__sub__", "__rsub__"},
    {"__mul__", "__rmul__"},           {"__truediv__", "__rtruediv__"},
    {"__floordiv__", "__rfloordiv__"}, {"__mod__", "__rmod__"},
    {"__divmod__", "__rdivmod__"},     {"__pow__", "__rpow__"},
    {"__lshift__", "__rlshift__"},     {"__rshift__", "__rrshift__"},
    {"__and__", "__rand__"},           {"__or__", "__ror__"},
    {"__xor__", "__rxor__"},           {"__sym_max__", "__sym_max__"},
    {"__sym_min__", "__sym_min__"},
};

PyObject* others_binary(Binary op, PyObject* a, PyObject* b) {
  const BinaryName names = kBinaryNames[static_cast<std::size_t>(op)];
  PyObject* made = others(names.name, a, b);
  if (made != Py_NotImplemented) {
    return made;
  }
  Py_DECREF(made);
  return others(names.reflected, b, a);
}

template <Binary op>
PyObject* binary_slot(PyObject* a, PyObject* b) noexcept {
  return at_border(static_cast<PyObject*>(nullptr), [&] {
    PyObject* made = binary(op, a, b);
    return made != nullptr ? made : others_binary(op, a, b);
  });
}

PyObject* power_slot(PyObject* a, PyObject* b, PyObject* modulus) noexcept {
  return at_border(static_cast<PyObject*>(nullptr), [&] {
    PyObject* made = power(a, b, modulus);
    return made != nullptr ? made : others_binary(Binary::pow, a, b);
  });
}

PyObject* compare_slot(PyObject* a, PyObject* b, int op) noexcept {
  constexpr std::array<const char*, 6> kNames{"__lt__", "__le__", "__eq__",
                                              "__ne__", "__gt__", "__ge__"};
  return at_border(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    if (PyObject* made = compare(a, b, op)) {
      return made;
    }
    PyObject* made = others(kNames[static_cast<std::size_t>(op)], a, b);
    if (made != Py_NotImplemented || op != Py_NE) {
      return made;
    }
    // What object.__ne__ does, where a class has none.
    Py_DECREF(made);
    const auto equal = py::reinterpret_steal<py::object>(others("__eq__", a, b));
    if (!equal || equal.is(py::handle(Py_NotImplemented))) {
      return equal.inc_ref().ptr();
    }
    const int answer = PyObject_IsTrue(equal.ptr());
    return answer < 0 ? nullptr : PyBool_FromLong(answer == 0 ? 1 : 0);
  });
}

constexpr const char* kUnaryNames[] = {"__neg__",    "__pos__",       "__abs__",
                                       "__invert__", "__floor__",     "__ceil__",
                                       "__trunc__",  "__sym_float__", "__sym_not__"};

// TypeError where the operator is not there, as without ours.
PyObject* required(PyObject* made, PyObject* self, const char* name) {
  if (made != Py_NotImplemented) {
    return made;
  }
  Py_DECREF(made);
  return PyErr_Format(PyExc_TypeError, "%s has no %s", Py_TYPE(self)->tp_name, name);
}

template <Unary op>
PyObject* unary_slot(PyObject* a) noexcept {
  return at_border(static_cast<PyObject*>(nullptr), [&] {
    PyObject* made = unary(op, a);
    constexpr const char* kName = kUnaryNames[static_cast<std::size_t>(op)];
    return made != nullptr ? made : required(others(kName, a), a, kName);
  });
}
template <Unary op>
PyObject* unary_method(PyObject* self, PyObject*) noexcept {
  return unary_slot<op>(self);
}
template <Binary op>
PyObject* binary_method(PyObject* self, PyObject* other) noexcept {
  return binary_slot<op>(self, other);
}

int bool_slot(PyObject* a) noexcept {
  return at_border(-1, [&] {
    if (!is_others(a)) {
      return truth(a) ? 1 : 0;
    }
    const auto made = py::reinterpret_steal<py::object>(others("__bool__", a));
    return made ? PyObject_IsTrue(made.ptr()) : -1;
  });
}

enum class As : std::uint8_t { integer, index, real };

template <As as>
PyObject* number_slot(PyObject* a) noexcept {
  constexpr const char* kName = as == As::integer ? "__int__"
                                : as == As::index ? "__index__"
                                                  : "__float__";
  return at_border(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    if (is_others(a)) {
      return required(others(kName, a), a, kName);
    }
    // The whole part of a real is fixed, not the real; of others the value itself.
    const bool real = Py_TYPE(a) == sym_classes().real;
    const auto whole = py::reinterpret_steal<py::object>(
        real && as != As::real ? unary(Unary::trunc, a) : Py_NewRef(a));
    const auto value = py::reinterpret_steal<py::object>(specialized(whole.ptr()));
    return as == As::real ? PyNumber_Float(value.ptr()) : PyNumber_Long(value.ptr());
  });
}

PyObject* round_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count) noexcept {
  return at_border(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    if (count > 1) {
      return PyErr_Format(PyExc_TypeError, "__round__ takes at most 1 argument (%zd given)", count);
    }
    PyObject* digits = count == 0 ? Py_None : arguments[0];
    PyObject* made = rounded(self, digits);
    return made != nullptr ? made : others("__round__", self, digits);
  });
}

PyObject* choice_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count) noexcept {
  return at_border(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    if (count != 2) {
      return PyErr_Format(PyExc_TypeError, "__sym_ite__ takes 2 arguments (%zd given)", count);
    }
    PyObject* made = choice(self, arguments[0], arguments[1]);
    return made != nullptr ? made : others("__sym_ite__", self, arguments[0], arguments[1]);
  });
}

PyObject* whole_method(PyObject* self, PyObject*) noexcept {
  return at_border(static_cast<PyObject*>(nullptr), [&] {
    PyObject* made = is_whole(self);
    return made != nullptr ? made : others("is_integer", self);
  });
}

PyObject* format_method(PyObject* self, PyObject* spec) noexcept {
  return at_border(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    if (is_others(self) || PyUnicode_GetLength(spec) == 0) {
      PyObject* base = reinterpret_cast<PyObject*>(&PyBaseObject_Type);
      return PyObject_CallMethod(base, "__format__", "OO", self, spec);
    }
    const auto value = py::reinterpret_steal<py::object>(specialized(self));
    return PyObject_Format(value.ptr(), spec);
  });
}

template <sym::Op op>
constexpr const char* kFunctionName = nullptr;
#define MASSLESS_SYM_FUNCTION(op) \
  template <>                     \
  constexpr const char* kFunctionName<sym::Op::op> = "__sym_" #op "__";
MASSLESS_SYM_FUNCTION(sqrt)
MASSLESS_SYM_FUNCTION(cos)
MASSLESS_SYM_FUNCTION(cosh)
MASSLESS_SYM_FUNCTION(sin)
MASSLESS_SYM_FUNCTION(sinh)
MASSLESS_SYM_FUNCTION(tan)
MASSLESS_SYM_FUNCTION(tanh)
MASSLESS_SYM_FUNCTION(asin)
MASSLESS_SYM_FUNCTION(acos)
MASSLESS_SYM_FUNCTION(atan)
MASSLESS_SYM_FUNCTION(log2)
#undef MASSLESS_SYM_FUNCTION

template <sym::Op op>
PyObject* function_method(PyObject* self, PyObject*) noexcept {
  return at_border(static_cast<PyObject*>(nullptr), [&] {
    PyObject* made = real_function(op, self);
    return made != nullptr ? made : others(kFunctionName<op>, self);
  });
}

// A slot of a type, which Python calls without a look at the class's dictionary: the wrapper is
// made as CPython makes that of `like`'s own slot of this name, and put into the class.
struct Slot {
  std::uint8_t classes;
  const char* name;
  PyTypeObject* like;
  void* function;
};
template <class F>
constexpr Slot slot(Classes classes, const char* name, F* function,
                    PyTypeObject* like = &PyLong_Type) {
  return {classes, name, like, reinterpret_cast<void*>(function)};
}
const std::array kSlots{
    slot(kAll, "__add__", &binary_slot<Binary::add>),
    slot(kAll, "__radd__", &binary_slot<Binary::add>),
    slot(kAll, "__sub__", &binary_slot<Binary::sub>),
    slot(kAll, "__rsub__", &binary_slot<Binary::sub>),
    slot(kAll, "__mul__", &binary_slot<Binary::mul>),
    slot(kAll, "__rmul__", &binary_slot<Binary::mul>),
    slot(kAll, "__truediv__", &binary_slot<Binary::truediv>),
    slot(kAll, "__rtruediv__", &binary_slot<Binary::truediv>),
    slot(kAll, "__floordiv__", &binary_slot<Binary::floordiv>),
    slot(kAll, "__rfloordiv__", &binary_slot<Binary::floordiv>),
    slot(kAll, "__mod__", &binary_slot<Binary::mod>),
    slot(kAll, "__rmod__", &binary_slot<Binary::mod>),
    slot(kAll, "__divmod__", &binary_slot<Binary::divmod>),
    slot(kAll, "__rdivmod__", &binary_slot<Binary::divmod>),
    slot(kAll, "__pow__", &power_slot),
    slot(kAll, "__rpow__", &power_slot),
    slot(kAll, "__lshift__", &binary_slot<Binary::lshift>),
    slot(kAll, "__rlshift__", &binary_slot<Binary::lshift>),
    slot(kAll, "__rshift__", &binary_slot<Binary::rshift>),
    slot(kAll, "__rrshift__", &binary_slot<Binary::rshift>),
    slot(kAll, "__and__", &binary_slot<Binary::bit_and>),
    slot(kAll, "__rand__", &binary_slot<Binary::bit_and>),
    slot(kAll, "__or__", &binary_slot<Binary::bit_or>),
    slot(kAll, "__ror__", &binary_slot<Binary::bit_or>),
    slot(kAll, "__xor__", &binary_slot<Binary::bit_xor>),
    slot(kAll, "__rxor__", &binary_slot<Binary::bit_xor>),
    slot(kAll, "__neg__", &unary_slot<Unary::neg>),
    slot(kAll, "__pos__", &unary_slot<Unary::pos>),
    slot(kAll, "__abs__", &unary_slot<Unary::abs>),
    slot(kAll, "__invert__", &unary_slot<Unary::invert>),
    slot(kAll, "__bool__", &bool_slot),
    slot(kAll, "__int__", &number_slot<As::integer>),
    slot(kInt, "__index__", &number_slot<As::index>),
    slot(kAll, "__float__", &number_slot<As::real>),
    slot(kAll, "__lt__", &compare_slot),
    slot(kAll, "__le__", &compare_slot),
    slot(kAll, "__eq__", &compare_slot),
    slot(kAll, "__ne__", &compare_slot),
    slot(kAll, "__gt__", &compare_slot),
    slot(kAll, "__ge__", &compare_slot),
};

struct Method {
  std::uint8_t classes;
  PyMethodDef definition;
};
PyCFunction fast(_PyCFunctionFast f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}
template <sym::Op op>
Method function(std::uint8_t classes = kNumber) {
  return {classes, {kFunctionName<op>, &function_method<op>, METH_NOARGS, nullptr}};
}
// As long as the process: method objects point into it.
std::array<Method, 22>& methods() {
  static std::array<Method, 22> all{{
      {kNumber, {"__sym_max__", &binary_method<Binary::max>, METH_O, nullptr}},
      {kNumber, {"__sym_min__", &binary_method<Binary::min>, METH_O, nullptr}},
      {kAll, {"__sym_float__", &unary_method<Unary::to_real>, METH_NOARGS, nullptr}},
      {kAll, {"__floor__", &unary_method<Unary::floor>, METH_NOARGS, nullptr}},
      {kAll, {"__ceil__", &unary_method<Unary::ceil>, METH_NOARGS, nullptr}},
      {kAll, {"__trunc__", &unary_method<Unary::trunc>, METH_NOARGS, nullptr}},
      {kBool, {"__sym_not__", &unary_method<Unary::logical_not>, METH_NOARGS, nullptr}},
      {kBool, {"__sym_ite__", fast(&choice_method), METH_FASTCALL, nullptr}},
      {kAll, {"__round__", fast(&round_method), METH_FASTCALL, nullptr}},
      {kReal, {"is_integer", &whole_method, METH_NOARGS, nullptr}},
      {kAll, {"__format__", &format_method, METH_O, nullptr}},
      function<sym::Op::sqrt>(),
      function<sym::Op::cos>(),
      function<sym::Op::cosh>(),
      function<sym::Op::sin>(),
      function<sym::Op::sinh>(),
      function<sym::Op::tan>(),
      function<sym::Op::tanh>(),
      function<sym::Op::asin>(),
      function<sym::Op::acos>(),
      function<sym::Op::atan>(),
      function<sym::Op::log2>(kReal),
  }};
  return all;
}

// One attribute of one class, made once.
struct Entry {
  PyTypeObject* type;
  py::object name;
  py::object method;
  bool always;  // torch's own gives a wrong value for symbols of ours: ours stays in its place
  py::object before{};  // null: the class had none of its own
};

bool is_wrong_in_torch(const PyTypeObject* type, std::string_view name) {
  const SymClasses& classes = sym_classes();
  // round(s, -1) is s there; and s // 0.1 is floor(s / 0.1), which is rounded twice.
  return (name == "__round__" && type == classes.integer) ||
         (name.ends_with("floordiv__") && type != classes.boolean);
}

template <class F>
void for_each_class(std::uint8_t classes, F&& f) {
  const SymClasses& all = sym_classes();
  for (const auto& [bit, type] :
       {std::pair{kInt, all.integer}, std::pair{kBool, all.boolean}, std::pair{kReal, all.real}}) {
    if ((classes & bit) != 0) {
      f(type);
    }
  }
}

// Leaked: no reference may be given up when the interpreter is gone.
std::vector<Entry>& entries() {
  static std::vector<Entry>& all = *new std::vector<Entry>([] {
    std::vector<Entry> made;
    const auto add = [&](PyTypeObject* type, const char* name, PyObject* method) {
      made.push_back({type, py::reinterpret_steal<py::object>(PyUnicode_InternFromString(name)),
                      py::reinterpret_steal<py::object>(method), is_wrong_in_torch(type, name)});
    };
    for (const Slot& s : kSlots) {
      auto* like =
          reinterpret_cast<PyWrapperDescrObject*>(PyDict_GetItemString(s.like->tp_dict, s.name));
      for_each_class(s.classes, [&](PyTypeObject* type) {
        add(type, s.name, PyDescr_NewWrapper(type, like->d_base, s.function));
      });
    }
    for (Method& m : methods()) {
      for_each_class(m.classes, [&](PyTypeObject* type) {
        add(type, m.definition.ml_name, PyDescr_NewMethod(type, &m.definition));
      });
    }
    // torch asks every argument that is no tensor for this; to answer that there is none, by an
    // AttributeError that is dropped, takes a third of the time of x.view(s, 2).
    const py::object none = py::module_::import("torch._C").attr("_disabled_torch_function_impl");
    for_each_class(
        kAll, [&](PyTypeObject* type) { add(type, "__torch_function__", none.inc_ref().ptr()); });
    return made;
  }());
  return all;
}

void check(int status) {
  if (status != 0) {
    throw py::error_already_set();
  }
}

void put(Entry& entry) {
  PyObject* found = PyDict_GetItem(entry.type->tp_dict, entry.name.ptr());
  entry.before = py::reinterpret_borrow<py::object>(found);
  PyObject* before = originals(entry.type);
  if (found != nullptr) {
    check(PyDict_SetItem(before, entry.name.ptr(), found));
  } else if (PyDict_Contains(before, entry.name.ptr()) == 1) {
    check(PyDict_DelItem(before, entry.name.ptr()));
  }
  check(PyObject_SetAttr(reinterpret_cast<PyObject*>(entry.type), entry.name.ptr(),
                         entry.method.ptr()));
}

// A null value deletes.
void put_back(Entry& entry) {
  check(PyObject_SetAttr(reinterpret_cast<PyObject*>(entry.type), entry.name.ptr(),
                         entry.before.ptr()));
  entry.before = py::object();
}

// Both under the GIL, which nothing in them gives away: other threads see all operators or none.
int open_modes = 0;

void enter() {
  if (open_modes++ == 0) {
    for (Entry& entry : entries()) {
      if (!entry.always) {
        put(entry);
      }
    }
  }
}
void leave() {
  if (--open_modes == 0) {
    for (Entry& entry : entries()) {
      if (!entry.always) {
        put_back(entry);
      }
    }
  }
}

void correct() {
  static bool done = false;
  for (Entry& entry : entries()) {
    if (entry.always && !done) {
      put(entry);
    }
  }
  done = true;
}

}  // namespace

void bind_sym_methods(py::module_& m) {
  m.def("enter_sym_methods", &enter,
        "The operators of torch.SymInt, SymBool and SymFloat are ours until as many calls of "
        "leave_sym_methods.");
  m.def("leave_sym_methods", &leave);
  m.def("correct_sym_methods", &correct,
        "Replaces, for good, the operators of torch's that give wrong values for symbols of ours.");
}

}  // namespace massless::python
