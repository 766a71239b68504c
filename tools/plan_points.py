"""Plans the example configs with symbols, and compares with plans at random sizes, to the byte.

    python tools/plan_points.py [points] [config.json ...]

Prints for each config and task the formula of the peak, its guards, and how many of the points
agree in everything that a plan says. Exits 1 if one does not.
"""

import pathlib
import random
import sys
import time

import massless
from massless import models

TREE = pathlib.Path(__file__).resolve().parents[1]


def numbers(plan: massless.Plan) -> tuple:
    kinds = {k: int(v) for k, v in plan.kinds.items()}
    events = [(e.operator, e.change, e.kind) for e in plan.timeline]
    return int(plan.peak), kinds, int(plan.flops), plan.reserved().bytes, events


def agreeing(path: pathlib.Path, task: str, points: int) -> int:
    job = models.job(str(path), task=task, batch=2, seq=64, dtype="bf16")
    started = time.perf_counter()
    plan = massless.plan(job.step, job.symbolic_args(), device=job.where)
    seconds = time.perf_counter() - started
    guards = ", ".join(guard.text for guard in plan.guards) or "none"
    print(f"{path.stem} {task}: {plan.peak}\n  guards {guards}; {seconds:.2f} s", flush=True)
    asked = random.Random(f"{path.stem} {task}")
    agree = outside = looked = 0
    while looked < points:
        batch, seq = asked.randint(1, 500), asked.randint(1, job.symbols["seq"][2])
        try:
            here = numbers(plan.at(batch=batch, seq=seq))
        except massless.MasslessError as error:
            outside += error.code == "guard_failed"
            if error.code not in ("guard_failed", "sym_overflow"):  # work beyond 64 bits
                raise
            continue
        looked += 1
        with massless.fake_mode(device=job.where):
            args = job.arguments(batch, seq)
        agree += here == numbers(massless.plan(job.step, args, device=job.where))
    print(f"  {agree} of {points} points agree; outside of the guards: {outside}", flush=True)
    return points - agree


def main() -> int:
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    configs = [pathlib.Path(p) for p in sys.argv[2:]]
    configs = configs or sorted((TREE / "examples" / "configs").glob("*.json"))
    wrong = sum(agreeing(path, task, points) for path in configs for task in models.TASKS)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
