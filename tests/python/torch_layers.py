# torch_layers.py: kiln.torch on PyTorch's CPU tensors: attention with masks, quantised linear layers, patched models, the table of calls.
import copy
import io
import pickle
import warnings

import torch
from harness import Skip, raises, run, test
from torch_checks import check, gradients, same

import kiln
import kiln.torch as kt
from kiln import _device, ops

warnings.filterwarnings("ignore")  # gradcheck warns about every input that is no double
torch.manual_seed(2)
F = torch.nn.functional


def tensor(*shape, dtype=torch.float32, grad=True):
    return (torch.rand(*shape, dtype=torch.float64) - 0.3).to(dtype).requires_grad_(grad)


class Block(torch.nn.Module):
    """A transformer block as Hugging Face's models have it: linear layers and torch's scaled_dot_product_attention."""

    def __init__(self, size=32, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = torch.nn.Linear(size, 3 * size), torch.nn.Linear(size, size)
        self.up, self.down = torch.nn.Linear(size, 4 * size), torch.nn.Linear(4 * size, size)
        self.norm1, self.norm2 = torch.nn.LayerNorm(size), torch.nn.LayerNorm(size)

    def forward(self, x):
        batch, length, size = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, size // self.heads).permute(2, 0, 3, 1, 4)
        a = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(batch, length, size))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


@test
def a_patched_model():
    model, x = Block(), torch.randn(2, 6, 32, requires_grad=True)
    want = model(x)
    (wanted,) = torch.autograd.grad(want.sum(), x)
    theirs = torch.nn.functional.scaled_dot_product_attention
    with kt.patch(model) as patched:
        assert patched is model and type(model.up) is kt.Linear and torch.nn.functional.scaled_dot_product_attention is kt.scaled_dot_product_attention
        got = model(x)
        (gradient,) = torch.autograd.grad(got.sum(), x, retain_graph=True)
        got.sum().backward()
        assert model.up.weight.grad is not None
        torch._dynamo.reset()
        compiled = torch.compile(model, fullgraph=True, backend="aot_eager")(x)
        assert torch.allclose(compiled, want, atol=1e-5) and torch.allclose(torch.autograd.grad(compiled.sum(), x)[0], wanted, atol=1e-4)
    assert torch.allclose(got, want, atol=1e-5) and torch.allclose(gradient, wanted, atol=1e-4)
    assert type(model.up) is torch.nn.Linear and torch.nn.functional.scaled_dot_product_attention is theirs
    raises(kiln.ArgumentError, ["patch", "linear='int3'", "int4"], kt.patch, model, linear="int3")


class Conv1D(torch.nn.Module):
    """As Hugging Face's GPT-2 has it: the weights are transposed."""

    def __init__(self, outputs, inputs):
        super().__init__()
        self.nf = outputs
        self.weight = torch.nn.Parameter(torch.randn(inputs, outputs) * 0.1)
        self.bias = torch.nn.Parameter(torch.randn(outputs) * 0.1)

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(*x.shape[:-1], self.nf)


