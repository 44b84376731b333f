# gpu.py: kiln and kiln.torch on a GPU: kernels on tensors, the same bits as the library's own buffers, gradients, torch.compile, CUDA graphs, streams.
#     PYTHONPATH=bind/python KILN_LIBRARY=build/libkiln.so python3 tests/python/gpu.py
# With arrays of CuPy and JAX and with models of Hugging Face, where they are installed; every op's gradient.
# Run by make gpu-test. KILN_GPU_TEST_DEVICE=cpu runs what does not need a GPU on the CPU, to try the script itself. bench/gpu/python.py measures.
import copy
import ctypes
import faulthandler
import math
import os
import pickle
import subprocess
import sys
import warnings

faulthandler.enable()

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Skip, raises, run, test

try:
    import torch
except ImportError:
    print("skipped: PyTorch is not installed")
    print("python-gpu: 0 passed, 0 failed, 1 skipped")
    sys.exit(0)
DEVICE = os.environ.get("KILN_GPU_TEST_DEVICE", "cuda")
if DEVICE == "cuda" and not torch.cuda.is_available():
    print("skipped: PyTorch sees no GPU")
    print("python-gpu: 0 passed, 0 failed, 1 skipped")
    sys.exit(0)
import kiln
import kiln.torch as kt
from kiln import ops
from kiln.torch._direct import direct
from torch_checks import NO_GRADIENT, RANGES, differentiated, differentiated_in, gradients

warnings.filterwarnings("ignore")
torch.manual_seed(1)
KILN_DEVICE = "cuda:0" if DEVICE == "cuda" else "cpu"
SAXPY = """#include <kiln/kernel.h>
kernel block(256) void saxpy(f32 *y, const f32 *x, f32 a, u32 n)
{
    u32 i = global_x();
    if (i < n)
        y[i] = a * x[i] + y[i];
}
kernel block(256) void cube(f32 *y, const f32 *x, u32 n)
{
    u32 i = global_x();
    if (i < n)
        y[i] = x[i] * x[i] * x[i];
}
kernel block(256) void cube_backward(f32 *dx, const f32 *x, const f32 *dy, u32 n)
{
    u32 i = global_x();
    if (i < n)
        dx[i] = 3.0f * x[i] * x[i] * dy[i];
}
"""


def sync():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def needs_gpu():
    if DEVICE != "cuda":
        raise Skip("needs a GPU")


def tensor(*shape, dtype=torch.float32, grad=False):
    return torch.randn(*shape, device=DEVICE).to(dtype).requires_grad_(grad)


def as_kiln(t):
    """A copy of a tensor in a buffer of the library's own."""
    t = t.detach().contiguous()
    name = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16", torch.int8: "i8", torch.uint8: "u8", torch.int32: "u32", torch.bool: "bool"}[t.dtype]
    return kiln.zeros(tuple(t.shape), name, KILN_DEVICE).write(bits(t))


def bits(x):
    if isinstance(x, kiln.Array):
        return x.tobytes()
    x = x.detach().contiguous().cpu()
    return ctypes.string_at(x.data_ptr(), x.numel() * x.element_size()) if x.numel() else b""


def close(got, want, tolerance):
    got, want = got.detach().double().cpu(), want.detach().double().cpu()
    worst = ((got - want).abs() / (want.abs() + 1)).max().item() if got.numel() else 0.0
    assert got.shape == want.shape and worst <= tolerance, "off by %g (%g allowed)" % (worst, tolerance)


@test
def kernels_on_tensors():
    m = kiln.compile(SAXPY)
    x, y = tensor(100000), tensor(100000)
    want = 3 * x.double() + y.double()
    m.saxpy(y, x, 3.0, 100000, items=100000)
    sync()
    close(y, want, 1e-6)
    raises(kiln.TypeMismatch, ["'x'", "torch.float32"], m.saxpy, y, x.double(), 3.0, 100000, items=100000)
    raises(kiln.ArgumentError, ["'y'", "detach"], m.saxpy, y.clone().requires_grad_(), x, 3.0, 100000, items=100000)
    needs_gpu()
    raises(kiln.ArgumentError, ["cpu", "cuda"], kt.add, x, torch.randn(100000))
    host = torch.zeros(100)
    kiln.compile(SAXPY, device=KILN_DEVICE).saxpy(host, torch.ones(100), 2.0, 100, items=100)  # the host's memory is copied there and back
    assert (host == 2).all()


