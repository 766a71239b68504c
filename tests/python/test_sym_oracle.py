"""The integer engine against z3: never a wrong yes, no, bound or simplification.

Each failure prints its seed and the commands that show it (tests/sym/oracle_main.cc reads them).
MASSLESS_SEED and MASSLESS_SYSTEMS choose another seed and number of systems; MASSLESS_UPDATE=1
writes the shares of unknown answers, which otherwise may not grow, to tests/sym/data/unknown.json.
"""

import json
import os
import random
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import sym_systems as systems
import z3

ROOT = Path(__file__).resolve().parents[2]
UNKNOWN = ROOT / "tests" / "sym" / "data" / "unknown.json"
SEED = int(os.environ.get("MASSLESS_SEED", 20260))
COUNT = int(os.environ.get("MASSLESS_SYSTEMS", 150))
IS_DEFAULT = SEED == 20260 and COUNT == 150


def oracle() -> Path:
    if given := os.environ.get("MASSLESS_SYM_ORACLE"):
        return Path(given)
    for name in ("build/package", "build/dev", "build"):
        if (binary := ROOT / name / "tests" / "sym_oracle").exists():
            return binary
    pytest.fail("tests/sym_oracle is not built: run `make build`")


class Case:
    """A system with the engine's answers and a solver that holds its accepted facts."""

    def __init__(self, system: systems.System, answers: list[str], limit_ms: int) -> None:
        self.system = system
        rest = iter(answers[1 + len(system.symbols) :])
        self.solver = z3.Solver()
        self.solver.set("timeout", limit_ms)
        for name, (lo, hi) in system.symbols.items():
            for end, relation in ((lo, ">="), (hi, "<=")):
                if end is not None:
                    self.add((relation, ("symbol", name), systems.integer(end)))
        self.accepted: list[systems.Expr] = []
        self.assumed = [(fact, next(rest)) for fact in system.facts]
        self.proved = [(question, next(rest)) for question in system.questions]
        self.others = [(e, next(rest), next(rest)) for e in system.expressions]

    def add(self, e: systems.Expr) -> None:
        translate = systems.Z3()
        self.solver.add(translate(e))
        self.solver.add(*(d != 0 for d in translate.divisors))

    def can_be(self, e: systems.Expr) -> bool | None:
        """Is there a point where the facts hold and e as well? None: z3 does not know."""
        translate = systems.Z3()
        claim = translate(e)
        found = self.solver.check(claim, *(d != 0 for d in translate.divisors))
        return None if found == z3.unknown else found == z3.sat

    def counterexample(self, e: systems.Expr, wanted: bool) -> systems.Point | None:
        """A point where the facts hold and e is not as wanted: what z3 did not decide is tried."""
        rng = random.Random(1)
        for _ in range(300):
            point = self.system.point(rng)
            try:
                holds = all(systems.value(f, point) for f in self.accepted)
                if holds and bool(systems.value(e, point)) is not wanted:
                    return point
            except ZeroDivisionError:
                continue
        return None

    def row(self, *what: object) -> str:
        return "\n".join([f"MASSLESS_SEED={SEED}", *self.system.commands(), *map(str, what)])


def check_facts(case: Case, counts: Counter[str]) -> bool:
    """Adds the facts one by one. False: they contradict each other, and the engine saw it not."""
    for fact, answer in case.assumed:
        assert answer in ("yes", "no", "unknown"), case.row(fact, answer)
        can = case.can_be(fact)
        if answer == "no":
            assert can is not True, case.row("fact refused", systems.text(fact))
            continue
        if answer == "yes":
            assert case.can_be(("not", fact)) is not True, case.row("fact known", fact)
        if can is False:
            counts["contradictions not seen"] += 1
            return False
        case.add(fact)
        case.accepted.append(fact)
    return True


