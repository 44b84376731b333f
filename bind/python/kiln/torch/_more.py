"""More of the op library for PyTorch: losses, rotary embeddings, dropout, running sums, triangles, norms of sums and of channels."""

from __future__ import annotations

from typing import Any

import torch

from .. import _abi
from .. import _op_table as table
from .._errors import ArgumentError
from ._call import Call, axis_of, empty, new, planned
from ._direct import direct
from ._register import register, wanted

_F32 = torch.float32
_REDUCTIONS = _abi.ENUMS["kiln_loss_reduction"]
_loss_words = "axis reduction label_smoothing has_ignored_class ignored_class"
_loss_call = Call(table.cross_entropy, "cross_entropy", "logits targets weight loss lse total_weight", _loss_words,
                  workspace="kiln_cross_entropy_workspace", unit=torch.uint8)  # fmt: skip
_loss_backward_call = Call(table.cross_entropy_backward, "cross_entropy's gradient", "logits targets weight lse total_weight dloss dlogits", _loss_words)


# --- cross-entropy: (loss, lse, total weight)
def _loss_results(make: Any, logits: Any, targets: Any, weight: Any, axis: int, reduction: str) -> Any:
    if reduction not in _REDUCTIONS:
        raise ArgumentError("cross_entropy: reduction='%s': one of %s" % (reduction, ", ".join(_REDUCTIONS)))
    axis = axis_of(axis, logits, "cross_entropy")
    if tuple(targets.shape) != (*logits.shape[:axis], *logits.shape[axis + 1 :]):
        raise ArgumentError("cross_entropy: 'targets' is %s: 'logits' %s without the axis %d" % (list(targets.shape), list(logits.shape), axis))
    shape = targets.shape if reduction == "rows" else ()
    return make(shape, logits.dtype, logits.device), make(targets.shape, _F32, logits.device), make((), _F32, logits.device)


def _loss_numbers(logits: Any, axis: int, reduction: str, label_smoothing: float, ignored_class: int | None) -> tuple[Any, ...]:
    return axis_of(axis, logits, "cross_entropy"), _REDUCTIONS[reduction], label_smoothing, ignored_class is not None, ignored_class or 0


def _loss(logits: Any, targets: Any, weight: Any = None, axis: int = -1, reduction: str = "mean", label_smoothing: float = 0.0,
          ignored_class: int | None = None) -> Any:  # fmt: skip
    loss, lse, total = made = _loss_results(new, logits, targets, weight, axis, reduction)
    if reduction != "mean":
        total.zero_()
    _loss_call((logits, targets, weight, loss, lse, total if reduction == "mean" else None), *_loss_numbers(logits, axis, reduction, label_smoothing, ignored_class))
    return made


def _loss_backward(logits: Any, targets: Any, weight: Any, lse: Any, total: Any, dloss: Any, axis: int, reduction: str, label_smoothing: float,
                   ignored_class: int | None) -> Any:  # fmt: skip
    dlogits = new(logits.shape, logits.dtype, logits.device)
    _loss_backward_call((logits, targets, weight, lse, total if reduction == "mean" else None, dloss, dlogits),
                        *_loss_numbers(logits, axis, reduction, label_smoothing, ignored_class))  # fmt: skip
    return dlogits


def _loss_setup(ctx: Any, inputs: Any, output: Any) -> None:
    logits, targets, weight, *ctx.rest = inputs
    ctx.save_for_backward(logits, targets, weight, output[1], output[2])
    ctx.mark_non_differentiable(output[1], output[2])


register("cross_entropy_backward(Tensor logits, Tensor targets, Tensor? weight, Tensor lse, Tensor total, Tensor dloss, int axis, str reduction, "
         "float label_smoothing, int? ignored_class) -> Tensor", _loss_backward,
         lambda logits, *rest: empty(logits.shape, logits.dtype, logits.device))  # fmt: skip
register('cross_entropy(Tensor logits, Tensor targets, Tensor? weight=None, int axis=-1, str reduction="mean", float label_smoothing=0.0, '
         "int? ignored_class=None) -> (Tensor, Tensor, Tensor)", _loss,
         lambda logits, targets, weight=None, axis=-1, reduction="mean", *rest: _loss_results(empty, logits, targets, weight, axis, reduction),
         lambda ctx, grad, *_: (direct.cross_entropy_backward(*ctx.saved_tensors, grad, *ctx.rest), *(None,) * 6), _loss_setup,
         is_in_f32=True)  # fmt: skip


