"""What the next start begins from: when a resume checkpoint is worth making, and what a bounded start sends.

Pure. One budget in bytes holds for both: what must be sent is reserved first (the checkpoint with task and
requests, the previous request, the notes, the new request), then the newest whole exchanges that fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

import msgspec

from tui.context.view import orphaned, project, prompt_message, taken_up
from tui.log.entries import (
    Answer,
    Checkpoint,
    Entry,
    HandoffError,
    Prompt,
    ReceiptReason,
    Reference,
    Result,
    ResumedFrom,
)
from tui.messages import Message, UserMessage

__all__ = [
    "FOLLOWUP_BUDGET",
    "Refused",
    "Source",
    "Taken",
    "exchanges",
    "opens_exchange",
    "plan_start",
    "receipt_reason",
    "says_something",
    "view_bytes",
]

FOLLOWUP_BUDGET = 240_000
"""Bytes of UTF-8."""


def view_bytes(messages: Sequence[Message]) -> int:
    """Return the size of a view: its text and structure as UTF-8; the bytes of images lie elsewhere."""
    return sum(len(msgspec.json.encode(message)) for message in messages)


def receipt_reason(error: HandoffError) -> ReceiptReason:
    """Return the word of the receipt for why a summary was not accepted."""
    match error:
        case "empty" | "truncated" | "tool-call" | "timeout" | "provider-failure":
            return error
        case "over-long" | "does-not-fit":
            return "byte-bound"
        case "refused":
            return "provider-failure"
        case "" | "aborted" | "interrupted" | "template":
            return "cancelled"
        case _:
            assert_never(error)


def says_something(entry: Entry) -> bool:
    """Whether an entry is a message of the view."""
    match entry.body:
        case Prompt(excluded=excluded):
            return not excluded
        case Answer() | Result():
            return True
        case _:
            return False


def opens_exchange(entry: Entry) -> bool:
    """Whether an exchange begins here."""
    return isinstance(entry.body, Prompt) and not entry.body.steer and not entry.body.excluded


def exchanges(entries: Sequence[Entry]) -> list[Sequence[Entry]]:
    """Return the entries cut where exchanges begin, newest first; what stands before the first is left out."""
    starts = [place for place, entry in enumerate(entries) if opens_exchange(entry)]
    ends = [*starts[1:], len(entries)]
    return [entries[start:end] for start, end in reversed(list(zip(starts, ends, strict=False)))]


class Source(msgspec.Struct, frozen=True):
    """What a bounded start is planned from: all of it read by look-ups, however long the session is."""

    checkpoint: Entry | None
    """As it was written."""
    tail: Sequence[Entry]
    """The newest entries after what it covers, oldest first, as many as could matter."""
    whole: bool
    """Whether the tail holds all of them."""
    leaf: int
    """Depth of the newest entry."""
    request: Reference | None
    """Of the newest finished exchange."""
    request_depth: int
    """Where that exchange began; -1 where there is none."""
    notes: Reference | None
    task: Reference | None
    """Where there is no checkpoint."""
    words: Mapping[str, str]
    """The words of all references, by entry."""
    damaged: Sequence[tuple[int, int]] = ()
    """Parts of the tail that cannot be read."""


class Taken(msgspec.Struct, frozen=True):
    """How the session is taken up."""

    entry: ResumedFrom
    size: int
    """Bytes of the first request, the new prompt included."""
    shown: int
    """Exchanges that are sent besides the checkpoint."""


class Refused(msgspec.Struct, frozen=True):
    """Why nothing is sent. `cut` says whether cutting the previous request would help."""

    why: str
    needed: int = 0
    """Bytes that would do."""
    cut: bool = False


def plan_start(
    source: Source, prompt: UserMessage, fits: Callable[[Sequence[Message]], bool], *, cut: bool = False
) -> Taken | Refused:
    """Return how a start begins, bounded: whole exchanges, newest first, while everything fits.

    `fits` judges a whole view; `cut` renders the previous request only in part.
    """
    lost = _unreadable(source)
    if lost:
        return Refused(lost)
    new = prompt_message(prompt)
    bare = _taken(source, (), cut=0 if cut else -1)
    if not fits((*_view(source, bare, ()), new)):
        needed = view_bytes((*_view(source, bare, ()), new))
        return Refused(
            "What must be sent alone is over the budget: the checkpoint with task and requests, the previous request, "
            "the notes and the new request.",
            needed,
            cut=source.request is not None,
        )
    best, kept = bare, list[Entry]()
    shown = 0
    for exchange in _units(source):
        longer = [*exchange, *kept]
        taken = _taken(source, longer, cut=0 if cut else -1)
        if not fits((*_view(source, taken, longer), new)):
            break
        best, kept, shown = taken, longer, shown + 1
    return Taken(best, view_bytes((*_view(source, best, kept), new)), shown)


def _units(source: Source) -> list[Sequence[Entry]]:
    """Return the exchanges of the tail, newest first; the rest of one whose beginning is covered is one too."""
    found = exchanges(source.tail)
    first = next((place for place, entry in enumerate(source.tail) if opens_exchange(entry)), len(source.tail))
    rest = source.tail[:first]
    unbroken = [*found, rest] if source.whole and any(says_something(entry) for entry in rest) else found
    low = max((high for _low, high in source.damaged), default=-1)
    return [unit for unit in unbroken if unit[0].depth > low]


def _covered(source: Source) -> int:
    body = source.checkpoint.body if source.checkpoint is not None else None
    return body.last_depth if isinstance(body, Checkpoint) else -1


def _taken(source: Source, suffix: Sequence[Entry], *, cut: int) -> ResumedFrom:
    last = suffix[0].depth - 1 if suffix else source.leaf
    unseen = not source.whole or any(says_something(entry) for entry in source.tail if entry.depth <= last)
    low = _covered(source) + 1
    hidden = unseen or any(high >= low and at <= last for at, high in source.damaged)
    inside = suffix and suffix[0].depth <= source.request_depth
    return ResumedFrom(
        checkpoint=source.checkpoint.id if source.checkpoint is not None else "",
        last_depth=last,
        gap=(low, last) if hidden and low <= last else None,
        request=None if inside else source.request,
        request_shown=cut,
        notes=source.notes if source.notes is not None and source.notes.depth <= last else None,
        task=source.task if source.checkpoint is None else None,
        dropped=len(orphaned(suffix)),
    )


def _view(source: Source, taken: ResumedFrom, suffix: Sequence[Entry]) -> tuple[Message, ...]:
    """Return what would be sent: the one projection, with the entry as it would be written."""
    entry = Entry("", None, source.leaf + 1, 0, taken)
    standing = taken_up(source.checkpoint, entry)
    assert standing is not None
    return project(suffix, checkpoint=standing, words=source.words)


def _unreadable(source: Source) -> str:
    """Return what of the protected parts cannot be read."""
    if source.checkpoint is not None and not isinstance(source.checkpoint.body, Checkpoint):
        return "The checkpoint cannot be read."
    if source.request is not None and source.request.entry not in source.words:
        return f"The previous request (entry {source.request.depth}) cannot be read."
    return ""
