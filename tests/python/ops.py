# ops.py: the op library from Python beside NumPy: every elementwise row, shapes, types, results made and given, wrong arguments.
import inspect
import itertools
import math
import sys

import numpy
from harness import Skip, on_each_device, raises, run, test

import kiln
from kiln import _op, _op_table, ops

called = set()  # the ops that were called, for the last test
repeated = set()  # those that were called with read-only arrays
_call = _op.Op.__call__


def _counted(op, values, stream=None, device=None, *rest):
    called.add(op.function.__name__)
    results = _call(op, values, stream, device, *rest)
    _again_read_only(op, values, results, stream, device, *rest)
    return results


def _locked(value):
    made = numpy.array(value)
    made.flags.writeable = False
    return made


def _again_read_only(op, values, results, *rest):
    """Every call of these tests once more, with arrays that must not be written: what is not there must not be stood for by them."""
    given = [value for (kind, _, _), value in zip(op.fields, values) if kind in ("out", "out?", "work", "written")]
    arrays = [value for (kind, _, _), value in zip(op.fields, values) if kind in ("in", "in?") and value is not None]
    arrays += [one for (kind, _, _), value in zip(op.fields, values) if kind in ("views", "viewlist") for one in value]
    if any(hasattr(one, "shape") or isinstance(one, list) for one in given) or not arrays or not all(type(one) is numpy.ndarray for one in arrays):
        return
    locked = tuple(_locked(value) if kind in ("in", "in?") and value is not None else [_locked(one) for one in value] if kind in ("views", "viewlist") else value
                   for (kind, _, _), value in zip(op.fields, values))  # fmt: skip
    found = _call(op, locked, *rest)
    for one, other in zip(*(many if isinstance(many, tuple) else (many,) for many in (found, results))):
        assert numpy.array_equal(one.view("u1") if one.ndim else one, other.view("u1") if other.ndim else other, equal_nan=not one.ndim), op.call
    repeated.add(op.call)


_op.Op.__call__ = _counted
vector = numpy.vectorize
erf = vector(math.erf)
sigmoid = lambda a: 1 / (1 + numpy.exp(-a))
gelu = lambda a: 0.5 * a * (1 + erf(a / math.sqrt(2)))
gelu_tanh = lambda a: 0.5 * a * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)))
softplus = lambda a: numpy.log1p(numpy.exp(a))
REFERENCE = {
    "copy": lambda a: a, "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b, "pow": lambda a, b: a**b,
    "min": numpy.minimum, "max": numpy.maximum, "hypot": numpy.hypot, "atan2": numpy.arctan2, "multiply_add": lambda a, b, c: a * b + c,
    "lerp": lambda a, b, c: a + c * (b - a), "neg": lambda a: -a, "abs": numpy.abs, "sign": numpy.sign, "square": numpy.square,
    "reciprocal": lambda a: 1 / a, "floor": numpy.floor, "ceil": numpy.ceil, "round": numpy.round, "where": lambda a, b, c: numpy.where(a != 0, b, c),
    "equal": numpy.equal, "not_equal": numpy.not_equal, "less": numpy.less, "less_equal": numpy.less_equal, "greater": numpy.greater,
    "greater_equal": numpy.greater_equal, "is_nan": numpy.isnan, "exp": numpy.exp, "exp2": numpy.exp2, "expm1": numpy.expm1, "log": numpy.log,
    "log2": numpy.log2, "log1p": numpy.log1p, "sqrt": numpy.sqrt, "rsqrt": lambda a: 1 / numpy.sqrt(a), "sin": numpy.sin, "cos": numpy.cos,
    "tan": numpy.tan, "atan": numpy.arctan, "sinh": numpy.sinh, "cosh": numpy.cosh, "tanh": numpy.tanh, "erf": erf, "relu": lambda a: numpy.maximum(a, 0),
    "gelu": gelu, "gelu_tanh": gelu_tanh, "sigmoid": sigmoid, "silu": lambda a: a * sigmoid(a), "softplus": softplus,
    "log_sigmoid": lambda a: -softplus(-a), "softsign": lambda a: a / (1 + numpy.abs(a)), "mish": lambda a: a * numpy.tanh(softplus(a)),
    "add_relu": lambda a, b: numpy.maximum(a + b, 0), "add_gelu": lambda a, b: gelu_tanh(a + b) , "add_silu": lambda a, b: (a + b) * sigmoid(a + b),
    "silu_gate": lambda a, b: a * sigmoid(a) * b, "scale": lambda a: a, "blend": lambda a, b: a, "celu": lambda a: numpy.where(a > 0, a, numpy.expm1(a)),
    "elu": lambda a: numpy.where(a > 0, a, numpy.expm1(a)), "logical_and": numpy.logical_and, "logical_or": numpy.logical_or, "logical_not": numpy.logical_not,
}  # fmt: skip
LOOSE = {"add_gelu", "gelu_gate"}  # which form of gelu is the table's business


def close(got, want, tolerance=2e-6):
    got, want = numpy.asarray(got, "f8"), numpy.asarray(want, "f8")
    assert got.shape == want.shape, (got.shape, want.shape)
    assert numpy.allclose(got, want, rtol=tolerance, atol=tolerance), numpy.abs(got - want).max()


@test
def every_elementwise_row():
    seed = numpy.random.default_rng(1)
    for name, (_, form, _, _, has_derivatives) in ops.ELEMENTWISE.items():
        function = getattr(ops, name)
        count = form.index("_")
        assert function.__doc__ and len([p for p in inspect.signature(function).parameters if p in "abc"]) == count
        operands = [(0.3 + seed.random((3, 4))).astype("f4") for _ in range(count)]
        if form[0] == "B":
            operands[0] = operands[0] > 0.8
        got = function(*operands, device="interp")
        assert isinstance(got, numpy.ndarray) and got.shape == (3, 4) and got.dtype == (bool if form.endswith("B") else numpy.float32), name
        if name in REFERENCE and name not in LOOSE:
            close(got, REFERENCE[name](*(o.astype("f8") for o in operands)), 3e-6)


