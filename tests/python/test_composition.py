"""The Fake key under the rest of torch: each program runs for real on the CPU, on fake cpu and on
fake cuda, and what it returns must look the same."""

import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import forward_ad
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

import massless


def looks(t: torch.Tensor) -> tuple:
    """All that a tensor shows of itself but its device and values."""
    node = t.grad_fn
    return (
        *(type(t), tuple(t.shape), t.stride(), t.storage_offset(), t.dtype),
        *(t.requires_grad, t.is_leaf, t.is_conj(), t.is_neg(), t._is_zerotensor()),
        *(t.is_inference(), None if node is None else type(node).__name__),
    )


def describe(result, device: str) -> list:
    """What each leaf of the result looks like; a fake must be on the device."""
    seen = []
    for leaf in pytree.tree_leaves(result):
        if isinstance(leaf, torch.Tensor):
            assert leaf.device.type == device, leaf
            seen.append(looks(leaf))
        else:
            seen.append(leaf)
    return seen


PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


def mlp(d: str) -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).to(d)


def grads(m: nn.Module) -> list:
    return [p.grad for p in m.parameters()]


@program
def autograd(d):
    m, x = mlp(d), torch.randn(3, 4, device=d, requires_grad=True)
    y = m(x)
    y.pow(2).mean().backward()
    return y, x.grad, grads(m)


@program
def autograd_grad_with_unused_and_materialized(d):
    x, y = (torch.randn(3, device=d, requires_grad=True) for _ in range(2))
    got = torch.autograd.grad((x * 2).sum(), (x, y), allow_unused=True, materialize_grads=True)
    return list(got)


@program
def in_place_and_views(d):
    x = torch.randn(4, 4, device=d, requires_grad=True)
    y = x * 1
    v = y[1:, ::2]
    v.mul_(2)
    y.t().add_(1)
    y.sum().backward()
    return y, v, x.grad, y._version, v._version, v._base is y


@program
def version_counters_guard_saved_tensors(d):
    x = torch.randn(3, device=d, requires_grad=True)
    y = x.exp()
    y.add_(1)
    try:
        y.sum().backward()
    except RuntimeError as e:
        return "modified by an inplace operation" in str(e)
    return "no error"


@program
def double_backward(d):
    x = torch.randn(3, 4, device=d, requires_grad=True)
    w = torch.randn(4, 2, device=d, requires_grad=True)
    (g,) = torch.autograd.grad((x @ w).tanh().sum(), x, create_graph=True)
    g.pow(2).sum().backward()
    return g, w.grad, x.grad


@program
def gradient_penalty(d):
    m, x = mlp(d), torch.randn(3, 4, device=d, requires_grad=True)
    (g,) = torch.autograd.grad(m(x).sum(), x, create_graph=True)
    ((g.norm(2, dim=1) - 1) ** 2).mean().backward()
    return grads(m)


@program
def jvp(d):
    x, w = torch.randn(3, 4, device=d), torch.randn(4, 5, device=d)
    return torch.func.jvp(lambda w: (x @ w).tanh().sum(1), (w,), (torch.ones_like(w),))


@program
def dual_numbers(d):
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.randn(3, 3, device=d), torch.randn(3, 3, device=d))
        y = forward_ad.unpack_dual((x.sin() @ x)[0])
        none = forward_ad.unpack_dual(torch.randn(3, device=d)).tangent
        return y.primal, y.tangent, none


@program
def forward_over_reverse(d):
    return torch.func.jvp(
        torch.func.grad(lambda x: x.pow(3).sum()),
        (torch.randn(3, device=d),),
        (torch.ones(3, device=d),),
    )


@program
def zero_tensors(d):
    z = torch._efficientzerotensor((2, 3), device=d)
    x = torch.randn(2, 3, device=d)
    return z, z.t(), z[0], z + x, x + z, x * z, z * 2, z.clone(), torch.mm(z.t(), x)


