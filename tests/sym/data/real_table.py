"""Writes real.txt: what Python itself answers for each real operator of src/sym/ops.h.

    python tests/sym/data/real_table.py > tests/sym/data/real.txt

A row: operator, operands, result ("none" where Python raises, answers with a complex number, or the
integer does not fit in 64 bits). Reals are written as repr writes them.
"""

import math
import operator
import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

ROWS = 2000
SEED = 20260
INT_MIN, INT_MAX = -(2**63), 2**63 - 1


def real_round(x: float, n: float) -> float:
    return round(x, int(n))


UNARY: dict[str, Callable[[float], Any]] = {
    "fneg": operator.neg,
    "fabs": abs,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "log2": math.log2,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "round": round,
}
BINARY: dict[str, Callable[[float, float], Any]] = {
    "fadd": operator.add,
    "fsub": operator.sub,
    "fmul": operator.mul,
    "fdiv": operator.truediv,
    "fpow": operator.pow,
    "ffloordiv": operator.floordiv,
    "fmod": operator.mod,
    "fmin": min,
    "fmax": max,
    "feq": operator.eq,
    "flt": operator.lt,
    "fle": operator.le,
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, math.inf, -math.inf, math.nan, 2.0, -3.0, 2.5]
TINY = [5e-324, 2.2250738585072014e-308]
LARGE = [2.0**53, 2.0**63, -(2.0**63), 2.0**63 - 1024, 1e308, -1e308, *TINY]
ROUNDS = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999999999999994, 4503599627370495.5, 1e15 + 0.5]
DECIMALS = [
    (0.125, 2), (0.375, 2), (2.675, 2), (-0.125, 2), (1.005, 2), (5.0, -1), (15.0, -1), (25.0, -1),
    (-5.0, -1), (55.0, -2), (50.0, -2), (49.0, -2), (150.0, -2), (4.0, -1), (0.5, 0), (1.5, 0),
    (9.995, 2), (99.5, 0), (999.999, 1), (1e22, -21), (1.7e308, -308), (1e308, -308), (1e308, -309),
    (5e-324, 323), (5e-324, 324), (1e-320, 320), (0.1, 17), (math.inf, 2), (math.nan, 2), (-0.0, 3),
    (-0.04, 1), (0.05, 1), (5e15 + 1, -1), (2.0**60, -3), (-(2.0**60), 5), (1e16, 1), (0.6, -1),
    (123456.789, -3), (-123456.789, -2), (1e-5, 4), (1.45, 1), (0.15, 1),
    (1.7976931348623157e308, -307),
]  # fmt: skip
POWERS = [
    (0.0, 0.0), (0.0, -1.0), (-0.0, 3.0), (-0.0, 2.0), (-0.0, -3.0), (-0.0, 0.5), (-8.0, 1.0 / 3),
    (-2.0, 3.0), (-2.0, 2.0), (-2.0, -1.0), (1.0, math.nan), (math.nan, 0.0), (math.nan, 1.0),
    (math.inf, -1.0), (-math.inf, 3.0), (-math.inf, 2.0), (-math.inf, -3.0), (-math.inf, 0.5),
    (0.5, math.inf), (2.0, -math.inf), (-1.0, math.inf), (2.0, 1024.0), (-2.0, 1025.0),
    (2.0, -1074.0),
    (2.0, -1075.0), (2.0, -1080.0), (-2.0, -1075.0), (10.0, 308.0), (10.0, 309.0), (10.0, -324.0),
    (5e-324, 1.0), (-5e-324, 1.0), (2.2250738585072014e-308, 1.0), (1.5, 2.5), (-1.0, 2.0**53 + 2),
    (-1.0, 1e300), (2.0, -1074.5), (1e-200, 1.6), (0.1, 323.5), (3.0, 0.5), (-3.0, 0.5),
    (7.0, -2.0),
]  # fmt: skip
MODS = [
    (7.0, 3.0), (-7.0, 3.0), (7.0, -3.0), (-7.0, -3.0), (6.0, 3.0), (-6.0, 3.0), (6.0, -3.0),
    (1.0, 0.1), (-1e-20, 3.0), (1e-20, -3.0), (math.inf, 2.0), (2.0, math.inf), (-2.0, math.inf),
    (2.0, -math.inf), (-0.0, 2.0), (0.0, -2.0), (1e300, 7.0), (0.3, 0.1), (5e-324, 2.0),
    (1e17, 3.0),
]  # fmt: skip
EDGE_INTS = [
    0, 1, -1, 2, 3, -5, 7, 10, 2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3, -(2**53) - 1,
    2**54 + 2, 2**54 + 6, 2**62, 2**62 + 255, 2**62 + 256, 2**62 + 257, 2**63 - 512, 2**63 - 513,
    INT_MAX, INT_MIN, INT_MIN + 1, 3**39, -(3**39), 10**18, 6700417, 2**32 + 1,
]  # fmt: skip


def random_int(rng: random.Random) -> int:
    value = rng.getrandbits(rng.randint(1, 63))
    if rng.random() < 0.3:
        value = (1 << rng.randint(0, 62)) + rng.randint(-2, 2)
    return max(INT_MIN, min(INT_MAX, -value if rng.random() < 0.4 else value))


def random_real(rng: random.Random) -> float:
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice(SPECIAL + LARGE + ROUNDS)
    if kind == 1:
        return float(random_int(rng))
    if kind == 2:
        return struct.unpack("<d", struct.pack("<Q", rng.getrandbits(64)))[0]
    if kind == 3:
        return rng.randint(-40, 40) / 2
    if kind == 4:
        return rng.uniform(-1, 1)
    return rng.uniform(-100, 100)


def text(value: float | int) -> str:
    return repr(value)


def answer(call: Callable[..., Any], *operands: float | int) -> str:
    try:
        result = call(*operands)
    except (ArithmeticError, ValueError):
        return "none"
    too_large = isinstance(result, int) and not INT_MIN <= result <= INT_MAX
    return "none" if too_large or isinstance(result, complex) else text(result)


def cases() -> Iterator[tuple[str, Callable[..., Any], tuple[float | int, ...]]]:
    """First the chosen ones, then random ones without end."""
    rng = random.Random(SEED)
    for a in EDGE_INTS:
        yield "float", float, (a,)
        for b in (0, 1, -1, 3, -7, 2**53 + 1, INT_MAX, INT_MIN, 10**18 + 1):
            yield "truediv", operator.truediv, (a, b)
    for x in SPECIAL + LARGE + ROUNDS:
        for name, call in UNARY.items():
            yield name, call, (x,)
    for name, pairs in (("fpow", POWERS), ("fmod", MODS), ("ffloordiv", MODS)):
        for pair in pairs:
            yield name, BINARY[name], pair
    for x, n in DECIMALS:
        yield "fround", real_round, (x, float(n))
    while True:
        name = rng.choice(["truediv", "fround", "float", *UNARY, *BINARY])
        if name in UNARY:
            yield name, UNARY[name], (random_real(rng),)
        elif name in BINARY:
            yield name, BINARY[name], (random_real(rng), random_real(rng))
        elif name == "fround":
            yield name, real_round, (random_real(rng), float(rng.randint(-5, 12)))
        elif name == "float":
            yield name, float, (random_int(rng),)
        else:
            yield name, operator.truediv, (random_int(rng), random_int(rng))


def main() -> None:
    rows: dict[str, None] = {}
    for name, call, operands in cases():
        rows[" ".join([name, *map(text, operands), answer(call, *operands)])] = None
        if len(rows) == ROWS:
            break
    print("# Made by real_table.py from Python itself: operator, operands, result.")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
