"""Plans as formulas: equal to the byte to a plan with those sizes, at every point of the guards."""

import json
import pathlib
import random

import pytest
import torch

import massless
import models
from massless import models as builder

POINTS = 10
CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "configs"
DIMS = {"input_ids": {0: "batch", 1: "seq"}, "labels": {0: "batch", 1: "seq"}}


def dims_of(case, name: str, device: str) -> dict[int, str]:
    if case.name == "mlp":
        return {0: "rows"}
    if case.name == "lstm" and name == "x" and device == "cpu":
        return DIMS["input_ids"]  # on cuda it goes step by step: the number of steps is fixed
    return DIMS.get(name, {0: "batch"})


class Step:
    """A case's forward or training step as a function of its inputs."""

    def __init__(self, name: str, train: bool, device: str, size=None):
        self.case = models.CASES[name]
        self.size, self.train, self.device = size, train, device
        self.model = self.case.build(size).train(train)
        self.optimizer = models.OPTIMIZERS["adamw"](list(self.model.parameters()))
        if train:  # the state of an earlier step
            models.train_step(self.case, self.model, self.optimizer, self.case.inputs(2, 4, size))
            self.optimizer.zero_grad()

    def __call__(self, *tensors):
        inputs = dict(zip(self.names, tensors, strict=True))
        if self.train:
            return models.train_step(self.case, self.model, self.optimizer, inputs, clip=1.0)
        with torch.no_grad():
            return self.case.loss(self.model, inputs)

    def plan(self, batch: int, seq: int, *, dynamic: bool):
        inputs = self.case.inputs(batch, seq, self.size)
        self.names = list(inputs)
        spec = None
        if dynamic:
            spec = {i: dims_of(self.case, name, self.device) for i, name in enumerate(inputs)}
        return massless.plan(self, tuple(inputs.values()), dynamic=spec, device=self.device)

    def point(self, batch: int, seq: int) -> dict[str, int]:
        if self.case.name == "mlp":
            return {"rows": batch * seq}
        return {"batch": batch} | ({"seq": seq} if self.has_seq else {})

    @property
    def has_seq(self) -> bool:
        return "input_ids" in self.names or self.case.name == "lstm" and self.device == "cpu"


def numbers(plan) -> dict:
    """All that a plan says in numbers."""
    return {
        "peak": int(plan.peak),
        "kinds": {k: int(v) for k, v in plan.kinds.items()},
        "at peak": {k: int(v) for k, v in plan.kinds_at_peak.items()},
        "flops": {k: int(v) for k, v in plan.flops_by_phase.items()},
        "reserved": plan.reserved().bytes,
        "events": [(e.operator, e.change, e.bytes, e.kind) for e in plan.timeline],
        "held": [(h.bytes, h.kind, h.name, h.operator) for h in plan.at_peak(None)],
    }


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("train", [False, True], ids=["forward", "train"])
@pytest.mark.parametrize("name", models.CASES)
def test_formulas_equal_plans(name: str, train: bool, device: str):
    step = Step(name, train, device)
    plan = step.plan(5, 7, dynamic=True)
    assert plan.peak.symbols
    asked = random.Random(f"{name} {train} {device}")
    for _ in range(POINTS):
        batch = asked.randint(2, 40)
        seq = asked.randint(2, 60) if step.has_seq else 7
        point = step.point(batch, seq)
        there = step.plan(batch, seq, dynamic=False)
        assert numbers(plan.at(**point)) == numbers(there), point
        assert plan.peak.subs(**point) == there.peak, point
        assert plan.flops.subs(**point) == there.flops, point
        for kind, most in there.kinds.items():
            assert plan.kinds[kind].subs(**point) == most, (kind, point)


@pytest.mark.parametrize("task", ["forward", "train"])
@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.json")), ids=lambda path: path.stem)
def test_example_configs(path, task, tmp_path):
    """With two layers each; tools/plan_points.py does the same with all of them."""
    config = json.loads(path.read_text())
    config |= {k: 2 for k in ("num_hidden_layers", "n_layer") if k in config}
    (tmp_path / "config.json").write_text(json.dumps(config))
    job = builder.job(str(tmp_path), task=task, batch=2, seq=64, dtype="bf16")
    plan = massless.plan(job.step, job.symbolic_args(), device=job.where)
    asked = random.Random(f"{path.stem} {task}")
    for _ in range(POINTS):
        batch, seq = asked.randint(1, 300), asked.randint(2, job.symbols["seq"][2])
        with massless.fake_mode(device=job.where):
            args = job.arguments(batch, seq)
        there = massless.plan(job.step, args, device=job.where)
        assert numbers(plan.at(batch=batch, seq=seq)) == numbers(there), (batch, seq)
        assert plan.peak.subs(batch=batch, seq=seq) == there.peak


def layers(x, *weights):
    with torch.no_grad():
        for w in weights:
            x = torch.relu(x @ w)
        return x


