"""kiln.compile: a file of kernels as an object whose kernels are functions."""

from __future__ import annotations

import ctypes
import inspect
import keyword
import os
import re
import struct
from ctypes import byref, c_void_p
from typing import Any, Callable, Iterable, Mapping, Sequence

from . import _abi, _numbers
from ._array import Described, describe
from ._borrow import Borrowed, choose_device, place_name
from ._device import Device, shared_device
from ._errors import ArgumentError, CompileError, Error, NotFound, TypeMismatch, check, parse_diagnostics
from ._library import library, text
from ._types import FLOATS, FROM_NAME, NAME, NUMPY_NAME, PACK, SIZE, type_of

_ARG = struct.Struct("<iiQQQ")  # kiln_arg
_LAUNCH = struct.Struct("<3I3I3QQQQQ3I??2x")  # kiln_launch_desc
_FIRST = struct.Struct("<QQ")  # the buffer and the first element of a kiln_view
_WORD = struct.Struct("<Q")
_BUFFER, _SCALAR, _STRUCT = 1, 2, 3
_VECTOR = re.compile(r"(?:const )?([a-z]+\d+(?:e\d)?)x\d+(?: \*)?")
_LEAST_TOP = 65000.0  # below it every type of floats has a number near
_OPTIONS = ("items", "grid", "block", "shared", "stream", "device", "cluster", "cooperative")


class Parameter:
    """One parameter of a kernel."""

    def __init__(self, info: Any) -> None:
        self.name = self.python = text(info.name)  # python: a name that Python's functions may have: in_
        self.kind: int = info.kind
        self.type: int = info.type
        self.size: int = info.size
        self.is_const: bool = info.is_const
        self.c_type = text(info.c_type)
        self.is_pointer = self.kind == _abi.KILN_PARAM_POINTER
        vector = _VECTOR.fullmatch(self.c_type)
        self.element = FROM_NAME.get(vector.group(1)) if vector else None  # of a vector: f32x4 has numbers of f32

    def __repr__(self) -> str:
        return "%s%s%s" % (self.c_type, "" if self.c_type.endswith("*") else " ", self.name)

    def annotation(self) -> Any:
        if self.is_pointer:
            return "array of %s%s" % (NAME.get(self.type, "?"), "" if self.is_const else ", written")
        if self.kind == _abi.KILN_PARAM_SCALAR:
            return bool if self.type == _abi.KILN_BOOL else float if self.type in FLOATS else int
        return bytes


def _names(values: Mapping[str, Any] | Sequence[str] | None, what: str) -> list[bytes]:
    if values is None:
        return []
    if isinstance(values, Mapping):
        for name in values:
            _numbers.for_c(what, name)
        values = ["%s=%s" % (k, int(v) if isinstance(v, bool) else v) if v is not None else k for k, v in values.items()]
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeMismatch("%s: a dictionary {NAME: value} or a list of \"NAME=value\", not %r" % (what, values))
    return [_numbers.for_c(what, v) for v in values]


def _folders(values: Any) -> list[bytes]:
    if isinstance(values, (str, bytes, os.PathLike)) or values is not None and not isinstance(values, Iterable):
        raise TypeMismatch("include: a list of folders, not %r" % (values,))
    folders = list(values or [])
    for one in folders:
        if not isinstance(one, (str, bytes, os.PathLike)) or b"\0" in os.fsencode(one):
            raise TypeMismatch("include: %r: the path of a folder" % (one,))
    return [os.fsencode(p) for p in folders]


def _source_text(source: Any) -> str:
    """The path or the text that kiln.compile was given."""
    if not isinstance(source, (str, os.PathLike)):
        raise TypeMismatch("source is of the type %s: kiln.compile takes the path of a kernel file, or its text (str)" % type(source).__name__)
    given = os.fspath(source)
    if not isinstance(given, str):
        raise TypeMismatch("source: a path of bytes: pass it as str: os.fsdecode(path)")
    _numbers.for_c("source", given)
    return given


def _strings(values: list[bytes]) -> Any:
    return (ctypes.c_char_p * (len(values) + 1))(*values, None) if values else None