@on_each_device
def shapes_are_numpys(device):
    a, b = numpy.arange(12, dtype="f4").reshape(3, 4), numpy.arange(4, dtype="f4")
    for x, y in [(a, b), (a, a[:, :1]), (b, a), (a[:, None], b[:, None]), (a[:0], b), (a.T, a[0, :3]), (a[::-1, ::2], a[0, ::2]), (a[0, 0], a)]:
        y = numpy.asarray(y)
        x = numpy.asarray(x)
        close(ops.add(x, y, device=device), x + y)
    close(ops.mul(a, 2.5, device=device), a * 2.5)
    close(ops.sub(1, a, device=device), 1 - a)
    close(ops.where(a > 3, a, -1.0, device=device), numpy.where(a > 3, a, -1))
    out = numpy.zeros((3, 8), "f4")[:, ::2]
    assert ops.add(a, b, out=out, device=device) is out
    close(out, a + b)
    ops.add(a, 1, out=a, device=device)  # in place
    close(a, numpy.arange(12).reshape(3, 4) + 1)
    for dtype in ("i4", "i8", "u1", "f8", "f2"):
        got = ops.add(numpy.ones(3, dtype), numpy.ones(3, dtype), device=device)
        assert got.dtype == dtype and (got == 2).all()
    assert ops.copy(a, dtype="i32", device=device).dtype == numpy.int32 and ops.copy(a, dtype="f16", device=device).dtype == numpy.float16
    raises(kiln.ArgumentError, ["add", "[3, 4]", "[3]"], ops.add, a, a[:, 0], device=device)
    raises(kiln.TypeMismatch, ["'b'", "f64", "f32"], ops.add, a, a.astype("f8"), device=device)
    raises(kiln.TypeMismatch, ["at least one"], ops.add, 1, 2)
    for number in (numpy.int64(3), numpy.float64(3), numpy.float32(3), numpy.bool_(True)):  # beside an array they are numbers, as Python's are
        for got, want in ((ops.sub(a, number, device=device), a - numpy.float32(number)), (ops.sub(number, a, device=device), numpy.float32(number) - a)):
            assert type(got) is numpy.ndarray and got.dtype == numpy.float32 and (got == want).all()
    raises(kiln.TypeMismatch, ["exp", "'a'", "records"], ops.exp, numpy.zeros(3, [("x", "f4")]))
    raises(kiln.TypeMismatch, ["softmax", "'x'", "records"], ops.softmax, numpy.zeros(3, [("x", "f4")]))
    raises(kiln.TypeMismatch, ["softmax", "axis='a'"], ops.softmax, a, axis="a")
    raises(kiln.TypeMismatch, ["'a'", "str"], ops.add, "a", a)
    raises(kiln.Error, ["out"], ops.add, a, a, out=numpy.zeros((3, 5), "f4"), device=device)
    raises(kiln.Error, ["overlap"], ops.add, a[:, 1:], a[:, 1:], out=a[:, :-1], device=device)
    twice = numpy.lib.stride_tricks.as_strided(numpy.zeros(4, "f4"), (3, 4), (0, 4))
    raises(kiln.Error, ["out"], ops.copy, a, out=twice, device=device)
    locked = numpy.zeros((3, 4), "f4")
    locked.flags.writeable = False
    raises(kiln.Error, ["read-only"], ops.copy, a, out=locked, device=device)

    class Converts:  # to another array each time
        def __array__(self, dtype=None, copy=None):
            return numpy.full(70000, 3, "f4")

    class Shares(Converts):
        def __array__(self, dtype=None, copy=None):
            return a

    assert ops.sum(numpy.float32(3), device=device) == 3 and (numpy.asarray(ops.copy_view(Converts(), device=device)) == 3).all()
    raises(kiln.Error, ["read-only"], ops.copy, numpy.zeros((), "f4"), out=numpy.float32(1), device=device)
    raises(kiln.Error, ["read-only"], ops.copy, numpy.zeros(70000, "f4"), out=Converts(), device=device)
    ops.copy(-a, out=Shares(), device=device)
    assert (a < 0).all()


@on_each_device
def arrays_of_kiln_stay_there(device):
    a = kiln.array(numpy.arange(6, dtype="f4").reshape(2, 3), device=device)
    b = ops.add(a, ops.mul(a, 2.0))
    assert isinstance(b, kiln.Array) and b.device.name == device
    close(b.numpy(), numpy.arange(6).reshape(2, 3) * 3)
    narrow = ops.copy(a, dtype="bf16")
    assert narrow.dtype == "bf16" and ops.copy(narrow.T, dtype="f32").tolist() == a.T.tolist()
    close(ops.softmax(a.T, axis=0).numpy(), ops.softmax(numpy.ascontiguousarray(a.numpy().T), axis=0, device=device))


@on_each_device
def matrix_products(device):
    seed = numpy.random.default_rng(2)
    a, b = seed.random((5, 7)).astype("f4"), seed.random((7, 3)).astype("f4")
    close(ops.matmul(a, b, device=device), a.astype("f8") @ b)
    close(ops.matmul(b.T, a.T, device=device), (a.astype("f8") @ b).T)
    batches = seed.random((2, 1, 5, 7)).astype("f4")
    close(ops.matmul(batches, numpy.broadcast_to(b, (4, 7, 3)), device=device), batches.astype("f8") @ b[None, None].repeat(4, 1))
    bias = seed.random(3).astype("f4")
    close(ops.matmul(a, b, bias=bias, epilogue="bias_relu", device=device), numpy.maximum(a.astype("f8") @ b + bias, 0))
    assert ops.matmul(a.astype("f2"), b.astype("f2"), device=device).dtype == numpy.float16
    whole = ops.matmul(numpy.full((2, 3), 2, "i1"), numpy.full((3, 2), 3, "i1"), device=device)
    assert whole.dtype == numpy.int32 and (whole == 18).all()
    assert ops.matmul(a[:0], b, device=device).shape == (0, 3)
    out, wide = ops.matmul(a, b, bias=bias, epilogue="bias_relu", device=device), a.astype("f8")
    dout, dbias = out + 1, numpy.empty_like(bias)
    da, db = ops.matmul_backward(a, b, dout, saved=out, epilogue="bias_relu", dbias=dbias, device=device)[:2]
    at_sum = dout * (out > 0)
    close(da, at_sum @ b.T.astype("f8"), 1e-4)
    close(db, wide.T @ at_sum, 1e-4)
    close(dbias, at_sum.sum(0), 1e-4)
    close(ops.matmul_backward(a, b, dout, da=False, device=device), wide.T @ dout, 1e-4)
    raises(kiln.ArgumentError, ["[5, 7]", "[5, 7]"], ops.matmul, a, a, device=device)
    raises(kiln.ArgumentError, ["two dimensions"], ops.matmul, a, bias, device=device)
    raises(kiln.ArgumentError, ["epilogue", "bias_gelu"], ops.matmul, a, b, epilogue="gelu", device=device)
    raises(kiln.ArgumentError, ["'a'"], ops.matmul, None, b)
    raises(kiln.TypeMismatch, ["'b'", "list"], ops.matmul, a, [1, 2])


