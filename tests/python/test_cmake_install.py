"""A C++ user: cmake --install, find_package(massless), build and run the example."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def build_folder() -> Path:
    for name in ("build/package", "build"):
        if (ROOT / name / "CMakeCache.txt").exists():
            return ROOT / name
    pytest.fail("there is no build: run `make build`")


def run(*command: str | Path) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_example_builds_and_runs(tmp_path: Path):
    where, example = tmp_path / "installed", tmp_path / "example"
    run("cmake", "--install", build_folder(), "--component", "cpp", "--prefix", where)
    shutil.copytree(ROOT / "examples" / "cpp", example)
    run(
        "cmake", "-S", example, "-B", example / "build", "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={where}", f"-DPython3_EXECUTABLE={sys.executable}",
    )  # fmt: skip
    run("cmake", "--build", example / "build")
    out = run(example / "build" / "example")
    assert "sizes [1048576, 1048576], fake 1" in out
    assert "peak 5248 bytes, 10240 flops" in out
