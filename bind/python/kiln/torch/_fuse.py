"""kiln.torch.fuse: a function of elementwise ops as one differentiable op of PyTorch, its backward pass one kernel, too."""

from __future__ import annotations

import ctypes
import inspect
from types import SimpleNamespace
from typing import Any, Callable

import torch

from .._errors import ArgumentError, TypeMismatch
from .._fuse import FUSE, Fused, Trace, fields, fixed_fields
from .._library import library
from .._types import FLOATS, NUMPY_NAME, type_of
from ._call import Call, empty, new
from ._register import register, wanted

_made = 0


def _kinds(name: str, tensors: Any) -> tuple[int, ...]:
    found = []
    for n, t in enumerate(tensors):
        kind = type_of(t.dtype)
        if kind is None:
            raise TypeMismatch("%s: argument %d is %s, which Kiln does not have" % (name, n, t.dtype))
        found.append(kind)
    return tuple(found)


def _shape(name: str, tensors: Any) -> Any:
    try:
        return torch.broadcast_shapes(*(t.shape for t in tensors))
    except RuntimeError:
        raise ArgumentError("%s: shapes %s do not go together: sizes are equal, or 1" % (name, ", ".join(str(list(t.shape)) for t in tensors))) from None


class _Op:
    """The op of one function: its forward and backward pass for every combination of types."""

    def __init__(self, function: Callable[..., Any], name: str | None) -> None:
        global _made
        self.fused = Fused(function, name)
        self.name = self.fused.name
        parameters = list(inspect.signature(function).parameters.values())
        for p in parameters:
            if p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
                raise ArgumentError("%s: '%s': an op has a fixed number of arguments, given by position" % (self.name, p.name))
        self.is_number = [p.annotation in (float, "float", int, "int") or isinstance(p.default, (int, float)) for p in parameters]
        self.count = self.is_number.count(False)
        words = ["%s %s" % ("float" if is_number else "Tensor", p.name) for p, is_number in zip(parameters, self.is_number)]
        first = self.fused.trace(tuple(None if is_number else type_of(torch.float32) for is_number in self.is_number))
        self.many = first.is_many
        self.result_count = len(first.results)
        self.calls: dict[Any, Call] = {}
        self.gradients: dict[Any, Any] = {}
        short = "fused_%s_%d" % ("".join(c if c.isalnum() else "_" for c in self.name), _made)
        _made += 1
        results = "(%s)" % ", ".join(["Tensor"] * self.result_count) if self.many else "Tensor"
        tensors = ["Tensor %s" % p.name for p, is_number in zip(parameters, self.is_number) if not is_number]
        douts = ["Tensor dout%d" % n for n in range(self.result_count)]
        back = "(%s)" % ", ".join(["Tensor"] * self.count) if self.count > 1 else "Tensor"
        self.backward_op = register("%s_backward(%s) -> %s" % (short, ", ".join([*tensors, *douts, "float[] numbers", "bool[] wanted"]), back),
                                    self.run_backward, self.fake_backward)  # fmt: skip
        self.op = register("%s(%s) -> %s" % (short, ", ".join(words), results), self.run, self.fake, self.gradient, self.setup)

    def split(self, args: Any) -> tuple[list[Any], tuple[float, ...]]:
        return [a for a, is_number in zip(args, self.is_number) if not is_number], tuple(float(a) for a, is_number in zip(args, self.is_number) if is_number)

    def trace(self, kinds: tuple[int, ...]) -> Trace:
        types = iter(kinds)
        return self.fused.trace(tuple(None if is_number else next(types) for is_number in self.is_number))

    # --- forward
    def results(self, make: Any, tensors: Any) -> tuple[int, list[Any], tuple[int, ...]]:
        kinds = _kinds(self.name, tensors)
        trace = self.trace(kinds)
        mask, shapes = trace.shapes(_shape(self.name, tensors))
        types = [getattr(torch, NUMPY_NAME[kind]) for kind in trace.kinds if kind is not None]
        return mask, [make(shape, dtype, tensors[0].device) for shape, dtype in zip(shapes, types)], kinds

    def run(self, *args: Any) -> Any:
        tensors, numbers = self.split(args)
        mask, made, kinds = self.results(new, tensors)
        self.trace(kinds).check_numbers(numbers)
        call = self.calls.get((kinds, mask))
        if call is None:
            call = self.calls[kinds, mask] = Call(FUSE, self.name, fields(len(tensors), len(made)), "parameters", workspace="kiln_fuse_workspace" if mask else "",
                                                  fixed=fixed_fields(self.trace(kinds), mask))  # fmt: skip
        call((*tensors, *made), numbers)
        return tuple(made) if self.many else made[0]

    def fake(self, *args: Any) -> Any:
        _, made, _ = self.results(empty, self.split(args)[0])
        return tuple(made) if self.many else made[0]

    def setup(self, ctx: Any, inputs: Any, output: Any) -> None:
        tensors, ctx.numbers = self.split(inputs)
        ctx.save_for_backward(*tensors)
        outputs = output if self.many else (output,)
        ctx.shapes = [(o.shape, o.dtype, o.device) for o in outputs]
        ctx.mark_non_differentiable(*(o for o in outputs if not o.is_floating_point()))

    # --- backward
    def gradient(self, ctx: Any, *grads: Any) -> Any:
        tensors = ctx.saved_tensors
        every = wanted(ctx, len(self.is_number))
        each = [w for w, is_number in zip(every, self.is_number) if not is_number]
        if any(w for w, is_number in zip(every, self.is_number) if is_number):
            raise ArgumentError("%s: its numbers have no gradient" % self.name)
        trace = self.trace(_kinds(self.name, tensors))
        shape = _shape(self.name, tensors)
        douts = []
        for n, (grad, result) in enumerate(zip(grads, trace.results)):
            if grad is None:
                size, dtype, device = ctx.shapes[n]
                grad = torch.zeros(size, dtype=dtype if dtype.is_floating_point else tensors[0].dtype, device=device)
            if trace.reductions[n]:
                grad = self.spread(grad, result, shape)
            douts.append(grad)
        found = self.backward_op(*tensors, *douts, list(ctx.numbers), each)
        sums = iter([g.sum_to_size(t.shape) if w else None for g, t, w in zip(found if self.count > 1 else (found,), tensors, each)])
        return tuple(None if is_number else next(sums) for is_number in self.is_number)

    def spread(self, grad: Any, result: Any, shape: Any) -> Any:
        """The gradient of a sum or mean by each element"""
        if result.op not in ("sum", "mean"):
            raise ArgumentError("%s: reduce('%s') has no gradient: sum and mean have" % (self.name, result.op))
        rank = len(shape)
        axes = {a % rank for a in (range(rank) if result.axis is None else [result.axis] if isinstance(result.axis, int) else result.axis)}
        count = 1
        for axis in sorted(axes):
            count *= shape[axis]
            if not result.keepdims:
                grad = grad.unsqueeze(axis)
        return (grad / count if result.op == "mean" else grad).expand(shape)

    def backward_results(self, make: Any, args: Any) -> tuple[list[Any], list[Any], Any, list[Any]]:
        tensors, douts = list(args[: self.count]), list(args[self.count : self.count + self.result_count])
        numbers, each = args[self.count + self.result_count :]
        shape = _shape(self.name, tensors)
        made = [make(tuple(shape) if w else (0,), t.dtype, t.device) for t, w in zip(tensors, each)]
        return tensors, douts, (tuple(numbers), tuple(bool(w) for w in each)), made

    def run_backward(self, *args: Any) -> Any:
        tensors, douts, (numbers, each), made = self.backward_results(new, args)
        call, used = self.backward_call(_kinds(self.name, tensors), each)
        call((*tensors, *(douts[n] for n in used), *(m for m, w in zip(made, each) if w)), numbers)
        return tuple(made) if self.count > 1 else made[0]

    def fake_backward(self, *args: Any) -> Any:
        made = self.backward_results(empty, args)[3]
        return tuple(made) if self.count > 1 else made[0]

    def backward_call(self, kinds: tuple[int, ...], each: tuple[bool, ...]) -> tuple[Call, list[int]]:
        """The call, and which gradients of results it reads"""
        found = self.gradients.get((kinds, each))
        if found is not None:
            return found
        trace = self.trace(kinds)
        used = [n for n, kind in enumerate(trace.kinds) if kind in FLOATS]
        e, number = trace.expression.copy(), ctypes.c_uint32
        of = (number * len(used))(*(trace.nodes[n].number for n in used))
        douts = (number * len(used))(*(e.checked(library.kiln_expr_input(e.address, self.count + at), self.name) for at in range(len(used))))
        by = [node.number for node, w in zip(trace.inputs, each) if w]
        nodes = (number * len(by))()
        library.kiln_expr_gradient(e.address, len(used), of, douts, len(by), (number * len(by))(*by), nodes)
        numbers = [e.checked(node, self.name + "'s gradient") for node in nodes]
        if self.count + len(used) > 12 or self.count + len(used) + len(by) > 16:
            raise ArgumentError("%s: its gradient has %d arrays: at most 12 that are read, and 16 in all" % (self.name, self.count + len(used) + len(by)))
        twin: Any = SimpleNamespace(expression=e, nodes=[SimpleNamespace(number=n) for n in numbers], reductions=[0] * len(numbers))
        call = Call(FUSE, self.name + "'s gradient", fields(self.count + len(used), len(numbers)), "parameters", fixed=fixed_fields(twin, 0))
        self.gradients[kinds, each] = (call, used)
        call.keep = e
        return call, used


