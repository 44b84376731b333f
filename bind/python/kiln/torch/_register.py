"""Ops of torch.library: CPU and CUDA kernels, fake kernels, autograd, autocast. Kiln's own are in the namespace "kiln", those of users in "kiln_user".

An op is defined with the dispatcher's own calls, and its autograd kernel runs the CPU or CUDA kernel itself where nothing stands between the two
and no gradient is wanted: a second way through the dispatcher costs as much as the rest of a call. What Python calls is kept in `direct`.
"""

from __future__ import annotations

import functools
from itertools import count
from types import SimpleNamespace
from typing import Any, Callable

import torch

from .._errors import ArgumentError
from ._direct import asking, direct, entries
from ._plan import Planned

_C: Any = torch._C
_numbers = count()
_is_plain: dict[int, bool] = {}  # by the bits of a set of dispatch keys
_BELOW = _C._dispatch_keyset_full_after(_C.DispatchKey.ADInplaceOrView)
_HAS_BITS = hasattr(_BELOW, "raw_repr")  # not in PyTorch 2.4
_KERNELS = (_C.DispatchKey.CPU, _C.DispatchKey.CUDA)


class Space:
    """A namespace of ops."""

    def __init__(self, name: str) -> None:
        self.name, self.lib = name, torch.library.Library(name, "DEF")
        self.ops = getattr(torch.ops, name)


KILN, USER = Space("kiln"), Space("kiln_user")


def _kernel_is_next(keys: Any) -> bool:
    if not _HAS_BITS:
        return (keys & _BELOW).highestPriorityTypeId() in _KERNELS
    bits = keys.raw_repr()
    found = _is_plain.get(bits)
    if found is None:
        found = _is_plain[bits] = (keys & _BELOW).highestPriorityTypeId() in _KERNELS
    return found


def no_forward_mode(name: str, tensors: Any) -> None:
    """Refuses tensors with tangents, which an op would leave out of its result without a word."""
    forward_ad = torch.autograd.forward_ad
    if forward_ad._current_level >= 0 and any(isinstance(t, torch.Tensor) and forward_ad.unpack_dual(t).tangent is not None for t in tensors):
        raise ArgumentError("%s has no forward-mode gradient: use torch.autograd.grad or backward()" % name)


def no_second(name: str) -> Callable[..., Any]:
    def backward(ctx: Any, *_: Any) -> Any:
        raise ArgumentError("kiln::%s has no gradient of its own: second derivatives are not implemented" % name)

    return backward


def register(schema: str, kernel: Callable[..., Any] | Planned, fake: Callable[..., Any], backward: Callable[..., Any] | None = None,
             setup: Callable[..., Any] | None = None, casts: int = 0, widens: int = 0, is_in_f32: bool = False) -> Any:  # fmt: skip
    """Defines kiln::NAME. Under autocast the floating-point tensors among the first arguments change their type: so many take autocast's own (casts), or
    the widest that is among them (widens), or the first is f32 (is_in_f32)."""
    name = schema.partition("(")[0]
    op, call = define(KILN, schema, schema, kernel, fake, backward or no_second(name), setup)
    setattr(direct, name, call)
    for kind, key in (("cpu", "AutocastCPU"), ("cuda", "AutocastCUDA")) if casts or widens or is_in_f32 else ():
        rules: list[Callable[..., Any]] = [_lowered(kind, casts), _widened(widens), _first_in_f32]
        KILN.lib.impl(name, _autocast(op, key, rules[0 if casts else 1 if widens else 2]), key)
    return op


def define(space: Space, schema: str, arguments: str, kernel: Callable[..., Any] | Planned, fake: Callable[..., Any], backward: Callable[..., Any],
           setup: Callable[..., Any] | None) -> tuple[Any, Any]:  # fmt: skip
    """(the op, what Python calls) of a new op; `arguments`: its schema with names that Python's functions may have."""
    name = schema.partition("(")[0]
    title = "%s::%s" % (space.name, name)
    space.lib.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    op = look = getattr(space.ops, name).default
    apply = _Apply(title)
    run: Any = kernel
    ask = call = asking(schema, op)
    if isinstance(kernel, Planned):
        run, look, call = entries(arguments, op, ask, kernel, next(_numbers), apply)
    space.lib.impl(name, run, "CPU")
    space.lib.impl(name, run, "CUDA")
    torch.library.register_fake(title, _in_one_place(schema, fake), lib=space.lib)
    if "Tensor[]" in schema:
        flat = _Flat(op, run, backward, setup)
        run, look, backward, setup = flat.run, flat.run, flat.backward, flat.setup if setup is not None else None
        space.lib.impl(name, flat.autograd(_autograd(flat, run, look, backward, setup, apply)), "Autograd", with_keyset=True)
        if hasattr(torch.library, "register_vmap"):
            torch.library.register_vmap(title, functools.partial(_one_by_one, op), lib=space.lib)
    else:
        space.lib.impl(name, _autograd(op, run, look, backward, setup, apply), "Autograd", with_keyset=True)
    return op, call