def check_question(case: Case, question: systems.Expr, answer: str, counts: Counter[str]) -> None:
    row = case.row("question", systems.text(question), "answered", answer)
    assert answer in ("yes", "no", "unknown"), row
    can_hold, can_fail = case.can_be(question), case.can_be(("not", question))
    assert answer != "yes" or not can_fail, row
    assert answer != "no" or not can_hold, row
    decided = can_hold is False or can_fail is False
    counts["questions"] += 1
    counts["unknown"] += answer == "unknown"
    counts["decided by z3"] += decided
    counts["decided by both"] += decided and answer != "unknown"
    if not decided and None in (can_hold, can_fail):
        counts["z3 timeouts"] += 1
        print(f"z3 timeout, answered {answer}:", "; ".join(case.system.commands()[1:]))
        print("  of these:", systems.text(question))
        if answer != "unknown":
            counts["z3 timeouts, decided here"] += 1
            assert case.counterexample(question, answer == "yes") is None, row


def check_expression(case: Case, e: systems.Expr, bounds: str, simple: str) -> None:
    row = case.row("expression", systems.text(e), bounds, simple)
    if "error: " in bounds + simple:
        assert "division_by_zero" in bounds + simple, row
        return
    for end, relation in zip(bounds.split(), ("<", ">"), strict=True):
        if not end.endswith("inf"):
            outside = (relation, e, systems.integer(int(end)))
            assert case.can_be(outside) is not True, row
    assert case.can_be(("!=", systems.parsed(simple), e)) is not True, row


def run(make: Callable[[random.Random], systems.System], limit_ms: int) -> Counter[str]:
    rng = random.Random(SEED)
    made = [make(rng) for _ in range(COUNT)]
    commands = [system.commands() for system in made]
    lines = "\n".join(c for each in commands for c in each) + "\n"
    out = subprocess.run([oracle()], input=lines, capture_output=True, text=True, check=True).stdout
    answers = iter(out.splitlines())
    counts: Counter[str] = Counter(systems=COUNT)
    for system, each in zip(made, commands, strict=True):
        case = Case(system, [next(answers) for _ in each], limit_ms)
        if not check_facts(case, counts):
            continue
        for question, answer in case.proved:
            if answer.startswith("error: division_by_zero"):
                counts["division by a constant 0"] += 1
                continue
            check_question(case, question, answer, counts)
        for expression in case.others:
            check_expression(case, *expression)
    print(f"seed {SEED}:", dict(sorted(counts.items())))
    return counts


def check_share(kind: str, counts: Counter[str]) -> None:
    """The share of unknown answers is kept in a file and may only fall."""
    if not IS_DEFAULT:
        return
    kept = json.loads(UNKNOWN.read_text()) if UNKNOWN.exists() else {}
    now = {"questions": counts["questions"], "unknown": counts["unknown"]}
    if os.environ.get("MASSLESS_UPDATE"):
        UNKNOWN.write_text(json.dumps(kept | {kind: now}, indent=1, sort_keys=True) + "\n")
        return
    was = kept[kind]
    assert now["unknown"] * was["questions"] <= was["unknown"] * now["questions"], (was, now)
    if now != was:
        print(f"{kind}: fewer unknown, {now} (was {was}): keep it with MASSLESS_UPDATE=1")


def test_linear_systems():
    counts = run(systems.linear_system, 2000)
    assert counts["decided by z3"] >= COUNT, "the questions are too hard to count"
    assert counts["z3 timeouts"] == 0
    assert counts["decided by both"] >= 0.9 * counts["decided by z3"], counts
    check_share("linear", counts)


def test_nonlinear_systems():
    counts = run(systems.nonlinear_system, 200)
    assert counts["decided by both"] >= COUNT, "the questions are too hard to count"
    check_share("nonlinear", counts)


def test_the_translations_agree():
    """z3's, Python's and the printed form mean the same."""
    rng = random.Random(SEED)
    for _ in range(300):
        system = systems.nonlinear_system(rng)
        for question in system.questions:
            point = system.point(rng)
            try:
                wanted = bool(systems.value(question, point))
            except ZeroDivisionError:
                continue
            again = systems.parsed(systems.text(question))
            assert bool(systems.value(again, point)) is wanted, question
            claim = systems.Z3()(question)
            values = [(z3.Int(s), z3.IntVal(v)) for s, v in point.items()]
            assert z3.is_true(z3.simplify(z3.substitute(claim, *values))) is wanted, question
