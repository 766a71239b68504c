"""The report of a plan: one self-contained HTML file, or a picture of the timeline."""

import io
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from massless._output import write_whole
from massless._units import bytes_text, count_text

__all__ = ["group_rows", "render_html", "render_png", "write_html", "write_png", "write_text"]

KINDS = ("parameters", "gradients", "optimizer_state", "activations", "temporaries")
# The ledger's kinds as the report's five.
KIND_OF = {
    "parameter": "parameters",
    "buffer": "parameters",
    "gradient": "gradients",
    "optimizer_state": "optimizer_state",
    "activation": "activations",
    "input": "activations",
    "temporary": "temporaries",
}
COLORS = {
    "parameters": "#33608c",
    "gradients": "#6fa3d0",
    "optimizer_state": "#8a6fb0",
    "activations": "#e0903a",
    "temporaries": "#b9bec4",
}
# Of more points a picture of this width shows nothing more.
MAX_POINTS = 700
TOP = 40


def kind_label(kind: str) -> str:
    """`optimizer state` of `optimizer_state`."""
    return kind.replace("_", " ")


# --- rows ----------------------------------------------------------------------------------------


@dataclass
class Group:
    """Storages alive at the peak that differ only in the number of their layer."""

    bytes: int
    count: int
    kind: str
    name: str
    operator: str
    location: str


def group_rows(rows: Iterable[Any], n: int | None = None) -> list[Group]:
    """The storages of `plan.at_peak(None)`, those of repeated layers as one; largest first.

    `model.layers.3.mlp.up_proj.weight` counts as `model.layers.*.mlp.up_proj.weight`.
    """
    groups: dict[tuple[str, ...], Group] = {}
    for row in rows:
        name = re.sub(r"(?<=\.)\d+(?![^.])", "*", row.name or row.module)
        location = "" if row.name else row.location
        # A parameter is known by its name; who made it (an `empty`) says nothing.
        operator = "" if row.name else row.operator
        key = (row.kind, name, operator, location)
        group = groups.get(key)
        if group is None:
            groups[key] = Group(row.bytes, 1, row.kind, name, operator, location)
        else:
            group.bytes += row.bytes
            group.count += 1
    return sorted(groups.values(), key=lambda g: -g.bytes)[:n]


def formulas(plan: Any) -> list[tuple[str, str]]:
    """What depends on the plan's symbols, as (label, text)."""
    rows = [("peak", plan.peak)]
    rows += [(kind_label(kind), plan.kinds[kind]) for kind in KINDS]
    rows += [(f"FLOP {phase}", f) for phase, f in plan.flops_by_phase.items()]
    return [(label, str(formula)) for label, formula in rows if formula.symbols]


def largest_lines(plan: Any, largest: dict[str, int | None]) -> list[str]:
    """`largest batch with seq 4096: 12`, for each symbol."""
    lines = []
    for name, value in largest.items():
        others = ", ".join(f"{n} {v}" for n, v in plan.symbols.items() if n != name)
        text = "any" if value is None else "none" if value == 0 else f"{value:,}"
        lines.append(f"largest {name}{' with ' + others if others else ''}: {text}")
    return lines


def short_location(location: str) -> str:
    """`modeling_llama.py:88 in forward` of the same with folders."""
    path, colon, rest = location.partition(":")
    return os.path.basename(path) + colon + rest


def moment(event: Any) -> str:
    """`aten::mm (backward) of model.layers.3.mlp`; work that belongs to no module (an optimizer's)
    is told by its operator."""
    text = event.operator or "the start"
    if event.phase == "backward":
        text += " (backward)"
    return f"{text} of {event.module}" if event.module else f"{text}, outside of the modules"


# --- the picture ---------------------------------------------------------------------------------


