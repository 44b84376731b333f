"""Drop-in pieces of models: scaled_dot_product_attention, Linear, and patch(), which puts both into a model that exists."""

from __future__ import annotations

from typing import Any

import torch

from .._errors import ArgumentError, Unsupported

_theirs = torch.nn.functional.scaled_dot_product_attention
_TYPES = (torch.float32, torch.float16, torch.bfloat16)


def scaled_dot_product_attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
                                 scale: float | None = None, enable_gqa: bool = False) -> Any:  # fmt: skip
    """torch.nn.functional.scaled_dot_product_attention, by Kiln's attention.

    PyTorch's own is called for what Kiln's does not do: a mask, dropout, a causal one with other numbers of queries than keys, other types.
    """
    fits = (
        attn_mask is None and dropout_p == 0.0 and query.dtype in _TYPES and query.dtype == key.dtype == value.dtype
        and query.dim() == key.dim() == value.dim() and query.dim() in (3, 4) and query.shape[-1] == value.shape[-1]
        and not (is_causal and query.shape[-2] != key.shape[-2])
    )  # fmt: skip
    if not fits:
        more = {"enable_gqa": True} if enable_gqa else {}
        return _theirs(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, **more)
    is_flat = query.dim() == 3
    if is_flat:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
    if not enable_gqa and key.shape[1] != query.shape[1]:
        raise ArgumentError("scaled_dot_product_attention: %d heads of queries, %d of keys: enable_gqa=True shares them" % (query.shape[1], key.shape[1]))
    out = torch.ops.kiln.attention.default(query, key, value, is_causal, scale if scale is not None else 0.0)[0]
    return out.squeeze(1) if is_flat else out


class Linear(torch.nn.Linear):
    """torch.nn.Linear by Kiln's matrix product; activation ("relu", "gelu", "silu") is done in the same kernel."""

    activation = "none"

    def forward(self, input: Any) -> Any:
        return torch.ops.kiln.linear.default(input, self.weight, self.bias, self.activation)


class Patch:
    """What patch() has changed; undo() changes it back. As a context it undoes at the end."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.linears: list[tuple[Any, type]] = []
        self.has_attention = False

    def undo(self) -> None:
        for module, kind in self.linears:
            module.__class__ = kind
        self.linears = []
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


def patch(model: Any, *, linear: bool = True, attention: bool = True, quantize: str | None = None) -> Patch:
    """Makes an existing model use Kiln: every torch.nn.Linear becomes a kiln.torch.Linear over the same parameters, and
    torch.nn.functional.scaled_dot_product_attention, which Hugging Face's models call ("sdpa"), becomes Kiln's until undo().

        with kiln.torch.patch(model):
            model.generate(...)

    The second holds for the whole process.
    """
    if quantize is not None:
        raise Unsupported("patch: quantize=%r: the library has no int8 and int4 linear layers yet" % quantize)
    made = Patch(model)
    if linear:
        for module in model.modules():
            if type(module) is torch.nn.Linear:
                made.linears.append((module, torch.nn.Linear))
                module.__class__ = Linear
    if attention:
        made.has_attention = True
        _use_attention(1)
    return made
