"""Numbers of a plan as functions of its symbols."""

import operator

from massless import _C
from massless._errors import MasslessError
from massless._units import parse_bytes


class Formula(int):
    """A number of bytes or operations: an int at the example, and a formula in the plan's symbols.

    `str` gives it as text, `int` as the number; it compares and counts as that number. It is exact
    wherever the guards of the run hold: what a plan at that point would say, to the byte.
    """

    _formula: _C.Formula

    def __new__(cls, formula: "_C.Formula | int") -> "Formula":
        if not isinstance(formula, _C.Formula):
            formula = _C.Formula(operator.index(formula))
        made = super().__new__(cls, formula.value())
        made._formula = formula
        return made

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of the symbols that the number depends on, in the order of their declaration."""
        return tuple(self._formula.symbols())

    def subs(self, **values: int) -> "Formula":
        """The formula with symbols replaced by numbers; the others stay, at their examples.

        Raises:
            GuardError: a name that is no symbol of the plan, or a point outside of the guards.
        """
        return Formula(self._formula.subs(named_values("Formula.subs", values)))

    def __str__(self) -> str:
        return self._formula.text()

    __repr__ = __str__

    def __reduce__(self):
        raise TypeError("a Formula cannot be pickled: take int(formula) or str(formula)")


class Fits(dict):
    """Per free symbol the largest value that fits; `None`: there is no largest one, 0: not even
    the smallest does.

    `.ok`: does the plan fit at the example, with the values that were fixed? `.by`: the bytes that
    are left then (negative: missing); `None` where that point is outside of the guards.
    """

    ok: bool
    by: int | None


def named_values(asked: str, values: dict) -> dict[str, int]:
    """The values of symbols as plain ints of 64 bits."""
    plain = {}
    for name, value in values.items():
        try:
            plain[name] = operator.index(value)
        except TypeError:
            raise MasslessError(
                f"[bad_argument] {asked}: {name} is {value!r}. Needed: an integer. "
                "What to do: correct the value."
            ) from None
        if not -(2**63) < plain[name] < 2**63:
            raise MasslessError(
                f"[bad_argument] {asked}: {name} is {value!r}. Needed: a size that fits in 64 "
                "bits. What to do: correct the value."
            )
    return plain


def budget_bytes(budget: int | str) -> int:
    """An amount of memory as a number of bytes."""
    try:
        return parse_bytes(budget)
    except ValueError as error:
        raise MasslessError(
            f"[bad_argument] budget: {error}. Needed: an amount of memory. "
            "What to do: correct the budget."
        ) from None
