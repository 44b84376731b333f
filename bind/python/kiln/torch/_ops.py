"""The op library as torch.library ops, namespace "kiln": CPU and CUDA kernels, fake kernels, autograd, autocast.

Every op takes tensors with any strides and returns new contiguous ones. Backward passes are ops, too, so that torch.compile sees through
them; they have no gradient of their own.
"""

from __future__ import annotations

import math
import struct
from typing import Any, Callable, Sequence

import torch

from .. import _abi, ops
from .._device import NO_VIEW
from .._errors import ArgumentError, TypeMismatch
from .._library import library
from .._op import ELEMENTWISE_FORMS
from ._call import device_of, stream_of, type_name, view_of

lib = torch.library.Library("kiln", "DEF")
_descriptions: Any = ops
_ELEMENTWISE = struct.Struct("<" + ELEMENTWISE_FORMS[0]).pack
_ELEMENTWISE_BACKWARD = struct.Struct("<" + ELEMENTWISE_FORMS[1]).pack
_SOFTMAX = _descriptions._softmax.packer("x", "out", "axis", "is_log", "stream")
_SOFTMAX_BACKWARD = _descriptions._softmax_backward.packer("out", "dout", "dx", "axis", "is_log", "stream")
_NORM = _descriptions._norm.packer("x", "out", "weight", "bias", "axis", "is_rms", "eps", "stream")
_NORM_BACKWARD = _descriptions._norm_backward.packer("x", "weight", "dout", "dx", "dweight", "dbias", "workspace", "axis", "is_rms", "eps", "stream")
_MATMUL = _descriptions._matmul.packer("a", "b", "out", "bias", "is_tf32", "epilogue", "stream")
_ATTENTION = _descriptions._attention.packer("q", "k", "v", "out", "lse", "is_causal", "scale", "stream")
_ATTENTION_BACKWARD = _descriptions._attention_backward.packer("q", "k", "v", "out", "lse", "dout", "dq", "dk", "dv", "workspace", "is_causal", "scale", "stream")
EPILOGUES = {"none": 0, "relu": _abi.KILN_EPILOGUE_BIAS_RELU, "gelu": _abi.KILN_EPILOGUE_BIAS_GELU, "silu": _abi.KILN_EPILOGUE_BIAS_SILU}
_ACTIVATIONS = {"relu": "relu", "gelu": "gelu_tanh", "silu": "silu"}


def _no_second(name: str) -> Callable[..., Any]:
    def backward(ctx: Any, *_: Any) -> Any:
        raise ArgumentError("kiln::%s has no gradient of its own: second derivatives are not implemented" % name)

    return backward


def register(schema: str, kernel: Callable[..., Any], fake: Callable[..., Any], backward: Callable[..., Any] | None = None,
             setup: Callable[..., Any] | None = None, casts: bool = False) -> Any:  # fmt: skip
    """Defines kiln::NAME. `casts`: under autocast its floating-point tensors take autocast's type."""
    name = schema.partition("(")[0]
    lib.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    lib.impl(name, kernel, "CPU")
    lib.impl(name, kernel, "CUDA")
    torch.library.register_fake("kiln::" + name, fake, lib=lib)
    torch.library.register_autograd("kiln::" + name, backward or _no_second(name), setup_context=setup, lib=lib)
    op = getattr(torch.ops.kiln, name).default
    if casts:
        for kind, key in (("cpu", "AutocastCPU"), ("cuda", "AutocastCUDA")):
            lib.impl(name, _autocast(op, kind, key), key)
    return op


def _autocast(op: Any, kind: str, key: str) -> Callable[..., Any]:
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))

    def cast(*args: Any) -> Any:
        dtype = torch.get_autocast_dtype(kind)
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return op(*(a.to(dtype) if isinstance(a, torch.Tensor) and a.is_floating_point() and a.dtype != torch.float64 else a for a in args))

    return cast


def _wanted(ctx: Any, count: int) -> list[bool]:
    """Which inputs want a gradient. The dispatcher leaves out trailing arguments that have their default value."""
    return [bool(w) for w in ctx.needs_input_grad[:count]] + [False] * (count - len(ctx.needs_input_grad))


