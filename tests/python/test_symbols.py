"""ShapeEnv, Dim and what `dynamic=` means; bad input is refused in the user's own words."""

import inspect
import math

import pytest
import torch

import massless
from massless import Dim, _symbols

BATCH, SEQ = Dim("batch"), Dim("seq", min=2)


@pytest.fixture
def env() -> massless.ShapeEnv:
    return massless.ShapeEnv()


def refused(code: str, *parts: str):
    """Expects an error of that code, with these parts of the user's own text."""
    return pytest.raises(
        massless.MasslessError, match=rf"^\[{code}\](?=.*{')(?=.*'.join(map(escaped, parts))})"
    )


def escaped(part: str) -> str:
    import re

    return re.escape(part)


# ShapeEnv


def test_symbol(env):
    s = env.symbol("s", 8)
    assert isinstance(s, torch.SymInt)
    assert massless.hint(s) == 8
    assert env.bounds(s) == (0, math.inf)
    assert env.bounds(2 * s + 1) == (1, math.inf)
    assert env.simplify(s + s) == "2*s"
    assert env.guards == []
    assert "s=8" in repr(env)


def test_symbol_asked_for_twice_is_the_same(env):
    assert env.symbol("s", 8) is not env.symbol("s", 8)
    assert str(env.symbol("s", 8) - env.symbol("s", 8)) == "0"


