"""The page behind the key on an interrupted session: what was done, what was not, what waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from tui.agent.review import open_ends
from tui.screens.help import info_content
from tui.screens.pages import TextPage

if TYPE_CHECKING:
    from tui.agent.agent import Agent

__all__ = ["review_page"]


def review_page(agent: Agent) -> TextPage:
    """Return the page for a session as it is now."""
    rows = open_ends(agent.branch, agent.queue)
    text = rows or [("nothing", "Nothing was said in this session yet.")]

    def body(width: int) -> Content:
        return info_content(text, width)

    return TextPage("What was done, and what is open", body)