class Source:
    """What is compiled, and how: the same on every device."""

    def __init__(self, source: str | os.PathLike[str], define: Any, include: Any, tune: Any, options: dict[str, Any]) -> None:
        given = _source_text(source)
        is_text = isinstance(source, str) and ("\n" in given or "{" in given)
        self.path = "" if is_text else given
        if not is_text and not os.path.exists(given):
            raise NotFound("there is no file '%s': kiln.compile takes the path of a kernel file, or its text" % given)
        self.text = given if is_text else ""
        self.define, self.tune = _names(define, "define"), _names(tune, "tune")
        self.include = _folders(include)
        for name in ("target", "tuned"):
            if options.get(name) is not None:
                _numbers.for_c(name, options[name])
        self.options = options

    def read(self) -> str:
        if self.text:
            return self.text
        with open(self.path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def command_line(self) -> list[str]:
        """The same for the kiln program."""
        words = []
        for flag, values in (("-D", self.define), ("-I", self.include), ("--tune", self.tune)):
            for value in values:
                words += [flag, value.decode()]
        return words

    def compile(self, device: Device, **more: Any) -> int:
        keep = [_strings(self.define), _strings(self.include), _strings(self.tune)]
        options = self.options | more
        desc = _abi.kiln_compile_desc(
            path=(self.path or "kernel.c").encode(), source=self.text.encode() or None, **{k: options[k].encode() for k in ("target", "tuned") if options.get(k)},
            define=ctypes.cast(keep[0], c_void_p), include=ctypes.cast(keep[1], c_void_p), tune=ctypes.cast(keep[2], c_void_p),
            **{k: v for k, v in options.items() if k not in ("target", "tuned")},
        )  # fmt: skip
        out = c_void_p()
        try:
            device.call(library.kiln_compile, device.open_handle(), byref(desc), byref(out))
        except CompileError as error:
            desc.diagnostics_json = True
            with device.lock:
                if library.kiln_compile(device.handle, byref(desc), byref(out)):
                    error.diagnostics = parse_diagnostics(text(library.kiln_last_error(device.handle).contents.text))
                else:
                    device.free_later(library.kiln_module_free, out.value or 0)
            raise error.with_traceback(None) from None
        assert out.value is not None
        return out.value


class _Loaded:
    """A module on one device."""

    def __init__(self, device: Device, handle: int) -> None:
        self.device, self.handle = device, handle
        self.kernels: dict[str, int] = {}

    def __del__(self) -> None:
        self.device.free_later(library.kiln_module_free, self.handle)

    def kernel(self, name: str) -> int:
        found = self.kernels.get(name)
        if found is None:
            out = c_void_p()
            self.device.call(library.kiln_module_kernel, self.handle, name.encode(), byref(out))
            assert out.value is not None
            found = self.kernels[name] = out.value
        return found


class Module:
    """Compiled kernels. Each is an attribute: m.saxpy(y, x, 3.0, n, items=n).

    It is compiled for the device it was made for, and for another one when arrays of that one are first given.
    """

    def __init__(self, source: Source, device: Device) -> None:
        self.source = source
        self._device: Device | None = device
        self._name = device.name
        self._loaded: dict[int, _Loaded] = {}
        self.kernels: dict[str, Kernel] = {}
        first = self._on(device)
        self.log = text(library.kiln_module_log(first.handle))  # warnings and remarks
        for index in range(library.kiln_module_kernel_count(first.handle)):
            out = c_void_p()
            device.call(library.kiln_module_kernel_at, first.handle, index, byref(out))
            kernel = Kernel(self, out.value or 0)
            self.kernels[kernel.__name__] = kernel

    @property
    def device(self) -> Device:
        """The device that runs calls with arrays of the host."""
        if self._device is None or not self._device.is_open:  # closed, or the parent's before a fork
            self._device = shared_device(self._name)
        return self._device

    def _on(self, device: Device) -> _Loaded:
        found = self._loaded.get(id(device))
        if found is None or found.device is not device or not device.is_open:
            device.open_handle()
            found = self._loaded[id(device)] = _Loaded(device, self.source.compile(device))
        return found

    def __copy__(self) -> Module:
        return self  # nothing of it changes

    def __deepcopy__(self, _memo: Any) -> Module:
        return self

    def __reduce__(self) -> Any:
        return Module._again, (self.source, self._name)

    @classmethod
    def _again(cls, source: Source, device: str) -> Module:
        """The module in another process, which compiles it anew."""
        return cls(source, shared_device(device))

    def __getattr__(self, name: str) -> Kernel:
        kernels = self.__dict__.get("kernels", {})
        if name in kernels:
            return kernels[name]
        raise AttributeError("%s has no kernel '%s': it has %s" % (self, name, ", ".join(kernels) or "none"))

    def __getitem__(self, name: str) -> Kernel:
        if name not in self.kernels:
            raise NotFound("%s has no kernel '%s': it has %s" % (self, name, ", ".join(self.kernels) or "none"))
        return self.kernels[name]

    def __iter__(self) -> Any:
        return iter(self.kernels.values())

    def __len__(self) -> int:
        return len(self.kernels)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.kernels]

    def __repr__(self) -> str:
        return "<kiln.Module %s: %s>" % (self.source.path or "of a text", ", ".join(self.kernels) or "no kernel")

    @property
    def code(self) -> str:
        """What it was compiled to: PTX on cuda, C on cpu, "" on interp."""
        length = ctypes.c_size_t()
        return text(library.kiln_module_code(self._on(self.device).handle, byref(length)))


