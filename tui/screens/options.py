"""What the front end is started with: data, made by the command line."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tui.messages import Attachment
from tui.settings import NotifyWord

if TYPE_CHECKING:
    from tui.agent.session import SessionOptions
    from tui.runs.plan import Plan

__all__ = ["AppOptions", "Elsewhere", "PlanGiven"]


class PlanGiven(msgspec.Struct, frozen=True):
    """A plan to work through at once: to begin with, or to go on with where its run is not over."""

    plan: Plan
    source: str
    """Its file."""
    yes: bool = False
    """The questions beside the approval of the checks are answered with yes."""


class Elsewhere(msgspec.Struct, frozen=True):
    """How the app may end: a session of another directory is to be gone on with, as if started there."""

    project: Path
    session: str


class AppOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to start the app. `session` makes the session's options late, so that nothing heavy is imported first."""

    session: Callable[[], SessionOptions]
    cwd: Path
    version: str
    prompt: str | None = None
    """Sent at once."""
    plan: PlanGiven | None = None
    """Begun at once."""
    pick: bool = False
    """Show the list of sessions at once."""
    attachments: tuple[Attachment, ...] = ()
    """What was piped in, sent with the prompt."""
    theme: str = ""
    theme_folders: tuple[Path, ...] = ()
    """Shipped folder first, then the user's."""
    history: Callable[[], Path] | None = None
    """The file with this project's earlier prompts; None keeps none."""
    environ: Mapping[str, str] = msgspec.field(default_factory=lambda: dict(os.environ))
    clock: Callable[[], float] = time.monotonic
    """Seconds; for spans on the screen."""
    key_clock: Callable[[], float] | None = None
    """Seconds; None takes the time at which the terminal gave the key."""
    export: Callable[[str, str], Awaitable[str]] | None = None
    """Writes the session of an id to a file and returns what is to be told."""
    local_ports: tuple[int, ...] | None = None
    """Where `/model` looks for servers on this machine; None: where the usual ones listen."""
    keymap: Mapping[str, str] = {}
    """A person's own keys for bindings, by the id of each."""
    vim: bool = False
    """Whether the editor has Vim's keys."""
    notify: NotifyWord = "both"
    """How a person is called who looks elsewhere."""
    notify_after: int = 10
    """Seconds of work after which its end is told."""
    notices: tuple[str, ...] = ()
    """Lines about the settings, shown once."""