@on_each_device
def gguf_blocks(device):
    seed = numpy.random.default_rng(4)
    x, w = seed.integers(-9, 9, (3, 64)).astype("f4"), seed.integers(-127, 128, (5, 64)).astype("f4")
    w[:, ::32] = 127  # scales of 1: the numbers are exact
    blocks, back = numpy.zeros((5, 68), "u1"), numpy.zeros((5, 64), "f4")
    blocks = ops.gguf_quantise(w, type="q8_0", out=blocks, device=device)
    assert (ops.gguf_dequantise(blocks, type="q8_0", out=back, device=device) == w).all()
    assert (ops.gguf_matmul(x, blocks, type="q8_0", device=device) == x @ w.T).all()
    raises(kiln.ArgumentError, ["q4_k", "256"], ops.gguf_matmul, x, blocks, type="q4_k", device=device)


@on_each_device
def rows_and_attention(device):
    seed = numpy.random.default_rng(3)
    x = seed.random((4, 6)).astype("f4")
    for axis in (0, 1, -1):
        e = numpy.exp(x.astype("f8"))
        close(ops.softmax(x, axis=axis, device=device), e / e.sum(axis, keepdims=True))
        close(ops.softmax(x, axis=axis, is_log=True, device=device), numpy.log(e / e.sum(axis, keepdims=True)))
    y = ops.softmax(x, device=device)
    dout = seed.random((4, 6)).astype("f4")
    close(ops.softmax_backward(y, dout, device=device), y * (dout - (dout * y).sum(-1, keepdims=True)))
    raises(kiln.ArgumentError, ["axis 2"], ops.softmax, x, axis=2)
    weight, bias = seed.random(6).astype("f4"), seed.random(6).astype("f4")
    want = (x - x.mean(-1, keepdims=True)) / numpy.sqrt(x.var(-1, keepdims=True) + 1e-5) * weight + bias
    close(ops.norm(x, weight=weight, bias=bias, device=device), want, 1e-5)
    close(ops.norm(x, is_rms=True, device=device), x / numpy.sqrt((x**2).mean(-1, keepdims=True) + 1e-5), 1e-5)
    for eps in (0.0, 1.0):  # the ends of its range
        close(ops.norm(x, eps=eps, device=device), (x - x.mean(-1, keepdims=True)) / numpy.sqrt(x.var(-1, keepdims=True) + eps), 1e-5)
        close(ops.group_norm(x, groups=2, eps=eps, device=device)[0].reshape(8, 3), ops.norm(x.reshape(8, 3), eps=eps, device=device), 1e-5)
        close(ops.batch_norm(x, eps=eps, device=device)[0], ops.norm(x, axis=0, eps=eps, device=device), 1e-5)
    dx, dweight, dbias = ops.norm_backward(x, dout, weight=weight, dbias=True, device=device)
    close(dbias, dout.sum(0), 1e-5)
    assert dx.shape == x.shape and dweight.shape == (6,)
    assert isinstance(ops.norm_backward(x, dout, device=device), numpy.ndarray)
    q, k, v = (seed.random((2, 4, 5, 8)).astype("f4"), seed.random((2, 2, 7, 8)).astype("f4"), seed.random((2, 2, 7, 8)).astype("f4"))
    out, lse = ops.attention(q, k, v, lse=True, is_causal=True, device=device)
    scores = numpy.einsum("bhqd,bhkd->bhqk", q.astype("f8"), k.repeat(2, 1)) / math.sqrt(8)
    scores[..., numpy.arange(7)[None, :] > numpy.arange(5)[:, None] + 2] = -numpy.inf
    e = numpy.exp(scores)
    close(out, numpy.einsum("bhqk,bhkd->bhqd", e / e.sum(-1, keepdims=True), v.repeat(2, 1)), 1e-5)
    close(lse, numpy.log(e.sum(-1)), 1e-5)
    dq, dk, dv = ops.attention_backward(q, k, v, out, lse, out, is_causal=True, device=device)
    assert dq.shape == q.shape and dk.shape == k.shape and dv.shape == v.shape and numpy.isfinite(dk).all()
    assert ops.attention(q, k, v, device=device).shape == q.shape
    bias, slopes = seed.random((4, 1, 7)).astype("f2"), seed.random(4).astype("f4")
    distance = numpy.arange(5)[:, None] + 2 - numpy.arange(7)[None, :]
    scores = numpy.einsum("bhqd,bhkd->bhqk", q.astype("f8"), k.repeat(2, 1)) / math.sqrt(8) + bias.astype("f8") - slopes[:, None, None] * abs(distance)
    scores[..., (distance > 2) | (distance < -1)] = -numpy.inf
    e = numpy.exp(scores)
    how = {"has_window": True, "window_left": 2, "window_right": 1, "bias": bias, "slopes": slopes, "device": device}
    out, lse = ops.attention(q, k, v, lse=True, **how)
    close(out, numpy.einsum("bhqk,bhkd->bhqd", e / e.sum(-1, keepdims=True), v.repeat(2, 1)), 1e-5)
    dq, dk, dv, dbias = ops.attention_backward(q, k, v, out, lse, out, **how)
    assert dq.shape == q.shape and dk.shape == k.shape and numpy.isfinite(dv).all()
    assert dbias.shape == bias.shape and dbias.dtype == bias.dtype and numpy.isfinite(dbias).all()
    assert len(ops.attention_backward(q, k, v, out, lse, out, dbias=False, **how)) == 3
    offsets = numpy.array([0, 3, 3, 5], "i4")
    parts = [ops.attention(q[:1, :, i:j], q[:1, :, i:j], q[:1, :, i:j], is_causal=True, device=device) for i, j in ((0, 3), (3, 5))]
    assert (ops.attention(q[:1], q[:1], q[:1], q_offsets=offsets, k_offsets=offsets, is_causal=True, device=device) == numpy.concatenate(parts, 2)).all()


