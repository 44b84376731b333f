"""The op library: one function for each op, with shapes as in NumPy. Written by bind/python/generate.py from include/kiln: change those, then `make python`."""

from __future__ import annotations

from ._op import Op, elementwise, elementwise_backward, reduce

_matmul = Op(
    "kiln_matmul",
    "160s160s160s160s?3xiQ??2xiII24s",
    [
        ("in", "a", ""),
        ("in", "b", ""),
        ("out", "out", "matmul"),
        ("in?", "bias", ""),
        ("bool", "is_tf32", ""),
        ("enum", "epilogue", "kiln_epilogue"),
        ("stream", "stream", ""),
        ("bool", "waits_for_previous", ""),
        ("bool", "b_is_constant", ""),
        ("enum", "kernel", "kiln_matmul_kernel"),
        ("int", "tile_m", ""),
        ("int", "tile_n", ""),
        ("zeros", "sm90", ""),
    ],
)


def matmul(a, b, *, bias=None, is_tf32=False, epilogue="none", waits_for_previous=False, b_is_constant=False, kernel="best", tile_m=0, tile_n=0, out=None, stream=None, device=None):
    """matrix product: out = finish(a * b)

    Types of a and b: bf16, f16, f8e4 (out: f32, f16, bf16), f32 (out: f32; with is_tf32 f16 and bf16 too), i8 (out: i32, no
    epilogue). Sums are f32, for i8 i32. A transposed operand is a view with exchanged strides: kiln_view_transpose. Dimensions in
    front of the last two are batches; those of a and b are broadcast to those of out. Any strides are possible; operands in which
    neither the rows nor the columns are contiguous are much slower.

        a: [..., m, k]
        b: [..., k, n]
        out: [..., m, n]; must not overlap the others
        bias: [n] f32; nothing without an epilogue
        is_tf32: f32 operands are rounded to tf32 (10 bits after the point) where that is faster
        b_is_constant: no kernel on a stream writes b: the kernel may read it while others run
        kernel: instead of the best
        tile_m: of the kernel; 0: chosen, with all of sm90
        tile_n: of the kernel; 0: chosen, with all of sm90
    """
    return _matmul((a, b, out, bias, is_tf32, epilogue, None, waits_for_previous, b_is_constant, kernel, tile_m, tile_n, None,), stream, device)


_attention = Op(
    "kiln_attention_forward",
    "160s160s160s160s160s?3xfQiII4x",
    [
        ("in", "q", ""),
        ("in", "k", ""),
        ("in", "v", ""),
        ("out", "out", "attention_out"),
        ("out?", "lse", "attention_lse"),
        ("bool", "is_causal", ""),
        ("float", "scale", ""),
        ("stream", "stream", ""),
        ("enum", "kernel", "kiln_attention_kernel"),
        ("int", "tile_queries", ""),
        ("int", "tile_keys", ""),
    ],
)


def attention(q, k, v, *, is_causal=False, scale=0.0, kernel="best", tile_queries=0, tile_keys=0, out=None, lse=None, stream=None, device=None):
    """attention: out = softmax(scale * q * transposed k) * v, row by row

    Sizes come from the views: [batch, heads, queries, head_dim], with any strides. A packed tensor [batch, length, 3, heads,
    head_dim] is sliced and permuted (kiln_view_index, kiln_view_permute), one head for all is broadcast. The kernel for sm_90a needs
    contiguous rows that start at multiples of 16 bytes; without them KILN_ATTENTION_BEST is the portable one. Types: bf16, f16, f32,
    the same for all but lse; sums are f32. Each heads / kv_heads neighbouring heads of q share one of k and v.

        q: [batch, heads, queries, head_dim]
        k: [batch, kv_heads, keys, head_dim]
        v: [batch, kv_heads, keys, head_dim]
        out: as q; has no element in common with the others
        lse: [batch, heads, queries] f32: logarithm of each row's sum of e to the scaled score; without a buffer it is not computed
        is_causal: the last query sees all keys, each one before it one less
        scale: 0: one over the root of head_dim
        kernel: instead of the best
        tile_queries: instead of the best; 0: chosen
        tile_keys: instead of the best; 0: chosen
    """
    return _attention((q, k, v, out, lse, is_causal, scale, None, kernel, tile_queries, tile_keys,), stream, device)


_attention_backward = Op(
    "kiln_attention_backward",
    "160s160s160s160s160s160s160s160s160s160s?3xfQi4x",
    [
        ("in", "q", ""),
        ("in", "k", ""),
        ("in", "v", ""),
        ("in", "out", ""),
        ("in", "lse", ""),
        ("in", "dout", ""),
        ("out", "dq", "like:q"),
        ("out", "dk", "like:k"),
        ("out", "dv", "like:v"),
        ("work", "workspace", "query:kiln_attention_backward_workspace:f32"),
        ("bool", "is_causal", ""),
        ("float", "scale", ""),
        ("stream", "stream", ""),
        ("enum", "kernel", "kiln_attention_kernel"),
    ],
)


