"""Matrix products, linear layers and attention as ops of PyTorch."""

from __future__ import annotations

import math
from typing import Any

import torch

from .. import _abi, ops
from .. import _op_table as table
from .._errors import ArgumentError, TypeMismatch
from ._call import Call, empty, new, planned, same_type, type_name
from ._direct import direct
from ._register import register, wanted

_matmul_call = Call(table.matmul, "matmul", "a b out", "is_tf32")
_linear_call = Call(table.matmul, "linear", "a b out bias", "is_tf32 epilogue", titles="x weight out bias")
_plain_linear_call = Call(table.matmul, "linear", "a b out", "is_tf32", titles="x weight out")
_linear_x_call = Call(table.matmul, "linear's gradient", "a b out", "is_tf32", titles="dout weight dx")
_linear_weight_call = Call(table.matmul, "linear's gradient", "a b out", "is_tf32", titles="dout x dweight")
EPILOGUES = {"none": _abi.KILN_EPILOGUE_BIAS, "relu": _abi.KILN_EPILOGUE_BIAS_RELU, "gelu": _abi.KILN_EPILOGUE_BIAS_GELU, "silu": _abi.KILN_EPILOGUE_BIAS_SILU}
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_PRODUCTS = (*_FLOATS, torch.int8, torch.float8_e4m3fn)
ACTIVATIONS = {"relu": "relu", "gelu": "gelu_tanh", "silu": "silu"}  # the elementwise ops of the same gradients


def packed(grad: Any) -> Any:
    """A gradient whose rows are contiguous: that of a sum is one number, repeated, which the quick kernels do not take."""
    return grad if grad.dim() < 2 or grad.stride(-1) == 1 or grad.stride(-2) == 1 else grad.contiguous()


# --- matrix products
def _product(a: Any, b: Any) -> tuple[Any, Any]:
    """(shape, type) of a times b"""
    if a.dim() < 2 or b.dim() < 2:
        raise ArgumentError("matmul: 'a' and 'b' have at least two dimensions; a vector is a matrix of one row: x[None, :]")
    if a.dtype != b.dtype:
        same_type("matmul", ("a", a), ("b", b))
    if a.dtype not in _PRODUCTS:
        raise TypeMismatch("matmul: 'a' and 'b' are %s: f32, f16, bf16, i8 and f8e4 have products: convert them with .to()" % type_name(a))
    dtype = torch.int32 if a.dtype == torch.int8 else torch.float32 if a.dtype == torch.float8_e4m3fn else a.dtype
    if a.shape[-1] != b.shape[-2]:
        raise ArgumentError("matmul: 'a' %s times 'b' %s is no matrix product: a's columns are not b's rows" % (list(a.shape), list(b.shape)))
    if a.dim() == 2 and b.dim() == 2:
        return (a.shape[0], b.shape[1]), dtype
    try:
        return (*torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), dtype
    except RuntimeError:
        raise ArgumentError("matmul: the batches of 'a' %s and 'b' %s do not go together: sizes are equal, or 1" % (list(a.shape), list(b.shape))) from None


_tf32: Any = getattr(torch._C, "_get_cublas_allow_tf32", lambda: torch.backends.cuda.matmul.allow_tf32)
_is_deterministic: Any = getattr(torch._C, "_get_deterministic_algorithms", torch.are_deterministic_algorithms_enabled)
_copy_call = Call(table.copy_view, "copy", "in out")


def _matmul(a: Any, b: Any) -> Any:
    out = new(*_product(a, b), a.device)
    _matmul_call((a, b, out), a.dtype == torch.float32 and _tf32())
    return out


def _matmul_gradient(ctx: Any, grad: Any) -> Any:
    a, b = ctx.saved_tensors
    if not a.is_floating_point():
        raise ArgumentError("matmul: products of %s have no gradient" % type_name(a))
    product, grad = direct.matmul, packed(grad)
    want_a, want_b = wanted(ctx, 2)
    da = product(grad, b.transpose(-1, -2)).sum_to_size(a.shape) if want_a else None
    db = product(a.transpose(-1, -2), grad).sum_to_size(b.shape) if want_b else None
    return da, db


register("matmul(Tensor a, Tensor b) -> Tensor", planned(_matmul, _tf32), lambda a, b: empty(*_product(a, b), a.device), _matmul_gradient,
         lambda ctx, inputs, output: ctx.save_for_backward(*inputs), casts=2)  # fmt: skip


# --- linear layers
def rows_of(t: Any) -> Any:
    """All dimensions but the last as one."""
    return t if t.dim() == 2 else t.reshape(math.prod(t.shape[:-1]), t.shape[-1])


def as_f32(bias: Any) -> Any:
    """What the library adds to sums is f32."""
    if bias is None or bias.dtype == torch.float32:
        return bias
    made = new(bias.shape, torch.float32, bias.device)
    _copy_call((bias, made))
    return made


