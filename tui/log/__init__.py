"""The log: append-only entries in SQLite, one path from root to leaf, one writer.

In: bodies to append, small mutable rows (draft, title). Out: entries by range scan, never a second copy
of the history. Knows no provider and no screen.

The store and SQLite are loaded when they are first named: the first paint needs the kinds of entry alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from tui.log.errors import (
    AmbiguousSession,
    Damaged,
    DuplicateResult,
    EntryNotFound,
    ImportRefused,
    LeaseHeld,
    LeaseLost,
    LogClosed,
    LogError,
    LogUnwritable,
    NewerSchema,
    RunHeld,
    RunLost,
    SessionNotFound,
    SqliteUnfit,
)

if TYPE_CHECKING:
    from tui.log.catalogue import Found, find_session, rebuild
    from tui.log.check import Finding, check
    from tui.log.found import Findings, Hit, Passage, Search
    from tui.log.protocol import SessionInfo, SessionLog, now_ms
    from tui.log.runs import RunEventRow, RunRow, RunWrite
    from tui.log.session import MemorySession, Session
    from tui.log.store import Store

_LATE = {
    "Found": "catalogue",
    "find_session": "catalogue",
    "rebuild": "catalogue",
    "Finding": "check",
    "check": "check",
    "SessionInfo": "protocol",
    "SessionLog": "protocol",
    "now_ms": "protocol",
    "Findings": "found",
    "Hit": "found",
    "Passage": "found",
    "Search": "found",
    "RunEventRow": "runs",
    "RunRow": "runs",
    "RunWrite": "runs",
    "MemorySession": "session",
    "Session": "session",
    "Store": "store",
}


def __getattr__(name: str) -> object:
    """Load what is named, once (PEP 562)."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"tui.log.{_LATE[name]}"), name)
    return value


__all__ = [
    "AmbiguousSession",
    "Damaged",
    "DuplicateResult",
    "EntryNotFound",
    "Finding",
    "Findings",
    "Found",
    "Hit",
    "ImportRefused",
    "LeaseHeld",
    "LeaseLost",
    "LogClosed",
    "LogError",
    "LogUnwritable",
    "MemorySession",
    "NewerSchema",
    "Passage",
    "RunEventRow",
    "RunHeld",
    "RunLost",
    "RunRow",
    "RunWrite",
    "Search",
    "Session",
    "SessionInfo",
    "SessionLog",
    "SessionNotFound",
    "SqliteUnfit",
    "Store",
    "check",
    "find_session",
    "now_ms",
    "rebuild",
]