def _comment_above(source: str, name: str) -> str:
    """The // comment that stands directly above a kernel."""
    match = re.search(r"((?:^[ \t]*//[^\n]*\n)+)[ \t]*(?:[\w()\", ]*\s)?kernel\b[^;{]*\b%s\s*\(" % re.escape(name), source, re.M)
    return "\n".join(line.strip().lstrip("/").strip() for line in match.group(1).strip().split("\n")) if match else ""


def _three(kernel: str, options: Mapping[str, Any], name: str, bits: int = 32) -> tuple[int, int, int]:
    """An option that is one to three sizes; zeros: it is not there."""
    value = options.get(name)
    if value is None:
        return (0, 0, 0)
    if type(value) is int and 0 <= value < 1 << bits:
        return (value, 1, 1)
    sizes = (value,) if not isinstance(value, (tuple, list)) else tuple(value)
    if not 1 <= len(sizes) <= 3:
        raise ArgumentError("%s: %s: one to three numbers, not %r" % (kernel, name, value))
    try:
        whole = tuple(size.__index__() for size in sizes)
    except (AttributeError, TypeError):  # the second: of an array
        raise TypeMismatch("%s: %s: whole numbers, not %r" % (kernel, name, value)) from None
    if min(whole) < 0:
        raise ArgumentError("%s: %s: %r has a negative number" % (kernel, name, value))
    if max(whole) >> bits:
        raise ArgumentError("%s: %s is larger than 2^%d - 1" % (kernel, name, bits))
    x, y, z = (*whole, 1, 1)[:3]
    return x, y, z


