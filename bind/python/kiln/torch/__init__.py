"""Kiln's ops and kernels for PyTorch: kiln.torch.gelu(x), kiln.torch.attention(q, k, v), kiln.torch.op("my_kernel.c").

They are ops of torch.library (torch.ops.kiln): autograd, torch.compile, autocast, CUDA graphs and streams work as with PyTorch's own.
"""

from __future__ import annotations

from typing import Any

try:
    import torch as _torch
except ImportError as _error:
    raise ImportError("kiln.torch needs PyTorch 2.4 or later: pip install torch") from _error
if not hasattr(_torch.library, "register_autograd"):
    raise ImportError("kiln.torch needs PyTorch 2.4 or later, this is %s" % _torch.__version__)

from .._errors import TypeMismatch as _TypeMismatch
from . import _ops, _products, _reduce
from ._direct import direct as _direct
from ._fuse import fuse
from ._gguf import gguf_dequantise, gguf_linear
from ._images import adaptive_pool, average_pool, conv, conv_transposed, max_pool, pad, upsample
from ._index import concat, embedding, gather, gather_nd, scatter, sort, split, take, topk
from ._layers import Linear, Patch, attention_fits, patch, scaled_dot_product_attention
from ._more import add_norm, batch_norm, cross_entropy, cumsum, dropout, group_norm, rope, tril, triu
from ._quantised import QuantisedLinear, dequantise_weights, pack_int4, quantise_weights, quantised_linear, quantised_qkv, w8a8_linear
from ._user import op

__all__ = [
    "Linear", "Patch", "QuantisedLinear", "adaptive_pool", "add_norm", "attention", "attention_fits", "average_pool", "batch_norm", "concat",
    "conv", "conv_transposed", "cross_entropy", "cumsum", "dequantise_weights", "dropout", "embedding", "fuse", "gather", "gather_nd", "gguf_dequantise", "gguf_linear", "group_norm",
    "layer_norm", "linear", "log_softmax", "matmul", "max_pool", "norm", "op", "pack_int4", "pad", "patch", "quantise_weights",
    "quantised_linear", "quantised_qkv", "rms_norm", "rope", "scaled_dot_product_attention", "scatter", "softmax", "sort", "split", "take",
    "topk", "tril", "triu", "upsample", "w8a8_linear",
]  # fmt: skip


def matmul(a: Any, b: Any) -> Any:
    """a times b: [..., m, k] and [..., k, n]; dimensions in front are batches and are broadcast. Any strides."""
    return _direct.matmul(a, b)


def linear(x: Any, weight: Any, bias: Any = None, activation: str = "none") -> Any:
    """x times weight transposed, plus bias, then "relu", "gelu" (the tanh form) or "silu", in one kernel."""
    return _direct.linear(x, weight, bias, activation)


def softmax(x: Any, axis: int = -1) -> Any:
    """exp(x) / sum of exp(x) along an axis."""
    return _direct.softmax(x, axis, False)


def log_softmax(x: Any, axis: int = -1) -> Any:
    """The logarithm of softmax."""
    return _direct.softmax(x, axis, True)


def norm(x: Any, weight: Any = None, bias: Any = None, axis: int = -1, is_rms: bool = False, eps: float = 1e-5) -> Any:
    """(x - mean) / sqrt(variance + eps) * weight + bias along an axis; is_rms leaves the mean out."""
    return _direct.norm(x, weight, bias, axis, is_rms, eps)


def layer_norm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Layer norm along the last dimension."""
    return _direct.norm(x, weight, bias, -1, False, eps)


def rms_norm(x: Any, weight: Any = None, eps: float = 1e-5) -> Any:
    """Root mean square norm along the last dimension."""
    return _direct.norm(x, weight, None, -1, True, eps)


def attention(q: Any, k: Any, v: Any, is_causal: bool = False, scale: float | None = None, *, bias: Any = None, slopes: Any = None,
              window: tuple[int, int] | None = None) -> Any:  # fmt: skip
    """softmax(scale * q * transposed k) * v: [batch, heads, length, head_dim]. Fewer heads of k and v are shared. Causal: the last query sees all keys.

    bias is added to the scaled scores: [batch, heads, queries, keys], where a size of 1 is broadcast and dimensions in front may be missing. slopes
    [heads] are those of ALiBi. window = (left, right): a query sees so many keys before and behind its own; below 0: all.
    """
    if window is not None and not (isinstance(window, (tuple, list)) and len(window) == 2):
        raise _TypeMismatch("attention: window=%r: (left, right), how many keys a query sees before and behind its own" % (window,))
    left, right = window if window is not None else (-1, -1)
    return _direct.attention(q, k, v, is_causal, scale if scale is not None else 0.0, bias, slopes, left, right)[0]


# The names of the ops hide Python's own (abs, sum, any …) in this module: what makes them is elsewhere.
globals().update(_ops.functions())
globals().update(_reduce.functions())
__all__ += [*_ops.functions(), *_reduce.functions()]
