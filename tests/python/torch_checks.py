# torch_checks.py: what the tests of kiln.torch share: inputs, opcheck, gradcheck, and ours beside PyTorch's own. It keeps count of the ops that were
# checked; torch_all.py asks whether all were.
import os
import re
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import kiln
from kiln import ops

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bind", "python"))
import generate_ops  # noqa: E402: what the elementwise rows say of their operands

with open(os.path.join(ROOT, "ops", "elementwise", "elementwise.def"), encoding="utf-8") as _table:
    generate_ops.elementwise_rows(_table.read())
RANGES = generate_ops.ranges  # of the operands of an elementwise op: low, high, alpha, beta
# Ops whose results have no gradient, or not one that differences would find.
NO_GRADIENT = {
    "quantise_weights": "whole numbers",
    "dequantise_weights": "of whole numbers",
    "gguf_dequantise": "of whole numbers",
    "w8a8_linear": "rounds x: its gradient is that of the product without rounding, which torch_layers compares",
} | {name: "has no derivative" for name, row in ops.ELEMENTWISE.items() if not row[4] or row[1].endswith("_B")}
checked, differentiated = set(), set()


def tensor(*shape, dtype=torch.float32, grad=True, low=0.3):
    return (torch.rand(*shape, dtype=torch.float64) + low).to(dtype).requires_grad_(grad)


def check(op, *args):
    result = torch.library.opcheck(op, args)
    assert set(result.values()) == {"SUCCESS"}, result
    checked.add(op._schema.name.partition("::")[2])


def differentiated_in(results):
    """The ops of kiln.torch that a backward pass from these results goes through."""
    found, left = set(), [t.grad_fn for t in (results if isinstance(results, (tuple, list)) else [results]) if t.grad_fn is not None]
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left += [n for n, _ in node.next_functions if n is not None]
    names = [type(node).__name__ for node in found]
    kinds = (re.fullmatch(r"kiln_(\w+)Backward", name) or re.fullmatch(r"GeneratedBackwardFor_kiln_(\w+)_defaultBackward", name) for name in names)
    return {kind.group(1) for kind in kinds if kind}


class Backward(TorchDispatchMode):
    """Keeps the arguments of each backward op that is called."""

    def __init__(self):
        super().__init__()
        self.calls = {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.namespace == "kiln" and function._opname.endswith("_backward"):
            self.calls.setdefault(function, torch.utils._pytree.tree_map_only(torch.Tensor, torch.Tensor.detach, args))
        return function(*args, **(kwargs or {}))


def gradients(function, *inputs, is_fast=False):
    """Doubles are compared closely; ops without a double kernel are compared as floats allow. is_fast: along one random direction."""
    if inputs[0].dtype == torch.float64:
        assert torch.autograd.gradcheck(function, inputs, fast_mode=is_fast)
    else:
        assert torch.autograd.gradcheck(function, inputs, eps=1e-2, atol=2e-2, rtol=2e-2)
    results = function(*inputs)
    differentiated.update(differentiated_in(results))
    results = [r for r in (results if isinstance(results, (tuple, list)) else [results]) if r.requires_grad]
    with Backward() as seen:
        torch.autograd.grad(results, inputs, [torch.rand_like(r) for r in results], allow_unused=True)
    for op, args in seen.calls.items():
        if op._opname not in checked:
            check(op, *args)
    second_derivatives(function, inputs)


def second_derivatives(function, inputs):
    """They are right, or refused; never wrong without a word."""

    def slope():
        results = function(*inputs)
        results = [r for r in (results if isinstance(results, (tuple, list)) else [results]) if r.requires_grad]
        found = torch.autograd.grad(results, inputs, [torch.cos(torch.arange(r.numel(), dtype=r.dtype, device=r.device)).view(r.shape) for r in results], create_graph=True, allow_unused=True)
        return sum((g * torch.sin(torch.arange(g.numel(), dtype=g.dtype, device=g.device) + 1).view(g.shape)).sum() for g in found if g is not None)

    one = slope()
    if not isinstance(one, torch.Tensor) or not one.requires_grad:  # a gradient that depends on nothing: its slope is 0
        moved = [slope() for t in inputs if t.data.add_(1e-3) is not None]
        assert all(abs(float(m) - float(one)) <= 1e-2 * (1 + abs(float(one))) for m in moved), "a gradient that depends on its inputs says that it does not"
        for t in inputs:
            t.data.sub_(1e-3)
        return
    try:
        found = torch.autograd.grad(one, inputs, allow_unused=True)
    except kiln.ArgumentError as error:
        assert "second derivatives" in str(error), error
        return
    step = 1e-5 if inputs[0].dtype == torch.float64 else 1e-2
    for t, g in zip(inputs, found):
        way = torch.cos(torch.arange(t.numel(), dtype=torch.float64, device=t.device) * 3).view(t.shape).to(t.dtype)
        kept, ends = t.detach().clone(), []
        for sign in (1, -1):
            t.data.copy_(kept + sign * step * way)
            ends.append(float(slope()))
        t.data.copy_(kept)
        want, got = (ends[0] - ends[1]) / (2 * step), 0.0 if g is None else float((g * way).sum())
        assert abs(want - got) <= (1e-4 if t.dtype == torch.float64 else 0.2) * (1 + abs(want)), "the second derivative is %g, not %g" % (got, want)


def same(ours, theirs, *inputs, atol=1e-5):
    """Two functions give the same, and so do their gradients."""
    leaves = [[t.detach().clone().requires_grad_() for t in inputs] for _ in range(2)]
    got, want = ours(*leaves[0]), theirs(*leaves[1])
    assert got.shape == want.shape and got.dtype == want.dtype and torch.allclose(got, want, atol=atol), (got - want).abs().max()
    up = torch.randn_like(want)
    for n, (g, w) in enumerate(zip(torch.autograd.grad(got, leaves[0], up), torch.autograd.grad(want, leaves[1], up))):
        assert torch.allclose(g, w, atol=4 * atol), (n, (g - w).abs().max())
