"""Loads libmassless, before torch where possible."""

import ctypes
import importlib.metadata
import pathlib
import sys

SUPPORTED_TORCH = "2.13.0"
WRONG_INPUT = 2


def is_command() -> bool:
    """Is the package imported to run its command line: `massless ...`, `python -m massless ...`?

    Python imports a package before it runs anything of it, so what is wrong with the installation
    has to be told here where the user asked for no more than a command.
    """
    if not sys.argv:
        return False
    if sys.argv[0] == "-m":  # its value until the module is found
        return sys.orig_argv[-len(sys.argv)] == "massless"
    return pathlib.Path(sys.argv[0]).stem == "massless"


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
    try:
        check_torch_version()
    except ImportError as error:
        if not is_command() or "--debug" in sys.argv:
            raise
        print(f"massless: error: {error}", file=sys.stderr)
        sys.exit(WRONG_INPUT)
    library = pathlib.Path(__file__).with_name("libmassless.so")
    ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
