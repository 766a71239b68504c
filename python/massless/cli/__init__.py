"""The command `massless`. Exit status: 0 done, 1 the answer is no, 2 the call or input is wrong."""

import massless  # noqa: F401 - before torch, so that fake accelerators are there
from massless.cli._app import main

__all__ = ["main"]
