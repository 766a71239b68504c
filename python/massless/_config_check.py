"""Reads a transformers config.json and refuses what no model can be built from.

Everything is checked before transformers sees it, so that each refusal can name the field: its
own classes check types, but take -1 layers, and fail with a shape error far from the cause.
"""

import copy
import difflib
import json
import math
import pathlib
import re
from collections.abc import Iterator
from typing import Any

MAX_FILE_BYTES = 10 * 1000 * 1000
MAX_DEPTH = 64
# No published model comes near; with them all sums of bytes stay below 2**63.
LIMITS = {
    "num_hidden_layers": 10_000,
    "num_attention_heads": 100_000,
    "num_key_value_heads": 100_000,
    "hidden_size": 1_000_000,
    "intermediate_size": 10_000_000,
    "vocab_size": 10_000_000,
    "max_position_embeddings": 1_000_000_000,
}
# What a text model cannot be guessed without: transformers would fill in another model's number.
REQUIRED = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "vocab_size",
    "max_position_embeddings",
)
_LAYERS = re.compile(r"(^|_)(n_layers?|num_layers|layers)$|num_\w*layers$")
_SIZE = re.compile(r"_size$|_dim$|^d_|^n_|^num_\w*(heads|channels|experts)$|^dim$|_layers$")
_REAL = re.compile(r"_eps$|_epsilon$|_theta$|_range$|_pdrop$|dropout|_prob$")
_SHARE = re.compile(r"_pdrop$|dropout(_prob)?$|dropout_rate$")
_HEAD_SIZE = re.compile(r"head_dim|head_size|kv_channels|^d_kv$")
_OBJECTS = ("rope_scaling", "rope_parameters")


class InputError(ValueError):
    """The call or the input is wrong. `field` names the option or the field of the config."""

    def __init__(self, field: str, text: str):
        super().__init__(f"{field}: {text}")
        self.field = field
        self.text = text