@test
def bad_input_is_named():
    """Also where the same call was right just before, and is looked up."""
    x, w, q = tensor(4, 8), tensor(6, 8), tensor(1, 2, 16, 64)
    for _ in range(2):
        kt.linear(x, w), kt.attention(q, q, q)
    raises(kiln.ArgumentError, ["linear", "'weight'", "f64"], kt.linear, x, w.double())
    raises(kiln.TypeMismatch, ["attention", "'v' is f64", ".to()"], kt.attention, q, q, q.double())
    raises(kiln.ArgumentError, ["'out'", "reach an element twice"], ops.add, x, x, out=torch.zeros(1, 8, device=DEVICE).expand(4, 8))
    raises(kiln.ArgumentError, ["sort", "'x' wants a gradient", "kiln.torch.sort", "detach()"], ops.sort, x.clone().requires_grad_())
    cube = kt.op(SAXPY, "cube")
    raises(kiln.ArgumentError, ["cube has no backward pass", "backward=", "detached"], cube(x.clone().requires_grad_()).sum().backward)
    leaf = x.clone().requires_grad_()
    (once,) = torch.autograd.grad(kt.softmax(leaf).square().sum(), leaf, create_graph=True)
    raises(kiln.ArgumentError, ["second derivatives"], once.sum().backward)
    freed = x.clone()
    kt.linear(freed, w), kt.linear(freed, w)
    freed.untyped_storage().resize_(0)
    raises(kiln.ArgumentError, ["'x'", "freed"], kt.linear, freed, w)
    needs_gpu()
    raises(kiln.ArgumentError, ["linear", "'weight' is on 'cpu'", ".to('cuda:0')"], kt.linear, x, w.cpu())
    raises(kiln.ArgumentError, ["attention", "'k' is on 'cpu'", ".to('cuda:0')"], kt.attention, q, q.cpu(), q)


@test
def other_addresses_take_the_same_plan():
    """A cache that grows, as in decoding: in every step the layers have the same sizes and their own addresses."""
    layers = [torch.nn.Linear(64, 64, device=DEVICE, dtype=torch.bfloat16) for _ in range(6)]
    keys = [tensor(1, 4, 3, 64, dtype=torch.bfloat16) for _ in layers]
    device, real, ran = kiln.device(KILN_DEVICE), kt._products._check_attention, []
    kt._products._check_attention = lambda *args: ran.append(1) or real(*args)
    try:
        for _ in range(20):
            q = tensor(1, 4, 1, 64, dtype=torch.bfloat16)
            for n, layer in enumerate(layers):
                keys[n] = torch.cat([keys[n], q], 2)
                got = kt.scaled_dot_product_attention(q, keys[n], keys[n] + 1)
                close(got, torch.nn.functional.scaled_dot_product_attention(q.float(), keys[n].float(), (keys[n] + 1).float()), 2e-2)
                close(kt.linear(got, layer.weight, layer.bias), torch.nn.functional.linear(got.float(), layer.weight.float(), layer.bias.float()), 2e-2)
                q = got
    finally:
        kt._products._check_attention = real
    assert len(ran) <= (20 if DEVICE == "cuda" else 80), "%d times for 20 lengths" % len(ran)  # memory of the host has more remainders of its addresses
    assert device.plans and device.forms


@test
def the_same_bits_as_the_library():
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x, w = tensor(64, 96, dtype=dtype), tensor(96, 128, dtype=dtype)
        for ours, theirs in [(kt.gelu(x), ops.gelu(as_kiln(x))), (kt.softmax(x), ops.softmax(as_kiln(x))), (kt.rms_norm(x), ops.norm(as_kiln(x), is_rms=True)),
                             (kt.matmul(x, w), ops.matmul(as_kiln(x), as_kiln(w), is_tf32=torch.backends.cuda.matmul.allow_tf32)), (kt.sum(x, 0), ops.sum(as_kiln(x), 0))]:  # fmt: skip
            sync()
            assert bits(ours) == bits(theirs), dtype
        q = tensor(2, 4, 256, 64, dtype=dtype)
        packed = as_kiln(q)
        sync()
        assert bits(kt.attention(q, q, q, True)) == bits(ops.attention(packed, packed, packed, is_causal=True)), dtype
    x = tensor(50, 70)
    for ours, name in ((kt.gelu, "gelu"), (kt.softmax, "softmax"), (kt.exp, "exp")):
        assert bits(ours(x)) == bits(getattr(ops, name)(x.cpu(), device="interp")), name


@test
def elementwise_ops_have_the_bits_of_the_library():
    for name, (_, form, *_) in ops.ELEMENTWISE.items():
        operands = [torch.rand(7, 33, device=DEVICE) + 0.3 for _ in range(form.index("_"))]
        if form[0] == "B":
            operands[0] = operands[0] > 0.8
        ours = [getattr(kt, name)(*operands) for _ in range(2)]
        theirs = getattr(ops, name)(*(as_kiln(t) for t in operands))
        sync()
        assert bits(ours[0]) == bits(ours[1]) == bits(theirs), name


