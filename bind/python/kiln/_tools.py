"""kiln.check, show, bench and tune: what the program of the same name does, from Python."""

from __future__ import annotations

import ctypes
import itertools
import os
import subprocess
import tempfile
import time
from ctypes import byref, c_void_p
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Mapping, Sequence

from . import _abi, _numbers
from ._array import Array, describe, empty
from ._device import shared_device
from ._errors import ArgumentError, Error, Finding, NotFound, TypeMismatch
from ._library import library, program, text
from ._module import _OPTIONS, Kernel, Module, Source, _Loaded, compile, is_compiled
from ._types import SIZE

_FINDING = ctypes.CFUNCTYPE(None, c_void_p, ctypes.POINTER(_abi.kiln_finding))


def _pick(call: str, of: Kernel | Module | str | os.PathLike[str], kernel: str | None, **options: Any) -> Kernel:
    if isinstance(of, (Kernel, Module)):
        is_compiled(call, **options)
    if isinstance(of, Kernel):
        if kernel not in (None, of.__name__):
            raise ArgumentError("%s: kernel=%r, and %r was given" % (call, kernel, of))
        return of
    module = of if isinstance(of, Module) else compile(of, device="interp", **options)
    if kernel is None and len(module) != 1:
        raise ArgumentError("which kernel? %r has %s: kernel=" % (module, ", ".join(module.kernels) or "none"))
    return module[kernel] if kernel is not None else next(iter(module))


def _on_host(value: Any) -> Any:
    """A copy of an array in the host's memory: a check must not change its arguments."""
    if isinstance(value, Array) and value.kind in SIZE:
        return empty(value.shape, value.dtype, "interp").write(value.tobytes())
    if describe(value) is None:
        return value
    if hasattr(value, "detach"):
        return value.detach().cpu().clone()
    import numpy

    return numpy.array(value.get() if hasattr(value, "get") else value.numpy() if isinstance(value, Array) else value)


def check(of: Kernel | Module | str | os.PathLike[str], /, *args: Any, kernel: str | None = None, all: bool = True, nan: bool = False,
          unset: Sequence[str] = (), step_limit: int = 0, define: Any = None, tune: Any = None, include: Any = None, **launch: Any) -> list[Finding]:  # fmt: skip
    """Runs a launch on the interpreter, every access watched, and returns what is wrong with it: races, accesses out of bounds, memory read
    before it is set, missed barriers.

        kiln.check("blur.c", out, image, n, items=n)
        kiln.check(module.blur, out, image, n, items=n)

    The arrays are copied first and stay as they are. unset names arrays whose contents count as not set.
    """
    picked = _pick("check", of, kernel, define=define, tune=tune, include=include)
    device = shared_device("interp")
    loaded = _Loaded(device, picked.module.source.compile(device, for_check=True, check_bounds=False))
    taken = {p.name for p in picked.parameters}
    named = {k: v for k, v in launch.items() if k in taken or k not in _OPTIONS}
    values = [_on_host(v) for v in picked._bind(args, named)]
    borrowed, packed, _ = picked._prepare(values, device, None)
    memory = ctypes.create_string_buffer(packed, max(len(packed), 1))
    options = {k: v for k, v in launch.items() if k in _OPTIONS and k not in taken}
    found: list[Finding] = []

    @_FINDING
    def tell(_user: Any, raw: Any) -> None:
        f = raw.contents
        found.append(
            Finding(text(f.code), text(f.message), text(f.text), text(f.file), f.line, f.column, tuple(f.thread), tuple(f.block), text(f.array), f.index,
                    text(f.other_file), f.other_line, f.other_column, tuple(f.other_thread), tuple(f.other_block), f.count)  # fmt: skip
        )

    if isinstance(unset, str):
        raise TypeMismatch("unset: a list of parameters, not the text %r" % unset)
    for name in unset:
        if name not in taken:
            raise NotFound("unset: %s has no parameter '%s'" % (picked.__name__, name))
    flags = (ctypes.c_bool * max(len(picked.parameters), 1))(*(p.name in unset for p in picked.parameters))
    desc = _abi.kiln_check_desc(
        launch=_abi.kiln_launch_desc.from_buffer_copy(picked._desc(memory, len(picked.parameters), 0, options)),
        all=all, nan=nan, is_unset=ctypes.cast(flags, c_void_p), step_limit=step_limit, finding=ctypes.cast(tell, c_void_p),
    )  # fmt: skip
    count = ctypes.c_size_t()
    device.call(library.kiln_check, loaded.kernel(picked.__name__), byref(desc), byref(count))
    return found


_WHOLE = ("tokens", "ast", "remarks")  # stages of a file, whatever kernel of it is given


def show(of: Kernel | Module | str | os.PathLike[str], stage: str = "ir", *, kernel: str | None = None, target: str | None = None, define: Any = None,
         tune: Any = None, include: Any = None) -> str:  # fmt: skip
    """One stage of the compiler as text: "ir", "ptx", "c", "opencl", "remarks", "report", "side", the name of a pass … (kiln help show)."""
    if not isinstance(stage, str):
        raise TypeMismatch("show: stage=%r: the name of a stage, \"ir\" or \"ptx\"" % (stage,))
    if isinstance(of, (Kernel, Module)):
        is_compiled("show", define=define, tune=tune, include=include)
    is_whole = stage in _WHOLE and kernel is None
    if isinstance(of, Kernel):
        kernel, of = None if is_whole else kernel or of.__name__, of.module
    source = of.source if isinstance(of, Module) else Source(of, define, include, tune, {})
    words = ["show", "--stage", stage, *source.command_line()]
    words += ["--kernel", kernel] if kernel else []
    words += ["--target", target] if target else []
    return _run(words, source)


