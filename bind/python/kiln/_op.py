"""One call of the op library: its arrays looked at, its results made, its description packed.

Which field of a description is what was found out when kiln/ops.py was generated; here is only the work of one call.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from ctypes import byref
from types import SimpleNamespace
from typing import Any, Iterable, Sequence

from . import _abi, _numbers, _shapes
from ._array import Array, Described, dense_strides, describe, empty, numpy_dtype
from ._borrow import Borrowed, choose_device
from ._device import NO_VIEW, Device
from ._errors import ArgumentError, Error, OutOfMemory, TypeMismatch
from ._library import library
from ._types import FLOATS, FROM_NAME, NAME, NUMPY_NAME, type_of


def allocate(like: Described, shape: Sequence[int], kind: int) -> Any:
    """A new array of the library that `like` comes from, in the same place; Kiln's own where that library has no such type or never writes."""
    module = type(like.source).__module__.partition(".")[0]
    if module == "torch":
        torch = sys.modules["torch"]
        return torch.empty(tuple(shape), dtype=getattr(torch, NUMPY_NAME[kind]), device=like.source.device)
    if module == "cupy":
        return sys.modules["cupy"].empty(tuple(shape), numpy_dtype(kind))
    if like.place == "host" and module == "numpy":
        import numpy

        dtype = numpy_dtype(kind)
        if type_of(dtype) == kind:
            return numpy.empty(tuple(shape), dtype)
    place = like.place if isinstance(like.place, Device) else like.wanted if like.place == "host" else like.place
    return empty(shape, NAME[kind], place)


def _no_gradient(call: str, values: Sequence[tuple[str, Any]]) -> None:
    for name, value in values:
        if getattr(value, "requires_grad", False) and sys.modules["torch"].is_grad_enabled():
            raise ArgumentError("%s: '%s' wants a gradient, which kiln.ops does not compute: call kiln.torch.%s, or pass %s.detach()" % (call, name, call, name))


