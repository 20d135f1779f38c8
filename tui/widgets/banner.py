"""A line that stays: the log cannot be written, the session is read-only, the rehearsal answers."""

from __future__ import annotations

from typing import Literal

from textual.content import Content
from textual.widgets import Static

from tui.widgets.sanitise import sanitise

__all__ = ["Banner"]


class Banner(Static):
    """Hidden until there is something to say; then it stays until the program ends or says otherwise."""

    DEFAULT_CSS = """
    Banner { height: auto; max-height: 5; width: 1fr; padding: 0 1; display: none; }
    Banner.-error, Banner.-notice { display: block; background: $clew-surface; }
    Banner.-error { color: $clew-hard; border-left: outer $clew-hard; }
    Banner.-notice { color: $clew-warning; border-left: outer $clew-warning; }
    """

    def __init__(self) -> None:
        super().__init__("", id="banner", markup=False)

    def say(self, text: str, kind: Literal["error", "notice"]) -> None:
        """Show `text`. An error is never replaced by a notice."""
        if kind == "notice" and self.has_class("-error"):
            return
        self.set_class(kind == "error", "-error")
        self.set_class(kind == "notice", "-notice")
        self.update(Content(sanitise(text, cr="newline")))
