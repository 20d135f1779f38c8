"""What every layer above may ask of a session's log, on disk or in memory."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

import msgspec

from tui.log.entries import Body, Entry, UnknownBody
from tui.log.found import Search
from tui.log.nodes import BranchPoint, TreeFacts
from tui.log.runs import RunEventRow, RunRow, RunWrite

__all__ = ["PathReader", "RunRows", "SessionInfo", "SessionLog", "now_ms"]


SessionState: TypeAlias = Literal["", "interrupted", "handoff"]
"""What a session is in the middle of: an exchange that has not settled, or a handoff that is pending."""


def now_ms() -> int:
    """Return milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


class SessionInfo(msgspec.Struct, frozen=True):
    """One line of the session list; costs no look at any entry."""

    id: str
    title: str
    cwd: Path
    created: int
    """Milliseconds since 1970, UTC."""
    updated: int
    """Milliseconds since 1970, UTC: the newest append."""
    recent: int
    """Grows with every use whatever the clock does; the cursor of `Store.sessions`."""
    entries: int
    """How many entries its active path has."""
    trashed: bool = False
    forked_from: str = ""
    """Session it was forked from."""
    forked_at: str = ""
    """Entry it was forked at."""
    branches: int = 1
    size: int | None = None
    """Bytes of its own entries; None: written by an older clew."""
    state: SessionState = ""
    draft: bool = False
    """Whether there is a text nobody sent."""
    run: str = ""
    """Status of a run of this session that is not over; empty without one."""
    held: str = ""
    """Which window writes it now, in words."""


class PathReader(Protocol):
    """One path through a session's tree, to read. Depths count from 0 at its root. Methods may raise `LogError`."""

    async def page(self, before: int | None = None, limit: int = 1000) -> list[Entry]:
        """Return the newest entries (with depth below `before`), oldest first.

        At most `limit`, and fewer where they are huge: the path begins where `depth` is 0, not where a page is
        short. Raises `Damaged`, which carries what could be read.
        """
        ...

    async def newest(self, kind: str) -> Entry | None:
        """Return the newest entry of a kind on this path: one look-up for each branching point."""
        ...

    async def since(self, depth: int) -> list[Entry]:
        """Return all entries with this depth or more, oldest first."""
        ...

    async def find_ref(self, ref: str, kind: str) -> Entry | None:
        """Return the newest entry on this path of a kind that is about `ref`, e.g. the result of a call id."""
        ...

    async def find(self, entry_id: str) -> Entry | None:
        """Return the entry of this id, or None where it does not lie on this path."""
        ...

    def entries(self) -> AsyncIterator[list[Entry]]:
        """Yield the whole path in pages, oldest first, as it was when the iteration began."""
        ...


class RunRows(Protocol):
    """The runs of the session's project; a transition is written by `SessionLog.append`."""

    async def take(self, run: str) -> int:
        """Take the project's runs up for one run of this session; return its generation. Raises `RunHeld`."""
        ...

    async def all(self) -> list[RunRow]:
        """Return the project's runs, the newest first."""
        ...

    async def find(self, run: str) -> RunRow | None:
        """Return one run as it is stored, or None."""
        ...

    async def events(self, run: str) -> list[RunEventRow]:
        """Return a run's events in order."""
        ...


class SessionLog(PathReader, Protocol):
    """One open session on its active branch. Depths count from 0 at the root of the path.

    Every method may raise `LogError`; writing ones raise `LogUnwritable`, `LeaseLost` or `LogClosed`, and
    then nothing at all was written. Writes are not cut by cancellation: they end, then it is delivered.
    """

    @property
    def id(self) -> str:
        """The session's id."""
        ...

    @property
    def leaf(self) -> str | None:
        """Id of the newest entry of the active path; None while there is none."""
        ...

    @property
    def depth(self) -> int:
        """Depth of the leaf; -1 while there is none."""
        ...

    @property
    def writable(self) -> bool:
        """Whether this window holds the lease, as far as is known."""
        ...

    @property
    def search(self) -> Search:
        """What was said on this path and its branches, and any stretch of it."""
        ...

    async def append(self, *bodies: Body | UnknownBody, run: RunWrite | None = None) -> tuple[Entry, ...]:
        """Write all bodies in one transaction after the leaf, which moves with them. An `Answer` clears the partial.

        `run` is a transition of a run that is written in the same transaction. Raises `DuplicateResult` if one is
        a second result for a call on this path, `RunLost` if the run is another's to write.
        """
        ...

    async def at(self, entry_id: str) -> PathReader:
        """Return the path that ends at an entry of this session's tree, to read; the leaf stays where it is."""
        ...

    @property
    def runs(self) -> RunRows:
        """The project's runs."""
        ...

    async def move(self, entry_id: str, *bodies: Body | UnknownBody) -> tuple[Entry, ...]:
        """Move the leaf to an entry of this session's tree and write `bodies` after it, in one transaction.

        What is written there, now or next, opens a branch. Raises as `append` does, and `EntryNotFound`.
        """
        ...

    async def fork(self, entry_id: str | None = None, *bodies: Body) -> SessionLog:
        """Return a new session, open for writing, that begins after an entry (None: the leaf) and with `bodies`.

        One transaction; this session stays as it is.
        """
        ...

    async def shared_depth(self, entry_id: str) -> int:
        """Return the depth of the newest entry that this path and the one to an entry both have; -1 for none."""
        ...

    async def tree(self) -> TreeFacts:
        """Return what the session's tree is drawn from: its landmarks and branches, without reading any entry."""
        ...

    async def branch_points(self) -> tuple[BranchPoint, ...]:
        """Return where other branches leave this path, oldest first."""
        ...

    async def holder(self) -> str:
        """Return who writes this session, in words; empty where nobody who lives does."""
        ...

    async def imported(self) -> bool:
        """Whether it came from a file and nothing was written here since: it grants nothing and starts nothing."""
        ...

    async def refresh(self) -> bool:
        """Look whether another window wrote; return whether the path changed. For a follower's timer (250 ms)."""
        ...

    async def put_blob(self, data: bytes) -> str:
        """Store bytes once and return their sha256 in hex."""
        ...

    async def blob(self, sha256: str) -> bytes | None:
        """Return the bytes with this hash, or None. Raises `Damaged` if they no longer fit it."""
        ...

    async def set_draft(self, text: str) -> None:
        """Keep the unsent text of the editor."""
        ...

    async def draft(self) -> str:
        """Return the unsent text."""
        ...

    async def set_title(self, title: str) -> None:
        """Name the session."""
        ...

    async def title(self) -> str:
        """Return its name: as set, else the first line of the first prompt, at most 80 characters."""
        ...

    async def set_partial(self, data: bytes) -> None:
        """Keep the growing answer, for a crash. Never sent to a model."""
        ...

    async def partial(self) -> bytes:
        """Return the growing answer a crash left behind; empty where there is none."""
        ...

    async def close(self) -> None:
        """Give the lease back. Closing twice does nothing."""
        ...
