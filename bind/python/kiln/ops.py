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
    "160s160s160s160s160s160s160s?3xfQiII4x",
    [
        ("in", "q", ""),
        ("in", "k", ""),
        ("in", "v", ""),
        ("out", "out", "attention_out"),
        ("out?", "lse", "attention_lse"),
        ("in?", "lengths", ""),
        ("in?", "pages", ""),
        ("bool", "is_causal", ""),
        ("float", "scale", ""),
        ("stream", "stream", ""),
        ("enum", "kernel", "kiln_attention_kernel"),
        ("int", "tile_queries", ""),
        ("int", "tile_keys", ""),
    ],
)


def attention(q, k, v, *, lengths=None, pages=None, is_causal=False, scale=0.0, kernel="best", tile_queries=0, tile_keys=0, out=None, lse=None, stream=None, device=None):
    """attention: out = softmax(scale * q * transposed k) * v, row by row

    Sizes come from the views: [batch, heads, queries, head_dim], with any strides. A packed tensor [batch, length, 3, heads,
    head_dim] is sliced and permuted (kiln_view_index, kiln_view_permute), one head for all is broadcast. The kernel for sm_90a needs
    contiguous rows that start at multiples of 16 bytes; without them KILN_ATTENTION_BEST is the portable one. Types: bf16, f16, f32,
    the same for all but lse; sums are f32. Each heads / kv_heads neighbouring heads of q share one of k and v.

        q: [batch, heads, queries, head_dim]
        k: [batch, kv_heads, keys, head_dim]
        v: [batch, kv_heads, keys, head_dim]
        out: as q; has no element in common with the others
        lse: [batch, heads, queries] f32: logarithm of each row's sum of e to the scaled score; without a buffer it is not computed A cache of keys and values that is not full: [batch] i32, dense. Batch b sees its first lengths[b] keys (none below 0, all above `keys`), and is_causal counts from there. A query that sees no key has zeros as its result, and minus infinity in lse.
        pages: A cache in pages: k and v are [pages, kv_heads, page_size, head_dim], and key number j of batch b is key j % page_size of page pages[b, j / page_size]: [batch, n] i32 with contiguous rows. A page number that does not exist stands for keys and values of zeros.
        is_causal: the last query sees all keys, each one before it one less
        scale: 0: one over the root of head_dim
        kernel: instead of the best
        tile_queries: instead of the best; 0: chosen
        tile_keys: instead of the best; 0: chosen
    """
    return _attention((q, k, v, out, lse, lengths, pages, is_causal, scale, None, kernel, tile_queries, tile_keys,), stream, device)


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


_conv = Op(
    "kiln_conv_forward",
    "160s160s160s160sIIIIIIIIIIIII?3xii160sQ",
    [
        ("in", "x", ""),
        ("in", "weight", ""),
        ("out", "out", "conv"),
        ("in?", "bias", ""),
        ("numbers", "stride", "3"),
        ("numbers", "dilation", "3"),
        ("numbers", "pad_before", "3"),
        ("numbers", "pad_after", "3"),
        ("int", "groups", ""),
        ("bool", "is_transposed", ""),
        ("enum", "activation", "kiln_activation"),
        ("enum", "kernel", "kiln_conv_kernel"),
        ("work", "workspace", "query:kiln_conv_workspace:f32"),
        ("stream", "stream", ""),
    ],
)


def conv(x, weight, *, bias=None, stride=(), dilation=(), pad_before=(), pad_after=(), groups=0, is_transposed=False, activation="none", kernel="best", out=None, stream=None, device=None):
    """convolution: a window of weights slides over a tensor

    out = activation(convolution + bias). Along each dimension of space out has (size + pads - dilation * (window - 1) - 1) / stride +
    1 elements. is_transposed: the gradient of a convolution by its operand, as a forward pass. weight is [channels, output channels /
    groups, window…], and x must have the size that the formula gives for out.

        x: out has no element in common with the others
        weight: out has no element in common with the others
        out: out has no element in common with the others
        bias: [output channels], f32 or the type of x; without a buffer: none
        groups: 0: 1
        kernel: instead of the best
        workspace: f32, dense: as many elements as kiln_conv_workspace says; without a buffer and where it is needed the best kernel is the direct one
    """
    return _conv((x, weight, out, bias, stride, dilation, pad_before, pad_after, groups, is_transposed, activation, kernel, None, None,), stream, device)


_conv_backward = Op(
    "kiln_conv_backward",
    "160s160s160s160s160s160sIIIIIIIIIIIII?3xi4x160sQ",
    [
        ("in", "x", ""),
        ("in", "weight", ""),
        ("in", "dout", ""),
        ("out?", "dx", "like:x"),
        ("out?", "dweight", "like:weight"),
        ("out?", "dbias", "conv_bias"),
        ("numbers", "stride", "3"),
        ("numbers", "dilation", "3"),
        ("numbers", "pad_before", "3"),
        ("numbers", "pad_after", "3"),
        ("int", "groups", ""),
        ("bool", "is_transposed", ""),
        ("enum", "kernel", "kiln_conv_kernel"),
        ("work", "workspace", "query:kiln_conv_backward_workspace:f32"),
        ("stream", "stream", ""),
    ],
)


def conv_backward(x, weight, dout, *, stride=(), dilation=(), pad_before=(), pad_after=(), groups=0, is_transposed=False, kernel="best", dx=None, dweight=None, dbias=None, stream=None, device=None):
    """convolution: a window of weights slides over a tensor

    Gradients by x, weight and bias of a number whose gradient by the result, before the activation, is dout. Sums have the same order
    every time.

        x: of the forward call
        weight: of the forward call
        dout: as out
        dx: as x, weight, bias; without a buffer: not wanted
        dweight: as x, weight, bias; without a buffer: not wanted
        dbias: as x, weight, bias; without a buffer: not wanted
        window: as in the forward call
        workspace: the same, of kiln_conv_backward_workspace
    """
    return _conv_backward((x, weight, dout, dx, dweight, dbias, stride, dilation, pad_before, pad_after, groups, is_transposed, kernel, None, None,), stream, device)


_pool = Op(
    "kiln_pool_forward",
    "160s160s160siIIIIIIIIIIIIIII??2x4xQ",
    [
        ("in", "x", ""),
        ("out", "out", "pool"),
        ("out?", "indices", "pool_indices"),
        ("enum", "kind", "kiln_pooling"),
        ("numbers", "size", "3"),
        ("numbers", "stride", "3"),
        ("numbers", "dilation", "3"),
        ("numbers", "pad_before", "3"),
        ("numbers", "pad_after", "3"),
        ("bool", "is_adaptive", ""),
        ("bool", "counts_padding", ""),
        ("stream", "stream", ""),
    ],
)