# --- elementwise
def _shape(tensors: Sequence[Any], call: str) -> Any:
    shape = tensors[0].shape
    if all(t.shape == shape for t in tensors):
        return shape
    try:
        return torch.broadcast_shapes(*(t.shape for t in tensors))
    except RuntimeError:
        raise ArgumentError("%s: shapes %s do not go together: sizes are equal, or 1" % (call, ", ".join(str(list(t.shape)) for t in tensors))) from None


def _check_types(tensors: Sequence[Any], form: str, call: str) -> Any:
    numbers = [t for t, role in zip(tensors, form) if role == "T"]
    for letter, t, role in zip("abc", tensors, form):
        if role == "T" and t.dtype != numbers[0].dtype:
            raise TypeMismatch("%s: '%s' is %s, another operand %s: convert one of them with .to()" % (call, letter, type_name(t), type_name(numbers[0])))
    return numbers[0].dtype


def _run_elementwise(number: int, name: str, tensors: Sequence[Any], out: Any, alpha: float, beta: float) -> Any:
    first = tensors[0]
    device, where = device_of(first), first.device
    views = [view_of(device, t, name, letter, where) for letter, t in zip("abc", tensors)]
    views += [NO_VIEW] * (3 - len(views))
    device.call(library.kiln_elementwise_forward, device.handle,
                _ELEMENTWISE(number, *views, view_of(device, out, name, "out", where), alpha, beta, stream_of(device, first)))  # fmt: skip
    return out


def _register_elementwise(name: str, number: int, form: str, has_alpha: bool, has_beta: bool, has_derivatives: bool) -> Any:
    count = form.index("_")
    is_mask = form.endswith("_B")
    numbers = (["float alpha=1.0"] if has_alpha else []) + (["float beta=0.0"] if has_beta else [])
    schema = "%s(%s) -> Tensor" % (name, ", ".join(["Tensor " + letter for letter in "abc"[:count]] + numbers))

    def split(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], float, float]:
        rest = args[count:]
        alpha = rest[0] if has_alpha and rest else 1.0
        beta = rest[has_alpha] if has_beta and len(rest) > has_alpha else 0.0
        return args[:count], alpha, beta

    def fake(*args: Any) -> Any:
        tensors, _, _ = split(args)
        dtype = _check_types(tensors, form, name) if "T" in form[:count] else tensors[0].dtype
        return torch.empty(_shape(tensors, name), dtype=torch.bool if is_mask else dtype, device=tensors[0].device)

    def kernel(*args: Any) -> Any:
        tensors, alpha, beta = split(args)
        return _run_elementwise(number, name, tensors, fake(*args), alpha, beta)

    def quick(a: Any, *rest: Any) -> Any:  # tensors of one shape, type and device, no numbers
        where, shape, dtype = a.device, a.shape, a.dtype
        for other in rest:
            if other.shape != shape or other.dtype != dtype or other.device != where:
                return kernel(a, *rest)
        device = device_of(a)
        known = device.views.get
        views = [known((t.data_ptr(), shape, t.stride(), dtype)) or view_of(device, t, name, letter, where)
                 for letter, t in zip("abc", (a, *rest))]  # fmt: skip
        out = torch.empty(shape, dtype=torch.bool if is_mask else dtype, device=where)
        views += padding
        written = known((out.data_ptr(), shape, out.stride(), out.dtype)) or view_of(device, out, name, "out", where)
        device.call(library.kiln_elementwise_forward, device.handle, _ELEMENTWISE(number, *views, written, 1.0, 0.0, stream_of(device, a)))
        return out

    padding = [NO_VIEW] * (3 - count)

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        tensors, ctx.alpha, ctx.beta = split(inputs)
        ctx.save_for_backward(*tensors)
        if is_mask or not has_derivatives:
            ctx.mark_non_differentiable(output)

    def backward(ctx: Any, grad: Any) -> Any:
        tensors = ctx.saved_tensors
        wanted = _wanted(ctx, count)
        none = (None,) * (len(numbers))
        if is_mask or not has_derivatives:
            return (None,) * count + none
        grads = torch.ops.kiln.elementwise_backward.default(number, list(tensors), grad, ctx.alpha, ctx.beta, wanted)
        return tuple(g.sum_to_size(t.shape) if w else None for g, t, w in zip(grads, tensors, wanted)) + none

    if numbers or "B" in form[:count]:
        return register(schema, kernel, fake, backward, setup)
    return register(schema, quick, fake, backward, setup)


