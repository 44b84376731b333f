"""Ops of images for PyTorch: convolution, pooling, upsampling, of one, two or three dimensions of space; padding of any dimensions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Sequence

import torch

from .. import _abi, _shapes
from .. import _op_table as table
from .._errors import ArgumentError, TypeMismatch
from .._numbers import counted
from .._types import type_of
from ._call import Call, empty, new, same_type
from ._direct import direct
from ._register import register, wanted

_WINDOW = "stride dilation pad_before pad_after"
_conv_call = Call(table.conv, "conv", "x weight out bias", _WINDOW + " groups is_transposed", workspace="kiln_conv_workspace")
_conv_backward_call = Call(table.conv_backward, "conv's gradient", "x weight dout dx dweight dbias", _WINDOW + " groups is_transposed",
                           workspace="kiln_conv_backward_workspace")  # fmt: skip


def _three(numbers: Sequence[int]) -> tuple[int, ...]:
    return (*numbers, *(0,) * (3 - len(numbers)))


# --- convolution
def _conv_shape(x: Any, weight: Any, bias: Any, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int, is_transposed: bool,
                more: Sequence[int]) -> Any:  # fmt: skip
    same_type("conv", ("x", x), ("weight", weight))
    operands = {name: SimpleNamespace(shape=tuple(t.shape), kind=0) for name, t in (("x", x), ("weight", weight))}
    named = {"stride": tuple(stride), "dilation": tuple(dilation), "pad_before": tuple(padding), "pad_after": tuple(padding), "groups": groups}
    try:
        shape, _ = _shapes.conv(SimpleNamespace(**operands, **named, is_transposed=is_transposed))
    except ValueError as error:
        raise ArgumentError(str(error)) from None
    if groups < 1:
        raise ArgumentError("conv: groups=%d: from 1 on" % groups)
    channels = weight.shape[0] if is_transposed else weight.shape[1] * groups
    if x.shape[1] != channels:
        raise ArgumentError("conv: 'x' %s has %d channels, 'weight' %s in %d groups is for %d" % (list(x.shape), x.shape[1], list(weight.shape), groups, channels))
    if bias is not None and (bias.dim() != 1 or bias.shape[0] != shape[1]):
        raise ArgumentError("conv: 'bias' is %s: a number for each of the %d output channels" % (list(bias.shape), shape[1]))
    return (*shape[:2], *(n + m for n, m in zip(shape[2:], more))) if more else shape


def _conv(x: Any, weight: Any, bias: Any, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int, is_transposed: bool = False,
          more: Sequence[int] = ()) -> Any:  # fmt: skip
    out = new(_conv_shape(x, weight, bias, stride, padding, dilation, groups, is_transposed, more), x.dtype, x.device)
    _conv_call((x, weight, out, bias), _three(stride), _three(dilation), _three(padding), _three(padding), groups, is_transposed)
    return out


def _conv_fake(x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, is_transposed: bool = False, more: Any = ()) -> Any:
    return empty(_conv_shape(x, weight, bias, stride, padding, dilation, groups, is_transposed, more), x.dtype, x.device)


def _conv_results(make: Any, x: Any, weight: Any, dout: Any) -> Any:
    return tuple(make(shape, x.dtype, x.device) for shape in (x.shape, weight.shape, (dout.shape[1],)))


def _conv_backward(x: Any, weight: Any, dout: Any, stride: Any, padding: Any, dilation: Any, groups: int, is_transposed: bool) -> Any:
    made = _conv_results(new, x, weight, dout)
    _conv_backward_call((x, weight, dout, *made), _three(stride), _three(dilation), _three(padding), _three(padding), groups, is_transposed)
    return made


def _conv_setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, weight, bias, *ctx.numbers, _ = inputs
    ctx.bias_type = None if bias is None else bias.dtype
    ctx.save_for_backward(x, weight)


def _conv_gradient(ctx: Any, grad: Any) -> Any:
    dx, dweight, dbias = direct.conv_backward(*ctx.saved_tensors, grad, *ctx.numbers)
    return dx, dweight, None if ctx.bias_type is None or not wanted(ctx, 3)[2] else dbias.to(ctx.bias_type), *(None,) * 6


_numbers = "int[] stride, int[] padding, int[] dilation, int groups"
register("conv_backward(Tensor x, Tensor weight, Tensor dout, %s, bool is_transposed) -> (Tensor, Tensor, Tensor)" % _numbers, _conv_backward,
         lambda x, weight, dout, *rest: _conv_results(empty, x, weight, dout))  # fmt: skip
register("conv(Tensor x, Tensor weight, Tensor? bias, %s, bool is_transposed=False, int[] more=[]) -> Tensor" % _numbers, _conv, _conv_fake, _conv_gradient,
         _conv_setup, casts=3)  # fmt: skip


_LEAST = {"stride": 1, "dilation": 1, "size": 1, "sizes": 0}


def _each(x: Any, call: str, **numbers: Any) -> list[list[int]]:
    """One number stands for all dimensions of space."""
    rank = x.dim() - 2
    if rank not in (1, 2, 3):
        raise ArgumentError("%s: 'x' has %d dimensions: [batch, channels, space…], with one, two or three of space" % (call, x.dim()))
    for name, n in numbers.items():
        if not isinstance(n, (int, tuple, list)) or not isinstance(n, int) and len(n) != rank:
            raise ArgumentError("%s: %s=%r: one number, or one for each of the %d dimensions of space" % (call, name, n, rank))
    found = [[n] * rank if isinstance(n, int) else list(n) for n in numbers.values()]
    for name, many in zip(numbers, found):
        if any(isinstance(n, int) and n < _LEAST.get(name, 0) for n in many):
            raise ArgumentError("%s: %s=%r: from %d on" % (call, name, numbers[name], _LEAST.get(name, 0)))
    return found


def conv(x: Any, weight: Any, bias: Any = None, stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1,
         groups: int = 1) -> Any:  # fmt: skip
    """Convolution: x is [batch, channels, space…], weight [output channels, channels / groups, window…]; one, two or three dimensions of space."""
    return direct.conv(x, weight, bias, *_each(x, "conv", stride=stride, padding=padding, dilation=dilation), groups)


def conv_transposed(x: Any, weight: Any, bias: Any = None, stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
                    output_padding: int | Sequence[int] = 0, groups: int = 1, dilation: int | Sequence[int] = 1) -> Any:  # fmt: skip
    """Transposed convolution: weight is [channels, output channels / groups, window…]."""
    stride, padding, dilation, more = _each(x, "conv_transposed", stride=stride, padding=padding, dilation=dilation, output_padding=output_padding)
    if any(isinstance(n, int) and n >= step for n, step in zip(more, stride)):
        raise ArgumentError("conv_transposed: output_padding=%r: below the stride, %s" % (output_padding, stride))
    return direct.conv(x, weight, bias, stride, padding, dilation, groups, True, more)


# --- pooling
_KINDS = _abi.ENUMS["kiln_pooling"]
_POOL = "kind size " + _WINDOW + " is_adaptive counts_padding"
_pool_call = Call(table.pool, "pool", "x out indices", _POOL)
_pool_backward_call = Call(table.pool_backward, "pool's gradient", "dout dx indices", _POOL)


def _pool_results(make: Any, x: Any, kind: str, size: Sequence[int], stride: Sequence[int], dilation: Sequence[int], padding: Sequence[int], sizes: Any) -> Any:
    if kind not in _KINDS:
        raise ArgumentError("pool: kind='%s': one of %s" % (kind, ", ".join(_KINDS)))
    if sizes:
        shape = (*x.shape[:2], *sizes)
    else:
        space = [(n + 2 * pad - step * (window - 1) - 1) // (jump or window) + 1 for n, window, jump, step, pad in zip(x.shape[2:], size, stride, dilation, padding)]
        if any(isinstance(n, int) and n < 1 for n in space):
            raise ArgumentError("pool: a window of %s is larger than 'x' %s with its padding" % (list(size), list(x.shape)))
        shape = (*x.shape[:2], *space)
    return make(shape, x.dtype, x.device), make(shape if kind == "max" else (0,), torch.int64, x.device)


def _pool_numbers(kind: str, size: Any, stride: Any, dilation: Any, padding: Any, counts_padding: bool, sizes: Any) -> tuple[Any, ...]:
    return _KINDS[kind], _three(size), _three(stride), _three(dilation), _three(padding), _three(padding), bool(sizes), counts_padding


def _pool(x: Any, kind: str, size: Any, stride: Any, dilation: Any, padding: Any, counts_padding: bool, sizes: Any) -> Any:
    out, indices = _pool_results(new, x, kind, size, stride, dilation, padding, sizes)
    _pool_call((x, out, indices if kind == "max" else None), *_pool_numbers(kind, size, stride, dilation, padding, counts_padding, sizes))
    return out, indices


def _pool_backward(dout: Any, indices: Any, shape: Any, kind: str, size: Any, stride: Any, dilation: Any, padding: Any, counts_padding: bool, sizes: Any) -> Any:
    dx = new(tuple(shape), dout.dtype, dout.device)
    _pool_backward_call((dout, dx, indices if kind == "max" else None), *_pool_numbers(kind, size, stride, dilation, padding, counts_padding, sizes))
    return dx


def _pool_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.shape, ctx.numbers = inputs[0].shape, inputs[1:]
    ctx.save_for_backward(output[1])
    ctx.mark_non_differentiable(output[1])


_pool_words = "str kind, int[] size, int[] stride, int[] dilation, int[] padding, bool counts_padding, int[] sizes"
register("pool_backward(Tensor dout, Tensor indices, SymInt[] shape, %s) -> Tensor" % _pool_words, _pool_backward,
         lambda dout, indices, shape, *rest: empty(tuple(shape), dout.dtype, dout.device))  # fmt: skip
register("pool(Tensor x, %s) -> (Tensor, Tensor)" % _pool_words, _pool,
         lambda x, kind, size, stride, dilation, padding, counts, sizes: _pool_results(empty, x, kind, size, stride, dilation, padding, sizes),
         lambda ctx, grad, _: (direct.pool_backward(grad, ctx.saved_tensors[0], ctx.shape, *ctx.numbers), *(None,) * 7), _pool_setup)  # fmt: skip


def max_pool(x: Any, size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0,
             dilation: int | Sequence[int] = 1) -> Any:  # fmt: skip
    """The largest number of each window; a stride of None is the window's size."""
    size, step, padding, dilation = _each(x, "max_pool", size=size, stride=size if stride is None else stride, padding=padding, dilation=dilation)
    return direct.pool(x, "max", size, step, dilation, padding, False, [])[0]