class Op:
    """A function of ops.h that takes a description."""

    def __init__(self, function: str, form: str, fields: list[tuple[str, str, str]]) -> None:
        self.function = getattr(library, function)
        self.call = function.removeprefix("kiln_").removesuffix("_forward")
        self.pack = struct.Struct("<" + form).pack
        self.form = form
        self.fields = fields
        self.enums = {name: _abi.ENUMS[extra] for kind, name, extra in fields if kind == "enum"}
        self.sizes, self.letters = _field_sizes(form, fields)

    def packer(self, *names: str, fixed: dict[str, Any] | None = None) -> Any:
        """A function that packs the description from the values of these fields, in this order, a tuple for one with several; all others are zero, or fixed."""
        words: list[Any] = []
        at: dict[str, int] = {}
        for kind, name, extra in self.fields:
            at[name] = len(words)
            count = int(extra) if kind in ("views", "numbers") else 1
            if kind == "extra":
                continue
            is_view = kind in ("in", "in?", "out", "out?", "work", "views")
            words += [NO_VIEW if is_view else bytes(self.sizes[name]) if kind == "zeros" else False if kind == "bool" else 0] * count
        places = [at[name] for name in names]
        for name, value in (fixed or {}).items():
            many = value if isinstance(value, tuple) else (value,)
            words[at[name] : at[name] + len(many)] = many

        def pack(*values: Any) -> bytes:
            filled = words.copy()
            for place, value in zip(places, values):
                if isinstance(value, tuple):
                    filled[place : place + len(value)] = value
                else:
                    filled[place] = value
            return self.pack(*filled)

        return pack

    def _enum(self, name: str, value: Any) -> int:
        if isinstance(value, int):
            return _numbers.whole("%s: %s" % (self.call, name), value, "i")
        found = self.enums[name].get(value) if isinstance(value, str) else None
        if found is None:
            raise ArgumentError("%s: %s=%r: one of %s" % (self.call, name, value, ", ".join(self.enums[name])))
        return found

    def _input(self, name: str, value: Any) -> Described:
        one = describe(value, "%s: '%s'" % (self.call, name))
        if one is None:
            raise TypeMismatch("%s: '%s' is a %s, not an array" % (self.call, name, type(value).__name__))
        return _no_records(one, self.call, name)

    def __call__(self, values: tuple[Any, ...], stream: Any = None, device: Any = None, call: str = "") -> Any:
        call = call or self.call
        given = SimpleNamespace()
        arrays: dict[str, Any] = {}
        named: list[tuple[str, Described]] = []
        results: list[Any] = []
        for (kind, name, _), value in zip(self.fields, values):
            if kind in ("in", "in?"):
                if value is None:
                    if kind == "in":
                        raise ArgumentError("%s: '%s' is missing" % (call, _shown(name)))
                    continue
                one = arrays[name] = self._input(_shown(name), value)
                setattr(given, name, one)
                named.append((_shown(name), one))
            elif kind in ("views", "viewlist", "written"):
                if not isinstance(value, Iterable):
                    raise TypeMismatch("%s: '%s' is a %s, not a list of arrays" % (call, name, type(value).__name__))
                value = list(value)
                if kind != "written" and not value:
                    raise ArgumentError("%s: '%s' is empty: at least one array" % (call, name))
                if kind == "written":
                    results += value
                many = arrays[name] = [self._input("%s[%d]" % (name, n), v) for n, v in enumerate(value)]
                setattr(given, name, many)
                named += [("%s[%d]" % (name, n), one) for n, one in enumerate(many)]
        _no_gradient(call, [(name, one.source) for name, one in named])
        like = named[0][1] if named else self._first_result(values)
        like.wanted = device
        numbers = self._numbers(given, like, values)
        for (kind, name, extra), value in zip(self.fields, values):
            if kind in ("out", "out?", "work"):
                made = self._result(kind, name, extra, value, given, like, arrays)
                if made is not None:
                    arrays[name] = one = self._input(name, made)
                    named.append((name, one))
                    if kind != "work":
                        results.append(made)
        on = choose_device(call, named, device)
        borrowed = Borrowed(on, stream)
        keep: list[Any] = []
        try:
            words = self._words(arrays, numbers, borrowed, keep)
            if any(extra.startswith("query:") for _, _, extra in self.fields):
                self._workspace(call, arrays, words, borrowed, like)
                words = self._words(arrays, numbers, borrowed, keep)
            for at, (kind, _, _) in enumerate(self.fields):
                if kind == "stream":
                    words[at] = [borrowed.stream()]
            on.call_op(call, self.function, on.handle, self.pack(*(word for group in words for word in group)))
        finally:
            borrowed.finish()
        return results[0] if len(results) == 1 else tuple(results)

    def _first_result(self, values: tuple[Any, ...]) -> Described:
        """Of an op without operands: the array that it fills."""
        for (kind, name, _), value in zip(self.fields, values):
            if kind == "out" and value is not None:
                return self._input(name, value)
        raise ArgumentError("%s: 'out' must be given: an array for the result" % self.call)

    def _whose_axis(self, given: Any, like: Described, values: tuple[Any, ...]) -> tuple[int, ...]:
        """The shape of the array whose dimension `axis` is: the first operand's, or that of a result which the caller gives."""
        wanted = _shapes.AXIS_OF.get(self.call)
        for (_, name, _), value in zip(self.fields, values):
            if name == wanted and value is not None:
                return self._input(name, value).shape
        return like.shape

    def _numbers(self, given: Any, like: Described, values: tuple[Any, ...]) -> dict[str, Any]:
        numbers: dict[str, Any] = {}
        for (kind, name, extra), value in zip(self.fields, values):
            where = "%s: %s" % (self.call, name)
            rank = len(like.shape)
            if kind == "axis":
                rank = len(self._whose_axis(given, like, values))
                if not hasattr(value, "__index__"):
                    raise TypeMismatch("%s=%r: a whole number" % (where, value))
                if not -rank <= value < rank:
                    raise ArgumentError("%s: axis %d of an array of %d dimensions" % (self.call, value, rank))
                value %= rank
            elif kind == "enum":
                value = self._enum(name, value)
            elif kind == "numbers" or kind == "extra" and extra == "()":
                most = int(extra) if kind == "numbers" else _abi.KILN_MAX_RANK
                if hasattr(value, "__index__"):  # one for all of space, or for every dimension
                    value = (value,) * (max(rank - 2, 1) if most == 3 else rank)
                value = _numbers.wholes(where, value, self.letters.get(name, "q"), most)
            elif kind == "int" or kind == "extra":
                value = _numbers.whole(where, value, self.letters.get(name, "q"))
            elif kind == "float":
                value = _numbers.counted(where, value, like.kind) if self.letters[name] == "d" else _numbers.real(where, value, self.letters[name])
            elif kind == "bool":
                value = _numbers.truth(where, value)
            elif kind != "pointer":
                continue
            numbers[name] = value
            setattr(given, name, value)
        return numbers

    def _result(self, kind: str, name: str, extra: str, value: Any, given: Any, like: Described, arrays: dict[str, Any]) -> Any:
        if value is False or (kind == "out?" and value is None and not (name[0] == "d" and name[1:] in arrays)
                              and _shapes.WITH.get((self.call, name)) not in arrays):  # fmt: skip
            return None
        if value is not None and value is not True:
            return value
        if extra == "given":
            if kind == "work":
                return None
            raise ArgumentError("%s: '%s' must be given: an array for the result" % (self.call, name))
        if extra.startswith("query:"):
            return None
        if kind == "work" and self.call in _shapes.WORK_FOR and not any(arrays.get(n) for n in _shapes.WORK_FOR[self.call]):
            return None
        if extra.startswith("like:"):
            source = arrays.get(extra[5:])
            if source is None:
                raise ArgumentError("%s: '%s' is missing" % (self.call, extra[5:]))
            return allocate(like, source.shape, source.kind)
        try:
            shape, result_kind = getattr(_shapes, extra)(given)
        except ValueError as error:
            text = str(error)
            raise ArgumentError(text if text.partition(":")[0].isidentifier() else "%s: %s" % (self.call, text)) from None
        if min(shape, default=0) < 0:
            raise ArgumentError("%s: '%s' would be %s: no size is below 0" % (self.call, name, list(shape)))
        try:
            return allocate(like, shape, result_kind)
        except Error:
            raise
        except (MemoryError, RuntimeError, TypeError, ValueError) as error:  # NumPy and PyTorch refuse sizes in many ways
            raise OutOfMemory("%s: '%s' would be %s: %s" % (self.call, name, list(shape), str(error).partition("\n")[0])) from None

    def _workspace(self, call: str, arrays: dict[str, Any], words: list[Any], borrowed: Borrowed, like: Described) -> None:
        name, extra = next((n, e) for _, n, e in self.fields if e.startswith("query:"))
        elements = ctypes.c_uint64()
        desc = self.pack(*(word for group in words for word in group))
        _, query, kind = extra.split(":")
        borrowed.device.call_op(call, getattr(library, query), borrowed.device.handle, desc, byref(elements))
        if elements.value:
            arrays[name] = self._input(name, allocate(like, (elements.value,), FROM_NAME[kind]))
            borrowed.keep.append(arrays[name])

    def _words(self, arrays: dict[str, Any], numbers: dict[str, Any], borrowed: Borrowed, keep: list[Any]) -> list[Any]:
        """The values of the description, field by field."""
        words: list[Any] = []
        for kind, name, extra in self.fields:
            if kind == "extra":  # the shape of a result needed it, the description has no such field
                words.append([])
            elif kind in ("in", "in?", "out", "out?", "work"):
                one = arrays.get(name)
                words.append([borrowed.view(one, kind not in ("in", "in?"), "%s: '%s'" % (self.call, name)) if one is not None else NO_VIEW])
            elif kind == "views":
                views = [borrowed.view(one, False) for one in arrays.get(name, [])]
                words.append(views + [NO_VIEW] * (int(extra) - len(views)))
            elif kind in ("viewlist", "written"):
                memory = ctypes.create_string_buffer(b"".join(borrowed.view(one, kind == "written") for one in arrays.get(name, [])) or b"\0")
                keep.append(memory)
                words.append([ctypes.addressof(memory)])
            elif kind == "stream":
                words.append([0])
            elif kind == "count":
                words.append([len(arrays.get(extra, []))])
            elif kind == "zeros":
                words.append([bytes(self.sizes[name])])
            elif kind == "numbers":
                words.append([*numbers[name], *(0,) * (int(extra) - len(numbers[name]))])
            elif kind == "pointer":
                words.append([_pointer(numbers[name], extra, keep)])
            else:
                words.append([numbers[name]])
        return words