@on_each_device
def reductions(device):
    x = numpy.random.default_rng(5).standard_normal((3, 4, 5)).astype("f4")
    for axis in (None, 0, -1, (0, 2), [1]):
        key = tuple(axis) if isinstance(axis, list) else axis
        for keepdims in (False, True):
            how = {"keepdims": keepdims, "device": device}
            close(ops.sum(x, axis, **how), x.sum(key, keepdims=keepdims, dtype="f8"), 1e-5)
            close(ops.amax(x, axis, **how), x.max(key, keepdims=keepdims))
        close(ops.mean(x, axis, device=device), x.mean(key, dtype="f8"), 1e-5)
        close(ops.variance(x, axis, alpha=1, device=device), x.var(key, ddof=1, dtype="f8"), 1e-5)
    close(ops.argmax(x, 1, device=device), x.argmax(1))
    close(ops.logsumexp(x, device=device), numpy.log(numpy.exp(x).sum()), 1e-5)
    close(ops.vector_norm(x, device=device), numpy.linalg.norm(x.ravel()), 1e-5)
    assert ops.argmax(x, 1, device=device).dtype == numpy.int64 and ops.any(x > 9, device=device) == False and ops.count_nonzero(x, device=device) == 60  # noqa: E712
    assert ops.sum(numpy.arange(5), device=device) == 10 and ops.sum(x.T, 0, device=device).shape == (4, 3) and ops.sum(x, (), device=device).shape == x.shape
    (dx,) = [ops.reduce_backward(x, ops.sum(x, 0, device=device), numpy.ones((4, 5), "f4"), op="sum", axes=1, device=device)]
    assert (dx == 1).all() and dx.shape == x.shape
    raises(kiln.ArgumentError, ["axis 3"], ops.sum, x, 3)
    raises(kiln.ArgumentError, ["twice"], ops.sum, x, (0, -3))
    for y in (numpy.array([[0, 2, -3]], "i4"), numpy.array([[0, 2, -3]], "f4"), numpy.array([[0, 2, -3]], "f8").reshape((1,) * 7 + (3,))):
        for name in ("sum", "mean", "prod", "any", "all", "count_nonzero"):  # over no dimension
            want = (y != 0).astype("i8") if name == "count_nonzero" else getattr(numpy, name)(y, axis=())
            got = getattr(ops, name)(y, axis=(), device=device)
            assert (got == want).all() and got.dtype.kind == want.dtype.kind and got.shape == y.shape, name
    y = x[0]
    assert (ops.vector_norm(y, (), device=device) == abs(y)).all() and (ops.variance(y, (), keepdims=True, device=device) == 0).all()
    raises(kiln.ArgumentError, ["argmax", "axis=()"], ops.argmax, x, ())
    raises(kiln.TypeMismatch, ["sum", "axis='a'"], ops.sum, x, "a")
    close(ops.sum(x, numpy.int64(1), device=device), x.sum(1), 1e-5)
    assert (ops.sum(x, (), device=device) == x).all()


@on_each_device
def losses_and_scans(device):
    logits = numpy.random.default_rng(6).standard_normal((5, 7)).astype("f4")
    targets = numpy.array([0, 6, 3, 3, 1])
    rows = numpy.log(numpy.exp(logits.astype("f8")).sum(1)) - logits[numpy.arange(5), targets]
    close(ops.cross_entropy(logits, targets, device=device), rows, 1e-5)
    loss, lse, total = ops.cross_entropy(logits, targets, reduction="mean", lse=True, total_weight=True, device=device)
    close(loss, rows.mean(), 1e-5)
    p = numpy.exp(logits.astype("f8"))
    p /= p.sum(1, keepdims=True)
    p[numpy.arange(5), targets] -= 1
    one = numpy.ones((), "f4")
    close(ops.cross_entropy_backward(logits, targets, lse, one, total_weight=total, reduction="mean", device=device), p / 5, 1e-5)
    close(ops.scan(logits, axis=1, device=device), logits.cumsum(1), 1e-5)
    close(ops.scan_backward(logits, axis=0, device=device), logits[::-1].cumsum(0)[::-1], 1e-5)


@on_each_device
def movement(device):
    a, b = numpy.arange(6, dtype="f4").reshape(2, 3), numpy.arange(8, dtype="f4").reshape(2, 4)
    close(ops.concat([a, b], axis=1, device=device), numpy.concatenate([a, b], 1))
    close(ops.concat([a.T, a.T], axis=0, device=device), numpy.concatenate([a.T, a.T]))
    parts = [numpy.zeros((2, 1), "f4"), numpy.zeros((2, 2), "f4")]
    assert ops.split(parts, a, axis=1, device=device)[0] is parts[0]
    close(parts[1], a[:, 1:])
    close(ops.copy_view(a.T, device=device), a.T)
    close(ops.pad(a, before=[0, 1], value=7, out=numpy.zeros((2, 5), "f4"), device=device), numpy.pad(a, ((0, 0), (1, 1)), constant_values=7))
    raises(kiln.ArgumentError, ["dimensions"], ops.concat, [a, a[0]], axis=0, device=device)


