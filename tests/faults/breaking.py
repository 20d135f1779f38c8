"""Makes this process go wrong at a point: counts what its event loop, its SQLite and its files do."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import socket
import sqlite3
from pathlib import Path
from typing import Any

from tests.faults.orders import Counts, Order
from tests.faults.vfs import Act, FileLayer, Verdict
from tui.log import SessionLog
from tui.log.entries import Body, Entry, Handoff

__all__ = ["Breaker", "DyingLog"]


class Breaker:
    """Counts the places this process passes and breaks it at one. Install before the log is opened."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._point = order.point
        self._steps = self._statements = self._files = self._transactions = 0
        self._locker: socket.socket | None = None
        self._layer: FileLayer | None = None  # what C calls must live as long as this process

    @property
    def counts(self) -> Counts:
        """What was passed so far."""
        return Counts(self._steps, self._statements, self._files, self._transactions)

    @property
    def broken(self) -> bool:
        """Whether the point was reached."""
        return self._point is not None and self.counts.of(self._point.kind) >= self._point.at

    @property
    def brief(self) -> bool:
        """Whether another process has the database for so short that nothing may come of it."""
        return self._point is not None and self._point.kind == "locked" and self._point.seed % 2 == 0

    def let_go(self) -> None:
        """Let the other process give the database back."""
        if self._locker is not None:
            self._locker.close()
            self._locker = None

    def install(self) -> None:
        """Listen to SQLite and stand below it."""
        if self._point is not None and self._point.kind == "locked":
            self._locker = _start_locker(brief=self.brief)
        layer = self._layer = FileLayer(self._judge, self._point.seed if self._point else 0)
        layer.install()
        layer.listen(self._statement)

    def loop(self) -> asyncio.SelectorEventLoop:
        """Return an event loop that counts its steps."""
        return _SteppingLoop(self)

    def stepped(self) -> None:
        """Count one step of the loop."""
        self._steps += 1
        self._die_at("step", self._steps)

    def _die_at(self, kind: str, count: int) -> None:
        if self._point is not None and (self._point.kind, self._point.at) == (kind, count):
            os.kill(os.getpid(), signal.SIGKILL)

    def _statement(self, text: str) -> None:
        word = text.lstrip()[:16].split(" ", 1)[0].upper()
        if word in ("SELECT", "PRAGMA"):
            return
        self._statements += 1
        self._die_at("statement", self._statements)
        if text.startswith("BEGIN IMMEDIATE"):
            self._transactions += 1
            if self._locker is not None and self._point is not None and self._transactions == self._point.at:
                files = [str(path) for path in Path(self._order.home).rglob("*.sqlite")]
                self._locker.sendall("\n".join(files).encode() + b"\0")
                assert self._locker.recv(1) == b"."

    def _judge(self, act: Act, path: Path) -> Verdict:
        """Return what becomes of a change to a file: the log's are counted, a fault is for all."""
        if path.name.startswith("log.sqlite"):
            self._files += 1
        if self._point is None or self._files < self._point.at:
            return "go"
        match self._point.kind:
            case "power":
                return "power"
            case "full":
                return "full" if act == "write" else "go"
            case "ioerr":
                return "ioerr"
            case _:
                return "go"


class DyingLog:
    """A session's log whose owner is killed when a handoff has reached a phase."""

    def __init__(self, log: SessionLog, phase: str) -> None:
        self._log = log
        self._phase = phase

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, *bodies: Body) -> tuple[Entry, ...]:
        """Write as the log does, then die."""
        entries = await self._log.append(*bodies)
        if any(isinstance(body, Handoff) and body.phase == self._phase for body in bodies):
            os.kill(os.getpid(), signal.SIGKILL)
        return entries


class _SteppingLoop(asyncio.SelectorEventLoop):
    """An event loop that tells of each step it is given: between any two awaits."""

    def __init__(self, breaker: Breaker) -> None:
        self._breaker = breaker
        super().__init__()

    def call_soon(self, *arguments: Any, **options: Any) -> asyncio.Handle:
        """Count one step."""
        self._breaker.stepped()
        return super().call_soon(*arguments, **options)

    def call_soon_threadsafe(self, *arguments: Any, **options: Any) -> asyncio.Handle:
        """Count one step that comes from the log's thread."""
        self._breaker.stepped()
        return super().call_soon_threadsafe(*arguments, **options)


BRIEF = 0.3
"""Seconds."""


def _start_locker(*, brief: bool) -> socket.socket:
    """Fork a process that takes the databases it is told for itself, until it is let go or this one is gone."""
    mine, its = socket.socketpair()
    if os.fork():
        its.close()
        return mine
    mine.close()
    raw = b""
    while not raw.endswith(b"\0"):
        part = its.recv(65536)
        if not part:
            os._exit(0)
        raw += part
    held = [sqlite3.connect(name, isolation_level=None, timeout=60) for name in raw[:-1].decode().split("\n")]
    for db in held:
        db.execute("BEGIN IMMEDIATE")
    its.sendall(b".")
    select.select([its], [], [], BRIEF if brief else None)  # readable when the other end is closed
    os._exit(0)
