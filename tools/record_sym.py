"""Records what tracing real models asks of torch's ShapeEnv, as corpora for the engine of src/sym.

Run it from the repository root: `HF_HUB_OFFLINE=1 python tools/record_sym.py` writes, for Llama,
BERT and ResNet in tiny configurations, forward and backward under FakeTensorMode with a ShapeEnv,
first with all dimensions of the inputs dynamic, then those of the parameters as well:

tests/sym/data/questions_MODEL.txt   What was asked, in the syntax of src/sym/text.h, each question
                                     once. `decided`: ShapeEnv knew, with what it had assumed so
                                     far. `guarded`: it made a guard, which is assumed next.
bench/data/size_ops_MODEL.txt        The operations on sizes, one a line, in order:
    symbol NAME LO HI EXAMPLE            makes a value
    METHOD OPERAND ... [RESULT]          a method of SymNode; makes a value, evaluated at once
    guard OPERAND RESULT                 evaluated, with a guard where that takes one
    known OPERAND RESULT                 asked without making a guard
A result is y, n, u (unknown) or =NUMBER. An operand is the number of the value's line (counting
those that make one, from 0), -1 for the last one made, -2 for that before, or a number itself: #3.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sympy
import torch
from torch._dynamo.source import ConstantSource
from torch._subclasses import FakeTensorMode
from torch.func import functional_call
from torch.fx.experimental import symbolic_shapes
from torch.fx.experimental.sym_node import SymNode, magic_methods, sizes_strides_methods
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    ShapeEnv,
    StatelessSymbolicContext,
)
from torch.utils._sympy.numbers import int_oo
from transformers import (
    BertConfig,
    BertForMaskedLM,
    LlamaConfig,
    LlamaForCausalLM,
    ResNetConfig,
    ResNetForImageClassification,
)

ROOT = Path(__file__).resolve().parent.parent
BATCH, SEQUENCE, HEIGHT, WIDTH = 3, 7, 37, 45

INFIX: dict[str, str] = {
    "FloorDiv": "//", "CleanDiv": "//", "Mod": "%", "PythonMod": "%", "Equality": "==",
    "Unequality": "!=", "StrictLessThan": "<", "LessThan": "<=", "StrictGreaterThan": ">",
    "GreaterThan": ">=",
}  # fmt: skip
CALLS: dict[str, str] = {
    "CeilDiv": "ceildiv", "IntTrueDiv": "truediv", "FloatTrueDiv": "fdiv", "FloatPow": "fpow",
    "ToFloat": "float", "TruncToInt": "trunc", "FloorToInt": "floor", "CeilToInt": "ceil",
    "RoundToInt": "round", "Abs": "abs", "OpaqueUnaryFn_sqrt": "sqrt", "Where": "ite",
}  # fmt: skip


class NoSyntaxError(ValueError):
    """An expression that src/sym/text.h cannot say."""


def text_of(e: Any) -> str:
    """A sympy expression in the syntax of src/sym/text.h."""
    if isinstance(e, (bool, int)):
        return str(e)
    if e.is_Integer or isinstance(e, sympy.logic.boolalg.BooleanAtom):
        return str(e)
    if e.is_Symbol:
        return str(e.name)
    if isinstance(e, sympy.Float):
        return repr(float(e))
    name = type(e).__name__
    if name == "Piecewise":
        return piecewise(e)
    parts = [text_of(a) for a in e.args]
    if name in INFIX:
        return f"({parts[0]} {INFIX[name]} {parts[1]})"
    if name in CALLS:
        return f"{CALLS[name]}({', '.join(parts)})"
    if name == "Not":
        return f"(not {parts[0]})"
    if name in ("And", "Or"):
        return f"({f' {name.lower()} '.join(parts)})"
    if name in ("Min", "Max") and all(a.is_integer for a in e.args):
        return f"{name.lower()}({', '.join(parts)})"
    if name in ("Add", "Mul") and all(a.is_integer for a in e.args):
        return f"({(' + ' if name == 'Add' else '*').join(parts)})"
    if name == "PowByNatural" or (name == "Pow" and e.exp.is_Integer and e.exp > 0):
        return f"({parts[0]})**{parts[1]}"
    if name == "ModularIndexing":
        return f"({parts[0]}//{parts[1]}) % {parts[2]}"
    raise NoSyntaxError(f"{name}: {e}")


def piecewise(e: Any) -> str:
    *branches, (last, condition) = e.args
    if condition is not sympy.true:
        raise NoSyntaxError(str(e))
    out = text_of(last)
    for value, when in reversed(branches):
        out = f"ite({text_of(when)}, {text_of(value)}, {out})"
    return out


def shown(result: Any) -> str:
    return {True: "y", False: "n", None: "u"}[result] if is_truth(result) else f"={result}"


def is_truth(result: Any) -> bool:
    return result is None or isinstance(result, bool)


RESULT = re.compile(r" ([ynu]|=\S+)$")
RELATIONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


class Recorder:
    """Notes operations and questions while its patches of SymNode and ShapeEnv are in place."""

    def __init__(self) -> None:
        self.operations: list[str] = []
        self.questions: list[str] = []
        self.untranslated: Counter[str] = Counter()
        self.made = 0
        self.begin("")

    def begin(self, what: str) -> None:
        self.values: dict[int, int] = {}  # id of a SymNode -> number of its value
        self.by_expr: dict[Any, int] = {}
        self.truths: dict[int, str] = {}  # id of a boolean SymNode -> its question
        self.kept: list[SymNode] = []  # ids stay in use
        self.symbols: set[Any] = set()
        self.asked: set[str] = set()
        self.guards = 0
        self.made = 0
        if what:
            self.operations.append(f"reset {what}")
            self.questions.append(f"reset {what}")

    def value_line(self, line: str) -> int:
        self.operations.append(line)
        self.made += 1
        return self.made - 1

    def note_symbols(self, env: ShapeEnv, e: Any) -> None:
        for s in sorted(e.free_symbols - self.symbols, key=str):
            self.symbols.add(s)
            ends = env.var_to_range[s]
            hi = "inf" if ends.upper is int_oo else str(ends.upper)
            self.by_expr[s] = self.value_line(
                f"symbol {s} {ends.lower} {hi} {env.backed_var_to_val[s]}"
            )
            self.questions.append(f"symbol {s} {ends.lower} {hi}")

    def argument(self, node: SymNode) -> str:
        """The number of a node's value, or the number that it is."""
        number = self.values.get(id(node))
        if number is None:
            if self.constant(node):
                return f"#{node.expr}"
            self.note_symbols(node.shape_env, node._expr)
            number = self.by_expr.get(node._expr)
            if number is None:
                number = self.product(node._expr)
            self.keep(node, number)
        back = number - self.made
        return str(back) if back > -100 else str(number)

    def constant(self, node: SymNode) -> bool:
        """Written as a number, not come out as one."""
        return id(node) not in self.values and not node.expr.free_symbols

    def product(self, e: Any) -> int:
        """A stride made with its tensor, not by an operation."""
        if not e.is_Mul or not all(a.is_Symbol for a in e.args):
            raise NoSyntaxError(f"{type(e).__name__}: {e}")
        number = self.by_expr[e.args[0]]
        for factor in e.args[1:]:
            number = self.value_line(f"mul {number} {self.by_expr[factor]}")
        return number

    def keep(self, node: SymNode, number: int) -> None:
        self.kept.append(node)
        self.values[id(node)] = number
        self.by_expr.setdefault(node._expr, number)

    def operation(self, method: str, operands: list[Any], result: Any) -> None:
        if not isinstance(result, SymNode):
            return
        try:
            arguments = [self.argument(o) for o in operands]
            if all(a.startswith("#") for a in arguments):
                return
            self.keep(result, self.value_line(" ".join([method, *arguments])))
            self.truths[id(result)] = self.truth(method, operands)
        except NoSyntaxError as error:
            self.untranslated[str(error).split(":")[0]] += 1

    def truth(self, method: str, operands: list[Any]) -> str:
        """As it was written: sympy's own form of a comparison has been decided in part already."""
        if method in RELATIONS:
            a, b = (self.number(o) for o in operands)
            return f"{a} {RELATIONS[method]} {b}"
        parts = [f"({self.question(o)})" for o in operands if o.is_bool()]
        if method in ("and", "or", "sym_and", "sym_or") and len(parts) == 2:
            return f" {method.removeprefix('sym_')} ".join(parts)
        return f"not {parts[0]}" if method == "sym_not" else ""

    def number(self, node: SymNode) -> str:
        return f"({self.question(node)})" if node.is_bool() else text_of(node._expr)

    def question(self, node: SymNode) -> str:
        return self.truths.get(id(node)) or text_of(node._expr)

    def ask(self, node: SymNode, result: Any, how: str, knows: bool) -> None:
        try:
            argument = self.argument(node)
            if how == "guard" and argument == "-1" and not RESULT.search(self.operations[-1]):
                self.operations[-1] += f" {shown(result)}"
            else:
                self.operations.append(f"{how} {argument} {shown(result)}")
            if self.constant(node):
                return
            asked = self.question(node)
            if not node.is_bool():
                asked, result = f"{asked} == {result}", True
            env = node.shape_env
            self.note_symbols(env, node._expr)
            new = env.guards[self.guards :]
            self.guards = len(env.guards)
            # Neither: guards are suppressed, the example alone decides.
            if knows or new:
                verdict = "decided" if knows else "guarded"
                self.once(f"{verdict} {'yes' if result else 'no'} {asked}")
            for guard in new:
                self.note_symbols(env, guard.expr)
                self.questions.append(f"assume {text_of(guard.expr)}")
        except NoSyntaxError as error:
            self.untranslated[str(error).split(":")[0]] += 1

    def once(self, line: str) -> None:
        if line not in self.asked:
            self.asked.add(line)
            self.questions.append(line)


