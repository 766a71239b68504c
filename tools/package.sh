#!/usr/bin/env bash
# Builds the library, the binding and the C++ tests in build/package and installs the package into
# .venv. Without build isolation: the build's own packages are in .venv already.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"
# scikit-build-core reuses the directory: only what changed is compiled.
pip install -q --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall . \
  -C build-dir=build/package -C cmake.define.MASSLESS_TESTS=ON -C cmake.define.MASSLESS_BENCH=ON -C build.tool-args=-j2
