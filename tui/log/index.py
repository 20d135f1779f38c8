"""The search index: trigrams of what was said, in a database of its own beside the log.

It is derived, caught up when something is looked for and after an exchange, and never written in the log's own
transaction (measured: that would double what an append costs, with pauses of 25 ms). What it does not hold yet, or
cannot hold because it is damaged or may not be written, is read from the log itself: the answer is the same.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from tui.log import segments
from tui.log.entries import Entry, UnknownBody
from tui.log.errors import Damaged, LogClosed, LogError
from tui.log.found import Gap
from tui.log.schema import Database, open_small, translated
from tui.log.segments import Place, Span
from tui.log.words import Needle, Said, matches, said, trigrams
from tui.log.worker import Runner, Worker

__all__ = ["Reach", "Row", "SearchIndex", "Stretch"]

_VERSION = 1
_TABLES = """
DROP TABLE IF EXISTS trigram; DROP TABLE IF EXISTS said; DROP TABLE IF EXISTS done; DROP TABLE IF EXISTS gap;
CREATE TABLE said(key INTEGER PRIMARY KEY, id TEXT NOT NULL, time INTEGER NOT NULL, kind TEXT NOT NULL,
    text TEXT NOT NULL) STRICT;
CREATE VIRTUAL TABLE trigram USING fts5(text, content='said', content_rowid='key', tokenize='trigram', detail=none);
CREATE TABLE done(segment INTEGER PRIMARY KEY, depth INTEGER NOT NULL, id TEXT NOT NULL) STRICT;
CREATE TABLE gap(segment INTEGER NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL) STRICT
"""
_CHUNK = 500
"""Entries read and indexed in one step: others come to their turn between."""
_CHUNK_BYTES = 4 * 2**20
_AT_ONCE = 5_000
"""Entries a search indexes first; more than that are read without the index, which takes a tenth of the time."""
_PERIOD = 3_600.0


class Stretch(msgspec.Struct, frozen=True):
    """A part of a segment to search, both ends inclusive."""

    session: str
    span: Span


Reach: TypeAlias = tuple[Stretch, ...]
"""All that is searched, the newest segments first."""


class Row(msgspec.Struct, frozen=True):
    """The words of one entry."""

    key: int
    id: str
    time: int
    kind: Said
    text: str

    @property
    def place(self) -> Place:
        """Where it is."""
        return segments.place_of(self.key)


class _Chunk(msgspec.Struct, frozen=True):
    """What was read of a span, and which depths of it are lost."""

    rows: list[Row]
    low: int
    high: int
    gaps: list[tuple[int, int]]
    last: str = ""
    """Id of the entry at `high`."""


class SearchIndex:
    """Looks for words in the sessions of one database. `path` is None where nothing may be written."""

    def __init__(self, log: Runner, path: Path | None) -> None:
        self._log = log
        self._path = path
        self._worker: Worker | None = None

    async def find(self, reach: Reach, needle: Needle, most: int, kinds: Sequence[Said]) -> tuple[list[Row], list[Gap]]:
        """Return entries with all parts of the needle, newest first, and what of the reach cannot be read.

        Raises `LogError` where the log itself cannot be read.
        """
        done = await self.catch_up(reach, _AT_ONCE)
        rows, gaps = await self._indexed(reach, needle, most, kinds, done)
        for stretch in reach:
            if len(rows) >= most and rows[most - 1].key > segments.key_of(Place(stretch.span.segment, 2**32 - 1)):
                break
            found, lost = await self._scanned(stretch, done.get(stretch.span.segment, -1), needle, most, kinds)
            rows = sorted((*rows, *found), key=lambda row: -row.key)[:most]
            gaps += lost
        return rows, gaps

    async def catch_up(self, reach: Reach, most: int) -> dict[int, int]:
        """Index up to `most` entries that are not indexed yet; return up to which depth each segment is."""
        for _attempt in range(2):
            worker = await self._opened()
            if worker is None:
                return {}
            try:
                done = await worker.read(_read_done)
                await self._forget_strangers(worker, reach, done)
                return await self._index(worker, reach, {key: depth for key, (depth, _id) in done.items()}, most)
            except LogClosed:
                raise
            except LogError as error:  # the index alone: the log is read without it
                await self._drop(delete=isinstance(error, Damaged))
        return {}

    async def empty(self) -> None:
        """Forget all words, e.g. because a session is deleted for good; what is left is indexed anew when needed."""
        await self._drop(delete=True)

    async def close(self) -> None:
        """Close the index."""
        await self._drop(delete=False)

    # --- the index's own database

    async def _opened(self) -> Worker | None:
        if self._worker is None and self._path is not None and not self._log.why_read_only:
            worker = Worker(self._open, _nothing, _PERIOD)
            try:
                await worker.start()
            except Damaged:
                await self._drop(delete=True)
                return None
            except (LogError, OSError):
                return None
            self._worker = worker
        return self._worker

    def _open(self) -> Database:
        assert self._path is not None
        with translated(self._path):
            return Database(open_small(self._path, _TABLES, _VERSION), self._path)

    async def _drop(self, *, delete: bool) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.stop()
        if delete and self._path is not None:
            for name in (self._path.name, f"{self._path.name}-wal", f"{self._path.name}-shm"):
                with contextlib.suppress(OSError):
                    self._path.with_name(name).unlink(missing_ok=True)

    async def _forget_strangers(self, worker: Worker, reach: Reach, done: dict[int, tuple[int, str]]) -> None:
        """Drop segments whose indexed end is another entry now: the log was replaced, or a number was used again."""
        known = {stretch.span.segment: done[stretch.span.segment] for stretch in reach if stretch.span.segment in done}
        strange = await self._log.read(
            lambda db: [number for number, end in known.items() if _strange(db, number, *end)]
        )
        if strange:
            await worker.write(lambda db: _forget(db, strange), durable=False)
        for segment in strange:
            del done[segment]

    async def _index(self, worker: Worker, reach: Reach, done: dict[int, int], most: int) -> dict[int, int]:
        left = most
        for stretch in reach:
            segment, high = stretch.span.segment, stretch.span.high
            low = done.get(segment, stretch.span.low - 1) + 1
            while segment and low <= high and left > 0:
                chunk = await self._read(segment, low, min(high, low + min(left, _CHUNK) - 1), up=True)
                put = _Put(segment, done.get(segment), chunk)
                if not await worker.write(put, durable=False):
                    break  # another window indexes the same: what it has not done is read from the log
                done[segment] = chunk.high
                left -= chunk.high - chunk.low + 1
                low = chunk.high + 1
        return done

    async def _indexed(
        self, reach: Reach, needle: Needle, most: int, kinds: Sequence[Said], done: dict[int, int]
    ) -> tuple[list[Row], list[Gap]]:
        worker = self._worker
        if worker is None or not reach:
            return [], []
        spans = {stretch.span.segment: stretch.span for stretch in reach}
        sessions = {stretch.span.segment: stretch.session for stretch in reach}

        def look(db: sqlite3.Connection) -> tuple[list[Row], list[Gap]]:
            rows: list[Row] = []
            for row in _candidates(db, needle, min(spans) << 32, (max(spans) + 1) << 32, kinds):
                span = spans.get(row.place.segment)
                if span is not None and span.low <= row.place.depth <= span.high and matches(row.text, needle):
                    rows.append(row)
                    if len(rows) == most:
                        break
            return rows, [Gap(sessions[segment], *gap) for segment, gap in _gaps(db, spans)]

        try:
            return await worker.read(look)
        except LogClosed:
            raise
        except LogError as error:
            await self._drop(delete=isinstance(error, Damaged))
            done.clear()
            return [], []

    # --- the log itself

    async def _read(self, segment: int, low: int, high: int, *, up: bool) -> _Chunk:
        return await self._log.read(lambda db: _chunk(db, segment, low, high, up=up))

    async def _scanned(
        self, stretch: Stretch, done: int, needle: Needle, most: int, kinds: Sequence[Said]
    ) -> tuple[list[Row], list[Gap]]:
        """Look through what is not indexed, newest first."""
        span, rows, gaps = stretch.span, list[Row](), list[Gap]()
        low, high = max(span.low, done + 1), span.high
        if span.segment == 0:
            return [], [Gap(stretch.session, span.low, span.high)]
        while low <= high and len(rows) < most:
            chunk = await self._read(span.segment, low, high, up=False)
            rows += [row for row in reversed(chunk.rows) if row.kind in kinds and matches(row.text, needle)]
            gaps += [Gap(stretch.session, *gap) for gap in chunk.gaps]
            high = chunk.low - 1
        return rows[:most], gaps


def _nothing(_db: sqlite3.Connection) -> None:
    """Do nothing from time to time."""


def _chunk(db: sqlite3.Connection, segment: int, low: int, high: int, *, up: bool) -> _Chunk:
    """Read a part of a segment; where a depth is lost the part ends no later than the read that met it."""
    path = (Span(segment, low, high),)
    try:
        entries = segments.read(
            db, path, low, high, limit=_CHUNK, direction="up" if up else "down", budget=_CHUNK_BYTES
        )
        gaps: list[tuple[int, int]] = []
        first, last = entries[0].depth, entries[-1].depth
    except Damaged as error:
        if not error.gaps:
            raise
        entries, gaps = list(error.kept), list(error.gaps)
        depths = [*(entry.depth for entry in entries), *(depth for gap in gaps for depth in gap)]
        first, last = min(depths), max(depths)
    gaps += [
        (entry.depth, entry.depth) for entry in entries if isinstance(entry.body, UnknownBody) and entry.body.error
    ]
    end = entries[-1].id if entries and entries[-1].depth == last else ""
    return _Chunk(list(_rows(segment, entries)), first, last, gaps, end)


def _rows(segment: int, entries: Iterable[Entry]) -> Iterable[Row]:
    for entry in entries:
        words = said(entry.body)
        if words is not None and words[1]:
            yield Row(segment << 32 | entry.depth, entry.id, entry.time, *words)


class _Put(msgspec.Struct, frozen=True):
    """Puts a chunk into the index and returns True, unless another window did so meanwhile."""

    segment: int
    before: int | None
    chunk: _Chunk

    def __call__(self, db: sqlite3.Connection) -> bool:
        """Run inside the index's transaction."""
        found = db.execute("SELECT depth FROM done WHERE segment=?", (self.segment,)).fetchone()
        if (None if found is None else found[0]) != self.before:
            return False
        for row in self.chunk.rows:
            db.execute(
                "INSERT INTO said(key, id, time, kind, text) VALUES(?,?,?,?,?)",
                (row.key, row.id, row.time, row.kind, row.text),
            )
            db.execute("INSERT INTO trigram(rowid, text) VALUES(?,?)", (row.key, row.text))
        db.executemany("INSERT INTO gap VALUES(?,?,?)", [(self.segment, *gap) for gap in self.chunk.gaps])
        db.execute("INSERT OR REPLACE INTO done VALUES(?,?,?)", (self.segment, self.chunk.high, self.chunk.last))
        return True


