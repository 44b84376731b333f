"""The op library as ops of PyTorch: elementwise ops, softmax, norms along an axis.

Every op takes tensors with any strides and returns new contiguous ones. Backward passes are ops, too, so that torch.compile sees through
them; they have no gradient of their own.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import torch

from .. import _numbers, ops
from .. import _op_table as table
from .._errors import ArgumentError, TypeMismatch
from .._op import ELEMENTWISE_BACKWARD, ELEMENTWISE_FORWARD
from .._types import type_of
from ._call import Call, axis_of, empty, new, planned, type_name
from ._direct import direct, is_tensor
from ._register import register, wanted


CALLS: dict[str, Call] = {}  # of the elementwise ops
_LINEAR = {"copy": (1,), "neg": (-1,), "add": (1, 1), "sub": (1, -1)}  # whose gradients do not ask for the operands, which need not be kept


# --- elementwise
def _shape(tensors: Sequence[Any], call: str) -> Any:
    shape = tensors[0].shape
    if all(t.shape == shape for t in tensors):
        return shape
    try:
        return torch.broadcast_shapes(*(t.shape for t in tensors))
    except RuntimeError:
        raise ArgumentError("%s: shapes %s do not go together: sizes are equal, or 1" % (call, ", ".join(str(list(t.shape)) for t in tensors))) from None


def _check_types(tensors: Sequence[Any], form: str, call: str) -> Any:
    numbers = [t for t, role in zip(tensors, form) if role == "T"]
    for letter, t, role in zip("abc", tensors, form):
        if role == "T" and t.dtype != numbers[0].dtype:
            raise TypeMismatch("%s: '%s' is %s, another operand %s: convert one of them with .to()" % (call, letter, type_name(t), type_name(numbers[0])))
    return numbers[0].dtype


def _register_elementwise(name: str, number: int, form: str, has_alpha: bool, has_beta: bool, has_derivatives: bool) -> Any:
    count = form.index("_")
    is_mask = form.endswith("_B")
    numbers = (["float alpha=1.0"] if has_alpha else []) + (["float beta=0.0"] if has_beta else [])
    schema = "%s(%s) -> Tensor" % (name, ", ".join(["Tensor " + letter for letter in "abc"[:count]] + numbers))
    words = " ".join("abc"[:count]) + " out"
    fixed = {"op": number} | ({} if has_alpha else {"alpha": 1.0}) | ({} if has_beta else {"beta": 0.0})
    call = CALLS[name] = Call(ELEMENTWISE_FORWARD, name, words, " ".join(n for n in ("alpha", "beta") if n not in fixed), fixed=fixed)

    def split(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[float, ...]]:
        rest = args[count:]
        return args[:count], (*((rest[0] if rest else 1.0,) if has_alpha else ()), *((rest[has_alpha] if len(rest) > has_alpha else 0.0,) if has_beta else ()))

    def result_of(tensors: Sequence[Any]) -> tuple[Any, Any]:
        dtype = _check_types(tensors, form, name) if "T" in form[:count] else tensors[0].dtype
        return _shape(tensors, name), torch.bool if is_mask else dtype

    def fake(*args: Any) -> Any:
        tensors, _ = split(args)
        return empty(*result_of(tensors), tensors[0].device)

    def kernel(*args: Any) -> Any:
        tensors, values = split(args)
        out = new(*result_of(tensors), tensors[0].device)
        call((*tensors, out), *values)
        return out

    def quick(a: Any, *rest: Any) -> Any:  # tensors of one shape and type, no numbers
        shape, dtype = a.shape, a.dtype
        for other in rest:
            if other.shape != shape or other.dtype != dtype:
                return kernel(a, *rest)
        out = new(shape, torch.bool if is_mask else dtype, a.device)
        call((a, *rest, out))
        return out

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        tensors, ctx.numbers = split(inputs)
        if name in _LINEAR:
            ctx.shapes = [t.shape for t in tensors]
        else:
            ctx.save_for_backward(*tensors)
        if is_mask or not has_derivatives:
            ctx.mark_non_differentiable(output)

    def backward(ctx: Any, grad: Any) -> Any:
        each = wanted(ctx, count)
        if name in _LINEAR:
            return tuple((grad if sign > 0 else -grad).sum_to_size(shape) if w else None for sign, shape, w in zip(_LINEAR[name], ctx.shapes, each))
        tensors = ctx.saved_tensors
        none = (None,) * (len(numbers))
        if is_mask or not has_derivatives:
            return (None,) * count + none
        alpha = ctx.numbers[0] if has_alpha else 1.0
        beta = ctx.numbers[-1] if has_beta else 0.0
        grads = direct.elementwise_backward(number, list(tensors), grad, alpha, beta, each)
        return tuple(g.sum_to_size(t.shape) if w else None for g, t, w in zip(grads, tensors, each)) + none

    has_numbers = bool(numbers or "B" in form[:count])
    return register(schema, planned(kernel) if has_numbers else planned(quick), fake, backward, setup, widens=count if count > 1 else 0)


_forms = {number: (name, form) for name, (number, form, *_) in ops.ELEMENTWISE.items()}
_backward_calls: dict[int, Call] = {}


def _elementwise_backward_results(make: Any, operands: Sequence[Any], dout: Any, wanted: Sequence[bool]) -> list[Any]:
    return [make(dout.shape if w else (0,), t.dtype, dout.device) for t, w in zip(operands, wanted)]


def _elementwise_backward(number: int, operands: Sequence[Any], dout: Any, alpha: float, beta: float, wanted: Sequence[bool]) -> list[Any]:
    call = _backward_calls.get(number)
    if call is None:
        call = _backward_calls[number] = Call(ELEMENTWISE_BACKWARD, _forms[number][0] + "'s gradient", "dout a b c da db dc", "alpha beta", fixed={"op": number})
    results = _elementwise_backward_results(new, operands, dout, wanted)
    rest = (None,) * (3 - len(operands))
    call((dout, *operands, *rest, *(r if w else None for r, w in zip(results, wanted)), *rest), alpha, beta)
    return results


register("elementwise_backward(int op, Tensor[] operands, Tensor dout, float alpha, float beta, bool[] wanted) -> Tensor[]", _elementwise_backward,
         lambda number, operands, dout, alpha, beta, wanted: _elementwise_backward_results(empty, operands, dout, wanted))  # fmt: skip
for _name, _row in ops.ELEMENTWISE.items():
    _register_elementwise(_name, *_row)


# --- softmax
_softmax_call = Call(table.softmax, "softmax", "x out", "axis is_log")
_softmax_backward_call = Call(table.softmax_backward, "softmax's gradient", "out dout dx", "axis is_log")


def _softmax(x: Any, axis: int = -1, is_log: bool = False) -> Any:
    out = new(x.shape, x.dtype, x.device)
    _softmax_call((x, out), axis_of(axis, x, "softmax"), is_log)
    return out


def _softmax_fake(x: Any, axis: int = -1, is_log: bool = False) -> Any:
    axis_of(axis, x, "softmax")
    return empty(x.shape, x.dtype, x.device)


def _softmax_backward(out: Any, dout: Any, axis: int, is_log: bool) -> Any:
    dx = new(out.shape, out.dtype, out.device)
    _softmax_backward_call((out, dout, dx), axis_of(axis, out, "softmax's gradient"), is_log)
    return dx


def _softmax_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.axis, ctx.is_log = inputs[1:]
    ctx.save_for_backward(output)


register("softmax_backward(Tensor out, Tensor dout, int axis, bool is_log) -> Tensor", planned(_softmax_backward),
         lambda out, dout, axis, is_log: empty(out.shape, out.dtype, out.device))  # fmt: skip
register("softmax(Tensor x, int axis=-1, bool is_log=False) -> Tensor", planned(_softmax), _softmax_fake,
         lambda ctx, grad: (direct.softmax_backward(ctx.saved_tensors[0], grad, ctx.axis, ctx.is_log), None, None),
         _softmax_setup)  # fmt: skip

# --- norms
_norm_call = Call(table.norm, "norm", "x out weight bias", "axis is_rms eps")
_norm_backward_call = Call(table.norm_backward, "norm's gradient", "x weight dout dx dweight dbias workspace", "axis is_rms eps")


def _norm(x: Any, weight: Any = None, bias: Any = None, axis: int = -1, is_rms: bool = False, eps: float = 1e-5) -> Any:
    out = new(x.shape, x.dtype, x.device)
    _norm_call((x, out, weight, bias), axis_of(axis, x, "norm"), is_rms, eps)
    return out


def _norm_fake(x: Any, weight: Any = None, bias: Any = None, axis: int = -1, is_rms: bool = False, eps: float = 1e-5) -> Any:
    axis_of(axis, x, "norm")
    return empty(x.shape, x.dtype, x.device)


def _norm_results(make: Any, x: Any, axis: int, dweight: bool, dbias: bool) -> Any:
    size = x.shape[axis]
    return make(x.shape, x.dtype, x.device), *(make((size,) if wanted else (0,), x.dtype, x.device) for wanted in (dweight, dbias))


def _norm_backward(x: Any, weight: Any, dout: Any, axis: int, is_rms: bool, eps: float, dweight: bool, dbias: bool) -> Any:
    axis = axis_of(axis, x, "norm's gradient")
    dx, dw, db = _norm_results(new, x, axis, dweight, dbias)
    work = new((2 * (x.numel() // max(x.shape[axis], 1)),), torch.float32, x.device) if dweight or dbias else None
    _norm_backward_call((x, weight, dout, dx, dw if dweight else None, db if dbias else None, work), axis, is_rms, eps)
    return dx, dw, db


def _norm_setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, weight, _, ctx.axis, ctx.is_rms, ctx.eps = inputs
    ctx.save_for_backward(x, weight)


def _norm_gradient(ctx: Any, grad: Any) -> Any:
    x, weight = ctx.saved_tensors
    want_weight, want_bias = wanted(ctx, 3)[1:]
    dx, dw, db = direct.norm_backward(x, weight, grad, ctx.axis, ctx.is_rms, ctx.eps, want_weight, want_bias)
    return dx, dw if want_weight else None, db if want_bias else None, None, None, None


register("norm_backward(Tensor x, Tensor? weight, Tensor dout, int axis, bool is_rms, float eps, bool dweight, bool dbias) -> (Tensor, Tensor, Tensor)",
         planned(_norm_backward), lambda x, weight, dout, axis, is_rms, eps, dweight, dbias: _norm_results(empty, x, axis, dweight, dbias))  # fmt: skip
register("norm(Tensor x, Tensor? weight=None, Tensor? bias=None, int axis=-1, bool is_rms=False, float eps=1e-5) -> Tensor", planned(_norm), _norm_fake,
         _norm_gradient, _norm_setup, widens=3)  # fmt: skip


def functions() -> dict[str, Callable[..., Any]]:
    """A function for each elementwise op, which takes numbers beside tensors."""
    return {name: _function(name, row[1]) for name, row in ops.ELEMENTWISE.items()}


def _function(name: str, form: str) -> Callable[..., Any]:
    call, count = getattr(direct, name), form.index("_")

    def function(*operands: Any, **numbers: Any) -> Any:
        if numbers or len(operands) > count:
            for o in (*operands[count:], *numbers.values()):
                if type(o) is int and not -_EXACT <= o <= _EXACT:
                    _check_exact(name, o, operands)
        for o in operands[:count]:
            if not isinstance(o, torch.Tensor) and _is_number(o):
                break
        else:
            if not numbers or not numbers.keys() & _LETTERS:
                return call(*operands, **numbers)
        for letter in "abc"[len(operands) : count]:  # operands by name
            if letter in numbers:
                operands += (numbers.pop(letter),)
        return call(*(_filled(name, form, operands, n) if n < count and _is_number(o) else o for n, o in enumerate(operands)), **numbers)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = getattr(ops, name).__doc__
    return function


_LETTERS = frozenset("abc")
_EXACT = 1 << 53  # from here on not every whole number is a double


def _check_exact(name: str, value: int, operands: Any) -> None:
    """alpha and beta are doubles, also beside whole numbers."""
    kinds = [type_of(o.dtype) for o in operands if isinstance(o, torch.Tensor)]
    _numbers.counted(name + ": a number", value, kinds[-1] if kinds else None)


def _is_number(o: Any) -> bool:
    return isinstance(o, (int, float)) or type(o).__module__ == "numpy" and o.ndim == 0


def _filled(name: str, form: str, operands: Any, at: int) -> Any:
    """A number among the operands as a tensor of the others' type."""
    value, first, like = operands[at], None, None
    for o, role in zip(operands, form):
        if is_tensor(o):
            first = o if first is None else first
            like = o if like is None and role == "T" else like
    if first is None:
        raise TypeMismatch("%s: at least one operand is a tensor" % name)
    if form[at] == "B":
        return torch.full((), bool(value), dtype=torch.bool, device=first.device)
    if like is not None and not isinstance(like, torch.Tensor):  # stands for a tensor whose type is not known yet
        return like.new_full((), value)
    dtype = torch.float32 if like is None else like.dtype
    if not (type(value) is float and dtype in _WIDE and -1e38 < value < 1e38):
        value = _fitting("%s: '%s'" % (name, "abc"[at]), _numbers.plain(value), dtype)
    return torch.full((), value, dtype=dtype, device=first.device)


_WIDE = (torch.float32, torch.float64, torch.bfloat16)


def _fitting(where: str, value: Any, dtype: Any) -> Any:
    """A number that a tensor of this type can have."""
    if torch.compiler.is_compiling():  # which does not follow all of what the others ask
        if isinstance(value, float) and not dtype.is_floating_point and value != int(value):
            raise TypeMismatch("%s is %r beside a tensor of %s: convert the tensor first" % (where, value, dtype))
        return value
    kind = type_of(dtype)
    return value if kind is None else _numbers.beside(where, value, kind)
