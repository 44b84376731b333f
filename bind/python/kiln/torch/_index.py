"""Ops that index, order and join for PyTorch: embedding, gather, scatter, sort, top-k, concat and split."""

from __future__ import annotations

from typing import Any, Sequence

import torch

from .. import _abi, ops
from .. import _op_table as table
from .._errors import ArgumentError, TypeMismatch
from ._call import Call, axis_of, device_of, empty, new, same_type, type_name
from ._direct import direct, is_tensor
from ._register import no_forward_mode, register

_U32 = torch.uint32
_lists: Any = ops


def _check_index(call: str, index: Any) -> None:
    if index.dtype not in (torch.int32, torch.int64):
        raise TypeMismatch("%s: 'index' is %s: int32 or int64" % (call, type_name(index)))


# --- embedding
_embedding_call = Call(table.embedding, "embedding", "weight index out")
_embedding_backward_call = Call(table.embedding_backward, "embedding's gradient", "index dout dweight", "has_padding padding",
                                workspace="kiln_embedding_backward_workspace", unit=_U32)  # fmt: skip


def _embedding_shape(weight: Any, index: Any) -> Any:
    _check_index("embedding", index)
    if weight.dim() != 2:
        raise ArgumentError("embedding: 'weight' has %d dimensions: [rows, columns]" % weight.dim())
    return (*index.shape, weight.shape[1])


def _embedding(weight: Any, index: Any, padding: int | None = None) -> Any:
    out = new(_embedding_shape(weight, index), weight.dtype, weight.device)
    _embedding_call((weight, index, out))
    return out


def _embedding_backward(index: Any, dout: Any, rows: int, padding: int | None) -> Any:
    dweight = new((rows, dout.shape[-1]), dout.dtype, dout.device)
    _embedding_backward_call((index, dout, dweight), padding is not None, padding or 0)
    return dweight


def _embedding_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.rows, ctx.padding = inputs[0].shape[0], inputs[2]
    ctx.save_for_backward(inputs[1])


register("embedding_backward(Tensor index, Tensor dout, SymInt rows, int? padding) -> Tensor", _embedding_backward,
         lambda index, dout, rows, padding: empty((rows, dout.shape[-1]), dout.dtype, dout.device))  # fmt: skip
register("embedding(Tensor weight, Tensor index, int? padding=None) -> Tensor", _embedding,
         lambda weight, index, padding=None: empty(_embedding_shape(weight, index), weight.dtype, weight.device),
         lambda ctx, grad: (direct.embedding_backward(ctx.saved_tensors[0], grad, ctx.rows, ctx.padding), None, None), _embedding_setup)  # fmt: skip


def embedding(weight: Any, index: Any, padding: int | None = None) -> Any:
    """Rows of weight by their numbers; the row `padding` gets no gradient."""
    return direct.embedding(weight, index, padding)


# --- gather
_FORMS = _abi.ENUMS["kiln_index_form"]
_gather_call = Call(table.gather, "gather", "x index out", "form axis")
_gather_backward_call = Call(table.gather_backward, "gather's gradient", "index dout dx", "form axis", workspace="kiln_gather_backward_workspace", unit=_U32)


def _gather_shape(x: Any, index: Any, form: str, axis: int) -> tuple[Any, int]:
    _check_index("gather", index)
    if form not in _FORMS:
        raise ArgumentError("gather: form='%s': one of %s" % (form, ", ".join(_FORMS)))
    if form == "nd":
        if index.dim() < 1 or index.shape[-1] > x.dim():
            raise ArgumentError("gather: the last size of 'index' %s is how many of the first axes of 'x' %s are indexed" % (list(index.shape), list(x.shape)))
        return (*index.shape[:-1], *x.shape[index.shape[-1] :]), 0
    axis = axis_of(axis, x, "gather")
    if form == "elements":
        if index.dim() != x.dim():
            raise ArgumentError("gather: 'index' has %d dimensions, 'x' %d: the same number" % (index.dim(), x.dim()))
        return index.shape, axis
    return (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]), axis