def _strange(db: sqlite3.Connection, segment: int, depth: int, end: str) -> bool:
    """Whether a segment is not the one that was indexed; an end that cannot be read any more tells nothing."""
    found = segments.find_id(db, (Span(segment, 0, depth),), depth)
    if found is not None:
        return found != end
    with contextlib.suppress(sqlite3.DatabaseError):
        keys = (segment << 32, segment << 32 | 0xFFFF_FFFF)
        newest = db.execute("SELECT max(key) FROM entry WHERE key BETWEEN ? AND ?", keys).fetchone()[0]
        return newest is None or segments.place_of(newest).depth < depth
    return False


def _read_done(db: sqlite3.Connection) -> dict[int, tuple[int, str]]:
    return {segment: (depth, end) for segment, depth, end in db.execute("SELECT segment, depth, id FROM done")}


def _forget(db: sqlite3.Connection, numbers: Sequence[int]) -> None:
    for segment in numbers:
        keys = (segment << 32, (segment + 1) << 32)
        sql = (
            "INSERT INTO trigram(trigram, rowid, text) SELECT 'delete', key, text FROM said WHERE key >= ? AND key < ?"
        )
        db.execute(sql, keys)
        db.execute("DELETE FROM said WHERE key >= ? AND key < ?", keys)
        db.execute("DELETE FROM done WHERE segment=?", (segment,))
        db.execute("DELETE FROM gap WHERE segment=?", (segment,))