def pool(x, *, kind="max", size=(), stride=(), dilation=(), pad_before=(), pad_after=(), is_adaptive=False, counts_padding=False, out=None, indices=None, stream=None, device=None):
    """pooling: one number for each place of a window, in every channel alone

    Along each dimension of space out has (size + pads - dilation * (window - 1) - 1) / stride + 1 elements, rounded down or up: the
    last window may reach beyond the end. A window over padding alone gives minus infinity, or 0.

        indices: i32 or i64, as out: where the largest lies in the space of x, counted row by row; of equal ones the first. Without a buffer: not wanted
    """
    return _pool((x, out, indices, kind, size, stride, dilation, pad_before, pad_after, is_adaptive, counts_padding, None,), stream, device)


_pool_backward = Op(
    "kiln_pool_backward",
    "160s160s160siIIIIIIIIIIIIIII??2x4xQ",
    [
        ("in", "dout", ""),
        ("out", "dx", "given"),
        ("in?", "indices", ""),
        ("enum", "kind", "kiln_pooling"),
        ("numbers", "size", "3"),
        ("numbers", "stride", "3"),
        ("numbers", "dilation", "3"),
        ("numbers", "pad_before", "3"),
        ("numbers", "pad_after", "3"),
        ("bool", "is_adaptive", ""),
        ("bool", "counts_padding", ""),
        ("stream", "stream", ""),
    ],
)


def pool_backward(dout, *, indices=None, kind="max", size=(), stride=(), dilation=(), pad_before=(), pad_after=(), is_adaptive=False, counts_padding=False, dx, stream=None, device=None):
    """pooling: one number for each place of a window, in every channel alone

        indices: of the forward call; KILN_POOL_MAX needs them
    """
    return _pool_backward((dout, dx, indices, kind, size, stride, dilation, pad_before, pad_after, is_adaptive, counts_padding, None,), stream, device)


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
    "160s160s160s160s160s160sI?3xdQ",
    [
        ("in", "x", ""),
        ("out", "out", "like:x"),
        ("in?", "weight", ""),
        ("in?", "bias", ""),
        ("in?", "residual", ""),
        ("out?", "sum", "like_x"),
        ("axis", "axis", ""),
        ("bool", "is_rms", ""),
        ("float", "eps", ""),
        ("stream", "stream", ""),
    ],
)


def norm(x, *, weight=None, bias=None, residual=None, axis=-1, is_rms=False, eps=1e-5, out=None, sum=None, stream=None, device=None):
    """norms along an axis: out = (x - mean) / sqrt(variance + eps) * weight + bias

    Types: f16, bf16, f32, the same for all views but the workspace. Sums are f32. out may be the same view as x.

        weight: one dimension, as long as the axis; without a buffer: none
        bias: one dimension, as long as the axis; without a buffer: none With a buffer: sum = x + residual, rounded to the type, and out is the norm of sum.
        residual: as x; sum may be the same view as x or residual
        sum: as x; sum may be the same view as x or residual
        is_rms: mean is 0: x / sqrt(mean of squares + eps)
    """
    return _norm((x, out, weight, bias, residual, sum, axis, is_rms, eps, None,), stream, device)


_norm_backward = Op(
    "kiln_norm_backward",
    "160s160s160s160s160s160s160s160sI?3xdQ",
    [
        ("in", "x", ""),
        ("in?", "weight", ""),
        ("in", "dout", ""),
        ("out", "dx", "like:x"),
        ("in?", "dsum", ""),
        ("out?", "dweight", "norm_parameter"),
        ("out?", "dbias", "norm_parameter"),
        ("work", "workspace", "norm_workspace"),
        ("axis", "axis", ""),
        ("bool", "is_rms", ""),
        ("float", "eps", ""),
        ("stream", "stream", ""),
    ],
)


def norm_backward(x, dout, *, weight=None, dsum=None, axis=-1, is_rms=False, eps=1e-5, dx=None, dweight=None, dbias=None, stream=None, device=None):
    """norms along an axis: out = (x - mean) / sqrt(variance + eps) * weight + bias

    Without dweight and dbias, dx may be the same view as x, dout or dsum. With a residual, x is the sum, and dx the gradient of the
    residual, too.

        x: of the forward call
        weight: of the forward call
        dsum: added to dx: what the sum has from elsewhere; without a buffer: none
        dweight: without a buffer: not wanted
        dbias: without a buffer: not wanted
        workspace: for dweight and dbias: two f32 for each row, dense
    """
    return _norm_backward((x, weight, dout, dx, dsum, dweight, dbias, None, axis, is_rms, eps, None,), stream, device)


_group_norm = Op(
    "kiln_group_norm_forward",
    "160s160s160s160sQ160s160s160sdQ",
    [
        ("in", "x", ""),
        ("out", "out", "like_x"),
        ("in?", "weight", ""),
        ("in?", "bias", ""),
        ("int", "groups", ""),
        ("out", "mean", "group_statistics"),
        ("out", "scale", "group_statistics"),
        ("work", "workspace", "group_work"),
        ("float", "eps", ""),
        ("stream", "stream", ""),
    ],
)


def group_norm(x, *, weight=None, bias=None, groups=0, eps=1e-5, out=None, mean=None, scale=None, stream=None, device=None):
    """norms of channels: x is [items, channels, ...]; out = (x - mean) * scale * weight + bias with

    Group norm: mean and variance of groups of neighbouring channels of an item. One channel in a group: instance norm.

        mean: results for backward: f32 [items * groups]
        scale: results for backward: f32 [items * groups]
    """
    return _group_norm((x, out, weight, bias, groups, mean, scale, None, eps, None,), stream, device)


_group_norm_backward = Op(
    "kiln_group_norm_backward",
    "160s160s160s160s160s160s160s160s160sQQ",
    [
        ("in", "x", ""),
        ("in?", "weight", ""),
        ("in", "mean", ""),
        ("in", "scale", ""),
        ("in", "dout", ""),
        ("out", "dx", "like_x"),
        ("out?", "dweight", "channels"),
        ("out?", "dbias", "channels"),
        ("work", "workspace", "group_work"),
        ("int", "groups", ""),
        ("stream", "stream", ""),
    ],
)


def group_norm_backward(x, mean, scale, dout, *, weight=None, groups=0, dx=None, dweight=None, dbias=None, stream=None, device=None):
    """norms of channels: x is [items, channels, ...]; out = (x - mean) * scale * weight + bias with

        x: of the forward call
        weight: of the forward call
        mean: of the forward call
        scale: of the forward call
        dweight: without a buffer: not wanted
        dbias: without a buffer: not wanted
    """
    return _group_norm_backward((x, weight, mean, scale, dout, dx, dweight, dbias, None, groups, None,), stream, device)


_batch_norm = Op(
    "kiln_batch_norm_forward",
    "160s160s160s160s160s160s160s160s160sdd?7xQ",
    [
        ("in", "x", ""),
        ("out", "out", "like_x"),
        ("in?", "weight", ""),
        ("in?", "bias", ""),
        ("in?", "running_mean", ""),
        ("in?", "running_variance", ""),
        ("out", "mean", "channel_statistics"),
        ("out", "scale", "channel_statistics"),
        ("work", "workspace", "batch_work"),
        ("float", "eps", ""),
        ("float", "momentum", ""),
        ("bool", "is_eval", ""),
        ("stream", "stream", ""),
    ],
)


