#!/usr/bin/env bash
# Builds libmassless and its C++ tests with the given sanitizers and runs them:
# tools/sanitize.sh address,undefined | thread.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"
dir="build/sanitize-${1//,/-}"
# Not optimized: instrumented code takes g++ four times as long with -O2. NDEBUG as in torch's wheel.
cmake -S . -B "$dir" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DMASSLESS_SANITIZE="$1" \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O0 -g1 -DNDEBUG" -DMASSLESS_PYTHON=OFF -DMASSLESS_TESTS=ON \
  -DPython3_EXECUTABLE="$PWD/.venv/bin/python" > /dev/null
ninja -C "$dir"
export ASAN_OPTIONS=detect_leaks=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=suppressions="$PWD/tools/tsan.supp":halt_on_error=1
# The threads that a real kernel shares its loop with synchronise where the sanitizer cannot see.
export OMP_NUM_THREADS=1
ctest --test-dir "$dir" --output-on-failure -j2
