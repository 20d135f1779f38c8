"""The seam of a tool: data plus a function.

The agent checks the arguments against the schema, asks for `preview`, applies the permission rules,
journals the start, then awaits `run`. Cancelling `run` ends the tool and all it started within 200 ms.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from tui.messages import Image, Json, ToolSpec
from tui.tools.text import Bounds

__all__ = ["Effect", "FileStates", "Outcome", "Preview", "SpillWriter", "Tool", "ToolContext", "ToolError"]


class Effect(enum.Enum):
    """What a call can change, which decides who is asked: reading is free."""

    READ = "read"
    EDIT = "edit"
    EXECUTE = "execute"


class ToolError(Exception):
    """A call that failed in a way the model can mend. `str()` says what happened, what was kept, what to do."""


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a call gave. `text` is already bounded; `full` is the whole output where `text` is a part of it."""

    text: str
    is_error: bool = False
    images: tuple[tuple[Image, bytes], ...] = ()
    details: dict[str, Json] = {}
    """For the screen and later checks; `details["type"]` is one of read, write, edit, bash, grep, find, ls, info."""
    full: bytes = b""


class Preview(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a call would do, for the person who decides: shown is exactly what is run."""

    title: str
    """One line: the command, or the path."""
    effect: Effect
    command: str = ""
    """The exact shell command, for rules that match simple commands."""
    paths: tuple[str, ...] = ()
    """Real paths it touches."""
    outside: tuple[str, ...] = ()
    """Those of `paths` outside the project's real root: always asked for, whatever the mode."""
    diff: str = ""
    """Unified diff of the change, computed on the real bytes."""
    warning: str = ""
    """Deceptive characters, overwritten files and the like."""
    error: str = ""
    """It cannot work; the model gets this as the result and nobody is asked."""


class FileStates(Protocol):
    """What the agent last saw of each file, by real path: survives resume through `details` in the log."""

    def seen(self, path: str) -> str | None:
        """Return the sha256 of the content last read or written, or None."""
        ...

    def note(self, path: str, sha256: str) -> None:
        """Remember the sha256 of what was just read or written."""
        ...


class SpillWriter(Protocol):
    """Where whole outputs go that are too long for the model."""

    def __call__(self, call_id: str, suffix: str = ".txt") -> Path:
        """Return the path of a new private file (0600) for this call's whole output."""
        ...


def _forget(_outcome: Outcome) -> None:
    """Leave nothing behind."""


class ToolContext(msgspec.Struct, frozen=True):
    """What a call may use. `progress` takes decoded live output for the screen; it may drop and coalesce."""

    root: Path
    """The project's real root."""
    cwd: Path
    call_id: str
    states: FileStates
    spill: SpillWriter
    progress: Callable[[str], None]
    environ: Mapping[str, str]
    """The environment for commands (keys of model providers are already removed)."""
    images: bool = False
    """Whether the model can see images."""
    bounds: Bounds = Bounds()
    """Most that a result may hold: less where the model's window is small."""
    settings: Mapping[str, Json] = {}
    """Per-tool settings: `bash.timeout` seconds, `bash.shell`, …"""
    leave: Callable[[Outcome], None] = _forget
    """For a tool that is being cancelled: what it had given until then; the result adds that it was stopped."""


class Tool(msgspec.Struct, frozen=True):
    """One tool. `preview` is quick and changes nothing; `run` raises `ToolError` or returns an `Outcome`."""

    spec: ToolSpec
    effect: Effect
    preview: Callable[[ToolContext, Mapping[str, Json]], Awaitable[Preview]]
    run: Callable[[ToolContext, Mapping[str, Json]], Awaitable[Outcome]]
