"""A plan as tables for a terminal."""

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from massless import _report
from massless._units import bytes_text, count_text
from massless.models import Job


def facts(job: Job) -> list[str]:
    """What was planned, in three lines."""
    what = "training step (optimizer state of earlier steps held)"
    what = what if job.task == "train" else "forward without gradients"
    size = f"batch {job.batch}" + ("" if job.seq is None else f" x seq {job.seq}")
    dtype = str(job.dtype).removeprefix("torch.")
    chosen = [dtype, *([job.optimizer_name] if job.optimizer_name else []), job.device]
    parameters = f"{count_text(job.parameter_count)} parameters ({job.parameter_count:,})"
    inputs = ", ".join(f"{name} {text}" for name, text in job.inputs.items())
    return [f"{what}, {size}, {', '.join(chosen)}", parameters, f"inputs: {inputs}"]


def print_plan(console: Console, job: Job, plan: Any, top: int, budget: dict | None) -> None:
    """Header, kinds, peak, what is alive then, work, and the answer to the budget."""
    console.print(Text(job.name, style="bold"))
    for line in facts(job):
        console.print(Text(f"  {line}"))
    console.print()
    console.print(_kinds(plan))
    console.print()
    for label, text in _lines(plan):
        console.print(Text.assemble((f"{label:<12}", "bold"), text), soft_wrap=True)
    if plan.symbols:
        console.print()
        console.print(_formulas(plan), soft_wrap=True)
    if top:
        console.print()
        console.print(_alive(plan, top))
    if budget is not None:
        console.print()
        for line in _report.largest_lines(plan, budget["largest"]):
            console.print(Text(line), soft_wrap=True)
        style = "bold green" if budget["fits"] else "bold red"
        console.print(Text(budget["text"], style=style), soft_wrap=True)


def _kinds(plan: Any) -> Table:
    table = _table("kind", ("at the peak", True), ("share", True), ("most held", True))
    peak = int(plan.peak)
    for kind in _report.KINDS:
        held = int(plan.kinds_at_peak[kind])
        share = f"{100 * held / peak:.0f} %" if peak else ""
        most = bytes_text(int(plan.kinds[kind]))
        table.add_row(_report.kind_label(kind), bytes_text(held), share, most)
    table.add_section()
    table.add_row("together", bytes_text(peak), "", "", style="bold")
    return table


def _lines(plan: Any) -> list[tuple[str, str]]:
    rows = [("peak", f"{bytes_text(int(plan.peak))} ({int(plan.peak):,} bytes)")]
    if plan.timeline:
        event = plan.peak_event
        last = plan.timeline[-1].time + 1
        when = f"event {event.time:,} of {last:,}: {_report.moment(event)}"
        rows.append(("  when", when))
        if event.location:
            rows.append(("  where", event.location))
    if plan.device.type == "cuda":
        rows.append(("reserved", f"{plan.reserved()} by torch's caching allocator"))
    flops = plan.flops_by_phase
    work = f"{count_text(int(flops['forward']))}FLOP forward"
    if int(flops["backward"]):
        work += f", {count_text(int(flops['backward']))}FLOP backward"
    rows.append(("work", work))
    rows.append(
        ("planned in", f"{plan.seconds:.1f} s" if plan.seconds >= 1 else f"{plan.seconds:.2f} s")
    )
    return rows


def _formulas(plan: Any) -> Text:
    """Peak, kinds and work as functions of the sizes, a line each."""
    lines = [("in bytes, for any " + " and ".join(plan.symbols) + "\n", "bold")]
    for label, formula in _report.formulas(plan):
        lines.append((f"{label:<18}", "bold"))
        lines.append((f"{formula}\n", ""))
    for guard in plan.guards:
        lines.append((f"where {guard.text}\n", "dim"))
    text = Text.assemble(*lines)
    text.rstrip()
    return text


def _alive(plan: Any, top: int) -> Table:
    table = _table(
        ("alive at the peak", True), ("storages", True), "kind", "name, or where it was made"
    )
    groups = _report.group_rows(plan.at_peak(None))
    for group in groups[:top]:
        made = [group.operator, _report.short_location(group.location).partition(" in ")[0]]
        where = ", ".join(part for part in made if part)
        # An input, or an optimizer's state: held before the step began.
        where = where or ("" if group.name else "made before the step")
        name = Text.assemble(f"{group.name}  " if group.name else "", (where, "dim"))
        table.add_row(
            bytes_text(group.bytes), str(group.count), _report.kind_label(group.kind), name
        )
    rest = groups[top:]
    if rest:
        count, held = sum(g.count for g in rest), sum(g.bytes for g in rest)
        table.add_row(
            bytes_text(held), str(count), "", f"in {len(rest)} smaller groups", style="dim"
        )
    return table


def _table(*columns: str | tuple[str, bool]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        name, right = column if isinstance(column, tuple) else (column, False)
        table.add_column(name, justify="right" if right else "left", no_wrap=right, overflow="fold")
    return table
