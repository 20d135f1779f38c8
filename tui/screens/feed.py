"""Feeds the transcript: entries become blocks, deltas stream into the last one."""

from __future__ import annotations

from collections.abc import Sequence

from textual.widgets import Static

from tui.agent.events import AgentEvent
from tui.log.entries import Entry
from tui.screens.look import Look

__all__ = ["TranscriptFeed"]


class TranscriptFeed:
    """The one way into the transcript."""

    def __init__(self, look: Look) -> None:
        self.transcript = Static("", id="transcript", markup=False)
        self._look = look

    def load(self, branch: Sequence[Entry]) -> None:
        """Show a branch in place of what is there."""

    def show(self, event: AgentEvent) -> None:
        """Show one event."""

    def scroll(self, where: str) -> None:
        """Scroll."""

    def fold(self) -> None:
        """Fold."""
