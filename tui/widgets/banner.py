"""A line that stays: the log cannot be written, the session is read-only, the rehearsal answers."""

from __future__ import annotations

from typing import Literal

from textual.content import Content
from textual.widgets import Static

from tui.widgets.sanitise import sanitise

__all__ = ["Banner"]


class Banner(Static):
    """Hidden until there is something to say; then it stays until the program ends, or the state it tells of does."""

    DEFAULT_CSS = """
    Banner { height: auto; max-height: 5; width: 1fr; padding: 0 1; display: none; }
    Banner.-error, Banner.-notice { display: block; background: $clew-surface; }
    Banner.-error { color: $clew-hard; border-left: outer $clew-hard; }
    Banner.-notice { color: $clew-warning; border-left: outer $clew-warning; }
    """

    def __init__(self) -> None:
        super().__init__("", id="banner", markup=False)
        self._error = ""
        self._standing: dict[str, str] = {}

    def say(self, text: str, kind: Literal["error", "notice"]) -> None:
        """Show `text` until the program ends, an error until it is mended. An error is never replaced by a notice."""
        if kind == "error":
            self._error = text
        else:
            self._standing[""] = text
        self._show()

    def mend(self) -> None:
        """End the error: a session is open again."""
        self._error = ""
        self._show()

    def stand(self, name: str, text: str) -> None:
        """Show a notice about a state for as long as it lasts: an empty text ends it."""
        if text == self._standing.get(name, ""):
            return
        if text:
            self._standing[name] = text
        else:
            del self._standing[name]
        self._show()

    def _show(self) -> None:
        text = self._error or "\n".join(self._standing.values())
        self.set_class(bool(self._error), "-error")
        self.set_class(bool(text) and not self._error, "-notice")
        self.update(Content(sanitise(text, cr="newline")))
