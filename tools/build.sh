#!/usr/bin/env bash
# Builds one tree at a time (several people share the two cores): tools/build.sh [ninja arguments].
set -euo pipefail
cd "$(dirname "$0")/.."
exec 9> /tmp/massless-build.lock
flock 9
exec ninja -C "${BUILD_DIR:-build}" "$@"