@test
def quantised_layers_have_the_bits_of_the_library():
    for rows, dtype in ((5, torch.float32), (5, torch.bfloat16), (64, torch.bfloat16), (700, torch.float16)):
        x, w, b = tensor(rows, 160, dtype=dtype), tensor(48, 160), tensor(48)
        for bits_, group, has_zero in ((8, 0, False), (4, 32, True), (4, 128, False)):
            weight, scale, zero = kt.quantise_weights(w, bits_, group, has_zero)
            theirs = ops.quantise_weights(w.cpu(), bits=bits_, group=group, zero=has_zero, device="interp")
            assert bits(weight) == bits(theirs[0]) and bits(scale) == bits(theirs[1]), (bits_, group)
            own = [None if t is None else as_kiln(t) for t in (weight, scale, zero, b)]
            named = dict(scale=own[1], zero=own[2], bias=own[3], group=group, activation="gelu")
            got = kt.quantised_linear(x, weight, scale, zero, b, group, "gelu")
            sync()
            assert bits(got) == bits(ops.linear(as_kiln(x), own[0], **named)), (rows, dtype, bits_)
            if rows < 16:  # the kernel whose sums have one order everywhere
                host = [None if t is None else t.cpu() for t in (weight.view(torch.uint32) if bits_ == 4 else weight, scale, zero, b)]
                named = dict(scale=host[1], zero=host[2], bias=host[3], group=group, activation="gelu", kernel="rows")
                assert bits(got) == bits(ops.linear(x.cpu(), host[0], device="interp", **named)), (rows, dtype, bits_)
            numbers = kt.dequantise_weights(weight, scale, zero, k=160, group=group).double()
            # Each weight may be rounded to x's type, and the result is; the sum is in f32.
            half = torch.finfo(dtype).eps / 2
            want, sizes = x.double() @ numbers.t() + b.double(), x.double().abs() @ numbers.abs().t() + b.double().abs()
            off = (kt.quantised_linear(x, weight, scale, zero, b, group).double() - want).abs()
            worst = (off / (half * (sizes + want.abs()) + 160 * 2.0**-23 * sizes)).max().item()
            assert worst <= 1, (rows, dtype, bits_, group, worst)
    layers = [kt.QuantisedLinear.of(torch.nn.Linear(160, n, device=DEVICE), "int4", 32) for n in (64, 32, 32)]
    x = tensor(3, 20, 160, dtype=torch.bfloat16)
    for one, layer in zip(kt.quantised_qkv(x, *layers), layers):
        assert bits(one) == bits(layer(x))
    weight, scale, _ = kt.quantise_weights(tensor(48, 160))
    whole, steps, _ = kt.quantise_weights(x.view(60, 160))
    want = whole.double() @ weight.double().t() * steps.double() * scale.double().t()
    close(kt.w8a8_linear(x, weight, scale).view(60, 48), want, 2e-2)


def gradient_case(name, ours, theirs, inputs, tolerance):
    leaves = [t.detach().clone().requires_grad_() for t in inputs]
    exact = [t.detach().double().requires_grad_() for t in inputs]
    out, want = ours(*leaves), theirs(*exact)
    upstream = torch.randn_like(want)
    got = torch.autograd.grad(out, leaves, upstream.to(out.dtype))
    wanted = torch.autograd.grad(want, exact, upstream)
    differentiated.update(differentiated_in(out))
    close(out, want, tolerance)
    for n, (g, w) in enumerate(zip(got, wanted)):
        try:
            close(g, w, tolerance * 4)
        except AssertionError as error:
            raise AssertionError("%s: gradient %d is %s" % (name, n, error)) from None


@test
def gradients_against_doubles():
    f = torch.nn.functional
    f32, bf16 = torch.float32, torch.bfloat16
    torch.backends.cuda.matmul.allow_tf32 = False
    gradient_case("gelu", kt.gelu, f.gelu, [tensor(33, 65)], 1e-5)
    gradient_case("mul", kt.mul, torch.mul, [tensor(33, 65), tensor(65)], 1e-5)
    gradient_case("softmax", kt.softmax, lambda x: x.softmax(-1), [tensor(33, 65)], 1e-5)
    gradient_case("layer_norm", kt.layer_norm, lambda x, w, b: f.layer_norm(x, (65,), w, b), [tensor(33, 65), tensor(65), tensor(65)], 1e-4)
    gradient_case("sum", lambda x: kt.sum(x, (0, 2)), lambda x: x.sum((0, 2)), [tensor(5, 6, 7)], 1e-5)
    gradient_case("matmul", kt.matmul, torch.matmul, [tensor(3, 40, 50), tensor(50, 60)], 1e-4)
    gradient_case("linear", lambda x, w, b: kt.linear(x, w, b, "gelu"), lambda x, w, b: f.gelu(f.linear(x, w, b), approximate="tanh"),
                  [tensor(4, 30, 64, dtype=bf16), tensor(128, 64, dtype=bf16) * 0.1, tensor(128, dtype=bf16)], 4e-2)  # fmt: skip
    for dtype, tolerance in ((f32, 1e-4), (bf16, 4e-2)):
        for is_causal in (False, True):
            gradient_case("attention", lambda q, k, v: kt.attention(q, k, v, is_causal), lambda q, k, v: f.scaled_dot_product_attention(q, k, v, is_causal=is_causal),
                          [tensor(2, 4, 192, 64, dtype=dtype) for _ in range(3)], tolerance)  # fmt: skip
    for dtype, tolerance in ((f32, 1e-4), (bf16, 4e-2)):
        seen = torch.rand(2, 1, 96, 160, device=DEVICE) > 0.2
        seen[..., 0] = True
        scores = torch.randn(4, 96, 160, device=DEVICE)
        q, k, v = (tensor(2, 4, n, 64, dtype=dtype) for n in (96, 160, 160))
        for name, tensors, mask in [("mask", (q, k, v), seen), ("bias", (q, k, v), scores), ("causal, more keys", (q, k, v), None), ("causal, more queries", (k, q, q), None)]:
            gradient_case(name, lambda q, k, v: kt.scaled_dot_product_attention(q, k, v, mask, is_causal=mask is None),
                          lambda q, k, v: f.scaled_dot_product_attention(q, k, v, mask.double() if name == "bias" else mask, is_causal=mask is None),
                          tensors, tolerance)  # fmt: skip
        apart = torch.arange(160, device=DEVICE)[:, None] - torch.arange(160, device=DEVICE)[None, :]
        near = (apart <= 20) & (apart >= 0)
        gradient_case("window", lambda q, k, v: kt.attention(q, k, v, True, window=(20, 0)), lambda q, k, v: f.scaled_dot_product_attention(q, k, v, near),
                      (k, v, tensor(2, 4, 160, 64, dtype=dtype)), tolerance)  # fmt: skip
    weight, scale, zero = kt.quantise_weights(tensor(128, 64), 4, 32, True)
    numbers = kt.dequantise_weights(weight, scale, zero, k=64, group=32).double()
    gradient_case("int4", lambda x, b: kt.quantised_linear(x, weight, scale, zero, b, 32, "silu"), lambda x, b: f.silu(f.linear(x, numbers, b)),
                  [tensor(4, 30, 64), tensor(128)], 1e-4)  # fmt: skip
    cube = kt.op(SAXPY, "cube", backward="cube_backward")
    gradient_case("cube", cube, lambda x: x**3, [tensor(33, 65)], 1e-5)
    gradient_case("cube of a transposed tensor", cube, lambda x: x**3, [tensor(33, 65).t()], 1e-5)