def fuse(function: Callable[..., Any], name: str | None = None) -> Callable[..., Any]:
    """Makes a function of elementwise ops one kernel and a differentiable op, as kiln.fuse does for arrays.

        swiglu = kiln.torch.fuse(lambda x, gate: gate.silu() * x)
        y = swiglu(x, gate)

    Its arguments are tensors; those that are annotated as float, or have a number as default, are numbers. Its backward pass is one kernel, which
    computes what it needs of the forward pass again.
    """
    if not callable(function):
        raise TypeMismatch("fuse: a %s: a function of elementwise ops" % type(function).__name__)
    made = _Op(function, name)
    registered_op = made.op
    parameters = list(inspect.signature(function).parameters.values())
    defaults = [p.default for p in parameters]

    def call(*args: Any) -> Any:
        missing = [p.name for p in parameters[len(args) :] if p.default is p.empty]
        if missing or len(args) > len(parameters):
            raise TypeMismatch("%s: %s" % (made.name, "the argument '%s' is missing" % missing[0] if missing else "%d arguments for %d parameters" % (len(args), len(parameters))))
        return registered_op(*args, *defaults[len(args) :]) if len(args) < len(defaults) else registered_op(*args)

    call.__name__ = call.__qualname__ = made.name
    call.__doc__ = function.__doc__
    call.op = registered_op  # type: ignore[attr-defined]
    return call
