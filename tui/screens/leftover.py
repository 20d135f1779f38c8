"""A start beside a session that was cut off: the start screen says so, and one key goes on with it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tui.widgets.hints import key_name
from tui.widgets.start import StartView

if TYPE_CHECKING:
    from tui.agent.agent import Agent
    from tui.agent.session import SessionOptions
    from tui.log.protocol import SessionInfo
    from tui.screens.main import MainScreen

__all__ = ["offer_left", "waiting_words"]


async def offer_left(screen: MainScreen, agent: Agent, options: SessionOptions) -> None:
    """Offer the newest session here if something of it waits. Only its row is looked at; nothing of it goes on."""
    if options.open != "new" or not options.persist:
        return
    from tui.agent.shelf import Shelf

    info = await Shelf(options.home, options.cwd).left(but=agent.session_id)
    if info is None or screen.link is None or screen.link.agent is not agent:
        return
    screen.left = info.id
    key = key_name(screen.options.keymap.get("app.continue", "f5").split(",")[0])
    words = waiting_words(info, time.time_ns() // 1_000_000)
    screen.query_one(StartView).waits(words, f"{key} goes on with it, /resume shows all sessions")


def waiting_words(info: SessionInfo, now: int) -> str:
    """Return in a line what a session is in the middle of."""
    from tui.screens.session_rows import age

    if info.run:
        what = f"The run of the newest session here is {'not over' if info.run == 'active' else info.run}"
    elif info.state == "handoff":
        what = "A handoff is pending in the newest session here"
    else:
        what = "The newest session here was interrupted"
    return f"{what} ({age(now - info.updated)}): {info.title or 'untitled'}"