@test
def gradients_of_images_indices_and_norms():
    f = torch.nn.functional
    image, index = tensor(2, 4, 9, 8), torch.randint(0, 9, (2, 4, 5, 8), device=DEVICE)
    targets = torch.randint(0, 65, (33,), device=DEVICE)
    angles, kept = torch.rand(9, 4, device=DEVICE), kt.dropout(torch.ones_like(image), 0.25, seed=7) != 0
    layers = [kt.QuantisedLinear.of(torch.nn.Linear(64, n, device=DEVICE), "int8") for n in (8, 4, 4)]
    blocks = ops.gguf_quantise(torch.randn(6, 256), type="q8_0", out=torch.empty(6, 272, dtype=torch.uint8), device="cpu").to(DEVICE)

    def rotated(x, angles):
        a, b = x[..., :4], x[..., 4:]
        return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), -1)

    cases = [
        ("conv", lambda x, w, b: kt.conv(x, w, b, 2, 1), lambda x, w, b: f.conv2d(x, w, b, 2, 1), [image, tensor(6, 4, 3, 3), tensor(6)]),
        ("conv_transposed", lambda x, w: kt.conv_transposed(x, w, stride=2), lambda x, w: f.conv_transpose2d(x, w, stride=2), [image, tensor(4, 3, 3, 3)]),
        ("max_pool", lambda x: kt.max_pool(x, 3, 2, 1), lambda x: f.max_pool2d(x, 3, 2, 1), [image]),
        ("average_pool", lambda x: kt.average_pool(x, 2), lambda x: f.avg_pool2d(x, 2), [image]),
        ("adaptive_pool", lambda x: kt.adaptive_pool(x, 3), lambda x: f.adaptive_avg_pool2d(x, 3), [image]),
        ("upsample", lambda x: kt.upsample(x, (13, 17), "linear"), lambda x: f.interpolate(x, (13, 17), mode="bilinear"), [image]),
        ("pad", lambda x: kt.pad(x, (0, 0, 1, 2), (0, 0, 2, 1), "reflect"), lambda x: f.pad(x, (2, 1, 1, 2), "reflect"), [image]),
        ("gather", lambda x: kt.gather(x, index, 2), lambda x: x.gather(2, index), [image]),
        ("take", lambda x: kt.take(x, index[0, 0, 0], 2), lambda x: x[:, :, index[0, 0, 0]], [image]),
        ("scatter", lambda x, s: kt.scatter(x, index, s, 2, "add"), lambda x, s: x.scatter_add(2, index, s), [image, tensor(2, 4, 5, 8)]),
        ("sort", lambda x: kt.sort(x, 2)[0], lambda x: x.sort(2)[0], [image]),
        ("topk", lambda x: kt.topk(x, 3)[0], lambda x: x.topk(3)[0], [image]),
        ("concat", lambda a, b: kt.concat((a, b), 1), lambda a, b: torch.cat((a, b), 1), [image, tensor(2, 3, 9, 8)]),
        ("split", lambda x: kt.split(x, (2, 7), 2)[1], lambda x: x.split((2, 7), 2)[1], [image]),
        ("tril", kt.tril, torch.tril, [image]),
        ("cumsum", lambda x: kt.cumsum(x, 2), lambda x: x.cumsum(2), [image]),
        ("embedding", lambda w: kt.embedding(w, targets), lambda w: f.embedding(targets, w), [tensor(65, 32)]),
        ("cross_entropy", lambda x: kt.cross_entropy(x, targets), lambda x: f.cross_entropy(x, targets), [tensor(33, 65)]),
        ("group_norm", lambda x, w, b: kt.group_norm(x, 2, w, b), lambda x, w, b: f.group_norm(x, 2, w, b), [image, tensor(4), tensor(4)]),
        ("batch_norm", lambda x, w, b: kt.batch_norm(x, w, b), lambda x, w, b: f.batch_norm(x, None, None, w, b, True), [image, tensor(4), tensor(4)]),
        ("add_norm", lambda x, r, w: kt.add_norm(x, r, w)[0], lambda x, r, w: f.layer_norm(x + r, (8,), w), [image, tensor(2, 4, 9, 8), tensor(8)]),
        ("fuse", kt.fuse(lambda x, b: (x + b).gelu() * x), lambda x, b: f.gelu(x + b) * x, [image, tensor(8)]),
        ("fuse with a sum", kt.fuse(lambda x, b: (x * b).reduce("sum", axis=-1)), lambda x, b: (x * b).sum(-1), [image, tensor(8)]),
        ("rope", lambda x: kt.rope(x, angles.cos(), angles.sin()), lambda x: rotated(x, angles.double()), [tensor(2, 9, 8)]),
        ("dropout", lambda x: kt.dropout(x, 0.25, seed=7), lambda x: x * kept.double() / 0.75, [image]),
        ("qkv", lambda x: torch.cat(kt.quantised_qkv(x, *layers), -1), lambda x: torch.cat([f.linear(x, m.numbers().double(), m.bias.double()) for m in layers], -1), [tensor(5, 64)]),
        ("gguf", lambda x, b: kt.gguf_linear(x, blocks, "q8_0", b), lambda x, b: f.linear(x, kt.gguf_dequantise(blocks, "q8_0", 256).double(), b), [tensor(5, 256), tensor(6)]),
        ("variance", lambda x: kt.variance(x, (0, 2), alpha=1.0), lambda x: x.var((0, 2)), [image]),
    ]
    wrong = []
    for name, ours, theirs, inputs in cases:
        try:
            gradient_case(name, ours, theirs, inputs, 1e-4)
        except Exception as error:
            wrong.append("%s: %s" % (name, str(error).split("\n")[0]))
    assert not wrong, "\n".join(wrong)


