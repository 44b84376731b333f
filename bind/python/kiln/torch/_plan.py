"""Plans: what a kernel did for given arguments, to be done again without looking at them closely.

The first run of a kernel is recorded: which tensors it made and which calls of the library. When the same addresses, sizes, strides, types and numbers come
again, the tensors are made and the calls are given, and nothing else happens. Only kernels whose work is `new` and Calls are planned.
"""

from __future__ import annotations

import struct
import threading
from typing import Any, Callable

import torch

from .._array import Described
from .._device import NO_VIEW, Device, pack_view
from .._errors import check

_Tensor = torch.Tensor
_empty = torch.empty_strided
_MOST_PLANS, _MOST_RESULTS = 1 << 12, 1 << 6
_WORD = struct.Struct("<Q")
_MARK = 0x5A17C0DE5A17C000  # stands for the buffer of a new tensor, which is no address that a buffer has


class _Local(threading.local):
    plan: Any = None


local = _Local()


class Step:
    """A call of the library whose description differs in the addresses of new tensors alone."""

    def __init__(self, call: Any, tensors: Any, numbers: Any, stream: int, work: Any) -> None:
        self.call, self.numbers, self.stream, self.work = call, numbers, stream, work
        self.tensors = list(tensors)
        self.function = call.function
        self.slots: tuple[int, ...] = ()
        self.buffers: list[tuple[int, int, int]] = []  # of the new tensors: size of an element, type, elements
        self.descriptions: dict[Any, bytes] = {}

    def settle(self, device: Device, of: Callable[[Any], int | None]) -> bool:
        """Looks at its tensors: views of arguments stay, those of new tensors wait for their buffers. False: one is neither."""
        views: list[bytes] = []
        slots: list[int] = []
        for t in [*self.tensors, *([] if self.call.query is None else [self.work])]:
            if t is None:
                views.append(NO_VIEW)
                continue
            at = of(t)
            if at is None:
                return False
            kind, item = self.call.kind_of(t)
            one = Described(t.data_ptr(), kind, item, tuple(t.shape), t.stride(), device.name if not device.is_host else "host")
            if at < 0:
                views.append(one.view(device))
                continue
            before, count = one.span()
            if t.storage_offset() or before:
                return False
            views.append(pack_view(_MARK + len(slots), 0, kind, one.shape, one.strides))
            slots.append(at)
            self.buffers.append((item, kind, count))
        count = len(self.call.names)
        self.template = self.call.pack(*views[:count], *self.numbers, self.stream, *views[count:])
        self.places = [self.template.find(_WORD.pack(_MARK + n)) for n in range(len(slots))]
        self.slots = tuple(slots)
        self.tensors = []
        self.work = None
        return True

    def describe(self, device: Device, at: Any) -> bytes:
        """The description for new tensors at these addresses; `at`: one address, or a tuple."""
        if len(self.descriptions) >= _MOST_RESULTS:
            self.descriptions.clear()
        filled = bytearray(self.template)
        for place, address, (item, kind, count) in zip(self.places, at if isinstance(at, tuple) else (at,), self.buffers):
            _WORD.pack_into(filled, place, device.wrap(address, item, kind, count, False))
        found = self.descriptions[at] = bytes(filled)
        return found


class Plan:
    """What a kernel does."""

    def __init__(self) -> None:
        self.made: list[Any] = []
        self.steps: list[Step] = []

    def settle(self, device: Device, args: Any, results: Any) -> bool:
        """False: not everything of the run was seen, the plan is not to be used."""
        if any(isinstance(a, _Tensor) and not a.data_ptr() for a in args):
            return False  # tensors without memory, which have no address to be known by
        places = {t.untyped_storage().data_ptr(): n for n, t in enumerate(self.made) if t.numel()}
        known = {a.untyped_storage().data_ptr() for a in args if isinstance(a, _Tensor)}

        def of(t: Any) -> int | None:
            at = t.untyped_storage().data_ptr()
            if not t.numel() or at in known:
                return -1
            return places.get(at)

        self.is_many = isinstance(results, tuple)
        specs: list[Any] = [(tuple(t.shape), t.stride(), t.dtype, t.device) for t in self.made]
        self.results = []
        for r in results if self.is_many else (results,):
            at = next((n for n, t in enumerate(self.made) if t is r), None)
            if at is None:
                at = places.get(r.untyped_storage().data_ptr())
                if at is None or r.storage_offset() or r.numel() != self.made[at].numel():
                    return False
                specs[at] = (tuple(r.shape), r.stride(), r.dtype, r.device)
            self.results.append(at)
        self.specs = specs
        if not self.steps or not all(step.settle(device, of) for step in self.steps):
            return False
        self.made = []
        return True

    def run(self, device: Device) -> Any:
        """Does it again. The caller holds the device's lock."""
        made = [_empty(shape, strides, dtype=dtype, device=where) for shape, strides, dtype, where in self.specs]
        if device._garbage and not device._depth:
            device._collect()
        handle = device.handle
        device._depth += 1
        try:
            for step in self.steps:
                slots = step.slots
                at: Any = made[slots[0]].data_ptr() if len(slots) == 1 else tuple([made[slot].data_ptr() for slot in slots])
                status = step.function(handle, step.descriptions.get(at) or step.describe(device, at))
                if status:
                    check(status, handle)
        finally:
            device._depth -= 1
        if self.is_many:
            return tuple([made[at] for at in self.results])
        return made[self.results[0]]


class Planned:
    """A kernel that is to be planned. `state`: what besides its arguments it depends on."""

    def __init__(self, kernel: Callable[..., Any], state: Callable[[], Any] | None = None) -> None:
        self.kernel, self.state = kernel, state

    def first(self, device: Device, key: Any, plan: Any, args: Any) -> Any:
        """Runs the kernel itself, and makes a plan of what it did; `plan`: False where that has failed before."""
        with device.lock:
            if plan is not None or local.plan is not None:
                return self.kernel(*args)
            plan = local.plan = Plan()
            try:
                results = self.kernel(*args)
            finally:
                local.plan = None
            if len(device.plans) >= _MOST_PLANS:
                device.plans.clear()
            device.plans[key] = plan if plan.settle(device, args, results) else False
            return results
