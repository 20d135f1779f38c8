"""Waiting for a condition in a running app, without sleeping: each look lets all messages be handled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from textual.pilot import Pilot

__all__ = ["until"]

_LOOKS = 600
_Any = TypeVar("_Any")


async def until(pilot: Pilot[_Any], condition: Callable[[], object], what: str = "the condition") -> None:
    """Return when `condition` holds. Fails after a bounded number of looks, of some milliseconds each."""
    for _ in range(_LOOKS):
        if condition():
            return
        await pilot.pause(0.01)
    raise AssertionError(f"{what} did not come about")
