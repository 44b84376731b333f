"""Linear layers with weights as GGUF files have them, for PyTorch: the blocks stay what they are."""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from .. import _abi
from .. import _op_table as table
from .._errors import ArgumentError, TypeMismatch, check
from .._library import library
from ._call import Call, empty, new, type_name
from ._direct import direct
from ._products import packed, rows_of
from ._register import register, wanted

_TYPES = _abi.ENUMS["kiln_gguf_type"]
_matmul_call = Call(table.gguf_matmul, "gguf_linear", "x weight bias out", "type")
_dequantise_call = Call(table.gguf_dequantise, "gguf_dequantise", "weight out", "type")


def _row_bytes(call: str, kind: str, k: int) -> int:
    if kind not in _TYPES:
        raise ArgumentError("%s: kind='%s': one of %s" % (call, kind, ", ".join(_TYPES)))
    size = ctypes.c_uint64()
    check(library.kiln_gguf_row_bytes(_TYPES[kind], k, ctypes.byref(size)))
    return size.value


def _shape(x: Any, weight: Any, kind: str, bias: Any) -> Any:
    if weight.dtype != torch.uint8 or weight.dim() != 2:
        raise TypeMismatch("gguf_linear: 'weight' is %s of %d dimensions: the bytes of a file, uint8 [outputs, bytes of a row]" % (type_name(weight), weight.dim()))
    if x.dim() < 1 or isinstance(x.shape[-1], int) and _row_bytes("gguf_linear", kind, x.shape[-1]) != weight.shape[1]:
        raise ArgumentError("gguf_linear: rows of 'x' %s are not those of 'weight' %s as %s" % (list(x.shape), list(weight.shape), kind))
    if bias is not None and (bias.dim() != 1 or bias.shape[0] != weight.shape[0]):
        raise ArgumentError("gguf_linear: 'bias' is %s, 'weight' has %d rows: a number for each of them" % (list(bias.shape), weight.shape[0]))
    return (*x.shape[:-1], weight.shape[0])


def _linear(x: Any, weight: Any, kind: str, bias: Any = None) -> Any:
    out = new(_shape(x, weight, kind, bias), x.dtype, x.device)
    _matmul_call((rows_of(x), weight, bias, rows_of(out)), _TYPES[kind])
    return out


def _dequantise(weight: Any, kind: str, k: int, dtype: Any) -> Any:
    if _row_bytes("gguf_dequantise", kind, k) != weight.shape[1]:
        raise ArgumentError("gguf_dequantise: 'weight' %s is not rows of %d numbers as %s" % (list(weight.shape), k, kind))
    out = new((weight.shape[0], k), dtype, weight.device)
    _dequantise_call((weight, out), _TYPES[kind])
    return out


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, weight, ctx.kind, bias = inputs
    ctx.shape, ctx.bias_type = x.shape, None if bias is None else bias.dtype
    ctx.save_for_backward(weight)


def _gradient(ctx: Any, grad: Any) -> Any:
    (weight,) = ctx.saved_tensors
    want_x, _, _, want_bias = wanted(ctx, 4)
    rows = packed(rows_of(grad))
    dx = None
    if want_x:
        dx = direct.matmul(rows, direct.gguf_dequantise(weight, ctx.kind, ctx.shape[-1], grad.dtype)).view(ctx.shape)
    return dx, None, None, rows.sum(0, dtype=torch.float32).to(ctx.bias_type) if want_bias else None


register("gguf_dequantise(Tensor weight, str kind, SymInt k, ScalarType dtype) -> Tensor", _dequantise,
         lambda weight, kind, k, dtype: empty((weight.shape[0], k), dtype, weight.device), lambda ctx, grad: (None,) * 4,
         lambda ctx, inputs, output: ctx.mark_non_differentiable(output))  # fmt: skip
register("gguf_linear(Tensor x, Tensor weight, str kind, Tensor? bias=None) -> Tensor", _linear,
         lambda x, weight, kind, bias=None: empty(_shape(x, weight, kind, bias), x.dtype, x.device), _gradient, _setup, casts=1)  # fmt: skip


def gguf_linear(x: Any, weight: Any, kind: str, bias: Any = None) -> Any:
    """x times the transposed weights, which are the bytes of a GGUF file: uint8 [outputs, bytes of a row], of the format `kind` ("q4_k" …)."""
    return direct.gguf_linear(x, weight, kind, bias)


def gguf_dequantise(weight: Any, kind: str, k: int, dtype: Any = torch.float32) -> Any:
    """The numbers of such weights: [outputs, k]."""
    return direct.gguf_dequantise(weight, kind, k, dtype)
