"""Ways to reach the data of a fake, each run in a process of its own; prints one JSON row a way.

Run by test_data_access.py. A row: name, whether a mode was open, what came out.
"""

import massless  # isort: skip
import copy
import ctypes
import io
import json
import os
import pickle
import signal
import sys
import warnings
from multiprocessing.reduction import ForkingPickler

import numpy as np
import torch
from torch.multiprocessing import reductions

warnings.simplefilter("ignore")
reductions.init_reductions()

with massless.fake_mode():
    x = torch.empty(2, 3)
    c = torch.empty(2, 3, device="cuda:0")
    i = torch.empty(3, dtype=torch.int64)
    s = torch.empty(())
    z = torch.empty(2, 3, dtype=torch.complex64)
    p = torch.nn.Parameter(torch.empty(2, 2))
    module = torch.nn.Linear(2, 2)
real = torch.zeros(2, 3)
linear = torch.nn.Linear(2, 2)


def storage(t=x):
    return t.untyped_storage()


# The error of Massless, with its code.
TYPED = {
    "numpy": lambda: x.numpy(),
    "numpy, forced": lambda: c.numpy(force=True),
    "numpy of a parameter": lambda: p.detach().numpy(),
    "numpy of .data": lambda: p.data.numpy(),
    "numpy of .cpu()": lambda: c.cpu().numpy(),
    "numpy of a view": lambda: x[0].T.numpy(),
    "numpy of conj": lambda: z.conj().imag.resolve_neg().numpy(),
    "np.array": lambda: np.array(x),
    "np.asarray": lambda: np.asarray(x),
    "np.add": lambda: np.add(x, 1),
    "np.save": lambda: np.save(io.BytesIO(), x),
    "np.testing": lambda: np.testing.assert_array_equal(x, x),
    "__array__": lambda: x.__array__(),
    "tolist": lambda: x.tolist(),
    "tolist of complex": lambda: z.tolist(),
    "item": lambda: s.item(),
    "int": lambda: int(s),
    "float": lambda: float(s),
    "complex": lambda: complex(s),
    "bool": lambda: bool(s),
    "if": lambda: 1 if x[0, 0] else 0,
    "bool of a comparison": lambda: bool((x > 0).all()),
    "index of a list": lambda: [1, 2][i[0]],
    "range": lambda: range(i[0]),
    "in": lambda: 1 in x,
    "sorted": lambda: sorted([s, s]),
    "format with a spec": lambda: f"{s:.2f}",
    "data_ptr": lambda: x.data_ptr(),
    "ctypes": lambda: ctypes.string_at(x.data_ptr(), 4),
    "__cuda_array_interface__": lambda: c.__cuda_array_interface__,
    "__dlpack__": lambda: x.__dlpack__(),
    "from_dlpack": lambda: torch.from_dlpack(x),
    "np.from_dlpack": lambda: np.from_dlpack(x),
    "to_dlpack": lambda: torch.utils.dlpack.to_dlpack(x),
    "apply_": lambda: x.apply_(lambda v: v),
    "map_": lambda: x.map_(x, lambda a, b: a),
    "storage data_ptr": lambda: storage().data_ptr(),
    "storage of cuda data_ptr": lambda: storage(c).data_ptr(),
    "storage item": lambda: storage()[0],
    "storage slice": lambda: storage()[0:2],
    "storage write": lambda: storage().__setitem__(0, 1),
    "storage fill_": lambda: storage().fill_(1),
    "storage bytes": lambda: bytes(storage()),
    "storage tolist": lambda: storage().tolist(),
    "storage clone": lambda: storage().clone(),
    "storage cpu": lambda: storage(c).cpu(),
    "storage cuda": lambda: storage().cuda(),
    "storage float": lambda: x.storage().float(),
    "storage copy_": lambda: storage().copy_(torch.ones(6).untyped_storage()),
    "storage copy_ to a real one": lambda: real.untyped_storage().copy_(storage()),
    "storage byteswap": lambda: storage().byteswap(torch.float32),
    "storage to a file": lambda: storage()._write_file(open(os.devnull, "wb"), False, False, 4),  # noqa: SIM115
    "storage pickled": lambda: pickle.dumps(storage()),
    "storage deep copied": lambda: copy.deepcopy(storage()),
    "storage shared": lambda: storage().share_memory_(),
    "storage shared by file": lambda: storage()._share_filename_cpu_(),
    "storage shared by descriptor": lambda: storage()._share_fd_cpu_(),
    "storage pinned": lambda: storage().pin_memory(),
    "storage from a storage": lambda: torch.UntypedStorage(storage()),
    "typed storage item": lambda: x.storage()[0],
    "typed storage write": lambda: x.storage().__setitem__(0, 1.0),
    "typed storage tolist": lambda: x.storage().tolist(),
    "typed storage data_ptr": lambda: x.storage().data_ptr(),
    "share_memory_": lambda: x.share_memory_(),
    "pickle": lambda: pickle.dumps(x),
    "pickle a parameter": lambda: pickle.dumps(p),
    "pickle a module": lambda: pickle.dumps(module),
    "pickle to another process": lambda: ForkingPickler.dumps(x),
    "__reduce_ex__": lambda: x.__reduce_ex__(2),
    "torch.save": lambda: torch.save(x, io.BytesIO()),
    "torch.save on cuda": lambda: torch.save(c, io.BytesIO()),
    "torch.save of a state_dict": lambda: torch.save(module.state_dict(), io.BytesIO()),
    "torch.save in the old format": lambda: torch.save(
        x, io.BytesIO(), _use_new_zipfile_serialization=False
    ),
    "real.copy_": lambda: real.copy_(x),
    "real.add_": lambda: real.add_(x),
    "real[0] =": lambda: real.__setitem__(0, x[0]),
    "out=real": lambda: torch.add(x, 1, out=real),
    "real.data =": lambda: setattr(real, "data", x),
    "real.grad =": lambda: setattr(real, "grad", x),
    "real.set_": lambda: linear.bias.detach().set_(storage()),
    "set_ to a real storage": lambda: x.set_(real.untyped_storage()).fill_(7),
    "backward into a real parameter": lambda: linear(p).sum().backward(),
    "torch.equal": lambda: torch.equal(real, x),
    "allclose": lambda: torch.allclose(real, x),
    "is_nonzero": lambda: torch.is_nonzero(s),
    "nonzero": lambda: x.nonzero(),
    "a mask": lambda: x[x > 0],
    "masked_select": lambda: x.masked_select(x > 0),
    "unique": lambda: x.unique(),
    "bincount": lambda: i.bincount(),
    "repeat_interleave": lambda: torch.repeat_interleave(i),
    "torch.tensor of fakes": lambda: torch.tensor([s, s]),
    "torch.as_tensor of fakes": lambda: torch.as_tensor([s]),
    "FloatTensor of fakes": lambda: torch.FloatTensor([s]),
    "a size": lambda: torch.empty(i[0]),
    "a slice bound": lambda: real[: i[0]],
    "a view's size": lambda: x.view(i[0], -1),
    "arange": lambda: torch.arange(s),
    "alpha": lambda: torch.add(x, x, alpha=s),
    "to_sparse": lambda: x.to_sparse(),
    "to_mkldnn": lambda: x.to_mkldnn(),
}

