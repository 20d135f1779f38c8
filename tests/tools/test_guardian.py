"""What a call started ends with clew, however clew ends: clew itself is really killed here."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.tools.support import make_context, run
from tui.tools.bash import BASH

ROOT = Path(__file__).parents[2]
NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
TREES = {
    "a child": "sleep 600 & wait",
    "the shell itself": "exec sleep 600",
    "one that ignores TERM": "trap '' TERM HUP INT; (trap '' TERM HUP INT; sleep 600) & wait",
    "groups of job control": "set -m; sleep 600 & timeout 600 sleep 600",
    "a grandchild of a shell that has ended": "sh -c 'sleep 600 & exit'; sleep 600",
}


@contextmanager
def calling(tool: str, folder: Path, **args: object) -> Generator[subprocess.Popen[bytes]]:
    """Start a program that runs one call."""
    command = [sys.executable, "-m", "tests.tools.guarded", tool, str(folder), json.dumps(args)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as child:
        try:
            yield child
        finally:
            child.kill()


def killed(tmp_path: Path, tool: str, script: str) -> None:
    """Kill the program when the command has begun, and wait until all of the command is gone.

    All that the command starts inherits the writing end of a pipe: its end is the end of the last of them.
    """
    fifo = tmp_path / "held"
    os.mkfifo(fifo)
    with calling(tool, tmp_path, command=f"exec 9>{fifo}; echo ready >&9; {script}") as child, fifo.open("rb") as end:
        assert end.readline() == b"ready\n"
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert end.read() == b""


def guardians() -> list[int]:
    """Return the guardians of this very process."""
    found = [path.parent for path in Path("/proc").glob("[0-9]*/cmdline") if b"guardian.py" in read(path)]
    return [int(path.name) for path in found if f"PPid:\t{os.getpid()}\n".encode() in read(path / "status")]


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())
def test_nothing_outlives_a_clew_that_is_killed(tmp_path: Path, tree: str) -> None:
    killed(tmp_path, "bash", tree)


@NEEDS_PROC
@pytest.mark.skipif(shutil.which("setsid") is None, reason="needs setsid")
def test_nor_does_what_left_the_session(tmp_path: Path) -> None:
    killed(tmp_path, "bash", "setsid sleep 600 & sleep 600")


def test_nor_does_a_helper_of_a_search(tmp_path: Path) -> None:
    killed(tmp_path, "capture", "sleep 600")


@NEEDS_PROC
@pytest.mark.anyio
async def test_a_guardian_that_was_ended_is_replaced(tmp_path: Path) -> None:
    await run(BASH, make_context(tmp_path), command="true")
    (first,) = guardians()
    os.kill(first, signal.SIGKILL)
    assert (await run(BASH, make_context(tmp_path), command="echo on")).text == "on"
    (second,) = guardians()
    assert second != first
