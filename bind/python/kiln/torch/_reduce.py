"""Reductions as ops of PyTorch: kiln::reduce, with the op by its name."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import torch

from .. import _abi, ops
from .. import _op_table as table
from .._errors import ArgumentError, TypeMismatch
from .._op import reduced
from ._call import Call, empty, new, planned
from ._direct import direct
from ._register import register

_reduce_call = Call(table.reduce, "reduce", "x out", "op axes alpha", workspace="kiln_reduce_workspace", unit=torch.uint8)
_reduce_backward_call = Call(table.reduce_backward, "reduce's gradient", "x out dout dx", "op axes alpha", workspace="kiln_reduce_backward_workspace",
                             unit=torch.uint8)  # fmt: skip
NUMBERS = _abi.ENUMS["kiln_reduction"]
_INDICES, _TRUTHS = ("argmax", "argmin", "count"), ("any", "all")
_BY_SHAPE = ("sum", "mean")  # whose gradients ask for no number of x, which need not be kept
DIFFERENTIABLE = ("sum", "mean", "prod", "max", "min", "norm", "variance", "deviation", "logsumexp")


def _number(op: str) -> int:
    if op not in NUMBERS:
        raise ArgumentError("reduce: there is no '%s': %s" % (op, ", ".join(NUMBERS)))
    return NUMBERS[op]


def _result(x: Any, op: str, axes: Sequence[int], keepdims: bool) -> tuple[int, Any, Any]:
    """(bits of the axes, shape, type)"""
    _number(op)
    mask, shape = reduced(x.shape, list(axes) or None, keepdims, op)
    dtype = torch.int64 if op in _INDICES else torch.bool if op in _TRUTHS else x.dtype
    if not x.is_floating_point() and op not in _INDICES + _TRUTHS + ("max", "min"):
        dtype = torch.float64 if op == "mean" else torch.int64
    return mask, shape, dtype


def _reduce(x: Any, op: str, axes: Sequence[int], keepdims: bool = False, alpha: float = 0.0) -> Any:
    mask, shape, dtype = _result(x, op, axes, keepdims)
    out = new(shape, dtype, x.device)
    _reduce_call((x, out), NUMBERS[op], mask, alpha)
    return out


def _fake(x: Any, op: str, axes: Sequence[int], keepdims: bool = False, alpha: float = 0.0) -> Any:
    return empty(*_result(x, op, axes, keepdims)[1:], x.device)


def _reduce_backward(x: Any, out: Any, dout: Any, op: str, axes: Sequence[int], alpha: float) -> Any:
    dx = new(x.shape, x.dtype, x.device)
    _reduce_backward_call((x, out, dout, dx), _number(op), reduced(x.shape, list(axes) or None, False, op)[0], alpha)
    return dx


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, ctx.op, ctx.axes, _, ctx.alpha = inputs
    if ctx.op in _BY_SHAPE:
        ctx.like = x.shape, x.dtype
    else:
        ctx.save_for_backward(x, output)
    if ctx.op not in DIFFERENTIABLE:
        ctx.mark_non_differentiable(output)


def _gradient(ctx: Any, grad: Any) -> Any:
    if ctx.op not in DIFFERENTIABLE:
        return (None,) * 5
    if ctx.op in _BY_SHAPE:
        shape, dtype = ctx.like
        x, out = torch.empty((), dtype=dtype, device=grad.device).expand(shape), grad
    else:
        x, out = ctx.saved_tensors
    return direct.reduce_backward(x, out, grad, ctx.op, ctx.axes, ctx.alpha), None, None, None, None


register("reduce_backward(Tensor x, Tensor out, Tensor dout, str op, int[] axes, float alpha) -> Tensor", planned(_reduce_backward),
         lambda x, *rest: empty(x.shape, x.dtype, x.device))  # fmt: skip
register("reduce(Tensor x, str op, int[] axes, bool keepdims=False, float alpha=0.0) -> Tensor", planned(_reduce), _fake, _gradient, _setup)


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
        if not isinstance(axis, (int, tuple, list, type(None))):
            raise TypeMismatch("%s: axis=%r: a whole number, several of them, or None for all" % (public, axis))
        axes = [] if axis is None else [axis] if isinstance(axis, int) else list(axis)
        return direct.reduce(x, op, axes, keepdims, alpha)

    function.__name__ = function.__qualname__ = public
    function.__doc__ = getattr(ops, public).__doc__
    return function