def cross_entropy(logits: Any, targets: Any, weight: Any = None, axis: int = -1, reduction: str = "mean", label_smoothing: float = 0.0,
                  ignored_class: int | None = None) -> Any:  # fmt: skip
    """The loss of classes: targets are their numbers, logits without the axis; reduction is "mean", "sum" or "rows"."""
    return direct.cross_entropy(logits, targets, weight, axis, reduction, label_smoothing, ignored_class)[0]


# --- rotary embeddings and dropout: backward is the op itself with other numbers
_rope_calls = [Call(op, "rope", "x out cos sin", "is_interleaved") for op in (table.rope, table.rope_backward)]
_dropout_call = Call(table.dropout, "dropout", "x out", "rate seed offset")


def _like(x: Any, *_: Any) -> Any:
    return empty(x.shape, x.dtype, x.device)


def _rope(x: Any, cos: Any, sin: Any, is_interleaved: bool = False, is_backward: bool = False) -> Any:
    out = new(x.shape, x.dtype, x.device)
    _rope_calls[is_backward]((x, out, cos, sin), is_interleaved)
    return out


def _rope_setup(ctx: Any, inputs: Any, output: Any) -> None:
    _, cos, sin, ctx.is_interleaved, ctx.is_backward = inputs
    ctx.save_for_backward(cos, sin)


register("rope(Tensor x, Tensor cos, Tensor sin, bool is_interleaved=False, bool is_backward=False) -> Tensor", planned(_rope), _like,
         lambda ctx, grad: (direct.rope(grad, *ctx.saved_tensors, ctx.is_interleaved, not ctx.is_backward), None, None, None, None),
         _rope_setup)  # fmt: skip


def rope(x: Any, cos: Any, sin: Any, is_interleaved: bool = False) -> Any:
    """Rotary position embedding: pairs of numbers turned by angles whose cosines and sines are given."""
    for name, t in (("cos", cos), ("sin", sin)):
        if getattr(t, "requires_grad", False):
            raise ArgumentError("rope: '%s' wants a gradient, which the tables do not have: pass it detached" % name)
    return direct.rope(x, cos, sin, is_interleaved, False)


def _dropout(x: Any, rate: float, seed: int, offset: int) -> Any:
    out = new(x.shape, x.dtype, x.device)
    _dropout_call((x, out), rate, seed, offset)
    return out


def _numbers_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.numbers = inputs[1:]


register("dropout(Tensor x, float rate, int seed, int offset) -> Tensor", _dropout, _like,
         lambda ctx, grad: (direct.dropout(grad, *ctx.numbers), None, None, None), _numbers_setup)  # fmt: skip


def dropout(x: Any, rate: float = 0.5, *, seed: int, offset: int = 0) -> Any:
    """0 with the probability `rate`, else x / (1 - rate). The same seed and offset give the same zeros, on every device: a training step takes its own."""
    if not isinstance(rate, (int, float)) or not 0 <= rate < 1:
        raise ArgumentError("dropout: rate=%r: from 0 to below 1" % (rate,))
    return direct.dropout(x, rate, seed, offset)


# --- running sums
_scan_call = Call(table.scan, "cumsum", "x out", "axis is_exclusive is_reverse", workspace="kiln_scan_workspace", unit=torch.uint8,
                  fixed={"op": _abi.KILN_SCAN_SUM})  # fmt: skip


def _cumsum(x: Any, axis: int, is_reverse: bool = False, is_exclusive: bool = False) -> Any:
    out = new(x.shape, x.dtype, x.device)
    _scan_call((x, out), axis_of(axis, x, "cumsum"), is_exclusive, is_reverse)
    return out


def _cumsum_fake(x: Any, axis: int, is_reverse: bool = False, is_exclusive: bool = False) -> Any:
    axis_of(axis, x, "cumsum")
    return _like(x)


def _cumsum_gradient(ctx: Any, grad: Any) -> Any:
    axis, is_reverse, is_exclusive = ctx.numbers
    return direct.cumsum(grad, axis, not is_reverse, is_exclusive), None, None, None