def wide_plan(**dynamic):
    weights = (torch.zeros(16, 256), torch.zeros(256, 16))
    return massless.plan(layers, (torch.zeros(4, 16), *weights), dynamic=dynamic or {0: {0: "B"}})


def test_text_and_symbols():
    plan = wide_plan()
    weights, row = 2 * 16 * 256 * 4, (16 + 256 + 256) * 4
    assert str(plan.peak) == f"{row}*B + {weights}"
    assert plan.peak.symbols == ("B",) and plan.symbols == {"B": 4}
    assert int(plan.peak) == plan.peak == 4 * row + weights
    assert str(plan.peak.subs(B=10)) == str(10 * row + weights)
    assert plan.peak.subs(B=10).symbols == ()
    assert str(plan.flops) == f"{2 * 2 * 16 * 256}*B"
    assert str(plan.gradients) == "0"


def test_outside_of_the_guards():
    def fn(x):
        return x.sum() if x.shape[0] > 3 else x + x

    plan = massless.plan(fn, (torch.zeros(8, 16),), dynamic={0: {0: "B"}})
    assert [guard.text for guard in plan.guards] == ["B >= 4"]
    assert plan.peak.subs(B=4) == 4 * 16 * 4 + 4
    for ask in (plan.peak.subs, plan.at, plan.parameters.subs):
        with pytest.raises(massless.GuardError, match=r"B >= 4.*test_plan_formula.py"):
            ask(B=3)
    with pytest.raises(massless.GuardError, match="'C' is no symbol"):
        plan.peak.subs(C=3)
    with pytest.raises(massless.GuardError):
        plan.peak.subs(B=-1)
    for wrong in ("4", 4.5, None, 2**70):
        with pytest.raises(massless.MasslessError, match="B is"):
            plan.peak.subs(B=wrong)


def test_two_symbols_one_at_a_time():
    def fn(x):
        with torch.no_grad():
            return (x @ x.transpose(-1, -2)).softmax(-1) @ x

    plan = massless.plan(fn, (torch.zeros(5, 7, 8),), dynamic={0: {0: "b", 1: "s"}})
    at_two = plan.peak.subs(b=2)
    assert at_two.symbols == ("s",) and at_two.subs(s=100) == plan.peak.subs(b=2, s=100)
    assert int(at_two) == plan.peak.subs(b=2, s=7)


def test_fits():
    plan = wide_plan()
    row, weights = (16 + 256 + 256) * 4, 2 * 16 * 256 * 4
    fits = plan.fits(weights + 100 * row)
    assert dict(fits) == {"B": 100} and fits.ok and fits.by == 96 * row
    assert plan.fits(weights + 100 * row - 1)["B"] == 99
    assert plan.fits(weights + 4 * row - 1).ok is False
    assert plan.fits(weights - 1)["B"] == 0
    assert dict(plan.fits("1GiB", B=100)) == {}
    with pytest.raises(massless.GuardError, match="'C' is no symbol"):
        plan.fits("1GiB", C=100)


def test_fits_of_a_peak_that_is_not_monotone():
    def fn(x):
        return torch.zeros(max(0, 4000 - 10 * x.shape[0]))

    plan = massless.plan(fn, (torch.zeros(20, 1),), dynamic={0: {0: "B"}})
    peak = lambda b: 4 * b + 4 * (4000 - 10 * b)  # noqa: E731
    assert plan.peak.subs(B=300) == peak(300)
    assert plan.fits(peak(390))["B"] == 399  # max() decided for 4000 - 10*B > 0
    assert plan.fits(peak(399) - 1)["B"] == 0


def test_fits_unbounded():
    plan = massless.plan(lambda x: torch.zeros(8), (torch.zeros(5, 0),), dynamic={0: {0: "B"}})
    assert plan.fits(32)["B"] is None and plan.fits(31)["B"] == 0


def test_fakes_with_symbols_need_no_specification():
    env = massless.ShapeEnv()
    rows = env.symbol("rows", 6)
    with massless.fake_mode(shape_env=env):
        x = torch.empty((rows, 16))
    plan = massless.plan(lambda t: t + 1, (x,))
    assert str(plan.peak) == "128*rows + 8"  # the number, too
    assert plan.peak.subs(rows=10) == 1288


def test_a_plan_without_symbols_has_numbers():
    plan = massless.plan(lambda: torch.zeros(256))
    assert str(plan.peak) == "1024" and plan.symbols == {} and plan.guards == []
    assert plan.at().peak == 1024
    with pytest.raises(massless.GuardError, match="'batch' is no symbol"):
        plan.at(batch=3)


def test_reserved_elsewhere():
    """The allocator is run again with the sizes of the point."""
    plan = massless.plan(
        lambda x: x + 1, (torch.zeros(5, 2**18),), dynamic={0: {0: "B"}}, device="cuda"
    )
    for rows in (1, 3, 17, 100):
        there = massless.plan(lambda x: x + 1, (torch.zeros(rows, 2**18),), device="cuda")
        assert plan.at(B=rows).reserved() == there.reserved()
