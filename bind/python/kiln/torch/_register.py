"""Ops of torch.library: CPU and CUDA kernels, fake kernels, autograd, autocast. Kiln's own are in the namespace "kiln", those of users in "kiln_user".

An op is defined with the dispatcher's own calls, and its autograd kernel runs the CPU or CUDA kernel itself where nothing stands between the two
and no gradient is wanted: a second way through the dispatcher costs as much as the rest of a call. What Python calls is kept in `direct`.
"""

from __future__ import annotations

from itertools import count
from typing import Any, Callable

import torch

from .._errors import ArgumentError
from ._direct import direct, entries
from ._plan import Planned

_C: Any = torch._C
_numbers = count()
_is_plain: dict[int, bool] = {}  # by the bits of a set of dispatch keys
_BELOW = _C._dispatch_keyset_full_after(_C.DispatchKey.ADInplaceOrView)
_KERNELS = (_C.DispatchKey.CPU, _C.DispatchKey.CUDA)


class Space:
    """A namespace of ops."""

    def __init__(self, name: str) -> None:
        self.name, self.lib = name, torch.library.Library(name, "DEF")
        self.ops = getattr(torch.ops, name)


KILN, USER = Space("kiln"), Space("kiln_user")


def _kernel_is_next(keys: Any) -> bool:
    bits = keys.raw_repr()
    found = _is_plain.get(bits)
    if found is None:
        found = _is_plain[bits] = (keys & _BELOW).highestPriorityTypeId() in _KERNELS
    return found


def no_second(name: str) -> Callable[..., Any]:
    def backward(ctx: Any, *_: Any) -> Any:
        raise ArgumentError("kiln::%s has no gradient of its own: second derivatives are not implemented" % name)

    return backward


def register(schema: str, kernel: Callable[..., Any] | Planned, fake: Callable[..., Any], backward: Callable[..., Any] | None = None,
             setup: Callable[..., Any] | None = None, casts: int = 0) -> Any:  # fmt: skip
    """Defines kiln::NAME. `casts`: under autocast the floating-point tensors among so many first arguments take autocast's type."""
    name = schema.partition("(")[0]
    op, call = define(KILN, schema, schema, kernel, fake, backward or no_second(name), setup)
    setattr(direct, name, call)
    if casts:
        for kind, key in (("cpu", "AutocastCPU"), ("cuda", "AutocastCUDA")):
            KILN.lib.impl(name, _autocast(op, kind, key, casts), key)
    return op


def define(space: Space, schema: str, arguments: str, kernel: Callable[..., Any] | Planned, fake: Callable[..., Any], backward: Callable[..., Any],
           setup: Callable[..., Any] | None) -> tuple[Any, Any]:  # fmt: skip
    """(the op, what Python calls) of a new op; `arguments`: its schema with names that Python's functions may have."""
    name = schema.partition("(")[0]
    title = "%s::%s" % (space.name, name)
    space.lib.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    op = look = call = getattr(space.ops, name).default
    apply = _Apply(title)
    run: Any = kernel
    if isinstance(kernel, Planned):
        run, look, call = entries(arguments, op, kernel, next(_numbers), apply)
    space.lib.impl(name, run, "CPU")
    space.lib.impl(name, run, "CUDA")
    torch.library.register_fake(title, fake, lib=space.lib)
    if "Tensor[]" in schema:
        torch.library.register_autograd(title, backward, setup_context=setup, lib=space.lib)
    else:
        space.lib.impl(name, _autograd(op, run, look, backward, setup, apply), "Autograd", with_keyset=True)
    return op, call


class _Apply:
    """A torch.autograd.Function, which is made after what calls it."""

    def __init__(self, title: str) -> None:
        self.title = title

    def of(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
        function: Any = type(self.title.replace("::", "_"), (torch.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})
        self.quick = getattr(super(torch.autograd.Function, function), "apply", function.apply)  # without questions about functorch, whose answers are known here
        return function.apply

    def __call__(self, *args: Any) -> Any:
        return self.quick(*args)


def _autograd(op: Any, kernel: Callable[..., Any], look: Callable[..., Any], backward: Callable[..., Any], setup: Callable[..., Any] | None,
              made: _Apply) -> Callable[..., Any]:  # fmt: skip
    """The kernel of the key Autograd. The dispatcher leaves out trailing arguments that have their default value: `setup` gets them all."""
    defaults = tuple(a.default_value if a.has_default_value() else None for a in op._schema.arguments)
    forward_ad, is_grad_enabled, any_requires_grad = torch.autograd.forward_ad, _C.is_grad_enabled, _C._any_requires_grad
    after, below_autograd = _C._after_autograd_keyset, _C._AutoDispatchBelowAutograd

    def forward(ctx: Any, keys: Any, *args: Any) -> Any:
        if keys is None:  # not from the dispatcher; gradients are off here
            result = look(*args)
        else:
            with below_autograd():
                result = kernel(*args) if _kernel_is_next(keys) else op.redispatch(keys & after, *args)
        if setup is not None:
            setup(ctx, args + defaults[len(args) :], result)
        return result

    def gradient(ctx: Any, *grads: Any) -> Any:
        found = backward(ctx, *grads)
        return (None, *found[: len(ctx.needs_input_grad) - 1])  # one for each argument that was given

    apply = made.of(forward, gradient)

    def autograd(keys: Any, *args: Any) -> Any:
        if forward_ad._current_level >= 0 and any(isinstance(a, torch.Tensor) and forward_ad.unpack_dual(a).tangent is not None for a in args):
            raise ArgumentError("%s has no forward-mode gradient: use torch.autograd.grad or backward()" % made.title)
        if is_grad_enabled() and any_requires_grad(*args):
            return apply(keys, *args)
        if _kernel_is_next(keys):
            return kernel(*args)
        with below_autograd():
            return op.redispatch(keys & after, *args)

    return autograd


def _autocast(op: Any, kind: str, key: str, casts: int) -> Callable[..., Any]:
    keys = _C.DispatchKeySet(getattr(_C.DispatchKey, key))

    def cast(*args: Any) -> Any:
        dtype = torch.get_autocast_dtype(kind)
        first = (a.to(dtype) if isinstance(a, torch.Tensor) and a.is_floating_point() and a.dtype != torch.float64 else a for a in args[:casts])
        with _C._ExcludeDispatchKeyGuard(keys):
            return op(*first, *args[casts:])

    return cast


def wanted(ctx: Any, count: int) -> list[bool]:
    """Which of the first arguments want a gradient."""
    needs = ctx.needs_input_grad[1 : count + 1]
    return [bool(w) for w in needs] + [False] * (count - len(needs))
