"""Linear layers with weights of int8 and int4 as ops of PyTorch, and torch.nn.Linear made into one.

Weights are int8 [n, k], or int4 as int32 [n, words]: eight in a word, in the order of kiln/ops_linear.h. Their gradient is not computed; that of x is
the product with the weights as numbers.
"""

from __future__ import annotations

import struct
from typing import Any

import torch

from .. import _abi
from .. import _op_table as table
from .._errors import ArgumentError, TypeMismatch, check
from .._library import library
from ._call import Call, empty, new, planned, type_name
from ._direct import direct, is_tensor
from ._products import as_f32, before_activation, packed, rows_of
from ._register import register, wanted

_quantise_call = Call(table.quantise_weights, "quantise_weights", "x weight scale zero", "group")
_dequantise_call = Call(table.dequantise_weights, "dequantise_weights", "weight scale zero out", "group")
_linear_call = Call(table.linear, "quantised_linear", "x weight scale zero bias out", "group activation", workspace="kiln_linear_workspace", unit=torch.uint8)
_w8a8_call = Call(table.linear, "w8a8_linear", "x weight scale x_scale bias out", "activation", workspace="kiln_linear_workspace", unit=torch.uint8)
_qkv_call = Call(table.linear_qkv, "quantised_qkv", "x %s" % " ".join("%s_%s" % (name, one) for name in ("weight", "scale", "zero", "bias", "out") for one in "qkv"),
                 "group")  # fmt: skip
ACTIVATIONS = _abi.ENUMS["kiln_activation"]
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_FEW_ROWS = 16  # of x: above, the product takes the time, not reading the weights
_INT4 = struct.Struct("<i4xQQQQQQQ").pack


def _words(k: Any) -> Any:
    return (k + 31) // 32 * 4


def _as_words(weight: Any) -> Any:
    """int4 as the library sees it; PyTorch does more with int32 than with uint32."""
    return weight.view(torch.uint32) if weight.dtype == torch.int32 else weight


# --- numbers to weights, and back
def _quantised(make: Any, x: Any, bits: int, group: int, has_zero: bool) -> Any:
    if x.dim() != 2:
        raise ArgumentError("quantise_weights: 'x' has %d dimensions: [outputs, inputs]" % x.dim())
    if x.dtype not in _FLOATS:
        raise TypeMismatch("quantise_weights: 'x' is %s: f32, f16 or bf16" % type_name(x))
    if bits not in (4, 8):
        raise ArgumentError("quantise_weights: bits=%d: 4 or 8" % bits)
    if group and (group < 32 or group & (group - 1)):
        raise ArgumentError("quantise_weights: group=%d: a power of two from 32, or 0: one scale for a row" % group)
    n, k = x.shape
    groups = (k + group - 1) // group if group else 1
    weight = make((n, _words(k)) if bits == 4 else (n, k), torch.int32 if bits == 4 else torch.int8, x.device)
    zero = make((n, groups) if has_zero else (0,), torch.uint8 if bits == 4 else torch.int8, x.device)
    return weight, make((n, groups), torch.float32, x.device), zero


def _quantise(x: Any, bits: int, group: int = 0, has_zero: bool = False) -> Any:
    weight, scale, zero = _quantised(new, x, bits, group, has_zero)
    if weight.numel():
        _quantise_call((x, _as_words(weight), scale, zero if has_zero else None), group)
    return weight, scale, zero


def _numbers(make: Any, weight: Any, k: Any, dtype: Any) -> Any:
    if weight.dim() != 2:
        raise ArgumentError("dequantise_weights: 'weight' has %d dimensions: [outputs, columns]" % weight.dim())
    if isinstance(k, int) and k < 0:
        raise ArgumentError("dequantise_weights: k=%d: how many numbers a row has" % k)
    return make((weight.shape[0], k), dtype, weight.device)


def _dequantise(weight: Any, scale: Any, zero: Any, k: int, dtype: Any, group: int = 0) -> Any:
    out = _numbers(new, weight, k, dtype)
    _dequantise_call((_as_words(weight), scale, zero, out), group)
    return out


register("quantise_weights(Tensor x, int bits, int group=0, bool has_zero=False) -> (Tensor, Tensor, Tensor)", _quantise,
         lambda x, bits, group=0, has_zero=False: _quantised(empty, x, bits, group, has_zero), lambda ctx, *grads: (None,) * 4,
         lambda ctx, inputs, output: ctx.mark_non_differentiable(*output))  # fmt: skip
