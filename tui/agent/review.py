"""What an interrupted session left open, as rows a person can read: a pure function of its newest entries."""

from __future__ import annotations

from collections.abc import Sequence

from tui.agent.events import QueuedText
from tui.agent.settle import call_words
from tui.context.handoff import is_locked
from tui.log.entries import Answer, Entry, Handoff, Note, Prompt, Result, Settled, ToolStarted
from tui.messages import ToolCall

__all__ = ["open_ends"]

_NOTE = 500
"""Letters of a pending note."""
_STATES = {"unknown": "effects unknown", "not-started": "not started"}


def open_ends(entries: Sequence[Entry], queue: Sequence[QueuedText]) -> list[tuple[str, str]]:
    """Return label and text of what the newest exchange came to, what waits, and a pending note."""
    exchange = _newest_exchange(entries)
    rows = [("asked", _first_line(entry.body)) for entry in exchange if isinstance(entry.body, Prompt)]
    rows += _calls(exchange)
    rows += [
        (entry.body.reason, entry.body.detail or "The exchange is over.")
        for entry in exchange
        if isinstance(entry.body, Settled)
    ]
    rows += [(f"waits ({item.mode})", item.text.strip()) for item in queue]
    return rows + _pending_note(entries)


def _newest_exchange(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return the entries from the prompt that opened the newest exchange on."""
    begun = next((at for at in range(len(entries) - 1, -1, -1) if _opens(entries[at])), 0)
    return entries[begun:]


def _opens(entry: Entry) -> bool:
    return isinstance(entry.body, Prompt) and not entry.body.steer


def _first_line(prompt: Prompt) -> str:
    return next((line.strip() for line in prompt.message.authored.splitlines() if line.strip()), "")


def _calls(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    calls: dict[str, ToolCall] = {}
    states: dict[str, str] = {}
    for entry in entries:
        match entry.body:
            case Answer(message=message):
                calls.update((call.id, call) for call in message.calls)
            case ToolStarted(call_id=call_id):
                states[call_id] = "running"
            case Result(message=message, refused=refused):
                done = "failed" if message.is_error else "done"
                states[message.call_id] = _STATES.get(refused, "did not run" if refused else done)
            case _:
                pass
    return [(states.get(name, "not started"), call_words(call)) for name, call in calls.items()]


def _pending_note(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    state = next((entry.body for entry in reversed(entries) if isinstance(entry.body, Handoff)), None)
    note = next((entry.body for entry in reversed(entries) if isinstance(entry.body, Note)), None)
    if state is None or note is None or not (is_locked(state) or state.phase == "delivered"):
        return []
    return [(f"handoff {state.phase}", note.text[:_NOTE].strip())]
