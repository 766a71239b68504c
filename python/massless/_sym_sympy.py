"""Sizes as sympy expressions, for those functions of torch.fx.experimental.symbolic_shapes that
read `node.expr` and `node.shape_env`. Imported when the first of them does: sympy is slow to load.

Names: a symbol `batch` is sympy's `s_batch`, one without example `u_...`: torch tells them apart by
their first letter.
"""

import functools
import operator
import weakref
from collections.abc import Callable

import sympy
import torch
from torch.utils._sympy import functions as f
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.reference import PythonReferenceAnalysis
from torch.utils._sympy.value_ranges import ValueRanges

from massless import _C


def _symbol(content: tuple) -> sympy.Symbol:
    name, has_hint, least = content
    positive = {"positive": True} if least > 0 else {"nonnegative": True} if least >= 0 else {}
    return sympy.Symbol(f"{'s' if has_hint else 'u'}_{name}", integer=True, **positive)


def _mod(a, b):
    return f.Mod(a, b) if a.is_nonnegative and b.is_nonnegative else f.PythonMod(a, b)


def _pow(a, b):
    return a**b


def _sum(*operands):
    return sympy.Add(*operands)


def _floordiv_real(a, b):
    return f.ToFloat(f.FloorToInt(f.FloatTrueDiv(a, b)))


_LEAVES: dict[str, Callable] = {
    "constant": sympy.Integer,
    "truth": lambda value: sympy.true if value else sympy.false,
    "real": sympy.Float,
    "symbol": _symbol,
}
_OPERATORS: dict[str, Callable] = {
    "add": _sum,
    "mul": lambda *operands: sympy.Mul(*operands),
    "pow": _pow,
    "floordiv": f.FloorDiv,
    "mod": _mod,
    "min": f.Min,
    "max": f.Max,
    "ite": lambda c, a, b: sympy.Piecewise((a, c), (b, True)),
    "real_ite": lambda c, a, b: sympy.Piecewise((a, c), (b, True)),
    "eq": lambda p: sympy.Eq(p, 0),
    "ge": lambda p: sympy.Ge(p, 0),
    "logical_not": sympy.Not,
    "logical_and": lambda *operands: sympy.And(*operands),
    "logical_or": lambda *operands: sympy.Or(*operands),
    "to_real": f.ToFloat,
    "truediv": f.IntTrueDiv,
    "real_add": operator.add,
    "real_sub": operator.sub,
    "real_mul": operator.mul,
    "real_div": f.FloatTrueDiv,
    "real_pow": f.FloatPow,
    "real_floordiv": _floordiv_real,
    "real_mod": f.PythonMod,
    "real_min": f.Min,
    "real_max": f.Max,
    "real_neg": operator.neg,
    "real_abs": sympy.Abs,
    "floor": f.FloorToInt,
    "ceil": f.CeilToInt,
    "trunc": f.TruncToInt,
    "round": f.RoundToInt,
    "real_round": lambda a, digits: f.RoundDecimal(a, sympy.Integer(digits)),
    "real_eq": sympy.Eq,
    "real_lt": sympy.Lt,
    "real_le": sympy.Le,
}


def _function(name: str) -> Callable:
    return getattr(f, f"OpaqueUnaryFn_{name}")


def to_sympy(node) -> sympy.Basic:
    made: list[sympy.Basic] = []
    for name, content in _C.sym_walk(node):
        if name in _LEAVES:
            made.append(_LEAVES[name](content))
        else:
            make = _OPERATORS.get(name) or _function(name)
            made.append(make(*(made[place] for place in content)))
    return made[-1]


_adapters: weakref.WeakValueDictionary = weakref.WeakValueDictionary()


def adapter(env: _C.ShapeEnv) -> "TorchShapeEnv":
    key = id(env)  # not used again while the adapter lives, which holds the environment
    found = _adapters.get(key)
    if found is None:
        found = _adapters[key] = TorchShapeEnv(env)
    return found