@test
def gradients_of_elementwise_ops_and_reductions():
    """gradcheck itself: differences of doubles, on the GPU."""
    wrong = []
    for name, (_, form, has_alpha, has_beta, has_derivatives) in ops.ELEMENTWISE.items():
        if not has_derivatives or form.endswith("_B"):
            continue
        low, high, alpha, beta = RANGES[name]
        operands = [low + (high - low) * torch.rand(2, 3, dtype=torch.float64, device=DEVICE) for _ in range(form.index("_"))]
        fixed = [operands.pop(0) > (low + high) / 2] if form[0] == "B" else []
        numbers = ([alpha] if has_alpha else []) + ([beta] if has_beta else [])
        op = getattr(direct, name)
        try:
            gradients(lambda *rest: op(*fixed, *rest, *numbers), *(o.requires_grad_() for o in operands), is_fast=True)
        except Exception as error:
            wrong.append("%s: %s" % (name, str(error).split("\n")[0]))
    x = (torch.rand(3, 4, dtype=torch.float64, device=DEVICE) + 0.3).requires_grad_()
    for name in ("sum", "mean", "prod", "amax", "amin", "vector_norm", "variance", "deviation", "logsumexp"):
        try:
            gradients(lambda x: getattr(kt, name)(x, 1, alpha=2.0 if name == "vector_norm" else 1.0), x, is_fast=True)
        except Exception as error:
            wrong.append("%s: %s" % (name, str(error).split("\n")[0]))
    assert not wrong, "\n".join(wrong)


@test
def every_op_has_had_its_gradient_compared():
    if sys.argv[1:]:
        raise Skip("only some of the tests were run")
    missing = {name for name in vars(direct) if not name.endswith("_backward") and not name.startswith("fused_")} - differentiated - NO_GRADIENT.keys()
    assert not missing, sorted(missing)


@test
def opcheck_on_the_gpu():
    x = tensor(8, 16, grad=True)
    for op, args in [(torch.ops.kiln.gelu.default, (x,)), (torch.ops.kiln.softmax.default, (x, -1, False)), (torch.ops.kiln.norm.default, (x, None, None, -1, True, 1e-5)),
                     (torch.ops.kiln.linear.default, (x, tensor(4, 16, grad=True), tensor(4, grad=True), "none")), (torch.ops.kiln.reduce.default, (x, "mean", [0])),
                     (torch.ops.kiln.attention.default, tuple(tensor(1, 2, 16, 64, grad=True) for _ in range(3))),
                     (torch.ops.kiln.quantised_linear.default, (x, *kt.quantise_weights(tensor(4, 16), 4)[:2]))]:  # fmt: skip
        result = torch.library.opcheck(op, args)
        assert set(result.values()) == {"SUCCESS"}, (op, result)


