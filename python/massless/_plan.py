"""`massless.plan`: what a program costs, before a byte is allocated."""

import contextlib
import functools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import torch
from torch.optim import optimizer as _optimizer

from massless import _C, _modules, _place
from massless._errors import GuardError, MasslessError
from massless._fake import fake_mode
from massless._reach import Reach, reach
from massless._twins import Twins, generators_kept
from massless._units import bytes_text, parse_bytes

_Kind = _C.StorageKind

# What torch keeps on a device besides the allocator's segments, in bytes. Stated, and overridable
# in Plan.reserved: a CUDA context with the libraries' kernels (about 500 MiB as nvidia-smi shows it
# on Hopper and Ampere) and the cuBLAS workspace of one stream (32 MiB on Hopper, from
# aten/src/ATen/cuda/CUDABlas.cpp).
DEFAULT_OVERHEAD = {"context": 500 * 2**20, "cublas_workspace": 32 * 2**20}


class Formula(int):
    """A size. Sizes are concrete in this version: an int that knows it has no symbols."""

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of the free symbols; none."""
        return ()

    def subs(self, **values) -> "Formula":
        """The formula at other values of its symbols.

        Raises:
            GuardError: a name that is no symbol of the formula.
        """
        if values:
            raise GuardError(
                f"[bad_argument] Formula.subs: {sorted(values)[0]!r} is no symbol of this plan. "
                "Needed: one of its symbols, of which it has none. What to do: plan again at the "
                "other size.",
            )
        return self


@dataclass(frozen=True)
class Event:
    """One change of the live bytes: `time` is the index, `bytes` what is live after it, `change`
    what the storage grew by (negative: it died)."""

    time: int
    bytes: int
    change: int
    operator: str
    module: str
    location: str
    storage: int
    kind: str
    phase: str


@dataclass(frozen=True)
class Held:
    """A storage alive at the peak."""

    bytes: int
    kind: str
    name: str
    operator: str
    module: str
    location: str


@dataclass(frozen=True)
class Reserved:
    """What a caching allocator would hold: its segments, and what torch keeps besides."""

    segments: int
    overhead: dict[str, int]

    @property
    def bytes(self) -> int:
        """Segments and overhead together."""
        return self.segments + sum(self.overhead.values())

    def __int__(self) -> int:
        return self.bytes

    def __str__(self) -> str:
        parts = [f"segments {bytes_text(self.segments)}"]
        parts += [f"{k.replace('_', ' ')} {bytes_text(v)}" for k, v in self.overhead.items()]
        return f"{bytes_text(self.bytes)} ({', '.join(parts)})"


class Fits(dict):
    """Per free symbol the largest value that fits; `.ok` for the example itself, `.by` the bytes
    that are left (negative: missing)."""

    ok: bool
    by: int


class Plan:
    """The costs of one run. Bytes of each kind are the most that the kind ever held during the
    run; `kinds_at_peak` has what each holds at the peak, and sums up to it."""

    def __init__(self, ledger: _C.Ledger, device: torch.device, ends_with_graph: bool):
        analysis, self._events, self._storages, self._segments = _C.analyse(
            ledger, device, ends_with_graph
        )
        self._names = ledger.names()
        self._live = analysis.live
        self._alive = analysis.alive_at_peak
        self.device = device
        self.peak = Formula(analysis.peak)
        self._peak_index = analysis.peak_event
        self.kinds_at_peak = self._by_kind(analysis.at_peak)
        maxima = self._by_kind(analysis.maxima)
        self.kinds = maxima
        self.parameters = maxima["parameters"]
        self.gradients = maxima["gradients"]
        self.optimizer_state = maxima["optimizer_state"]
        self.activations = maxima["activations"]
        self.temporaries = maxima["temporaries"]
        forward, backward = ledger.flops()
        self.flops_by_phase = {"forward": Formula(forward), "backward": Formula(backward)}
        self.flops = Formula(forward + backward)
        self.parameter_count = 0  # elements of the modules' parameters, tied ones once
        self.parameter_bytes = 0  # of those elements; `parameters` has the buffers as well
        self.seconds = 0.0

    @staticmethod
    def _by_kind(values: list[int]) -> dict[str, Formula]:
        """The report's five kinds: buffers count with the parameters, inputs with activations."""
        v = {k: values[int(k)] for k in _Kind.__members__.values()}
        return {
            "parameters": Formula(v[_Kind.parameter] + v[_Kind.buffer]),
            "gradients": Formula(v[_Kind.gradient]),
            "optimizer_state": Formula(v[_Kind.optimizer_state]),
            "activations": Formula(v[_Kind.activation] + v[_Kind.input]),
            "temporaries": Formula(v[_Kind.temporary]),
        }

    def _event(self, index: int) -> Event:
        event = self._events[index]
        record = self._storages[event.storage]
        return Event(
            time=index,
            bytes=self._live[index],
            change=event.bytes,
            operator=self._names[event.op],
            module=self._names[record.module],
            location=self._names[record.location],
            storage=event.storage,
            kind=record.kind.name,
            phase="backward" if event.in_backward else "forward",
        )

    @property
    def peak_event(self) -> Event:
        """When the peak is reached: the operator, the module path and the user's line."""
        return self._event(self._peak_index)

    @functools.cached_property
    def timeline(self) -> list[Event]:
        """Every birth, growth and death of a storage, in order."""
        return [self._event(i) for i, e in enumerate(self._events) if e.kind != _C.EventKind.mark]

    def at_peak(self, n: int | None = 20) -> list[Held]:
        """The storages alive at the peak, largest first; `n=None`: all."""
        rows = []
        for index in self._alive[:n]:
            record = self._storages[index]
            rows.append(
                Held(
                    bytes=record.bytes,
                    kind=record.kind.name,
                    name=self._names[record.name],
                    operator=self._names[record.op],
                    module=self._names[record.module],
                    location=self._names[record.location],
                )
            )
        return rows

    def reserved(self, overhead: dict[str, int] | int | None = None) -> Reserved:
        """What torch's caching allocator would hold: the segments it would have asked for (its
        rounding, splitting and pools, over this run's allocations), plus what torch keeps on the
        device besides (`DEFAULT_OVERHEAD`; nothing on the CPU, which has no caching allocator)."""
        if overhead is None:
            overhead = DEFAULT_OVERHEAD if self.device.type == "cuda" else {}
        elif isinstance(overhead, int):
            overhead = {"overhead": overhead}
        return Reserved(self._segments, dict(overhead))

    def fits(self, budget: int | str, **fixed: int) -> Fits:
        """Does the peak fit the budget (bytes, or text such as "80GiB")?

        With no free symbol the answer is an empty dict with `.ok` and `.by`.

        Raises:
            MasslessError: the budget cannot be read.
            GuardError: `fixed` names a symbol that the plan does not have.
        """
        self.peak.subs(**fixed)
        answer = Fits()
        answer.by = _budget(budget) - int(self.peak)
        answer.ok = answer.by >= 0
        return answer

    def to_dict(self) -> dict:
        """The report as plain data (the schema of `massless plan --json`)."""
        return {
            "parameters": {"count": self.parameter_count, "bytes": self.parameter_bytes},
            "peak": {
                "bytes": int(self.peak),
                "formula": str(self.peak),
                "event": asdict(self.peak_event) if self._events else None,
            },
            "kinds": {k: int(v) for k, v in self.kinds.items()},
            "kinds_at_peak": {k: int(v) for k, v in self.kinds_at_peak.items()},
            "flops": {k: int(v) for k, v in self.flops_by_phase.items()}
            | {"total": int(self.flops)},
            "reserved": {"bytes": self.reserved().bytes, "segments": self._segments},
            "at_peak": [asdict(row) for row in self.at_peak()],
            "device": str(self.device),
            "seconds": self.seconds,
        }

    def to_json(self, path=None) -> str:
        """The report as JSON text; written to `path`, too, if given."""
        text = json.dumps(self.to_dict(), indent=2)
        if path is not None:
            from massless._report import write_text

            write_text(path, text + "\n")
        return text

    def html(self, path) -> None:
        """Writes the report as one self-contained HTML file."""
        from massless._report import write_html

        write_html(self, path)

    def png(self, path) -> None:
        """Writes the timeline as a picture."""
        from massless._report import write_png

        write_png(self, path)


