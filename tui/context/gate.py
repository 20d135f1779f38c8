"""The gate: which calls of a batch run, and what the others are told.

Locks act at execution: the declared tools never change, so that the provider's cache holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from tui.context.checkpoint import NOTE_LIMIT
from tui.context.handoff import Fresh, is_locked, step
from tui.context.handoff_effects import Append, Reply
from tui.context.handoff_events import NoteGiven
from tui.context.thresholds import ConfigurationError, Level, Thresholds
from tui.log.entries import Body, Checkpoint, Entry, Handoff, Latch, Result
from tui.messages import Text, ToolCall, ToolResult

__all__ = [
    "FREE_TOOLS",
    "MOST_BARREN",
    "MOST_REFUSED_ANSWERS",
    "AtHard",
    "CompactionMode",
    "GateFacts",
    "Verdict",
    "act_at_hard",
    "is_latched",
    "judge_batch",
    "judge_latch",
    "refused_answers",
]

CompactionMode: TypeAlias = Literal["self", "auto", "off"]
Ending: TypeAlias = Literal["", "handoff", "needs-person", "context-full"]

FREE_TOOLS = frozenset({"context_info", "recall"})
"""Read-only and about the session itself: allowed under every lock."""
_COMPACT = "self_compact"
_CIRCLES = (
    "Not saved: the conversation was compacted again and again with no work between. Nothing was lost; the person is "
    "asked what to do."
)
MOST_REFUSED_ANSWERS = 3
"""Answers in a row with all calls refused, before the program acts by itself."""


MOST_BARREN = 5
"""Checkpoints in a row without progress between them (a setting), before the exchange ends as context-full."""
AtHard: TypeAlias = Literal["", "checkpoint", "context-full"]


class GateFacts(msgspec.Struct, frozen=True):
    """What a batch is judged by."""

    state: Handoff
    mode: CompactionMode = "self"
    limits: Thresholds | ConfigurationError | None = None
    latched: bool = False
    tokens: int | None = None
    compactable: bool = True
    new_work: bool = False
    largest: int = NOTE_LIMIT
    barren: bool = False
    """As many checkpoints as may be in a row were made with no work between them or since."""
    refused: int = 0
    """Answers in a row before this one whose calls were all refused."""


class Verdict(msgspec.Struct, frozen=True):
    """What becomes of a batch. `append` belongs into the transaction of the answer, after it, before any call runs."""

    run: tuple[ToolCall, ...]
    append: tuple[Body, ...] = ()
    """Results of calls that do not run, then note and state."""
    ends: Ending = ""
    """Reason to settle the exchange with after this; empty goes on."""
    state: Handoff = Handoff()
    """After it."""


def judge_batch(calls: Sequence[ToolCall], facts: GateFacts, fresh: Fresh) -> Verdict:
    """Return what runs and what is refused. `self_compact` is judged first, wherever it stands."""
    state, noted, replies, recorded = _judge_notes(calls, facts, fresh)
    results: list[Body] = list(replies.values())
    run: list[ToolCall] = []
    ends: Ending = "handoff" if recorded else "context-full" if replies and _in_circles(facts) else ""
    for call in calls:
        if call.id in replies:
            continue
        refusal = _sibling(call) if recorded else _refusal(call, state, facts)
        if refusal is None:
            run.append(call)
            continue
        result, ending = refusal
        results.append(result)
        ends = ends or ending
    in_order = sorted(results, key=lambda result: _place(result, calls))
    return Verdict(tuple(run), (*in_order, *noted), ends, state)


def _place(result: Body, calls: Sequence[ToolCall]) -> int:
    assert isinstance(result, Result)
    return next((place for place, call in enumerate(calls) if call.id == result.message.call_id), len(calls))


def _judge_notes(
    calls: Sequence[ToolCall], facts: GateFacts, fresh: Fresh
) -> tuple[Handoff, tuple[Body, ...], dict[str, Result], bool]:
    """Return the state after all `self_compact` calls, the bodies to write, their results, and whether one recorded."""
    state, noted, recorded = facts.state, list[Body](), False
    replies: dict[str, Result] = {}
    for call in calls:
        if call.name != _COMPACT:
            continue
        if facts.mode == "off":
            replies[call.id] = _result(
                call, "self_compact is switched off (compaction = off); go on working.", "handoff"
            )
            continue
        if call.error or _in_circles(facts):
            text = call.error or _CIRCLES
            replies[call.id] = _result(call, text, "bad-arguments" if call.error else "handoff")
            continue
        event = NoteGiven(call.id, call.arguments.get("note_to_self"), facts.compactable, facts.new_work, facts.largest)
        state, effects = step(state, event, fresh)
        for effect in effects:
            if isinstance(effect, Append):
                noted += effect.bodies
            elif isinstance(effect, Reply):
                recorded = recorded or effect.recorded
                replies[call.id] = _result(call, effect.text, "" if not effect.is_error else "handoff", effect.is_error)
    return state, tuple(noted), replies, recorded


def _in_circles(facts: GateFacts) -> bool:
    """Whether another handoff would only repeat the ones before it; one that is pending is never stopped by this."""
    return facts.barren and facts.mode != "off" and not is_locked(facts.state)


def _result(call: ToolCall, text: str, refused: str, is_error: bool = True) -> Result:
    return Result(ToolResult(call.id, call.name, (Text(text),), is_error=is_error), refused=refused)


def _sibling(call: ToolCall) -> tuple[Result, Ending]:
    text = (
        "Not run: self_compact in the same answer saved your note and ends this turn. If it is still needed, call it "
        "again after the continuation."
    )
    return _result(call, text, "handoff"), "handoff"


def _refusal(call: ToolCall, state: Handoff, facts: GateFacts) -> tuple[Result, Ending] | None:
    """Return the result of a call that may not run, and whether that ends the exchange; None lets it run."""
    if call.name in FREE_TOOLS or facts.mode == "off":
        return None
    if isinstance(facts.limits, ConfigurationError):
        text = f"Not run: the compaction settings are invalid. {facts.limits.message} The person must mend them."
        return _result(call, text, "invalid-config"), "needs-person"
    if is_locked(state):
        return _while_locked(call, state, facts)
    if facts.mode == "self" and facts.latched and facts.compactable:
        return _result(call, _hard_text(facts), "hard"), ""
    return None


def _while_locked(call: ToolCall, state: Handoff, facts: GateFacts) -> tuple[Result, Ending]:
    if state.phase == "failed":
        text = (
            "Not run: the handoff failed and is still pending. Call self_compact again with the note, alone, or tell "
            "the person what is needed; only context_info, recall and self_compact work now."
        )
        return _result(call, text, "handoff"), "handoff" if facts.refused + 1 >= MOST_REFUSED_ANSWERS else ""
    text = "Not run: a handoff is pending. End your answer; your note comes back to you, and tools work again then."
    return _result(call, text, "handoff"), "handoff"


def _hard_text(facts: GateFacts) -> str:
    numbers = ""
    if isinstance(facts.limits, Thresholds) and facts.tokens is not None:
        limits = facts.limits
        numbers = f" ({facts.tokens} of {limits.window} tokens used, hard is {limits.hard})"
    return (
        f"Not run: the context is too full for further work{numbers}. Call self_compact alone now, with a note: what "
        "is done with exact paths, how it was checked, the one next action, whether the task is complete."
    )


# --- the latch ----------------------------------------------------------------------------------


def is_latched(latch: Entry | None, checkpoint: Entry | None) -> bool:
    """Whether hard is latched: by the newest latch entry, unless a checkpoint in force is newer."""
    if latch is None or not isinstance(latch.body, Latch) or not latch.body.on:
        return False
    released = checkpoint is not None and isinstance(checkpoint.body, Checkpoint) and checkpoint.depth > latch.depth
    return not released


def judge_latch(
    *, latched: bool, tokens: int | None, level: Level, hard: int, compactable: bool, larger_window: bool = False
) -> Latch | None:
    """Return the latch entry to write, or None. Falling usage does not release it; a larger window does.

    Never set while usage is unknown or nothing is compactable: refusing then would lead nowhere.
    """
    if tokens is None:
        return None
    if latched and larger_window and level is not Level.HARD:
        return Latch(on=False, tokens=tokens, hard=hard)
    if not latched and level is Level.HARD and compactable:
        return Latch(on=True, tokens=tokens, hard=hard)
    return None


def act_at_hard(
    *,
    mode: CompactionMode,
    latched: bool,
    compactable: bool,
    refused: int,
    has_tools: bool,
    checkpoint: Checkpoint | None,
    progress: bool,
    most_barren: int = MOST_BARREN,
) -> AtHard:
    """Return what the program does by itself at hard: a checkpoint without a note, or give up; empty is nothing.

    `refused` counts answers in a row (`refused_answers`); `checkpoint` is the one in force and `progress` whether
    a call ran well or the person wrote since it. Never twice without new content: that loop is a dead end.
    """
    waits = mode == "self" and has_tools and refused < MOST_REFUSED_ANSWERS
    if mode == "off" or not latched or waits:
        return ""
    if checkpoint is not None and not progress and (checkpoint.origin == "hard" or checkpoint.barren >= most_barren):
        return "context-full"
    return "checkpoint" if compactable else "context-full"


def refused_answers(entries: Sequence[Entry]) -> int:
    """Return how many answers in a row, up to the leaf, had all their calls refused by the gate.

    An answer without calls, a call that ran, or a message of the person ends the row.
    """
    count, refused = 0, 0
    for entry in reversed(entries):
        match entry.body:
            case Result(refused="hard" | "handoff" | "invalid-config"):
                refused += 1
            case Result():
                return count
            case _ if entry.kind == "answer":
                if not refused:
                    return count
                count, refused = count + 1, 0
            case _ if entry.kind == "prompt":
                return count
            case _:
                pass
    return count
