"""Operators of the models against eager, on the samples of torch's own operator database.

tests/data/opinfo_ops.txt names the entries: those whose operator, or all of whose decomposition,
is in tests/data/model_operators.json, and their near relatives. What is compared is what can be
observed without data; each sample runs as a function, in place and with out=, and the database's
bad inputs must raise.
"""

import itertools
import random
from pathlib import Path

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

import massless

NAMES = (Path(__file__).parent.parent / "data" / "opinfo_ops.txt").read_text("utf-8").split()
BY_NAME = {entry.full_name: entry for entry in op_db if entry.full_name in NAMES}

# Their result is a value, or its size is one (for some of their samples).
VALUE_DECIDES = {
    "__getitem__",
    "item",
    "masked_select",
    "narrow",
    "nn.functional.one_hot",
    "nonzero",
    "repeat_interleave",
}
# ATen resizes out= inside these composites, above the Fake key, and allocates for it.
RESIZED_ABOVE_THE_KEY = {
    "inner",
    "kron",
    "linalg.matrix_norm",
    "linalg.matrix_power",
    "linalg.multi_dot",
    "linalg.norm",
    "linalg.norm.subgradients_at_zero",
    "matmul",
    "nn.functional.linear",
}
# Its kernel is a composite above the Fake key that reads the bytes where no gradient is wanted.
READS_ABOVE_THE_KEY = {"nn.functional.max_pool1d"}
# What eager says of values that no fake knows.
VALUE_ERRORS = ("out of bounds", "index out of range")


def tensors(tree) -> list[torch.Tensor]:
    return [x for x in pytree.tree_leaves(tree) if isinstance(x, torch.Tensor)]


def copied(tree, make):
    """The tree with each tensor made anew, the same tensor once."""
    made = {}

    def one(x):
        if not isinstance(x, torch.Tensor):
            return x
        if id(x) not in made:
            made[id(x)] = make(x)
        return made[id(x)]

    return pytree.tree_map(one, tree)


def real_copy(t: torch.Tensor) -> torch.Tensor:
    new = torch.empty(0, dtype=t.dtype)
    new.set_(t.untyped_storage().clone(), t.storage_offset(), t.size(), t.stride())
    if t.is_conj():
        new = new.conj()
    return torch._neg_view(new) if t.is_neg() else new


def observed(t: torch.Tensor) -> dict:
    strides = None
    if t.numel() != 0:
        strides = [s if n != 1 else None for s, n in zip(t.stride(), t.size(), strict=True)]
    return {
        "size": tuple(t.size()),
        "stride": strides,
        "dtype": t.dtype,
        "device": t.device.type,
        "offset": t.storage_offset(),
        "conj": t.is_conj(),
        "neg": t.is_neg(),
    }


def storages(found: list[torch.Tensor]) -> list[int]:
    """For each tensor the first one that shares its storage."""
    keys = [t.untyped_storage()._cdata for t in found]
    return [keys.index(key) for key in keys]


def differences(real, fake) -> list[str]:
    """`real` and `fake` are (arguments after the call, results)."""
    reals, fakes = tensors(real), tensors(fake)
    if len(reals) != len(fakes):
        return [f"{len(reals)} tensors, fake {len(fakes)}"]
    found = [
        f"tensor {i}: {key} {wanted[key]}, fake {given[key]}"
        for i, (r, f) in enumerate(zip(reals, fakes, strict=True))
        for wanted, given in [(observed(r), observed(f))]
        for key in wanted
        if wanted[key] != given[key]
    ]
    found += [f"tensor {i} is real" for i, f in enumerate(fakes) if not massless.is_fake(f)]
    if storages(reals) != storages(fakes):
        found.append(f"storages {storages(reals)}, fake {storages(fakes)}")
    return found


def outcome(function, arguments):
    torch.manual_seed(0)
    try:
        return function(*arguments[0], **arguments[1]), None
    except Exception as error:
        return None, error


