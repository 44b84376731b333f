"""Drop-in pieces of models: scaled_dot_product_attention, Linear, and patch(), which puts both into a model that exists."""

from __future__ import annotations

from typing import Any, Sequence

import torch

from .._errors import ArgumentError, TypeMismatch
from ._direct import direct
from ._quantised import QuantisedLinear

_theirs = torch.nn.functional.scaled_dot_product_attention
_their_linear = torch.nn.functional.linear
_TYPES = (torch.float32, torch.float16, torch.bfloat16)


def attention_fits(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
                   enable_gqa: bool = False) -> str:  # fmt: skip
    """Why Kiln leaves a call of scaled_dot_product_attention to PyTorch; empty: it does not."""
    if not all(isinstance(t, torch.Tensor) for t in (query, key, value, query if attn_mask is None else attn_mask)):
        return "query, key, value or attn_mask is no tensor"
    if dropout_p != 0.0:
        return "dropout_p is not 0"
    if query.dtype not in _TYPES or not (query.dtype == key.dtype == value.dtype):
        return "query, key and value are not all of one of float32, float16 and bfloat16"
    if query.device.type not in ("cpu", "cuda"):
        return "the tensors are on '%s'" % query.device.type
    if query.dim() not in (3, 4) or not (query.dim() == key.dim() == value.dim()):
        return "query, key and value do not have three or four dimensions each"
    if key.shape != value.shape or query.shape[-1] != key.shape[-1] or query.shape[0] != key.shape[0]:
        return "key and value differ in their shape, or query in its batch or head_dim"
    if query.dim() == 4 and query.shape[1] != key.shape[1] and not enable_gqa:
        return "query and key differ in their heads, without enable_gqa"
    if not query.numel() or not key.numel():
        return "query or key has no elements"
    if scale is not None and not scale > 0.0:
        return "scale is not above 0"
    if attn_mask is not None and is_causal:
        return "there are attn_mask and is_causal"
    if attn_mask is not None and (attn_mask.requires_grad or attn_mask.dim() > query.dim() or not (attn_mask.dtype == torch.bool or attn_mask.dtype in _TYPES)):
        return "attn_mask wants a gradient, is neither bool nor float32, float16 or bfloat16, or has more dimensions than query"
    return ""


def scaled_dot_product_attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
                                 scale: float | None = None, enable_gqa: bool = False) -> Any:  # fmt: skip
    """torch.nn.functional.scaled_dot_product_attention, by Kiln's attention: masks of bool and of numbers, causal ones of any lengths, shared heads.

    PyTorch's own is called where attention_fits says so: dropout, other types, keys and values of different shapes, masks that want a gradient, what it refuses.
    """
    are_tensors = isinstance(query, torch.Tensor) and isinstance(key, torch.Tensor) and isinstance(value, torch.Tensor)
    if (are_tensors and attn_mask is None and scale is None and dropout_p == 0.0 and query.dtype in _TYPES and len(query.shape) == 4
            and key.shape == query.shape == value.shape and key.dtype == query.dtype == value.dtype and (query.is_cuda or query.is_cpu)
            and 0 not in query.shape):  # fmt: skip
        return direct.attention(query, key, value, is_causal)[0]  # most calls: no more questions
    if attention_fits(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa):
        more = {"enable_gqa": True} if enable_gqa else {}
        return _theirs(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, **more)
    is_flat = query.dim() == 3
    if is_flat:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        if attn_mask is not None and attn_mask.dim() == 3:
            attn_mask = attn_mask.unsqueeze(1)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = torch.zeros(attn_mask.shape, dtype=query.dtype, device=query.device).masked_fill(attn_mask.logical_not(), float("-inf"))
    window = -1
    if is_causal and query.shape[2] != key.shape[2]:  # PyTorch counts from the first key, Kiln from the last
        if query.shape[2] < key.shape[2]:
            key, value = key[:, :, : query.shape[2]], value[:, :, : query.shape[2]]
        else:
            is_causal, window = False, query.shape[2] - key.shape[2]
    out = direct.attention(query, key, value, is_causal, 0.0 if scale is None else scale, attn_mask, None, -1, window)[0]
    return out.squeeze(1) if is_flat else out


class Linear(torch.nn.Linear):
    """torch.nn.Linear by Kiln's matrix product; activation ("relu", "gelu", "silu") is done in the same kernel. Types that Kiln has no product of, as
    float64, are left to PyTorch."""

    activation = "none"

    def forward(self, input: Any) -> Any:
        weight = self.weight
        if weight.dtype not in _TYPES and self.activation == "none":
            return _their_linear(input, weight, self.bias)
        return direct.linear(input, weight, self.bias, self.activation)


