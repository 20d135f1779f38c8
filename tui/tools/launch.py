"""How tools start programs: none begins before the guardian knows it, so that none outlives clew.

The program is started behind a gate: a shell that waits for one line and then becomes the program. Between
the two the guardian is told. A clew that is killed before that line leaves a gate whose input is at its end,
and one that is killed later leaves a guardian that ends the whole session. PR_SET_PDEATHSIG would reach
neither grandchildren nor macOS.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import anyio
import anyio.abc

from tui.tools import guardian
from tui.tools.guardian import MARK

__all__ = ["capture", "release", "start"]

_SHELL = "/bin/sh"
# The line is the mark itself: whatever else is in the environment stays as it was given.
_GATE = f'read -r {MARK} && exec "$@"'
_GATE_NO_INPUT = f"{_GATE} </dev/null"


class _Guard:
    """The way to the guardian: one for this process, started with the first program and ended with it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._named: dict[int, str] = {}

    def name(self, pid: int, mark: str) -> None:
        """Have a session ended with clew. Raises `OSError` where no guardian can be started."""
        self._named[pid] = mark
        if not self._say(f"+{pid} {mark}\n"):
            self._restart()

    def release(self, pid: int) -> None:
        """Take a session back: its call is over."""
        if self._named.pop(pid, None) is not None:
            self._say(f"-{pid}\n")

    def _say(self, line: str) -> bool:
        if self._process is None or self._process.stdin is None:
            return False
        try:
            os.write(self._process.stdin.fileno(), line.encode())
        except OSError:  # it was ended from outside, or does not read any more
            return False
        return True

    def _restart(self) -> None:
        if self._process is None:
            atexit.register(self.close)
        else:
            self._process.kill()
            self.close()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(guardian.__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            env={},
            start_new_session=True,
        )
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        for pid, mark in self._named.items():
            self._say(f"+{pid} {mark}\n")

    def close(self) -> None:
        """Close its input and wait for its end; with nothing named it goes at once."""
        if self._process is not None:
            with self._process:
                pass


_GUARD = _Guard()


async def start(
    command: Sequence[str],
    *,
    mark: str,
    cwd: Path | None,
    env: Mapping[str, str],
    stdout: int | IO[bytes],
    stderr: int,
    feeds: bool = False,
) -> anyio.abc.Process:
    """Start a program in a session of its own; `feeds` keeps its input open, else it is at its end.

    The caller ends the session, then calls `release`. Shielded: a cancel between fork and return would lose
    the process. Raises `OSError` where it cannot be started.
    """
    process: anyio.abc.Process | None = None
    with anyio.CancelScope(shield=True):
        process = await anyio.open_process(
            [_SHELL, "-c", _GATE if feeds else _GATE_NO_INPUT, _SHELL, *command],
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            cwd=cwd,
            env={**env, MARK: mark},
            start_new_session=True,
        )
        assert process.stdin is not None
        try:
            _GUARD.name(process.pid, mark)
        except OSError:
            await process.aclose()
            raise
        with suppress(anyio.BrokenResourceError):  # somebody has ended it already; its status says so
            await process.stdin.send(f"{mark}\n".encode())
        if not feeds:
            await process.stdin.aclose()
    assert process is not None
    return process


def release(process: anyio.abc.Process) -> None:
    """Say that nothing of this program's session is left."""
    _GUARD.release(process.pid)


async def capture(
    command: Sequence[str], *, mark: str, cwd: Path | None = None, env: Mapping[str, str], given: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end and return all it printed; a cancel kills it. Raises `OSError`."""
    process = await start(
        command, mark=mark, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, feeds=bool(given)
    )
    out, err = bytearray(), bytearray()
    try:
        async with process, anyio.create_task_group() as tasks:
            tasks.start_soon(_collect, process.stdout, out)
            tasks.start_soon(_collect, process.stderr, err)
            if given:
                tasks.start_soon(_give, process.stdin, given)
            await process.wait()
    finally:
        release(process)
    assert process.returncode is not None
    return subprocess.CompletedProcess(list(command), process.returncode, bytes(out), bytes(err))


async def _collect(stream: anyio.abc.ByteReceiveStream | None, into: bytearray) -> None:
    assert stream is not None
    async for piece in stream:
        into += piece


async def _give(stream: anyio.abc.ByteSendStream | None, given: bytes) -> None:
    assert stream is not None
    try:
        await stream.send(given)
    except anyio.BrokenResourceError:
        return  # it ended without reading; its status says why
    await stream.aclose()