def _check_linear(x: Any, weight: Any, bias: Any, activation: str) -> Any:
    if weight.dim() != 2 or x.dim() < 1 or x.dtype != weight.dtype or x.shape[-1] != weight.shape[1]:
        raise ArgumentError("linear: 'x' %s %s and 'weight' %s %s do not go together: x is [..., in], weight [out, in], of one type"
                            % (type_name(x), list(x.shape), type_name(weight), list(weight.shape)))  # fmt: skip
    if x.dtype not in _FLOATS:
        raise TypeMismatch("linear: 'x' and 'weight' are %s: f32, f16 and bf16 have linear layers: convert them with .to()" % type_name(x))
    if bias is not None and (bias.dim() != 1 or bias.shape[0] != weight.shape[0]):
        raise ArgumentError("linear: 'bias' is %s, 'weight' has %d rows: a number for each of them" % (list(bias.shape), weight.shape[0]))
    if activation not in EPILOGUES:
        raise ArgumentError("linear: activation='%s': one of %s" % (activation, ", ".join(EPILOGUES)))
    return (*x.shape[:-1], weight.shape[0])


def _linear(x: Any, weight: Any, bias: Any = None, activation: str = "none") -> Any:
    shape = _check_linear(x, weight, bias, activation)
    out = new(shape, x.dtype, x.device)
    flat, rows = rows_of(x), rows_of(out)
    is_tf32 = x.dtype == torch.float32 and _tf32()
    if bias is None and activation == "none":
        _plain_linear_call((flat, weight.t(), rows), is_tf32)
        return out
    if bias is None:
        bias = torch.zeros(weight.shape[0], dtype=torch.float32, device=x.device)
    _linear_call((flat, weight.t(), rows, as_f32(bias)), is_tf32, EPILOGUES[activation])
    return out


def _linear_setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, weight, bias, ctx.activation = inputs
    ctx.save_for_backward(x, weight, bias)


def before_activation(activation: str, before: Any, grad: Any) -> Any:
    """The gradient by what an activation was applied to."""
    return direct.elementwise_backward(ops.ELEMENTWISE[ACTIVATIONS[activation]][0], [before], grad, 1.0, 0.0, [True])[0]


def _linear_results(make: Any, x: Any, weight: Any, wants: Any, bias_type: Any) -> Any:
    shapes = (x.shape, weight.shape, (weight.shape[0],))
    return tuple(make(shape if want else (0,), dtype, x.device) for shape, want, dtype in zip(shapes, wants, (x.dtype, x.dtype, bias_type)))


def _linear_backward(x: Any, weight: Any, dout: Any, want_x: bool, want_weight: bool, want_bias: bool, bias_type: Any) -> Any:
    dx, dweight, dbias = made = _linear_results(new, x, weight, (want_x, want_weight, want_bias), bias_type)
    rows, is_tf32 = packed(rows_of(dout)), x.dtype == torch.float32 and _tf32()
    if want_x and dx.numel():
        _linear_x_call((rows, weight, rows_of(dx)), is_tf32)
    if want_weight and dweight.numel():
        _linear_weight_call((rows.t(), rows_of(x), dweight), is_tf32)
    if want_bias and dbias.numel():
        _sum_call((rows, dbias))
    return made


def _linear_gradient(ctx: Any, grad: Any) -> Any:
    x, weight, bias = ctx.saved_tensors
    if ctx.activation != "none":  # the values before the activation, once more
        grad = before_activation(ctx.activation, direct.linear(x, weight, bias, "none"), grad)
    wants = wanted(ctx, 3)
    found = direct.linear_backward(x, weight, grad, *wants, x.dtype if bias is None else bias.dtype)
    return *(g if want else None for g, want in zip(found, wants)), None


_sum_call = Call(table.reduce, "linear's gradient", "x out", workspace="kiln_reduce_workspace", unit=torch.uint8,
                 fixed={"op": _abi.ENUMS["kiln_reduction"]["sum"], "axes": 1})  # fmt: skip
register("linear_backward(Tensor x, Tensor weight, Tensor dout, bool want_x, bool want_weight, bool want_bias, ScalarType bias_type) -> (Tensor, Tensor, Tensor)",
         planned(_linear_backward, _tf32),
         lambda x, weight, dout, want_x, want_weight, want_bias, bias_type: _linear_results(empty, x, weight, (want_x, want_weight, want_bias), bias_type))  # fmt: skip
register('linear(Tensor x, Tensor weight, Tensor? bias=None, str activation="none") -> Tensor', planned(_linear, _tf32),
         lambda x, weight, bias=None, activation="none": empty(_check_linear(x, weight, bias, activation), x.dtype, x.device), _linear_gradient, _linear_setup,
         casts=3)  # fmt: skip

# --- attention
_MASKS = "is_causal scale has_window window_left window_right"
_attention_call = Call(table.attention, "attention", "q k v out lse bias slopes", _MASKS)
_attention_backward_call = Call(table.attention_backward, "attention's gradient", "q k v out lse dout dq dk dv bias slopes", _MASKS + " is_deterministic",
                                workspace="kiln_attention_backward_workspace")  # fmt: skip