def is_known(env: ShapeEnv, e: Any) -> bool:
    """Would evaluate_expr make no guard?"""
    if not e.free_symbols or env._maybe_fast_eval_comparison(e) is not None:
        return True
    return env._maybe_evaluate_static(e) is not None


def wrapped_method(recorder: Recorder, method: str, call: Callable[..., Any]) -> Any:
    def wrapper(self: SymNode, *others: Any) -> Any:
        result = call(self, *others)
        flat = [
            o for other in others for o in (other if isinstance(other, (list, tuple)) else [other])
        ]
        operands = flat if method in sizes_strides_methods or method == "sym_sum" else [self, *flat]
        recorder.operation(method, operands, result)
        return result

    return wrapper


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    patched: list[tuple[Any, str, Any]] = []

    def patch(where: Any, name: str, make: Callable[[Any], Any]) -> None:
        patched.append((where, name, getattr(where, name)))
        setattr(where, name, make(getattr(where, name)))

    def evaluate(call: Any) -> Any:
        def wrapper(env: ShapeEnv, node: SymNode, *args: Any, **kwargs: Any) -> Any:
            knows = is_known(env, node.expr)
            result = call(env, node, *args, **kwargs)
            recorder.ask(node, bool(result) if node.is_bool() else result, "guard", knows)
            return result

        return wrapper

    def static(call: Any) -> Any:
        def wrapper(x: Any) -> Any:
            result = call(x)
            recorder.ask(x.node, result, "known", result is not None)
            return result

        return wrapper

    for method in [*magic_methods, *sizes_strides_methods]:
        attribute = f"_{method}_" if method in ("and", "or") else f"_{method}"
        patch(SymNode, attribute, lambda call, m=method: wrapped_method(recorder, m, call))
    patch(SymNode, "sym_sum", lambda call: wrapped_method(recorder, "sym_sum", call))
    patch(ShapeEnv, "evaluate_sym_node", evaluate)
    patch(symbolic_shapes, "_static_eval_sym_bool", static)
    try:
        yield
    finally:
        for where, name, call in reversed(patched):
            setattr(where, name, call)