@on_each_device
def indices_and_order(device):
    x = numpy.random.default_rng(7).standard_normal((4, 6)).astype("f4")
    close(ops.sort(x, axis=0, device=device), numpy.sort(x, 0))
    out, index = ops.sort(x, index=True, is_descending=True, device=device)
    close(index, numpy.argsort(-x, 1, kind="stable"))
    keys, moved = ops.sort(x[0], values=numpy.arange(6), device=device)
    close(moved, numpy.argsort(x[0]))
    out, index = ops.topk(x, k=2, index=True, device=device)
    close(out, -numpy.sort(-x, 1)[:, :2])
    close(ops.histogram(x, bins=4, low=-2, high=2, device=device), numpy.histogram(x, 4, (-2, 2))[0])
    close(ops.pad(x, before=[1], after=[0, 2], device=device), numpy.pad(x, ((1, 0), (0, 2))))
    close(ops.embedding(x, numpy.array([[3, 0]]), device=device), x[[[3, 0]]])
    close(ops.gather(x, numpy.array([1, 5]), form="take", axis=1, device=device), x[:, [1, 5]])
    close(ops.gather(x, numpy.array([[1, 5]] * 4), axis=1, device=device), numpy.take_along_axis(x, numpy.array([[1, 5]] * 4), 1))
    assert ops.upsample(x, sizes=(8, 6), device=device).shape == (8, 6)
    noise = ops.random(out=numpy.empty((50, 40), "f4"), seed=3, beta=1.0, device=device)
    assert 0.45 < noise.mean() < 0.55 and (noise == ops.random(out=numpy.empty((50, 40), "f4"), seed=3, beta=1.0, device=device)).all()
    assert (ops.generate(op="eye", out=numpy.empty((3, 3), "f4"), alpha=1.0, device=device) == numpy.eye(3)).all()
    raises(kiln.ArgumentError, ["random", "'out'"], ops.random, out=None)
    raises(kiln.ArgumentError, ["topk", "k=9"], ops.topk, numpy.ones((3, 4), "f4"), k=9)
    whole = numpy.arange(6, dtype="i4").reshape(2, 3)
    close(ops.bitwise(whole, b=whole[0], op="xor", device=device), whole ^ whole[0])
    close(ops.bitwise(whole, op="not", device=device), ~whole)
    narrow = ops.quantise(x, numpy.array([0.05], "f4"), device=device)
    close(ops.dequantise(narrow, numpy.array([0.05], "f4"), device=device), (x / numpy.float32(0.05)).round() * 0.05, 0.06)
    layer = numpy.random.default_rng(9).standard_normal((5, 70)).astype("f4")
    rows = numpy.random.default_rng(10).standard_normal((3, 70)).astype("f4")
    for bits in (8, 4):
        weight, scale, zero = ops.quantise_weights(layer, bits=bits, group=32, zero=True, device=device)
        again = ops.dequantise_weights(weight, scale, zero=zero, group=32, k=70, device=device)
        close(again, layer, 0.2 if bits == 4 else 0.02)
        close(ops.linear(rows, weight, scale=scale, zero=zero, group=32, activation="relu", device=device), numpy.maximum(rows @ again.T, 0), 1e-4)
    weight, scale = ops.quantise_weights(layer, device=device)
    close(ops.linear((rows * 20).astype("i1"), weight, device=device), (rows * 20).astype("i1").astype("i4") @ weight.T.astype("i4"))
    q, k, v = ops.linear_qkv(rows, weight, weight[:2], weight[:3], scale_q=scale, scale_k=scale[:2], scale_v=scale[:3], device=device)
    assert q.shape == (3, 5) and (k == q[:, :2]).all() and (v == q[:, :3]).all()
    target = numpy.zeros((4, 6), "f4")
    ops.scatter(numpy.array([[0, 2]] * 4), numpy.ones((4, 2), "f4"), axis=1, op="add", out=target, device=device)
    assert target[:, 0].all() and target[:, 2].all() and target.sum() == 8
    parts = numpy.arange(4, dtype="f4").reshape(2, 1, 2)  # an index has fewer dimensions than what it is an index of: axis is one of the latter
    for axis in (-2, 1):
        target = numpy.zeros((2, 3, 2), "f4")
        ops.scatter(numpy.array([2]), parts, form="take", axis=axis, out=target, device=device)
        assert (target[:, 2:] == parts).all() and not target[:, :2].any()
        ops.gather_backward(numpy.array([1]), parts, form="take", axis=axis, dx=target, device=device)
        assert (target[:, 1:2] == parts).all() and not target[:, ::2].any()
    assert (ops.scan(numpy.arange(4, dtype="f4"), device=device) == [0, 1, 3, 6]).all()
    target = numpy.ones(4, "f4")
    assert ops.scan(target, out=target, device=device) is target and (target == [1, 2, 3, 4]).all()
    assert (ops.sort(numpy.broadcast_to(numpy.float32(3), 5), index=False, device=device) == 3).all()  # read-only
    cos, sin = numpy.empty((5, 4), "f4"), numpy.empty((5, 4), "f4")
    ops.rope_tables(cos=cos, sin=sin, base=10000.0, device=device)
    q = numpy.random.default_rng(8).standard_normal((2, 5, 8)).astype("f4")
    turned = ops.rope(q, cos, sin, device=device)
    close(ops.rope_backward(turned, cos, sin, device=device), q, 1e-5)
    images = numpy.random.default_rng(9).standard_normal((2, 4, 3, 3)).astype("f4")
    out, mean, scale = ops.group_norm(images, groups=2, device=device)
    grouped = images.reshape(2, 2, -1)
    want = (grouped - grouped.mean(-1, keepdims=True)) / numpy.sqrt(grouped.var(-1, keepdims=True) + 1e-5)
    close(out, want.reshape(images.shape), 1e-4)
    assert ops.group_norm_backward(images, mean, scale, images, groups=2, device=device).shape == images.shape
    for norm, empty, groups in ((ops.batch_norm, (0, 3, 4), {}), (ops.group_norm, (2, 3, 0), {"groups": 3})):  # statistics of nothing are set
        mean, scale = (numpy.full(3 if norm is ops.batch_norm else 6, 7, "f4") for _ in "12")
        norm(numpy.zeros(empty, "f4"), mean=mean, scale=scale, device=device, **groups)
        assert not mean.any() and not scale.any()
    out, mean, scale = ops.batch_norm(images, device=device)
    close(out.mean((0, 2, 3)), numpy.zeros(4), 1e-5)


@on_each_device
def backward_passes(device):
    """Of ops that are linear in x: dx is right where the products <dout, op(x)> and <dx, x> are the same for any x and dout."""
    seed = numpy.random.default_rng(13)
    x, index = seed.standard_normal((4, 6)).astype("f4"), numpy.array([[1, 5, 1], [0, 0, 2], [3, 3, 3], [5, 4, 0]])
    order = ops.sort(x, index=True, device=device)[1]
    space = lambda: numpy.empty_like(x)
    pairs = [
        (lambda x: ops.upsample(x, sizes=(8, 9), mode="linear", device=device), lambda d: ops.upsample_backward(d, mode="linear", dx=space(), device=device)),
        (lambda x: ops.pad(x, before=[1, 2], after=[0, 1], device=device), lambda d: ops.pad_backward(d, before=[1, 2], dx=space(), device=device)),
        (lambda x: ops.gather(x, index, device=device), lambda d: ops.gather_backward(index, d, dx=space(), device=device)),
        (lambda x: ops.embedding(x, index % 4, device=device), lambda d: ops.embedding_backward(index % 4, d, dweight=space(), device=device)),
        (lambda x: numpy.take_along_axis(x, order, 1), lambda d: ops.sort_backward(d, order, dx=space(), device=device)),
        (lambda x: ops.dropout(x, rate=0.5, seed=9, device=device), lambda d: ops.dropout_backward(d, rate=0.5, seed=9, device=device)),
    ]
    for n, (forward, backward) in enumerate(pairs):
        out = forward(x)
        dout = seed.standard_normal(out.shape).astype("f4")
        dx = backward(dout)
        assert abs((dout * out).sum() - (dx * x).sum()) < 1e-4 and numpy.abs(dx).sum() > 1, n
    assert (ops.dropout(x, rate=0.5, seed=9, device=device) == 0).any()
    images, dout, step = (seed.standard_normal((3, 2, 4)).astype("f4") for _ in range(3))
    _, mean, scale = ops.batch_norm(images, device=device)
    change = [(ops.batch_norm(images + s * 1e-2 * step, device=device)[0] * dout).sum() for s in (1, -1)]
    assert abs((ops.batch_norm_backward(images, mean, scale, dout, device=device) * step).sum() - (change[0] - change[1]) / 2e-2) < 1e-2