def _pointer(values: Any, c_type: str, keep: list[Any]) -> int:
    if values is None:
        return 0
    element: Any = {"uint32_t": ctypes.c_uint32, "int32_t": ctypes.c_int32, "uint64_t": ctypes.c_uint64, "int64_t": ctypes.c_int64, "float": ctypes.c_float,
               "double": ctypes.c_double}.get(c_type)  # fmt: skip
    if element is None:
        raise ArgumentError("a pointer to %s cannot be given from Python" % c_type)
    memory: Any = (element * max(len(values), 1))(*values)
    keep.append(memory)
    return ctypes.addressof(memory)


def _field_sizes(form: str, fields: list[tuple[str, str, str]]) -> tuple[dict[str, int], dict[str, str]]:
    """(the sizes of the fields that are bytes, the letters of the others) in a format of the module struct"""
    import re

    words = [w for w in re.findall(r"\d*[a-zA-Z?]", form) if not w.endswith("x")]
    sizes, letters, at = {}, {}, 0
    for kind, name, extra in fields:
        if kind == "extra":
            continue
        sizes[name] = int(words[at][:-1]) if words[at].endswith("s") else 0
        letters[name] = words[at][-1]
        at += int(extra) if kind in ("views", "numbers") else 1
    return sizes, letters