def average_pool(x: Any, size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0,
                 counts_padding: bool = True) -> Any:  # fmt: skip
    """The average of each window; counts_padding: with zeros for the padding."""
    size, step, padding, dilation = _each(x, "average_pool", size=size, stride=size if stride is None else stride, padding=padding, dilation=1)
    return direct.pool(x, "average", size, step, dilation, padding, counts_padding, [])[0]


def adaptive_pool(x: Any, sizes: int | Sequence[int], kind: str = "average") -> Any:
    """As many windows as `sizes` says, as even as possible: "average" or "max"."""
    (sizes,) = _each(x, "adaptive_pool", sizes=sizes)
    return direct.pool(x, kind, [], [], [], [], False, sizes)[0]


# --- upsampling
_MODES = _abi.ENUMS["kiln_upsample_mode"]
_upsample_call = Call(table.upsample, "upsample", "x out", "mode aligns_corners")
_upsample_backward_call = Call(table.upsample_backward, "upsample's gradient", "dout dx", "mode aligns_corners")


def _upsample_shape(x: Any, sizes: Sequence[int], mode: str) -> Any:
    if mode not in _MODES:
        raise ArgumentError("upsample: mode='%s': one of %s" % (mode, ", ".join(_MODES)))
    if not 0 < len(sizes) <= x.dim():
        raise ArgumentError("upsample: %d sizes for 'x' of %d dimensions: one for each of the last ones" % (len(sizes), x.dim()))
    if any(isinstance(n, int) and n < 0 for n in sizes):
        raise ArgumentError("upsample: sizes=%r: no size is below 0" % (list(sizes),))
    return (*x.shape[: x.dim() - len(sizes)], *sizes)


