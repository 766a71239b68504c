"""Six small models, deterministic and scalable, that many tests share.

A case is built for a `Size`: the default is tiny (milliseconds a step); `case.big` names a size,
batch and sequence length whose training step peaks over 64 MB. Weights and inputs depend on the
seeds here only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedConfig,
    PreTrainedModel,
)

SEED = 1234
CLASSES = 10

Inputs = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Size:
    """Model size: `width` is the hidden size (features, channels), `image` the side of the
    convnet's input."""

    width: int = 32
    layers: int = 2
    heads: int = 4
    vocab: int = 64
    positions: int = 64
    dropout: float = 0.1
    image: int = 16
    attention: str = "sdpa"
    use_cache: bool = False


@dataclass(frozen=True)
class Big:
    """A size, batch and sequence length at which a float32 training step peaks over 64 MB."""

    size: Size
    batch: int
    seq: int


@dataclass(frozen=True)
class ModelCase:
    """One model: `build(size)`, `inputs(batch, seq, size)` (real tensors) and `loss(model, inputs)`
    (a scalar)."""

    name: str
    make: Callable[[Size], nn.Module]
    make_inputs: Callable[[int, int, Size, torch.Generator], Inputs]
    loss: Callable[[nn.Module, Inputs], torch.Tensor]
    big: Big
    small: Size = field(default_factory=Size)

    def build(self, size: Size | None = None) -> nn.Module:
        torch.manual_seed(SEED)
        return self.make(size or self.small)

    def inputs(self, batch: int = 2, seq: int = 8, size: Size | None = None) -> Inputs:
        return self.make_inputs(batch, seq, size or self.small, torch.Generator().manual_seed(SEED))


def pretrained(
    model_class: type[PreTrainedModel], config: PreTrainedConfig, size: Size
) -> nn.Module:
    # `_from_config` is what AutoModel.from_config calls: it initialises the weights and resolves
    # the attention kernel.
    return model_class._from_config(config, attn_implementation=size.attention)