def attention_backward(q, k, v, out, lse, dout, *, is_causal=False, scale=0.0, kernel="best", dq=None, dk=None, dv=None, stream=None, device=None):
    """attention: out = softmax(scale * q * transposed k) * v, row by row

    Gradients of attention: dq, dk and dv of a number whose gradient by `out` is dout. Views as in the forward call. A head of k and v
    that several heads of q share gets the sum of their gradients; one that a view broadcasts does not: dk and dv have an element for
    each of theirs.

        q: of the forward call
        k: of the forward call
        v: of the forward call
        out: its results
        lse: its results
        dout: as out
        dq: as q; results have no element in common with others
        dk: as k and v
        dv: as k and v
        workspace: f32, dense: as many elements as kiln_attention_backward_workspace says
        is_causal: as in the forward call
        scale: the same; 0: one over the root of head_dim
        kernel: instead of the best; sm_90a: head_dim 64 and 128
    """
    return _attention_backward((q, k, v, out, lse, dout, dq, dk, dv, None, is_causal, scale, None, kernel,), stream, device)


_softmax = Op(
    "kiln_softmax_forward",
    "160s160sI?3xQ",
    [
        ("in", "x", ""),
        ("out", "out", "like:x"),
        ("axis", "axis", ""),
        ("bool", "is_log", ""),
        ("stream", "stream", ""),
    ],
)


def softmax(x, *, axis=-1, is_log=False, out=None, stream=None, device=None):
    """softmax: out = exp(x) / sum of exp(x) along an axis

    Types: f16, bf16, f32; all views have the same type and sizes. Sums are f32. A result may be the same view as an operand.

        is_log: the logarithm of it
    """
    return _softmax((x, out, axis, is_log, None,), stream, device)


_softmax_backward = Op(
    "kiln_softmax_backward",
    "160s160s160sI?3xQ",
    [
        ("in", "out", ""),
        ("in", "dout", ""),
        ("out", "dx", "like_out"),
        ("axis", "axis", ""),
        ("bool", "is_log", ""),
        ("stream", "stream", ""),
    ],
)


def softmax_backward(out, dout, *, axis=-1, is_log=False, dx=None, stream=None, device=None):
    """softmax: out = exp(x) / sum of exp(x) along an axis

        out: the result of the forward call, and its gradient
        dout: the result of the forward call, and its gradient
    """
    return _softmax_backward((out, dout, dx, axis, is_log, None,), stream, device)


_norm = Op(
    "kiln_norm_forward",
    "160s160s160s160sI?3xdQ",
    [
        ("in", "x", ""),
        ("out", "out", "like:x"),
        ("in?", "weight", ""),
        ("in?", "bias", ""),
        ("axis", "axis", ""),
        ("bool", "is_rms", ""),
        ("float", "eps", ""),
        ("stream", "stream", ""),
    ],
)


def norm(x, *, weight=None, bias=None, axis=-1, is_rms=False, eps=1e-5, out=None, stream=None, device=None):
    """norms along an axis: out = (x - mean) / sqrt(variance + eps) * weight + bias

    Types: f16, bf16, f32, the same for all views but the workspace. Sums are f32. out may be the same view as x.

        weight: one dimension, as long as the axis; without a buffer: none
        bias: one dimension, as long as the axis; without a buffer: none
        is_rms: mean is 0: x / sqrt(mean of squares + eps)
    """
    return _norm((x, out, weight, bias, axis, is_rms, eps, None,), stream, device)


_norm_backward = Op(
    "kiln_norm_backward",
    "160s160s160s160s160s160s160sI?3xdQ",
    [
        ("in", "x", ""),
        ("in?", "weight", ""),
        ("in", "dout", ""),
        ("out", "dx", "like:x"),
        ("out?", "dweight", "norm_parameter"),
        ("out?", "dbias", "norm_parameter"),
        ("work", "workspace", "norm_workspace"),
        ("axis", "axis", ""),
        ("bool", "is_rms", ""),
        ("float", "eps", ""),
        ("stream", "stream", ""),
    ],
)


def norm_backward(x, dout, *, weight=None, axis=-1, is_rms=False, eps=1e-5, dx=None, dweight=None, dbias=None, stream=None, device=None):
    """norms along an axis: out = (x - mean) / sqrt(variance + eps) * weight + bias

    Without dweight and dbias, dx may be the same view as x or dout.

        x: of the forward call
        weight: of the forward call
        dweight: without a buffer: not wanted
        dbias: without a buffer: not wanted
        workspace: for dweight and dbias: two f32 for each row, dense
    """
    return _norm_backward((x, weight, dout, dx, dweight, dbias, None, axis, is_rms, eps, None,), stream, device)


_copy_view = Op(
    "kiln_copy_view",
    "160s160sQ",
    [
        ("in", "in", ""),
        ("out", "out", "like:in"),
        ("stream", "stream", ""),
    ],
)


def copy_view(x, *, out=None, stream=None, device=None):
    """copies: out = in, views of the same sizes with any strides

    Any type; where the types differ each element is converted (as KILN_EW_COPY does). Permutations, slices with steps and reversed
    dimensions are views of in or out: kiln_view_permute, kiln_view_slice, kiln_view_flip; repeated dimensions are
    kiln_view_broadcast.

        x: without an element in common
        out: without an element in common
    """
    return _copy_view((x, out, None,), stream, device)


_concat = Op(
    "kiln_concat",
    "QII160sQ",
    [
        ("viewlist", "parts", ""),
        ("count", "count", "parts"),
        ("axis", "axis", ""),
        ("out", "whole", "concat"),
        ("stream", "stream", ""),
    ],
)


def concat(parts, *, axis=-1, whole=None, stream=None, device=None):
    """copies: out = in, views of the same sizes with any strides

    Parts side by side along an axis, in one launch for eight of them: kiln_concat copies the parts into whole, kiln_split copies
    whole into the parts. Each is the other's backward pass. The parts have the type of whole and its sizes but along the axis, where
    theirs add up to its size.
    """
    return _concat((parts, None, axis, whole, None,), stream, device)


