"""Random systems of facts and questions about integers, as text, as Python values and for z3.

An expression is a tuple: ("int", 3), ("symbol", "a"), or (operator, operand, ...) with the
operators of src/sym/ops.h by their text. `%` and `//` are Python's.
"""

import ast
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import z3

Expr = tuple[Any, ...]
Point = dict[str, int]

BINARY = {"+", "-", "*", "//", "%", "==", "!=", ">=", ">", "<=", "<", "and", "or"}
COMPARISONS = {"==", "!=", ">=", ">", "<=", "<"}
AST_OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.Eq: "==",
    ast.NotEq: "!=", ast.GtE: ">=", ast.Gt: ">", ast.LtE: "<=", ast.Lt: "<", ast.And: "and",
    ast.Or: "or",
}  # fmt: skip


def integer(value: int) -> Expr:
    return ("int", value)


def text(e: Expr) -> str:
    op, *operands = e
    if op in ("int", "symbol"):
        return str(operands[0])
    parts = [text(o) for o in operands]
    if op in BINARY:
        return f"({f' {op} '.join(parts)})"
    if op == "not":
        return f"(not {parts[0]})"
    return f"(-{parts[0]})" if op == "neg" else f"{op}({', '.join(parts)})"


def parsed(source: str) -> Expr:
    """What sym::print writes, which is Python's syntax."""
    return _from_ast(ast.parse(source, mode="eval").body)


def _folded(op: str, operands: list[Expr]) -> Expr:
    result = operands[0]
    for operand in operands[1:]:
        result = (op, result, operand)
    return result


def _from_ast(node: ast.expr) -> Expr:
    match node:
        case ast.Constant(value=bool(value)):
            return ("==", integer(0), integer(0 if value else 1))
        case ast.Constant(value=int(value)):
            return integer(value)
        case ast.Name(id=name):
            return ("symbol", name)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(exponent))):
            return _folded("*", [_from_ast(left)] * exponent)
        case ast.BinOp(left=left, op=op, right=right):
            return (AST_OPERATORS[type(op)], _from_ast(left), _from_ast(right))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return ("neg", _from_ast(operand))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ("not", _from_ast(operand))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return (AST_OPERATORS[type(op)], _from_ast(left), _from_ast(right))
        case ast.BoolOp(op=op, values=values):
            return _folded(AST_OPERATORS[type(op)], [_from_ast(v) for v in values])
        case ast.Call(func=ast.Name(id=name), args=args):
            operands = [_from_ast(a) for a in args]
            return _folded(name, operands) if name in ("min", "max") else (name, *operands)
    raise ValueError(f"not an expression: {ast.unparse(node)}")