# --- elementwise ops: the forms of their descriptions (a test compares them with the headers')
ELEMENTWISE_FORMS = ("i4x160s160s160s160sddQ", "i4x160s160s160s160s160s160s160sddQ")
_FORWARD = struct.Struct("<" + ELEMENTWISE_FORMS[0]).pack
_BACKWARD = struct.Struct("<" + ELEMENTWISE_FORMS[1]).pack
_ENDS = [("float", "alpha", ""), ("float", "beta", ""), ("stream", "stream", "")]
ELEMENTWISE_FORWARD = Op("kiln_elementwise_forward", ELEMENTWISE_FORMS[0],
                         [("enum", "op", "kiln_elementwise"), *(("in?", name, "") for name in "abc"), ("out", "out", ""), *_ENDS])  # fmt: skip
ELEMENTWISE_BACKWARD = Op("kiln_elementwise_backward", ELEMENTWISE_FORMS[1],
                          [("enum", "op", "kiln_elementwise"), *(("in?", name, "") for name in ("a", "b", "c", "dout")),
                           *(("out?", name, "") for name in ("da", "db", "dc")), *_ENDS])  # fmt: skip


def _operands(call: str, form: str, operands: Sequence[Any]) -> tuple[list[Described], int]:
    """Operands as arrays of one type; numbers take the type of the arrays."""
    found: list[Described | None] = []
    if any(hasattr(value, "shape") and not _is_number(value) for value in operands):  # beside an array a number of NumPy's is a number
        operands = [value.item() if _is_number(value) else value for value in operands]
    for letter, value in zip("abc", operands):
        one = None if isinstance(value, (bool, int, float)) else describe(value, "%s: '%s'" % (call, letter))
        found.append(one if one is None else _no_records(one, call, letter))
        if one is None and not isinstance(value, (bool, int, float)):
            raise TypeMismatch("%s: '%s' is a %s: an array or a number" % (call, letter, type(value).__name__))
    numbers = [one for one, role in zip(found, form) if one is not None and role == "T"]
    if not any(one is not None for one in found):
        raise TypeMismatch("%s: at least one operand is an array" % call)
    kind = numbers[0].kind if numbers else _abi.KILN_F32
    out: list[Described] = []
    for letter, one, role, value in zip("abc", found, form, operands):
        if one is None:
            value = _numbers.beside("%s: '%s'" % (call, letter), value, kind) if role == "T" else bool(value)
            one = _constant(kind if role == "T" else _abi.KILN_BOOL, value, next(o for o in found if o is not None))
        elif role == "T" and one.kind != kind:
            raise TypeMismatch("%s: '%s' is an array of %s, another operand of %s: convert one of them" % (call, letter, one.type_name, NAME[kind]))
        out.append(one)
    return out, kind


def _no_records(one: Described, call: str, name: str) -> Described:
    if one.kind == _abi.KILN_VOID:
        raise TypeMismatch("%s: '%s' is an array of records: an op takes numbers: one of its fields, copied" % (call, name))
    return one


def _shown(name: str) -> str:
    """What Python calls an operand."""
    return "x" if name == "in" else name