@test
def models_with_quantised_layers():
    model, x = Block(64), torch.randn(2, 6, 64, requires_grad=True)
    model.lm_head = torch.nn.Linear(64, 8)
    model.down = Conv1D(64, 256)
    want = model(x)
    names = list(model.state_dict())
    for form, off in ((True, 1e-5), ("int8", 0.02), ("int4", 0.3), ("w8a8", 0.05)):
        with kt.patch(model, linear=form):
            layers = [m for m in model.modules() if isinstance(m, kt.QuantisedLinear)]
            assert len(layers) == (0 if form is True else 4) and type(model.lm_head) in (torch.nn.Linear, kt.Linear), layers
            got = model(x)
            assert torch.allclose(got, want, atol=off), (form, (got - want).abs().max())
            if form is True:
                assert type(model.down).__name__ == "TransposedLinear"
                got.sum().backward()
                assert model.down is not None
            else:  # against the same model with the numbers that the weights stand for
                exact = Block(64)
                for name in ("qkv", "out", "up", "down"):
                    layer = getattr(model, name)
                    getattr(exact, name).weight.data.copy_(layer.numbers())
                    getattr(exact, name).bias.data.copy_(layer.bias.data)
                for name in ("norm1", "norm2"):
                    setattr(exact, name, getattr(model, name))
                target, atol = exact(x), 0.05 if form == "w8a8" else 1e-4
                assert torch.allclose(got, target, atol=atol), (form, (got - target).abs().max())
                g, w = (torch.autograd.grad(y.sum(), x)[0] for y in (got, target))
                assert torch.allclose(g, w, atol=10 * atol), (form, (g - w).abs().max())
        assert list(model.state_dict()) == names and type(model.up) is torch.nn.Linear and type(model.down) is Conv1D
    with kt.patch(model, linear="int4", group=32, has_zero=True, skip=("up",)):
        assert type(model.up) is torch.nn.Linear and model.out.group == 32 and model.out.zero is not None
        other = kt.QuantisedLinear.of(torch.nn.Linear(64, 64), "int4", 32, True)
        other.load_state_dict(model.out.state_dict())
        assert torch.equal(other(x), model.out(x)) and "bits=4" in repr(other)
    raises(kiln.ArgumentError, ["patch", "QuantisedLinear.of"], kt.patch, torch.nn.Linear(3, 4), linear="int8")
    raises(kiln.ArgumentError, ["patch", "group"], kt.patch, model, group=32)
    raises(kiln.ArgumentError, ["form='int2'", "w8a8"], kt.QuantisedLinear.of, torch.nn.Linear(3, 4), "int2")
    raises(kiln.TypeMismatch, ["patch", "'model'", "NoneType"], kt.patch, None)


@test
def patched_models_are_models():
    """Copies, files, other types, and the short way that PyTorch's encoder has to its layers' numbers."""
    x, plain = torch.randn(4, 16), torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8))
    numbers = {name: t.clone() for name, t in plain.state_dict().items()}
    for form in (True, "int8", "int4", "w8a8"):
        model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8))
        model.load_state_dict(numbers)
        kt.patch(model, linear=form, attention=False)
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), torch.load(file, weights_only=False)):
            assert torch.equal(other(x), model(x))
        for width in (15, 17):  # eight int4 numbers are a word: the weights alone do not say how many there are
            raises(kiln.ArgumentError, ["[4, %d]" % width, "16"], model, torch.randn(4, width))
        if form is True:
            assert torch.allclose(model.double()(x.double()), plain.double()(x.double())) and plain.float()
        else:
            raises(RuntimeError, ["0.weight is torch.float32", "before the model is quantised"], model.load_state_dict, numbers, strict=False)
            again = kt.patch(copy.deepcopy(plain.float()), linear=form, attention=False).model
            again.load_state_dict(model.state_dict())
            assert torch.equal(again(x), model(x))
        half = copy.deepcopy(model).bfloat16()
        assert half(x.bfloat16()).dtype == torch.bfloat16
    encoder, tokens = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval(), torch.randn(2, 5, 32)
    with torch.no_grad():
        want = encoder(tokens)
        for form in (True, "int8", "int4", "w8a8"):
            with kt.patch(encoder, linear=form):
                assert torch.allclose(encoder(tokens), want, atol=0.3), form
            assert torch.equal(encoder(tokens), want) and encoder.activation_relu_or_gelu == 1


class FalconLinear(torch.nn.Linear):
    """A subclass that says the same in other words, as Falcon's in Hugging Face's models."""

    def forward(self, x):
        return x @ self.weight.T + self.bias


class Careful(torch.nn.Module):
    """Gives x the type of a layer's weights, unless they are int8, as T5 does."""

    def __init__(self):
        super().__init__()
        self.up, self.wo = FalconLinear(64, 96), torch.nn.Linear(96, 64)

    def forward(self, x):
        x = torch.relu(self.up(x))
        return self.wo(x if self.wo.weight.dtype == torch.int8 else x.to(self.wo.weight.dtype))


@test
def layers_that_models_write_themselves():
    model, x = Careful(), torch.randn(3, 64)
    want = model(x)
    for form, off in ((True, 1e-5), ("int8", 0.03), ("w8a8", 0.05)):
        with kt.patch(model, linear=form):
            assert type(model.up).__module__.startswith("kiln") and type(model.wo).__module__.startswith("kiln")
            assert (model(x) - want).abs().max() < off, form
        assert type(model.up) is FalconLinear and type(model.wo) is torch.nn.Linear and torch.equal(model(x), want)
    with kt.patch(model, linear="int4"):
        raises(kiln.TypeMismatch, ["QuantisedLinear", "'x' is i32", "T5", "skip"], model, x)
    with kt.patch(model, linear="int4", skip=("wo",)):
        assert (model(x) - want).abs().max() < 0.4 and type(model.wo) is torch.nn.Linear


