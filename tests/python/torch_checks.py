# torch_checks.py: what the tests of kiln.torch share: inputs, opcheck, gradcheck, and ours beside PyTorch's own.
import torch


def tensor(*shape, dtype=torch.float32, grad=True, low=0.3):
    return (torch.rand(*shape, dtype=torch.float64) + low).to(dtype).requires_grad_(grad)


def check(op, *args):
    result = torch.library.opcheck(op, args)
    assert set(result.values()) == {"SUCCESS"}, result


def gradients(function, *inputs):
    """Doubles are compared closely; ops without a double kernel are compared as floats allow."""
    if inputs[0].dtype == torch.float64:
        assert torch.autograd.gradcheck(function, inputs)
    else:
        assert torch.autograd.gradcheck(function, inputs, eps=1e-2, atol=2e-2, rtol=2e-2)


def same(ours, theirs, *inputs, atol=1e-5):
    """Two functions give the same, and so do their gradients."""
    leaves = [[t.detach().clone().requires_grad_() for t in inputs] for _ in range(2)]
    got, want = ours(*leaves[0]), theirs(*leaves[1])
    assert got.shape == want.shape and got.dtype == want.dtype and torch.allclose(got, want, atol=atol), (got - want).abs().max()
    up = torch.randn_like(want)
    for n, (g, w) in enumerate(zip(torch.autograd.grad(got, leaves[0], up), torch.autograd.grad(want, leaves[1], up))):
        assert torch.allclose(g, w, atol=4 * atol), (n, (g - w).abs().max())
