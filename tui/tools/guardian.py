"""A program of its own that outlives clew for a moment: it ends what running calls started when clew is gone.

clew holds the other end of this program's input and names each command before it may begin. However clew
ends, SIGKILL included, the system closes that end; whatever was named and not taken back is then ended as after
Esc. Run as a script without site packages: only the standard library, and little of it, may be imported here.

    +PID MARK    a command's session and the mark in its environment
    -PID         its call is over
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["MARK", "end", "in_session", "kill", "marked_pids"]

MARK = "CLEW_CALL"
"""The environment variable that names the call a process belongs to."""
_PROC = Path("/proc")
_GRACE = 0.1
"""Seconds between TERM and KILL: nobody waits for the result any more."""
_LOOK_EVERY = 0.01
_LOOKS = 500
"""Most looks for what will not go: five seconds."""


def read_proc(pid: int, name: str) -> bytes:
    """Return `/proc/PID/NAME`, or nothing where it cannot be read."""
    try:
        return (_PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""


def pids(proc: Path = _PROC) -> Iterator[int]:
    """Yield the ids of all processes, as `ps` says where there is no /proc (macOS); none where neither tells."""
    if (proc / "self" / "stat").exists():
        yield from (int(entry.name) for entry in proc.iterdir() if entry.name.isdigit())
        return
    try:
        listed = subprocess.run(["ps", "-axo", "pid="], capture_output=True, check=False, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return
    yield from (int(word) for word in listed.stdout.split())


def _is_zombie(pid: int) -> bool:
    """Whether it has ended and only waits to be collected: that is no survivor."""
    return read_proc(pid, "stat").rpartition(b")")[2].split()[:1] in ([b"Z"], [b"X"])


def in_session(session: int) -> tuple[int, ...]:
    """Return the living processes of a session, its leader included."""
    found: list[int] = []
    for pid in pids():
        try:
            if os.getsid(pid) == session and not _is_zombie(pid):
                found.append(pid)
        except OSError:
            continue
    return tuple(sorted(found))


def marked_pids(mark: str) -> tuple[int, ...]:
    """Return the living processes whose environment carries `mark`; empty where the system does not tell."""
    if not (_PROC / "self" / "environ").exists():
        return ()
    wanted = f"{MARK}={mark}".encode()
    found = [pid for pid in pids() if wanted in read_proc(pid, "environ").split(b"\0") and not _is_zombie(pid)]
    return tuple(sorted(found))


def kill(processes: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to each; one that is gone already, or not ours, is passed over."""
    for pid in processes:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def end(named: dict[int, str]) -> None:
    """End the sessions, by their leader, and what left them with its mark: TERM, then KILL until nothing is there."""
    kill(_left(named), signal.SIGTERM)
    killing_from = time.monotonic() + _GRACE
    quiet = 0
    for _ in range(_LOOKS):
        left = _left(named)
        # Looked for twice: one that is just replacing its program shows no environment for a moment.
        quiet = 0 if left else quiet + 1
        if quiet == 2:
            return
        if time.monotonic() >= killing_from:
            kill(left, signal.SIGKILL)
        time.sleep(_LOOK_EVERY)


def _left(named: dict[int, str]) -> set[int]:
    sessions = (pid for session in named for pid in in_session(session))
    return {*sessions, *(pid for mark in named.values() for pid in marked_pids(mark))}


def _main() -> None:
    named: dict[int, str] = {}
    for line in sys.stdin:
        pid, _, mark = line[1:].strip().partition(" ")
        if line.startswith("+"):
            named[int(pid)] = mark
        else:
            named.pop(int(pid), None)
    if named:
        end(named)


if __name__ == "__main__":
    _main()