def _gather(x: Any, index: Any, form: str, axis: int) -> Any:
    shape, axis = _gather_shape(x, index, form, axis)
    out = new(shape, x.dtype, x.device)
    _gather_call((x, index, out), _FORMS[form], axis)
    return out


def _gather_backward(index: Any, dout: Any, shape: Any, form: str, axis: int) -> Any:
    dx = new(tuple(shape), dout.dtype, dout.device)
    _gather_backward_call((index, dout, dx), _FORMS[form], axis % max(len(shape), 1) if form != "nd" else 0)
    return dx


def _gather_setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, index, ctx.form, ctx.axis = inputs
    ctx.shape = x.shape
    ctx.save_for_backward(index)


register("gather_backward(Tensor index, Tensor dout, SymInt[] shape, str form, int axis) -> Tensor", _gather_backward,
         lambda index, dout, shape, *rest: empty(tuple(shape), dout.dtype, dout.device))  # fmt: skip
register("gather(Tensor x, Tensor index, str form, int axis) -> Tensor", _gather,
         lambda x, index, form, axis: empty(_gather_shape(x, index, form, axis)[0], x.dtype, x.device),
         lambda ctx, grad: (direct.gather_backward(ctx.saved_tensors[0], grad, ctx.shape, ctx.form, ctx.axis), None, None, None), _gather_setup)  # fmt: skip


def gather(x: Any, index: Any, axis: int = -1) -> Any:
    """Elements of x whose place along the axis is in index, of as many dimensions as x: torch.gather. A gradient has the same bits every time."""
    return direct.gather(x, index, "elements", axis)


def take(x: Any, index: Any, axis: int = 0) -> Any:
    """Slices of x by their numbers along the axis; index has any shape, which takes the place of the axis."""
    return direct.gather(x, index, "take", axis)


def gather_nd(x: Any, index: Any) -> Any:
    """The last dimension of index has a number for each of the first axes of x."""
    return direct.gather(x, index, "nd", 0)


# --- scatter
_SCATTERS = _abi.ENUMS["kiln_scatter_op"]
_scatter_call = Call(table.scatter, "scatter", "index source out", "form axis op", workspace="kiln_scatter_workspace", unit=_U32)


def _check_scatter(x: Any, index: Any, source: Any, op: str) -> None:
    _check_index("scatter", index)
    same_type("scatter", ("x", x), ("source", source))
    if op not in _SCATTERS:
        raise ArgumentError("scatter: op='%s': one of %s" % (op, ", ".join(_SCATTERS)))
    if not x.dim() == index.dim() == source.dim():
        raise ArgumentError("scatter: 'x', 'index' and 'source' have %d, %d and %d dimensions: the same number" % (x.dim(), index.dim(), source.dim()))


def _scatter(x: Any, index: Any, source: Any, axis: int, op: str = "set") -> Any:
    _check_scatter(x, index, source, op)
    out = new(x.shape, x.dtype, x.device).copy_(x)
    if index.numel():
        _scatter_call((index, source, out), _FORMS["elements"], axis_of(axis, x, "scatter"), _SCATTERS[op])
    return out


def _scatter_fake(x: Any, index: Any, source: Any, axis: int, op: str = "set") -> Any:
    _check_scatter(x, index, source, op)
    return empty(x.shape, x.dtype, x.device)


def _scatter_setup(ctx: Any, inputs: Any, output: Any) -> None:
    _, index, source, ctx.axis, ctx.op = inputs
    if ctx.op not in ("set", "add"):
        ctx.mark_non_differentiable(output)
    ctx.shape = source.shape  # an index with a size of 1 is the same for all of its elements
    ctx.save_for_backward(index)


def _scatter_gradient(ctx: Any, grad: Any) -> Any:
    (index,) = ctx.saved_tensors
    if ctx.op not in ("set", "add"):
        return (None,) * 5
    if not index.numel():  # which leaves x as it is, whatever source is
        return grad, None, grad.new_zeros(ctx.shape), None, None
    index = index.expand(ctx.shape)
    dsource = direct.gather(grad, index, "elements", ctx.axis)
    dx = grad if ctx.op == "add" else direct.scatter(grad, index, torch.zeros_like(dsource), ctx.axis, "set")
    return dx, None, dsource, None, None


