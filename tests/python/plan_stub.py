"""A plan made by hand, with the members that reports read."""

from massless._plan import Event, Fits, Formula, Held, Reserved
from massless._units import parse_bytes

KB = 1024
LINE = "/home/user/model.py:12 in forward"


class StubPlan:
    """Parameters of 8 KiB, an activation, a temporary: the peak of 15 KiB is at event 3 of 5."""

    def __init__(self):
        import torch

        self.device = torch.device("cuda")
        self.peak = Formula(15 * KB)
        self.kinds = {
            "parameters": Formula(8 * KB),
            "gradients": Formula(0),
            "optimizer_state": Formula(0),
            "activations": Formula(4 * KB),
            "temporaries": Formula(3 * KB),
        }
        self.kinds_at_peak = dict(self.kinds)
        self.flops_by_phase = {"forward": Formula(12_000_000), "backward": Formula(24_000_000)}
        self.flops = Formula(36_000_000)
        self.symbols, self.guards = {}, []
        self.parameter_count = 4096
        self.seconds = 0.25
        self.timeline = [
            self._event(0, 4, 0, "parameter", "aten::empty"),
            self._event(1, 8, 1, "parameter", "aten::empty"),
            self._event(2, 12, 2, "activation", "aten::mm"),
            self._event(3, 15, 3, "temporary", "aten::<script>alert(1)</script>"),
            self._event(4, 12, 3, "temporary", "aten::mm"),
        ]
        self.peak_event = self.timeline[3]

    @staticmethod
    def _event(time, live, storage, kind, operator):
        change = (4, 4, 4, 3, -3)[time] * KB
        return Event(
            time, live * KB, change, operator, "model.layers.1.mlp", LINE, storage, kind, "forward"
        )

    def at(self, **values):
        self.symbols = values
        return self

    def at_peak(self, n=20):
        rows = [
            Held(4 * KB, "parameter", f"model.layers.{i}.mlp.weight", "aten::empty", "", "")
            for i in (0, 1)
        ]
        rows.append(Held(4 * KB, "activation", "", "aten::mm", "model.layers.1.mlp", LINE))
        rows.append(Held(3 * KB, "temporary", "", "aten::<b>", "model.layers.1.mlp", LINE))
        return rows[:n]

    def reserved(self, overhead=None):
        return Reserved(2 * KB * KB, {"context": 500 * KB * KB} if overhead is None else overhead)

    def fits(self, budget):
        answer = Fits()
        answer.by = parse_bytes(budget) - int(self.peak)
        answer.ok = answer.by >= 0
        return answer

    def to_dict(self):
        return {
            "parameters": {"count": self.parameter_count, "bytes": int(self.kinds["parameters"])},
            "peak": {"bytes": int(self.peak), "formula": str(self.peak)},
            "kinds": {k: int(v) for k, v in self.kinds.items()},
            "flops": {k: int(v) for k, v in self.flops_by_phase.items()},
            "reserved": {"bytes": self.reserved().bytes},
            "seconds": self.seconds,
        }