@on_each_device
def windows(device):
    x = numpy.random.default_rng(11).standard_normal((2, 3, 6, 5)).astype("f4")
    weight = numpy.random.default_rng(12).standard_normal((4, 3, 3, 3)).astype("f4")
    padded = numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    seen = numpy.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    want = numpy.einsum("bcyxij,ocij->boyx", seen, weight)
    close(ops.conv(x, weight, pad_before=1, pad_after=1, device=device), want, 1e-4)
    close(ops.conv(x, weight, stride=2, pad_before=(1, 1), pad_after=1, activation="relu", device=device), numpy.maximum(want[:, :, ::2, ::2], 0), 1e-4)
    dx, dweight, dbias = ops.conv_backward(x, weight, want.astype("f4"), pad_before=1, pad_after=1, dbias=True, device=device)
    assert dx.shape == x.shape and dweight.shape == weight.shape
    close(dbias, want.sum((0, 2, 3)), 1e-3)
    assert ops.conv(want.astype("f4"), weight, is_transposed=True, device=device).shape == (2, 3, 8, 7)
    close(ops.pool(x, size=2, device=device), x[:, :, :6, :4].reshape(2, 3, 3, 2, 2, 2).max((3, 5)))
    close(ops.pool(x, kind="average", device=device), x.mean((2, 3), keepdims=True), 1e-5)
    out, indices = ops.pool(x, size=(2, 1), indices=True, device=device)
    back = ops.pool_backward(numpy.ones_like(out), indices=indices, size=(2, 1), dx=numpy.empty_like(x), device=device)
    assert back.sum() == out.size
    raises(kiln.ArgumentError, ["conv", "window"], ops.conv, x, weight[0], device=device)


@test
def gradients_of_elementwise_ops():
    a, b = numpy.array([1.0, 2, 3], "f4"), numpy.array([4.0, 5, 6], "f4")
    da, db = ops.elementwise_backward("mul", (a, b), numpy.ones(3, "f4"), device="interp")
    assert (da == b).all() and (db == a).all()
    da, db = ops.elementwise_backward("mul", (a, b), numpy.ones(3, "f4"), wanted=(False, True), device="interp")
    assert da is None and (db == a).all()
    raises(kiln.ArgumentError, ["no derivative"], ops.elementwise_backward, "less", (a, b), a)
    raises(kiln.ArgumentError, ["'nothing'"], ops.elementwise_backward, "nothing", (a, b), a)


@test
def every_function_has_a_stub_and_a_text():
    import os

    with open(os.path.join(os.path.dirname(ops.__file__), "ops.pyi")) as file:
        stubs = file.read()
    for name in ops.__all__:
        assert getattr(ops, name).__doc__, name
        assert "def %s(" % name in stubs, name


@test
def same_bits_on_every_device():
    seed = numpy.random.default_rng(4)
    x = seed.standard_normal((7, 33)).astype("f4")
    for function in (ops.gelu, ops.exp, ops.softmax, ops.norm, lambda x, device: ops.matmul(x, x.T, device=device)):
        assert function(x, device="cpu").tobytes() == function(x, device="interp").tobytes()


