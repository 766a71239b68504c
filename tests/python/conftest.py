"""massless first: fake accelerators need it before torch."""

import sys
from pathlib import Path

import massless  # noqa: F401

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # tests/: models, truth
