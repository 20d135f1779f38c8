"""A list one types into to find a row: earlier prompts, settings, keys, themes. What is marked can be tried at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui.screens.pages import PAGE_CSS

__all__ = ["FILTER_BINDINGS", "FilterPage", "Line", "fitting"]

Line = tuple[str, Content, str]
"""What picking returns, the row, and the words it is found by."""

_MOST = 500
"""Rows that are shown at a time."""

FILTER_BINDINGS: list[BindingType] = [
    Binding("up,ctrl+p", "move(-1)", "Row before", show=False, id="filter.up", priority=True),
    Binding("down,ctrl+n,ctrl+r", "move(1)", "Row after", show=False, id="filter.down", priority=True),
    Binding("pageup", "move(-10)", "Ten rows up", show=False, id="filter.page_up", priority=True),
    Binding("pagedown", "move(10)", "Ten rows down", show=False, id="filter.page_down", priority=True),
    Binding("enter", "pick", "Take this row", show=False, id="filter.pick", priority=True),
    Binding("escape,ctrl+c,ctrl+g", "leave", "Back", show=False, id="filter.back", priority=True),
]


def fitting(lines: Sequence[Line], query: str) -> list[Line]:
    """Return the lines that hold every word of `query`, in their order."""
    words = query.lower().split()
    return [line for line in lines if all(word in line[2].lower() for word in words)]


class FilterPage(ModalScreen[str | None]):
    """Returns the key of the row that was picked, or None. `tried` is called with what is marked."""

    DEFAULT_CSS = PAGE_CSS.format(name="FilterPage") + (
        "FilterPage Input { height: 1; border: none; padding: 0; margin-bottom: 1; background: $clew-surface; }"
        "FilterPage OptionList { height: auto; max-height: 60vh; }"
        "FilterPage .page-below { height: auto; color: $clew-dim; margin-top: 1; }"
    )
    BINDINGS: ClassVar[list[BindingType]] = FILTER_BINDINGS

    def __init__(
        self,
        title: str,
        lines: Sequence[Line],
        *,
        below: str = "",
        tried: Callable[[str], object] | None = None,
        query: str = "",
    ) -> None:
        super().__init__()
        self._title = title
        self._lines = list(lines)
        self._shown: list[Line] = []
        self._below = below
        self._tried = tried
        self._field = Input(query, placeholder="type to find", select_on_focus=False, compact=True)
        self._list = OptionList(markup=False, compact=True)
        self._list.can_focus = False

    def compose(self) -> ComposeResult:
        """Title, words, rows, and what can be done with them."""
        with Vertical(classes="page"):
            yield Static(Content(self._title), classes="page-title", markup=False)
            yield self._field
            yield self._list
            if self._below:
                yield Static(Content(self._below), classes="page-below", markup=False)

    def on_mount(self) -> None:
        """Show every row."""
        self._field.focus()
        self._fill(self._field.value)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._fill(event.value)

    def _fill(self, query: str) -> None:
        self._shown = fitting(self._lines, query)[:_MOST]
        self._list.clear_options()
        self._list.add_options([Option(row) for _, row, _ in self._shown])
        self._list.highlighted = 0 if self._shown else None

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if self._tried is not None and event.option_index < len(self._shown):
            self._tried(self._shown[event.option_index][0])

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._shown[event.option_index][0])

    def action_move(self, rows: int) -> None:
        """Mark another row."""
        if self._shown:
            at = (self._list.highlighted or 0) + rows
            self._list.highlighted = at % len(self._shown) if abs(rows) == 1 else max(0, min(at, len(self._shown) - 1))

    def action_pick(self) -> None:
        """Return what is marked."""
        at = self._list.highlighted
        self.dismiss(self._shown[at][0] if at is not None and self._shown else None)

    def action_leave(self) -> None:
        """Return nothing."""
        self.dismiss(None)
