"""kiln.torch.op: a kernel of one's own as a differentiable op of PyTorch."""

from __future__ import annotations

import hashlib
import inspect
import keyword
import os
from typing import Any, Callable, Mapping

import torch

from .. import _abi
from .._errors import ArgumentError, NotFound, TypeMismatch
from .._module import Kernel, Module, Parameter, compile, is_compiled
from .._types import FLOATS, NUMPY_NAME
from ._call import device_of, devices, raw_stream
from ._plan import Planned, keep
from ._register import USER, define as define_op, no_second

_empty = torch.empty_strided
Amount = Any  # a number, a tuple, or a function of the op's arguments by name


def _call_with(function: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """Calls a function with those of the values that it names."""
    names = inspect.signature(function).parameters
    values = {**values, **{name + "_": v for name, v in values.items() if keyword.iskeyword(name)}}
    if any(p.kind is p.VAR_KEYWORD for p in names.values()):
        return function(**values)
    missing = [n for n, p in names.items() if n not in values and p.default is p.empty]
    if missing:
        raise NotFound("kiln.torch.op: a function asks for '%s': the op has %s" % (missing[0], ", ".join(values)))
    return function(**{n: values[n] for n in names if n in values})


class _Again:
    """What an op did, to be done again: the launch with results that lie elsewhere."""

    def __init__(self, made: list[Any], launch: Any, zeroed: bool, many: bool) -> None:
        self.specs = [(tuple(t.shape), t.stride(), t.dtype, t.device) for t in made]
        self.launch, self.zeroed, self.many = launch, zeroed, many

    def run(self, device: Any) -> Any:
        """The caller holds the device's lock."""
        made = [_empty(shape, strides, dtype=dtype, device=where) for shape, strides, dtype, where in self.specs]
        if self.zeroed:
            for t in made:
                t.zero_()
        self.launch(device, [t.data_ptr() for t in made])
        return tuple(made) if self.many else made[0]


class _Launched(Planned):
    """The kernel of an op: a function of its arguments that returns the results and an _Again, or None where the next call must look at them again."""

    def first(self, device: Any, key: Any, plan: Any, args: Any) -> Any:
        with device.lock:
            results, again = self.kernel(*args)
            if plan is None:
                keep(device.plans, key, again or False)
            return results


class _Pass:
    """One kernel as a function of named tensors and numbers that returns the tensors it writes."""

    def __init__(self, kernel: Kernel, shapes: Any, bind: Mapping[str, Any], launch: Mapping[str, Amount], zeroed: bool) -> None:
        self.kernel, self.bind, self.launch, self.shapes, self.zeroed = kernel, dict(bind), dict(launch), shapes, zeroed
        for parameter in kernel.parameters:
            if parameter.is_pointer and parameter.type == _abi.KILN_VOID or parameter.kind not in (_abi.KILN_PARAM_POINTER, _abi.KILN_PARAM_SCALAR):
                raise ArgumentError("kiln.torch.op: parameter '%s' of %s is a struct: an op takes tensors and numbers" % (parameter.name, kernel.__name__))
        self.inputs = [p for p in kernel.parameters if p.is_pointer and p.is_const]
        self.outputs = [p for p in kernel.parameters if p.is_pointer and not p.is_const]
        self.numbers = [p for p in kernel.parameters if not p.is_pointer and p.name not in self.bind and not self._is_count(p)]
        self.types = [getattr(torch, NUMPY_NAME[p.type]) for p in self.outputs]
        shaped = list(shapes.values()) if isinstance(shapes, Mapping) else [shapes]
        self.is_fixed = not any(callable(v) for v in (*self.bind.values(), *self.launch.values(), *shaped))  # functions may look into the tensors
        if not self.outputs:
            raise ArgumentError("kiln.torch.op: %s writes nothing: a result is a pointer without const" % kernel.__name__)

    def _is_count(self, p: Parameter) -> bool:
        """`n` is the number of elements of the first result unless bind says something else."""
        return p.name == "n" and p.type not in FLOATS and not p.is_pointer

    def sizes(self, values: Mapping[str, Any], like: Any) -> list[Any]:
        """The shapes of its results."""
        found = []
        for p in self.outputs:
            shape = self.shapes.get(p.name) if isinstance(self.shapes, Mapping) else self.shapes
            if callable(shape):
                shape = _call_with(shape, values)
            elif shape is None:
                twin = values.get(p.name[1:]) if p.name.startswith("d") else None  # dx is like x
                shape = twin.shape if isinstance(twin, torch.Tensor) else like.shape
            if not isinstance(shape, (tuple, list)) or not all(isinstance(n, (int, torch.SymInt)) for n in shape) or any(isinstance(n, int) and n < 0 for n in shape):
                raise ArgumentError("kiln.torch.op: the shape of %s's result '%s' is %r: sizes, none below 0" % (self.kernel.__name__, p.name, shape))
            found.append(tuple(shape))
        return found

    def make(self, shapes: list[Any], like: Any) -> list[Any]:
        new = torch.zeros if self.zeroed else torch.empty
        return [new(shape, dtype=dtype, device=like.device) for shape, dtype in zip(shapes, self.types)]

    def empty(self, values: Mapping[str, Any], like: Any) -> list[Any]:
        return self.make(self.sizes(values, like), like)

    def run(self, values: Mapping[str, Any], like: Any) -> tuple[list[Any], Any]:
        """The results, and the launch if the same arguments always lead to it."""
        shapes = self.sizes(values, like)
        outputs = self.make(shapes, like)
        if not outputs[0].numel():
            return outputs, None
        named: dict[str, Any] = {}
        for p in self.kernel.parameters:
            value = values.get(p.name)
            if p.name in self.bind:
                bound = self.bind[p.name]
                value = _call_with(bound, values) if callable(bound) else bound
            elif p.is_pointer:
                if not p.is_const:
                    continue
                value = value.contiguous() if value is not None else None
            elif self._is_count(p):
                value = outputs[0].numel()
            if value is None:
                raise ArgumentError("kiln.torch.op: %s has no value for its parameter '%s': bind={'%s': …}" % (self.kernel.__name__, p.name, p.name))
            named[p.name] = value
        options = {k: _call_with(v, values) if callable(v) else v for k, v in self.launch.items()}
        if "items" not in options and "grid" not in options:
            options["items"] = outputs[0].numel()
        launch = self._launch(like, named, outputs, shapes, options)
        is_same = self.is_fixed and all(named[p.name] is values.get(p.name) for p in self.inputs if p.name not in self.bind)
        return outputs, launch if is_same else None

    def _launch(self, like: Any, named: dict[str, Any], outputs: list[Any], shapes: list[Any], options: dict[str, Any]) -> Any:
        """The launch for tensors at these addresses is remembered; what differs is where the results are. None: it is not one of PyTorch's device."""
        index = like.get_device()
        device = self.kernel.module.device if index < 0 else devices.get(index)
        if device is None or device.handle is None:
            device = device_of(like)
        stream = raw_stream(index) if index >= 0 else 0
        key: Any = [self, stream, *shapes]
        for value in named.values():
            if isinstance(value, torch.Tensor):
                key += (value.data_ptr(), value.shape, value.dtype, value.get_device())
            else:
                key.append(repr(value))  # 0.0 == -0.0, but they are not the same number
        key += (repr(options),)
        key = tuple(key)
        with device.lock:
            launch = device.plans.get(key)
            if launch is None:
                all_named = named | {p.name: t for p, t in zip(self.outputs, outputs)}
                launch = keep(device.plans, key, self.kernel.remember([all_named[p.name] for p in self.kernel.parameters], self.outputs, options))
            launch(device, [t.data_ptr() for t in outputs])
        return launch if device is devices.get(index) else None


def op(source: str | os.PathLike[str] | Module, kernel: str | None = None, *, backward: str | Callable[..., Any] | None = None, shape: Any = None,
       bind: Mapping[str, Any] | None = None, launch: Mapping[str, Amount] | None = None, backward_launch: Mapping[str, Amount] | None = None,
       zeroed: bool = False, name: str | None = None, define: Any = None, tune: Any = None, include: Any = None,
       check_bounds: bool = False) -> Callable[..., Any]:  # fmt: skip
    """Makes a kernel an op of PyTorch that torch.compile, autograd and both kinds of devices know.

        cube = kiln.torch.op("cube.c", backward="cube_backward")
        y = cube(x)

    The op takes what the kernel takes, in its order: a tensor for each const pointer, a number for each scalar. Pointers without const are its
    results, new tensors: like the first tensor, or as `shape` says (a tuple, a function of the arguments, or a dictionary of both). An integer
    named n is the number of elements of the first result; `bind` gives other parameters fixed or computed values. The launch covers one
    thread per element of the first result, or what `launch` says: {"items": lambda x: x.shape[0]}.

    `backward` names a kernel of the same file. Its parameters go by name: those of the forward kernel, its results, dNAME for the gradient of a
    result, and as its own results dNAME for the gradient of an argument. Or it is a function (saved, *gradients) -> gradients of the tensors. Under
    autocast floating-point tensors take the types that the kernel has.

    A kernel sees where its tensors begin, not their sizes: those of other tensors than the first are the caller's care. check_bounds=True stops a
    thread that leaves one, and says where.
    """
    if isinstance(source, Module):
        is_compiled("kiln.torch.op", define=define, tune=tune, include=include, check_bounds=check_bounds or None)
        module = source
    else:
        module = compile(source, device="cpu", define=define, tune=tune, include=include, check_bounds=check_bounds)
    if kernel is None:
        others = [k for k in module.kernels if k != backward]
        if len(others) != 1:
            raise ArgumentError("kiln.torch.op: which kernel? The second argument names one of %s" % ", ".join(module.kernels))
        kernel = others[0]
    forward = _Pass(module[kernel], shape, bind or {}, launch or {}, zeroed)
    back = _Pass(module[backward], None, bind or {}, backward_launch or {}, True) if isinstance(backward, str) else None
    if not forward.inputs:
        raise ArgumentError("kiln.torch.op: %s reads no tensor: an input is a const pointer" % kernel)
    _check_options(module[kernel], back, bind or {}, shape, backward)
    order = [p for p in module[kernel].parameters if p in forward.inputs or p in forward.numbers]
    words = ["Tensor %s" % p.python if p.is_pointer else "%s %s" % ("float" if p.type in FLOATS else "bool" if p.type == _abi.KILN_BOOL else "SymInt", p.python)
             for p in order]  # fmt: skip
    short = name or "%s_%s" % (kernel, hashlib.sha256(repr((module.source.read(), module.source.define, module.source.tune, id(module))).encode()).hexdigest()[:8])
    many = len(forward.outputs) > 1
    results = "(%s)" % ", ".join(["Tensor"] * len(forward.outputs)) if many else "Tensor"
    schema = "%s(%s) -> %s" % (short, ", ".join(words), results)
    wanted = {p.name: p for p in forward.inputs}

    def check(values: Mapping[str, Any]) -> Any:
        first = values[forward.inputs[0].name]
        for p in forward.inputs:
            t = values[p.name]
            if t.device != first.device:
                raise ArgumentError("%s: argument '%s' is on '%s', '%s' on '%s': move one of them with .to()"
                                    % (kernel, p.name, t.device, forward.inputs[0].name, first.device))  # fmt: skip
            need = getattr(torch, NUMPY_NAME[p.type])
            if t.dtype != need:
                raise TypeMismatch("%s: argument '%s' is %s, the kernel takes %s: convert it with .to(%s)" % (kernel, p.name, t.dtype, p.c_type, need))
        return first

    def fake(*args: Any) -> Any:
        values = dict(zip((p.name for p in order), args))
        made = forward.empty(values, check(values))
        return tuple(made) if many else made[0]

    def run(*args: Any) -> Any:
        values = dict(zip((p.name for p in order), args))
        made, launch = forward.run(values, check(values))
        return tuple(made) if many else made[0], launch and _Again(made, launch, forward.zeroed, many)

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        outputs = output if many else (output,)
        tensors = [t for t in inputs if isinstance(t, torch.Tensor)]
        ctx.save_for_backward(*tensors, *outputs)
        ctx.numbers = {p.name: v for p, v in zip(order, inputs) if not p.is_pointer}

    def gradient(ctx: Any, *grads: Any) -> Any:
        saved = ctx.saved_tensors
        values: dict[str, Any] = dict(zip([p.name for p in forward.inputs] + [p.name for p in forward.outputs], saved)) | ctx.numbers
        if backward is None:
            raise ArgumentError("%s has no backward pass: say backward= in kiln.torch.op, or call it with detached tensors" % kernel)
        if back is None:
            given = backward(values, *grads)  # type: ignore[operator]
            given = given if isinstance(given, (tuple, list)) else (given,)
            if len(given) != len(forward.inputs):
                raise ArgumentError("%s: backward= returns %d gradients for %d tensors (%s): None where there is none"
                                    % (kernel, len(given), len(forward.inputs), ", ".join(wanted)))  # fmt: skip
            made = dict(zip(wanted, given))
        else:
            packed = backward_op(*[values[p.name] for p in order], *[values[p.name] for p in forward.outputs],
                                 *(g if g is not None else torch.zeros_like(values[p.name]) for g, p in zip(grads, forward.outputs)))  # fmt: skip
            made = {p.name[1:]: g for p, g in zip(back.outputs, packed)}
        return tuple(made.get(p.name) if p.is_pointer else None for p in order)

    if name is not None and (not name.isidentifier() or hasattr(torch.ops.kiln_user, name)):
        raise ArgumentError("kiln.torch.op: name=%r is %s" % (name, "no name of C's" if not name.isidentifier() else "taken: another op has it"))
    plain = "%s(%s) -> %s" % (short, ", ".join("%s a%d" % (word.split()[0], n) for n, word in enumerate(words)), results)
    made_op, direct = define_op(USER, schema, plain, _Launched(run), fake, gradient, setup)
    for key in ("AutocastCPU", "AutocastCUDA"):
        USER.lib.impl(short, _autocast(short, key, order), key)
    backward_op: Any = _define_backward(short, back, order, words, forward, wanted) if back is not None else None
    count = len(order)

    def call(*args: Any, **named: Any) -> Any:
        return made_op(*args, **named) if named or len(args) != count else direct(*args)

    call.__name__ = call.__qualname__ = kernel
    call.__doc__ = "%s\n\n%s" % (schema, module[kernel].__doc__)
    call.op = made_op  # type: ignore[attr-defined]
    return call


def _check_options(kernel: Kernel, back: _Pass | None, bind: Mapping[str, Any], shape: Any, backward: Any) -> None:
    """What would otherwise be noticed late, or never."""
    names = [p.name for p in kernel.parameters] + ([p.name for p in back.kernel.parameters] if back is not None else [])
    for name in bind:
        if name not in names:
            raise NotFound("kiln.torch.op: bind has '%s', which is no parameter of %s: %s" % (name, kernel.__name__, kernel.prototype))
    if back is None and backward is not None and not callable(backward):
        raise TypeMismatch("kiln.torch.op: backward=%r: the name of a kernel, or a function" % (backward,))
    for one in shape.values() if isinstance(shape, Mapping) else (shape,):
        if not (one is None or callable(one) or isinstance(one, (tuple, list, torch.Size))):
            raise TypeMismatch("kiln.torch.op: shape=%r: a tuple, a function of the op's arguments, or a dictionary of both" % (shape,))
    for name in shape if isinstance(shape, Mapping) else ():
        if name not in [p.name for p in kernel.parameters if p.is_pointer and not p.is_const]:
            raise NotFound("kiln.torch.op: shape has '%s', which is no result of %s: %s" % (name, kernel.__name__, kernel.prototype))


def _autocast(short: str, key: str, order: list[Parameter]) -> Callable[..., Any]:
    """Under autocast floating-point tensors take the type that the kernel has."""
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
    types = [getattr(torch, NUMPY_NAME[p.type]) if p.is_pointer and p.type in FLOATS else None for p in order]

    def cast(*args: Any) -> Any:
        given = [a.to(dtype) if dtype is not None and isinstance(a, torch.Tensor) and a.is_floating_point() else a for a, dtype in zip(args, types)]
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return getattr(torch.ops.kiln_user, short).default(*given)

    return cast


def _define_backward(short: str, back: _Pass, order: list[Parameter], words: list[str], forward: _Pass, wanted: Mapping[str, Parameter]) -> Any:
    """The backward kernel as an op of its own: torch.compile sees it like any other."""
    for p in back.outputs:
        if not p.name.startswith("d") or p.name[1:] not in wanted:
            raise ArgumentError("kiln.torch.op: the backward kernel %s writes '%s': its results are called d and the name of an argument (%s)"
                                % (back.kernel.__name__, p.name, ", ".join("d" + n for n in wanted)))  # fmt: skip
    names = [p.name for p in order] + [p.name for p in forward.outputs] + ["d" + p.name for p in forward.outputs]
    for p in back.inputs:
        if p.name not in names:
            raise ArgumentError("kiln.torch.op: the backward kernel %s reads '%s': it can have %s" % (back.kernel.__name__, p.name, ", ".join(names)))
    more = ["Tensor " + p.python for p in forward.outputs] + ["Tensor d" + p.name for p in forward.outputs]
    name = short + "_backward"

    def run(*args: Any) -> list[Any]:
        values = dict(zip(names, args))
        return back.run(values, values[back.outputs[0].name[1:]])[0]

    def fake(*args: Any) -> list[Any]:
        values = dict(zip(names, args))
        return back.empty(values, values[back.outputs[0].name[1:]])

    return define_op(USER, "%s(%s) -> Tensor[]" % (name, ", ".join(words + more)), "", run, fake, no_second(back.kernel.__name__), None)[0]
