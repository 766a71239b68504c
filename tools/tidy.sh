#!/usr/bin/env bash
# clang-tidy over the library and the binding, two files at a time.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files 'src/*.cc' 'python/_C/*.cc' |
  xargs -P 2 -n 1 clang-tidy-14 -p build/package --quiet \
    --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument
