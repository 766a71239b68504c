"""From a config.json, or a callable of the user's, to a model on fakes and a step to plan.

A transformers model is built as `from_pretrained(..., dtype=...)` builds it: the asked dtype is the
default dtype during construction, so parameters have it, while buffers whose code asks for float32
(a rotary embedding's inv_freq) keep float32; `model.to(dtype)` afterwards would halve those too.
Weights are not initialised (no value of a fake is ever looked at) but tied as the config says, and
attention runs through `scaled_dot_product_attention`.
"""

import contextlib
import dataclasses
import difflib
import importlib
import inspect
import os
import pathlib
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from massless import _C
from massless._config_check import (
    LIMITS,
    InputError,
    build_config,
    parse_dtype,
    read_config,
)
from massless._fake import fake_mode

__all__ = ["InputError", "Job", "OPTIMIZERS", "build", "job", "parse_device"]

TASKS = ("train", "forward")
MAX_BATCH = 1_000_000
MAX_TOKENS = 1_000_000_000
DEFAULT_SEQ = 4096


@dataclasses.dataclass
class Job:
    """A model on fakes and what to run on it: `step(*args)`.

    A training step is one in the steady state: the optimizer's state of earlier steps exists
    (it was created here, by an update on fake gradients), gradients are cleared at its end.
    """

    name: str
    model: torch.nn.Module
    optimizer: torch.optim.Optimizer | None
    step: Callable[..., Any]
    arguments: Callable[[Any, Any], tuple[Any, ...]]  # (batch, seq) -> what `step` takes
    args: tuple[Any, ...]
    task: str
    batch: int
    seq: int | None
    dtype: torch.dtype
    optimizer_name: str | None
    device: str
    where: str
    inputs: dict[str, str]
    symbols: dict[str, tuple[int, int, int]]  # name -> example, least, largest

    @property
    def point(self) -> dict[str, int]:
        """What was asked for, by symbol."""
        return {name: getattr(self, name) for name in self.symbols}

    def symbolic_args(self, *names: str) -> tuple[Any, ...]:
        """`args` with the named sizes as symbols, of an environment of their own; all of `symbols`
        if none is named."""
        env = _C.ShapeEnv()
        sizes: dict[str, Any] = {"batch": self.batch, "seq": self.seq}
        for name in names or self.symbols:
            hint, least, largest = self.symbols[name]
            sizes[name] = env.symbol(name, hint, min=least, max=largest)
        with fake_mode(device=self.where, shape_env=env):
            return self.arguments(sizes["batch"], sizes["seq"])

    @property
    def parameter_count(self) -> int:
        return sum(p.numel() for p in self.model.parameters())


def _options(**fixed: Any) -> Callable[..., torch.optim.Optimizer]:
    name = fixed.pop("name")
    return lambda params: getattr(torch.optim, name)(params, **fixed)


# A name without an ending takes what torch itself chooses: on cuda the foreach form.
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    f"{public}{ending}": _options(name=name, **options, **form)
    for public, name, options in (
        ("adamw", "AdamW", {"lr": 1e-3}),
        ("adam", "Adam", {"lr": 1e-3}),
        ("sgd", "SGD", {"lr": 1e-3}),
        ("sgd_momentum", "SGD", {"lr": 1e-3, "momentum": 0.9}),
    )
    for ending, form in (
        ("", {}),
        ("_loop", {"foreach": False}),
        ("_foreach", {"foreach": True}),
        ("_fused", {"fused": True}),
    )
}


def parse_device(text: str) -> tuple[str, int | None]:
    """`("cuda:0", 90)` of `cuda:sm_90`: the torch device and the capability, None if not given."""
    match = re.fullmatch(r"(cpu|cuda)(?::(?:sm_([0-9]{2,3})|([0-9]{1,2})))?", text)
    if not match or match[1] == "cpu" and ":" in text:
        raise InputError(
            "--device", f"{text[:80]!r} is no device; known: cpu, cuda, cuda:N, cuda:sm_NN"
        )
    if match[2] and int(match[2]) not in CAPABILITIES:
        known = ", ".join(f"sm_{c}" for c in CAPABILITIES)
        raise InputError(
            "--device", f"sm_{match[2]} is no capability of a CUDA device; known: {known}"
        )
    index = f":{int(match[3])}" if match[3] else ""
    return match[1] + index, int(match[2]) if match[2] else None


# Compute capabilities of the devices that torch 2.13 wheels are built for.
CAPABILITIES = (75, 80, 86, 89, 90, 100, 103, 110, 120, 121)


def job(
    model_text: str,
    *,
    task: str = "train",
    batch: int = 1,
    seq: int | None = None,
    dtype: str | None = None,
    optimizer: str = "adamw",
    device: str = "cuda",
) -> Job:
    """Builds MODEL (a config.json, a folder with one, or `package.module:callable`) on fakes.

    Nothing is downloaded and no code that comes with a model is run. `seq` None takes the smaller
    of 4096 and what the model has positions for; `dtype` None takes the config's.

    Raises:
        InputError: an option, a field of the config, or the callable is wrong; names which.
    """
    where, _ = parse_device(device)
    _check_call(task, batch, seq, optimizer)
    wanted = None if dtype is None else parse_dtype(dtype)
    model, config = build(model_text, dtype=wanted, device=where)
    seq = _sequence_length(config, seq, batch)
    if getattr(model, "main_input_name", "") == "pixel_values":
        seq = None
    maker = _inputs_of_transformers if config is not None else _inputs_of_module
    if task == "forward":
        model.eval()
    with fake_mode(device=where):
        update = _prepared_optimizer(model, optimizer) if task == "train" else None

        def arguments(batch: Any, seq: Any) -> tuple[Any, ...]:
            inputs, loss = maker(model, batch, seq, task)
            return (model, update, loss, inputs) if task == "train" else (model, inputs)

        args = arguments(batch, seq)
    return Job(
        name=_name(model_text, model),
        model=model,
        optimizer=update,
        step=_train_step if task == "train" else _forward_step,
        arguments=arguments,
        args=args,
        task=task,
        batch=batch,
        seq=seq,
        dtype=_main_dtype(model),
        optimizer_name=optimizer if task == "train" else None,
        device=device,
        where=where,
        inputs={k: _described(v) for k, v in args[-1].items()},
        symbols=_symbols(config, batch, seq),
    )


def _check_call(task: str, batch: int, seq: int | None, optimizer: str) -> None:
    if task not in TASKS:
        raise InputError("--task", f"{task!r} is no task; known: {', '.join(TASKS)}")
    if optimizer not in OPTIMIZERS:
        near = difflib.get_close_matches(optimizer, OPTIMIZERS, 4, 0.5) or OPTIMIZERS
        raise InputError(
            "--optimizer", f"{optimizer[:80]!r} is no optimizer; known: {', '.join(near)}"
        )
    if not 1 <= batch <= MAX_BATCH:
        raise InputError("--batch", f"is {batch}; 1 to {MAX_BATCH} is possible")
    if seq is not None and not 1 <= seq <= LIMITS["max_position_embeddings"]:
        raise InputError("--seq", f"is {seq}; at least 1 is needed")


def _sequence_length(config: Any, seq: int | None, batch: int) -> int | None:
    positions = getattr(_text_config(config), "max_position_embeddings", None)
    if not isinstance(positions, int) or positions < 1:
        positions = None
    if seq is None and config is not None:
        seq = min(DEFAULT_SEQ, positions or DEFAULT_SEQ)
    elif positions is not None and seq > positions:
        raise InputError(
            "--seq", f"is {seq}, beyond the model's {positions} positions (max_position_embeddings)"
        )
    if seq is not None and batch * seq > MAX_TOKENS:
        raise InputError("--batch", f"{batch} x {seq} tokens; the limit is {MAX_TOKENS} of them")
    return seq


def _symbols(config: Any, batch: int, seq: int | None) -> dict[str, tuple[int, int, int]]:
    """Examples of our own for the sizes that become symbols: unlike each other and every number of
    the config, so that no size is taken for another one, and like the asked ones where divided
    by 64 (or 8), so that what is decided by alignment is decided as it would be there."""
    numbers = set(_numbers(config.to_dict() if config is not None else {}))
    positions = getattr(_text_config(config), "max_position_embeddings", None)
    made = {"batch": (_example(batch, MAX_BATCH, numbers), 1, MAX_BATCH)}
    if seq is not None:
        largest = positions if isinstance(positions, int) and positions > 0 else MAX_TOKENS
        example = _example(seq, largest, numbers | {made["batch"][0]})
        made["seq"] = (example, 1, largest)
    return made


def _numbers(value: Any) -> Iterator[int]:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, int) and not isinstance(item, bool):
            yield item
        elif isinstance(item, dict):
            stack += item.values()
        elif isinstance(item, (list, tuple)):
            stack += item


def _example(asked: int, largest: int, taken: set[int]) -> int:
    for step in (64, 8, 1):
        for example in range(max(5, step + asked % step), min(largest, 8192) + 1, step):
            if example not in taken and example != asked:
                return example
    return min(largest, 5)


def _text_config(config: Any) -> Any:
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def _name(model_text: str, model: torch.nn.Module) -> str:
    if ":" in model_text and not pathlib.Path(model_text).exists():
        return f"{type(model).__name__} of {model_text}"
    path = pathlib.Path(model_text)
    return f"{type(model).__name__} of {path.name or path.resolve().name}"


def _main_dtype(model: torch.nn.Module) -> torch.dtype:
    """The dtype that holds most parameters."""
    counts: dict[torch.dtype, int] = {}
    for p in model.parameters():
        counts[p.dtype] = counts.get(p.dtype, 0) + p.numel()
    return max(counts, key=counts.__getitem__) if counts else torch.get_default_dtype()


def _described(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
    return repr(value)


# --- building ------------------------------------------------------------------------------------


def build(
    model_text: str, *, dtype: torch.dtype | None = None, device: str = "cuda"
) -> tuple[torch.nn.Module, Any]:
    """The module on fakes and its transformers config (None for a module of another kind)."""
    path = pathlib.Path(model_text)
    # A name with a colon that is no file is the callable form.
    is_callable = ":" in model_text and not os.path.exists(path)
    if is_callable:
        model = _call_builder(model_text, dtype, device)
        config = getattr(model, "config", None) if _is_transformers(model) else None
        return model, config
    return _build_transformers(read_config(model_text), dtype, device)


def _is_transformers(model: torch.nn.Module) -> bool:
    # Loaded already if the model is one of its classes.
    transformers = sys.modules.get("transformers")
    return transformers is not None and isinstance(model, transformers.PreTrainedModel)


@contextlib.contextmanager
def _quiet_transformers() -> Iterator[None]:
    """No hub, no advice of transformers on the terminal, the levels put back afterwards."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)


def _build_transformers(
    data: dict[str, Any], dtype: torch.dtype | None, device: str
) -> tuple[torch.nn.Module, Any]:
    with _quiet_transformers():
        config = build_config(data)
        model_class = _model_class(data, config)
        chosen = dtype if dtype is not None else _config_dtype(data)
        from transformers.initialization import no_init_weights

        try:
            with fake_mode(device=device), no_init_weights():
                model = model_class._from_config(
                    config, dtype=chosen, attn_implementation=_attention(model_class)
                )
            with fake_mode(device=device):
                # Suppressed with the initialisation, but part of what the model is.
                model.tie_weights()
        except ImportError as e:
            raise InputError("model_type", f"{config.model_type} needs a package: {e}") from None
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as e:
            if isinstance(e, InputError):
                raise
            text = f"no {model_class.__name__} can be built from it: {type(e).__name__}: {e}"
            raise InputError("MODEL", text) from e
    return model.train(), config


def _config_dtype(data: dict[str, Any]) -> torch.dtype:
    for field in ("dtype", "torch_dtype"):
        if data.get(field) is not None:
            return parse_dtype(data[field], field)
    return torch.float32


def _attention(model_class: type) -> str:
    return "sdpa" if getattr(model_class, "_supports_sdpa", False) else "eager"


def _model_class(data: dict[str, Any], config: Any) -> type:
    """The class that `architectures` names, else the language model of the config's type."""
    import transformers

    names = data.get("architectures") or []
    if names:
        found = getattr(transformers, names[0], None)
        if not (inspect.isclass(found) and issubclass(found, transformers.PreTrainedModel)):
            raise InputError(
                "architectures", f"{names[0][:80]!r} is no model class of transformers"
            )
        own = found.config_class
        if own is not None and not isinstance(config, own):
            raise InputError(
                "architectures", f"a {names[0]} is not built from a {config.model_type} config"
            )
        return found
    auto = transformers.models.auto.modeling_auto
    if getattr(config, "is_encoder_decoder", False):
        order = [auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING]
    else:
        order = [auto.MODEL_FOR_MASKED_LM_MAPPING, auto.MODEL_FOR_CAUSAL_LM_MAPPING]
    for mapping in (*order, auto.MODEL_MAPPING):
        found = mapping.get(type(config), None)
        if found is not None:
            return found[0] if isinstance(found, tuple) else found
    raise InputError(
        "architectures", f"is missing, and {config.model_type} has no usual model class"
    )


def _call_builder(model_text: str, dtype: torch.dtype | None, device: str) -> torch.nn.Module:
    module_name, _, attribute = model_text.rpartition(":")
    if not re.fullmatch(r"[\w.]+", module_name) or not re.fullmatch(r"[\w.]+", attribute):
        raise InputError(
            "MODEL",
            f"there is no file or folder {model_text[:200]}, and it is no package.module:callable",
        )
    # As `python -m` does: modules beside the user's files are found, also by the console script.
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        builder: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as e:
        if e.name is None or not f"{module_name}.".startswith(f"{e.name}."):
            raise
        raise InputError("MODEL", f"there is no module {e.name} (of {model_text})") from None
    for part in attribute.split("."):
        builder = getattr(builder, part, None)
    if not callable(builder):
        raise InputError("MODEL", f"{module_name} has no callable {attribute}")
    with _default_dtype(dtype), fake_mode(device=device):
        model = builder()
    if not isinstance(model, torch.nn.Module):
        raise InputError("MODEL", f"{model_text} gave a {type(model).__name__}, not an nn.Module")
    return model


@contextlib.contextmanager
def _default_dtype(dtype: torch.dtype | None) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype or before)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


