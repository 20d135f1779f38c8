"""What `--mode json` prints: the events of the agent as lines, between a first and a last line of its own."""

from __future__ import annotations

from tui import __version__
from tui.agent.events import AgentEvent, EntryAdded
from tui.headless.outcome import Ended, Opened
from tui.log.jsonl import as_line, entry_object
from tui.messages import Json, clean

__all__ = ["VERSION", "end_line", "event_line", "session_line"]

VERSION = 1
"""Of the format; a new event or field keeps it, anything else raises it."""


def session_line(opened: Opened) -> bytes:
    """Return the first line: what speaks, and about which session."""
    return as_line(
        {
            "type": "session",
            "version": VERSION,
            "clew": __version__,
            "session": opened.session,
            "persisted": opened.persisted,
            "cwd": clean(str(opened.cwd)),
            "model": opened.model.id,
            "provider": opened.model.provider,
            "window": opened.model.window,
        }
    )


def event_line(event: AgentEvent) -> bytes:
    """Return one event; its `type` is the event's tag in `tui.agent.events`."""
    if isinstance(event, EntryAdded):
        return as_line({"type": "entry", "entry": entry_object(event.entry)})
    return as_line(event)


def end_line(ended: Ended) -> bytes:
    """Return the last line: how it ended, the exit status, and the final answer."""
    last: dict[str, Json] = {
        "type": "end",
        "status": int(ended.status),
        "reason": ended.settled.reason,
        "detail": ended.settled.detail,
        "stop": ended.settled.stop,
        "text": ended.text,
    }
    return as_line(last)