_split = Op(
    "kiln_split",
    "QII160sQ",
    [
        ("written", "parts", ""),
        ("count", "count", "parts"),
        ("axis", "axis", ""),
        ("in", "whole", ""),
        ("stream", "stream", ""),
    ],
)


def split(parts, whole, *, axis=-1, stream=None, device=None):
    """copies: out = in, views of the same sizes with any strides

    Parts side by side along an axis, in one launch for eight of them: kiln_concat copies the parts into whole, kiln_split copies
    whole into the parts. Each is the other's backward pass. The parts have the type of whole and its sizes but along the axis, where
    theirs add up to its size.
    """
    return _split((parts, None, axis, whole, None,), stream, device)


_pad = Op(
    "kiln_pad_forward",
    "160s160sqqqqqqqqi4xdQ",
    [
        ("in", "x", ""),
        ("out", "out", "like:x"),
        ("numbers", "before", "8"),
        ("enum", "mode", "kiln_pad_mode"),
        ("float", "value", ""),
        ("stream", "stream", ""),
    ],
)


def pad(x, *, before=(), mode="constant", value=0.0, out=None, stream=None, device=None):
    """pad: out[i] = x[i - before] along each dimension, and something else where x has no such

    Any type; x and out have the same. out's sizes say how much comes after x; negative amounts crop. With KILN_PAD_CIRCULAR out is x
    tiled where its sizes are multiples of x's, and x rolled by `before` where they are x's own. KILN_PAD_REFLECT pads by less than
    the size of the dimension.

        x: without an element in common
        out: without an element in common
        value: of KILN_PAD_CONSTANT; must be a number of the type
    """
    return _pad((x, out, before, mode, value, None,), stream, device)


_pad_backward = Op(
    "kiln_pad_backward",
    "160s160sqqqqqqqqi4xQ",
    [
        ("in", "dout", ""),
        ("out", "dx", "given"),
        ("numbers", "before", "8"),
        ("enum", "mode", "kiln_pad_mode"),
        ("stream", "stream", ""),
    ],
)


def pad_backward(dout, *, before=(), mode="constant", dx, stream=None, device=None):
    """pad: out[i] = x[i - before] along each dimension, and something else where x has no such

    dx is the sum of dout over the outputs that are the same element of x, in their row-major order. Types: f16, bf16, f32, f64; sums
    of 16-bit types are f32.
    """
    return _pad_backward((dout, dx, before, mode, None,), stream, device)


_reduce = Op(
    "kiln_reduce_forward",
    "i4x160s160sI4xd160sQ",
    [
        ("enum", "op", "kiln_reduction"),
        ("in", "x", ""),
        ("out", "out", "given"),
        ("int", "axes", ""),
        ("float", "alpha", ""),
        ("work", "workspace", "query:kiln_reduce_workspace:u8"),
        ("stream", "stream", ""),
    ],
)


def sum(x, axis=None, *, keepdims=False, out=None, dtype=None, stream=None, device=None):
    """sum along some dimensions: of integers in 64 bits"""
    return reduce("sum", x, axis, keepdims, 0.0, out, dtype, stream, device)


def mean(x, axis=None, *, keepdims=False, out=None, dtype=None, stream=None, device=None):
    """mean along some dimensions"""
    return reduce("mean", x, axis, keepdims, 0.0, out, dtype, stream, device)


def prod(x, axis=None, *, keepdims=False, out=None, dtype=None, stream=None, device=None):
    """prod along some dimensions"""
    return reduce("prod", x, axis, keepdims, 0.0, out, dtype, stream, device)


def amax(x, axis=None, *, keepdims=False, out=None, dtype=None, stream=None, device=None):
    """max along some dimensions: NaN where there is one"""
    return reduce("max", x, axis, keepdims, 0.0, out, dtype, stream, device)


def amin(x, axis=None, *, keepdims=False, out=None, dtype=None, stream=None, device=None):
    """min along some dimensions"""
    return reduce("min", x, axis, keepdims, 0.0, out, dtype, stream, device)


def any(x, axis=None, *, keepdims=False, out=None, dtype=None, stream=None, device=None):
    """any along some dimensions: 1 where an element is not 0"""
    return reduce("any", x, axis, keepdims, 0.0, out, dtype, stream, device)


def all(x, axis=None, *, keepdims=False, out=None, dtype=None, stream=None, device=None):
    """all along some dimensions"""
    return reduce("all", x, axis, keepdims, 0.0, out, dtype, stream, device)


def count_nonzero(x, axis=None, *, keepdims=False, out=None, dtype=None, stream=None, device=None):
    """count along some dimensions: elements that are not 0"""
    return reduce("count", x, axis, keepdims, 0.0, out, dtype, stream, device)


def vector_norm(x, axis=None, *, keepdims=False, alpha=2.0, out=None, dtype=None, stream=None, device=None):
    """norm along some dimensions: (sum of |x|^alpha)^(1 / alpha); alpha 0 is 2"""
    return reduce("norm", x, axis, keepdims, alpha, out, dtype, stream, device)


def variance(x, axis=None, *, keepdims=False, alpha=0.0, out=None, dtype=None, stream=None, device=None):
    """variance along some dimensions: the divisor is the number of elements minus alpha"""
    return reduce("variance", x, axis, keepdims, alpha, out, dtype, stream, device)