register("dequantise_weights(Tensor weight, Tensor scale, Tensor? zero, SymInt k, ScalarType dtype, int group=0) -> Tensor", planned(_dequantise),
         lambda weight, scale, zero, k, dtype, group=0: _numbers(empty, weight, k, dtype), lambda ctx, grad: (None,) * 6,
         lambda ctx, inputs, output: ctx.mark_non_differentiable(output))  # fmt: skip


# --- linear layers
def _check(call: str, x: Any, weight: Any, scale: Any, zero: Any, bias: Any, activation: str = "none") -> Any:
    """The shape of the result."""
    if x.dim() < 1 or x.dtype not in _FLOATS:
        raise TypeMismatch("%s: 'x' is %s %s: f32, f16 or bf16 numbers [..., inputs]" % (call, type_name(x), list(x.shape)))
    if weight.dim() != 2 or weight.dtype not in (torch.int8, torch.int32, torch.uint32):
        raise TypeMismatch("%s: 'weight' is %s %s: int8 [outputs, inputs], or int4 as int32 [outputs, words]: kiln.torch.quantise_weights makes both"
                           % (call, type_name(weight), list(weight.shape)))  # fmt: skip
    k, columns = x.shape[-1], weight.shape[1]
    if (columns != k) if weight.dtype == torch.int8 else (columns != _words(k)):
        raise ArgumentError("%s: 'x' %s has rows of %d numbers, which 'weight' %s %s has not" % (call, list(x.shape), k, type_name(weight), list(weight.shape)))
    if not scale.is_floating_point() or scale.dim() not in (1, 2):
        raise TypeMismatch("%s: 'scale' is %s %s: floating-point numbers [outputs, groups]" % (call, type_name(scale), list(scale.shape)))
    if bias is not None and (bias.dim() != 1 or bias.shape[0] != weight.shape[0]):
        raise ArgumentError("%s: 'bias' is %s, 'weight' has %d rows: a number for each of them" % (call, list(bias.shape), weight.shape[0]))
    if activation not in ACTIVATIONS:
        raise ArgumentError("%s: activation='%s': one of %s" % (call, activation, ", ".join(ACTIVATIONS)))
    return (*x.shape[:-1], weight.shape[0])


def _linear(x: Any, weight: Any, scale: Any, zero: Any = None, bias: Any = None, group: int = 0, activation: str = "none") -> Any:
    out = new(_check("quantised_linear", x, weight, scale, zero, bias, activation), x.dtype, x.device)
    _linear_call((rows_of(x), _as_words(weight), scale, zero, as_f32(bias), rows_of(out)), group, ACTIVATIONS[activation])
    return out


def _product_with(grad: Any, weight: Any, scale: Any, zero: Any, shape: Any, group: int) -> Any:
    """A gradient by x: the product with the weights as numbers."""
    numbers = direct.dequantise_weights(weight, scale, zero, shape[-1], grad.dtype, group)
    return direct.matmul(packed(rows_of(grad)), numbers).view(shape)


def _bias_gradient(grad: Any, bias: Any) -> Any:
    return rows_of(grad).sum(0, dtype=torch.float32).to(bias.dtype)


def _linear_setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, weight, scale, zero, bias, ctx.group, ctx.activation = inputs
    ctx.save_for_backward(x if ctx.activation != "none" else None, weight, scale, zero, bias)
    ctx.shape = x.shape


def _linear_gradient(ctx: Any, grad: Any) -> Any:
    x, weight, scale, zero, bias = ctx.saved_tensors
    if ctx.activation != "none":  # the values before the activation, once more
        grad = before_activation(ctx.activation, direct.quantised_linear(x, weight, scale, zero, bias, ctx.group, "none"), grad)
    want_x, _, want_scale, _, want_bias = wanted(ctx, 5)
    if want_scale:
        raise ArgumentError("quantised_linear: 'scale' wants a gradient, which there is none of: pass it detached")
    dx = _product_with(grad, weight, scale, zero, ctx.shape, ctx.group) if want_x else None
    return dx, None, None, None, _bias_gradient(grad, bias) if want_bias else None, None, None


register('quantised_linear(Tensor x, Tensor weight, Tensor scale, Tensor? zero=None, Tensor? bias=None, int group=0, str activation="none") -> Tensor', planned(_linear),
         lambda x, weight, scale, zero=None, bias=None, group=0, activation="none":
         empty(_check("quantised_linear", x, weight, scale, zero, bias, activation), x.dtype, x.device), _linear_gradient, _linear_setup, casts=1)  # fmt: skip


