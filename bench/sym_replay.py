"""The engine of src/sym beside torch's ShapeEnv: recorded operations on sizes, replayed in both.

python bench/sym_replay.py    prints each figure; bench/run.py has them in its table.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from typing import Any

from measure import ROOT, Figure
from torch import SymBool
from torch._dynamo.source import ConstantSource
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, statically_known_true

DATA = ROOT / "bench" / "data"
MODELS = ("llama", "bert", "resnet")
LIMIT_REPLAY = 500
LIMIT_COMPARE_US = 0.3
LIMIT_PROOF_US = 5
LIMIT_MEMOISED_US = 0.2
LIMIT_BYTES = 100


class Replay:
    """One file's operations in a ShapeEnv; steps are read before the time is taken."""

    def __init__(self, lines: list[str]) -> None:
        self.steps = [self.step(line.split()) for line in lines if not line.startswith("#")]

    @staticmethod
    def step(words: list[str]) -> tuple[str, list[str], str]:
        method, *rest = words
        answers = method not in ("reset", "symbol") and rest[-1][0] in "ynu="
        return (method, rest[:-1], rest[-1]) if answers else (method, rest, "")

    def run(self) -> None:
        values: list[SymNode] = []
        for method, operands, answer in self.steps:
            if method == "reset":
                env, values = ShapeEnv(), []
            elif method == "symbol":
                values.append(self.symbol(env, *operands))
            else:
                nodes = [self.operand(values, o) for o in operands]
                asks_only = method in ("guard", "known")
                node = nodes[0] if asks_only else self.apply(method, nodes)
                if not asks_only:
                    values.append(node)
                if answer:
                    self.ask(method, node, answer)

    @staticmethod
    def symbol(env: ShapeEnv, name: str, lo: str, hi: str, example: str) -> SymNode:
        source = ConstantSource(name)
        symbol = env.create_symbol(int(example), source=source, dynamic_dim=DimDynamic.DYNAMIC)
        return env.create_symintnode(symbol, hint=int(example), source=source).node

    @staticmethod
    def operand(values: list[SymNode], text: str) -> SymNode:
        if text[0] != "#":
            return values[int(text)]
        any_node = values[0]
        if text in ("#True", "#False"):
            return any_node.wrap_bool(text == "#True")
        number = text[1:]
        return (
            any_node.wrap_float(float(number)) if "." in number else any_node.wrap_int(int(number))
        )

    @staticmethod
    def apply(method: str, nodes: list[SymNode]) -> SymNode:
        if method == "sym_sum":
            return nodes[0].sym_sum(nodes)
        name = f"{method}_" if method in ("and", "or") else method
        return getattr(nodes[0], name)(*nodes[1:])

    @staticmethod
    def ask(method: str, node: SymNode, answer: str) -> None:
        if method == "known":
            statically_known_true(SymBool(node))
        elif answer[0] == "=":
            assert node.guard_int("", 0) == int(answer[1:])
        else:
            assert node.guard_bool("", 0) == (answer == "y")


def seconds(call: Callable[[], Any], rounds: int) -> float:
    """Of this process: the machine is shared."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def ours() -> dict[str, dict[str, float]]:
    binary = next(iter(ROOT.glob("build/**/bench/sym_replay")), None)
    if binary is None:
        raise SystemExit("bench: sym_replay is not built; run `make bench`")
    command = [str(binary), "--benchmark_format=json", "--benchmark_repetitions=3"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    best: dict[str, dict[str, float]] = {}
    for row in json.loads(out)["benchmarks"]:
        name = row["name"].removesuffix("/iterations:1")
        unit = {"ns": 1e-3, "us": 1.0, "ms": 1e3}[row["time_unit"]]
        kept = best.setdefault(name, {**row, "us": float("inf")})
        if row.get("run_type") == "iteration":
            kept["us"] = min(kept["us"], row["cpu_time"] * unit)
    return best


def compare_in_torch() -> float:
    """Microseconds of (s*2 + 1) == (s + 3) in Python."""
    env = ShapeEnv()
    source = ConstantSource("s")
    symbol = env.create_symbol(5, source=source, dynamic_dim=DimDynamic.DYNAMIC)
    s = env.create_symintnode(symbol, hint=5, source=source)
    return seconds(lambda: [(s * 2 + 1) == (s + 3) for _ in range(1000)], 5) * 1e3


def replays(engine: dict[str, dict[str, float]]) -> list[Figure]:
    figures = []
    for model in MODELS:
        replay = Replay((DATA / f"size_ops_{model}.txt").read_text().splitlines())
        theirs, us = seconds(replay.run, 1), engine[f"replay/{model}"]["us"]
        ratio = theirs * 1e6 / us
        figures.append(
            Figure(
                f"sizes of {model}, {len(replay.steps)} operations replayed",
                f"{us / 1e3:.1f} ms",
                f"ShapeEnv {theirs:.1f} s ({ratio:.0f}x)",
                f">= {LIMIT_REPLAY}x",
                ratio >= LIMIT_REPLAY,
            )
        )
    return figures


def figures() -> list[Figure]:
    engine = ours()

    def single(what: str, name: str, limit: float, rival: str = "-") -> Figure:
        us = engine[name]["us"]
        return Figure(what, f"{us:.3f} us", rival, f"<= {limit} us", us <= limit)

    size = engine["memory_of_a_million"]["bytes"]
    compared = compare_in_torch()
    return [
        *replays(engine),
        single(
            "(s*2 + 1) == (s + 3) from C++",
            "compare_sizes",
            LIMIT_COMPARE_US,
            f"SymInt {compared:.0f} us",
        ),
        *(
            single(f"proof under 100 facts: {kind}", f"prove/{kind}", LIMIT_PROOF_US)
            for kind in ("view", "reshape", "broadcast", "slice", "strides")
        ),
        single("proof, memoised", "prove_memoised", LIMIT_MEMOISED_US),
        Figure(
            "memory of 10^6 expressions",
            f"{size:.0f} bytes each",
            "-",
            f"<= {LIMIT_BYTES}",
            size <= LIMIT_BYTES,
        ),
    ]


if __name__ == "__main__":
    for figure in figures():
        print(*figure, sep=" | ")