_forms = {number: (name, form) for name, (number, form, *_) in ops.ELEMENTWISE.items()}


def _elementwise_backward_fake(number: int, operands: Sequence[Any], dout: Any, alpha: float, beta: float, wanted: Sequence[bool]) -> list[Any]:
    return [torch.empty(dout.shape if w else (0,), dtype=t.dtype, device=dout.device) for t, w in zip(operands, wanted)]


def _elementwise_backward(number: int, operands: Sequence[Any], dout: Any, alpha: float, beta: float, wanted: Sequence[bool]) -> list[Any]:
    name = _forms[number][0] + "'s gradient"
    results = _elementwise_backward_fake(number, operands, dout, alpha, beta, wanted)
    device, where = device_of(dout), dout.device
    views = [view_of(device, t, name, letter, where) for letter, t in zip("abc", operands)]
    dviews = [view_of(device, r, name, "d" + letter, where) if w else NO_VIEW for letter, r, w in zip("abc", results, wanted)]
    rest = [NO_VIEW] * (3 - len(views))
    device.call(library.kiln_elementwise_backward, device.handle,
                _ELEMENTWISE_BACKWARD(number, *views, *rest, view_of(device, dout, name, "dout", where), *dviews, *rest, alpha, beta,
                                      stream_of(device, dout)))  # fmt: skip
    return results


register("elementwise_backward(int op, Tensor[] operands, Tensor dout, float alpha, float beta, bool[] wanted) -> Tensor[]",
         _elementwise_backward, _elementwise_backward_fake)  # fmt: skip
for _name, _row in ops.ELEMENTWISE.items():
    _register_elementwise(_name, *_row)


# --- softmax
def _axis(axis: int, t: Any, call: str) -> int:
    if not -t.dim() <= axis < t.dim():
        raise ArgumentError("%s: axis %d of a tensor of %d dimensions" % (call, axis, t.dim()))
    return axis % t.dim()


def _softmax(x: Any, axis: int, is_log: bool) -> Any:
    device, where, out = device_of(x), x.device, torch.empty(x.shape, dtype=x.dtype, device=x.device)
    device.call(library.kiln_softmax_forward, device.handle,
                _SOFTMAX(view_of(device, x, "softmax", "x", where), view_of(device, out, "softmax", "out", where), _axis(axis, x, "softmax"), is_log,
                         stream_of(device, x)))  # fmt: skip
    return out


def _softmax_backward(out: Any, dout: Any, axis: int, is_log: bool) -> Any:
    call = "softmax's gradient"
    device, where, dx = device_of(out), out.device, torch.empty(out.shape, dtype=out.dtype, device=out.device)
    device.call(library.kiln_softmax_backward, device.handle,
                _SOFTMAX_BACKWARD(view_of(device, out, call, "out", where), view_of(device, dout, call, "dout", where),
                                  view_of(device, dx, call, "dx", where), _axis(axis, out, call), is_log, stream_of(device, out)))  # fmt: skip
    return dx


def _softmax_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.axis, ctx.is_log = inputs[1:]
    ctx.save_for_backward(output)


register("softmax_backward(Tensor out, Tensor dout, int axis, bool is_log) -> Tensor", _softmax_backward,
         lambda out, dout, axis, is_log: torch.empty(out.shape, dtype=out.dtype, device=out.device))  # fmt: skip
register("softmax(Tensor x, int axis=-1, bool is_log=False) -> Tensor",
         lambda x, axis=-1, is_log=False: _softmax(x, axis, is_log),
         lambda x, axis=-1, is_log=False: torch.empty(x.shape, dtype=x.dtype, device=x.device),
         lambda ctx, grad: (torch.ops.kiln.softmax_backward.default(ctx.saved_tensors[0], grad, ctx.axis, ctx.is_log), None, None),
         _softmax_setup)  # fmt: skip


# --- norms
def _optional(device: Any, t: Any, call: str, name: str, where: Any) -> bytes:
    return NO_VIEW if t is None else view_of(device, t, call, name, where)


