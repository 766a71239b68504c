"""Optimizer steps on fakes: step counts stay known, nothing knowable is forgotten."""

import massless  # noqa: I001  (before torch)
import pytest
import torch

STEPPED = [torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad]
KINDS = [{"foreach": False}, {"foreach": True}, {"fused": True}]


def train(cls, steps, tensors=3, **options):
    """Runs steps on fakes; returns parameters and optimizer."""
    parameters = [torch.nn.Parameter(torch.empty(4, 4)) for _ in range(tensors)]
    optimizer = cls(parameters, lr=0.1, **options)
    for _ in range(steps):
        for parameter in parameters:
            parameter.grad = torch.empty(4, 4)
        optimizer.step()
    return parameters, optimizer


@pytest.mark.parametrize("cls", STEPPED)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_step_counts_stay_known(cls, kind):
    with massless.fake_mode():
        parameters, optimizer = train(cls, steps=3, **kind)
        assert [optimizer.state[p]["step"].item() for p in parameters] == [3.0] * 3


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_states_that_meet_gradients_are_forgotten(kind):
    with massless.fake_mode():
        parameters, optimizer = train(torch.optim.Adam, steps=1, **kind)
        for parameter in parameters:
            state = optimizer.state[parameter]
            assert state["exp_avg"].shape == (4, 4)
            for value in (state["exp_avg"], state["exp_avg_sq"]):
                with pytest.raises(massless.DataDependentError):
                    value.sum().item()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_fused_step_with_unknown_overflow_leaves_unknown_counts(kind):
    """GradScaler takes the count back where the gradients overflowed: nobody knows."""
    with massless.fake_mode():
        parameters, optimizer = train(torch.optim.Adam, steps=1, **kind)
        steps = [optimizer.state[p]["step"] for p in parameters]
        torch._foreach_sub_(steps, [torch.empty(()) for _ in steps])
        with pytest.raises(massless.DataDependentError):
            steps[0].item()
