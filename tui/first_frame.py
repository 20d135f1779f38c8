"""The first frame: drawn before anything heavy is imported, some 20 ms after the start.

From then on the terminal is in raw mode, so that what is typed while the rest is loading is neither echoed nor
changed: it waits in the terminal and comes to the editor. The app's driver takes the terminal over; if it never
does, the terminal is given back as it was.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import termios
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeAlias

__all__ = ["FIRST", "FirstFrame", "first_rows"]

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J"
_LEAVE = "\x1b[?25h\x1b[?1049l"
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_Handler: TypeAlias = Callable[[int, FrameType | None], Any] | int | None


def first_rows(rows: int, marks: tuple[str, str]) -> dict[int, str]:
    """Return the rows to draw, counted from 1: where the status line and the prompt will stand in a few moments."""
    status, prompt = marks
    return {rows - 3: f" {status} starting", rows - 2: f" {prompt}"} if rows >= 4 else {}


class FirstFrame:
    """Holds the terminal from the first frame until the app has it."""

    def __init__(self) -> None:
        self._terminal = -1
        self._before: list[Any] | None = None
        self._handlers: dict[signal.Signals, _Handler] = {}

    def draw(self, marks: tuple[str, str]) -> None:
        """Draw it on the terminal that stderr is. Does nothing where that is none, or a lost one."""
        if self._before is not None or sys.__stderr__ is None:
            return
        terminal = sys.__stderr__.fileno()
        try:
            self._before, raw = termios.tcgetattr(terminal), termios.tcgetattr(terminal)
            raw[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR)  # Enter must still be Enter when it is read
            raw[3] &= ~(termios.ICANON | termios.ECHO)
            off = os.fpathconf(terminal, "PC_VDISABLE").to_bytes(1, "big")  # 0 on Linux, 255 on macOS
            raw[6][termios.VSUSP] = off  # stopped now, it would leave the shell on the wrong screen
            self._terminal = terminal
            self._handlers = {number: signal.signal(number, self._die) for number in _SIGNALS}
            termios.tcsetattr(terminal, termios.TCSANOW, raw)
            self._write(_ENTER + "".join(f"\x1b[{y};1H{row}" for y, row in self._rows(marks).items()))
        except (termios.error, OSError):
            self.give_back()

    def take_over(self) -> list[Any] | None:
        """Leave the terminal to the app; return the modes it must leave behind. None where nothing was drawn."""
        before, self._before = self._before, None
        for number, handler in self._handlers.items():
            if signal.getsignal(number) == self._die:
                signal.signal(number, handler)
        self._handlers = {}
        return before

    def give_back(self) -> None:
        """Put everything back; nothing if the app has taken over."""
        before = self.take_over()
        if before is None:
            return
        try:
            self._write(_LEAVE)
            termios.tcsetattr(self._terminal, termios.TCSANOW, before)
        except (termios.error, OSError):
            return  # the terminal is gone: nothing is left to be put back

    def _die(self, number: int, _frame: FrameType | None) -> None:
        self.give_back()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _rows(self, marks: tuple[str, str]) -> dict[int, str]:
        return first_rows(shutil.get_terminal_size().lines, marks)

    def _write(self, text: str) -> None:
        os.write(self._terminal, text.encode())


FIRST = FirstFrame()
"""The one terminal of this process."""
