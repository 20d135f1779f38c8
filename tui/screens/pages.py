"""Pages over the conversation: text to read, a list to pick from. Esc or q goes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static, TextArea
from textual.widgets.option_list import Option

__all__ = ["EDIT_BINDINGS", "PAGE_CSS", "PICK_BINDINGS", "TEXT_BINDINGS", "EditPage", "PickPage", "TextPage"]

_BACK: list[BindingType] = [Binding("escape,q,ctrl+c", "dismiss", "Back", show=False, id="page.back")]

TEXT_BINDINGS: list[BindingType] = [
    *_BACK,
    Binding("up,k", "scroll(-1)", "Up", show=False, id="page.up"),
    Binding("down,j", "scroll(1)", "Down", show=False, id="page.down"),
    Binding("pageup", "scroll(-15)", "Page up", show=False, id="page.page_up"),
    Binding("pagedown,space", "scroll(15)", "Page down", show=False, id="page.page_down"),
]
PICK_BINDINGS: list[BindingType] = [
    Binding("escape,q,ctrl+c", "leave", "Back", show=False, id="pick.back"),
    Binding("pageup", "page(-8)", "What is below the choices, up", show=False, id="pick.page_up", priority=True),
    Binding("pagedown", "page(8)", "What is below the choices, down", show=False, id="pick.page_down", priority=True),
]
EDIT_BINDINGS: list[BindingType] = [
    Binding("ctrl+s", "keep", "Keep the changes", show=False, id="edit.keep", priority=True),
    Binding("escape,ctrl+c", "leave", "Back", show=False, id="edit.back", priority=True),
]

_FEW = 8
"""Choices that are all in view."""

PAGE_CSS = """
{name} {{ align: center middle; background: $clew-background 80%; }}
{name} .page {{ width: 90%; max-width: 100; height: auto; max-height: 90%; padding: 1 2; background: $clew-surface;
    border: none; border-left: outer $clew-accent; scrollbar-size-vertical: 1; }}
{name} .page-title {{ height: auto; text-style: bold; color: $clew-accent; margin-bottom: 1; }}
"""


class TextPage(ModalScreen[None]):
    """A page of text. Its body is made for the width it gets."""

    DEFAULT_CSS = PAGE_CSS.format(name="TextPage")
    BINDINGS: ClassVar[list[BindingType]] = TEXT_BINDINGS

    def __init__(self, title: str, body: Callable[[int], Content]) -> None:
        super().__init__()
        self._title = title
        self._body = body
        self._shown = Static("", markup=False)
        self._width = 0

    def compose(self) -> ComposeResult:
        """Title and body, which scrolls."""
        with VerticalScroll(classes="page", can_focus=False):
            yield Static(Content(self._title), classes="page-title", markup=False)
            yield self._shown

    def on_mount(self) -> None:
        """Show the text once its width is known, and again when that changes."""
        self.call_after_refresh(self._fill)

    def on_resize(self) -> None:
        """Fit the text to the new width."""
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        # Two cells are left for the scrollbar, so that its coming changes nothing.
        width = self.query_one(VerticalScroll).size.width - 2
        if width > 0 and width != self._width:
            self._width = width
            self._shown.update(self._body(width))

    def action_scroll(self, rows: int) -> None:
        """Scroll by rows."""
        self.query_one(VerticalScroll).scroll_relative(y=rows, animate=False)


class PickPage(ModalScreen[str | None]):
    """A list to pick one from; returns its key, or None. More rows may come while it is open."""

    DEFAULT_CSS = PAGE_CSS.format(name="PickPage") + (
        "PickPage .page-below { height: auto; color: $clew-dim; margin-top: 1; display: none; }"
        "PickPage .page-below.-told { display: block; }"
    )
    BINDINGS: ClassVar[list[BindingType]] = PICK_BINDINGS

    def __init__(self, title: str, rows: tuple[tuple[str, Content], ...], *, below: str = "") -> None:
        super().__init__()
        self._title = title
        self._rows = list(rows)
        self._list = OptionList(*(Option(row) for _, row in rows), markup=False, compact=True)
        self._below = Static(Content(below), classes="page-below", markup=False)
        self._below.set_class(bool(below), "-told")

    def compose(self) -> ComposeResult:
        """Title and list."""
        with VerticalScroll(classes="page", can_focus=False):
            yield Static(Content(self._title), classes="page-title", markup=False)
            yield self._list
            yield self._below

    def add(self, rows: tuple[tuple[str, Content], ...]) -> None:
        """Add rows at the end; what is marked stays marked."""
        self._rows += rows
        self._list.add_options([Option(row) for _, row in rows])

    def tell(self, below: str) -> None:
        """Say something below the list; nothing takes it away."""
        self._below.update(Content(below))
        self._below.set_class(bool(below), "-told")

    def action_page(self, rows: int) -> None:
        """Scroll what is below a few choices; a long list has its own pages."""
        if len(self._rows) > _FEW:
            (self._list.action_page_down if rows > 0 else self._list.action_page_up)()
        else:
            self.query_one(VerticalScroll).scroll_relative(y=rows, animate=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """One is picked."""
        self.dismiss(self._rows[event.option_index][0])

    def action_leave(self) -> None:
        """Pick nothing."""
        self.dismiss(None)


class EditPage(ModalScreen[str | None]):
    """A text to change; returns it, or None where it was left or is as it was, whatever its line ends are.

    `below` is shown under it and stays as it is. `keeps_same`: a text that was left as it is counts too.
    """

    DEFAULT_CSS = PAGE_CSS.format(name="EditPage") + (
        "EditPage TextArea { height: 16; max-height: 60vh; border: none; }"
        "EditPage .page-below { height: auto; margin-top: 1; }"
    )
    BINDINGS: ClassVar[list[BindingType]] = EDIT_BINDINGS

    def __init__(self, title: str, text: str, below: Content | None = None, *, keeps_same: bool = False) -> None:
        super().__init__()
        self._keeps_same = keeps_same
        self._title = title
        self._below = below
        self._area = TextArea(text, soft_wrap=True, show_line_numbers=False, compact=True)
        self._before = self._area.text

    def compose(self) -> ComposeResult:
        """Title and text."""
        with VerticalScroll(classes="page", can_focus=False):
            yield Static(Content(f"{self._title}: Ctrl+S keeps it, Esc goes back"), classes="page-title", markup=False)
            yield self._area
            if self._below is not None:
                yield Static(self._below, classes="page-below", markup=False)

    def on_mount(self) -> None:
        """Give the keyboard to the text."""
        self._area.focus()

    def action_keep(self) -> None:
        """Return the text."""
        self.dismiss(self._area.text if self._keeps_same or self._area.text != self._before else None)

    def action_leave(self) -> None:
        """Change nothing."""
        self.dismiss(None)