def llama(size: Size) -> nn.Module:
    config = LlamaConfig(
        vocab_size=size.vocab,
        hidden_size=size.width,
        intermediate_size=size.width * 2,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=max(size.heads // 2, 1),
        max_position_embeddings=size.positions,
        attention_dropout=size.dropout,
        use_cache=size.use_cache,
    )
    return pretrained(LlamaForCausalLM, config, size)


def gpt2(size: Size) -> nn.Module:
    config = GPT2Config(
        vocab_size=size.vocab,
        n_positions=size.positions,
        n_embd=size.width,
        n_layer=size.layers,
        n_head=size.heads,
        resid_pdrop=size.dropout,
        embd_pdrop=size.dropout,
        attn_pdrop=size.dropout,
        bos_token_id=0,
        eos_token_id=0,
        use_cache=size.use_cache,
    )
    return pretrained(GPT2LMHeadModel, config, size)


def bert(size: Size) -> nn.Module:
    config = BertConfig(
        vocab_size=size.vocab,
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=size.width * 2,
        max_position_embeddings=size.positions,
        hidden_dropout_prob=size.dropout,
        attention_probs_dropout_prob=size.dropout,
    )
    return pretrained(BertForMaskedLM, config, size)


def mlp(size: Size) -> nn.Module:
    layers: list[nn.Module] = []
    for _ in range(size.layers):
        layers += [nn.Linear(size.width, size.width), nn.ReLU(), nn.Dropout(size.dropout)]
    return nn.Sequential(*layers, nn.Linear(size.width, CLASSES))


class ConvNet(nn.Module):
    """Convolutions with BatchNorm; max pooling between blocks and adaptive average pooling before
    the head."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        blocks: list[nn.Module] = []
        channels = 3
        for _ in range(size.layers):
            blocks += [
                nn.Conv2d(channels, size.width, 3, padding=1, bias=False),
                nn.BatchNorm2d(size.width),
                nn.ReLU(inplace=True),
                nn.MaxPool2d(2),
            ]
            channels = size.width
        self.features = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(channels, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.flatten(self.pool(self.features(x)), 1))


class LstmClassifier(nn.Module):
    """Embedding, a stacked LSTM with dropout between the layers, a linear head on the last step."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.embedding = nn.Embedding(size.vocab, size.width)
        dropout = size.dropout if size.layers > 1 else 0.0
        self.lstm = nn.LSTM(size.width, size.width, size.layers, batch_first=True, dropout=dropout)
        self.head = nn.Linear(size.width, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output, _ = self.lstm(self.embedding(x))
        return self.head(output[:, -1])


def token_inputs(batch: int, seq: int, size: Size, generator: torch.Generator) -> Inputs:
    ids = torch.randint(0, size.vocab, (batch, seq), generator=generator)
    return {"input_ids": ids, "labels": ids.clone()}


def with_padding(inputs: Inputs) -> Inputs:
    """The same with an attention_mask whose rows end at different places; padded labels are
    ignored."""
    mask = torch.ones_like(inputs["input_ids"])
    for row in range(mask.shape[0]):
        mask[row, mask.shape[1] - 1 - row % (mask.shape[1] - 1) :] = 0
    labels = inputs["labels"].masked_fill(mask == 0, -100)
    return {**inputs, "attention_mask": mask, "labels": labels}


def target(batch: int, generator: torch.Generator) -> torch.Tensor:
    return torch.randint(0, CLASSES, (batch,), generator=generator)


def mlp_inputs(batch: int, seq: int, size: Size, generator: torch.Generator) -> Inputs:
    # An MLP has no sequence: `seq` only makes more rows of it.
    rows = batch * seq
    return {
        "x": torch.randn(rows, size.width, generator=generator),
        "target": target(rows, generator),
    }


def image_inputs(batch: int, seq: int, size: Size, generator: torch.Generator) -> Inputs:
    images = torch.randn(batch, 3, size.image, size.image, generator=generator)
    return {"x": images, "target": target(batch, generator)}


def sequence_inputs(batch: int, seq: int, size: Size, generator: torch.Generator) -> Inputs:
    tokens = torch.randint(0, size.vocab, (batch, seq), generator=generator)
    return {"x": tokens, "target": target(batch, generator)}


def labels_loss(model: nn.Module, inputs: Inputs) -> torch.Tensor:
    return model(**inputs).loss


def class_loss(model: nn.Module, inputs: Inputs) -> torch.Tensor:
    return F.cross_entropy(model(inputs["x"]), inputs["target"])


BIG_TEXT = Big(Size(width=256, layers=4, heads=8, vocab=2048, positions=256), batch=4, seq=128)

CASES: dict[str, ModelCase] = {
    case.name: case
    for case in (
        ModelCase("llama", llama, token_inputs, labels_loss, BIG_TEXT),
        ModelCase("gpt2", gpt2, token_inputs, labels_loss, BIG_TEXT),
        ModelCase("bert", bert, token_inputs, labels_loss, BIG_TEXT),
        ModelCase(
            "mlp", mlp, mlp_inputs, class_loss, Big(Size(width=1024, layers=6), batch=16, seq=32)
        ),
        ModelCase(
            "convnet",
            ConvNet,
            image_inputs,
            class_loss,
            Big(Size(width=64, layers=3, image=64), batch=20, seq=1),
        ),
        ModelCase(
            "lstm",
            LstmClassifier,
            sequence_inputs,
            class_loss,
            Big(replace(BIG_TEXT.size, width=512), batch=16, seq=64),
        ),
    )
}

OptimizerFactory = Callable[[Iterable[torch.Tensor]], torch.optim.Optimizer]

OPTIMIZERS: dict[str, OptimizerFactory] = {
    "sgd": lambda params: torch.optim.SGD(params, lr=0.01, foreach=False),
    "sgd_momentum": lambda params: torch.optim.SGD(params, lr=0.01, momentum=0.9, foreach=False),
    "sgd_foreach": lambda params: torch.optim.SGD(params, lr=0.01, momentum=0.9, foreach=True),
    "sgd_fused": lambda params: torch.optim.SGD(params, lr=0.01, momentum=0.9, fused=True),
    "adamw": lambda params: torch.optim.AdamW(params, lr=1e-3, foreach=False),
    "adamw_foreach": lambda params: torch.optim.AdamW(params, lr=1e-3, foreach=True),
    "adamw_fused": lambda params: torch.optim.AdamW(params, lr=1e-3, fused=True),
}


def train_step(
    case: ModelCase,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    inputs: Inputs,
    clip: float | None = None,
    **clip_options: Any,
) -> torch.Tensor:
    """One step: gradients cleared, loss, backward, the gradient norm clipped where `clip` is given,
    the update."""
    optimizer.zero_grad()
    loss = case.loss(model, inputs)
    loss.backward()
    if clip is not None:
        nn.utils.clip_grad_norm_(model.parameters(), clip, **clip_options)
    optimizer.step()
    return loss.detach()
