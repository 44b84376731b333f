"""Tensors of PyTorch on the way to the library: one Call for each of its functions that ops of PyTorch use.

A call looks its whole description up in a table, by the addresses, sizes, strides and types of its tensors; PyTorch's allocators give the same
addresses out again and again. What is not there is described tensor by tensor, which costs ten times as much.
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Any, Callable, Sequence

import torch

from .. import _numbers
from .._array import dense_strides, describe_torch
from .._device import NO_VIEW, Device, shared_device
from .._errors import ArgumentError, TypeMismatch
from .._library import library
from .._op import Op
from .._types import NAME, type_of
from ._plan import Planned, Step, local

raw_stream: Any = getattr(torch._C, "_cuda_getCurrentRawStream", None)
devices: dict[int, Device] = {}  # by Tensor.get_device(): -1 is the CPU
_dense: dict[Any, tuple[int, ...]] = {}
_empty = torch.empty_strided  # of the ways to make a tensor the one that parses its arguments fastest
_MOST_CALLS = 1 << 12
os.register_at_fork(after_in_child=devices.clear)


def device_of(t: Any) -> Device:
    """Kiln's device for a tensor's: tensors on 'cpu' run on Kiln's cpu, those on 'cuda:1' on cuda:1."""
    where = t.device
    if where.type not in ("cpu", "cuda"):
        raise ArgumentError("a tensor on '%s': Kiln's ops take tensors on 'cpu' and 'cuda'" % where)
    found = devices[t.get_device()] = shared_device("cpu" if where.type == "cpu" else "cuda:%d" % (where.index or 0))
    return found


def new(shape: Any, dtype: Any, where: Any) -> Any:
    """A contiguous tensor that is not filled."""
    strides = _dense.get(shape)
    if strides is None:
        if len(_dense) >= _MOST_CALLS:
            _dense.clear()
        strides = _dense[shape] = dense_strides(shape)
    made = _empty(shape, strides, dtype=dtype, device=where)
    if local.plan is not None:
        local.plan.made.append(made)
    return made


def empty(shape: Any, dtype: Any, where: Any) -> Any:
    """The same for fake kernels, whose sizes may be symbols."""
    return torch.empty(shape, dtype=dtype, device=where)


def type_name(t: Any) -> str:
    kind = type_of(t.dtype)
    return NAME[kind] if kind is not None else str(t.dtype)


def axis_of(axis: int, t: Any, call: str) -> int:
    rank = t.dim()
    if not -rank <= axis < rank:
        raise ArgumentError("%s: axis %d of a tensor of %d dimensions" % (call, axis, rank))
    return axis % rank


def same_type(call: str, first: tuple[str, Any], *others: tuple[str, Any]) -> None:
    for name, t in others:
        if t is not None and t.dtype != first[1].dtype:
            raise TypeMismatch("%s: '%s' is %s, '%s' is %s: convert one of them with .to()" % (call, name, type_name(t), first[0], type_name(first[1])))


def planned(kernel: Callable[..., Any], state: Callable[[], Any] | None = None) -> Planned:
    """A kernel that does nothing but `new` and Calls, and takes a tensor first: what it does is looked up as a whole."""
    return Planned(kernel, state)


class Call:
    """A function of the library whose description has these views (in this order, None: no buffer) and these numbers; `titles`: what the caller calls the views."""

    def __init__(self, op: Op, call: str, views: str, numbers: str = "", *, workspace: str = "", unit: Any = torch.float32, fixed: Any = (), titles: str = "") -> None:
        self.function, self.call, self.names = op.function, call, views.split()
        self.titles = titles.split() or self.names
        self.numbers, self.letters = numbers.split(), op.letters
        self.floats = [self.numbers.index(name) for kind, name, _ in op.fields if (kind == "float" or name == "parameters") and name in self.numbers]
        self.keep: Any = None  # what the description points to
        self.pack = op.packer(*self.names, *self.numbers, "stream", *(["workspace"] if workspace else []), fixed=dict(fixed))
        self.query = getattr(library, workspace) if workspace else None
        self.unit = unit

    def __call__(self, tensors: Sequence[Any], *numbers: Any) -> None:
        first = tensors[0]
        index = first.get_device()
        device = devices.get(index)
        if device is None or device.handle is None:
            device = device_of(first)
        stream = raw_stream(index) if index >= 0 else 0
        key: Any = [self, stream, numbers]
        for at in self.floats:
            if numbers[at] == 0 or type(numbers[at]) is tuple:
                key[2] = repr(numbers)  # 0.0 == -0.0, but they are not the same number
        for t in tensors:
            if t is None:
                key.append(None)
            else:
                key += (t.data_ptr(), t.shape, t.stride(), t.dtype)
        key = tuple(key)
        with device.lock:  # till the call has been made, no other thread frees what the description names
            work = None
            if self.query is not None:
                size = device.calls.get(key)
                if size is None:
                    size = self._workspace(device, key, tensors, numbers, stream)
                if size:
                    work = new((size,), self.unit, first.device)
                    key = (key, work.data_ptr())
                else:
                    key = (key, 0)
            desc = device.calls.get(key)
            if desc is None:
                desc = device.calls[key] = self._describe(device, tensors, numbers, stream, work)
            if local.plan is not None:
                local.plan.steps.append(Step(self, tensors, numbers, 0 if device.is_host else device.stream(stream), work))
            device.call_op(self.call, self.function, device.handle, desc)

    def kind_of(self, t: Any) -> tuple[int, int]:
        """Kiln's number for a tensor's type, and its size"""
        kind = type_of(t.dtype)
        assert kind is not None
        return kind, t.element_size()

    def _describe(self, device: Device, tensors: Sequence[Any], numbers: Sequence[Any], native: int, work: Any) -> bytes:
        where = tensors[0].device
        if len(device.calls) >= _MOST_CALLS:
            device.calls.clear()
        views = [NO_VIEW if t is None else view_of(device, t, self.call, name, where) for name, t in zip(self.titles, tensors)]
        more = () if self.query is None else (NO_VIEW if work is None else view_of(device, work, self.call, "workspace", where),)
        try:
            return self._packed(device, views, numbers, native, more)
        except struct.error:
            for name, value in zip(self.numbers, numbers):
                for one in value if isinstance(value, tuple) else (value,):
                    if self.letters.get(name, "?") in "iIqQ":
                        _numbers.whole("%s: %s" % (self.call, name), one, self.letters[name])
            raise

    def _packed(self, device: Device, views: Any, numbers: Sequence[Any], native: int, more: Any) -> bytes:
        return self.pack(*views, *numbers, 0 if device.is_host else device.stream(native), *more)

    def _workspace(self, device: Device, key: Any, tensors: Sequence[Any], numbers: Sequence[Any], native: int) -> int:
        size = ctypes.c_uint64()
        device.call_op(self.call, self.query, device.handle, self._describe(device, tensors, numbers, native, None), ctypes.byref(size))
        device.calls[key] = size.value
        return size.value


def view_of(device: Device, t: Any, call: str, name: str, where: Any) -> bytes:
    """A kiln_view of a tensor that must be on `where`."""
    if t.device != where:
        raise ArgumentError("%s: '%s' is on '%s', another tensor on '%s': move it with .to('%s')" % (call, name, t.device, where, where))
    if t.dim() > 8:
        raise ArgumentError("%s: '%s' has %d dimensions; Kiln's views have at most 8" % (call, name, t.dim()))
    return describe_torch(t, "%s: '%s'" % (call, name)).view(device)
