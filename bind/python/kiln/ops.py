"""The op library: one function for each op, with shapes as in NumPy. Written by bind/python/generate.py from include/kiln: change those, then `make python`."""

from __future__ import annotations

from ._elementwise import *
from ._elementwise import ELEMENTWISE, ELEMENTWISE_FORMS
from . import _op_table as _table
from ._op import elementwise_backward, reduce


def attention(q, k, v, *, lengths=None, pages=None, is_causal=False, scale=0.0, kernel="best", tile_queries=0, tile_keys=0, has_window=False, window_left=0, window_right=0, q_offsets=None, k_offsets=None, bias=None, slopes=None, k_scale=0.0, v_scale=0.0, out=None, lse=None, stream=None, device=None):
    """attention: out = softmax(scale * q * transposed k) * v, row by row

    Sizes come from the views: [batch, heads, queries, head_dim], with any strides. A packed tensor [batch, length, 3, heads,
    head_dim] is sliced and permuted (kiln_view_index, kiln_view_permute), one head for all is broadcast. The kernel for sm_90a needs
    contiguous rows that start at multiples of 16 bytes; without them KILN_ATTENTION_BEST is the portable one. Types: bf16, f16, f32,
    the same for all but lse (k and v: k_scale); sums are f32. Each heads / kv_heads neighbouring heads of q share one of k and v.

        q: [batch, heads, queries, head_dim]
        k, v: [batch, kv_heads, keys, head_dim]
        out: as q; has no element in common with the others
        lse: [batch, heads, queries] f32: logarithm of each row's sum of e to the scaled score; without a buffer it is not computed A cache of keys and values that is not full: [batch] i32, dense. Batch b sees its first lengths[b] keys (none below 0, all above `keys`), and is_causal counts from there. A query that sees no key has zeros as its result, and minus infinity in lse.
        pages: A cache in pages: k and v are [pages, kv_heads, page_size, head_dim], and key number j of batch b is key j % page_size of page pages[b, j / page_size]: [batch, n] i32 with contiguous rows. A page number that does not exist stands for keys and values of zeros.
        is_causal: the last query sees all keys, each one before it one less
        scale: 0: one over the root of head_dim
        kernel: instead of the best
        tile_queries: instead of the best; 0: chosen
        tile_keys: instead of the best; 0: chosen A window: with is_causal a query sees keys up to its own. It sees window_left keys before its own and window_right behind it, without limit where that is below 0.
        q_offsets, k_offsets: Sequences of different lengths, rows one behind the other (batch: 1): sequence n has rows q_offsets[n] to q_offsets[n + 1] - 1 of q and out, and those of k_offsets in k and v. Both: [sequences + 1] i32, dense, ascending. Rows of no sequence have zeros as their result.
        bias: Added to the scaled scores: [batch, heads, queries, keys] f32, f16 or bf16. A size of 1 is broadcast, dimensions in front may be missing. Minus infinity hides a key. Not with offsets.
        slopes: ALiBi: [heads] or [batch, heads] f32. slope * distance of the query's own key and the other one is subtracted from the scaled score.
        k_scale, v_scale: A cache of f8e4 or f8e5, with q of f16 or bf16: k times k_scale, v times v_scale; 0: 1.
    """
    return _table.attention((q, k, v, out, lse, lengths, pages, is_causal, scale, None, kernel, tile_queries, tile_keys, has_window, window_left, window_right, q_offsets, k_offsets, bias, slopes, k_scale, v_scale,), stream, device)


def attention_backward(q, k, v, out, lse, dout, *, is_causal=False, scale=0.0, kernel="best", has_window=False, window_left=0, window_right=0, q_offsets=None, k_offsets=None, bias=None, slopes=None, is_deterministic=False, dq=None, dk=None, dv=None, dbias=None, stream=None, device=None):
    """attention: out = softmax(scale * q * transposed k) * v, row by row

    Gradients of attention: dq, dk and dv of a number whose gradient by `out` is dout. Views as in the forward call. A head of k and v
    that several heads of q share gets the sum of their gradients; one that a view broadcasts does not: dk and dv have an element for
    each of theirs.

        q, k, v: of the forward call
        out, lse: its results
        dout: as out
        dq: as q; results have no element in common with others
        dk, dv: as k and v
        workspace: f32, dense: as many elements as kiln_attention_backward_workspace says
        is_causal: as in the forward call
        scale: the same; 0: one over the root of head_dim
        kernel: instead of the best; sm_90a: head_dim 32 to 256
        has_window: this and the rest as in the forward call
        is_deterministic: dq is the same bits every time, too: not by the kernels for sm_90a
        dbias: shape and type of bias: its gradient, summed over what it is broadcast to; without a buffer: none
    """
    return _table.attention_backward((q, k, v, out, lse, dout, dq, dk, dv, None, is_causal, scale, None, kernel, has_window, window_left, window_right, q_offsets, k_offsets, bias, slopes, is_deterministic, dbias,), stream, device)