def _budget(budget: int | str) -> int:
    try:
        return parse_bytes(budget)
    except ValueError as error:
        raise MasslessError(
            f"[bad_argument] budget: {error}. Needed: an amount of memory. "
            "What to do: correct the budget."
        ) from None


class _Kinds:
    """Tells the ledger what storages are for, as far as the program's objects show it."""

    def __init__(self, ledger: _C.Ledger, found: Reach):
        self._ledger = ledger
        self._found = found
        self._leaves = [t for t in found.tensors if t.grad_fn is None]

    def _set(self, t: torch.Tensor | None, kind: _Kind, name: str = "") -> None:
        if not isinstance(t, torch.Tensor):
            return
        index = self._ledger.id_of(t)
        if index is not None:
            self._ledger.set_kind(index, kind)
            if name:
                self._ledger.set_name(index, name)

    def at_start(self) -> None:
        for t in self._found.tensors:
            self._set(t, _Kind.input)
        paths = _modules.paths_of(self._found.modules)
        inside = {id(c) for m in self._found.modules for c in m.children()}
        for m in self._found.modules:
            prefix = f"{paths[id(m)]}." if id(m) in inside else ""
            for name, b in m._buffers.items():
                self._set(b, _Kind.buffer, prefix + name)
            for name, p in m._parameters.items():
                self._set(p, _Kind.parameter, prefix + name)
        for optimizer in self._found.optimizers:
            for group in optimizer.param_groups:
                for p in group["params"]:
                    self._set(p, _Kind.parameter)
        self.gradients()
        self.states()

    def gradients(self) -> None:
        for t in self._leaves:
            self._set(t.grad, _Kind.gradient)

    def states(self) -> None:
        for optimizer in self._found.optimizers:
            self._of_optimizer(optimizer)

    def _of_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        for state in optimizer.state.values():
            for value in state.values() if isinstance(state, dict) else ():
                self._set(value, _Kind.optimizer_state)

    @contextlib.contextmanager
    def followed(self) -> Iterator[None]:
        """Around every optimizer step the gradients and the new state are looked at."""

        def before(_optimizer, _args, _kwargs):
            self.gradients()

        def after(optimizer, _args, _kwargs):
            self._of_optimizer(optimizer)

        handles = (
            _optimizer.register_optimizer_step_pre_hook(before),
            _optimizer.register_optimizer_step_post_hook(after),
        )
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def _main_device(device: torch.device | None, found: Reach) -> torch.device:
    """The device whose memory is planned: the asked one, else the one of most reached bytes."""
    if device is not None:
        return device
    bytes_on: dict[str, int] = {}
    for t in found.tensors:
        bytes_on[t.device.type] = bytes_on.get(t.device.type, 0) + t.numel() * t.element_size()
    return torch.device(max(bytes_on, key=bytes_on.get) if bytes_on else "cpu")