def deviation(x, axis=None, *, keepdims=False, alpha=0.0, out=None, dtype=None, stream=None, device=None):
    """deviation along some dimensions: its root"""
    return reduce("deviation", x, axis, keepdims, alpha, out, dtype, stream, device)


def argmax(x, axis=None, *, keepdims=False, out=None, dtype=None, stream=None, device=None):
    """argmax along some dimensions: row-major index in the reduced dimensions of the first one: i32, i64"""
    return reduce("argmax", x, axis, keepdims, 0.0, out, dtype, stream, device)


def argmin(x, axis=None, *, keepdims=False, out=None, dtype=None, stream=None, device=None):
    """argmin along some dimensions"""
    return reduce("argmin", x, axis, keepdims, 0.0, out, dtype, stream, device)


def logsumexp(x, axis=None, *, keepdims=False, out=None, dtype=None, stream=None, device=None):
    """logsumexp along some dimensions"""
    return reduce("logsumexp", x, axis, keepdims, 0.0, out, dtype, stream, device)


_reduce_backward = Op(
    "kiln_reduce_backward",
    "i4x160s160s160s160sI4xd160sQ",
    [
        ("enum", "op", "kiln_reduction"),
        ("in", "x", ""),
        ("in", "out", ""),
        ("in", "dout", ""),
        ("out", "dx", "like:x"),
        ("int", "axes", ""),
        ("float", "alpha", ""),
        ("work", "workspace", "query:kiln_reduce_backward_workspace:u8"),
        ("stream", "stream", ""),
    ],
)


def reduce_backward(x, out, dout, *, op="sum", axes=0, alpha=0.0, dx=None, stream=None, device=None):
    """reductions: one number for all elements along some dimensions

    Floats. The largest and the smallest share the gradient among equal elements; a product has the right gradient where elements are
    0. dx may be the same view as x.

        x: of the forward call, its result, and the gradient of that
        out: of the forward call, its result, and the gradient of that
        dout: of the forward call, its result, and the gradient of that
        workspace: as many bytes as kiln_reduce_backward_workspace says
    """
    return _reduce_backward((op, x, out, dout, dx, axes, alpha, None, None,), stream, device)


_cross_entropy = Op(
    "kiln_cross_entropy_forward",
    "160s160s160s160s160s160s160sIid?7xqQ",
    [
        ("in", "logits", ""),
        ("in", "targets", ""),
        ("in?", "weight", ""),
        ("in", "loss", ""),
        ("in?", "lse", ""),
        ("in?", "total_weight", ""),
        ("work", "workspace", "query:kiln_cross_entropy_workspace:u8"),
        ("axis", "axis", ""),
        ("enum", "reduction", "kiln_loss_reduction"),
        ("float", "label_smoothing", ""),
        ("bool", "has_ignored_class", ""),
        ("int", "ignored_class", ""),
        ("stream", "stream", ""),
    ],
)


def cross_entropy(logits, targets, loss, *, weight=None, lse=None, total_weight=None, axis=-1, reduction="rows", label_smoothing=0.0, has_ignored_class=False, ignored_class=0, stream=None, device=None):
    """cross-entropy: what log-softmax of logits and the negative log-likelihood of classes are

    The loss of a row is -w[y] log p[y] for its class y; with label smoothing s that is multiplied by 1 - s, and s / classes times the
    sum of -w[c] log p[c] over all classes is added. The weight of a row is w[y]; without weights all are 1. A class that there is not
    gives NaN. Types: f16, bf16, f32; sums are f32.

        logits: the classes lie along `axis`
        targets: i32 or i64: logits without the axis
        weight: [classes] f32; without a buffer: none
        loss: any float: logits without the axis, or one element
        lse: f32, as targets: what backward needs; without a buffer: not wanted
        total_weight: f32, one element: what backward of a mean needs; without a buffer: not wanted. Not written with KILN_LOSS_ROWS, 0 with KILN_LOSS_SUM
        workspace: as many bytes as kiln_cross_entropy_workspace says; 0 for rows
        label_smoothing: 0 to 1
        has_ignored_class: rows of ignored_class have the loss, weight and gradient 0
    """
    return _cross_entropy((logits, targets, weight, loss, lse, total_weight, None, axis, reduction, label_smoothing, has_ignored_class, ignored_class, None,), stream, device)


_cross_entropy_backward = Op(
    "kiln_cross_entropy_backward",
    "160s160s160s160s160s160s160sIid?7xqQ",
    [
        ("in", "logits", ""),
        ("in", "targets", ""),
        ("in", "weight", ""),
        ("in", "lse", ""),
        ("in", "total_weight", ""),
        ("out", "dloss", "given"),
        ("out", "dlogits", "like:logits"),
        ("axis", "axis", ""),
        ("enum", "reduction", "kiln_loss_reduction"),
        ("float", "label_smoothing", ""),
        ("bool", "has_ignored_class", ""),
        ("int", "ignored_class", ""),
        ("stream", "stream", ""),
    ],
)


def cross_entropy_backward(logits, targets, weight, lse, total_weight, *, axis=-1, reduction="rows", label_smoothing=0.0, has_ignored_class=False, ignored_class=0, dloss, dlogits=None, stream=None, device=None):
    """cross-entropy: what log-softmax of logits and the negative log-likelihood of classes are

    dlogits may be the same view as logits.

        logits: of the forward call
        targets: of the forward call
        weight: of the forward call
        lse: its results; total_weight only for a mean
        total_weight: its results; total_weight only for a mean
        dloss: the gradient of its loss
    """
    return _cross_entropy_backward((logits, targets, weight, lse, total_weight, dloss, dlogits, axis, reduction, label_smoothing, has_ignored_class, ignored_class, None,), stream, device)