def _upsample(x: Any, sizes: Any, mode: str = "nearest", aligns_corners: bool = False) -> Any:
    out = new(_upsample_shape(x, sizes, mode), x.dtype, x.device)
    _upsample_call((x, out), _MODES[mode], aligns_corners)
    return out


def _upsample_backward(dout: Any, shape: Any, mode: str, aligns_corners: bool) -> Any:
    dx = new(tuple(shape), dout.dtype, dout.device)
    _upsample_backward_call((dout, dx), _MODES[mode], aligns_corners)
    return dx


def _upsample_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.shape, ctx.numbers = inputs[0].shape, inputs[2:]


register("upsample_backward(Tensor dout, SymInt[] shape, str mode, bool aligns_corners) -> Tensor", _upsample_backward,
         lambda dout, shape, *rest: empty(tuple(shape), dout.dtype, dout.device))  # fmt: skip
register('upsample(Tensor x, SymInt[] sizes, str mode="nearest", bool aligns_corners=False) -> Tensor', _upsample,
         lambda x, sizes, mode="nearest", aligns_corners=False: empty(_upsample_shape(x, sizes, mode), x.dtype, x.device),
         lambda ctx, grad: (direct.upsample_backward(grad, ctx.shape, *ctx.numbers), None, None, None), _upsample_setup)  # fmt: skip


