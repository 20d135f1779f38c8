"""Where a session without a screen writes: the answer as text, or every event as JSON."""

from __future__ import annotations

import sys
from typing import Protocol

from tui.agent.events import AgentEvent
from tui.headless.events import end_line, event_line, session_line
from tui.headless.notes import ending_note, notes
from tui.headless.outcome import Ended, Opened
from tui.plain import plain_text
from tui.streams import say, write_bytes

__all__ = ["JsonSink", "Sink", "TextSink"]

_REHEARSAL = (
    "No model is connected, so the rehearsal answers. "
    "Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or give --base-url and --model."
)
_PRINTED = ("answered", "length", "refusal")
"""After these what the model said last is an answer, whole or cut; after others it would look like one."""


class Sink(Protocol):
    """Takes a session's events. Each may raise `BrokenPipeError`: the reader of stdout has gone."""

    def begin(self, opened: Opened) -> None:
        """Take note that the session is open."""
        ...

    def event(self, event: AgentEvent) -> None:
        """Take note of what happened."""
        ...

    def end(self, ended: Ended) -> None:
        """Take note that the exchange is over, or never began."""
        ...


class TextSink:
    """Print mode: the final answer to stdout, all else to stderr."""

    def __init__(self) -> None:
        self._newest = ""
        """What was told last."""

    def begin(self, opened: Opened) -> None:
        """Name the model that is not a real one, so that nobody takes its words for more."""
        if opened.model.provider == "rehearsal" and opened.unconnected:
            say(_REHEARSAL)

    def event(self, event: AgentEvent) -> None:
        """Tell what is worth a line."""
        for line in notes(event):
            self._newest = line
            say(line)

    def end(self, ended: Ended) -> None:
        """Print the answer, the same to a terminal and to a pipe; what was told just now is not said again."""
        note = ending_note(ended.settled)
        if note and not (self._newest and note.endswith(self._newest)):
            say(note)
        if (ended.settled.reason in _PRINTED or ended.whole) and ended.text:
            shown = plain_text(ended.text)
            sys.stdout.write(shown if shown.endswith("\n") else shown + "\n")
        sys.stdout.flush()


class JsonSink:
    """JSON mode: every event at once on a line of its own."""

    def begin(self, opened: Opened) -> None:
        """Print the first line."""
        write_bytes(session_line(opened))

    def event(self, event: AgentEvent) -> None:
        """Print one event."""
        write_bytes(event_line(event))

    def end(self, ended: Ended) -> None:
        """Print the last line; what went wrong is said on stderr too."""
        if note := ending_note(ended.settled):
            say(note)
        write_bytes(end_line(ended))
