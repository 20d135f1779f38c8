"""What the list of sessions shows beside titles: a row for each session, kept in step with its leaf.

So ten thousand sessions are listed without a look at any entry. A session of an older clew has no row until it
is written again; then its figures are unknown, not wrong.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from tui.log import segments
from tui.log.entries import Answer, Entry, Handoff, Prompt, Settled, ToolStarted
from tui.log.errors import Damaged

__all__ = ["TABLE", "Digest", "exists", "note", "recount"]

TABLE = """
CREATE TABLE IF NOT EXISTS digest(
    session TEXT PRIMARY KEY REFERENCES session(id) ON DELETE CASCADE,
    size INTEGER NOT NULL,
    open INTEGER NOT NULL,
    ended TEXT NOT NULL,
    phase TEXT NOT NULL,
    said INTEGER NOT NULL
) STRICT
"""


class Digest(msgspec.Struct, frozen=True):
    """The state of a session's active path, and how much all its branches hold."""

    size: int = 0
    """Bytes of all its own entries."""
    open: bool = False
    """An exchange has not settled."""
    ended: str = ""
    """Reason of the newest settle."""
    phase: str = ""
    """Of the newest handoff."""
    said: bool = False
    """Whether anybody ever said anything in it."""


def exists(db: sqlite3.Connection) -> bool:
    """Whether this database has such rows at all."""
    return db.execute("SELECT 1 FROM sqlite_schema WHERE name='digest'").fetchone() is not None


def note(
    db: sqlite3.Connection, session: str, path: segments.Path, entries: Sequence[Entry], *, size: int, follows: bool
) -> None:
    """Bring the row up after entries were written, or, where they do not follow what it tells of, after a move."""
    row = db.execute("SELECT size, open, ended, phase, said FROM digest WHERE session=?", (session,)).fetchone()
    before = Digest() if row is None else Digest(row[0], bool(row[1]), row[2], row[3], bool(row[4]))
    if row is None and path and path[0].high >= len(entries):  # written before there were such rows, or a fork
        before = _counted(db, session, path)
        size = 0
    elif not follows:
        before = msgspec.structs.replace(_state(db, path), size=before.size)
    _put(db, session, _after(before, entries, size))


def recount(db: sqlite3.Connection, session: str, path: segments.Path) -> None:
    """Make the row anew from the entries."""
    _put(db, session, _counted(db, session, path))


def _after(digest: Digest, entries: Sequence[Entry], size: int) -> Digest:
    replace = msgspec.structs.replace
    digest = replace(digest, size=digest.size + size)
    for entry in entries:
        match entry.body:
            case Prompt():
                digest = replace(digest, open=True, said=True)
            case Answer() | ToolStarted():
                digest = replace(digest, open=True)
            case Settled(reason=reason):
                digest = replace(digest, open=False, ended=reason)
            case Handoff(phase=phase):
                digest = replace(digest, phase=phase)
            case _:
                pass
    return digest


def _counted(db: sqlite3.Connection, session: str, path: segments.Path) -> Digest:
    """Return the figures of a path, and the sum over the session's own entries: it reads all of them."""
    (size,) = db.execute(
        "SELECT coalesce(sum(length(e.body)), 0) FROM segment s JOIN entry e "
        "ON e.key BETWEEN s.id << 32 AND (s.id << 32 | 0xffffffff) WHERE s.session=?",
        (session,),
    ).fetchone()
    return msgspec.structs.replace(_state(db, path), size=size)


def _state(db: sqlite3.Connection, path: segments.Path) -> Digest:
    """Return the state of a path from its newest entries, by look-ups; the size is not counted."""
    kinds = ("prompt", "answer", "tool_started", "settled", "handoff")
    try:
        found = [segments.newest(db, path, kind) for kind in kinds]
    except Damaged:  # what cannot be read is no state; whoever opens the session is told of the damage
        found = []
    entries = sorted((entry for entry in found if entry is not None), key=lambda entry: entry.depth)
    return _after(Digest(), entries, 0)


def _put(db: sqlite3.Connection, session: str, digest: Digest) -> None:
    values = (session, digest.size, int(digest.open), digest.ended, digest.phase, int(digest.said))
    db.execute("INSERT OR REPLACE INTO digest(session, size, open, ended, phase, said) VALUES(?,?,?,?,?,?)", values)
