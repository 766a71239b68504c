"""Fake twins: for the length of a call every tensor that a function reaches is its own fake.

The twin takes the place of the data inside the same tensor object, so modules, closures, optimizers
and graphs see it without being told. Afterwards everything is as it was, also after an exception.
"""

import contextlib
import random
import sys
from collections.abc import Iterator

import torch
from torch.utils import _pytree as pytree

from massless import _C
from massless._errors import MasslessError
from massless._reach import Reach

_HOOK_DICTS = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_state_dict_hooks",
    "_load_state_dict_pre_hooks",
)


@contextlib.contextmanager
def generators_kept() -> Iterator[None]:
    """torch's default CPU generator, Python's and numpy's are left as they were found."""
    torch_state = torch.default_generator.get_state()
    python_state = random.getstate()
    numpy_random = getattr(sys.modules.get("numpy"), "random", None)
    numpy_state = numpy_random.get_state() if numpy_random is not None else None
    try:
        yield
    finally:
        torch.default_generator.set_state(torch_state)
        random.setstate(python_state)
        if numpy_random is not None:
            numpy_random.set_state(numpy_state)


class _Snapshot:
    """Python-side state of modules and optimizers: dictionaries, flags, hooks, state."""

    def __init__(self, found: Reach):
        self._modules = [(m, self._of_module(m)) for m in found.modules]
        self._optimizers = [(o, self._of_optimizer(o)) for o in found.optimizers]

    @staticmethod
    def _of_module(module: torch.nn.Module):
        dictionaries = [module._parameters, module._buffers, module._modules]
        dictionaries += [vars(module)[name] for name in _HOOK_DICTS if name in vars(module)]
        return dict(vars(module)), [(d, dict(d)) for d in dictionaries]

    @staticmethod
    def _of_optimizer(optimizer: torch.optim.Optimizer):
        state = {p: dict(s) if isinstance(s, dict) else s for p, s in optimizer.state.items()}
        groups = [(g, dict(g), list(g["params"])) for g in optimizer.param_groups]
        return dict(vars(optimizer)), state, groups

    def restore(self) -> None:
        for module, (attributes, dictionaries) in self._modules:
            vars(module).clear()
            vars(module).update(attributes)
            for d, content in dictionaries:
                d.clear()
                d.update(content)
        for optimizer, (attributes, state, groups) in self._optimizers:
            self._restore_optimizer(optimizer, attributes, state, groups)

    @staticmethod
    def _restore_optimizer(optimizer, attributes, state, groups) -> None:
        live = {p: optimizer.state.get(p) for p in state}
        vars(optimizer).clear()
        vars(optimizer).update(attributes)
        optimizer.state.clear()
        for p, content in state.items():
            kept = live[p]
            if isinstance(kept, dict) and isinstance(content, dict):
                kept.clear()
                kept.update(content)
                optimizer.state[p] = kept
            else:
                optimizer.state[p] = content
        optimizer.param_groups[:] = [g for g, _, _ in groups]
        for group, content, params in groups:
            group.clear()
            group.update(content)
            group["params"][:] = params


class Twins:
    """Opens inside a fake mode; `args` and `kwargs` are what the function is to be called with."""

    def __init__(
        self,
        found: Reach,
        args: tuple,
        kwargs: dict,
        device: torch.device | None,
        sizes: dict[int, list] | None = None,
    ):
        """`sizes`: by id, of tensors that have symbols among their sizes."""
        self._found = found
        self._device = device
        self._sizes = sizes or {}
        self._impersonations: list[_C.Impersonation] = []
        self._on_cpu = self._step_counters()
        self.args, self.kwargs = args, kwargs

    def _step_counters(self) -> set[int]:
        """Step counts that the optimizer keeps on the CPU whatever the parameters' device."""
        kept: set[int] = set()
        for optimizer in self._found.optimizers:
            for group in optimizer.param_groups:
                if group.get("fused") or group.get("capturable"):
                    continue
                for p in group["params"]:
                    step = optimizer.state.get(p, {}).get("step")
                    if isinstance(step, torch.Tensor):
                        kept.add(id(step))
        return kept

    def _convert(self, converter: _C.FakeConverter, t: torch.Tensor) -> torch.Tensor:
        # Integers (masks, ids, step counts) keep their values: the plan is of this very call.
        device = None if id(t) in self._on_cpu else self._device
        return converter.convert(t, device, with_values=True, sizes=self._sizes.get(id(t)))

    def __enter__(self) -> "Twins":
        self._snapshot = _Snapshot(self._found)
        converter = _C.FakeConverter()
        stand_ins: dict[int, torch.Tensor] = {}
        leaves = {id(x) for x in pytree.tree_leaves((self.args, self.kwargs))}
        try:
            for t in self._found.tensors:
                self._one(converter, t, stand_ins, id(t) in leaves)
        except BaseException:
            self._restore()
            raise
        self.args, self.kwargs = pytree.tree_map(
            lambda x: stand_ins.get(id(x), x), (self.args, self.kwargs)
        )
        return self

    def _one(self, converter, t: torch.Tensor, stand_ins: dict, is_argument: bool) -> None:
        if t.layout is not torch.strided:
            raise MasslessError(
                f"[unsupported_value] plan: a tensor with layout {t.layout} and shape "
                f"{tuple(t.shape)} is reached. Needed: strided tensors. What to do: convert it "
                "with .to_dense().",
                "unsupported_value",
            )
        if t.grad_fn is not None:
            if not is_argument:
                raise MasslessError(
                    f"[bad_argument] plan: the function reaches a tensor of shape "
                    f"{tuple(t.shape)} that is the result of {t.grad_fn.name()}, outside of the "
                    "call. Needed: leaf tensors. What to do: detach() it, or pass it as an "
                    "argument.",
                )
            stand_ins[id(t)] = self._convert(converter, t)
            return
        grad = None if t.grad is None else self._convert(converter, t.grad)
        fake = self._convert(converter, t).detach()
        self._impersonations.append(_C.Impersonation(t, fake, grad))

    def _restore(self) -> None:
        for impersonation in reversed(self._impersonations):
            impersonation.restore()
        self._impersonations.clear()
        self._snapshot.restore()

    def __exit__(self, *exception) -> None:
        self._restore()
