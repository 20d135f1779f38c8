"""States, ids and short words for the handoff's tests."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from tui.context.handoff_effects import Append, Deliver, Effect
from tui.context.render import sha256_of
from tui.log.entries import Body, Checkpoint, Handoff, Phase

NOTE = "Done: a.py. Next: b.py.\r\n \u202e\x00 界 \U0001f600 "
OTHER = "Another note."
LATE = "attempt-late"


def counter() -> Callable[[], str]:
    """Return ids that can be told apart: id1, id2, …"""
    numbers = itertools.count(1)
    return lambda: f"id{next(numbers)}"


def state(phase: Phase, *, stopped: bool = False) -> Handoff:
    """Return a state of cycle c1 with NOTE; none and answered have no open cycle."""
    if phase == "none":
        return Handoff(done=3)
    return Handoff(
        phase=phase,
        cycle="c1",
        note="n1",
        note_sha256=sha256_of(NOTE),
        note_units=len(NOTE) + 1,
        attempt="a1" if phase == "compacting" else "",
        attempts=1 if phase in ("compacting", "ready", "delivered", "answered", "failed") else 0,
        error="timeout" if phase == "failed" else "",
        done=3,
        stopped=stopped,
    )


def made(origin: str = "self") -> Checkpoint:
    return Checkpoint("self" if origin == "self" else "manual", "e0", "e9", 9, "a summary")


def names(effects: Sequence[Effect]) -> list[str]:
    return [type(effect).__name__ for effect in effects]


def written(effects: Sequence[Effect]) -> list[Body]:
    """Return all bodies the effects write, in order."""
    bodies: list[Body] = []
    for effect in effects:
        if isinstance(effect, Append):
            bodies += effect.bodies
        if isinstance(effect, Deliver):
            bodies.append(effect.handoff)
    return bodies