@test
def models_of_hugging_face():
    try:
        import transformers
    except ImportError:
        raise Skip("transformers is not installed") from None
    transformers.logging.set_verbosity_error()
    small = dict(vocab_size=96, bos_token_id=None, eos_token_id=None)
    gpt2 = transformers.GPT2Config(n_layer=1, n_head=4, n_embd=32, n_positions=32, attn_pdrop=0.0, resid_pdrop=0.0, embd_pdrop=0.0, **small)
    llama = transformers.LlamaConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, **small)
    ids, mask = torch.randint(0, 96, (2, 7)), torch.ones(2, 7, dtype=torch.int64)
    mask[0, :2] = 0
    for model in (transformers.GPT2LMHeadModel(gpt2), transformers.LlamaForCausalLM(llama)):
        want = model(ids, attention_mask=mask).logits[mask.bool()]
        for form, off in ((True, 1e-5), ("int8", 0.02), ("int4", 0.3)):
            with kt.patch(model, linear=form):
                got = model(ids, attention_mask=mask).logits[mask.bool()]
                assert (got - want).abs().max() < off, (form, (got - want).abs().max())
                model(ids, labels=ids).loss.backward()
                assert model.generate(ids, attention_mask=mask, max_new_tokens=2, do_sample=False).shape == (2, 9)


@test
def quantised_ops():
    k = torch.ops.kiln
    x, w, b = tensor(2, 3, 40), tensor(6, 40, grad=False), tensor(6)
    for bits, group, has_zero in ((8, 0, False), (8, 32, True), (4, 32, False), (4, 0, True)):
        check(k.quantise_weights.default, w, bits, group, has_zero)
        weight, scale, zero = kt.quantise_weights(w, bits, group, has_zero)
        theirs = ops.quantise_weights(w.numpy(), bits=bits, group=group, zero=has_zero, device="interp")
        assert weight.numpy().tobytes() == theirs[0].tobytes() and scale.numpy().tobytes() == theirs[1].tobytes(), "the same bits as the library"
        check(k.dequantise_weights.default, weight, scale, zero, 40, torch.bfloat16, group)
        numbers = kt.dequantise_weights(weight, scale, zero, k=40, group=group)
        for activation in ("none", "gelu") if bits == 4 else ("none",):
            check(k.quantised_linear.default, x, weight, scale, zero, b, group, activation)
            apply = {"none": lambda y: y, "gelu": lambda y: F.gelu(y, approximate="tanh")}[activation]
            same(lambda x, b: kt.quantised_linear(x, weight, scale, zero, b, group, activation), lambda x, b: apply(F.linear(x, numbers, b)), x, b)
        gradients(lambda x, b: kt.quantised_linear(x, weight, scale, zero, b, group, "silu" if has_zero else "none"), x[:1, :1], b)
        assert kt.quantised_linear(x.bfloat16(), weight, scale, zero, None, group).dtype == torch.bfloat16
        assert kt.quantised_linear(x[:0], weight, scale, zero, b, group).shape == (0, 3, 6)
        layers = [kt.QuantisedLinear.of(torch.nn.Linear(40, n), "int%d" % bits, group, has_zero) for n in (6, 3, 4)]
        for one, layer in zip(kt.quantised_qkv(x, *layers), layers):
            assert torch.equal(one, layer(x))
        if has_zero:
            continue
        args = [getattr(layer, name) for name in ("weight", "scale", "zero", "bias") for layer in layers]
        check(k.quantised_qkv.default, x, *args, group)
        gradients(lambda x: kt.quantised_qkv(x, *layers), x[:1, :1])
        same(lambda x: torch.cat(kt.quantised_qkv(x, *layers), -1), lambda x: torch.cat([F.linear(x, m.numbers(), m.bias) for m in layers], -1), x)
        kt.quantised_qkv(x, *layers)[1].sum().backward()
        assert layers[1].bias.grad is not None and (layers[0].bias.grad is None or not layers[0].bias.grad.any())
    weight, scale, _ = kt.quantise_weights(w)
    check(k.w8a8_linear.default, x, weight, scale, b, "relu")
    rounded, steps, _ = kt.quantise_weights(x.detach().view(6, 40))
    want = (rounded.double() @ weight.double().t() * steps.double() * scale.double().t() + b.double()).view(2, 3, 6)
    assert torch.allclose(kt.w8a8_linear(x, weight, scale, b).double(), want, atol=1e-5)
    (g,) = torch.autograd.grad(kt.w8a8_linear(x, weight, scale, b).sum(), x)
    assert torch.allclose(g, torch.ones(2, 3, 6) @ kt.dequantise_weights(weight, scale, k=40), atol=1e-5)
    raises(kiln.ArgumentError, ["dequantise_weights: 'weight' has 0 dimensions"], kt.dequantise_weights, weight[0, 0], scale, k=40)
    raises(kiln.ArgumentError, ["dequantise_weights: k=-1"], kt.dequantise_weights, weight, scale, k=-1)
    with torch.autocast("cpu", torch.bfloat16):
        assert kt.quantised_linear(x, weight, scale, None, b).dtype == torch.bfloat16