def conv(x, weight, *, bias=None, stride=(), dilation=(), pad_before=(), pad_after=(), groups=0, is_transposed=False, activation="none", kernel="best", out=None, stream=None, device=None):
    """convolution: a window of weights slides over a tensor

    out = activation(convolution + bias). Along each dimension of space out has (size + pads - dilation * (window - 1) - 1) / stride +
    1 elements. is_transposed: the gradient of a convolution by its operand, as a forward pass. weight is [channels, output channels /
    groups, window…], and x must have the size that the formula gives for out.

        x, weight, out: out has no element in common with the others
        bias: [output channels], f32 or the type of x; without a buffer: none
        groups: 0: 1
        kernel: instead of the best
        workspace: f32, dense: as many elements as kiln_conv_workspace says; without a buffer and where it is needed the best kernel is the direct one
    """
    return _table.conv((x, weight, out, bias, stride, dilation, pad_before, pad_after, groups, is_transposed, activation, kernel, None, None,), stream, device)


def conv_backward(x, weight, dout, *, stride=(), dilation=(), pad_before=(), pad_after=(), groups=0, is_transposed=False, kernel="best", dx=None, dweight=None, dbias=None, stream=None, device=None):
    """convolution: a window of weights slides over a tensor

    Gradients by x, weight and bias of a number whose gradient by the result, before the activation, is dout. Sums have the same order
    every time.

        x, weight: of the forward call
        dout: as out
        dx, dweight, dbias: as x, weight, bias; without a buffer: not wanted
        window: as in the forward call
        workspace: the same, of kiln_conv_backward_workspace
    """
    return _table.conv_backward((x, weight, dout, dx, dweight, dbias, stride, dilation, pad_before, pad_after, groups, is_transposed, kernel, None, None,), stream, device)


def pool(x, *, kind="max", size=(), stride=(), dilation=(), pad_before=(), pad_after=(), is_adaptive=False, counts_padding=False, out=None, indices=None, stream=None, device=None):
    """pooling: one number for each place of a window, in every channel alone

    Along each dimension of space out has (size + pads - dilation * (window - 1) - 1) / stride + 1 elements, rounded down or up: the
    last window may reach beyond the end. A window over padding alone gives minus infinity, or 0.

        indices: i32 or i64, as out: where the largest lies in the space of x, counted row by row; of equal ones the first. Without a buffer: not wanted
    """
    return _table.pool((x, out, indices, kind, size, stride, dilation, pad_before, pad_after, is_adaptive, counts_padding, None,), stream, device)


def pool_backward(dout, *, indices=None, kind="max", size=(), stride=(), dilation=(), pad_before=(), pad_after=(), is_adaptive=False, counts_padding=False, dx, stream=None, device=None):
    """pooling: one number for each place of a window, in every channel alone

        indices: of the forward call; KILN_POOL_MAX needs them
    """
    return _table.pool_backward((dout, dx, indices, kind, size, stride, dilation, pad_before, pad_after, is_adaptive, counts_padding, None,), stream, device)


def softmax(x, *, axis=-1, is_log=False, out=None, stream=None, device=None):
    """softmax: out = exp(x) / sum of exp(x) along an axis

    Types: f16, bf16, f32; all views have the same type and sizes. Sums are f32. A result may be the same view as an operand.

        is_log: the logarithm of it
    """
    return _table.softmax((x, out, axis, is_log, None,), stream, device)


def softmax_backward(out, dout, *, axis=-1, is_log=False, dx=None, stream=None, device=None):
    """softmax: out = exp(x) / sum of exp(x) along an axis

        out, dout: the result of the forward call, and its gradient
    """
    return _table.softmax_backward((out, dout, dx, axis, is_log, None,), stream, device)


def norm(x, *, weight=None, bias=None, residual=None, axis=-1, is_rms=False, eps=1e-5, out=None, sum=None, stream=None, device=None):
    """norms along an axis: out = (x - mean) / sqrt(variance + eps) * weight + bias

    Types: f16, bf16, f32, the same for all views but the workspace. Sums are f32. out may be the same view as x.

        weight: one dimension, as long as the axis; without a buffer: none
        bias: one dimension, as long as the axis; without a buffer: none With a buffer: sum = x + residual, rounded to the type, and out is the norm of sum.
        residual, sum: as x; sum may be the same view as x or residual
        is_rms: mean is 0: x / sqrt(mean of squares + eps)
    """
    return _table.norm((x, out, weight, bias, residual, sum, axis, is_rms, eps, None,), stream, device)


def norm_backward(x, dout, *, weight=None, dsum=None, axis=-1, is_rms=False, eps=1e-5, dx=None, dweight=None, dbias=None, stream=None, device=None):
    """norms along an axis: out = (x - mean) / sqrt(variance + eps) * weight + bias

    Without dweight and dbias, dx may be the same view as x, dout or dsum. With a residual, x is the sum, and dx the gradient of the
    residual, too.

        x, weight: of the forward call
        dsum: added to dx: what the sum has from elsewhere; without a buffer: none
        dweight, dbias: without a buffer: not wanted
        workspace: for dweight and dbias: two f32 for each row, dense
    """
    return _table.norm_backward((x, weight, dout, dx, dsum, dweight, dbias, None, axis, is_rms, eps, None,), stream, device)


def group_norm(x, *, weight=None, bias=None, groups=0, eps=1e-5, out=None, mean=None, scale=None, stream=None, device=None):
    """norms of channels: x is [items, channels, ...]; out = (x - mean) * scale * weight + bias with

    Group norm: mean and variance of groups of neighbouring channels of an item. One channel in a group: instance norm.

        mean, scale: results for backward: f32 [items * groups]
    """
    return _table.group_norm((x, out, weight, bias, groups, mean, scale, None, eps, None,), stream, device)


