# torch_more.py: kiln.torch on PyTorch's CPU tensors: losses, images, indices, order and norms beside PyTorch's own, with opcheck and gradcheck.
import warnings

import torch
from harness import raises, run, test
from kernels import CHANGE
from torch_checks import check, gradients, same, tensor

import kiln
import kiln.torch as kt
from kiln import ops

warnings.filterwarnings("ignore")  # gradcheck warns about every input that is no double
torch.manual_seed(3)
F = torch.nn.functional
OPS = torch.ops.kiln


@test
def losses_embeddings_and_the_rest():
    f = torch.nn.functional
    logits, targets = tensor(5, 7), torch.tensor([0, 6, 3, 3, 1])
    for reduction in ("mean", "sum", "rows"):
        ours = kt.cross_entropy(logits, targets, reduction=reduction, label_smoothing=0.1)
        assert torch.allclose(ours, f.cross_entropy(logits, targets, reduction="none" if reduction == "rows" else reduction, label_smoothing=0.1), atol=1e-5)
        gradients(lambda x: kt.cross_entropy(x, targets, reduction=reduction), logits)
    ignored = kt.cross_entropy(logits, targets, ignored_class=3)
    assert torch.allclose(ignored, f.cross_entropy(logits, targets, ignore_index=3), atol=1e-5)
    check(torch.ops.kiln.cross_entropy.default, logits, targets)
    table, index = tensor(6, 4), torch.tensor([[1, 5], [5, 0]])
    assert torch.equal(kt.embedding(table, index), f.embedding(index, table))
    gradients(lambda w: kt.embedding(w, index), table)
    check(torch.ops.kiln.embedding.default, table, index)
    angles = torch.rand(5, 4)
    x = tensor(2, 5, 8, dtype=torch.float64)
    gradients(lambda x: kt.rope(x, angles.cos().double(), angles.sin().double()), x)
    check(torch.ops.kiln.rope.default, tensor(2, 5, 8), angles.cos(), angles.sin())
    gradients(lambda x: kt.dropout(x, 0.4, seed=7), x)
    check(torch.ops.kiln.dropout.default, tensor(3, 4), 0.5, 1, 2)
    gradients(lambda x: kt.cumsum(x, 1), x)
    assert torch.allclose(kt.cumsum(x, 1), x.cumsum(1))
    check(torch.ops.kiln.cumsum.default, tensor(3, 4), 0)
    images, w, b = tensor(2, 4, 3, 3), tensor(4), tensor(4)
    assert torch.allclose(kt.group_norm(images, 2, w, b), f.group_norm(images, 2, w, b), atol=1e-4)
    gradients(lambda x, w, b: kt.group_norm(x * 3, 2, w, b), images, w, b)
    check(torch.ops.kiln.group_norm.default, images, 2, w, b)


@test
def convolutions():
    f = torch.nn.functional
    x, w, b = tensor(2, 4, 6, 5, low=-0.5), tensor(6, 2, 3, 3, low=-0.5), tensor(6)
    how = dict(stride=(2, 1), padding=1, dilation=1, groups=2)
    assert torch.allclose(kt.conv(x, w, b, **how), f.conv2d(x, w, b, **how), atol=1e-5)
    assert torch.allclose(kt.conv(x[:, :, 0], w[:, :, 0], groups=2), f.conv1d(x[:, :, 0], w[:, :, 0], groups=2), atol=1e-5)
    doubles = [t.detach().double().requires_grad_() for t in (x, w)]
    gradients(lambda x, w: kt.conv(x, w, **how), *doubles)
    gradients(lambda b: kt.conv(x.detach(), w.detach(), b, **how), b)
    check(torch.ops.kiln.conv.default, x, w, b, [2, 1], [1, 1], [1, 1], 2)
    raises(kiln.ArgumentError, ["conv", "weight"], kt.conv, x, w[0])