def value(e: Expr, point: Point) -> int:
    """Raises ZeroDivisionError where there is none."""
    op, *operands = e
    if op == "int":
        return operands[0]
    if op == "symbol":
        return point[operands[0]]
    if op == "ite":
        return value(operands[1] if value(operands[0], point) else operands[2], point)
    v = [value(o, point) for o in operands]
    match op:
        case "+":
            return v[0] + v[1]
        case "-":
            return v[0] - v[1]
        case "neg":
            return -v[0]
        case "*":
            return v[0] * v[1]
        case "//":
            return v[0] // v[1]
        case "%":
            return v[0] % v[1]
        case "ceildiv":
            return -(-v[0] // v[1])
        case "min":
            return min(v)
        case "max":
            return max(v)
        case "abs":
            return abs(v[0])
    return int(_truth(op, v))


def _truth(op: str, v: list[int]) -> bool:
    match op:
        case "==":
            return v[0] == v[1]
        case "!=":
            return v[0] != v[1]
        case ">=":
            return v[0] >= v[1]
        case ">":
            return v[0] > v[1]
        case "<=":
            return v[0] <= v[1]
        case "<":
            return v[0] < v[1]
        case "not":
            return not v[0]
        case "and":
            return bool(v[0] and v[1])
        case "or":
            return bool(v[0] or v[1])
    raise ValueError(op)


class Z3:
    """Translates into z3, and gathers the divisors met, which are not 0 where there is a value."""

    def __init__(self) -> None:
        self.divisors: list[Any] = []

    def __call__(self, e: Expr) -> Any:
        op, *operands = e
        if op == "int":
            return z3.IntVal(operands[0])
        if op == "symbol":
            return z3.Int(operands[0])
        v = [self(o) for o in operands]
        match op:
            case "+":
                return v[0] + v[1]
            case "-":
                return v[0] - v[1]
            case "neg":
                return -v[0]
            case "*":
                return v[0] * v[1]
            case "//":
                return self.quotient(v[0], v[1])
            case "%":
                return v[0] - v[1] * self.quotient(v[0], v[1])
            case "ceildiv":
                return -self.quotient(-v[0], v[1])
            case "min":
                return z3.If(v[0] <= v[1], v[0], v[1])
            case "max":
                return z3.If(v[0] >= v[1], v[0], v[1])
            case "abs":
                return z3.If(v[0] >= 0, v[0], -v[0])
            case "ite":
                return z3.If(v[0], v[1], v[2])
            case "and":
                return z3.And(v[0], v[1])
            case "or":
                return z3.Or(v[0], v[1])
            case "not":
                return z3.Not(v[0])
        return {
            "==": lambda: v[0] == v[1], "!=": lambda: v[0] != v[1], ">=": lambda: v[0] >= v[1],
            ">": lambda: v[0] > v[1], "<=": lambda: v[0] <= v[1], "<": lambda: v[0] < v[1],
        }[op]()  # fmt: skip

    def quotient(self, a: Any, b: Any) -> Any:
        """z3's own division leaves a rest that is not negative: for b > 0 it is Python's."""
        if z3.is_int_value(b) and b.as_long() > 0:
            return a / b
        self.divisors.append(b)
        return z3.If(b > 0, a / b, (-a) / (-b))


@dataclass
class System:
    """Symbols with their ranges (None: no end), facts, and questions about them."""

    symbols: dict[str, tuple[int | None, int | None]]
    facts: list[Expr] = field(default_factory=list)
    questions: list[Expr] = field(default_factory=list)
    expressions: list[Expr] = field(default_factory=list)  # for bounds and simplify

    def commands(self) -> list[str]:
        def end(e: int | None, infinity: str) -> str:
            return infinity if e is None else str(e)

        return [
            "reset",
            *(f"symbol {s} {end(a, '-inf')} {end(b, 'inf')}" for s, (a, b) in self.symbols.items()),
            *(f"assume {text(f)}" for f in self.facts),
            *(f"prove {text(q)}" for q in self.questions),
            *(f"{c} {text(e)}" for e in self.expressions for c in ("bounds", "simplify")),
        ]

    def point(self, rng: random.Random) -> Point:
        """Any point of the box; near its ends more often."""

        def one(lo: int | None, hi: int | None) -> int:
            lo = (hi or 0) - 60 if lo is None else lo
            hi = lo + 60 if hi is None else hi
            near = rng.choice([lo, hi, lo + 1, hi - 1, rng.randint(lo, hi), rng.randint(lo, hi)])
            return max(lo, min(hi, near))

        return {name: one(*ends) for name, ends in self.symbols.items()}


def linear(coefficients: dict[str, int], constant: int) -> Expr:
    terms = [("*", integer(c), ("symbol", s)) for s, c in coefficients.items() if c != 0]
    return _folded("+", [*terms, integer(constant)])


def random_form(rng: random.Random, names: list[str]) -> dict[str, int]:
    chosen = rng.sample(names, rng.randint(1, min(3, len(names))))
    return {s: rng.choice([c for c in range(-4, 5) if c]) for s in chosen}


def random_symbols(rng: random.Random, count: int, endless: float) -> dict[str, Any]:
    symbols: dict[str, Any] = {}
    for name in "abcde"[:count]:
        lo = rng.choice([0, 1, 2, 2, rng.randint(-8, 8)])
        hi = None if rng.random() < endless else lo + rng.choice([1, 5, 10, 50])
        symbols[name] = (None if rng.random() < endless / 4 else lo, hi)
    return symbols


def linear_system(rng: random.Random) -> System:
    system = System(random_symbols(rng, rng.randint(3, 5), 0.4))
    names = list(system.symbols)
    # Facts that hold at one point can hold together; one system in ten takes no care.
    hidden = system.point(rng) if rng.random() < 0.9 else None
    rows: list[tuple[dict[str, int], int, str]] = []
    for _ in range(rng.randint(1, 6)):
        form = random_form(rng, names)
        relation = rng.choice([">=", ">=", ">=", "==", "!="])
        constant = rng.randint(-20, 20)
        if hidden is not None:
            at = sum(c * hidden[s] for s, c in form.items())
            slack = {">=": rng.randint(0, 8), "==": 0, "!=": rng.randint(1, 4)}[relation]
            constant = slack - at
        rows.append((form, constant, relation))
        system.facts.append((relation, linear(form, constant), integer(0)))
    for _ in range(8):
        system.questions.append(linear_question(rng, system, rows))
    system.expressions = [linear(random_form(rng, names), rng.randint(-9, 9))]
    return system


def linear_question(rng: random.Random, system: System, rows: list[Any]) -> Expr:
    """A random form, or a combination of facts and ends of ranges, near to where it is decided."""
    names = list(system.symbols)
    form = dict.fromkeys(names, 0)
    constant = 0
    if rng.random() < 0.3:
        form |= random_form(rng, names)
        constant = rng.randint(-20, 20)
    else:
        for row, c, relation in rng.sample(rows, rng.randint(1, min(2, len(rows)))):
            factor = rng.choice([1, 1, 2]) * (rng.choice([1, -1]) if relation == "==" else 1)
            constant += factor * c
            for s, k in row.items():
                form[s] += factor * k
        for s in rng.sample(names, rng.randint(0, 2)):
            lo, hi = system.symbols[s]
            if lo is not None and rng.random() < 0.7:
                form[s] += 1
                constant -= lo
            elif hi is not None:
                form[s] -= 1
                constant += hi
        constant += rng.choice([-3, -1, 0, 0, 0, 1, 1, 2, 5])
    if rng.random() < 0.5:
        form, constant = {s: -c for s, c in form.items()}, -constant - rng.randint(0, 2)
    left = linear(form, constant)
    return (rng.choice(["==", ">=", ">=", "!="]), left, integer(0))


def random_integer(rng: random.Random, names: Iterable[str], depth: int) -> Expr:
    if depth == 0 or rng.random() < 0.15:
        if rng.random() < 0.3:
            return integer(rng.choice([1, 2, 2, 3, 4, 5, 8, -1, -2, -3, 0, 7]))
        return ("symbol", rng.choice(list(names)))
    op = rng.choice(["+", "+", "-", "*", "*", "//", "%", "min", "max", "ceildiv", "ite"])
    a = random_integer(rng, names, depth - 1)
    b = random_integer(rng, names, depth - 1)
    if op in ("//", "%", "ceildiv") and rng.random() < 0.6:
        b = integer(rng.choice([2, 3, 4, 5, 8, -2, -3]))
    if op == "ite":
        return ("ite", (rng.choice(sorted(COMPARISONS)), a, b), b, a)
    return (op, a, b)


def identity(rng: random.Random, names: Iterable[str]) -> Expr:
    """A question that is true, or nearly."""
    a = random_integer(rng, names, 1)
    b = random_integer(rng, names, 1)
    s = ("symbol", rng.choice(list(names)))
    k = integer(rng.choice([2, 3, 4, 6]))
    k2 = integer(2 * k[1])
    return rng.choice(
        [
            ("==", ("//", ("*", a, s), s), a),
            ("==", ("+", ("*", ("//", a, k), k), ("%", a, k)), a),
            (">=", ("max", a, b), a),
            ("<=", ("min", a, b), ("max", b, a)),
            ("<", ("%", a, k), k),
            ("<=", ("*", ("//", a, k), k), a),
            ("==", ("//", ("+", ("*", k, a), integer(1)), k), a),
            ("==", ("%", ("*", k2, a), k), integer(0)),
            (">=", ("*", s, s), integer(rng.choice([0, 0, 1]))),
            ("==", ("+", ("min", a, b), ("max", a, b)), ("+", a, b)),
            (">", ("ceildiv", ("+", s, k), k), ("//", s, k)),
            ("or", (">=", a, b), (">", b, a)),
            ("!=", ("*", k, a), ("+", ("*", k, b), integer(1))),
        ]
    )


def nonlinear_system(rng: random.Random) -> System:
    system = System(random_symbols(rng, 3, 0.25))
    names = list(system.symbols)
    hidden = system.point(rng)
    for _ in range(rng.randint(0, 4)):
        left, right = random_integer(rng, names, 2), random_integer(rng, names, rng.randint(0, 1))
        fact = (rng.choice([">=", "==", "!=", "<="]), left, right)
        try:
            if value(fact, hidden):
                system.facts.append(fact)
            else:
                system.facts.append(("not", fact))
        except ZeroDivisionError:
            continue
    for _ in range(4):
        left, right = random_integer(rng, names, 2), random_integer(rng, names, rng.randint(0, 2))
        system.questions.append((rng.choice(["==", ">=", "<", "!="]), left, right))
        system.questions.append(identity(rng, names))
    system.expressions = [random_integer(rng, names, 3)]
    return system