def batch_norm(x, *, weight=None, bias=None, running_mean=None, running_variance=None, eps=1e-5, momentum=0.0, is_eval=False, out=None, mean=None, scale=None, stream=None, device=None):
    """norms of channels: x is [items, channels, ...]; out = (x - mean) * scale * weight + bias with

    Batch norm: mean and variance of a channel over all items. Running statistics r become r * (1 - momentum) + momentum * new, with
    the unbiased variance; with is_eval they are used instead.

        running_mean: f32 [channels]; without a buffer: none
        running_variance: f32 [channels]; without a buffer: none
        mean: results for backward: f32 [channels]
        scale: results for backward: f32 [channels]
    """
    return _batch_norm((x, out, weight, bias, running_mean, running_variance, mean, scale, None, eps, momentum, is_eval, None,), stream, device)


_batch_norm_backward = Op(
    "kiln_batch_norm_backward",
    "160s160s160s160s160s160s160s160s160s?7xQ",
    [
        ("in", "x", ""),
        ("in?", "weight", ""),
        ("in", "mean", ""),
        ("in", "scale", ""),
        ("in", "dout", ""),
        ("out", "dx", "like_x"),
        ("out?", "dweight", "channels"),
        ("out?", "dbias", "channels"),
        ("work", "workspace", "batch_work"),
        ("bool", "is_eval", ""),
        ("stream", "stream", ""),
    ],
)


def batch_norm_backward(x, mean, scale, dout, *, weight=None, is_eval=False, dx=None, dweight=None, dbias=None, stream=None, device=None):
    """norms of channels: x is [items, channels, ...]; out = (x - mean) * scale * weight + bias with

        x: of the forward call
        weight: of the forward call
        mean: of the forward call
        scale: of the forward call
        dweight: without a buffer: not wanted
        dbias: without a buffer: not wanted
    """
    return _batch_norm_backward((x, weight, mean, scale, dout, dx, dweight, dbias, None, is_eval, None,), stream, device)


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

    Any type; where the types differ each element is converted: docs/ops/copy.md says how. Permutations, slices with steps and
    reversed dimensions are views of in or out: kiln_view_permute, kiln_view_slice, kiln_view_flip; repeated dimensions are
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
        ("out", "out", "padded"),
        ("numbers", "before", "8"),
        ("enum", "mode", "kiln_pad_mode"),
        ("float", "value", ""),
        ("stream", "stream", ""),
        ("extra", "after", "()"),
    ],
)


def pad(x, *, before=(), mode="constant", value=0.0, after=(), out=None, stream=None, device=None):
    """pad: out[i] = x[i - before] along each dimension, and something else where x has no such

    Any type; x and out have the same. out's sizes say how much comes after x; negative amounts crop. With KILN_PAD_CIRCULAR out is x
    tiled where its sizes are multiples of x's, and x rolled by `before` where they are x's own. KILN_PAD_REFLECT pads by less than
    the size of the dimension.

        x: without an element in common
        out: without an element in common
        value: of KILN_PAD_CONSTANT; must be a number of the type
    """
    return _pad((x, out, before, mode, value, None, after,), stream, device)


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


_gather = Op(
    "kiln_gather_forward",
    "160s160s160siIQ",
    [
        ("in", "x", ""),
        ("in", "index", ""),
        ("out", "out", "gathered"),
        ("enum", "form", "kiln_index_form"),
        ("axis", "axis", ""),
        ("stream", "stream", ""),
    ],
)


def gather(x, index, *, form="elements", axis=-1, out=None, stream=None, device=None):
    """gather and scatter: elements of x whose index along some axes is read from an index tensor

        x: any type out: the elements
        index: any type out: the elements
        out: any type out: the elements
        axis: nothing for KILN_INDEX_ND
    """
    return _gather((x, index, out, form, axis, None,), stream, device)


_gather_backward = Op(
    "kiln_gather_backward",
    "160s160s160s160siIQ",
    [
        ("in", "index", ""),
        ("in", "dout", ""),
        ("out", "dx", "given"),
        ("work", "workspace", "query:kiln_gather_backward_workspace:u32"),
        ("enum", "form", "kiln_index_form"),
        ("axis", "axis", ""),
        ("stream", "stream", ""),
    ],
)


def gather_backward(index, dout, *, form="elements", axis=-1, dx, stream=None, device=None):
    """gather and scatter: elements of x whose index along some axes is read from an index tensor

    dx[i] is the sum of dout over the elements that are x[i], in the order of the indices: the same bits every time. Types: f16, bf16,
    f32, f64; sums of 16-bit types are f32.

        workspace: u32, dense: as many elements as kiln_gather_backward_workspace says
    """
    return _gather_backward((index, dout, dx, None, form, axis, None,), stream, device)


_scatter = Op(
    "kiln_scatter",
    "160s160s160s160siIi4xQ",
    [
        ("in", "index", ""),
        ("in", "source", ""),
        ("out", "out", "like:index"),
        ("work", "workspace", "query:kiln_scatter_workspace:u32"),
        ("enum", "form", "kiln_index_form"),
        ("axis", "axis", ""),
        ("enum", "op", "kiln_scatter_op"),
        ("stream", "stream", ""),
    ],
)


def scatter(index, source, *, form="elements", axis=-1, op="set", out=None, stream=None, device=None):
    """gather and scatter: elements of x whose index along some axes is read from an index tensor

    out[index] = out[index] op source, for the elements in their row-major order: the same bits every time. out is x of the forms.
    Types: any for KILN_SCATTER_SET; else f16, bf16, f32, f64 and integers of 32 and 64 bits. At most 2^31 - 1 indices, and 2^32 - 258
    places along the axes that they index.

        workspace: u32, dense: as many elements as kiln_scatter_workspace says
    """
    return _scatter((index, source, out, None, form, axis, op, None,), stream, device)


_embedding = Op(
    "kiln_embedding_forward",
    "160s160s160sQ",
    [
        ("in", "weight", ""),
        ("in", "index", ""),
        ("out", "out", "embedded"),
        ("stream", "stream", ""),
    ],
)


def embedding(weight, index, *, out=None, stream=None, device=None):
    """embedding: out[i…] = weight[index[i…]]

        weight: [rows, columns]
        index: i32 or i64, any rank
        out: the sizes of index, then columns
    """
    return _embedding((weight, index, out, None,), stream, device)


_embedding_backward = Op(
    "kiln_embedding_backward",
    "160s160s160s160s?7xq?7xQ",
    [
        ("in", "index", ""),
        ("in", "dout", ""),
        ("out", "dweight", "given"),
        ("work", "workspace", "query:kiln_embedding_backward_workspace:u32"),
        ("bool", "has_padding", ""),
        ("int", "padding", ""),
        ("bool", "is_added", ""),
        ("stream", "stream", ""),
    ],
)


def embedding_backward(index, dout, *, has_padding=False, padding=0, is_added=False, dweight, stream=None, device=None):
    """embedding: out[i…] = weight[index[i…]]

    dweight is the sum of the rows of dout with the same index, in their order; the same bits every time.

        workspace: u32, dense
        has_padding: rows of dout with the index `padding` do not count
        is_added: to what dweight has; else it starts with 0
    """
    return _embedding_backward((index, dout, dweight, None, has_padding, padding, is_added, None,), stream, device)


