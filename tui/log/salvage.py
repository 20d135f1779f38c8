"""Writes a clean copy of a damaged database into a new file (`clew doctor --rebuild`); the original is only read.

What can be read is copied; each lost entry has a notice in its place, so that every depth, and with it all that
refers to one, stays where it was.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tui.log import nodes, runs
from tui.log.entries import Notice, Result, decode_body, encode_body
from tui.log.errors import Damaged, LogUnwritable
from tui.log.paths import create_private
from tui.log.schema import copy_database, create, open_plain, translated
from tui.messages import new_id

__all__ = ["Rebuilt", "rebuild_copy"]

_LOST = "An entry stood here that could not be read any more."
_TWICE = "A second result of one call stood here; the first one counts."
_SCANS = ("SELECT rowid, * FROM TABLE ORDER BY rowid", "SELECT rowid, * FROM TABLE ORDER BY rowid DESC")
_INSERT = "INSERT OR IGNORE INTO TABLE VALUES(MARKS)"
_MOST = 2**20
"""Depths of one segment that are looked at one by one."""


class Rebuilt(msgspec.Struct, frozen=True):
    """What came of it."""

    path: Path
    """The new file."""
    kept: int
    """Entries that were copied."""
    lost: int
    """Entries that have a notice in their place."""


async def rebuild_copy(path: Path) -> Rebuilt:
    """Write a clean copy beside a database. Raises `Damaged` where nothing can be read, `LogUnwritable`."""
    return await asyncio.to_thread(_rebuild, path)


def _rebuild(path: Path) -> Rebuilt:
    target = _free(path)
    folder = copy_database(path)
    try:
        create_private(target)
        with (
            translated(path),
            contextlib.closing(open_plain(folder / path.name)) as old,
            contextlib.closing(open_plain(target)) as new,
        ):
            return _copy(old, new, target)
    except (Damaged, LogUnwritable, OSError):
        target.unlink(missing_ok=True)
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _free(path: Path) -> Path:
    """Return a name beside the database that nothing has."""
    names = (path.with_name(f"{path.stem}.rebuilt{f'-{n}' if n else ''}{path.suffix}") for n in range(1000))
    return next(name for name in names if not name.exists())


def _copy(old: sqlite3.Connection, new: sqlite3.Connection, target: Path) -> Rebuilt:
    new.execute("PRAGMA foreign_keys=OFF")  # rows come in the order they are found; the end is checked
    project = old.execute("SELECT value FROM meta WHERE name='project'").fetchone()
    create(new, Path(os.fsdecode(bytes(project[0]))) if project else Path())
    new.executescript(runs.TABLES)
    new.execute("BEGIN")
    for table in ("session", "scratch", "blob", "run", "run_event"):
        _copy_rows(old, new, table)
    writer = _Entries(old, new)
    for segment in _segments(old):
        writer.segment(segment)
    _mend_leaves(new)
    nodes.fill(new, nodes.scan(new))
    new.execute("COMMIT")
    return Rebuilt(target, writer.kept, writer.lost)


def _rows(old: sqlite3.Connection, table: str) -> Iterator[tuple[Any, ...]]:
    """Yield what can be read of a table: from its beginning up to the damage, and from its end down to it."""
    seen: set[int] = set()
    for scan in _SCANS:
        with contextlib.suppress(sqlite3.DatabaseError):  # the scan stops at the damage; the other end is left
            for row in old.execute(scan.replace("TABLE", table)):
                if row[0] in seen:
                    break
                seen.add(row[0])
                yield row[1:]


def _copy_rows(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> None:
    for row in _rows(old, table):
        marks = ",".join("?" * len(row))
        new.execute(_INSERT.replace("TABLE", table).replace("MARKS", marks), row)


class _Segment(msgspec.Struct, frozen=True):
    """A stretch of a branch as the damaged database has it."""

    id: int
    session: str
    parent: int | None
    at: int | None
    """Depth in the parent after which it begins."""
    start: int


def _segments(old: sqlite3.Connection) -> list[_Segment]:
    """Return all segments, the older ones first; entries that have lost theirs get one in a session of their own."""
    found = {row[0]: _Segment(*row) for row in _rows(old, "segment")}
    with contextlib.suppress(sqlite3.DatabaseError):
        for (name,) in old.execute("SELECT DISTINCT key >> 32 FROM entry"):
            found.setdefault(name, _Segment(name, f"recovered-{name}", None, None, 0))
    return [found[name] for name in sorted(found)]


class _Entries:
    """Copies entries segment by segment and counts them."""

    def __init__(self, old: sqlite3.Connection, new: sqlite3.Connection) -> None:
        self._old = old
        self._new = new
        self._tips: dict[int, int] = {}
        """Depth of the newest entry of each segment that was written."""
        self._least = _wanted_depths(old)
        self.kept = self.lost = 0

    def segment(self, segment: _Segment) -> None:
        """Copy one segment; where the place it hangs on is lost, what was older is lost to it."""
        hangs = self._hangs(segment)
        start = segment.start if hangs else 0
        self._session(segment.session)
        place = (segment.parent, segment.at) if hangs else (None, None)
        self._new.execute("INSERT INTO segment VALUES(?,?,?,?,?)", (segment.id, segment.session, *place, start))
        high = self._high(segment.id)
        results: set[str] = set()
        depth = start
        for row in self._found(segment.id, start, high):
            self._fill(segment.id, depth, row[0] & 0xFFFF_FFFF)
            self._put(row, results)
            depth = (row[0] & 0xFFFF_FFFF) + 1
        self._fill(segment.id, depth, high + 1)
        self._tips[segment.id] = max(depth, high + 1) - 1

    def _hangs(self, segment: _Segment) -> bool:
        """Whether the place a segment begins after is there."""
        if segment.parent is None or segment.at is None or segment.start != segment.at + 1:
            return False
        return segment.parent < segment.id and segment.at <= self._tips.get(segment.parent, -1)

    def _session(self, session: str) -> None:
        cwd = self._new.execute("SELECT value FROM meta WHERE name='project'").fetchone()[0]
        self._new.execute(
            "INSERT OR IGNORE INTO session(id, created, updated, recent, cwd, title) "
            "VALUES(?, 0, 0, (SELECT coalesce(max(recent), 0) + 1 FROM session), ?, ?)",
            (session, cwd, b"Recovered: the session's own line was lost"),
        )

    def _high(self, segment: int) -> int:
        """Return the greatest depth there was, as far as anything says so."""
        known = self._least.get(segment, -1)
        with contextlib.suppress(sqlite3.DatabaseError):
            sql = "SELECT max(key) FROM entry WHERE key BETWEEN ? AND ?"
            found = self._old.execute(sql, (segment << 32, segment << 32 | 0xFFFF_FFFF)).fetchone()[0]
            known = max(known, -1 if found is None else found & 0xFFFF_FFFF)
        return min(known, _MOST)

    def _found(self, segment: int, low: int, high: int) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that can be read: by a scan up to the damage, behind it one by one."""
        sql = "SELECT key, id, kind, time, ref, body FROM entry WHERE key BETWEEN ? AND ? ORDER BY key"
        with contextlib.suppress(sqlite3.DatabaseError):
            for row in self._old.execute(sql, (segment << 32 | low, segment << 32 | 0xFFFF_FFFF)):
                yield row
                low = (row[0] & 0xFFFF_FFFF) + 1
            return
        for depth in range(low, high + 1):
            with contextlib.suppress(sqlite3.DatabaseError):
                key = segment << 32 | depth
                yield from self._old.execute(sql, (key, key)).fetchall()

    def _put(self, row: tuple[Any, ...], results: set[str]) -> None:
        key, name, kind, time, ref, body = row
        decoded = decode_body(kind, bytes(body))
        if isinstance(decoded, Result):
            if decoded.message.call_id in results:
                self._notice(key, _TWICE)
                return
            results.add(decoded.message.call_id)
        done = self._new.execute("INSERT OR IGNORE INTO entry VALUES(?,?,?,?,?,?)", (key, name, kind, time, ref, body))
        if not done.rowcount:  # another entry has its id
            self._new.execute("INSERT INTO entry VALUES(?,?,?,?,?,?)", (key, new_id(), kind, time, ref, body))
        self.kept += 1

    def _fill(self, segment: int, low: int, high: int) -> None:
        for depth in range(low, high):
            self._notice(segment << 32 | depth, _LOST)

    def _notice(self, key: int, words: str) -> None:
        kind, raw = encode_body(Notice(words, "warning", "lost"))
        self._new.execute("INSERT INTO entry VALUES(?,?,?,?,?,?)", (key, new_id(), kind, 0, None, raw))
        self.lost += 1