register("cumsum(Tensor x, int axis, bool is_reverse=False, bool is_exclusive=False) -> Tensor", _cumsum, _cumsum_fake, _cumsum_gradient, _numbers_setup)


def cumsum(x: Any, axis: int = -1, is_reverse: bool = False, is_exclusive: bool = False) -> Any:
    """Running sums along an axis; is_exclusive: an element does not count for its own."""
    return direct.cumsum(x, axis, is_reverse, is_exclusive)


# --- triangles
_triangles = {
    is_upper: Call(table.generate, "triu" if is_upper else "tril", "in out", "diagonal", fixed={"op": _abi.KILN_GENERATE_TRIU if is_upper else _abi.KILN_GENERATE_TRIL})
    for is_upper in (False, True)
}


def _triangle(x: Any, diagonal: int, is_upper: bool) -> Any:
    out = new(x.shape, x.dtype, x.device)
    _triangles[is_upper]((x, out), diagonal)
    return out


register("triangle(Tensor x, int diagonal, bool is_upper) -> Tensor", _triangle, _like,
         lambda ctx, grad: (direct.triangle(grad, *ctx.numbers), None, None), _numbers_setup)  # fmt: skip


def tril(x: Any, diagonal: int = 0) -> Any:
    """The lower triangle of the last two dimensions, 0 elsewhere."""
    return direct.triangle(x, diagonal, False)


def triu(x: Any, diagonal: int = 0) -> Any:
    """The upper triangle of the last two dimensions, 0 elsewhere."""
    return direct.triangle(x, diagonal, True)


# --- the norm of a sum: (norm of x + residual, x + residual)
_add_norm_call = Call(table.norm, "add_norm", "x out weight bias residual sum", "axis is_rms eps")
_add_norm_backward_call = Call(table.norm_backward, "add_norm's gradient", "x weight dout dx dsum dweight dbias workspace", "axis is_rms eps")


def _add_norm(x: Any, residual: Any, weight: Any = None, bias: Any = None, axis: int = -1, is_rms: bool = False, eps: float = 1e-5) -> Any:
    axis = axis_of(axis, x, "add_norm")
    out, total = new(x.shape, x.dtype, x.device), new(x.shape, x.dtype, x.device)
    _add_norm_call((x, out, weight, bias, residual, total), axis, is_rms, eps)
    return out, total


def _add_norm_fake(x: Any, residual: Any, weight: Any = None, bias: Any = None, axis: int = -1, is_rms: bool = False, eps: float = 1e-5) -> Any:
    axis_of(axis, x, "add_norm")
    if x.shape != residual.shape:
        raise ArgumentError("add_norm: 'x' is %s, 'residual' is %s: their shapes are the same" % (list(x.shape), list(residual.shape)))
    return _like(x), _like(x)


def _add_norm_results(make: Any, x: Any, axis: int, dweight: bool, dbias: bool) -> Any:
    size = x.shape[axis]
    return make(x.shape, x.dtype, x.device), *(make((size,) if wanted else (0,), x.dtype, x.device) for wanted in (dweight, dbias))