@program
def zero_tensors_are_immutable(d):
    try:
        torch._efficientzerotensor((2,), device=d).add_(1)
    except RuntimeError as e:
        return "immutable" in str(e)
    return "no error"


@program
def conj_and_neg_bits(d):
    c = torch.randn(2, 3, dtype=torch.complex64, device=d)
    k = c.conj()
    n = k.imag
    return (
        *(c, k, k.t(), k[0], k.conj(), k.resolve_conj(), k.conj_physical(), k * 2, k @ c.t()),
        *(n, n.t(), n + 1, n.resolve_neg(), n.neg(), k.real, torch.view_as_real(k.resolve_conj())),
        *(k.clone(), k.abs(), k.angle(), torch.view_as_complex(torch.randn(2, 2, device=d)), k.mH),
    )


@program
def complex_backward(d):
    c = torch.randn(3, dtype=torch.complex64, device=d, requires_grad=True)
    (c.conj() * c).real.sum().backward()
    return c.grad


@program
def vmap(d):
    a, b = torch.randn(5, 3, device=d), torch.randn(5, 3, device=d)
    m = torch.randn(3, 3, device=d)
    return (
        torch.vmap(torch.dot)(a, b),
        torch.vmap(lambda x: m @ x, out_dims=1)(a),
        torch.vmap(torch.vmap(lambda x, y: x * y, (None, 0)), (0, None))(a, b[0]),
        torch.vmap(lambda x: x + torch.randn(3, device=d), randomness="different")(a),
    )


@program
def functorch_transforms(d):
    x = torch.randn(3, device=d)

    def f(x):
        return x.sin() * x.sum()

    return (
        torch.func.grad(lambda x: f(x).sum())(x),
        torch.func.vjp(f, x)[1](x),
        torch.func.jacrev(f)(x),
        torch.func.jacfwd(f)(x),
        torch.func.hessian(lambda x: x.pow(3).sum())(x),
    )


@program
def gradients_per_sample(d):
    m = mlp(d)
    parameters = {k: p.detach() for k, p in m.named_parameters()}

    def loss(p, x, y):
        return F.mse_loss(torch.func.functional_call(m, p, (x[None],))[0], y)

    return torch.vmap(torch.func.grad(loss), (None, 0, 0))(
        parameters, torch.randn(6, 4, device=d), torch.randn(6, 2, device=d)
    )


@program
def functionalize(d):
    def f(x):
        y = x.clone()
        y[0].add_(1)
        return y

    return torch.func.functionalize(f)(torch.randn(3, 2, device=d))


@program
def autocast(d):
    m, x = mlp(d), torch.randn(3, 4, device=d)
    with torch.autocast(d, dtype=torch.bfloat16):
        y = m(x)
        z = y.softmax(-1) if d == "cpu" else y.float().softmax(-1).to(y.dtype)
        with torch.autocast(d, enabled=False):
            w = x @ x.t()
    y.float().sum().backward()
    return y, z.shape, w, grads(m)


@program
def inference_mode(d):
    outside = torch.empty(3, device=d)
    with torch.inference_mode():
        a = torch.empty(3, device=d)
        b, c, v = a + 1, outside * 2, outside[0]
        e = a.add_(1)
        with torch.inference_mode(False):
            f = torch.empty(2, device=d) + 1
    try:
        a.add_(1)
        refused = False
    except RuntimeError:
        refused = True
    return outside, a, b, c, v, e, f, outside + 1, refused


@program
def no_grad_and_detach(d):
    x = torch.randn(3, device=d, requires_grad=True)
    with torch.no_grad():
        a = x * 2
        with torch.enable_grad():
            b = x * 2
    return a, b, x.detach(), x.data, (x * 2).detach().requires_grad_(), torch.is_grad_enabled()


def checkpointed(reentrant):
    def run(d):
        m, x = mlp(d), torch.randn(3, 4, device=d, requires_grad=True)
        y = checkpoint(m, x, use_reentrant=reentrant)
        y.sum().backward()
        return y.shape, x.grad, grads(m)

    return run


