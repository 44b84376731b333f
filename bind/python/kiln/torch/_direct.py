"""The ways into a planned kernel, written out for the arguments of its op.

    kernel     what the dispatcher calls: the plan of these arguments, else the kernel itself
    look       the plan of these arguments, else the op
    direct     what Python calls: `look`, where the dispatcher would do nothing but find the kernel; else the op

The dispatcher costs a call as much as all the rest of it. It is left out for plain tensors that have been seen before, while nothing watches or changes
what ops do: torch.compile, modes, autocast, tracing, functorch's transforms, forward-mode gradients, the profiler. The text of a function without loops over its arguments is made
of the op's schema; it takes half the time of one with them.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Callable

import torch

from .._errors import TypeMismatch
from . import _call
from ._plan import Planned

_C: Any = torch._C
_TESTS = ("_len_torch_dispatch_stack", "_len_torch_function_stack", "_is_any_autocast_enabled", "_is_tracing", "_are_functorch_transforms_active")
_HAS_TESTS = all(hasattr(_C, name) for name in _TESTS)
_TEXT = """
def make(_op, _ask, _planned, _number, _is_compiling, {tests}, _profiler, _forward, _types, _is_grad_enabled, _apply, _devices, _device_of, _stream, _state):
    _first = _planned.first

    def kernel({parameters}):
        _index = {subject}.get_device()
        _device = _devices.get(_index)
        if _device is None or _device.handle is None:
            _device = _device_of({subject})
        _key = {key}
        with _device.lock:
            _plan = _device.plans.get(_key)
            if _plan:
                return _plan.run(_device)
        return _first(_device, _key, _plan, ({names},))

    def look({parameters}):
        _index = {subject}.get_device()
        _device = _devices.get(_index)
        if _device is not None and _device.handle is not None:
            with _device.lock:
                try:
                    _plan = _device.plans.get({key})
                except (RuntimeError, TypeError):  # a tensor without memory of its own, a wrong argument: the dispatcher knows what to do
                    return _ask({names})
                if _plan:
                    return _plan.run(_device)
        try:
            return _op({names})
        except NotImplementedError:  # a kind of tensor that the dispatcher has no kernel for
            _ask.dense({names})
            raise

    def direct({parameters}):
        if _is_compiling() or {watched} or _profiler._is_profiler_enabled or _forward._current_level >= 0:
            return _op({names})
        if not ({plain}):
            return _ask({names})
        if _is_grad_enabled() and ({wants}):
            return _apply(None, {names})
        return look({names})

    return kernel, look, direct
"""


def _arguments(schema: str) -> list[tuple[str, str, str | None]]:
    """(type, name, default) of each argument of a schema"""
    words = schema.partition("(")[2].partition(") ->")[0].split(", ")
    return [(kind, name.partition("=")[0], name.partition("=")[2] or None) for kind, name in (word.split(" ", 1) for word in words)]


def _number(kind: str, name: str) -> str:
    """A number as a part of a key"""
    if kind == "float":
        return "%s or repr(%s)" % (name, name)  # 0.0 == -0.0, but they are not the same number
    return "tuple(%s)" % name if kind.endswith("[]") else name


def _tensor(name: str) -> str:
    return "{0}.data_ptr(), {0}.shape, {0}.stride(), {0}.dtype".format(name)


def is_tensor(t: Any) -> bool:
    """Also what stands for one while a program is traced (torch.fx)."""
    return isinstance(t, torch.Tensor) or hasattr(type(t), "__torch_function__")


def asking(schema: str, op: Any) -> Callable[..., Any]:
    """The op for arguments that may be anything: what should be a tensor and is none is named, as the dispatcher does not."""
    name = schema.partition("(")[0]
    arguments = _arguments(schema)
    places = [(n, title) for n, (kind, title, _) in enumerate(arguments) if kind == "Tensor"]
    tensors = [(n, title) for n, (kind, title, _) in enumerate(arguments) if kind in ("Tensor", "Tensor?")]
    is_compiling = torch.compiler.is_compiling

    def dense(*args: Any) -> None:
        """Names a tensor that is not simply numbers in memory: sparse, nested, quantised"""
        for n, title in tensors:
            t = args[n] if n < len(args) else None
            if isinstance(t, torch.Tensor) and (t.layout is not torch.strided or t.is_nested or t.is_quantized):
                kind = "of the type %s" % t.dtype if t.is_quantized else "of other tensors" if t.is_nested else "with the layout %s" % t.layout
                raise TypeMismatch("%s: '%s' is a tensor %s: Kiln takes dense ones of numbers" % (name, title, kind)) from None

    def ask(*args: Any, **named: Any) -> Any:
        if not is_compiling():
            for n, title in places:
                if n < len(args) and not is_tensor(args[n]):
                    raise TypeMismatch("%s: '%s' is a %s: a tensor" % (name, title, type(args[n]).__name__))
            dense(*args)
        return op(*args, **named)

    ask.__name__ = ask.__qualname__ = name
    ask.dense = dense  # type: ignore[attr-defined]
    return ask


def entries(schema: str, op: Any, ask: Callable[..., Any], planned: Planned, number: int, apply: Callable[..., Any]) -> tuple[Any, Any, Any]:
    """(kernel, look, direct) of an op; `ask` is for strange ones, `number` its own, `apply` takes it through autograd."""
    arguments = _arguments(schema)
    key, plain, wants = ["_number", "_stream(_index) if _index >= 0 else 0", "_state()"], [], []
    for kind, name, _ in arguments:
        if kind == "Tensor":
            key.append(_tensor(name))
            plain.append("type({0}) in _types and not {0}.is_neg()".format(name))
            wants.append("%s.requires_grad" % name)
        elif kind == "Tensor?":
            key.append("None if {0} is None else ({1})".format(name, _tensor(name)))
            plain.append("({0} is None or type({0}) in _types and not {0}.is_neg())".format(name))
            wants.append("{0} is not None and {0}.requires_grad".format(name))
        else:
            key.append(_number(kind, name))
    text = _TEXT.format(tests=", ".join(_TESTS), watched=" or ".join("%s()" % name for name in _TESTS), names=", ".join(name for _, name, _ in arguments),
                        parameters=", ".join(name if default is None else "%s=%s" % (name, default) for _, name, default in arguments),
                        subject=next(name for kind, name, _ in arguments if kind == "Tensor"), key="(%s)" % ", ".join(key), plain=" and ".join(plain),
                        wants=" or ".join(wants))  # fmt: skip
    name = schema.partition("(")[0]
    made: dict[str, Any] = {}
    exec(compile(text, "<kiln::%s>" % name, "exec"), made)
    kernel, look, direct = made["make"](op, ask, planned, number, torch.compiler.is_compiling, *(getattr(_C, name, None) for name in _TESTS), torch.autograd.profiler, torch.autograd.forward_ad,
                                        frozenset((torch.Tensor, torch.nn.Parameter)), torch.is_grad_enabled, apply, _call.devices, _call.device_of,
                                        _call.raw_stream, planned.state or (lambda: None))  # fmt: skip
    direct.__name__ = direct.__qualname__ = name
    return kernel, look, direct if _HAS_TESTS else ask


direct: Any = SimpleNamespace()  # by the names of the ops
