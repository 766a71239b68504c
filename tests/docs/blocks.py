"""The fenced blocks of a Markdown file, and how each kind is run.

    python    all of one file in order, in one process
    console   `$ command` lines with what they print
    cpp       compiled with the library's own flags; run where it has a main, else loaded into the
              file's later processes
    vec       vectors of a rule, for the vector runner of tests/rules
    text      what the block before it printed; `...` stands for what varies

The word after the language names a file of the tree that the block shows: it must be the same text
where the file exists.
"""

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import massless

ROOT = Path(__file__).resolve().parent.parent.parent
LIBRARY = Path(massless.__file__).parent / "libmassless.so"
COLUMNS = "100"
_CODE = ("python", "cpp", "vec")
_SEPARATOR = "\x1e"  # between the outputs of two Python blocks


class DocsError(AssertionError):
    """A block that cannot be run, or that printed something else."""


@dataclass
class Block:
    """One fenced block; `line` is the line of its first line of text."""

    file: str
    line: int
    language: str
    shows: str
    text: str

    @property
    def where(self) -> str:
        """For messages."""
        return f"{self.file}:{self.line}"


@dataclass
class Step:
    """A block of code and the text that is said to be its output (None: it prints nothing)."""

    block: Block
    output: Block | None


def read_blocks(path: Path) -> list[Block]:
    """All fenced blocks of the file, in order."""
    file = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
    blocks, opened = [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.startswith("```"):
            if opened is not None:
                opened.text += line + "\n"
        elif opened is None:
            language, _, shows = line[3:].strip().partition(" ")
            opened = Block(file, number + 1, language, shows, "")
        else:
            blocks.append(opened)
            opened = None
    if opened is not None:
        raise DocsError(f"{opened.where}: the block is never closed")
    return blocks


def steps_of(blocks: list[Block]) -> list[Step]:
    """Each block of code with its output."""
    steps: list[Step] = []
    before: Block | None = None
    for block in blocks:
        if block.language == "text":
            if before is None or before.language not in _CODE:
                raise DocsError(f"{block.where}: a text block that no block of code printed")
            steps[-1].output = block
        elif block.language in (*_CODE, "console"):
            steps.append(Step(block, None))
        else:
            raise DocsError(f"{block.where}: nothing runs a block of {block.language!r}")
        before = block
    return steps


def same(said: str, printed: str) -> bool:
    """Is the printed text what the file says, up to `...` and trailing blanks?"""

    def tidy(text: str) -> str:
        return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())

    return doctest.OutputChecker().check_output(tidy(said), tidy(printed), doctest.ELLIPSIS)


# C++


def _compile_command() -> tuple[Path, list[str]]:
    """Build folder and flags of one of the library's own files, precompiled header included."""
    for folder in (ROOT / "build" / "package", ROOT / "build"):
        database = folder / "compile_commands.json"
        if database.is_file():
            for entry in json.loads(database.read_text()):
                if entry["file"].endswith("src/rules/factory.cc"):
                    words = shlex.split(entry["command"])
                    del words[words.index("-o") : words.index("-o") + 2]
                    words.remove(entry["file"])
                    words.remove("-c")
                    return Path(entry["directory"]), words
    raise DocsError("no compile_commands.json with the library's flags in build/")


def _torch_libraries(words: list[str]) -> Path:
    include = next(Path(w) for w in words if w.endswith("site-packages/torch/include"))
    return include.parent / "lib"


