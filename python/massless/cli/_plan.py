"""`massless plan`."""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from typing import Any

import click
from rich.console import Console

import massless
from massless import _report, config, models
from massless._config_check import InputError
from massless._output import OutputFile
from massless._units import bytes_text, parse_bytes
from massless.cli import _table
from massless.cli._progress import Meanwhile

FITS_NOT = 1


@click.command(short_help="What a forward or a training step needs: memory, when, and work.")
@click.argument("model")
@click.option("--task", default="train", show_default=True, help="train or forward.")
@click.option(
    "--batch", type=int, default=1, show_default=True, help="Sequences (or images) at once."
)
@click.option("--seq", type=int, help="Tokens of each. [default: 4096, or the model's positions]")
@click.option("--dtype", help="bf16, fp16, fp32, ... [default: the config's]")
@click.option(
    "--optimizer",
    default="adamw",
    show_default=True,
    help="adamw, adam, sgd, sgd_momentum; with _loop, _foreach or _fused for that form.",
)
@click.option(
    "--device", default="cuda", show_default=True, help="cuda, cuda:N, cuda:sm_NN or cpu."
)
@click.option(
    "--budget", help="Memory to fit in: 80GiB, 80GB or bytes. Exit status 1 if it does not."
)
@click.option(
    "--json", "json_path", help="Write the plan as JSON; - prints it instead of the tables."
)
@click.option("--report", help="Write the plan as a page (.html) or a picture (.png).")
@click.option("--top", type=click.IntRange(0, 10_000), default=12, show_default=True,
              help="Groups of storages shown.")  # fmt: skip
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def plan(
    model: str,
    task: str,
    batch: int,
    seq: int | None,
    dtype: str | None,
    optimizer: str,
    device: str,
    budget: str | None,
    json_path: str | None,
    report: str | None,
    top: int,
    debug: bool,
) -> int:
    """Plan a step of MODEL on fakes: no weights, no GPU.

    MODEL is a transformers config.json, a folder with one, or package.module:callable that builds
    an nn.Module (its inputs: a method example_inputs(batch, seq), or what its first layer reads).
    """
    limit = _budget(budget)
    with contextlib.ExitStack() as stack:
        json_file = _output(stack, json_path if json_path != "-" else None, "--json")
        report_file = _output(stack, report, "--report")
        if report is not None and not report.endswith((".html", ".png")):
            raise InputError("--report", f"{report} ends neither in .html nor in .png")
        if json_file and report_file and json_file.path == report_file.path:
            raise InputError("--report", "is the file of --json, too")
        with Meanwhile() as meanwhile, _capability(device):
            meanwhile.phase("building the model")
            job = models.job(
                model, task=task, batch=batch, seq=seq, dtype=dtype, optimizer=optimizer,
                device=device,
            )  # fmt: skip
            meanwhile.phase("planning")
            made, mode = _planned(job, meanwhile)
        answer = None if limit is None else _answer(made, limit)
        text = json.dumps(_as_dict(job, made, mode, answer), indent=2) + "\n"
        page = _page(report, job, made, answer)
        if json_path == "-":
            click.echo(text, nl=False)
        else:
            _table.print_plan(Console(highlight=False), job, made, top, answer)
        for file, content in ((json_file, text), (report_file, page)):
            if file is not None:
                file.commit(content)
    return FITS_NOT if answer is not None and not answer["fits"] else 0


def _planned(job: models.Job, meanwhile: Meanwhile) -> tuple[massless.Plan, dict[str, str]]:
    """The plan at the asked point and how it was come by: put into the formulas of a run on
    symbols, or a run of its own where the model decides by its sizes otherwise there. A model that
    takes another way for a batch of 1 may still have formulas in the other size."""
    started = time.perf_counter()
    choices = [tuple(job.symbols), *((name,) for name in reversed(job.symbols))]
    reason = ""
    for names in choices if len(job.symbols) > 1 else choices[:1]:
        try:
            symbolic = massless.plan(
                job.step, job.symbolic_args(*names), device=job.where, _progress=meanwhile.count
            )
            made = symbolic.at(**{name: job.point[name] for name in names})
            made.seconds = time.perf_counter() - started
            return made, {"mode": "substitution"} | ({"why": reason} if reason else {})
        except massless.GuardError as e:
            reason = reason or f"{type(e).__name__}: {e}"
        except Exception as e:  # also what the model's own code makes of sizes that are no numbers
            reason = f"{type(e).__name__}: {e}"
            break
    meanwhile.phase("planning at the asked sizes")
    made = massless.plan(job.step, job.args, device=job.where, _progress=meanwhile.count)
    made.seconds = time.perf_counter() - started
    return made, {"mode": "concrete", "why": reason}


@contextlib.contextmanager
def _capability(device: str) -> Iterator[None]:
    """The kernels of the asked capability are chosen inside."""
    _, capability = models.parse_device(device)
    if capability is None:
        yield
        return
    before = config.cuda_capability
    config.cuda_capability = f"sm_{capability}"
    try:
        yield
    finally:
        config.cuda_capability = before


def _budget(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_bytes(text)
    except ValueError as e:
        raise InputError("--budget", str(e)) from None


def _output(stack: contextlib.ExitStack, path: str | None, option: str) -> OutputFile | None:
    """Opened before the work, so that a path that cannot be written costs no run."""
    if path is None:
        return None
    try:
        return stack.enter_context(OutputFile(path))
    except (OSError, ValueError) as e:
        reason = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        where = os.fspath(path)[:200]
        raise InputError(option, f"{where!r} cannot be written: {reason}") from None


def _answer(made: Any, limit: int) -> dict[str, Any]:
    fits = made.fits(limit)
    peak, by, reserved = int(made.peak), abs(fits.by), made.reserved().bytes
    if not fits.ok:
        text = f"does not fit: {bytes_text(peak)} over {bytes_text(limit)} by {bytes_text(by)}"
    else:
        text = f"fits: {bytes_text(peak)} in {bytes_text(limit)}, {bytes_text(by)} to spare"
        if reserved > limit:
            text += (
                f"; but the caching allocator would hold {bytes_text(reserved)}, "
                f"{bytes_text(reserved - limit)} more than that"
            )
    return {
        "bytes": limit,
        "fits": fits.ok,
        "by": fits.by,
        "reserved_fits": reserved <= limit,
        "largest": dict(fits),
        "text": text,
    }


def _as_dict(
    job: models.Job, made: Any, mode: dict[str, str], answer: dict[str, Any] | None
) -> dict[str, Any]:
    """The schema of api.md. `point` is what was asked; `mode` says how it was answered: by
    "substitution" into formulas, or by a "concrete" run. `why` says what did not go before:
    formulas in more symbols, or any."""
    point = {
        "model": job.name,
        "task": job.task,
        "batch": job.batch,
        "seq": job.seq,
        "dtype": str(job.dtype).removeprefix("torch."),
        "optimizer": job.optimizer_name,
        "device": job.device,
        "inputs": job.inputs,
    }
    fits = answer["largest"] if answer is not None else {}
    return made.to_dict() | {"point": point, "fits": fits, "budget": answer} | mode


def _page(report: str | None, job: models.Job, made: Any, answer: dict | None) -> str | bytes:
    if report is None:
        return ""
    if report.endswith(".png"):
        return _report.render_png(made, f"{job.name}\n{_table.facts(job)[0]}")
    return _report.render_html(made, job.name, _table.facts(job), answer)