PROGRAMS["checkpoint_reentrant"] = checkpointed(True)
PROGRAMS["checkpoint_not_reentrant"] = checkpointed(False)


@program
def checkpoint_with_dropout_and_autocast(d):
    m = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).to(d)
    x = torch.randn(3, 4, device=d, requires_grad=True)
    with torch.autocast(d, dtype=torch.bfloat16):
        y = checkpoint(m, x, use_reentrant=False)
    y.float().sum().backward()
    return y.dtype, x.grad, grads(m)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * scale, x.sum()

    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        return g * x * ctx.scale + h, None


@program
def custom_function(d):
    x = torch.randn(3, device=d, requires_grad=True)
    y, s = Double.apply(x, 3.0)
    (y.sum() + s).backward()
    x2 = torch.randn(3, device=d, requires_grad=True)
    Double.apply(x2, 2.0)[0].sum().backward()  # the other output's gradient is made of zeros
    return y, s, x.grad, x2.grad


@program
def hooks(d):
    seen = []
    m, x = mlp(d), torch.randn(3, 4, device=d, requires_grad=True)
    m[0].register_forward_pre_hook(lambda *a: seen.append("before"))
    m[0].register_forward_hook(lambda *a: seen.append("after"))
    m[0].register_full_backward_hook(lambda *a: seen.append("backward"))
    x.register_hook(lambda g: (seen.append("tensor"), g * 2)[1])
    m[0].weight.register_post_accumulate_grad_hook(lambda p: seen.append("accumulated"))
    y = m(x)
    y.grad_fn.register_hook(lambda *a: seen.append("node"))
    y.sum().backward()
    return seen, x.grad


@program
def saved_tensor_hooks(d):
    packed = []
    x = torch.randn(3, device=d, requires_grad=True)

    def pack(t):
        packed.append(t.dtype)
        return t.half()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t.float()):
        y = x.sin().exp()
    y.sum().backward()
    with torch.autograd.graph.save_on_cpu():
        z = x.sin()
    z.sum().backward()
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        u = x.detach().clone().requires_grad_()
        w = (u * 1).exp()
        w.add_(1)
        w.sum().backward()
    return y, z, w, x.grad, u.grad, packed


