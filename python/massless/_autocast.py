"""Autocast and GradScaler for fake `cuda` on a build without CUDA.

torch.autocast("cuda") asks whether the hardware is there and disables itself where it is not; in
a fake mode the answer is yes. Outside of every mode nothing changes.
"""

import functools

import torch

from massless import _C


def install() -> None:
    """Answers for the absent hardware, inside of fake modes only."""
    common = torch.cuda.amp.common
    common.amp_definitely_not_available = _in_mode(common.amp_definitely_not_available, False)
    # Devices before sm_80 emulate bfloat16, and torch counts that as supported.
    torch.cuda.is_bf16_supported = _in_mode(torch.cuda.is_bf16_supported, True)


def _in_mode(old, answer: bool):
    @functools.wraps(old)
    def asked(*args, **kwargs):
        return answer if _C.in_mode() else old(*args, **kwargs)

    return asked
