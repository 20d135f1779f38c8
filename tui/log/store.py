"""One project's database: opens, lists and makes sessions."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from tui.log import importing, lease, purge, runs, track
from tui.log.catalogue import Catalogue
from tui.log.entries import Body
from tui.log.errors import ImportRefused, LogUnwritable
from tui.log.index import SearchIndex
from tui.log.lease import BEAT_MS, this_owner
from tui.log.lines import BlobLine, EntryLine, Line
from tui.log.paths import database_file, real_project, search_file
from tui.log.protocol import SessionInfo, now_ms
from tui.log.runs import RunRow
from tui.log.schema import Database, open_project
from tui.log.search import ProjectSearch
from tui.log.session import Session
from tui.log.track import Desk, Track
from tui.log.worker import Worker

__all__ = ["Store"]


class Store:
    """One project database, reached through one thread. Use as `async with await Store.open(...) as store`."""

    def __init__(self, home: Path, project: Path, clock: Callable[[], int], *, read_only: bool) -> None:
        self.project = real_project(project)
        self.path = database_file(home, self.project)
        self._desk = Desk(clock, this_owner)
        self._catalogue = Catalogue(home)
        self._worker = Worker(self._opener(read_only=read_only), self._desk.beat_all, BEAT_MS / 1000)
        self._index = SearchIndex(self._worker, search_file(home, self.project))
        self.search = ProjectSearch(self._worker, self._index)
        """What was said in all sessions of the project."""

    @classmethod
    async def open(
        cls, home: Path, project: Path, *, clock: Callable[[], int] = now_ms, read_only: bool = False
    ) -> Store:
        """Open or create the database of a project directory. Costs look-ups, never a scan.

        Opens view-only where the folder cannot be written (`why_read_only` says why). Raises `LogUnwritable`
        where there is nothing to view either, `NewerSchema`, `Damaged` or `SqliteUnfit`.
        """
        store = cls(home, project, clock, read_only=read_only)
        await store._worker.start()
        return store

    def _opener(self, *, read_only: bool) -> Callable[[], Database]:
        return lambda: open_project(self.path, self.project, read_only=read_only)

    @property
    def why_read_only(self) -> str:
        """Why nothing can be written here; empty where it can."""
        return self._worker.why_read_only

    @property
    def trouble(self) -> str:
        """What went wrong beside the log itself (the catalogue); empty if nothing did."""
        return self._catalogue.trouble

    async def create(self, *, cwd: Path | str, first: Sequence[Body] = ()) -> Session:
        """Make a session, with its first entries in the same transaction, and hold its lease."""

        def work(db: track.Db) -> tuple[Track, SessionInfo]:
            line = track.create(db, self._desk, os.fsencode(cwd))
            if first:
                line.settle(line.append(db, first)[0])
            return line, track.info_of(db, line.session)

        def then(made: tuple[Track, SessionInfo]) -> None:
            made[0].hold()
            self._note(made[1])

        line, _info = await self._worker.write(work, then)
        return Session(self._worker, line, self._index, self._note)

    async def session(self, session_id: str, *, write: bool = True, take_over: bool = False) -> Session:
        """Open a session by its whole id: to write, or to follow. `take_over`: whoever else writes it.

        Raises `LeaseHeld` where another live window writes it, `SessionNotFound`, and `LogUnwritable` for
        `write` in a view-only store.
        """
        if not write:
            line = Track(self._desk, session_id, None, track.State())
            await self._worker.read(line.load)
            return Session(self._worker, line, self._index, self._note)

        def work(db: track.Db) -> Track:
            track.info_of(db, session_id)
            line = Track(self._desk, session_id, self._desk.take(db, session_id, by_force=take_over), track.State())
            line.load(db)
            return line

        # No fsync for a lease: a machine that lost it has lost its owner too.
        line = await self._worker.write(work, Track.hold, durable=False)
        return Session(self._worker, line, self._index, self._note)

    async def newest(self) -> SessionInfo | None:
        """Return the most recently used session in which somebody said or typed anything, outside the trash."""
        return next(iter(await self.sessions(limit=1, said=True)), None)

    async def sessions(self, *, limit: int = 50, before: int | None = None, said: bool = False) -> list[SessionInfo]:
        """Return sessions outside the trash, the most recently used first; `before` is the last line's `recent`.

        `said`: only those in which somebody said or typed anything.
        """

        def work(db: track.Db) -> list[SessionInfo]:
            rows = track.infos(db, limit, before, trashed=False, said=said)
            held = {row[0] for row in db.execute("SELECT session FROM lease WHERE pid IS NOT NULL")}
            working = runs.unfinished(db)
            return [
                msgspec.structs.replace(
                    info, held=self._desk.holder(db, info.id) if info.id in held else "", run=working.get(info.id, "")
                )
                if info.id in held or info.id in working
                else info
                for info in rows
            ]

        return await self._worker.read(work)

    async def trashed(self) -> list[SessionInfo]:
        """Return the sessions in the trash, the most recently used first."""
        rows = await self._worker.read(lambda db: track.infos(db, 2**31, None, trashed=True))
        return [info for info in rows if info.trashed]

    async def leftovers(self) -> list[str]:
        """Return the ids of what imports left that did not come to their end."""
        return await self._worker.read(purge.leftovers)

    async def info(self, session_id: str) -> SessionInfo:
        """Return one session's line, in the trash or not. Raises `SessionNotFound`."""
        return await self._worker.read(lambda db: track.info_of(db, session_id))

    async def runs(self) -> list[RunRow]:
        """Return the project's runs, the newest first."""
        return await self._worker.read(runs.rows)

    async def run_owner(self, session_id: str) -> str:
        """Return which live process holds a session, in words; empty where none does."""
        desk = self._desk
        return await self._worker.read(
            lambda db: lease.alive(db, session_id, desk.me, desk.clock(), lease.process_start)
        )

    async def trash(self, session_id: str, *, trashed: bool = True) -> None:
        """Put a session into the trash or take it out; nothing is deleted."""
        await self._worker.write(lambda db: track.trash(db, session_id, trashed=trashed))

    async def purge(self, session_id: str) -> purge.Purged:
        """Delete a session for good. Raises `LeaseHeld` where a live window writes it, and `SessionNotFound`."""

        def work(db: track.Db) -> purge.Purged:
            self._desk.take(db, session_id)
            return purge.purge(db, session_id)

        return await self._worker.write(work, lambda _done: self._catalogue.forget(session_id))

    async def wipe(self) -> bool:
        """Rewrite the file without what was deleted; False where another window was in the way."""
        return await self._worker.bare(purge.wipe)

    async def take_in(self, lines: Iterator[tuple[int, Line]]) -> importing.Imported:
        """Import a session from its lines. Raises `ImportRefused`, `OSError`, and what a write may raise."""
        first = await asyncio.to_thread(next, lines, None)
        if first is None:
            raise ImportRefused("The file is empty. Nothing was changed.")
        head, listing = importing.head_of(first[1], str(self.project), self._desk.clock())
        state = await self._worker.write(lambda db: importing.begin(db, self._desk, head, listing=listing), _hold)
        batch, number = ([first] if listing else []), first[0]
        while batch := [*batch, *await asyncio.to_thread(_some, lines)]:
            step = partial(importing.take_batch, state=state, lines=tuple(batch))
            state, number, batch = await self._worker.write(step), batch[-1][0], []
        done = await self._worker.write(lambda db: importing.finish(db, state, number), lambda _done: state.line.drop())
        await self._worker.read(lambda db: self._note(track.info_of(db, done.session)))
        return done

    async def rename(self, session_id: str, title: str) -> None:
        """Name a session, whoever writes it. Raises `SessionNotFound`."""
        await self._worker.write(lambda db: track.rename(db, session_id, title))

    async def close(self) -> None:
        """Give all leases back and close the database. Closing twice does nothing."""
        if not self.why_read_only and self._desk.held:
            try:
                await self._worker.write(self._desk.release_all, durable=False)
            except LogUnwritable as error:  # a dead process holds nothing: the leases are free all the same
                self._catalogue.trouble = str(error)
        await self._index.close()
        await self._worker.stop()
        self._catalogue.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _note(self, info: SessionInfo) -> None:
        self._catalogue.note(self.project, info)


def _hold(state: importing.Taking) -> None:
    state.line.hold()


_BATCH = 4 * 2**20
"""Bytes after which other windows may write in between."""


def _some(lines: Iterator[tuple[int, Line]]) -> list[tuple[int, Line]]:
    """Return the next lines, about as many as one transaction should hold."""
    taken: list[tuple[int, Line]] = []
    size = 0
    for number, line in lines:
        taken.append((number, line))
        size += _size(line)
        if size >= _BATCH or len(taken) >= 500:
            break
    return taken


def _size(line: Line) -> int:
    match line:
        case EntryLine(body=data) | BlobLine(data=data):
            return len(data)
        case _:
            return 0