def test_bounds(env):
    s = env.symbol("s", 8, min=2, max=64)
    assert env.bounds(s) == (2, 64)
    assert env.bounds(-s // 2) == (-32, -1)
    assert env.bounds(s > 1) == (1, 1)
    assert env.bounds(7) == (7, 7)
    assert s < 30
    assert env.bounds(s) == (2, 29)


def test_guards(env):
    s = env.symbol("s", 8)
    t = env.symbol("t", 3)
    line = inspect.currentframe().f_lineno + 1
    assert s > 4
    assert s != t + 1
    assert s * 2 > 8  # the same as the first: no guard
    first, second = env.guards
    assert (first.text, second.text) == ("s >= 5", "s != t + 1")
    assert first.location.endswith(f"test_symbols.py:{line} in test_guards")
    assert first.operator == ""
    assert not first.implied and not first.assertion
    assert str(first) == "s >= 5"
    assert "s >= 5" in repr(first) and "test_symbols.py" in repr(first)
    assert env.holds({"s": 5}) and not env.holds({"s": 4})
    assert env.why({"s": 4}).startswith("s >= 5 does not hold")
    assert env.why({"s": 10, "t": 9}).startswith("s != t + 1")
    assert env.why({"s": 10}) is None


def test_a_guard_that_a_later_one_implies(env):
    s = env.symbol("s", 8)
    assert s > 2
    assert s > 5
    assert [g.implied for g in env.guards] == [True, False]


def test_assertions(env):
    u = env.unbacked("u", max=100)
    torch._check(u >= 3)
    assert u + 1 >= 4
    assert [(g.text, g.assertion) for g in env.guards] == [("u >= 3", True)]
    with pytest.raises(massless.DataDependentError, match="unbacked"):
        assert u > 50
    assert massless.hint(u) is None
    assert massless.hint(u - u + 3) == 3


def test_guards_name_their_operator(env):
    with massless.fake_mode(shape_env=env):
        x = torch.empty(env.symbol("a", 8), 4)
        y = torch.empty(env.symbol("b", 8), 4)
        assert (x + y).shape[1] == 4
    (guard,) = env.guards
    assert guard.text in ("a == b", "b == a")
    assert guard.operator == "aten::add.Tensor"


def test_value(env):
    s, t = env.symbol("s", 8), env.symbol("t", 3)
    size = (s + 1) * t
    assert env.value(size, {}) == 27
    assert env.value(size, {"s": 1}) == 6
    assert env.value(s / 2, {"s": 5}) == 2.5
    assert env.value(s > 5, {"s": 5}) is False
    assert env.value(17 // s, {"s": 0}) is None
    assert s >= 2
    with pytest.raises(massless.GuardError, match=r"s >= 2"):
        env.value(size, {"s": 1})
    assert env.value(size, {"s": 1}, check=False) == 6


def test_print_and_parse(env):
    s, t = env.symbol("s", 8), env.symbol("t", 3)
    for size in (s, 2 * s + 3 * t - 1, s // 3 % 2, s == t, (s > 3) & (t < 9), torch.sym_max(s, t)):
        again = env.parse(env.print(size))
        assert env.print(again) == env.print(size)
        assert again.node._value_eq(size.node)
    assert env.parse("3 + 4") == 7


def test_specialize_zero_one_and_duck_shape():
    env = massless.ShapeEnv()
    assert env.dynamic_size(0) == 0 and env.dynamic_size(1) == 1
    a, b, c = env.dynamic_size(5), env.dynamic_size(5), env.dynamic_size(6)
    assert str(a) == str(b) != str(c)
    assert env.bounds(a) == (2, math.inf)
    env = massless.ShapeEnv(specialize_zero_one=False, duck_shape=False)
    a, b = env.dynamic_size(1), env.dynamic_size(1)
    assert str(a) != str(b)
    assert env.bounds(a) == (0, math.inf)


def test_memory(env):
    s = env.symbol("s", 8)
    before = env.memory
    sizes = [s * i + i for i in range(2, 1000)]
    assert 0 < env.memory - before < 1000 * 500
    assert len(sizes) == 998


@pytest.mark.parametrize(
    "call, code, parts",
    [
        (lambda e: e.symbol("s", 8, max=7), "contradiction", ["size s", "example 8", "[0, 7]"]),
        (
            lambda e: e.symbol("s", 8, min=9),
            "contradiction",
            ["size s", "example 8", "[9, inf]"],
        ),
        (
            lambda e: e.symbol("s", 8, min=9, max=2),
            "contradiction",
            ["size s", "[9, 2]", "min"],
        ),
        (lambda e: e.symbol("s", 7, multiple_of=2), "contradiction", ["the size s", "example 7"]),
        (
            lambda e: e.symbol("s", 7, multiple_of=0),
            "contradiction",
            ["size s", "multiple of 0"],
        ),
        (lambda e: e.symbol("s", "x"), "bad_argument", ["hint of s", "'x'"]),
        (lambda e: e.symbol("s", None), "bad_argument", ["hint of s", "None"]),
        (lambda e: e.symbol("s", True), "bad_argument", ["hint of s", "True"]),
        (lambda e: e.symbol("s", 10**30), "bad_argument", ["hint of s", str(10**30), "64 bits"]),
        (lambda e: e.symbol("s", 8, min="2"), "bad_argument", ["min", "'2'"]),
        (lambda e: e.symbol("s t", 8), "bad_argument", ["s t"]),
        (lambda e: e.symbol("", 8), "bad_argument", []),
        (lambda e: e.symbol(3, 8), "bad_argument", ["3"]),
        (lambda e: e.dynamic_size("x"), "bad_argument", ["'x'"]),
        (lambda e: e.unbacked("u", min=3, max=2), "contradiction", ["the size u", "[3, 2]"]),
        (lambda e: e.bounds("x"), "bad_argument", ["'x'"]),
        (lambda e: e.simplify(None), "bad_argument", ["None"]),
        (lambda e: e.value(3, {"q": 1}), "bad_argument", ["q"]),
        (lambda e: e.parse("s +"), "sym_parse", []),
        (lambda e: e.parse("nowhere + 1"), "sym_parse", ["nowhere"]),
        (lambda e: e.bounds(massless.ShapeEnv().symbol("o", 3)), "foreign_symbol", ["o"]),
    ],
    ids=lambda x: x if isinstance(x, str) else None,
)
def test_bad_input_of_shape_env(env, call, code, parts):
    with refused(code, *parts):
        call(env)


def test_one_name_with_two_meanings(env):
    env.symbol("s", 8)
    with refused("contradiction", "the size s", "example 8", "example 9"):
        env.symbol("s", 9)
    with refused("contradiction", "the size s", "[2, inf]"):
        env.symbol("s", 8, min=2)
    unnamed = env.dynamic_size(7)
    with refused("contradiction", str(unnamed)):
        env.symbol(str(unnamed), 7, min=2)


# Dim


def test_dim_arithmetic_reads_as_written():
    b, s = Dim("b"), Dim("s")
    texts = {
        2 * b: "2 * b",
        s + 1: "s + 1",
        2 * b + 1: "(2 * b) + 1",
        b * s: "b * s",
        8 - s: "8 - s",
        s // 2: "s // 2",
    }
    for expression, text in texts.items():
        assert repr(expression) == text
    assert repr(Dim("b", min=2, multiple_of=4)) == "Dim('b', min=2, multiple_of=4)"
    assert repr(Dim.AUTO) == "Dim.AUTO"
    assert Dim("b", min=2) == Dim("b", min=2) != Dim("b")


@pytest.mark.parametrize(
    "make, code, parts",
    [
        (lambda: Dim("b", min=5, max=3), "contradiction", ["Dim('b', min=5, max=3)"]),
        (lambda: Dim("b", min=5, max=7, multiple_of=4), "contradiction", ["multiple_of=4"]),
        (lambda: Dim("b", max=-1), "contradiction", ["Dim('b', max=-1)"]),
        (lambda: Dim("b", multiple_of=0), "bad_argument", ["multiple_of=0"]),
        (lambda: Dim("b", min="2"), "bad_argument", ["'2'"]),
        (lambda: Dim("b", min=10**30), "bad_argument", [str(10**30)]),
        (lambda: Dim("a b"), "bad_argument", ["'a b'"]),
        (lambda: Dim("for"), "bad_argument", ["'for'", "keyword"]),
        (lambda: Dim(""), "bad_argument", ["''"]),
        (lambda: Dim(3), "bad_argument", ["3"]),
        (lambda: Dim("größe"), "bad_argument", ["größe"]),
    ],
)
def test_bad_dims(make, code, parts):
    with refused(code, *parts):
        make()


@pytest.mark.parametrize("other", [1.5, "x", None, True, torch.ones(1)])
def test_dim_arithmetic_is_with_ints_and_dims(other):
    with pytest.raises(TypeError):
        Dim("b") + other


# dynamic= for one tensor


@pytest.mark.parametrize(
    "sizes, dynamic, expected",
    [
        ((4, 3), None, "4, 3"),
        ((4, 3), {}, "4, 3"),
        ((4, 3), {0: "n"}, "n, 3"),
        ((4, 3), {-1: "n"}, "4, n"),
        ((4, 3), {0: None, 1: "n"}, "4, n"),
        ((1, 0), {0: "a", 1: "b"}, "a, b"),
        ((4, 4), {0: "a", 1: "b"}, "a, b"),
        ((4, 4), {0: "a", 1: "a"}, "a, a"),
        ((4, 3, 4), "all", "s0, s1, s0"),
        ((1, 0, 5), "all", "1, 0, s0"),
        ((4, 3), {0: Dim.AUTO}, "s0, 3"),
        ((4, 8), {0: BATCH, 1: 2 * BATCH}, "batch, 2*batch"),
        ((9,), {0: SEQ + 1}, "seq + 1"),
        ((9, 8), {0: SEQ + 1, 1: SEQ}, "seq + 1, seq"),
        ((32, 4), {0: BATCH * SEQ, 1: BATCH}, "batch*seq, batch"),
        ((7,), {0: 3 * SEQ - 2}, "3*seq - 2"),
        ((4, 9), {0: SEQ // 2, 1: SEQ}, "seq//2, seq"),
        ((2,), {0: 10 - 2 * SEQ}, "10 - 2*seq"),
        ((20, 9), {0: BATCH + SEQ, 1: SEQ + 1}, "batch + seq, seq + 1"),
        ((6, 4), {0: Dim("c", multiple_of=2), 1: Dim("d", min=3, max=4)}, "c, d"),
        ((6, 4), {0: Dim("c", multiple_of=2), 1: Dim("d", min=4, max=4)}, "c, 4"),
    ],
    ids=str,
)
def test_dynamic_sizes(env, sizes, dynamic, expected):
    found = _symbols.dynamic_sizes(env, sizes, dynamic)
    assert ", ".join(map(str, found)) == expected
    assert tuple(map(massless.hint, found)) == sizes
    assert env.guards == []


@pytest.mark.parametrize(
    "sizes, dynamic, code, parts",
    [
        ((4, 3), {2: "n"}, "bad_argument", ["dim 2", "(4, 3)"]),
        ((4, 3), {-3: "n"}, "bad_argument", ["dim -3"]),
        ((), {0: "n"}, "bad_argument", ["dim 0", "()"]),
        ((4, 3), {"0": "n"}, "bad_argument", ["'0'"]),
        ((4, 3), {True: "n"}, "bad_argument", ["True"]),
        ((4, 3), {1: "n", -1: "m"}, "bad_argument", ["dim 1", "'n'", "'m'"]),
        ((4, 3), "al", "bad_argument", ["'al'"]),
        ((4, 3), ["n"], "bad_argument", ["['n']"]),
        ((4, 3), {0: 4}, "bad_argument", ["4 was given", "dim 0"]),
        ((4, 3), {0: "a b"}, "bad_argument", ["'a b'"]),
        ((4, 3), {0: "n", 1: "n"}, "contradiction", ["'n' (example 4, dim 0)", "example 3, dim 1"]),
        ((4, 4), {0: "n", 1: Dim("n")}, "contradiction", ["two meanings", "'n'", "Dim('n')"]),
        ((4, 4), {0: Dim("n"), 1: Dim("n", min=2)}, "contradiction", ["Dim('n')", "min=2"]),
        ((1,), {0: Dim("n", min=2)}, "contradiction", ["example 1", "Dim('n', min=2)", "its min"]),
        ((9,), {0: Dim("n", max=8)}, "contradiction", ["example 9", "Dim('n', max=8)", "its max"]),
        ((9,), {0: Dim("n", multiple_of=2)}, "contradiction", ["example 9", "multiple_of=2"]),
        ((9,), {0: 2 * BATCH}, "contradiction", ["2 * batch", "example 9", "no size batch"]),
        ((0,), {0: SEQ + 1}, "contradiction", ["seq + 1", "example 0"]),
        ((2,), {0: SEQ + 1}, "contradiction", ["example 1", "Dim('seq', min=2)", "seq + 1"]),
        ((9,), {0: BATCH * SEQ}, "contradiction", ["batch * seq", "batch and seq"]),
        ((9,), {0: BATCH * BATCH}, "contradiction", ["batch * batch", "Dim('batch')"]),
        ((9,), {0: BATCH // 2}, "contradiction", ["batch // 2", "Dim('batch')"]),
        ((9, 7), {0: SEQ + 1, 1: SEQ}, "contradiction", ["seq + 1", "seq = 7", "it is 8"]),
        ((9, 4), {0: SEQ // 0, 1: SEQ}, "contradiction", ["seq // 0"]),
    ],
    ids=str,
)
def test_bad_dynamic(env, sizes, dynamic, code, parts):
    with refused(code, *parts):
        _symbols.dynamic_sizes(env, sizes, dynamic)


def test_dynamic_twice_in_one_environment(env):
    a = _symbols.dynamic_sizes(env, (4,), {0: "n"})[0]
    b = _symbols.dynamic_sizes(env, (4, 2), {0: "n"})[0]
    assert str(a - b) == "0"
    with refused("contradiction", "'n' (example 5", "example 4"):
        _symbols.dynamic_sizes(env, (5,), {0: "n"})
    with refused("contradiction", "n"):
        _symbols.dynamic_sizes(env, (4,), {0: Dim("n")})


def test_unnamed_sizes_that_stay_are_told(env):
    assert _symbols.dynamic_sizes(env, (1, 5), "all")[0] == 1
    (note,) = env.notes
    assert "dim 0" in note and "stays 1" in note


def test_a_size_that_is_a_symbol_already(env):
    s = env.symbol("s", 8)
    assert [str(n) for n in _symbols.dynamic_sizes(env, (s, 3), {1: "n"})] == ["s", "n"]
    assert [str(n) for n in _symbols.dynamic_sizes(env, (s, 3), {0: "m"})] == ["m", "3"]
    with refused("bad_argument", "dim 0", "u"):
        _symbols.dynamic_sizes(env, (env.unbacked("u"),), {0: "n"})


# dynamic= for a call


def call(x, y, *rest, scale=1, **options):
    pass


X, Y, Z = torch.empty(4, 3), torch.empty(9, 3), torch.empty(4)


def texts(sizes: dict) -> dict:
    names = {id(X): "X", id(Y): "Y", id(Z): "Z"}
    return {names[key]: ", ".join(map(str, made)) for key, made in sizes.items()}


@pytest.mark.parametrize(
    "dynamic, args, kwargs, expected",
    [
        (None, (X, Y), {}, {}),
        ({"x": {0: "a"}}, (X, Y), {}, {"X": "a, 3"}),
        ({0: {0: "a"}, "y": {0: "b"}}, (X, Y), {}, {"X": "a, 3", "Y": "b, 3"}),
        ({"y": {0: "b"}}, (X,), {"y": Y}, {"Y": "b, 3"}),
        ({"q": {0: "b"}}, (X, Y), {"q": Z}, {"Z": "b"}),
        ({2: {0: "b"}}, (X, Y, Z), {}, {"Z": "b"}),
        ({"x": {0: BATCH}, "y": {0: 2 * BATCH + 1}}, (X, Y), {},
         {"X": "batch, 3", "Y": "2*batch + 1, 3"}),
        ({"x": {0: 2 * BATCH - 4}, "y": {0: SEQ + BATCH}, 2: {0: BATCH}}, (X, Y, Z), {},
         {"X": "2*batch - 4, 3", "Y": "batch + seq, 3", "Z": "batch"}),
        ("all", (X, Y, 3), {"scale": 2}, {"X": "s0, s1", "Y": "s2, s1"}),
        ({"x": {"ids": {0: "a"}}}, ({"ids": X, "mask": Z}, Y), {}, {"X": "a, 3"}),
        ({"x": {1: {0: "a"}}}, ([X, Z], Y), {}, {"Z": "a"}),
        ({"x": "all"}, ([X, Z, "text"], Y), {}, {"X": "s0, s1", "Z": "s0"}),
        ({"x": {0: "a"}, 0: {0: "a"}}, (X, Y), {}, {"X": "a, 3"}),
        ({"x": None}, (X, Y), {}, {}),
    ],
    ids=str,
)  # fmt: skip
def test_sizes_of(env, dynamic, args, kwargs, expected):
    assert texts(_symbols.sizes_of(env, dynamic, call, args, kwargs)) == expected


@pytest.mark.parametrize(
    "dynamic, args, code, parts",
    [
        ({"z": {0: "a"}}, (X, Y), "bad_argument", ["'z'", "'x'", "'y'"]),
        ({5: {0: "a"}}, (X, Y), "bad_argument", ["5"]),
        ({"x": {0: "a"}}, (3, Y), "bad_argument", ["x", "int"]),
        ({"x": {7: "a"}}, (X, Y), "bad_argument", ["dim 7 of x"]),
        ({"x": {0: "a"}, "y": {0: "a"}}, (X, Y), "contradiction", ["dim 0 of x", "dim 0 of y"]),
        ({"x": {0: "a"}, "y": {0: "b"}}, (X, X), "bad_argument", ["dim 0 of y", "same tensor"]),
        ({"x": {"k": {0: "a"}}}, ({"ids": X}, Y), "bad_argument", ["'k' in x", "'ids'"]),
        ("every", (X, Y), "bad_argument", ["'every'"]),
        (3, (X, Y), "bad_argument", ["3"]),
    ],
    ids=str,
)
def test_bad_dynamic_of_a_call(env, dynamic, args, code, parts):
    with refused(code, *parts):
        _symbols.sizes_of(env, dynamic, call, args, {})


# Strict and soft


def test_a_dim_must_stay_dynamic(env):
    with massless.fake_mode(shape_env=env):
        x = massless.fake_like(X, dynamic={0: BATCH})
        assert x.shape[0] > 2
        line = inspect.currentframe().f_lineno + 2
        with pytest.raises(massless.SpecializationError, match="the size batch") as caught:
            int(x.shape[0])
        assert caught.value.location.endswith(f":{line} in test_a_dim_must_stay_dynamic")
        y = massless.fake_like(X, dynamic={0: Dim("other")})
        with pytest.raises(massless.SpecializationError, match="tied") as caught:
            x + y
        assert caught.value.operator == "aten::add.Tensor"
    assert [g.text for g in env.guards] == ["batch >= 3"]


def test_a_name_may_be_fixed(env):
    with massless.fake_mode(shape_env=env):
        x = massless.fake_like(X, dynamic={0: "batch"})
        y = massless.fake_like(X, dynamic={0: "other"})
        x + y
        assert int(x.shape[0]) == 4
    assert [g.text for g in env.guards] == ["batch == other", "batch == 4"]


# Fakes


def test_fake_like_outside_of_a_mode():
    x = massless.fake_like(X, dynamic={0: "batch"})
    y = massless.fake_like(X, dynamic={0: "batch"})
    assert str(x.shape) == "torch.Size([batch, 3])"
    assert (x + y).shape[0] == x.shape[0]
    with refused("contradiction", "batch", "example 9", "example 4"):
        massless.fake_like(Y, dynamic={0: "batch"})
    del x, y
    assert str(massless.fake_like(Y, dynamic={0: "batch"}).shape) == "torch.Size([batch, 3])"


def test_fake_tree(env):
    with massless.fake_mode(shape_env=env):
        tree = massless.fake_tree(
            {"a": X, "b": [Z, 3]}, dynamic={"a": {0: "n"}, "b": {0: {0: "n"}}}
        )
    assert str(tree["a"].shape) == "torch.Size([n, 3])"
    assert str(tree["b"][0].shape) == "torch.Size([n])"
    assert tree["b"][1] == 3