def _in_one_place(schema: str, fake: Callable[..., Any]) -> Callable[..., Any]:
    """A fake kernel also runs where one tensor alone is on 'meta': without the question its result would be memory that nobody has filled."""
    name = schema.partition("(")[0]
    names = [word.split(" ")[-1].partition("=")[0] for word in schema.partition("(")[2].partition(") ->")[0].split(", ")]

    def checked(*args: Any) -> Any:
        first: Any = None
        for title, a in zip(names, args):
            for n, t in enumerate(a if _is_tensors(a) else (a,)):
                if not isinstance(t, torch.Tensor):
                    continue
                called = "%s[%d]" % (title, n) if t is not a else title
                first = first or (called, t.device)
                if t.device != first[1]:
                    raise ArgumentError("%s: '%s' is on '%s', '%s' on '%s': move one of them with .to()" % (name, called, t.device, *first))
        return fake(*args)

    return checked


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


def _one_by_one(op: Any, info: Any, in_dims: Any, *args: Any) -> Any:
    """An op with lists of tensors under torch.func.vmap, which does this itself for ops without."""
    def part(a: Any, at: Any, n: int) -> Any:
        if _is_tensors(a):
            return [part(t, one, n) for t, one in zip(a, at)]
        return a.select(at, n) if at is not None and isinstance(a, torch.Tensor) else a

    found = [op(*(part(a, at, n) for a, at in zip(args, in_dims))) for n in range(info.batch_size)]
    if isinstance(found[0], torch.Tensor):
        return torch.stack(found), 0
    stacked = [torch.stack(many) for many in zip(*found)]
    return stacked, [0] * len(stacked)


class _Flat:
    """An op with lists of tensors as one without: an autograd.Function takes and returns tensors that stand alone. The first argument says how long the lists are."""

    def __init__(self, op: Any, kernel: Callable[..., Any], backward: Callable[..., Any], setup: Callable[..., Any] | None) -> None:
        self.op, self.kernel, self.gradient, self.prepare = op, kernel, backward, setup
        self._schema = SimpleNamespace(arguments=())
        self.returns_list = "[]" in str(op._schema.returns[0].type) or "List" in str(op._schema.returns[0].type)
        self.defaults = tuple(a.default_value if a.has_default_value() else None for a in op._schema.arguments)

    def whole(self, lengths: Any, flat: Any) -> list[Any]:
        """The arguments with their lists."""
        items, args = iter(flat), []
        for length in lengths:
            args.append(next(items) if length is None else [next(items) for _ in range(length)])
        return args

    def result(self, found: Any) -> Any:
        return tuple(found) if self.returns_list else found

    def run(self, lengths: Any, *flat: Any) -> Any:
        return self.result(self.kernel(*self.whole(lengths, flat)))

    def redispatch(self, keys: Any, lengths: Any, *flat: Any) -> Any:
        return self.result(self.op.redispatch(keys, *self.whole(lengths, flat)))

    def setup(self, ctx: Any, inputs: Any, output: Any) -> None:
        args = self.whole(inputs[0], inputs[1:])
        ctx.lengths = inputs[0]
        assert self.prepare is not None
        self.prepare(ctx, (*args, *self.defaults[len(args) :]), list(output) if self.returns_list else output)

    def backward(self, ctx: Any, *grads: Any) -> Any:
        found = self.gradient(ctx, list(grads)) if self.returns_list else self.gradient(ctx, *grads)
        flat: list[Any] = [None]  # of the lengths
        for length, one in zip(ctx.lengths, found):
            flat += [one] if length is None else one if one is not None else [None] * length
        return tuple(flat)

    def autograd(self, autograd: Callable[..., Any]) -> Callable[..., Any]:
        def call(keys: Any, *args: Any) -> Any:
            flat: list[Any] = []
            for a in args:
                flat += a if _is_tensors(a) else [a]
            found = autograd(keys, tuple(len(a) if _is_tensors(a) else None for a in args), *flat)
            return list(found) if self.returns_list else found

        return call


