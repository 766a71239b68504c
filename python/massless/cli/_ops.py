"""`massless ops`: which rung of the ladder answers which operator."""

import re

import click
import torch
from rich.console import Console
from rich.table import Table

from massless import _C
from massless._config_check import InputError

# The ladder of the fallback (src/fake/fallback.h), best first.
RUNGS = {
    "rule": "a rule of Massless",
    "composite": "ATen's composite kernel, which decomposes into the others",
    "native_meta": "a native C++ meta function",
    "python_meta": "a Python meta kernel of torch",
    "error": "none: an error that names the operator",
}


def answers(pattern: str) -> list[tuple[str, str]]:
    """(operator, rung) of the aten operators whose name the regular expression finds."""
    try:
        wanted = re.compile(pattern)
    except re.error as e:
        raise InputError("REGEX", f"{pattern[:80]!r} is no regular expression: {e}") from None
    names = sorted(n for n in torch._C._dispatch_get_all_op_names() if n.startswith("aten::"))
    return [(name, _C.answering_rung(name)) for name in names if wanted.search(name)]


@click.command(short_help="Coverage: which rung answers which operator.")
@click.argument("regex", default="")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def ops(regex: str, debug: bool) -> int:
    """List the aten operators that REGEX finds (all without it), with the rung that answers each.

    Exit status 1 if REGEX finds none.
    """
    found = answers(regex)
    if not found:
        click.echo(f"massless: no aten operator matches {regex!r}", err=True)
        return 1
    console = Console(highlight=False)
    if regex:
        console.print(_rows(found))
        console.print()
    console.print(_summary(found))
    return 0


def _rows(found: list[tuple[str, str]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("operator", overflow="fold")
    table.add_column("answered by")
    for name, rung in found:
        table.add_row(name, rung)
    return table


def _summary(found: list[tuple[str, str]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("operators", justify="right")
    table.add_column("rung")
    table.add_column("that is", overflow="fold")
    counts: dict[str, int] = dict.fromkeys(RUNGS, 0)
    for _, rung in found:
        counts[rung] = counts.get(rung, 0) + 1
    for rung, count in counts.items():
        table.add_row(str(count), rung, RUNGS.get(rung, ""))
    table.add_section()
    table.add_row(str(len(found)), "together", "", style="bold")
    return table
