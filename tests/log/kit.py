"""Small makers of bodies, and other programs that use the log, for the tests of this folder."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from tui.log.entries import Answer, Entry, Notice, Prompt, Result, ToolStarted
from tui.messages import AssistantMessage, StopReason, Text, ToolResult, UserMessage

ROOT = Path(__file__).parents[2]


class Clock:
    """Milliseconds that pass only when told."""

    def __init__(self, now: int = 1_700_000_000_000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


@contextmanager
def raw(path: Path) -> Generator[sqlite3.Connection]:
    """A database as any other program may change it; sqlite3's own context manager does not close."""
    with closing(sqlite3.connect(path)) as db, db:
        yield db


def prompt(text: str, queued: str = "") -> Prompt:
    return Prompt(UserMessage((Text(text),)), queued=queued)


def answer(text: str) -> Answer:
    return Answer(AssistantMessage((Text(text),), StopReason.COMPLETE))


def started(call: str) -> ToolStarted:
    return ToolStarted(call, "bash")


def result(call: str, text: str = "done") -> Result:
    return Result(ToolResult(call, "bash", (Text(text),)))


def note(text: str) -> Notice:
    return Notice(text)


def texts(entries: Sequence[Entry]) -> list[str]:
    """Return the notices' texts."""
    return [entry.body.text for entry in entries if isinstance(entry.body, Notice)]


def other_program(script: str, *arguments: str) -> subprocess.Popen[str]:
    """Start another process with the log importable; its stdin and stdout are pipes of lines."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def line_of(program: subprocess.Popen[str]) -> str:
    """Return the next line another program prints."""
    assert program.stdout is not None
    return program.stdout.readline().strip()


def tell(program: subprocess.Popen[str], line: str) -> None:
    """Send a line to another program."""
    assert program.stdin is not None
    program.stdin.write(line + "\n")
    program.stdin.flush()


def end(program: subprocess.Popen[str]) -> int:
    """Close the pipes and wait."""
    for pipe in (program.stdin, program.stdout):
        assert pipe is not None
        pipe.close()
    return program.wait()


def stop(program: subprocess.Popen[str]) -> None:
    """Stop another program where it is, and return when it stands still."""
    os.kill(program.pid, signal.SIGSTOP)
    os.waitpid(program.pid, os.WUNTRACED)


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script in another process to its end."""
    command = [sys.executable, "-W", "error", "-c", script, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