def _is_tensors(a: Any) -> bool:
    return isinstance(a, (list, tuple)) and bool(a) and isinstance(a[0], torch.Tensor)


def _any_wants(*args: Any) -> bool:
    """For a PyTorch that does not ask this itself (2.4)."""
    return any(isinstance(a, torch.Tensor) and a.requires_grad for a in args)


def _single_level() -> Any:
    """What PyTorch asks for around an autograd.Function that belongs to the innermost transform alone; None: this PyTorch has no such thing."""
    try:
        from torch._functorch.autograd_function import enable_single_level_autograd_function
    except ImportError:
        return None
    return enable_single_level_autograd_function


def _autograd(op: Any, kernel: Callable[..., Any], look: Callable[..., Any], backward: Callable[..., Any], setup: Callable[..., Any] | None,
              made: _Apply) -> Callable[..., Any]:  # fmt: skip
    """The kernel of the key Autograd. The dispatcher leaves out trailing arguments that have their default value: `setup` gets them all."""
    defaults = tuple(a.default_value if a.has_default_value() else None for a in op._schema.arguments)
    forward_ad, is_grad_enabled, any_requires_grad = torch.autograd.forward_ad, _C.is_grad_enabled, getattr(_C, "_any_requires_grad", _any_wants)
    is_transformed, allow = getattr(_C, "_are_functorch_transforms_active", lambda: False), _single_level()
    after, below_autograd = _C._after_autograd_keyset, _C._AutoDispatchBelowAutograd

    def forward(ctx: Any, keys: Any, *args: Any) -> Any:
        if keys is None:  # not from the dispatcher; gradients are off here
            result = look(*args)
        elif is_transformed():  # the transforms around the innermost one have gradients of their own, which are off here, too
            with below_autograd(), torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
                result = op.redispatch(keys & after, *args)
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
        if forward_ad._current_level >= 0:
            no_forward_mode(made.title, args)
        if is_grad_enabled() and any_requires_grad(*args):
            # within torch.func's transforms the tensors are those of its innermost one, for which this is the plain way
            if is_transformed() and allow is not None:
                with allow():
                    return made.quick(keys, *args)
            return apply(keys, *args)
        if _kernel_is_next(keys):
            return kernel(*args)
        with below_autograd():
            return op.redispatch(keys & after, *args)

    return autograd


def _autocast(op: Any, key: str, rule: Callable[..., Any]) -> Callable[..., Any]:
    keys = _C.DispatchKeySet(getattr(_C.DispatchKey, key))

    def cast(*args: Any) -> Any:
        given = rule(args)
        with _C._ExcludeDispatchKeyGuard(keys):
            return op(*given)

    return cast


def _is_float(a: Any) -> bool:
    return isinstance(a, torch.Tensor) and a.is_floating_point()


def _lowered(kind: str, count: int) -> Callable[..., Any]:
    """The first arguments in autocast's type."""

    def rule(args: Any) -> Any:
        dtype = torch.get_autocast_dtype(kind)
        return *(a.to(dtype) if _is_float(a) and a.dtype != torch.float64 else a for a in args[:count]), *args[count:]

    return rule


def _widened(count: int) -> Callable[..., Any]:
    """The first arguments, or the tensors of a list, in the widest type that one of them has."""

    def rule(args: Any) -> Any:
        first = args[0] if isinstance(args[0], (list, tuple)) else args[:count]
        types = {a.dtype for a in first if _is_float(a)}
        if len(types) < 2:
            return args
        dtype = functools.reduce(torch.promote_types, types)
        made = [a.to(dtype) if _is_float(a) else a for a in first]
        return (made, *args[1:]) if first is args[0] else (*made, *args[count:])

    return rule


def _first_in_f32(args: Any) -> Any:
    """A loss is a sum of many numbers, whose type a layer before it has made narrow."""
    return (args[0].float() if _is_float(args[0]) and args[0].dtype != torch.float64 else args[0], *args[1:])


def wanted(ctx: Any, count: int) -> list[bool]:
    """Which of the first arguments want a gradient."""
    needs = ctx.needs_input_grad[1 : count + 1]
    return [bool(w) for w in needs] + [False] * (count - len(needs))
