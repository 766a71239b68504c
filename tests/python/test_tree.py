"""tools/check_tree.py finds each breach planted in a tiny tree, and nothing in a clean one."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from check_tree import cpp_functions  # noqa: E402

CLEAN = {
    "src/base/errors.h": "#pragma once\n#include <string>\n",
    "src/sym/expr.cc": '// 0.5 of a double\n#include "base/errors.h"\nconst char* kText = "1.5";\n',
    "src/fake/tensor.cc": '#include <ATen/core/Tensor.h>\n#include "dispatch/state.h"\n',
    "src/plan/plan.cc": '#include "fake/tensor.h"\n#include "plan.h"\n',
    "python/_C/module.cc": '#include <pybind11/pybind11.h>\n#include "plan/plan.h"\n',
    "python/massless/plan.py": "import math\n",
    "tests/fake/tensor_test.cc": '#include "plan/plan.h"\n#include "massless/massless.h"\n',
}

LONG_CPP = "  x();\n" * 60
LONG_PY = "    x()\n" * 60

# Name, file, text, and the breach as it is printed.
BREACHES = {
    "a layer above": (
        "src/fake/walk.cc",
        '\n#include "rules/view.h"\n',
        "src/fake/walk.cc:2: layer fake includes layer rules, which is above it",
    ),
    "a layer above, in angle brackets": (
        "src/sym/walk.h",
        "#  include <guard/vm.h>\n",
        "src/sym/walk.h:1: layer sym includes layer guard, which is above it",
    ),
    "around the layers": (
        "src/fake/walk.cc",
        '#include "../rules/view.h"\n',
        "src/fake/walk.cc:1: ../rules/view.h: the library includes its own files, named from src/",
    ),
    "the umbrella header": (
        "src/fake/walk.cc",
        '#include "massless/massless.h"\n',
        "src/fake/walk.cc:1: massless/massless.h: the library includes its own files, named from"
        " src/",
    ),
    "no layer": (
        "src/extra/walk.cc",
        "int x;\n",
        "src/extra/walk.cc: in src/ but in no layer that tools/check_tree.py knows",
    ),
    "no folder": (
        "src/walk.cc",
        "int x;\n",
        "src/walk.cc: in src/ but in no layer that tools/check_tree.py knows",
    ),
    "torch in sym": (
        "src/sym/walk.cc",
        "#include <c10/core/SymInt.h>\n",
        "src/sym/walk.cc:1: c10/core/SymInt.h: a torch header in sym",
    ),
    "python in the library": (
        "src/fake/walk.cc",
        "#include <torch/csrc/utils/pybind.h>\n",
        "src/fake/walk.cc:1: torch/csrc/utils/pybind.h: a Python header in the library",
    ),
    "a float type": (
        "src/guard/vm.cc",
        "double x;\n",
        "src/guard/vm.cc:1: floating point in guard",
    ),
    "a float literal": (
        "src/plan/peak.cc",
        "auto x = n * .5;\n",
        "src/plan/peak.cc:1: floating point in plan",
    ),
    "a long C++ file": (
        "tests/fake/long.cc",
        "int x;\n" * 801,
        "tests/fake/long.cc: 801 lines, more than 800",
    ),
    "a long Python file": (
        "tests/python/long.py",
        "x = 1\n" * 801,
        "tests/python/long.py: 801 lines, more than 800",
    ),
    "a long C++ function": (
        "python/_C/long.cc",
        f"\nvoid f() {{\n{LONG_CPP}}}\n",
        "python/_C/long.cc:2: a function of 62 lines, more than 60",
    ),
    "a long Python function": (
        "tests/models.py",
        f"@cache\ndef f():\n{LONG_PY}",
        "tests/models.py:2: a function of 61 lines, more than 60",
    ),
    "a long Python method": (
        "bench/run.py",
        "class A:\n    async def f(self):\n" + "        x()\n" * 60,
        "bench/run.py:2: a function of 61 lines, more than 60",
    ),
}


def check(root: Path, files: dict[str, str]) -> tuple[int, list[str]]:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "check_tree.py"), str(root)],
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_a_clean_tree_passes(tmp_path: Path) -> None:
    assert check(tmp_path, CLEAN) == (0, [])


@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_is_found(tmp_path: Path, breach: str) -> None:
    file, text, printed = BREACHES[breach]
    assert check(tmp_path, {**CLEAN, file: text}) == (1, [printed])


def test_all_breaches_are_printed(tmp_path: Path) -> None:
    breaches = [BREACHES[b] for b in ("torch in sym", "no layer", "a long Python file")]
    files = {file: text for file, text, _ in breaches}
    assert check(tmp_path, files) == (1, sorted((p for *_, p in breaches), key=str))


def test_ignored_files_are_not_read(tmp_path: Path) -> None:
    file, text, _ = BREACHES["a layer above"]
    assert check(tmp_path, {**CLEAN, f"build/{file}": text, ".gitignore": "build/\n"}) == (0, [])


# C++ text and the (line, length) of what counts as a function in it.
FUNCTIONS = {
    "one line": ("int f() { return 1; }\n", [(1, 1)]),
    "from its declaration": ("\n// Why.\ntemplate <class T>\nint f(\n    T t) {\n}\n", [(3, 4)]),
    "after an include": ("#include <a>\n\nint f() {\n}\n", [(1, 1), (3, 2)]),
    "in a namespace": (
        "namespace a {\nint f() {\n}\n}  // namespace a\nint g() {\n}\n",
        [(2, 2), (5, 2)],
    ),
    "extern C": ('extern "C" {\nint f() {\n}\n}\n', [(2, 2)]),
    "methods": (
        "struct A final : B<C> {\n  int f() const {\n  }\n  int g() && noexcept {\n  }\n};\n",
        [(2, 2), (4, 2)],
    ),
    "of a specialisation": (
        "template <class R>\nstruct A<R (*)(B)> {\n  int f() {\n  }\n};\n",
        [(3, 2)],
    ),
    "an enum and a struct": ("enum class E : int { a, b };\nstruct S { int a = 1; };\n", []),
    "a constructor": (
        "struct A {\n  explicit A(int a)\n      : a_(a),\n        b_{a, {1}},\n"
        "        C<int>{} {\n    f();\n  }\n};\n",
        [(2, 6)],
    ),
    "a constructor, nothing in it": ("A::A(std::string a) : std::string(a), b_{1} {}\n", [(1, 1)]),
    "a trailing return type": ("auto f(int a = g(1)) -> std::vector<int> {\n}\n", [(1, 2)]),
    "an operator": (
        "A& A::operator=(const A&) {\n}\nbool operator==(A, A) {\n}\n",
        [(1, 2), (3, 2)],
    ),
    "a conversion": ("A::operator bool() const {\n}\n", [(1, 2)]),
    "nested braces": ("int f() {\n  if (a) {\n    g([] {\n    });\n  }\n}\n", [(1, 6)]),
    "a macro's body": (
        "MASSLESS_RULES(m) {\n  rule();\n}\nTORCH_LIBRARY_IMPL(aten, Fake, m) {\n}\n",
        [(1, 3), (4, 2)],
    ),
    "a test": ("TEST(A, B) {\n}\n", [(1, 2)]),
    "a macro's definition": ("#define A(x) \\\n  if (x) {   \\\n  }\n", [(1, 3)]),
    "a lambda": ("const auto f = [](int a) mutable -> int {\n};\n", [(1, 2)]),
    "a lambda called": ("static const bool done = [] {\n  return f();\n}();\n", [(1, 3)]),
    "a lambda argument": ("BENCHMARK(x, [](int a) {\n});\n", [(1, 2)]),
    "a table": (
        'constexpr Row kRows[] = {\n    {"a", f(1)},\n    {"b", {2}},\n};\nint f() {\n}\n',
        [(5, 2)],
    ),
    "a table without =": ("const std::array<Row, 1> kRows{{\n    {1, 2},\n}};\n", []),
    "lambdas of a table": (
        "const Row kRows[] = {\n    {1, [](int a) {\n     }},\n    {2,\n"
        "     [&](int a) { return f({}); }},\n};\n",
        [(2, 2), (5, 1)],
    ),
    "braces in text": (
        'int f() {\n  g(\'{\', "{", R"x({)x", 1\'000); // {\n  /* {\n */\n}\n',
        [(1, 5)],
    ),
    "a default argument": ("int f(A a = {}, B b = {1}) {\n}\n", [(1, 2)]),
    "an initialised value": ("int a{1};\nA b = c(1);\nint f() {\n}\n", [(3, 2)]),
}


@pytest.mark.parametrize("case", FUNCTIONS)
def test_functions_are_measured(case: str) -> None:
    text, expected = FUNCTIONS[case]
    assert sorted(cpp_functions(text)) == expected
