# torch_direct.py: kiln.torch without the dispatcher: calls go straight to their plan, and everything that watches or changes ops still sees them.
import warnings

import torch
import torch.fx.experimental.proxy_tensor
from harness import raises, run, test
from kernels import CHANGE
from torch.utils._python_dispatch import TorchDispatchMode

import kiln
import kiln.torch as kt
from kiln.torch._direct import direct

warnings.filterwarnings("ignore")
torch.manual_seed(4)
F = torch.nn.functional


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))


class Functions(torch.overrides.TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))


def warm(x, w):
    for _ in range(3):
        kt.linear(x, w)
    assert any(plan for plan in kiln.device("cpu").plans.values()), "there is a plan to go to"


@test
def calls_go_straight_to_their_plan():
    """The second call of the same tensors does not go through the dispatcher: an op that is replaced by another is not asked."""
    x, w = torch.randn(3, 4), torch.randn(5, 4)
    warm(x, w)
    asked = []
    cells = dict(zip(direct.linear.__code__.co_freevars, direct.linear.__closure__))
    real = cells["_op"].cell_contents
    cells["_op"].cell_contents = lambda *args: asked.append(args) or real(*args)
    try:
        assert torch.allclose(kt.linear(x, w), F.linear(x, w), atol=1e-5) and not asked
        kt.linear(torch.randn(30, 4), w)
        assert len(asked) == 1, "what has no plan goes through the dispatcher"
        with torch.no_grad():
            kt.linear(x, w.clone().requires_grad_())
        assert len(asked) == 2
    finally:
        cells["_op"].cell_contents = real


@test
def other_addresses_take_the_same_plan():
    """Tensors that differ from earlier ones in their addresses alone do not run the kernel's own code again; where two arguments share memory, they do."""
    device, products = kiln.device("cpu"), kt._products
    real, ran = products._check_linear, []
    products._check_linear = lambda *args: ran.append(1) or real(*args)
    try:
        device.plans.clear(), device.forms.clear()
        pool = [torch.randn(2, 3, 8) for _ in range(20)]
        weights = [torch.randn(5, 8) for _ in range(20)]
        for x, w in zip(pool, weights):
            assert torch.allclose(kt.linear(x, w), F.linear(x, w), atol=1e-5)
        assert len(ran) <= 2, "not for each address"  # two where the first lies at another remainder
        ran.clear()
        wide = torch.randn(40, 4096)
        for n in range(20):  # rows with gaps, at addresses that are the same but for multiples of the alignment
            x = wide[n : n + 3, :8]
            assert torch.allclose(kt.linear(x, weights[0]), F.linear(x, weights[0]), atol=1e-5)
        assert len(ran) <= 1
        for x in (torch.randn(8, 8), torch.randn(8, 8)):  # x is the weight, too: which one the kernel took a view of is not known
            other = torch.randn(8, 8)
            assert torch.allclose(kt.linear(x, x), F.linear(x, x), atol=1e-5)
            assert torch.allclose(kt.linear(x, other), F.linear(x, other), atol=1e-5)
        q, k, v = torch.randn(3, 1, 2, 6, 8)
        for one in ((q, q, q), (q, k, v), (v, k, k), tuple(torch.randn(3, 1, 2, 6, 8)), (k, q, q)):
            assert torch.allclose(kt.attention(*one), F.scaled_dot_product_attention(*one), atol=1e-5)
        for scale in (0.0, -0.0, 0.5):
            assert torch.allclose(kt.leaky_relu(torch.full((4,), -3.0), alpha=scale), F.leaky_relu(torch.full((4,), -3.0), scale))
            assert str(kt.leaky_relu(torch.full((4,), -3.0), alpha=scale)[0].item()) == str(-3.0 * scale)
        for first in range(8):  # every remainder of an address
            x = torch.randn(100)[first : first + 64].view(8, 8)
            assert torch.allclose(kt.linear(x, weights[1]), F.linear(x, weights[1]), atol=1e-5)
    finally:
        products._check_linear = real


@test
def what_watches_ops_sees_them():
    x, w = torch.randn(3, 4), torch.randn(5, 4)
    warm(x, w)
    with Seen() as seen:
        kt.linear(x, w)
    assert "kiln.linear.default" in seen.names, seen.names
    with Functions() as functions:
        kt.linear(x, w)
    assert any("kiln.linear" in name for name in functions.names), functions.names
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        kt.linear(x, w)
    assert any(event.key == "kiln::linear" for event in profile.key_averages())
    assert "kiln.linear" in str(torch.fx.experimental.proxy_tensor.make_fx(lambda x: kt.linear(x, w))(x).code)
    traced = torch.jit.trace(lambda x: kt.linear(x, w), (x,))
    assert "kiln::linear" in str(traced.graph)
    torch._dynamo.reset()
    assert torch.allclose(torch.compile(lambda x: kt.linear(x, w) + 1, fullgraph=True, backend="aot_eager")(x), F.linear(x, w) + 1, atol=1e-5)
    explained = torch._dynamo.explain(lambda x: kt.softmax(kt.linear(x, w)))(x)
    assert explained.graph_break_count == 0 and explained.op_count == 2, explained