def _check_attention(q: Any, k: Any, v: Any, bias: Any, slopes: Any) -> None:
    for name, t in (("q", q), ("k", k), ("v", v)):
        if t.dim() != 4:
            raise ArgumentError("attention: '%s' has %d dimensions: [batch, heads, length, head_dim]" % (name, t.dim()))
    if not (q.dtype == k.dtype == v.dtype):
        same_type("attention", ("q", q), ("k", k), ("v", v))
    if k.shape != v.shape:
        raise ArgumentError("attention: 'k' is %s, 'v' is %s: their shapes are the same" % (list(k.shape), list(v.shape)))
    if q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        raise ArgumentError("attention: 'q' %s and 'k' %s have the same batch and head_dim" % (list(q.shape), list(k.shape)))
    if q.shape[1] % max(k.shape[1], 1) if k.shape[1] or not q.shape[1] else True:
        raise ArgumentError("attention: %d heads of 'q' cannot share the %d of 'k' and 'v'" % (q.shape[1], k.shape[1]))
    if bias is not None and bias.dim() > 4:
        raise ArgumentError("attention: 'bias' has %d dimensions: [batch, heads, queries, keys], or fewer" % bias.dim())


def _attention_out(make: Any, q: Any) -> Any:
    """As q lies: where the heads of a token are side by side, the layer behind takes them without a copy."""
    batch, heads, length, head_dim = q.shape
    if q.stride(1) < q.stride(2):
        return make((batch, length, heads, head_dim), q.dtype, q.device).transpose(1, 2)
    return make(q.shape, q.dtype, q.device)


def _window(left: int, right: int) -> tuple[bool, int, int]:
    return (True, left, right) if left >= 0 or right >= 0 else (False, 0, 0)


def _attention(q: Any, k: Any, v: Any, is_causal: bool = False, scale: float = 0.0, bias: Any = None, slopes: Any = None, window_left: int = -1,
               window_right: int = -1) -> Any:  # fmt: skip
    _check_attention(q, k, v, bias, slopes)
    out, lse = _attention_out(new, q), new(q.shape[:-1], torch.float32, q.device)
    _attention_call((q, k, v, out, lse, bias, as_f32(slopes)), is_causal, scale, *_window(window_left, window_right))
    return out, lse


def _attention_fake(q: Any, k: Any, v: Any, is_causal: bool = False, scale: float = 0.0, bias: Any = None, slopes: Any = None, window_left: int = -1,
                    window_right: int = -1) -> Any:  # fmt: skip
    _check_attention(q, k, v, bias, slopes)
    return _attention_out(empty, q), empty(q.shape[:-1], torch.float32, q.device)


def _attention_backward(q: Any, k: Any, v: Any, out: Any, lse: Any, dout: Any, is_causal: bool, scale: float, bias: Any = None, slopes: Any = None,
                        window_left: int = -1, window_right: int = -1) -> Any:  # fmt: skip
    results = tuple(new(t.shape, t.dtype, t.device) for t in (q, k, v))
    if not q.numel():  # no query asks: keys and values have no part in anything
        return results[0], results[1].zero_(), results[2].zero_()
    dout = dout if dout.stride(3) == 1 else dout.contiguous()
    _attention_backward_call((q, k, v, out, lse, dout, *results, bias, as_f32(slopes)), is_causal, scale, *_window(window_left, window_right),
                             _is_deterministic())  # fmt: skip
    return results


def _attention_setup(ctx: Any, inputs: Any, output: Any) -> None:
    q, k, v, ctx.is_causal, ctx.scale, bias, slopes, *ctx.window = inputs
    for name, t in (("bias", bias), ("slopes", slopes)):
        if t is not None and t.requires_grad:
            raise ArgumentError("attention: '%s' wants a gradient, which there is none of: pass it detached" % name)
    ctx.save_for_backward(q, k, v, *output, bias, slopes)
    ctx.mark_non_differentiable(output[1])


def _attention_gradient(ctx: Any, grad: Any, _: Any) -> Any:
    *forward, bias, slopes = ctx.saved_tensors
    found = direct.attention_backward(*forward, grad, ctx.is_causal, ctx.scale, bias, slopes, *ctx.window)
    return (*found, None, None, None, None, None, None)


_more = "Tensor? bias=None, Tensor? slopes=None, int window_left=-1, int window_right=-1"
register("attention_backward(Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, Tensor dout, bool is_causal, float scale, %s) -> (Tensor, Tensor, Tensor)" % _more,
         planned(_attention_backward, _is_deterministic), lambda q, k, v, *rest: tuple(empty(t.shape, t.dtype, t.device) for t in (q, k, v)))  # fmt: skip
register("attention(Tensor q, Tensor k, Tensor v, bool is_causal=False, float scale=0.0, %s) -> (Tensor, Tensor)" % _more, planned(_attention), _attention_fake,
         _attention_gradient, _attention_setup, casts=3)  # fmt: skip
