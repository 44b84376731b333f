"""Shapes and types of results that differ from those of an operand: one function for each, and the table of who has which.

A rule is called with the operands (objects with shape and kind) and numbers of the call by name, and returns (shape, kind). Results that the table
does not have are like an operand (the header says "as q", or names them together), or are given by the caller. Knows nothing of the library:
generate.py reads the table, too.
"""

from __future__ import annotations

from typing import Any, Callable

I32, F32 = 6, 14  # KILN_I32, KILN_F32: checked by the tests
I8, F8E4 = 2, 12

Rule = Callable[[Any], "tuple[tuple[int, ...], int]"]


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape that all are repeated to, as in NumPy; None: there is none."""
    rank = max(map(len, shapes), default=0)
    out = [1] * rank
    for shape in shapes:
        for at, size in enumerate(shape, rank - len(shape)):
            if size != 1 and out[at] not in (1, size):
                return None
            out[at] = size if size != 1 else out[at]
    return tuple(out)


def matmul(v: Any) -> tuple[tuple[int, ...], int]:
    if len(v.a.shape) < 2 or len(v.b.shape) < 2:
        raise ValueError("matmul: 'a' and 'b' have at least two dimensions; a vector is a matrix of one row: x[None, :]")
    batches = broadcast(v.a.shape[:-2], v.b.shape[:-2])
    if batches is None or v.a.shape[-1] != v.b.shape[-2]:
        raise ValueError("matmul: %s times %s is no matrix product" % (list(v.a.shape), list(v.b.shape)))
    kind = I32 if v.a.kind == I8 else F32 if v.a.kind == F8E4 else v.a.kind
    return (*batches, v.a.shape[-2], v.b.shape[-1]), kind


def attention_out(v: Any) -> tuple[tuple[int, ...], int]:
    return v.q.shape, v.q.kind


def attention_lse(v: Any) -> tuple[tuple[int, ...], int]:
    return v.q.shape[:-1], F32


def norm_parameter(v: Any) -> tuple[tuple[int, ...], int]:
    return (v.x.shape[v.axis],), v.x.kind


def norm_workspace(v: Any) -> tuple[tuple[int, ...], int]:
    rows = 1
    for at, size in enumerate(v.x.shape):
        rows *= size if at != v.axis else 1
    return (2 * rows,), F32


def like_x(v: Any) -> tuple[tuple[int, ...], int]:
    return v.x.shape, v.x.kind


def like_out(v: Any) -> tuple[tuple[int, ...], int]:
    return v.out.shape, v.out.kind


def concat(v: Any) -> tuple[tuple[int, ...], int]:
    first = v.parts[0].shape
    if any(len(part.shape) != len(first) for part in v.parts):
        raise ValueError("concat: the parts have different numbers of dimensions")
    return (*first[: v.axis], sum(part.shape[v.axis] for part in v.parts), *first[v.axis + 1 :]), v.parts[0].kind


WRITTEN = {("kiln_split", "parts")}  # lists of results, given by the caller
def loss(v: Any) -> tuple[tuple[int, ...], int]:
    return () if v.reduction else v.targets.shape, v.logits.kind  # 0: a loss for each row


def like_targets(v: Any) -> tuple[tuple[int, ...], int]:
    return v.targets.shape, F32


def one_number(v: Any) -> tuple[tuple[int, ...], int]:
    return (), F32


# Operands whose comments do not say that they may be left out; operands with the name of a result.
OPTIONAL = {("kiln_norm_forward", "residual"), ("kiln_norm_forward", "sum"), ("kiln_norm_backward", "weight"), ("kiln_cross_entropy_backward", "weight"), ("kiln_cross_entropy_backward", "total_weight")}
INPUTS = {("kiln_cross_entropy_backward", "dloss"), ("kiln_norm_backward", "dsum")}
WITH = {("norm", "sum"): "residual"}  # results that are made where this operand is given

RULES: dict[str, dict[str, Rule]] = {
    "kiln_matmul": {"out": matmul},
    "kiln_attention_forward": {"out": attention_out, "lse": attention_lse},
    "kiln_concat": {"whole": concat},
    "kiln_cross_entropy_forward": {"loss": loss, "lse": like_targets, "total_weight": one_number},
    "kiln_softmax_backward": {"dx": like_out},
    "kiln_norm_forward": {"sum": like_x},
    "kiln_norm_backward": {"dweight": norm_parameter, "dbias": norm_parameter, "workspace": norm_workspace},
}