def compile_cpp(block: Block, folder: Path) -> Path:
    """The block as a program, or as a shared library if it has no main."""
    program = re.search(r"^int main\(", block.text, re.MULTILINE) is not None
    source = folder / f"block_{block.line}.cc"
    source.write_text(f'#line {block.line} "{block.file}"\n{block.text}')
    made = folder / (f"block_{block.line}" if program else f"block_{block.line}.so")
    directory, words = _compile_command()
    libraries = _torch_libraries(words)
    places = [LIBRARY.parent, libraries]
    link = [f"-L{p}" for p in places] + [f"-Wl,-rpath,{p}" for p in places]
    link += [str(LIBRARY), "-Wl,--no-as-needed", "-ltorch_cpu", "-lc10"]
    kind = ["-pie"] if program else ["-shared"]
    done = subprocess.run(
        [*words, *kind, "-o", str(made), str(source), *link],
        cwd=directory, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        raise DocsError(f"{block.where} does not compile:\n{done.stderr[-4000:]}")
    return made


# Commands


def _environment(folder: Path, preloaded: list[Path]) -> dict[str, str]:
    env = {**os.environ, "COLUMNS": COLUMNS, "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
    env["PYTHONPATH"] = os.pathsep.join(
        [str(Path(massless.__file__).parent.parent), env.get("PYTHONPATH", "")]
    ).rstrip(os.pathsep)
    if next(folder.glob("*.vec"), None):
        env["MASSLESS_VECTORS"] = str(folder)
    if preloaded:
        env["LD_PRELOAD"] = os.pathsep.join(map(str, preloaded))
    return env


def _run(words: list[str], folder: Path, preloaded: list[Path], allowed: tuple = (0,)) -> str:
    done = subprocess.run(
        words,
        cwd=folder,
        env=_environment(folder, preloaded),
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode not in allowed:
        raise DocsError(
            f"{shlex.join(words)} ended with {done.returncode}:\n"
            f"{done.stdout[-2000:]}{done.stderr[-4000:]}"
        )
    # On a slow machine a command says on stderr what it is at, which no reader sees in the docs.
    told = re.sub(r"^massless: [^\n]*\.\.\.\n", "", done.stderr, flags=re.MULTILINE)
    return done.stdout + told


def _massless() -> list[str]:
    beside = Path(sys.executable).with_name("massless")
    return [str(beside)] if beside.exists() else [sys.executable, "-m", "massless"]


def _vector_runner() -> str:
    for folder in (ROOT / "build" / "package", ROOT / "build"):
        if (made := folder / "tests" / "rules_vectors").is_file():
            return str(made)
    raise DocsError("rules_vectors is not built: configure with -DMASSLESS_TESTS=ON")


def _recipe(target: str) -> list[str]:
    """What `make target` would run, one command a line; raises if there is no such target."""
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise DocsError(f"there is no `make {target}`:\n{done.stderr}")
    return done.stdout.replace("\\\n", " ").splitlines()


def _make_demo(folder: Path, preloaded: list[Path]) -> str:
    """The demo's own commands, without the installation before them."""
    printed = ""
    for line in _recipe("demo"):
        if "massless plan" in line:
            command, _, otherwise = line.partition("||")
            words = [w for w in shlex.split(command) if not re.match(r"[A-Z_]+=", w)]
            allowed = (0, 1) if "-eq 1" in otherwise else (0,)
            printed += _run([*_massless(), *words[1:]], folder, preloaded, allowed)
    return printed


def run_command(command: str, folder: Path, preloaded: list[Path]) -> str | None:
    """What the command prints; None where running it here is not possible."""
    words = shlex.split(command)
    if words[0] == "make":
        if words[1:] == ["demo"]:
            return _make_demo(folder, preloaded)
        for target in words[1:]:
            _recipe(target)
        return None
    if words[0] == "massless":
        return _run(_massless() + words[1:], folder, preloaded, (0, 1))
    if words[0] == "python" and words[1] == "-c":
        return _run([sys.executable, *words[1:]], folder, preloaded)
    if Path(words[0]).name == "rules_vectors":
        return _run([_vector_runner(), *words[1:]], folder, preloaded)
    raise DocsError(f"nothing runs the command {command!r}")


_DRIVER = """
import json, sys
blocks = json.load(open(sys.argv[1]))
names = {"__name__": "__main__"}
for file, line, text in blocks:
    print("\\x1e", end="")
    exec(compile("\\n" * (line - 1) + text, file, "exec"), names)
"""


class File:
    """One Markdown file, run from top to bottom."""

    def __init__(self, path: Path, folder: Path):
        self._path = path
        self._folder = folder
        self._loaded: list[Path] = []  # C++ blocks, for the processes after them
        self._differences: list[str] = []
        (folder / "examples").symlink_to(ROOT / "examples")

    def run(self) -> None:
        """Raises DocsError where a block cannot be run, or with all that printed something else."""
        steps = steps_of(read_blocks(self._path))
        for step in steps:
            self._check_shown(step.block)
            if step.block.language == "vec":
                (self._folder / Path(step.block.shows).name).write_text(step.block.text)
            elif step.block.language == "cpp":
                self._cpp(step)
        self._python([s for s in steps if s.block.language == "python"])
        for step in steps:
            if step.block.language == "console":
                self._console(step.block)
        if self._differences:
            raise DocsError("\n".join(self._differences))

    @staticmethod
    def _check_shown(block: Block) -> None:
        shown = ROOT / block.shows
        if block.shows and shown.is_file() and shown.read_text() != block.text:
            raise DocsError(f"{block.where}: {block.shows} holds another text")

    def _compare(self, where: str, said: str, printed: str) -> None:
        if not same(said, printed):
            self._differences.append(f"{where}: the file says\n{said}\nbut it printed\n{printed}")

    def _cpp(self, step: Step) -> None:
        made = compile_cpp(step.block, self._folder)
        if made.suffix == ".so":
            self._loaded.append(made)
            return
        printed = _run([str(made)], self._folder, [])
        self._compare(step.block.where, step.output.text if step.output else "", printed)

    def _python(self, steps: list[Step]) -> None:
        if not steps:
            return
        program = self._folder / "blocks.json"
        program.write_text(json.dumps([[s.block.file, s.block.line, s.block.text] for s in steps]))
        printed = _run([sys.executable, "-c", _DRIVER, str(program)], self._folder, self._loaded)
        outputs = printed.split(_SEPARATOR)[1:]
        for step, text in zip(steps, outputs, strict=True):
            self._compare(step.block.where, step.output.text if step.output else "", text)

    def _console(self, block: Block) -> None:
        commands = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
        if commands[0].strip():
            raise DocsError(f"{block.where}: a console block starts with `$ command`")
        for one in commands[1:]:
            command, _, said = one.partition("\n")
            while command.endswith("\\"):
                more, _, said = said.partition("\n")
                command = f"{command[:-1]} {more}"
            printed = run_command(command, self._folder, self._loaded)
            if printed is not None:
                self._compare(f"{block.where} ({command})", said, printed)
