"""What Python asks of a tensor behind the dispatcher's back: numpy, pickling, `.grad =`, storages.

The methods are put on torch's Python classes when the first fake is about to be made; a tensor or
storage that is not fake goes to the method that was there before.
"""

import functools
import threading

import torch

from massless import _C, _copy, _cuda, _engine, _repr

_lock = threading.Lock()
_depth = 0
_installed = False

_is_fake = _C.is_fake


def enter() -> None:
    """A fake mode opens: devices that this build lacks need no initialisation inside."""
    global _depth
    install()
    with _lock:
        _depth += 1
        if _depth == 1:
            _C.set_requires_device_init(torch.device("cuda"), False)
            _C.set_only_lift_cpu_tensors(True)


def exit() -> None:
    """A fake mode closes; at the outermost one everything is as before."""
    global _depth
    with _lock:
        _depth -= 1
        if _depth == 0:
            _C.set_requires_device_init(torch.device("cuda"), not torch.cuda.is_initialized())
            _C.set_only_lift_cpu_tensors(False)


def install() -> None:
    """Puts the methods on torch's classes, once."""
    global _installed
    if _installed:
        return
    with _lock:
        if _installed:
            return
        _patch_tensor()
        _patch_storage()
        _patch_init()
        _engine.install()
        _cuda.install()
        _installed = True


def no_bytes(asked: str) -> None:
    """Raises the one error for data that a fake does not have."""
    _C.raise_error("data_access", f"{asked} was asked of a fake", asked)


def _real_value(t: torch.Tensor) -> torch.Tensor | None:
    """The known value of a fake as a real tensor, with its conj and neg bits resolved."""
    value = _C.known_value(t.detach() if t.requires_grad else t)
    if value is None:
        return None
    with _C.RealWorld():
        return value.resolve_conj().resolve_neg()


def _put(owner: type, name: str, make) -> None:
    """`make(old)` in place of the method `owner.name`, looking like it."""
    old = getattr(owner, name)
    new = make(old)
    setattr(owner, name, functools.wraps(old)(new))


def _refuse(owner: type, name: str, is_fake) -> None:
    """The method raises for fakes."""
    asked = f"{owner.__name__}.{name}"

    def make(old):
        def method(self, *args, **kwargs):
            if is_fake(self):
                no_bytes(asked)
            return old(self, *args, **kwargs)

        return method

    _put(owner, name, make)


def _instead(owner: type, name: str, is_fake, ours) -> None:
    """Fakes go to `ours`."""

    def make(old):
        def method(self, *args, **kwargs):
            if is_fake(self):
                return ours(self, *args, **kwargs)
            return old(self, *args, **kwargs)

        return method

    _put(owner, name, make)


# Tensors


_TENSOR_BYTES = (
    *("data_ptr", "__reduce_ex__", "_reduce_ex_internal", "__dlpack__"),
    *("apply_", "map_", "map2_"),
)


def _number(name: str, convert):
    """float(x) and its like. The operator answers from the known value or raises; where torch has
    taken the Fake key away, as in `torch.tensor([x])`, the value is read here."""

    def make(old):
        def method(self):
            if not _is_fake(self) or not torch._C._dispatch_tls_is_dispatch_key_excluded("Fake"):
                return old(self)
            value = _real_value(self) if self.numel() == 1 else None
            if value is None:
                _C.raise_error(
                    "data_dependent", f"{name} of a fake tensor was asked", f"Tensor.{name}"
                )
            with _C.RealWorld():
                return convert(value)

        return method

    return make


def _index(value: torch.Tensor) -> int:
    if value.dtype.is_floating_point or value.dtype.is_complex:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(value.item())


_NUMBERS = {
    "__bool__": lambda value: bool(value.item()),
    "__float__": lambda value: float(value.item()),
    "__int__": lambda value: int(value.item()),
    "__complex__": lambda value: complex(value.item()),
    "__index__": _index,
}


def _tolist(self):
    value = _real_value(self)
    if value is None:
        _C.raise_error("data_dependent", "the values of a fake tensor were asked", "Tensor.tolist")
    with _C.RealWorld():
        return value.tolist()


