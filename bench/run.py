"""Every figure of the project beside its rival, measured in one run; exits 1 where one is missed.

The rival is torch's own FakeTensorMode (Python), with its cache warm.
"""

import massless  # noqa: I001 - before torch, as a user would who wants fake accelerators

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from measure import CONFIGS, ROOT, Figure, best_us, least_seconds, llama_8b, small_llama
from rich.console import Console
from rich.table import Table
from sym_replay import figures as sym_figures
from symbolic import figures as symbolic_figures
from torch._subclasses import FakeTensorMode
from torch.nn import functional as F

LIMIT_RULE_US = 0.6
LIMIT_SYMBOLIC_RULE_US = 3.0
LIMIT_COMPARISON_US = 0.3
LIMIT_RATIO = 100
LIMIT_FORWARD = 2.0
LIMIT_RSS = 2**30
LIMIT_BUILD = 15 * 60


def rules_from_cpp() -> list[Figure]:
    binary = next(iter(ROOT.glob("build/**/bench/rules_bench")), None)
    if binary is None:
        raise SystemExit("bench: rules_bench is not built; run `make bench`")
    out = subprocess.run(
        [
            str(binary),
            "--benchmark_format=json",
            "--benchmark_repetitions=5",
            "--benchmark_min_time=0.2",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    best: dict[str, float] = {}
    for row in json.loads(out)["benchmarks"]:
        if row.get("run_type") == "iteration":
            name = row["name"].split("/")[0]
            best[name] = min(best.get(name, float("inf")), row["cpu_time"] / 1000)

    def limit(name: str) -> float:
        if name == "symbolic_comparison":
            return LIMIT_COMPARISON_US
        return LIMIT_SYMBOLIC_RULE_US if name.startswith("symbolic_") else LIMIT_RULE_US

    return [
        Figure(
            f"{name.replace('_', ' ', 1) if name.startswith('symbolic') else name} from C++",
            f"{us:.2f} us",
            "-",
            f"<= {limit(name)} us",
            us <= limit(name),
        )
        for name, us in best.items()
    ]


def operators(make: Callable[..., torch.Tensor]) -> dict[str, Callable[[], object]]:
    a, b, square, weight = make(128, 256), make(128, 256), make(256, 256), make(256)
    return {
        "add": lambda: torch.add(a, b),
        "mm": lambda: torch.mm(a, square),
        "view": lambda: a.view(64, 512),
        "softmax": lambda: torch.softmax(a, -1),
        "layer_norm": lambda: F.layer_norm(a, (256,), weight, weight),
    }


def rules_from_python() -> list[Figure]:
    with torch.no_grad():
        with massless.fake_mode():
            ours = {k: best_us(f, 2000) for k, f in operators(torch.empty).items()}
        with FakeTensorMode():
            theirs = {k: best_us(f, 100) for k, f in operators(torch.empty).items()}
    return [
        Figure(
            f"{k} from Python",
            f"{ours[k]:.2f} us",
            f"FakeTensorMode {theirs[k]:.0f} us ({theirs[k] / ours[k]:.0f}x)",
            f">= {LIMIT_RATIO}x",
            theirs[k] >= LIMIT_RATIO * ours[k],
        )
        for k in ours
    ]


def llama_forward() -> Figure:
    def forward_of(mode, batch: int, seq: int, build: Callable[[], torch.nn.Module]) -> float:
        with mode, torch.no_grad():
            model = build()
            ids = torch.zeros(batch, seq, dtype=torch.int64)
            return least_seconds(lambda: model(input_ids=ids, use_cache=False))

    eager = forward_of(contextlib.nullcontext(), 1, 4, small_llama)
    ours = forward_of(massless.fake_mode(), 2, 128, llama_8b)
    theirs = forward_of(FakeTensorMode(), 2, 128, llama_8b)
    return Figure(
        "Llama-3-8B forward 2 x 128 on fakes",
        f"{ours * 1e3:.1f} ms",
        f"eager, hidden 32: {eager * 1e3:.1f} ms; FakeTensorMode {theirs * 1e3:.0f} ms",
        f"<= {LIMIT_FORWARD}x eager",
        ours <= LIMIT_FORWARD * eager,
    )


GROWTH = """
import resource, sys
import massless.cli
from click.testing import CliRunner
import massless.models, transformers, torch
import transformers.models.llama.modeling_llama
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
arguments = ["plan", sys.argv[1], "--task", "train", "--json", "-"]
result = CliRunner().invoke(massless.cli.main, arguments)
assert result.exit_code == 0, result.output[-2000:]
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


def growth_405b() -> Figure:
    start = time.perf_counter()
    out = subprocess.run(
        [sys.executable, "-c", GROWTH, str(CONFIGS / "llama-3.1-405b.json")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    ).stdout
    grown = int(out.split()[-1])
    return Figure(
        "resident memory of `plan` of a 405B step",
        f"{grown / 2**20:.0f} MiB",
        f"{time.perf_counter() - start:.0f} s in all",
        "< 1024 MiB",
        grown < LIMIT_RSS,
    )


def clean_build() -> Figure:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        env = {**os.environ, "CCACHE_DISABLE": "1"}
        configure = [
            "cmake",
            "-S",
            str(ROOT),
            "-B",
            folder,
            "-G",
            "Ninja",
            f"-DPython3_EXECUTABLE={sys.executable}",
        ]
        subprocess.run(configure, check=True, env=env, capture_output=True)
        subprocess.run(["ninja", "-C", folder, "-j2"], check=True, env=env, capture_output=True)
        seconds = time.perf_counter() - start
    return Figure(
        "clean build on 2 cores",
        f"{seconds / 60:.1f} min",
        "-",
        "< 15 min",
        seconds < LIMIT_BUILD,
    )


def main() -> int:
    if shutil.which("ninja") is None:
        os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    rows = rules_from_cpp() + rules_from_python() + [llama_forward(), growth_405b()]
    rows += sym_figures() + symbolic_figures()
    if "--no-build" not in sys.argv:
        rows.append(clean_build())
    table = Table(title=f"massless bench, torch {torch.__version__}, {os.cpu_count()} cores")
    for column in ("figure", "measured", "rival", "limit", "met"):
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(row.what, row.measured, row.rival, row.limit, "yes" if row.met else "NO")
    Console().print(table)
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