def read_config(path: str) -> dict[str, Any]:
    """The object in a config.json, or in the one of a folder; InputError where there is none."""
    file = _config_path(path)
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_FILE_BYTES + 1)
    except OSError as e:
        raise InputError("MODEL", f"cannot read {file}: {e.strerror}") from None
    if len(raw) > MAX_FILE_BYTES:
        raise InputError(
            "MODEL", f"{file} is larger than {MAX_FILE_BYTES // 10**6} MB: no config is"
        )
    data = _parse(raw, file)
    if not isinstance(data, dict):
        raise InputError("MODEL", f"{file} holds {_kind(data)}, not an object of config fields")
    for field, value, depth in _walk(data):
        if depth > MAX_DEPTH:
            raise InputError("MODEL", f"{file} is nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(field, f"is {value}; a finite number is needed")
    return data


def _config_path(path: str) -> pathlib.Path:
    file = pathlib.Path(path)
    try:
        if file.is_dir():
            folder, file = file, file / "config.json"
            if not file.exists():
                raise InputError("MODEL", f"the folder {folder} has no config.json")
        if not file.exists():
            raise InputError("MODEL", f"there is no file or folder {str(file)[:200]}")
        if not file.is_file():
            raise InputError("MODEL", f"{file} is not a file")
    except (OSError, ValueError) as e:
        if isinstance(e, InputError):
            raise
        raise InputError("MODEL", f"{path[:200]!r} is not a usable path: {e}") from None
    return file


def _parse(raw: bytes, file: pathlib.Path) -> Any:
    try:
        return json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError("MODEL", f"{file} is not JSON: it is not UTF-8 text") from None
    except RecursionError:
        raise InputError("MODEL", f"{file} is nested deeper than {MAX_DEPTH} levels") from None
    except json.JSONDecodeError as e:
        where = f"line {e.lineno}, column {e.colno}"
        # The parser stops at the end of the text, or inside a string that nothing ends.
        cut = not raw[e.pos :].strip() or e.msg.startswith("Unterminated string")
        hint = ": it ends too early (truncated?)" if cut else ""
        raise InputError("MODEL", f"{file} is not JSON: {e.msg} at {where}{hint}") from None
    except ValueError as e:  # an integer of thousands of digits
        raise InputError("MODEL", f"{file} is not JSON that can be read: {e}") from None


def _walk(data: dict[str, Any]) -> Iterator[tuple[str, Any, int]]:
    """(dotted name, value, depth) of everything inside; no recursion, so any depth will do."""
    stack: list[tuple[str, Any, int]] = [("", data, 0)]
    while stack:
        name, value, depth = stack.pop()
        yield name, value, depth
        if depth > MAX_DEPTH:
            continue
        if isinstance(value, dict):
            stack += [(f"{name}.{k}" if name else k, v, depth + 1) for k, v in value.items()]
        elif isinstance(value, list):
            stack += [(f"{name}[{i}]", v, depth + 1) for i, v in enumerate(value)]


def _kind(value: Any) -> str:
    names = {bool: "a bool", int: "an integer", float: "a number", str: "a string"}
    names |= {list: "a list", dict: "an object", type(None): "null"}
    return names[type(value)]


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    text = json.dumps(value)
    return f"{_kind(value)} ({text if len(text) <= 40 else text[:37] + '...'})"


def check_config(data: dict[str, Any]) -> type:
    """The transformers config class of the object, once every field of it makes sense.

    Raises:
        InputError: names the first field that does not.
    """
    _refuse_code(data)
    config_class = _config_class(data, "")
    if data.get("quantization_config") is not None:
        raise InputError(
            "quantization_config", "quantized weights are not planned: remove the field"
        )
    _check_architectures(data)
    for prefix, part, part_class in _parts(data, config_class):
        _check_part(prefix, part, part_class)
    return config_class


def _refuse_code(data: dict[str, Any]) -> None:
    for name, value, _ in _walk(data):
        last = name.rpartition(".")[2]
        if last == "auto_map" and value or last == "trust_remote_code" and value:
            raise InputError(
                name,
                "the config asks for code that comes with the model; such code is never run. "
                "Use package.module:callable for a model of your own code",
            )


def _config_class(data: dict[str, Any], prefix: str) -> type:
    from transformers import CONFIG_MAPPING

    field = f"{prefix}model_type"
    if "model_type" not in data:
        raise InputError(field, 'is missing; it names the kind of model, such as "llama"')
    name = data["model_type"]
    if not isinstance(name, str):
        raise InputError(field, f'is {_shown(name)}; a string such as "llama" is needed')
    if name not in CONFIG_MAPPING:
        near = difflib.get_close_matches(name, list(CONFIG_MAPPING.keys()), 3, 0.7)
        hint = f"; near: {', '.join(near)}" if near else ""
        raise InputError(field, f"{name[:80]!r} is no model type of this transformers{hint}")
    return CONFIG_MAPPING[name]


def _parts(data: dict[str, Any], config_class: type) -> Iterator[tuple[str, dict[str, Any], type]]:
    """The config and the configs inside it (a vision tower, a text model), outermost first."""
    stack = [("", data, config_class)]
    while stack:
        prefix, part, part_class = stack.pop()
        yield prefix, part, part_class
        for key, sub_class in getattr(part_class, "sub_configs", {}).items():
            sub = part.get(key)
            if not isinstance(sub, dict):
                continue
            if sub_class.__name__ == "AutoConfig":
                if not sub.get("model_type"):
                    continue
                sub_class = _config_class(sub, f"{prefix}{key}.")
            stack.append((f"{prefix}{key}.", sub, sub_class))


def _check_architectures(data: dict[str, Any]) -> None:
    names = data.get("architectures")
    if names is None:
        return
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise InputError("architectures", f"is {_shown(names)}; a list of class names is needed")


def _annotations(config_class: type) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for base in reversed(config_class.__mro__):
        merged |= vars(base).get("__annotations__", {})
    return merged


def _check_part(prefix: str, part: dict[str, Any], config_class: type) -> None:
    aliases = dict(getattr(config_class, "attribute_map", {}))
    names = {own: public for public, own in aliases.items()}
    fields = _annotations(config_class)
    for public in REQUIRED:
        own = aliases.get(public, public)
        if fields.get(own) is int and own not in part and public not in part:
            raise InputError(prefix + own, f"is missing; a {config_class.model_type} needs it")
    for own, value in part.items():
        public = names.get(own, own)
        _check_field(prefix + own, public, value, fields.get(aliases.get(own, own)), config_class)
    _check_heads(prefix, part, config_class)


def _check_field(field: str, public: str, value: Any, wanted: Any, config_class: type) -> None:
    own = field.rpartition(".")[2]
    # A size per layer is a list in some classes; transformers' own type check knows which.
    optional = wanted is not int
    if wanted in (int, int | None) or public in LIMITS and type(value) in (int, bool, str):
        if value is not None or not optional:
            _check_integer(field, value)
            _check_range(field, public, value, getattr(config_class, own, None))
    elif _REAL.search(own) and wanted is not None and value is not None and wanted is not str:
        _check_real(field, own, value)
    elif own in _OBJECTS and value is not None:
        _check_rope(field, value)
    elif own == "rope_theta" and value is not None:
        _check_real(field, own, value)
    elif own in ("torch_dtype", "dtype") and value is not None:
        parse_dtype(value, field)
    elif public in ("hidden_act", "activation_function"):
        _check_activation(field, value)


def _check_range(field: str, public: str, value: int, default: Any) -> None:
    own = field.rpartition(".")[2]
    is_size = public in LIMITS or _SIZE.search(own)
    # A default of 0 or less has a meaning ("none of them").
    may_be_zero = public not in LIMITS and isinstance(default, int) and default < 1
    if is_size and value < 1 and not may_be_zero:
        raise InputError(field, f"is {value}; at least 1 is needed")
    limit = LIMITS.get("num_hidden_layers" if _LAYERS.search(own) else public)
    if limit is None and is_size:
        limit = LIMITS["intermediate_size"]
    if limit is not None and value > limit:
        raise InputError(field, f"is {value}; the limit is {limit}")


def _check_integer(field: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(field, f"is {_shown(value)}; an integer is needed")


def _check_real(field: str, own: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        # Some classes hold a bool or a list on purpose; transformers' own type check knows them.
        if isinstance(value, (bool, list)) and not own.endswith(("_eps", "_epsilon")):
            return
        raise InputError(field, f"is {_shown(value)}; a number is needed")
    if own == "rope_theta" and value <= 0:
        raise InputError(field, f"is {value}; a number above 0 is needed")
    if value < 0:
        raise InputError(field, f"is {value}; at least 0 is needed")
    if _SHARE.search(own) and value > 1:
        raise InputError(field, f"is {value}; a share between 0 and 1 is needed")


def _check_rope(field: str, value: Any) -> None:
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    if not isinstance(value, dict):
        raise InputError(field, f"is {_shown(value)}; an object or null is needed")
    for name, inner in value.items():
        if isinstance(inner, dict):  # one object per type of layer
            for inmost, number in inner.items():
                _check_rope_number(f"{field}.{name}.{inmost}", inmost, number)
        else:
            _check_rope_number(f"{field}.{name}", name, inner)
        known = {"default", "mrope", "axial", *ROPE_INIT_FUNCTIONS}
        if name in ("rope_type", "type") and inner not in known:
            raise InputError(
                f"{field}.{name}", f"is {_shown(inner)}; known: {', '.join(sorted(known))}"
            )


def _check_rope_number(field: str, own: str, value: Any) -> None:
    if not own.endswith(("factor", "theta", "_embeddings")) or value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(field, f"is {_shown(value)}; a number is needed")
    if value <= 0:
        raise InputError(field, f"is {value}; a number above 0 is needed")


def _check_activation(field: str, value: Any) -> None:
    from transformers.activations import ACT2FN

    if isinstance(value, str) and value not in ACT2FN:
        near = difflib.get_close_matches(value, list(ACT2FN), 3, 0.5)
        raise InputError(
            field, f"{value[:80]!r} is no activation; known: {', '.join(near or ACT2FN)}"
        )


def _check_heads(prefix: str, part: dict[str, Any], config_class: type) -> None:
    aliases = getattr(config_class, "attribute_map", {})

    def given(public: str) -> tuple[str, Any]:
        own = aliases.get(public, public)
        key = own if own in part else public
        return prefix + key, part.get(key)

    (_, hidden), (heads_field, heads) = given("hidden_size"), given("num_attention_heads")
    kv_field, kv_heads = given("num_key_value_heads")
    # A head size of its own (Qwen3, Gemma, T5) frees the hidden size from the number of heads.
    given_too = {name for name, value in part.items() if value is not None}
    own_size = any(_HEAD_SIZE.search(name) for name in {*_annotations(config_class), *given_too})
    if isinstance(hidden, int) and isinstance(heads, int) and not own_size and hidden % heads:
        raise InputError(heads_field, f"is {heads}, which does not divide hidden_size {hidden}")
    if isinstance(heads, int) and isinstance(kv_heads, int) and heads % kv_heads:
        raise InputError(
            kv_field, f"is {kv_heads}, which does not divide the {heads} attention heads"
        )


def build_config(data: dict[str, Any]):
    """The transformers config object; what its own checks refuse is an InputError as well."""
    config_class = check_config(data)
    from huggingface_hub.errors import StrictDataclassError

    try:
        return config_class.from_dict(copy.deepcopy(data))
    except StrictDataclassError as e:
        cause = str(e.__cause__ or e).strip().splitlines()[-1].strip()
        cause = cause.removeprefix("ValueError: ").removeprefix("TypeError: ")
        named = re.search(r"[Ff]ield '(\w+)'", str(e))
        field = named[1] if named else _field_of(cause, data)
        raise InputError(field, cause) from None
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as e:
        raise InputError(_field_of(str(e), data), f"no config can be made from it: {e}") from None


def _field_of(text: str, data: dict[str, Any]) -> str:
    """The field that a message of transformers is about; the config as a whole if it names none."""
    words = re.sub(r"\W+", "_", text)
    named = [f for f in data if len(f) > 4 and (f in text or f in words)]
    heads = [f for f in ("num_attention_heads", "n_head", "num_heads") if f in data]
    if "attention_heads" in words and heads:
        return heads[0]
    return max(named, key=len) if named else "MODEL"


DTYPES = {
    "float32": "float32",
    "fp32": "float32",
    "float": "float32",
    "bfloat16": "bfloat16",
    "bf16": "bfloat16",
    "float16": "float16",
    "fp16": "float16",
    "half": "float16",
    "float64": "float64",
    "fp64": "float64",
    "double": "float64",
}


def parse_dtype(text: Any, field: str = "--dtype"):
    """The torch.dtype of `bf16`, `bfloat16`, `torch.bfloat16`, ...; InputError for others."""
    import torch

    name = DTYPES.get(text.removeprefix("torch.")) if isinstance(text, str) else None
    if name is None:
        known = "bf16, fp16, fp32, fp64"
        found = _shown(text) if not isinstance(text, str) else repr(text[:80])
        raise InputError(
            field, f"{found} is no dtype of weights; known: {known} (or torch's names)"
        )
    return getattr(torch, name)
