"""Reductions as ops of PyTorch: kiln::reduce, with the op by its name."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Sequence

import torch

from .. import _abi, ops
from .._device import NO_VIEW
from .._errors import ArgumentError
from .._library import library
from .._op import reduced
from ._call import device_of, stream_of, view_of
from ._ops import register

_descriptions: Any = ops
_FORWARD = _descriptions._reduce.packer("op", "x", "out", "axes", "alpha", "workspace", "stream")
_BACKWARD = _descriptions._reduce_backward.packer("op", "x", "out", "dout", "dx", "axes", "alpha", "workspace", "stream")
NUMBERS = _abi.ENUMS["kiln_reduction"]
_INDICES, _TRUTHS = ("argmax", "argmin", "count"), ("any", "all")
DIFFERENTIABLE = ("sum", "mean", "prod", "max", "min", "norm", "variance", "deviation", "logsumexp")


def _number(op: str) -> int:
    if op not in NUMBERS:
        raise ArgumentError("reduce: there is no '%s': %s" % (op, ", ".join(NUMBERS)))
    return NUMBERS[op]


def _fake(x: Any, op: str, axes: Sequence[int], keepdims: bool = False, alpha: float = 0.0) -> Any:
    _number(op)
    _, shape = reduced(x.shape, list(axes) or None, keepdims, op)
    dtype = torch.int64 if op in _INDICES else torch.bool if op in _TRUTHS else x.dtype
    if not x.is_floating_point() and op not in _INDICES + _TRUTHS + ("max", "min"):
        dtype = torch.float64 if op == "mean" else torch.int64
    return torch.empty(shape, dtype=dtype, device=x.device)


def _workspace(device: Any, query: Any, desc: bytes, x: Any, call: str) -> tuple[Any, bytes]:
    size = ctypes.c_uint64()
    device.call(query, device.handle, desc, ctypes.byref(size))
    if not size.value:
        return None, NO_VIEW
    work = torch.empty(size.value, dtype=torch.uint8, device=x.device)
    return work, view_of(device, work, call, "workspace", x.device)


def _reduce(x: Any, op: str, axes: Sequence[int], keepdims: bool = False, alpha: float = 0.0) -> Any:
    number, out = _number(op), _fake(x, op, axes, keepdims, alpha)
    mask, _ = reduced(x.shape, list(axes) or None, keepdims, op)
    device, where = device_of(x), x.device
    views, stream = (view_of(device, x, op, "x", where), view_of(device, out, op, "out", where)), stream_of(device, x)
    work, view = _workspace(device, library.kiln_reduce_workspace, _FORWARD(number, *views, mask, alpha, NO_VIEW, stream), x, op)
    device.call(library.kiln_reduce_forward, device.handle, _FORWARD(number, *views, mask, alpha, view, stream))
    del work
    return out


def _reduce_backward(x: Any, out: Any, dout: Any, op: str, axes: Sequence[int], alpha: float) -> Any:
    call = op + "'s gradient"
    dx = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    mask, _ = reduced(x.shape, list(axes) or None, False, op)
    device, where = device_of(x), x.device
    views = [view_of(device, t, call, name, where) for name, t in (("x", x), ("out", out), ("dout", dout), ("dx", dx))]
    stream, number = stream_of(device, x), _number(op)
    work, view = _workspace(device, library.kiln_reduce_backward_workspace, _BACKWARD(number, *views, mask, alpha, NO_VIEW, stream), x, call)
    device.call(library.kiln_reduce_backward, device.handle, _BACKWARD(number, *views, mask, alpha, view, stream))
    del work
    return dx


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, ctx.op, ctx.axes, _, ctx.alpha = inputs
    ctx.save_for_backward(x, output)
    if ctx.op not in DIFFERENTIABLE:
        ctx.mark_non_differentiable(output)


def _gradient(ctx: Any, grad: Any) -> Any:
    if ctx.op not in DIFFERENTIABLE:
        return (None,) * 5
    x, out = ctx.saved_tensors
    return torch.ops.kiln.reduce_backward.default(x, out, grad, ctx.op, ctx.axes, ctx.alpha), None, None, None, None


register("reduce_backward(Tensor x, Tensor out, Tensor dout, str op, int[] axes, float alpha) -> Tensor", _reduce_backward,
         lambda x, *rest: torch.empty(x.shape, dtype=x.dtype, device=x.device))  # fmt: skip
register("reduce(Tensor x, str op, int[] axes, bool keepdims=False, float alpha=0.0) -> Tensor", _reduce, _fake, _gradient, _setup)


def functions() -> dict[str, Callable[..., Any]]:
    """A function for each reduction, under the names of kiln.ops."""
    renamed = {"max": "amax", "min": "amin", "norm": "vector_norm", "count": "count_nonzero"}
    made = {}
    for op in NUMBERS:
        public = renamed.get(op, op)
        made[public] = _function(op, public)
    return made


def _function(op: str, public: str) -> Callable[..., Any]:
    def function(x: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False, alpha: float = 0.0) -> Any:
        axes = [] if axis is None else [axis] if isinstance(axis, int) else list(axis)
        return torch.ops.kiln.reduce.default(x, op, axes, keepdims, alpha)

    function.__name__ = function.__qualname__ = public
    function.__doc__ = getattr(ops, public).__doc__
    return function
