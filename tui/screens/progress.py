"""From agent events to the status line: a pure fold."""

from __future__ import annotations

import msgspec

from tui.agent.events import (
    AgentEvent,
    AnswerDelta,
    AnswerStarted,
    Failed,
    PhaseChanged,
    QueueChanged,
    RetryWaiting,
    ThinkingDeltaShown,
    ToolCallGrowing,
)
from tui.widgets.status import Status

__all__ = ["advance"]


def advance(status: Status, event: AgentEvent, now: float) -> Status:
    """Return the status after `event`. `now` is in seconds of the clock the status line uses.

    A note about what goes on ends when the agent begins or comes to rest: beside "ready" it would be false.
    """
    after = _advance(status, event, now)
    over = after.passing and after.busy != status.busy
    return msgspec.structs.replace(after, note="", passing=False) if over else after


def _advance(status: Status, event: AgentEvent, now: float) -> Status:
    replace = msgspec.structs.replace
    match event:
        case PhaseChanged(phase=phase, detail=detail):
            since = status.since if status.busy and status.phase != "starting" else now
            # The wait for a retry is told by an event of its own, which may come first.
            retry = status.retry if phase == "retrying" else ""
            return replace(status, phase=phase, detail=detail, since=since, heard=now, retry=retry)
        case AnswerStarted():
            return replace(status, characters=0, stream_since=now, heard=now)
        case AnswerDelta(text=text) | ThinkingDeltaShown(text=text) | ToolCallGrowing(text=text):
            start = status.stream_since if status.characters else now
            return replace(status, characters=status.characters + len(text), stream_since=start, heard=now)
        case RetryWaiting(reason=reason, attempt=attempt, of=of, seconds=seconds):
            return replace(status, phase="retrying", retry=f"{reason} ({attempt} of {of})", retry_at=now + seconds)
        case QueueChanged(items=items):
            return replace(status, queued=len(items))
        case Failed(taken=False):
            return replace(status, phase="stopped", detail="")
        case _:
            return status
