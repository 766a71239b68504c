"""The mode as a context: nesting, misuse, what it leaves behind."""

import random
import threading

import numpy as np
import pytest
import torch

import massless
from massless import _C


def opened() -> bool:
    return _C.in_mode() or massless.is_fake(torch.empty(1))


def test_nesting_and_reentry():
    mode = massless.fake_mode()
    with mode:
        with mode, massless.fake_mode():
            assert massless.is_fake(torch.empty(1))
        assert massless.is_fake(torch.empty(1))
    assert not opened()
    with mode:
        assert opened()
    assert not opened()


def test_as_a_decorator_also_recursive_and_on_threads():
    @massless.fake_mode(device="cuda")
    def make(depth):
        assert massless.is_fake(torch.empty(1))
        return make(depth - 1) if depth else torch.empty(2)

    results = []
    threads = [threading.Thread(target=lambda: results.append(make(3))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 4 and all(r.device.type == "cuda" for r in results)
    assert not opened()


def test_an_exception_restores_everything():
    before = torch.random.get_rng_state()
    cuda = massless.fake_mode(device="cuda")
    with pytest.raises(ZeroDivisionError), cuda, massless.fake_mode():
        torch.rand(3)
        1 / 0  # noqa: B018
    assert not opened()
    assert torch.equal(before, torch.random.get_rng_state())
    if not torch.cuda.is_available():
        with pytest.raises(AssertionError, match="not compiled with CUDA"):
            torch.empty(1, device="cuda")


def test_an_error_of_an_operator_restores_everything():
    with massless.fake_mode():
        with pytest.raises(RuntimeError):
            torch.empty(2, 3) @ torch.empty(2, 3)
        with pytest.raises(massless.DataDependentError):
            torch.empty(2).nonzero()
        assert massless.is_fake(torch.empty(1))
    assert not opened()


def test_closing_what_was_not_opened():
    mode = massless.fake_mode()
    with pytest.raises(massless.MasslessError) as caught:
        mode.__exit__(None, None, None)
    assert caught.value.code == "bad_argument" and caught.value.operator == "fake_mode"
    with mode:
        pass
    with pytest.raises(massless.MasslessError, match="closed already"):
        mode.__exit__(None, None, None)
    assert not opened()


def test_closing_in_the_wrong_order():
    outer, inner = massless.fake_mode(), massless.fake_mode()
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(massless.MasslessError, match="before a later one"):
        outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    outer.__exit__(None, None, None)
    assert not opened()


def test_closing_on_another_thread():
    mode = massless.fake_mode()
    caught = []

    def close():
        try:
            mode.__exit__(None, None, None)
        except massless.MasslessError as e:
            caught.append(e.code)

    with mode:
        t = threading.Thread(target=close)
        t.start()
        t.join()
        assert caught == ["bad_argument"]
        assert opened()
    assert not opened()


def test_threads_stay_apart():
    inside, outside = threading.Event(), threading.Event()
    seen = {}

    def other():
        inside.wait()
        seen["other"] = massless.is_fake(torch.empty(1))
        with massless.fake_mode():
            seen["own"] = massless.is_fake(torch.empty(1))
            outside.set()

    t = threading.Thread(target=other)
    t.start()
    with massless.fake_mode():
        inside.set()
        outside.wait()
        assert massless.is_fake(torch.empty(1))
    t.join()
    assert seen == {"other": False, "own": True}


def test_fakes_cross_threads():
    with massless.fake_mode():
        x = torch.randn(3, device="cuda", requires_grad=True)
    result = []
    t = threading.Thread(target=lambda: (x.sin().sum().backward(), result.append(x.grad)))
    t.start()
    t.join()
    assert massless.is_fake(result[0]) and result[0].device.type == "cuda"


RANDOM = [
    lambda d: torch.rand(3, device=d),
    lambda d: torch.randn(3, device=d),
    lambda d: torch.randint(0, 4, (3,), device=d),
    lambda d: torch.randperm(5, device=d),
    lambda d: torch.empty(3, device=d).normal_(),
    lambda d: torch.empty(3, device=d).uniform_(),
    lambda d: torch.empty(3, device=d).bernoulli_(),
    lambda d: torch.empty(3, device=d).exponential_(),
    lambda d: torch.bernoulli(torch.empty(3, device=d)),
    lambda d: torch.multinomial(torch.empty(3, device=d), 2),
    lambda d: torch.nn.functional.dropout(torch.empty(3, device=d)),
    lambda d: torch.rand_like(torch.empty(3, device=d)),
    lambda d: torch.nn.Linear(3, 3, device=d),
    lambda d: torch.nn.init.trunc_normal_(torch.empty(3, device=d)),
]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("draw", RANDOM)
def test_generators_are_untouched(draw, device):
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    with massless.fake_mode():
        draw(device)
    assert torch.equal(states[0], torch.get_rng_state())
    assert states[1:] == (random.getstate(), np.random.get_state()[1].tolist())


def test_a_generator_of_the_users_own_is_untouched():
    g = torch.Generator().manual_seed(1)
    state = g.get_state()
    with massless.fake_mode():
        torch.rand(3, generator=g)
        torch.empty(3).normal_(generator=g)
    assert torch.equal(state, g.get_state())


def test_config():
    assert massless.config.cuda_capability == "sm_90"
    assert massless.config.fake_tensor_propagation is True
    try:
        massless.config.cuda_capability = "sm_80"
        assert massless.config.cuda_capability == "sm_80"
        for bad in ("80", "sm_", 90, None, "sm_9x"):
            with pytest.raises(massless.MasslessError) as caught:
                massless.config.cuda_capability = bad
            assert caught.value.code == "bad_argument"
        with pytest.raises(massless.MasslessError, match="no setting 'cuda_capabilty'"):
            massless.config.cuda_capabilty = "sm_80"
        with pytest.raises(massless.MasslessError):
            massless.config.fake_tensor_propagation = "no"
    finally:
        massless.config.cuda_capability = "sm_90"
