"""Predicted live bytes against a counting CPU allocator, at the end of every top-level operator.

`massless_truth` (tests/truth/counting.cc) replaces torch's CPU allocator by one that counts. A step
is planned on fakes and then run for real; both runs note the live bytes after every operator that
the program (or autograd's engine) called.
"""

import gc

import pytest
import torch

import massless
import models
from truth import massless_truth as truth

EXACT = ("llama", "gpt2", "bert", "mlp")


@pytest.fixture(scope="module", autouse=True)
def counting_allocator():
    truth.install()


def sampled(step, sink: list):
    """`step` with its samples put into `sink`; the result is alive at the last sample."""

    def run():
        truth.start()
        try:
            return step()
        finally:
            sink.extend(truth.stop())

    return run


def both(step):
    """The samples of the planned run and of the real one, relative to their starts, and the
    plan."""
    planned, real = [], []
    plan = massless.plan(sampled(step, planned))
    gc.collect()
    step_result = sampled(step, real)()
    del step_result
    return relative(planned), relative(real), plan


def relative(samples):
    base = samples[0][1]
    return [(name, live - base) for name, live in samples]


def differences(planned, real):
    """Operators at which the two runs differ, with the change in the difference they bring."""
    assert [name for name, _ in planned] == [name for name, _ in real]
    found, carried = [], 0
    for (name, p), (_, r) in zip(planned, real, strict=True):
        if p - r != carried:
            found.append((name, p - r - carried))
            carried = p - r
    return found


def case_of(name: str, size=None, batch: int = 2, seq: int = 8):
    case = models.CASES[name]
    return case, case.build(size), case.inputs(batch, seq, size)


@pytest.mark.parametrize("train", [False, True], ids=["no_grad", "grad"])
@pytest.mark.parametrize("name", EXACT)
def test_forward_is_exact(name: str, train: bool):
    case, model, inputs = case_of(name)
    model.train(train)

    def forward():
        with torch.set_grad_enabled(train):
            return case.loss(model, inputs)

    planned, real, _ = both(forward)
    assert len(real) > 5
    assert differences(planned, real) == []


@pytest.mark.parametrize("optimizer", models.OPTIMIZERS)
@pytest.mark.parametrize("name", EXACT)
def test_training_step_is_exact(name: str, optimizer: str):
    case, model, inputs = case_of(name)
    opt = models.OPTIMIZERS[optimizer](list(model.parameters()))

    def step():
        return models.train_step(case, model, opt, inputs, clip=1.0)

    for _ in range(2):  # the first step makes the optimizer's state, the second has it
        planned, real, _ = both(step)
        assert len(real) > 40
        assert differences(planned, real) == []
