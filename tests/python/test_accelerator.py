"""Fake `cuda` on a machine without it, and real programs that must not notice. Each program runs in
a process of its own, since what torch asks first decides."""

import json
import subprocess
import sys
import textwrap

import pytest
import torch

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")

REAL_PROGRAM = """
import json, os, warnings
import torch
warnings.simplefilter("ignore")
facts = {}
facts["seed"] = torch.initial_seed() > 0
torch.manual_seed(3)
facts["accelerator"] = str(torch.accelerator.current_accelerator())
facts["available"] = [torch.accelerator.is_available(), torch.cuda.is_available()]
facts["count"] = [torch.accelerator.device_count(), torch.cuda.device_count()]
facts["rand"] = torch.rand(3).tolist()
before = len(os.listdir("/proc/self/task"))
w = torch.randn(4, 4, requires_grad=True)
with torch.autocast("cuda", dtype=torch.bfloat16):
    (w @ w).sum().backward()
facts["threads"] = len(os.listdir("/proc/self/task")) - before
facts["grad"] = [w.grad.sum().item(), str(w.grad.dtype), str(w)]
try:
    torch.ones(1).cuda()
except Exception as e:
    facts["cuda"] = f"{type(e).__name__}: {e}"
try:
    torch.ones(1, device="cuda")
except Exception as e:
    facts["factory"] = f"{type(e).__name__}: {e}"
try:
    torch.ones(1).pin_memory()
except Exception as e:
    facts["pin"] = f"{type(e).__name__}: {e}"
facts["state"] = torch.get_rng_state().sum().item()
print(json.dumps(facts))
"""

USE_FAKES = """
with massless.fake_mode():
    x = torch.randn(2, 3, device="cuda")
    y = torch.nn.Linear(3, 2)(torch.randn(2, 3)).sum()
del x, y
"""


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def untouched() -> dict:
    return json.loads(run(REAL_PROGRAM))


@pytest.mark.parametrize(
    "before",
    ["import massless", "import torch, massless", "import massless, torch\n" + USE_FAKES],
    ids=["imported first", "imported second", "after fakes were used"],
)
def test_a_real_program_does_not_notice(untouched, before):
    assert json.loads(run(before + REAL_PROGRAM)) == untouched


def test_backward_over_fake_cuda_after_a_real_backward():
    run(
        """
        import massless, torch
        w = torch.ones(2, requires_grad=True)
        (w * 2).sum().backward()
        assert w.grad.tolist() == [2.0, 2.0]
        with massless.fake_mode():
            x = torch.ones(2, device="cuda:3", requires_grad=True)
            (x * 2).sum().backward()
            assert x.grad.device == torch.device("cuda", 3)
            y = torch.ones(2, device="cuda", requires_grad=True)
            (y * 2).sum().cpu().backward()
            assert y.grad.device == torch.device("cuda", 0)
        (w * 2).sum().backward()
        assert w.grad.tolist() == [4.0, 4.0]
        """
    )


@pytest.mark.parametrize("last", ["", "y.backward()", "import os, sys; os.fork() or sys.exit(0)"])
def test_a_program_that_ends_at_once_ends_well(last):
    for _ in range(3):  # the engine's threads may still be waiting for the interpreter
        run(
            f"""
            import massless, torch
            with massless.fake_mode():
                x = torch.ones(2, device="cuda", requires_grad=True)
                y = (x * 2).sum()
            {last}
            """
        )


@pytest.mark.parametrize("root", ["y.sum()", "y.sum().cpu()"])
def test_imported_too_late_the_backward_says_so(root):
    run(
        f"""
        import torch, massless
        with massless.fake_mode():
            x = torch.ones(2, device="cuda", requires_grad=True)
            y = x * 2
            try:
                {root}.backward()
            except massless.MasslessError as e:
                assert e.code == "accelerator_too_late", e
                assert "import massless before torch" in str(e)
            else:
                raise AssertionError
            z = torch.ones(2, requires_grad=True)
            (z * 2).sum().backward()
        w = torch.ones(2, requires_grad=True)
        (w * 2).sum().backward()
        """
    )


def test_the_answers_for_cuda_end_with_the_mode():
    run(
        """
        import warnings
        import massless, torch
        with massless.fake_mode():
            x = torch.empty(4, 4, device="cuda")
            assert torch.cuda.get_device_capability(x.device) == (9, 0)
            massless.config.cuda_capability = "sm_80"
            assert torch.cuda.get_device_capability() == (8, 0)
            torch.cuda.synchronize()
            assert torch.cuda.is_bf16_supported(including_emulation=False)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    assert (x @ x).dtype == torch.bfloat16
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with torch.autocast("cuda", dtype=torch.bfloat16):
                pass
        assert caught
        try:
            torch.cuda.synchronize()
        except AssertionError as e:
            assert "not compiled" in str(e)
        else:
            raise SystemExit("synchronize went through")
        """
    )
