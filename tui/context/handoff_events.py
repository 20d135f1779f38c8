"""What can happen to a handoff: the events of the machine, with the facts they are judged by. Frozen."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from tui.context.checkpoint import NOTE_LIMIT
from tui.log.entries import Checkpoint, HandoffError, Latch

__all__ = [
    "Arrived",
    "Authored",
    "BranchAway",
    "CheckpointFailed",
    "CheckpointMade",
    "CompactAsked",
    "DropAsked",
    "EditAsked",
    "Escaped",
    "HandoffEvent",
    "LogBack",
    "LogLost",
    "ModelChanged",
    "NoteGiven",
    "NowAsked",
    "Quitting",
    "Reloaded",
    "ResumeAsked",
    "Settles",
    "SummaryAccepted",
    "SummaryRefused",
    "Trigger",
    "Undone",
]

Trigger: TypeAlias = Literal["manual", "overflow", "hard"]


class NoteGiven(msgspec.Struct, frozen=True):
    """The model called `self_compact`. `note` is what it gave, of whatever type."""

    call_id: str
    note: object
    compactable: bool = True
    new_work: bool = False
    """A tool ran or the person wrote since the continuation."""
    largest: int = NOTE_LIMIT
    """UTF-16 units a note may have in this window."""


class Settles(msgspec.Struct, frozen=True):
    """An exchange has settled, or the agent is idle and the handoff may go on. `detail`: how it ended, if not well."""

    complete: bool = True
    compactable: bool = True
    detail: str = ""


class Escaped(msgspec.Struct, frozen=True):
    """The person pressed Esc."""


class SummaryAccepted(msgspec.Struct, frozen=True):
    """The summary call of `attempt` gave an acceptable summary, already in its checkpoint."""

    attempt: str
    checkpoint: Checkpoint


class SummaryRefused(msgspec.Struct, frozen=True):
    """The summary call of `attempt` gave nothing acceptable. `pointer`: a checkpoint without a model, where wanted."""

    attempt: str
    error: HandoffError
    detail: str = ""
    pointer: Checkpoint | None = None


class CompactAsked(msgspec.Struct, frozen=True):
    """`/compact`."""

    running: bool
    compactable: bool = True
    instructions: str = ""


class CheckpointMade(msgspec.Struct, frozen=True):
    """A summary outside the machine's own was accepted: `/compact`, overflow, or hard without a note."""

    trigger: Trigger
    checkpoint: Checkpoint
    error: HandoffError = ""
    """Why no summary was accepted, where this is the pointer checkpoint that stands in for it."""


class CheckpointFailed(msgspec.Struct, frozen=True):
    """A summary outside the machine's own was not accepted."""

    trigger: Trigger
    error: HandoffError
    detail: str = ""


class NowAsked(msgspec.Struct, frozen=True):
    """`/self-compact-now [what matters]`."""

    about: str = ""
    compactable: bool = True


class ResumeAsked(msgspec.Struct, frozen=True):
    """The one key that goes on with what is pending, or `/continue`."""

    compactable: bool = True


class EditAsked(msgspec.Struct, frozen=True):
    """`/self-compact-edit` came back with this note."""

    note: str
    largest: int = NOTE_LIMIT


class DropAsked(msgspec.Struct, frozen=True):
    """`/self-compact-drop`."""

    confirmed: bool = False


class Authored(msgspec.Struct, frozen=True):
    """The person sent a message. `running`: an exchange is going on."""

    running: bool = False


class BranchAway(msgspec.Struct, frozen=True):
    """The leaf is about to move to another branch."""

    running: bool = False
    confirmed: bool = False


class Arrived(msgspec.Struct, frozen=True):
    """The leaf came to this path by moving back, forking, or taking the session over from another window."""

    how: Literal["back", "fork", "take-over"]


class ModelChanged(msgspec.Struct, frozen=True):
    """Another model or window. `latch`: what the gate makes of it; `fits`: whether the view can be sent at all."""

    latch: Latch | None = None
    fits: bool = True
    compactable: bool = True
    largest: int = NOTE_LIMIT
    needed: int = 0
    """Tokens of window the pending note needs."""


class Quitting(msgspec.Struct, frozen=True):
    """The program ends on purpose."""


class Reloaded(msgspec.Struct, frozen=True):
    """The session was opened, by someone who asked for it to go on."""

    compactable: bool = True


class LogLost(msgspec.Struct, frozen=True):
    """The log cannot be written."""

    reason: str


class LogBack(msgspec.Struct, frozen=True):
    """The log can be written again."""


class Undone(msgspec.Struct, frozen=True):
    """`/compact undo` moves the leaf before the newest checkpoint; the state is the one there."""

    cycle: str = ""
    """The cycle that checkpoint discharged; only this one is closed."""


HandoffEvent: TypeAlias = (
    NoteGiven
    | Settles
    | Escaped
    | SummaryAccepted
    | SummaryRefused
    | CompactAsked
    | CheckpointMade
    | CheckpointFailed
    | NowAsked
    | ResumeAsked
    | EditAsked
    | DropAsked
    | Authored
    | BranchAway
    | Arrived
    | ModelChanged
    | Quitting
    | Reloaded
    | LogLost
    | LogBack
    | Undone
)