# --- int8 times int8: the rows of x are quantised first
def _w8a8(x: Any, weight: Any, scale: Any, bias: Any = None, activation: str = "none") -> Any:
    out = new(_check("w8a8_linear", x, weight, scale, None, bias, activation), x.dtype, x.device)
    rows = rows_of(x)
    whole, steps = new(rows.shape, torch.int8, x.device), new((rows.shape[0],), torch.float32, x.device)
    if weight.dtype != torch.int8:
        raise TypeMismatch("w8a8_linear: 'weight' is %s: int8" % type_name(weight))
    if rows.numel():
        _quantise_call((rows, whole, steps, None), 0)
    _w8a8_call((whole, weight, scale, steps, as_f32(bias), rows_of(out)), ACTIVATIONS[activation])
    return out


def _w8a8_setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, weight, scale, bias, ctx.activation = inputs
    ctx.save_for_backward(x if ctx.activation != "none" else None, weight, scale, bias)
    ctx.shape = x.shape


def _w8a8_gradient(ctx: Any, grad: Any) -> Any:
    x, weight, scale, bias = ctx.saved_tensors
    if ctx.activation != "none":
        grad = before_activation(ctx.activation, direct.w8a8_linear(x, weight, scale, bias, "none"), grad)
    want_x, _, _, want_bias = wanted(ctx, 4)
    dx = _product_with(grad, weight, scale, None, ctx.shape, 0) if want_x else None
    return dx, None, None, _bias_gradient(grad, bias) if want_bias else None, None


register('w8a8_linear(Tensor x, Tensor weight, Tensor scale, Tensor? bias=None, str activation="none") -> Tensor', planned(_w8a8),
         lambda x, weight, scale, bias=None, activation="none": empty(_check("w8a8_linear", x, weight, scale, None, bias, activation), x.dtype, x.device),
         _w8a8_gradient, _w8a8_setup, casts=1)  # fmt: skip


# --- the projections to queries, keys and values in one launch
def _qkv_shapes(x: Any, of: tuple[Any, ...]) -> list[Any]:
    weights, scales, zeros, biases = of[:3], of[3:6], of[6:9], of[9:12]
    return [_check("quantised_qkv", x, *one) for one in zip(weights, scales, zeros, biases)]


def _qkv(x: Any, *of: Any) -> Any:
    of = _filled(of)
    outs = tuple(new(shape, x.dtype, x.device) for shape in _qkv_shapes(x, of))
    rows, weights, biases = rows_of(x), [_as_words(w) for w in of[:3]], [as_f32(b) for b in of[9:12]]
    if x.is_cuda and rows.shape[0] > _FEW_ROWS:
        for weight, scale, zero, bias, out in zip(weights, of[3:6], of[6:9], biases, outs):
            _linear_call((rows, weight, scale, zero, bias, rows_of(out)), of[12], ACTIVATIONS["none"])
    else:
        _qkv_call((rows, *weights, *of[3:9], *biases, *(rows_of(out) for out in outs)), of[12])
    return outs


def _filled(of: tuple[Any, ...]) -> tuple[Any, ...]:
    """With the arguments that the dispatcher has left out."""
    return (*of, *(None, None, None, None, None, None, 0)[len(of) - 6 :])


def _qkv_setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, *of, ctx.group = inputs
    ctx.save_for_backward(*of)
    ctx.shape = x.shape


def _qkv_gradient(ctx: Any, *grads: Any) -> Any:
    of = ctx.saved_tensors
    want = wanted(ctx, 13)
    dx = None
    for one, grad in enumerate(grads):
        if want[0]:
            part = _product_with(grad, of[one], of[3 + one], of[6 + one], ctx.shape, ctx.group)
            dx = part if dx is None else dx + part
    biases = [_bias_gradient(grad, of[9 + one]) if want[10 + one] else None for one, grad in enumerate(grads)]
    return dx, *(None,) * 9, *biases, None


register("quantised_qkv(Tensor x, Tensor weight_q, Tensor weight_k, Tensor weight_v, Tensor scale_q, Tensor scale_k, Tensor scale_v, "
         "Tensor? zero_q=None, Tensor? zero_k=None, Tensor? zero_v=None, Tensor? bias_q=None, Tensor? bias_k=None, Tensor? bias_v=None, int group=0) "
         "-> (Tensor, Tensor, Tensor)", planned(_qkv), lambda x, *of: tuple(empty(shape, x.dtype, x.device) for shape in _qkv_shapes(x, _filled(of))),
         _qkv_gradient, _qkv_setup, casts=1)  # fmt: skip


