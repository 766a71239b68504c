"""Run PyTorch programs without their memory.

Import this module before torch where fake accelerators are wanted without the hardware; imported
after torch it serves CPU fakes and the devices that exist.
"""

from massless import _load

_load.load_library()

from massless import config  # noqa: E402
from massless._errors import (  # noqa: E402
    DataDependentError,
    GuardError,
    MasslessError,
    SpecializationError,
    UnsupportedOperatorError,
)
from massless._fake import (  # noqa: E402
    explain_ops,
    fake_like,
    fake_mode,
    fake_tree,
    is_fake,
    meta_like,
)
from massless._plan import Plan, plan  # noqa: E402
from massless._symbols import Dim, Guard, ShapeEnv, hint  # noqa: E402

__version__ = "0.1.0"

__all__ = [
    "DataDependentError",
    "Dim",
    "Guard",
    "GuardError",
    "MasslessError",
    "Plan",
    "ShapeEnv",
    "SpecializationError",
    "UnsupportedOperatorError",
    "config",
    "explain_ops",
    "fake_like",
    "fake_mode",
    "fake_tree",
    "hint",
    "is_fake",
    "meta_like",
    "plan",
]
