"""Devices: one handle of the library each, a lock around it, and a table of the foreign memory that it has seen.

A handle of the library is for one thread at a time, so every call holds the device's lock. Handles are freed when the lock is next free, never
inside of a call: the garbage collector may run in the middle of one, within a kernel's printf. After a fork the child opens its devices
anew; what the parent made stays the parent's.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import struct
import sys
import threading
import weakref
from collections import deque
from ctypes import byref, c_uint64, c_void_p
from itertools import count
from typing import Any, Callable

from . import _abi
from ._errors import ArgumentError, Error, TypeMismatch, check
from ._library import close, library, text
from ._numbers import for_c, whole
from ._types import SIZE

_PRINT = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, ctypes.c_size_t)
_VIEW = struct.Struct("<QQiI8Q?7x8q")
_WRAP = struct.Struct("<i4xQQQQ?7xQQQ")
MAX_RANK = _abi.KILN_MAX_RANK
NO_VIEW = bytes(_VIEW.size)
_MOST_WRAPS = 1 << 14
_MOST_STREAMS = 64


def _write(number: int, stream: Any, data: int, length: int) -> None:
    """What a kernel of the device with that number prints. The library cannot pass on what a stream of Python's raises: the device's next call does."""
    device = _by_number.get(number)
    if stream is None or device is not None and device._raised is not None:  # None: print() is silent, too
        return
    try:
        if length:
            stream.write(ctypes.string_at(data, length).decode("utf-8", "replace"))
        else:  # what was printed is wanted now
            stream.flush()
    except BaseException as error:  # also KeyboardInterrupt
        if device is None:
            raise
        device._raised = error


def _print(number: int, data: int, length: int) -> None:
    _write(number, sys.stdout, data, length)


def _print_error(number: int, data: int, length: int) -> None:
    _write(number, sys.stderr, data, length)


_on_print_error = _PRINT(_print_error)
_on_print = _PRINT(_print)  # one for all devices, for as long as the process lives


def pack_view(buffer: int, first: int, kind: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> bytes:
    """The bytes of a kiln_view; strides in elements."""
    rest = MAX_RANK - len(shape)
    return _VIEW.pack(buffer, first, kind, len(shape), *shape, *(0,) * rest, True, *strides, *(0,) * rest)


class Device:
    """An open device: "cpu", "interp", "cuda:0", "opencl:0" …; None is $KILN_DEVICE, or the best one present.

    kiln.device(name) gives the one that everything shares; Device(name) opens another, which works beside it in another thread.
    """

    def __init__(self, name: str | None = None) -> None:
        self.lock = threading.RLock()
        self._depth = 0
        self._garbage: deque[tuple[Callable[[int], None], int]] = deque()
        self._wraps: dict[Any, int] = {}
        self._old_wraps: dict[Any, int] = {}
        self.views: dict[Any, bytes] = {}  # of foreign arrays, by what describes them
        self.calls: dict[Any, Any] = {}  # whole descriptions of ops and sizes of workspaces, by their arrays
        self.plans: dict[Any, Any] = {}  # what whole kernels do: kiln.torch looks here first
        self.forms: dict[Any, Any] = {}  # the same for any addresses of their tensors
        self._streams: dict[int, int] = {}
        self._stream_owners: dict[int, Any] = {}
        self._own_streams: dict[int, int] = {}
        self.handle: int | None = None
        self._raised: BaseException | None = None
        if not isinstance(name, (str, type(None))):
            raise TypeMismatch("device: %r: the name of one, 'cpu' or 'cuda:0'" % (name,))
        out = c_void_p()
        check(library.kiln_open(for_c("device", name) if name is not None else None, byref(out)))
        self.handle = out.value
        self.process = os.getpid()
        info = _abi.kiln_device_info()
        check(library.kiln_device_info_of(self.handle, byref(info)), self.handle)
        self.name = text(info.device)
        self.description = text(info.name)
        self.target = text(info.target)
        self.caps = {field: getattr(info.caps, field) for field, *_ in _abi.kiln_caps._fields_}
        self.is_host: bool = bool(info.caps.has_host_memory)
        self.memory_bytes: int = info.memory_bytes
        self.multiprocessors: int = info.multiprocessors
        number = next(_numbers)
        _by_number[number] = self
        library.kiln_on_print(self.handle, ctypes.cast(_on_print, c_void_p), number)
        library.kiln_on_print_error(self.handle, ctypes.cast(_on_print_error, c_void_p), number)
        _all.add(self)

    def __repr__(self) -> str:
        return "<kiln.Device %s: %s%s>" % (self.name, self.description, "" if self.handle else ", closed")

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __copy__(self) -> Device:
        return self  # another object over the same handle would close it for both

    def __deepcopy__(self, _memo: Any) -> Device:
        return self

    def __reduce__(self) -> Any:
        return shared_device, (self.name,)  # in another process: the device of this name there

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # the interpreter is going away
            pass

    def close(self) -> None:
        """Frees everything made through it; arrays of other libraries that share its memory stay."""
        with self.lock:
            if self.handle is None or self._depth:
                return
            handle, self.handle = self.handle, None
            self._wraps.clear()
            self._old_wraps.clear()
            self.views.clear()
            self.calls.clear()
            self.plans.clear()
            self.forms.clear()
            if self.process == os.getpid():
                close(handle)

    @property
    def is_open(self) -> bool:
        return self.handle is not None and self.process == os.getpid()

    def open_handle(self) -> int:
        if self.handle is None:
            raise ArgumentError("the device '%s' is closed: what was made through it is gone with it; open it again" % getattr(self, "name", "?"))
        if self.process != os.getpid():
            raise ArgumentError(
                "the device '%s' belongs to the process that this one was forked from: make arrays and modules anew after a fork, "
                "or pass NumPy arrays" % self.name
            )
        return self.handle

    def call(self, function: Any, *arguments: Any) -> None:
        """Calls a function of the library that returns a status, alone on this device."""
        with self.lock:
            if self._garbage and not self._depth:
                self._collect()
            handle = self.handle
            if handle is None or self.process != _process:
                handle = self.open_handle()
            self._depth += 1
            try:
                status = function(*arguments)
            finally:
                self._depth -= 1
            if self._raised is not None:
                error, self._raised = self._raised, None
                raise error
            if status:
                check(status, handle)

    def call_op(self, name: str, function: Any, *arguments: Any) -> None:
        """The same for an op: what goes wrong is said of the op by its name in Python."""
        try:
            self.call(function, *arguments)
        except Error as error:
            raise error.of(name) from None

    # --- freeing
    def free_later(self, free: Any, handle: int) -> None:
        """Frees a handle now, or, where a call is under way, after it."""
        if self.handle is None or self.process != os.getpid():
            return  # kiln_close has freed it, or it is the parent's
        self._garbage.append((free, handle))
        # A signal's handler may raise behind every call that this text makes, so also behind acquire(), and the lock would stay locked for
        # ever. Here filter() calls it, and `try` has begun before a handler can run.
        for _ in filter(self.lock.acquire, (False,)):
            try:
                if not self._depth:
                    self._collect()
            finally:
                self.lock.release()

    def _collect(self) -> None:
        if not self.is_host and _is_capturing():
            return  # freeing waits for the GPU, which a stream that is captured into a graph does not allow
        self._depth += 1
        try:
            while self._garbage and self.handle is not None:
                free, handle = self._garbage.popleft()
                free(handle)
        finally:
            self._depth -= 1

    # --- memory of others
    def wrap(self, address: int, size: int, kind: int, count: int, is_read_only: bool) -> int:
        """A buffer over memory of somebody else, from a table: such a buffer only says where the memory is."""
        key = (address, size, kind, count, is_read_only)
        found = self._wraps.get(key)
        if found is None and self._old_wraps:
            found = self._old_wraps.pop(key, None)
            if found is not None:
                self._wraps[key] = found
        if found is not None:
            return found
        if len(self._wraps) >= _MOST_WRAPS and not _is_capturing():
            self._age()
        at = (address, 0) if self.is_host else (0, address)
        desc = _WRAP.pack(kind, 0 if kind else size, count, *(at if count else (0, 0)), is_read_only, 0, 0, 0)
        out = c_void_p()
        self.call(library.kiln_buffer_wrap, self.handle, desc, byref(out))
        assert out.value is not None
        self._wraps[key] = out.value
        return out.value

    def _age(self) -> None:
        """Frees the buffers that were not asked for since the table was last full: those of a call that is being put together are younger."""
        with self.lock:
            old, self._old_wraps, self._wraps = self._old_wraps, self._wraps, {}
            self.views.clear()
            self.calls.clear()
            self.plans.clear()
            self.forms.clear()
            for buffer in old.values():
                self.free_later(library.kiln_buffer_free, buffer)

    def forget(self) -> None:
        """Frees what is kept about memory of others; waits for the device's work."""
        with self.lock:
            self._age()
            self._age()

    # --- work
    def sync(self) -> None:
        """Waits for everything, prints what kernels printed, raises what went wrong."""
        self.call(library.kiln_sync, self.open_handle())

    def stream(self, native: int, owner: Any = None) -> int:
        """The library's stream over a driver's own (a CUstream); 0 is the driver's default stream. owner: destroys the driver's stream when it goes, and
        is therefore held as long as the library has its own over it: waiting for the device waits for that stream, too."""
        found = self._streams.get(native)
        if found is None:
            if len(self._stream_owners) >= _MOST_STREAMS and not _is_capturing():
                self._drop_streams()
            out = c_void_p()
            self.call(library.kiln_stream_wrap, self.open_handle(), native or None, byref(out))
            found = self._streams[native] = out.value or 0
        if owner is not None and native not in self._stream_owners:
            self._stream_owners[native] = owner
        return found

    def _drop_streams(self) -> None:
        """Lets go of streams that somebody else destroys: a program may make new ones for ever."""
        with self.lock:
            while self._stream_owners:
                native, owner = self._stream_owners.popitem()
                self.free_later(lambda handle, _owner=owner: library.kiln_stream_free(handle), self._streams.pop(native))

    def memory(self) -> dict[str, int]:
        """What is used: bytes and buffers."""
        info = _abi.kiln_memory_info()
        self.call(library.kiln_memory_info_of, self.open_handle(), byref(info))
        return {name: getattr(info, name) for name, *_ in info._fields_}

    def trim(self) -> None:
        """Gives memory that is not used back to the driver."""
        self.forget()
        self.call(library.kiln_memory_trim, self.open_handle())


