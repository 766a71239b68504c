"""What programs ask of torch.cuda, for fake `cuda` on a machine without it.

torch.autocast("cuda") and GradScaler ask whether the hardware is there and disable themselves where
it is not; others ask for the capability, or wait for the device. In a fake mode they get the answer
of the configured device; outside of every mode, and where CUDA is there, nothing changes.
"""

import functools

import torch

from massless import _C


def install() -> None:
    """Answers for the absent hardware, inside of fake modes only."""
    common = torch.cuda.amp.common
    common.amp_definitely_not_available = _in_mode(
        common.amp_definitely_not_available, lambda: False
    )
    # Devices before sm_80 emulate bfloat16, and torch counts that as supported.
    for name, answer in {
        "is_bf16_supported": lambda including_emulation=True: (
            including_emulation or _C.cuda_capability() >= (8, 0)
        ),
        "get_device_capability": lambda device=None: _C.cuda_capability(),
        "current_device": lambda: 0,
        "set_device": lambda device: None,
        "synchronize": lambda device=None: None,
    }.items():
        setattr(torch.cuda, name, _in_mode(getattr(torch.cuda, name), answer))


def _in_mode(old, answer):
    @functools.wraps(old)
    def asked(*args, **kwargs):
        if _C.in_mode() and not torch.cuda.is_available():
            return answer(*args, **kwargs)
        return old(*args, **kwargs)

    return asked
