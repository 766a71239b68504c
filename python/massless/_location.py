"""The user's line: the innermost Python frame outside of torch and massless."""

import os
import sys

import torch

_SKIP = tuple(
    os.path.join(os.path.dirname(os.path.abspath(path)), "") for path in (torch.__file__, __file__)
)

# The steps of the command line: who called them is no line of the user's program.
_OUTERMOST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "models.py")


def user_location() -> str:
    """ "file.py:12 in forward", or "" where no frame is the user's."""
    frame = sys._getframe()
    while frame is not None:
        name = frame.f_code.co_filename
        if name == _OUTERMOST:
            return ""
        if not name.startswith(_SKIP) and not name.startswith("<"):
            return f"{name}:{frame.f_lineno} in {frame.f_code.co_name}"
        frame = frame.f_back
    return ""