# --- inputs --------------------------------------------------------------------------------------

Inputs = dict[str, Any]
Loss = Callable[[Any, Inputs], torch.Tensor]

_TOKEN_LABELS = re.compile(
    r"For(CausalLM|MaskedLM|ConditionalGeneration|TokenClassification|PreTraining)|LMHead"
)
_CLASS_LABELS = re.compile(r"For(Sequence|Image|Audio|Video)Classification")


def _tokens(batch: int, seq: int) -> torch.Tensor:
    return torch.empty((batch, seq), dtype=torch.int64)


def _inputs_of_transformers(
    model: torch.nn.Module, batch: int, seq: int | None, task: str
) -> tuple[Inputs, Loss]:
    """What the model reads at batch x seq, without padding, and with labels when it is trained."""
    config: Any = model.config
    main = model.main_input_name
    accepted = inspect.signature(model.forward).parameters
    if main == "input_ids":
        inputs: Inputs = {"input_ids": _tokens(batch, seq)}
        if config.is_encoder_decoder:
            inputs["decoder_input_ids"] = _tokens(batch, seq)
    elif main == "pixel_values":
        inputs = {"pixel_values": _images(config, batch, _main_dtype(model))}
    else:
        raise InputError(
            "architectures",
            f"{type(model).__name__} reads {main}; inputs are made for models of tokens or images. "
            "Use package.module:callable with a method example_inputs(batch, seq)",
        )
    if task == "forward" or "labels" not in accepted:
        # The cache of a forward is what the config says; a training step keeps none.
        if task == "train" and "use_cache" in accepted:
            inputs["use_cache"] = False
        return inputs, _first_output_loss
    kind = type(model).__name__
    if main == "input_ids" and _TOKEN_LABELS.search(kind):
        inputs["labels"] = _tokens(batch, seq)
        # Where the config says with which token a decoder starts, the model shifts the labels.
        if getattr(config, "decoder_start_token_id", None) is not None:
            inputs.pop("decoder_input_ids", None)
    elif _CLASS_LABELS.search(kind):
        inputs["labels"] = torch.empty((batch,), dtype=torch.int64)
    if "use_cache" in accepted:
        inputs["use_cache"] = False
    return inputs, _labels_loss if "labels" in inputs else _first_output_loss