def _add_norm_backward(x: Any, weight: Any, dout: Any, dsum: Any, axis: int, is_rms: bool, eps: float, dweight: bool, dbias: bool) -> Any:
    axis = axis_of(axis, x, "add_norm's gradient")
    dx, dw, db = _add_norm_results(new, x, axis, dweight, dbias)
    work = new((2 * (x.numel() // max(x.shape[axis], 1)),), _F32, x.device) if dweight or dbias else None
    _add_norm_backward_call((x, weight, dout, dx, dsum, dw if dweight else None, db if dbias else None, work), axis, is_rms, eps)
    return dx, dw, db


def _add_norm_setup(ctx: Any, inputs: Any, output: Any) -> None:
    _, _, weight, _, ctx.axis, ctx.is_rms, ctx.eps = inputs
    ctx.save_for_backward(output[1], weight)


def _add_norm_gradient(ctx: Any, dout: Any, dsum: Any) -> Any:
    total, weight = ctx.saved_tensors
    want_weight, want_bias = wanted(ctx, 4)[2:]
    dx, dw, db = direct.add_norm_backward(total, weight, dout, dsum, ctx.axis, ctx.is_rms, ctx.eps, want_weight, want_bias)
    return dx, dx, dw if want_weight else None, db if want_bias else None, None, None, None


register("add_norm_backward(Tensor x, Tensor? weight, Tensor dout, Tensor dsum, int axis, bool is_rms, float eps, bool dweight, bool dbias) -> "
         "(Tensor, Tensor, Tensor)", planned(_add_norm_backward),
         lambda x, weight, dout, dsum, axis, is_rms, eps, dweight, dbias: _add_norm_results(empty, x, axis, dweight, dbias))  # fmt: skip
register("add_norm(Tensor x, Tensor residual, Tensor? weight=None, Tensor? bias=None, int axis=-1, bool is_rms=False, float eps=1e-5) -> (Tensor, Tensor)",
         planned(_add_norm), _add_norm_fake, _add_norm_gradient, _add_norm_setup, widens=4)  # fmt: skip


def add_norm(x: Any, residual: Any, weight: Any = None, bias: Any = None, axis: int = -1, is_rms: bool = False, eps: float = 1e-5) -> Any:
    """(the norm of x + residual, x + residual) in one kernel: what stands between two layers of a transformer."""
    return direct.add_norm(x, residual, weight, bias, axis, is_rms, eps)


# --- norms of channels
_group_call = Call(table.group_norm, "group_norm", "x out weight bias mean scale workspace", "groups eps")
_group_backward_call = Call(table.group_norm_backward, "group_norm's gradient", "x weight mean scale dout dx dweight dbias workspace", "groups")
_batch_call = Call(table.batch_norm, "batch_norm", "x out weight bias running_mean running_variance mean scale workspace", "eps momentum is_eval")
_batch_backward_call = Call(table.batch_norm_backward, "batch_norm's gradient", "x weight mean scale dout dx dweight dbias workspace", "is_eval")


def _channel_work(x: Any, numbers: int) -> Any:
    last = x.shape[-1] if x.dim() > 2 else 1
    return new((2 * (x.numel() // max(last, 1) + numbers),), _F32, x.device)


def _check_channels(x: Any, call: str, weight: Any, bias: Any) -> None:
    if x.dim() < 2:
        raise ArgumentError("%s: 'x' has %d dimensions: [items, channels, ...]" % (call, x.dim()))
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and (t.dim() != 1 or t.shape[0] != x.shape[1]):
            raise ArgumentError("%s: '%s' is %s: a number for each of the %d channels" % (call, name, list(t.shape), x.shape[1]))


def _group_results(make: Any, x: Any, groups: int, weight: Any, bias: Any) -> Any:
    _check_channels(x, "group_norm", weight, bias)
    if groups < 1 or x.shape[1] % groups:
        raise ArgumentError("group_norm: %d channels of 'x' are not %d groups" % (x.shape[1], groups))
    return make(x.shape, x.dtype, x.device), *(make((x.shape[0] * groups,), _F32, x.device) for _ in range(2))


def _group_norm(x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    out, mean, scale = made = _group_results(new, x, groups, weight, bias)
    _group_call((x, out, weight, bias, mean, scale, _channel_work(x, x.shape[0] * groups)), groups, eps)
    return made


def _channel_gradients(make: Any, x: Any) -> Any:
    return make(x.shape, x.dtype, x.device), *(make((x.shape[1],), x.dtype, x.device) for _ in range(2))


def _group_norm_backward(x: Any, weight: Any, mean: Any, scale: Any, dout: Any, groups: int) -> Any:
    made = _channel_gradients(new, x)
    _group_backward_call((x, weight, mean, scale, dout, *made, _channel_work(x, x.shape[0] * groups)), groups)
    return made


def _group_norm_setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, ctx.groups, weight, _, _ = inputs
    ctx.save_for_backward(x, weight, *output[1:])
    ctx.mark_non_differentiable(*output[1:])


def _group_norm_gradient(ctx: Any, grad: Any, *_: Any) -> Any:
    want_weight, want_bias = wanted(ctx, 4)[2:]
    dx, dweight, dbias = direct.group_norm_backward(*ctx.saved_tensors, grad, ctx.groups)
    return dx, None, dweight if want_weight else None, dbias if want_bias else None, None


register("group_norm_backward(Tensor x, Tensor? weight, Tensor mean, Tensor scale, Tensor dout, int groups) -> (Tensor, Tensor, Tensor)",
         _group_norm_backward, lambda x, *rest: _channel_gradients(empty, x))  # fmt: skip
register("group_norm(Tensor x, int groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-5) -> (Tensor, Tensor, Tensor)", _group_norm,
         lambda x, groups, weight=None, bias=None, eps=1e-5: _group_results(empty, x, groups, weight, bias), _group_norm_gradient, _group_norm_setup,
         widens=4)  # fmt: skip


def group_norm(x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """The norm of groups of neighbouring channels of [items, channels, ...]."""
    return direct.group_norm(x, groups, weight, bias, eps)[0]


def _batch_results(make: Any, x: Any, weight: Any, bias: Any, running_mean: Any, running_variance: Any, is_eval: bool) -> Any:
    """(out, mean, scale, the running statistics after the call)"""
    _check_channels(x, "batch_norm", weight, bias)
    if (running_mean is None) != (running_variance is None) or is_eval and running_mean is None:
        raise ArgumentError("batch_norm: 'running_mean' and 'running_variance' are given together, and always where is_training is False")
    for name, t in (("running_mean", running_mean), ("running_variance", running_variance)):
        if t is not None and (t.dim() != 1 or t.shape[0] != x.shape[1]):
            raise ArgumentError("batch_norm: '%s' is %s: a number for each of the %d channels" % (name, list(t.shape), x.shape[1]))
    size, none = (x.shape[1],), running_mean is None or is_eval
    return make(x.shape, x.dtype, x.device), *(make(size, _F32, x.device) for _ in range(2)), *(make((0,) if none else size, _F32, x.device) for _ in range(2))


def _batch_norm(x: Any, weight: Any, bias: Any, running_mean: Any, running_variance: Any, is_eval: bool, momentum: float, eps: float) -> Any:
    out, mean, scale, *running = made = _batch_results(new, x, weight, bias, running_mean, running_variance, is_eval)
    given = running_mean, running_variance
    if running_mean is not None and not is_eval:
        given = running[0].copy_(running_mean), running[1].copy_(running_variance)
    _batch_call((x, out, weight, bias, *given, mean, scale, _channel_work(x, x.shape[1])), eps, momentum, is_eval)
    return made


def _batch_norm_backward(x: Any, weight: Any, mean: Any, scale: Any, dout: Any, is_eval: bool) -> Any:
    made = _channel_gradients(new, x)
    _batch_backward_call((x, weight, mean, scale, dout, *made, _channel_work(x, x.shape[1])), is_eval)
    return made


def _batch_norm_setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, weight, _, _, _, ctx.is_eval, _, _ = inputs
    ctx.save_for_backward(x, weight, *output[1:3])
    ctx.mark_non_differentiable(*output[1:])


def _batch_norm_gradient(ctx: Any, grad: Any, *_: Any) -> Any:
    want_weight, want_bias = wanted(ctx, 3)[1:]
    dx, dweight, dbias = direct.batch_norm_backward(*ctx.saved_tensors, grad, ctx.is_eval)
    return dx, dweight if want_weight else None, dbias if want_bias else None, *(None,) * 5


register("batch_norm_backward(Tensor x, Tensor? weight, Tensor mean, Tensor scale, Tensor dout, bool is_eval) -> (Tensor, Tensor, Tensor)",
         _batch_norm_backward, lambda x, *rest: _channel_gradients(empty, x))  # fmt: skip
register("batch_norm(Tensor x, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_variance, bool is_eval, float momentum, float eps) -> "
         "(Tensor, Tensor, Tensor, Tensor, Tensor)", _batch_norm,
         lambda x, weight, bias, mean, variance, is_eval, *rest: _batch_results(empty, x, weight, bias, mean, variance, is_eval), _batch_norm_gradient,
         _batch_norm_setup, widens=3)  # fmt: skip


def batch_norm(x: Any, weight: Any = None, bias: Any = None, running_mean: Any = None, running_variance: Any = None, is_training: bool = True,
               momentum: float = 0.1, eps: float = 1e-5) -> Any:  # fmt: skip
    """The norm of each channel of [items, channels, ...] over all items. In training the running statistics, f32, are changed in place; else they are used."""
    out, _, _, mean, variance = direct.batch_norm(x, weight, bias, running_mean, running_variance, not is_training, momentum, eps)
    if is_training and running_mean is not None:
        running_mean.copy_(mean)
        running_variance.copy_(variance)
    return out