@test
def what_changes_ops_changes_them():
    x, w = torch.randn(3, 4), torch.randn(5, 4)
    warm(x, w)
    with torch.autocast("cpu", torch.bfloat16):
        assert kt.linear(x, w).dtype == torch.bfloat16
    assert kt.linear(x, w).dtype == torch.float32
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        fake = kt.linear(mode.from_tensor(x), mode.from_tensor(w))
    assert type(fake).__name__ == "FakeTensor" and fake.shape == (3, 5)
    meta = kt.linear(x.to("meta"), w.to("meta"))
    assert meta.device.type == "meta" and meta.shape == (3, 5)
    empty, none = torch.zeros(0, 4), torch.zeros(0, 4, device="meta")
    for _ in range(3):
        assert kt.linear(empty, w).shape == (0, 5)
    assert kt.linear(none, w.to("meta")).device.type == "meta"

    class Named(torch.Tensor):
        asked = 0

        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            Named.asked += 1
            return super().__torch_function__(function, types, args, kwargs or {})

    named = x.as_subclass(Named)
    Named.asked = 0
    assert type(kt.linear(named, w)) is Named and Named.asked
    numbers = torch.randn(4, dtype=torch.complex64)
    part = torch.view_as_real(numbers)[:, 1]
    flipped = numbers.conj().imag  # the same memory, with a bit that says: negative
    assert flipped.is_neg() and flipped.data_ptr() == part.data_ptr() and flipped.stride() == part.stride()
    for _ in range(3):
        assert torch.equal(kt.exp(part), part.exp()) or torch.allclose(kt.exp(part), part.exp())
        assert torch.allclose(kt.exp(flipped), (-part).exp())
    with torch.inference_mode():
        made = kt.linear(x, w)
    assert made.is_inference() and not kt.linear(x, w).is_inference()
    leaf = w.clone().requires_grad_()
    assert kt.linear(x, leaf).requires_grad
    with torch.no_grad():
        assert not kt.linear(x, leaf).requires_grad
    assert "kiln_linear" in type(kt.linear(x, leaf).grad_fn).__name__


@test
def gradients_are_those_of_the_dispatcher():
    x, w, b = torch.randn(2, 3, 4), torch.randn(5, 4), torch.randn(5)
    q = torch.randn(1, 2, 6, 8)
    cases = [(kt.linear, torch.ops.kiln.linear.default, (x, w, b, "gelu")), (kt.gelu, torch.ops.kiln.gelu.default, (x,)), (kt.mul, torch.ops.kiln.mul.default, (x, x[0])),
             (kt.attention, lambda *t: torch.ops.kiln.attention.default(*t)[0], (q, q + 1, q + 2, True)), (kt.norm, torch.ops.kiln.norm.default, (x, b[:4], b[1:])),
             (kt.softmax, lambda x: torch.ops.kiln.softmax.default(x, -1, False), (x,)), (kt.sum, lambda x: torch.ops.kiln.reduce.default(x, "sum", [0, 1, 2]), (x,))]  # fmt: skip
    for ours, op, args in cases:
        found = []
        for call in (ours, op, ours):
            leaves = [a.detach().clone().requires_grad_() if isinstance(a, torch.Tensor) else a for a in args]
            out = call(*leaves)
            wanted = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
            found.append([out.detach(), *torch.autograd.grad(out.square().sum(), wanted)])
        for one in found[1:]:
            assert all(torch.equal(a, b) for a, b in zip(found[0], one)), ours.__name__
    leaf = x.clone().requires_grad_()
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or len(kept) - 1, lambda n: kept[n]):
        out = kt.linear(leaf, w, b)
    out.sum().backward()
    assert kept and leaf.grad is not None
    again = torch.utils.checkpoint.checkpoint(lambda x: kt.gelu(kt.linear(x, w, b)), leaf, use_reentrant=False)
    (g,) = torch.autograd.grad(again.sum(), leaf)
    (want,) = torch.autograd.grad(kt.gelu(kt.linear(leaf, w, b)).sum(), leaf)
    assert torch.equal(g, want)


OWN = """#include <kiln/kernel.h>
kernel block(64) void scaled(f32 *out, f32 *twice, const f32 *lambda, f32 in, u32 n) {
    u32 i = global_x();
    if (i < n) {
        out[i] = lambda[i] * in;
        if (lambda[i] > 0)
            twice[i] += lambda[i] * 2; // where it is not, what was there stays
    }
}
kernel block(64) void scaled_backward(f32 *dlambda, const f32 *dout, const f32 *dtwice, const f32 *lambda, f32 in, u32 n) {
    u32 i = global_x();
    if (i < n)
        dlambda[i] = dout[i] * in + (lambda[i] > 0 ? dtwice[i] * 2 : 0);
}
"""


