"""The recorded calls of model_operators.json as vectors.

operators_to_vectors.py IN OUT OUT_OF_CUDA
"""

import json
import sys

# Their result is a value: a fake can answer only if its own is known.
NEED_VALUES = ("_local_scalar_dense", "item", "is_nonzero", "nonzero", "equal")
# A stream has no text; the other takes CPU tensors only.
NOT_ON_CUDA = ("record_stream", "_pin_memory")
# A size of theirs is cuDNN's own secret (weights, states of a device, reserve space of training):
# these calls are a typed error. What is known of them is in src/rules/rnn.vec.
CUDNN_SIZES = ("_cudnn_rnn", "_cudnn_rnn_flatten_weight", "_cudnn_init_dropout_state")


def name_of(operator: dict) -> str:
    return operator["op"].removeprefix("aten::").split(".")[0]


def cpu_lines(operators: list[dict]) -> list[str]:
    lines = []
    for operator in operators:
        name = name_of(operator)
        for signature in operator["signatures"]:
            needs = name in NEED_VALUES or (name == "index" and "[bool[" in signature)
            lines.append(signature + (" ~known" if needs else ""))
    return lines


def cuda_lines(operators: list[dict]) -> list[str]:
    return [
        operator["signature"] + " -> cuda only"
        for operator in operators
        if operator["signature"] and name_of(operator) not in NOT_ON_CUDA + CUDNN_SIZES
    ]


def main() -> None:
    source, target, cuda_target = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        recorded = json.load(file)
    for path, lines in (
        (target, cpu_lines(recorded["operators"])),
        (cuda_target, cuda_lines(recorded["cuda_only"])),
    ):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
