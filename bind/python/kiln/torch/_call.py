"""Tensors of PyTorch on the way to the library: the device and stream they are on, and views of them from a table.

A view is looked up by address, sizes, strides and type; only a new one is made. So a call costs one look-up per tensor.
"""

from __future__ import annotations

from typing import Any

import torch

from .._array import describe_torch
from .._device import Device, shared_device
from .._errors import ArgumentError
from .._types import NAME, type_of

_raw_stream: Any = getattr(torch._C, "_cuda_getCurrentRawStream", None)
_names: dict[Any, str] = {}


def device_of(t: Any) -> Device:
    """Kiln's device for a tensor's: tensors on 'cpu' run on Kiln's cpu, those on 'cuda:1' on cuda:1."""
    where = t.device
    name = _names.get(where)
    if name is None:
        if where.type not in ("cpu", "cuda"):
            raise ArgumentError("a tensor on '%s': Kiln's ops take tensors on 'cpu' and 'cuda'" % where)
        name = _names[where] = "cpu" if where.type == "cpu" else "cuda:%d" % (where.index or 0)
    return shared_device(name)


def stream_of(device: Device, t: Any) -> int:
    """PyTorch's current stream; 0 on cpu, where work is done when its call returns."""
    if device.is_host:
        return 0
    return device.stream(_raw_stream(t.device.index or 0))


def view_of(device: Device, t: Any, call: str, name: str, where: Any) -> bytes:
    """A kiln_view of a tensor that must be on `where`."""
    if t.device != where:
        raise ArgumentError("%s: '%s' is on '%s', another tensor on '%s': move it with .to('%s')" % (call, name, t.device, where, where))
    key = (t.data_ptr(), t.shape, t.stride(), t.dtype)
    found = device.views.get(key)
    if found is None:
        one = describe_torch(t, "%s: '%s'" % (call, name))
        if len(one.shape) > 8:
            raise ArgumentError("%s: '%s' has %d dimensions; Kiln's views have at most 8" % (call, name, len(one.shape)))
        found = one.view(device)
        device.views[key] = found
    return found


def type_name(t: Any) -> str:
    kind = type_of(t.dtype)
    return NAME[kind] if kind is not None else str(t.dtype)