# A plain RuntimeError that carries the code: C++ of torch asks, where no operator of ours runs.
CODED = {
    "TensorBase.numpy": lambda: torch._C.TensorBase.numpy(x),
    "TensorBase.tolist": lambda: torch._C.TensorBase.tolist(x),
    "TensorBase.data_ptr": lambda: torch._C.TensorBase.data_ptr(x),
    "_C._to_dlpack": lambda: torch._C._to_dlpack(x),
    "real.map_": lambda: real.map_(x, lambda a, b: a),
    "tensor_split": lambda: torch.tensor_split(x, i[:1]),
}

# What a real tensor does not do either.
AS_EAGER = {
    "memoryview": lambda: memoryview(x),
    "frombuffer": lambda: torch.frombuffer(x, dtype=torch.uint8),
    "np.frombuffer": lambda: np.frombuffer(x),
}

# Nothing of the data is in the answer.
FINE = {
    "repr": lambda: repr(x) + repr(c) + repr(p) + repr([z]),
    "str": lambda: str(x),
    "format": lambda: f"{x} {s}",
    "repr of storages": lambda: repr(storage()) + str(x.storage()),
    "print": lambda: print(x, file=io.StringIO()),
    "hash": lambda: {x: 1, p: 2},
    "copy": lambda: copy.copy(x),
    "deepcopy": lambda: copy.deepcopy([x, p, module]),
    "is_shared": lambda: (x.is_shared(), c.is_shared(), storage().is_shared()),
    "is_pinned": lambda: x.is_pinned() or storage().is_pinned(),
    "resize_ of a storage": lambda: storage().resize_(100).resize_(0),
    "__dlpack_device__": lambda: c.__dlpack_device__(),
    "real + fake": lambda: real + x,
    "as_tensor": lambda: torch.as_tensor(x),
    "to cuda": lambda: (x.cuda(), x.to("cuda"), c.cpu()),
    "state_dict": lambda: module.state_dict(),
}


def outcome(way) -> dict:
    try:
        way()
    except massless.MasslessError as e:
        return {"kind": "typed", "code": e.code, "operator": e.operator, "location": e.location}
    except Exception as e:
        coded = type(e) is RuntimeError and str(e).startswith("[data_access]")
        return {"kind": "coded" if coded else "eager", "text": f"{type(e).__name__}: {e}"[:200]}
    return {"kind": "fine"}


def run(way, inside: bool) -> None:
    """In the child: writes the row's outcome to stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    signal.alarm(60)
    if inside:
        with massless.fake_mode():
            row = outcome(way)
    else:
        row = outcome(way)
    row["real"] = real.tolist()
    os.write(1, json.dumps(row).encode())
    os._exit(0)


def main() -> None:
    for kind, table in (("typed", TYPED), ("coded", CODED), ("eager", AS_EAGER), ("fine", FINE)):
        for name, way in table.items():
            for inside in (False, True):
                head = {"name": name, "inside": inside, "wanted": kind}
                read, write = os.pipe()
                pid = os.fork()
                if pid == 0:
                    os.dup2(write, 1)
                    run(way, inside)
                os.close(write)
                with os.fdopen(read) as f:
                    text = f.read()
                _, status = os.waitpid(pid, 0)
                head |= json.loads(text) if text else {"kind": f"crash, status {status}"}
                print(json.dumps(head), flush=True)


if __name__ == "__main__":
    sys.exit(main())
