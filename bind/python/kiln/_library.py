"""Finds libkiln.so and the kiln program, and declares the library's functions.

Searched in this order: $KILN_LIBRARY, the package itself (a wheel), the build folder of the source tree that the package lies in, the
system's library path. Nothing is compiled here.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import shutil

from . import _abi

_here = pathlib.Path(__file__).resolve().parent
_tree = _here.parents[2] if len(_here.parents) > 2 else _here


def _find_library() -> str:
    given = os.environ.get("KILN_LIBRARY")
    if given:
        return given
    for path in (_here / "_native" / "libkiln.so", _tree / "build" / "libkiln.so"):
        if path.exists():
            return str(path)
    return "libkiln.so.0"


def _load() -> ctypes.CDLL:
    path = _find_library()
    try:
        found = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            "kiln: the library %s cannot be loaded: %s. Install the package with pip, or run make in the source tree, "
            "or say where it is: KILN_LIBRARY=/path/to/libkiln.so" % (path, error)
        ) from None
    if not hasattr(found, "kiln_version"):
        raise ImportError("kiln: %s is another library: KILN_LIBRARY names libkiln.so" % path)
    found.kiln_version.restype = ctypes.c_char_p
    version = found.kiln_version().decode()
    if version != _abi.VERSION:
        raise ImportError("kiln: %s is version %s, this package is made for %s" % (path, version, _abi.VERSION))
    for name, result, arguments in _abi.FUNCTIONS:
        try:
            function = getattr(found, name)
        except AttributeError:
            raise ImportError("kiln: %s has no function %s: it is older than this package; run make" % (path, name)) from None
        function.restype, function.argtypes = result, arguments
    return found


library = _load()

# Closing a device may give memory back to another library, which then takes Python's lock: it must be ours already. Else two threads could
# wait for each other, one with Python's lock and one with Kiln's.
close = ctypes.PyDLL(library._name).kiln_close
close.restype, close.argtypes = None, [ctypes.c_void_p]


def program() -> str | None:
    """Where the kiln program is: $KILN_PROGRAM, the package, beside the library, the path."""
    given = os.environ.get("KILN_PROGRAM")
    if given:
        return given
    for path in (_here / "_native" / "kiln", pathlib.Path(library._name).parent / "kiln", _tree / "build" / "kiln"):
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    return shutil.which("kiln")


def text(value: bytes | None) -> str:
    return value.decode("utf-8", "replace") if value else ""
