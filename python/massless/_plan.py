"""`massless.plan`: what a program costs, before a byte is allocated."""

import contextlib
import functools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import torch
from torch.optim import optimizer as _optimizer

from massless import _C, _modules, _place, _symbols
from massless._errors import GuardError
from massless._fake import fake_mode
from massless._formula import Fits, Formula, budget_bytes, named_values
from massless._reach import Reach, reach
from massless._report import KINDS
from massless._symbols import hint
from massless._twins import Twins, generators_kept
from massless._units import bytes_text

_Kind = _C.StorageKind

# What torch keeps on a device besides the allocator's segments, in bytes. Stated, and overridable
# in Plan.reserved: a CUDA context with the libraries' kernels (about 500 MiB as nvidia-smi shows it
# on Hopper and Ampere) and the cuBLAS workspace of one stream (32 MiB on Hopper, from
# aten/src/ATen/cuda/CUDABlas.cpp).
DEFAULT_OVERHEAD = {"context": 500 * 2**20, "cublas_workspace": 32 * 2**20}


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


class Plan:
    """The costs of one run, at its example and as formulas in its symbols.

    `peak` is the most that was ever live. `parameters`, `gradients`, `optimizer_state`,
    `activations` and `temporaries` (`kinds` has all five) are the most that the kind ever held
    during the run. `flops` is the work of both phases, `flops_by_phase` of each. All these are
    formulas: at another point of the symbols they are what a plan of that point would say.

    `kinds_at_peak` is what each kind holds at the moment of the example's peak; it sums up to the
    peak. `at` gives the whole plan at another point, where the peak may be at another moment.
    """

    def __init__(self, made: _C.Plan, device: torch.device):
        self._made = made
        analysis = made.analysis
        self._events, self._storages, self._names = made.events, made.storages, made.names
        self._live = analysis.live
        self._alive = analysis.alive_at_peak
        self.device = device
        self.peak = Formula(made.peak)
        self._peak_index = analysis.peak_event
        self.kinds_at_peak = dict(zip(KINDS, map(Formula, analysis.at_peak), strict=True))
        self.kinds = dict(zip(KINDS, map(Formula, made.kinds), strict=True))
        self.parameters = self.kinds["parameters"]
        self.gradients = self.kinds["gradients"]
        self.optimizer_state = self.kinds["optimizer_state"]
        self.activations = self.kinds["activations"]
        self.temporaries = self.kinds["temporaries"]
        forward, backward, both = map(Formula, made.flops)
        self.flops_by_phase = {"forward": forward, "backward": backward}
        self.flops = both
        self.parameter_count = 0  # elements of the modules' parameters, tied ones once
        self.parameter_bytes = 0  # of those elements; `parameters` has the buffers as well
        self.seconds = 0.0

    @property
    def symbols(self) -> dict[str, int]:
        """The sizes that are free, with their example."""
        return self._made.symbols()

    @property
    def guards(self) -> list[_C.Guard]:
        """What must be true of the symbols for the formulas to hold; what others imply is left
        out."""
        env = self._made.env
        return [] if env is None else [guard for guard in env.guards if not guard.implied]

    def at(self, **values: int) -> "Plan":
        """The plan at another point: what a run with these sizes would give, without the run.

        Raises:
            GuardError: a name that is no symbol of the plan, or a point outside of the guards.
        """
        moved = Plan(self._made.at(named_values("Plan.at", values)), self.device)
        moved.parameter_count = self.parameter_count
        moved.parameter_bytes = self.parameter_bytes
        moved.seconds = self.seconds
        return moved

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

    @functools.cached_property
    def _segments(self) -> int:
        return self._made.reserved()

    def fits(self, budget: int | str, **fixed: int) -> Fits:
        """Which sizes fit the budget (bytes, or text such as "80GiB")? By the peak, not by what an
        allocator would reserve.

        The answer has, for each symbol that is not in `fixed`, the largest value for which the
        guards hold and the peak is within the budget, the other ones being at their example:
        `plan.fits("80GiB", seq=4096)["batch"]`. It is exact, also where the peak is not monotone.

        Raises:
            MasslessError: the budget cannot be read.
            GuardError: `fixed` names a symbol that the plan does not have, or the guards hold for
                no value of a free one.
        """
        limit = budget_bytes(budget)
        values = named_values("Plan.fits", fixed)
        answer = Fits()
        answer.by = limit - peak if (peak := self._peak_at(values)) is not None else None
        answer.ok = answer.by is not None and answer.by >= 0
        for name in self.symbols:
            if name not in values:
                answer[name] = _C.largest_within(self._made.peak, values, name, limit)
        return answer

    def _peak_at(self, values: dict[str, int]) -> int | None:
        """None: the guards do not hold there."""
        try:
            return self._made.peak.at(values).value()
        except GuardError:
            if not self.symbols.keys() >= values.keys():
                raise
            return None

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
            "formulas": {k: str(v) for k, v in self.kinds.items()}
            | {f"{k}_flops": str(v) for k, v in self.flops_by_phase.items()},
            "symbols": self.symbols,
            "guards": [guard.text for guard in self.guards],
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
        elements = hint(t.numel()) or 0
        bytes_on[t.device.type] = bytes_on.get(t.device.type, 0) + elements * t.element_size()
    return torch.device(max(bytes_on, key=bytes_on.get) if bytes_on else "cpu")


def _needs_graph(result: object) -> bool:
    return any(t.grad_fn is not None for t in reach(result).tensors)


def _env_of(found: Reach) -> _C.ShapeEnv | None:
    """The environment of symbolic sizes among what is reached."""
    for t in found.tensors:
        env = _C.shape_env_of(t)
        if env is not None:
            return env
    return None


def _symbolic(found: Reach, dynamic, fn, args, kwargs) -> tuple[_C.ShapeEnv | None, dict]:
    """The environment, and sizes by id of the tensors that have symbols among them."""
    env = _env_of(found)
    if dynamic is None:
        return env, {}
    env = env or _C.ShapeEnv()
    return env, _symbols.sizes_of(env, dynamic, fn, args, kwargs)


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
        dynamic: which sizes of arguments are symbols, in which the answers are formulas:
            `{argument index or name: {dim: name or Dim}}`, or "all". Fakes whose sizes are
            symbols already need none.
        device: plan as if the tensors were there, e.g. "cuda"; their own devices if not given.
        budget: checked for being readable before the run; ask `Plan.fits` for the answer.
    """
    if budget is not None:
        budget_bytes(budget)
    kwargs = dict(kwargs or {})
    args = tuple(args)
    target = None if device is None else torch.device(device)
    found = reach(fn, args, kwargs)
    env, sizes = _symbolic(found, dynamic, fn, args, kwargs)
    ledger = _C.Ledger()
    kinds = _Kinds(ledger, found)
    paths = _modules.paths_of(found.modules)
    started = time.perf_counter()
    with (
        generators_kept(),
        fake_mode(device=target, shape_env=env, _ledger=ledger),
        Twins(found, args, kwargs, target, sizes) as twins,
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
        main = _main_device(target, found)
        made = Plan(_C.make_plan(ledger, env, main, ends_with_graph), main)
        parameters = _parameters(found)
        made.parameter_count = sum(hint(p.numel()) for p in parameters)
        made.parameter_bytes = sum(hint(p.numel()) * p.element_size() for p in parameters)
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