class Recorder(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        self.seen.append(str(op))
        return op(*args, **(kwargs or {}))


@program
def dispatch_mode(d):
    with Recorder() as mode:
        x = torch.randn(2, 3, device=d, requires_grad=True)
        y = (x @ x.t()).relu()
        y.sum().backward()
        t = x.detach()
        p = nn.Parameter(t)
        literal = torch.tensor([1, 2]).tolist()
    return x, y, x.grad, t, x.data, p, literal, [op for op in mode.seen if "detach" not in op]


@program
def function_mode(d):
    names = []

    class Names(TorchFunctionMode):
        def __torch_function__(self, f, types, args=(), kwargs=None):
            names.append(getattr(f, "__name__", ""))
            return f(*args, **(kwargs or {}))

    x = torch.randn(2, 3, device=d)
    with Names():
        y = x.sum() + torch.ones(2, device=d)
    return y, names


class Wrapper(torch.Tensor):
    """A wrapper subclass: a shell over `inner`."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), dtype=inner.dtype, device=inner.device
        )

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, op, types, args=(), kwargs=None):
        args, kwargs = pytree.tree_map_only(cls, lambda w: w.inner, (args, kwargs or {}))
        return pytree.tree_map_only(torch.Tensor, cls, op(*args, **kwargs))


@program
def wrapper_subclass(d):
    w = Wrapper(torch.randn(2, 3, device=d)).requires_grad_()
    y = (w * 2) @ w.t()
    y.sum().backward()
    return y, y.inner, w.grad, w.grad.inner


class Plain(torch.Tensor):
    pass


@program
def function_subclass(d):
    s = torch.randn(2, 3, device=d).as_subclass(Plain)
    return s, s + 1, s[0], s.sum(), s.t().contiguous()


@program
def parametrized_and_normed_modules(d):
    m = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)).to(d)
    y = m(torch.randn(2, 3, device=d))
    y.sum().backward()
    return y, grads(m)


@program
def training_steps(d):
    m, x = mlp(d), torch.randn(3, 4, device=d)
    for make in (
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, foreach=False),
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, foreach=True),
        lambda p: torch.optim.SGD(p, 0.1, fused=True),
        lambda p: torch.optim.AdamW(p, foreach=False),
        lambda p: torch.optim.AdamW(p, foreach=True),
        lambda p: torch.optim.AdamW(p, fused=True),
    ):
        optimizer = make(m.parameters())
        for _ in range(2):
            optimizer.zero_grad()
            F.cross_entropy(m(x), torch.zeros(3, dtype=torch.int64, device=d)).backward()
            nn.utils.clip_grad_norm_(m.parameters(), 1.0)
            optimizer.step()
    return list(m.parameters()), grads(m), [p._version for p in m.parameters()]


@program
def tensors_made_by_backward_formulas(d):
    x = torch.randn(4, 4, device=d, requires_grad=True)
    y = x[1:3].unfold(1, 2, 1).amax(-1).cumsum(0)
    (y.sum() + x.diagonal().sum() + x.select(0, 1).amax()).backward()
    return y, x.grad


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_like_eager(name, device):
    torch.manual_seed(0)
    wanted = describe(PROGRAMS[name]("cpu"), "cpu")
    with massless.fake_mode():
        result = PROGRAMS[name](device)
        for leaf in pytree.tree_leaves(result):
            if isinstance(leaf, torch.Tensor) and type(leaf) is not Wrapper:
                assert massless.is_fake(leaf), leaf
    assert describe(result, device) == wanted


# Outside of a mode


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_fakes_work_outside_of_the_mode(device):
    with massless.fake_mode():
        m, x = mlp(device), torch.randn(3, 4, device=device)
        target = torch.zeros(3, dtype=torch.int64, device=device)
        optimizer = torch.optim.AdamW(m.parameters())
    loss = F.cross_entropy(m(x), target)
    loss.backward()
    optimizer.step()
    assert all(massless.is_fake(g) and g.device.type == device for g in grads(m))
    assert massless.is_fake(optimizer.state[m[0].weight]["exp_avg"])
    first = m(x)[0].sum()  # select's backward makes zeros
    first.backward()
    assert massless.is_fake(m[0].weight.grad)


def test_real_with_fake():
    real = torch.randn(3, requires_grad=True)
    with massless.fake_mode():
        x = torch.randn(3)
    y = real + x
    assert massless.is_fake(y) and y.requires_grad
    with pytest.raises(massless.MasslessError) as caught:
        y.sum().backward()
    assert caught.value.code == "real_write" and real.grad is None


# Autocast by the claimed device


@pytest.mark.parametrize("region", ["cpu", "cuda"])
def test_autocast_follows_the_claimed_device(region):
    other = "cuda" if region == "cpu" else "cpu"
    with massless.fake_mode():
        a, b = torch.empty(4, 4, device=region), torch.empty(4, 4, device=other)
        with torch.autocast(region, dtype=torch.bfloat16):
            assert (a @ a).dtype == torch.bfloat16
            assert (b @ b).dtype == torch.float32
            with torch.autocast(other, dtype=torch.float16):
                assert (b @ b).dtype == torch.float16 and (a @ a).dtype == torch.bfloat16
        assert (a @ a).dtype == torch.float32


@pytest.mark.parametrize("fused", [True, False])
def test_grad_scaler(fused):
    with massless.fake_mode():
        m, x = mlp("cuda"), torch.randn(3, 4, device="cuda")
        optimizer = torch.optim.AdamW(m.parameters(), fused=fused)
        scaler = torch.amp.GradScaler("cuda")
        assert scaler.is_enabled()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = m(x).float().sum()
        scaler.scale(loss).backward()
        if fused:
            scaler.step(optimizer)
            scaler.update()
            assert optimizer.state[m[0].weight]["exp_avg"].device.type == "cuda"
        else:  # asks whether a gradient was infinite
            with pytest.raises(massless.DataDependentError):
                scaler.step(optimizer)


# Threads, modes above, DTensor


def test_threads_backward_at_once():
    results, errors = [], []

    def train(device):
        try:
            with massless.fake_mode():
                m, x = mlp(device), torch.randn(3, 4, device=device)
                for _ in range(5):
                    m(x).sum().backward()
                results.append(all(massless.is_fake(g) for g in grads(m)))
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=train, args=(d,)) for d in ("cpu", "cuda", "cuda:1") * 2]
    for t in threads:
        t.start()
    w = torch.ones(100, 100, requires_grad=True)
    for _ in range(20):
        (w @ w).sum().backward()
    for t in threads:
        t.join()
    assert not errors and results == [True] * 6
    assert w.grad[0, 0].item() == 20 * 200


def test_a_dispatch_mode_below_the_fake_mode():
    with Recorder() as recorder, massless.fake_mode():
        y = torch.ones(2, device="cuda") + 1
        assert massless.is_fake(y) and y.device.type == "cuda"
    assert "aten.add.Tensor" in recorder.seen


def test_flop_counter():
    from torch.utils.flop_counter import FlopCounterMode

    with massless.fake_mode(), FlopCounterMode(display=False) as flops:
        torch.randn(2, 3, device="cuda") @ torch.randn(3, 4, device="cuda")
    assert flops.get_total_flops() == 48


@pytest.fixture
def process_group():
    from torch import distributed
    from torch.testing._internal.distributed.fake_pg import FakeStore

    distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    yield
    distributed.destroy_process_group()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_dtensor(process_group, device):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

    with massless.fake_mode():
        mesh = init_device_mesh(device, (4,))
        w = distribute_tensor(torch.randn(8, 4, device=device), mesh, [Shard(0)]).requires_grad_()
        x = distribute_tensor(torch.randn(2, 4, device=device), mesh, [Replicate()])
        y = x @ w.t()
        assert isinstance(y, DTensor) and y.shape == (2, 8)
        assert massless.is_fake(y.to_local()) and y.to_local().shape == (2, 2)
        y.sum().backward()
        assert w.grad.placements == (Replicate(),) and w.grad.to_local().shape == (8, 4)
        assert y.redistribute(mesh, [Replicate()]).to_local().shape == (2, 8)
        full = w.detach().full_tensor()
        assert full.shape == (8, 4) and full.device.type == device and massless.is_fake(full)
        partial = y.sum(1)
        assert partial.full_tensor().shape == (2,)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_dtensor_module_and_optimizer(process_group, device):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    with massless.fake_mode():
        mesh = init_device_mesh(device, (4,))
        m = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4)).to(device)
        m = parallelize_module(m, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
        assert m[0].weight.to_local().shape == (2, 4) and m[2].weight.to_local().shape == (4, 2)
        optimizer = torch.optim.AdamW(m.parameters())
        y = m(torch.randn(3, 4, device=device))
        y.sum().backward()
        optimizer.step()
        assert y.shape == (3, 4)
        assert optimizer.state[m[0].weight]["exp_avg"].to_local().shape == (2, 4)


def test_collectives_on_fakes(process_group):
    from torch import distributed

    with massless.fake_mode():
        x = torch.ones(4, device="cuda")
        distributed.all_reduce(x)
        with pytest.raises(massless.DataDependentError):
            x.tolist()  # was known before
        out = torch.empty(16, device="cuda")
        distributed.all_gather_into_tensor(out, x)
        distributed.barrier()
    real = torch.zeros(16)
    with massless.fake_mode(), pytest.raises(massless.MasslessError) as caught:
        distributed.all_gather_into_tensor(real, torch.ones(4))
    assert caught.value.code == "real_write" and real.sum().item() == 0