class Kernel:
    """A kernel as a function. Call it with its arguments in C's order, or by name, and say how many threads: items= or grid=."""

    def __init__(self, module: Module, handle: int) -> None:
        self.module = module
        self.__name__ = self.__qualname__ = text(library.kiln_kernel_name(handle))
        self.parameters: list[Parameter] = []
        for index in range(library.kiln_kernel_param_count(handle)):
            info = _abi.kiln_param_info()
            check(library.kiln_kernel_param(handle, index, byref(info)), module.device.handle)
            self.parameters.append(Parameter(info))
        block = (ctypes.c_uint32 * 3)()
        library.kiln_kernel_block(handle, block)
        self.block: tuple[int, ...] = tuple(block)  # zeros: decided at launch
        self.prototype = "%s(%s)" % (self.__name__, ", ".join(map(repr, self.parameters)))
        taken = self._taken = {p.name for p in self.parameters}
        for p in self.parameters:
            while keyword.iskeyword(p.python) or (p.python != p.name and p.python in taken):
                p.python += "_"
        self._renamed = {p.python: p.name for p in self.parameters if p.python != p.name}
        positional = [inspect.Parameter(p.python or "_%d" % n, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=p.annotation())
                      for n, p in enumerate(self.parameters)]  # fmt: skip
        options = [inspect.Parameter(o, inspect.Parameter.KEYWORD_ONLY, default=None) for o in _OPTIONS if o not in taken]
        self.__signature__ = inspect.Signature(positional + options)
        said = _comment_above(module.source.read(), self.__name__)
        sizes = "block %s" % ",".join(map(str, self.block)) if any(self.block) else "any block: block= says its size"
        self.__doc__ = "%s\n\n%s%s" % (self.prototype, said + "\n\n" if said else "", sizes)

    def __repr__(self) -> str:
        return "<kiln.Kernel %s>" % self.prototype

    def __copy__(self) -> Kernel:
        return self

    def __deepcopy__(self, _memo: Any) -> Kernel:
        return self

    def __reduce__(self) -> Any:
        return Module.__getitem__, (self.module, self.__name__)

    def constant(self, name: str) -> int:
        """The value of an enum constant or tunable of the kernel's source."""
        out = ctypes.c_int64()
        loaded = self.module._on(self.module.device)
        loaded.device.call(library.kiln_kernel_constant, loaded.kernel(self.__name__), _numbers.for_c("constant", name), byref(out))
        return out.value

    def resources(self, device: Device | str | None = None) -> dict[str, int]:
        """Registers, shared memory and spills of one thread and one block."""
        loaded = self.module._on(shared_device(device) if device is not None else self.module.device)
        out = _abi.kiln_resources()
        loaded.device.call(library.kiln_kernel_resources, loaded.kernel(self.__name__), byref(out))
        return {name: getattr(out, name) for name, *_ in out._fields_}

    # --- arguments
    def _bind(self, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        if len(args) > len(self.parameters):
            raise TypeMismatch("%s: %d arguments for %d parameters: %s" % (self.__name__, len(args), len(self.parameters), self.prototype))
        values = list(args)
        if self._renamed:
            named = {self._renamed.get(name, name): value for name, value in named.items()}
        for parameter in self.parameters[len(args) :]:
            if parameter.name not in named:
                raise TypeMismatch("%s: the argument '%s' is missing: %s" % (self.__name__, parameter.name, self.prototype))
            values.append(named.pop(parameter.name))
        if named:
            for parameter in self.parameters[: len(args)]:
                if parameter.name in named:
                    raise TypeMismatch("%s: the argument '%s' is given twice, by its place and by its name: %s" % (self.__name__, parameter.name, self.prototype))
            raise TypeMismatch("%s: there is no parameter or option '%s': %s; options: %s"
                               % (self.__name__, next(iter(named)), self.prototype, ", ".join(_OPTIONS)))  # fmt: skip
        return values

    def _array(self, parameter: Parameter, value: Any) -> Described | None:
        where = "%s: argument '%s'" % (self.__name__, parameter.name)
        if value is None:
            raise ArgumentError("%s is None: the kernel takes %s" % (where, parameter.c_type))
        one = describe(value, where)
        if one is None:
            kind = NUMPY_NAME.get(parameter.type, "")
            raise TypeMismatch("%s is a %s: the kernel takes %s, an array of %s: pass one of NumPy or PyTorch%s" % (
                where, type(value).__name__, parameter.c_type, NAME.get(parameter.type, "?"), ", or kiln.array(%s, '%s')" % (parameter.name, kind) if kind else ""))
        if getattr(value, "requires_grad", False) and not parameter.is_const and _grad_is_on():
            raise ArgumentError("%s is written, and its tensor wants a gradient, which this call does not compute: pass %s.detach(), "
                                "or make an op of the kernel: kiln.torch.op" % (where, parameter.name))  # fmt: skip
        wanted = parameter.type
        if wanted == _abi.KILN_VOID:
            one = self._structs(parameter, one, where)
        elif one.kind != wanted:
            raise TypeMismatch("%s is an array of %s, the kernel takes %s: convert it%s"
                               % (where, one.type_name, parameter.c_type, _conversion(parameter.name, value, wanted)))  # fmt: skip
        if not one.is_dense:
            raise ArgumentError("%s is not contiguous (shape %s, strides %s): a kernel sees only its address. Pass a contiguous copy, or the "
                                "whole array and let the kernel compute the index" % (where, one.shape, one.strides))  # fmt: skip
        if one.is_read_only and not parameter.is_const:
            raise ArgumentError("%s is read-only, and the kernel may write it: pass a copy, or say const in the kernel" % where)
        return one

    def _structs(self, parameter: Parameter, one: Described, where: str) -> Described:
        """The same memory as elements of the struct that the kernel's pointer points to."""
        if not parameter.size or one.buffer or one.item == parameter.size and one.kind == _abi.KILN_VOID:
            return one
        self._check_element(parameter, one.kind, where)
        if one.item * one.count % parameter.size or not one.is_dense:
            raise TypeMismatch("%s has %d bytes, which are no whole number of %s (%d bytes each)"
                               % (where, one.item * one.count, parameter.c_type, parameter.size))  # fmt: skip
        count = one.item * one.count // parameter.size
        found = Described(one.address, _abi.KILN_VOID, parameter.size, (count,), (1,), one.place, is_read_only=one.is_read_only,
                          stream=one.stream, keep=one.keep)  # fmt: skip
        found.source = one.source
        return found

    def _check_element(self, parameter: Parameter, kind: int, where: str) -> None:
        """A vector has numbers of one type: an array of another one would be read as what it is not. Bytes and records are taken as they are."""
        of = parameter.element
        if of is not None and kind not in (of, _abi.KILN_VOID, _abi.KILN_U8):
            raise TypeMismatch("%s is an array of %s, the kernel takes %s, numbers of %s: convert it with .astype('%s')"
                               % (where, NAME[kind], parameter.c_type, NAME[of], NUMPY_NAME[of]))  # fmt: skip

    def _scalar(self, parameter: Parameter, value: Any) -> bytes:
        where = "%s: argument '%s'" % (self.__name__, parameter.name)
        if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
            value = value.item()  # a number of NumPy, or a tensor with one element
        if isinstance(value, complex) or not isinstance(value, (int, float)):
            raise TypeMismatch("%s is a %s: the kernel takes a number, %s" % (where, type(value).__name__, parameter.c_type))
        kind = parameter.type
        if kind in FLOATS:
            try:
                number = float(value)
                if not _LEAST_TOP > number > -_LEAST_TOP:  # near the largest numbers of the narrow types
                    _numbers.beside(where, value, kind)
                arg = library.kiln_arg_f64(kind, number)
            except OverflowError:
                raise ArgumentError("%s is a whole number of %d bits, which %s does not reach" % (where, int(value).bit_length(), parameter.c_type)) from None
            return _ARG.pack(arg.kind, arg.type, arg.pointer or 0, arg.size, arg.bits)
        if isinstance(value, float):
            if not value.is_integer():
                raise TypeMismatch("%s is %r: the kernel takes a whole number, %s" % (where, value, parameter.c_type))
            value = int(value)
        try:
            data = PACK[kind].pack(value)
        except struct.error:
            bits = 8 * parameter.size
            low, high = (0, 2**bits - 1) if NAME[kind][0] in "ub" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
            raise ArgumentError("%s is %d: %s has the numbers from %d to %d" % (where, value, parameter.c_type, low, high)) from None
        return _ARG.pack(_SCALAR, kind, 0, len(data), int.from_bytes(data, "little"))

    def _vector(self, parameter: Parameter, values: Sequence[Any], where: str) -> bytes:
        """The bytes of a vector from its numbers."""
        assert parameter.element is not None
        is_padded = parameter.c_type.endswith("x3")
        if len(values) != (3 if is_padded else parameter.size // SIZE[parameter.element]):
            raise TypeMismatch("%s has %d numbers: the kernel takes %s" % (where, len(values), parameter.c_type))
        numbers = [_numbers.beside("%s[%d]" % (where, n), _numbers.plain(one), parameter.element) for n, one in enumerate(values)]
        return b"".join(PACK[parameter.element].pack(one) for one in numbers).ljust(parameter.size, b"\0")

    def _struct(self, parameter: Parameter, value: Any, keep: list[Any]) -> bytes:
        where = "%s: argument '%s'" % (self.__name__, parameter.name)
        kind = type_of(value.dtype) if hasattr(value, "dtype") else None
        if kind is not None:
            self._check_element(parameter, kind, where)
        if parameter.element in PACK and isinstance(value, (tuple, list)):
            value = self._vector(parameter, value, where)
        try:
            data = bytes(memoryview(value).cast("B"))
        except TypeError:
            raise TypeMismatch("%s is a %s: the kernel takes the %d bytes of a %s (bytes, a ctypes.Structure, or a NumPy record)"
                               % (where, type(value).__name__, parameter.size, parameter.c_type)) from None  # fmt: skip
        if len(data) != parameter.size:
            raise TypeMismatch("%s has %d bytes, %s has %d" % (where, len(data), parameter.c_type, parameter.size))
        memory = ctypes.create_string_buffer(data, len(data) + 64)
        keep.append(memory)
        return _ARG.pack(_STRUCT, 0, ctypes.addressof(memory), len(data), 0)

    def _prepare(self, values: list[Any], device: Device | str | None, stream: Any) -> tuple[Borrowed, bytes, list[Described | None]]:
        arrays = [self._array(p, v) if p.is_pointer else None for p, v in zip(self.parameters, values)]
        described = [(p.name, a) for p, a in zip(self.parameters, arrays) if a is not None]
        on = choose_device(self.__name__, described, device)
        if device is None and not any(a.place != "host" for _, a in described):
            on = self.module.device
        borrowed = Borrowed(on, stream)
        packed = [b"" if p.is_pointer else self._scalar(p, v) if p.kind == _abi.KILN_PARAM_SCALAR else self._struct(p, v, borrowed.keep)
                  for p, v in zip(self.parameters, values)]  # fmt: skip
        try:
            for at, (parameter, one) in enumerate(zip(self.parameters, arrays)):  # last: nothing is copied for a call that is not made
                if one is not None:
                    buffer, first = _FIRST.unpack_from(borrowed.view(one, not parameter.is_const))
                    packed[at] = _ARG.pack(_BUFFER, one.kind, buffer, 0, first)
        except BaseException:  # no memory for one of them: the copies of the others are given back
            borrowed.finish()
            raise
        return borrowed, b"".join(packed), arrays

    def _desc(self, args: Any, arg_count: int, stream: int, options: dict[str, Any]) -> bytes:
        items, grid = options.get("items"), options.get("grid")
        if (items is None) == (grid is None):
            raise ArgumentError("%s: say how many threads (items=n) or how many blocks (grid=b)%s"
                                % (self.__name__, "" if items is None else ", not both"))  # fmt: skip
        kernel = self.__name__
        count, blocks, block = _three(kernel, options, "items", 64), _three(kernel, options, "grid"), _three(kernel, options, "block")
        if options.get("block") is not None and 0 in block:
            raise ArgumentError("%s: block: %r has a 0: a block has threads" % (kernel, options["block"]))
        if items is not None and 0 in count:
            count, blocks = (0, 0, 0), (0, 1, 1)  # nothing to do
        shared = options.get("shared")
        if shared is None:
            shared = self._shared_bytes()
        elif not hasattr(shared, "__index__") or not 0 <= shared.__index__() < 1 << 64:
            raise ArgumentError("%s: shared=%r: how many bytes of shared memory the launch adds, a whole number" % (kernel, shared))
        return _LAUNCH.pack(*blocks, *block, *count, shared, ctypes.addressof(args), arg_count, stream, *_three(kernel, options, "cluster"),
                            _numbers.truth(kernel + ": cooperative", options.get("cooperative") or False), False)  # fmt: skip

    def _shared_bytes(self) -> int:
        """The kernel's constant SHARED_BYTES, where it has dynamic shared memory and says how much."""
        if not hasattr(self, "_shared"):
            try:
                self._shared = self.constant("SHARED_BYTES")
            except Error:
                self._shared = 0
        return self._shared

    def remember(self, values: list[Any], results: Sequence[Parameter], options: dict[str, Any]) -> Remembered:
        """The launch with these arguments, of which `results` may lie elsewhere when it is called; for arrays that the device reaches, and
        no structs."""
        self._bind(tuple(values), {name: None for name in options if name not in _OPTIONS})
        borrowed, packed, arrays = self._prepare([v.detach() if hasattr(v, "detach") else v for v in values], None, None)
        memory = ctypes.create_string_buffer(packed, max(len(packed), 1))
        desc = self._desc(memory, len(self.parameters), borrowed.stream(), options)
        moved = [(n * _ARG.size + 8, a.item, a.kind, a.span()[1]) for n, (p, a) in enumerate(zip(self.parameters, arrays)) if p in results and a is not None]
        return Remembered(self.module._on(borrowed.device).kernel(self.__name__), memory, desc, moved)

    def __call__(self, /, *args: Any, **options: Any) -> None:
        named = {k: v for k, v in options.items() if k in self._taken or k not in _OPTIONS}
        if named:
            options = {k: v for k, v in options.items() if k not in named}
        values = self._bind(args, named)
        borrowed, packed, _ = self._prepare(values, options.get("device"), options.get("stream"))
        device = borrowed.device
        memory = ctypes.create_string_buffer(packed, max(len(packed), 1))
        try:
            kernel = self.module._on(device).kernel(self.__name__)
            device.call(library.kiln_launch, kernel, self._desc(memory, len(self.parameters), borrowed.stream(), options))
        finally:
            borrowed.finish()


class Remembered:
    """A launch of a kernel whose arguments stay but for where some of its results are."""

    def __init__(self, kernel: int, memory: Any, desc: bytes, results: list[tuple[int, int, int, int]]) -> None:
        self.kernel, self.memory, self.desc = kernel, memory, desc
        self.results = results  # place in the arguments, size of an element, type, elements

    def __call__(self, device: Device, addresses: Sequence[int]) -> None:
        """The caller holds the device's lock."""
        for address, (place, item, kind, count) in zip(addresses, self.results):
            _WORD.pack_into(self.memory, place, device.wrap(address, item, kind, count, False))
        device.call(library.kiln_launch, self.kernel, self.desc)


def _grad_is_on() -> bool:
    import sys

    return bool(sys.modules["torch"].is_grad_enabled())


def _conversion(name: str, value: Any, wanted: int) -> str:
    module = type(value).__module__.partition(".")[0]
    if module == "torch":
        return " with %s.to(torch.%s)" % (name, NUMPY_NAME[wanted])
    return " with %s.astype('%s')" % (name, NUMPY_NAME[wanted]) if module in ("numpy", "cupy", "jax", "jaxlib") else ""


def is_compiled(call: str, **options: Any) -> None:
    """Refuses options of the compiler for what has been compiled already."""
    for name, value in options.items():
        if value is not None:
            raise ArgumentError("%s: %s= is for a path or a text, and this module is compiled already: give it to kiln.compile" % (call, name))


def compile(source: str | os.PathLike[str], *, device: Device | str | None = None, define: Any = None, include: Any = None, tune: Any = None,
            tuned: str | None = None, check_bounds: bool = False, target: str | None = None, optimise: bool = True, remarks: bool = False,
            warnings_are_errors: bool = False) -> Module:  # fmt: skip
    """Compiles a kernel file, or the text of one.

    define and tune are dictionaries: {"TILE": 64}. tuned="scale n=1000" takes the tune() values that the program kiln tune has found for that
    kernel near those sizes on the device; tune wins over them. check_bounds stops a thread that leaves its array and says where. The result has a
    function for each kernel. A kernel that is wrong raises CompileError, whose text shows the source and whose .diagnostics are objects.
    """
    truths = {"check_bounds": check_bounds, "optimise": optimise, "remarks": remarks, "warnings_are_errors": warnings_are_errors}
    options: dict[str, Any] = {name: _numbers.truth("compile: " + name, value) for name, value in truths.items()} | {"target": target, "tuned": tuned}
    options["optimise"] = 0 if options["optimise"] else -1
    return Module(Source(source, define, include, tune, options), shared_device(device))


__all__ = ["Kernel", "Module", "Parameter", "Source", "compile", "place_name", "Callable"]
