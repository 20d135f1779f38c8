"""One open session: the asynchronous face of a track. See `SessionLog` for what each method promises."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
import weakref
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

from tui.log import blobs, lease, nodes, runs, segments, track
from tui.log.entries import Body, Entry, UnknownBody
from tui.log.errors import Damaged, LogClosed
from tui.log.found import Search
from tui.log.index import SearchIndex
from tui.log.lease import Lease, Owner
from tui.log.protocol import SessionInfo, now_ms
from tui.log.runs import RunEventRow, RunRow, RunWrite
from tui.log.search import SessionSearch
from tui.log.track import Clock, Desk, State, Track
from tui.log.worker import Inline, Runner, Work

__all__ = ["IMPORTED", "MemorySession", "Session", "Told"]

IMPORTED = "imported"
"""Name of the scratch row of a session that came from a file; its first own entry takes it away."""
T = TypeVar("T")
PAGE = 500
Told = Callable[[SessionInfo], None]
"""Told on the worker's thread that a session is new, named anew or closed."""


def _nobody(_info: SessionInfo) -> None:
    """Tell nobody."""


class _Shell:
    """A track and the runner its steps go through."""

    def __init__(self, runner: Runner, line: Track, told: Told) -> None:
        self.runner = runner
        self.track = line
        self.told = told
        self.closed = False
        self._version = -1

    async def read(self, work: Callable[[sqlite3.Connection, segments.Path], T]) -> T:
        """Run work on the path as it is now."""
        return await self.look_up(lambda db: work(db, self.track.current(db)))

    async def look_up(self, work: Work[T]) -> T:
        """Run work that reads."""
        self.must_be_open()
        return await self.runner.read(work)

    async def write(self, work: Work[T], then: Callable[[T], None], *, durable: bool = True) -> T:
        """Run work that writes; `then` keeps memory in step with the commit."""
        self.must_be_open()
        return await self.runner.write(work, then, durable=durable)

    async def announce(self, session: str) -> None:
        """Tell the catalogue what is committed."""
        await self.runner.read(lambda db: self.told(track.info_of(db, session)))

    def changed(self, db: sqlite3.Connection) -> bool:
        """Whether another connection committed and moved this path; takes the new state over."""
        version = int(db.execute("PRAGMA data_version").fetchone()[0])
        before = self.track.state
        if version != self._version:
            self._version = version
            self.track.notice(db)
            self.track.current(db)
        return self.track.state is not before

    def must_be_open(self) -> None:
        """Raise `LogClosed` after the end."""
        if self.closed:
            raise LogClosed(
                f"Session {self.track.session} was closed before. What was saved is kept; open it again to go on."
            )


def _forget(_result: object) -> None:
    """Nothing in memory depends on this write."""


class Reader:
    """Reads one path: see `PathReader` for what each method promises."""

    def __init__(self, shell: _Shell, path: segments.Path | None = None) -> None:
        self._shell = shell
        self._fixed = path

    async def _read(self, work: Callable[[sqlite3.Connection, segments.Path], T]) -> T:
        """Run work on the fixed path, or on the active one as it is now."""
        path = self._fixed
        return await (self._shell.read(work) if path is None else self._shell.look_up(lambda db: work(db, path)))

    async def page(self, before: int | None = None, limit: int = 1000) -> list[Entry]:
        """See `PathReader.page`."""
        high = 2**32 if before is None else before - 1
        return await self._read(lambda db, path: segments.read(db, path, 0, high, limit=limit))

    async def newest(self, kind: str) -> Entry | None:
        """See `PathReader.newest`."""
        return await self._read(lambda db, path: segments.newest(db, path, kind))

    async def since(self, depth: int) -> list[Entry]:
        """See `PathReader.since`."""
        everything = 2**62
        return await self._read(
            lambda db, path: segments.read(db, path, depth, 2**32, limit=everything, budget=everything)
        )

    async def find_ref(self, ref: str, kind: str) -> Entry | None:
        """See `PathReader.find_ref`."""
        return await self._read(lambda db, path: segments.find_ref(db, path, ref, kind))

    async def find(self, entry_id: str) -> Entry | None:
        """See `PathReader.find`."""
        return await self._read(lambda db, path: segments.find(db, path, entry_id))

    async def entries(self) -> AsyncIterator[list[Entry]]:
        """Yield the whole path in pages, oldest first, as it was when the iteration began.

        Goes on behind a damaged part; then raises `Damaged` with all gaps at the end.
        """
        path = await self._read(lambda _db, path: path)
        gaps: list[tuple[int, int]] = []
        low, high = 0, path[0].high if path else -1
        while low <= high:
            page, lost = await self._page_up(path, low, high)
            low = low + PAGE if lost else page[-1].depth + 1
            gaps += lost
            if page:
                yield page
        if gaps:
            raise Damaged(f"{len(gaps)} part(s) of this branch cannot be read: depths {gaps}.", gaps=gaps)

    async def _page_up(self, path: segments.Path, low: int, high: int) -> tuple[list[Entry], list[tuple[int, int]]]:
        def work(db: sqlite3.Connection) -> list[Entry]:
            return segments.read(db, path, low, high, limit=PAGE, direction="up")

        try:
            return await self._shell.look_up(work), []
        except Damaged as error:
            if not error.gaps:
                raise
            return list(error.kept), list(error.gaps)


