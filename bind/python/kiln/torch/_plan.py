"""Plans: what a kernel did for given arguments, to be done again without looking at them closely.

The first run of a kernel is recorded: which tensors it made and which calls of the library. When the same addresses, sizes, strides, types and numbers come
again, the tensors are made and the calls are given, and nothing else happens. Where the addresses alone are others, the addresses of what was recorded are
replaced. Only kernels whose work is `new` and Calls are planned.
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
_MARK = 0x5A17C0DE5A17C000  # stands for the buffer of a tensor, which is no address that a buffer has
_ALIGNMENT = 64  # what a workspace needs may depend on where tensors begin, by no more than this


class _Local(threading.local):
    plan: Any = None


local = _Local()


class Arguments:
    """The arguments of a run: whose memory is a tensor's?"""

    def __init__(self, args: Any) -> None:
        self.args = args
        self.storages: dict[int, list[int]] = {}
        for n, a in enumerate(args):
            if isinstance(a, _Tensor):
                self.storages.setdefault(a.untyped_storage().data_ptr(), []).append(n)

    def has(self, t: Any) -> bool:
        return t.untyped_storage().data_ptr() in self.storages

    def place(self, t: Any) -> tuple[int, int] | None:
        """(argument, bytes behind its first) of a tensor that is an argument or a view of one; None: it could be one of several."""
        owners = self.storages[t.untyped_storage().data_ptr()]
        found = [n for n in owners if self.args[n] is t] or owners
        return (found[0], t.data_ptr() - self.args[found[0]].data_ptr()) if len(found) == 1 else None


class Step:
    """A call of the library whose description differs in the addresses of tensors alone."""

    def __init__(self, call: Any, tensors: Any, numbers: Any, stream: int, work: Any) -> None:
        self.call, self.numbers, self.stream, self.work = call, numbers, stream, work
        self.tensors = list(tensors)
        self.function = call.function
        self.slots: tuple[int, ...] = ()
        self.buffers: list[tuple[int, int, int]] = []  # of the new tensors: size of an element, type, elements
        self.given: list[tuple[int, int, int, int, int, int]] = []  # of the arguments: the same, then the argument, bytes behind its first, place in the template
        self.marks: list[int] = []  # of the new tensors
        self.is_bound = False  # the template holds for these arguments alone
        self.descriptions: dict[Any, bytes] = {}

    def settle(self, device: Device, args: Arguments, places: dict[int, int]) -> bool:
        """Looks at its tensors: arguments and new tensors wait for their buffers. False: one is neither."""
        views: list[bytes] = []
        slots: list[int] = []
        marks = _MARK
        for t in [*self.tensors, *([] if self.call.query is None else [self.work])]:
            if t is None:
                views.append(NO_VIEW)
                continue
            kind, item = self.call.kind_of(t)
            one = Described(t.data_ptr(), kind, item, tuple(t.shape), t.stride(), device.name if not device.is_host else "host")
            if not t.numel():
                views.append(one.view(device))
                continue
            before, count = one.span()
            if args.has(t):
                at = args.place(t)
                if at is None:
                    self.is_bound = True
                    views.append(one.view(device))
                    continue
                self.given.append((item, kind, count, at[0], at[1] - before * item, marks))
            else:
                slot = places.get(t.untyped_storage().data_ptr())
                if slot is None or t.storage_offset() or before:
                    return False
                slots.append(slot)
                self.buffers.append((item, kind, count))
                self.marks.append(marks)
            views.append(pack_view(marks, before, kind, one.shape, one.strides))
            marks += 1
        count = len(self.call.names)
        self.template = self.call.pack(*views[:count], *self.numbers, self.stream, *views[count:])
        self.places = [self.template.find(_WORD.pack(mark)) for mark in self.marks]
        self.given = [(*one[:5], self.template.find(_WORD.pack(one[5]))) for one in self.given]
        self.slots = tuple(slots)
        self.tensors = []
        self.work = None
        return True

    def bind(self, device: Device, args: Any) -> Step:
        """The same for these arguments."""
        bound = Step.__new__(Step)
        bound.function, bound.slots, bound.buffers, bound.places = self.function, self.slots, self.buffers, self.places
        bound.descriptions = {}
        filled = bytearray(self.template)
        for item, kind, count, argument, behind, place in self.given:
            _WORD.pack_into(filled, place, device.wrap(args[argument].data_ptr() + behind, item, kind, count, False))
        bound.template = bytes(filled)
        return bound

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
        whose = Arguments(args)
        if not self.steps or not all(step.settle(device, whose, places) for step in self.steps):
            return False
        self.made = []
        return True

    @property
    def is_bound(self) -> bool:
        """Does it hold for the addresses of its arguments alone?"""
        return any(step.is_bound for step in self.steps)

    def bind(self, device: Device, args: Any) -> Plan:
        """The same for these arguments, which differ in their addresses alone."""
        bound = Plan.__new__(Plan)
        bound.is_many, bound.results, bound.specs = self.is_many, self.results, self.specs
        bound.steps = [step.bind(device, args) for step in self.steps]
        return bound

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
        """Does what a plan for other addresses says, or runs the kernel itself and makes a plan of what it did; `plan`: False where that has failed before."""
        with device.lock:
            if plan is not None or local.plan is not None:
                return self.kernel(*args)
            form_key = _form(key, args)
            form = device.forms.get(form_key) if form_key is not None else None
            if form is not None:
                return keep(device.plans, key, form.bind(device, args)).run(device)
            plan = local.plan = Plan()
            try:
                results = self.kernel(*args)
            finally:
                local.plan = None
            if not plan.settle(device, args, results):
                keep(device.plans, key, False)
                return results
            keep(device.plans, key, plan.bind(device, args))
            if form_key is not None and not plan.is_bound:
                keep(device.forms, form_key, plan)
            return results


def keep(table: dict[Any, Any], key: Any, value: Any) -> Any:
    if len(table) >= _MOST_PLANS:
        table.clear()
    table[key] = value
    return value


def _form(key: Any, args: Any) -> Any:
    """A key that says all but where tensors are, None where one has no memory; `key`: one that says that, too, and begins with what is no argument."""
    parts: list[Any] = [*key[:3]]
    for a in args:
        if isinstance(a, _Tensor):
            address = a.data_ptr()
            if not address:
                return None
            parts.append((a.shape, a.stride(), a.dtype, a.get_device(), address % _ALIGNMENT))
        else:
            parts.append(repr(a) if isinstance(a, (float, list)) else a)  # 0.0 == -0.0, but they are not the same number
    return tuple(parts)
