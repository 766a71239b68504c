#!/usr/bin/env bash
# Fuzzes the parser of symbolic expressions: tools/fuzz.sh [seconds]. New finds of coverage are kept
# in build/fuzz/corpus; a crash leaves its input in build/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v clang++-14 > /dev/null || ! ls /usr/lib/llvm-14/lib/clang/*/lib/linux/*fuzzer* > /dev/null 2>&1; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    clang-14 libclang-rt-14-dev > /dev/null
fi
mkdir -p build/fuzz/corpus
clang++-14 -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
  -Isrc -Itests src/base/*.cc src/sym/*.cc tests/fuzz/parse_fuzz.cc -o build/fuzz/parse_fuzz
build/fuzz/parse_fuzz -max_total_time="${1:-60}" -max_len=400 -timeout=10 -artifact_prefix=build/fuzz/ \
  build/fuzz/corpus tests/fuzz/corpus/parse