_random = Op(
    "kiln_random",
    "160si4xQQddqqQ",
    [
        ("out", "out", "given"),
        ("enum", "kind", "kiln_random_kind"),
        ("int", "seed", ""),
        ("int", "offset", ""),
        ("float", "alpha", ""),
        ("float", "beta", ""),
        ("int", "low", ""),
        ("int", "high", ""),
        ("stream", "stream", ""),
    ],
)


def random(*, kind="uniform", seed=0, offset=0, alpha=0.0, beta=0.0, low=0, high=0, out, stream=None, device=None):
    """random numbers: Philox4x32-10, the same bits on every device
    """
    return _random((out, kind, seed, offset, alpha, beta, low, high, None,), stream, device)


_dropout = Op(
    "kiln_dropout_forward",
    "160s160sdQQQ",
    [
        ("in", "x", ""),
        ("out", "out", "like:x"),
        ("float", "rate", ""),
        ("int", "seed", ""),
        ("int", "offset", ""),
        ("stream", "stream", ""),
    ],
)


def dropout(x, *, rate=0.0, seed=0, offset=0, out=None, stream=None, device=None):
    """dropout: out = 0 with the probability `rate`, else x / (1 - rate)

    Types: f16, bf16, f32, f64. Nothing is stored: backward takes dout as x and dx as out, with the same rate, seed and offset. out
    may be the same view as x.
    """
    return _dropout((x, out, rate, seed, offset, None,), stream, device)


_dropout_backward = Op(
    "kiln_dropout_backward",
    "160s160sdQQQ",
    [
        ("in", "x", ""),
        ("out", "out", "like:x"),
        ("float", "rate", ""),
        ("int", "seed", ""),
        ("int", "offset", ""),
        ("stream", "stream", ""),
    ],
)


def dropout_backward(x, *, rate=0.0, seed=0, offset=0, out=None, stream=None, device=None):
    """dropout: out = 0 with the probability `rate`, else x / (1 - rate)

    Types: f16, bf16, f32, f64. Nothing is stored: backward takes dout as x and dx as out, with the same rate, seed and offset. out
    may be the same view as x.
    """
    return _dropout_backward((x, out, rate, seed, offset, None,), stream, device)


_generate = Op(
    "kiln_generate",
    "i4x160s160sddqQ",
    [
        ("enum", "op", "kiln_generate_op"),
        ("in?", "in", ""),
        ("out", "out", "given"),
        ("float", "alpha", ""),
        ("float", "beta", ""),
        ("int", "diagonal", ""),
        ("stream", "stream", ""),
    ],
)


def generate(*, op="fill", x=None, alpha=0.0, beta=0.0, diagonal=0, out, stream=None, device=None):
    """tensors from the indices of their elements

    The backward pass of a triangle is the same triangle of dout; it may be in place.

        x: TRIL, TRIU: as out; ONE_HOT: i32 or i64, without out's last dimension
        diagonal: EYE, TRIL, TRIU: column minus row; 0: the main one
    """
    return _generate((op, x, out, alpha, beta, diagonal, None,), stream, device)


_rope = Op(
    "kiln_rope_forward",
    "160s160s160s160s?7xQ",
    [
        ("in", "x", ""),
        ("out", "out", "like:x"),
        ("in", "cos", ""),
        ("in", "sin", ""),
        ("bool", "is_interleaved", ""),
        ("stream", "stream", ""),
    ],
)


def rope(x, cos, sin, *, is_interleaved=False, out=None, stream=None, device=None):
    """rope: rotary position embedding, pairs of numbers turned by an angle

    Types: f16, bf16, f32, f64, x and out the same; the tables have any of them. x is [..., dim], with any strides: [batch, heads,
    length, dim] or [batch, length, heads, dim]. cos and sin are [..., pairs] and are broadcast to x: [length, pairs], or [length, 1,
    pairs] where heads are behind the length, or [batch, 1, length, pairs]. The first 2 * pairs numbers are turned, others are copied.
    out may be the same view as x. Backward takes dout as x and dx as out.

        is_interleaved: pairs are x[2 * i], x[2 * i + 1] (GPT-J); else x[i], x[i + pairs] (NeoX)
    """
    return _rope((x, out, cos, sin, is_interleaved, None,), stream, device)


_rope_backward = Op(
    "kiln_rope_backward",
    "160s160s160s160s?7xQ",
    [
        ("in", "x", ""),
        ("out", "out", "like:x"),
        ("in", "cos", ""),
        ("in", "sin", ""),
        ("bool", "is_interleaved", ""),
        ("stream", "stream", ""),
    ],
)


def rope_backward(x, cos, sin, *, is_interleaved=False, out=None, stream=None, device=None):
    """rope: rotary position embedding, pairs of numbers turned by an angle

    Types: f16, bf16, f32, f64, x and out the same; the tables have any of them. x is [..., dim], with any strides: [batch, heads,
    length, dim] or [batch, length, heads, dim]. cos and sin are [..., pairs] and are broadcast to x: [length, pairs], or [length, 1,
    pairs] where heads are behind the length, or [batch, 1, length, pairs]. The first 2 * pairs numbers are turned, others are copied.
    out may be the same view as x. Backward takes dout as x and dx as out.

        is_interleaved: pairs are x[2 * i], x[2 * i + 1] (GPT-J); else x[i], x[i + pairs] (NeoX)
    """
    return _rope_backward((x, out, cos, sin, is_interleaved, None,), stream, device)


_rope_tables = Op(
    "kiln_rope_tables",
    "160s160s160sqddQ",
    [
        ("out", "cos", "given"),
        ("out", "sin", "given"),
        ("in?", "positions", ""),
        ("int", "offset", ""),
        ("float", "base", ""),
        ("float", "scale", ""),
        ("stream", "stream", ""),
    ],
)


def rope_tables(*, positions=None, offset=0, base=0.0, scale=0.0, cos, sin, stream=None, device=None):
    """rope: rotary position embedding, pairs of numbers turned by an angle

    The tables: angle = (position + offset) * scale * base to the power of -2 * i / (2 * pairs), computed in f64.

        cos: [..., pairs], of the same sizes and type
        sin: [..., pairs], of the same sizes and type
        positions: i32 or i64, cos without its last dimension; without a buffer: the index along the dimension before the last
        base: scale 0: 1
        scale: scale 0: 1
    """
    return _rope_tables((cos, sin, positions, offset, base, scale, None,), stream, device)


_upsample = Op(
    "kiln_upsample_forward",
    "160s160si?3xQ",
    [
        ("in", "x", ""),
        ("out", "out", "upsampled"),
        ("enum", "mode", "kiln_upsample_mode"),
        ("bool", "aligns_corners", ""),
        ("stream", "stream", ""),
        ("extra", "sizes", "()"),
    ],
)


