"""Processes a command started: found by session and by a mark in their environment, and ended.

The session is what holds a command together: job control and `timeout` make new process groups, but
only setsid makes a new session. A daemon that left it is found by the mark, where the system shows the
environment of a process (Linux); one that also cleared its environment is not found: the documented limit.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

__all__ = ["MARK", "Survivor", "in_session", "kill", "marked", "signal_name"]

MARK = "CLEW_CALL"
"""The environment variable that names the call a process belongs to."""
_PROC = Path("/proc")


class Survivor(msgspec.Struct, frozen=True):
    """A process that is still there."""

    pid: int
    command: str


def _pids() -> Iterator[int]:
    if (_PROC / "self" / "stat").exists():
        yield from (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())
        return
    listed = subprocess.run(["ps", "-axo", "pid="], capture_output=True, check=False, timeout=1)
    yield from (int(word) for word in listed.stdout.split())


def _is_zombie(pid: int) -> bool:
    """Whether it has ended and only waits to be collected: that is no survivor."""
    try:
        stat = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return False
    return stat.rpartition(b")")[2].split()[:1] in ([b"Z"], [b"X"])


def in_session(session: int) -> tuple[int, ...]:
    """Return the living processes of a session, its leader included."""
    found: list[int] = []
    for pid in _pids():
        try:
            if os.getsid(pid) == session and not _is_zombie(pid):
                found.append(pid)
        except OSError:
            continue
    return tuple(sorted(found))


def marked(mark: str) -> tuple[Survivor, ...]:
    """Return the living processes whose environment carries `mark`; empty where the system does not tell."""
    if not (_PROC / "self" / "environ").exists():
        return ()
    wanted = f"{MARK}={mark}".encode()
    found = [pid for pid in _pids() if wanted in _read(pid, "environ").split(b"\0") and not _is_zombie(pid)]
    return tuple(Survivor(pid, _command(pid)) for pid in sorted(found))


def _read(pid: int, name: str) -> bytes:
    try:
        return (_PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""


def _command(pid: int) -> str:
    words = _read(pid, "cmdline").rstrip(b"\0").split(b"\0")
    return b" ".join(words).decode("utf-8", "replace")[:200]


def kill(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to each; one that is gone already, or not ours, is passed over."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def signal_name(number: int) -> str:
    """Return `SIGKILL` for 9."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