QUANTISED = []  # a layer of int4 weights


def block(x, w1, w2, q):
    y = kt.linear(kt.layer_norm(x), w1, None, "gelu")
    y = QUANTISED[0](kt.softmax(kt.linear(y, w2)))
    masked = kt.scaled_dot_product_attention(q, q, q, torch.ones(128, 128, dtype=torch.bool, device=q.device).tril(3))
    return y.square().mean() + (kt.attention(q, q, q, True) + masked).float().square().mean()


@test
def compiled_without_breaks():
    inputs = [tensor(64, 128, grad=True), tensor(256, 128, grad=True), tensor(128, 256, grad=True), tensor(1, 2, 128, 64, dtype=torch.bfloat16, grad=True)]
    QUANTISED[:] = [kt.QuantisedLinear.of(torch.nn.Linear(128, 64, device=DEVICE), "int4", 32)]
    want = block(*inputs)
    gradients = torch.autograd.grad(want, inputs)
    for backend in ("aot_eager", "inductor") if DEVICE == "cuda" else ("aot_eager",):
        torch._dynamo.reset()
        compiled = torch.compile(block, fullgraph=True, backend=backend)
        try:
            got = compiled(*inputs)
        except Exception as error:
            if backend == "inductor" and any(word in str(error).lower() for word in ("triton", "compiler", "gcc", "ptxas")):
                raise Skip("inductor does not work here: %s" % str(error).split("\n")[0]) from None
            raise
        # inductor does not round the sum of two bf16 tensors to bf16: 2^-8 of each square, in both directions, of which the loss is the mean
        close(got, want, 1e-5 if backend == "aot_eager" else 6 * 2**-8 / math.sqrt(inputs[3].numel()))
        for g, w in zip(torch.autograd.grad(got, inputs), gradients):
            close(g, w, 1e-2)


@test
def autocast_and_a_patched_model():
    layer = torch.nn.TransformerEncoderLayer(128, 4, 256, batch_first=True, dropout=0.0, device=DEVICE).train()
    x = tensor(2, 32, 128)
    want = layer(x)
    for form, off in ((True, 1e-3), ("int8", 5e-2), ("int4", 0.5), ("w8a8", 0.1)):
        with kt.patch(layer, linear=form):
            close(layer(x), want, off)
        with torch.autocast(DEVICE, torch.bfloat16):
            assert kt.linear(x, tensor(8, 128)).dtype == torch.bfloat16


@test
def autocast_takes_the_wider_type():
    """A layer whose results autocast has made bf16, beside parameters and sums of f32."""
    x, w = tensor(8, 64, grad=True), tensor(32, 64)
    weight, bias, targets = tensor(32, grad=True), tensor(32, grad=True), torch.randint(0, 32, (8,), device=DEVICE)
    with torch.autocast(DEVICE, torch.bfloat16):
        y = kt.linear(x, w)
        normed = kt.layer_norm(y, weight, bias)
        added = kt.add(y, normed)
        loss = kt.cross_entropy(y, targets) + kt.concat([y, added]).sum() + kt.add_norm(y, normed, weight)[0].sum()
    assert y.dtype == torch.bfloat16 and normed.dtype == added.dtype == loss.dtype == torch.float32
    close(normed, torch.nn.functional.layer_norm(y.double(), (32,), weight.double(), bias.double()), 1e-4)
    loss.backward()
    assert x.grad.dtype == torch.float32 and torch.isfinite(x.grad).all() and weight.grad.dtype == torch.float32


@test
def transforms_of_functions():
    getattr(torch._C._functorch, "_set_vmap_fallback_warning_enabled", lambda _: None)(False)  # vmap takes such ops one by one
    from torch.func import grad, vmap

    f = torch.nn.functional
    pairs = [(kt.gelu, f.gelu), (kt.softmax, lambda x: x.softmax(-1)), (lambda x: kt.linear(x, x), lambda x: f.linear(x, x)), (lambda x: kt.sum(x, 1), lambda x: x.sum(1)),
             (lambda x: kt.concat([x, kt.exp(x)]), lambda x: torch.cat([x, x.exp()])),
             (lambda x: kt.attention(*[x[None, None]] * 3)[0, 0], lambda x: f.scaled_dot_product_attention(*[x[None, None]] * 3)[0, 0])]  # fmt: skip
    x, rows = tensor(32, 64), tensor(3, 32, 64)
    for ours, theirs in pairs:
        for transform in (lambda op: grad(lambda y: op(y).square().mean())(x), lambda op: vmap(op)(rows), lambda op: vmap(grad(lambda y: op(y).square().mean()))(rows)):
            close(transform(ours), transform(theirs), 1e-3)
    raises(kiln.ArgumentError, ["forward-mode"], torch.func.jvp, lambda y: kt.concat([y, y]), (x,), (x,))


