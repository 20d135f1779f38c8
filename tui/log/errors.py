"""Everything that can go wrong with the log, as one small tree.

Each message says what happened, what was kept, and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tui.log.entries import Entry

__all__ = [
    "AmbiguousSession",
    "Damaged",
    "DuplicateResult",
    "EntryNotFound",
    "ImportRefused",
    "LeaseHeld",
    "LeaseLost",
    "LogClosed",
    "LogError",
    "LogUnwritable",
    "NewerSchema",
    "NothingToContinue",
    "RunHeld",
    "RunLost",
    "SessionNotFound",
    "SqliteUnfit",
]


class LogError(Exception):
    """Base of all errors of the log."""


class LogClosed(LogError):
    """The store or session was closed before."""


class SqliteUnfit(LogError):
    """The SQLite of this Python is too old or lacks full-text search."""


class LogUnwritable(LogError):
    """Disk full, read-only, locked for too long, or an I/O error. It was rolled back: nothing is half written."""


class LeaseHeld(LogError):
    """Another live program writes this session. `owner` describes it."""

    def __init__(self, session: str, owner: str) -> None:
        super().__init__(
            f"Session {session} is being written by {owner}. Nothing was changed. "
            "Open it to follow only, fork it, or close the other window."
        )
        self.session = session
        self.owner = owner


class LeaseLost(LogError):
    """Another program took this session over while this one slept; this one may only read from now on."""

    def __init__(self, session: str) -> None:
        super().__init__(
            f"Session {session} was taken over by another window. What was saved before is kept; "
            "this write was refused. Go on in the other window, or fork the session here."
        )
        self.session = session


class RunHeld(LogError):
    """A live process works on another run of this project. `owner` describes it."""

    def __init__(self, run: str, owner: str) -> None:
        super().__init__(
            f"Another run of this project is worked on by {owner}. Nothing was changed. "
            "Wait for it, or pause it there (/run pause)."
        )
        self.run = run
        self.owner = owner


class RunLost(LogError):
    """Another process took the project's runs up, or wrote this run, while this one slept."""

    def __init__(self, run: str) -> None:
        super().__init__(
            f"Run {run} is not this window's any more: another process took the runs of this project up. "
            "This step was refused and what was written before is kept. `clew run status` shows who works."
        )
        self.run = run


class NewerSchema(LogError):
    """The database was written by a newer version in a form this one cannot read."""

    def __init__(self, path: Path, found: int, known: int) -> None:
        super().__init__(
            f"{path} has log format {found}; this version of clew reads up to {known}. "
            "Nothing was changed. Use the newer clew, or start with --no-session."
        )
        self.found = found


class SessionNotFound(LogError):
    """No session has this id. Never used for a damaged one."""

    def __init__(self, session: str) -> None:
        super().__init__(f"There is no session {session}. `clew sessions` lists those there are.")
        self.session = session


class ImportRefused(LogError):
    """A file was not imported at all; nothing was changed."""


class RebindRefused(LogError):
    """The sessions of a directory were not made another's; nothing was changed."""


class NothingToContinue(LogError):
    """There is no session here to go on with, and nobody who could be told that a new one begins."""

    def __init__(self, moved: Sequence[Path] = ()) -> None:
        """Name `moved`, the projects whose directory seems to be this one now."""
        before = "".join(
            f" This directory seems to be {project} of before: `clew sessions rebind DIR` with that name brings its "
            "sessions here."
            for project in moved
        )
        super().__init__(
            f"There is no session to continue in this directory; nothing was sent. Without -c one begins.{before}"
        )


class AmbiguousSession(LogError):
    """More than one session starts with these letters."""

    def __init__(self, prefix: str, candidates: Sequence[str]) -> None:
        shown = ", ".join(candidates[:8])
        super().__init__(f"{len(candidates)} sessions start with {prefix!r}: {shown}. Give more letters.")
        self.candidates = tuple(candidates)


class EntryNotFound(LogError):
    """No entry of this session's tree has this id."""

    def __init__(self, entry: str) -> None:
        super().__init__(f"There is no entry {entry} in this session. Nothing was changed.")
        self.entry = entry


class Damaged(LogError):
    """Part of the log cannot be read: a named gap, never silence.

    `gaps` are inclusive ranges of depths on this path that are lost (empty where it is not about entries);
    `kept` are the entries of the wanted range that could be read, oldest first.
    """

    def __init__(self, what: str, *, gaps: Sequence[tuple[int, int]] = (), kept: Sequence[Entry] = ()) -> None:
        super().__init__(f"{what} The file was not changed. `clew doctor` says what is left and what to do.")
        self.what = what
        self.gaps = tuple(gaps)
        self.kept = tuple(kept)


class DuplicateResult(LogError):
    """The call already has its one durable result on this path; the late one was not written."""

    def __init__(self, call_id: str) -> None:
        super().__init__(
            f"Call {call_id} already has its result. The first one is kept; this one was not written. "
            "Nothing needs doing."
        )
        self.call_id = call_id