def group_norm_backward(x, mean, scale, dout, *, weight=None, groups=0, dx=None, dweight=None, dbias=None, stream=None, device=None):
    """norms of channels: x is [items, channels, ...]; out = (x - mean) * scale * weight + bias with

        x, weight, mean, scale: of the forward call
        dweight, dbias: without a buffer: not wanted
    """
    return _table.group_norm_backward((x, weight, mean, scale, dout, dx, dweight, dbias, None, groups, None,), stream, device)


def batch_norm(x, *, weight=None, bias=None, running_mean=None, running_variance=None, eps=1e-5, momentum=0.0, is_eval=False, out=None, mean=None, scale=None, stream=None, device=None):
    """norms of channels: x is [items, channels, ...]; out = (x - mean) * scale * weight + bias with

    Batch norm: mean and variance of a channel over all items. Running statistics r become r * (1 - momentum) + momentum * new, with
    the unbiased variance; with is_eval they are used instead. Without elements mean and scale are 0, and running statistics stay.

        running_mean, running_variance: f32 [channels]; without a buffer: none
        mean, scale: results for backward: f32 [channels]
    """
    return _table.batch_norm((x, out, weight, bias, running_mean, running_variance, mean, scale, None, eps, momentum, is_eval, None,), stream, device)


def batch_norm_backward(x, mean, scale, dout, *, weight=None, is_eval=False, dx=None, dweight=None, dbias=None, stream=None, device=None):
    """norms of channels: x is [items, channels, ...]; out = (x - mean) * scale * weight + bias with

        x, weight, mean, scale: of the forward call
        dweight, dbias: without a buffer: not wanted
    """
    return _table.batch_norm_backward((x, weight, mean, scale, dout, dx, dweight, dbias, None, is_eval, None,), stream, device)


def copy_view(x, *, out=None, stream=None, device=None):
    """copies: out = in, views of the same sizes with any strides

    Any type; where the types differ each element is converted: docs/ops/copy.md says how. Permutations, slices with steps and
    reversed dimensions are views of in or out: kiln_view_permute, kiln_view_slice, kiln_view_flip; repeated dimensions are
    kiln_view_broadcast.

        x, out: without an element in common
    """
    return _table.copy_view((x, out, None,), stream, device)


def concat(parts, *, axis=-1, whole=None, stream=None, device=None):
    """copies: out = in, views of the same sizes with any strides

    Parts side by side along an axis, in one launch for eight of them: kiln_concat copies the parts into whole, kiln_split copies
    whole into the parts. Each is the other's backward pass. The parts have the type of whole and its sizes but along the axis, where
    theirs add up to its size.
    """
    return _table.concat((parts, None, axis, whole, None,), stream, device)


def split(parts, whole, *, axis=-1, stream=None, device=None):
    """copies: out = in, views of the same sizes with any strides

    Parts side by side along an axis, in one launch for eight of them: kiln_concat copies the parts into whole, kiln_split copies
    whole into the parts. Each is the other's backward pass. The parts have the type of whole and its sizes but along the axis, where
    theirs add up to its size.
    """
    return _table.split((parts, None, axis, whole, None,), stream, device)


def pad(x, *, before=(), mode="constant", value=0.0, after=(), out=None, stream=None, device=None):
    """pad: out[i] = x[i - before] along each dimension, and something else where x has no such

    Any type; x and out have the same. out's sizes say how much comes after x; negative amounts crop. With KILN_PAD_CIRCULAR out is x
    tiled where its sizes are multiples of x's, and x rolled by `before` where they are x's own. KILN_PAD_REFLECT pads by less than
    the size of the dimension.

        x, out: without an element in common
        value: of KILN_PAD_CONSTANT; must be a number of the type
    """
    return _table.pad((x, out, before, mode, value, None, after,), stream, device)


def pad_backward(dout, *, before=(), mode="constant", dx, stream=None, device=None):
    """pad: out[i] = x[i - before] along each dimension, and something else where x has no such

    dx is the sum of dout over the outputs that are the same element of x, in their row-major order. Types: f16, bf16, f32, f64; sums
    of 16-bit types are f32.
    """
    return _table.pad_backward((dout, dx, before, mode, None,), stream, device)


def gather(x, index, *, form="elements", axis=-1, out=None, stream=None, device=None):
    """gather and scatter: elements of x whose index along some axes is read from an index tensor

        x, index, out: any type out: the elements
        axis: nothing for KILN_INDEX_ND
    """
    return _table.gather((x, index, out, form, axis, None,), stream, device)


def gather_backward(index, dout, *, form="elements", axis=-1, dx, stream=None, device=None):
    """gather and scatter: elements of x whose index along some axes is read from an index tensor

    dx[i] is the sum of dout over the elements that are x[i], in the order of the indices: the same bits every time. Types: f16, bf16,
    f32, f64; sums of 16-bit types are f32.

        workspace: u32, dense: as many elements as kiln_gather_backward_workspace says
    """
    return _table.gather_backward((index, dout, dx, None, form, axis, None,), stream, device)