def _norm(x: Any, weight: Any = None, bias: Any = None, axis: int = -1, is_rms: bool = False, eps: float = 1e-5) -> Any:
    device, where, out = device_of(x), x.device, torch.empty(x.shape, dtype=x.dtype, device=x.device)
    device.call(library.kiln_norm_forward, device.handle,
                _NORM(view_of(device, x, "norm", "x", where), view_of(device, out, "norm", "out", where), _optional(device, weight, "norm", "weight", where),
                      _optional(device, bias, "norm", "bias", where), _axis(axis, x, "norm"), is_rms, eps, stream_of(device, x)))  # fmt: skip
    return out


def _norm_backward_fake(x: Any, weight: Any, dout: Any, axis: int, is_rms: bool, eps: float, dweight: bool, dbias: bool) -> Any:
    size = x.shape[axis]
    weights = [torch.empty((size,) if wanted else (0,), dtype=x.dtype, device=x.device) for wanted in (dweight, dbias)]
    return torch.empty(x.shape, dtype=x.dtype, device=x.device), *weights


def _norm_backward(x: Any, weight: Any, dout: Any, axis: int, is_rms: bool, eps: float, dweight: bool, dbias: bool) -> Any:
    call = "norm's gradient"
    axis = _axis(axis, x, call)
    dx, dw, db = _norm_backward_fake(x, weight, dout, axis, is_rms, eps, dweight, dbias)
    device, where = device_of(x), x.device
    rows = x.numel() // max(x.shape[axis], 1)
    work = torch.empty(2 * rows, dtype=torch.float32, device=where) if dweight or dbias else None
    device.call(library.kiln_norm_backward, device.handle,
                _NORM_BACKWARD(view_of(device, x, call, "x", where), _optional(device, weight, call, "weight", where),
                               view_of(device, dout, call, "dout", where), view_of(device, dx, call, "dx", where),
                               _optional(device, dw if dweight else None, call, "dweight", where),
                               _optional(device, db if dbias else None, call, "dbias", where), _optional(device, work, call, "workspace", where),
                               axis, is_rms, eps, stream_of(device, x)))  # fmt: skip
    return dx, dw, db


def _norm_setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, weight, bias, ctx.axis, ctx.is_rms, ctx.eps = inputs
    ctx.save_for_backward(x, weight)


def _norm_gradient(ctx: Any, grad: Any) -> Any:
    x, weight = ctx.saved_tensors
    _, want_weight, want_bias = _wanted(ctx, 3)
    dx, dw, db = torch.ops.kiln.norm_backward.default(x, weight, grad, ctx.axis, ctx.is_rms, ctx.eps, want_weight, want_bias)
    return dx, dw if want_weight else None, db if want_bias else None, None, None, None


register("norm_backward(Tensor x, Tensor? weight, Tensor dout, int axis, bool is_rms, float eps, bool dweight, bool dbias) -> (Tensor, Tensor, Tensor)",
         _norm_backward, _norm_backward_fake)  # fmt: skip
register("norm(Tensor x, Tensor? weight=None, Tensor? bias=None, int axis=-1, bool is_rms=False, float eps=1e-5) -> Tensor", _norm,
         lambda x, *rest: torch.empty(x.shape, dtype=x.dtype, device=x.device), _norm_gradient, _norm_setup)  # fmt: skip


# --- matrix products
def _product_shape(a: Any, b: Any) -> Any:
    if a.dim() < 2 or b.dim() < 2:
        raise ArgumentError("matmul: 'a' and 'b' have at least two dimensions; a vector is a matrix of one row: x[None, :]")
    if a.dtype != b.dtype:
        raise TypeMismatch("matmul: 'a' is %s, 'b' is %s: convert one of them with .to()" % (type_name(a), type_name(b)))
    if a.dim() == 2 and b.dim() == 2:
        return (a.shape[0], b.shape[1])
    return (*torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])


def _product_type(a: Any) -> Any:
    return torch.int32 if a.dtype == torch.int8 else torch.float32 if a.dtype == torch.float8_e4m3fn else a.dtype


