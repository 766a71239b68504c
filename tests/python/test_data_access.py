"""No way to a fake's data gives garbage or ends the process."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import massless

TABLE = Path(__file__).with_name("access_table.py")


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    done = subprocess.run(
        [sys.executable, str(TABLE)], capture_output=True, text=True, timeout=600, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_way_ends_as_listed(rows):
    wrong = [row for row in rows if row["kind"] != row["wanted"]]
    assert not wrong, "\n".join(map(str, wrong))
    assert len({row["name"] for row in rows}) >= 100


def test_typed_errors_name_what_was_asked(rows):
    codes = {"data_dependent", "data_access", "real_write", "unsupported_operator"}
    for row in rows:
        if row["wanted"] == "typed":
            assert row["code"] in codes, row
            assert row["operator"], row
            assert ".py:" in row["location"], row


def test_nothing_real_was_written(rows):
    for row in rows:
        assert row["real"] == [[0.0] * 3] * 2, row


# Known values are handed out


def known():
    with massless.fake_mode():
        return torch.tensor([[1.5, -2.0], [0.25, 4.0]]), torch.tensor([3, 0]), torch.tensor(2.5)


@pytest.mark.parametrize("inside", [False, True])
def test_known_values_are_answered(inside):
    t, i, s = known()

    def ask():
        assert t.tolist() == [[1.5, -2.0], [0.25, 4.0]]
        assert t.T.tolist() == [[1.5, 0.25], [-2.0, 4.0]]
        assert t[1].numpy().tolist() == [0.25, 4.0]
        assert np.asarray(t).shape == (2, 2)
        assert [10, 11, 12, 13][i[0]] == 13
        assert list(range(i[0])) == [0, 1, 2]
        assert float(s) == 2.5 and int(s) == 2 and bool(s) and complex(s) == 2.5
        assert not i[1] and f"{s:.1f}" == "2.5"
        assert s.item() == 2.5 and torch.zeros(i[0]).shape == (3,)
        assert 4.0 in t
        with pytest.raises(TypeError):
            s.__index__()

    if inside:
        with massless.fake_mode():
            ask()
    else:
        ask()


def test_numpy_of_a_known_value_cannot_be_written():
    t, _, _ = known()
    with pytest.raises(ValueError):
        t.numpy()[0, 0] = 7


def test_numpy_of_a_known_value_that_requires_grad_is_refused_as_in_eager():
    with massless.fake_mode():
        t = torch.tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="requires grad"):
        t.numpy()
    assert t.detach().numpy().tolist() == [1.0]


def test_a_write_is_seen_or_the_value_forgotten():
    with massless.fake_mode():
        t = torch.tensor([1, 2])
        t.untyped_storage().resize_(64)
        with pytest.raises(massless.DataDependentError):
            t.tolist()


def test_conj_and_neg_bits_are_resolved():
    with massless.fake_mode():
        z = torch.tensor([1 + 2j])
        assert z.conj().tolist() == [1 - 2j]
        assert z.conj().imag.tolist() == [-2.0]


# Printing

TEXTS = [
    (lambda: torch.empty(2, 3, device="cuda", requires_grad=True),
     "FakeTensor(size=(2, 3), dtype=torch.float32, device='cuda:0', requires_grad=True)"),
    (lambda: torch.empty(4, dtype=torch.bfloat16),
     "FakeTensor(size=(4,), dtype=torch.bfloat16, device='cpu')"),
    (lambda: torch.empty(()), "FakeTensor(size=(), dtype=torch.float32, device='cpu')"),
    (lambda: torch.tensor([1, 2]),
     "FakeTensor([1, 2], size=(2,), dtype=torch.int64, device='cpu')"),
    (lambda: torch.empty(2, requires_grad=True) * 2,
     "FakeTensor(size=(2,), dtype=torch.float32, device='cpu', grad_fn=<MulBackward0>)"),
    (lambda: torch.nn.Parameter(torch.empty(2)),
     "Parameter containing:\n"
     "FakeTensor(size=(2,), dtype=torch.float32, device='cpu', requires_grad=True)"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "text"), TEXTS)
def test_repr(make, text):
    with massless.fake_mode():
        t = make()
        assert repr(t) == str(t) == f"{t}" == text
    assert repr(t) == text


# Copies


def test_deepcopy_keeps_sharing_and_gives_its_own_storage():
    with massless.fake_mode():
        base = torch.tensor([1.0, 2.0, 3.0, 4.0])
        view = base[2:]
        p = torch.nn.Parameter(torch.empty(3, device="cuda"))
    import copy

    base2, view2, p2, again = copy.deepcopy([base, view, p, base])
    assert base2 is again
    assert base2.untyped_storage()._cdata == view2.untyped_storage()._cdata
    assert base2.untyped_storage()._cdata != base.untyped_storage()._cdata
    assert view2.storage_offset() == 2 and view2.tolist() == [3.0, 4.0]
    assert isinstance(p2, torch.nn.Parameter) and p2.requires_grad
    assert p2.device == torch.device("cuda", 0)
    with massless.fake_mode():
        base2.zero_()
    assert base.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_deepcopy_keeps_attributes_grad_and_refuses_non_leaves():
    import copy

    with massless.fake_mode():
        t = torch.randn(2, requires_grad=True)
        t.note = ["a"]
        t.grad = torch.ones(2)
        t2 = copy.deepcopy(t)
        assert t2.note == ["a"] and t2.note is not t.note
        assert t2.grad.shape == (2,) and t2.grad is not t.grad
        with pytest.raises(RuntimeError, match="graph leaves"):
            copy.deepcopy(t * 2)


def test_copy_shares_the_storage():
    import copy

    with massless.fake_mode():
        t = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    t2 = copy.copy(t)
    assert t2 is not t and isinstance(t2, torch.nn.Parameter)
    assert t2.untyped_storage()._cdata == t.untyped_storage()._cdata


# Storages


def test_storages_claim_the_device_and_tell_the_ledger():
    from massless import _C

    ledger = _C.Ledger()
    with massless.fake_mode(_ledger=ledger):
        t = torch.empty(4, device="cuda")
        storage = t.untyped_storage()
        assert storage.device == torch.device("cuda", 0) and storage.nbytes() == 16
        assert ledger.live_bytes() == 16
        storage.resize_(0)
        assert ledger.live_bytes() == 0 and storage.nbytes() == 0
        storage.resize_(400)
        assert ledger.live_bytes() == 400
        with pytest.raises(ValueError):
            storage.resize_(-1)
        del t, storage
        assert ledger.live_bytes() == 0


def test_pinned_copies_say_so():
    with massless.fake_mode():
        t = torch.empty(2, 3)
        pinned = t.pin_memory()
        assert pinned.is_pinned() and not t.is_pinned()
        assert pinned.untyped_storage().is_pinned()
        with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
            t.cuda().pin_memory()


# Identity


def test_a_fake_becomes_real_in_place():
    with massless.fake_mode():
        p = torch.nn.Parameter(torch.empty(2, 2, device="cuda"))
    p.data = torch.ones(2, 2)
    assert not massless.is_fake(p) and p.device.type == "cpu"
    (p * 2).sum().backward()
    assert p.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    with massless.fake_mode():
        q = torch.nn.Parameter(torch.empty(2))
        q.data = torch.empty(3, device="cuda")
        assert q.shape == (3,) and q.device.type == "cuda" and massless.is_fake(q)


NEW = [
    ("new_tensor", lambda t: t.new_tensor([1, 2]), (2,), torch.float32),
    ("new_tensor dtype", lambda t: t.new_tensor([1], dtype=torch.int32), (1,), torch.int32),
    ("new_tensor of a tensor", lambda t: t.new_tensor(t), (2, 3), torch.float32),
    ("new sizes", lambda t: t.new(4, 5), (4, 5), torch.float32),
    ("new Size", lambda t: t.new(torch.Size([4])), (4,), torch.float32),
    ("new list", lambda t: t.new([1, 2]), (2,), torch.float32),
    ("new nothing", lambda t: t.new(), (0,), torch.float32),
    ("new_empty", lambda t: t.new_empty(2), (2,), torch.float32),
    ("new_zeros", lambda t: t.new_zeros(2, dtype=torch.int64), (2,), torch.int64),
    ("new_ones", lambda t: t.new_ones(2), (2,), torch.float32),
    ("new_full", lambda t: t.new_full((2,), 3.0), (2,), torch.float32),
]


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
@pytest.mark.parametrize(("name", "make", "shape", "dtype"), NEW, ids=[n[0] for n in NEW])
def test_new(name, make, shape, dtype, device, inside):
    with massless.fake_mode():
        t = torch.empty(2, 3, device=device)
        made = make(t)
    if not inside:
        made = make(t)
    assert massless.is_fake(made)
    assert made.shape == shape and made.dtype == dtype and made.device == torch.device(device)


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_constructors_from_data(device):
    array = np.ones((2, 2), dtype=np.float32)
    with massless.fake_mode():
        for made in (
            torch.tensor(array, device=device),
            torch.as_tensor(array, device=device),
            torch.asarray(array, device=device),
            torch.tensor([[1.0, 1.0], [1.0, 1.0]], device=device),
            torch.from_numpy(array).to(device),
            torch.Tensor([[1, 1], [1, 1]]).to(device),
            torch.FloatTensor([[1, 1], [1, 1]]).to(device),
        ):
            assert massless.is_fake(made) and made.shape == (2, 2)
            assert made.device == torch.device(device) and made.dtype == torch.float32
        assert torch.tensor([torch.tensor(1), torch.tensor(2)]).tolist() == [1, 2]
        assert massless.is_fake(torch.Tensor(2, 3)) and torch.Tensor(2, 3).shape == (2, 3)


def test_an_array_that_changes_later_is_not_known():
    array = np.ones(2)
    with massless.fake_mode():
        t = torch.from_numpy(array)
        array[0] = 5
        try:
            value = t.tolist()
        except massless.DataDependentError:
            value = [5.0, 1.0]
    assert value == [5.0, 1.0]


def test_meta_inside_a_mode_stays_the_users_own():
    with massless.fake_mode():
        made = [
            torch.empty(2, device="meta"),
            torch.arange(3, device="meta"),
            torch.tensor([1.0], device="meta"),
            torch.rand(2, device="meta"),
            torch.empty(2, device="meta") + 1,
        ]
        with torch.device("meta"):
            made += [torch.zeros(2, 3), torch.nn.Linear(2, 2).weight]
        for t in made:
            assert t.is_meta and not massless.is_fake(t)
        with pytest.raises(RuntimeError):
            torch.empty(2, device="meta") + torch.empty(2)


def test_default_device_and_dtype():
    with massless.fake_mode():
        with torch.device("cuda"):
            assert torch.ones(2).device == torch.device("cuda", 0)
            assert torch.nn.Linear(2, 2).weight.device.type == "cuda"
            assert torch.tensor([1, 2]).device.type == "cuda"
        torch.set_default_device("cuda")
        try:
            assert torch.zeros(2).device.type == "cuda"
        finally:
            torch.set_default_device(None)
        torch.set_default_dtype(torch.float64)
        try:
            assert torch.zeros(2).dtype == torch.tensor([1.0]).dtype == torch.float64
        finally:
            torch.set_default_dtype(torch.float32)
        assert torch.zeros(2).device.type == "cpu"


def test_moves_between_devices_need_no_mode():
    with massless.fake_mode():
        x = torch.empty(2, 3)
        m = torch.nn.Linear(2, 2)
    assert x.to("cuda").device == x.cuda().device == torch.device("cuda", 0)
    assert x.cuda().cpu().device.type == "cpu" and x.cuda().is_cuda and not x.is_cuda
    assert m.to("cuda").weight.device == torch.device("cuda", 0)
    with pytest.raises((AssertionError, RuntimeError)):
        torch.empty(2).cuda()
