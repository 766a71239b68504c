"""Every fenced block of the README and of docs/ does what the file says, and every link leads
somewhere."""

import re
from pathlib import Path

import pytest
from blocks import ROOT, DocsError, File, read_blocks, same, steps_of

FILES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def _name(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_blocks(path: Path, tmp_path: Path) -> None:
    File(path, tmp_path).run()


def _headings(text: str) -> set[str]:
    """The anchors of a file's headings, as GitHub makes them."""
    found = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in found}


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_links(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if target.startswith("http"):
            continue
        file, _, anchor = target.partition("#")
        linked = path.parent / file if file else path
        assert linked.exists(), f"{path.name} links to {target}"
        assert not anchor or anchor in _headings(linked.read_text()), f"{path.name}: {target}"


_TOP = {p.name for p in ROOT.iterdir()} - {"build"}


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_named_files_exist(path: Path) -> None:
    """`src/fake/rule.h` in the text is a file of the tree, or a pattern that some file fits."""
    prose = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    for named in re.findall(r"`([\w./*{},-]+)`", prose):
        if "/" in named and named.split("/")[0] in _TOP:
            assert any(ROOT.glob(named.rstrip("/"))), f"{path.name} names {named}"


@pytest.mark.parametrize(
    "text",
    [
        "```python\nprint(1)\n```\n```text\n2\n```\n",
        "```python\nprint(1)\n```\n",
        "```python\nraise ValueError\n```\n",
        "```console\n$ massless ops _pdist_forward$\nnothing\n```\n",
        "```console\n$ rm -r nothing\n```\n",
        "```console\n$ make no_such_target\n```\n",
        "```cpp\nint x = unknown;\n```\n",
        "```ruby\nputs 1\n```\n",
        "```text\nsaid by nobody\n```\n",
        "```python\nnever closed\n",
    ],
)
def test_a_wrong_file_fails(tmp_path: Path, text: str) -> None:
    path = tmp_path / "wrong.md"
    path.write_text(text)
    with pytest.raises(DocsError):
        File(path, tmp_path).run()


def test_output_may_leave_out_what_varies() -> None:
    assert same("took ... s\n", "took 1.5 s  \n\n")
    assert not same("took ... s\n", "took 1.5 ms\n")


def test_output_belongs_to_the_block_before() -> None:
    steps = steps_of(read_blocks(ROOT / "docs" / "add-a-rule.md"))
    printed = [s for s in steps if s.block.language == "python" and s.output is not None]
    assert printed and all("print(" in s.block.text for s in printed)