def _wanted_depths(old: sqlite3.Connection) -> dict[int, int]:
    """Return the depth each segment must reach by what points into it: leaves, origins, younger segments."""
    least: dict[int, int] = {}
    sessions = [row[6:10] for row in _rows(old, "session")]
    places = [(row[2], row[3]) for row in _rows(old, "segment")]
    for segment, depth in (*(row[:2] for row in sessions), *(row[2:] for row in sessions), *places):
        if segment is not None and depth is not None:
            least[segment] = max(depth, least.get(segment, -1))
    return least


def _mend_leaves(new: sqlite3.Connection) -> None:
    """Let every session point to an entry there is: its own leaf, else the tip of its newest segment."""
    new.execute(
        "CREATE TEMP TABLE tip AS SELECT g.session, max(e.key) AS key FROM segment g "
        "JOIN entry e ON e.key BETWEEN g.id << 32 AND (g.id << 32 | 0xffffffff) GROUP BY g.session"
    )
    new.execute(
        "UPDATE session SET (leaf_segment, leaf_depth) = "
        "(SELECT key >> 32, key & 0xffffffff FROM tip WHERE tip.session = session.id) "
        "WHERE NOT EXISTS (SELECT 1 FROM entry e WHERE e.key = (leaf_segment << 32 | leaf_depth))"
    )
    new.execute(
        "UPDATE session SET origin_segment=NULL, origin_depth=NULL "
        "WHERE NOT EXISTS (SELECT 1 FROM entry e WHERE e.key = (origin_segment << 32 | origin_depth))"
    )