def scatter(index, source, *, form="elements", axis=-1, op="set", out=None, stream=None, device=None):
    """gather and scatter: elements of x whose index along some axes is read from an index tensor

    out[index] = out[index] op source, for the elements in their row-major order: the same bits every time. out is x of the forms.
    Types: any for KILN_SCATTER_SET; else f16, bf16, f32, f64 and integers of 32 and 64 bits. At most 2^31 - 1 indices, and 2^32 - 258
    places along the axes that they index.

        workspace: u32, dense: as many elements as kiln_scatter_workspace says
    """
    return _table.scatter((index, source, out, None, form, axis, op, None,), stream, device)


def embedding(weight, index, *, out=None, stream=None, device=None):
    """embedding: out[i…] = weight[index[i…]]

        weight: [rows, columns]
        index: i32 or i64, any rank
        out: the sizes of index, then columns
    """
    return _table.embedding((weight, index, out, None,), stream, device)


def embedding_backward(index, dout, *, has_padding=False, padding=0, is_added=False, dweight, stream=None, device=None):
    """embedding: out[i…] = weight[index[i…]]

    dweight is the sum of the rows of dout with the same index, in their order; the same bits every time.

        workspace: u32, dense
        has_padding: rows of dout with the index `padding` do not count
        is_added: to what dweight has; else it starts with 0
    """
    return _table.embedding_backward((index, dout, dweight, None, has_padding, padding, is_added, None,), stream, device)


def random(*, kind="uniform", seed=0, offset=0, alpha=0.0, beta=0.0, low=0, high=0, out, stream=None, device=None):
    """random numbers: Philox4x32-10, the same bits on every device
    """
    return _table.random((out, kind, seed, offset, alpha, beta, low, high, None,), stream, device)


def dropout(x, *, rate=0.0, seed=0, offset=0, out=None, stream=None, device=None):
    """dropout: out = 0 with the probability `rate`, else x / (1 - rate)

    Types: f16, bf16, f32, f64. Nothing is stored: backward takes dout as x and dx as out, with the same rate, seed and offset. out
    may be the same view as x.
    """
    return _table.dropout((x, out, rate, seed, offset, None,), stream, device)


def dropout_backward(x, *, rate=0.0, seed=0, offset=0, out=None, stream=None, device=None):
    """dropout: out = 0 with the probability `rate`, else x / (1 - rate)

    Types: f16, bf16, f32, f64. Nothing is stored: backward takes dout as x and dx as out, with the same rate, seed and offset. out
    may be the same view as x.
    """
    return _table.dropout_backward((x, out, rate, seed, offset, None,), stream, device)


def generate(*, op="fill", x=None, alpha=0.0, beta=0.0, diagonal=0, out, stream=None, device=None):
    """tensors from the indices of their elements

    The backward pass of a triangle is the same triangle of dout; it may be in place.

        x: TRIL, TRIU: as out; ONE_HOT: i32 or i64, without out's last dimension
        diagonal: EYE, TRIL, TRIU: column minus row; 0: the main one
    """
    return _table.generate((op, x, out, alpha, beta, diagonal, None,), stream, device)


def rope(x, cos, sin, *, is_interleaved=False, out=None, stream=None, device=None):
    """rope: rotary position embedding, pairs of numbers turned by an angle

    Types: f16, bf16, f32, f64, x and out the same; the tables have any of them. x is [..., dim], with any strides: [batch, heads,
    length, dim] or [batch, length, heads, dim]. cos and sin are [..., pairs] and are broadcast to x: [length, pairs], or [length, 1,
    pairs] where heads are behind the length, or [batch, 1, length, pairs]. The first 2 * pairs numbers are turned, others are copied.
    out may be the same view as x. Backward takes dout as x and dx as out.

        is_interleaved: pairs are x[2 * i], x[2 * i + 1] (GPT-J); else x[i], x[i + pairs] (NeoX)
    """
    return _table.rope((x, out, cos, sin, is_interleaved, None,), stream, device)


def rope_backward(x, cos, sin, *, is_interleaved=False, out=None, stream=None, device=None):
    """rope: rotary position embedding, pairs of numbers turned by an angle

    Types: f16, bf16, f32, f64, x and out the same; the tables have any of them. x is [..., dim], with any strides: [batch, heads,
    length, dim] or [batch, length, heads, dim]. cos and sin are [..., pairs] and are broadcast to x: [length, pairs], or [length, 1,
    pairs] where heads are behind the length, or [batch, 1, length, pairs]. The first 2 * pairs numbers are turned, others are copied.
    out may be the same view as x. Backward takes dout as x and dx as out.

        is_interleaved: pairs are x[2 * i], x[2 * i + 1] (GPT-J); else x[i], x[i + pairs] (NeoX)
    """
    return _table.rope_backward((x, out, cos, sin, is_interleaved, None,), stream, device)


def rope_tables(*, positions=None, offset=0, base=0.0, scale=0.0, cos, sin, stream=None, device=None):
    """rope: rotary position embedding, pairs of numbers turned by an angle

    The tables: angle = (position + offset) * scale * base to the power of -2 * i / (2 * pairs), computed in f64.

        cos, sin: [..., pairs], of the same sizes and type
        positions: i32 or i64, cos without its last dimension; without a buffer: the index along the dimension before the last
        base, scale: scale 0: 1
    """
    return _table.rope_tables((cos, sin, positions, offset, base, scale, None,), stream, device)