@test
def kernels_of_ones_own_go_straight_to_their_launch():
    """Parameters with names of Python's, two results that begin as zeros, numbers and names; what watches sees them."""
    scaled = kt.op(OWN, "scaled", backward="scaled_backward", zeroed=True, name="direct_scaled")
    x = torch.randn(3, 7)

    def right(x, by, given):
        return torch.equal(given[0], x * by) and torch.equal(given[1], x.clamp(min=0) * 2)

    for by in (0.5, -2.0, 0.0):
        for turn in range(3):
            assert right(x, by, scaled(x, by))
            x.neg_()  # other numbers in the same memory
    assert right(x, 2, scaled(x, 2)) and right(x.t(), 2.0, scaled(x.t(), 2.0)) and right(x[:0], 2.0, scaled(x[:0], 2.0))
    assert right(x, 3.0, scaled(x, in_=3.0)) and right(x, 3.0, scaled(lambda_=x, in_=3.0))
    with Seen() as seen:
        assert right(x, 2.0, scaled(x, 2.0))
    assert any("direct_scaled" in name for name in seen.names)
    graph = torch.fx.experimental.proxy_tensor.make_fx(lambda x: scaled(x, 2.0)[0])(x).code
    assert "direct_scaled" in graph
    for turn in range(3):
        wants = x.clone().requires_grad_()
        out, twice = scaled(wants, 3.0)
        (out.sum() + 5 * twice.sum()).backward()
        assert torch.equal(wants.grad, 3.0 + 10.0 * (x > 0))
    raises(RuntimeError, ["in", "direct_scaled"], scaled, x)
    raises(RuntimeError, ["direct_scaled"], scaled, x, 1.0, 2.0)
    raises(kiln.TypeMismatch, ["direct_scaled", "'lambda_' is a NoneType"], scaled, None, 1.0)
    raises(kiln.TypeMismatch, ["float64", "lambda"], scaled, x.double(), 1.0)


@test
def autograd_knows_what_was_written():
    """A backward pass that needs numbers which Kiln has written over since is refused, as behind an op in place of PyTorch's."""
    m = kiln.compile(CHANGE, device="cpu")
    add_one = kiln.fuse(lambda x: x + 1)
    for change in (lambda t: m.change(t, 4, items=4), lambda t: m.fours(t, items=1), lambda t: kiln.ops.scale(t, alpha=3.0, out=t),
                   lambda t: kiln.ops.softmax(t, out=t), lambda t: add_one(t, out=t), lambda t: m.change(t.detach(), 4, items=4)):  # fmt: skip
        w, t = torch.ones(4, requires_grad=True), torch.ones(4)
        product = (w * t).sum()
        change(t)
        assert not torch.equal(t, torch.ones(4))
        raises(RuntimeError, ["modified by an inplace operation"], product.backward)
    w, t = torch.ones(4, requires_grad=True), torch.ones(4)
    product = (w * t).sum()
    m.change(torch.zeros(4), 4, items=4), kiln.ops.add(t, t)  # reads it, and writes others
    product.backward()
    assert w.grad.tolist() == [1] * 4
    for call in (lambda: kiln.ops.relu(t, out=w), lambda: kiln.ops.softmax(t, out=w), lambda: add_one(t, out=w), lambda: m.change(w, 4, items=4)):
        raises(kiln.ArgumentError, ["is written", "wants a gradient", "detach()"], call)
    with torch.no_grad():
        m.change(w, 4, items=4)  # as a step of an optimiser
    with torch.inference_mode():
        made = torch.zeros(4)
        m.change(made, 4, items=4)
    assert made.tolist() == [5] * 4 and w.tolist() == [5] * 4


@test
def wrong_arguments_are_still_named():
    x, w = torch.randn(3, 4), torch.randn(5, 4)
    warm(x, w)
    raises(RuntimeError, ["kiln::softmax", "axis"], kt.softmax, x, [0])
    raises(kiln.TypeMismatch, ["linear: 'weight' is a list: a tensor"], kt.linear, x, [1.0])
    raises(kiln.ArgumentError, ["linear", "weight"], kt.linear, x, w[:, :3])
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
        raises(kiln.ArgumentError, ["kiln::linear", "forward-mode", "backward()"], kt.linear, dual, w)
        assert torch.allclose(kt.linear(x, w), F.linear(x, w), atol=1e-5)
    freed = torch.randn(3, 4)
    kt.linear(freed, w), kt.linear(freed, w)
    freed.untyped_storage().resize_(0)
    raises(kiln.ArgumentError, ["freed"], kt.linear, freed, w)


if __name__ == "__main__":
    run("python-torch-direct")
