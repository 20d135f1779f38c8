"""How an exchange without a screen ended: pure, from its events to an exit status."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import assert_never

import msgspec

from tui.agent.events import AgentEvent, EntryAdded
from tui.log.entries import Answer, Prompt, Result, Settled
from tui.models.base import ModelInfo

__all__ = ["Exchanged", "Exit", "status_of"]


class Exit(enum.IntEnum):
    """The exit statuses, a contract for scripts."""

    ANSWERED = 0
    ERROR = 1
    USAGE = 2
    BOUND = 3
    PERSON = 4
    INTERRUPTED = 130


class Opened(msgspec.Struct, frozen=True):
    """What is known when a session is open."""

    session: str
    cwd: Path
    model: ModelInfo
    persisted: bool
    unconnected: bool = False
    """No model was named and none was found."""


class Ended(msgspec.Struct, frozen=True):
    """How an exchange ended, or why none began."""

    status: Exit
    settled: Settled
    text: str
    """The visible words of the newest answer, or the report of a run."""
    whole: bool = False
    """The text is true whatever the end was: a report."""


class Exchanged:
    """What of an exchange decides its result: fed with every event, in order."""

    def __init__(self) -> None:
        self.text = ""
        """The visible words of the newest answer."""
        self.refused = False
        """A call was refused since there was nobody to ask."""

    def see(self, event: AgentEvent) -> None:
        """Take note of one event."""
        body = event.entry.body if isinstance(event, EntryAdded) else None
        if isinstance(body, Prompt) and not body.steer:
            self.text, self.refused = "", False
        elif isinstance(body, Answer):
            self.text = body.message.text
        elif isinstance(body, Result) and body.refused == "denied":
            self.refused = True


def status_of(settled: Settled, *, refused: bool) -> Exit:
    """Return the exit status of an exchange. A refusal matters only where no complete answer came after it."""
    match settled.reason:
        case "answered":
            return Exit.ANSWERED
        case "aborted" | "interrupted":
            return Exit.INTERRUPTED
        case "bound":
            return Exit.BOUND
        case "needs-person" | "handoff":
            return Exit.PERSON
        case "length" | "empty" | "refusal" | "error" | "context-full":
            return Exit.PERSON if refused else Exit.ERROR
        case _:
            assert_never(settled.reason)
