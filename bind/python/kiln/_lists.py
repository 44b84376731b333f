"""Nested lists to and from the elements of an array, for arrays of Kiln's own where NumPy is not installed."""

from __future__ import annotations

import struct
from typing import Any, Sequence

from . import _abi
from ._errors import ArgumentError
from ._library import library
from ._types import NAME, PACK, SIZE

_FLOATS = (_abi.KILN_F16, _abi.KILN_F32, _abi.KILN_F64)


def flatten(values: Any) -> tuple[tuple[int, ...], list[Any]] | None:
    """(shape, numbers in row-major order) of nested lists of Python's numbers; None: it is something else."""
    if isinstance(values, (bool, int, float)):
        return (), [values]
    if not isinstance(values, (list, tuple)):
        return None
    parts = [flatten(one) for one in values]
    shape: tuple[int, ...] = ()
    numbers: list[Any] = []
    for at, part in enumerate(parts):
        if part is None or (at and part[0] != shape):
            return None
        shape = part[0]
        numbers += part[1]
    return (len(parts), *shape), numbers


def is_ragged(values: Any) -> bool:
    """Lists of numbers that are no array: of different lengths, or numbers beside lists."""
    if not isinstance(values, (list, tuple)):
        return False
    parts = [flatten(one) for one in values]
    return any(is_ragged(one) for one in values) if None in parts else len({part[0] for part in parts if part is not None}) > 1


def kind_of(numbers: Sequence[Any]) -> int:
    """The type that NumPy would choose."""
    if numbers and all(isinstance(n, bool) for n in numbers):
        return _abi.KILN_BOOL
    return _abi.KILN_I64 if numbers and all(isinstance(n, int) for n in numbers) else _abi.KILN_F64


# The narrow floats that Python has no format for: bits of the exponent, of the fraction
_NARROW = {_abi.KILN_BF16: (8, 7), _abi.KILN_F8E4: (4, 3), _abi.KILN_F8E5: (5, 2)}


def _widened(bits: int, kind: int) -> float:
    """The number that the bits of a narrow float are."""
    exponent_bits, fraction_bits = _NARROW[kind]
    sign = -1.0 if bits >> (exponent_bits + fraction_bits) else 1.0
    exponent, fraction = bits >> fraction_bits & (1 << exponent_bits) - 1, bits & (1 << fraction_bits) - 1
    bias, most = (1 << exponent_bits - 1) - 1, (1 << exponent_bits) - 1
    if kind == _abi.KILN_F8E4:  # has no infinity, and one NaN
        if exponent == most and fraction == 7:
            return float("nan")
    elif exponent == most:
        return float("nan") if fraction else sign * float("inf")
    scale = 2.0 ** (max(exponent, 1) - bias - fraction_bits)
    return sign * scale * (fraction + (1 << fraction_bits if exponent else 0))


def to_bytes(numbers: Sequence[Any], kind: int) -> bytes:
    if kind in _NARROW:  # rounded as the library rounds
        return b"".join(library.kiln_arg_f64(kind, float(n)).bits.to_bytes(8, "little")[: SIZE[kind]] for n in numbers)
    convert = float if kind in _FLOATS else bool if kind == _abi.KILN_BOOL else int
    try:
        return struct.pack("<%d%s" % (len(numbers), PACK[kind].format[1:]), *map(convert, numbers))
    except (struct.error, OverflowError, ValueError) as error:
        raise ArgumentError("a list of numbers that are not all %s: %s" % (NAME[kind], error)) from None


def from_bytes(data: bytes, kind: int, shape: Sequence[int]) -> Any:
    """Nested lists; a number where there are no dimensions."""
    if kind in _NARROW:
        whole = struct.unpack("<%d%s" % (len(data) // SIZE[kind], "H" if SIZE[kind] == 2 else "B"), data)
        flat: list[Any] = [_widened(bits, kind) for bits in whole]
    else:
        flat = list(struct.unpack("<%d%s" % (len(data) // PACK[kind].size, PACK[kind].format[1:]), data))
    if not shape:
        return flat[0]
    if 0 in shape:
        return _empty(shape)
    for size in reversed(shape[1:]):
        flat = [flat[at : at + size] for at in range(0, len(flat), size)]
    return flat


def _empty(shape: Sequence[int]) -> Any:
    return [_empty(shape[1:]) for _ in range(shape[0])] if shape else None
