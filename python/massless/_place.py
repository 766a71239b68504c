"""The place in the user's program that the ledger notes for every storage."""

import contextlib
from collections.abc import Callable, Iterator

from massless import _C
from massless._location import user_location
from massless._modules import current_path

_STRIDE = 64  # births between two calls of the progress callback


@contextlib.contextmanager
def reported(progress: Callable[[int], None] | None) -> Iterator[None]:
    """Inside, births of storages are noted with module path and line; `progress` is called with
    the number of births so far, every few of them."""
    births = 0

    def place() -> tuple[str, str]:
        nonlocal births
        births += 1
        if progress is not None and births % _STRIDE == 0:
            progress(births)
        return current_path(), user_location()

    _C.set_python_place(place)
    try:
        yield
    finally:
        _C.set_python_place(None)
