"""The exception classes; their texts come from the library's one table (src/base/errors.h)."""

import torch

from massless import _C
from massless._location import user_location


class MasslessError(RuntimeError):
    """Base of all errors of Massless.

    `code` names the row of the table of errors, `operator` the operator that was asked
    ("" outside of one), `location` the user's line ("" where it is not known).
    """

    def __init__(
        self, text: str, code: str = "bad_argument", operator: str = "", location: str = ""
    ):
        super().__init__(text)
        self.code = code
        self.operator = operator
        self.location = location


class DataDependentError(MasslessError):
    """A value was asked for that nobody computed."""


class UnsupportedOperatorError(MasslessError):
    """No rung of the ladder answers the operator."""


class SpecializationError(MasslessError):
    """A size that had to stay dynamic would have to become a constant."""


class GuardError(MasslessError):
    """The inputs are outside of the guards."""


_CLASSES = {
    c.__name__: c
    for c in (
        MasslessError,
        DataDependentError,
        UnsupportedOperatorError,
        SpecializationError,
        GuardError,
    )
}


def _make(code: str, python_class: str, operator: str, location: str, text: str) -> MasslessError:
    return _CLASSES[python_class](text, code, operator, location)


_C.set_python_hooks(_make, user_location)
assert torch.__version__  # torch must be loaded before an error can pass through it
