"""What the person asked for, followed along the branch: the task, the current request, the later ones.

A fold over the entries, so that whoever holds the live branch can carry it along one entry at a time;
a checkpoint stores its state and the fold goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from tui.context.render import reference_to
from tui.log.entries import (
    Answer,
    CarriedRequest,
    Checkpoint,
    Entry,
    Handoff,
    Notes,
    Pinned,
    Prompt,
    Reference,
    RunCard,
    Settled,
    TaskSet,
)

__all__ = ["Follower", "Requests", "follow", "requests_of"]

_MOST = 200
"""Requests remembered; what a checkpoint stores is bounded by bytes besides."""
_REPLY_LIMIT = 400
"""Characters: a longer answer to a question is a request of its own."""


class Requests(msgspec.Struct, frozen=True):
    """The state of the fold."""

    task: Reference | None = None
    task_set: bool = False
    newest: tuple[CarriedRequest, ...] = ()
    """All requests, newest first, the task's message among them."""
    pins: Reference | None = None
    notes: Reference | None = None
    """The notepad."""
    asked: bool = False
    """The newest complete answer ended in a question."""
    item: Reference | None = None
    """The message of the run's item in work, until it is accepted, skipped or blocked."""
    waits: int = -1
    """Depth at which an exchange settled with a handoff, to go on with the same requests after it; -1 is none."""

    @property
    def current(self) -> CarriedRequest | None:
        """The newest request that is not a reply to a question; the newest of all where each is one."""
        chosen = next((request for request in self.newest if not request.reply), None)
        return chosen or (self.newest[0] if self.newest else None)

    @property
    def later(self) -> tuple[CarriedRequest, ...]:
        """All others but the task, newest first."""
        current = self.current
        besides = {reference.entry for reference in (self.task, current and current.words) if reference is not None}
        return tuple(request for request in self.newest if request.words.entry not in besides)


def requests_of(entries: Iterable[Entry], checkpoint: Entry | None = None) -> Requests:
    """Return the state after `entries`, begun from what a checkpoint stored."""
    state = _stored(checkpoint.body) if checkpoint and isinstance(checkpoint.body, Checkpoint) else Requests()
    for entry in entries:
        state = follow(state, entry)
    return state


class Follower:
    """Carries the state along a branch that grows, so that each entry is looked at once."""

    def __init__(self) -> None:
        self._begun = ("", "")
        self._seen: tuple[int, str] = (0, "")
        self._state = Requests()

    def along(self, entries: Sequence[Entry], checkpoint: Entry | None) -> Requests:
        """Return what `requests_of` returns; only what was added since the last call is folded."""
        begun = (checkpoint.id if checkpoint else "", entries[0].id if entries else "")
        count, last = self._seen
        grown = begun == self._begun and 0 < count <= len(entries) and entries[count - 1].id == last
        if not grown:
            count, self._state = 0, requests_of((), checkpoint)
        for place in range(count, len(entries)):
            self._state = follow(self._state, entries[place])
        self._begun, self._seen = begun, (len(entries), entries[-1].id if entries else "")
        return self._state


def _stored(checkpoint: Checkpoint) -> Requests:
    newest = list(checkpoint.later)
    if checkpoint.current is not None:
        newest.append(CarriedRequest(checkpoint.current, checkpoint.current_open, checkpoint.current_live))
    newest.sort(key=lambda request: -request.words.depth)
    stored = Requests(checkpoint.task, checkpoint.task_set, tuple(newest), checkpoint.pins)
    return msgspec.structs.replace(stored, notes=checkpoint.notes, item=checkpoint.item)


def follow(state: Requests, entry: Entry) -> Requests:
    """Return the state after one more entry."""
    match entry.body:
        case Prompt(origin="authored", excluded=False) as prompt:
            return _asked_for(state, entry, steer=prompt.steer)
        case Prompt(origin="continuation"):
            return msgspec.structs.replace(state, waits=-1)
        case Prompt(origin="dispatch"):
            return msgspec.structs.replace(state, item=reference_to(entry))
        case RunCard() as card if card.ends_item:
            return state if state.item is None else msgspec.structs.replace(state, item=None)
        case TaskSet():
            return msgspec.structs.replace(state, task=reference_to(entry), task_set=True)
        case Pinned(texts=texts):
            return msgspec.structs.replace(state, pins=reference_to(entry) if texts else None)
        case Notes(text=text):
            return msgspec.structs.replace(state, notes=reference_to(entry) if text else None)
        case Answer(message=message) if message.stop.is_complete:
            asked = not message.calls and message.text.rstrip().endswith(("?", "\uff1f"))
            return state if asked == state.asked else msgspec.structs.replace(state, asked=asked)
        case Handoff(phase="none" | "answered"):
            return state if state.waits < 0 else msgspec.structs.replace(state, waits=-1)
        case Settled(reason="handoff"):
            return msgspec.structs.replace(state, waits=entry.depth)
        case Settled(reason="answered"):
            return _answered(state, entry.depth)
        case _:
            return state


def _asked_for(state: Requests, entry: Entry, *, steer: bool) -> Requests:
    words = reference_to(entry)
    if not words.size or any(request.words.entry == entry.id for request in state.newest):
        return state  # attached matter alone is no request; a kept message is known from the checkpoint
    # A prompt opens an exchange of its own; one that waits for its handoff stays live beside it.
    before = state.newest if steer or state.waits >= 0 else _ended(state.newest)
    request = CarriedRequest(words, live=True, reply=state.asked and words.size <= _REPLY_LIMIT)
    task = state.task if state.task is not None else words
    return msgspec.structs.replace(state, task=task, newest=(request, *before)[:_MOST])


def _ended(requests: tuple[CarriedRequest, ...]) -> tuple[CarriedRequest, ...]:
    if not any(request.live for request in requests):
        return requests
    return tuple(msgspec.structs.replace(request, live=False) if request.live else request for request in requests)


def _answered(state: Requests, depth: int) -> Requests:
    """Mark what the exchange was about; a talk beside a waiting handoff answers nothing of what waits."""
    newest = tuple(
        msgspec.structs.replace(request, live=False, open=False)
        if request.live and state.waits < request.words.depth < depth
        else request
        for request in state.newest
    )
    return msgspec.structs.replace(state, newest=newest)
