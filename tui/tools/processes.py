"""Processes a command started: found by session and by a mark in their environment, and ended.

The session is what holds a command together: job control and `timeout` make new process groups, but
only setsid makes a new session. A daemon that left it is found by the mark, where the system shows the
environment of a process (Linux); one that also cleared its environment is not found: the documented limit.
"""

from __future__ import annotations

import signal

import msgspec

from tui.tools.guardian import MARK, in_session, kill, marked_pids, read_proc

__all__ = ["MARK", "Survivor", "in_session", "kill", "marked", "signal_name"]


class Survivor(msgspec.Struct, frozen=True):
    """A process that is still there."""

    pid: int
    command: str


def marked(mark: str) -> tuple[Survivor, ...]:
    """Return the living processes whose environment carries `mark`; empty where the system does not tell."""
    return tuple(Survivor(pid, _command(pid)) for pid in marked_pids(mark))


def _command(pid: int) -> str:
    words = read_proc(pid, "cmdline").rstrip(b"\0").split(b"\0")
    return b" ".join(words).decode("utf-8", "replace")[:200]


def signal_name(number: int) -> str:
    """Return `SIGKILL` for 9."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