_scan = Op(
    "kiln_scan_forward",
    "i4x160s160sI??2x160sQ",
    [
        ("enum", "op", "kiln_scan"),
        ("in", "x", ""),
        ("out", "out", "like:x"),
        ("axis", "axis", ""),
        ("bool", "is_exclusive", ""),
        ("bool", "is_reverse", ""),
        ("work", "workspace", "query:kiln_scan_workspace:u8"),
        ("stream", "stream", ""),
    ],
)


def scan(x, *, op="sum", axis=-1, is_exclusive=False, is_reverse=False, out=None, stream=None, device=None):
    """scans: running values along an axis

    out[i] is the value of x[0] to x[i]. Types: f16, bf16, f32, f64, integers and bool; out is of any type. Running values of 16-bit
    floats are f32, of integers 64 bits. out may be the same view as x.

        x: of the same sizes; of backward: dout and dx
        out: of the same sizes; of backward: dout and dx
        is_exclusive: x[i] does not count: out[0] is 0, 1 or minus or plus infinity
        is_reverse: from the last element to the first
        workspace: dense, of any type: as many bytes as kiln_scan_workspace says
    """
    return _scan((op, x, out, axis, is_exclusive, is_reverse, None, None,), stream, device)


_scan_backward = Op(
    "kiln_scan_backward",
    "i4x160s160sI??2x160sQ",
    [
        ("enum", "op", "kiln_scan"),
        ("in", "x", ""),
        ("in", "out", ""),
        ("axis", "axis", ""),
        ("bool", "is_exclusive", ""),
        ("bool", "is_reverse", ""),
        ("work", "workspace", "given"),
        ("stream", "stream", ""),
    ],
)


def scan_backward(x, out, *, op="sum", axis=-1, is_exclusive=False, is_reverse=False, workspace=None, stream=None, device=None):
    """scans: running values along an axis

    out[i] is the value of x[0] to x[i]. Types: f16, bf16, f32, f64, integers and bool; out is of any type. Running values of 16-bit
    floats are f32, of integers 64 bits. out may be the same view as x.

        x: of the same sizes; of backward: dout and dx
        out: of the same sizes; of backward: dout and dx
        is_exclusive: x[i] does not count: out[0] is 0, 1 or minus or plus infinity
        is_reverse: from the last element to the first
        workspace: dense, of any type: as many bytes as kiln_scan_workspace says
    """
    return _scan_backward((op, x, out, axis, is_exclusive, is_reverse, workspace, None,), stream, device)


_sort = Op(
    "kiln_sort_forward",
    "160s160s160s160s160sI?3x160sQ",
    [
        ("in", "x", ""),
        ("out", "out", "given"),
        ("in", "index", ""),
        ("in", "values", ""),
        ("in", "values_out", ""),
        ("axis", "axis", ""),
        ("bool", "is_descending", ""),
        ("work", "workspace", "query:kiln_sort_workspace:u8"),
        ("stream", "stream", ""),
    ],
)


def sort(x, index, values, values_out, *, axis=-1, is_descending=False, out, stream=None, device=None):
    """sort: the elements along an axis in order, and where they were

    Types: f16, bf16, f32, f64, integers and bool. The order is that of the numbers, -0 before +0, NaN after all others; descending
    the reverse. Equal elements keep their order. Results without a buffer are not wanted.

        out: of the type and sizes of x
        index: i32 or i64: which element of x each one was
        values: of any type: put in the same order
        values_out: of any type: put in the same order
        workspace: dense, of any type: as many bytes as kiln_sort_workspace says
    """
    return _sort((x, out, index, values, values_out, axis, is_descending, None, None,), stream, device)


_topk = Op(
    "kiln_topk_forward",
    "160s160s160sI?3x160sQ",
    [
        ("in", "x", ""),
        ("out", "out", "given"),
        ("in", "index", ""),
        ("axis", "axis", ""),
        ("bool", "is_smallest", ""),
        ("work", "workspace", "query:kiln_topk_workspace:u8"),
        ("stream", "stream", ""),
    ],
)


def topk(x, index, *, axis=-1, is_smallest=False, out, stream=None, device=None):
    """sort: the elements along an axis in order, and where they were

    The k largest elements along an axis, the largest first, or the k smallest; of equal ones those that come first. k is the size of
    the results along the axis.

        out: of the type of x
        index: i32 or i64
        workspace: as many bytes as kiln_topk_workspace says
    """
    return _topk((x, out, index, axis, is_smallest, None, None,), stream, device)


_sort_backward = Op(
    "kiln_sort_backward",
    "160s160s160sI4xQ",
    [
        ("in", "dout", ""),
        ("in", "index", ""),
        ("out", "dx", "given"),
        ("axis", "axis", ""),
        ("stream", "stream", ""),
    ],
)


def sort_backward(dout, index, *, axis=-1, dx, stream=None, device=None):
    """sort: the elements along an axis in order, and where they were

    Of both: dx[index[i]] = dout[i] along the axis, and 0 where no index points. No index may come twice. Types: f16, bf16, f32, f64.

        dout: the gradient of the elements, and their indices
        index: the gradient of the elements, and their indices
    """
    return _sort_backward((dout, index, dx, axis, None,), stream, device)


