"""What goes wrong, as exceptions: the rendered diagnostics as text, coloured in a terminal and in notebooks, and the same as objects."""

from __future__ import annotations

import html
import json
import os
import re
import sys
from dataclasses import dataclass
from dataclasses import field as _field
from typing import Any

from . import _abi
from ._library import library, text

# What is coloured in a rendered diagnostic: pattern, ANSI, CSS
_COLOURS = [
    (re.compile(r"^(error|K\d{4})(\[K\d{4}\])?(?=:)"), "1;31", "color:#c0392b;font-weight:bold"),
    (re.compile(r"^warning(\[K\d{4}\])?(?=:)"), "1;33", "color:#b8860b;font-weight:bold"),
    (re.compile(r"^(note|remark|fix|hint)(\[K\d{4}\])?(?=:)"), "1;36", "color:#16808c;font-weight:bold"),
    (re.compile(r"^\s*-->.*$"), "34", "color:#2c5aa0"),
    (re.compile(r"^ *\d* [|+-](?= |$)"), "34", "color:#2c5aa0"),
    (re.compile(r"(?<=\| )\s*\^+.*$"), "1;31", "color:#c0392b"),
    (re.compile(r"(?<=\| )\s*-{2,}(?: .*)?$"), "36", "color:#16808c"),
]
_OF_VIEW = re.compile(r"' is no view: kiln_view_\w+: ")
_NO_BUFFER = re.compile(r"^[^']*('\w+') has no buffer$", re.M)
_C_NAME = re.compile(r"^kiln_\w+: (?:'v' is no view: (?:kiln_\w+: )?)?")


def _painted(line: str, paint: Any, plain: Any) -> str:
    """The line with every coloured piece painted; pieces do not overlap."""
    spans: list[tuple[int, int, int]] = []
    for number, (pattern, _, _) in enumerate(_COLOURS):
        for match in pattern.finditer(line):
            if match.end() > match.start() and all(match.end() <= a or match.start() >= b for a, b, _ in spans):
                spans.append((match.start(), match.end(), number))
    done, at = "", 0
    for start, end, number in sorted(spans):
        done += plain(line[at:start]) + paint(line[start:end], number)
        at = end
    return done + plain(line[at:])


def coloured(message: str) -> str:
    """A rendered diagnostic with colours of a terminal."""
    return "\n".join(_painted(line, lambda s, n: "\x1b[%sm%s\x1b[0m" % (_COLOURS[n][1], s), str) for line in message.split("\n"))


def as_html(message: str) -> str:
    """A rendered diagnostic as HTML."""
    lines = (_painted(line, lambda s, n: '<span style="%s">%s</span>' % (_COLOURS[n][2], html.escape(s)), html.escape) for line in message.split("\n"))
    return '<pre style="line-height:1.25">%s</pre>' % "\n".join(lines)


def _wants_colour() -> bool:
    return "NO_COLOR" not in os.environ and bool(getattr(sys.stderr, "isatty", bool)())


@dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler."""

    severity: str  # "error", "warning", "remark"
    code: str  # "K2001": kiln explain says more
    message: str
    file: str
    line: int
    column: int
    labels: list[dict[str, Any]] = _field(default_factory=list)
    notes: list[str] = _field(default_factory=list)
    fixes: list[dict[str, Any]] = _field(default_factory=list)


@dataclass(frozen=True)
class Finding:
    """What kiln.check found in one launch: a race, an access out of bounds …"""

    code: str
    message: str
    text: str
    file: str
    line: int
    column: int
    thread: tuple[int, ...]
    block: tuple[int, ...]
    array: str
    index: int
    other_file: str
    other_line: int
    other_column: int
    other_thread: tuple[int, ...]
    other_block: tuple[int, ...]
    count: int

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return as_html(self.text)


class Error(Exception):
    """Something went wrong. str() is the complete text to show; the rest says the same in pieces."""

    def __init__(self, message: str, *, status: str = "", code: str = "", kernel: str = "", file: str = "", line: int = 0,
                 column: int = 0, hint: str = "", diagnostics: list[Diagnostic] | None = None) -> None:
        super().__init__(message)
        self.text = message
        self._is_shown = False
        self.status, self.code, self.kernel, self.file, self.line, self.column, self.hint = status, code, kernel, file, line, column, hint
        self.diagnostics: list[Diagnostic] = diagnostics or []

    def __str__(self) -> str:
        return coloured(self.text) if _wants_colour() else self.text

    def of(self, call: str) -> Error:
        """The same with the name of the op that was called, where the library names its own function."""
        text = _C_NAME.sub(lambda _: call + ": ", self.text, 1).replace("'in'", "'x'")  # which is a word of Python
        text = _OF_VIEW.sub("': ", text)
        missing = _NO_BUFFER.search(text)
        if missing:
            return ArgumentError("%s: %s is missing" % (call, missing[1]), status=self.status, code=self.code)
        self.text = text
        self.args = (text,)
        return self

    def _repr_html_(self) -> str:
        return as_html(self.text)

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the diagnostic, not the way through this package. A notebook gets it as HTML, and its first line as text."""
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        if not hasattr(shell, "kernel"):
            return [coloured("%s: %s" % (type(self).__name__, self.text))]
        if not self._is_shown:  # it is asked for twice
            self._is_shown = True
            sys.modules["IPython"].display.display(self)
        return ["%s: %s" % (type(self).__name__, self.text.partition("\n")[0])]


class ArgumentError(Error, ValueError):
    """A wrong size, shape, device or number."""


class TypeMismatch(ArgumentError, TypeError):
    """An array or number of another type than asked for."""


class CompileError(Error):
    """The kernel is wrong; diagnostics has every message as an object."""


class KernelError(Error, RuntimeError):
    """The kernel ran and failed: out of bounds, assert, trap."""


class NotFound(Error, LookupError):
    """No such file, kernel or device."""


class OutOfMemory(Error, MemoryError):
    """Memory of the host or of the device."""


class Unsupported(Error, NotImplementedError):
    """This device, or Kiln itself, cannot do that."""


_CLASSES = {
    _abi.KILN_E_BAD_ARGUMENT: ArgumentError,
    _abi.KILN_E_LAUNCH: ArgumentError,
    _abi.KILN_E_COMPILE: CompileError,
    _abi.KILN_E_NOT_FOUND: NotFound,
    _abi.KILN_E_NO_MEMORY: OutOfMemory,
    _abi.KILN_E_KERNEL: KernelError,
    _abi.KILN_E_UNSUPPORTED: Unsupported,
}


def last_error(handle: Any, status: int) -> Error:
    """The library's newest error as an exception."""
    raw = library.kiln_last_error(handle).contents
    message = text(raw.text) or text(library.kiln_status_name(status))
    hint = text(raw.hint)
    if hint and hint not in message:
        message += "\nhint: " + hint
    return _CLASSES.get(status, Error)(
        message, status=text(library.kiln_status_name(status)), code=text(raw.code), kernel=text(raw.kernel), file=text(raw.file),
        line=raw.line, column=raw.column, hint=hint,
    )  # fmt: skip


def check(status: int, handle: Any = None) -> None:
    if status:
        raise last_error(handle, status)


def parse_diagnostics(lines: str) -> list[Diagnostic]:
    """The compiler's JSON lines as objects."""
    found = []
    for line in filter(None, lines.split("\n")):
        try:
            raw = json.loads(line)
        except ValueError:
            continue
        found.append(
            Diagnostic(
                raw.get("level", "error"), raw.get("code", ""), raw.get("message", ""), raw.get("file", ""), raw.get("line", 0),
                raw.get("column", 0), raw.get("labels", []), raw.get("notes", []), raw.get("fixes", []),
            )  # fmt: skip
        )
    return found
