"""Arrays: Kiln's own, and how those of other libraries are looked at without copying.

describe() turns any array into a Described: where its memory is, its type, shape and strides. Kiln's Array is a buffer with a shape that other
libraries can read through DLPack, __array_interface__ and __cuda_array_interface__.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import byref, c_char_p, c_int, c_void_p, py_object
from typing import Any, Iterable, Sequence

from . import _abi, _lists, _numbers
from ._device import Device, pack_view, shared_device
from ._errors import ArgumentError, OutOfMemory, TypeMismatch, Unsupported
from ._library import library
from ._types import FROM_DLPACK, NAME, NUMPY_NAME, SIZE, type_of

_python = ctypes.pythonapi
_capsule_name = _python.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = c_char_p, [py_object]
_capsule_pointer = _python.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = c_void_p, [py_object, c_char_p]
_capsule_new = _python.PyCapsule_New
_capsule_new.restype, _capsule_new.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
_capsule_rename = _python.PyCapsule_SetName
_capsule_rename.restype, _capsule_rename.argtypes = c_int, [py_object, c_char_p]
_PLAIN, _VERSIONED = b"dltensor", b"dltensor_versioned"
_USED_PLAIN, _USED_VERSIONED = b"used_dltensor", b"used_dltensor_versioned"  # capsules keep the pointer to their name
_DELETE = ctypes.PYFUNCTYPE(None, c_void_p)


@_DELETE
def _delete_capsule(raw: int) -> None:
    """A capsule that nobody has used gives its tensor back."""
    pointer_of, name_of = _raw_pointer, _raw_name
    name = name_of(raw)
    if name in (_PLAIN, _VERSIONED):
        kind = _abi.kiln_dl_managed if name == _PLAIN else _abi.kiln_dl_managed_versioned
        tensor = pointer_of(raw, name)
        deleter = kind.from_address(tensor).deleter
        if deleter:
            ctypes.CFUNCTYPE(None, c_void_p)(deleter)(tensor)


_raw_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", _python))
_raw_name = ctypes.PYFUNCTYPE(c_char_p, c_void_p)(("PyCapsule_GetName", _python))


_MOST_VIEWS = 1 << 15
_BY_DLPACK = ("jax", "jaxlib")  # whose other interface says neither that their arrays never change nor where their work is done


class Described:
    """What an array is. place: "host", "cuda:0" …, or the Device of one of Kiln's own arrays."""

    __slots__ = ("address", "kind", "item", "shape", "strides", "place", "is_read_only", "stream", "keep", "buffer", "first", "is_awaited", "source", "wanted")

    def __init__(self, address: int, kind: int, item: int, shape: tuple[int, ...], strides: tuple[int, ...], place: Any, *,
                 is_read_only: bool = False, stream: Any = None, keep: Any = None, buffer: int = 0, first: int = 0, is_awaited: bool = False) -> None:
        self.address, self.kind, self.item, self.shape, self.strides, self.place = address, kind, item, shape, strides, place
        self.is_read_only, self.stream, self.keep, self.buffer, self.first = is_read_only, stream, keep, buffer, first
        self.is_awaited = is_awaited  # the call waits for its work: the library that owns the memory does not know where it is used
        self.source: Any = None
        self.wanted: Any = None  # the device that the call was given, for results beside an array of the host

    @property
    def count(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def is_dense(self) -> bool:
        want = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides)):
            if size > 1 and stride != want:
                return self.count == 0
            want *= size
        return True

    @property
    def type_name(self) -> str:
        return NAME.get(self.kind, "?")

    def span(self) -> tuple[int, int]:
        """(elements before [0, …, 0], elements in all) that the strides reach."""
        if 0 in self.shape:
            return 0, 0
        before = sum((n - 1) * -s for n, s in zip(self.shape, self.strides) if s < 0)
        return before, before + 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides) if s > 0)

    def view(self, device: Device) -> bytes:
        """A kiln_view of it on a device that reaches its memory."""
        if self.buffer:
            return pack_view(self.buffer, self.first, self.kind, self.shape, self.strides)
        key = (self.address, self.shape, self.strides, self.kind, self.item, self.is_read_only)
        found = device.views.get(key)
        if found is None:
            before, count = self.span()
            buffer = device.wrap(self.address - before * self.item, self.item, self.kind, count, self.is_read_only)
            if len(device.views) >= _MOST_VIEWS:
                device.views.clear()
            found = device.views[key] = pack_view(buffer, before, self.kind, self.shape, self.strides)
        return found


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def _strides_of(name: str, strides: Sequence[int] | None, shape: tuple[int, ...], item: int) -> tuple[int, ...]:
    if strides is None:
        return dense_strides(shape)
    if item and any(s % item for s in strides):
        raise ArgumentError("%s: its strides are not whole elements (a field of a structured array?): copy it first" % name)
    return tuple(s // item for s in strides) if item else tuple(strides)


def _no_type(name: str, dtype: Any) -> TypeMismatch:
    return TypeMismatch("%s: its type %s is none of Kiln's (%s)" % (name, dtype, ", ".join(NAME[k] for k in SIZE)))


def _aligned(one: Described, name: str) -> Described:
    if one.address % one.item and one.kind != _abi.KILN_VOID and one.count:
        raise ArgumentError("%s: its memory does not begin at a multiple of the %d bytes of %s: pass a copy" % (name, one.item, one.type_name))
    return one


def _describe_numpy(x: Any, name: str) -> Described:
    if hasattr(x, "mask"):
        raise TypeMismatch("%s: a masked array; Kiln takes arrays without a mask: its .filled(value), or .data for all numbers" % name)
    interface = x.__array_interface__
    dtype, item = x.dtype, x.dtype.itemsize
    kind = type_of(dtype)
    if kind is None:
        if dtype.names is None:
            raise _no_type(name, dtype)
        kind = _abi.KILN_VOID
    elif not dtype.isnative:
        raise TypeMismatch("%s: its bytes are in the other order: convert it with .astype('%s')" % (name, NUMPY_NAME[kind]))
    address, is_read_only = interface["data"]
    return _aligned(Described(address, kind, item, x.shape, _strides_of(name, x.strides, x.shape, item), "host", is_read_only=is_read_only, keep=x), name)


def _describe_converted(x: Any, name: str) -> Described:
    """Numbers of NumPy, and objects that only convert to arrays: memory that may be there for this call alone, and then takes no results."""
    numpy = sys.modules["numpy"]
    made = numpy.asarray(x)
    found = _describe_numpy(made, name)
    found.is_read_only = found.is_read_only or isinstance(x, numpy.generic) or numpy.asarray(x).ctypes.data != made.ctypes.data
    return found


def describe_torch(x: Any, name: str) -> Described:
    kind = type_of(x.dtype)
    if kind is None:
        raise _no_type(name, x.dtype)
    torch = _torch()
    if x.layout is not torch.strided or x.is_nested:
        raise ArgumentError("%s: its layout is %s; Kiln takes dense tensors: .to_dense()" % (name, "nested" if x.is_nested else x.layout))
    device = x.device
    stream = None
    if device.type == "cuda":
        place = "cuda:%d" % (device.index or 0)
        stream = _torch().cuda.current_stream(device).cuda_stream
    elif device.type == "cpu":
        place = "host"
    else:
        raise ArgumentError("%s: a tensor on '%s'; Kiln reaches tensors on 'cpu' and 'cuda'" % (name, device))
    is_other = x.is_conj() or x.is_neg()  # its memory has other numbers: a copy is read, and never written
    if is_other:
        x = x.resolve_conj().resolve_neg()
    try:
        address = 0 if type(x).__name__ == "FakeTensor" else x.data_ptr()
        is_freed = not address and x.numel() and type(x) in (torch.Tensor, torch.nn.Parameter) and not torch._is_functional_tensor(x)
    except RuntimeError:
        address, is_freed = 0, False
    if is_freed:
        raise ArgumentError("%s: the tensor's memory was freed (its storage is empty)" % name)
    if not address and x.numel():
        raise ArgumentError("%s: the tensor stands for others within torch.func, torch.compile or another transform, and has no memory: the ops of "
                            "kiln.torch are known there, and kiln.torch.op makes one of a kernel" % name)  # fmt: skip
    return _aligned(Described(address, kind, x.element_size(), tuple(x.shape), x.stride(), place, is_read_only=is_other, stream=stream, keep=x), name)


def _torch() -> Any:
    return sys.modules["torch"]


def written(x: Any) -> None:
    """Says of a tensor that its numbers have changed: autograd refuses a backward pass that needs the old ones, as for PyTorch's own ops in place."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor) and not x.is_inference():
        torch.autograd.graph.increment_version(x)


def _describe_cuda_interface(x: Any, name: str) -> Described:
    interface = x.__cuda_array_interface__
    kind = type_of(getattr(x, "dtype", None) or _typestr_name(interface["typestr"]))
    if kind is None:
        raise _no_type(name, interface["typestr"])
    if interface.get("mask") is not None:
        raise ArgumentError("%s: a masked array; Kiln takes arrays without a mask" % name)
    address, is_read_only = interface["data"]
    shape = tuple(interface["shape"])
    strides = _strides_of(name, interface.get("strides"), shape, SIZE[kind])
    device = getattr(getattr(x, "device", None), "id", 0)  # CuPy says which GPU; others have one
    stream: Any = {None: None, 1: 0}.get(interface.get("stream"), interface.get("stream"))
    if stream and "cupy" in sys.modules:  # the object behind the number, which destroys the stream when it goes
        current = sys.modules["cupy"].cuda.get_current_stream()
        stream = current if current.ptr == stream else stream
    return Described(address or 0, kind, SIZE[kind], shape, strides, "cuda:%d" % device, is_read_only=is_read_only, stream=stream, keep=x)


def _typestr_name(typestr: str) -> str:
    letter, size = typestr[1], int(typestr[2:])
    return {"f": "float%d", "i": "int%d", "u": "uint%d", "b": "bool"}.get(letter, "?") % (() if letter == "b" else (size * 8,))


def _describe_dlpack(x: Any, name: str) -> Described:
    where, index = x.__dlpack_device__()
    where = int(where)
    if where in (_abi.KILN_DL_CUDA, _abi.KILN_DL_CUDA_MANAGED):
        place, arguments = "cuda:%d" % index, {"stream": 1}  # its work is done before the default stream goes on
        if hasattr(x, "block_until_ready"):  # JAX: it need not be told of a stream
            x.block_until_ready()
            arguments = {}
    elif where in (_abi.KILN_DL_CPU, _abi.KILN_DL_CUDA_HOST):
        place, arguments = "host", {}
    else:
        raise ArgumentError("%s: memory of a kind of device that Kiln does not reach (DLPack's number %d)" % (name, where))
    try:
        capsule = x.__dlpack__(max_version=(1, 0), **arguments)
    except TypeError:
        capsule = x.__dlpack__(**arguments)
    is_versioned = _capsule_name(capsule) == _VERSIONED
    managed = (_abi.kiln_dl_managed_versioned if is_versioned else _abi.kiln_dl_managed).from_address(
        _capsule_pointer(capsule, _VERSIONED if is_versioned else _PLAIN)
    )
    tensor = managed.tensor
    kind = FROM_DLPACK.get((tensor.type.code, tensor.type.bits))
    if kind is None or tensor.type.lanes != 1:
        raise _no_type(name, getattr(x, "dtype", "?"))
    rank = tensor.rank
    shape = tuple((ctypes.c_int64 * rank).from_address(tensor.sizes)) if rank else ()
    strides = tuple((ctypes.c_int64 * rank).from_address(tensor.strides)) if rank and tensor.strides else dense_strides(shape)
    # JAX's arrays never change, but its capsules do not say so
    is_read_only = type(x).__module__.startswith(_BY_DLPACK) or bool(is_versioned and managed.flags & _abi.KILN_DL_READ_ONLY)
    return Described((tensor.data or 0) + tensor.first_byte, kind, SIZE[kind], shape, strides, place, is_read_only=is_read_only,
                     stream=0 if place != "host" else None, keep=(x, capsule), is_awaited=place != "host")  # fmt: skip


def describe(x: Any, name: str = "array") -> Described | None:
    """What an array is; None: it is no array."""
    if isinstance(x, Array):
        found = x.described(name)
    else:
        module = type(x).__module__.partition(".")[0]
        if module == "torch" and hasattr(x, "data_ptr"):
            found = describe_torch(x, name)
        elif module == "numpy" and isinstance(x, sys.modules["numpy"].generic):
            found = _describe_converted(x, name)
        elif module == "numpy" and hasattr(x, "__array_interface__") and hasattr(x, "strides"):
            found = _describe_numpy(x, name)
        elif hasattr(x, "__cuda_array_interface__") and module not in _BY_DLPACK:
            found = _describe_cuda_interface(x, name)
        elif hasattr(x, "__dlpack__"):
            found = _describe_dlpack(x, name)
        elif hasattr(x, "__array__") and "numpy" in sys.modules:
            found = _describe_converted(x, name)
        else:
            return None
    if len(found.shape) > _abi.KILN_MAX_RANK:
        raise ArgumentError("%s: it has %d dimensions; Kiln's views have at most %d: reshape it" % (name, len(found.shape), _abi.KILN_MAX_RANK))
    found.source = x
    return found


class Array:
    """Memory of a device with a shape: kiln.empty, kiln.zeros, kiln.array and kiln.from_dlpack make one.

    NumPy reads it without a copy on interp and cpu (numpy.asarray, or .numpy()); PyTorch, CuPy and JAX do on the GPU (from_dlpack).
    """

    def __init__(self, device: Device, buffer: int, kind: int, shape: tuple[int, ...], strides: tuple[int, ...], first: int = 0,
                 base: Any = None, item: int = 0) -> None:
        self.device, self._buffer, self.kind, self.shape, self.strides, self._first = device, buffer, kind, shape, strides, first
        self._base = base  # the array that owns the buffer; None: this one
        self.itemsize = item or SIZE[kind]

    def __del__(self) -> None:
        if getattr(self, "_base", self) is None and self._buffer:
            self.device.free_later(library.kiln_buffer_free, self._buffer)

    def copy(self) -> Array:
        """A new array on the same device with the same elements, contiguous."""
        return _made(self.kind, self.itemsize, self.shape, self.device, self.tobytes())

    def __copy__(self) -> Array:
        return self.copy()  # two objects over one buffer would free it twice

    def __deepcopy__(self, _memo: Any) -> Array:
        return self.copy()

    def __reduce__(self) -> Any:
        return _made, (self.kind, self.itemsize, self.shape, self.device, self.tobytes())

    @property
    def dtype(self) -> str:
        """Kiln's name of the type: "f32"."""
        return NAME[self.kind]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        count = 1
        for n in self.shape:
            count *= n
        return count

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return "<kiln.Array %s[%s] on %s>" % (self.dtype, ", ".join(map(str, self.shape)), self.device.name)

    def described(self, name: str = "array") -> Described:
        self.device.open_handle()
        return Described(0, self.kind, self.itemsize, self.shape, self.strides, self.device, buffer=self._buffer, first=self._first, keep=self)

    def _view(self) -> Any:
        return _abi.kiln_view.from_buffer_copy(self.described().view(self.device))

    # --- other shapes of the same elements
    def _other(self, shape: Sequence[int], strides: Sequence[int], first: int) -> Array:
        return Array(self.device, self._buffer, self.kind, tuple(shape), tuple(strides), first, self if self._base is None else self._base, self.itemsize)

    def reshape(self, *shape: Any) -> Array:
        """Other sizes for the same elements; one may be -1. Copies nothing: refused where the strides do not allow it."""
        sizes = list(_numbers.wholes("reshape: shape", shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape, "q", _abi.KILN_MAX_RANK))
        if sizes.count(-1) > 1 or min(sizes, default=0) < -1:
            raise ArgumentError("reshape: shape=%r: sizes, of which one may be -1" % (tuple(sizes),))
        if -1 in sizes:
            rest = 1
            for n in sizes:
                rest *= n if n != -1 else 1
            sizes[sizes.index(-1)] = self.size // rest if rest else 0
        view = library.kiln_view_reshape(self._view(), len(sizes), (ctypes.c_uint64 * max(len(sizes), 1))(*sizes))
        self.device.call_op("reshape", library.kiln_view_check, view)
        strides = [library.kiln_view_stride(view, axis) for axis in range(len(sizes))]
        return self._other(sizes, strides, view.first)

    def transpose(self, *order: int) -> Array:
        """The dimensions in another order; reversed when none is given."""
        axes = order or tuple(reversed(range(self.ndim)))
        if sorted(axes) != list(range(self.ndim)):
            raise ArgumentError("transpose: %r is no order of %d dimensions" % (axes, self.ndim))
        return self._other([self.shape[a] for a in axes], [self.strides[a] for a in axes], self._first)

    @property
    def T(self) -> Array:
        return self.transpose()

    def __getitem__(self, key: Any) -> Array:
        """Numbers, slices, None and ... as in NumPy; a view, never a copy."""
        keys = key if isinstance(key, tuple) else (key,)
        missing = self.ndim - sum(k is not None and k is not Ellipsis for k in keys)
        at = next((n for n, k in enumerate(keys) if k is Ellipsis), -1)
        if at >= 0:
            keys = keys[:at] + (slice(None),) * missing + keys[at + 1 :]
        shape: list[int] = []
        strides: list[int] = []
        first, axis = self._first, 0
        for one in keys:
            if one is None:
                shape.append(1)
                strides.append(0)
                continue
            if axis >= self.ndim:
                raise IndexError("too many indices: the array has %d dimensions" % self.ndim)
            size, stride = self.shape[axis], self.strides[axis]
            if isinstance(one, slice):
                start, stop, step = one.indices(size)
                count = len(range(start, stop, step))
                first += start * stride if count else 0
                shape.append(count)
                strides.append(stride * step)
            else:
                if not hasattr(one, "__index__") or isinstance(one, bool) or hasattr(one, "shape") and (one.shape or one.dtype == bool):
                    raise TypeError("an index of an array of Kiln's is a whole number, a slice, None or ..., not a %s" % type(one).__name__)
                index = one.__index__()
                if not -size <= index < size:
                    raise IndexError("index %d of an axis of %d elements" % (index, size))
                first += (index % size) * stride
            axis += 1
        return self._other(shape + list(self.shape[axis:]), strides + list(self.strides[axis:]), first)

    # --- values in and out
    def numpy(self) -> Any:
        """A NumPy array: of the same memory on interp and cpu, a copy from a GPU."""
        import numpy

        if self.device.is_host:
            self.device.sync()
            made, dtype = numpy.asarray(self), numpy_dtype(self.kind, self.itemsize)
            return made if made.dtype == dtype else made.view(dtype)  # a type of ml_dtypes has no name in the interface
        out = numpy.empty(self.shape, numpy_dtype(self.kind, self.itemsize))
        self.device.call(library.kiln_read_view, self._view(), out.ctypes.data)
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False and not self.device.is_host:
            raise ValueError("memory of %s is not the host's: NumPy needs a copy" % self.device.name)
        out = self.numpy()
        out = out.astype(dtype) if dtype is not None and out.dtype != dtype else out
        return out.copy() if copy and self.device.is_host else out

    def tobytes(self) -> bytes:
        """The elements in row-major order, as bytes."""
        out = bytearray(self.nbytes)
        if out:
            self.device.call(library.kiln_read_view, self._view(), (ctypes.c_char * len(out)).from_buffer(out))
        return bytes(out)

    def write(self, values: Any) -> Array:
        """Sets all elements from an array of the host, bytes, or one number."""
        if isinstance(values, (bytes, bytearray)):
            data = bytes(values)
        elif isinstance(values, (int, float)) and self.kind in SIZE:
            data = _lists.to_bytes([values], self.kind) * self.size
        elif self.kind in SIZE and (flat := _lists.flatten(values)) is not None and flat[0] == self.shape:
            data = _lists.to_bytes(flat[1], self.kind)
        else:
            import numpy

            dtype = numpy_dtype(self.kind, self.itemsize)
            made = numpy.asarray(values)
            if made.dtype.kind in "cOSUMm":
                raise TypeMismatch("write: %s: an array of numbers, bytes, or one number" % ("a " + type(values).__name__ if not hasattr(values, "dtype") else "values of " + str(made.dtype)))
            if made.ndim > self.ndim or any(n not in (1, size) for n, size in zip(reversed(made.shape), reversed(self.shape))):
                raise ArgumentError("write: values %s for an array %s" % (list(made.shape), list(self.shape)))
            if type_of(dtype) != self.kind and self.kind in SIZE and made.dtype != dtype:  # NumPy has no such type: its numbers are not these bits
                data = _lists.to_bytes(numpy.broadcast_to(made, self.shape).ravel().tolist(), self.kind)
            else:
                data = numpy.ascontiguousarray(numpy.broadcast_to(made.astype(dtype, copy=False), self.shape)).tobytes()
        if len(data) != self.nbytes:
            raise ArgumentError("write: %d bytes for an array of %d" % (len(data), self.nbytes))
        if data:
            self.device.call(library.kiln_write_view, self._view(), data)
        return self

    def tolist(self) -> Any:
        return _lists.from_bytes(self.tobytes(), self.kind, self.shape) if self.kind in SIZE else self.numpy().tolist()

    def item(self) -> Any:
        """The number in an array of one element."""
        if self.size != 1:
            raise ArgumentError("item: the array has %d elements, not one: index it first" % self.size)
        return self.reshape(()).tolist()

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ArgumentError("an array of %d elements is neither true nor false: kiln.ops.any or kiln.ops.all" % self.size)
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    # --- for other libraries
    def __dlpack_device__(self) -> tuple[int, int]:
        out = _abi.kiln_dl_device()
        self.device.call(library.kiln_dlpack_device, self.device.open_handle(), byref(out))
        return out.type, out.id

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None, dl_device: Any = None, copy: bool | None = None) -> Any:
        if copy:
            raise Unsupported("__dlpack__: Kiln shares its memory and does not copy: copy what you get")
        self.device.sync()
        is_versioned = max_version is not None and max_version[0] >= 1
        out = c_void_p()
        self.device.call(library.kiln_dlpack_export_versioned if is_versioned else library.kiln_dlpack_export, self._view(), byref(out))
        return _capsule_new(out, _VERSIONED if is_versioned else _PLAIN, ctypes.cast(_delete_capsule, c_void_p))

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if not self.device.is_host:
            raise AttributeError("memory of %s is not the host's: .numpy() copies it" % self.device.name)
        out = c_void_p()
        self.device.call(library.kiln_dlpack_export_versioned, self._view(), byref(out))
        assert out.value is not None
        managed = _abi.kiln_dl_managed_versioned.from_address(out.value)
        address = (managed.tensor.data or 0) + managed.tensor.first_byte
        ctypes.CFUNCTYPE(None, c_void_p)(managed.deleter)(out.value)  # NumPy holds this array, and so the memory
        return {"version": 3, "shape": self.shape, "typestr": _typestr(self.kind, self.itemsize), "data": (address or self.itemsize, False),  # NumPy takes no NULL, even for no elements
                "strides": tuple(s * self.itemsize for s in self.strides)}  # fmt: skip

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if not self.device.name.startswith("cuda"):
            raise AttributeError("memory of %s is not a GPU's" % self.device.name)
        address = library.kiln_buffer_address(self._buffer) + self._first * self.itemsize
        return {"version": 3, "shape": self.shape, "typestr": _typestr(self.kind, self.itemsize), "data": (address, False),
                "strides": tuple(s * self.itemsize for s in self.strides),
                "stream": library.kiln_stream_native(self.device.open_handle(), None) or 1}  # fmt: skip


