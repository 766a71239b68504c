"""Which module's forward is running: the path that storages and the peak are reported with."""

import contextlib
import threading
from collections.abc import Iterator

import torch
from torch.nn.modules import module as _module

_stacks = threading.local()


def current_path() -> str:
    """Path of the innermost module now in its forward on this thread; "" outside of all."""
    stack = getattr(_stacks, "paths", None)
    return stack[-1] if stack else ""


def paths_of(modules: list[torch.nn.Module]) -> dict[int, str]:
    """id(module) -> its path in the first root that holds it; a root is called by its class."""
    inside = {id(child) for m in modules for child in m.children()}
    paths: dict[int, str] = {}
    for root in modules:
        if id(root) in inside:
            continue
        for name, m in root.named_modules():
            paths.setdefault(id(m), name or type(root).__name__)
    return paths


@contextlib.contextmanager
def paths_tracked(paths: dict[int, str]) -> Iterator[None]:
    """Inside, `current_path` follows the modules of `paths`, on every thread."""

    def enter(m, _args):
        if not hasattr(_stacks, "paths"):
            _stacks.paths = []
        _stacks.paths.append(paths.get(id(m), type(m).__name__))

    def leave(_m, _args, _result):
        _stacks.paths.pop()

    before = _module.register_module_forward_pre_hook(enter)
    after = _module.register_module_forward_hook(leave, always_call=True)
    try:
        yield
    finally:
        before.remove()
        after.remove()
        _stacks.paths = []
