"""Records the aten operators that real models meet, with example signatures.

Run it from the repository root: `HF_HUB_OFFLINE=1 python tools/record_operators.py` writes
tests/data/model_operators.json. Llama, GPT-2, BERT, an MLP, a convnet and an LSTM (tests/models.py)
are built, trained and run under a TorchDispatchMode, which sees what the Fake key sees: operators
after autograd, autocast and composite-implicit decomposition. Under inference_mode composites are
not decomposed above the mode; there they are recorded and then decomposed by hand, so both levels
are in the list.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from models import CASES, OPTIMIZERS, Inputs, ModelCase, Size, with_padding  # noqa: E402

MAX_SIGNATURES = 8
MAX_VARIANTS = 12
# Operators that take any number of tensors (one per parameter, say): three show the shape of the
# call.
MAX_LIST = 3
ANY_LENGTH = re.compile(r"_foreach_|_fused_(adam|sgd)|stack|cat\b")
TEXT_MODELS = ("llama", "gpt2", "bert")

DTYPES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.complex64: "c64",
    torch.complex128: "c128",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.bool: "bool",
}

# First match wins; the name is without namespace and overload, a trailing underscore included.
FAMILIES: tuple[tuple[str, str], ...] = (
    ("optimizer", r"_foreach_|_fused_(adam|sgd)|_amp_"),
    ("attention", r".*scaled_dot_product"),
    ("conv_pool_rnn", r".*conv|.*pool|.*lstm|.*rnn|.*batch_norm"),
    ("softmax_loss", r".*softmax|.*nll_loss|.*cross_entropy|.*dropout|mse_loss"),
    ("norm", r"native_(layer|group)_norm|layer_norm|rms_norm|_fused_rms_norm|group_norm"),
    ("random", r"(normal|uniform|bernoulli|rand|randn|randint|randperm)(_like)?_?$"),
    (
        "meta_util",
        r"_local_scalar_dense|is_nonzero|item|equal$|is_same_size|cudnn_is_acceptable|_use_cudnn"
        r"|is_pinned",
    ),
    ("matmul", r"mm$|addmm$|bmm$|baddbmm$|matmul$|linear$|linalg_qr$"),
    (
        "view",
        r"(view|_unsafe_view|_reshape_alias|t|transpose|permute|expand|expand_as|unsqueeze|squeeze"
        r"|select|slice|alias|detach|as_strided|split|split_with_sizes|chunk|unbind|reshape"
        r"|flatten|narrow|movedim|view_as|unflatten|diagonal|numpy_T|swapaxes|swapdims|positive"
        r"|lift_fresh|unsafe_split|tensor_split|contiguous|_conj|real|imag)_?$",
    ),
    (
        "factory",
        r"(zeros|ones|empty|full|arange|linspace|scalar_tensor|eye|new_zeros|new_ones|new_empty"
        r"|new_full|empty_strided|new_empty_strided|empty_permuted|zeros_like|ones_like|empty_like"
        r"|full_like|rand_like)$",
    ),
    (
        "copy_index",
        r"(copy_?|clone|_to_copy|to|type_as|cat|stack|repeat|repeat_interleave|index|index_select"
        r"|index_put|index_copy|index_add|_index_put_impl|embedding|embedding_dense_backward"
        r"|gather|scatter|scatter_add|fill|zero|set|constant_pad_nd|pad|slice_backward"
        r"|select_backward|split_backward|roll|flip|masked_fill|masked_select|nonzero|where"
        r"|_pin_memory|float|masked_scatter|embedding_backward|lift|_unsafe_index"
        r"|_unsafe_index_put|select_scatter|slice_scatter|index_fill|resize|diagonal_copy)_?$",
    ),
    (
        "reduction",
        r"(sum|mean|amax|amin|max|min|any|all|argmax|argmin|prod|var|std|var_mean"
        r"|linalg_vector_norm|norm|cumsum|logsumexp|linalg_norm|sum_to_size|cumprod|count_nonzero"
        r"|std_mean|topk|sort)$",
    ),
)

# What a cuda device meets and a CPU does not, decided by ATen or by torch.optim above the Fake key.
# Written by hand (no GPU was at hand), with a signature that the real operator would take:
# (operator, reason, signature).
_Q, _KV = "bf16[2,4,8,8]:256,8,32,1", "bf16[2,2,8,8]:128,8,16,1"
_LSE = "f32[2,4,8]"
_FLASH = "sdpa: fp16/bf16, no mask, head size <= 256, sm80 and later"
_EFFICIENT = (
    "sdpa: float32, or a mask (bool masks become additive, padded to 16 and expanded first)"
)
_CUDNN = "sdpa: fp16/bf16 on sm90/sm100 with a new cuDNN, where it is preferred over flash"
_CAPTURABLE = "AdamW(capturable=True, foreach): bias correction on the device"
_SCALER = "GradScaler (its CPU form meets it as well)"
_THREE = "[f32[4,3],f32[3],f32[2,3,4]]"
_STEPS = "[f32[],f32[],f32[]]"
_LSTM_WEIGHTS = "[f32[128,32],f32[128,32],f32[128],f32[128]]"
_BN = "f32[32], f32[32], f32[32], f32[32]"
CUDA_ONLY: tuple[tuple[str, str, str], ...] = (
    (
        "_scaled_dot_product_flash_attention",
        _FLASH,
        f"_scaled_dot_product_flash_attention({_Q}, {_KV}, {_KV}, 0.1, true, false, scale=0.35)",
    ),
    (
        "_scaled_dot_product_flash_attention_backward",
        _FLASH,
        f"_scaled_dot_product_flash_attention_backward({_Q}, {_Q}, {_KV}, {_KV}, {_Q}, {_LSE}, "
        "None, None, 8, 8, 0.1, true, u64[2], u64[], scale=0.35)",
    ),
    (
        "_scaled_dot_product_efficient_attention",
        _EFFICIENT,
        "_scaled_dot_product_efficient_attention(f32[2,4,8,8]:256,8,32,1, "
        "f32[2,4,8,8]:256,8,32,1, f32[2,4,8,8]:256,8,32,1, f32[2,4,8,8]:128,0,16,1, true, 0.1, "
        "false, scale=0.35)",
    ),
    (
        "_scaled_dot_product_efficient_attention_backward",
        _EFFICIENT,
        "_scaled_dot_product_efficient_attention_backward(f32[2,4,8,8]:256,8,32,1, "
        "f32[2,4,8,8]:256,8,32,1, f32[2,4,8,8]:256,8,32,1, f32[2,4,8,8]:256,8,32,1, "
        "f32[2,4,8,8]:128,0,16,1, f32[2,4,8,8]:256,8,32,1, f32[2,4,32], i64[], i64[], 0.1, "
        "[true,true,true,false], false, scale=0.35)",
    ),
    (
        "_scaled_dot_product_cudnn_attention",
        _CUDNN,
        f"_scaled_dot_product_cudnn_attention({_Q}, {_KV}, {_KV}, None, true, 0.1, true, false, "
        "scale=0.35)",
    ),
    (
        "_scaled_dot_product_cudnn_attention_backward",
        _CUDNN,
        f"_scaled_dot_product_cudnn_attention_backward({_Q}, {_Q}, {_KV}, {_KV}, {_Q}, "
        "f32[2,4,8,1], i64[], i64[], None, None, None, 8, 8, 0.1, true, scale=0.35)",
    ),
    (
        "native_dropout",
        "dropout(train=True, 0 < p < 1) of a cuda tensor",
        "native_dropout(f32[2,8,32], 0.1, true)",
    ),
    (
        "native_dropout_backward",
        "its backward",
        "native_dropout_backward(f32[2,8,32], bool[2,8,32], 1.11)",
    ),
    (
        "_fused_rms_norm",
        "rms_norm (nn.RMSNorm; transformers' Llama writes its own) on cuda",
        "_fused_rms_norm(f32[2,8,32], [32], f32[32], 1e-06)",
    ),
    (
        "_fused_rms_norm_backward",
        "its backward",
        "_fused_rms_norm_backward(f32[2,8,32], f32[2,8,32], [32], f32[2,8,1], f32[32], "
        "[true,true])",
    ),
    (
        "_amp_foreach_non_finite_check_and_unscale_",
        _SCALER,
        f"_amp_foreach_non_finite_check_and_unscale_({_THREE}, f32[], f32[])",
    ),
    ("_amp_update_scale_", _SCALER, "_amp_update_scale_(f32[], i32[], f32[], 2.0, 0.5, 2000)"),
    (
        "_fused_adamw_",
        "fused AdamW with GradScaler: grad_scale and found_inf are tensors; on cuda the steps lie "
        "on the device",
        f"_fused_adamw_({_THREE}, {_THREE}, {_THREE}, {_THREE}, [], {_STEPS}, lr=0.001, "
        "beta1=0.9, beta2=0.999, weight_decay=0.01, eps=1e-08, amsgrad=false, maximize=false, "
        "grad_scale=f32[], found_inf=f32[])",
    ),
    (
        "_foreach_sub_.List",
        "fused Adam with found_inf: takes steps back",
        f"_foreach_sub_.List({_STEPS}, {_STEPS})",
    ),
    ("_foreach_pow.ScalarAndTensor", _CAPTURABLE, f"_foreach_pow.ScalarAndTensor(0.9, {_STEPS})"),
    ("_foreach_sub_.Scalar", _CAPTURABLE, f"_foreach_sub_.Scalar({_STEPS}, 1)"),
    ("_foreach_neg_", _CAPTURABLE, f"_foreach_neg_({_STEPS})"),
    ("_foreach_div_.Scalar", _CAPTURABLE, f"_foreach_div_.Scalar({_STEPS}, 0.001)"),
    ("_foreach_reciprocal_", _CAPTURABLE, f"_foreach_reciprocal_({_STEPS})"),
    ("_foreach_sqrt_", _CAPTURABLE, f"_foreach_sqrt_({_STEPS})"),
    ("_foreach_div_.List", _CAPTURABLE, f"_foreach_div_.List({_THREE}, {_STEPS})"),
    (
        "_foreach_addcdiv_.Scalar",
        _CAPTURABLE,
        f"_foreach_addcdiv_.Scalar({_THREE}, {_THREE}, {_THREE})",
    ),
    (
        "_foreach_copy_",
        "gradients copied across devices (FSDP, EMA)",
        f"_foreach_copy_({_THREE}, {_THREE})",
    ),
    ("_pin_memory", "tensor.pin_memory() before a copy to the device", "_pin_memory(f32[2,3])"),
    ("is_pinned", "asked by DataLoader and pin_memory()", "is_pinned(f32[2,3])"),
    ("record_stream", "side streams (FSDP, prefetch)", ""),
    (
        "cudnn_batch_norm",
        "batch_norm with cuDNN built in and enabled, float weights (a CPU-only build answers "
        "native_batch_norm)",
        f"cudnn_batch_norm(f32[2,32,8,8], {_BN}, true, 0.1, 1e-05)",
    ),
    (
        "cudnn_batch_norm_backward",
        "its backward",
        f"cudnn_batch_norm_backward(f32[2,32,8,8], f32[2,32,8,8], {_BN}, f32[32], 1e-05, u8[0])",
    ),
    (
        "_use_cudnn_rnn_flatten_weight",
        "asked by nn.LSTM.flatten_parameters on cuda",
        "_use_cudnn_rnn_flatten_weight()",
    ),
    (
        "_cudnn_rnn_flatten_weight",
        "nn.LSTM.flatten_parameters on cuda",
        f"_cudnn_rnn_flatten_weight({_LSTM_WEIGHTS}, 4, 32, 2, 32, 0, 1, true, false)",
    ),
    (
        "_cudnn_init_dropout_state",
        "LSTM with dropout in training, cuDNN",
        "_cudnn_init_dropout_state(0.1, true, 1, dtype=u8)",
    ),
    (
        "_cudnn_rnn",
        "LSTM, cuDNN acceptable",
        f"_cudnn_rnn(f32[2,8,32], {_LSTM_WEIGHTS}, 4, f32[8448], f32[1,2,32], f32[1,2,32], 2, 32, "
        "0, 1, true, 0.0, true, false, [], None)",
    ),
    ("_cudnn_rnn_backward", "its backward", ""),
    (
        "_thnn_fused_lstm_cell",
        "LSTM on cuda without cuDNN, and LSTMCell",
        "_thnn_fused_lstm_cell(f32[2,128], f32[2,128], f32[2,32], f32[128], f32[128])",
    ),
    (
        "_thnn_fused_lstm_cell_backward_impl",
        "its backward",
        "_thnn_fused_lstm_cell_backward_impl(f32[2,32], f32[2,32], f32[2,32], f32[2,32], "
        "f32[2,128], true)",
    ),
)


def family(op: str) -> str:
    name = op.removeprefix("aten::").split(".")[0]
    for label, pattern in FAMILIES:
        if re.match(pattern, name):
            return label
    return "pointwise"


def is_contiguous(tensor: torch.Tensor) -> bool:
    return tensor.layout is torch.strided and tensor.is_contiguous()


def format_tensor(tensor: torch.Tensor) -> str:
    sizes = ",".join(map(str, tensor.shape))
    text = f"{DTYPES.get(tensor.dtype, str(tensor.dtype))}[{sizes}]"
    return text if is_contiguous(tensor) else f"{text}:{','.join(map(str, tensor.stride()))}"


def format_value(value: Any, max_list: int | None = None) -> str:
    if isinstance(value, torch.Tensor):
        return format_tensor(value)
    if value is None:
        return "None"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(format_value(item) for item in value[:max_list]) + "]"
    if isinstance(value, torch.dtype):
        return DTYPES.get(value, str(value))
    if isinstance(value, (torch.layout, torch.memory_format)):
        return str(value).removeprefix("torch.")
    if isinstance(value, torch.Generator):
        return "generator"
    return str(value)


def signature(func: torch._ops.OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    name = func.name().removeprefix("aten::")
    max_list = MAX_LIST if ANY_LENGTH.match(name) else None
    parts = [format_value(arg, max_list) for arg in args]
    parts += [f"{key}={format_value(value, max_list)}" for key, value in kwargs.items()]
    return f"{name}({', '.join(parts)})"


def signature_class(text: str) -> str:
    """What makes two signatures different in kind: dtypes, ranks, contiguity and flags, but not the
    numbers."""
    text = re.sub(
        r"\[([\d,]*)\](:?)[\d,]*", lambda m: f"[{m[1].count(',') + bool(m[1])}]{m[2]}", text
    )
    text = re.sub(r"(?<![\w.])-?\d+(\.\d+)?(e-?\d+)?", "n", text)
    return re.sub(r"([^,\[]+\[n\]:?)(,\1)+", r"\1+", text)


def dispatch_kind(name: str) -> str:
    """`kernel`: CPU has a kernel of its own (even where a composite exists too); else which
    composite answers."""
    for key, kind in (
        ("CPU", "kernel"),
        ("CompositeImplicitAutograd", "implicit"),
        ("CompositeExplicitAutograd", "explicit"),
    ):
        if torch._C._dispatch_has_kernel_for_dispatch_key(name, key):
            return kind
    return "kernel"


@dataclass
class Met:
    """One operator overload as it was met."""

    calls: int = 0
    where: set[str] = field(default_factory=set)
    variants: set[str] = field(default_factory=set)
    dtypes: set[str] = field(default_factory=set)
    # class of signature -> the different signatures of that class, in the order met
    signatures: dict[str, list[str]] = field(default_factory=dict)

    def examples(self) -> list[str]:
        """At most MAX_SIGNATURES, one of every class before a second of any."""
        rounds = max(len(texts) for texts in self.signatures.values())
        ordered = [
            texts[i] for i in range(rounds) for texts in self.signatures.values() if i < len(texts)
        ]
        return ordered[:MAX_SIGNATURES]


class Recorder(TorchDispatchMode):
    """Counts operators under the current `where`."""

    def __init__(self) -> None:
        super().__init__()
        self.met: dict[str, Met] = {}
        self.where = ""
        self.variant = ""

    @contextmanager
    def at(self, where: str) -> Iterator[None]:
        """What runs inside is recorded as `where`; outside of it (making of example inputs) nothing
        is."""
        self.where = where
        try:
            with self:
                yield
        finally:
            self.where = ""

    def note(
        self, func: torch._ops.OpOverload, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> None:
        met = self.met.setdefault(func.name(), Met())
        met.calls += 1
        met.where.add(self.where)
        met.variants.add(self.variant)
        text = signature(func, args, kwargs)
        texts = met.signatures.setdefault(signature_class(text), [])
        if text not in texts and len(texts) < MAX_SIGNATURES:
            texts.append(text)

    def __torch_dispatch__(
        self,
        func: torch._ops.OpOverload,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        # Before the call: an in-place operator may change what it is given.
        self.note(func, args, kwargs)
        dtypes = {t.dtype for t in tree_iter((args, kwargs)) if isinstance(t, torch.Tensor)}
        if dispatch_kind(func.name()) == "implicit":
            # Not func.decompose(): that prefers Python decompositions, which ATen itself would not
            # take.
            with self:
                result = func._op_dk(
                    torch._C.DispatchKey.CompositeImplicitAutograd, *args, **kwargs
                )
        else:
            result = func(*args, **kwargs)
        dtypes |= {t.dtype for t in tree_iter(result) if isinstance(t, torch.Tensor)}
        self.met[func.name()].dtypes |= {DTYPES.get(dtype, str(dtype)) for dtype in dtypes}
        return result


@dataclass(frozen=True)
class Variant:
    """One way to run a model."""

    name: str
    attention: str = "sdpa"
    padding: bool = False
    dtype: torch.dtype = torch.float32
    train: bool = True
    autocast: bool = False
    checkpoint: str = ""


VARIANTS = (
    Variant("sdpa"),
    Variant("eager", attention="eager"),
    Variant("sdpa+mask", padding=True),
    Variant("eager+mask", attention="eager", padding=True),
    Variant("sdpa+eval", train=False),
    Variant("eager+eval+mask", attention="eager", train=False, padding=True),
    Variant("sdpa+eval+mask", train=False, padding=True),
    Variant("bf16", dtype=torch.bfloat16),
    Variant("bf16+eval+mask", dtype=torch.bfloat16, train=False, padding=True),
    Variant("bf16+eager+mask", dtype=torch.bfloat16, attention="eager", padding=True),
    Variant("autocast", autocast=True),
    Variant("autocast+eager+mask", autocast=True, attention="eager", padding=True),
    Variant("autocast+eval", autocast=True, train=False),
    Variant("checkpoint", checkpoint="non-reentrant", padding=True),
    Variant("checkpoint+reentrant", checkpoint="reentrant", padding=True),
    Variant("checkpoint+autocast", checkpoint="non-reentrant", autocast=True),
)


def autocast(variant: Variant) -> Any:
    return torch.autocast("cpu", torch.bfloat16) if variant.autocast else nullcontext()


def is_text(case: ModelCase) -> bool:
    return case.name in TEXT_MODELS


def example(case: ModelCase, variant: Variant, size: Size) -> Inputs:
    inputs = case.inputs(size=size)
    if variant.padding:
        inputs = with_padding(inputs)
    if not is_text(case) and inputs["x"].is_floating_point():
        inputs["x"] = inputs["x"].to(variant.dtype)
    return inputs


def build(recorder: Recorder, case: ModelCase, variant: Variant, size: Size) -> torch.nn.Module:
    with recorder.at(f"{case.name}/init"):
        model = case.build(size)
    with recorder.at(f"{case.name}/cast"):
        model.to(variant.dtype)
    model.train(variant.train)
    if variant.checkpoint and is_text(case):
        reentrant = variant.checkpoint == "reentrant"
        model.gradient_checkpointing_enable(
            gradient_checkpointing_kwargs={"use_reentrant": reentrant}
        )
    return model


def record_training(recorder: Recorder, case: ModelCase, variant: Variant) -> None:
    size = replace(case.small, attention=variant.attention)
    recorder.variant = variant.name
    model, inputs = build(recorder, case, variant, size), example(case, variant, size)
    with recorder.at(f"{case.name}/forward"), autocast(variant):
        loss = case.loss(model, inputs)
    with recorder.at(f"{case.name}/backward"):
        loss.backward()
    with recorder.at(f"{case.name}/report"):
        loss.item()
        loss.detach().float().cpu()
    record_clipping(recorder, case, model)
    for set_to_none in (False, True):
        with recorder.at(f"{case.name}/zero_grad"):
            model.zero_grad(set_to_none)


def record_clipping(recorder: Recorder, case: ModelCase, model: torch.nn.Module) -> None:
    utils = torch.nn.utils
    with recorder.at(f"{case.name}/clip"):
        for foreach in (None, False, True):
            utils.clip_grad_norm_(model.parameters(), 1.0, foreach=foreach)
            utils.clip_grad_norm_(model.parameters(), 1.0, norm_type=math.inf, foreach=foreach)
            utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True, foreach=foreach)
            utils.clip_grad_value_(model.parameters(), 1.0, foreach=foreach)


def record_accumulation(recorder: Recorder, case: ModelCase) -> None:
    """Two backwards into the same gradients, as gradient accumulation does."""
    recorder.variant = "accumulate"
    model, inputs = case.build(), case.inputs()
    for _ in range(2):
        loss = case.loss(model, inputs)
        with recorder.at(f"{case.name}/backward"):
            (loss / 2).backward()


def record_optimizers(recorder: Recorder, case: ModelCase, dtype: torch.dtype) -> None:
    for name, make in OPTIMIZER_VARIANTS.items():
        recorder.variant = f"{name}+{DTYPES[dtype]}"
        variant = Variant(name, dtype=dtype)
        model = case.build().to(dtype)
        with recorder.at(f"{case.name}/optimizer"):
            optimizer = make(model.parameters())
        for _ in range(2):
            case.loss(model, example(case, variant, case.small)).backward()
            with recorder.at(f"{case.name}/optimizer"):
                optimizer.step()
            for set_to_none in (False, True):
                with recorder.at(f"{case.name}/zero_grad"):
                    optimizer.zero_grad(set_to_none)


def adamw(**options: Any) -> Callable[[Any], torch.optim.Optimizer]:
    return lambda params: torch.optim.AdamW(params, lr=1e-3, **options)


def sgd(**options: Any) -> Callable[[Any], torch.optim.Optimizer]:
    return lambda params: torch.optim.SGD(params, lr=0.01, **options)


# The tests' table, and the options that take other operators.
OPTIMIZER_VARIANTS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    **OPTIMIZERS,
    "sgd_default": sgd(),
    "sgd_nesterov": sgd(momentum=0.9, nesterov=True, weight_decay=0.01, foreach=False),
    "sgd_nesterov_foreach": sgd(momentum=0.9, nesterov=True, weight_decay=0.01, foreach=True),
    "sgd_plain_foreach": sgd(foreach=True),
    "sgd_plain_fused": sgd(fused=True),
    "sgd_dampening_maximize": sgd(momentum=0.9, dampening=0.1, maximize=True, foreach=False),
    "sgd_dampening_maximize_foreach": sgd(momentum=0.9, dampening=0.1, maximize=True, foreach=True),
    "adamw_default": adamw(),
    "adamw_amsgrad": adamw(amsgrad=True, foreach=False),
    "adamw_amsgrad_foreach": adamw(amsgrad=True, foreach=True),
    "adamw_amsgrad_fused": adamw(amsgrad=True, fused=True),
    "adamw_maximize": adamw(maximize=True, foreach=False),
    "adamw_maximize_foreach": adamw(maximize=True, foreach=True),
    "adamw_no_decay": adamw(weight_decay=0.0, foreach=False),
    "adamw_tensor_lr": lambda params: torch.optim.AdamW(
        params, lr=torch.tensor(1e-3), foreach=False
    ),
    "adamw_fused_tensor_lr": lambda params: torch.optim.AdamW(
        params, lr=torch.tensor(1e-3), fused=True
    ),
    "sgd_tensor_lr": lambda params: torch.optim.SGD(
        params, lr=torch.tensor(0.01), momentum=0.9, foreach=False
    ),
    "sgd_fused_tensor_lr": lambda params: torch.optim.SGD(
        params, lr=torch.tensor(0.01), momentum=0.9, fused=True
    ),
    "adam": lambda params: torch.optim.Adam(params, lr=1e-3, weight_decay=0.01, foreach=False),
    "adam_foreach": lambda params: torch.optim.Adam(
        params, lr=1e-3, weight_decay=0.01, foreach=True
    ),
    "adam_fused": lambda params: torch.optim.Adam(params, lr=1e-3, weight_decay=0.01, fused=True),
}


def record_without_grad(recorder: Recorder, case: ModelCase) -> None:
    modes = {"no_grad": torch.no_grad, "inference": torch.inference_mode}
    for attention in ("sdpa", "eager") if is_text(case) else ("sdpa",):
        for padding in (False, True) if is_text(case) else (False,):
            for name, mode in modes.items():
                for train in (False, True):
                    recorder.variant = f"{name}+{attention}{'+mask' * padding}{'+train' * train}"
                    variant = Variant("", attention=attention, padding=padding, train=train)
                    size = replace(case.small, attention=attention)
                    with mode():
                        model = case.build(size).train(train)
                        inputs = example(case, variant, size)
                        with recorder.at(f"{case.name}/nograd"):
                            case.loss(model, inputs)


def record_inference_bf16(recorder: Recorder, case: ModelCase) -> None:
    """bf16 weights and autocast under inference_mode: composites there meet reduced precision
    undecomposed."""
    for variant in (Variant("bf16", dtype=torch.bfloat16), Variant("autocast", autocast=True)):
        recorder.variant = f"inference+{variant.name}"
        with torch.inference_mode():
            model = case.build().to(variant.dtype).eval()
            inputs = example(case, variant, case.small)
            with recorder.at(f"{case.name}/nograd"), autocast(variant):
                case.loss(model, inputs)


def record_cache(recorder: Recorder, case: ModelCase) -> None:
    """A prompt with use_cache=True, then single tokens on the cache, with and without a mask."""
    if case.name == "bert":
        return
    for attention in ("sdpa", "eager"):
        for padding in (False, True):
            for mode in (nullcontext, torch.no_grad, torch.inference_mode):
                recorder.variant = f"cache+{attention}{'+mask' * padding}"
                model = case.build(replace(case.small, attention=attention, use_cache=True)).eval()
                with mode():
                    decode(
                        recorder,
                        model,
                        f"{case.name}/cache",
                        case.inputs(seq=5)["input_ids"],
                        padding,
                    )


def decode(recorder: Recorder, model: Any, where: str, ids: torch.Tensor, padding: bool) -> None:
    mask = torch.ones_like(ids) if padding else None
    if mask is not None:
        mask[0, :2] = 0
    cache = None
    for _ in range(3):
        with recorder.at(where):
            out = model(input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True)
            ids, cache = out.logits[:, -1].argmax(-1, keepdim=True), out.past_key_values
            if mask is not None:
                mask = torch.cat([mask, mask.new_ones((mask.shape[0], 1))], dim=-1)


def record_inputs(recorder: Recorder) -> None:
    """How programs make inputs and masks, and how they look at results."""
    recorder.variant = "literals"
    with recorder.at("inputs"):
        ids = torch.randint(0, 64, (2, 8))
        torch.tensor([[1, 2], [3, 4]])
        torch.tensor(1.5)
        torch.ones(2, 8, dtype=torch.long)
        torch.zeros(2, 8)
        torch.full((2, 8), -100)
        torch.randn(2, 3)
        torch.rand(2, 3)
        torch.arange(8).unsqueeze(0).expand(2, 8)
        ids.clone().masked_fill_(ids == 3, -100)
        torch.tril(torch.ones(4, 4, dtype=torch.bool))
        torch.randperm(5)
        ids.to(torch.int32)
        torch.empty(2, 3).uniform_().bernoulli_(0.5)


def record_initialisers(recorder: Recorder) -> None:
    """torch.nn.init: what model code other than the six calls while it builds."""
    recorder.variant = "nn.init"
    init = torch.nn.init
    with recorder.at("init"):
        for call in (
            init.uniform_,
            init.normal_,
            init.trunc_normal_,
            init.xavier_uniform_,
            init.xavier_normal_,
        ):
            call(torch.empty(4, 6))
        for call in (
            init.kaiming_uniform_,
            init.kaiming_normal_,
            init.ones_,
            init.zeros_,
            init.eye_,
            init.orthogonal_,
        ):
            call(torch.empty(4, 6))
        init.constant_(torch.empty(4), 0.5)
        init.trunc_normal_(torch.empty(4, 6), std=0.02)


def record_all() -> Recorder:
    recorder = Recorder()
    record_inputs(recorder)
    record_initialisers(recorder)
    for case in CASES.values():
        for variant in VARIANTS:
            if not is_text(case) and (
                variant.attention == "eager" or variant.padding or variant.checkpoint
            ):
                continue
            record_training(recorder, case, variant)
        record_accumulation(recorder, case)
        record_without_grad(recorder, case)
        record_inference_bf16(recorder, case)
        if is_text(case):
            record_cache(recorder, case)
        for dtype in (torch.float32, torch.bfloat16):
            record_optimizers(recorder, case, dtype)
    return recorder


def entry(name: str, met: Met) -> dict[str, Any]:
    return {
        "op": name,
        "family": family(name),
        "kind": dispatch_kind(name),
        "where": sorted(met.where),
        "variants": sorted(met.variants)[:MAX_VARIANTS],
        "calls": met.calls,
        "dtypes": sorted(met.dtypes),
        "signatures": met.examples(),
    }


def report(recorder: Recorder) -> dict[str, Any]:
    entries = [entry(name, met) for name, met in sorted(recorder.met.items())]
    return {
        "torch": torch.__version__,
        "operators": [e for e in entries if e["op"].startswith("aten::")],
        "other_namespaces": [e for e in entries if not e["op"].startswith("aten::")],
        "cuda_only": [
            {"op": f"aten::{op}", "family": family(op), "reason": reason, "signature": text}
            for op, reason, text in CUDA_ONLY
        ],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--output", type=Path, default=ROOT / "tests" / "data" / "model_operators.json"
    )
    output: Path = parser.parse_args().output
    result = report(record_all())
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(result, indent=1) + "\n")
    families = Counter(entry["family"] for entry in result["operators"])
    print(f"{len(result['operators'])} operators to {output}: {dict(sorted(families.items()))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