def _numpy(self, *, force=False):
    value = _real_value(self) if self.device.type == "cpu" or force else None
    if value is None:
        no_bytes("Tensor.numpy")
    if self.requires_grad and not force:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    with _C.RealWorld():
        array = value.numpy()
    array.flags.writeable = False  # a write could not be seen by the fake
    return array


def _array(self, dtype=None, copy=None):
    array = _numpy(self)
    return array if dtype is None else array.astype(dtype)


def _new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, **_ignored):
    if isinstance(data, torch.Tensor):
        made = data.detach().clone().to(device or self.device, dtype or data.dtype)
        return made.requires_grad_(requires_grad)
    return _made(
        torch.tensor, data, dtype=dtype or self.dtype, device=device or self.device
    ).requires_grad_(requires_grad)


def _new(self, *args, device=None, size=None):
    if size is not None:
        args = (size,)
    device = device or self.device
    if len(args) == 1 and isinstance(args[0], torch.Tensor):
        return args[0].alias() if hasattr(args[0], "alias") else args[0].detach()
    if len(args) == 1 and isinstance(args[0], torch.UntypedStorage):
        return _made(torch.empty, 0, dtype=self.dtype, device=device).set_(args[0])
    if len(args) == 1 and isinstance(args[0], torch.Size):
        args = args[0]
    elif len(args) == 1 and isinstance(args[0], (list, tuple)):
        return _made(torch.tensor, args[0], dtype=self.dtype, device=device)
    return _made(torch.empty, tuple(args) or 0, dtype=self.dtype, device=device)


def _made(factory, *args, **kwargs) -> torch.Tensor:
    """The factory's result as a fake, whether or not a mode is open."""
    from massless._fake import fake_mode

    with fake_mode():
        return factory(*args, **kwargs)


def _patch_setter(tensor: type, name: str) -> None:
    """`real.grad = fake`, `real.data = fake`: a real tensor never becomes fake."""
    slot = getattr(torch._C.TensorBase, name)

    def set_(self, value):
        becomes_fake = isinstance(value, torch.Tensor) and _is_fake(value)
        if becomes_fake and not _is_fake(self) and not self.is_meta:
            _C.raise_error(
                "real_write",
                f"the .{name} of a real tensor of shape {tuple(self.shape)} was to become fake",
                f"Tensor.{name}",
            )
        slot.__set__(self, value)

    setattr(tensor, name, property(slot.__get__, set_, slot.__delete__, slot.__doc__))


def _make_set(old):
    def set_(self, *args, **kwargs):
        source = args[0] if args else kwargs.get("source")
        if _is_any_fake_storage(source) and not _is_fake(self):
            _C.raise_error(
                "real_write", "a real tensor was to take the storage of a fake", "Tensor.set_"
            )
        return old(self, *args, **kwargs)

    return set_


def _make_to_dlpack(old):
    @functools.wraps(old)
    def to_dlpack(tensor, *args, **kwargs):
        if _is_fake(tensor):
            no_bytes("to_dlpack")
        return old(tensor, *args, **kwargs)

    return to_dlpack


def _on_absent_device(method):
    """Moving a fake to a device that this build lacks needs no mode."""

    def ours(self, *args, **kwargs):
        if _depth:
            return method(self, *args, **kwargs)
        enter()
        try:
            return method(self, *args, **kwargs)
        finally:
            exit()

    return ours


def _share_memory(self):
    if self.device.type == "cpu":
        no_bytes("Tensor.share_memory_")
    return self


def _patch_tensor() -> None:
    tensor = torch.Tensor
    for name, convert in _NUMBERS.items():
        _put(tensor, name, _number(name, convert))
    for name, ours in {
        "tolist": _tolist,
        "numpy": _numpy,
        "__array__": _array,
        "new_tensor": _new_tensor,
        "new": _new,
        "share_memory_": _share_memory,
        "is_shared": lambda self: self.device.type != "cpu",
        "__deepcopy__": _copy.deepcopy_fake,
        "__repr__": lambda self, *, tensor_contents=None: _repr.describe(self),
        "__format__": _repr.format_fake,
        "to": _on_absent_device(torch._C.TensorBase.to),
        "cuda": _on_absent_device(torch._C.TensorBase.cuda),
    }.items():
        _instead(tensor, name, _is_fake, ours)
    for name in _TENSOR_BYTES:
        _refuse(tensor, name, _is_fake)
    tensor.__copy__ = _copy.copy_tensor
    tensor.__cuda_array_interface__ = _refuse_property(
        tensor.__cuda_array_interface__, "__cuda_array_interface__"
    )
    _put(tensor, "set_", _make_set)
    _patch_setter(tensor, "grad")
    _patch_setter(tensor, "data")
    torch.utils.dlpack.to_dlpack = _make_to_dlpack(torch.utils.dlpack.to_dlpack)


