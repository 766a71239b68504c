"""Holds the tree to its rules: one-way layers, file and function lengths, no floats in exact code.

    python tools/check_tree.py [root of the tree]

Prints each breach and exits 1 if there is one. C++ is read after comments, strings and preprocessor
lines are blanked; a "function" is any braced body outside of other functions that is no namespace,
class or table: constructors, lambdas in tables, the bodies of TEST, MASSLESS_RULES and the like.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from enum import Enum, auto
from pathlib import Path

# A layer may include itself and the layers before it. The binding (python/_C), tests and benchmarks
# are above all layers.
LAYERS = ["base", "sym", "guard", "dispatch", "fake", "rules", "graph", "real", "capture", "plan"]
TORCH_FREE = {"base", "sym", "guard"}
NO_FLOATS = {"sym", "guard", "plan"}
# Real-valued sizes, which no proof about integers reads.
REALS = {Path("src/sym/real.h"), Path("src/sym/real.cc")}
MAX_FILE, MAX_FUNCTION = 800, 60

TORCH = re.compile(r"(ATen|c10|caffe2|torch)/")
PYTHON = re.compile(
    r"(pybind11/|Python\.h|torch/(python|extension)\.h|torch/csrc/"
    r"(Dtype|Exceptions|PyInterpreter|THP|python_|utils/(py|python_)|autograd/python_))"
)
INCLUDE = re.compile(r'\s*#\s*include\s*[<"]([^>"]+)[>"]')
FLOAT = re.compile(r"\b(?:float|double)\b|(?<![\w.])(?:\d[\d']*\.\d*|\.\d+|\d+[eE][+-]?\d+)")

# A problem: line (0: the whole file) and text.
Problem = tuple[int, str]


def tracked(root: Path, *suffixes: str) -> list[Path]:
    """Also what is not yet added: a breach is told before the commit."""
    out = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    return [Path(f) for f in out if f.endswith(suffixes) and (root / f).is_file()]


CPP_TOKEN = re.compile(
    r"""//(?:\\\n|[^\n])*            # a line comment
      | /\*.*?\*/                    # a block comment
      | \bu?8?R"(\w*)\(.*?\)\1"      # a raw string
      | "(?:\\.|[^"\\\n])*"          # a string
      | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'  # a character, not a digit separator
    """,
    re.VERBOSE | re.DOTALL,
)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def cpp_code(text: str) -> str:
    """The text with comments, strings and characters blanked, each line where it was."""

    def blanked(token: re.Match[str]) -> str:
        literal = token[0].endswith(('"', "'"))
        return f'"{_blank(token[0][2:])}"' if literal else _blank(token[0])

    return CPP_TOKEN.sub(blanked, text)


def directives(code: str) -> Iterator[tuple[int, int]]:
    """(start, end) of each preprocessor directive, continued lines included."""
    for m in re.finditer(r"^[ \t]*#(?:\\\n|[^\n])*", code, re.MULTILINE):
        yield m.span()


def check_layers(path: Path, text: str) -> list[Problem]:
    if path.parts[0] != "src":
        return []
    layer = path.parts[1]
    if len(path.parts) < 3 or layer not in LAYERS:
        return [(0, "in src/ but in no layer that tools/check_tree.py knows")]
    problems = []
    for n, line in enumerate(text.splitlines(), 1):
        if not (m := INCLUDE.match(line)):
            continue
        first = m[1].split("/")[0]
        if "/" in m[1] and first in LAYERS and LAYERS.index(first) > LAYERS.index(layer):
            problems.append((n, f"layer {layer} includes layer {first}, which is above it"))
        elif first in {"massless", "_C", "python", "tests"} or ".." in m[1].split("/"):
            problems.append((n, f"{m[1]}: the library includes its own files, named from src/"))
        elif PYTHON.match(m[1]):
            problems.append((n, f"{m[1]}: a Python header in the library"))
        elif TORCH.match(m[1]) and layer in TORCH_FREE:
            problems.append((n, f"{m[1]}: a torch header in {layer}"))
    return problems


def check_floats(path: Path, text: str) -> list[Problem]:
    if path.parts[0] != "src" or path.parts[1] not in NO_FLOATS or path in REALS:
        return []
    lines = enumerate(cpp_code(text).splitlines(), 1)
    return [(n, f"floating point in {path.parts[1]}") for n, line in lines if FLOAT.search(line)]


# What stands before a lambda's body, and before that of a namespace or class.
LAMBDA = re.compile(
    r"(?<![\w\]\[])\[[^\[\]]*\]\s*(<[^{}]*>\s*)?(\([^{}]*\)\s*)?"
    r"(mutable\b|noexcept\b|->[^{}()]*|\s)*$"
)
CONTAINER = re.compile(r'\s*(inline\s+)?(namespace|struct|class|union|enum|extern\s*")[^()=]*$')


class Brace(Enum):
    """What a brace in a namespace or a class opens."""

    CONTAINER = auto()
    FUNCTION = auto()
    VALUE = auto()


def brace_after(head: str, in_parentheses: bool) -> Brace:
    """`head`: what precedes the brace since the last declaration."""
    if LAMBDA.search(head):
        return Brace.FUNCTION
    if in_parentheses:
        return Brace.VALUE
    head = _without_templates(head)
    if CONTAINER.match(_outside("<>", head)):
        return Brace.CONTAINER
    outside = _outside("()", head)
    if "operator" not in outside and "=" in outside:
        return Brace.VALUE
    if re.search(r"\)[^:]*:(?!:)", outside):
        # A constructor's initialisers: `a{1}`, `B<T>{}` are members; `) {`, `} {` end them.
        return Brace.FUNCTION if head.rstrip()[-1] in ")}." else Brace.VALUE
    return Brace.FUNCTION if "(" in outside or "operator" in outside else Brace.VALUE


def _outside(pair: str, head: str) -> str:
    """With "()": `f(int a = g(1)) : b(2)` -> `f() : b()`."""
    kept, depth = [], 0
    for c in head:
        depth -= c == pair[1]
        if depth == 0:
            kept.append(c)
        depth += c == pair[0]
    return "".join(kept)


def _without_templates(head: str) -> str:
    """`template <class T, class = A<T>> [[nodiscard]] struct alignas(8) S` -> `struct S`."""
    head = re.sub(r"\[\[.*?\]\]|\balignas\s*\([^()]*\)", " ", head, flags=re.DOTALL)
    while m := re.match(r"\s*template\s*<", head):
        depth, at = 1, m.end()
        while depth and at < len(head):
            depth += (head[at] == "<") - (head[at] == ">")
            at += 1
        head = head[at:]
    return head


def _closed(code: str, at: int) -> int:
    """Where the brace opened at `at` is closed."""
    depth = 0
    for m in re.compile(r"[{}]").finditer(code, at):
        depth += 1 if m[0] == "{" else -1
        if depth == 0:
            return m.end()
    return len(code)


# A piece of text: start and end.
Span = tuple[int, int]


def _lambdas(code: str, start: int, end: int) -> Iterator[Span]:
    """The outermost lambdas of a braced value, such as a table."""
    at = start
    for m in re.compile(r"\{").finditer(code, start, end):
        if m.start() >= at and (found := LAMBDA.search(code[at : m.start()])):
            yield at + found.start(), (at := _closed(code, m.start()))


def _bodies(code: str) -> Iterator[Span]:
    """Each function, from its declaration to its closing brace."""
    at = head = depth = 0
    while m := re.compile(r"[{};()]").search(code, at):
        at = m.end()
        depth += (m[0] == "(") - (m[0] == ")")
        if m[0] == "}" or (m[0] == ";" and depth == 0):
            head = at
        if m[0] != "{":
            continue
        kind = brace_after(code[head : m.start()], depth > 0)
        if kind is Brace.CONTAINER:
            head = at
            continue
        at = _closed(code, m.start())
        if kind is Brace.FUNCTION:
            yield head, at
            head = at
        else:
            yield from _lambdas(code, m.start(), at)


def cpp_functions(text: str) -> list[tuple[int, int]]:
    """(first line, number of lines) of each function and of each macro's definition."""
    code = cpp_code(text)
    found = []
    for start, end in directives(code):
        found.append((code.count("\n", 0, start) + 1, code.count("\n", start, end) + 1))
        code = code[:start] + _blank(code[start:end]) + code[end:]
    for start, end in _bodies(code):
        start = end - len(code[start:end].lstrip())
        found.append((code.count("\n", 0, start) + 1, code.count("\n", start, end) + 1))
    return found


def python_functions(text: str) -> list[tuple[int, int]]:
    return [
        (n.lineno, (n.end_lineno or n.lineno) - n.lineno + 1)
        for n in ast.walk(ast.parse(text))
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]


def check_lengths(path: Path, text: str) -> list[Problem]:
    problems = []
    if (n := len(text.splitlines())) > MAX_FILE:
        problems.append((0, f"{n} lines, more than {MAX_FILE}"))
    functions = python_functions(text) if path.suffix == ".py" else cpp_functions(text)
    problems += [
        (line, f"a function of {length} lines, more than {MAX_FUNCTION}")
        for line, length in functions
        if length > MAX_FUNCTION
    ]
    return problems


def main(root: Path) -> int:
    cpp: list[Callable[[Path, str], list[Problem]]] = [check_layers, check_floats]
    problems = []
    for path in tracked(root, ".cc", ".h", ".py"):
        text = (root / path).read_text()
        for check in [check_lengths, *([] if path.suffix == ".py" else cpp)]:
            for line, what in check(path, text):
                problems.append(f"{path}:{line}: {what}" if line else f"{path}: {what}")
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).resolve().parent.parent))
