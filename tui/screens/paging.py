"""How commands open pages and tell the person what came of a wish."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from tui.screens.main import MainScreen
from tui.screens.pages import EditPage, PickPage, TextPage

if TYPE_CHECKING:
    from tui.agent.agent import Agent

__all__ = ["Pages", "tell_of"]


class Pages(msgspec.Struct, frozen=True):
    """How pages are opened; the callback gets what was chosen or written, None for nothing."""

    read: Callable[[TextPage], None]
    pick: Callable[[PickPage, Callable[[str | None], None]], None]
    edit: Callable[[EditPage, Callable[[str | None], None]], None]


def tell_of(screen: MainScreen, ask: Callable[[Agent], Awaitable[str]]) -> None:
    """Run a wish and tell the person what it says."""

    async def asked(agent: Agent) -> None:
        text = await ask(agent)
        if text:
            screen.note(text, passing=True)

    if screen.link is not None:
        screen.link.do(asked)
