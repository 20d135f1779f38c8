"""Really deleting a session: its entries, its branches, the blobs nobody else names, and the traces in the file.

Entries that a fork of it stands on belong to the fork too and stay; then a nameless row stays with them.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable

import msgspec

from tui.log.entries import Prompt, decode_body
from tui.log.errors import SessionNotFound
from tui.log.exporting import named_blobs
from tui.messages import UserMessage

__all__ = ["NAMELESS", "Purged", "leftovers", "purge", "said_in", "wipe"]

NAMELESS = 2
"""Value of `session.trashed` for what is no session: one being imported, or the rest of a purged one."""


class Purged(msgspec.Struct, frozen=True):
    """What a purge took away. `kept` entries are the beginning of a fork."""

    entries: int
    blobs: int
    kept: int = 0


def purge(db: sqlite3.Connection, session: str) -> Purged:
    """Delete a session inside the caller's transaction. Raises `SessionNotFound`."""
    db.execute("PRAGMA secure_delete=ON")
    if db.execute("SELECT 1 FROM session WHERE id=?", (session,)).fetchone() is None:
        raise SessionNotFound(session)
    own = [row[0] for row in db.execute("SELECT id FROM segment WHERE session=? ORDER BY id DESC", (session,))]
    db.execute(
        "UPDATE session SET leaf_segment=NULL, leaf_depth=NULL, origin_segment=NULL, origin_depth=NULL, "
        "forked_from=NULL, forked_at=NULL, title=x'', cwd=x'', created=0, updated=0, trashed=? WHERE id=?",
        (NAMELESS, session),
    )
    entries = kept = 0
    named: set[str] = set()
    for segment in own:  # a child's number is always greater than its parent's
        taken, left = _cut(db, segment, named)
        entries, kept = entries + taken, kept + left
    for statement in ("DELETE FROM scratch WHERE session=?", "DELETE FROM lease WHERE session=?"):
        db.execute(statement, (session,))
    if not kept:
        db.execute("DELETE FROM session WHERE id=?", (session,))
    return Purged(entries, _drop_blobs(db, named), kept)


def leftovers(db: sqlite3.Connection) -> list[str]:
    """Return the ids of what is no session, but for the rest of purged ones, which forks stand on."""
    sql = "SELECT id FROM session WHERE trashed=? AND created > 0"
    return [row[0] for row in db.execute(sql, (NAMELESS,))]


def said_in(db: sqlite3.Connection, session: str) -> list[UserMessage]:
    """Return what a person said in a session's own branches."""
    sql = (
        "SELECT e.body FROM segment s JOIN entry e ON e.key BETWEEN s.id << 32 AND (s.id << 32 | 0xffffffff) "
        "WHERE s.session=? AND e.kind='prompt'"
    )
    bodies = (decode_body("prompt", raw) for (raw,) in db.execute(sql, (session,)))
    return [body.message for body in bodies if isinstance(body, Prompt) and body.origin == "authored"]


def _cut(db: sqlite3.Connection, segment: int, named: set[str]) -> tuple[int, int]:
    """Delete what nobody else stands on; return how many entries went and how many stay."""
    (needed,) = db.execute(
        "SELECT max(depth) FROM (SELECT parent_depth AS depth FROM segment WHERE parent_segment=? "
        "UNION ALL SELECT leaf_depth FROM session WHERE leaf_segment=? "
        "UNION ALL SELECT origin_depth FROM session WHERE origin_segment=?)",
        (segment, segment, segment),
    ).fetchone()
    low = segment << 32 if needed is None else (segment << 32 | needed) + 1
    keys = (low, segment << 32 | 0xFFFF_FFFF)
    for (body,) in db.execute("SELECT body FROM entry WHERE key BETWEEN ? AND ?", keys):
        named.update(named_blobs(body))
    db.execute("DELETE FROM node WHERE key BETWEEN ? AND ?", keys)  # it holds words too
    taken = db.execute("DELETE FROM entry WHERE key BETWEEN ? AND ?", keys).rowcount
    if needed is None:
        db.execute("DELETE FROM segment WHERE id=?", (segment,))
        return taken, 0
    (left,) = db.execute("SELECT count(*) FROM entry WHERE key BETWEEN ? AND ?", (segment << 32, low - 1)).fetchone()
    return taken, left


def _drop_blobs(db: sqlite3.Connection, named: Iterable[str]) -> int:
    """Delete those of the named blobs that no entry left names."""
    known = {
        sha256 for sha256 in named if db.execute("SELECT 1 FROM blob WHERE sha256=?", (sha256,)).fetchone() is not None
    }
    if known:
        for (body,) in db.execute("SELECT body FROM entry"):
            known.difference_update(named_blobs(body))
            if not known:
                break
    db.executemany("DELETE FROM blob WHERE sha256=?", [(sha256,) for sha256 in known])
    return len(known)


def wipe(db: sqlite3.Connection) -> bool:
    """Rewrite the file without what was deleted; False where another window is in the way (it is done next time)."""
    with contextlib.suppress(sqlite3.OperationalError):
        db.execute("VACUUM")
        return db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    return False