class RunShelf:
    """The project's runs as one session reaches them. See `RunRows` for what each method promises."""

    def __init__(self, shell: _Shell) -> None:
        self._shell = shell

    async def take(self, run: str) -> int:
        """See `RunRows.take`."""
        return await self._shell.write(lambda db: self._shell.track.take_run(db, run), _forget)

    async def all(self) -> list[RunRow]:
        """See `RunRows.all`."""
        return await self._shell.look_up(runs.rows)

    async def find(self, run: str) -> RunRow | None:
        """See `RunRows.find`."""
        return await self._shell.look_up(lambda db: runs.find(db, run))

    async def events(self, run: str) -> list[RunEventRow]:
        """See `RunRows.events`."""
        return await self._shell.look_up(lambda db: runs.events(db, run))


class Window(Reader):
    """What a window knows of its session and of who else is there."""

    def __init__(self, runner: Runner, line: Track, told: Told) -> None:
        super().__init__(_Shell(runner, line, told))
        self._track = line

    @property
    def id(self) -> str:
        """The session's id."""
        return self._track.session

    @property
    def leaf(self) -> str | None:
        """Id of the newest entry of the active path."""
        return self._track.state.leaf

    @property
    def depth(self) -> int:
        """Depth of the leaf; -1 while there is none."""
        return self._track.state.depth

    @property
    def writable(self) -> bool:
        """Whether this window holds the lease, as far as is known."""
        return not self._shell.closed and self._track.writable

    async def holder(self) -> str:
        """See `SessionLog.holder`."""
        return await self._shell.look_up(lambda db: self._track.desk.holder(db, self.id))

    async def imported(self) -> bool:
        """See `SessionLog.imported`."""
        return bool(await self._shell.look_up(lambda db: self._track.scratch(db, IMPORTED)))

    async def examine(self, work: Work[T]) -> T:
        """Run work that only reads, on the log's thread and on one unchanging state of the database."""
        return await self._shell.look_up(work)

    async def refresh(self) -> bool:
        """See `SessionLog.refresh`."""
        return await self._shell.look_up(self._shell.changed)


