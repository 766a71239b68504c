"""The user's line: the innermost Python frame outside of torch and massless."""

import os
import sys

import torch

_SKIP = tuple(
    os.path.join(os.path.dirname(os.path.abspath(path)), "")
    for path in (torch.__file__, __file__)
)


def user_location() -> str:
    """ "file.py:12 in forward", or "" where no frame is the user's."""
    frame = sys._getframe()
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_SKIP) and not name.startswith("<"):
            return f"{name}:{frame.f_lineno} in {frame.f_code.co_name}"
        frame = frame.f_back
    return ""
