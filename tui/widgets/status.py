"""The status line: one row that says what goes on. Its timer runs only while something does."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from tui.widgets.glyphs import UNICODE, Glyphs
from tui.widgets.sanitise import one_line

__all__ = ["Phase", "Status", "StatusLine", "span", "status_content"]

Phase: TypeAlias = Literal[
    "starting",
    "idle",
    "requesting",
    "thinking",
    "answering",
    "tools",
    "approval",
    "retrying",
    "compacting",
    "verifying",
    "stopped",
]

_WORDS: dict[Phase, str] = {
    "starting": "opening the session",
    "idle": "ready",
    "requesting": "waiting for the model",
    "thinking": "thinking",
    "answering": "answering",
    "tools": "running",
    "approval": "waiting for you",
    "retrying": "trying again",
    "compacting": "handing over",
    "verifying": "checking",
    "stopped": "stopped",
}
_RATE_AFTER = 0.5
_SILENT_AFTER = 10.0
"""Seconds without a word from the model after which that is said."""


class Status(msgspec.Struct, frozen=True):
    """All the line shows. Times are seconds of one steady clock."""

    phase: Phase = "starting"
    detail: str = ""
    since: float = 0.0
    """When the exchange began."""
    retry_at: float = 0.0
    retry: str = ""
    """Which attempt, and why."""
    characters: int = 0
    """Streamed in this answer."""
    stream_since: float = 0.0
    heard: float = 0.0
    """When the model was asked, or last sent something."""
    queued: int = 0
    below: int = 0
    """Rows of the transcript that came below what is in view."""
    note: str = ""
    """A word for the person that stands until the next key, like `Ctrl+C again to quit`."""
    passing: bool = False
    """Whether the note is about what goes on now: it ends with that."""

    @property
    def busy(self) -> bool:
        """Whether time is running."""
        return self.phase not in ("idle", "stopped")


def span(seconds: float) -> str:
    """Return a duration for a person: `8s`, `2m 05s`, `1h 02m`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m {rest:02}s" if minutes < 60 else f"{minutes // 60}h {minutes % 60:02}m"


def status_content(status: Status, now: float, frame: int, glyphs: Glyphs = UNICODE) -> Content:
    """Return the line. Foreign words in it are made visible and never read as markup."""
    mark = glyphs.spinner[frame % len(glyphs.spinner)] if status.busy and status.phase != "approval" else glyphs.still
    style = {"idle": "$clew-dim", "approval": "$clew-warning", "stopped": "$clew-hard", "retrying": "$clew-warning"}
    parts: list[tuple[str, str]] = [(f"{mark} ", style.get(status.phase, "$clew-accent"))]
    parts.append((_doing(status, now), "$clew-dim" if status.phase == "idle" else "$clew-text"))
    parts += [(f" {glyphs.dot} {word}", "$clew-dim") for word in _facts(status, now)]
    if status.note:
        parts.append((f" {glyphs.dot} {one_line(status.note, 120)}", "$clew-warning"))
    return Content.assemble(*parts)


def _doing(status: Status, now: float) -> str:
    if status.phase == "retrying":
        left = max(0, math.ceil(status.retry_at - now))
        return f"trying again in {left}s: {one_line(status.retry, 90)}"  # what counts first: the row may be short
    detail = one_line(status.detail, 60)
    between = ": " if status.phase == "approval" else " "
    return f"{_WORDS[status.phase]}{between}{detail}" if detail else _WORDS[status.phase]


def _facts(status: Status, now: float) -> list[str]:
    facts: list[str] = []
    if status.busy and status.phase != "starting":
        facts.append(span(now - status.since))
    streaming = now - status.stream_since
    if status.phase in ("answering", "thinking") and streaming >= _RATE_AFTER and status.characters:
        facts.append(f"~{status.characters / 4 / streaming:.0f} tok/s")
    silent = now - status.heard
    if status.phase in ("requesting", "answering", "thinking") and silent >= _SILENT_AFTER:
        facts.append(f"no data for {span(silent)}")
    if status.queued:
        facts.append(f"{status.queued} waiting")
    if status.below:
        facts.append(f"{status.below} new lines below (Ctrl+End)")
    if status.busy and status.phase not in ("starting", "approval"):
        facts.append("Esc stops")
    return facts


def _beside_the_stream(status: Status, before: Status) -> Status:
    """Return the status with nothing new in it that each streamed word changes."""
    return msgspec.structs.replace(status, characters=before.characters, heard=before.heard)


class StatusLine(Widget):
    """One row, for ever. A frame repaints this row alone and never asks for a layout."""

    DEFAULT_CSS = """
    StatusLine { height: 1; width: 1fr; padding: 0 1; margin-top: 1; }
    StatusLine.-tight { margin-top: 0; }
    """

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, glyphs: Glyphs = UNICODE, still: bool = False
    ) -> None:
        super().__init__(id="status")
        self._clock = clock
        self._glyphs = glyphs
        self._still = still
        self._status = Status(since=clock())
        self._frame = 0
        self._timer: Timer | None = None

    @property
    def status(self) -> Status:
        """What is shown."""
        return self._status

    def on_mount(self) -> None:
        """Prepare the one timer; it is paused whenever nothing runs."""
        self._timer = self.set_interval(0.125, self._tick, name="status", pause=not self._status.busy)

    def show(self, status: Status) -> None:
        """Show `status` from now on."""
        before, self._status = self._status, status
        if self._timer is not None:
            if status.busy:
                self._timer.resume()
            else:
                self._timer.pause()
        if not status.busy or before != _beside_the_stream(status, before):
            self.refresh()  # how fast it streams is shown with the next tick: once for each word is too often to read

    def _tick(self) -> None:
        self._frame += not self._still
        self.refresh()

    def render(self) -> Content:
        """Return the row."""
        return status_content(self._status, self._clock(), self._frame, self._glyphs)
