"""The recorded calls of model_operators.json as vectors: operators_to_vectors.py IN OUT."""

import json
import sys

# Their result is a value: a fake can answer only if its own is known.
NEED_VALUES = ("_local_scalar_dense", "item", "is_nonzero", "nonzero", "equal")


def main() -> None:
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        operators = json.load(file)["operators"]
    lines = []
    for operator in operators:
        name = operator["op"].removeprefix("aten::").split(".")[0]
        for signature in operator["signatures"]:
            needs = name in NEED_VALUES or (name == "index" and "[bool[" in signature)
            lines.append(signature + (" ~known" if needs else ""))
    with open(target, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