@test
def tensors_of_one_device():
    """Memory that is not there, or somewhere else, gives a sentence and no numbers."""
    x = tensor(8, 16)
    pair = kt.op("#include <kiln/kernel.h>\nkernel block(64) void pair(f32 *y, const f32 *x, const f32 *z, u32 n) { u32 i = global_x(); if (i < n) y[i] = x[i] * z[i]; }")
    close(pair(x, x), x.double() ** 2, 1e-6)
    for other in (x.to("meta"), x.cpu()) if DEVICE == "cuda" else (x.to("meta"),):
        for op in (kt.mul, kt.linear, pair, lambda a, b: kt.concat([a, b]), lambda a, b: kt.attention(a[None, None], b[None, None], a[None, None])):
            raises(kiln.ArgumentError, ["'%s'" % other.device, "move"], op, x, other)
    assert torch.equal(kt.where(x > 0, x, 0.0), x.relu()) and torch.equal(kt.where(x > 0, 1.0, 2.0), torch.where(x > 0, 1.0, 2.0))
    raises(kiln.TypeMismatch, ["'b' is 1.5", "whole numbers"], kt.add, torch.arange(4, device=DEVICE), 1.5)
    raises(kiln.ArgumentError, ["dropout: seed=-1"], kt.dropout, x, seed=-1)


@test
def copied_and_pickled():
    m, a = kiln.compile(SAXPY, device=KILN_DEVICE), kiln.array([[1.0, 2.0], [3.0, 4.0]], "f32", KILN_DEVICE)
    for one in (copy.copy(a.T), copy.deepcopy(a.T), pickle.loads(pickle.dumps(a.T))):
        assert one.tolist() == [[1, 3], [2, 4]] and one.device is a.device and one.write(0) is one
    assert a.tolist() == [[1, 2], [3, 4]] and copy.deepcopy(m) is m and copy.copy(m.device) is m.device
    x, y = tensor(1000), torch.zeros(1000, device=DEVICE)
    pickle.loads(pickle.dumps(m.saxpy))(y, x, 2.0, 1000, items=1000)
    sync()
    assert torch.equal(y, 2 * x)
    raises(kiln.TypeMismatch, ["pickled"], pickle.dumps, kiln.Stream(KILN_DEVICE))


@test
def models_of_hugging_face():
    needs_gpu()  # torch_layers.py has smaller ones for the CPU
    try:
        import transformers
    except ImportError:
        raise Skip("transformers is not installed") from None
    transformers.logging.set_verbosity_error()
    small = dict(vocab_size=512, bos_token_id=None, eos_token_id=None)
    gpt2 = transformers.GPT2Config(n_layer=2, n_head=4, n_embd=256, n_positions=64, attn_pdrop=0.0, resid_pdrop=0.0, embd_pdrop=0.0, **small)
    llama = transformers.LlamaConfig(hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, **small)
    ids, mask = torch.randint(0, 512, (2, 32), device=DEVICE), torch.ones(2, 32, dtype=torch.int64, device=DEVICE)
    mask[0, :5] = 0
    for model in (transformers.GPT2LMHeadModel(gpt2), transformers.LlamaForCausalLM(llama)):
        for dtype, scale in ((torch.float32, 1.0), (torch.bfloat16, 20.0)):
            model = model.to(DEVICE, dtype)
            want = model(ids, attention_mask=mask).logits[mask.bool()].float()
            for form, off in ((True, 2e-3), ("int8", 0.03), ("int4", 0.4)):
                with kt.patch(model, linear=form):
                    got = model(ids, attention_mask=mask).logits[mask.bool()].float()
                    assert (got - want).abs().max() < off * (scale if form is True else 2), (type(model).__name__, dtype, form, (got - want).abs().max())
                    model(ids, labels=ids).loss.backward()
                    assert model.generate(ids, attention_mask=mask, max_new_tokens=3, do_sample=False).shape == (2, 35)