@test
def quantised_weights_of_others():
    numbers, zeros = torch.randint(0, 16, (16, 64), dtype=torch.uint8), torch.randint(1, 16, (16, 2), dtype=torch.uint8)
    scale, x = torch.rand(2, 16) + 0.1, torch.randn(3, 64)
    want = F.linear(x, (numbers.float() - zeros.float().repeat_interleave(32, 1)) * scale.t().repeat_interleave(32, 1))

    def packed(values, order):  # eight neighbours of the last dimension in one word
        parts = values.long().reshape(*values.shape[:-1], -1, 8)
        word = sum(parts[..., n] << (4 * at) for at, n in enumerate(order))
        return torch.where(word >= 1 << 31, word - (1 << 32), word).to(torch.int32)

    plain, awq = range(8), (0, 2, 4, 6, 1, 3, 5, 7)
    forms = {
        "bytes": (numbers, zeros),
        "gptq": (packed(numbers, plain).t().contiguous(), packed((zeros - 1).t(), plain)),
        "gptq_v2": (packed(numbers, plain).t().contiguous(), packed(zeros.t(), plain)),
        "awq": (packed(numbers.t(), awq), packed(zeros.t(), awq)),
    }
    for form, (weight, zero) in forms.items():
        weight, zero = kt.pack_int4(weight, zero, form)
        assert torch.equal(zero, zeros), form
        assert torch.allclose(kt.quantised_linear(x, weight, scale.t(), zero, group=32), want, atol=1e-4), form
    raises(kiln.ArgumentError, ["pack_int4", "'awq2'", "gptq"], kt.pack_int4, numbers, form="awq2")
    raises(kiln.TypeMismatch, ["pack_int4", "'weight'", "int32"], kt.pack_int4, numbers, form="awq")
    raises(kiln.ArgumentError, ["pack_int4", "[16, 64]"], kt.pack_int4, numbers, zeros[:3], "bytes")


@test
def weights_of_gguf_files():
    x, b = tensor(2, 3, 256), tensor(5)
    for kind, row in (("q8_0", 272), ("q4_0", 144), ("q4_k", 144), ("q6_k", 210)):
        weight = ops.gguf_quantise(torch.randn(5, 256), type=kind, out=torch.empty(5, row, dtype=torch.uint8), device="cpu")
        numbers = kt.gguf_dequantise(weight, kind, 256)
        same(lambda x, b: kt.gguf_linear(x, weight, kind, b), lambda x, b: F.linear(x, numbers, b), x, b, atol=1e-4)
    gradients(lambda x, b: kt.gguf_linear(x, weight, kind, b), x[:1, :1], b)
    check(torch.ops.kiln.gguf_linear.default, x, weight, kind, b)
    check(torch.ops.kiln.gguf_dequantise.default, weight, kind, 256, torch.float16)
    raises(kiln.ArgumentError, ["gguf_linear", "kind='q9'", "q4_k"], kt.gguf_linear, x, weight, "q9")
    raises(kiln.ArgumentError, ["gguf_linear", "'x'", "q4_0"], kt.gguf_linear, x, weight, "q4_0")
    raises(kiln.TypeMismatch, ["gguf_linear", "'weight'", "uint8"], kt.gguf_linear, x, x, "q4_0")


