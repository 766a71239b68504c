"""Symbolic sizes from Python, beside torch's own: comparisons, rules, a model's forward, `plan`.

python bench/symbolic.py    prints each figure; bench/run.py has them in its table.
"""

import massless  # noqa: I001 - before torch, as a user would who wants fake accelerators

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from measure import CONFIGS, Figure, best_us, least_seconds, llama_8b, small_llama
from sym_replay import compare_in_torch
from torch._dynamo.source import ConstantSource
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

LIMIT_COMPARE = 20
LIMIT_RULE = 200
LIMIT_FORWARD = 3.0
LIMIT_PLAN_SECONDS = 15
BATCH, SEQ, HIDDEN = 6, 10, 256


def comparison() -> Figure:
    env = massless.ShapeEnv()
    s = env.symbol("s", 5, min=2)
    with massless.fake_mode(shape_env=env):
        ours = best_us(lambda: (s * 2 + 1) == (s + 3), 5000)
    theirs = compare_in_torch()
    return Figure(
        "(s*2 + 1) == (s + 3) from Python, a mode on",
        f"{ours:.2f} us",
        f"SymInt {theirs:.0f} us ({theirs / ours:.0f}x)",
        f">= {LIMIT_COMPARE}x",
        theirs >= LIMIT_COMPARE * ours,
    )


def operators(a: torch.Tensor) -> dict[str, Callable[[], object]]:
    batch, seq = a.shape[:2]
    rows = batch * seq
    flat = a.view(rows, HIDDEN)
    square = torch.empty(HIDDEN, HIDDEN)
    return {
        "add": lambda: torch.add(a, a),
        "mm": lambda: torch.mm(flat, square),
        "view": lambda: a.view(rows, HIDDEN),
        "softmax": lambda: torch.softmax(a, -1),
        "cat": lambda: torch.cat([a, a], 1),
    }


def rules() -> list[Figure]:
    real = torch.empty(BATCH, SEQ, HIDDEN)

    def in_torch(mode: FakeTensorMode) -> torch.Tensor:
        kinds = [DimDynamic.DYNAMIC, DimDynamic.DYNAMIC, DimDynamic.STATIC]
        context = StatelessSymbolicContext(dynamic_sizes=kinds)
        source = ConstantSource("a")
        return mode.from_tensor(real, symbolic_context=context, source=source)

    with torch.no_grad():
        with massless.fake_mode(shape_env=massless.ShapeEnv()):
            ours_like = massless.fake_like(real, dynamic={0: "batch", 1: "seq"})
            ours = {k: best_us(f, 1000) for k, f in operators(ours_like).items()}
        mode = FakeTensorMode(shape_env=ShapeEnv())
        with mode:
            theirs = {k: best_us(f, 50) for k, f in operators(in_torch(mode)).items()}
    return [
        Figure(
            f"symbolic {k} from Python",
            f"{ours[k]:.2f} us",
            f"symbolic FakeTensorMode {theirs[k]:.0f} us ({theirs[k] / ours[k]:.0f}x)",
            f">= {LIMIT_RULE}x",
            theirs[k] >= LIMIT_RULE * ours[k],
        )
        for k in ours
    ]


def llama_forward() -> Figure:
    def forward_of(mode, build: Callable[[], torch.nn.Module], ids: Callable) -> float:
        with mode, torch.no_grad():
            model = build()
            given = ids()
            return least_seconds(lambda: model(input_ids=given, use_cache=False))

    def symbolic_ids() -> torch.Tensor:
        names = {0: "batch", 1: "seq"}
        return massless.fake_like(torch.zeros(2, 128, dtype=torch.int64), dynamic=names)

    eager = forward_of(
        contextlib.nullcontext(), small_llama, lambda: torch.zeros(1, 4, dtype=torch.int64)
    )
    mode = massless.fake_mode(shape_env=massless.ShapeEnv())
    ours = forward_of(mode, llama_8b, symbolic_ids)
    return Figure(
        "Llama-3-8B forward on symbolic fakes, second run",
        f"{ours * 1e3:.1f} ms",
        f"eager, hidden 32: {eager * 1e3:.1f} ms ({ours / eager:.2f}x)",
        f"<= {LIMIT_FORWARD}x eager",
        ours <= LIMIT_FORWARD * eager,
    )


def plan_command() -> Figure:
    """With start-up, most of which is importing torch and transformers."""
    command = [sys.executable, "-m", "massless", "plan", str(CONFIGS / "llama-3-8b.json")]
    start = time.perf_counter()
    subprocess.run(
        [*command, "--task", "train"],
        check=True,
        capture_output=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    seconds = time.perf_counter() - start
    return Figure(
        "`massless plan llama-3-8b.json --task train`, whole command",
        f"{seconds:.1f} s",
        "-",
        f"< {LIMIT_PLAN_SECONDS} s",
        seconds < LIMIT_PLAN_SECONDS,
    )


def figures() -> list[Figure]:
    return [comparison(), *rules(), llama_forward(), plan_command()]


if __name__ == "__main__":
    for figure in figures():
        print(*figure, sep=" | ")