def upsample(x, *, mode="nearest", aligns_corners=False, sizes=(), out=None, stream=None, device=None):
    """upsample: x at other sizes

    Dimensions of other sizes in out are interpolated, up to three of them by KILN_UPSAMPLE_LINEAR: linear, bilinear, trilinear.
    Output i is at input (i + 0.5) * in / out - 0.5, but not below 0; with aligns_corners at i * (in - 1) / (out - 1).
    """
    return _upsample((x, out, mode, aligns_corners, None, sizes,), stream, device)


_upsample_backward = Op(
    "kiln_upsample_backward",
    "160s160si?3xQ",
    [
        ("in", "dout", ""),
        ("out", "dx", "given"),
        ("enum", "mode", "kiln_upsample_mode"),
        ("bool", "aligns_corners", ""),
        ("stream", "stream", ""),
    ],
)


def upsample_backward(dout, *, mode="nearest", aligns_corners=False, dx, stream=None, device=None):
    """upsample: x at other sizes

    Each element of dx is a sum over the outputs that it is in, in their order: the same bits every time.
    """
    return _upsample_backward((dout, dx, mode, aligns_corners, None,), stream, device)


_bitwise = Op(
    "kiln_bitwise",
    "i4x160s160s160sQ",
    [
        ("enum", "op", "kiln_bitwise_op"),
        ("in", "a", ""),
        ("in?", "b", ""),
        ("out", "out", "bitwise"),
        ("stream", "stream", ""),
    ],
)


def bitwise(a, *, op="and", b=None, out=None, stream=None, device=None):
    """bits of integers: out = a op b

    All views have the same type; a and b are broadcast to out, which may be the same view as one.
    """
    return _bitwise((op, a, b, out, None,), stream, device)


_quantise = Op(
    "kiln_quantise",
    "160s160s160s160sQ",
    [
        ("in", "x", ""),
        ("in", "scale", ""),
        ("in?", "zero", ""),
        ("out", "out", "quantised"),
        ("stream", "stream", ""),
    ],
)


def quantise(x, scale, *, zero=None, out=None, stream=None, device=None):
    """affine numbers of eight bits

    kiln_quantise: out = round(x / scale) + zero, within the range of its type (i8, u8); ties to even. kiln_dequantise: out = (x -
    zero) * scale. Floats are f16, bf16, f32. scale (f32) and zero (of the narrow type; without a buffer: 0) are broadcast: one number
    for all, or one for each row or channel.
    """
    return _quantise((x, scale, zero, out, None,), stream, device)


_dequantise = Op(
    "kiln_dequantise",
    "160s160s160s160sQ",
    [
        ("in", "x", ""),
        ("in", "scale", ""),
        ("in?", "zero", ""),
        ("out", "out", "dequantised"),
        ("stream", "stream", ""),
    ],
)


def dequantise(x, scale, *, zero=None, out=None, stream=None, device=None):
    """affine numbers of eight bits

    kiln_quantise: out = round(x / scale) + zero, within the range of its type (i8, u8); ties to even. kiln_dequantise: out = (x -
    zero) * scale. Floats are f16, bf16, f32. scale (f32) and zero (of the narrow type; without a buffer: 0) are broadcast: one number
    for all, or one for each row or channel.
    """
    return _dequantise((x, scale, zero, out, None,), stream, device)


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
        ("out", "loss", "loss"),
        ("out?", "lse", "like_targets"),
        ("out?", "total_weight", "one_number"),
        ("work", "workspace", "query:kiln_cross_entropy_workspace:u8"),
        ("axis", "axis", ""),
        ("enum", "reduction", "kiln_loss_reduction"),
        ("float", "label_smoothing", ""),
        ("bool", "has_ignored_class", ""),
        ("int", "ignored_class", ""),
        ("stream", "stream", ""),
    ],
)


def cross_entropy(logits, targets, *, weight=None, axis=-1, reduction="rows", label_smoothing=0.0, has_ignored_class=False, ignored_class=0, loss=None, lse=None, total_weight=None, stream=None, device=None):
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
        ("in?", "weight", ""),
        ("in", "lse", ""),
        ("in?", "total_weight", ""),
        ("in", "dloss", ""),
        ("out", "dlogits", "like:logits"),
        ("axis", "axis", ""),
        ("enum", "reduction", "kiln_loss_reduction"),
        ("float", "label_smoothing", ""),
        ("bool", "has_ignored_class", ""),
        ("int", "ignored_class", ""),
        ("stream", "stream", ""),
    ],
)


def cross_entropy_backward(logits, targets, lse, dloss, *, weight=None, total_weight=None, axis=-1, reduction="rows", label_smoothing=0.0, has_ignored_class=False, ignored_class=0, dlogits=None, stream=None, device=None):
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
        ("out", "out", "like:x"),
        ("axis", "axis", ""),
        ("bool", "is_exclusive", ""),
        ("bool", "is_reverse", ""),
        ("work", "workspace", "query:kiln_scan_workspace:u8"),
        ("stream", "stream", ""),
    ],
)


def scan_backward(x, *, op="sum", axis=-1, is_exclusive=False, is_reverse=False, out=None, stream=None, device=None):
    """scans: running values along an axis

    out[i] is the value of x[0] to x[i]. Types: f16, bf16, f32, f64, integers and bool; out is of any type. Running values of 16-bit
    floats are f32, of integers 64 bits. out may be the same view as x.

        x: of the same sizes; of backward: dout and dx
        out: of the same sizes; of backward: dout and dx
        is_exclusive: x[i] does not count: out[0] is 0, 1 or minus or plus infinity
        is_reverse: from the last element to the first
        workspace: dense, of any type: as many bytes as kiln_scan_workspace says
    """
    return _scan_backward((op, x, out, axis, is_exclusive, is_reverse, None, None,), stream, device)


_sort = Op(
    "kiln_sort_forward",
    "160s160s160s160s160sI?3x160sQ",
    [
        ("in", "x", ""),
        ("out", "out", "like_x"),
        ("out?", "index", "indices_like_x"),
        ("in?", "values", ""),
        ("out?", "values_out", "like_values"),
        ("axis", "axis", ""),
        ("bool", "is_descending", ""),
        ("work", "workspace", "query:kiln_sort_workspace:u8"),
        ("stream", "stream", ""),
    ],
)


def sort(x, *, values=None, axis=-1, is_descending=False, out=None, index=None, values_out=None, stream=None, device=None):
    """sort: the elements along an axis in order, and where they were

    Types: f16, bf16, f32, f64, integers and bool. The order is that of the numbers, -0 before +0, NaN after all others; descending
    the reverse. Equal elements keep their order. Results without a buffer are not wanted.

        out: of the type and sizes of x; without a buffer: not wanted
        index: i32 or i64, where each was in x; without a buffer: not wanted
        values: of any type, in the same order; without a buffer: none
        values_out: of any type, in the same order; without a buffer: none
        workspace: dense, of any type: as many bytes as kiln_sort_workspace says
    """
    return _sort((x, out, index, values, values_out, axis, is_descending, None, None,), stream, device)