_histogram = Op(
    "kiln_histogram",
    "160s160sddQ",
    [
        ("in", "x", ""),
        ("out", "out", "given"),
        ("float", "low", ""),
        ("float", "high", ""),
        ("stream", "stream", ""),
    ],
)


def histogram(x, *, low=0.0, high=0.0, out, stream=None, device=None):
    """histogram: how many elements are in each bin

    With a range the bins are equal parts of it: bin floor((x - low) / (high - low) * bins), and the last one for x = high. Without
    one (low and high 0) an integer is its own bin. Elements outside, and NaN, are not counted. Types: f16, bf16, f32, f64, integers
    and bool. The bin of a 16-bit or f32 number is computed in f32, of others in f64.

        x: of any sizes
        out: [bins] i32, u32, i64 or u64
        low: of the first bin, of the last one
        high: of the first bin, of the last one
    """
    return _histogram((x, out, low, high, None,), stream, device)


def copy(a, *, out=None, dtype=None, stream=None, device=None):
    """a: copies, and converts to the type of the result"""
    return elementwise(0, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def add(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a + b"""
    return elementwise(1, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def sub(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a - b"""
    return elementwise(2, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def mul(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a * b"""
    return elementwise(3, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def div(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a / b"""
    return elementwise(4, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def pow(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a to the b"""
    return elementwise(5, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def min(a, b, *, out=None, dtype=None, stream=None, device=None):
    """the smaller; with a NaN the other one"""
    return elementwise(6, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def max(a, b, *, out=None, dtype=None, stream=None, device=None):
    """the larger; with a NaN the other one"""
    return elementwise(7, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def hypot(a, b, *, out=None, dtype=None, stream=None, device=None):
    """sqrt(a * a + b * b) without overflow"""
    return elementwise(8, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def atan2(a, b, *, out=None, dtype=None, stream=None, device=None):
    """angle of (b, a)"""
    return elementwise(9, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def multiply_add(a, b, c, *, out=None, dtype=None, stream=None, device=None):
    """a * b + c, rounded twice"""
    return elementwise(10, "TTT_T", (a, b, c), 0.0, 0.0, out, dtype, stream, device)


def lerp(a, b, c, *, out=None, dtype=None, stream=None, device=None):
    """a + c * (b - a)"""
    return elementwise(11, "TTT_T", (a, b, c), 0.0, 0.0, out, dtype, stream, device)


def scale(a, *, alpha=1.0, beta=0.0, out=None, dtype=None, stream=None, device=None):
    """alpha * a + beta"""
    return elementwise(12, "T_T", (a,), alpha, beta, out, dtype, stream, device)


def blend(a, b, *, alpha=1.0, beta=0.0, out=None, dtype=None, stream=None, device=None):
    """alpha * a + beta * b"""
    return elementwise(13, "TT_T", (a, b), alpha, beta, out, dtype, stream, device)


def neg(a, *, out=None, dtype=None, stream=None, device=None):
    """-a"""
    return elementwise(14, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def abs(a, *, out=None, dtype=None, stream=None, device=None):
    """absolute value"""
    return elementwise(15, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def sign(a, *, out=None, dtype=None, stream=None, device=None):
    """-1, 0 or 1"""
    return elementwise(16, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def square(a, *, out=None, dtype=None, stream=None, device=None):
    """a * a"""
    return elementwise(17, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def reciprocal(a, *, out=None, dtype=None, stream=None, device=None):
    """1 / a"""
    return elementwise(18, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def floor(a, *, out=None, dtype=None, stream=None, device=None):
    """largest integer not above"""
    return elementwise(19, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def ceil(a, *, out=None, dtype=None, stream=None, device=None):
    """smallest integer not below"""
    return elementwise(20, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def round(a, *, out=None, dtype=None, stream=None, device=None):
    """nearest integer, ties to even"""
    return elementwise(21, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def clamp(a, *, alpha=1.0, beta=0.0, out=None, dtype=None, stream=None, device=None):
    """a within alpha … beta"""
    return elementwise(22, "T_T", (a,), alpha, beta, out, dtype, stream, device)


def where(a, b, c, *, out=None, dtype=None, stream=None, device=None):
    """b where the mask a is not 0, else c"""
    return elementwise(23, "BTT_T", (a, b, c), 0.0, 0.0, out, dtype, stream, device)


def equal(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a == b"""
    return elementwise(24, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def not_equal(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a != b"""
    return elementwise(25, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def less(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a < b"""
    return elementwise(26, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def less_equal(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a <= b"""
    return elementwise(27, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def greater(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a > b"""
    return elementwise(28, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def greater_equal(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a >= b"""
    return elementwise(29, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def logical_and(a, b, *, out=None, dtype=None, stream=None, device=None):
    """both are not 0"""
    return elementwise(30, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def logical_or(a, b, *, out=None, dtype=None, stream=None, device=None):
    """one of them is not 0"""
    return elementwise(31, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def logical_not(a, *, out=None, dtype=None, stream=None, device=None):
    """a is 0"""
    return elementwise(32, "T_B", (a,), 0.0, 0.0, out, dtype, stream, device)


def is_nan(a, *, out=None, dtype=None, stream=None, device=None):
    """a is a NaN"""
    return elementwise(33, "T_B", (a,), 0.0, 0.0, out, dtype, stream, device)


def exp(a, *, out=None, dtype=None, stream=None, device=None):
    """e to the a"""
    return elementwise(34, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def exp2(a, *, out=None, dtype=None, stream=None, device=None):
    """2 to the a"""
    return elementwise(35, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def expm1(a, *, out=None, dtype=None, stream=None, device=None):
    """exp(a) - 1 without cancellation"""
    return elementwise(36, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def log(a, *, out=None, dtype=None, stream=None, device=None):
    """natural logarithm"""
    return elementwise(37, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def log2(a, *, out=None, dtype=None, stream=None, device=None):
    """logarithm to base 2"""
    return elementwise(38, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def log1p(a, *, out=None, dtype=None, stream=None, device=None):
    """log(1 + a) without cancellation"""
    return elementwise(39, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def sqrt(a, *, out=None, dtype=None, stream=None, device=None):
    """square root"""
    return elementwise(40, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def rsqrt(a, *, out=None, dtype=None, stream=None, device=None):
    """1 / sqrt(a)"""
    return elementwise(41, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def sin(a, *, out=None, dtype=None, stream=None, device=None):
    """sine"""
    return elementwise(42, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def cos(a, *, out=None, dtype=None, stream=None, device=None):
    """cosine"""
    return elementwise(43, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def tan(a, *, out=None, dtype=None, stream=None, device=None):
    """tangent"""
    return elementwise(44, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def atan(a, *, out=None, dtype=None, stream=None, device=None):
    """arc tangent"""
    return elementwise(45, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def sinh(a, *, out=None, dtype=None, stream=None, device=None):
    """hyperbolic sine"""
    return elementwise(46, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def cosh(a, *, out=None, dtype=None, stream=None, device=None):
    """hyperbolic cosine"""
    return elementwise(47, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def tanh(a, *, out=None, dtype=None, stream=None, device=None):
    """hyperbolic tangent"""
    return elementwise(48, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def erf(a, *, out=None, dtype=None, stream=None, device=None):
    """error function"""
    return elementwise(49, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def relu(a, *, out=None, dtype=None, stream=None, device=None):
    """max(a, 0); a NaN stays one"""
    return elementwise(50, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def relu6(a, *, out=None, dtype=None, stream=None, device=None):
    """a within 0 … 6"""
    return elementwise(51, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def leaky_relu(a, *, alpha=1.0, out=None, dtype=None, stream=None, device=None):
    """a, below 0 alpha * a"""
    return elementwise(52, "T_T", (a,), alpha, 0.0, out, dtype, stream, device)


def elu(a, *, alpha=1.0, out=None, dtype=None, stream=None, device=None):
    """a, below 0 alpha * (exp(a) - 1)"""
    return elementwise(53, "T_T", (a,), alpha, 0.0, out, dtype, stream, device)


def selu(a, *, out=None, dtype=None, stream=None, device=None):
    """elu, scaled so that mean 0 and variance 1 stay"""
    return elementwise(54, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def celu(a, *, alpha=1.0, out=None, dtype=None, stream=None, device=None):
    """a, below 0 alpha * (exp(a / alpha) - 1)"""
    return elementwise(55, "T_T", (a,), alpha, 0.0, out, dtype, stream, device)


def gelu(a, *, out=None, dtype=None, stream=None, device=None):
    """a times the normal distribution of a"""
    return elementwise(56, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def gelu_tanh(a, *, out=None, dtype=None, stream=None, device=None):
    """gelu with tanh in place of erf"""
    return elementwise(57, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def sigmoid(a, *, out=None, dtype=None, stream=None, device=None):
    """1 / (1 + exp(-a))"""
    return elementwise(58, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def log_sigmoid(a, *, out=None, dtype=None, stream=None, device=None):
    """log(sigmoid(a))"""
    return elementwise(59, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def silu(a, *, out=None, dtype=None, stream=None, device=None):
    """a * sigmoid(a)"""
    return elementwise(60, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def softplus(a, *, out=None, dtype=None, stream=None, device=None):
    """log(1 + exp(a))"""
    return elementwise(61, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def softsign(a, *, out=None, dtype=None, stream=None, device=None):
    """a / (1 + |a|)"""
    return elementwise(62, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def mish(a, *, out=None, dtype=None, stream=None, device=None):
    """a * tanh(softplus(a))"""
    return elementwise(63, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def hardsigmoid(a, *, out=None, dtype=None, stream=None, device=None):
    """a / 6 + 1/2 within 0 … 1"""
    return elementwise(64, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def hardswish(a, *, out=None, dtype=None, stream=None, device=None):
    """a * hardsigmoid(a)"""
    return elementwise(65, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def hardtanh(a, *, out=None, dtype=None, stream=None, device=None):
    """a within -1 … 1"""
    return elementwise(66, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def add_relu(a, b, *, out=None, dtype=None, stream=None, device=None):
    """relu(a + b)"""
    return elementwise(67, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def add_gelu(a, b, *, out=None, dtype=None, stream=None, device=None):
    """gelu(a + b)"""
    return elementwise(68, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def add_silu(a, b, *, out=None, dtype=None, stream=None, device=None):
    """silu(a + b)"""
    return elementwise(69, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def silu_gate(a, b, *, out=None, dtype=None, stream=None, device=None):
    """silu(a) * b"""
    return elementwise(70, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def gelu_gate(a, b, *, out=None, dtype=None, stream=None, device=None):
    """gelu(a) * b"""
    return elementwise(71, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


# name: (number, signature, has alpha, has beta, has derivatives)
ELEMENTWISE = {
    "copy": (0, "T_T", False, False, True),
    "add": (1, "TT_T", False, False, True),
    "sub": (2, "TT_T", False, False, True),
    "mul": (3, "TT_T", False, False, True),
    "div": (4, "TT_T", False, False, True),
    "pow": (5, "TT_T", False, False, True),
    "min": (6, "TT_T", False, False, True),
    "max": (7, "TT_T", False, False, True),
    "hypot": (8, "TT_T", False, False, True),
    "atan2": (9, "TT_T", False, False, True),
    "multiply_add": (10, "TTT_T", False, False, True),
    "lerp": (11, "TTT_T", False, False, True),
    "scale": (12, "T_T", True, True, True),
    "blend": (13, "TT_T", True, True, True),
    "neg": (14, "T_T", False, False, True),
    "abs": (15, "T_T", False, False, True),
    "sign": (16, "T_T", False, False, True),
    "square": (17, "T_T", False, False, True),
    "reciprocal": (18, "T_T", False, False, True),
    "floor": (19, "T_T", False, False, True),
    "ceil": (20, "T_T", False, False, True),
    "round": (21, "T_T", False, False, True),
    "clamp": (22, "T_T", True, True, True),
    "where": (23, "BTT_T", False, False, True),
    "equal": (24, "TT_B", False, False, False),
    "not_equal": (25, "TT_B", False, False, False),
    "less": (26, "TT_B", False, False, False),
    "less_equal": (27, "TT_B", False, False, False),
    "greater": (28, "TT_B", False, False, False),
    "greater_equal": (29, "TT_B", False, False, False),
    "logical_and": (30, "TT_B", False, False, False),
    "logical_or": (31, "TT_B", False, False, False),
    "logical_not": (32, "T_B", False, False, False),
    "is_nan": (33, "T_B", False, False, False),
    "exp": (34, "T_T", False, False, True),
    "exp2": (35, "T_T", False, False, True),
    "expm1": (36, "T_T", False, False, True),
    "log": (37, "T_T", False, False, True),
    "log2": (38, "T_T", False, False, True),
    "log1p": (39, "T_T", False, False, True),
    "sqrt": (40, "T_T", False, False, True),
    "rsqrt": (41, "T_T", False, False, True),
    "sin": (42, "T_T", False, False, True),
    "cos": (43, "T_T", False, False, True),
    "tan": (44, "T_T", False, False, True),
    "atan": (45, "T_T", False, False, True),
    "sinh": (46, "T_T", False, False, True),
    "cosh": (47, "T_T", False, False, True),
    "tanh": (48, "T_T", False, False, True),
    "erf": (49, "T_T", False, False, True),
    "relu": (50, "T_T", False, False, True),
    "relu6": (51, "T_T", False, False, True),
    "leaky_relu": (52, "T_T", True, False, True),
    "elu": (53, "T_T", True, False, True),
    "selu": (54, "T_T", False, False, True),
    "celu": (55, "T_T", True, False, True),
    "gelu": (56, "T_T", False, False, True),
    "gelu_tanh": (57, "T_T", False, False, True),
    "sigmoid": (58, "T_T", False, False, True),
    "log_sigmoid": (59, "T_T", False, False, True),
    "silu": (60, "T_T", False, False, True),
    "softplus": (61, "T_T", False, False, True),
    "softsign": (62, "T_T", False, False, True),
    "mish": (63, "T_T", False, False, True),
    "hardsigmoid": (64, "T_T", False, False, True),
    "hardswish": (65, "T_T", False, False, True),
    "hardtanh": (66, "T_T", False, False, True),
    "add_relu": (67, "TT_T", False, False, True),
    "add_gelu": (68, "TT_T", False, False, True),
    "add_silu": (69, "TT_T", False, False, True),
    "silu_gate": (70, "TT_T", False, False, True),
    "gelu_gate": (71, "TT_T", False, False, True),
}

__all__ = [
    "elementwise_backward",
    "matmul",
    "attention",
    "attention_backward",
    "softmax",
    "softmax_backward",
    "norm",
    "norm_backward",
    "copy_view",
    "concat",
    "split",
    "pad",
    "pad_backward",
    "sum",
    "mean",
    "prod",
    "amax",
    "amin",
    "any",
    "all",
    "count_nonzero",
    "vector_norm",
    "variance",
    "deviation",
    "argmax",
    "argmin",
    "logsumexp",
    "reduce_backward",
    "cross_entropy",
    "cross_entropy_backward",
    "scan",
    "scan_backward",
    "sort",
    "topk",
    "sort_backward",
    "histogram",
    "copy",
    "add",
    "sub",
    "mul",
    "div",
    "pow",
    "min",
    "max",
    "hypot",
    "atan2",
    "multiply_add",
    "lerp",
    "scale",
    "blend",
    "neg",
    "abs",
    "sign",
    "square",
    "reciprocal",
    "floor",
    "ceil",
    "round",
    "clamp",
    "where",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_not",
    "is_nan",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log1p",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "tan",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "erf",
    "relu",
    "relu6",
    "leaky_relu",
    "elu",
    "selu",
    "celu",
    "gelu",
    "gelu_tanh",
    "sigmoid",
    "log_sigmoid",
    "silu",
    "softplus",
    "softsign",
    "mish",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "add_relu",
    "add_gelu",
    "add_silu",
    "silu_gate",
    "gelu_gate",
]
