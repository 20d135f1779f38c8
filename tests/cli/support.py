"""Runs `clew` as its users do: a process of its own, in a pipe or in a terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

ROOT = Path(__file__).resolve().parent.parent.parent
Env: TypeAlias = Mapping[str, str | None]
"""Changes to the environment; None removes a variable."""
Program: TypeAlias = Sequence[str]
CLEW: Program = ("-m", "tui")
NO_CHANGES: Env = MappingProxyType({})
LIMIT = 60.0
"""Seconds after which a process that does not end fails its test."""


def environment(changes: Env = NO_CHANGES) -> dict[str, str]:
    """Return this test's environment with `changes`; None removes a variable."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", "PYTHONDONTWRITEBYTECODE": "1"}
    for name, value in changes.items():
        if value is None:
            environ.pop(name, None)
        else:
            environ[name] = value
    return environ


def clew(
    *arguments: str | bytes, stdin: bytes = b"", cwd: Path | None = None, env: Env = NO_CHANGES
) -> subprocess.CompletedProcess[bytes]:
    """Run `clew` with its streams in pipes."""
    command: list[str | bytes] = [sys.executable, "-m", "tui", *arguments]
    return subprocess.run(
        command, input=stdin, capture_output=True, cwd=cwd, env=environment(env), check=False, timeout=LIMIT
    )


def in_terminal(
    *arguments: str,
    typed: bytes = b"",
    after: bytes = b": ",
    cwd: Path | None = None,
    env: Env = NO_CHANGES,
    program: Program = CLEW,
    errors: Path | None = None,
) -> tuple[int, bytes]:
    """Run `clew` (or another Python program) in a pty; return its status and all it showed.

    `typed` is given once, when `after` has been shown. stderr goes to the file `errors`, where one is named.
    """
    terminal, inner = pty.openpty()
    command = [sys.executable, *program, *arguments]
    with (errors or Path(os.devnull)).open("wb") as file:
        child = subprocess.Popen(
            command,
            stdin=inner,
            stdout=inner,
            stderr=file if errors else inner,
            cwd=cwd,
            env=environment(env),
            start_new_session=True,
        )
    os.close(inner)
    shown = b""
    try:
        while chunk := _read(terminal):
            shown += chunk
            if typed and after in shown:
                os.write(terminal, typed)
                typed = b""
        return child.wait(LIMIT), shown
    finally:
        child.kill()
        child.wait()
        os.close(terminal)


def _read(terminal: int) -> bytes:
    if not select.select([terminal], [], [], LIMIT)[0]:
        return b""
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says EIO when the last holder of the other side has gone
        return b""