def kinds_over_time(plan: Any) -> tuple[list[int], dict[str, list[int]]]:
    """Times and, per kind, the bytes live then; thinned to the highest moment of each interval."""
    events = plan.timeline
    interval = max(1, -(-len(events) // MAX_POINTS))
    live = dict.fromkeys(KINDS, 0)
    times: list[int] = []
    series: dict[str, list[int]] = {kind: [] for kind in KINDS}
    before, best, best_total = 0, dict(live), -1
    for i, event in enumerate(events):
        live[KIND_OF[event.kind]] += event.bytes - before
        before = event.bytes
        if event.bytes > best_total:
            best, best_total, best_time = dict(live), event.bytes, event.time
        if (i + 1) % interval == 0 or i + 1 == len(events):
            times.append(best_time)
            for kind in KINDS:
                series[kind].append(best[kind])
            best_total = -1
    return times, series


def _figure(plan: Any, title: str):
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    times, series = kinds_over_time(plan)
    figure = Figure(figsize=(10.5, 4.2), layout="constrained")
    axes = figure.add_subplot()
    scale, unit = _unit(int(plan.peak))
    shown = [k for k in KINDS if any(series[k])]
    if times:
        layers = [[b / scale for b in series[k]] for k in shown]
        colors = [COLORS[k] for k in shown]
        labels = [kind_label(k) for k in shown]
        axes.stackplot(times, layers, labels=labels, colors=colors, linewidth=0, step="post")
        axes.set_xlim(times[0], max(times[-1], times[0] + 1))
        _mark_peak(axes, plan, scale)
    axes.set_ylim(0, max(int(plan.peak) / scale, 1e-9) * 1.16)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("storage events, in the order of the program")
    axes.set_ylabel(f"live {unit}")
    axes.set_title(title, loc="left", fontsize=10, parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", linewidth=0.5, alpha=0.4)
    axes.set_axisbelow(False)
    if shown:
        figure.legend(loc="outside lower center", ncols=len(shown), frameon=False, fontsize=9)
    return figure


def _mark_peak(axes: Any, plan: Any, scale: int) -> None:
    peak, when = int(plan.peak) / scale, plan.peak_event.time
    axes.axvline(when, color="#222222", linewidth=0.8, linestyle=(0, (4, 3)))
    left, right = axes.get_xlim()
    late = when > (left + right) / 2
    axes.annotate(
        f"peak {bytes_text(int(plan.peak))}, {plan.peak_event.operator}",
        (when, peak),
        xytext=(-6 if late else 6, 5),
        textcoords="offset points",
        ha="right" if late else "left",
        fontsize=9,
        parse_math=False,
    )


def _unit(largest: int) -> tuple[int, str]:
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if largest >= 1024**power:
            return 1024**power, unit
    return 1, "B"


def _picture(plan: Any, title: str, form: str) -> bytes:
    import matplotlib

    # Fixed ids and no date: the same plan gives the same file. Text stays text.
    with matplotlib.rc_context({"svg.hashsalt": "massless", "svg.fonttype": "none"}):
        out = io.BytesIO()
        metadata = {"Date": None} if form == "svg" else None
        _figure(plan, title).savefig(out, format=form, metadata=metadata, dpi=150)
    return out.getvalue()


def render_png(plan: Any, title: str = "Memory over the run") -> bytes:
    """The timeline by kind as a PNG picture."""
    return _picture(plan, title, "png")


# --- the page ------------------------------------------------------------------------------------

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; color: #1d2329; background: #fff;
       max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.facts { color: #59636e; margin-top: 0; }
.peak { font-size: 1.15rem; } .no { color: #b42318; } .yes { color: #1a7f37; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #e4e7ea;
         vertical-align: top; }
th { color: #59636e; font-weight: 600; } .n { text-align: right; white-space: nowrap; }
td.name { overflow-wrap: anywhere; } .total td { font-weight: 600; }
.key { display: inline-block; width: .7em; height: .7em; margin-right: .5em; }
.scroll { overflow-x: auto; } svg { max-width: 100%; height: auto; }
code { font-size: .92em; }
</style>
</head>
<body>
<h1>{{ title }}</h1>
{% for fact in facts %}<p class="facts">{{ fact }}</p>
{% endfor %}
<p class="peak"><strong>{{ plan.peak | bytes }}</strong> at the peak
{%- if event %}: {{ event | moment }}{% if event.location %}, {{ event.location }}{% endif %}
{%- endif %}.</p>
<p>A caching allocator would hold {{ reserved }}.</p>
{% if budget %}<p class="{{ 'yes' if budget.fits else 'no' }}">{{ budget.text }}</p>{% endif %}
<h2>Over the run</h2>
<div class="scroll">{{ picture }}</div>
<h2>By kind</h2>
<table>
<tr><th>kind</th><th class="n">at the peak</th><th class="n">most held</th></tr>
{% for kind in kinds %}<tr><td><span class="key" style="background: {{ colors[kind] }}"></span>
{{- kind | label }}</td><td class="n">{{ plan.kinds_at_peak[kind] | bytes }}</td>
<td class="n">{{ plan.kinds[kind] | bytes }}</td></tr>
{% endfor %}<tr class="total"><td>together</td><td class="n">{{ plan.peak | bytes }}</td>
<td class="n"></td></tr>
</table>
<h2>Alive at the peak</h2>
<table>
<tr><th class="n">bytes</th><th class="n">storages</th><th>kind</th><th>name or module</th>
<th>operator</th><th>line</th></tr>
{% for row in rows %}<tr><td class="n">{{ row.bytes | bytes }}</td>
<td class="n">{{ row.count }}</td>
<td>{{ row.kind | label }}</td><td class="name">{{ row.name }}</td><td>{{ row.operator }}</td>
<td class="name">{{ row.location | short }}</td></tr>
{% endfor %}{% if rest.count %}<tr><td class="n">{{ rest.bytes | bytes }}</td>
<td class="n">{{ rest.count }}</td><td colspan="4">smaller ones</td></tr>{% endif %}
</table>
{% if plan.symbols %}<h2>For any {{ plan.symbols | join(" and ") }}</h2>
<table>
{% for label, formula in formulas %}<tr><td>{{ label }}</td>
<td class="name">{{ formula }}</td></tr>
{% endfor %}{% for guard in plan.guards %}<tr><td>where</td>
<td class="name">{{ guard.text }}</td></tr>
{% endfor %}</table>
{% for line in largest %}<p>{{ line }}</p>
{% endfor %}{% endif %}<h2>Work</h2>
<p>{{ plan.flops_by_phase.forward | count }}FLOP forward,
{{ plan.flops_by_phase.backward | count }}FLOP backward;
{{ plan.parameter_count | count }} parameters;
planned in {{ "%.1f" | format(plan.seconds) }} s.</p>
</body>
</html>
"""


def render_html(
    plan: Any,
    title: str = "Memory plan",
    facts: Iterable[str] = (),
    budget: dict[str, Any] | None = None,
) -> str:
    """The page: needs no other file and no network; every text in it is escaped.

    `facts` are lines under the title, `budget` is `{"fits": bool, "text": str, "largest": dict}`,
    the last where the plan has symbols.
    """
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {
        "bytes": lambda n: bytes_text(int(n)),
        "count": lambda n: count_text(int(n)),
        "label": kind_label,
        "moment": moment,
        "short": short_location,
    }
    groups = group_rows(plan.at_peak(None))
    rest = groups[TOP:]
    svg = _picture(plan, "", "svg").decode()
    return environment.from_string(_PAGE).render(
        plan=plan,
        title=title,
        facts=list(facts),
        budget=budget,
        event=plan.peak_event if plan.timeline else None,
        reserved=str(plan.reserved()),
        picture=Markup(svg[svg.index("<svg") :]),
        kinds=KINDS,
        formulas=formulas(plan),
        largest=largest_lines(plan, (budget or {}).get("largest", {})),
        colors=COLORS,
        rows=groups[:TOP],
        rest={"bytes": sum(g.bytes for g in rest), "count": sum(g.count for g in rest)},
    )


def write_text(path: str | os.PathLike, text: str) -> None:
    """Writes a text file whole or not at all."""
    write_whole(path, text)


def write_html(plan: Any, path: str | os.PathLike) -> None:
    """Writes the page whole or not at all."""
    write_whole(path, render_html(plan))


def write_png(plan: Any, path: str | os.PathLike) -> None:
    """Writes the picture whole or not at all."""
    write_whole(path, render_png(plan))