@test
def transposed_convolutions():
    x, w, b = tensor(2, 4, 5, 3, low=-0.5), tensor(4, 3, 3, 2, low=-0.5), tensor(6)
    for how in (dict(stride=(2, 1), padding=1, groups=2), dict(stride=2, output_padding=1, groups=2), dict(dilation=2, groups=2)):
        same(lambda x, w, b: kt.conv_transposed(x, w, b, **how), lambda x, w, b: F.conv_transpose2d(x, w, b, **how), x, w, b)
    same(lambda x, w: kt.conv_transposed(x, w, stride=3), lambda x, w: F.conv_transpose1d(x, w, stride=3), tensor(1, 2, 5), tensor(2, 3, 4))
    gradients(lambda x, w: kt.conv_transposed(x, w, stride=2), tensor(1, 2, 3, dtype=torch.float64), tensor(2, 2, 2, dtype=torch.float64))
    check(OPS.conv.default, x, w, b, [2, 2], [1, 1], [1, 1], 2, True, [1, 0])
    raises(kiln.ArgumentError, ["conv", "4 channels", "for 6"], kt.conv, x, tensor(6, 3, 3, 3), groups=2)
    raises(kiln.ArgumentError, ["conv", "stride=(1, 2, 3)", "2 dimensions of space"], kt.conv, x, tensor(6, 2, 3, 3), stride=(1, 2, 3))
    raises(kiln.TypeMismatch, ["conv", "'weight'", "f64"], kt.conv, x, tensor(6, 4, 3, 3, dtype=torch.float64))


@test
def pooling():
    x = torch.randn(2, 3, 7, 6, dtype=torch.float64)
    for size, how in ((2, {}), ((3, 2), dict(stride=(2, 1), padding=1)), (2, dict(stride=1, dilation=2))):
        same(lambda x: kt.max_pool(x, size, **how), lambda x: F.max_pool2d(x, size, **how), x)
    for size, how in ((2, {}), ((3, 2), dict(stride=(2, 1), padding=1))):
        for counts in (True, False):
            same(lambda x: kt.average_pool(x, size, **how, counts_padding=counts), lambda x: F.avg_pool2d(x, size, **how, count_include_pad=counts), x)
    same(lambda x: kt.adaptive_pool(x, (3, 4)), lambda x: F.adaptive_avg_pool2d(x, (3, 4)), x)
    same(lambda x: kt.adaptive_pool(x, 3, "max"), lambda x: F.adaptive_max_pool2d(x, 3), x)
    same(lambda x: kt.max_pool(x, 2), lambda x: F.max_pool1d(x, 2), x[0])
    same(lambda x: kt.average_pool(x, 2), lambda x: F.avg_pool3d(x, 2), torch.randn(1, 2, 4, 4, 4))
    gradients(lambda x: kt.average_pool(x, 2, padding=1), x[:1, :1, :3, :3].requires_grad_())
    check(OPS.pool.default, tensor(1, 2, 5, 5), "max", [2, 2], [1, 1], [1, 1], [0, 0], False, [])
    check(OPS.pool.default, tensor(1, 2, 5, 5), "average", [], [], [], [], False, [2, 3])
    raises(kiln.ArgumentError, ["pool", "kind='median'", "average"], kt.adaptive_pool, x, 3, "median")
    raises(kiln.ArgumentError, ["max_pool", "'x'", "2 dimensions"], kt.max_pool, x[0, 0], 2)
    raises(kiln.ArgumentError, ["pool", "larger than 'x'"], kt.max_pool, x, 9)


@test
def other_sizes():
    x = torch.randn(2, 3, 5, 4, dtype=torch.float64)
    for sizes in ((10, 8), (7, 9), (3, 2)):
        same(lambda x: kt.upsample(x, sizes), lambda x: F.interpolate(x, sizes), x)
        for corners in (False, True):
            same(lambda x: kt.upsample(x, sizes, "linear", corners), lambda x: F.interpolate(x, sizes, mode="bilinear", align_corners=corners), x)
    gradients(lambda x: kt.upsample(x, (5,), "linear"), x[:1, :1, 0, :3].requires_grad_())
    check(OPS.upsample.default, tensor(1, 2, 3, 3), [4, 5], "linear", True)
    raises(kiln.ArgumentError, ["upsample", "mode='cubic'", "linear"], kt.upsample, x, (3, 3), "cubic")
    for mode, theirs in (("constant", "constant"), ("reflect", "reflect"), ("edge", "replicate"), ("circular", "circular")):
        value = 1.5 if mode == "constant" else 0.0
        same(lambda x: kt.pad(x, (0, 0, 1, 2), (0, 0, 3, 1), mode, value), lambda x: F.pad(x, (2, 1, 1, 3), theirs, value), x)
        gradients(lambda x: kt.pad(x, (1, 2), (2, 0), mode, value), x[0, 0, :3, :3].requires_grad_())
    same(lambda x: kt.pad(x, (0, 0, -1, 0), (0, 0, 0, -2)), lambda x: x[:, :, 1:, :2], x)
    check(OPS.pad.default, tensor(3, 4), [1, 0], [0, 2], "edge")
    raises(kiln.ArgumentError, ["pad", "mode='mirror'", "reflect"], kt.pad, x, (0,) * 4, (0,) * 4, "mirror")
    raises(kiln.ArgumentError, ["pad", "before", "4 dimensions"], kt.pad, x, (1,), (1,))


