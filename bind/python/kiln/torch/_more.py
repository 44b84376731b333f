"""More of the op library for PyTorch: losses, embeddings, rotary embeddings, dropout, scans, norms of channels.

These go through kiln.ops, which looks at every field by name; their calls cost more of the host's time than those of _ops.py.
"""

from __future__ import annotations

from typing import Any

import torch

from .. import ops
from .._errors import ArgumentError
from ._call import device_of
from ._register import register

_ops: Any = ops


def _plain(*tensors: Any) -> tuple[Any, ...]:
    """Without their gradients, which the dispatcher has taken care of."""
    return tuple(t.detach() if isinstance(t, torch.Tensor) else t for t in tensors)


def _like(t: Any, shape: Any = None, dtype: Any = None) -> Any:
    return torch.empty(t.shape if shape is None else shape, dtype=dtype or t.dtype, device=t.device)


# --- cross-entropy: (loss, lse, total weight)
def _loss_fake(logits: Any, targets: Any, weight: Any = None, axis: int = -1, reduction: str = "mean", label_smoothing: float = 0.0,
               ignored_class: int | None = None) -> Any:  # fmt: skip
    shape = targets.shape if reduction == "rows" else ()
    return _like(logits, shape), _like(logits, targets.shape, torch.float32), _like(logits, (), torch.float32)


def _loss(logits: Any, targets: Any, weight: Any = None, axis: int = -1, reduction: str = "mean", label_smoothing: float = 0.0,
          ignored_class: int | None = None) -> Any:  # fmt: skip
    made = _loss_fake(logits, targets, weight, axis, reduction)
    made[2].zero_()
    logits, targets, weight = _plain(logits, targets, weight)
    _ops.cross_entropy(logits, targets, weight=weight, axis=axis, reduction=reduction, label_smoothing=label_smoothing,
                       has_ignored_class=ignored_class is not None, ignored_class=ignored_class or 0, loss=made[0], lse=made[1],
                       total_weight=made[2] if reduction == "mean" else None, device=device_of(logits))  # fmt: skip
    return made


def _loss_backward(logits: Any, targets: Any, weight: Any, lse: Any, total: Any, dloss: Any, axis: int, reduction: str, label_smoothing: float,
                   ignored_class: int | None) -> Any:  # fmt: skip
    logits, targets, weight, lse, total, dloss = _plain(logits, targets, weight, lse, total, dloss)
    return _ops.cross_entropy_backward(logits, targets, lse, dloss, weight=weight, total_weight=total if reduction == "mean" else None, axis=axis,
                                       reduction=reduction, label_smoothing=label_smoothing, has_ignored_class=ignored_class is not None,
                                       ignored_class=ignored_class or 0, dlogits=_like(logits), device=device_of(logits))  # fmt: skip


def _loss_setup(ctx: Any, inputs: Any, output: Any) -> None:
    logits, targets, weight, *ctx.rest = inputs
    ctx.save_for_backward(logits, targets, weight, output[1], output[2])
    ctx.mark_non_differentiable(output[1], output[2])


register("cross_entropy_backward(Tensor logits, Tensor targets, Tensor? weight, Tensor lse, Tensor total, Tensor dloss, int axis, str reduction, "
         "float label_smoothing, int? ignored_class) -> Tensor", _loss_backward, lambda logits, *rest: _like(logits))  # fmt: skip
register('cross_entropy(Tensor logits, Tensor targets, Tensor? weight=None, int axis=-1, str reduction="mean", float label_smoothing=0.0, '
         "int? ignored_class=None) -> (Tensor, Tensor, Tensor)", _loss, _loss_fake,
         lambda ctx, grad, *_: (torch.ops.kiln.cross_entropy_backward.default(*ctx.saved_tensors, grad, *ctx.rest), *(None,) * 6), _loss_setup)  # fmt: skip


def cross_entropy(logits: Any, targets: Any, weight: Any = None, axis: int = -1, reduction: str = "mean", label_smoothing: float = 0.0,
                  ignored_class: int | None = None) -> Any:  # fmt: skip
    """The loss of classes: targets are their numbers, logits without the axis; reduction is "mean", "sum" or "rows"."""
    return torch.ops.kiln.cross_entropy.default(logits, targets, weight, axis, reduction, label_smoothing, ignored_class)[0]


# --- embedding
def _embedding(weight: Any, index: Any) -> Any:
    return _ops.embedding(*_plain(weight, index), out=_like(weight, (*index.shape, weight.shape[1])), device=device_of(weight))


def _embedding_backward(index: Any, dout: Any, rows: int) -> Any:
    dweight = _like(dout, (rows, dout.shape[-1]))
    return _ops.embedding_backward(*_plain(index, dout), dweight=dweight, device=device_of(dout))


def _embedding_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.rows = inputs[0].shape[0]
    ctx.save_for_backward(inputs[1])


register("embedding_backward(Tensor index, Tensor dout, SymInt rows) -> Tensor", _embedding_backward,
         lambda index, dout, rows: _like(dout, (rows, dout.shape[-1])))  # fmt: skip
register("embedding(Tensor weight, Tensor index) -> Tensor", _embedding, lambda weight, index: _like(weight, (*index.shape, weight.shape[1])),
         lambda ctx, grad: (torch.ops.kiln.embedding_backward.default(ctx.saved_tensors[0], grad, ctx.rows), None), _embedding_setup)  # fmt: skip


def embedding(weight: Any, index: Any) -> Any:
    """Rows of weight by their numbers."""
    return torch.ops.kiln.embedding.default(weight, index)


