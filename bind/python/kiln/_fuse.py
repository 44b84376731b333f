"""kiln.fuse: a function of elementwise ops as one kernel.

The function is called once with nodes in place of its arrays, for each combination of their types; what it does to them becomes an expression of
kiln/ops_fuse.h. Numbers among its arguments are parameters of the kernel, numbers within it constants.
"""

from __future__ import annotations

import ctypes
from ctypes import byref
from typing import Any, Callable, Sequence

from . import _abi, _numbers, _shapes
from ._array import describe
from ._borrow import Borrowed, choose_device
from ._device import NO_VIEW
from ._errors import ArgumentError, TypeMismatch
from ._library import library
from ._op import Op, _no_gradient, allocate, reduced
from ._types import FLOATS, FROM_NAME, NAME, SIZE, type_of

INPUTS, OUTPUTS, VIEWS, PARAMETERS, NODES = 12, 8, 16, 16, 256
_EXPRESSION_BYTES = 168 + NODES * 24
FUSE = Op(
    "kiln_fuse",
    "Q" + "160s" * INPUTS + "I4x160si4x" * OUTPUTS + "I4x" + "d" * PARAMETERS + "160sQ",
    [("int", "expression", ""), *(("in?", "in%d" % n, "") for n in range(INPUTS)),
     *(field for n in range(OUTPUTS) for field in (("int", "node%d" % n, ""), ("out?", "out%d" % n, ""), ("int", "reduction%d" % n, ""))),
     ("int", "axes", ""), ("numbers", "parameters", "16"), ("work", "workspace", "query:kiln_fuse_workspace:f32"), ("stream", "stream", "")],
)  # fmt: skip
REDUCTIONS = _abi.ENUMS["kiln_fuse_reduction"]


class Expression:
    """A kiln_expr and what is known of its inputs."""

    def __init__(self) -> None:
        self.memory = ctypes.create_string_buffer(_EXPRESSION_BYTES)
        self.address = ctypes.addressof(self.memory)
        self.whole: dict[int, str] = {}  # numbers among the arguments that stand beside arrays of whole numbers: where

    def copy(self) -> Expression:
        made = Expression()
        ctypes.memmove(made.address, self.address, _EXPRESSION_BYTES)
        return made

    def checked(self, number: int, call: str) -> int:
        if not number:
            raise ArgumentError("fuse: %s: %s" % (call, ctypes.string_at(self.address + 4).decode("utf-8", "replace")))
        return number


class Node:
    """A value of the expression. Operators, and the elementwise ops of kiln.ops as functions or methods, give other nodes."""

    __slots__ = ("of", "number", "kind", "argument")
    _is_node = True
    __array_ufunc__ = None  # NumPy's numbers leave operators to us

    def __init__(self, of: Expression, number: int, kind: int | None, argument: int | None = None) -> None:
        """argument: which of the numbers among the function's arguments it is"""
        self.of, self.number, self.kind, self.argument = of, number, kind, argument

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in _abi.ENUMS["kiln_elementwise"]:
            raise AttributeError("a node has no '%s': the elementwise ops of kiln.ops, to(dtype) and reduce(op, axis)" % name)
        return lambda *operands, **numbers: apply(name, (self, *operands), **numbers)

    def to(self, dtype: Any) -> Node:
        """The value that an array of that type would hold."""
        kind = type_of(dtype)
        if kind is None:
            raise TypeMismatch("fuse: to(%r): none of Kiln's types" % (dtype,))
        return Node(self.of, self.of.checked(library.kiln_expr_cast(self.of.address, kind, self.number), "to"), kind)

    def reduce(self, op: str, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Reduced:
        """A result of the function: "sum", "mean", "max" or "min" along axes, all for None."""
        if op not in REDUCTIONS or not REDUCTIONS[op]:
            raise ArgumentError("fuse: reduce(%r): one of %s" % (op, ", ".join(n for n, number in REDUCTIONS.items() if number)))
        return Reduced(self, op, axis, keepdims)

    def __bool__(self) -> bool:
        raise ArgumentError("fuse: a node has no value yet: kiln.ops.where chooses between two")

    def __repr__(self) -> str:
        return "<kiln.fuse node %d%s>" % (self.number, " " + NAME[self.kind] if self.kind is not None else "")


_OPERATORS = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "pow": "pow", "mod": "remainder"}
_COMPARISONS = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal"}


def _operator(name: str, is_swapped: bool) -> Any:
    if is_swapped:
        return lambda self, other: apply(name, (other, self))
    return lambda self, other: apply(name, (self, other))


for _python, _name in _OPERATORS.items():
    if _name in _abi.ENUMS["kiln_elementwise"]:
        setattr(Node, "__%s__" % _python, _operator(_name, False))
        setattr(Node, "__r%s__" % _python, _operator(_name, True))
for _python, _name in _COMPARISONS.items():
    if _name in _abi.ENUMS["kiln_elementwise"]:
        setattr(Node, "__%s__" % _python, _operator(_name, False))
setattr(Node, "__hash__", object.__hash__)  # which a class with == loses
setattr(Node, "__neg__", lambda self: apply("neg", (self,)))
setattr(Node, "__abs__", lambda self: apply("abs", (self,)))


