"""docs/limits.md, line by line. Each test fails when its limit is gone: then take its line out."""

import importlib.metadata
import io
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import massless
from massless import _C, _load

LIMITS = Path(__file__).resolve().parent.parent.parent / "docs" / "limits.md"


def listed() -> list[str]:
    """The name in brackets at the end of every line."""
    lines = [line for line in LIMITS.read_text().splitlines() if line.startswith("- ")]
    named = [re.search(r"\(`(\w+)`\)$", line) for line in lines]
    assert all(named), "a line without a name"
    return [m[1] for m in named]


def test_every_line_has_one_test() -> None:
    here = [
        name.removeprefix("test_limit_") for name in globals() if name.startswith("test_limit_")
    ]
    assert sorted(listed()) == sorted(here)


def fails(error: type[BaseException], act: Callable[[], object], **mode) -> None:
    """`act` raises inside a fake mode."""
    with pytest.raises(error), massless.fake_mode(**mode):
        act()


# Not there yet


def test_limit_capture_and_deferred() -> None:
    for name in ("capture", "compile", "deferred_init", "materialize", "schema"):
        assert not hasattr(massless, name), name


def test_limit_torch_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "2.14.1")
    with pytest.raises(ImportError):
        _load.check_torch_version()


# Values


def test_limit_sizes_from_values() -> None:
    for act in (
        lambda: torch.empty(3).nonzero(),
        lambda: torch.empty(3).unique(),
        lambda: torch.empty(3)[torch.empty(3) > 0],
    ):
        fails(massless.DataDependentError, act)


def test_limit_unknown_values() -> None:
    for ask in (torch.Tensor.item, torch.Tensor.tolist, bool, float):
        fails(massless.DataDependentError, lambda ask=ask: ask(torch.empty(1).sum()))


def test_limit_random_values() -> None:
    def seeded() -> float:
        return torch.rand(1, generator=torch.Generator().manual_seed(0)).item()

    fails(massless.DataDependentError, seeded)


def test_limit_large_values() -> None:
    with massless.fake_mode():
        assert torch.arange(65536).sum().item() == 65536 * 65535 // 2
        assert torch.ones(4096).sum().item() == 4096
    fails(massless.DataDependentError, lambda: torch.arange(65537).sum().item())
    fails(massless.DataDependentError, lambda: torch.ones(4097).sum().item())


def test_limit_numpy_is_read_only() -> None:
    with massless.fake_mode():
        array = torch.ones(3).numpy()
    with pytest.raises(ValueError):
        array[0] = 2


def test_limit_saving() -> None:
    fails(massless.DataDependentError, lambda: torch.save(torch.ones(3), io.BytesIO()))


# Kinds of tensors


def refused(make: Callable[[], torch.Tensor]) -> None:
    """Neither a real one has a fake, nor does one come to be in a mode."""
    with pytest.raises(massless.UnsupportedOperatorError):
        massless.fake_like(make())
    fails(massless.UnsupportedOperatorError, make)


@pytest.mark.filterwarnings("ignore")
def test_limit_sparse() -> None:
    refused(lambda: torch.eye(3).to_sparse())
    refused(lambda: torch.eye(3).to_sparse_csr())


@pytest.mark.filterwarnings("ignore")
def test_limit_quantized() -> None:
    refused(lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8))


@pytest.mark.filterwarnings("ignore")
def test_limit_nested() -> None:
    def nested(layout: torch.layout) -> torch.Tensor:
        return torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=layout)

    refused(lambda: nested(torch.strided))
    with massless.fake_mode():
        jagged = nested(torch.jagged)
    assert massless.is_fake(jagged.values())


def test_limit_subclasses() -> None:
    from torch.testing._internal.two_tensor import TwoTensor

    two = TwoTensor(torch.ones(3), torch.ones(3))
    assert type(massless.fake_like(two)) is torch.Tensor
    assert type(massless.fake_like(torch.nn.Parameter(torch.ones(3)))) is torch.nn.Parameter


def test_limit_storage_device() -> None:
    storage = massless.fake_like(torch.ones(3)).untyped_storage()
    assert storage.device.type == "cpu"
    as_in_cpp = torch._C.StorageBase.device.__get__(storage)
    assert as_in_cpp.type == "meta"


# Composition


@pytest.mark.filterwarnings("ignore")
def test_limit_torch_compile() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: x.sin() + 1, backend="aot_eager")
    fails(Exception, lambda: compiled(torch.empty(3)))
    torch._dynamo.reset()


@pytest.mark.filterwarnings("ignore")
def test_limit_jit_trace() -> None:
    fails(RuntimeError, lambda: torch.jit.trace(lambda x: x.sin(), torch.empty(3)))


@pytest.mark.filterwarnings("ignore")
def test_limit_flex_attention() -> None:
    from torch.nn.attention.flex_attention import flex_attention

    fails(RuntimeError, lambda: flex_attention(*[torch.empty(1, 2, 128, 16) for _ in range(3)]))


@pytest.mark.filterwarnings("ignore")
def test_limit_process_groups(tmp_path: Path) -> None:
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    try:
        fails(massless.UnsupportedOperatorError, lambda: dist.all_reduce(torch.empty(3)))
    finally:
        dist.destroy_process_group()


def test_limit_threads() -> None:
    made: list[torch.Tensor] = []
    with massless.fake_mode():
        thread = threading.Thread(target=lambda: made.append(torch.ones(3)))
        thread.start()
        thread.join()
    assert not massless.is_fake(made[0])


def test_limit_python_meta() -> None:
    assert _C.answering_rung("aten::_pdist_forward") == "python_meta"


# Operators


