"""The output of a command as it comes: bounded in memory, whole in a spill file, live on the screen."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable
from pathlib import Path

from tui.tools.text import Bounded, Bounds, bound_ends, count, decode, is_binary, plain

__all__ = ["SPILL_BYTES", "Live", "Sink", "left_in"]

SPILL_BYTES = 64 << 20
"""Most bytes of one command's output that are kept on disk."""
_HEAD = 128 * 1024
_TAIL = 256 * 1024
_PARTIAL_ESCAPE = re.compile("\x1b[^a-zA-Z\n]{0,64}\\Z|\r\\Z")


class Sink:
    """Takes bytes; keeps the first and last of them, and the whole in a file once it is too long to show."""

    def __init__(self, spill: Callable[[], Path], bounds: Bounds | None = None) -> None:
        self.total = 0
        self.path: Path | None = None
        self.error = ""
        self._head = bytearray()
        self._tail = bytearray()
        self._spill = spill
        self._bounds = bounds or Bounds()
        self._fd = -1
        self._written = 0
        self._early = False

    def feed(self, piece: bytes) -> None:
        """Take the next piece of output. Never raises: a full disk costs the file, not the command."""
        self.total += len(piece)
        room = _HEAD - len(self._head)
        self._head += piece[: max(room, 0)]
        self._tail += piece[max(room, 0) :]
        if self._fd >= 0:
            self._write(piece)
        elif self.total > _HEAD + _TAIL and self.path is None and not self.error:
            self._open(bytes(self._head + self._tail))
        if len(self._tail) > 2 * _TAIL:
            del self._tail[:-_TAIL]

    def keep(self) -> None:
        """Write what has come to the file from now on, however little it is: a crash then leaves it behind."""
        if self.total and self.path is None and not self.error:
            self._early = True
            self._open(bytes(self._head + self._tail))

    def _open(self, kept: bytes) -> None:
        try:
            self.path = self._spill()
            self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            self._fail(error)
        else:
            self._write(kept)

    def _write(self, piece: bytes) -> None:
        rest = memoryview(piece)[: SPILL_BYTES - self._written]
        try:
            while rest:
                done = os.write(self._fd, rest)
                self._written += done
                rest = rest[done:]
        except OSError as error:
            self._fail(error)

    def _drop(self) -> None:
        """Remove a file that was only for a crash."""
        self.close()
        if self.path is not None:
            self.path.unlink(missing_ok=True)
            self.path = None

    def _fail(self, error: OSError) -> None:
        self.error = f"the whole output could not be kept: {error.strerror or error}"
        self.close()

    @property
    def dropped(self) -> int:
        """Bytes that are no longer in memory."""
        return self.total - len(self._head) - len(self._tail)

    @property
    def overflowing(self) -> bool:
        """Whether more came than is kept even on disk: such a command is slowed down."""
        return self.total > SPILL_BYTES

    def _where(self) -> str:
        if self.path is None:
            return self.error
        if self.error:
            return f"{self.error}; the first {count(self._written, 'byte')} are in {self.path}"
        if self._written < self.total:
            return f"the first {count(self._written, 'byte')} are in {self.path}"
        return f"the whole output is in {self.path}"

    def result(self) -> Bounded:
        """Return the text for the model, cleaned and bounded. Where it was cut the whole is in the spill file."""
        text, dropped = self._text()
        bounded = bound_ends(text, self._where(), self._bounds, dropped)
        if not bounded.cut and self._early:
            self._drop()
        if bounded.cut and self.path is None and not self.error:
            self._open(bytes(self._head + self._tail))
            bounded = bound_ends(text, self._where(), self._bounds, dropped)
        if self._is_binary():
            return Bounded(f"{bounded.text}\n[binary output, {count(self.total, 'byte')}]".lstrip("\n"), bounded.cut)
        return bounded

    def _text(self) -> tuple[str, int]:
        if not self.dropped:
            return plain(decode(bytes(self._head + self._tail))).removesuffix("\n"), 0
        head = plain(decode(bytes(self._head)))
        tail = plain(decode(_at_character(bytes(self._tail)))).removesuffix("\n")
        return f"{head}\0{tail}", self.dropped

    def _is_binary(self) -> bool:
        whole = bytes(self._head) if self.dropped else bytes(self._head + self._tail)
        if is_binary(whole):
            return True
        try:
            codecs.getincrementaldecoder("utf-8")().decode(whole, final=not self.dropped)
        except UnicodeDecodeError:
            return True
        return False

    def whole(self, limit: int) -> bytes:
        """Return all bytes where they are still in memory and at most `limit`, else nothing."""
        return bytes(self._head + self._tail) if not self.dropped and self.total <= limit else b""

    def close(self) -> None:
        """Close the spill file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def left_in(path: Path) -> str:
    """Return what a command had printed when clew itself ended, cleaned and bounded. Raises `OSError`."""
    size = path.stat().st_size
    with path.open("rb") as file:
        raw = file.read(_HEAD + _TAIL)
        dropped = max(0, size - len(raw))
        if dropped:
            file.seek(-_TAIL, os.SEEK_END)
            text = f"{plain(decode(raw[:_HEAD]))}\0{plain(decode(_at_character(file.read(_TAIL))))}"
        else:
            text = plain(decode(raw))
    return bound_ends(text.removesuffix("\n"), f"what was kept of it is in {path}", dropped=dropped).text


def _at_character(raw: bytes) -> bytes:
    """Drop the rest of a character at the start."""
    start = next((at for at in range(min(4, len(raw))) if raw[at] & 0xC0 != 0x80), 0)
    return raw[start:]


class Live:
    """Turns pieces of output into clean text for the screen; a cut character or sequence waits for its rest."""

    LIMIT = 16 * 1024
    """Most characters given to the screen at a time; what came before them is dropped."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = ""
        self._show = show

    def feed(self, piece: bytes) -> None:
        """Take the next piece of output."""
        self._waiting = (self._waiting + self._decoder.decode(piece))[-self.LIMIT :]

    def flush(self, *, final: bool = False) -> None:
        """Show what has come since the last time."""
        cut = _PARTIAL_ESCAPE.search(self._waiting)
        at = cut.start() if cut and not final else len(self._waiting)
        text, self._waiting = self._waiting[:at], self._waiting[at:]
        if text.startswith("\r") and not text.startswith("\r\n"):
            # The line so far is on the screen already; what overwrites it goes below.
            text = "\n" + text[1:]
        text = plain(text)
        if text:
            self._show(text)
