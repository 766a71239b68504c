"""Holds the tree to its rules: one-way layers, file and function lengths, no floats in exact code.

Prints each breach and exits 1 if there is one.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# A layer may include itself and the layers before it.
LAYERS = ["base", "sym", "guard", "dispatch", "fake", "rules", "graph", "real", "capture", "plan"]
TORCH_FREE = {"base", "sym", "guard"}
NO_FLOATS = {"sym", "guard"}
MAX_FILE, MAX_FUNCTION = 800, 60


def tracked(*suffixes: str) -> list[Path]:
    out = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\n")
    return [ROOT / f for f in out if f.endswith(suffixes) and (ROOT / f).is_file()]


def check_layers(path: Path) -> list[str]:
    parts = path.relative_to(ROOT).parts
    if parts[0] != "src" or parts[1] not in LAYERS:
        return []
    layer = parts[1]
    problems = []
    for n, line in enumerate(path.read_text().splitlines(), 1):
        if m := re.match(r'#include "(\w+)/', line):
            if m[1] in LAYERS and LAYERS.index(m[1]) > LAYERS.index(layer):
                problems.append(f"{path}:{n}: layer {layer} includes layer {m[1]}, which is above it")
        elif re.match(r"#include <(ATen|c10|torch|caffe2)/", line) and layer in TORCH_FREE:
            problems.append(f"{path}:{n}: a torch header in {layer}")
        if layer in NO_FLOATS and re.search(r"\b(float|double)\b", line.split("//")[0]):
            problems.append(f"{path}:{n}: floating point in {layer}")
    return problems


def cpp_functions(text: str) -> list[tuple[int, int]]:
    """(first line, length) of each outermost braced function body, by clang-format's layout: a
    definition ends with a line that is a closing brace at its own indentation."""
    found, lines = [], text.splitlines()
    for start, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if not re.search(r"\)\s*(const|noexcept|override|final|\s)*\s*(:.*)?\{$", line):
            continue
        if re.match(r"\s*(if|for|while|switch|namespace|struct|class|enum|do|else|try)\b", line):
            continue
        for end in range(start + 1, len(lines)):
            if re.match(rf"\s{{0,{indent}}}\}}", lines[end]):
                found.append((start + 1, end - start + 1))
                break
    return found


def python_functions(text: str) -> list[tuple[int, int]]:
    return [
        (n.lineno, n.end_lineno - n.lineno + 1)
        for n in ast.walk(ast.parse(text))
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]


def check_lengths(path: Path) -> list[str]:
    text = path.read_text()
    problems = []
    if (n := text.count("\n")) > MAX_FILE:
        problems.append(f"{path}: {n} lines, more than {MAX_FILE}")
    functions = python_functions(text) if path.suffix == ".py" else cpp_functions(text)
    problems += [
        f"{path}:{line}: a function of {length} lines, more than {MAX_FUNCTION}"
        for line, length in functions
        if length > MAX_FUNCTION
    ]
    return problems


def main() -> int:
    problems: list[str] = []
    for path in tracked(".cc", ".h", ".py"):
        problems += check_lengths(path)
        if path.suffix != ".py":
            problems += check_layers(path)
    for p in problems:
        print(p.replace(f"{ROOT}/", ""))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
