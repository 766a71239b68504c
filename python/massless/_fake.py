"""Fakes: the mode, conversions of real tensors, and what answered which operator."""

import contextlib
import threading
from collections.abc import Iterator

import torch
from torch.utils import _device
from torch.utils import _pytree as pytree

from massless import _C, _patches, _symbols
from massless._symbols import hint as hint

is_fake = _C.is_fake
_thread = threading.local()  # .modes: the open ones of this thread, innermost last


def _open_modes() -> list[tuple["fake_mode", _C.OpenMode, contextlib.AbstractContextManager, bool]]:
    if not hasattr(_thread, "modes"):
        _thread.modes = []
    return _thread.modes


class fake_mode(contextlib.ContextDecorator):
    """Inside, factories give fakes; re-entrant and nestable.

    Args:
        shape_env: where symbolic sizes live that are made inside.
        device: the default device of factories that name none ("cpu" if not given).
        known_values: keep the values of small tensors made from literals.
    """

    def __init__(self, *, shape_env=None, device=None, known_values: bool = True, _ledger=None):
        self._shape_env = shape_env
        self._device = None if device is None else torch.device(device)
        self._known_values = known_values
        self._ledger = _ledger

    def __enter__(self):
        mode = _C.OpenMode(self._device, self._known_values, self._ledger, self._shape_env)
        _patches.enter()
        default = _default_device(self._device)
        try:
            mode.enter()
        except BaseException:
            _patches.exit()
            raise
        default.__enter__()
        symbols = _C.mode_env() is not None
        if symbols:
            _C.enter_sym_methods()
        _open_modes().append((self, mode, default, symbols))
        return self

    def __exit__(self, *exception) -> None:
        modes = _open_modes()
        if not modes or modes[-1][0] is not self:
            _C.raise_error("bad_argument", self._misuse(modes), "fake_mode")
        _, mode, default, symbols = modes.pop()
        if symbols:
            _C.leave_sym_methods()
        default.__exit__(None, None, None)
        mode.exit()
        _patches.exit()

    def _misuse(self, modes: list) -> str:
        if any(owner is self for owner, *_ in modes):
            return "a fake mode was closed before a later one inside it"
        return "a fake mode was closed that was not opened on this thread, or is closed already"


def _default_device(device: torch.device | None) -> contextlib.AbstractContextManager:
    """Python's factories name torch's own default device to the dispatcher, never none: what they
    name is changed as `with torch.device(...)` does."""
    if device is None or device.type == "cpu" and _device.CURRENT_DEVICE is None:
        return contextlib.nullcontext()
    return _device.DeviceContext(device)


@contextlib.contextmanager
def _paused() -> Iterator[None]:
    """Outside of every mode, for work on real tensors."""
    with torch._C._ForceDispatchKeyGuard(
        torch._C._dispatch_tls_local_include_set().remove(torch._C.DispatchKey.Fake),
        torch._C._dispatch_tls_local_exclude_set(),
    ):
        yield


def _convert(
    converter: _C.FakeConverter, t: torch.Tensor, device, sizes: list | None = None
) -> torch.Tensor:
    made = converter.convert(t, None if device is None else torch.device(device), sizes=sizes)
    if isinstance(t, torch.nn.Parameter) and not isinstance(made, torch.nn.Parameter):
        made = made.detach()
        parameter = torch.nn.Parameter(made, t.requires_grad)
        made = parameter
    return made


def fake_like(t: torch.Tensor, *, device=None, dynamic=None) -> torch.Tensor:
    """The fake of a real, meta or fake tensor: same size, stride, storage offset, dtype, device,
    requires_grad, conj and neg bits; a `Parameter` stays one.

    `dynamic`: sizes that become symbols of the mode's ShapeEnv, or else of the default one: "all",
    or {dim: name, Dim or Dim.AUTO}.

    Raises:
        UnsupportedOperatorError: the tensor is not strided.
        MasslessError: `dynamic` contradicts the tensor, or itself.
    """
    _patches.install()
    sizes = None
    if dynamic is not None:
        sizes = _symbols.dynamic_sizes(_symbols.current_env(), t.shape, dynamic)
    return _convert(_C.FakeConverter(), t, device, sizes)


def fake_tree(tree, *, device=None, dynamic=None):
    """`fake_like` for a pytree or an `nn.Module`; one tensor met twice gives one fake, views of
    one storage stay views of one storage. A module is copied, its tensors are fakes.

    `dynamic`: as for `fake_like`, for lists, tuples and dicts {index or key: the same}; "all" is
    all sizes of the tensors that are in no module."""
    _patches.install()
    sizes = {}
    if dynamic is not None:
        sizes = _symbols.tree_sizes(_symbols.current_env(), tree, dynamic)
    converter = _C.FakeConverter()
    memo: dict[int, torch.Tensor] = {}

    def one(x):
        if isinstance(x, torch.nn.Module):
            return _fake_module(x, one)
        if not isinstance(x, torch.Tensor):
            return x
        if id(x) not in memo:
            memo[id(x)] = _convert(converter, x, device, sizes.get(id(x)))
        return memo[id(x)]

    return pytree.tree_map(one, tree)


def _fake_module(module: torch.nn.Module, one) -> torch.nn.Module:
    """A copy of the module in which every tensor is `one(tensor)`."""
    import copy

    memo: dict[int, object] = {}
    for m in module.modules():
        for held in (m._parameters, m._buffers, vars(m)):
            for value in held.values():
                if isinstance(value, torch.Tensor):
                    memo[id(value)] = one(value)
    return copy.deepcopy(module, memo)


def meta_like(t: torch.Tensor) -> torch.Tensor:
    """A plain meta tensor with the metadata of `t`."""
    return _C.meta_like(t)


def explain_ops(*, reset: bool = False) -> dict[str, dict]:
    """Per operator met so far: which rung of the ladder answered, how often, and the seconds.

    `{"aten::add.Tensor": {"rungs": {"rule": 12}, "calls": 12, "seconds": 3.1e-06}, ...}`
    `reset=True` starts counting anew after the answer.
    """
    report = {
        name: {"rungs": dict(rungs), "calls": sum(rungs.values()), "seconds": seconds}
        for name, rungs, seconds in _C.explain_ops()
    }
    if reset:
        _C.reset_op_counts()
    return report
