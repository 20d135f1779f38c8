"""Looking a database over for damage (`clew doctor`), on a copy: the original is never touched.

Every finding names what is wrong, where, what is kept all the same, and what to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from tui.log.entries import UnknownBody, decode_body
from tui.log.schema import APPLICATION, SCHEMA, copy_database, utf8

__all__ = ["Finding", "check"]


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong."""

    what: str
    where: str
    kept: str
    todo: str


async def check(path: Path) -> list[Finding]:
    """Return what is wrong with a project's database; an empty list if nothing is.

    Takes time and space for a copy and reads everything. Raises `LogUnwritable` if no copy can be made.
    """
    return await asyncio.to_thread(_check, path)


def _check(path: Path) -> list[Finding]:
    if not path.exists():
        return [Finding("There is no database", str(path), "nothing", "Start a session in that project.")]
    folder = copy_database(path)
    try:
        with contextlib.closing(sqlite3.connect(folder / path.name, isolation_level=None)) as db:
            db.text_factory = utf8
            return list(_findings(db, path))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _findings(db: sqlite3.Connection, path: Path) -> Iterator[Finding]:
    if not path.stat().st_size:
        return  # made by one that was gone before it wrote anything
    unusable = list(_guarded(_head, db, path))
    yield from unusable
    if unusable:
        return
    for part in (_pages, _sessions, _segments, _gaps, _ids, _bodies, _results, _blobs):
        yield from _guarded(part, db, path)


def _guarded(
    part: Callable[[sqlite3.Connection, Path], Iterator[Finding]], db: sqlite3.Connection, path: Path
) -> Iterator[Finding]:
    """Yield what a check finds; a check that damage stops is itself a finding."""
    try:
        yield from part(db, path)
    except sqlite3.Error as error:
        yield Finding(
            f"Checking the {part.__name__.strip('_')} was stopped by damage ({error})",
            str(path),
            "Whatever lies on other pages; single entries are still found.",
            "`clew doctor --rebuild` writes a clean copy; `clew log ID` shows a session with its gaps named.",
        )


def _head(db: sqlite3.Connection, path: Path) -> Iterator[Finding]:
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        yield Finding(
            "This is not a log of clew", str(path), "The file as it is.", "Restore it from a backup, or move it away."
        )
    elif (found := db.execute("PRAGMA user_version").fetchone()[0]) > SCHEMA:
        yield Finding(
            f"Format {found} is newer than {SCHEMA}", str(path), "Everything.", "Check it with the newer clew."
        )


def _pages(db: sqlite3.Connection, path: Path) -> Iterator[Finding]:
    for (line,) in db.execute("PRAGMA quick_check(20)"):
        if line != "ok":
            yield Finding(
                f"Damaged pages: {line}",
                str(path),
                "Entries on other pages.",
                "`clew doctor --rebuild` writes a clean copy; `clew log ID` shows a session with its gaps named.",
            )


def _sessions(db: sqlite3.Connection, _path: Path) -> Iterator[Finding]:
    sql = (
        "SELECT s.id, s.leaf_segment, s.leaf_depth FROM session s WHERE s.leaf_segment IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM entry e WHERE e.key = (s.leaf_segment << 32 | s.leaf_depth))"
    )
    for session, segment, depth in db.execute(sql):
        yield Finding(
            f"The leaf points to a missing entry (segment {segment}, depth {depth})",
            f"session {session}",
            "All older entries.",
            "Open the session: it goes on behind a named gap. `clew doctor --rebuild` writes a clean copy.",
        )


def _segments(db: sqlite3.Connection, _path: Path) -> Iterator[Finding]:
    sql = (
        "SELECT c.id, c.session, c.parent_segment, c.parent_depth FROM segment c "
        "LEFT JOIN segment p ON p.id = c.parent_segment WHERE c.parent_segment IS NOT NULL AND ("
        "p.id IS NULL OR c.parent_segment >= c.id OR c.start_depth <> c.parent_depth + 1 "
        "OR NOT EXISTS (SELECT 1 FROM entry e WHERE e.key = (c.parent_segment << 32 | c.parent_depth)))"
    )
    for segment, session, parent, depth in db.execute(sql):
        yield Finding(
            f"Branch {segment} hangs on a missing place (segment {parent}, depth {depth})",
            f"session {session}",
            "The branch itself.",
            "Read it with `clew log`; what is older than the place is lost to this branch.",
        )
    orphans = "SELECT DISTINCT key >> 32 FROM entry WHERE (key >> 32) NOT IN (SELECT id FROM segment)"
    for (segment,) in db.execute(orphans):
        yield Finding(
            "Entries belong to no branch",
            f"segment {segment}",
            "The entries.",
            "`clew doctor --rebuild` writes a clean copy that has them in a session of their own.",
        )


def _gaps(db: sqlite3.Connection, _path: Path) -> Iterator[Finding]:
    sql = (
        "SELECT s.id, s.session, s.start_depth, min(e.key & 0xffffffff), max(e.key & 0xffffffff), count(*) "
        "FROM segment s JOIN entry e ON e.key BETWEEN s.id << 32 AND (s.id << 32 | 0xffffffff) GROUP BY s.id"
    )
    for segment, session, start, low, high, count in db.execute(sql):
        if low != start or high - low + 1 != count:
            yield Finding(
                f"{high - start + 1 - count} entries are missing between depth {start} and {high}",
                f"session {session}, segment {segment}",
                f"{count} entries.",
                "Read it with `clew log`, which names the gaps.",
            )


def _ids(db: sqlite3.Connection, _path: Path) -> Iterator[Finding]:
    sql = "SELECT id, count(*) FROM entry NOT INDEXED GROUP BY id HAVING count(*) > 1"
    for entry, count in db.execute(sql):
        yield Finding(
            f"{count} entries share one id", f"entry {entry}", "All of them.", "Report it; do not fork there."
        )


def _bodies(db: sqlite3.Connection, _path: Path) -> Iterator[Finding]:
    rows: Any = db.execute("SELECT key, id, kind, body FROM entry ORDER BY key")
    for key, entry, kind, raw in rows:
        body = decode_body(kind, bytes(raw))
        if isinstance(body, UnknownBody) and body.error:
            yield Finding(
                f"An entry of kind {kind!r} cannot be understood ({body.error})",
                f"entry {entry} (segment {key >> 32}, depth {key & 0xFFFFFFFF})",
                "Its bytes: it is shown as unreadable and never sent.",
                "Nothing, unless there are many; then report it.",
            )


def _results(db: sqlite3.Connection, _path: Path) -> Iterator[Finding]:
    sql = (
        "SELECT ref, key >> 32, count(*) FROM entry WHERE kind = 'result' AND ref IS NOT NULL "
        "GROUP BY ref, key >> 32 HAVING count(*) > 1"
    )
    for call, segment, count in db.execute(sql):
        yield Finding(
            f"A call has {count} results", f"call {call}, segment {segment}", "All; the first one counts.", "Report it."
        )


def _blobs(db: sqlite3.Connection, _path: Path) -> Iterator[Finding]:
    for sha256, data in db.execute("SELECT sha256, data FROM blob"):
        if hashlib.sha256(bytes(data)).hexdigest() != sha256:
            yield Finding(
                "Stored bytes are not what was put there", f"blob {sha256}", "Everything else.", "Take it as lost."
            )