def upsample(x: Any, sizes: int | Sequence[int], mode: str = "nearest", aligns_corners: bool = False) -> Any:
    """x at other sizes of its last dimensions: "nearest", or "linear" between two, four or eight elements."""
    if not isinstance(sizes, (int, tuple, list)):
        raise TypeMismatch("upsample: sizes=%r: a number, or one for each of the last dimensions" % (sizes,))
    return direct.upsample(x, [sizes] if isinstance(sizes, int) else list(sizes), mode, aligns_corners)


# --- padding
_PADS = _abi.ENUMS["kiln_pad_mode"]
_pad_call = Call(table.pad, "pad", "x out", "before mode value")
_pad_backward_call = Call(table.pad_backward, "pad's gradient", "dout dx", "before mode")


def _pad_shape(x: Any, before: Sequence[int], after: Sequence[int], mode: str) -> Any:
    if mode not in _PADS:
        raise ArgumentError("pad: mode='%s': one of %s" % (mode, ", ".join(_PADS)))
    if len(before) != x.dim() or len(after) != x.dim():
        raise ArgumentError("pad: before=%r, after=%r: a number for each of the %d dimensions of 'x'" % (list(before), list(after), x.dim()))
    shape = tuple(a + n + b for a, n, b in zip(before, x.shape, after))
    if any(isinstance(n, int) and n < 0 for n in shape):
        raise ArgumentError("pad: before=%r, after=%r take more than 'x' %s has" % (list(before), list(after), list(x.shape)))
    return shape


def _eight(numbers: Sequence[int]) -> tuple[int, ...]:
    return (*numbers, *(0,) * (8 - len(numbers)))


def _pad(x: Any, before: Any, after: Any, mode: str = "constant", value: float = 0.0) -> Any:
    out = new(_pad_shape(x, before, after, mode), x.dtype, x.device)
    _pad_call((x, out), _eight(before), _PADS[mode], value)
    return out


def _pad_backward(dout: Any, shape: Any, before: Any, mode: str) -> Any:
    dx = new(tuple(shape), dout.dtype, dout.device)
    _pad_backward_call((dout, dx), _eight(before), _PADS[mode])
    return dx


def _pad_setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, ctx.before, _, ctx.mode, _ = inputs
    ctx.shape = x.shape


register("pad_backward(Tensor dout, SymInt[] shape, SymInt[] before, str mode) -> Tensor", _pad_backward,
         lambda dout, shape, *rest: empty(tuple(shape), dout.dtype, dout.device))  # fmt: skip
register('pad(Tensor x, SymInt[] before, SymInt[] after, str mode="constant", float value=0.0) -> Tensor', _pad,
         lambda x, before, after, mode="constant", value=0.0: empty(_pad_shape(x, before, after, mode), x.dtype, x.device),
         lambda ctx, grad: (direct.pad_backward(grad, ctx.shape, ctx.before, ctx.mode), None, None, None, None), _pad_setup)  # fmt: skip


def pad(x: Any, before: Sequence[int], after: Sequence[int], mode: str = "constant", value: float = 0.0) -> Any:
    """x with so many elements more before and after it along each dimension, less where the number is negative: "constant", "reflect", "edge", "circular"."""
    for name, many in (("before", before), ("after", after)):
        if not isinstance(many, (tuple, list)):
            raise TypeMismatch("pad: %s=%r: a list with a number for each dimension" % (name, many))
    if type(value) is int and isinstance(x, torch.Tensor):
        counted("pad: value", value, type_of(x.dtype))
    return direct.pad(x, list(before), list(after), mode, value)