@test
def bad_quantised_input_is_named():
    x, w = torch.randn(2, 40), torch.randn(6, 40)
    weight, scale, _ = kt.quantise_weights(w)
    raises(kiln.ArgumentError, ["quantised_linear", "'x'", "39"], kt.quantised_linear, x[:, 1:], weight, scale)
    raises(kiln.TypeMismatch, ["quantised_linear", "'weight'", "quantise_weights"], kt.quantised_linear, x, w, scale)
    raises(kiln.TypeMismatch, ["quantised_linear", "'x'", "f64"], kt.quantised_linear, x.double(), weight, scale)
    raises(kiln.ArgumentError, ["quantised_linear", "'bias'", "6 rows"], kt.quantised_linear, x, weight, scale, None, torch.ones(5))
    raises(kiln.ArgumentError, ["quantised_linear", "tanh"], kt.quantised_linear, x, weight, scale, activation="tanh")
    raises(kiln.ArgumentError, ["quantised_linear", "'scale'", "detached"], lambda: kt.quantised_linear(x, weight, scale.requires_grad_()).sum().backward())
    raises(kiln.Error, ["scale"], kt.quantised_linear, x, weight, scale.detach()[:3])
    raises(kiln.ArgumentError, ["group=24", "power of two"], kt.quantise_weights, w, 4, 24)
    raises(kiln.ArgumentError, ["bits=3"], kt.quantise_weights, w, 3)
    raises(kiln.TypeMismatch, ["w8a8_linear", "int8"], kt.w8a8_linear, x, kt.quantise_weights(w, 4)[0], scale)
    one, other = (kt.QuantisedLinear.of(torch.nn.Linear(40, 6), form) for form in ("int8", "int4"))
    raises(kiln.ArgumentError, ["quantised_qkv", "the same"], kt.quantised_qkv, x, one, one, other)
    raises(kiln.TypeMismatch, ["QuantisedLinear: 'x' is a NoneType"], one, None)
    raises(kiln.TypeMismatch, ["QuantisedLinear: 'linear' is a int", "torch.nn.Linear"], kt.QuantisedLinear.of, 3)
    raises(kiln.TypeMismatch, ["pack_int4: 'weight' is a NoneType"], kt.pack_int4, None)
    for given in ((None, w, w), (w, None, w), (w, w, w, "mask")):  # what is no tensor is PyTorch's to refuse
        assert "tensor" in kt.attention_fits(*given)
        raises(TypeError, ["must be Tensor"], kt.scaled_dot_product_attention, *given)


@test
def attention_like_pytorchs():
    theirs, ours = F.scaled_dot_product_attention, kt.scaled_dot_product_attention
    q, k, v = torch.randn(2, 4, 5, 8), torch.randn(2, 4, 7, 8), torch.randn(2, 4, 7, 8)
    seen = torch.rand(2, 1, 5, 7) > 0.3
    seen[..., 0] = True
    grouped = torch.randn(2, 2, 7, 8)
    cases = [((q, k, v), {}), ((q, k, v), {"scale": 0.5}), ((q, k, v), {"attn_mask": torch.randn(5, 7)}), ((q, k, v), {"attn_mask": torch.randn(2, 4, 5, 7)}),
             ((q, k, v), {"attn_mask": seen}), ((q, k, v), {"attn_mask": seen[0, 0]}), ((q, k, v), {"attn_mask": seen[:, :, :1]}),
             ((q, k, v), {"is_causal": True}), ((k, q, q), {"is_causal": True}), ((k, v, v), {"is_causal": True}), ((q[0], k[0], v[0]), {}),
             ((q[:, 0], k[:, 0], v[:, 0]), {"attn_mask": seen[:, 0]}), ((q, grouped, grouped), {"enable_gqa": True}),
             ((q, grouped, grouped), {"enable_gqa": True, "is_causal": True, "scale": 0.3})]  # fmt: skip
    for tensors, named in cases:
        assert not kt.attention_fits(*tensors, **named)
        same(lambda *t: ours(*t, **named), lambda *t: theirs(*t, **named), *tensors)
    seen = seen.clone()
    seen[:, :, 2] = False  # a query that sees no key
    assert not ours(q, k, v, attn_mask=seen)[:, :, 2].any()
    for why, tensors, named in (("dropout", (q, k, v), {"dropout_p": 0.5}), ("float32", (q.double(), k.double(), v.double()), {}),
                                ("gradient", (q, k, v), {"attn_mask": torch.randn(5, 7, requires_grad=True)}), ("scale", (q, k, v), {"scale": 0.0}),
                                ("shape", (q, k, torch.randn(2, 4, 7, 6)), {})):  # fmt: skip
        assert why in kt.attention_fits(*tensors, **named), why
        if why != "dropout":
            assert torch.allclose(ours(*tensors, **named), theirs(*tensors, **named), atol=1e-6)
    assert ours(q, k, v, dropout_p=0.5).shape == q.shape
    one = grouped[:, :1]
    for args, named, why in [((q, one, one), {}, "heads"), ((q, k, v), {"scale": -0.5}, "scale"), ((q[:, :, :0], k, v), {}, "no elements"),
                             ((q[:0], k[:0], v[:0]), {"is_causal": True}, "no elements"), ((q, k[:, :, :0], v[:, :, :0]), {}, "no elements"),
                             ((q, k, v), {"attn_mask": q.new_zeros(q.shape[2], k.shape[2]), "is_causal": True}, "is_causal")]:  # fmt: skip
        assert why in kt.attention_fits(*args, **named)
        results = []
        for call in (ours, theirs):  # what Kiln's does not do is PyTorch's to do, or to refuse
            try:
                results.append(call(*args, **named))
            except RuntimeError as error:
                results.append(str(error))
        assert type(results[0]) is type(results[1]) and (results[0] == results[1] if isinstance(results[0], str) else torch.equal(*results)), why
    raises(RuntimeError, ["size"], ours, q, grouped, grouped)
    none = [torch.zeros(1, 2, n, 8, requires_grad=True) for n in (0, 3, 3)]
    kt.attention(*none).sum().backward()
    assert none[0].grad.shape == (1, 2, 0, 8) and all((t.grad == 0).all() for t in none[1:])


