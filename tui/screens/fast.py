"""The fast frame: what changed goes to the terminal without Textual's compositor, as the fewest bytes.

The compositor calls every visible widget for every frame and writes whole rows. Here only the widgets that
changed are asked for their rows, and `Painted` finds what the terminal does not show yet. It is left to the
compositor what is not plain: whole screens, layouts, widgets that lie over each other.

Where this Textual has not all that is needed, or CLEW_FRAME is `plain`, every frame takes the ordinary way and
looks the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from textual.geometry import Offset, Region, Size
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, TextArea

from tui.widgets.frame import Painted, Part, Step, encode
from tui.widgets.insides import FAST_FRAME, CompositorUpdate, app_of, dirty_of, display_of, mouse_of, ticking_of

__all__ = ["FastScreen"]

_Places = dict[Widget, tuple[Region, Region]]


class _Frame(CompositorUpdate):
    """Steps, as the display takes them."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps
        self.written = False

    def render_segments(self, console: Console) -> str:
        """Return what is written to the terminal."""
        self.written = True
        return encode(self.steps, lambda strip: strip.render(console))


class FastScreen(Screen[None]):
    """A screen that writes only what changed."""

    def __init__(self) -> None:
        super().__init__()
        self._painted = Painted()
        self._cursor = Offset(-1, -1)

    def on_mount(self) -> None:
        """Let the first interval of the ticks pass while all is laid out: the first letter need not wait for it."""
        if FAST_FRAME:
            ticking_of(self).resume()

    def _compositor_refresh(self) -> None:
        app = app_of(self)
        if isinstance(self.focused, TextArea | Input):
            # Textual places it when a key moves it; an input method needs it before, and after a layout.
            app.cursor_position = self.focused.cursor_screen_offset
        parts = self._parts() if FAST_FRAME and self is app.screen and not app.is_inline else None
        if parts is None:
            self._painted.forget(self.size.width)
            super()._compositor_refresh()
            return
        dirty = dirty_of(self._compositor)
        lost = set(dirty)
        dirty.clear()
        self._dirty_widgets.clear()
        frame, cursor = _Frame(self._painted.paint(parts)), app.cursor_position
        if frame.steps or cursor != self._cursor:
            self._cursor = cursor
            display_of(app)(self, frame)
            if not frame.written:  # the app holds its display back while it changes several things at once
                self._painted.forget(self.size.width)
                dirty.update(lost)
        mouse_of(app)(self)

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:
        self._painted.forget(self.size.width)  # what was side by side may lie elsewhere
        super()._refresh_layout(size, scroll)

    def _parts(self) -> list[Part] | None:
        """Return the rows to paint; None where the compositor must."""
        dirty = dirty_of(self._compositor)
        if Region(0, 0, *self.size) in dirty:
            return None
        places = self._compositor.visible_widgets
        parts = [_part(region, places) for region in dirty]
        return None if None in parts else [part for part in parts if part is not None]


def _part(dirty: Region, places: _Places) -> Part | None:
    """Return the rows of the one widget that shows a region; None where several do. `places` come front first."""
    front: list[Region] = []
    for widget, (place, clip) in places.items():
        shown = place.intersection(clip)
        if shown.contains_region(dirty):
            rows = _uncovered(Region(shown.x, dirty.y, shown.width, dirty.height), front)
            return None if rows is None else Part(rows.x, rows.y, widget.render_lines(rows.translate(-place.offset)))
        front.append(shown)
    return None


def _uncovered(rows: Region, front: Iterable[Region]) -> Region | None:
    """Return what of some rows is in view: something in front may cut off a side, like a scrollbar; else None."""
    for other in front:
        if not other.overlaps(rows):
            continue
        if other.y > rows.y or other.bottom < rows.bottom:
            return None
        if other.right >= rows.right:
            rows = Region(rows.x, rows.y, max(0, other.x - rows.x), rows.height)
        elif other.x <= rows.x:
            rows = Region(other.right, rows.y, rows.right - other.right, rows.height)
        else:
            return None
    return rows