def _run_matmul(call: str, a: Any, b: Any, bias: Any, epilogue: int, is_tf32: bool) -> Any:
    device, where = device_of(a), a.device
    out = torch.empty(_product_shape(a, b), dtype=_product_type(a), device=where)
    device.call(library.kiln_matmul, device.handle,
                _MATMUL(view_of(device, a, call, "a", where), view_of(device, b, call, "b", where), view_of(device, out, call, "out", where),
                        _optional(device, bias, call, "bias", where), is_tf32, epilogue, stream_of(device, a)))  # fmt: skip
    return out


def _tf32() -> bool:
    return torch.backends.cuda.matmul.allow_tf32


def _matmul_gradient(ctx: Any, grad: Any) -> Any:
    a, b = ctx.saved_tensors
    if not a.is_floating_point():
        raise ArgumentError("matmul: products of %s have no gradient" % type_name(a))
    product = torch.ops.kiln.matmul.default
    da = product(grad, b.transpose(-1, -2)).sum_to_size(a.shape) if ctx.needs_input_grad[0] else None
    db = product(a.transpose(-1, -2), grad).sum_to_size(b.shape) if ctx.needs_input_grad[1] else None
    return da, db


register("matmul(Tensor a, Tensor b) -> Tensor", lambda a, b: _run_matmul("matmul", a, b, None, 0, _tf32()),
         lambda a, b: torch.empty(_product_shape(a, b), dtype=_product_type(a), device=a.device), _matmul_gradient,
         lambda ctx, inputs, output: ctx.save_for_backward(*inputs), casts=True)  # fmt: skip


def _linear_fake(x: Any, weight: Any, bias: Any = None, activation: str = "none") -> Any:
    if weight.dim() != 2 or x.dim() < 1 or x.dtype != weight.dtype:
        raise ArgumentError("linear: 'x' %s %s and 'weight' %s %s do not go together: x is [..., in], weight [out, in], of one type"
                            % (type_name(x), list(x.shape), type_name(weight), list(weight.shape)))  # fmt: skip
    if activation not in EPILOGUES:
        raise ArgumentError("linear: activation='%s': one of %s" % (activation, ", ".join(EPILOGUES)))
    return torch.empty((*x.shape[:-1], weight.shape[0]), dtype=x.dtype, device=x.device)


def _linear(x: Any, weight: Any, bias: Any = None, activation: str = "none") -> Any:
    _linear_fake(x, weight, bias, activation)
    flat = x if x.dim() == 2 else x.reshape(-1, x.shape[-1])
    if bias is None and activation != "none":
        bias = torch.zeros(weight.shape[0], dtype=torch.float32, device=x.device)
    if bias is not None and bias.dtype != torch.float32:
        bias = bias.float()
    epilogue = _abi.KILN_EPILOGUE_NONE if bias is None else EPILOGUES[activation] or _abi.KILN_EPILOGUE_BIAS
    out = _run_matmul("linear", flat, weight.t(), bias, epilogue, _tf32())
    return out if x.dim() == 2 else out.view(*x.shape[:-1], weight.shape[0])


def _linear_setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, weight, bias, ctx.activation = inputs
    ctx.save_for_backward(x, weight, bias)


def _linear_gradient(ctx: Any, grad: Any) -> Any:
    x, weight, bias = ctx.saved_tensors
    if ctx.activation != "none":  # the values before the activation, once more
        before = torch.ops.kiln.linear.default(x, weight, bias, "none")
        number = ops.ELEMENTWISE[_ACTIVATIONS[ctx.activation]][0]
        grad = torch.ops.kiln.elementwise_backward.default(number, [before], grad, 1.0, 0.0, [True])[0]
    rows = grad.reshape(-1, grad.shape[-1])
    product = torch.ops.kiln.matmul.default
    dx = product(rows, weight).view(x.shape) if ctx.needs_input_grad[0] else None
    dw = product(rows.t(), x.reshape(-1, x.shape[-1])) if ctx.needs_input_grad[1] else None
    db = rows.sum(0, dtype=torch.float32).to(bias.dtype) if bias is not None and _wanted(ctx, 3)[2] else None
    return dx, dw, db, None


register('linear(Tensor x, Tensor weight, Tensor? bias=None, str activation="none") -> Tensor', _linear, _linear_fake, _linear_gradient, _linear_setup,
         casts=True)  # fmt: skip


