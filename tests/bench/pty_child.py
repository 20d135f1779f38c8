"""A child program in a pseudo-terminal: what it writes, what it costs."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Self

import msgspec

__all__ = ["Cost", "PtyChild"]


class Cost(msgspec.Struct, frozen=True):
    """What a child used: CPU seconds of it and its children, and its peak memory in MiB."""

    cpu: float
    memory: float


class PtyChild:
    """Spawns `argv` in a pseudo-terminal of `size` (columns, rows). Use it as a context manager."""

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str], size: tuple[int, int] = (120, 40)) -> None:
        self.began = time.perf_counter()
        self.output = bytearray()
        self._cost: Cost | None = None
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.execvpe(argv[0], list(argv), dict(environ))
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._cost is None:
            os.kill(self.pid, 9)
            self.wait()
        os.close(self._terminal)

    def send(self, data: bytes) -> None:
        """Type `data`."""
        os.write(self._terminal, data)

    def read_until(self, done: Callable[[bytes], bool], deadline: float = 60.0) -> float:
        """Read output until `done(all output)`; return seconds since the start. Raises `TimeoutError` or `EOFError`."""
        end = time.perf_counter() + deadline
        while not done(bytes(self.output)):
            left = end - time.perf_counter()
            if left <= 0:
                raise TimeoutError(f"not seen within {deadline} s; last output: {bytes(self.output[-400:])!r}")
            self._read_some(left)
        return time.perf_counter() - self.began

    def read_for(self, seconds: float) -> None:
        """Read all that is written for some seconds."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self._read_some(left)

    def _read_some(self, seconds: float) -> None:
        if select.select([self._terminal], [], [], seconds)[0]:
            try:
                data = os.read(self._terminal, 1 << 20)
            except OSError:  # Linux says EIO where the other side is gone
                data = b""
            if not data:
                raise EOFError(f"the program ended; last output: {bytes(self.output[-400:])!r}")
            self.output += data

    def drain(self) -> Cost:
        """Read until the program ends; return what it cost."""
        try:
            self.read_until(lambda _: False, 600.0)
        except EOFError:
            return self.wait()
        raise TimeoutError

    def wait(self) -> Cost:
        """Wait for the end; return what it cost."""
        _, _, used = os.wait4(self.pid, 0)
        scale = 1024 if os.uname().sysname == "Linux" else 1024 * 1024
        self._cost = Cost(cpu=used.ru_utime + used.ru_stime, memory=used.ru_maxrss / scale)
        return self._cost
