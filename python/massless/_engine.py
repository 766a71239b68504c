"""The autograd engine over fakes."""

import atexit
import functools

import torch

from massless import _C

_CUDA = torch.device("cuda", 0)


def install() -> None:
    """Every backward from Python goes through the engine object that we put here."""
    torch.autograd.Variable._execution_engine = _Engine()
    atexit.register(_C.meet_device_threads)
    graph = torch.autograd.graph
    graph._get_tid = _for_fakes(graph._get_tid, lambda t: (id(t), _place(t), t._version))
    graph._get_sid = _for_fakes(graph._get_sid, lambda t: (_place(t), t._version))


def _place(t: torch.Tensor) -> tuple[int, int]:
    """What allow_mutation_on_saved_tensors knows memory by; a fake has no address."""
    return t.untyped_storage()._cdata, t.storage_offset()


def _for_fakes(old, ours):
    @functools.wraps(old)
    def identity(tensor):
        return ours(tensor) if _C.is_fake(tensor) else old(tensor)

    return identity


class _Engine(torch._C._ImperativeEngine):
    """The imperative engine; over fakes, formulas that make tensors make fakes, and the threads
    and hooks that a fake device needs are there before the backward starts."""

    def run_backward(self, tensors, *args, **kwargs):
        roots = [t for t in tensors if isinstance(t, torch.Tensor) and _C.is_fake(t)]
        if not roots:
            return super().run_backward(tensors, *args, **kwargs)
        _prepare(roots)
        try:
            with _C.FakeKeyOn():
                return super().run_backward(tensors, *args, **kwargs)
        except RuntimeError as error:
            if _C.fake_devices_in_use() and "accelerator device when none" in str(error):
                # The root is on the CPU, and what it depends on is not.
                _C.require_backward_support(_CUDA)
            raise


def _prepare(roots: list[torch.Tensor]) -> None:
    for t in roots:
        _C.require_backward_support(t.device)
    in_time = _C.accelerator_report()[1]
    if in_time and _C.fake_devices_in_use():
        _C.require_backward_support(_CUDA)
