"""What a callable can reach: tensors, modules and optimizers in its arguments, closure, globals,
bound self, defaults and attributes."""

import functools
import sys
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import torch

# Their functions hold no tensors of the user's; walking into them would walk into everything.
_LIBRARIES = frozenset({"torch", "numpy", "massless"}) | sys.stdlib_module_names
_LEAVES = (str, bytes, int, float, complex, bool, type(None), type, types.ModuleType)


@dataclass
class Reach:
    """Everything found, each object once, in the order of the walk."""

    tensors: list[torch.Tensor] = field(default_factory=list)
    modules: list[torch.nn.Module] = field(default_factory=list)
    optimizers: list[torch.optim.Optimizer] = field(default_factory=list)


def _global_names(code: types.CodeType) -> set[str]:
    """Names that the code, or a function defined in it, may look up among the globals."""
    names: set[str] = set()
    todo = [code]
    while todo:
        one = todo.pop()
        names.update(one.co_names)
        todo.extend(c for c in one.co_consts if isinstance(c, types.CodeType))
    return names


def _of_function(fn: types.FunctionType) -> Iterable[object]:
    if (fn.__module__ or "").split(".")[0] in _LIBRARIES and "__wrapped__" not in vars(fn):
        return
    for cell in fn.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a name of an enclosing function that has no value yet
            continue
    yield from fn.__defaults__ or ()
    yield from (fn.__kwdefaults__ or {}).values()
    yield from vars(fn).values()
    for name in sorted(_global_names(fn.__code__)):
        if name in fn.__globals__:
            yield fn.__globals__[name]


def _attributes(x: object) -> Iterable[object]:
    yield from getattr(x, "__dict__", {}).values()
    for cls in type(x).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            value = getattr(x, name, None)
            if value is not None and not callable(value):
                yield value


def _held_by(x: object) -> Iterable[object]:
    if isinstance(x, types.FunctionType):
        yield from _of_function(x)
    elif isinstance(x, types.MethodType):
        yield from (x.__func__, x.__self__)
    elif isinstance(x, functools.partial):
        yield from (x.func, x.args, x.keywords)
    elif isinstance(x, Mapping):
        yield from x.keys()
        yield from x.values()
        yield from getattr(x, "__dict__", {}).values()
    elif isinstance(x, (list, tuple, set, frozenset)):
        yield from x
    else:
        yield from _attributes(x)


def reach(*roots: object) -> Reach:
    """Walks from the roots with an explicit stack; no object is visited twice."""
    found = Reach()
    seen: set[int] = set()
    keep: list[object] = []  # ids stay theirs while the walk lasts
    todo = list(reversed(roots))
    while todo:
        x = todo.pop()
        if isinstance(x, _LEAVES) or id(x) in seen:
            continue
        seen.add(id(x))
        keep.append(x)
        if isinstance(x, torch.Tensor):
            found.tensors.append(x)
            continue
        if isinstance(x, torch.nn.Module):
            found.modules.append(x)
        elif isinstance(x, torch.optim.Optimizer):
            found.optimizers.append(x)
        todo.extend(reversed(list(_held_by(x))))
    return found
