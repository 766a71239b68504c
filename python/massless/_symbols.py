"""Symbolic sizes for users: `Dim`, and what `dynamic=` means for the sizes of tensors."""

import inspect
import keyword
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import torch

from massless import _C, _sym_node

ShapeEnv = _C.ShapeEnv
Guard = _C.Guard
_C.on_first_symbol(_sym_node.install)

_INT64 = 2**63


def hint(x):
    """The Python value that a size has for the example; a plain number is its own hint. None: the
    size has no example."""
    if _C.is_symbol(x):
        return _C.sym_hint(x)
    if isinstance(x, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return x.node.hint if x.node.has_hint() else None
    return x


def _bad(found: str, asked: str = "dynamic") -> None:
    _C.raise_error("bad_argument", found, asked)


def _contradiction(found: str, asked: str = "dynamic") -> None:
    _C.raise_error("contradiction", found, asked)


class DimExpression:
    """What arithmetic with Dims gives: `2*batch`, `seq + 1`, `batch*seq`, `seq // 2`."""

    def __init__(self, operator: str, left, right):
        self._operator = operator
        self._operands = (left, right)

    def dims(self) -> Iterator["Dim"]:
        for operand in self._operands:
            if isinstance(operand, DimExpression):
                yield from operand.dims()

    def value(self, values: Mapping[str, object]):
        """With a number, or a symbol, for each Dim by its name."""
        left, right = (
            x.value(values) if isinstance(x, DimExpression) else x for x in self._operands
        )
        return _OPERATORS[self._operator](left, right)

    def line(self, name: str, values: Mapping[str, int]) -> tuple[int, int] | None:
        """(a, b) where it is a*name + b; None where it is no such line. The other Dims have their
        values."""
        (a, b), (c, d) = (
            (x.line(name, values) or (None, None)) if isinstance(x, DimExpression) else (0, x)
            for x in self._operands
        )
        if a is None or c is None:
            return None
        if self._operator in "+-":
            operator = _OPERATORS[self._operator]
            return operator(a, c), operator(b, d)
        if self._operator == "*":
            return (a * d + c * b, b * d) if a == 0 or c == 0 else None
        return (0, b // d) if a == c == 0 and d != 0 else None

    def __repr__(self) -> str:
        left, right = (self._operand_text(x) for x in self._operands)
        return f"{left} {self._operator} {right}"

    @staticmethod
    def _operand_text(x) -> str:
        return str(x) if isinstance(x, (int, Dim)) else f"({x})"

    def _made(self, operator: str, other, reflected: bool = False):
        if not isinstance(other, DimExpression) and type(other) is not int:
            return NotImplemented
        return DimExpression(operator, *((other, self) if reflected else (self, other)))

    def __add__(self, other):
        return self._made("+", other)

    def __radd__(self, other):
        return self._made("+", other, reflected=True)

    def __sub__(self, other):
        return self._made("-", other)

    def __rsub__(self, other):
        return self._made("-", other, reflected=True)

    def __mul__(self, other):
        return self._made("*", other)

    def __rmul__(self, other):
        return self._made("*", other, reflected=True)

    def __floordiv__(self, other):
        return self._made("//", other)


_OPERATORS: dict[str, Callable] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
}


class _Auto:
    def __repr__(self) -> str:
        return "Dim.AUTO"


class Dim(DimExpression):
    """A size that must stay dynamic: `massless.Dim("batch", min=2, max=64, multiple_of=2)`.

    To fix it, or to need it equal to another one, is a `SpecializationError`; so that this can be
    told, relations are stated by arithmetic: `dynamic={"x": {0: batch}, "y": {0: 2*batch + 1}}`.
    `Dim.AUTO` is a dynamic size without a name.

    Raises:
        MasslessError: the name is no identifier, a bound no int, or no size fulfils the bounds.
    """

    AUTO = _Auto()

    def __init__(
        self,
        name: str,
        *,
        min: int | None = None,
        max: int | None = None,
        multiple_of: int | None = None,
    ):
        check_name(name, "Dim")
        self.name = name
        self.min, self.max, self.multiple_of = min, max, multiple_of
        for given in (min, max, multiple_of):
            if given is not None and (type(given) is not int or not -_INT64 < given < _INT64):
                _bad(f"{given!r} of {self!r} is no int of 64 bits", "Dim")
        if multiple_of is not None and multiple_of < 1:
            _bad(f"the multiple of {self!r} is less than 1", "Dim")
        low, step = min or 0, multiple_of or 1
        first = -(-low // step) * step
        if max is not None and first > max:
            _contradiction(f"no size fulfils {self!r}", "Dim")

    def dims(self) -> Iterator["Dim"]:
        yield self

    def value(self, values: Mapping[str, object]):
        return values[self.name]

    def line(self, name: str, values: Mapping[str, int]) -> tuple[int, int]:
        return (1, 0) if name == self.name else (0, values[self.name])

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        bounds = {"min": self.min, "max": self.max, "multiple_of": self.multiple_of}
        given = [f"{k}={v}" for k, v in bounds.items() if v is not None]
        return f"Dim({', '.join([repr(self.name), *given])})"

    def __eq__(self, other) -> bool:
        return isinstance(other, Dim) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def check_name(name: object, asked: str) -> None:
    """Raises unless it can name a size: one that can be given to `subs` by keyword."""
    if not isinstance(name, str) or not name.isascii() or not name.isidentifier():
        _bad(f"{name!r} is no name: a name is letters, digits and _", asked)
    if keyword.iskeyword(name):
        _bad(f"{name!r} is a keyword of Python", asked)


def current_env() -> ShapeEnv:
    """Of the innermost mode, else the default one."""
    return _C.mode_env() or _C.default_env()


@dataclass(frozen=True)
class _Asked:
    """One dimension of one tensor that was asked to be dynamic."""

    tensor: str  # for errors: "x", or "" where there is but one
    dim: int
    example: int
    given: object

    @property
    def place(self) -> str:
        return f"dim {self.dim} of {self.tensor}" if self.tensor else f"dim {self.dim}"

    def __str__(self) -> str:
        return f"{self.given!r} (example {self.example}, {self.place})"


def dynamic_sizes(env: ShapeEnv, sizes, dynamic, tensor: str = "") -> list:
    """The sizes of one tensor under `dynamic`: None, "all", or {dim: name, Dim or Dim.AUTO}."""
    asked = list(_asked(tensor, list(sizes), dynamic))
    return _merged(sizes, asked, _Binder(env).sizes(asked))


def sizes_of(env: ShapeEnv, dynamic, fn, args: tuple, kwargs: dict | None) -> dict[int, list]:
    """The sizes of the tensors among a call's arguments, by `id`; of those alone that have a
    symbol. `dynamic`: None, "all", or {parameter name or index: the same of the argument}, for
    lists, tuples and dicts {index or key: ...}, for tensors as in `dynamic_sizes`."""
    return _sizes(env, _given_tensors(dynamic, _arguments(fn, args, kwargs or {})))


def tree_sizes(env: ShapeEnv, tree, dynamic) -> dict[int, list]:
    """The same for a tensor, or a tree of lists, tuples and dicts."""
    return _sizes(env, _inside(tree, dynamic, ""))


def _sizes(env: ShapeEnv, given_tensors: Iterable) -> dict[int, list]:
    found: dict[int, tuple[torch.Tensor, list[_Asked]]] = {}
    for tensor, label, spec in given_tensors:
        asked = found.setdefault(id(tensor), (tensor, []))[1]
        for one in _asked(label, list(tensor.shape), spec):
            if any(one.dim == other.dim and one.given != other.given for other in asked):
                _bad(f"{one.place} was given twice: the same tensor is another argument, too")
            asked.append(one)
    everything = [one for _, asked in found.values() for one in asked]
    made = dict(zip(map(id, everything), _Binder(env).sizes(everything), strict=True))
    return {
        key: _merged(tensor.shape, asked, [made[id(one)] for one in asked])
        for key, (tensor, asked) in found.items()
        if asked
    }


def _merged(sizes, asked: list[_Asked], made: list) -> list:
    merged = list(sizes)
    for one, size in zip(asked, made, strict=True):
        merged[one.dim] = size
    return merged


def _asked(tensor: str, sizes: list, dynamic) -> Iterator[_Asked]:
    where = f" of {tensor}" if tensor else ""
    if dynamic is None:
        return
    if isinstance(dynamic, str) and dynamic == "all":
        dynamic = dict.fromkeys(range(len(sizes)), Dim.AUTO)
    if not isinstance(dynamic, Mapping):
        _bad(f"dynamic{where} is {dynamic!r}; it can be None, 'all' or {{dim: name or Dim}}")
    seen: dict[int, object] = {}
    for dim, given in dynamic.items():
        if type(dim) is not int or not -len(sizes) <= dim < len(sizes):
            shape = tuple(hint(n) for n in sizes)
            _bad(f"there is no dim {dim!r}{where}, which has the shape {shape}")
        place = dim % len(sizes)
        if place in seen:
            _bad(f"dim {place}{where} was given twice: {seen[place]!r} and {given!r}")
        seen[place] = given
        if given is not None:
            yield _Asked(tensor, place, _example(sizes[place], place, where), given)


def _example(size, dim: int, where: str) -> int:
    value = hint(size)
    if value is None:
        _bad(f"dim {dim}{where} is {size}, which has no example")
    return value


def _arguments(fn, args: tuple, kwargs: dict) -> dict[object, object]:
    """Arguments by name, and by index those that have no name; "x" and 0 may both be asked for."""
    try:
        bound = inspect.signature(fn).bind(*args, **kwargs)
    except (TypeError, ValueError):  # a builtin; or the call itself will say what is wrong
        return dict(enumerate(args)) | kwargs
    named: dict[object, object] = {}
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            named.update(value)
        elif kind is not inspect.Parameter.VAR_POSITIONAL:
            named[name] = value
    return named | dict(enumerate(args))


def _given_tensors(dynamic, arguments: dict) -> Iterator[tuple[torch.Tensor, str, object]]:
    """(tensor, its name for errors, what was given for it)"""
    if dynamic is None:
        return
    if not isinstance(dynamic, Mapping) and dynamic != "all":
        _bad(f"dynamic is {dynamic!r}; it can be None, 'all' or {{argument: {{dim: name or Dim}}}}")
    if isinstance(dynamic, Mapping):
        yield from _chosen(arguments, dynamic, "")
        return
    seen: set[int] = set()
    for key, value in arguments.items():
        for tensor, label, spec in _inside(value, dynamic, str(key)):
            if id(tensor) not in seen:
                seen.add(id(tensor))
                yield tensor, label, spec


def _chosen(children: Mapping, dynamic: Mapping, label: str) -> Iterator:
    for key, spec in dynamic.items():
        if key not in children:
            names = ", ".join(repr(k) for k in children) or "none"
            where = f" in {label}" if label else ""
            _bad(f"dynamic names {key!r}{where}, and there are {names}")
        name = key if isinstance(key, str) and not label else f"{label or 'argument'}[{key!r}]"
        yield from _inside(children[key], spec, name)


def _inside(value, dynamic, label: str) -> Iterator:
    if isinstance(value, torch.Tensor):
        yield value, label, dynamic
        return
    children = _children(value)
    if dynamic is None or (children is None and dynamic == "all"):
        return
    if children is None or not isinstance(dynamic, Mapping) and dynamic != "all":
        what = label or "what was given"
        _bad(f"dynamic of {what} is {dynamic!r}, and {what} is a {type(value).__name__}")
    if isinstance(dynamic, Mapping):
        yield from _chosen(children, dynamic, label)
        return
    for key, child in children.items():
        yield from _inside(child, dynamic, f"{label}[{key!r}]")


def _children(value) -> Mapping | None:
    if isinstance(value, Mapping):
        return value
    return dict(enumerate(value)) if isinstance(value, (list, tuple)) else None


class _Binder:
    """Turns what was asked of all tensors of a call into sizes."""

    def __init__(self, env: ShapeEnv):
        self._env = env
        self._first: dict[str, _Asked] = {}  # by name, where it was met first
        self._values: dict[str, int] = {}
        self._symbols: dict[str, torch.SymInt] = {}

    def sizes(self, asked: list[_Asked]) -> list:
        expressions = []
        for one in asked:
            if isinstance(one.given, (str, Dim)):
                self._bind(one.given, one.example, one)
            elif isinstance(one.given, DimExpression):
                expressions.append(one)
            elif one.given is not Dim.AUTO:
                _bad(
                    f"{one.given!r} was given for {one.place}; it can be a name, a Dim or Dim.AUTO"
                )
        self._solve(expressions)
        return [self._size(one) for one in asked]

    def _bind(self, given: str | Dim, example: int, one: _Asked) -> None:
        name = given.name if isinstance(given, Dim) else given
        check_name(name, "dynamic")
        first = self._first.setdefault(name, one)
        if self._values.setdefault(name, example) != example:
            _contradiction(f"the size {name} has two examples: {first} and {one}")
        before = [d for d in _named(first.given) if _name(d) == name]
        if before and type(before[0]) is not type(given) or before and before[0] != given:
            _contradiction(f"the name {name} has two meanings: {first} and {one}")
        if name not in self._symbols:
            self._symbols[name] = self._symbol(given, name, example, one)

    def _symbol(self, given: str | Dim, name: str, example: int, one: _Asked) -> torch.SymInt:
        strict = isinstance(given, Dim)
        low, high, multiple = (given.min, given.max, given.multiple_of) if strict else (None,) * 3
        for holds, bound in (
            (low is None or example >= low, "less than its min"),
            (high is None or example <= high, "more than its max"),
            (multiple is None or example % multiple == 0, "no multiple as it says"),
        ):
            if not holds:
                solved = "" if isinstance(one.given, Dim) else f", from {one}"
                _contradiction(f"the example {example} of {given!r} is {bound}{solved}")
        known = self._env.symbols.get(name)
        if known is not None and known[0] != example:
            _contradiction(f"{one}, and the same ShapeEnv has a size {name} of example {known[0]}")
        return self._env.symbol(name, example, low, high, multiple_of=multiple, strict=strict)

    def _solve(self, expressions: list[_Asked]) -> None:
        """Each with one Dim that has no value yet gives it one, until none is left."""
        open_ones = expressions
        while open_ones:
            waiting = []
            for one in open_ones:
                unknown = {d.name: d for d in one.given.dims() if d.name not in self._values}
                if len(unknown) > 1:
                    waiting.append(one)
                    continue
                for dim in unknown.values():
                    self._bind(dim, self._solution(one, dim), one)
            if len(waiting) == len(open_ones):
                names = " and ".join(sorted({d.name for d in waiting[0].given.dims()}))
                _contradiction(
                    f"{waiting[0]} does not say what {names} are, and no other size does"
                )
            open_ones = waiting
        for one in expressions:
            for dim in one.given.dims():
                self._bind(dim, self._values[dim.name], one)
            parts = ", ".join(f"{d.name} = {self._values[d.name]}" for d in one.given.dims())
            try:
                value = one.given.value(self._values)
            except ZeroDivisionError:
                _contradiction(f"{one}: with {parts} it divides by 0")
            if value != one.example:
                _contradiction(f"{one}: with {parts} it is {value}")

    def _solution(self, one: _Asked, dim: Dim) -> int:
        line = one.given.line(dim.name, self._values)
        if line is None or line[0] == 0:
            _contradiction(f"{one} does not say what {dim.name} is; give {dim!r} itself to a size")
        value, rest = divmod(one.example - line[1], line[0])
        if rest != 0 or value < 0:
            _contradiction(f"{one}: no size {dim.name} gives {one.example}")
        return value

    def _size(self, one: _Asked):
        if one.given is Dim.AUTO:
            size = self._env.dynamic_size(one.example)
            if isinstance(size, int):
                self._env.note(f"{one.place} has the example {size} and no name: it stays {size}")
            return size
        if isinstance(one.given, str):
            return self._symbols[one.given]
        return one.given.value(self._symbols)


def _named(given) -> Iterator[str | Dim]:
    if isinstance(given, str):
        yield given
    elif isinstance(given, DimExpression):
        yield from given.dims()


def _name(given: str | Dim) -> str:
    return given.name if isinstance(given, Dim) else given