def _refuse_property(old: property, name: str) -> property:
    def get(self):
        if _is_fake(self):
            no_bytes(f"Tensor.{name}")
        return old.__get__(self)

    return property(get, old.fset, old.fdel, old.__doc__)


def _patch_init() -> None:
    """trunc_normal_ draws again while any value is out of bounds; which ones nobody knows."""
    init = torch.nn.init
    old = init._no_grad_trunc_normal_

    @functools.wraps(old)
    def _no_grad_trunc_normal_(tensor, mean, std, *args, **kwargs):
        if _is_fake(tensor):
            with torch.no_grad():
                return tensor.normal_(mean, std)
        return old(tensor, mean, std, *args, **kwargs)

    init._no_grad_trunc_normal_ = _no_grad_trunc_normal_


# Storages

_STORAGE_METHODS = (
    *("__getitem__", "__setitem__", "__iter__", "__reduce__", "__deepcopy__"),
    *("_byteswap", "_set_from_file", "_share_cuda_"),
    *("_share_fd_cpu_", "_share_filename_cpu_", "_write_file"),
    *("byteswap", "clone", "copy_", "cpu", "cuda", "data_ptr"),
    *("fill_", "pin_memory", "share_memory_", "to", "tolist"),
    *("float", "double", "half", "bfloat16", "int", "long", "short"),
    *("char", "byte", "bool", "complex_float", "complex_double"),
)


def _is_fake_storage(storage) -> bool:
    return _C.is_fake_storage(getattr(storage, "_untyped_storage", storage))


def _is_any_fake_storage(x) -> bool:
    return isinstance(x, (torch.UntypedStorage, torch.TypedStorage)) and _is_fake_storage(x)


def _patch_storage() -> None:
    untyped, typed = torch.UntypedStorage, torch.storage.TypedStorage
    for owner in (untyped, typed):
        for name in _STORAGE_METHODS:
            if hasattr(owner, name):
                _refuse(owner, name, _is_fake_storage)
    for owner in (untyped, typed):
        for name in ("__repr__", "__str__"):
            _instead(owner, name, _is_fake_storage, _repr.describe_storage)
    for name in ("_getitem", "_setitem"):
        _refuse(typed, name, _is_fake_storage)
    _instead(untyped, "is_shared", _is_fake_storage, lambda self: self.device.type != "cpu")
    _instead(untyped, "is_pinned", _is_fake_storage, lambda self, *_: _C.storage_is_pinned(self))
    _instead(untyped, "resize_", _is_fake_storage, _resize)
    _patch_storage_copy(untyped)
    device = torch._C.StorageBase.device
    untyped.device = property(
        lambda self: _C.storage_device(self) if _C.is_fake_storage(self) else device.__get__(self)
    )


def _resize(self, nbytes):
    if nbytes < 0:
        raise ValueError(f"the size of a storage must not be negative, got {nbytes}")
    _C.resize_storage(self, nbytes)
    return self


def _patch_storage_copy(untyped: type) -> None:
    """A real storage is not filled from a fake one, and none is made of its items."""

    def make_copy(old):
        def copy_(self, source, *args, **kwargs):
            if _is_any_fake_storage(source):
                no_bytes("UntypedStorage.copy_")
            return old(self, source, *args, **kwargs)

        return copy_

    def make_new(old):
        def __new__(cls, *args, **kwargs):
            for given in (*args, *kwargs.values()):
                if _is_any_fake_storage(given):
                    no_bytes("UntypedStorage")
            return old(cls, *args, **kwargs)

        return __new__

    _put(untyped, "copy_", make_copy)
    untyped.__new__ = staticmethod(make_new(untyped.__new__))