_topk = Op(
    "kiln_topk_forward",
    "160s160s160sI?3x160sQ",
    [
        ("in", "x", ""),
        ("out", "out", "topk"),
        ("out?", "index", "topk_indices"),
        ("axis", "axis", ""),
        ("bool", "is_smallest", ""),
        ("work", "workspace", "query:kiln_topk_workspace:u8"),
        ("stream", "stream", ""),
        ("extra", "k", "1"),
    ],
)


def topk(x, *, axis=-1, is_smallest=False, k=1, out=None, index=None, stream=None, device=None):
    """sort: the elements along an axis in order, and where they were

    The k largest elements along an axis, the largest first, or the k smallest; of equal ones those that come first. k is the size of
    the results along the axis.

        out: of the type of x; without a buffer: not wanted
        index: i32 or i64; without a buffer: not wanted
        workspace: as many bytes as kiln_topk_workspace says
    """
    return _topk((x, out, index, axis, is_smallest, None, None, k,), stream, device)


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
        ("out", "out", "histogram"),
        ("float", "low", ""),
        ("float", "high", ""),
        ("stream", "stream", ""),
        ("extra", "bins", "10"),
    ],
)


def histogram(x, *, low=0.0, high=0.0, bins=10, out=None, stream=None, device=None):
    """histogram: how many elements are in each bin

    With a range the bins are equal parts of it: bin floor((x - low) / (high - low) * bins), and the last one for x = high. Without
    one (low and high 0) an integer is its own bin. Elements outside, and NaN, are not counted. Types: f16, bf16, f32, f64, integers
    and bool. The bin of a 16-bit or f32 number is computed in f32, of others in f64.

        x: of any sizes
        out: [bins] i32, u32, i64 or u64
        low: of the first bin, of the last one
        high: of the first bin, of the last one
    """
    return _histogram((x, out, low, high, None, bins,), stream, device)


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