@test
def attention_lies_as_its_queries():
    """Heads of a token that are side by side stay there: the layer behind needs no copy."""
    q, k, v = torch.randn(2, 5, 3, 4, 8).permute(2, 0, 3, 1, 4)
    out = kt.scaled_dot_product_attention(q, k, v)
    assert out.transpose(1, 2).is_contiguous() and kt.attention(q.contiguous(), k, v).is_contiguous()
    same(lambda q, k, v: kt.attention(q, k, v, True), lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), q, k, v)
    check(torch.ops.kiln.attention.default, *(t.detach().requires_grad_() for t in (q, k, v)), True)


@test
def attention_with_windows_and_slopes():
    q, k, v = torch.randn(1, 2, 9, 8), torch.randn(1, 2, 9, 8), torch.randn(1, 2, 9, 8)
    distance = torch.arange(9)[:, None] - torch.arange(9)[None, :]

    def masked(seen, bias=0.0):
        return torch.zeros(9, 9).masked_fill(~seen, float("-inf")) + bias

    for window, seen in (((2, 1), (distance <= 2) & (distance >= -1)), ((3, 0), (distance <= 3) & (distance >= 0)), ((-1, 2), distance >= -2)):
        same(lambda q, k, v: kt.attention(q, k, v, window=window), lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=masked(seen)), q, k, v)
    slopes = torch.tensor([0.5, 0.25])
    alibi = masked(distance >= 0, -slopes[:, None, None] * distance)
    same(lambda q, k, v: kt.attention(q, k, v, True, slopes=slopes), lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=alibi), q, k, v)
    bias = torch.randn(9, 9)
    gradients(lambda q, k, v: kt.attention(q, k, v, bias=bias, window=(4, 4)), *(t[:, :1].requires_grad_() for t in (q, k, v)))
    check(torch.ops.kiln.attention.default, *(t.detach().requires_grad_() for t in (q, k, v)), False, 0.2, bias, slopes, 3, 1)
    raises(kiln.ArgumentError, ["attention", "'bias'", "detached"], kt.attention, q, k, v, bias=bias.clone().requires_grad_())
    raises(kiln.ArgumentError, ["attention", "'v'"], kt.attention, q, k, v[..., :4])
    raises(kiln.ArgumentError, ["attention", "3 heads"], kt.attention, torch.randn(1, 3, 9, 8), k, v)
    raises(kiln.Error, ["bias"], kt.attention, q, k, v, bias=torch.randn(8, 9))