def _needs_graph(result: object) -> bool:
    return any(t.grad_fn is not None for t in reach(result).tensors)


def plan(
    fn: Callable,
    args: tuple = (),
    kwargs: dict | None = None,
    *,
    dynamic=None,
    device=None,
    budget: int | str | None = None,
    _progress: Callable[[int], None] | None = None,
) -> Plan:
    """Runs `fn(*args, **kwargs)` on fakes, with costs: a forward, or a whole training step.

    Every tensor that `fn` reaches (arguments, closure, globals, bound self, modules, optimizer
    state) is seen as one fake twin for the call; afterwards data, `.grad`, versions, buffers,
    optimizer state and generators are as before, also after an exception.

    Args:
        dynamic: not yet: sizes are concrete (docs/limits.md).
        device: plan as if the tensors were there, e.g. "cuda"; their own devices if not given.
        budget: checked for being readable before the run; ask `Plan.fits` for the answer.
    """
    if dynamic is not None:
        raise TypeError("plan: dynamic sizes are not there yet (docs/limits.md)")
    if budget is not None:
        _budget(budget)
    kwargs = dict(kwargs or {})
    args = tuple(args)
    target = None if device is None else torch.device(device)
    found = reach(fn, args, kwargs)
    ledger = _C.Ledger()
    kinds = _Kinds(ledger, found)
    paths = _modules.paths_of(found.modules)
    started = time.perf_counter()
    with (
        generators_kept(),
        fake_mode(device=target, _ledger=ledger),
        Twins(found, args, kwargs, target) as twins,
    ):
        kinds.at_start()
        with (
            _modules.paths_tracked(paths),
            _place.reported(_progress),
            kinds.followed(),
            torch.enable_grad() if torch.is_grad_enabled() else contextlib.nullcontext(),
        ):
            call_args, call_kwargs = twins.args, twins.kwargs
            twins.args = twins.kwargs = None
            result = fn(*call_args, **call_kwargs)
            kinds.gradients()
            kinds.states()
            ends_with_graph = _needs_graph(result)
        made = Plan(ledger, _main_device(target, found), ends_with_graph)
        parameters = _parameters(found)
        made.parameter_count = sum(p.numel() for p in parameters)
        made.parameter_bytes = sum(p.numel() * p.element_size() for p in parameters)
        del result, call_args, call_kwargs
    made.seconds = time.perf_counter() - started
    return made


def _parameters(found: Reach) -> list[torch.Tensor]:
    """Parameters of the modules, tied ones once."""
    seen: dict[int, torch.Tensor] = {}
    for m in found.modules:
        for p in m._parameters.values():
            if p is not None:
                seen.setdefault(id(p), p)
    return list(seen.values())