def trunc(a, *, out=None, dtype=None, stream=None, device=None):
    """nearest integer towards zero"""
    return elementwise(24, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def frac(a, *, out=None, dtype=None, stream=None, device=None):
    """what is behind the point, with the sign of a"""
    return elementwise(25, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def fmod(a, b, *, out=None, dtype=None, stream=None, device=None):
    """remainder of a / b with the sign of a"""
    return elementwise(26, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def remainder(a, b, *, out=None, dtype=None, stream=None, device=None):
    """remainder of a / b with the sign of b"""
    return elementwise(27, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def floor_divide(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a / b, rounded down"""
    return elementwise(28, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def heaviside(a, b, *, out=None, dtype=None, stream=None, device=None):
    """0 below 0, 1 above, b at 0"""
    return elementwise(29, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def quantise_i8(a, *, alpha=1.0, beta=0.0, out=None, dtype=None, stream=None, device=None):
    """round(a / alpha) + beta within -128 … 127"""
    return elementwise(30, "T_T", (a,), alpha, beta, out, dtype, stream, device)


def quantise_u8(a, *, alpha=1.0, beta=0.0, out=None, dtype=None, stream=None, device=None):
    """round(a / alpha) + beta within 0 … 255"""
    return elementwise(31, "T_T", (a,), alpha, beta, out, dtype, stream, device)


def equal(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a == b"""
    return elementwise(32, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def not_equal(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a != b"""
    return elementwise(33, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def less(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a < b"""
    return elementwise(34, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def less_equal(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a <= b"""
    return elementwise(35, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def greater(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a > b"""
    return elementwise(36, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def greater_equal(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a >= b"""
    return elementwise(37, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def logical_and(a, b, *, out=None, dtype=None, stream=None, device=None):
    """both are not 0"""
    return elementwise(38, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def logical_or(a, b, *, out=None, dtype=None, stream=None, device=None):
    """one of them is not 0"""
    return elementwise(39, "TT_B", (a, b), 0.0, 0.0, out, dtype, stream, device)


def logical_not(a, *, out=None, dtype=None, stream=None, device=None):
    """a is 0"""
    return elementwise(40, "T_B", (a,), 0.0, 0.0, out, dtype, stream, device)


def is_nan(a, *, out=None, dtype=None, stream=None, device=None):
    """a is a NaN"""
    return elementwise(41, "T_B", (a,), 0.0, 0.0, out, dtype, stream, device)


def is_inf(a, *, out=None, dtype=None, stream=None, device=None):
    """a is an infinity"""
    return elementwise(42, "T_B", (a,), 0.0, 0.0, out, dtype, stream, device)


def is_finite(a, *, out=None, dtype=None, stream=None, device=None):
    """a is neither infinite nor a NaN"""
    return elementwise(43, "T_B", (a,), 0.0, 0.0, out, dtype, stream, device)


def exp(a, *, out=None, dtype=None, stream=None, device=None):
    """e to the a"""
    return elementwise(44, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def exp2(a, *, out=None, dtype=None, stream=None, device=None):
    """2 to the a"""
    return elementwise(45, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def expm1(a, *, out=None, dtype=None, stream=None, device=None):
    """exp(a) - 1 without cancellation"""
    return elementwise(46, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def log(a, *, out=None, dtype=None, stream=None, device=None):
    """natural logarithm"""
    return elementwise(47, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def log2(a, *, out=None, dtype=None, stream=None, device=None):
    """logarithm to base 2"""
    return elementwise(48, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def log1p(a, *, out=None, dtype=None, stream=None, device=None):
    """log(1 + a) without cancellation"""
    return elementwise(49, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def sqrt(a, *, out=None, dtype=None, stream=None, device=None):
    """square root"""
    return elementwise(50, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def rsqrt(a, *, out=None, dtype=None, stream=None, device=None):
    """1 / sqrt(a)"""
    return elementwise(51, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def sin(a, *, out=None, dtype=None, stream=None, device=None):
    """sine"""
    return elementwise(52, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def cos(a, *, out=None, dtype=None, stream=None, device=None):
    """cosine"""
    return elementwise(53, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def tan(a, *, out=None, dtype=None, stream=None, device=None):
    """tangent"""
    return elementwise(54, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def atan(a, *, out=None, dtype=None, stream=None, device=None):
    """arc tangent"""
    return elementwise(55, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def sinh(a, *, out=None, dtype=None, stream=None, device=None):
    """hyperbolic sine"""
    return elementwise(56, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def cosh(a, *, out=None, dtype=None, stream=None, device=None):
    """hyperbolic cosine"""
    return elementwise(57, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def tanh(a, *, out=None, dtype=None, stream=None, device=None):
    """hyperbolic tangent"""
    return elementwise(58, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def erf(a, *, out=None, dtype=None, stream=None, device=None):
    """error function"""
    return elementwise(59, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def log10(a, *, out=None, dtype=None, stream=None, device=None):
    """logarithm to base 10"""
    return elementwise(60, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def logit(a, *, out=None, dtype=None, stream=None, device=None):
    """log(a / (1 - a))"""
    return elementwise(61, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def xlogy(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a * log(b); 0 where a is"""
    return elementwise(62, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def logaddexp(a, b, *, out=None, dtype=None, stream=None, device=None):
    """log(exp(a) + exp(b))"""
    return elementwise(63, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def cbrt(a, *, out=None, dtype=None, stream=None, device=None):
    """cube root"""
    return elementwise(64, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def asin(a, *, out=None, dtype=None, stream=None, device=None):
    """arc sine"""
    return elementwise(65, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def acos(a, *, out=None, dtype=None, stream=None, device=None):
    """arc cosine"""
    return elementwise(66, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def asinh(a, *, out=None, dtype=None, stream=None, device=None):
    """inverse of sinh"""
    return elementwise(67, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def acosh(a, *, out=None, dtype=None, stream=None, device=None):
    """inverse of cosh; a is at least 1"""
    return elementwise(68, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def atanh(a, *, out=None, dtype=None, stream=None, device=None):
    """inverse of tanh"""
    return elementwise(69, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def erfc(a, *, out=None, dtype=None, stream=None, device=None):
    """1 - erf(a) without cancellation"""
    return elementwise(70, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def relu(a, *, out=None, dtype=None, stream=None, device=None):
    """max(a, 0); a NaN stays one"""
    return elementwise(71, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def relu6(a, *, out=None, dtype=None, stream=None, device=None):
    """a within 0 … 6"""
    return elementwise(72, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def leaky_relu(a, *, alpha=1.0, out=None, dtype=None, stream=None, device=None):
    """a, below 0 alpha * a"""
    return elementwise(73, "T_T", (a,), alpha, 0.0, out, dtype, stream, device)


def elu(a, *, alpha=1.0, out=None, dtype=None, stream=None, device=None):
    """a, below 0 alpha * (exp(a) - 1)"""
    return elementwise(74, "T_T", (a,), alpha, 0.0, out, dtype, stream, device)


def selu(a, *, out=None, dtype=None, stream=None, device=None):
    """elu, scaled so that mean 0 and variance 1 stay"""
    return elementwise(75, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def celu(a, *, alpha=1.0, out=None, dtype=None, stream=None, device=None):
    """a, below 0 alpha * (exp(a / alpha) - 1)"""
    return elementwise(76, "T_T", (a,), alpha, 0.0, out, dtype, stream, device)


def gelu(a, *, out=None, dtype=None, stream=None, device=None):
    """a times the normal distribution of a"""
    return elementwise(77, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def gelu_tanh(a, *, out=None, dtype=None, stream=None, device=None):
    """gelu with tanh in place of erf"""
    return elementwise(78, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def sigmoid(a, *, out=None, dtype=None, stream=None, device=None):
    """1 / (1 + exp(-a))"""
    return elementwise(79, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def log_sigmoid(a, *, out=None, dtype=None, stream=None, device=None):
    """log(sigmoid(a))"""
    return elementwise(80, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def silu(a, *, out=None, dtype=None, stream=None, device=None):
    """a * sigmoid(a)"""
    return elementwise(81, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def softplus(a, *, out=None, dtype=None, stream=None, device=None):
    """log(1 + exp(a))"""
    return elementwise(82, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def softsign(a, *, out=None, dtype=None, stream=None, device=None):
    """a / (1 + |a|)"""
    return elementwise(83, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def mish(a, *, out=None, dtype=None, stream=None, device=None):
    """a * tanh(softplus(a))"""
    return elementwise(84, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def hardsigmoid(a, *, out=None, dtype=None, stream=None, device=None):
    """a / 6 + 1/2 within 0 … 1"""
    return elementwise(85, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def hardswish(a, *, out=None, dtype=None, stream=None, device=None):
    """a * hardsigmoid(a)"""
    return elementwise(86, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def hardtanh(a, *, out=None, dtype=None, stream=None, device=None):
    """a within -1 … 1"""
    return elementwise(87, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def prelu(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a, below 0 times b"""
    return elementwise(88, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def threshold(a, *, alpha=1.0, beta=0.0, out=None, dtype=None, stream=None, device=None):
    """a above alpha, else beta"""
    return elementwise(89, "T_T", (a,), alpha, beta, out, dtype, stream, device)


def hardshrink(a, *, alpha=1.0, out=None, dtype=None, stream=None, device=None):
    """a, but 0 within -alpha … alpha"""
    return elementwise(90, "T_T", (a,), alpha, 0.0, out, dtype, stream, device)


def softshrink(a, *, alpha=1.0, out=None, dtype=None, stream=None, device=None):
    """a closer to 0 by alpha"""
    return elementwise(91, "T_T", (a,), alpha, 0.0, out, dtype, stream, device)


def tanhshrink(a, *, out=None, dtype=None, stream=None, device=None):
    """a - tanh(a)"""
    return elementwise(92, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def relu_squared(a, *, out=None, dtype=None, stream=None, device=None):
    """the square of relu(a)"""
    return elementwise(93, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def quick_gelu(a, *, out=None, dtype=None, stream=None, device=None):
    """a * sigmoid(1.702 * a)"""
    return elementwise(94, "T_T", (a,), 0.0, 0.0, out, dtype, stream, device)


def swish(a, *, alpha=1.0, out=None, dtype=None, stream=None, device=None):
    """a * sigmoid(alpha * a)"""
    return elementwise(95, "T_T", (a,), alpha, 0.0, out, dtype, stream, device)


def add_relu(a, b, *, out=None, dtype=None, stream=None, device=None):
    """relu(a + b)"""
    return elementwise(96, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def add_gelu(a, b, *, out=None, dtype=None, stream=None, device=None):
    """gelu(a + b)"""
    return elementwise(97, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def add_silu(a, b, *, out=None, dtype=None, stream=None, device=None):
    """silu(a + b)"""
    return elementwise(98, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def silu_gate(a, b, *, out=None, dtype=None, stream=None, device=None):
    """silu(a) * b"""
    return elementwise(99, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def gelu_gate(a, b, *, out=None, dtype=None, stream=None, device=None):
    """gelu(a) * b"""
    return elementwise(100, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def sigmoid_gate(a, b, *, out=None, dtype=None, stream=None, device=None):
    """a * sigmoid(b): glu"""
    return elementwise(101, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def relu_gate(a, b, *, out=None, dtype=None, stream=None, device=None):
    """relu(a) * b"""
    return elementwise(102, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def squared_error(a, b, *, out=None, dtype=None, stream=None, device=None):
    """(a - b) squared"""
    return elementwise(103, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def absolute_error(a, b, *, out=None, dtype=None, stream=None, device=None):
    """|a - b|"""
    return elementwise(104, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def huber(a, b, *, alpha=1.0, out=None, dtype=None, stream=None, device=None):
    """half the square of a - b, linear where it is above alpha"""
    return elementwise(105, "TT_T", (a, b), alpha, 0.0, out, dtype, stream, device)


def smooth_l1(a, b, *, alpha=1.0, out=None, dtype=None, stream=None, device=None):
    """huber / alpha"""
    return elementwise(106, "TT_T", (a, b), alpha, 0.0, out, dtype, stream, device)


def bce(a, b, *, out=None, dtype=None, stream=None, device=None):
    """cross-entropy of the probability a and the target b"""
    return elementwise(107, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def bce_logits(a, b, *, out=None, dtype=None, stream=None, device=None):
    """bce(sigmoid(a), b) without overflow"""
    return elementwise(108, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def hinge(a, b, *, out=None, dtype=None, stream=None, device=None):
    """1 - a * b, not below 0"""
    return elementwise(109, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


def soft_margin(a, b, *, out=None, dtype=None, stream=None, device=None):
    """log(1 + exp(-a * b))"""
    return elementwise(110, "TT_T", (a, b), 0.0, 0.0, out, dtype, stream, device)


ELEMENTWISE_FORMS = ("i4x160s160s160s160sddQ", "i4x160s160s160s160s160s160s160sddQ")

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
    "trunc": (24, "T_T", False, False, True),
    "frac": (25, "T_T", False, False, True),
    "fmod": (26, "TT_T", False, False, True),
    "remainder": (27, "TT_T", False, False, True),
    "floor_divide": (28, "TT_T", False, False, True),
    "heaviside": (29, "TT_T", False, False, True),
    "quantise_i8": (30, "T_T", True, True, False),
    "quantise_u8": (31, "T_T", True, True, False),
    "equal": (32, "TT_B", False, False, False),
    "not_equal": (33, "TT_B", False, False, False),
    "less": (34, "TT_B", False, False, False),
    "less_equal": (35, "TT_B", False, False, False),
    "greater": (36, "TT_B", False, False, False),
    "greater_equal": (37, "TT_B", False, False, False),
    "logical_and": (38, "TT_B", False, False, False),
    "logical_or": (39, "TT_B", False, False, False),
    "logical_not": (40, "T_B", False, False, False),
    "is_nan": (41, "T_B", False, False, False),
    "is_inf": (42, "T_B", False, False, False),
    "is_finite": (43, "T_B", False, False, False),
    "exp": (44, "T_T", False, False, True),
    "exp2": (45, "T_T", False, False, True),
    "expm1": (46, "T_T", False, False, True),
    "log": (47, "T_T", False, False, True),
    "log2": (48, "T_T", False, False, True),
    "log1p": (49, "T_T", False, False, True),
    "sqrt": (50, "T_T", False, False, True),
    "rsqrt": (51, "T_T", False, False, True),
    "sin": (52, "T_T", False, False, True),
    "cos": (53, "T_T", False, False, True),
    "tan": (54, "T_T", False, False, True),
    "atan": (55, "T_T", False, False, True),
    "sinh": (56, "T_T", False, False, True),
    "cosh": (57, "T_T", False, False, True),
    "tanh": (58, "T_T", False, False, True),
    "erf": (59, "T_T", False, False, True),
    "log10": (60, "T_T", False, False, True),
    "logit": (61, "T_T", False, False, True),
    "xlogy": (62, "TT_T", False, False, True),
    "logaddexp": (63, "TT_T", False, False, True),
    "cbrt": (64, "T_T", False, False, True),
    "asin": (65, "T_T", False, False, True),
    "acos": (66, "T_T", False, False, True),
    "asinh": (67, "T_T", False, False, True),
    "acosh": (68, "T_T", False, False, True),
    "atanh": (69, "T_T", False, False, True),
    "erfc": (70, "T_T", False, False, True),
    "relu": (71, "T_T", False, False, True),
    "relu6": (72, "T_T", False, False, True),
    "leaky_relu": (73, "T_T", True, False, True),
    "elu": (74, "T_T", True, False, True),
    "selu": (75, "T_T", False, False, True),
    "celu": (76, "T_T", True, False, True),
    "gelu": (77, "T_T", False, False, True),
    "gelu_tanh": (78, "T_T", False, False, True),
    "sigmoid": (79, "T_T", False, False, True),
    "log_sigmoid": (80, "T_T", False, False, True),
    "silu": (81, "T_T", False, False, True),
    "softplus": (82, "T_T", False, False, True),
    "softsign": (83, "T_T", False, False, True),
    "mish": (84, "T_T", False, False, True),
    "hardsigmoid": (85, "T_T", False, False, True),
    "hardswish": (86, "T_T", False, False, True),
    "hardtanh": (87, "T_T", False, False, True),
    "prelu": (88, "TT_T", False, False, True),
    "threshold": (89, "T_T", True, True, True),
    "hardshrink": (90, "T_T", True, False, True),
    "softshrink": (91, "T_T", True, False, True),
    "tanhshrink": (92, "T_T", False, False, True),
    "relu_squared": (93, "T_T", False, False, True),
    "quick_gelu": (94, "T_T", False, False, True),
    "swish": (95, "T_T", True, False, True),
    "add_relu": (96, "TT_T", False, False, True),
    "add_gelu": (97, "TT_T", False, False, True),
    "add_silu": (98, "TT_T", False, False, True),
    "silu_gate": (99, "TT_T", False, False, True),
    "gelu_gate": (100, "TT_T", False, False, True),
    "sigmoid_gate": (101, "TT_T", False, False, True),
    "relu_gate": (102, "TT_T", False, False, True),
    "squared_error": (103, "TT_T", False, False, True),
    "absolute_error": (104, "TT_T", False, False, True),
    "huber": (105, "TT_T", True, False, True),
    "smooth_l1": (106, "TT_T", True, False, True),
    "bce": (107, "TT_T", False, False, True),
    "bce_logits": (108, "TT_T", False, False, True),
    "hinge": (109, "TT_T", False, False, True),
    "soft_margin": (110, "TT_T", False, False, True),
}

__all__ = [
    "elementwise_backward",
    "matmul",
    "attention",
    "attention_backward",
    "conv",
    "conv_backward",
    "pool",
    "pool_backward",
    "softmax",
    "softmax_backward",
    "norm",
    "norm_backward",
    "group_norm",
    "group_norm_backward",
    "batch_norm",
    "batch_norm_backward",
    "copy_view",
    "concat",
    "split",
    "pad",
    "pad_backward",
    "gather",
    "gather_backward",
    "scatter",
    "embedding",
    "embedding_backward",
    "random",
    "dropout",
    "dropout_backward",
    "generate",
    "rope",
    "rope_backward",
    "rope_tables",
    "upsample",
    "upsample_backward",
    "bitwise",
    "quantise",
    "dequantise",
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
    "trunc",
    "frac",
    "fmod",
    "remainder",
    "floor_divide",
    "heaviside",
    "quantise_i8",
    "quantise_u8",
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
    "is_inf",
    "is_finite",
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
    "log10",
    "logit",
    "xlogy",
    "logaddexp",
    "cbrt",
    "asin",
    "acos",
    "asinh",
    "acosh",
    "atanh",
    "erfc",
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
    "prelu",
    "threshold",
    "hardshrink",
    "softshrink",
    "tanhshrink",
    "relu_squared",
    "quick_gelu",
    "swish",
    "add_relu",
    "add_gelu",
    "add_silu",
    "silu_gate",
    "gelu_gate",
    "sigmoid_gate",
    "relu_gate",
    "squared_error",
    "absolute_error",
    "huber",
    "smooth_l1",
    "bce",
    "bce_logits",
    "hinge",
    "soft_margin",
]
