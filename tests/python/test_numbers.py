"""A size in the place of a number of a tensor's operator: each row of number_table.py gives what
the number gives and keeps the size, or fixes it by a guard, or is an error; and no operator ever
sees the placeholder that torch makes of it."""

import contextlib
import math
import warnings

import number_table
import pytest
import torch
import torch.nn.functional as F

import massless
from truth import massless_truth as truth

SIZE, OTHER = 8, 11


def setitem(t: torch.Tensor, key, value) -> torch.Tensor:
    t = t.clone()
    t[key] = value
    return t


class World:
    """The names of a row, on fakes in a mode with symbols, or on real tensors outside."""

    def __init__(self, size: int, inside: bool, symbolic: bool, grad: bool = False):
        self.env = massless.ShapeEnv()
        self.mode = massless.fake_mode(shape_env=self.env) if inside else contextlib.nullcontext()
        s = self.env.symbol("s", size) if symbolic else size
        with self.mode:
            self.names = {
                "F": F, "math": math, "setitem": setitem, "torch": torch,
                "s": s, "x": s / 2, "b": s > 5,
                "f": torch.full((4,), 2.0, requires_grad=grad),
                "i": torch.tensor([1, 1, 2, 0]),
                "m": torch.tensor([True, False, True, False]),
                "z": torch.tensor(3.0, requires_grad=grad),
                "big": torch.arange(16.0),
                "f22": torch.full((2, 2), 2.0, requires_grad=grad),
                "f222": torch.full((2, 2, 2), 1.5, requires_grad=grad),
                "big22": torch.zeros(30, 2),
            }  # fmt: skip

    def value(self, expression: str):
        with self.mode, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return eval(expression, self.names)

    def guards(self) -> list[str]:
        return [guard.text for guard in self.env.guards]


def tensors(value) -> list[torch.Tensor]:
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors(v)]
    return [value] if isinstance(value, torch.Tensor) else []


def geometry(t: torch.Tensor, number) -> tuple:
    return t.dtype, tuple(map(number, t.shape)), tuple(map(number, t.stride()))


def assert_like(found, real, number) -> None:
    """The same kind of result and the same sizes, strides and dtypes."""
    assert len(tensors(found)) == len(tensors(real))
    for fake, t in zip(tensors(found), tensors(real), strict=True):
        assert geometry(fake, number) == geometry(t, int)
    if not tensors(real):
        assert found == real


def assert_known_values(expression: str, found, real) -> None:
    """What is known of the values is right."""
    if number_table.RANDOM.search(expression):
        return
    for fake, t in zip(tensors(found), tensors(real), strict=True):
        try:
            value = fake.tolist()
        except massless.DataDependentError:
            continue
        assert value == t.tolist()


@pytest.mark.parametrize("row", number_table.KEPT, ids=lambda row: row[0])
def test_kept(row):
    expression, *guards = row
    world = World(SIZE, inside=True, symbolic=True)
    found = world.value(expression)
    assert world.guards() == guards
    real = World(SIZE, inside=False, symbolic=False).value(expression)
    assert_like(found, real, massless.hint)
    assert_known_values(expression, found, real)
    if world.env.holds({"s": OTHER}):
        there = World(OTHER, inside=False, symbolic=False).value(expression)
        assert_like(found, there, lambda n: world.env.value(n, {"s": OTHER}))


@pytest.mark.parametrize("row", number_table.FIXED, ids=lambda row: row[0])
def test_fixed(row):
    expression, *guards = row
    world = World(SIZE, inside=True, symbolic=True)
    found = world.value(expression)
    assert world.guards() == guards
    assert not world.env.holds({"s": OTHER})
    real = World(SIZE, inside=False, symbolic=False).value(expression)
    assert_like(found, real, massless.hint)
    assert_known_values(expression, found, real)


@pytest.mark.parametrize("row", number_table.ERRORS, ids=lambda row: row[0])
def test_error(row):
    expression, kind, part = row
    with pytest.raises(kind, match=part):
        World(SIZE, inside=True, symbolic=True).value(expression)


EVERY = [row[0] for row in number_table.KEPT + number_table.FIXED]


@pytest.mark.parametrize("expression", EVERY)
def test_outside_of_a_mode(expression):
    """Real tensors: the size becomes the number that it is, where torch's real kernels take one at
    all. A wrong value is never given."""
    real = World(SIZE, inside=False, symbolic=False).value(expression)
    try:
        found = World(SIZE, inside=False, symbolic=True).value(expression)
    except (RuntimeError, TypeError) as error:
        assert "INTERNAL ASSERT" not in str(error)
        return
    for t, other in zip(tensors(found), tensors(real), strict=True):
        assert t.shape == other.shape and t.dtype == other.dtype
        if not number_table.RANDOM.search(expression):
            assert torch.equal(t, other)


def backward(world: World, expression: str) -> None:
    with world.mode:
        for t in tensors(world.value(expression)):
            if t.requires_grad and t.grad_fn is not None and not t.is_complex():
                t.sum().backward(retain_graph=True)


@pytest.mark.parametrize("expression", EVERY)
def test_placeholders_reach_no_operator(expression):
    """Neither forward nor backward."""
    truth.watch_placeholders()
    try:
        backward(World(SIZE, inside=True, symbolic=True, grad=True), expression)
    except Exception:
        with pytest.raises(Exception):  # noqa: B017 - no gradient, in eager either
            backward(World(SIZE, inside=False, symbolic=False, grad=True), expression)
    finally:
        seen = truth.placeholders_seen()
    assert seen == []


def test_a_placeholder_would_be_seen():
    truth.watch_placeholders()
    torch.ones(2) * 7777777
    assert "aten::mul" in truth.placeholders_seen()


def test_gradients_of_numbers():
    """Of a power the exponent is needed: with a gradient it is fixed, without one it is kept."""
    world = World(SIZE, inside=True, symbolic=True, grad=True)
    world.value("(f ** s).sum().backward()")
    assert world.guards() == ["s == 8"]
    assert world.names["f"].grad.shape == (4,)
    world = World(SIZE, inside=True, symbolic=True, grad=True)
    world.value("(f * s / (s + 1) - s).sum().backward()")
    assert world.guards() == []


def test_a_strict_size_is_not_fixed():
    env = massless.ShapeEnv()
    with massless.fake_mode(shape_env=env):
        x = massless.fake_like(torch.ones(8, 3), dynamic={0: massless.Dim("rows")})
        assert str((x * x.shape[0]).shape) == "torch.Size([rows, 3])"
        with pytest.raises(massless.SpecializationError, match="rows"):
            torch.tensor([x.shape[0]])
    with pytest.raises(massless.SpecializationError, match="rows"):
        torch.ones(3) * x.shape[0]
    assert env.guards == []
