"""Waiting for a condition in a running app, without sleeping: each look lets all messages be handled."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from textual.pilot import Pilot
from textual.screen import Screen

__all__ = ["page_ready", "until"]

_PATIENCE = 60.0
"""Seconds after which a condition is given up: far beyond what the busiest machine needs."""
_Any = TypeVar("_Any")


async def until(pilot: Pilot[_Any], condition: Callable[[], object], what: str = "the condition") -> None:
    """Return when `condition` holds. Fails where it does not come about at all."""
    end = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come about")
        await pilot.pause(0.01)


async def page_ready(pilot: Pilot[_Any], kind: type[Screen[Any]]) -> None:
    """Return when a page of this kind takes keys: on the stack it is before its widgets are there."""

    def takes_keys() -> bool:
        screen = pilot.app.screen
        return isinstance(screen, kind) and screen.is_mounted and (screen.focused is not None or not screen.focus_chain)

    await until(pilot, takes_keys, f"{kind.__name__}, ready for keys")