def compare(function, arguments, may_need_values: bool) -> list[str]:
    real_arguments = copied(arguments, real_copy)
    real, real_error = outcome(function, real_arguments)
    with massless.fake_mode():
        fake_arguments = copied(arguments, massless.fake_like)
        fake, fake_error = outcome(function, fake_arguments)
        if real_error is None and fake_error is None:
            return differences((real_arguments, real), (fake_arguments, fake))
    if real_error is not None and fake_error is not None:
        swallowed = isinstance(fake_error, NotImplementedError)
        return [f"raises what torch swallows: {fake_error}"] if swallowed else []
    if fake_error is None:
        by_value = any(text in str(real_error) for text in VALUE_ERRORS)
        return [] if by_value else [f"eager raises {real_error}"]
    needs_bytes = isinstance(fake_error, massless.DataDependentError) or (
        "[data_access]" in str(fake_error)
    )
    if may_need_values and needs_bytes:
        return []
    return [f"the fake raises {type(fake_error).__name__}: {fake_error}"]


def spread(samples, count=3, seen=30) -> list:
    """First, middle and last."""
    drawn = list(itertools.islice(samples, seen))
    picked = {round(i * (len(drawn) - 1) / (count - 1)) for i in range(count)} if drawn else set()
    return [drawn[i] for i in sorted(picked)]


def arguments_of(sample):
    return copied(((sample.input, *sample.args), dict(sample.kwargs)), torch.Tensor.detach)


def dtypes_of(entry) -> list[torch.dtype]:
    supported = entry.supported_dtypes("cpu")
    wanted = (torch.float32, torch.int64, torch.complex64)
    return [d for d in wanted if d in supported][:2] or sorted(supported, key=str)[:1]


def outs_of(entry, arguments):
    """out= of right size, and empty ones; nothing where the call has none."""
    result, error = outcome(entry.op, copied(arguments, real_copy))
    leaves = pytree.tree_leaves(tuple(result) if isinstance(result, tuple | list) else result)
    if error is not None or "out" in arguments[1] or len(tensors(leaves)) != len(leaves):
        return []
    right = [torch.empty_like(t.resolve_conj().resolve_neg()).zero_() for t in leaves]
    empty = [torch.empty(0, dtype=t.dtype) for t in leaves]
    single = isinstance(result, torch.Tensor)
    return [outs[0] if single else tuple(outs) for outs in (right, empty)]


def check(entry, arguments) -> list[str]:
    name = entry.full_name
    may_fail = name in VALUE_DECIDES | READS_ABOVE_THE_KEY
    found = [f"function: {text}" for text in compare(entry.op, arguments, may_fail)]
    if entry.inplace_variant is not None:
        found += [f"in place: {t}" for t in compare(entry.inplace_variant, arguments, False)]
    if entry.supports_out:
        for kind, out in zip(("out", "empty out"), outs_of(entry, arguments), strict=False):
            needs = may_fail or (kind == "empty out" and name in RESIZED_ABOVE_THE_KEY)
            call = (arguments[0], {**arguments[1], "out": out})
            found += [f"{kind}: {text}" for text in compare(entry.op, call, needs)]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_as_eager(name):
    entry = BY_NAME[name]
    random.seed(0)
    torch.manual_seed(0)
    # Not entry.sample_inputs: it looks through the whole Python stack for each call of it.
    found = [
        f"{dtype} {text} {sample.summary()}"
        for dtype in dtypes_of(entry)
        for sample in spread(entry.sample_inputs_func(entry, "cpu", dtype, False))
        for text in check(entry, arguments_of(sample))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", [n for n in NAMES if BY_NAME[n].error_inputs_func is not None])
def test_bad_input_raises(name):
    entry = BY_NAME[name]
    found = []
    for bad in itertools.islice(entry.error_inputs_func(entry, "cpu"), 8):
        call = arguments_of(bad.sample_input)
        if all(t.device.type == "cpu" for t in tensors(call)):
            found += compare(entry.op, call, False)
    assert not found, "\n".join(found)


def test_what_only_cudnn_knows_is_a_typed_error():
    with massless.fake_mode(device="cuda"):
        weights = [torch.empty(s) for s in ([128, 32], [128, 32], [128], [128])]
        state = torch.empty(1, 2, 32)
        with pytest.raises(massless.UnsupportedOperatorError, match="known to cuDNN only"):
            torch.ops.aten._cudnn_rnn(
                torch.empty(8, 2, 32), weights, 4, torch.empty(8448), state, state,
                2, 32, 0, 1, False, 0.0, True, False, [], None,
            )  # fmt: skip
