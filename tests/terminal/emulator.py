"""A program in a pseudo-terminal, and a terminal emulator that shows what its bytes mean."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

import pyte

__all__ = ["CLEW", "Emulator", "modes_left"]

CLEW = (sys.executable, "-m", "tui")
ROOT = Path(__file__).resolve().parent.parent.parent
_DEADLINE = 60.0
_MODE = re.compile(rb"\x1b\[\?([0-9;]+)([hl])|\x1b\[([<>])[0-9]*u")


def modes_left(output: bytes) -> set[str]:
    """Return the private modes still set after `output`, `kitty` among them; 7 and 25 are on by default."""
    on = {"7", "25"}
    depth = 0
    for numbers, letter, stack in _MODE.findall(output):
        if stack:
            depth += 1 if stack == b">" else -1
            continue
        names = set(numbers.decode().split(";"))
        on = on | names if letter == b"h" else on - names
    return on | ({"kitty"} if depth > 0 else set())


class Emulator:
    """Runs a program; `until` reads until the screen shows something. Use it as a context manager."""

    def __init__(self, *argv: str, cwd: Path, environ: Mapping[str, str], size: tuple[int, int] = (80, 24)) -> None:
        self.output = bytearray()
        self.status: int | None = None
        self.screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it, and pass that on
            os.execvpe(argv[0], list(argv), {**environ, "PYTHONPATH": str(ROOT)})
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.attributes = termios.tcgetattr(self._terminal)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self._terminal)

    @property
    def text(self) -> str:
        """All rows of the screen."""
        screen = self.screen  # its own `display` fails where half of a wide character is drawn
        rows = ("".join(screen.buffer[y][x].data for x in range(screen.columns)) for y in range(screen.lines))
        return "\n".join(row.rstrip() for row in rows)

    def send(self, text: str) -> None:
        """Type `text`."""
        data = text.encode()
        while data:
            select.select([], [self._terminal], [], _DEADLINE)
            data = data[os.write(self._terminal, data[:1024]) :]
            self._read(0)

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size."""
        self._read(0)
        self.screen.resize(rows, columns)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def scribble(self, text: str) -> None:
        """Show what another program writes on the same terminal."""
        self._stream.feed(text.encode())

    def catch_up(self) -> bool:
        """Read what has come so far; False where the program is gone."""
        return self._read(0)

    def signal(self, number: int) -> None:
        """Send a signal to the program."""
        os.kill(self.pid, number)

    def until(self, condition: str | Callable[[], bool]) -> None:
        """Read until the screen holds a text, or a condition is true. Raises `AssertionError`."""
        end = time.monotonic() + _DEADLINE
        while not ((condition in self.text) if isinstance(condition, str) else condition()):
            left = end - time.monotonic()
            if left <= 0 or not self._read(min(left, 0.1)):
                raise AssertionError(f"{condition!r} was never seen; the screen is:\n{self.text}")

    def attributes_now(self) -> list[object]:
        """Return the terminal's modes as they are; compare with `attributes`, as they were at the start."""
        return termios.tcgetattr(self._terminal)

    def quiet(self, seconds: float) -> None:
        """Read until nothing was written for `seconds`."""
        while self._has_more(seconds):
            self._read(0)

    def _has_more(self, seconds: float) -> bool:
        return bool(select.select([self._terminal], [], [], seconds)[0])

    def end(self) -> int:
        """Read until the program ends; return its exit status (negative: the signal that ended it)."""
        end = time.monotonic() + _DEADLINE
        while self._read(max(0.0, end - time.monotonic())):
            assert time.monotonic() < end, f"the program does not end; the screen is:\n{self.text}"
        _, status = os.waitpid(self.pid, 0)
        self.status = os.waitstatus_to_exitcode(status)
        return self.status

    def _read(self, seconds: float) -> bool:
        """Read what there is; False where the program is gone."""
        if not select.select([self._terminal], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self._terminal, 1 << 16)
        except OSError:  # Linux says EIO where the other side is gone
            data = b""
        self.output += data
        self._stream.feed(_without_private(data))
        return bool(data)


def _without_private(data: bytes) -> bytes:
    """Take out what pyte prints as text: the kitty protocol's `CSI > 1 u` and `CSI < u`."""
    return re.sub(rb"\x1b\[[<>=?][0-9;]*[u$]p?", b"", data)