def start_child(name):
    """CuPy and JAX bring CUDA libraries of their own, and importing them takes long: each has a process, which runs beside the tests before it."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gpu_arrays.py")
    return subprocess.Popen([sys.executable, "-X", "faulthandler", script, name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


children = {}


def in_a_process_of_its_own(name):
    needs_gpu()
    child = children.pop(name)
    try:
        out, errors = child.communicate(timeout=150)
    except subprocess.TimeoutExpired:
        child.kill()
        raise
    skipped = [line for line in out.split("\n") if line.startswith("skipped: ")]
    if skipped:
        raise Skip(skipped[0].partition(": ")[2])
    assert child.returncode == 0 and "1 passed" in out, "status %d\n%s\n%s" % (child.returncode, out[-3000:], errors[-3000:])


@test
def arrays_of_cupy():
    in_a_process_of_its_own("cupy")


@test
def arrays_of_jax():
    in_a_process_of_its_own("jax")


@test
def the_second_gpu():
    needs_gpu()
    if torch.cuda.device_count() < 2:
        raise Skip("there is one GPU")
    x, w = torch.randn(8, 16, device="cuda:1", requires_grad=True), torch.randn(4, 16, device="cuda:1")
    got = kt.linear(x, w)
    got.sum().backward()
    assert got.device == x.device == x.grad.device and torch.cuda.current_device() == 0
    close(got, x.double() @ w.double().t(), 1e-5)
    raises(kiln.ArgumentError, ["cuda:0", "cuda:1"], kt.add, x, x.to("cuda:0"))


@test
def captured_in_a_cuda_graph():
    needs_gpu()
    x, w, q = tensor(64, 128), tensor(256, 128), tensor(1, 2, 128, 64, dtype=torch.bfloat16)

    layer = kt.QuantisedLinear.of(torch.nn.Linear(128, 96, device=DEVICE), "int4")
    mask = torch.rand(128, 128, device=DEVICE) > 0.5
    cache = tensor(1, 2, 8192, 64, dtype=torch.bfloat16)  # its keys are shared by blocks, through memory that the capture makes

    def work():
        return (kt.softmax(kt.gelu(kt.linear(x, w))), kt.attention(q, q, q, True), kt.sum(x, 0), layer(x), layer(x.bfloat16()),
                kt.scaled_dot_product_attention(q, q, q, mask), kt.attention(q[:, :, :1], cache, cache))  # fmt: skip

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = work()
    for _ in range(3):
        x.copy_(torch.randn_like(x))
        q.copy_(torch.randn_like(q))
        graph.replay()
        sync()
        for got, want in zip(results, work()):
            sync()
            assert bits(got) == bits(want)


@test
def two_streams():
    needs_gpu()
    a, b = torch.cuda.Stream(), torch.cuda.Stream()
    x = tensor(1 << 22)
    sync()
    for _ in range(5):
        with torch.cuda.stream(a):
            first = x
            for _ in range(20):
                first = kt.add(first, 1.0)
        with torch.cuda.stream(b):
            b.wait_stream(a)
            second = kt.mul(first, 2.0)
            first.record_stream(b)
        torch.cuda.current_stream().wait_stream(b)
        close(second, (x.double() + 20) * 2, 1e-5)
    m = kiln.compile(SAXPY)
    y = torch.zeros(1 << 20, device=DEVICE)
    a.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(a):
        one = torch.ones(1 << 20, device=DEVICE)
        m.saxpy(y, one, 1.0, 1 << 20, items=1 << 20)
    m.saxpy(y, one, 1.0, 1 << 20, items=1 << 20, stream=a)  # by hand
    a.synchronize()
    assert (y == 2).all()


@test
def memory_is_shared_with_kiln():
    t = tensor(3, 4)
    a = kiln.from_dlpack(t, KILN_DEVICE)
    b = torch.from_dlpack(kiln.zeros((2, 2), device=KILN_DEVICE))
    assert a.shape == (3, 4) and b.device.type == DEVICE and (b == 0).all()
    t.fill_(7)
    sync()
    assert a.tobytes() == bits(torch.full((3, 4), 7.0))
    needs_gpu()
    try:
        import numpy  # noqa: F401: its names of types are part of the interface
    except ImportError:
        raise Skip("NumPy is not installed") from None
    described = a.__cuda_array_interface__
    assert described["data"][0] == t.data_ptr()


@test
def many_calls_and_threads():
    import threading

    x = tensor(32, 32, grad=True)
    wrong = []

    def work():
        for _ in range(50):
            y = tensor(32, 32, grad=True)
            kt.matmul(kt.gelu(y), x).sum().backward()
            if y.grad is None or not torch.isfinite(y.grad).all():
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not wrong and not any(t.is_alive() for t in threads)
    device = kiln.device(KILN_DEVICE)
    device.forget()
    before = device.memory()["buffer_count"]
    for n in range(100000 if DEVICE == "cuda" else 3000):
        kt.add(torch.ones(n % 64 + 1, device=DEVICE), 1.0)
    device.trim()
    assert device.memory()["buffer_count"] <= before + 2


@test
def printf_reaches_stdout():
    import contextlib
    import io

    m = kiln.compile('#include <kiln/kernel.h>\nkernel block(4) void hello(u32 n) { if (global_x() < n) printf("thread %u\\n", global_x()); }', device=KILN_DEVICE)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        m.hello(3, items=3)
        kiln.sync(KILN_DEVICE)
    assert sorted(out.getvalue().split("\n")) == ["", "thread 0", "thread 1", "thread 2"]


@test
def what_stdout_raises_is_raised():
    class Broken:
        def write(self, _):
            raise KeyboardInterrupt("in a line")

    m = kiln.compile('#include <kiln/kernel.h>\nkernel block(4) void hello(u32 n) { if (global_x() < n) printf("thread %u\\n", global_x()); }', device=KILN_DEVICE)
    stdout, sys.stdout = sys.stdout, Broken()
    try:
        raises(KeyboardInterrupt, ["in a line"], lambda: [(m.hello(3, items=3), kiln.sync(KILN_DEVICE)) for _ in range(2)])
    finally:
        sys.stdout = stdout
    kiln.sync(KILN_DEVICE)


if __name__ == "__main__":
    for name in ("cupy", "jax") if DEVICE == "cuda" else ():
        if not sys.argv[1:] or any(word in "arrays_of_" + name for word in sys.argv[1:]):
            children[name] = start_child(name)
    run("python-gpu")
