"""Ctrl+R: the earlier prompts of this project, found by what is in them."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tui.screens.filter_page import FilterPage
from tui.widgets.sanitise import one_line

__all__ = ["recall_page"]


def recall_page(prompts: Sequence[str], query: str) -> FilterPage:
    """Return the page: the newest prompt first, each once. Picking one returns it whole."""
    newest = dict.fromkeys(reversed(prompts))
    lines = [(text, Content(one_line(text, 300)), text) for text in newest]
    return FilterPage("Earlier prompts", lines, query=query if "\n" not in query else "")