# --- functions
def quantise_weights(x: Any, bits: int = 8, group: int = 0, has_zero: bool = False) -> tuple[Any, Any, Any]:
    """(weight, scale, zero) of a matrix [outputs, inputs]: int8 or int4 with a scale for each `group` elements of a row, 0: for all; zero is None without
    has_zero, which spreads the range from the smallest to the largest number over all integers."""
    weight, scale, zero = direct.quantise_weights(x, bits, group, has_zero)
    return weight, scale, zero if has_zero else None


def dequantise_weights(weight: Any, scale: Any, zero: Any = None, *, k: int, dtype: Any = torch.float32, group: int = 0) -> Any:
    """The numbers of quantised weights: [outputs, k]."""
    return direct.dequantise_weights(weight, scale, zero, k, dtype, group)


def quantised_linear(x: Any, weight: Any, scale: Any, zero: Any = None, bias: Any = None, group: int = 0, activation: str = "none") -> Any:
    """x times the transposed weights of quantise_weights, plus bias, then "relu", "gelu" (the tanh form) or "silu". Sums are of x and the integers."""
    return direct.quantised_linear(x, weight, scale, zero, bias, group, activation)


def w8a8_linear(x: Any, weight: Any, scale: Any, bias: Any = None, activation: str = "none") -> Any:
    """The same for int8 weights of one scale for a row, with the rows of x made int8 first: sums are of integers."""
    return direct.w8a8_linear(x, weight, scale, bias, activation)


def _one_projection(x: Any, layer: Any) -> Any:
    return direct.quantised_linear(x, layer.weight, layer.scale, layer.zero, layer.bias, layer.group, "none")


def quantised_qkv(x: Any, q: Any, k: Any, v: Any) -> tuple[Any, Any, Any]:
    """Three QuantisedLinear of one form on one x: the projections to queries, keys and values. Few rows of x (GPUs: 16) take one launch."""
    first, *others = layers = (q, k, v)
    for other in others:
        if (other.bits, other.group, other.zero is None, other.bias is None) != (first.bits, first.group, first.zero is None, first.bias is None):
            raise ArgumentError("quantised_qkv: %s and %s: bits, group, zeros and biases are the same for all three" % (first, other))
    if x.is_cuda and x.numel() > _FEW_ROWS * x.shape[-1]:  # one after the other they share a workspace, which the second cache keeps
        return _one_projection(x, q), _one_projection(x, k), _one_projection(x, v)
    parts = [getattr(layer, name) for name in ("weight", "scale", "zero", "bias") for layer in layers]
    return direct.quantised_qkv(x, *parts, first.group)


