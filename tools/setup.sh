#!/usr/bin/env bash
# Installs what the build and the tests need: Debian packages where they are missing, and a virtual
# environment .venv with pinned Python packages. Quick when all is there.
set -euo pipefail
cd "$(dirname "$0")/.."

need=()
for pair in g++:g++ ccache:ccache git:git clang-format-14:clang-format-14 \
            clang-tidy-14:clang-tidy-14; do
  command -v "${pair%%:*}" > /dev/null || need+=("${pair##*:}")
done
[ -f /usr/include/gtest/gtest.h ] || need+=(libgtest-dev)
[ -f /usr/include/benchmark/benchmark.h ] || need+=(libbenchmark-dev)
"${PYTHON:-python3}" -c 'import ensurepip, venv' 2> /dev/null || need+=(python3-venv)
if ! "${PYTHON:-python3}" -c \
  'import os, sysconfig; raise SystemExit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'; then
  need+=(python3-dev)
fi
if [ "${#need[@]}" -gt 0 ]; then
  echo "setup: installing ${need[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${need[@]}" > /dev/null
fi

stamp=.venv/.requirements
if ! cmp -s requirements.txt "$stamp" 2> /dev/null; then
  echo "setup: Python packages into .venv"
  "${PYTHON:-python3}" -m venv .venv
  .venv/bin/pip install -q --disable-pip-version-check -r requirements.txt
  cp requirements.txt "$stamp"
fi