def upsample(x, *, mode="nearest", aligns_corners=False, sizes=(), out=None, stream=None, device=None):
    """upsample: x at other sizes

    Dimensions of other sizes in out are interpolated, up to three of them by KILN_UPSAMPLE_LINEAR: linear, bilinear, trilinear.
    Output i is at input (i + 0.5) * in / out - 0.5, but not below 0; with aligns_corners at i * (in - 1) / (out - 1).
    """
    return _table.upsample((x, out, mode, aligns_corners, None, sizes,), stream, device)


def upsample_backward(dout, *, mode="nearest", aligns_corners=False, dx, stream=None, device=None):
    """upsample: x at other sizes

    Each element of dx is a sum over the outputs that it is in, in their order: the same bits every time.
    """
    return _table.upsample_backward((dout, dx, mode, aligns_corners, None,), stream, device)


def bitwise(a, *, op="and", b=None, out=None, stream=None, device=None):
    """bits of integers: out = a op b

    All views have the same type; a and b are broadcast to out, which may be the same view as one.
    """
    return _table.bitwise((op, a, b, out, None,), stream, device)


def quantise(x, scale, *, zero=None, out=None, stream=None, device=None):
    """affine numbers of eight bits

    kiln_quantise: out = round(x / scale) + zero, within the range of its type (i8, u8); ties to even. kiln_dequantise: out = (x -
    zero) * scale. Floats are f16, bf16, f32. scale (f32) and zero (of the narrow type; without a buffer: 0) are broadcast: one number
    for all, or one for each row or channel.
    """
    return _table.quantise((x, scale, zero, out, None,), stream, device)


def dequantise(x, scale, *, zero=None, out=None, stream=None, device=None):
    """affine numbers of eight bits

    kiln_quantise: out = round(x / scale) + zero, within the range of its type (i8, u8); ties to even. kiln_dequantise: out = (x -
    zero) * scale. Floats are f16, bf16, f32. scale (f32) and zero (of the narrow type; without a buffer: 0) are broadcast: one number
    for all, or one for each row or channel.
    """
    return _table.dequantise((x, scale, zero, out, None,), stream, device)


def gguf_matmul(x, weight, *, type="q4_0", bias=None, kernel="best", tile_rows=0, out=None, stream=None, device=None):
    """products: out = x * transposed weight (+ bias)

    Types of x: f16, bf16, f32; out and bias are any of these. Sums are f32, in an order that depends on the sizes and the kernel
    alone. VECTOR and TILE do not round the weights, and give the same bits on every device. TENSOR rounds each weight to the type of
    x, and needs rows of x that are contiguous and start at multiples of 16 bytes. BEST is VECTOR for 8 rows of x at most; for more it
    is TENSOR on a GPU that can, else TILE.

        x: [m, k], any strides; k is a multiple of the format's block
        weight: [n, bytes of a row of k elements] u8; rows are contiguous
        bias: [n]; optional
        out: [m, n], any strides; must not overlap the others
        kernel: instead of the best
        tile_rows: rows of x of a tile of TENSOR: 16, 64, 128; 0: chosen
    """
    return _table.gguf_matmul((type, x, weight, bias, out, kernel, tile_rows, None,), stream, device)


def gguf_dequantise(weight, *, type="q4_0", out, stream=None, device=None):
    """conversions on a device

    Blocks to floats (f16, bf16, f32): each element is rounded once.

        weight: [n, bytes of a row of k elements] u8; rows are contiguous
        out: [n, k], any strides
    """
    return _table.gguf_dequantise((type, weight, out, None,), stream, device)


def gguf_quantise(x, *, type="q4_0", out, stream=None, device=None):
    """conversions on a device

    Floats (f16, bf16, f32; finite, below 65504 in magnitude) to blocks. Formats of 32 elements round as their definition says. For
    those of 256 a group's largest magnitude, or its extremes, are the ends of its levels; programs that search for better scales
    write other bytes.

        x: [n, k], any strides
        out: [n, bytes of a row of k elements] u8; rows are contiguous
    """
    return _table.gguf_quantise((type, x, out, None,), stream, device)


def linear(x, weight, *, scale=None, zero=None, x_scale=None, bias=None, group=0, activation="none", kernel="best", out=None, stream=None, device=None):
    """linear layers with quantised weights

    out = activation(x * transposed weights + bias). x is f16, bf16 or f32, sums are f32, out is f16, bf16 or f32. x of i8 takes
    weights of i8: sums are i32, and out = activation(sum * scale * x_scale + bias), the same bits on every device; or out is i32, the
    sums themselves, without scales, bias and activation.

        x: [m, k]
        weight: int8 or int4
        scale: of the weights; none where out is i32
        zero: without a buffer: 0 for int8, 8 for int4
        x_scale: [m] or [1] f32; without a buffer: 1. For x of i8 alone
        bias: [n] f32; without a buffer: none
        out: [m, n]
        group: elements of K with one scale: a power of two from 32; 0: all
        activation: of the sum with the bias
        kernel: instead of the best
        workspace: dense, at a multiple of 16 bytes: as many bytes as kiln_linear_workspace says; without a buffer: none
    """
    return _table.linear((x, weight, scale, zero, x_scale, bias, out, group, activation, kernel, None, None,), stream, device)


