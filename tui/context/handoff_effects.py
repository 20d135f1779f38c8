"""What the handoff machine asks its driver to do, in order. Frozen data; the driver decides nothing.

`Append` is one transaction; a `Reply` next to it belongs into the same one. After the commit the newest
`Handoff` on the path is the state: the driver holds none of its own.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from tui.log.entries import Body, Handoff

__all__ = [
    "AbortSummary",
    "Accept",
    "Append",
    "Ask",
    "Deliver",
    "Effect",
    "EndExchange",
    "Move",
    "Proceed",
    "RepeatRequest",
    "Reply",
    "Resume",
    "ReturnQueue",
    "Say",
    "StartSummary",
    "Steer",
    "StopAgent",
    "StopExchange",
]


class Append(msgspec.Struct, frozen=True):
    """Write these bodies in one transaction."""

    bodies: tuple[Body, ...]


class Reply(msgspec.Struct, frozen=True):
    """The result of the `self_compact` call."""

    call_id: str
    text: str
    is_error: bool = False
    recorded: bool = False
    """It recorded a note: siblings are refused and the exchange ends."""


class StartSummary(msgspec.Struct, frozen=True):
    """Make a summary. With an `attempt` report `SummaryAccepted`/`-Refused`, else `CheckpointMade`/`-Failed`."""

    origin: Literal["self", "manual", "overflow"]
    attempt: str = ""
    instructions: str = ""


class AbortSummary(msgspec.Struct, frozen=True):
    """Cancel the running summary call; whatever it still gives is void."""


class Deliver(msgspec.Struct, frozen=True):
    """Write the continuation and `handoff` in one transaction (`continuation.delivery`), then run its exchange."""

    handoff: Handoff


class Resume(msgspec.Struct, frozen=True):
    """Go on with the open exchange, by the rules of recovery."""


class Proceed(msgspec.Struct, frozen=True):
    """Nothing runs: feed `Settles` again, so that the handoff goes on by itself."""


class EndExchange(msgspec.Struct, frozen=True):
    """Settle the running exchange with this reason."""

    reason: Literal["handoff", "context-full"]
    detail: str = ""


class StopExchange(msgspec.Struct, frozen=True):
    """Cancel the running exchange and settle it as aborted."""


class RepeatRequest(msgspec.Struct, frozen=True):
    """Send the request that did not fit once more, from the new view."""


class Accept(msgspec.Struct, frozen=True):
    """What becomes of the authored message."""

    how: Literal["send", "queue", "steer-or-queue"]


class ReturnQueue(msgspec.Struct, frozen=True):
    """Give held texts back to the editor."""


class Steer(msgspec.Struct, frozen=True):
    """Give the model this text (origin `command`): after the running batch, or in an exchange of its own."""

    text: str


class Say(msgspec.Struct, frozen=True):
    """One line to the person, not in the log."""

    text: str
    level: Literal["info", "warning", "error"] = "info"


class Ask(msgspec.Struct, frozen=True):
    """A question to the person; on yes the same event comes again, confirmed."""

    text: str


class Move(msgspec.Struct, frozen=True):
    """The leaf may move now."""


class StopAgent(msgspec.Struct, frozen=True):
    """Stop, with a banner that stays."""

    text: str


Effect: TypeAlias = (
    Append
    | Reply
    | StartSummary
    | AbortSummary
    | Deliver
    | Resume
    | Proceed
    | EndExchange
    | StopExchange
    | RepeatRequest
    | Accept
    | ReturnQueue
    | Steer
    | Say
    | Ask
    | Move
    | StopAgent
)