# --- attention
def _attention_fake(q: Any, k: Any, v: Any, is_causal: bool = False, scale: float = 0.0) -> Any:
    for name, t in (("q", q), ("k", k), ("v", v)):
        if t.dim() != 4:
            raise ArgumentError("attention: '%s' has %d dimensions: [batch, heads, length, head_dim]" % (name, t.dim()))
        if t.dtype != q.dtype:
            raise TypeMismatch("attention: 'q' is %s, '%s' is %s: convert one of them with .to()" % (type_name(q), name, type_name(t)))
    return torch.empty(q.shape, dtype=q.dtype, device=q.device), torch.empty(q.shape[:-1], dtype=torch.float32, device=q.device)


def _attention(q: Any, k: Any, v: Any, is_causal: bool = False, scale: float = 0.0) -> Any:
    out, lse = _attention_fake(q, k, v, is_causal, scale)
    device, where = device_of(q), q.device
    views = [view_of(device, t, "attention", name, where) for name, t in zip(("q", "k", "v", "out", "lse"), (q, k, v, out, lse))]
    device.call(library.kiln_attention_forward, device.handle, _ATTENTION(*views, is_causal, scale, stream_of(device, q)))
    return out, lse


def _attention_backward(q: Any, k: Any, v: Any, out: Any, lse: Any, dout: Any, is_causal: bool, scale: float) -> Any:
    call = "attention's gradient"
    device, where = device_of(q), q.device
    results = [torch.empty(t.shape, dtype=t.dtype, device=where) for t in (q, k, v)]
    views = [view_of(device, t, call, name, where)
             for name, t in zip(("q", "k", "v", "out", "lse", "dout", "dq", "dk", "dv"), (q, k, v, out, lse, dout, *results))]  # fmt: skip
    stream = stream_of(device, q)
    import ctypes

    elements = ctypes.c_uint64()
    device.call(library.kiln_attention_backward_workspace, device.handle, _ATTENTION_BACKWARD(*views, NO_VIEW, is_causal, scale, stream),
                ctypes.byref(elements))  # fmt: skip
    work = torch.empty(elements.value, dtype=torch.float32, device=where)
    work_view = view_of(device, work, call, "workspace", where) if elements.value else NO_VIEW
    device.call(library.kiln_attention_backward, device.handle, _ATTENTION_BACKWARD(*views, work_view, is_causal, scale, stream))
    return tuple(results)


def _attention_setup(ctx: Any, inputs: Any, output: Any) -> None:
    q, k, v, ctx.is_causal, ctx.scale = inputs
    ctx.save_for_backward(q, k, v, *output)
    ctx.mark_non_differentiable(output[1])


register("attention_backward(Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, Tensor dout, bool is_causal, float scale) -> (Tensor, Tensor, Tensor)",
         _attention_backward, lambda q, k, v, *rest: tuple(torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in (q, k, v)))  # fmt: skip
register("attention(Tensor q, Tensor k, Tensor v, bool is_causal=False, float scale=0.0) -> (Tensor, Tensor)", _attention, _attention_fake,
         lambda ctx, grad, _: (*torch.ops.kiln.attention_backward.default(*ctx.saved_tensors, grad, ctx.is_causal, ctx.scale), None, None),
         _attention_setup, casts=True)  # fmt: skip


def default_scale(head_dim: int) -> float:
    return 1 / math.sqrt(head_dim)


def functions() -> dict[str, Callable[..., Any]]:
    """A function for each elementwise op, which takes numbers beside tensors."""
    return {name: _function(name, row[1].index("_")) for name, row in ops.ELEMENTWISE.items()}


def _function(name: str, count: int) -> Callable[..., Any]:
    registered = getattr(torch.ops.kiln, name).default

    def function(*operands: Any, **numbers: Any) -> Any:
        if any(isinstance(o, (int, float)) for o in operands[:count]):
            like = next((o for o in operands if isinstance(o, torch.Tensor)), None)
            if like is not None:
                operands = tuple(torch.full((), o, dtype=like.dtype, device=like.device) if isinstance(o, (int, float)) and at < count else o
                                 for at, o in enumerate(operands))  # fmt: skip
        return registered(*operands, **numbers)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = getattr(ops, name).__doc__
    return function
