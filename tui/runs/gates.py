"""Whether the next item is given to the agent now: one pure function over a snapshot.

The snapshot is taken when a scheduled dispatch begins, and again after everything it waited for.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from tui.runs.machine import needs_review, next_item
from tui.runs.plan import Bounds, Plan
from tui.runs.state import RunState, RunStatus

__all__ = ["Act", "Bound", "Claim", "Complete", "Hold", "Live", "Snapshot", "Verify", "Wedged", "bound", "judge"]

MOST_DELIVERIES = 2
"""Of one item's message without progress."""


class Live(msgspec.Struct, frozen=True):
    """What the running exchange adds to what the state knows."""

    turns: int = 0
    cost: float = 0.0
    active_ms: int = 0


NOTHING_LIVE = Live()


class Snapshot(msgspec.Struct, frozen=True):
    """Everything that decides, at one moment."""

    plan: Plan
    state: RunState
    token: int
    """As it was when the dispatch was scheduled."""
    queued: bool = False
    """A message waits."""
    busy: bool = False
    """An exchange is open."""
    handing_over: bool = False
    """A handoff is locked, or its continuation is not answered."""
    ours: bool = True
    """The lease is."""
    stored: RunStatus = "active"
    """What the database says."""
    stored_seq: int = -1
    """Events in the database; -1 where they were not looked up."""
    live: Live = NOTHING_LIVE


class Hold(msgspec.Struct, frozen=True):
    """Nothing is done; silently."""

    gate: str


class Claim(msgspec.Struct, frozen=True):
    """The item with this index is given to the agent."""

    item: int


class Verify(msgspec.Struct, frozen=True):
    """The item in work is verified: its checks, or the review of what passed them."""

    what: Literal["checks", "review"]


class Complete(msgspec.Struct, frozen=True):
    """There is no next item."""


class Bound(msgspec.Struct, frozen=True):
    """A bound is reached."""

    text: str


class Wedged(msgspec.Struct, frozen=True):
    """The item's message was given twice and nothing came of it."""


Act: TypeAlias = Hold | Claim | Verify | Complete | Bound | Wedged


def judge(now: Snapshot) -> Act:
    """Return what a dispatch does. The order of the gates is the contract."""
    closed = _closed(now)
    if closed:
        return Hold(closed)
    item = now.state.item
    if item is not None and item.status == "verifying":
        return _verify(now)
    index = next_item(now.state)
    reached = bound(now.plan.bounds, now.state, now.live)
    if reached and index is not None:  # a bound keeps work from beginning; where none is left the run is complete
        return Bound(reached)
    if index is not None and index >= len(now.plan.items):
        return Hold("item")
    if now.token != now.state.token:
        return Hold("token")
    if index is None:
        return Complete()
    if now.state.items[index].deliveries >= MOST_DELIVERIES:
        return Wedged()
    return Claim(index)


def _closed(now: Snapshot) -> str:
    """Return the first gate before the item's that is closed, or nothing."""
    gates = (
        ("suspended", bool(now.state.suspended)),
        ("queued", now.queued),
        ("busy", now.busy),
        ("handoff", now.handing_over),
        ("lease", not now.ours),
        ("active", now.stored != "active" or now.state.status != "active"),
        ("contradiction", now.stored_seq not in (-1, now.state.seq)),
    )
    return next((name for name, closed in gates if closed), "")


def _verify(now: Snapshot) -> Act:
    item = now.state.item
    assert item is not None
    if now.token != now.state.token:
        return Hold("token")
    if not item.checked:
        return Verify("checks")
    return Verify("review") if needs_review(now.plan, now.state.at) == "agent" else Hold("review")


def bound(bounds: Bounds, state: RunState, live: Live = NOTHING_LIVE) -> str:
    """Return the sentence for a bound that is reached since it was last lifted, or nothing."""
    lifted = state.lifted
    items = state.done - lifted.items
    minutes = (state.active_ms + live.active_ms - lifted.active_ms) / 60_000
    cost = state.cost + live.cost - lifted.cost
    if bounds.max_items and items >= bounds.max_items:
        return f"{items} items are done: the bound is {bounds.max_items}."
    if bounds.max_minutes and minutes >= bounds.max_minutes:
        return f"{minutes:.1f} active minutes: the bound is {bounds.max_minutes:g}."
    if bounds.max_cost and cost >= bounds.max_cost:
        return f"${cost:.2f} spent: the bound is ${bounds.max_cost:.2f}."
    item = state.item
    turns = (item.turns if item is not None and item.status == "working" else 0) + live.turns - lifted.turns
    if bounds.max_turns_per_item and turns >= bounds.max_turns_per_item:
        return f"{turns} turns on one item: the bound is {bounds.max_turns_per_item}."
    return ""
