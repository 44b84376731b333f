"""Kiln: GPU kernels in plain C, from Python.

    import kiln, numpy
    m = kiln.compile("saxpy.c")                       # or the text of a kernel
    x, y = numpy.ones(1000, "f4"), numpy.zeros(1000, "f4")
    m.saxpy(y, x, 3.0, 1000, items=1000)              # NumPy's memory, nothing is copied on a CPU

kiln.ops has the op library, kiln.torch makes both differentiable ops of PyTorch, `python -m kiln` is the kiln program.
"""

from __future__ import annotations

from . import _abi
from ._array import Array, array, empty, from_dlpack, zeros
from ._device import Device, Stream, devices
from ._device import shared_device as device
from ._errors import ArgumentError, CompileError, Diagnostic, Error, Finding, KernelError, NotFound, OutOfMemory, TypeMismatch, Unsupported
from ._fuse import fuse
from ._library import program
from ._module import Kernel, Module, compile
from ._tools import Timing, Tuned, bench, check, show, tune

__version__ = _abi.VERSION
__all__ = [
    "ArgumentError", "Array", "CompileError", "Device", "Diagnostic", "Error", "Finding", "Kernel", "KernelError", "Module", "NotFound", "OutOfMemory",
    "Stream", "Timing", "Tuned", "TypeMismatch", "Unsupported", "array", "bench", "check", "compile", "device", "devices", "empty", "from_dlpack", "fuse", "ops",
    "program", "show", "sync", "tune", "zeros",
]  # fmt: skip


def sync(on: Device | str | None = None) -> None:
    """Waits for a device's work, prints what kernels printed, raises what went wrong."""
    device(on).sync()


def __getattr__(name: str) -> object:
    if name in ("ops", "torch"):  # loaded when first used: kiln.torch needs PyTorch
        import importlib

        return importlib.import_module("kiln." + name)
    raise AttributeError("module 'kiln' has no attribute '%s'" % name)
