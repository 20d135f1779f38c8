"""The state of a run, and what can happen to it: frozen data that the machine works on and the database keeps."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from tui.runs.checkout import Checkout

__all__ = [
    "Answered",
    "Card",
    "CheckRun",
    "Checked",
    "Claimed",
    "Completed",
    "Event",
    "ItemState",
    "ItemStatus",
    "Lifted",
    "Paused",
    "Ready",
    "Resumed",
    "Reviewed",
    "RunState",
    "RunStatus",
    "Started",
    "Step",
    "Stopped",
    "Suspended",
    "Verdict",
    "Why",
    "Worked",
    "outcome",
]

ItemStatus: TypeAlias = Literal["pending", "working", "verifying", "accepted", "blocked", "skipped"]
RunStatus: TypeAlias = Literal["active", "paused", "blocked", "complete", "stopped"]
Verdict: TypeAlias = Literal["pass", "fail", "infrastructure"]
Why: TypeAlias = Literal["", "person", "bound", "wedged", "infrastructure", "handoff", "error", "exchange"]
"""What a run paused for."""


class CheckRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """One check as it ran: evidence for pass and fail alike."""

    command: tuple[str, ...]
    verdict: Verdict
    exit: int | None = None
    """None where it did not end by itself."""
    cause: str = ""
    """Why it says nothing about the work: could not start, time limit, killed."""
    tail: str = ""
    """The last 2,000 bytes of its output."""
    at: int = 0
    """Milliseconds since 1970, UTC, when it ended."""
    seconds: float = 0.0


def outcome(runs: tuple[CheckRun, ...]) -> Verdict:
    """Return what some checks say together: the first that did not pass decides."""
    verdicts: list[Verdict] = [run.verdict for run in runs if run.verdict != "pass"]
    return verdicts[0] if verdicts else "pass"


class ItemState(msgspec.Struct, frozen=True, omit_defaults=True):
    """One item of a run."""

    status: ItemStatus = "pending"
    attempts: int = 0
    """Verifications that gave a verdict, counted by the program."""
    failures: int = 0
    """Of these, failed ones since a person last answered."""
    deliveries: int = 0
    """Times its message was given since there was progress."""
    turns: int = 0
    """Answers of the model while it was in work."""
    checked: bool = False
    """The checks passed; a review decides."""
    repeats: int = 0
    """Automatic repeats after an infrastructure verdict."""
    said: str = ""
    """What the agent gave as evidence with `item_ready`."""
    trouble: str = ""
    """Why it goes back to work or is blocked: output of a check, reasons of a review."""
    word: str = ""
    """What a person said with the last answer."""
    question: str = ""
    evidence: tuple[CheckRun, ...] = ()
    """Of the newest verification."""
    tree: str = ""
    """All files as they were when work on it began."""
    active_ms: int = 0
    cost: float = 0.0


class Lifted(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the figures stood when a person resumed a run that had reached a bound: bounds count from there."""

    items: int = 0
    active_ms: int = 0
    cost: float = 0.0
    turns: int = 0


class RunState(msgspec.Struct, frozen=True, omit_defaults=True):
    """A whole run."""

    items: tuple[ItemState, ...]
    status: RunStatus = "active"
    suspended: str = ""
    """Why nothing goes on by itself until a person says so; empty where it does."""
    why: Why = ""
    """What it paused for."""
    detail: str = ""
    """The same in words."""
    token: int = 0
    """Grows whenever a person or an end changes what may follow: a dispatch of before is stale."""
    at: int = -1
    """Index of the item in work; -1 is none."""
    active_ms: int = 0
    cost: float = 0.0
    handoffs: int = 0
    checkout: Checkout = Checkout()
    """As it was when the run began or last stopped."""
    lifted: Lifted = Lifted()
    seq: int = 0
    """Events so far."""

    @property
    def runs(self) -> bool:
        """Whether it goes on by itself."""
        return self.status == "active" and not self.suspended

    @property
    def over(self) -> bool:
        """Whether nothing can follow."""
        return self.status in ("complete", "stopped")

    @property
    def item(self) -> ItemState | None:
        """The item in work, or None."""
        return self.items[self.at] if 0 <= self.at < len(self.items) else None

    @property
    def done(self) -> int:
        """Items accepted and skipped."""
        return sum(item.status in ("accepted", "skipped") for item in self.items)


# --- what can happen ----------------------------------------------------------------------------


class Started(msgspec.Struct, frozen=True, tag="started"):
    """The run begins."""

    checkout: Checkout = Checkout()


class Claimed(msgspec.Struct, frozen=True, tag="claimed", omit_defaults=True):
    """An item's message is given to the agent, for the first time or again."""

    item: int
    tree: str = ""


class Worked(msgspec.Struct, frozen=True, tag="worked", omit_defaults=True):
    """An exchange about the item in work has settled."""

    turns: int = 0
    cost: float = 0.0
    handoffs: int = 0
    progress: bool = False
    """A file was changed."""
    checkout: Checkout = Checkout()
    """As it is now; empty where nobody looked."""


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The agent says that the item in work is ready."""

    evidence: str


class Checked(msgspec.Struct, frozen=True, tag="checked", omit_defaults=True):
    """Its checks ran, up to the first that did not pass. `review`: passing is not enough."""

    runs: tuple[CheckRun, ...]
    review: bool = False


class Reviewed(msgspec.Struct, frozen=True, tag="reviewed", omit_defaults=True):
    """A reviewer has decided on the item that passed its checks."""

    by: Literal["human", "agent"]
    accept: bool
    text: str = ""


class Answered(msgspec.Struct, frozen=True, tag="answered", omit_defaults=True):
    """A person decides on the item that is blocked or waits for a review."""

    answer: Literal["retry", "skip"]
    text: str = ""


class Suspended(msgspec.Struct, frozen=True, tag="suspended"):
    """A person did something of their own: nothing goes on by itself."""

    reason: str


class Resumed(msgspec.Struct, frozen=True, tag="resumed"):
    """A person says go on."""


class Paused(msgspec.Struct, frozen=True, tag="paused"):
    """The run stops, to be resumed."""

    why: Why
    detail: str = ""
    checkout: Checkout = Checkout()


class Completed(msgspec.Struct, frozen=True, tag="completed"):
    """There is no next item."""


class Stopped(msgspec.Struct, frozen=True, tag="stopped"):
    """A person ended the run."""


Event: TypeAlias = (
    Started
    | Claimed
    | Worked
    | Ready
    | Checked
    | Reviewed
    | Answered
    | Suspended
    | Resumed
    | Paused
    | Completed
    | Stopped
)


class Step(msgspec.Struct, frozen=True):
    """An event, and how long it was since the one before it, by a clock that nobody sets."""

    event: Event
    took: int = 0
    """Milliseconds; zero for the first one of a process."""


class Card(msgspec.Struct, frozen=True):
    """What a person is told of a transition: one line, and what stands behind it."""

    what: Literal[
        "started",
        "accepted",
        "failed",
        "blocked",
        "skipped",
        "review",
        "repeated",
        "paused",
        "suspended",
        "resumed",
        "complete",
        "stopped",
    ]
    text: str
    item: int = -1
    detail: str = ""
