"""A scrolling view of a document: painting, scrolling, selecting and folding, whatever its length.

What is painted are cached strips. Growing and scrolling never lay out the screen: `virtual_size` and the
scroll position are set without their watchers, and the scrollbar is told by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeAlias, cast

from textual import events
from textual.binding import Binding, BindingType
from textual.filter import ANSIToTruecolor
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from tui.widgets.insides import app_of, starter_of
from tui.widgets.transcript.document import Document, Place
from tui.widgets.transcript.markdown import Look
from tui.widgets.transcript.render import foldable, header_row
from tui.widgets.transcript.rows import Row
from tui.widgets.transcript.scrollbar import LeanScrollBar
from tui.widgets.transcript.selection import copied, encode, highlight

__all__ = ["DocumentView", "Painted"]

Painted: TypeAlias = tuple[Place, Row | None, Strip]
"""A row in view: where in the document it is, the row, and how it is painted."""

OLDER_MARGIN = 2
"""Screens from the top at which an older page is asked for."""


class DocumentView(ScrollView, can_focus=True):
    """Shows the rows of a document; emits `OlderWanted` and `NewLines`."""

    ALLOW_SELECT = True
    DEFAULT_CSS = """
    DocumentView {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+o", "toggle_all", "Unfold all", id="transcript.toggle_all"),
        Binding("ctrl+l", "repaint", "Repaint", show=False, id="transcript.repaint"),
    ]

    class OlderWanted(Message):
        """The beginning of what is loaded is near; answered by an older page, or never."""

    class NewLines(Message):
        """`count` rows came below while the person reads further up; 0 when the end is in view again."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

    def __init__(self, look: Look, *, dom_id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=dom_id, classes=classes)
        self.document = Document(look)
        self.following = True
        self.new_lines = 0
        self._asked_older = False

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scrollbar, made when it is first asked for."""
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = LeanScrollBar(name="vertical", thickness=self.scrollbar_size_vertical)
            self._vertical_scrollbar.display = False
            starter_of(app_of(self))(self, self._vertical_scrollbar)
        return self._vertical_scrollbar

    # -- scrolling -------------------------------------------------------------------------------

    def follow(self) -> None:
        """Go to the end and stay there."""
        self.following = True
        self._grow(0)

    def _changed(self, at: int, grown: int) -> None:
        """Take in that a block changed; if it is above the view, what is in view stays."""
        top = int(self.scroll_y)
        above = self.document.heights.start(at) + self.document.heights[at] - grown <= top
        self._grow(0 if above else grown, top + grown if above else None, at)

    def _grow(self, rows: int, top: int | None = None, at: int | None = None) -> None:
        """Take in that `rows` came at the end; `top` is the row to be first in view now.

        `at` is the block that changed, where it is one alone: below the view nothing is painted for it.
        """
        if not self.document.width:
            return
        if not self.following and rows > 0:
            self._count_new(self.new_lines + rows)
        below = int(self.scroll_y) + self.size.height
        unseen = not self.following and at is not None and self.document.heights.start(at) >= below
        self._place(int(self.scroll_y) if top is None else top, paint=not unseen)

    def _place(self, top: int, *, paint: bool = True) -> None:
        """Make `top` the first row in view (the last possible one, if following), without any layout."""
        height = self.size.height
        document = self.document
        top = document.settle_end(height) if self.following else document.settle(top, height)
        total = document.heights.total
        top = max(0, min(top, total - height))
        self.set_reactive(cast("Reactive[Size]", Widget.virtual_size), Size(document.width, total))
        self.set_reactive(Widget.scroll_y, float(top))
        self.set_reactive(cast("Reactive[float]", Widget.scroll_target_y), float(top))
        bar = self.vertical_scrollbar
        bar.window_virtual_size, bar.window_size, bar.position = total, height, top
        if paint:
            self.refresh()
        if top < OLDER_MARGIN * height and not self._asked_older and document.blocks:
            self._asked_older = True
            self.post_message(self.OlderWanted())

    def _move(self, top: int) -> None:
        """Scroll to a row because a person wants it."""
        end = self.document.heights.total - self.size.height
        self.following = top >= end
        if self.following and self.new_lines:
            self._count_new(0)
        self._place(top)

    def _count_new(self, count: int) -> None:
        if count != self.new_lines:
            self.new_lines = count
            self.post_message(self.NewLines(count))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the scrollbar and the wheel."""
        super().watch_scroll_y(old_value, new_value)
        if self.document.width:
            self._move(round(new_value))

    def action_scroll_up(self) -> None:
        """One row up."""
        self._move(int(self.scroll_y) - 1)

    def action_scroll_down(self) -> None:
        """One row down."""
        self._move(int(self.scroll_y) + 1)

    def action_page_up(self) -> None:
        """Go a screen up, less two rows."""
        self._move(int(self.scroll_y) - max(1, self.size.height - 2))

    def action_page_down(self) -> None:
        """Go a screen down, less two rows."""
        self._move(int(self.scroll_y) + max(1, self.size.height - 2))

    def action_scroll_home(self) -> None:
        """To the beginning of what is loaded."""
        self._move(0)

    def action_scroll_end(self) -> None:
        """To the end, and follow it."""
        self._move(self.document.heights.total)

    # -- events ----------------------------------------------------------------------------------

    def on_resize(self, _event: events.Resize) -> None:
        """Another width wraps everything again, what is in view first; another height only moves the end."""
        width = self.scrollable_content_region.width
        if width and width != self.document.width:
            self._set_width(width)
        else:
            self._grow(0)

    def _set_width(self, width: int) -> None:
        self.document.width = width
        self._relayout()

    def _relayout(self) -> None:
        """Wrap again; the block that was first in view stays first."""
        document = self.document
        at, inside = document.heights.find(int(self.scroll_y)) if document.blocks else (0, 0)
        before = document.heights[at] if at < len(document.blocks) else 1
        document.rebuild()
        if self.text_selection is not None:
            # Rows have moved: what was selected is no longer there.
            self.screen.clear_selection()
        if at < len(document.blocks):
            inside = inside * document.heights[at] // max(1, before)
            self._grow(0, document.heights.start(at) + inside)

    def on_click(self, event: events.Click) -> None:
        """Fold or unfold the block whose header was clicked."""
        if self.text_selection is not None:
            return
        document = self.document
        at, row = document.heights.find(int(self.scroll_y) + event.y)
        if at < len(document.blocks) and foldable(document.blocks[at]) and row == header_row(document.blocks[at]):
            event.stop()
            document.toggle(at)
            self.following = False
            self._move(int(self.scroll_y))

    def action_toggle_all(self) -> None:
        """Unfold every tool and thought, or fold all again."""
        self.document.toggle_all()
        self._relayout()

    def action_repaint(self) -> None:
        """Paint the whole screen again, whatever another program wrote over it."""
        self.screen.refresh(layout=True)

    # -- painting --------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the strips to paint: cached ones, without the detour that renders widgets line by line."""
        document = self.document
        width = self.size.width
        rows = document.strips(int(self.scroll_y) + crop.y, crop.height)
        selection = self.text_selection
        if selection is None:
            strips = [strip for _, _, strip in rows]
        else:
            style = document.look.theme.selection
            strips: list[Strip] = []
            for place, row, strip in rows:
                span = selection.get_span(encode(place)) if row is not None else None
                strips.append(highlight(strip, row, span, style) if row is not None and span else strip)
        strips = self.marked(rows, strips)
        if crop.x or crop.width != document.width or width != document.width:
            strips = [strip.crop_extend(crop.x, crop.x + crop.width, document.look.theme.text) for strip in strips]
        for each in self.get_line_filters():
            # Our styles are complete already; this filter would cost a pass over every strip.
            if not isinstance(each, ANSIToTruecolor):
                strips = [strip.apply_filter(each, self.background_colors[1]) for strip in strips]
        return strips

    def marked(self, _rows: Sequence[Painted], strips: list[Strip]) -> list[Strip]:
        """Return the strips with what is to be seen on them beside the words; nothing here."""
        return strips

    def render_line(self, y: int) -> Strip:
        """Return a strip that tells Textual's hit test where in the document it is."""
        place, _, strip = self.document.strips(int(self.scroll_y) + y, 1)[0]
        return strip.apply_offsets(0, encode(place))

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected words, without gutter and wrapping."""
        return copied(self.document, selection), "\n"
