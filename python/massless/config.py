"""Settings. `massless.config.cuda_capability = "sm_80"` takes effect at once."""

import re
import sys
import types

from massless import _C

fake_tensor_propagation = True
"""False: a graph node's `example_value` is real (it equals `get_real_value`)."""


class _Config(types.ModuleType):
    """The module with checked settings."""

    @property
    def cuda_capability(self) -> str:
        """The device whose kernels fake `cuda` chooses: "sm_90", "sm_80", ..."""
        major, minor = _C.cuda_capability()
        return f"sm_{major}{minor}"

    @cuda_capability.setter
    def cuda_capability(self, value: str) -> None:
        match = re.fullmatch(r"sm_(\d+)(\d)[af]?", value) if isinstance(value, str) else None
        if match is None:
            _C.raise_error(
                "bad_argument", f"the capability {value!r} is not of the form 'sm_90'", "config"
            )
        _C.set_cuda_capability(int(match[1]), int(match[2]))

    def __setattr__(self, name: str, value) -> None:
        if name == "fake_tensor_propagation":
            if not isinstance(value, bool):
                _C.raise_error("bad_argument", f"{name} must be a bool, got {value!r}", "config")
        elif name != "cuda_capability" and not name.startswith("_"):
            _C.raise_error("bad_argument", f"there is no setting {name!r}", "config")
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Config
