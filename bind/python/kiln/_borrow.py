"""For the time of one call: which device runs it, and the call's arrays as views of that device.

An array in a GPU's memory runs on that GPU, in its library's current stream. An array of the host is shared with interp and cpu, and copied to and
from any other device.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import byref, c_void_p
from typing import Any, Iterable

from . import _abi
from ._array import Described, written
from ._device import Device, pack_view, shared_device, stream_handle
from ._errors import ArgumentError
from ._library import library


def place_name(place: Any) -> str:
    return place.name if isinstance(place, Device) else "the host's memory" if place == "host" else place


def choose_device(call: str, arrays: Iterable[tuple[str, Described]], wanted: Device | str | None) -> Device:
    """The device that all arrays can be used on; a sentence that names both ends where there is none."""
    chosen: Device | None = shared_device(wanted) if wanted is not None else None
    because = "device="
    for name, one in arrays:
        if one.place == "host":
            continue
        on = one.place if isinstance(one.place, Device) else None
        if on is None:
            if chosen is not None and chosen.name == one.place:
                continue
            on = shared_device(one.place)
        if chosen is not None and chosen is not on:
            which = "another device of that name" if chosen.name == on.name else chosen.name
            raise ArgumentError("%s: '%s' is on %s, but %s says %s: move one of them" % (call, name, on.name, because, which))
        chosen, because = on, "'%s'" % name
    return chosen if chosen is not None else shared_device(None)


class Borrowed:
    """The arrays of one call on one device. finish() copies results back where memory is not shared, waits where their library does not know our
    streams, and tells PyTorch which of its tensors were written."""

    def __init__(self, device: Device, stream: Any = None) -> None:
        self.device = device
        self.given_stream = stream
        self._native: Any = None
        self._copies: list[tuple[int, Described, bool]] = []
        self._is_awaited = False
        self._written: list[Any] = []
        self.keep: list[Any] = []

    def view(self, one: Described, is_written: bool, name: str = "an array") -> bytes:
        if is_written:
            if getattr(one.source, "requires_grad", False) and sys.modules["torch"].is_grad_enabled():
                raise ArgumentError("%s is written, and its tensor wants a gradient, which this call does not compute: pass it as .detach()" % name)
            self._written.append(one.source)
        if one.stream is not None and self._native is None:
            self._native = one.stream
        if one.keep is not None:
            self.keep.append(one.keep)
        self._is_awaited = self._is_awaited or one.is_awaited
        if isinstance(one.place, Device) or one.place == self.device.name or self.device.is_host:
            return one.view(self.device)
        return self._copy(one, is_written, name)

    def stream(self) -> int:
        """What the call runs in: the given stream, or that of the arrays; 0 is the device's own."""
        chosen = stream_handle(self.device, self._native if self.given_stream is None else self.given_stream)
        if self._is_awaited and not self.device.is_host and chosen != self.device.stream(0):
            self.device.call(library.kiln_stream_sync, self.device.stream(0))  # where such an array is ready
        return chosen

    def _copy(self, one: Described, is_written: bool, name: str) -> bytes:
        """Memory of the host on a device that does not reach it: all that lies between the first and the last element."""
        if is_written and not one.is_dense:
            raise ArgumentError("%s has gaps (shape %s, strides %s) and is of the host: to come back from %s it must be contiguous"
                                % (name, one.shape, one.strides, self.device.name))  # fmt: skip
        before, count = one.span()
        desc = _abi.kiln_buffer_desc(type=one.kind, element_size=0 if one.kind else one.item, count=count)
        out = c_void_p()
        self.device.call(library.kiln_buffer_make, self.device.open_handle(), byref(desc), byref(out))
        assert out.value is not None
        self._copies.append((out.value, one, is_written))
        if count:
            self.device.call(library.kiln_write, out.value, 0, one.address - before * one.item, count)
        return pack_view(out.value, before, one.kind, one.shape, one.strides)

    def finish(self) -> None:
        if self._is_awaited and not self.device.is_host:
            self.device.call(library.kiln_stream_sync, self.stream() or self.device.stream(0))
        for given in self._written:
            written(given)
        copies, self._copies = self._copies, []
        try:
            for buffer, one, is_written in copies:
                if is_written and one.count:
                    self.device.call(library.kiln_read, buffer, 0, one.address, one.count)
        finally:
            for buffer, _, _ in copies:
                self.device.free_later(library.kiln_buffer_free, buffer)


def scalar_bytes(data: bytes) -> Any:
    return ctypes.create_string_buffer(data, max(len(data), 1))
