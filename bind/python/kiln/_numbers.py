"""Numbers and texts on their way to the library: what is none, or does not fit the field of a description, is named before the call."""

from __future__ import annotations

import math
from typing import Any, Iterable

from . import _abi
from ._errors import ArgumentError, TypeMismatch
from ._types import FLOATS, NAME, SIZE

_RANGES = {letter: (-(1 << bits - 1), (1 << bits - 1) - 1) if letter.islower() else (0, (1 << bits) - 1)
           for letter, bits in (("i", 32), ("I", 32), ("q", 64), ("Q", 64))}  # fmt: skip
_TOPS = ((1 << 63) - 1, (1 << 64) - 1)  # what a double above them becomes
_MOST_F32 = 3.4028235677973366e38  # from here on a number rounds to infinity


def for_c(where: str, value: Any) -> bytes:
    """A text as C has it: UTF-8 without a character 0."""
    if not isinstance(value, str):
        raise TypeMismatch("%s: %r: a text" % (where, value))
    if "\0" in value:
        raise ArgumentError("%s: it has a character 0 at %d, where C ends" % (where, value.index("\0")))
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError("%s: character %d, %r, is none of UTF-8: it was read with another encoding" % (where, error.start, value[error.start])) from None


def plain(value: Any) -> Any:
    """A number of Python's for one of NumPy's, or for an array without dimensions."""
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value


def whole(where: str, value: Any, letter: str = "q") -> int:
    """A whole number for a field of this letter of the module struct; where: "softmax: axis", for the message."""
    given = plain(value)
    if not hasattr(given, "__index__") or hasattr(given, "shape"):
        raise TypeMismatch("%s=%r: a whole number" % (where, value))
    number: int = given.__index__()
    low, high = _RANGES[letter]
    if not low <= number <= high:
        raise ArgumentError("%s=%r: a whole number from %d to %d" % (where, value, low, high))
    return number


def wholes(where: str, values: Any, letter: str, most: int) -> tuple[int, ...]:
    """Several whole numbers."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeMismatch("%s=%r: whole numbers, as (1, 2)" % (where, values))
    many = tuple(values)
    if len(many) > most:
        raise ArgumentError("%s takes at most %d numbers, not %d" % (where, most, len(many)))
    return tuple(whole(where, one, letter) for one in many)


def real(where: str, value: Any, letter: str = "d") -> float:
    """A number for a field that is a float ("f") or a double."""
    given = plain(value)
    if not isinstance(given, (int, float)):
        raise TypeMismatch("%s=%r: a number" % (where, value))
    try:
        number = float(given)
    except OverflowError:
        raise ArgumentError("%s is a whole number of %d bits: a float does not reach it" % (where, int(given).bit_length())) from None
    if letter == "f" and math.isfinite(number) and abs(number) >= _MOST_F32:
        raise ArgumentError("%s=%r: f32 does not reach it" % (where, value))
    return number


def counted(where: str, value: Any, kind: int | None) -> float:
    """A number that is passed as a double and becomes one of this type: a whole number that no double has would be another one."""
    number, given = real(where, value), plain(value)
    if isinstance(given, int) and kind is not None and kind in SIZE and kind not in FLOATS and int(number) != given and given not in _TOPS:
        raise ArgumentError("%s=%r: it is passed as a double, which has whole numbers of 53 bits; the nearest is %d" % (where, value, int(number)))
    return number


def truth(where: str, value: Any) -> bool:
    """True or False, also as 1 or 0; a text is neither."""
    given = plain(value)
    if not isinstance(given, int) or given not in (0, 1):
        raise TypeMismatch("%s=%r: True or False" % (where, value))
    return bool(given)


def beside(where: str, value: Any, kind: int) -> Any:
    """A number beside an array of that type, which must have it: nothing is cut off."""
    if kind in FLOATS:
        number = real(where, value)
        if kind == _abi.KILN_F16 and math.isfinite(number) and abs(number) >= 65520:
            raise ArgumentError("%s is %r: f16 does not reach it" % (where, value))
        return number if SIZE[kind] == 8 else real(where, value, "f")
    if isinstance(value, float) and not value.is_integer():
        raise TypeMismatch("%s is %r beside an array of %s, which has whole numbers: convert the array first" % (where, value, NAME[kind]))
    whole_number, bits = int(value), 8 * SIZE[kind]
    low, high = (0, 1) if kind == _abi.KILN_BOOL else (0, 2**bits - 1) if NAME[kind][0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if not low <= whole_number <= high:
        raise ArgumentError("%s is %r: %s has the numbers from %d to %d" % (where, value, NAME[kind], low, high))
    return whole_number