@test
def indices_and_order():
    x = torch.randn(4, 5, 3, dtype=torch.float64)
    index = torch.randint(0, 5, (4, 6, 3))
    same(lambda x: kt.gather(x, index, 1), lambda x: x.gather(1, index), x)
    some = torch.tensor([[2, 0], [2, 4]])
    same(lambda x: kt.take(x, some, 1), lambda x: x[:, some], x)
    pairs = torch.tensor([[0, 1], [3, 3], [0, 1]])
    same(lambda x: kt.gather_nd(x, pairs), lambda x: x[pairs[:, 0], pairs[:, 1]], x)
    gradients(lambda x: kt.take(x, some, 0), torch.randn(5, 2, dtype=torch.float64, requires_grad=True))
    for form, axis, by in (("elements", 1, index), ("take", -2, some), ("nd", 0, pairs)):
        check(OPS.gather.default, x.clone().requires_grad_(), by, form, axis)
    source = torch.randn(4, 6, 3, dtype=torch.float64)
    same(lambda x, s: kt.scatter(x, index, s, 1, "add"), lambda x, s: x.scatter_add(1, index, s), x, source)
    once = torch.stack([torch.randperm(5)[:2] for _ in range(12)]).view(4, 3, 2).transpose(1, 2)
    same(lambda x, s: kt.scatter(x, once, s, 1), lambda x, s: x.scatter(1, once, s), x, torch.randn(4, 2, 3, dtype=torch.float64))
    every = torch.tensor([[[1], [4]]])  # the same for all that has a size of 1
    for op in ("set", "add"):
        same(lambda x, s: kt.scatter(x, every, s, 1, op), lambda x, s: (x.scatter if op == "set" else x.scatter_add)(1, every.expand(4, 2, 3), s), x,
             torch.randn(4, 2, 3, dtype=torch.float64))  # fmt: skip
        same(lambda x, s: kt.scatter(x, every[:, :0], s, 1, op), lambda x, s: x + 0 * s.sum(), x, torch.randn(4, 2, 3, dtype=torch.float64))
    most = kt.scatter(x.clone().requires_grad_(), index, source, 1, "max")
    assert torch.equal(most, x.scatter_reduce(1, index, source, "amax")) and not most.requires_grad
    check(OPS.scatter.default, x.clone().requires_grad_(), once, torch.randn(4, 2, 3, dtype=torch.float64, requires_grad=True), 1, "add")
    for axis in (0, 1, -1):
        for descending in (False, True):
            same(lambda x: kt.sort(x, axis, descending)[0], lambda x: x.sort(axis, descending)[0], x)
            same(lambda x: kt.topk(x, 2, axis, not descending)[0], lambda x: x.topk(2, axis, descending)[0], x)
    assert torch.equal(kt.sort(x, 1)[1], x.sort(1).indices) and not kt.sort(x.clone().requires_grad_())[1].requires_grad
    gradients(lambda x: kt.topk(x, 2)[0], torch.tensor([[3.0, 1.0, 2.0], [5.0, 9.0, 7.0]], dtype=torch.float64, requires_grad=True))
    gradients(lambda x, s: kt.scatter(x, once[:1], s, 1, "add"), *(torch.randn(1, n, 3, dtype=torch.float64, requires_grad=True) for n in (5, 2)))
    gradients(lambda x: kt.sort(x, 0)[0], torch.tensor([[3.0, 1.0], [5.0, 9.0], [4.0, 7.0]], dtype=torch.float64, requires_grad=True))
    check(OPS.sort.default, x.clone().requires_grad_(), 1, True)
    check(OPS.topk.default, x.clone().requires_grad_(), 2, 0)
    raises(kiln.TypeMismatch, ["gather", "'index'", "f64", "int64"], kt.gather, x, x)
    raises(kiln.ArgumentError, ["gather", "'index'", "2 dimensions"], kt.gather, x, some)
    raises(kiln.ArgumentError, ["scatter", "op='xor'", "add"], kt.scatter, x, index, source, 1, "xor")
    raises(kiln.TypeMismatch, ["scatter", "'source'", "f32"], kt.scatter, x, index, source.float())
    raises(kiln.ArgumentError, ["topk", "k=9", "'x'"], kt.topk, x, 9)
    raises(kiln.TypeMismatch, ["embedding", "'index'"], kt.embedding, tensor(3, 4), torch.ones(2))
    padded = tensor(5, 2)
    same(lambda w: kt.embedding(w, some, 2), lambda w: F.embedding(some, w, 2), padded)