def numpy_dtype(kind: int, item: int = 0) -> Any:
    """NumPy's dtype of a type; narrow floats that it does not have need the package ml_dtypes, else they are shown as bytes."""
    import numpy

    if kind == _abi.KILN_VOID:
        return numpy.dtype("V%d" % item)
    try:
        return numpy.dtype(NUMPY_NAME[kind])
    except TypeError:
        pass
    try:
        import ml_dtypes

        return numpy.dtype(getattr(ml_dtypes, NUMPY_NAME[kind]))
    except ImportError:
        return numpy.dtype("u%d" % SIZE[kind])


def _typestr(kind: int, item: int) -> str:
    """The name of a type in an array interface; types of ml_dtypes have none: bytes."""
    dtype = numpy_dtype(kind, item)
    return str(dtype.str) if dtype.kind in "biufV" and dtype.isbuiltin == 1 else "|V%d" % dtype.itemsize


def empty(shape: int | Sequence[int], dtype: Any = "f32", device: Device | str | None = None, *, name: str | None = None) -> Array:
    """A new array; its elements are zero."""
    many = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    if isinstance(shape, str) or not all(hasattr(size, "__index__") for size in many):
        raise TypeMismatch("shape: %r: a whole number, or several of them" % (shape,))
    sizes = tuple(size.__index__() for size in many)
    kind = type_of(dtype)
    if kind is None:
        raise _no_type("empty", dtype)
    on = shared_device(device)
    count = 1
    for size in sizes:
        if size < 0:
            raise ArgumentError("shape: %r has a negative size" % (sizes,))
        count *= size
    if len(sizes) > _abi.KILN_MAX_RANK:
        raise ArgumentError("shape: %d dimensions; Kiln's views have at most %d" % (len(sizes), _abi.KILN_MAX_RANK))
    if count * SIZE[kind] >> 63:
        raise OutOfMemory("no memory for an array of %s %s" % (list(sizes), NAME[kind]))
    desc = _abi.kiln_buffer_desc(type=kind, count=count, name=_numbers.for_c("empty: name", name) if name is not None else None)
    out = c_void_p()
    on.call(library.kiln_buffer_make, on.open_handle(), byref(desc), byref(out))
    assert out.value is not None
    return Array(on, out.value, kind, sizes, dense_strides(sizes))


