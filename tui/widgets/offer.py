"""What was cut off when the session was last open: one line, one key to go on, one to look."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from tui.widgets.hints import Hint, hint_row
from tui.widgets.sanitise import one_line

__all__ = ["Offer"]

_LONGEST = 200


class Offer(Static):
    """Hidden until something waits for the person; gone when something runs."""

    DEFAULT_CSS = """
    Offer { height: auto; max-height: 4; width: 1fr; padding: 0 1; display: none; }
    Offer.-open { display: block; background: $clew-surface; border-left: outer $clew-warning; }
    """

    def __init__(self, keys: tuple[Hint, ...]) -> None:
        super().__init__("", id="offer", markup=False)
        self._keys = keys

    def open(self, line: str) -> None:
        """Show what waits, with the keys."""
        told = Content.assemble((one_line(line, _LONGEST), "$clew-warning"))
        self.update(Content("\n").join([told, hint_row(self._keys, _LONGEST)]))
        self.add_class("-open")

    def close(self) -> None:
        """Take it away: it was answered, or time has gone on."""
        self.remove_class("-open")