def pack_int4(weight: Any, zero: Any = None, form: str = "gptq", k: int | None = None, n: int | None = None) -> tuple[Any, Any]:
    """(weight, zero) for quantised_linear of int4 weights in the layout of others: "gptq", "gptq_v2", "awq", or "bytes" (one number in each of uint8)."""
    forms = _abi.ENUMS["kiln_int4_form"]
    if form not in forms:
        raise ArgumentError("pack_int4: form=%r: one of %s" % (form, ", ".join(forms)))
    need = torch.uint8 if form == "bytes" else torch.int32
    for name, t in (("weight", weight), ("zero", zero)):
        if not isinstance(t, torch.Tensor) and (t is not None or name == "weight"):
            raise TypeMismatch("pack_int4: '%s' is a %s: a tensor" % (name, type(t).__name__))
        if t is not None and (t.dtype != need or t.dim() != 2):
            raise TypeMismatch("pack_int4: '%s' is %s of %d dimensions: %s has %s of two" % (name, type_name(t), t.dim(), form, need))
    rows, columns = weight.shape
    if k is None:
        k = {"bytes": columns, "awq": rows}.get(form, rows * 8)
    if n is None:
        n = {"bytes": rows, "awq": columns * 8}.get(form, columns)
    assert k is not None and n is not None
    held = [None if t is None else t.detach().cpu().contiguous() for t in (weight, zero)]
    groups = 0 if zero is None else zero.shape[1] if form == "bytes" else zero.shape[0]
    wants = {"bytes": (n, k), "awq": (k, (n + 7) // 8)}.get(form, ((k + 7) // 8, n))
    zeros = (n, groups) if form == "bytes" else (groups, (n + 7) // 8)
    if tuple(weight.shape) != wants or zero is not None and tuple(zero.shape) != zeros:
        raise ArgumentError("pack_int4: %d times %d numbers of form '%s' are weights %s and zeros %s" % (n, k, form, list(wants), list(zeros)))
    words = torch.empty((n, _words(k)), dtype=torch.int32)
    unpacked = None if zero is None else torch.empty((n, groups), dtype=torch.uint8)
    at = [0 if t is None else t.data_ptr() for t in (*held, words, unpacked)]
    check(library.kiln_pack_int4(_INT4(forms[form], n, k, groups, *at)))
    return words.to(weight.device), None if unpacked is None else unpacked.to(weight.device)


class QuantisedLinear(torch.nn.Module):
    """A linear layer with weights of int8 or int4: QuantisedLinear.of(linear, "int4"). Its bias can be trained, and what stands before it."""

    def __init__(self, weight: Any, scale: Any, zero: Any = None, bias: Any = None, *, inputs: int, group: int = 0, activation: str = "none",
                 has_int8_x: bool = False) -> None:  # fmt: skip
        super().__init__()
        self.in_features, self.out_features = inputs, weight.shape[0]
        self.bits = 8 if weight.dtype == torch.int8 else 4
        self.group, self.activation, self.has_int8_x = group, activation, has_int8_x
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)
        self.register_buffer("zero", zero)
        self.bias = bias if bias is None or isinstance(bias, torch.nn.Parameter) else torch.nn.Parameter(bias)

    @classmethod
    def of(cls, linear: Any, form: str = "int8", group: int | None = None, has_zero: bool = False) -> QuantisedLinear:
        """Of a torch.nn.Linear: "int8" (one scale for a row), "int4" (one for 128 numbers of a row) or "w8a8" (int8, and x made int8, too)."""
        if form not in ("int8", "int4", "w8a8"):
            raise ArgumentError("QuantisedLinear: form=%r: one of int8, int4, w8a8" % form)
        if not isinstance(getattr(linear, "weight", None), torch.Tensor):
            raise TypeMismatch("QuantisedLinear: 'linear' is a %s: a torch.nn.Linear" % type(linear).__name__)
        if form == "w8a8" and (group or has_zero):
            raise ArgumentError("QuantisedLinear: w8a8 has one scale for a row and no zeros: leave group and has_zero out")
        group = (128 if form == "int4" else 0) if group is None else group
        with torch.no_grad():
            weight, scale, zero = quantise_weights(linear.weight, 4 if form == "int4" else 8, group, has_zero)
        made = cls(weight, scale, zero, linear.bias, inputs=linear.weight.shape[1], group=group, has_int8_x=form == "w8a8",
                   activation=getattr(linear, "activation", "none"))  # fmt: skip
        return made.train(linear.training)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Numbers of a layer that is not quantised would be cut to integers without a word."""
        given, errors = state_dict.get(prefix + "weight"), rest[-1]
        if given is not None and given.dtype != self.weight.dtype:
            errors.append("%sweight is %s, and this layer has %s: load the numbers before the model is quantised" % (prefix, given.dtype, self.weight.dtype))
            return
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def forward(self, x: Any) -> Any:
        if not is_tensor(x):
            raise TypeMismatch("QuantisedLinear: 'x' is a %s: a tensor" % type(x).__name__)
        if x.shape[-1] != self.in_features:  # the words of int4 weights do not say it
            raise ArgumentError("QuantisedLinear: 'x' %s has rows of %d numbers, the layer takes %d" % (list(x.shape), x.shape[-1], self.in_features))
        if x.dtype == self.weight.dtype:
            raise TypeMismatch("QuantisedLinear: 'x' is %s, as this layer's weights are: a model that gives x their type (T5 does before 'wo') needs the "
                               "layer as it was: patch(…, skip=(\"lm_head\", \"wo\"))" % type_name(x))  # fmt: skip
        if self.has_int8_x:
            return direct.w8a8_linear(x, self.weight, self.scale, self.bias, self.activation)
        return direct.quantised_linear(x, self.weight, self.scale, self.zero, self.bias, self.group, self.activation)

    def numbers(self, dtype: Any = torch.float32) -> Any:
        """The weights as numbers: [outputs, inputs]."""
        return dequantise_weights(self.weight, self.scale, self.zero, k=self.in_features, dtype=dtype, group=self.group)

    def extra_repr(self) -> str:
        return "in_features=%d, out_features=%d, bias=%s, bits=%d, group=%d" % (self.in_features, self.out_features, self.bias is not None, self.bits, self.group)
