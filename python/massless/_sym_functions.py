"""torch's functions that ask more of a size than it can answer, above our dispatch key.

ATen's LSTM is oneDNN's on the CPU, save for sizes that are symbols, where it steps through the
sequence; the gradient of a power compares the exponent as a plain number. Both get a way round, put
on torch with the first symbol that is made; calls without symbols go to what was there before.
"""

import functools

import torch
from torch.jit import _builtins

from massless import _C

_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)


def install() -> None:
    _function("lstm", _make_lstm)
    _function("pow", _make_pow)
    for owner, name in (
        (torch, "_foreach_pow"), (torch, "_foreach_pow_"), (torch.special, "zeta"),
    ):  # fmt: skip
        old = getattr(owner, name)
        new = functools.wraps(old)(_make_fixing(old))
        if name == "zeta":
            _builtins._register_builtin(new, "aten::special_zeta")
        setattr(owner, name, new)
    for name in ("pow", "pow_", "__pow__", "__ipow__"):
        old = getattr(torch.Tensor, name)
        setattr(torch.Tensor, name, functools.wraps(old)(_make_pow(old)))


def _function(name: str, make) -> None:
    old = getattr(torch, name)
    new = functools.wraps(old)(make(old))
    _builtins._register_builtin(new, f"aten::{name}")  # what TorchScript makes of a call
    setattr(torch, name, new)
    setattr(torch._VF, name, new)


def _make_pow(old):
    def pow(self, *args, **kwargs):
        if _is_symbol_among(self, *args, *kwargs.values()) and _compares(self, *args):
            self, *args = map(_fixed, (self, *args))
            kwargs = {key: _fixed(value) for key, value in kwargs.items()}
        return old(self, *args, **kwargs)

    return pow


def _make_fixing(old):
    def fixing(*args, **kwargs):
        if _is_symbol_among(*args, *kwargs.values()):
            args = tuple(map(_fixed, args))
            kwargs = {key: _fixed(value) for key, value in kwargs.items()}
        return old(*args, **kwargs)

    return fixing


def _is_symbol_among(*values) -> bool:
    return any(isinstance(x, _SYMBOLS) and _C.is_symbol(x) for x in values)


def _compares(*values) -> bool:
    """The gradient does, and the real kernel."""
    return any(
        isinstance(t, torch.Tensor)
        and (torch.is_grad_enabled() and t.requires_grad or not _C.is_fake(t))
        for t in values
    )


def _fixed(x):
    """Of a symbol of ours its example, which is guarded."""
    if not _is_symbol_among(x):
        return x
    return int(x) if isinstance(x, torch.SymInt) else float(x)


# torch.lstm


def _make_lstm(old):
    def lstm(input, *args, **kwargs):
        # With `batch_sizes` in the place of `hx`: a packed sequence, which ATen steps through.
        if len(args) == 8 and not kwargs and not isinstance(args[0], torch.Tensor):
            hx, weights = args[:2]
            if _is_symbolic(input, *hx) and _goes_to_onednn(input, hx, weights):
                return _layers(input, *args)
        return old(input, *args, **kwargs)

    return lstm


def _is_symbolic(*tensors) -> bool:
    return any(_C.is_fake(t) and _C.shape_env_of(t) is not None for t in tensors)


def _goes_to_onednn(input, hx, weights) -> bool:
    """use_mkldnn of aten/src/ATen/native/RNN.cpp; and no projections, of which oneDNN has none."""
    if not torch._C._get_mkldnn_enabled() or any(
        t.device.type != "cpu" for t in (input, *hx, *weights)
    ):
        return False
    dtype = input.dtype
    supported = (
        dtype == torch.float32
        or (dtype == torch.bfloat16 and torch.ops.mkldnn._is_mkldnn_bf16_supported())
        or (
            dtype == torch.float16
            and not torch.is_grad_enabled()
            and torch.ops.mkldnn._is_mkldnn_fp16_supported()
        )
    )
    return supported and bool(input.numel() != 0) and bool(hx[0].shape[2] == hx[1].shape[2])


def _layers(
    input, hx, weights, has_biases, num_layers, dropout, train, bidirectional, batch_first
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The operators that ATen calls where the sizes are plain, and what it holds meanwhile: the
    copies of its inputs to the end, and what each direction gave until it gives the next."""
    hidden, cell = (t.contiguous() for t in hx)
    start = (input.transpose(0, 1) if batch_first else input).contiguous()
    directions = 2 if bidirectional else 1
    per_layer = 4 if has_biases else 2
    hidden_size = int(hidden.shape[2])
    sequence, outputs, hidden_out, cell_out = start, [None] * directions, [], []
    for layer in range(num_layers):
        for direction in range(directions):
            i = layer * directions + direction
            own = list(weights[i * per_layer : (i + 1) * per_layer])
            if not has_biases:
                own += [torch.zeros_like(w) for w in own]
            made = torch.mkldnn_rnn_layer(
                sequence, *own, hidden[i], cell[i], direction > 0, [], _LSTM, hidden_size,
                num_layers, has_biases, bidirectional, batch_first, train,
            )  # fmt: skip
            outputs[direction] = made[0]
            hidden_out.append(made[1])
            cell_out.append(made[2])
            del own, made
        sequence = outputs[0] if directions == 1 else torch.cat(outputs, -1)
        if dropout != 0 and train and layer < num_layers - 1:
            sequence = torch.dropout(sequence, dropout, True)
    output = sequence.transpose(0, 1) if batch_first else sequence
    result = output, torch.stack(hidden_out), torch.stack(cell_out)
    for held in (cell_out, hidden_out, outputs):  # let go in ATen's order
        held.reverse()
        held.clear()
    del output, sequence, cell, hidden, start
    return result


_LSTM = 2  # the mode's number in ATen