def linear_qkv(x, weight_q, weight_k, weight_v, *, scale_q=None, scale_k=None, scale_v=None, zero_q=None, zero_k=None, zero_v=None, x_scale=None, bias_q=None, bias_k=None, bias_v=None, group=0, kernel="best", out_q=None, out_k=None, out_v=None, stream=None, device=None):
    """linear layers with quantised weights

    Three layers on one x in one launch: the projections to queries, keys and values. Each has its own number of rows; formats, groups
    and types are the same, and so is whether there are zeros and biases. The results have the bits of three calls of kiln_linear, but
    for KILN_LINEAR_FEW and KILN_LINEAR_REGISTERS, whose sums have parts that depend on the number of rows of all weights.

        x: [m, k]
        weight_q, weight_k, weight_v: as of kiln_linear
        scale_q, scale_k, scale_v: none where the results are i32
        zero_q, zero_k, zero_v: without a buffer: 0 for int8, 8 for int4
        x_scale: [m] or [1] f32; without a buffer: 1
        bias_q, bias_k, bias_v: f32; without a buffer: none
        out_q, out_k, out_v: [m, n of each]
        group: as of kiln_linear
        kernel: instead of the best
    """
    return _table.linear_qkv((x, weight_q, weight_k, weight_v, scale_q, scale_k, scale_v, zero_q, zero_k, zero_v, x_scale, bias_q, bias_k, bias_v, out_q, out_k, out_v, group, kernel, None,), stream, device)


def quantise_weights(x, *, group=0, bits=8, weight=None, scale=None, zero=None, stream=None, device=None):
    """quantised weights on the device

    Makes weights of numbers, row by row and group by group, and numbers of weights. kiln_quantise_weights: without zero a scale is
    the largest magnitude of its group over 127 or 7, and q is from -127 to 127, or 1 to 15 with 8 in the middle. With zero the range
    from the smallest to the largest number, and 0, is spread over all values of q. Scales are rounded to their type first, then q =
    round(x / scale) + zero; ties to even. A group of zeros has scale 0; a NaN counts as 0.

        x: [n, k] f32, f16 or bf16
        weight: int8 or int4, written
        scale: written
        zero: written; without a buffer: symmetric
        group: as of kiln_linear
    """
    return _table.quantise_weights((x, weight, scale, zero, group, None, bits,), stream, device)


def dequantise_weights(weight, scale, *, zero=None, group=0, k=0, out=None, stream=None, device=None):
    """quantised weights on the device

    out = (q - zero) * scale, computed in f32.

        weight: int8 or int4
        scale: as of kiln_linear
        zero: without a buffer: 0 for int8, 8 for int4
        out: [n, k] f32, f16 or bf16
        group: as of kiln_linear
    """
    return _table.dequantise_weights((weight, scale, zero, out, group, None, k,), stream, device)


def matmul(a, b, *, bias=None, is_tf32=False, is_tf32x3=False, epilogue="none", waits_for_previous=False, b_is_constant=False, kernel="best", tile_m=0, tile_n=0, a_scale=None, b_scale=None, residual=None, pre=None, out=None, stream=None, device=None):
    """matrix product: out = finish(a * b)

    Types of a and b: bf16, f16, f8e4 (out: f32, f16, bf16), f32 (out: f32; with is_tf32 f16 and bf16 too), i8 (out: i32, no
    epilogue). Sums are f32, for i8 i32. A transposed operand is a view with exchanged strides: kiln_view_transpose. Dimensions in
    front of the last two are batches; those of a and b are broadcast to those of out. Any strides are possible; operands in which
    neither the rows nor the columns are contiguous are much slower.

        a: [..., m, k]
        b: [..., k, n]
        out: [..., m, n]; must not overlap the others
        bias: [n] f32; nothing without an epilogue
        is_tf32: f32 operands are rounded to tf32 (10 bits after the point) where that is faster f32 operands may be sums of two tf32 numbers, multiplied by the matrix unit (sm_90a) in three products: 22 bits of each operand count instead of 24, and with an infinite operand the sum is NaN. Elsewhere it is the plain product.
        b_is_constant: no kernel on a stream writes b: the kernel may read it while others run
        kernel: instead of the best
        tile_m, tile_n: of the kernel; 0: chosen, with all of sm90
        a_scale, b_scale: Factors of the sum, f32, in front of the bias. For the whole: [1]; for each row of a: [m]; for each column of b: [n]. With factors an i8 product may be f32, f16 or bf16 and have an epilogue. For blocks of 128 along k, of f8e4 and i8: a_scale [m, k / 128] and b_scale [k / 128, n / 128], both rounded up; each 128 products are summed by themselves, scaled, and added in f32. The same factors are for all batches.
        residual: [..., m, n] of out's type: added behind the activation. It may be out itself.
        pre: [..., m, n] of out's type: what the activation gets is stored there, for kiln_matmul_backward.
    """
    return _table.matmul((a, b, out, bias, is_tf32, is_tf32x3, epilogue, None, waits_for_previous, b_is_constant, kernel, tile_m, tile_n, None, a_scale, b_scale, residual, pre,), stream, device)