class Reduced:
    """A node with a reduction: a result of the function and nothing else."""

    def __init__(self, node: Node, op: str, axis: Any, keepdims: bool) -> None:
        self.node, self.op, self.axis, self.keepdims = node, op, axis, keepdims

    def __repr__(self) -> str:
        return "<kiln.fuse %s of %r>" % (self.op, self.node)


def apply(name: str, operands: Sequence[Any], alpha: Any = None, beta: Any = None) -> Node:
    """An elementwise op over nodes and numbers."""
    from . import ops

    number, form, has_alpha, has_beta, _ = ops.ELEMENTWISE[name]
    if len(operands) != form.index("_"):
        raise ArgumentError("fuse: %s takes %d operands, not %d" % (name, form.index("_"), len(operands)))
    of = next(o.of for o in operands if isinstance(o, Node))
    nodes = []
    kinds = [o.kind for o, role in zip(operands, form) if role == "T" and isinstance(o, Node) and o.kind is not None]
    kind = max(kinds, key=lambda k: SIZE[k]) if kinds else None
    for letter, value, role in zip("abc", operands, form):
        where = "fuse: %s: '%s'" % (name, letter)
        if role == "T" and kind is not None and kind not in FLOATS and getattr(value, "argument", None) is not None:
            of.whole[value.argument] = where
        if isinstance(value, (bool, int, float)):
            value = _numbers.beside(where, value, kind) if role == "T" and kind is not None else value
            value = Node(of, library.kiln_expr_constant(of.address, _numbers.counted(where, value, kind if role == "T" else None)), None)
        if not isinstance(value, Node) or value.of is not of:
            raise TypeMismatch("fuse: %s: '%s' is a %s: a value of this function, or a number" % (name, letter, type(value).__name__))
        nodes.append(value)
    numbers = []
    for title, given, has, default in (("alpha", alpha, has_alpha, 1.0), ("beta", beta, has_beta, 0.0)):
        given = default if given is None else given
        if not isinstance(given, Node) and has:
            given = _numbers.counted("fuse: %s: %s" % (name, title), given, kind)
        numbers.append(given.number if isinstance(given, Node) else library.kiln_expr_constant(of.address, given) if has else 0)
    padded = [n.number for n in nodes] + [0] * (3 - len(nodes))
    made = of.checked(library.kiln_expr_op_with(of.address, number, *padded, *numbers), name)
    return Node(of, made, _abi.KILN_BOOL if form.endswith("_B") else kind)


class Trace:
    """A function's expression for operands of these types."""

    def __init__(self, function: Callable[..., Any], name: str, kinds: Sequence[int | None]) -> None:
        """kinds: a type for each array, None for each number"""
        self.expression, self.name = Expression(), name
        of, arguments, arrays, numbers = self.expression, [], 0, 0
        self.inputs: list[Node] = []
        for kind in kinds:
            if kind is None:
                arguments.append(Node(of, of.checked(library.kiln_expr_parameter(of.address, numbers), name), None, numbers))
                numbers += 1
            else:
                arguments.append(Node(of, of.checked(library.kiln_expr_input(of.address, arrays), name), kind))
                self.inputs.append(arguments[-1])
                arrays += 1
        if not arrays:
            raise ArgumentError("%s: no argument is an array" % name)
        given = function(*arguments)
        self.is_many = isinstance(given, (tuple, list))
        self.results: list[Node | Reduced] = list(given) if self.is_many else [given]
        for n, result in enumerate(self.results):
            if not isinstance(result, (Node, Reduced)):
                raise TypeMismatch("%s: result %d is a %s: what the ops on its arguments give" % (name, n, type(result).__name__))
        if not 0 < len(self.results) <= OUTPUTS or arrays + len(self.results) > VIEWS:
            raise ArgumentError("%s: %d arrays and %d results: at most %d arrays, %d results, %d together"
                                % (name, arrays, len(self.results), INPUTS, OUTPUTS, VIEWS))  # fmt: skip
        self.nodes = [r.node if isinstance(r, Reduced) else r for r in self.results]
        self.kinds = [n.kind if n.kind is not None else self.inputs[0].kind for n in self.nodes]
        self.reductions = [REDUCTIONS[r.op] if isinstance(r, Reduced) else 0 for r in self.results]

    def check_numbers(self, numbers: Sequence[float]) -> None:
        """Numbers beside arrays of whole numbers must be whole: nothing is cut off."""
        for at, where in self.expression.whole.items():
            if not float(numbers[at]).is_integer():
                raise TypeMismatch("%s is %r beside an array of whole numbers: convert the array first" % (where, numbers[at]))
            _numbers.counted(where, numbers[at], _abi.KILN_I64)

    def shapes(self, shape: Sequence[int]) -> tuple[int, list[tuple[int, ...]]]:
        """(bits of the reduced axes, a shape for each result) over a shape that all arrays are broadcast to"""
        mask, out = 0, []
        for result in self.results:
            if isinstance(result, Node):
                out.append(tuple(shape))
                continue
            bits, one = reduced(shape, result.axis, result.keepdims, self.name)
            if mask not in (0, bits):
                raise ArgumentError("%s: all reductions are along the same axes" % self.name)
            mask = bits
            out.append(one)
        return mask, out