@test
def joined_and_split():
    a, b, c = (torch.randn(2, n, 3, dtype=torch.float64) for n in (4, 1, 2))
    same(lambda *t: kt.concat(t, 1), lambda *t: torch.cat(t, 1), a, b, c)
    same(lambda x: kt.split(x, (1, 3), 1)[1] * 2, lambda x: x.split((1, 3), 1)[1] * 2, a)
    same(lambda x: sum(p.sum((0, 1)) * n for n, p in enumerate(kt.split(x, (1, 3), -2))), lambda x: x[:, 1:].sum((0, 1)), a)
    gradients(lambda a, b: kt.concat((a, b)), torch.randn(2, 2, dtype=torch.float64, requires_grad=True), torch.randn(1, 2, dtype=torch.float64, requires_grad=True))
    check(OPS.concat.default, [a.clone().requires_grad_(), b.clone().requires_grad_()], 1)
    gradients(lambda x: kt.split(x, (1, 3), 1), torch.randn(2, 4, dtype=torch.float64, requires_grad=True))
    gradients(lambda x: kt.tril(x, 1), torch.randn(3, 4, dtype=torch.float64, requires_grad=True))
    check(OPS.split.default, a.clone().requires_grad_(), [1, 3], 1)
    raises(kiln.ArgumentError, ["concat", "'parts[1]'", "[2, 1, 3]"], kt.concat, (a, b), 0)
    raises(kiln.TypeMismatch, ["concat", "'parts[1]'", "f32"], kt.concat, (a, a.float()), 0)
    raises(kiln.ArgumentError, ["split", "sizes=[1, 2]", "4 elements"], kt.split, a, (1, 2), 1)
    for diagonal in (-1, 0, 2):
        same(lambda x: kt.tril(x, diagonal), lambda x: x.tril(diagonal), a)
        same(lambda x: kt.triu(x, diagonal), lambda x: x.triu(diagonal), a)
    check(OPS.triangle.default, tensor(3, 4), 1, True)
    same(lambda x: kt.cumsum(x, 1, is_exclusive=True), lambda x: x.cumsum(1) - x, a)