class TorchShapeEnv:
    """`node.shape_env`: what torch's functions ask of their own ShapeEnv."""

    _translation_validation_enabled = False
    prefer_deferred_runtime_asserts_over_guards = False

    def __init__(self, env: _C.ShapeEnv):
        self.env = env

    def size_of(self, expr):
        """A sympy expression over symbols of this environment as a size (a plain number where it
        is one)."""
        if not isinstance(expr, sympy.Basic):
            return expr
        if expr.is_Integer:
            return int(expr)
        if expr in (sympy.true, sympy.false):
            return bool(expr)
        if expr.is_Float:
            return float(expr)
        symbols = {s: self.env.parse(s.name[2:]) for s in expr.free_symbols}
        return sympy_interp(PythonReferenceAnalysis, symbols, expr)

    def evaluate_sym_node(self, node, size_oblivious=False, fallback_value=None):
        if fallback_value is not None and not node.has_hint():
            proved = _C.sym_prove(node)
            return fallback_value if proved is None else proved
        return _C.sym_specialized(node)

    def evaluate_expr(self, expr, hint=None, fx_node=None, size_oblivious=False, **_):
        return sympy.sympify(_specialized(self.size_of(expr)))

    def guard_or_defer_runtime_assert(self, expr, msg, fx_node=None):
        size = self.size_of(expr)
        return size if isinstance(size, bool) else size.node.expect_true("", 0)

    def _maybe_evaluate_static(self, expr, *, compute_hint=False, **_):
        """The number that an expression is, whatever the sizes; None: not known."""
        size = self.size_of(expr)
        if not isinstance(size, (torch.SymInt, torch.SymBool, torch.SymFloat)):
            return sympy.sympify(size)
        if compute_hint:
            value = _C.sym_hint(size)
        elif isinstance(size, torch.SymBool):
            value = _C.sym_prove(size.node)
        else:
            value = size.node.constant
        return None if value is None else sympy.sympify(value)

    def replace(self, expr):
        size = self.size_of(expr)
        return expr if not _C.is_symbol(size) else to_sympy(size.node)

    simplify = replace

    def bound_sympy(self, expr, *_, **__) -> ValueRanges:
        size = self.size_of(expr)
        if isinstance(size, (bool, torch.SymBool)):
            known = size if isinstance(size, bool) else _C.sym_prove(size.node)
            ends = (False, True) if known is None else (known, known)
            return ValueRanges(*(sympy.true if end else sympy.false for end in ends))
        low, high = self.env.bounds(size)
        return ValueRanges(_end(low), _end(high))

    def size_hint(self, expr, *, allow_none=False):
        value = massless_hint(self.size_of(expr))
        if value is None and not allow_none:
            return _specialized(self.size_of(expr))  # the error of a size without example
        return None if value is None else sympy.sympify(value)

    def guarding_hint_or_throw(self, expr):
        size = self.size_of(expr)
        value = massless_hint(size)
        return _specialized(size) if value is None else value

    def optimization_hint(self, expr, fallback=None):
        value = massless_hint(self.size_of(expr))
        return fallback if value is None else value

    def has_guarding_hint(self, expr) -> bool:
        return massless_hint(self.size_of(expr)) is not None

    def is_unbacked_symint(self, symbol) -> bool:
        return symbol.name.startswith("u_")

    def _constrain_range(self, expr, low, high) -> None:
        size = self.size_of(expr)
        if low is not None and low != -int_oo:
            torch._check(size >= int(low))
        if high is not None and high != int_oo:
            torch._check(size <= int(high))

    def _constrain_range_for_size(self, expr, low=None, high=None) -> None:
        self._constrain_range(expr, 0 if low is None else low, high)

    def _constrain_is_bounded(self, expr, high) -> None:
        self._constrain_range(expr, None, high)

    def _constrain_unify(self, a, b) -> None:
        torch._check(a == b)

    def create_unbacked_symint(self, source=None):
        return self.env.unbacked(min=-(2**63))


@functools.singledispatch
def massless_hint(size):
    return size


for _class in (torch.SymInt, torch.SymBool, torch.SymFloat):
    massless_hint.register(_class, _C.sym_hint)


def _specialized(size):
    return _C.sym_specialized(size.node) if _C.is_symbol(size) else size


def _end(value):
    if value == float("inf"):
        return int_oo
    return -int_oo if value == float("-inf") else sympy.Integer(value)
