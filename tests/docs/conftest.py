"""massless first: fake accelerators need it before torch."""

import massless  # noqa: F401