@test
def norms_of_channels_and_sums():
    x, w, b = torch.randn(4, 3, 5), tensor(3), tensor(3)
    states = [[torch.rand(3), torch.rand(3) + 0.5] for _ in range(2)]
    states[1] = [s.clone() for s in states[0]]
    same(lambda x, w, b: kt.batch_norm(x, w, b, *states[0]), lambda x, w, b: F.batch_norm(x, *states[1], w, b, True), x, w, b)
    assert all(torch.allclose(g, t, atol=1e-6) for g, t in zip(*states))
    same(lambda x, w, b: kt.batch_norm(x, w, b, *states[0], is_training=False), lambda x, w, b: F.batch_norm(x, *states[1], w, b, False), x, w, b)
    assert all(torch.equal(g, t) for g, t in zip(*states)) or all(torch.allclose(g, t, atol=1e-6) for g, t in zip(*states))
    same(lambda x: kt.batch_norm(x), lambda x: F.batch_norm(x, None, None, training=True), x)
    gradients(lambda x, w, b: kt.batch_norm(x, w, b), torch.randn(3, 2, requires_grad=True), tensor(2), tensor(2))
    for is_eval in (False, True):
        check(OPS.batch_norm.default, x.clone().requires_grad_(), w, b, *states[0], is_eval, 0.1, 1e-5)
    raises(kiln.ArgumentError, ["batch_norm", "running_mean"], kt.batch_norm, x, is_training=False)
    raises(kiln.ArgumentError, ["batch_norm", "'weight'", "3 channels"], kt.batch_norm, x, tensor(4))
    raises(kiln.ArgumentError, ["group_norm", "2 groups"], kt.group_norm, x, 2)
    residual, w, b = torch.randn(4, 3, 5), tensor(5), tensor(5)

    def theirs(x, r, w, b):
        return F.layer_norm(x + r, (5,), w, b) + 2 * (x + r)

    def ours(x, r, w, b):
        out, total = kt.add_norm(x, r, w, b)
        return out + 2 * total

    same(ours, theirs, x, residual, w, b)
    same(lambda x, r: kt.add_norm(x, r, is_rms=True)[0], lambda x, r: F.rms_norm(x + r, (5,), eps=1e-5), x, residual)
    gradients(lambda x, r, w, b: kt.add_norm(x * 3, r, w, b), *(torch.randn(2, 6, requires_grad=True) for _ in range(2)), tensor(6), tensor(6))
    check(OPS.add_norm.default, x.clone().requires_grad_(), residual.clone().requires_grad_(), w, b)
    raises(kiln.ArgumentError, ["dropout", "rate=1.5"], kt.dropout, x, 1.5, seed=1)
    raises(kiln.ArgumentError, ["cross_entropy", "'targets'"], kt.cross_entropy, x, torch.zeros(4, 5, dtype=torch.int64))
    raises(kiln.ArgumentError, ["cross_entropy", "reduction='none'", "rows"], kt.cross_entropy, x, torch.zeros(4, 3, dtype=torch.int64), reduction="none")


@test
def fused_functions():
    x, g = torch.randn(3, 4), torch.randn(4)
    swiglu = kt.fuse(lambda x, gate, scale=1.0: gate.silu() * x * scale, "swiglu")
    for named in ((), (0.5,), (-0.0,), (0.0,)):
        same(lambda x, g: swiglu(x, g, *named), lambda x, g: F.silu(g) * x * (named[0] if named else 1.0), x, g)
    assert torch.signbit(swiglu(x.abs(), g.abs(), -0.0)).all() and not torch.signbit(swiglu(x.abs(), g.abs(), 0.0)).any()
    gradients(lambda x, g: swiglu(x, g, 0.5), tensor(3, 4, dtype=torch.float64), tensor(4, dtype=torch.float64))
    check(swiglu.op, x.clone().requires_grad_(), g.clone().requires_grad_(), 0.5)
    assert swiglu(x.bfloat16(), g.bfloat16()).dtype == torch.bfloat16 and swiglu(x.t(), g[:3]).shape == (4, 3)
    many = kt.fuse(lambda x, b: ((x + b).tanh(), (x * b).reduce("mean", axis=-1), (x * x).reduce("sum", axis=1, keepdims=True), x < b))
    assert not many(x.clone().requires_grad_(), g)[3].requires_grad and torch.equal(many(x, g)[3], x < g)
    for n, theirs in enumerate((lambda x, b: (x + b).tanh(), lambda x, b: (x * b).mean(-1))):
        same(lambda x, b: many(x, b)[n], theirs, x, g)
    gradients(lambda x, b: many(x, b)[:3], tensor(3, 4, dtype=torch.float64), tensor(4, dtype=torch.float64))
    check(many.op, x.clone().requires_grad_(), g.clone().requires_grad_())
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, g: swiglu(x, g).sum(), fullgraph=True, backend="aot_eager")
    same(compiled, lambda x, g: (F.silu(g) * x).sum(), x, g)
    most = kt.fuse(lambda x: x.reduce("max", 0), "most")
    wide = kt.fuse(lambda x, d: (x.to("f64") * 2.0, ops.scale(x * x, alpha=3.0, beta=1.0), ops.scale(d, alpha=3.0, beta=1.0)))  # a gradient of two types
    same(lambda x, d: sum(y.double() for y in wide(x, d)), lambda x, d: x.double() * 2 + (x * x * 3 + 1).double() + d * 3 + 1, x, g.double())
    picked = kt.fuse(lambda x, d: (ops.where(x > 0, x * 0.5, x / 3.0), ops.where(x > 0, d * 0.5, d / 3.0)))
    factor = torch.where(x > 0, 0.5, 1 / 3).double()
    same(lambda x, d: sum(y.double() for y in picked(x, d)), lambda x, d: (x.double() + d) * factor, x, g.double())
    raises(kiln.ArgumentError, ["most", "'max'", "mean"], lambda: most(x.clone().requires_grad_()).sum().backward())
    raises(kiln.ArgumentError, ["swiglu", "[3, 4]", "[3]"], swiglu, x, g[:3])
    raises(kiln.ArgumentError, ["fuse", "'rest'", "fixed number"], kt.fuse, lambda *rest: rest[0])


