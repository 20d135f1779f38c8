"""What a trial is told, and where in a process something can go wrong."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

__all__ = ["KINDS", "Counts", "Kind", "Order", "Point"]

Kind: TypeAlias = Literal["step", "statement", "power", "full", "ioerr", "locked"]
"""What goes wrong, and what is counted to say where.

`step`: SIGKILL at a step of the event loop. `statement`: SIGKILL before a writing statement of SQLite.
`power`: the machine loses power at a write or sync of the log's files. `full`: the disk is full from that write or
sync on. `ioerr`: it fails from there on. `locked`: another process takes the database at that transaction.
"""
KINDS: tuple[Kind, ...] = ("step", "statement", "power", "full", "ioerr", "locked")


class Point(msgspec.Struct, frozen=True):
    """One place: the kind and its number, from 1."""

    kind: Kind
    at: int
    seed: int = 0
    """Which of the unsynced writes survive a loss of power."""

    def __str__(self) -> str:
        return f"{self.kind}:{self.at}" + (f"/{self.seed}" if self.kind == "power" else "")


class Order(msgspec.Struct, frozen=True):
    """One process of a trial: what it does, where, and what goes wrong in it."""

    act: Literal["play", "finish", "say", "save", "move", "carry", "fork", "import"]
    home: str = ""
    project: str = ""
    base_url: str = ""
    point: Point | None = None
    phase: str = ""
    """Die when the handoff has reached this phase; then only the first message is sent."""
    screen: bool = False
    """Whether a person is at the screen when it is opened again."""
    words: str = ""
    """What is said, where the act is to say it."""
    network: bool = False
    """Whether the log lies on a file system of the network, as the table of mounts has it."""
    modules: tuple[str, ...] = ()
    """What to import once, for all that are forked later."""


class Counts(msgspec.Struct, frozen=True):
    """How many places a process passed."""

    step: int = 0
    statement: int = 0
    file: int = 0
    """Writes, syncs, cuts and deletions of the log's files."""
    transaction: int = 0

    def of(self, kind: Kind) -> int:
        """Return how many places of a kind there are."""
        match kind:
            case "step":
                return self.step
            case "statement":
                return self.statement
            case "power" | "full" | "ioerr":
                return self.file
            case "locked":
                return self.transaction