zeros = empty


def _made(kind: int, item: int, shape: tuple[int, ...], device: Device, data: bytes) -> Array:
    """An array with these elements: what a copy and a pickled array are made of."""
    count = len(data) // item
    desc = _abi.kiln_buffer_desc(type=kind, element_size=0 if kind else item, count=count)
    out = c_void_p()
    device.call(library.kiln_buffer_make, device.open_handle(), byref(desc), byref(out))
    assert out.value is not None
    return Array(device, out.value, kind, shape, dense_strides(shape), item=item).write(data)


def array(values: Any, dtype: Any = None, device: Device | str | None = None) -> Array:
    """A new array on the device with these values: a NumPy array, a list, a number."""
    flat = _lists.flatten(values)
    if flat is None and isinstance(values, (list, tuple)) and _lists.is_ragged(values):
        raise ArgumentError("array: lists of different lengths stand side by side")
    wanted = type_of(dtype) if dtype is not None else _lists.kind_of(flat[1]) if flat is not None else None
    if flat is not None and wanted in SIZE:
        return empty(flat[0], NAME[wanted], device).write(values)
    import numpy

    given = numpy.asarray(values.numpy() if isinstance(values, Array) else values)
    kind = type_of(dtype) if dtype is not None else type_of(given.dtype)
    if kind is None:
        raise _no_type("array", dtype or given.dtype)
    return empty(given.shape, NAME[kind], device).write(given)


