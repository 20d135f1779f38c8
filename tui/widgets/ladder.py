"""What Ctrl+C does: put the draft away, then interrupt, then leave. Never two of them at once.

The same key that clears text must not end work (claude-code#95081), so each press takes the first
step that applies, and leaving asks for a second press within two seconds.
"""

from __future__ import annotations

import enum

__all__ = ["CONFIRM", "Rung", "climb"]

CONFIRM = 2.0
"""Seconds within which a second press leaves."""


class Rung(enum.Enum):
    """What one press does."""

    PUT_AWAY = "Draft put away; Ctrl+Z brings it back"
    INTERRUPT = "Interrupted"
    ARM = "Ctrl+C again to quit"
    QUIT = "Leaving"


def climb(*, draft: bool, busy: bool, armed_at: float | None, now: float) -> Rung:
    """Return what this press does. `armed_at` is when a press was answered with `ARM`, if that was the last one."""
    if draft:
        return Rung.PUT_AWAY
    if busy:
        return Rung.INTERRUPT
    if armed_at is not None and now - armed_at <= CONFIRM:
        return Rung.QUIT
    return Rung.ARM
