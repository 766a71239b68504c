"""What a long run says meanwhile, on stderr: a bar on a terminal, else a line now and then."""

import threading
import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

FIRST_LINE = 2.0
LINE_EVERY = 10.0


class Meanwhile:
    """`with Meanwhile() as say: say.phase("building"); plan(_progress=say.count)`.

    What ends within 2 seconds writes no line to what is not a terminal.
    """

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.monotonic):
        self._console = console or Console(stderr=True)
        self._clock = clock
        self._lock = threading.Lock()  # autograd's device thread counts, too
        self._what = ""
        self._bar: Progress | None = None
        self._task = None

    def __enter__(self) -> "Meanwhile":
        self._next_line = self._clock() + FIRST_LINE
        if self._console.is_terminal:
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                TextColumn("{task.fields[done]}"),
                TimeElapsedColumn(),
                console=self._console,
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("", total=None, done="")
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def phase(self, what: str) -> None:
        """Names what goes on now."""
        self._what = what
        if self._bar is not None:
            self._bar.update(self._task, description=what, done="")
        self._next_line = self._clock() + FIRST_LINE

    def count(self, done: int) -> None:
        """So many tensors were made so far."""
        text = f"{done:,} tensors"
        if self._bar is not None:
            self._bar.update(self._task, done=text)
            return
        with self._lock:
            if self._clock() < self._next_line:
                return
            self._next_line = self._clock() + LINE_EVERY
        self._console.print(f"massless: {self._what}, {text} ...", highlight=False, markup=False)
