"""The summary for next time, made in sight when a session is left, where one is due (`spec/follow-up.md`, F2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.agent.agent import Agent
    from tui.screens.main import MainScreen

__all__ = ["LINE", "saved_first"]

LIMIT = 20.0
"""Seconds a person waits for it at the most."""
LINE = "Saving a summary for next time; any key skips"


def saved_first(screen: MainScreen, then: Callable[[], None]) -> None:
    """Make the summary for next time, where one is due, for as long as no key is pressed; then do `then`.

    The session is left whatever becomes of it: a failure is a receipt in the log.
    """

    async def save(agent: Agent) -> None:
        try:
            if not agent.journal.failure and await agent.saver.due():
                screen.note(LINE)
                await agent.saver.save(LIMIT)
        finally:
            then()

    if screen.link is None:
        then()
    else:
        screen.link.do(save)