@test
def calls_are_looked_up():
    """By address, sizes, strides, type and numbers: what differs in one of them is another call."""
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    for zero in (0.0, -0.0, 0.0):
        assert torch.signbit(torch.ops.kiln.leaky_relu.default(-x, zero)).all() == (str(zero) == "0.0")
    base = torch.arange(12.0).view(3, 4)
    for _ in range(2):
        for t in (base, base.t(), base[:, ::2], base[::2], base.view(4, 3), base.view(torch.int32)):
            assert torch.equal(kt.neg(t), -t)
        for axis in (0, 1):
            assert torch.allclose(kt.softmax(base, axis), base.softmax(axis))


@test
def kernels_are_planned():
    """What a kernel did for the same addresses, sizes, strides, types and numbers is done again: into new memory, from what is there now."""
    device = kiln.device("cpu")
    device.forget()
    x, w, b = torch.randn(2, 3, 8), torch.randn(4, 8), torch.randn(4, dtype=torch.bfloat16)
    layer = kt.QuantisedLinear.of(torch.nn.Linear(8, 4), "int8")
    q = torch.randn(1, 6, 3, 2, 8).permute(2, 0, 3, 1, 4)
    calls = [(lambda: kt.linear(x, w), lambda: F.linear(x, w)), (lambda: kt.linear(x, w, b.float(), "relu"), lambda: F.linear(x, w, b.float()).relu()),
             (lambda: kt.linear(x.bfloat16(), w.bfloat16(), b).float(), lambda: F.linear(x.bfloat16(), w.bfloat16(), b).float()),
             (lambda: kt.linear(x, w, None, "relu"), lambda: F.linear(x, w).relu()), (lambda: layer(x), lambda: F.linear(x, layer.numbers(), layer.bias)),
             (lambda: kt.attention(*q, True), lambda: F.scaled_dot_product_attention(*q, is_causal=True)), (lambda: kt.sum(x, (0, 2)), lambda: x.sum((0, 2))),
             (lambda: kt.add_norm(x, x)[0], lambda: F.layer_norm(x + x, (8,))), (lambda: kt.mul(x, w[0]), lambda: x * w[0]), (lambda: kt.neg(x[:, 1:, ::2]), lambda: -x[:, 1:, ::2]),
             (lambda: kt.sum(x[:0]), lambda: x[:0].sum())]  # fmt: skip
    for turn in range(4):
        x.normal_(), w.normal_(), q.normal_()
        for n, (ours, theirs) in enumerate(calls):
            first, second = ours(), ours()
            assert first.numel() == 0 or first.data_ptr() != second.data_ptr()
            want = theirs()
            for got in (first, second):
                assert got.shape == want.shape and torch.allclose(got, want, atol=0.05 if n == 2 else 1e-5), (turn, n)
    plans = list(device.plans.values())
    assert sum(1 for p in plans if p) >= 9 and sum(1 for p in plans if p is False) <= 4, plans  # one makes its bias of zeros with PyTorch
    device.forget()
    assert not device.plans
    leaf = x.clone().requires_grad_()
    for _ in range(3):
        (g,) = torch.autograd.grad(kt.linear(leaf, w).square().sum(), leaf)
        assert torch.allclose(g, 2 * F.linear(leaf, w) @ w, atol=1e-4)


@test
def the_table_of_buffers_may_be_full():
    """A call whose own tensors fill it goes on, and so does one that has looked its views up before another fills it."""
    device, most = kiln.device("cpu"), _device._MOST_WRAPS
    device.forget()
    _device._MOST_WRAPS = 2
    try:
        for n in range(50):
            a, b, c = torch.randn(n + 1), torch.randn(n + 1), torch.rand(n + 1) > 0.5
            assert torch.equal(kt.where(c, a, b), torch.where(c, a, b))
            assert device.memory()["buffer_count"] <= 16
    finally:
        _device._MOST_WRAPS = most
        device.forget()


@test
def threads_that_fill_the_table():
    import threading

    device, most = kiln.device("cpu"), _device._MOST_WRAPS
    _device._MOST_WRAPS = 8
    wrong = []

    def work():
        for n in range(200):
            a, b = torch.randn(n % 17 + 1), torch.randn(n % 17 + 1)
            if not torch.equal(kt.add(a, b), a + b):
                wrong.append(n)

    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        _device._MOST_WRAPS = most
        device.forget()
    assert not wrong and not any(t.is_alive() for t in threads)


if __name__ == "__main__":
    run("python-torch-layers")
