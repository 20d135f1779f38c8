"""One writer per session: who holds it, whether they still live, and taking it over.

The row stays when a lease is given back, so that its generation only ever grows. Every write transaction
checks the generation: a sleeper whose lease was taken is refused, whatever it believes.
"""

from __future__ import annotations

import enum
import os
import socket
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec

from tui.log.errors import LeaseHeld, LeaseLost

__all__ = [
    "BEAT_MS",
    "STALE_MS",
    "Lease",
    "LeaseRow",
    "Owner",
    "Verdict",
    "alive",
    "anyone",
    "beat",
    "check",
    "judge",
    "ours",
    "process_start",
    "release",
    "start_by_ps",
    "take",
    "this_owner",
]

BEAT_MS = 10_000
"""A holder shows a sign of life this often."""
STALE_MS = 60_000
"""After so long without one, a lease may be taken even where the owner cannot be seen to be dead."""
_PLAIN = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C", "TZ": "UTC"}
"""What other programs are asked in: their words must not depend on a person's locale and time zone."""


class Owner(msgspec.Struct, frozen=True):
    """A process, for ever: no other one, on any machine or after any restart, is equal to it."""

    pid: int
    host: str
    """Host name and process-id space, since containers share the one without the other."""
    boot: str
    started: str


class LeaseRow(msgspec.Struct, frozen=True):
    """What the database knows of a session's lease. `owner` is None where it was given back."""

    generation: int
    owner: Owner | None
    heartbeat: int
    """Milliseconds since 1970, UTC."""


class Lease(msgspec.Struct, frozen=True):
    """The right to write one session, for as long as its generation is the newest."""

    session: str
    generation: int


class Verdict(enum.Enum):
    """Whether a lease can be taken."""

    FREE = "free"
    DEAD = "dead"
    STALE = "stale"
    HELD = "held"


StartOf = Callable[[int], str | None]


def judge(row: LeaseRow | None, me: Owner, now: int, start_of: StartOf) -> Verdict:
    """Decide whether a lease is free. `start_of` tells when a process of this host began, None if there is none."""
    if row is None or row.owner is None:
        return Verdict.FREE
    owner = row.owner
    if owner.host == me.host and (owner.boot != me.boot or start_of(owner.pid) != owner.started):
        return Verdict.DEAD
    return Verdict.STALE if now - row.heartbeat > STALE_MS else Verdict.HELD


def take(
    db: sqlite3.Connection, session: str, me: Owner, now: int, start_of: StartOf, *, by_force: bool = False
) -> Lease:
    """Take a session's lease inside the caller's transaction. Raises `LeaseHeld`, unless `by_force`."""
    row = _row(db, session)
    held = "" if by_force else _holder(row, me, now, start_of)
    if held:
        raise LeaseHeld(session, held)
    generation = row.generation + 1 if row else 1
    db.execute(
        "INSERT OR REPLACE INTO lease(session, generation, pid, host, boot, started, heartbeat) VALUES(?,?,?,?,?,?,?)",
        (session, generation, me.pid, me.host, me.boot, me.started, now),
    )
    return Lease(session, generation)


def _holder(row: LeaseRow | None, me: Owner, now: int, start_of: StartOf) -> str:
    if row is None or row.owner is None or judge(row, me, now, start_of) is not Verdict.HELD:
        return ""
    return _describe(row.owner, now - row.heartbeat)


def ours(db: sqlite3.Connection, lease: Lease) -> bool:
    """Whether a lease is still the newest one of its session."""
    row = db.execute("SELECT generation FROM lease WHERE session=?", (lease.session,)).fetchone()
    return row is not None and row[0] == lease.generation


def check(db: sqlite3.Connection, lease: Lease, now: int) -> None:
    """Make sure the lease is still ours, inside the transaction that relies on it. Raises `LeaseLost`."""
    row = db.execute("SELECT generation, heartbeat FROM lease WHERE session=?", (lease.session,)).fetchone()
    if row is None or row[0] != lease.generation:
        raise LeaseLost(lease.session)
    if abs(now - row[1]) >= BEAT_MS:
        beat(db, lease, now)


def anyone(db: sqlite3.Connection, now: int) -> bool:
    """Whether any session of the database is held by a live process."""
    sessions = [row[0] for row in db.execute("SELECT session FROM lease WHERE pid IS NOT NULL")]
    if not sessions:
        return False
    me = this_owner()
    return any(judge(_row(db, session), me, now, process_start) is Verdict.HELD for session in sessions)


def beat(db: sqlite3.Connection, lease: Lease, now: int) -> bool:
    """Show a sign of life; False if the lease was taken over."""
    changed = db.execute(
        "UPDATE lease SET heartbeat=? WHERE session=? AND generation=?", (now, lease.session, lease.generation)
    )
    return changed.rowcount == 1


def release(db: sqlite3.Connection, lease: Lease) -> None:
    """Give a lease back; does nothing if it was taken over."""
    db.execute("UPDATE lease SET pid=NULL WHERE session=? AND generation=?", (lease.session, lease.generation))


def alive(db: sqlite3.Connection, session: str, me: Owner, now: int, start_of: StartOf) -> str:
    """Return which process holds a session's lease, as far as it lives; empty where nobody does."""
    row = _row(db, session)
    if row is None or row.owner is None or judge(row, me, now, start_of) is not Verdict.HELD:
        return ""
    return _describe(row.owner, now - row.heartbeat)


def _row(db: sqlite3.Connection, session: str) -> LeaseRow | None:
    row = db.execute(
        "SELECT generation, pid, host, boot, started, heartbeat FROM lease WHERE session=?", (session,)
    ).fetchone()
    if row is None:
        return None
    generation, pid, host, boot, started, heartbeat = row
    owner = None if pid is None else Owner(pid, host, boot, started)
    return LeaseRow(generation, owner, heartbeat)


def _describe(owner: Owner, silent_ms: int) -> str:
    return (
        f"process {owner.pid} on {owner.host.partition('/')[0]} (last sign of life {max(silent_ms, 0) // 1000} s ago)"
    )


def this_owner() -> Owner:
    """Return this process as an owner."""
    pid = os.getpid()
    host = f"{socket.gethostname()}/{_pid_space()}"
    return Owner(pid, host, _boot(), process_start(pid) or "")


def process_start(pid: int) -> str | None:
    """Return when a process of this host started, in the system's own words; None if it is gone or a zombie."""
    if not Path("/proc/self/stat").exists():
        return start_by_ps(pid)
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if len(fields) < 20 or fields[0] in {b"Z", b"X"} else fields[19].decode()


def start_by_ps(pid: int) -> str | None:
    """Return the same where there is no /proc (macOS): the same words in every terminal, whatever its locale."""
    state, _, started = _output("ps", "-o", "stat=", "-o", "lstart=", "-p", str(pid)).partition(" ")
    return None if not started or state.startswith("Z") else started.strip()


def _pid_space() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return _output("sysctl", "-n", "kern.bootsessionuuid")


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, timeout=2, check=False, env=_PLAIN)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").strip()
