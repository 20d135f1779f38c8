"""Moving the leaf: what is written where it arrives, so that the path is whole, and what is in force there."""

from __future__ import annotations

from tui.agent.branch import Branch, open_calls
from tui.agent.toolrun import refused
from tui.context.view import EFFECTS_UNKNOWN
from tui.log.entries import ApprovalMode, Body, ModelChosen, Queue, Settled

__all__ = ["arrival", "made_whole"]


def arrival(left: Branch, target: Branch) -> tuple[Body, ...]:
    """Return what goes with a move from `left` to `target` where nothing in force may change."""
    return (*made_whole(target), *_in_force(left, target))


def made_whole(target: Branch) -> tuple[Body, ...]:
    """Return what a path needs whose end is moved to: nothing open stays open.

    A call that is open there may well have run on the branch that was left: its effects are unknown here.
    """
    calls = [refused(call, EFFECTS_UNKNOWN, "unknown") for call, _ in open_calls(target.entries)]
    settled = (Settled("interrupted", "The conversation goes on from here."),) if target.exchange_open else ()
    return (*calls, *settled)


def _in_force(left: Branch, target: Branch) -> tuple[Body, ...]:
    """Return the queue, model and approval mode that are the person's, not the path's."""
    queue = (Queue(left.queue),) if left.queue != target.queue else ()
    chosen = tuple(
        entry.body
        for kind in (ModelChosen, ApprovalMode)
        if (entry := left.newest(kind)) is not None
        and isinstance(entry.body, kind)
        and ((there := target.newest(kind)) is None or there.body != entry.body)
    )
    return (*queue, *chosen)
