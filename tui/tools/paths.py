"""Paths: where a name really leads, decided before anything is opened or made.

The boundary is the real path of the deepest existing ancestor (opencode#43336): a link inside the
project that leads outside is outside, also for files that do not exist yet.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import msgspec

from tui.tools.base import ToolContext, ToolError
from tui.tools.deception import visible

__all__ = ["Place", "file_type", "is_inside", "locate", "name_of", "outside", "shown"]

_ESCAPED = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|([nrt\\]))")
_SHORT = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}


class Place(msgspec.Struct, frozen=True):
    """Where a path leads."""

    path: Path
    """Absolute, as it was named."""
    real: Path
    """With every link resolved; what does not exist yet is appended to its deepest existing ancestor."""
    inside: bool
    """Whether `real` lies in the project's real root."""
    name: str
    """For people and models: relative to the working directory where it lies in it, odd characters escaped."""


def shown(path: str | Path) -> str:
    r"""Return a path as valid, one-line text: undecodable bytes as \xff, controls and invisible characters escaped."""
    return visible(os.fsencode(path).decode("utf-8", "surrogateescape"), one_line=True)


def _unescaped(text: str) -> str:
    """Return the name that `shown` would show as `text`."""

    def one(match: re.Match[str]) -> str:
        byte, short, long, letter = match.groups()
        if byte is not None:
            value = int(byte, 16)
            return chr(value) if value < 0x80 else chr(0xDC00 + value)
        return _SHORT[letter] if letter else chr(int(short or long, 16) % 0x110000)

    return _ESCAPED.sub(one, text)


def is_inside(real: Path, root: Path) -> bool:
    """Whether a real path is the real root or lies in it."""
    return real == root or root in real.parents


def _candidate(cwd: Path, text: str, home: str) -> Path:
    if home and (text == "~" or text.startswith("~/")):
        text = home + text[1:]
    named = cwd / text
    if "\\" in text and not os.path.lexists(named):
        # An odd name is shown escaped, and comes back as it was shown (nanoclaw#889).
        odd = cwd / _unescaped(text)
        if "\0" not in str(odd) and os.path.lexists(odd):
            return odd
    return named


def locate(ctx: ToolContext, text: str) -> Place:
    """Return where `text` leads, seen from the working directory. Raises `ToolError` for what cannot be a path."""
    if not text or "\0" in text:
        raise ToolError("The path is empty or holds a NUL. Nothing was done; give the path of a file or folder.")
    try:
        path = Path(os.path.normpath(_candidate(ctx.cwd, text, ctx.environ.get("HOME", ""))))
        # Not the normalised path: `link/..` is the parent of the link's target.
        real = Path(os.path.realpath(_candidate(ctx.cwd, text, ctx.environ.get("HOME", ""))))
    except (OSError, ValueError) as error:
        raise ToolError(f"{visible(text)} cannot be used as a path: {error}. Nothing was done.") from error
    return Place(path, real, is_inside(real, ctx.root), name_of(real, ctx.cwd))


def name_of(real: Path, cwd: Path) -> str:
    """Return how a real path is named to people and models: from the working directory where it lies in it."""
    return shown(real.relative_to(cwd) if is_inside(real, cwd) else real)


def outside(place: Place) -> tuple[str, ...]:
    """Return the true target where it lies outside the project, for `Preview.outside`."""
    return () if place.inside else (str(place.real),)


def file_type(mode: int) -> str:
    """Return a word for the type in a `st_mode`."""
    for test, word in (
        (stat.S_ISREG, "file"),
        (stat.S_ISDIR, "directory"),
        (stat.S_ISFIFO, "named pipe (FIFO)"),
        (stat.S_ISSOCK, "socket"),
        (stat.S_ISCHR, "character device"),
        (stat.S_ISBLK, "block device"),
        (stat.S_ISLNK, "symbolic link"),
    ):
        if test(mode):
            return word
    return "special file"