@on_each_device
def fused_functions(device):
    """One kernel has the bits of its ops called one after the other."""
    rng = numpy.random.default_rng(5)
    x, b = rng.standard_normal((4, 6)).astype("f4"), rng.standard_normal(6).astype("f4")
    shifted = kiln.fuse(lambda x, b, s: ops.gelu(x + b) * s - 1.0, "shifted")
    one = {"device": device}
    want = ops.sub(ops.mul(ops.gelu(ops.add(x, b, **one), **one), 2.5, **one), 1.0, **one)
    assert shifted(x, b, 2.5, **one).tobytes() == want.tobytes() and shifted(x, b, 3.0, **one).tobytes() != want.tobytes()
    assert shifted(x[::2, ::3].T, b[:1], 2.5, **one).shape == (2, 2) and shifted(x[:0], b, 1, **one).shape == (0, 6)
    many = kiln.fuse(lambda x, b: (x * b, (x * b).reduce("sum", axis=-1), abs(x).reduce("max", axis=1, keepdims=True), x < b, (1 - x).leaky_relu(alpha=0.5)))
    product, total, most, less, leaky = many(x, b, **one)
    assert (product == x * b).all() and numpy.allclose(total, (x * b).sum(-1), atol=1e-5) and (most == abs(x).max(1, keepdims=True)).all()
    assert less.dtype == bool and (less == (x < b)).all() and numpy.allclose(leaky, numpy.where(x < 1, 1 - x, (1 - x) / 2))
    whole = numpy.empty((), "f4")
    assert kiln.fuse(lambda x: x.square().reduce("mean"))(x, out=whole, **one) is whole and numpy.allclose(whole, (x * x).mean())
    for shape in ((5, 4, 6), (0, 4, 6), (1, 4, 1)):  # an array that no result needs still has a part in the shape
        got = kiln.fuse(lambda x, y: x.reduce("sum", axis=(0, 1)))(x, numpy.ones(shape, "f4"), **one)
        assert numpy.allclose(got, numpy.broadcast_to(x, (shape[0], 4, 6)).sum((0, 1)), atol=1e-4), shape
    i = numpy.array([0, 1, 2], "i4")  # a number beside arrays of several types has each of them
    chosen = kiln.fuse(lambda i, x, p: (ops.where(i == 0, 0.0, x * p), ops.where(i != 2, i * p, 0), ops.clamp(i, alpha=0, beta=1).to("f32") + ops.clamp(x, alpha=0, beta=1)))
    picked, doubled, both = chosen(i, numpy.float32([0.5, 1.5, -2]), 2, **one)
    assert picked.tolist() == [0, 3, -4] and doubled.tolist() == [0, 2, 0] and both.tolist() == [0.5, 2, 1]
    assert (kiln.fuse(lambda x: x // 0.5)(x, **one) == x // 0.5).all()
    flag = numpy.empty(1, bool)
    assert kiln.fuse(lambda x: x.reduce("mean"))(x, out=flag.reshape(()), **one) and flag[0]
    half = kiln.fuse(lambda x: x.to("f16").to("f32") * 1.0)(x, **one)
    assert (half == x.astype("f2").astype("f4")).all()
    raises(kiln.TypeMismatch, ["shifted", "argument 1", "str"], shifted, x, "b", 1.0)
    raises(kiln.ArgumentError, ["shifted", "[4, 6]", "[5]"], shifted, x, b[:5], 1.0)
    raises(kiln.ArgumentError, ["shifted", "no argument is an array"], shifted, 1.0, 2.0, 3.0)
    raises(kiln.TypeMismatch, ["fuse", "result 0", "float"], kiln.fuse(lambda x: 1.0), x)
    raises(kiln.TypeMismatch, ["fuse", "add", "'b'", "ndarray"], kiln.fuse(lambda x: ops.add(x, b)), x)
    raises(kiln.ArgumentError, ["where"], kiln.fuse(lambda x: x if x > 0 else -x), x)
    raises(kiln.ArgumentError, ["where"], kiln.fuse(lambda x: x if x == 0 else -x), x)
    raises(kiln.TypeMismatch, ["equal: 'b'", "NoneType"], kiln.fuse(lambda x: x == None), x)  # noqa: E711
    raises(kiln.ArgumentError, ["median", "mean"], kiln.fuse(lambda x: x.reduce("median")), x)
    raises(kiln.ArgumentError, ["same axes"], kiln.fuse(lambda x: (x.reduce("sum", 0), x.reduce("sum", 1))), x)
    raises(kiln.ArgumentError, ["fuse", "add"], kiln.fuse(lambda x, y: x + y), x, x.astype("f8"))
    raises(AttributeError, ["matmul", "elementwise"], kiln.fuse(lambda x: x.matmul(x)), x)


# What is no number, or does not fit, for each kind of field.
WRONG = {
    "int": ("a", 1.5, None, 1 << 70, [1], 1j), "float": ("a", None, [1.0], 1j, 10**400), "bool": ("a", None, 2, 0.5), "axis": ("a", 1.5, None, 9),
    "enum": ("gone", 1 << 40, None, [1]), "numbers": (None, "a", (1.5,), ("a",), (1 << 70,), (1,) * 9),
}  # fmt: skip


@test
def wrong_numbers_of_every_op_are_named():
    """Every number of every description, before anything else is done with the call."""
    fields = 0
    for title, op in vars(_op_table).items():
        if not isinstance(op, _op.Op):
            continue
        x = numpy.ones((2, 2, 2, 2), "f4")
        has_input = any(kind in ("in", "views", "viewlist", "written") for kind, _, _ in op.fields)
        right = {"in": x, "out": None if has_input else x, "views": [x], "viewlist": [x], "written": [x], "numbers": (), "enum": 0, "bool": False, "float": 0.0, "int": 0, "axis": 0}
        values = [(() if extra == "()" else 0) if kind == "extra" else right.get(kind) for kind, _, extra in op.fields]
        for at, (kind, name, extra) in enumerate(op.fields):
            for wrong in WRONG.get("numbers" if extra == "()" else "int" if kind == "extra" else kind, ()):
                given = tuple(wrong if n == at else value for n, value in enumerate(values))
                error = raises(kiln.ArgumentError, [name], op, given, None, "interp")
                assert str(error).startswith(op.call + ": ") and "kiln_" not in str(error), error
                fields += 1
    assert fields > 500, fields
    a = numpy.ones(3, "f4")
    for name, row in ops.ELEMENTWISE.items():
        for wrong in WRONG["float"] if row[2] else ():
            raises(kiln.ArgumentError, [name, "alpha"], getattr(ops, name), *[a] * row[1].index("_"), alpha=wrong)
    raises(kiln.ArgumentError, ["norm: eps"], ops.norm, a, eps=-1.0)
    raises(kiln.ArgumentError, ["sum: 'out'"], ops.sum, a, out=numpy.ones(2, "f4"))
    raises(kiln.ArgumentError, ["sum: keepdims=3"], ops.sum, a, keepdims=3)
    raises(kiln.ArgumentError, ["add: 'a' is bool"], ops.add, a > 0, a > 0)
    raises(kiln.ArgumentError, ["pad: 'out' would be [-2]"], ops.pad, a, before=(-5,))
    raises(kiln.ArgumentError, ["upsample", "[-1]"], ops.upsample, a, sizes=(-1,))
    assert ops.pad(numpy.ones((2, 3), "f4"), before=1, after=2).shape == (5, 6)
    raises(kiln.ArgumentError, ["quantise_weights: bits=5", "4 or 8"], ops.quantise_weights, numpy.ones((2, 32), "f4"), bits=5)
    for call, args in ((ops.quantise_weights, (a,)), (ops.batch_norm, (a,)), (ops.group_norm, (a,)), (ops.embedding, (a, numpy.zeros(2, "i8"))), (ops.linear, (a, a))):
        raises(kiln.ArgumentError, [call.__name__, "1 dimensions"], call, *args)
    raises(kiln.ArgumentError, ["concat: 'parts' is empty"], ops.concat, [])
    raises(kiln.TypeMismatch, ["concat: 'parts' is a int"], ops.concat, 3)
    raises(kiln.TypeMismatch, ["split: 'parts' is a int"], ops.split, 3, a)
    raises(kiln.TypeMismatch, ["elementwise_backward: operands is a list of 1: a list of 2"], ops.elementwise_backward, "mul", [a], a)
    raises(kiln.TypeMismatch, ["elementwise_backward: operands is a ndarray"], ops.elementwise_backward, "mul", numpy.ones((2, 3), "f4"), a)
    raises(kiln.TypeMismatch, ["elementwise_backward: wanted is a list of 1"], ops.elementwise_backward, "mul", [a, a], a, wanted=[True])


@test
def arrays_of_any_rank_are_refused_by_name():
    """Of any number of dimensions, with and without operands and results that may be left out: no error of Python's own."""
    tried = refused = 0
    for title, op in vars(_op_table).items():
        if not isinstance(op, _op.Op):
            continue
        enums = [n for n, (kind, name, _) in enumerate(op.fields) if kind == "enum"]
        for rank, size, has_all, is_given, number in itertools.product(range(5), (2, 0), (False, True), (False, True), range(3)):
            x, out = numpy.ones((size,) * rank, "f4"), numpy.ones((size,) * rank, "f4")
            values = []
            for kind, name, extra in op.fields:
                is_optional = kind == "in?"
                values.append(
                    (x.astype("i4") if name == "index" else x) if kind == "in" or is_optional and has_all else [x, x] if kind in ("views", "viewlist") else [out] if kind == "written"
                    else out if kind == "out" and (is_given or extra == "given") else True if kind == "out?" and has_all != is_given else () if kind == "numbers" or extra == "()"
                    else 1 if kind in ("int", "extra") else 0.5 if kind == "float" else False if kind == "bool" else 0 if kind in ("axis", "enum") else None)  # fmt: skip
            if enums:
                values[enums[0]] = sorted(op.enums[op.fields[enums[0]][1]].values())[number % len(op.enums[op.fields[enums[0]][1]])]
            tried += 1
            try:
                op(tuple(values), None, "interp")
            except kiln.Error as error:
                refused += 1
                assert str(error).startswith(title.partition("_")[0]), (title, rank, size, has_all, is_given, number, str(error))
            except Exception as error:
                raise AssertionError((title, rank, size, has_all, is_given, number)) from error
    assert tried > 2000 and tried > refused > tried // 2, (tried, refused)
    x = numpy.ones((2, 4), "f4")
    raises(kiln.ArgumentError, ["bitwise: 'b' is missing"], ops.bitwise, x.astype("i4"), op="and")
    raises(kiln.ArgumentError, ["matmul: 'bias' is missing"], ops.matmul, x, x.T, epilogue="bias")
    raises(kiln.ArgumentError, ["generate: 'x' is missing"], ops.generate, op="tril", out=x)
    raises(kiln.ArgumentError, ["rope: 'cos': [1, 2] cannot be repeated to [2]"], ops.rope, x[0], x[:1, :2], x[:1, :2])
    raises(kiln.TypeMismatch, ["copy_view: 'x' is a str"], ops.copy_view, "x")
    raises(kiln.ArgumentError, ["sort: 'values_out'", "'values' is missing"], ops.sort, x, values_out=True)
    raises(kiln.ArgumentError, ["group_norm: groups=3", "4 channels"], ops.group_norm, x, groups=3)
    raises(kiln.OutOfMemory, ["conv: 'out' would be [1, %d, 2]" % 2**62], ops.conv, numpy.ones((1, 0, 2), "f4"), numpy.ones((0, 2**31, 1), "f4"), groups=2**31, is_transposed=True)


@test
def numbers_beside_arrays_are_not_cut():
    whole, small, half = numpy.arange(4), numpy.arange(4, dtype="u1"), numpy.ones(4, "f2")
    for value in (1.5, numpy.float32(1.5), float("nan")):
        raises(kiln.TypeMismatch, ["less: 'b' is", "i64", "whole numbers"], ops.less, whole, value)
    assert ops.less(whole, 2.0).tolist() == [True, True, False, False] and ops.add(whole, True).tolist() == [1, 2, 3, 4]
    for value in (256, -1):
        raises(kiln.ArgumentError, ["add: 'b' is %d" % value, "u8", "255"], ops.add, small, value)
    raises(kiln.ArgumentError, ["mul: 'a'=1e+300", "f32"], ops.mul, 1e300, numpy.ones(2, "f4"))
    raises(kiln.ArgumentError, ["mul: 'a' is 70000", "f16"], ops.mul, 70000, half)
    assert ops.mul(numpy.ones(2, "f4"), float("inf")).tolist() == [float("inf")] * 2
    assert ops.where(whole > 1, 0.5, 2.0).tolist() == [2, 2, 0.5, 0.5] and ops.where(0.5, half, 0.0).tolist() == [1] * 4
    raises(kiln.TypeMismatch, ["mul: 'b' is 1.5", "i64"], kiln.fuse(lambda x: x * 1.5), whole)
    scaled = kiln.fuse(lambda x, s: x * s)
    assert scaled(whole, 2).tolist() == [0, 2, 4, 6] and scaled(half, 1.5).tolist() == [1.5] * 4
    raises(kiln.TypeMismatch, ["mul: 'b' is 1.5", "whole numbers"], scaled, whole, 1.5)


@test
def whole_numbers_are_exact_or_refused():
    """Parameters are doubles: a number that none of them is would be another one."""
    x, odd, top = numpy.array([0, 2**62], "i8"), 2**53 + 1, 2**63 - 1
    assert ops.clamp(x, alpha=0, beta=float("inf")).tolist() == [0, 2**62] and ops.clamp(x, alpha=-top - 1, beta=top).tolist() == [0, 2**62]
    assert ops.add(x, odd).tolist() == [odd, 2**62 + odd] and ops.add(x, 2**53 + 2, dtype="f64").tolist()[0] == 2.0**53 + 2
    assert kiln.fuse(lambda a: a + top)(x)[0] == top and kiln.fuse(lambda a, n: a + n)(x, 2**60)[0] == 2**60
    assert kiln.fuse(lambda a: ops.clamp(a, alpha=2**54, beta=2**61))(x).tolist() == [2**54, 2**61]
    assert kiln.fuse(lambda a: a + (2**64 - 1))(x.astype("u8"))[0] == 2**64 - 1
    out = numpy.zeros(2, "i8")
    for call, words in (
        (lambda: ops.clamp(x, alpha=odd, beta=2**60), ["clamp: alpha", str(odd)]), (lambda: ops.pad(x, before=(1,), after=(0,), value=odd), ["pad: value"]),
        (lambda: ops.generate(op="fill", alpha=-odd, out=out), ["generate: alpha"]), (lambda: kiln.fuse(lambda a: a + odd)(x), ["fuse: add: 'b'", str(odd)]),
        (lambda: kiln.fuse(lambda a, n: a + n)(x, odd), ["fuse: add: 'b'"]), (lambda: kiln.fuse(lambda a: ops.clamp(a, alpha=odd))(x), ["fuse: clamp: alpha"]),
    ):  # fmt: skip
        raises(kiln.ArgumentError, [*words, "53 bits"], call)
    assert ops.clamp(numpy.zeros(1, "f4"), alpha=odd, beta=2**64 - 1)[0] == 2.0**53  # floats are near enough


@test
def every_op_was_called():
    if sys.argv[1:]:
        raise Skip("only some of the tests were run")
    every = {one.function.__name__ for one in vars(_op_table).values() if isinstance(one, _op.Op)}
    assert len(every) > 40 and not every - called, sorted(every - called)
    assert len(repeated) > 30, sorted(repeated)


if __name__ == "__main__":
    run("python-ops")