class Stream:
    """Work that runs in the order it was given, beside that of other streams."""

    def __init__(self, device: Device | str | None = None, priority: int = 0) -> None:
        self.device = device if isinstance(device, Device) else shared_device(device)
        out = c_void_p()
        self.device.call(library.kiln_stream_new, self.device.open_handle(), whole("Stream: priority", priority, "i"), byref(out))
        self.handle = out.value

    def __copy__(self) -> Stream:
        return self  # the same queue: another object would free it twice

    def __deepcopy__(self, _memo: Any) -> Stream:
        return self

    def __reduce__(self) -> Any:
        raise TypeMismatch("a kiln.Stream cannot be pickled: it is a queue of this process; make one where it is needed")

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.device.free_later(library.kiln_stream_free, self.handle or 0)

    def sync(self) -> None:
        """Waits for the work of this stream."""
        self.device.call(library.kiln_stream_sync, self.handle)

    @property
    def is_done(self) -> bool:
        done = ctypes.c_bool()
        self.device.call(library.kiln_stream_is_done, self.handle, byref(done))
        return done.value

    @property
    def native(self) -> int:
        """The driver's own handle (a CUstream); 0 on interp and cpu."""
        return library.kiln_stream_native(self.device.open_handle(), self.handle) or 0


def _is_capturing() -> bool:
    """Is PyTorch recording a CUDA graph?"""
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_available()) and bool(torch.cuda.is_current_stream_capturing())