register('scatter(Tensor x, Tensor index, Tensor source, int axis, str op="set") -> Tensor', _scatter, _scatter_fake, _scatter_gradient, _scatter_setup,
         widens=3)  # fmt: skip


def scatter(x: Any, index: Any, source: Any, axis: int = -1, op: str = "set") -> Any:
    """x with the elements of source where index says: "set" (the last of several stays), "add", "mul", "min", "max", in their order. "set" and "add" have a
    gradient; that of "set" is right where no index comes twice."""
    return direct.scatter(x, index, source, axis, op)


# --- order
_sort_call = Call(table.sort, "sort", "x out index", "axis is_descending", workspace="kiln_sort_workspace", unit=torch.uint8)
_topk_call = Call(table.topk, "topk", "x out index", "axis is_smallest", workspace="kiln_topk_workspace", unit=torch.uint8)
_sort_backward_call = Call(table.sort_backward, "sort's gradient", "dout index dx", "axis")


def _ordered(make: Any, x: Any, shape: Any) -> Any:
    return make(shape, x.dtype, x.device), make(shape, torch.int64, x.device)


def _topk_shape(x: Any, k: int, axis: int) -> Any:
    axis = axis_of(axis, x, "topk")
    if isinstance(k, int) and isinstance(x.shape[axis], int) and not 0 <= k <= x.shape[axis]:
        raise ArgumentError("topk: k=%d of 'x' with %d elements along axis %d" % (k, x.shape[axis], axis))
    return (*x.shape[:axis], k, *x.shape[axis + 1 :])


def _sort(x: Any, axis: int = -1, is_descending: bool = False) -> Any:
    made = _ordered(new, x, x.shape)
    _sort_call((x, *made), axis_of(axis, x, "sort"), is_descending)
    return made


def _sort_fake(x: Any, axis: int = -1, is_descending: bool = False) -> Any:
    axis_of(axis, x, "sort")
    return _ordered(empty, x, x.shape)


def _topk(x: Any, k: int, axis: int = -1, is_smallest: bool = False) -> Any:
    made = _ordered(new, x, _topk_shape(x, k, axis))
    _topk_call((x, *made), axis_of(axis, x, "topk"), is_smallest)
    return made


def _sort_backward(dout: Any, index: Any, shape: Any, axis: int) -> Any:
    dx = new(tuple(shape), dout.dtype, dout.device)
    _sort_backward_call((dout, index, dx), axis % max(len(shape), 1))
    return dx


def _sort_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.shape, ctx.axis = inputs[0].shape, inputs[-2]
    ctx.save_for_backward(output[1])
    ctx.mark_non_differentiable(output[1])


def _sort_gradient(ctx: Any, grad: Any, _: Any) -> Any:
    return direct.sort_backward(grad, ctx.saved_tensors[0], ctx.shape, ctx.axis), None, None, None


register("sort_backward(Tensor dout, Tensor index, SymInt[] shape, int axis) -> Tensor", _sort_backward,
         lambda dout, index, shape, axis: empty(tuple(shape), dout.dtype, dout.device))  # fmt: skip
register("sort(Tensor x, int axis=-1, bool is_descending=False) -> (Tensor, Tensor)", _sort, _sort_fake, _sort_gradient, _sort_setup)
register("topk(Tensor x, SymInt k, int axis=-1, bool is_smallest=False) -> (Tensor, Tensor)", _topk,
         lambda x, k, axis=-1, is_smallest=False: _ordered(empty, x, _topk_shape(x, k, axis)), _sort_gradient, _sort_setup)  # fmt: skip


def sort(x: Any, axis: int = -1, is_descending: bool = False) -> Any:
    """(the elements along an axis in order, where they were); equal ones keep their order."""
    return direct.sort(x, axis, is_descending)


def topk(x: Any, k: int, axis: int = -1, is_smallest: bool = False) -> Any:
    """(the k largest or smallest elements along an axis, where they were)."""
    return direct.topk(x, k, axis, is_smallest)


