"""The rows of reading back: one has the keyboard while blocks are stepped through, one takes words to look for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from tui.widgets.hints import hint_row

__all__ = ["BROWSE_BINDINGS", "SEARCH_BINDINGS", "BrowseBar", "BrowseDo", "SearchBar"]

BrowseDo: TypeAlias = Literal[
    "older",
    "newer",
    "prompt_older",
    "prompt_newer",
    "fold",
    "fold_tools",
    "fold_thinking",
    "copy",
    "copy_code",
    "page",
    "edit",
    "search",
    "home",
    "end",
    "leave",
]


def _key(keys: str, do: BrowseDo, about: str) -> Binding:
    return Binding(keys, f"do('{do}')", about, show=False, id=f"browse.{do}")


BROWSE_BINDINGS: list[BindingType] = [
    _key("up,k", "older", "Block before"),
    _key("down,j", "newer", "Block after"),
    _key("p,left_square_bracket", "prompt_older", "Prompt before"),
    _key("n,right_square_bracket", "prompt_newer", "Prompt after"),
    _key("enter,space", "fold", "Fold or unfold this block"),
    _key("t", "fold_tools", "Fold or unfold all tools"),
    _key("h", "fold_thinking", "Fold or unfold all thinking"),
    _key("y,c", "copy", "Copy this block as it was written"),
    _key("x", "copy_code", "Copy its code"),
    _key("o", "page", "Open it in the pager"),
    _key("e", "edit", "Open it in your editor"),
    _key("slash", "search", "Search"),
    _key("g", "home", "To the beginning"),
    _key("G,end", "end", "To the end"),
    _key("escape,q,i,ctrl+c", "leave", "Back to the editor"),
]

_HINTS = (
    ("↑↓", "block"),
    ("p n", "prompt"),
    ("Enter", "fold"),
    ("y", "copy"),
    ("Esc", "back"),
    ("x", "code"),
    ("o", "pager"),
    ("e", "editor"),
    ("/", "search"),
)
_ASCII_HINTS = (("Up Down", "block"), *_HINTS[1:])


class BrowseBar(Widget, can_focus=True):
    """Has the keyboard while blocks are stepped through; says which keys do what."""

    BINDINGS: ClassVar[list[BindingType]] = BROWSE_BINDINGS
    DEFAULT_CSS = """
    BrowseBar { height: 1; width: 1fr; padding: 0 1; display: none; background: $clew-surface; }
    """

    class Asked(Message):
        """Do this with the conversation."""

        def __init__(self, do: BrowseDo) -> None:
            self.do: BrowseDo = do
            super().__init__()

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__(id="browse")
        self._hints: Sequence[tuple[str, str]] = _ASCII_HINTS if ascii_only else _HINTS

    def open(self) -> None:
        """Take the keyboard, at once: what is typed next is meant for it."""
        self.display = True
        self.screen.set_focus(self, scroll_visible=False)

    def action_do(self, do: BrowseDo) -> None:
        """Ask for it."""
        self.post_message(self.Asked(do))

    def render(self) -> Content:
        """Return the row."""
        return hint_row(self._hints, self.size.width)


def _find(keys: str, action: str, name: str, about: str) -> Binding:
    return Binding(keys, action, about, show=False, id=f"search.{name}", priority=True)


SEARCH_BINDINGS: list[BindingType] = [
    _find("enter,up,ctrl+p,ctrl+s,f3", "go('older')", "older", "Hit before"),
    _find("down,ctrl+n,shift+f3,shift+enter", "go('newer')", "newer", "Hit after"),
    _find("escape,ctrl+c,ctrl+g", "leave", "leave", "End the search"),
]


class SearchBar(Horizontal):
    """Words to look for, and how often they are there."""

    BINDINGS: ClassVar[list[BindingType]] = SEARCH_BINDINGS
    DEFAULT_CSS = """
    SearchBar { height: 1; width: 1fr; padding: 0 1; display: none; background: $clew-surface; }
    SearchBar Static { width: auto; color: $clew-dim; }
    SearchBar Input { width: 1fr; height: 1; border: none; padding: 0; background: $clew-surface; }
    """

    class Wanted(Message):
        """Look for these words."""

        def __init__(self, query: str) -> None:
            self.query = query
            super().__init__()

    class Go(Message):
        """Go to a hit."""

        def __init__(self, way: Literal["older", "newer"]) -> None:
            self.way: Literal["older", "newer"] = way
            super().__init__()

    class Left(Message):
        """The search is over."""

    def __init__(self) -> None:
        super().__init__(id="search")
        self._field = Input(id="search-words", select_on_focus=True, compact=True)
        self._count = Static("", markup=False)

    def compose(self) -> ComposeResult:
        """Name, words, count."""
        yield Static(Content("search "), markup=False)
        yield self._field
        yield self._count

    def open(self) -> None:
        """Take the keyboard, at once."""
        self.display = True
        self.screen.set_focus(self._field, scroll_visible=False)

    def tell(self, words: str) -> None:
        """Say what was found."""
        self._count.update(Content(f" {words}" if words else ""))

    @property
    def query_text(self) -> str:
        """The words."""
        return self._field.value

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Wanted(event.value))

    def action_go(self, way: Literal["older", "newer"]) -> None:
        """Go to the next hit that way."""
        self.post_message(self.Go(way))

    def action_leave(self) -> None:
        """End it."""
        self.post_message(self.Left())
