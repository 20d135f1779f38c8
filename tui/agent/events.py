"""What the agent tells a front end, in the order it happens. Frozen; a consumer may be slow or gone.

    ExchangeStarted → (RequestStarted → deltas → AnswerEnded → tools…)* → Settled

`EntryAdded` carries every entry right after its commit: what is durable, and only that. Deltas, progress
and countdowns are for the eye and are never needed to be right later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

if TYPE_CHECKING:
    from tui.context.thresholds import Thresholds
    from tui.log.entries import Entry
    from tui.tools.base import Preview

__all__ = [
    "AgentEvent",
    "AnswerDelta",
    "AnswerStarted",
    "ApprovalAsked",
    "ApprovalClosed",
    "BranchMoved",
    "EntryAdded",
    "Failed",
    "Followed",
    "PhaseChanged",
    "QueueChanged",
    "QueueReturned",
    "QueuedText",
    "RetryWaiting",
    "RunChanged",
    "RunShown",
    "Said",
    "ThinkingDeltaShown",
    "ToolCallGrowing",
    "ToolProgress",
    "UsageChanged",
]


class EntryAdded(msgspec.Struct, frozen=True, tag="entry"):
    """An entry is durable."""

    entry: Entry


class BranchMoved(msgspec.Struct, frozen=True, tag="branch"):
    """The leaf stands on another path now: what is shown of the conversation is to be read anew."""


class PhaseChanged(msgspec.Struct, frozen=True, tag="phase"):
    """What the agent is doing now. `idle` is the only phase in which nothing is going on."""

    phase: Literal[
        "idle", "requesting", "thinking", "answering", "tools", "approval", "retrying", "compacting", "verifying"
    ]
    detail: str = ""


class AnswerStarted(msgspec.Struct, frozen=True, tag="answer_started"):
    """A new answer begins; `answer_id` names it until its entry is added."""

    answer_id: str


class AnswerDelta(msgspec.Struct, frozen=True, tag="text"):
    """More visible text of the current answer."""

    text: str


class ThinkingDeltaShown(msgspec.Struct, frozen=True, tag="thinking"):
    """More reasoning of the current answer."""

    text: str


class ToolCallGrowing(msgspec.Struct, frozen=True, tag="call"):
    """The model is writing the arguments of a call."""

    index: int
    name: str
    text: str


class ToolProgress(msgspec.Struct, frozen=True, tag="progress"):
    """Live output of a running call."""

    call_id: str
    text: str


class ApprovalAsked(msgspec.Struct, frozen=True, tag="approval"):
    """A person must decide; answered through `Agent.answer(call_id, …)`."""

    call_id: str
    name: str
    preview: Preview
    suggestions: tuple[str, ...] = ()
    """Rules that would allow this and alike for this project."""


class ApprovalClosed(msgspec.Struct, frozen=True, tag="approval_closed"):
    """The question is answered or void."""

    call_id: str


class RetryWaiting(msgspec.Struct, frozen=True, tag="retry"):
    """The request failed and is tried again after `seconds`; Esc cancels."""

    reason: str
    attempt: int
    of: int
    seconds: float


class QueuedText(msgspec.Struct, frozen=True):
    """One waiting message."""

    id: str
    text: str
    mode: Literal["steer", "follow-up"]


class QueueChanged(msgspec.Struct, frozen=True, tag="queue"):
    """All waiting messages, in order."""

    items: tuple[QueuedText, ...]


class QueueReturned(msgspec.Struct, frozen=True, tag="queue_returned"):
    """Esc gave these waiting texts back to the editor."""

    texts: tuple[str, ...]


class UsageChanged(msgspec.Struct, frozen=True, tag="usage"):
    """How full the context is. `tokens` None is unknown; `source` is reported or estimated."""

    tokens: int | None
    cached: int
    window: int
    source: Literal["reported", "estimated", "unknown"]
    cost: float | None = 0.0
    """Dollars so far, as far as prices are known; None where no price is known."""
    thresholds: Thresholds | None = None
    """None where the configuration is invalid; `problem` then says why."""
    problem: str = ""
    """Why the configuration or the provider's report cannot be used."""
    cost_partial: bool = False
    """Whether something was asked for whose price is not known: it cost more than `cost`."""


class Said(msgspec.Struct, frozen=True, tag="said"):
    """One line to the person about what the program does; not in the log."""

    text: str


class RunShown(msgspec.Struct, frozen=True):
    """A run in figures: all that its strip shows."""

    title: str
    status: str
    """One word or two: working, verifying, waits for you, paused, blocked, complete, stopped."""
    done: int
    """Items accepted and skipped."""
    total: int
    number: int = 0
    """Of the item in work, from 1; 0 is none."""
    item: str = ""
    attempts: int = 0
    active_ms: int = 0
    going: bool = False
    """Whether its time is running."""
    max_minutes: float = 0
    cost: float = 0.0
    max_cost: float = 0
    priced: bool = True
    """Whether the price of the model is known: if not, the cost counts nothing of it."""
    handoffs: int = 0
    level: Literal["normal", "good", "warning", "error"] = "normal"
    hint: str = ""
    """What a person can type where it waits for one."""


class RunChanged(msgspec.Struct, frozen=True, tag="run"):
    """A run begins, goes on or ends; None: there is none any more."""

    run: RunShown | None = None


class Followed(msgspec.Struct, frozen=True, tag="followed"):
    """A window only follows. `owner` is who writes the session; empty: nobody does any more."""

    owner: str


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The log cannot be written: the agent has stopped, and the banner stays. Nothing after this is saved."""

    message: str
    taken: bool = False
    """Another window took the session over: it goes on there, and can be followed here."""


AgentEvent: TypeAlias = (
    EntryAdded
    | BranchMoved
    | PhaseChanged
    | AnswerStarted
    | AnswerDelta
    | ThinkingDeltaShown
    | ToolCallGrowing
    | ToolProgress
    | ApprovalAsked
    | ApprovalClosed
    | RetryWaiting
    | QueueChanged
    | QueueReturned
    | UsageChanged
    | Said
    | RunChanged
    | Followed
    | Failed
)
