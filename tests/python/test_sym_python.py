"""What Python does with sizes: each row of sym_table.py inside of a mode with symbols, where the
operators are ours, and outside, where torch's own Python works on our nodes."""

import contextlib
import copy
import decimal
import fractions
import json
import math
import operator
import pickle
import struct
import warnings

import numpy as np
import pytest
import sym_table
import torch
from torch._dynamo.source import ConstantSource
from torch.fx.experimental import symbolic_shapes as shapes

import massless

_SYMBOLS = (torch.SymInt, torch.SymBool, torch.SymFloat)
_MODULES = {
    m.__name__: m
    for m in (copy, decimal, fractions, json, math, operator, pickle, shapes, struct, torch)
} | {"np": np, "shapes": shapes}


class World:
    """The names of a row, and where it is evaluated."""

    def __init__(self, inside: bool):
        self.env = massless.ShapeEnv()
        self.mode = massless.fake_mode(shape_env=self.env) if inside else contextlib.nullcontext()
        s, t = self.env.symbol("s", 8), self.env.symbol("t", 3)
        with self.mode:
            self.names = _MODULES | {"s": s, "t": t, "x": s / 2, "b": s > 5, "b2": t > 5}

    def value(self, expression: str):
        with self.mode, warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            return eval(expression, dict(self.names))

    def guards(self) -> list[str]:
        return [guard.text for guard in self.env.guards]


@pytest.fixture(params=["inside", "outside"])
def world(request) -> World:
    return World(request.param == "inside")


def of_numbers(expression: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return eval(expression, _MODULES | {"s": 8, "t": 3, "x": 4.0, "b": True, "b2": False})


def hints(value):
    """With each symbol's example in its place."""
    if isinstance(value, (list, tuple)):
        return [hints(v) for v in value]
    return massless.hint(value)


def assert_same(found, expected) -> None:
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for f, e in zip(found, expected, strict=True):
            assert_same(f, e)
    else:
        assert type(found) is type(expected)
        assert found == expected


def text(value) -> str:
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return f"({', '.join(map(str, value))})"
    return str(value)


def is_symbolic(value) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(is_symbolic, value))
    return isinstance(value, _SYMBOLS)


def outside(world: World, expression: str) -> bool:
    """Was it a row that is different outside? Then it is checked here."""
    if isinstance(world.mode, massless.fake_mode):
        return False
    expected = sym_table.OUTSIDE.get(expression)
    if expected is None:
        return False
    if isinstance(expected, type):
        with pytest.raises(expected):
            world.value(expression)
        return True
    value, guards = expected
    found = world.value(expression)
    assert (text(found) if is_symbolic(found) else found) == value
    assert_same(hints(found), hints(of_numbers(expression)))
    assert world.guards() == guards
    return True


@pytest.mark.parametrize("row", sym_table.KEPT, ids=lambda row: row[0])
def test_kept(world, row):
    expression, expected, guards = (*row, [])[:3]
    if outside(world, expression):
        return
    found = world.value(expression)
    assert is_symbolic(found)
    assert text(found) == expected
    assert world.guards() == guards
    assert_same(hints(found), hints(of_numbers(expression)))


@pytest.mark.parametrize("row", sym_table.FIXED, ids=lambda row: row[0])
def test_fixed(world, row):
    expression, *guards = row
    if outside(world, expression):
        return
    found = world.value(expression)
    assert not is_symbolic(found)
    assert world.guards() == guards
    assert_same(found, of_numbers(expression))


@pytest.mark.parametrize("expression", sym_table.PLAIN)
def test_plain(world, expression):
    if outside(world, expression):
        return
    found = world.value(expression)
    assert not is_symbolic(found)
    assert world.guards() == []
    assert_same(found, of_numbers(expression))


@pytest.mark.parametrize("row", sym_table.OTHERWISE, ids=lambda row: row[0])
def test_otherwise(world, row):
    expression, expected = row
    found = world.value(expression)
    assert (text(found) if is_symbolic(found) else found) == expected
    assert world.guards() == []


@pytest.mark.parametrize("row", sym_table.ERRORS, ids=lambda row: row[0])
def test_error(world, row):
    expression, kind, part = row
    with pytest.raises(kind, match=part):
        world.value(expression)


def test_outside_rows_are_rows():
    rows = {row[0] for row in sym_table.KEPT + sym_table.FIXED} | set(sym_table.PLAIN)
    assert sym_table.OUTSIDE.keys() <= rows


@pytest.mark.parametrize("expression", [row[0] for row in sym_table.FIXED])
def test_a_strict_size_is_not_fixed(world, expression):
    """What fixes a size says so where the size is a Dim; what bounds it does not."""
    strict = massless.ShapeEnv()
    names = {"s": strict.symbol("s", 8, strict=True), "t": strict.symbol("t", 3, strict=True)}
    names |= {"x": names["s"] / 2, "b": names["s"] > 5, "b2": names["t"] > 5}
    world.names |= names
    try:
        world.value(expression)
    except massless.SpecializationError as error:
        assert "the size" in str(error) and "Dim" in str(error)
    except (TypeError, RuntimeError):
        assert expression in sym_table.OUTSIDE
    for guard in strict.guards:
        assert guard.text not in ("s == 8", "t == 3")


@pytest.mark.parametrize("name", ["a", "b"])
def test_sizes_of_two_environments_do_not_mix(world, name):
    other = massless.ShapeEnv().symbol(name, 8)
    for expression in ("s + o", "o * s", "s == o", "s < o", "max(s, o)", "torch.sym_max(s, o)"):
        world.names["o"] = other
        with pytest.raises(massless.MasslessError, match="foreign_symbol"):
            world.value(expression)


def test_a_size_of_torch_does_not_mix(world):
    world.names["o"] = torch_symbol("o", 8)
    for expression in ("s + o", "s == o"):
        with pytest.raises(massless.MasslessError, match="foreign_symbol"):
            world.value(expression)


def torch_symbol(name: str, value: int) -> torch.SymInt:
    source = ConstantSource(name)
    env = shapes.ShapeEnv()
    return env.create_symintnode(env.create_symbol(value, source), hint=value, source=source)


@pytest.mark.parametrize(
    "expression",
    ["s + 1", "1 - s", "s * s", "s // 3", "s == 8", "-s", "int(s)", "bool(s)", "s / 3"],
)
def test_symbols_of_torch_work_as_before(expression):
    names = {"s": torch_symbol("s0", 8)}
    before = eval(expression, names)
    with massless.fake_mode(shape_env=massless.ShapeEnv()):
        inside = eval(expression, names)
    assert type(inside) is type(before)
    assert str(inside) == str(before)


def test_nodes_of_others_have_no_attribute_of_ours():
    massless.ShapeEnv()
    nested = torch._C._get_nested_int(3, 1)
    for name in ("hint", "shape_env", "expr", "constant", "sym_sum", "sym_ite"):
        assert not hasattr(nested.node, name), name
    assert nested.node.__class__ is torch._C._SymNode
    assert hash(nested) == hash(torch._C._get_nested_int(3, 1))
    with massless.fake_mode(shape_env=massless.ShapeEnv()):
        assert nested == torch._C._get_nested_int(3, 1)
        assert nested != torch._C._get_nested_int(4, 1)
        assert nested >= 2
