"""The log: append-only entries in SQLite, one path from root to leaf, one writer.

In: bodies to append, small mutable rows (draft, title). Out: entries by range scan, never a second copy
of the history. Knows no provider and no screen.
"""

from tui.log.catalogue import Found, find_session, rebuild
from tui.log.check import Finding, check
from tui.log.errors import (
    AmbiguousSession,
    Damaged,
    DuplicateResult,
    EntryNotFound,
    LeaseHeld,
    LeaseLost,
    LogClosed,
    LogError,
    LogUnwritable,
    NewerSchema,
    SessionNotFound,
    SqliteUnfit,
)
from tui.log.protocol import SessionInfo, SessionLog, now_ms
from tui.log.session import MemorySession, Session
from tui.log.store import Store

__all__ = [
    "AmbiguousSession",
    "Damaged",
    "DuplicateResult",
    "EntryNotFound",
    "Finding",
    "Found",
    "LeaseHeld",
    "LeaseLost",
    "LogClosed",
    "LogError",
    "LogUnwritable",
    "MemorySession",
    "NewerSchema",
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