def test_limit_out_of_wrong_size() -> None:
    def act() -> None:
        a, b = torch.empty(2, 3, 4), torch.empty(2, 4, 5)
        torch.matmul(a, b, out=torch.empty(1))

    fails(RuntimeError, act)


def test_limit_bytes_above_the_key() -> None:
    def split() -> None:
        torch.tensor_split(torch.empty(8), torch.empty(2, dtype=torch.int64))

    with pytest.raises(RuntimeError, match=r"\[data_access\]"), massless.fake_mode():
        split()
    with pytest.raises(RuntimeError, match=r"\[data_access\]"), massless.fake_mode():
        torch.nn.functional.max_pool1d(torch.empty(1, 2, 8), 2)


def test_limit_backward_of_max() -> None:
    fails(massless.DataDependentError, lambda: torch.empty(3, requires_grad=True).max().backward())


def test_limit_eig_strides() -> None:
    real = torch.linalg.eig(torch.eye(3)).eigenvectors
    with massless.fake_mode():
        fake = torch.linalg.eig(torch.empty(3, 3)).eigenvectors
    assert fake.stride() != real.stride()


def test_limit_addr_inplace() -> None:
    args = (torch.ones(2), torch.ones(3))
    with pytest.raises(RuntimeError):
        torch.ones(()).addr_(*args)
    with massless.fake_mode():
        torch.ones(()).addr_(*(massless.fake_like(a) for a in args))


def test_limit_cudnn_rnn() -> None:
    with massless.fake_mode(device="cuda"):
        lstm = torch.nn.LSTM(4, 4)
        massless.explain_ops(reset=True)
        lstm(torch.empty(2, 3, 4))
    met = massless.explain_ops(reset=True)
    assert "aten::_thnn_fused_lstm_cell" in met and "aten::_cudnn_rnn" not in met


# Devices


def test_limit_sizes_as_numbers() -> None:
    env = massless.ShapeEnv()
    s = env.symbol("s", 8)
    with massless.fake_mode(shape_env=env):
        with pytest.raises(RuntimeError, match="only concrete integers"):
            torch.nn.functional.interpolate(torch.ones(2, 2, 2), size=s)
        with pytest.raises(RuntimeError, match="infer dtype of SymBool"):
            torch.tensor(s > 4)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_limit_lstm_steps(device: str) -> None:
    env = massless.ShapeEnv()
    with massless.fake_mode(shape_env=env, device=device):
        x = massless.fake_like(torch.ones(5, 7, 4), device=device, dynamic={0: "steps", 1: "batch"})
        torch.nn.LSTM(4, 4)(x)
    assert env.holds({"steps": 9}) == (device == "cpu") and env.holds({"batch": 9})


def test_limit_index_range() -> None:
    env = massless.ShapeEnv()
    with massless.fake_mode(shape_env=env):
        torch.nn.functional.embedding(torch.arange(env.symbol("s", 8)), torch.ones(64, 3))
    assert env.holds({"s": 65})


def test_limit_absent_accelerators() -> None:
    for device in ("mps", "xpu"):
        fails(Exception, lambda d=device: torch.empty(3, device=d))
    with massless.fake_mode(device="cuda"):
        assert torch.empty(3).device.type == "cuda"


LATE = """
import torch, massless
with massless.fake_mode(device="cuda"):
    loss = torch.nn.Linear(2, 2)(torch.empty(1, 2)).sum()
    try:
        loss.backward()
    except massless.MasslessError as error:
        print(error.code)
"""


def test_limit_late_import() -> None:
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True)
    assert done.stdout.strip() == "accelerator_too_late", done.stderr


no_cuda = pytest.mark.skipif(torch.cuda.is_available(), reason="CUDA is there")


@no_cuda
def test_limit_cuda_is_not_available() -> None:
    with massless.fake_mode(device="cuda"):
        assert not torch.cuda.is_available()


@no_cuda
def test_limit_cuda_objects() -> None:
    for make in (
        torch.cuda.Stream,
        torch.cuda.Event,
        lambda: torch.Generator("cuda"),
        lambda: torch.cuda.get_device_properties(0),
        torch.cuda.mem_get_info,
    ):
        fails(Exception, make, device="cuda")


# Plans


def test_limit_scratch() -> None:
    a = torch.empty(64, 64)
    plan = massless.plan(torch.mm, (a, a), device="cuda")
    assert plan.peak == 2 * 64 * 64 * 4  # no workspace of cuBLAS
    assert plan.reserved().overhead["cublas_workspace"] > 0


def test_limit_one_type_of_device() -> None:
    def two() -> list[torch.Tensor]:
        return [torch.empty(1000, device="cuda:0"), torch.empty(1000, device="cuda:1")]

    assert massless.plan(two, device="cuda").peak == 8000


def test_limit_flops() -> None:
    x = torch.empty(64, 64)
    assert massless.plan(lambda x: x.sin().sum(), (x,)).flops == 0


def test_limit_results_outside() -> None:
    result = torch.ones(3, requires_grad=True) * 2
    with pytest.raises(massless.MasslessError):
        massless.plan(lambda: result + 1)
    massless.plan(lambda x: x + 1, (result,))


def test_limit_hidden_tensors() -> None:
    hidden = torch.ones(3)
    kept = iter([hidden])
    with pytest.raises(massless.MasslessError) as raised:
        massless.plan(lambda: next(kept).add_(1))
    assert raised.value.code == "real_write"
    assert hidden.tolist() == [1, 1, 1]


def test_limit_allocator_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    def reserved() -> int:
        return (
            massless.plan(lambda: torch.empty(1000, device="cuda"), device="cuda").reserved().bytes
        )

    before = reserved()
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    assert reserved() == before