def llama(layers: int) -> torch.nn.Module:
    config = LlamaConfig(
        vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=layers,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, use_cache=False,
    )  # fmt: skip
    return LlamaForCausalLM._from_config(config, attn_implementation="sdpa")


def bert(layers: int) -> torch.nn.Module:
    config = BertConfig(
        vocab_size=96, hidden_size=32, num_hidden_layers=layers, num_attention_heads=4,
        intermediate_size=48, max_position_embeddings=64,
    )  # fmt: skip
    return BertForMaskedLM._from_config(config, attn_implementation="sdpa")


def resnet(layers: int) -> torch.nn.Module:
    config = ResNetConfig(
        embedding_size=8, hidden_sizes=[12, 16], depths=[layers, layers], layer_type="basic",
        num_labels=10,
    )  # fmt: skip
    return ResNetForImageClassification(config)


def text_inputs() -> dict[str, torch.Tensor]:
    ids = torch.randint(0, 96, (BATCH, SEQUENCE))
    return {"input_ids": ids, "labels": ids.clone()}


def image_inputs() -> dict[str, torch.Tensor]:
    return {
        "pixel_values": torch.randn(BATCH + 2, 3, HEIGHT, WIDTH),
        "labels": torch.randint(0, 10, (BATCH + 2,)),
    }


MODELS = {
    "llama": (llama, text_inputs),
    "bert": (bert, text_inputs),
    "resnet": (resnet, image_inputs),
}


def all_dynamic(mode: FakeTensorMode, name: str, tensor: torch.Tensor) -> torch.Tensor:
    context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC] * tensor.dim())
    return mode.from_tensor(tensor, symbolic_context=context, source=ConstantSource(name))


def trace(recorder: Recorder, name: str, parameters_too: bool) -> None:
    """Two layers, or one where the parameters' sizes have symbols of their own in each layer."""
    build, make_inputs = MODELS[name]
    torch.manual_seed(0)
    model, inputs = build(1 if parameters_too else 2).train(), make_inputs()
    recorder.begin("parameters" if parameters_too else "inputs")
    with recording(recorder):
        mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
        state = {
            key.replace(".", "_"): (key, value)
            for key, value in [*model.named_parameters(), *model.named_buffers()]
        }
        fakes = {
            key: all_dynamic(mode, path, value)
            if parameters_too
            else mode.from_tensor(value, static_shapes=True)
            for path, (key, value) in state.items()
        }
        given = {key: all_dynamic(mode, key, value) for key, value in inputs.items()}
        with mode:
            loss = functional_call(model, fakes, (), given).loss
            loss.backward()


def written(path: Path, lines: list[str]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return f"{path.relative_to(ROOT)}: {len(lines)} lines, {path.stat().st_size / 1024:.0f} KiB"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="*", default=list(MODELS))
    for name in parser.parse_args().models:
        recorder = Recorder()
        for parameters_too in (False, True):
            trace(recorder, name, parameters_too)
        head = [f"# torch {torch.__version__}, tools/record_sym.py"]
        questions = ROOT / "tests" / "sym" / "data" / f"questions_{name}.txt"
        print(written(questions, head + recorder.questions))
        operations = ROOT / "bench" / "data" / f"size_ops_{name}.txt"
        print(written(operations, head + recorder.operations))
        print(f"  untranslated: {dict(recorder.untranslated)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