def matmul_backward(a, b, dout, *, saved=None, a_scale=None, b_scale=None, epilogue="none", is_tf32=False, da=None, db=None, dbias=None, da_scale=None, db_scale=None, stream=None, device=None):
    """matrix product: out = finish(a * b)

    Gradients of kiln_matmul: of a number whose gradient by `out` is dout. That of the residual is dout itself. a and b are bf16, f16
    or f32; dout, `saved` and the results have the types of the forward call. Sizes in front of the last two are the same for all;
    where b has two dimensions, it was the same for all batches, and db is the sum of theirs.

        a: [..., m, k]
        b: [..., k, n]
        dout: [..., m, n]
        saved: [..., m, n]: `pre` of the forward call, of relu its result without a residual as well; may be left out where there is no activation
        da: as a; without a buffer it is not computed
        db: as b; without a buffer it is not computed
        dbias: [n] f32; without a buffer it is not computed
        a_scale: of the forward call, or none: [1], [m]
        b_scale: of the forward call, or none: [1], [n]
        da_scale: as a_scale; without a buffer it is not computed. Gradients of factors take one more product, the sums of the forward call
        db_scale: as b_scale; without a buffer it is not computed
        is_tf32: as in the forward call
    """
    return _table.matmul_backward((a, b, dout, saved, da, db, dbias, a_scale, b_scale, da_scale, db_scale, epilogue, is_tf32, None,), stream, device)


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



def reduce_backward(x, out, dout, *, op="sum", axes=0, alpha=0.0, dx=None, stream=None, device=None):
    """reductions: one number for all elements along some dimensions

    Floats. The largest and the smallest share the gradient among equal elements; a product has the right gradient where elements are
    0. dx may be the same view as x.

        x, out, dout: of the forward call, its result, and the gradient of that
        workspace: as many bytes as kiln_reduce_backward_workspace says
    """
    return _table.reduce_backward((op, x, out, dout, dx, axes, alpha, None, None,), stream, device)


def cross_entropy(logits, targets, *, weight=None, axis=-1, reduction="rows", label_smoothing=0.0, has_ignored_class=False, ignored_class=0, loss=None, lse=None, total_weight=None, stream=None, device=None):
    """cross-entropy: what log-softmax of logits and the negative log-likelihood of classes are

    The loss of a row is -w[y] log p[y] for its class y; with label smoothing s that is multiplied by 1 - s, and s / classes times the
    sum of -w[c] log p[c] over all classes is added. The weight of a row is w[y]; without weights all are 1. A class that there is not
    gives NaN. Types: f16, bf16, f32; sums are f32.

        logits: the classes lie along `axis`
        targets: i32 or i64: logits without the axis
        weight: [classes] f32; without a buffer: none
        loss: f16, bf16 or f32: logits without the axis, or one element
        lse: f32, as targets: what backward needs; without a buffer: not wanted
        total_weight: f32, one element: what backward of a mean needs; without a buffer: not wanted. Not written with KILN_LOSS_ROWS, 0 with KILN_LOSS_SUM
        workspace: as many bytes as kiln_cross_entropy_workspace says; 0 for rows
        label_smoothing: 0 to 1
        has_ignored_class: rows of ignored_class have the loss, weight and gradient 0
    """
    return _table.cross_entropy((logits, targets, weight, loss, lse, total_weight, None, axis, reduction, label_smoothing, has_ignored_class, ignored_class, None,), stream, device)


def cross_entropy_backward(logits, targets, lse, dloss, *, weight=None, total_weight=None, axis=-1, reduction="rows", label_smoothing=0.0, has_ignored_class=False, ignored_class=0, dlogits=None, stream=None, device=None):
    """cross-entropy: what log-softmax of logits and the negative log-likelihood of classes are

    dlogits may be the same view as logits.

        logits, targets, weight: of the forward call
        lse, total_weight: its results; total_weight only for a mean
        dloss: the gradient of its loss
    """
    return _table.cross_entropy_backward((logits, targets, weight, lse, total_weight, dloss, dlogits, axis, reduction, label_smoothing, has_ignored_class, ignored_class, None,), stream, device)


def scan(x, *, op="sum", axis=-1, is_exclusive=False, is_reverse=False, out=None, stream=None, device=None):
    """scans: running values along an axis

    out[i] is the value of x[0] to x[i]. Types: f16, bf16, f32, f64, integers and bool; out is of any type. Running values of 16-bit
    floats are f32, of integers 64 bits. out may be the same view as x.

        x, out: of the same sizes; of backward: dout and dx
        is_exclusive: x[i] does not count: out[0] is 0, 1 or minus or plus infinity; for integers instead of infinity the ends of x's type
        is_reverse: from the last element to the first
        workspace: dense, of any type: as many bytes as kiln_scan_workspace says
    """
    return _table.scan((op, x, out, axis, is_exclusive, is_reverse, None, None,), stream, device)


