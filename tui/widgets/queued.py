"""The messages that wait, above the editor: seen, counted, and never more than a few rows."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from tui.agent.events import QueuedText
from tui.widgets.glyphs import UNICODE, Glyphs
from tui.widgets.sanitise import one_line

__all__ = ["ROWS", "QueuedMessages", "queued_rows"]

ROWS = 4
"""Most rows the queue takes."""


def queued_rows(items: Sequence[QueuedText], glyphs: Glyphs = UNICODE) -> Content:
    """Return one row for each waiting message, the last row a count where there are more than fit."""
    shown = items if len(items) <= ROWS else items[: ROWS - 1]
    rows = [
        Content.assemble(
            (f"{glyphs.steer if item.mode == 'steer' else glyphs.later} ", "$clew-accent"),
            (f"{'next' if item.mode == 'steer' else 'then'}  ", "$clew-dim"),
            (one_line(item.text, 300), "$clew-text"),
        )
        for item in shown
    ]
    if len(shown) < len(items):
        rows.append(Content.assemble((f"{glyphs.ellipsis} {len(items) - len(shown)} more waiting", "$clew-dim")))
    return Content("\n").join(rows)


class QueuedMessages(Static):
    """Hidden while nothing waits."""

    DEFAULT_CSS = """
    QueuedMessages { height: auto; max-height: 4; padding: 0 1; display: none;
        text-wrap: nowrap; text-overflow: ellipsis; }
    QueuedMessages.-some { display: block; }
    """

    def __init__(self, glyphs: Glyphs = UNICODE) -> None:
        super().__init__("", id="queued", markup=False)
        self._glyphs = glyphs
        self.items: tuple[QueuedText, ...] = ()

    def show(self, items: tuple[QueuedText, ...]) -> None:
        """Show exactly these."""
        self.items = items
        self.set_class(bool(items), "-some")
        self.update(queued_rows(items, self._glyphs))
