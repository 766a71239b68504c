"""What Python asks of a tensor behind the dispatcher's back (numpy, tolist, pickling, new_tensor).

The methods are put on torch.Tensor when the first fake is about to be made; for real tensors they
do what they did before.
"""

import threading

import torch

from massless import _C

_lock = threading.Lock()
_depth = 0
_installed = False


def enter() -> None:
    """A fake mode opens: devices that this build lacks need no initialisation inside."""
    global _depth
    install()
    with _lock:
        _depth += 1
        if _depth == 1:
            _C.set_requires_device_init(torch.device("cuda"), False)
            _C.set_only_lift_cpu_tensors(True)


def exit() -> None:
    """A fake mode closes; at the outermost one everything is as before."""
    global _depth
    with _lock:
        _depth -= 1
        if _depth == 0:
            _C.set_requires_device_init(torch.device("cuda"), True)
            _C.set_only_lift_cpu_tensors(False)


def install() -> None:
    """Puts the methods on torch.Tensor, once."""
    global _installed
    if _installed:
        return
    with _lock:
        _installed = True