def _gaps(db: sqlite3.Connection, spans: dict[int, Span]) -> Iterable[tuple[int, tuple[int, int]]]:
    for segment, low, high in db.execute("SELECT segment, low, high FROM gap"):
        span = spans.get(segment)
        if span is not None and low <= span.high and high >= span.low:
            yield segment, (max(low, span.low), min(high, span.high))


_COLUMNS = "SELECT said.key, said.id, said.time, said.kind, said.text FROM"
_MATCHING = (
    f"{_COLUMNS} trigram JOIN said ON said.key = trigram.rowid "
    "WHERE trigram MATCH ? AND trigram.rowid >= ? AND trigram.rowid < ? ORDER BY trigram.rowid DESC"
)


def _candidates(db: sqlite3.Connection, needle: Needle, low: int, high: int, kinds: Sequence[Said]) -> Iterable[Row]:
    """Yield entries that may match, newest first: by trigrams, else (parts of one or two letters) by LIKE."""
    groups = trigrams(needle)
    if groups:
        rows = db.execute(_MATCHING, (" AND ".join(_quoted(group) for group in groups), low, high))
    else:
        likes = " AND ".join(["text LIKE ? ESCAPE char(92)"] * len(needle))
        patterns = [_like(part) for part in needle]
        rows = db.execute(
            f"{_COLUMNS} said WHERE {likes} AND key >= ? AND key < ? ORDER BY key DESC", (*patterns, low, high)
        )
    for row in rows:
        if row[3] in kinds:
            yield Row(*row)


def _quoted(text: str) -> str:
    """Return a text as FTS5 takes it for nothing but itself."""
    return '"' + text.replace('"', '""') + '"'


def _like(part: str) -> str:
    """Return a pattern that lets every match through: LIKE knows no case beyond ASCII."""
    escaped = "".join(
        "_" if not char.isascii() and char.upper() != char.lower() else f"\\{char}" if char in "\\%_" else char
        for char in part
    )
    return f"%{escaped}%"