class Session(Window):
    """A session on its active branch, open for writing or to follow. Made by `Store`."""

    def __init__(self, runner: Runner, line: Track, index: SearchIndex, told: Told = _nobody) -> None:
        super().__init__(runner, line, told)
        self._index = index
        self.search: Search = SessionSearch(runner, index, line)
        """See `SessionLog.search`."""

    async def append(self, *bodies: Body | UnknownBody, run: RunWrite | None = None) -> tuple[Entry, ...]:
        """See `SessionLog.append`."""
        if not bodies and run is None:
            return ()
        return await self._written(lambda db: self._track.append(db, bodies, run))

    async def _written(self, work: Work[tuple[State, tuple[Entry, ...]]]) -> tuple[Entry, ...]:
        """Run work that writes entries; memory takes the new state over after the commit."""
        return (await self._shell.write(work, lambda done: self._track.settle(done[0])))[1]

    async def at(self, entry_id: str) -> Reader:
        """See `SessionLog.at`."""
        return Reader(self._shell, await self._shell.look_up(lambda db: self._track.path_to(db, entry_id)))

    @property
    def runs(self) -> RunShelf:
        """See `SessionLog.runs`."""
        return RunShelf(self._shell)

    async def move(self, entry_id: str, *bodies: Body | UnknownBody) -> tuple[Entry, ...]:
        """See `SessionLog.move`."""
        return await self._written(lambda db: self._track.move(db, entry_id, bodies))

    async def fork(self, entry_id: str | None = None, *bodies: Body) -> Session:
        """See `SessionLog.fork`. Works for a follower too."""
        child = await self._shell.write(lambda db: self._track.fork(db, entry_id, bodies), Track.hold)
        await self._shell.announce(child.session)
        return Session(self._shell.runner, child, self._index, self._shell.told)

    async def shared_depth(self, entry_id: str) -> int:
        """See `SessionLog.shared_depth`."""
        return await self._shell.look_up(lambda db: self._track.shared_depth(db, entry_id))

    async def tree(self) -> nodes.TreeFacts:
        """See `SessionLog.tree`."""
        return await self._shell.look_up(self._track.tree)

    async def branch_points(self) -> tuple[nodes.BranchPoint, ...]:
        """See `SessionLog.branch_points`."""
        return await self._shell.look_up(self._track.branch_points)

    async def put_blob(self, data: bytes) -> str:
        """See `SessionLog.put_blob`. A long hash is computed off the event loop."""
        sha256 = await asyncio.to_thread(_hash, data) if len(data) > 2**16 else _hash(data)
        await self._shell.write(lambda db: blobs.put(db, sha256, data), _forget)
        return sha256

    async def blob(self, sha256: str) -> bytes | None:
        """See `SessionLog.blob`."""
        return await self._shell.look_up(lambda db: blobs.get(db, sha256))

    async def set_draft(self, text: str) -> None:
        """See `SessionLog.set_draft`."""
        data = text.encode("utf-8", "replace")
        await self._shell.write(lambda db: self._track.put_scratch(db, "draft", data), _forget)

    async def draft(self) -> str:
        """See `SessionLog.draft`."""
        return (await self._shell.look_up(lambda db: self._track.scratch(db, "draft"))).decode("utf-8", "replace")

    async def set_title(self, title: str) -> None:
        """See `SessionLog.set_title`."""
        await self._shell.write(lambda db: self._track.set_title(db, title), _forget)
        await self._shell.announce(self.id)

    async def title(self) -> str:
        """See `SessionLog.title`."""
        return (await self._shell.look_up(lambda db: track.info_of(db, self.id))).title

    async def set_partial(self, data: bytes) -> None:
        """See `SessionLog.set_partial`. Not forced to disk: it is there for a crash of the program."""
        await self._shell.write(lambda db: self._track.put_scratch(db, "partial", data), _forget, durable=False)

    async def partial(self) -> bytes:
        """See `SessionLog.partial`."""
        return await self._shell.look_up(lambda db: self._track.scratch(db, "partial"))

    async def close(self) -> None:
        """Give the lease back. Should that fail (disk full), the lease is free once this process is gone."""
        writable, self._shell.closed = self.writable, True
        held = self._track.lease
        if not writable or held is None:
            return
        await self._shell.runner.write(lambda db: _give_back(db, self._track, held), durable=False)
        await self._shell.announce(self.id)


def _give_back(db: sqlite3.Connection, line: Track, held: Lease) -> None:
    line.desk.held.discard(held)
    lease.release(db, held)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class MemorySession(Session):
    """A session that is never saved (`--no-session`): the same code on a database in memory, without a thread."""

    def __init__(self, cwd: Path | str = ".", *, clock: Clock = now_ms) -> None:
        inline = Inline()
        weakref.finalize(self, inline.stop_now)
        desk = Desk(clock, lambda: Owner(0, "", "", ""))
        line = inline.write_now(lambda db: track.create(db, desk, os.fsencode(cwd)), Track.hold)
        super().__init__(inline, line, SearchIndex(inline, None))