# --- concat and split: each is the other's backward pass
def _whole(make: Any, parts: Sequence[Any], axis: int) -> Any:
    if not parts:
        raise ArgumentError("concat: 'parts' is empty: at least one tensor")
    first = parts[0]
    axis = axis_of(axis, first, "concat")
    same_type("concat", ("parts[0]", first), *(("parts[%d]" % n, t) for n, t in enumerate(parts)))
    for n, t in enumerate(parts):
        if t.device != first.device:
            raise ArgumentError("concat: 'parts[%d]' is on '%s', 'parts[0]' on '%s': move one of them with .to()" % (n, t.device, first.device))
        if t.dim() != first.dim() or any(a != b for at, (a, b) in enumerate(zip(t.shape, first.shape)) if at != axis):
            raise ArgumentError("concat: 'parts[%d]' is %s, 'parts[0]' %s: their sizes are the same but along axis %d" % (n, list(t.shape), list(first.shape), axis))
    return make((*first.shape[:axis], sum(t.shape[axis] for t in parts), *first.shape[axis + 1 :]), first.dtype, first.device)


def _concat(parts: Sequence[Any], axis: int) -> Any:
    whole = _whole(new, parts, axis)
    _lists.concat([t.detach() for t in parts], axis=axis, whole=whole, device=device_of(whole))
    return whole


def _parts(make: Any, x: Any, sizes: Sequence[int], axis: int) -> list[Any]:
    axis = axis_of(axis, x, "split")
    if sum(sizes) != x.shape[axis]:
        raise ArgumentError("split: sizes=%r: they add up to the %d elements of 'x' along axis %d" % (list(sizes), x.shape[axis], axis))
    return [make((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype, x.device) for size in sizes]


def _split(x: Any, sizes: Sequence[int], axis: int) -> list[Any]:
    parts = _parts(new, x, sizes, axis)
    _lists.split(parts, x.detach(), axis=axis, device=device_of(x))
    return parts


def _concat_setup(ctx: Any, inputs: Any, output: Any) -> None:
    parts, ctx.axis = inputs
    ctx.sizes = [t.shape[ctx.axis] for t in parts]


def _split_setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, ctx.sizes, ctx.axis = inputs
    ctx.like = x.shape, x.dtype, x.device


def _split_gradient(ctx: Any, grads: Any) -> Any:
    shape, dtype, device = ctx.like
    axis = ctx.axis % len(shape)
    filled = [torch.zeros((*shape[:axis], n, *shape[axis + 1 :]), dtype=dtype, device=device) if g is None else g for g, n in zip(grads, ctx.sizes)]
    return direct.concat(filled, ctx.axis), None, None


register("concat(Tensor[] parts, int axis) -> Tensor", _concat, lambda parts, axis: _whole(empty, parts, axis),
         lambda ctx, grad: (direct.split(grad, ctx.sizes, ctx.axis), None), _concat_setup, widens=1)  # fmt: skip
register("split(Tensor x, SymInt[] sizes, int axis) -> Tensor[]", _split, lambda x, sizes, axis: _parts(empty, x, sizes, axis), _split_gradient, _split_setup)


def concat(parts: Sequence[Any], axis: int = 0) -> Any:
    """Tensors side by side along an axis."""
    if not isinstance(parts, (tuple, list)) or not parts:
        raise TypeMismatch("concat: 'parts' is %s: a list of tensors" % ("empty" if isinstance(parts, (tuple, list)) else "a " + type(parts).__name__))
    for n, t in enumerate(parts):
        if not is_tensor(t):
            raise TypeMismatch("concat: 'parts[%d]' is a %s: a tensor" % (n, type(t).__name__))
    no_forward_mode("concat", parts)
    return direct.concat(list(parts), axis)


def split(x: Any, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """Copies of the parts of x along an axis."""
    if not isinstance(sizes, (tuple, list)) or any(isinstance(n, int) and n < 0 for n in sizes):
        raise TypeMismatch("split: sizes=%r: a list with the size of each part" % (sizes,))
    no_forward_mode("split", [x])
    return direct.split(x, list(sizes), axis)
