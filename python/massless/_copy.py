"""copy.copy and copy.deepcopy of fakes."""

import copy
import copyreg

import torch

from massless import _C


def copy_tensor(t: torch.Tensor) -> torch.Tensor:
    """copy.copy: another tensor over the same storage, as for real tensors."""
    if not _C.is_fake(t):
        return copy._reconstruct(t, None, *t.__reduce_ex__(4))
    with torch.no_grad():
        made = t.detach()
    if type(t) is torch.nn.Parameter:
        made = torch.nn.Parameter(made, t.requires_grad)
    else:
        made.requires_grad_(t.requires_grad)
    made.__dict__.update(t.__dict__)
    return made


def deepcopy_fake(t: torch.Tensor, memo: dict) -> torch.Tensor:
    """copy.deepcopy: a fake over a storage of its own; tensors that share a storage share one in
    the copy, within one memo. Known values are copied."""
    if not t.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment."
        )
    if id(t) in memo:
        return memo[id(t)]
    converter = memo.setdefault("massless", _C.FakeConverter())
    with torch.no_grad():
        made = converter.convert(t, None)
        if type(t) is not torch.Tensor:
            made = made.detach().as_subclass(type(t))
            made.requires_grad_(t.requires_grad)
        if t.grad is not None:
            made.grad = copy.deepcopy(t.grad, memo)
        for slot in copyreg._slotnames(type(t)) if type(t) is not torch.Tensor else ():
            if hasattr(t, slot):
                setattr(made, slot, copy.deepcopy(getattr(t, slot), memo))
        made.__dict__ = copy.deepcopy(t.__dict__, memo)
    memo[id(t)] = made
    return made