def scan_backward(x, *, op="sum", axis=-1, is_exclusive=False, is_reverse=False, out=None, stream=None, device=None):
    """scans: running values along an axis

    out[i] is the value of x[0] to x[i]. Types: f16, bf16, f32, f64, integers and bool; out is of any type. Running values of 16-bit
    floats are f32, of integers 64 bits. out may be the same view as x.

        x, out: of the same sizes; of backward: dout and dx
        is_exclusive: x[i] does not count: out[0] is 0, 1 or minus or plus infinity; for integers instead of infinity the ends of x's type
        is_reverse: from the last element to the first
        workspace: dense, of any type: as many bytes as kiln_scan_workspace says
    """
    return _table.scan_backward((op, x, out, axis, is_exclusive, is_reverse, None, None,), stream, device)


def sort(x, *, values=None, axis=-1, is_descending=False, out=None, index=None, values_out=None, stream=None, device=None):
    """sort: the elements along an axis in order, and where they were

    Types: f16, bf16, f32, f64, integers and bool. The order is that of the numbers, -0 before +0, NaN after all others; descending
    the reverse. Equal elements keep their order. Results without a buffer are not wanted.

        out: of the type and sizes of x; without a buffer: not wanted
        index: i32 or i64, where each was in x; without a buffer: not wanted
        values, values_out: of any type, in the same order; without a buffer: none
        workspace: dense, of any type: as many bytes as kiln_sort_workspace says
    """
    return _table.sort((x, out, index, values, values_out, axis, is_descending, None, None,), stream, device)


def topk(x, *, axis=-1, is_smallest=False, k=1, out=None, index=None, stream=None, device=None):
    """sort: the elements along an axis in order, and where they were

    The k largest elements along an axis, the largest first, or the k smallest; of equal ones those that come first. k is the size of
    the results along the axis.

        out: of the type of x; without a buffer: not wanted
        index: i32 or i64; without a buffer: not wanted
        workspace: as many bytes as kiln_topk_workspace says
    """
    return _table.topk((x, out, index, axis, is_smallest, None, None, k,), stream, device)


def sort_backward(dout, index, *, axis=-1, dx, stream=None, device=None):
    """sort: the elements along an axis in order, and where they were

    Of both: dx[index[i]] = dout[i] along the axis, and 0 where no index points. No index may come twice. Types: f16, bf16, f32, f64.

        dout, index: the gradient of the elements, and their indices
    """
    return _table.sort_backward((dout, index, dx, axis, None,), stream, device)


def histogram(x, *, low=0.0, high=0.0, bins=10, out=None, stream=None, device=None):
    """histogram: how many elements are in each bin

    With a range the bins are equal parts of it: bin floor((x - low) / (high - low) * bins), and the last one for x = high. Without
    one (low and high 0) an integer is its own bin. Elements outside, and NaN, are not counted. Types: f16, bf16, f32, f64, integers
    and bool. The bin of a 16-bit or f32 number is computed in f32, of others in f64.

        x: of any sizes
        out: [bins] i32, u32, i64 or u64
        low, high: of the first bin, of the last one
    """
    return _table.histogram((x, out, low, high, None, bins,), stream, device)

__all__ = [
    "elementwise_backward", "attention", "attention_backward", "conv", "conv_backward", "pool", "pool_backward", "softmax", "softmax_backward",
    "norm", "norm_backward", "group_norm", "group_norm_backward", "batch_norm", "batch_norm_backward", "copy_view", "concat", "split", "pad",
    "pad_backward", "gather", "gather_backward", "scatter", "embedding", "embedding_backward", "random", "dropout", "dropout_backward", "generate",
    "rope", "rope_backward", "rope_tables", "upsample", "upsample_backward", "bitwise", "quantise", "dequantise", "gguf_matmul", "gguf_dequantise",
    "gguf_quantise", "linear", "linear_qkv", "quantise_weights", "dequantise_weights", "matmul", "matmul_backward", "sum", "mean", "prod", "amax",
    "amin", "any", "all", "count_nonzero", "vector_norm", "variance", "deviation", "argmax", "argmin", "logsumexp", "reduce_backward",
    "cross_entropy", "cross_entropy_backward", "scan", "scan_backward", "sort", "topk", "sort_backward", "histogram", "copy", "add", "sub", "mul",
    "div", "pow", "min", "max", "hypot", "atan2", "multiply_add", "lerp", "scale", "blend", "neg", "abs", "sign", "square", "reciprocal", "floor",
    "ceil", "round", "clamp", "where", "trunc", "frac", "fmod", "remainder", "floor_divide", "heaviside", "quantise_i8", "quantise_u8", "equal",
    "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_not", "is_nan", "is_inf", "is_finite", "exp",
    "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "erf", "log10", "logit", "xlogy",
    "logaddexp", "cbrt", "asin", "acos", "asinh", "acosh", "atanh", "erfc", "relu", "relu6", "leaky_relu", "elu", "selu", "celu", "gelu", "gelu_tanh",
    "sigmoid", "log_sigmoid", "silu", "softplus", "softsign", "mish", "hardsigmoid", "hardswish", "hardtanh", "prelu", "threshold", "hardshrink",
    "softshrink", "tanhshrink", "relu_squared", "quick_gelu", "swish", "add_relu", "add_gelu", "add_silu", "silu_gate", "gelu_gate", "sigmoid_gate",
    "relu_gate", "squared_error", "absolute_error", "huber", "smooth_l1", "bce", "bce_logits", "hinge", "soft_margin",
]