def _is_number(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def _constant(kind: int, value: Any, like: Described) -> Described:
    """An array of one element, of the library and in the place of another."""
    module = type(like.source).__module__.partition(".")[0]
    if module == "torch":
        torch = sys.modules["torch"]
        made = torch.full((), value, dtype=getattr(torch, NUMPY_NAME[kind]), device=like.source.device)
    elif like.place == "host":
        made = empty((), NAME[kind], None)
        made.write(value)
        one = made.described()
        one.place, one.source = "host", made
        if made.device.is_host:
            interface = made.__array_interface__
            return Described(interface["data"][0], kind, made.itemsize, (), (), "host", keep=made)
        import numpy

        made = numpy.asarray(value, numpy_dtype(kind))
    else:
        made = empty((), NAME[kind], like.place).write(value)
    found = describe(made)
    assert found is not None
    return found


def elementwise(number: int, form: str, operands: tuple[Any, ...], alpha: float, beta: float, out: Any, dtype: Any, stream: Any, device: Any) -> Any:
    call = _NAMES[number]
    if any(hasattr(value, "_is_node") for value in operands):  # within kiln.fuse
        from ._fuse import apply

        return apply(call, operands, alpha, beta)
    arrays, kind = _operands(call, form, operands)
    alpha, beta = _numbers.counted(call + ": alpha", alpha, kind), _numbers.counted(call + ": beta", beta, kind)
    _no_gradient(call, [("abc"[n], one.source) for n, one in enumerate(arrays)])
    like = next((one for one, value in zip(arrays, operands) if not isinstance(value, (bool, int, float)) and not _is_number(value)), arrays[0])
    shape = _shapes.broadcast(*(one.shape for one in arrays))
    if shape is None:
        raise ArgumentError("%s: shapes %s do not go together: sizes are equal, or 1" % (call, ", ".join(str(list(one.shape)) for one in arrays)))
    if out is None:
        wanted = type_of(dtype) if dtype is not None else _abi.KILN_BOOL if form.endswith("_B") else kind
        if wanted is None:
            raise TypeMismatch("%s: dtype=%r is none of Kiln's types" % (call, dtype))
        like.wanted = device
        out = allocate(like, shape, wanted)
    result = describe(out, "%s: 'out'" % call)
    if result is None:
        raise TypeMismatch("%s: 'out' is a %s, not an array" % (call, type(out).__name__))
    if _shapes.broadcast(shape, result.shape) != result.shape:
        raise ArgumentError("%s: 'out' has the shape %s, the result %s" % (call, list(result.shape), list(shape)))
    named = [*zip("abc", arrays), ("out", result)]
    on = choose_device(call, named, device)
    borrowed = Borrowed(on, stream)
    try:
        views = [borrowed.view(one, False) for one in arrays] + [NO_VIEW] * (3 - len(arrays))
        written = borrowed.view(result, True, "%s: 'out'" % call)
        on.call_op(call, library.kiln_elementwise_forward, on.handle, _FORWARD(number, *views, written, alpha, beta, borrowed.stream()))
    finally:
        borrowed.finish()
    return out


def elementwise_backward(op: str, operands: Sequence[Any], dout: Any, *, alpha: float = 1.0, beta: float = 0.0, wanted: Sequence[bool] | None = None,
                         stream: Any = None, device: Any = None) -> tuple[Any, ...]:  # fmt: skip
    """Gradients of an elementwise op by its operands, at the operands of the forward call: dout times each derivative.

    A gradient has the shape of dout; that of an operand that was broadcast is still to be summed over the repeated dimensions. `wanted` says which
    operands get one; None stands for the others.
    """
    from . import ops

    if op not in ops.ELEMENTWISE:
        raise ArgumentError("elementwise_backward: there is no op '%s'" % op)
    number, form, _, _, has_derivatives = ops.ELEMENTWISE[op]
    if not has_derivatives:
        raise ArgumentError("elementwise_backward: '%s' has no derivative: detach its result" % op)
    count = form.index("_")
    for name, given in (("operands", operands), ("wanted", wanted)):
        if given is not None and (not isinstance(given, (tuple, list)) or len(given) != count):
            raise TypeMismatch("elementwise_backward: %s is %s: a list of %d, as many as '%s' has operands"
                               % (name, "a list of %d" % len(given) if isinstance(given, (tuple, list)) else "a " + type(given).__name__, count, op))  # fmt: skip
    alpha, beta = _numbers.real("elementwise_backward: alpha", alpha), _numbers.real("elementwise_backward: beta", beta)
    arrays, kind = _operands(op, form, operands)
    upstream = describe(dout, "%s: 'dout'" % op)
    if upstream is None:
        raise TypeMismatch("%s: 'dout' is a %s, not an array" % (op, type(dout).__name__))
    chosen = [w and role == "T" for w, role in zip(wanted or (True,) * len(arrays), form)]
    upstream.wanted = device
    results = [allocate(upstream, upstream.shape, kind) if w else None for w in chosen]
    described = [describe(r) if r is not None else None for r in results]
    named = [*zip("abc", arrays), ("dout", upstream), *(("d" + n, d) for n, d in zip("abc", described) if d is not None)]
    on = choose_device(op, named, device)
    borrowed = Borrowed(on, stream)
    try:
        views = [borrowed.view(one, False) for one in arrays] + [NO_VIEW] * (3 - len(arrays))
        dviews = [borrowed.view(d, True) if d is not None else NO_VIEW for d in described] + [NO_VIEW] * (3 - len(arrays))
        up = borrowed.view(upstream, False)
        on.call_op(op + "'s gradient", library.kiln_elementwise_backward, on.handle, _BACKWARD(number, *views, up, *dviews, alpha, beta, borrowed.stream()))
    finally:
        borrowed.finish()
    return tuple(results)


# --- reductions
_INDICES, _TRUTHS = {"argmax", "argmin", "count"}, {"any", "all"}


def reduced(shape: Sequence[int], axis: Any, keepdims: bool, call: str) -> tuple[int, tuple[int, ...]]:
    """(bit mask of the reduced dimensions, shape of the result)"""
    rank = len(shape)
    axes = tuple(range(rank)) if axis is None else (axis,) if hasattr(axis, "__index__") or not isinstance(axis, Iterable) else tuple(axis)
    for one in axes:
        if not hasattr(one, "__index__"):
            raise TypeMismatch("%s: axis=%r: a whole number, several of them, or None for all" % (call, axis))
        if not -rank <= one < rank:
            raise ArgumentError("%s: axis %d of an array of %d dimensions" % (call, one, rank))
    chosen = {one % rank for one in axes}
    if len(chosen) != len(axes):
        raise ArgumentError("%s: axis %r names a dimension twice" % (call, axis))
    out = tuple(1 if at in chosen else size for at, size in enumerate(shape) if keepdims or at not in chosen)
    return sum(1 << one for one in chosen), out


def reduce(op: str, x: Any, axis: Any, keepdims: bool, alpha: float, out: Any, dtype: Any, stream: Any, device: Any) -> Any:
    from . import _op_table  # which needs this module

    one = describe(x, "%s: 'x'" % op)
    if one is None:
        raise TypeMismatch("%s: 'x' is a %s, not an array" % (op, type(x).__name__))
    keepdims, alpha = _numbers.truth(op + ": keepdims", keepdims), _numbers.real(op + ": alpha", alpha)
    mask, shape = reduced(one.shape, axis, keepdims, op)
    if not mask and one.shape:  # no dimension at all: rows of one element
        if op in ("argmax", "argmin"):
            raise ArgumentError("%s: axis=() has no elements to choose from" % op)
        if len(one.shape) < _abi.KILN_MAX_RANK:
            return reduce(op, x[..., None], -1, False, alpha, out, dtype, stream, device)
        if 1 not in one.shape:
            raise ArgumentError("%s: axis=() of an array of %d dimensions: reshape it" % (op, len(one.shape)))
        mask, shape = 1 << one.shape.index(1), tuple(one.shape)
    if out is None:
        is_float = one.kind in FLOATS
        kind = type_of(dtype) if dtype is not None else (
            _abi.KILN_I64 if op in _INDICES else _abi.KILN_BOOL if op in _TRUTHS else one.kind if is_float or op in ("max", "min")
            else _abi.KILN_F64 if op == "mean" else _abi.KILN_I64)  # fmt: skip
        if kind is None:
            raise TypeMismatch("%s: dtype=%r is none of Kiln's types" % (op, dtype))
        one.wanted = device
        out = allocate(one, shape, kind)
    return _op_table.reduce((op, x, out, mask, alpha, None, None), stream, device, op)


_NAMES = [name for name, value in sorted(_abi.ENUMS["kiln_elementwise"].items(), key=lambda row: row[1])]

__all__ = ["Array", "Op", "allocate", "dense_strides", "elementwise", "elementwise_backward", "reduce"]