def stream_handle(device: Device, stream: Any) -> int:
    """The library's stream for one of ours, of PyTorch or CuPy, or a number (a CUstream); 0: the device's own."""
    if stream is None:
        return 0
    if isinstance(stream, Stream):
        if stream.device is not device:
            raise ArgumentError("stream: this stream belongs to %s, the arrays are on %s" % (stream.device.name, device.name))
        return stream.handle or 0
    native = getattr(stream, "cuda_stream", None)
    if native is None:
        native = getattr(stream, "ptr", stream)
    if not isinstance(native, int):
        raise ArgumentError("stream: %r is no stream: pass a kiln.Stream, one of PyTorch or CuPy, or the number of a CUstream" % type(stream).__name__)
    if device.caps["is_host"]:
        return 0  # work is done when its call returns
    return device.stream(native, None if stream is native else stream)


# --- the devices that everything shares
_all: weakref.WeakSet[Device] = weakref.WeakSet()
_by_number: weakref.WeakValueDictionary[int, Device] = weakref.WeakValueDictionary()
_numbers = count(1)
_shared: dict[str | None, Device] = {}
_shared_lock = threading.Lock()


def shared_device(name: str | Device | None = None) -> Device:
    """The open device of this name; None: $KILN_DEVICE, or the best one present."""
    if isinstance(name, Device):
        return name
    if not isinstance(name, (str, type(None))):
        raise TypeMismatch("device: %r: a kiln.Device or the name of one, 'cpu' or 'cuda:0'" % (name,))
    found = _shared.get(name)
    if found is not None and found.handle is not None:
        return found
    with _shared_lock:
        found = _shared.get(name)
        if found is None or found.handle is None:
            found = Device(name)
            found = _shared.setdefault(found.name, found) if _is_open(found.name) else found
            _shared[name] = _shared[found.name] = found
        return found


def _is_open(name: str) -> bool:
    found = _shared.get(name)
    return found is not None and found.handle is not None


def devices() -> list[str]:
    """The names of the devices that can be opened here, best first."""
    names = []
    for index in range(library.kiln_device_count()):
        info = _abi.kiln_device_info()
        if not library.kiln_device_info_at(index, byref(info)):
            names.append(text(info.device))
    return names


_process = os.getpid()


def _after_fork() -> None:
    """In a child: the parent's handles stay untouched, and its locks may be held by threads that are not here."""
    global _shared_lock, _process
    _process = os.getpid()
    _shared_lock = threading.Lock()
    _shared.clear()
    for device in list(_all):
        device.lock = threading.RLock()
        device._depth = 0
        device._wraps, device._old_wraps = {}, {}
        device.views, device.calls, device.plans, device.forms = {}, {}, {}, {}
        device._garbage = deque()


def _at_exit() -> None:
    for step in (Device._drop_streams, Device.close):  # streams that others own first: they may be those of another device here
        for device in list(_all):
            if device.process == os.getpid() and device.lock.acquire(timeout=1):
                try:
                    step(device)
                finally:
                    device.lock.release()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)

__all__ = ["Device", "Stream", "devices", "shared_device", "stream_handle", "pack_view", "NO_VIEW", "SIZE", "Error", "c_uint64"]
