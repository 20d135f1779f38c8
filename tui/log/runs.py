"""The rows of runs: a plan that never changes, the state, and the events that led to it.

The layer above decides what they say; here they are bytes. One number for the whole project says who may write:
it grows each time a run is taken up, and every write checks it inside its transaction. So a process that slept
while another took a run up is refused, whatever it believes, even where its session is still its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import msgspec

from tui.log.errors import RunHeld, RunLost

__all__ = [
    "TABLES",
    "RunEventRow",
    "RunRow",
    "RunWrite",
    "events",
    "find",
    "generation",
    "rows",
    "take",
    "unfinished",
    "write",
]

TABLES = """
CREATE TABLE IF NOT EXISTS run(
    id TEXT PRIMARY KEY,
    session TEXT NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    source BLOB NOT NULL,
    plan BLOB NOT NULL,
    plan_sha256 TEXT NOT NULL,
    status TEXT NOT NULL,
    seq INTEGER NOT NULL,
    state BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS run_event(
    run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    time INTEGER NOT NULL,
    event BLOB NOT NULL,
    PRIMARY KEY(run, seq)
) STRICT;
CREATE TABLE IF NOT EXISTS run_hold(
    one INTEGER PRIMARY KEY CHECK (one = 1),
    generation INTEGER NOT NULL,
    run TEXT NOT NULL,
    session TEXT NOT NULL
) STRICT;
"""
_WORKING = ("active", "blocked")


class RunRow(msgspec.Struct, frozen=True):
    """A run as it is stored."""

    id: str
    session: str
    created: int
    """Milliseconds since 1970, UTC."""
    updated: int
    """Milliseconds since 1970, UTC."""
    source: str
    """The plan's file; empty for a goal."""
    plan: bytes
    plan_sha256: str
    status: str
    seq: int
    """Events written."""
    state: bytes


class RunEventRow(msgspec.Struct, frozen=True):
    """One event of a run as it is stored."""

    seq: int
    time: int
    """Milliseconds since 1970, UTC."""
    event: bytes


class RunWrite(msgspec.Struct, frozen=True):
    """A transition: state and event, written together and with the entries that belong to them."""

    run: str
    generation: int
    seq: int
    """Number of this event; the stored one must be the one before it."""
    event: bytes
    state: bytes
    status: str
    plan: bytes = b""
    """With the first event only: the plan, its hash and where it came from."""
    plan_sha256: str = ""
    source: str = ""


def _has_tables(db: sqlite3.Connection) -> bool:
    """Whether there are any: a log that is only viewed may be older than they."""
    return db.execute("SELECT 1 FROM sqlite_schema WHERE name='run_hold'").fetchone() is not None


def unfinished(db: sqlite3.Connection) -> dict[str, str]:
    """Return the status of the newest run that is not over, by its session."""
    if not _has_tables(db):
        return {}
    sql = "SELECT session, status FROM run WHERE status NOT IN ('complete', 'stopped') ORDER BY created"
    return dict(db.execute(sql).fetchall())


def generation(db: sqlite3.Connection) -> int:
    """Return the number that writes must carry now."""
    row = db.execute("SELECT generation FROM run_hold").fetchone()
    return int(row[0]) if row is not None else 0


def take(db: sqlite3.Connection, run: str, session: str, owner_of: Callable[[str], str]) -> int:
    """Take the project's runs up for one run inside the caller's transaction; return its generation. Raises `RunHeld`.

    Refused while a live process works on a run of another session; `owner_of` describes who holds a session.
    """
    for statement in TABLES.split(";"):
        db.execute(statement)  # with the first run of a project: most projects have none
    held = db.execute("SELECT run, session FROM run_hold").fetchone()
    if held is not None and held[1] != session:
        other = find(db, held[0])
        owner = owner_of(held[1])
        if other is not None and other.status in _WORKING and owner:
            raise RunHeld(other.id, owner)
    number = generation(db) + 1
    db.execute("INSERT OR REPLACE INTO run_hold(one, generation, run, session) VALUES(1,?,?,?)", (number, run, session))
    return number


def write(db: sqlite3.Connection, session: str, now: int, step: RunWrite) -> None:
    """Write a transition inside the caller's transaction. Raises `RunLost` where it is not this process's to write."""
    if generation(db) != step.generation:
        raise RunLost(step.run)
    if step.seq == 1:
        db.execute(
            "INSERT INTO run(id, session, created, updated, source, plan, plan_sha256, status, seq, state) "
            "VALUES(?,?,?,?,?,?,?,?,?,?)",
            (
                *(step.run, session, now, now, step.source.encode("utf-8", "replace"), step.plan, step.plan_sha256),
                *(step.status, step.seq, step.state),
            ),
        )
    else:
        changed = db.execute(
            "UPDATE run SET updated=?, status=?, seq=?, state=? WHERE id=? AND session=? AND seq=?",
            (now, step.status, step.seq, step.state, step.run, session, step.seq - 1),
        )
        if changed.rowcount != 1:
            raise RunLost(step.run)
    db.execute("INSERT INTO run_event(run, seq, time, event) VALUES(?,?,?,?)", (step.run, step.seq, now, step.event))


_COLUMNS = "SELECT id, session, created, updated, source, plan, plan_sha256, status, seq, state FROM run "


def rows(db: sqlite3.Connection, limit: int = 50) -> list[RunRow]:
    """Return the project's runs, the newest first."""
    if not _has_tables(db):
        return []
    return [_row(row) for row in db.execute(_COLUMNS + "ORDER BY created DESC, id DESC LIMIT ?", (limit,))]


def find(db: sqlite3.Connection, run: str) -> RunRow | None:
    """Return one run, or None."""
    row = db.execute(_COLUMNS + "WHERE id=?", (run,)).fetchone() if _has_tables(db) else None
    return _row(row) if row is not None else None


def events(db: sqlite3.Connection, run: str) -> list[RunEventRow]:
    """Return a run's events in order."""
    if not _has_tables(db):
        return []
    found = db.execute("SELECT seq, time, event FROM run_event WHERE run=? ORDER BY seq", (run,))
    return [RunEventRow(seq, time, bytes(event)) for seq, time, event in found]


def _row(row: tuple[str, str, int, int, bytes, bytes, str, str, int, bytes]) -> RunRow:
    name, session, created, updated, source, plan, sha256, status, seq, state = row
    shown = bytes(source).decode("utf-8", "replace")
    return RunRow(name, session, created, updated, shown, bytes(plan), sha256, status, seq, bytes(state))