def _images(config: Any, batch: int, dtype: torch.dtype) -> torch.Tensor:
    vision = getattr(config, "vision_config", config)
    size, channels = getattr(vision, "image_size", None), getattr(vision, "num_channels", 3)
    sides = [size, size] if isinstance(size, int) else list(size or [])
    if len(sides) != 2:
        raise InputError("image_size", "is missing; the size of the images is needed")
    return torch.empty((batch, channels, *sides), dtype=dtype)


def _inputs_of_module(
    model: torch.nn.Module, batch: int, seq: int | None, task: str
) -> tuple[Inputs, Loss]:
    """`model.example_inputs(batch, seq)`, or what the first layer reads."""
    own = getattr(model, "example_inputs", None)
    if callable(own):
        given = own(batch, seq)
        if isinstance(given, dict):
            inputs = dict(given)
        else:
            values = given if isinstance(given, (tuple, list)) else (given,)
            inputs = {str(i): v for i, v in enumerate(values)}
        return inputs, _labels_loss if "labels" in inputs else _first_output_loss
    middle = () if seq is None else (seq,)
    for layer in model.modules():
        if isinstance(layer, torch.nn.Linear):
            shape = (batch, *middle, layer.in_features)
            return {"0": torch.empty(shape, dtype=layer.weight.dtype)}, _first_output_loss
        if isinstance(layer, torch.nn.Embedding):
            shape = (batch, *middle) if middle else (batch, DEFAULT_SEQ)
            return {"0": torch.empty(shape, dtype=torch.int64)}, _first_output_loss
        if next(layer.children(), None) is None and next(layer.parameters(), None) is not None:
            break
    raise InputError(
        "MODEL",
        f"the inputs of {type(model).__name__} are not known: give it a method "
        "example_inputs(batch, seq) that returns a tensor, a tuple or a dict of them",
    )


# --- steps ---------------------------------------------------------------------------------------


def _labels_loss(output: Any, inputs: Inputs) -> torch.Tensor:
    return output["loss"] if isinstance(output, dict) else output.loss


def _first_output_loss(output: Any, inputs: Inputs) -> torch.Tensor:
    """The mean of the first floating output: a model that has no loss of its own is given one."""
    stack = [output]
    while stack:
        item = stack.pop()
        if isinstance(item, torch.Tensor) and item.is_floating_point():
            return item.float().mean()
        if isinstance(item, dict):
            stack += reversed(list(item.values()))
        elif isinstance(item, (tuple, list)):
            stack += reversed(item)
    raise InputError("MODEL", "the model gives no floating tensor: there is no loss to train on")


def _call(model: torch.nn.Module, inputs: Inputs) -> Any:
    positional = [v for k, v in inputs.items() if k.isdigit()]
    return model(*positional, **{k: v for k, v in inputs.items() if not k.isdigit()})


def _forward_step(model: torch.nn.Module, inputs: Inputs) -> Any:
    with torch.no_grad():
        return _call(model, inputs)


def _train_step(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, loss: Loss, inputs: Inputs
) -> torch.Tensor:
    value = loss(_call(model, inputs), inputs)
    value.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return value.detach()


def _prepared_optimizer(model: torch.nn.Module, name: str) -> torch.optim.Optimizer:
    """The optimizer with the state of a step already taken: in its first step alone a run needs
    less, since the state is made when the activations are gone."""
    trained = [p for p in model.parameters() if p.requires_grad]
    if not trained:
        raise InputError("MODEL", "the model has no parameter to train; use --task forward")
    optimizer = OPTIMIZERS[name](trained)
    for p in trained:
        p.grad = torch.empty_like(p)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return optimizer
