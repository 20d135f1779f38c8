"""What a request's messages already show: the open prompts and each call made for them, with its result.

The planner keeps nothing between requests. It replays its work over this evidence: a call that was made is
answered from here, the first one that was not is made now. So it goes on after a resume and in any branch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from tui.messages import AssistantMessage, Message, StopReason, ToolCall, ToolResult, UserMessage
from tui.models.rehearsal.facts import is_refusal
from tui.models.rehearsal.toolbox import Planned

__all__ = ["Evidence", "Found", "Scope", "scope_of"]

CHECKPOINT_TASK = "ORIGINAL TASK (preserved verbatim):"
NOTE_TITLE = "# Handoff note (rehearsal)"
_STOPPED = re.compile(r"\b(?:interrupted|aborted|stopped by|not started|effects unknown)\b", re.IGNORECASE)
_INSTEAD = re.compile(r"^\W*(?:stop|no|wait|forget|cancel|never ?mind)\b|\binstead\s*[.!]?\s*$", re.IGNORECASE)
_GO_ON = re.compile(r"^\W*(?:please\s+)?(?:continue|go on|carry on|proceed|resume|keep going)\W*$", re.IGNORECASE)
_EFFECTS = frozenset({"edit", "write", "bash"})
_LOCK = re.compile(r"self_compact")


class Found(msgspec.Struct, frozen=True):
    """The result of a call that was made."""

    call: Planned
    text: str
    is_error: bool = False

    @property
    def refused(self) -> bool:
        """Whether it did not run because it was not allowed."""
        return self.is_error and is_refusal(self.text)


class Scope(msgspec.Struct, frozen=True):
    """The part of a request that is about the work in hand."""

    prompts: tuple[str, ...]
    """What is asked for, oldest first; more than one after a steer."""
    messages: tuple[Message, ...]
    """From the first of these prompts on."""
    carried: str = ""
    """The text of the note or checkpoint this goes on from."""

    @property
    def answers(self) -> tuple[AssistantMessage, ...]:
        """The answers given since."""
        return tuple(message for message in self.messages if isinstance(message, AssistantMessage))


def scope_of(messages: Sequence[Message]) -> Scope:
    """Return what is open: everything since the last answer that ended an exchange, a checkpoint or a note."""
    start = _start(messages)
    here = tuple(messages[start:])
    texts = [message.authored for message in here if isinstance(message, UserMessage)]
    carried = next((text for text in texts if _carries(text)), "")
    prompts = [text for text in texts if not (_carries(text) or asks_for_note(text) or _GO_ON.match(text))]
    for number in range(len(prompts) - 1, 0, -1):
        if _INSTEAD.search(prompts[number]):
            prompts = prompts[number:]
            break
    return Scope(prompts=tuple(prompts), messages=here, carried=carried)


def asks_for_note(text: str) -> bool:
    """Whether a user message is the program's request to hand over now."""
    return _LOCK.search(text) is not None and re.search(r"(?i)\bcall\b", text) is not None and "note" in text.lower()


def _carries(text: str) -> bool:
    return CHECKPOINT_TASK in text or NOTE_TITLE in text


def _start(messages: Sequence[Message]) -> int:
    newest = max((i for i, message in enumerate(messages) if isinstance(message, UserMessage)), default=0)
    start = newest
    for index in range(newest, -1, -1):
        message = messages[index]
        if _ends(message):
            break
        if isinstance(message, UserMessage):
            start = index
            if _carries(message.authored):
                break
    return _before_go_on(messages, start)


def _before_go_on(messages: Sequence[Message], start: int) -> int:
    """Return the start of the prompt that a bare "continue" means."""
    message = messages[start] if messages else None
    while start > 0 and isinstance(message, UserMessage) and _GO_ON.match(message.authored):
        start = max((i for i in range(start) if isinstance(messages[i], UserMessage)), default=0)
        message = messages[start]
    return start


def _ends(message: Message) -> bool:
    """Whether this message ends what was before it for good."""
    if isinstance(message, AssistantMessage):
        return not message.calls or message.stop not in (StopReason.COMPLETE, StopReason.TOOL_CALLS)
    return isinstance(message, ToolResult) and message.is_error and _STOPPED.search(message.text) is not None


class _Record(msgspec.Struct, frozen=True):
    call: ToolCall
    result: ToolResult | None


class Evidence:
    """Calls and results in order. An effect makes the reads before it stale; each effect counts once."""

    def __init__(self, messages: Sequence[Message], *, without_locked: bool = False) -> None:
        results = {message.call_id: message for message in messages if isinstance(message, ToolResult)}
        answers = (message for message in messages if isinstance(message, AssistantMessage))
        calls = (call for answer in answers for call in answer.calls)
        records = [_Record(call=call, result=results.get(call.id)) for call in calls]
        self._records = [
            record for record in records if not (_interrupted(record) or (without_locked and _locked(record)))
        ]
        self._floor = 0

    def look_up(self, planned: Planned) -> Found | None:
        """Return the result of this very call, or None if it was not made (or not since the last effect)."""
        for index in range(self._floor, len(self._records)):
            record = self._records[index]
            if record.call.name == planned.name and record.call.arguments == planned.arguments:
                if planned.name in _EFFECTS:
                    self._floor = index + 1
                return _found(planned, record.result)
        return None

    @property
    def calls(self) -> tuple[tuple[ToolCall, ToolResult | None], ...]:
        """Every call with its result."""
        return tuple((record.call, record.result) for record in self._records)


def _found(planned: Planned, result: ToolResult | None) -> Found:
    if result is None:
        return Found(call=planned, text="There is no result of this call.", is_error=True)
    return Found(call=planned, text=result.text, is_error=result.is_error)


def _interrupted(record: _Record) -> bool:
    """Whether it may simply be made again."""
    result = record.result
    if result is None or not result.is_error or "unknown" in result.text:
        return False
    return _STOPPED.search(result.text) is not None and record.call.name not in ("edit", "write")


def _locked(record: _Record) -> bool:
    """Whether a call was refused because the context is full, not for its own sake."""
    result = record.result
    if result is None or not result.is_error or record.call.name == "self_compact":
        return False
    return _LOCK.search(result.text) is not None