# --- rotary embeddings and dropout: backward is the op itself with other numbers
def _rope(x: Any, cos: Any, sin: Any, is_interleaved: bool = False, is_backward: bool = False) -> Any:
    call = _ops.rope_backward if is_backward else _ops.rope
    return call(*_plain(x, cos, sin), is_interleaved=is_interleaved, out=_like(x), device=device_of(x))


def _rope_setup(ctx: Any, inputs: Any, output: Any) -> None:
    _, cos, sin, ctx.is_interleaved, ctx.is_backward = inputs
    ctx.save_for_backward(cos, sin)


register("rope(Tensor x, Tensor cos, Tensor sin, bool is_interleaved=False, bool is_backward=False) -> Tensor", _rope, lambda x, *rest: _like(x),
         lambda ctx, grad: (torch.ops.kiln.rope.default(grad, *ctx.saved_tensors, ctx.is_interleaved, not ctx.is_backward), None, None, None, None),
         _rope_setup)  # fmt: skip


def rope(x: Any, cos: Any, sin: Any, is_interleaved: bool = False) -> Any:
    """Rotary position embedding: pairs of numbers turned by angles whose cosines and sines are given."""
    if cos.requires_grad or sin.requires_grad:
        raise ArgumentError("rope: the tables have no gradient: pass them detached")
    return torch.ops.kiln.rope.default(x, cos, sin, is_interleaved, False)


def _dropout(x: Any, rate: float, seed: int, offset: int) -> Any:
    return _ops.dropout(*_plain(x), rate=rate, seed=seed, offset=offset, out=_like(x), device=device_of(x))


def _dropout_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.numbers = inputs[1:]


register("dropout(Tensor x, float rate, int seed, int offset) -> Tensor", _dropout, lambda x, *rest: _like(x),
         lambda ctx, grad: (torch.ops.kiln.dropout.default(grad, *ctx.numbers), None, None, None), _dropout_setup)  # fmt: skip


def dropout(x: Any, rate: float = 0.5, *, seed: int, offset: int = 0) -> Any:
    """0 with the probability `rate`, else x / (1 - rate). The same seed and offset give the same zeros, on every device: a training step takes its own."""
    return torch.ops.kiln.dropout.default(x, rate, seed, offset)


# --- running sums
def _cumsum(x: Any, axis: int, is_reverse: bool = False) -> Any:
    return _ops.scan(*_plain(x), axis=axis, is_reverse=is_reverse, out=_like(x), device=device_of(x))


def _cumsum_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.numbers = inputs[1:]


register("cumsum(Tensor x, int axis, bool is_reverse=False) -> Tensor", _cumsum, lambda x, *rest: _like(x),
         lambda ctx, grad: (torch.ops.kiln.cumsum.default(grad, ctx.numbers[0], not ctx.numbers[1]), None, None), _cumsum_setup)  # fmt: skip


def cumsum(x: Any, axis: int = -1, is_reverse: bool = False) -> Any:
    """Running sums along an axis."""
    return torch.ops.kiln.cumsum.default(x, axis, is_reverse)


# --- group norm
def _group_norm_fake(x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    return _like(x), _like(x, (x.shape[0] * groups,), torch.float32), _like(x, (x.shape[0] * groups,), torch.float32)


def _group_norm(x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    out, mean, scale = _group_norm_fake(x, groups)
    x, weight, bias = _plain(x, weight, bias)
    _ops.group_norm(x, weight=weight, bias=bias, groups=groups, eps=eps, out=out, mean=mean, scale=scale, device=device_of(x))
    return out, mean, scale


def _group_norm_backward_fake(x: Any, weight: Any, mean: Any, scale: Any, dout: Any, groups: int) -> Any:
    return _like(x), _like(x, (x.shape[1],)), _like(x, (x.shape[1],))


def _group_norm_backward(x: Any, weight: Any, mean: Any, scale: Any, dout: Any, groups: int) -> Any:
    dx, dweight, dbias = made = _group_norm_backward_fake(x, weight, mean, scale, dout, groups)
    x, weight, mean, scale, dout = _plain(x, weight, mean, scale, dout)
    _ops.group_norm_backward(x, mean, scale, dout, weight=weight, groups=groups, dx=dx, dweight=dweight, dbias=dbias, device=device_of(x))
    return made


def _group_norm_setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, ctx.groups, weight, bias, _ = inputs
    ctx.has = (weight is not None, bias is not None)
    ctx.save_for_backward(x, weight, *output[1:])
    ctx.mark_non_differentiable(*output[1:])


def _group_norm_gradient(ctx: Any, grad: Any, *_: Any) -> Any:
    x, weight, mean, scale = ctx.saved_tensors
    dx, dweight, dbias = torch.ops.kiln.group_norm_backward.default(x, weight, mean, scale, grad, ctx.groups)
    return dx, None, dweight if ctx.has[0] else None, dbias if ctx.has[1] else None, None


register("group_norm_backward(Tensor x, Tensor? weight, Tensor mean, Tensor scale, Tensor dout, int groups) -> (Tensor, Tensor, Tensor)",
         _group_norm_backward, _group_norm_backward_fake)  # fmt: skip
register("group_norm(Tensor x, int groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-5) -> (Tensor, Tensor, Tensor)", _group_norm,
         _group_norm_fake, _group_norm_gradient, _group_norm_setup)  # fmt: skip


def group_norm(x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """The norm of groups of neighbouring channels of [items, channels, ...]."""
    return torch.ops.kiln.group_norm.default(x, groups, weight, bias, eps)[0]
