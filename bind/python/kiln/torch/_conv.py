"""Convolution as an op of PyTorch: kiln::conv, of one, two or three dimensions of space."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Sequence

import torch

from .. import _shapes, ops
from .._errors import ArgumentError
from ._call import device_of
from ._register import register

_ops: Any = ops


def _named(stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int) -> dict[str, Any]:
    return {"stride": tuple(stride), "dilation": tuple(dilation), "pad_before": tuple(padding), "pad_after": tuple(padding), "groups": groups}


def _fake(x: Any, weight: Any, bias: Any, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int) -> Any:
    operands = {name: SimpleNamespace(shape=tuple(t.shape), kind=0) for name, t in (("x", x), ("weight", weight))}
    try:
        shape, _ = _shapes.conv(SimpleNamespace(**operands, **_named(stride, padding, dilation, groups), is_transposed=False))
    except ValueError as error:
        raise ArgumentError(str(error)) from None
    return torch.empty(shape, dtype=x.dtype, device=x.device)


def _conv(x: Any, weight: Any, bias: Any, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int) -> Any:
    out = _fake(x, weight, bias, stride, padding, dilation, groups)
    return _ops.conv(x.detach(), weight.detach(), bias=None if bias is None else bias.detach(), out=out, device=device_of(x),
                     **_named(stride, padding, dilation, groups))  # fmt: skip


def _backward_fake(x: Any, weight: Any, dout: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    new = [torch.empty(shape, dtype=x.dtype, device=x.device) for shape in (x.shape, weight.shape, (weight.shape[0],))]
    return tuple(new)


def _backward(x: Any, weight: Any, dout: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    dx, dweight, dbias = made = _backward_fake(x, weight, dout, stride, padding, dilation, groups)
    _ops.conv_backward(x.detach(), weight.detach(), dout.detach(), dx=dx, dweight=dweight, dbias=dbias, device=device_of(x),
                       **_named(stride, padding, dilation, groups))  # fmt: skip
    return made


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, weight, bias, *ctx.numbers = inputs
    ctx.bias_type = None if bias is None else bias.dtype
    ctx.save_for_backward(x, weight)


def _gradient(ctx: Any, grad: Any) -> Any:
    dx, dweight, dbias = torch.ops.kiln.conv_backward.default(*ctx.saved_tensors, grad, *ctx.numbers)
    return dx, dweight, None if ctx.bias_type is None else dbias.to(ctx.bias_type), None, None, None, None


register("conv_backward(Tensor x, Tensor weight, Tensor dout, int[] stride, int[] padding, int[] dilation, int groups) -> (Tensor, Tensor, Tensor)",
         _backward, _backward_fake)  # fmt: skip
register("conv(Tensor x, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups) -> Tensor", _conv, _fake, _gradient, _setup,
         casts=3)  # fmt: skip


def conv(x: Any, weight: Any, bias: Any = None, stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1,
         groups: int = 1) -> Any:  # fmt: skip
    """Convolution: x is [batch, channels, space…], weight [output channels, channels / groups, window…]; one, two or three dimensions of space."""
    rank = x.dim() - 2
    numbers = [[n] * rank if isinstance(n, int) else list(n) for n in (stride, padding, dilation)]
    return torch.ops.kiln.conv.default(x, weight, bias, *numbers, groups)
