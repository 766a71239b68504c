"""How fakes print. Nothing here raises: a debugger or a log must be able to show any fake."""

import torch

from massless import _C

_SHOWN = 1000  # elements of a known value, as torch's own printing summarises above


def describe(t: torch.Tensor) -> str:
    """`FakeTensor(size=(2, 3), dtype=torch.float32, device='cuda:0', requires_grad=True)`"""
    parts = []
    value = _value_text(t)
    if value:
        parts.append(value)
    parts.append(f"size={_size_text(t)}")
    parts.append(f"dtype={t.dtype}")
    parts.append(f"device='{t.device}'")
    if t.grad_fn is not None:
        parts.append(f"grad_fn=<{type(t.grad_fn).__name__}>")
    elif t.requires_grad:
        parts.append("requires_grad=True")
    return f"FakeTensor({', '.join(parts)})"


def format_fake(t: torch.Tensor, spec: str) -> str:
    """A known 0-dim value formats as its number, as for real tensors; else the description.

    Raises:
        DataDependentError: a format for a number, and the number is not known.
    """
    if t.dim() == 0 and not t.requires_grad:
        value = _C.known_value(t)
        if value is not None:
            with _C.RealWorld():
                return value.item().__format__(spec)
    if t.dim() == 0 and spec:
        _C.raise_error("data_dependent", "a number to print was asked", "Tensor.__format__")
    return object.__format__(t, spec)


def describe_storage(storage) -> str:
    return f"FakeStorage(nbytes={storage.nbytes()}, device='{storage.device}')"


def _size_text(t: torch.Tensor) -> str:
    sizes = [str(n) for n in t.shape]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def _value_text(t: torch.Tensor) -> str:
    try:
        value = _C.known_value(t)
        if value is None or value.numel() > _SHOWN:
            return ""
        with _C.RealWorld():
            return str(value.resolve_conj().resolve_neg().tolist())
    except Exception:  # a value that cannot be shown is left out
        return ""