def fields(count: int, results: int) -> str:
    """The names of the views of a call"""
    return " ".join(["in%d" % n for n in range(count)] + ["out%d" % n for n in range(results)])


class Fused:
    """A function that runs as one kernel."""

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        if not callable(function):
            raise TypeMismatch("fuse: a %s: a function of elementwise ops" % type(function).__name__)
        self.function = function
        self.name = name or getattr(function, "__name__", "fuse").replace("<lambda>", "fuse")
        self.__name__, self.__doc__ = self.name, function.__doc__
        self.traces: dict[Any, Trace] = {}

    def trace(self, kinds: tuple[int | None, ...]) -> Trace:
        found = self.traces.get(kinds)
        if found is None:
            found = self.traces[kinds] = Trace(self.function, self.name, kinds)
        return found

    def __call__(self, *arguments: Any, out: Any = None, stream: Any = None, device: Any = None) -> Any:
        described = [None if isinstance(a, (bool, int, float)) else describe(a, "%s: argument %d" % (self.name, n)) for n, a in enumerate(arguments)]
        for n, (one, value) in enumerate(zip(described, arguments)):
            if one is None and not isinstance(value, (bool, int, float)):
                raise TypeMismatch("%s: argument %d is a %s: an array or a number" % (self.name, n, type(value).__name__))
        arrays = [one for one in described if one is not None]
        _no_gradient(self.name, [("argument %d" % n, one.source) for n, one in enumerate(arrays)])
        trace = self.trace(tuple(None if one is None else one.kind for one in described))
        shape = _shapes.broadcast(*(one.shape for one in arrays))
        if shape is None:
            raise ArgumentError("%s: shapes %s do not go together: sizes are equal, or 1" % (self.name, ", ".join(str(list(one.shape)) for one in arrays)))
        mask, shapes = trace.shapes(shape)
        numbers = tuple(_numbers.real("%s: argument %d" % (self.name, n), a) for n, a in enumerate(arguments) if isinstance(a, (bool, int, float)))
        trace.check_numbers([a for a in arguments if isinstance(a, (bool, int, float))])
        given = [out] if out is not None and not trace.is_many else list(out) if out is not None else [None] * len(shapes)
        if len(given) != len(shapes):
            raise ArgumentError("%s: out has %d arrays for %d results" % (self.name, len(given), len(shapes)))
        arrays[0].wanted = device
        made = [allocate(arrays[0], one, kind or FROM_NAME["f32"]) if g is None else g for g, one, kind in zip(given, shapes, trace.kinds)]
        results = [describe(one, "%s: result %d" % (self.name, n)) for n, one in enumerate(made)]
        named = [("argument %d" % n, one) for n, one in enumerate(arrays)] + [("result %d" % n, one) for n, one in enumerate(results) if one is not None]
        on = choose_device(self.name, named, device)
        borrowed = Borrowed(on, stream)
        try:
            views = [borrowed.view(one, False) for one in arrays] + [borrowed.view(one, True, "%s: result %d" % (self.name, n)) for n, one in enumerate(results) if one is not None]
            pack = FUSE.packer(*fields(len(arrays), len(results)).split(), "workspace", "stream",
                               fixed=fixed_fields(trace, mask) | {"parameters": numbers})  # fmt: skip
            work = NO_VIEW
            if mask:
                size = ctypes.c_uint64()
                on.call_op(self.name, library.kiln_fuse_workspace, on.handle, pack(*views, NO_VIEW, borrowed.stream()), byref(size))
                if size.value:
                    space = describe(allocate(arrays[0], (size.value,), _abi.KILN_F32))
                    assert space is not None
                    borrowed.keep.append(space)
                    work = borrowed.view(space, True)
            on.call_op(self.name, library.kiln_fuse, on.handle, pack(*views, work, borrowed.stream()))
        finally:
            borrowed.finish()
        return tuple(made) if trace.is_many else made[0]


def fixed_fields(trace: Trace, mask: int) -> dict[str, Any]:
    """The numbers of a description that a trace and its axes say"""
    found: dict[str, Any] = {"expression": trace.expression.address, "axes": mask}
    for n, (node, reduction) in enumerate(zip(trace.nodes, trace.reductions)):
        found["node%d" % n], found["reduction%d" % n] = node.number, reduction
    return found


def fuse(function: Callable[..., Any], name: str | None = None) -> Fused:
    """Makes a function of elementwise ops one kernel, which reads every array once and writes every result once.

        swiglu = kiln.fuse(lambda x, gate: kiln.ops.silu(gate) * x)
        y = swiglu(x, gate)

    Its arguments are arrays, which are broadcast, and numbers. It uses Python's operators, the elementwise ops of kiln.ops, x.to("bf16") and, for its
    results, x.reduce("sum", axis=-1). kiln.torch.fuse makes the same a differentiable op.
    """
    return Fused(function, name)


__all__ = ["Expression", "Fused", "Node", "Reduced", "fuse"]
