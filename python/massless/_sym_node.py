"""What torch's Python code asks of a size's node beyond its C++ interface.

torch.fx.experimental has its own SymNode in Python; the nodes of C++, ours among them, have the
methods of c10::SymNodeImpl alone. The rest is put on `torch._C._SymNode` when the first ShapeEnv is
made. A node of somebody else has none of it, as before.
"""

import threading
from collections.abc import Callable

import torch
from torch.fx.experimental import sym_node as torch_sym_node

from massless import _C, _sym_functions

_lock = threading.Lock()
_installed = False
_FUNCTIONS = ("sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "log2")


class _Ours:
    """An attribute that nodes of ours alone have."""

    def __init__(self, name: str, get: Callable):
        self._name = name
        self._get = get

    def __get__(self, node, owner=None):
        if node is None:
            return self
        if not _C.is_symbol(node):
            raise AttributeError(
                f"'torch._C._SymNode' object has no attribute '{self._name}'", name=self._name
            )
        return self._get(node)


class _OursSettable(_Ours):
    """torch remembers hints on the node; ours knows them."""

    def __set__(self, node, value) -> None:
        if not _C.is_symbol(node):
            raise AttributeError(f"'torch._C._SymNode' object has no attribute '{self._name}'")


def install() -> None:
    """Once; nothing of it is undone."""
    global _installed
    with _lock:
        if _installed:
            return
        node_class = torch._C._SymNode
        for name, get in _properties().items():
            setattr(node_class, name, _Ours(name, get))
        node_class._hint = _OursSettable("_hint", _C.sym_hint)
        for name, function in _methods().items():
            setattr(node_class, name, _Ours(name, function.__get__))
        _C.install_node_methods(torch_sym_node.SymNode)
        _install_pickling(node_class)
        _C.install_numbers()
        _C.correct_sym_methods()
        _sym_functions.install()
        _installed = True


def _install_pickling(node_class: type) -> None:
    old = node_class.__reduce_ex__

    def __reduce_ex__(self, protocol):
        if _C.is_symbol(self):
            _C.raise_error(
                "sym_unsupported",
                f"the size {self.str()} was to be pickled, which means something in its ShapeEnv "
                "alone",
                "pickle",
            )
        return old(self, protocol)

    node_class.__reduce_ex__ = __reduce_ex__


def _expr(node):
    from massless import _sym_sympy

    return _sym_sympy.to_sympy(node)


def _shape_env(node):
    from massless import _sym_sympy

    return _sym_sympy.adapter(_C.sym_env(node))


def _properties() -> dict[str, Callable]:
    return {
        "hint": _C.sym_hint,
        "pytype": _C.sym_type,
        "expr": _expr,
        "_expr": _expr,
        "shape_env": _shape_env,
        "fx_node": lambda node: None,
    }


def node_of(node, value):
    """The node of what an operator gave: a symbol, or a plain number."""
    if isinstance(value, bool):
        return node.wrap_bool(value)
    if isinstance(value, int):
        return node.wrap_int(value)
    if isinstance(value, float):
        return node.wrap_float(value)
    return value.node


def _unary(name: str) -> Callable:
    return lambda self: node_of(self, _C.sym_unary(name, _C.sym_wrap(self)))


def _binary(name: str) -> Callable:
    return lambda self, other: node_of(
        self, _C.sym_binary(name, _C.sym_wrap(self), _C.sym_wrap(other))
    )


def _function(name: str) -> Callable:
    return lambda self: node_of(self, _C.sym_function(name, _C.sym_wrap(self)))


def _round(self, ndigits=None):
    return node_of(self, _C.sym_round(_C.sym_wrap(self), ndigits))


def _sym_ite(self, then_node, else_node):
    wrapped = [_C.sym_wrap(node) for node in (self, then_node, else_node)]
    return node_of(self, _C.sym_choice(*wrapped))


def _sym_sum(self, nodes):
    return node_of(self, _C.sym_sum([_C.sym_wrap(node) for node in nodes]))


def _is_integer(self):
    return node_of(self, _C.sym_is_integer(_C.sym_wrap(self)))


def _maybe(kind: type) -> Callable:
    def method(self):
        value = self.constant
        return kind(value) if value is not None and _C.sym_type(self) is kind else None

    return method


def _statically_known_true(self, file, line):
    return _C.sym_prove(self) is True


def _evaluate(self, size_oblivious=False):
    return _C.sym_specialized(self)


def _indicator(self, sizes, strides):
    dense = self.is_non_overlapping_and_dense(sizes, strides)
    return _sym_ite(dense, self.wrap_int(1), self.wrap_int(0))


def _methods() -> dict[str, Callable]:
    return {
        "str": lambda self: self._graph_repr(),
        "__str__": lambda self: self._graph_repr(),
        "maybe_as_int": _maybe(int),
        "maybe_as_float": _maybe(float),
        "maybe_as_bool": _maybe(bool),
        "abs": _unary("abs"),
        "pos": _unary("pos"),
        "trunc": _unary("trunc"),
        "sym_int": _unary("trunc"),
        "round": _round,
        "is_integer": _is_integer,
        "lshift": _binary("lshift"),
        "rshift": _binary("rshift"),
        "bitwise_and": _binary("bit_and"),
        "bitwise_or": _binary("bit_or"),
        "bitwise_xor": _binary("bit_xor"),
        "and_": _binary("bit_and"),
        "or_": _binary("bit_or"),
        "sym_ite": _sym_ite,
        "sym_sum": _sym_sum,
        "evaluate": _evaluate,
        "statically_known_true": _statically_known_true,
        "is_non_overlapping_and_dense_indicator": _indicator,
        "_value_eq": lambda self, other: _C.sym_same(self, other),
        **{f"sym_{name}": _function(name) for name in _FUNCTIONS},
    }