def from_dlpack(x: Any, device: Device | str | None = None) -> Array:
    """An array over the memory of another library's, which is held until this one is gone."""
    if not hasattr(x, "__dlpack__"):
        raise TypeMismatch("from_dlpack: a %s has no __dlpack__: an array of NumPy, PyTorch, CuPy or JAX has; kiln.array copies lists" % type(x).__name__)
    on = shared_device(device)
    try:
        capsule = x.__dlpack__(max_version=(1, 0))
    except TypeError:
        capsule = x.__dlpack__()
    try:
        name = _capsule_name(capsule)
    except ValueError:
        raise TypeMismatch("from_dlpack: the __dlpack__ of a %s gives a %s, which is no capsule" % (type(x).__name__, type(capsule).__name__)) from None
    if name not in (_PLAIN, _VERSIONED):
        raise ArgumentError("from_dlpack: the __dlpack__ of a %s gives a capsule that was used before" % type(x).__name__)
    is_versioned = name == _VERSIONED
    view = _abi.kiln_view()
    pointer = _capsule_pointer(capsule, _VERSIONED if is_versioned else _PLAIN)
    on.call(library.kiln_dlpack_import_versioned if is_versioned else library.kiln_dlpack_import, on.open_handle(), pointer, byref(view))
    _capsule_rename(capsule, _USED_VERSIONED if is_versioned else _USED_PLAIN)
    rank = view.rank
    strides = tuple(library.kiln_view_stride(view, axis) for axis in range(rank))
    return Array(on, view.buffer, library.kiln_view_type(view), tuple(view.sizes[:rank]), strides, view.first)
