"""Shapes and types of results that differ from those of an operand: one function for each, and the table of who has which.

A rule is called with the operands (objects with shape and kind) and numbers of the call by name, and returns (shape, kind). Results that the table
does not have are like an operand (the header says "as q", or names them together), or are given by the caller. Knows nothing of the library:
generate.py reads the table, too.
"""

from __future__ import annotations

from typing import Any, Callable

I32, U32, I64, F32 = 6, 7, 8, 14  # KILN_I32 …: checked by the tests
I8, U8, F8E4 = 2, 3, 12

Rule = Callable[[Any], "tuple[tuple[int, ...], int]"]


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape that all are repeated to, as in NumPy; None: there is none."""
    rank = max(map(len, shapes), default=0)
    out = [1] * rank
    for shape in shapes:
        for at, size in enumerate(shape, rank - len(shape)):
            if size != 1 and out[at] not in (1, size):
                return None
            out[at] = size if size != 1 else out[at]
    return tuple(out)


def _of_rank(name: str, array: Any, rank: int, what: str, has_more: bool = False) -> None:
    """Refuses an array that has not so many dimensions; what: their names."""
    found = len(array.shape)
    if found != rank and not (has_more and found > rank):
        raise ValueError("%s has %d dimensions: %s" % (name, found, what))


def matmul(v: Any) -> tuple[tuple[int, ...], int]:
    if len(v.a.shape) < 2 or len(v.b.shape) < 2:
        raise ValueError("matmul: 'a' and 'b' have at least two dimensions; a vector is a matrix of one row: x[None, :]")
    batches = broadcast(v.a.shape[:-2], v.b.shape[:-2])
    if batches is None or v.a.shape[-1] != v.b.shape[-2]:
        raise ValueError("matmul: %s times %s is no matrix product" % (list(v.a.shape), list(v.b.shape)))
    kind = I32 if v.a.kind == I8 else F32 if v.a.kind == F8E4 else v.a.kind
    return (*batches, v.a.shape[-2], v.b.shape[-1]), kind


def gguf_matmul(v: Any) -> tuple[tuple[int, ...], int]:
    if len(v.x.shape) != 2 or len(v.weight.shape) != 2:
        raise ValueError("gguf_matmul: 'x' and 'weight' have two dimensions; a vector is a matrix of one row: x[None, :]")
    return (v.x.shape[0], v.weight.shape[0]), v.x.kind


def attention_out(v: Any) -> tuple[tuple[int, ...], int]:
    return v.q.shape, v.q.kind


def attention_lse(v: Any) -> tuple[tuple[int, ...], int]:
    return v.q.shape[:-1], F32


def norm_parameter(v: Any) -> tuple[tuple[int, ...], int]:
    return (v.x.shape[v.axis],), v.x.kind


def norm_workspace(v: Any) -> tuple[tuple[int, ...], int]:
    rows = 1
    for at, size in enumerate(v.x.shape):
        rows *= size if at != v.axis else 1
    return (2 * rows,), F32


def like_x(v: Any) -> tuple[tuple[int, ...], int]:
    return v.x.shape, v.x.kind


def like_out(v: Any) -> tuple[tuple[int, ...], int]:
    return v.out.shape, v.out.kind


def concat(v: Any) -> tuple[tuple[int, ...], int]:
    first = v.parts[0].shape
    if any(len(part.shape) != len(first) for part in v.parts):
        raise ValueError("concat: the parts have different numbers of dimensions")
    return (*first[: v.axis], sum(part.shape[v.axis] for part in v.parts), *first[v.axis + 1 :]), v.parts[0].kind


WRITTEN = {("kiln_split", "parts")}  # lists of results, given by the caller
AXIS_OF = {"scatter": "out", "gather_backward": "dx"}  # whose dimension `axis` is, where that is not the first operand's


def loss(v: Any) -> tuple[tuple[int, ...], int]:
    return () if v.reduction else v.targets.shape, v.logits.kind  # 0: a loss for each row


def like_targets(v: Any) -> tuple[tuple[int, ...], int]:
    return v.targets.shape, F32


def one_number(v: Any) -> tuple[tuple[int, ...], int]:
    return (), F32


def like_values(v: Any) -> tuple[tuple[int, ...], int]:
    if getattr(v, "values", None) is None:
        raise ValueError("sort: 'values_out' is wanted, and 'values' is missing")
    return v.values.shape, v.values.kind


def indices_like_x(v: Any) -> tuple[tuple[int, ...], int]:
    return v.x.shape, I64


def topk(v: Any) -> tuple[tuple[int, ...], int]:
    if not 0 <= v.k <= v.x.shape[v.axis]:
        raise ValueError("topk: k=%d of the %d elements along axis %d" % (v.k, v.x.shape[v.axis], v.axis))
    return (*v.x.shape[: v.axis], v.k, *v.x.shape[v.axis + 1 :]), v.x.kind


def topk_indices(v: Any) -> tuple[tuple[int, ...], int]:
    return topk(v)[0], I64


def histogram(v: Any) -> tuple[tuple[int, ...], int]:
    return (v.bins,), I64


def padded(v: Any) -> tuple[tuple[int, ...], int]:
    rank = len(v.x.shape)
    before, after = ((*given, *(0,) * (rank - len(given))) for given in (v.before, v.after))
    return tuple(a + n + b for a, n, b in zip(before, v.x.shape, after)), v.x.kind


def upsampled(v: Any) -> tuple[tuple[int, ...], int]:
    return tuple(v.sizes) or v.x.shape, v.x.kind


def embedded(v: Any) -> tuple[tuple[int, ...], int]:
    _of_rank("embedding: 'weight'", v.weight, 2, "[rows, columns]", True)
    return (*v.index.shape, v.weight.shape[-1]), v.weight.kind


def gathered(v: Any) -> tuple[tuple[int, ...], int]:
    x, index = v.x.shape, v.index.shape
    if v.form == 0:  # elements
        return index, v.x.kind
    if v.form == 1:  # take
        return (*x[: v.axis], *index, *x[v.axis + 1 :]), v.x.kind
    _of_rank("gather: 'index'", v.index, 1, "[…, axes]", True)
    return (*index[:-1], *x[index[-1] :]), v.x.kind


def bitwise(v: Any) -> tuple[tuple[int, ...], int]:
    other = getattr(v, "b", None)
    shape = broadcast(v.a.shape, other.shape) if other is not None else v.a.shape
    if shape is None:
        raise ValueError("bitwise: shapes %s and %s do not go together" % (list(v.a.shape), list(v.b.shape)))
    return shape, v.a.kind


def _linear(v: Any, which: str) -> tuple[tuple[int, ...], int]:
    _of_rank("linear: 'x'", v.x, 2, "[rows, inputs]; a vector is a matrix of one row: x[None, :]")
    _of_rank("linear: 'weight%s'" % which, getattr(v, "weight" + which), 2, "[outputs, inputs]")
    scale = getattr(v, "scale" + which, None)
    kind = v.x.kind if v.x.kind != I8 else F32 if scale is not None else I32
    return (v.x.shape[0], getattr(v, "weight" + which).shape[0]), kind


def linear(v: Any) -> tuple[tuple[int, ...], int]:
    return _linear(v, "")


def linear_q(v: Any) -> tuple[tuple[int, ...], int]:
    return _linear(v, "_q")


def linear_k(v: Any) -> tuple[tuple[int, ...], int]:
    return _linear(v, "_k")


def linear_v(v: Any) -> tuple[tuple[int, ...], int]:
    return _linear(v, "_v")


def weights(v: Any) -> tuple[tuple[int, ...], int]:
    _of_rank("quantise_weights: 'x'", v.x, 2, "[outputs, inputs]")
    if v.bits not in (4, 8):
        raise ValueError("quantise_weights: bits=%d: 4 or 8" % v.bits)
    n, k = v.x.shape
    return ((n, -(-k // 32) * 4), U32) if v.bits == 4 else ((n, k), I8)


def weights_scale(v: Any) -> tuple[tuple[int, ...], int]:
    (n, _), _ = weights(v)
    k = v.x.shape[1]
    return (n, -(-k // v.group) if v.group and k else 1), F32


def weights_zero(v: Any) -> tuple[tuple[int, ...], int]:
    return weights_scale(v)[0], U8 if v.bits == 4 else I8


def numbers(v: Any) -> tuple[tuple[int, ...], int]:
    _of_rank("dequantise_weights: 'weight'", v.weight, 2, "[outputs, columns]")
    n, columns = v.weight.shape
    return (n, v.k or (columns * 8 if v.weight.kind == U32 else columns)), F32


def quantised(v: Any) -> tuple[tuple[int, ...], int]:
    zero = getattr(v, "zero", None)
    return v.x.shape, zero.kind if zero is not None else I8


def dequantised(v: Any) -> tuple[tuple[int, ...], int]:
    return v.x.shape, F32


def _steps(v: Any, sizes: tuple[int, ...]) -> list[tuple[int, int, int, int]]:
    """(stride, dilation, pads, window) of each dimension of space."""
    rank = len(v.x.shape) - 2
    stride, dilation, before, after = ((*given, *(0,) * (rank - len(given))) for given in (v.stride, v.dilation, v.pad_before, v.pad_after))
    return [(stride[n], dilation[n] or 1, before[n] + after[n], sizes[n]) for n in range(rank)]


def conv(v: Any) -> tuple[tuple[int, ...], int]:
    if len(v.x.shape) != len(v.weight.shape) or len(v.x.shape) < 3:
        raise ValueError("conv: 'x' is [batch, channels, space…], 'weight' [output channels, channels, window…]: %s and %s do not go together"
                         % (list(v.x.shape), list(v.weight.shape)))  # fmt: skip
    space = []
    for size, (stride, dilation, pads, window) in zip(v.x.shape[2:], _steps(v, v.weight.shape[2:])):
        reach = dilation * (window - 1) + 1
        space.append((size - 1) * (stride or 1) - pads + reach if v.is_transposed else (size + pads - reach) // (stride or 1) + 1)
    channels = v.weight.shape[1] * (v.groups or 1) if v.is_transposed else v.weight.shape[0]
    return (v.x.shape[0], channels, *(max(n, 0) for n in space)), v.x.kind


def conv_bias(v: Any) -> tuple[tuple[int, ...], int]:
    _of_rank("conv_backward: 'dout'", v.dout, 3, "[batch, channels, space…]", True)
    return (v.dout.shape[1],), v.x.kind


def pool(v: Any) -> tuple[tuple[int, ...], int]:
    if v.is_adaptive:
        raise ValueError("pool: with is_adaptive the sizes of 'out' say how many windows there are: it must be given")
    rank = len(v.x.shape) - 2
    sizes = (*v.size, *(0,) * (rank - len(v.size)))
    windows = tuple(size or n for size, n in zip(sizes, v.x.shape[2:]))
    space = [(n + pads - dilation * (window - 1) - 1) // (stride or window or 1) + 1 for n, (stride, dilation, pads, window) in zip(v.x.shape[2:], _steps(v, windows))]
    return (*v.x.shape[:2], *(max(n, 0) for n in space)), v.x.kind


def pool_indices(v: Any) -> tuple[tuple[int, ...], int]:
    return pool(v)[0], I64


def group_statistics(v: Any) -> tuple[tuple[int, ...], int]:
    _of_rank("group_norm: 'x'", v.x, 2, "[items, channels, …]", True)
    if v.groups < 1 or v.x.shape[1] % v.groups:
        raise ValueError("group_norm: groups=%d: %d channels of 'x' are not so many equal groups" % (v.groups, v.x.shape[1]))
    return (v.x.shape[0] * v.groups,), F32


def channel_statistics(v: Any) -> tuple[tuple[int, ...], int]:
    _of_rank("batch_norm: 'x'", v.x, 2, "[items, channels, …]", True)
    return (v.x.shape[1],), F32


def channels(v: Any) -> tuple[tuple[int, ...], int]:
    _of_rank("'x'", v.x, 2, "[items, channels, …]", True)
    return (v.x.shape[1],), v.x.kind


def _channel_work(v: Any, numbers: int) -> tuple[tuple[int, ...], int]:
    count = 1
    for size in v.x.shape:
        count *= size
    last = v.x.shape[-1] if len(v.x.shape) > 2 else 1
    return (2 * (count // max(last, 1) + numbers),), F32


def group_work(v: Any) -> tuple[tuple[int, ...], int]:
    return _channel_work(v, group_statistics(v)[0][0])


def batch_work(v: Any) -> tuple[tuple[int, ...], int]:
    return _channel_work(v, channel_statistics(v)[0][0])


# Operands whose comments do not say that they may be left out.
OPTIONAL = {
    ("kiln_norm_forward", "residual"), ("kiln_norm_forward", "sum"), ("kiln_norm_backward", "weight"), ("kiln_cross_entropy_backward", "weight"),
    ("kiln_cross_entropy_backward", "total_weight"), ("kiln_sort_forward", "index"), ("kiln_sort_forward", "values"),
    ("kiln_sort_forward", "values_out"), ("kiln_topk_forward", "index"), ("kiln_generate", "in"), ("kiln_group_norm_forward", "weight"),
    ("kiln_group_norm_forward", "bias"), ("kiln_group_norm_backward", "weight"), ("kiln_batch_norm_forward", "weight"),
    ("kiln_pool_forward", "indices"), ("kiln_pool_backward", "indices"), ("kiln_bitwise", "b"), ("kiln_quantise", "zero"), ("kiln_dequantise", "zero"), ("kiln_batch_norm_forward", "bias"), ("kiln_batch_norm_backward", "weight"),
    ("kiln_attention_backward", "q_offsets"), ("kiln_attention_backward", "k_offsets"), ("kiln_attention_backward", "bias"),
    ("kiln_attention_backward", "slopes"),
}  # fmt: skip
REQUIRED = {(call, name) for call in ("kiln_rope_forward", "kiln_rope_backward") for name in ("cos", "sin")}  # though they stand behind the result
# Operands with the name of a result; results with the name of an operand, given by the caller.
INPUTS = {("kiln_cross_entropy_backward", "dloss"), ("kiln_norm_backward", "dsum")}
GIVEN = {("kiln_scatter", "out"), ("kiln_rope_tables", "cos"), ("kiln_rope_tables", "sin")}
# Numbers that no field has, but that the shape of a result needs: (function): name, default.
EXTRA = {"kiln_topk_forward": ("k", "1"), "kiln_histogram": ("bins", "10"), "kiln_pad_forward": ("after", "()"), "kiln_upsample_forward": ("sizes", "()"),
         "kiln_quantise_weights": ("bits", "8"), "kiln_dequantise_weights": ("k", "0")}  # fmt: skip
WORK_FOR = {"norm_backward": ("dweight", "dbias")}  # a workspace is only needed where one of these results is wanted
WITH = {("norm", "sum"): "residual", ("sort", "values_out"): "values"}  # results that are made where this operand is given

RULES: dict[str, dict[str, Rule]] = {
    "kiln_matmul": {"out": matmul},
    "kiln_gguf_matmul": {"out": gguf_matmul},
    "kiln_attention_forward": {"out": attention_out, "lse": attention_lse},
    "kiln_concat": {"whole": concat},
    "kiln_pad_forward": {"out": padded},
    "kiln_gather_forward": {"out": gathered},
    "kiln_embedding_forward": {"out": embedded},
    "kiln_upsample_forward": {"out": upsampled},
    "kiln_sort_forward": {"out": like_x, "index": indices_like_x, "values_out": like_values},
    "kiln_topk_forward": {"out": topk, "index": topk_indices},
    "kiln_histogram": {"out": histogram},
    "kiln_bitwise": {"out": bitwise},
    "kiln_conv_forward": {"out": conv},
    "kiln_conv_backward": {"dbias": conv_bias},
    "kiln_pool_forward": {"out": pool, "indices": pool_indices},
    "kiln_linear": {"out": linear},
    "kiln_linear_qkv": {"out_q": linear_q, "out_k": linear_k, "out_v": linear_v},
    "kiln_quantise_weights": {"weight": weights, "scale": weights_scale, "zero": weights_zero},
    "kiln_dequantise_weights": {"out": numbers},
    "kiln_quantise": {"out": quantised},
    "kiln_dequantise": {"out": dequantised},
    "kiln_group_norm_forward": {"out": like_x, "mean": group_statistics, "scale": group_statistics, "workspace": group_work},
    "kiln_group_norm_backward": {"dx": like_x, "dweight": channels, "dbias": channels, "workspace": group_work},
    "kiln_batch_norm_forward": {"out": like_x, "mean": channel_statistics, "scale": channel_statistics, "workspace": batch_work},
    "kiln_batch_norm_backward": {"dx": like_x, "dweight": channels, "dbias": channels, "workspace": batch_work},
    "kiln_cross_entropy_forward": {"loss": loss, "lse": like_targets, "total_weight": one_number},
    "kiln_softmax_backward": {"dx": like_out},
    "kiln_norm_forward": {"sum": like_x},
    "kiln_norm_backward": {"dweight": norm_parameter, "dbias": norm_parameter, "workspace": norm_workspace},
}
