"""The models with every size of the input a symbol: what is left to guard, against torch's own."""

import massless  # noqa: I001 - before torch

import models
import pytest
import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._dynamo.source import ConstantSource
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    ShapeEnv,
    StatelessSymbolicContext,
)

BATCH, SEQ = 6, 10
# Dropout as the configs of transformers have it.
SIZES = {
    models.llama: models.Size(vocab=128, dropout=0.0, use_cache=True),
    models.gpt2: models.Size(vocab=128, use_cache=True),
    models.bert: models.Size(vocab=128, use_cache=True),
}


def run(model: torch.nn.Module, ids: torch.Tensor, train: bool) -> torch.Tensor:
    if not train:
        with torch.no_grad():
            return model(input_ids=ids).logits
    optimizer = torch.optim.AdamW(model.parameters())
    out = model(input_ids=ids, labels=ids)
    out.loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return out.logits


def ours(build, dynamic, train: bool) -> tuple[tuple, set[str]]:
    """The logits' sizes as text and the guards that the others do not imply."""
    env = massless.ShapeEnv()
    with massless.fake_mode(shape_env=env):
        ids = massless.fake_like(torch.zeros(BATCH, SEQ, dtype=torch.int64), dynamic=dynamic)
        logits = run(build(SIZES[build]), ids, train)
    sizes = tuple(str(n) for n in logits.shape)
    return sizes, {guard.text for guard in env.guards if not guard.implied}


def theirs(build, train: bool) -> set[str]:
    """What torch's ShapeEnv leaves for sizes of 2 and more."""
    env = ShapeEnv()
    with FakeTensorMode(shape_env=env) as mode:
        model = build(SIZES[build])
    ids = mode.from_tensor(
        torch.zeros(BATCH, SEQ, dtype=torch.int64),
        source=ConstantSource("ids"),
        symbolic_context=StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC] * 2),
    )
    with mode, enable_python_dispatcher():
        run(model, ids, train)
    return {str(guard.expr) for guard in env.guards}


@pytest.mark.parametrize("train", [False, True], ids=["forward", "train"])
@pytest.mark.parametrize("build", SIZES)
def test_no_more_guards_than_torch_leaves(build, train):
    sizes, guards = ours(build, "all", train)
    assert sizes == ("s0", "s1", "128")
    assert len(guards) <= len(theirs(build, train)), guards
    # BERT slices its table of 64 positions: a longer sequence is an error in eager, too.
    assert guards == ({"s1 <= 64"} if build is models.bert else set())


# A named size covers 0 and 1 as well. What is left then, and why:
#   seq != 0, batch != 0   reshape(.., -1) of nothing is an error in eager
#   seq >= 2, seq != 1     transformers asks whether the query is longer than 1 (is_causal), and a
#                          size of 1 broadcasts
#   batch != 1             somebody calls `contiguous()`, or asks: transformers of sdpa's output,
#                          sdpa's backward of its gradient. The strides of a batch of 1 count as
#                          contiguous in another order
NAMED = {
    (models.llama, False): {"seq >= 2", "batch != 0"},
    (models.llama, True): {"seq >= 2", "batch != 0 and batch != 1 and seq != 0"},
    (models.gpt2, False): {"seq != 1", "batch != 0 and seq != 0", "batch != 1"},
    (models.gpt2, True): {"seq != 1", "batch != 0 and seq != 0", "batch != 1"},
    (models.bert, False): {"seq <= 64", "batch != 0 and seq != 0", "seq >= 2", "batch != 1"},
    (models.bert, True): {"seq <= 64", "batch != 0 and seq != 0", "seq >= 2", "batch != 1"},
}


@pytest.mark.parametrize("train", [False, True], ids=["forward", "train"])
@pytest.mark.parametrize("build", SIZES)
def test_guards_of_named_sizes(build, train):
    sizes, guards = ours(build, {0: "batch", 1: "seq"}, train)
    assert sizes == ("batch", "seq", "128")
    assert guards == NAMED[build, train]