class _Transposed:
    """A linear layer of Hugging Face's GPT-2 ("Conv1D"), which keeps its weights transposed, as one of PyTorch's."""

    def __init__(self, module: Any) -> None:
        self.weight, self.bias, self.training = module.weight.t(), module.bias, module.training


class TransposedLinear(torch.nn.Module):
    """The same layer, by Kiln's matrix product and over the same parameters."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.weight, self.bias, self.nf = module.weight, module.bias, module.weight.shape[1]
        self.train(module.training)

    def forward(self, x: Any) -> Any:
        weight = self.weight.t()
        return (direct.linear if weight.dtype in _TYPES else _their_linear)(x, weight, self.bias)


class Patch:
    """What patch() has changed; undo() changes it back. As a context it undoes at the end."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.classes: list[tuple[Any, type]] = []
        self.modules: list[tuple[Any, str, Any]] = []
        self.values: list[tuple[Any, str, Any]] = []
        self.has_attention = False

    def undo(self) -> None:
        for module, kind in self.classes:
            module.__class__ = kind
        for parent, name, module in self.modules:
            setattr(parent, name, module)
        for module, name, value in self.values:
            setattr(module, name, value)
        self.classes, self.modules, self.values = [], [], []
        if self.has_attention:
            self.has_attention = False
            _use_attention(-1)

    def __enter__(self) -> Any:
        return self.model

    def __exit__(self, *_: Any) -> None:
        self.undo()


_uses = 0


def _use_attention(change: int) -> None:
    global _uses
    _uses += change
    torch.nn.functional.scaled_dot_product_attention = scaled_dot_product_attention if _uses else _theirs


def _is_transposed(module: Any) -> bool:
    return type(module).__name__ == "Conv1D" and hasattr(module, "nf") and getattr(module, "weight", None) is not None and module.weight.dim() == 2


def _is_linear(module: Any) -> bool:
    """A layer whose class is torch.nn.Linear or says the same in other words, as Falcon's does; other subclasses may do more."""
    return type(module) in (torch.nn.Linear, Linear) or type(module).__name__ == "FalconLinear" and isinstance(module, torch.nn.Linear)


def patch(model: Any, *, linear: bool | str = True, attention: bool = True, group: int | None = None, has_zero: bool = False,
          skip: Sequence[str] = ("lm_head",)) -> Patch:  # fmt: skip
    """Makes an existing model use Kiln: every torch.nn.Linear becomes a kiln.torch.Linear over the same parameters, and
    torch.nn.functional.scaled_dot_product_attention, which Hugging Face's models call ("sdpa"), becomes Kiln's until undo().

        with kiln.torch.patch(model):
            model.generate(...)

    linear="int8", "int4" or "w8a8" quantises the weights (kiln.torch.QuantisedLinear; group and has_zero are its own), of all layers but those
    whose own name is in `skip`. The attention holds for the whole process.
    """
    if linear not in (True, False, "int8", "int4", "w8a8"):
        raise ArgumentError("patch: linear=%r: True, False, 'int8', 'int4' or 'w8a8'" % (linear,))
    if (group is not None or has_zero) and not isinstance(linear, str):
        raise ArgumentError("patch: group and has_zero are for linear='int8' and 'int4'")
    if not isinstance(model, torch.nn.Module):
        raise TypeMismatch("patch: 'model' is a %s: a torch.nn.Module" % type(model).__name__)
    made = Patch(model)
    if linear:
        for path, module in list(model.named_modules()):
            is_linear, is_transposed = _is_linear(module), _is_transposed(module)
            if not (is_linear or is_transposed):
                continue
            if linear is True and is_linear:
                if type(module) is not Linear:
                    made.classes.append((module, type(module)))
                    module.__class__ = Linear
                continue
            if linear is not True and path.split(".")[-1] in skip:
                continue
            parent_path, _, name = path.rpartition(".")
            if not path:
                raise ArgumentError("patch: the model is a linear layer itself: kiln.torch.QuantisedLinear.of(model, %r) makes another of it" % (linear,))
            parent = model.get_submodule(parent_path)
            source = _Transposed(module) if is_transposed else module
            replacement = TransposedLinear(module) if linear is True else QuantisedLinear.of(source, str(linear), group, has_zero)
            made.modules.append((parent, name, module))
            setattr(parent, name, replacement)
        for module in model.modules():  # its short way of evaluation takes the numbers of its layers' weights, which quantised ones do not have
            if isinstance(module, torch.nn.TransformerEncoderLayer) and any(isinstance(m, QuantisedLinear) for m in module.children()):
                made.values.append((module, "activation_relu_or_gelu", module.activation_relu_or_gelu))
                module.activation_relu_or_gelu = 0
    if attention:
        made.has_attention = True
        _use_attention(1)
    return made
