"""`massless doctor`: what works on this machine."""

import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator

import click
import torch
from rich.console import Console
from rich.table import Table
from rich.text import Text

import massless
from massless import _C
from massless._load import SUPPORTED_TORCH

Finding = tuple[str, bool | None, str]


def findings() -> Iterator[Finding]:
    """(what was looked at, does it work, what was found); None: it need not."""
    yield "massless", True, massless.__version__
    yield "python", True, f"{platform.python_version()} on {platform.machine()}"
    version = torch.__version__
    yield (
        "torch",
        version.split("+")[0] == SUPPORTED_TORCH,
        f"{version}, supported: {SUPPORTED_TORCH}",
    )
    yield _optional("transformers", "models from a config.json")
    yield (
        "rules",
        bool(_C.rule_names()),
        f"{len(_C.rule_names())} operators answered on the Fake key",
    )
    yield _key()
    guard_is_ours, hooks_in_time = _C.accelerator_report()
    yield (
        "fake cuda",
        hooks_in_time or not guard_is_ours,
        "this build has real CUDA" if not guard_is_ours
        else "registered before torch asked" if hooks_in_time
        else "torch was imported before massless: backward on fake cuda cannot work",
    )  # fmt: skip
    yield _tried("forward on fake cuda", _forward)
    yield _tried("training step on fake cuda", _train)
    yield _real_accelerator()
    yield _compiler()


def _optional(package: str, purpose: str) -> Finding:
    import importlib.metadata

    try:
        return package, True, importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return package, None, f"not installed; needed for {purpose}"


def _key() -> Finding:
    """Our fallback has to be the one on the key: another library could have taken it."""
    lines = torch._C._dispatch_dump("aten::add.Tensor").splitlines()
    ours = [line.split(":", 1)[1] for line in lines if line.startswith("Fake:")]
    if not ours:
        return "dispatch key Fake", False, "no kernel is registered on it"
    return "dispatch key Fake", True, "held by massless"


def _tried(what: str, work: Callable[[], None]) -> Finding:
    try:
        work()
    except Exception as e:
        return what, False, " ".join(f"{type(e).__name__}: {e}".split())[:300]
    return what, True, "works"


def _forward() -> None:
    with massless.fake_mode(device="cuda"), torch.no_grad():
        out = torch.nn.Linear(8, 4)(torch.empty(2, 8))
    assert out.device.type == "cuda" and tuple(out.shape) == (2, 4)


def _train() -> None:
    with massless.fake_mode(device="cuda"):
        layer = torch.nn.Linear(8, 4)
        optimizer = torch.optim.AdamW(layer.parameters(), foreach=False)
        layer(torch.empty(2, 8)).sum().backward()
        optimizer.step()
    assert layer.weight.grad is not None and massless.is_fake(layer.weight.grad)


def _real_accelerator() -> Finding:
    accelerator = torch.accelerator.current_accelerator()
    if accelerator is None:
        return "real accelerator", None, "none; none is needed"
    return "real accelerator", True, str(accelerator)


def _compiler() -> Finding:
    """Only to build the library or a C++ program; the installed package needs none."""
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        path = shutil.which(name) if name else None
        if path:
            ask = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30)
            lines = ask.stdout.splitlines()
            return "C++ compiler", True, lines[0] if lines else path
    return "C++ compiler", None, "not found; needed only to build from source"


@click.command(short_help="What works on this machine.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def doctor(debug: bool) -> int:
    """Look at torch, the dispatch key, fake devices, the compiler; exit status 1 if one fails."""
    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    words = {True: ("ok", "green"), False: ("no", "bold red"), None: ("-", "dim")}
    found = list(findings())
    for what, works, text in found:
        table.add_row(what, Text(*words[works]), Text(text))
    console.print(table)
    return 1 if any(works is False for _, works, _ in found) else 0
