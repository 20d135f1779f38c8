"""The process's own streams: made so that writing can never raise, and read where input is piped in."""

from __future__ import annotations

import io
import os
import select
import stat
import sys
from contextlib import suppress
from typing import IO, cast

from tui.messages import Attachment, clean
from tui.plain import plain_line

__all__ = [
    "CannotStartError",
    "abandon_stdout",
    "draw_on_terminal",
    "harden",
    "is_terminal",
    "read_piped",
    "say",
    "write_bytes",
]

_MOST = 10_000_000
"""Bytes of piped input that are taken; no context window holds more."""
_PATIENCE = 3.0
"""Seconds of silence on a pipe after which a person is told what is waited for."""


class CannotStartError(Exception):
    """Something a start needs is not there or cannot be used. `str()` is one sentence."""


def harden() -> None:
    """Let no character raise on its way out, whatever the encoding (aider#5159); a closed stream gets a stand-in."""
    sys.stdout = _hardened(sys.stdout)
    sys.stderr = _hardened(sys.stderr)


def _hardened(stream: IO[str] | None) -> IO[str]:
    if stream is None:  # the parent closed it: `clew >&-`
        return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8", closefd=False)
    if isinstance(stream, io.TextIOWrapper):
        cast("io.TextIOWrapper", stream).reconfigure(errors="backslashreplace")
    return cast("IO[str]", stream)


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether a person sits at the other end; a closed stream has none."""
    return stream is not None and not stream.closed and stream.isatty()


def say(line: str) -> None:
    """Write one line to the person on stderr, where that is still there."""
    with suppress(OSError, ValueError):  # a closed stderr leaves nobody to tell
        sys.stderr.write(plain_line(line, 2000) + "\n")
        sys.stderr.flush()


def write_bytes(content: bytes) -> None:
    """Write bytes to stdout at once: JSON is UTF-8 whatever the locale says. Raises `BrokenPipeError`."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def abandon_stdout() -> None:
    """Point stdout at nothing, after its reader has gone: the interpreter's last flush must not raise."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


def draw_on_terminal() -> None:
    """Let stderr be the terminal that stdout is: the screen is drawn there, and must not be drawn into a file.

    Raises `CannotStartError` where stderr was closed by whoever started this.
    """
    if sys.__stderr__ is None:
        raise CannotStartError("stderr is closed, and the app draws there; start `clew` without `2>&-`.")
    if not sys.__stderr__.isatty():
        os.dup2(sys.stdout.fileno(), sys.__stderr__.fileno())


def read_piped() -> Attachment | None:
    """Return what is piped into stdin, or None where there is nothing. Reads to its end. Raises `CannotStartError`."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return None
    descriptor = sys.stdin.fileno()
    try:
        _explain_silence(descriptor)
        with os.fdopen(os.dup(descriptor), "rb") as source:
            content = source.read(_MOST + 1)
    except OSError as error:
        raise CannotStartError(f"stdin cannot be read: {error.strerror}. Nothing was sent.") from error
    if len(content) > _MOST:
        raise CannotStartError(
            f"More than {_MOST:,} bytes came on stdin; nothing was sent. Give a file's name instead."
        )
    return Attachment(name="stdin", text=clean(content.decode("utf-8", "replace"))) if content else None


def _explain_silence(descriptor: int) -> None:
    """Say what is waited for, where a program that started this one left a pipe open and says nothing."""
    mode = os.fstat(descriptor).st_mode
    if (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)) and not select.select([descriptor], [], [], _PATIENCE)[0]:
        say("clew: waiting for stdin to end; `</dev/null` gives it none.")