@test
def tensors_that_are_not_numbers_in_memory():
    """Sparse, nested and quantised tensors, and those of transforms: what they are is said, of ops and of kernels."""
    x = torch.ones(4)
    m = kiln.compile(CHANGE, device="cpu")
    kinds = [(x.to_sparse(), "sparse_coo"), (torch.ones(4, 4).to_sparse_csr(), "sparse_csr"), (torch.quantize_per_tensor(x, 1.0, 0, torch.qint8), "qint8")]
    for t, word in kinds:
        for call in (kt.relu, kt.softmax, lambda t: kt.add(t, t), lambda t: kt.cumsum(t), lambda t: kt.linear(x[None], torch.ones(4, 4), t)):
            for _ in range(2):
                raises(kiln.TypeMismatch, [word, "dense"], call, t)
        raises(kiln.ArgumentError, ["'x'", word], m.change, t, 4, items=4)
    nested = torch.nested.nested_tensor([x, x[:2]], layout=torch.jagged)
    raises(kiln.TypeMismatch, ["relu: 'a'", "other tensors"], kt.relu, nested)
    raises(kiln.ArgumentError, ["nested"], m.change, torch.nested.nested_tensor([x, x[:2]]), 4, items=4)
    for inside in (torch.func.vmap, lambda f: torch.func.grad(lambda t: (f(t), t.sum())[1]), torch.func.functionalize):
        for call in (kiln.ops.relu, lambda t: m.change(t, 4, items=4)):
            raises(kiln.ArgumentError, ["torch.func", "kiln.torch.op"], inside(call), torch.ones(4))
    with torch._subclasses.FakeTensorMode():
        raises(kiln.ArgumentError, ["torch.compile", "kiln.torch.op"], m.change, torch.ones(4), 4, items=4)
    assert x.tolist() == [1] * 4


@test
def sizes_that_do_not_fit_are_named():
    x = torch.ones(1, 2, 3)
    raises(kiln.ArgumentError, ["batch_norm: 'running_mean' is [3]", "2 channels"], kt.batch_norm, x, running_mean=torch.ones(3), running_variance=torch.ones(3))
    raises(kiln.ArgumentError, ["'running_variance' is [1, 2]"], kt.batch_norm, x, running_mean=torch.ones(2), running_variance=torch.ones(1, 2))
    raises(kiln.ArgumentError, ["conv_transposed: output_padding=1", "stride"], kt.conv_transposed, x, torch.ones(2, 2, 2), dilation=2, output_padding=1)
    both = kt.fuse(lambda x, y, s=1.0: x + y * s)
    assert both(x, x).tolist() == (x + x).tolist()
    raises(kiln.TypeMismatch, ["'y' is missing"], both, x)
    raises(kiln.TypeMismatch, ["4 arguments for 3"], both, x, x, 1.0, 2.0)
    raises(kiln.TypeMismatch, ["fuse", "int"], kt.fuse, 5)


if __name__ == "__main__":
    run("python-torch-more")
