"""Types of elements: Kiln's names and numbers beside those of NumPy, PyTorch and DLPack."""

from __future__ import annotations

import struct
from typing import Any

from . import _abi

# Kiln's name, number, bytes, NumPy's name (or that of ml_dtypes), DLPack's code, format of a scalar for the module struct
_ROWS = [
    ("bool", _abi.KILN_BOOL, 1, "bool", _abi.KILN_DL_BOOL, "?"),
    ("i8", _abi.KILN_I8, 1, "int8", _abi.KILN_DL_INT, "b"),
    ("u8", _abi.KILN_U8, 1, "uint8", _abi.KILN_DL_UINT, "B"),
    ("i16", _abi.KILN_I16, 2, "int16", _abi.KILN_DL_INT, "h"),
    ("u16", _abi.KILN_U16, 2, "uint16", _abi.KILN_DL_UINT, "H"),
    ("i32", _abi.KILN_I32, 4, "int32", _abi.KILN_DL_INT, "i"),
    ("u32", _abi.KILN_U32, 4, "uint32", _abi.KILN_DL_UINT, "I"),
    ("i64", _abi.KILN_I64, 8, "int64", _abi.KILN_DL_INT, "q"),
    ("u64", _abi.KILN_U64, 8, "uint64", _abi.KILN_DL_UINT, "Q"),
    ("f16", _abi.KILN_F16, 2, "float16", _abi.KILN_DL_FLOAT, "e"),
    ("bf16", _abi.KILN_BF16, 2, "bfloat16", _abi.KILN_DL_BFLOAT, ""),
    ("f8e4", _abi.KILN_F8E4, 1, "float8_e4m3fn", _abi.KILN_DL_FLOAT8_E4M3FN, ""),
    ("f8e5", _abi.KILN_F8E5, 1, "float8_e5m2", _abi.KILN_DL_FLOAT8_E5M2, ""),
    ("f32", _abi.KILN_F32, 4, "float32", _abi.KILN_DL_FLOAT, "f"),
    ("f64", _abi.KILN_F64, 8, "float64", _abi.KILN_DL_FLOAT, "d"),
]

NAME = {row[1]: row[0] for row in _ROWS} | {_abi.KILN_VOID: "bytes"}
SIZE = {row[1]: row[2] for row in _ROWS}
NUMPY_NAME = {row[1]: row[3] for row in _ROWS}
FROM_NAME = {row[3]: row[1] for row in _ROWS} | {row[0]: row[1] for row in _ROWS}
FROM_DLPACK = {(row[4], row[2] * 8): row[1] for row in _ROWS}
DLPACK = {row[1]: (row[4], row[2] * 8) for row in _ROWS}
PACK = {row[1]: struct.Struct("<" + row[5]) for row in _ROWS if row[5]}
FLOATS = {_abi.KILN_F16, _abi.KILN_BF16, _abi.KILN_F8E4, _abi.KILN_F8E5, _abi.KILN_F32, _abi.KILN_F64}


_known: dict[Any, int] = {}


def type_of(dtype: Any) -> int | None:
    """Kiln's number for a dtype of NumPy, PyTorch, JAX, for a name or a Python type; None: there is none."""
    if isinstance(dtype, str):
        return FROM_NAME.get(dtype.removeprefix("torch."))
    if dtype is float or dtype is int or dtype is bool:  # not ==: a dtype of NumPy equals Python's type
        return _abi.KILN_F32 if dtype is float else _abi.KILN_I64 if dtype is int else _abi.KILN_BOOL
    try:
        return _known[type(dtype), dtype]  # with its type: a dtype of NumPy equals Python's
    except (KeyError, TypeError):
        pass
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype).removeprefix("torch.")
    found = FROM_NAME.get(name)
    if found is not None:
        _known[type(dtype), dtype] = found
    return found