def _run(words: list[str], source: Source) -> str:
    found = program()
    if not found:
        raise NotFound("there is no kiln program in the package, beside the library or in the path: KILN_PROGRAM says where it is")
    with tempfile.TemporaryDirectory() as folder:
        path = source.path
        if not path:
            path = os.path.join(folder, "kernel.c")
            with open(path, "w", encoding="utf-8") as file:
                file.write(source.text)
        done = subprocess.run([found, words[0], path, *words[1:]], capture_output=True, text=True)
    if done.returncode:
        raise Error(done.stderr.strip() or "kiln %s failed" % words[0])
    return done.stdout


@dataclass(frozen=True)
class Timing:
    """How long one call takes, in seconds."""

    median: float
    best: float
    worst: float
    rounds: int
    calls: int  # of a round
    device: str

    def __str__(self) -> str:
        return "%s on %s (best %s, %d rounds of %d)" % (_time(self.median), self.device, _time(self.best), self.rounds, self.calls)

    def per_second(self, work: float) -> float:
        """Bytes or operations of one call, per second."""
        return work / self.median


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return "%.4g %s" % (seconds / size, unit)
    return "%.4g ns" % (seconds * 1e9)


def bench(function: Callable[..., Any], /, *args: Any, rounds: int = 10, seconds: float = 0.05, **options: Any) -> Timing:
    """Times a kernel, or any function that launches some: kiln.bench(m.saxpy, y, x, 3.0, n, items=n).

    Each round calls it often enough to last `seconds`, and waits for the device once. The first call, which may compile, is not counted.
    """
    if not callable(function):
        raise TypeMismatch("bench: %r is no function: pass a kernel and its arguments" % (function,))
    rounds, seconds = _numbers.whole("bench: rounds", rounds), _numbers.real("bench: seconds", seconds)
    if rounds < 1 or not 0 <= seconds < 1e6:
        raise ArgumentError("bench: rounds=%d, seconds=%g: at least one round, of no less than 0 seconds" % (rounds, seconds))
    device = shared_device(options.get("device"))
    for value in (*args, *options.values()):
        one = describe(value) if not isinstance(value, (int, float, str)) else None
        if one is not None and one.place != "host":
            device = shared_device(one.place)
            break
    else:
        if isinstance(function, Kernel) and options.get("device") is None:
            device = function.module.device

    def wait() -> None:
        device.sync()

    def run(calls: int) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            function(*args, **options)
        wait()
        return time.perf_counter() - start

    run(1)
    calls, once = 1, run(1)
    if once < seconds:
        calls = max(1, min(1_000_000, int(seconds / max(once, 1e-7))))
    times = sorted(run(calls) / calls for _ in range(rounds))
    return Timing(times[len(times) // 2], times[0], times[-1], len(times), calls, device.name)


@dataclass(frozen=True)
class Tuned:
    """The best values, the kernel compiled with them, and the time of every choice."""

    values: dict[str, Any]
    kernel: Kernel
    timing: Timing
    all: list[tuple[dict[str, Any], Timing | None]]


def tune(source: str | os.PathLike[str], values: Mapping[str, Sequence[Any]], /, *args: Any, kernel: str | None = None, define: Any = None,
         include: Any = None, device: Any = None, rounds: int = 5, launch: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None, **options: Any) -> Tuned:  # fmt: skip
    """Compiles a kernel with every combination of its tune() values, times each, and returns the fastest.

        best = kiln.tune("sum.c", {"THREADS": [128, 256, 512]}, out, x, n, items=n)

    launch computes launch options from the values, where they depend on them. A combination that the kernel does not take is left out. Results
    are not kept on disk.
    """
    if not isinstance(values, Mapping) or not all(isinstance(tried, Iterable) and not isinstance(tried, str) for tried in values.values()):
        raise TypeMismatch("tune: values is %r: {\"NAME\": [1, 2, 4]} names a tune() of the kernel and what to try" % (values,))
    if not values:
        raise ArgumentError("tune: which values? {\"NAME\": [1, 2, 4]} names a tune() of the kernel and what to try")
    tried: list[tuple[dict[str, Any], Timing | None]] = []
    best: Tuned | None = None
    refused: Error | None = None
    for chosen in itertools.product(*values.values()):
        these = dict(zip(values, chosen))
        try:
            picked = _pick("tune", compile(source, define=define, include=include, tune=these, device=device), kernel)
            timing = bench(picked, *args, rounds=rounds, **(options | (launch(these) if launch else {})))
        except Error as error:
            refused = error
            tried.append((these, None))
            continue
        tried.append((these, timing))
        if best is None or timing.median < best.timing.median:
            best = Tuned(these, picked, timing, tried)
    if best is None:
        assert refused is not None
        raise refused
    return best
