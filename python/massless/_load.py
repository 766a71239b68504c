"""Loads libmassless, before torch where possible."""

import ctypes
import importlib.metadata
import pathlib

SUPPORTED_TORCH = "2.13.0"


def check_torch_version() -> None:
    """One clear error at import for a torch whose ABI the library was not built for."""
    try:
        found = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        raise ImportError(
            f"massless needs torch {SUPPORTED_TORCH}, and no torch is installed. "
            f"What to do: pip install torch=={SUPPORTED_TORCH}"
        ) from None
    if found.split("+")[0] != SUPPORTED_TORCH:
        raise ImportError(
            f"massless needs torch {SUPPORTED_TORCH}, found {found}. "
            f"What to do: pip install torch=={SUPPORTED_TORCH}"
        )


def load_library() -> None:
    """Loads libmassless with its c10 and torch_cpu.

    Done before `import torch` runs, so that the fake accelerator's hooks are registered before
    torch asks for them, and so that ATen's own meta kernels are seen before Python's replace them.
    """
    check_torch_version()
    library = pathlib.Path(__file__).with_name("libmassless.so")
    ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
