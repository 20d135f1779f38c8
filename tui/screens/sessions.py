"""The list of sessions: pick one to go on with, search what was said, rename, throw away and bring back."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui.screens.session_rows import session_row
from tui.widgets.sanitise import one_line

if TYPE_CHECKING:
    from tui.agent.shelf import Shelf
    from tui.log.protocol import SessionInfo

__all__ = ["SessionsPage"]

_HINT = "Enter opens   / searches   r renames   d throws away   u brings back   Esc goes back"
_NARROW_HINT = "Enter /:search r:name d:trash u:undo Esc"


class SessionsPage(ModalScreen[str | None]):
    """Returns the id of the session to open, or None. `do` runs what touches the log, beside the session."""

    DEFAULT_CSS = """
    SessionsPage { align: center middle; background: $clew-background 80%; }
    SessionsPage #sessions { width: 96%; max-width: 120; height: 90%; padding: 1 2; background: $clew-surface;
        border-left: outer $clew-accent; }
    SessionsPage #sessions-title { height: 1; text-style: bold; color: $clew-accent; }
    SessionsPage Input { height: 1; border: none; padding: 0; margin-top: 1; background: $clew-surface; display: none; }
    SessionsPage Input.-open { display: block; }
    SessionsPage OptionList { height: 1fr; margin-top: 1; }
    SessionsPage #sessions-preview { height: auto; max-height: 4; color: $clew-dim; margin-top: 1; }
    SessionsPage #sessions-hint { height: 1; color: $clew-dim; margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", "Back", show=False, id="sessions.back", priority=True),
        Binding("slash", "ask('search')", "Search what was said", show=False, id="sessions.search"),
        Binding("r", "ask('rename')", "Rename", show=False, id="sessions.rename"),
        Binding("d", "trash", "Throw away", show=False, id="sessions.trash"),
        Binding("u", "undo", "Bring back what was thrown away", show=False, id="sessions.undo"),
    ]

    def __init__(self, shelf: Shelf, do: Callable[[Callable[[], Awaitable[None]]], None], *, here: str = "") -> None:
        super().__init__()
        self._shelf = shelf
        self._do = do
        self._here = here
        self._rows: list[SessionInfo] = []
        self._found: dict[str, str] | None = None
        self._thrown: list[str] = []
        self._asking = ""
        self._list = OptionList(markup=False, compact=True)
        self._input = Input(compact=True)
        self._title = Static("", id="sessions-title", markup=False)
        self._preview = Static("", id="sessions-preview", markup=False)
        self._hint = Static("", id="sessions-hint", markup=False)

    def compose(self) -> ComposeResult:
        """Title, question, list, preview, hint."""
        with Vertical(id="sessions"):
            yield self._title
            yield self._input
            yield self._list
            yield self._preview
            yield self._hint

    def on_mount(self) -> None:
        """Load the newest ones."""
        self._list.focus()
        self._do(self._load)

    def on_resize(self, _event: events.Resize) -> None:
        """Fit the rows to the new width."""
        self._hint.update(Content(_HINT if self.size.width >= 90 else _NARROW_HINT))
        self._show()

    async def _load(self) -> None:
        self._rows = await self._shelf.page(but=self._here)
        self._show()

    async def _more(self) -> None:
        page = await self._shelf.page(self._rows[-1].recent, but=self._here)
        self._rows += page
        if page and self.is_mounted:
            self._list.add_options(self._options(page))

    @property
    def shown(self) -> Sequence[SessionInfo]:
        """The sessions in the list, in order."""
        found = self._found
        return self._rows if found is None else [info for info in self._rows if info.id in found]

    def _options(self, rows: Sequence[SessionInfo]) -> list[Option]:
        width = max(30, self._list.size.width - 3)
        return [Option(session_row(info, width, time.time_ns() // 1_000_000)) for info in rows]

    def _show(self) -> None:
        if not self.is_mounted:
            return
        at = self._list.highlighted or 0
        rows = self.shown
        self._list.clear_options()
        self._list.add_options(self._options(rows))
        self._list.highlighted = min(at, len(rows) - 1) if rows else None
        what = "Sessions of this directory" if self._found is None else f"{len(rows)} with these words; / shows all"
        self._title.update(Content(what if rows or self._found is not None else "There is no other session here yet"))

    def _marked(self) -> SessionInfo | None:
        at = self._list.highlighted
        return self.shown[at] if at is not None and at < len(self.shown) else None

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        info = self._marked()
        if info is None:
            return
        if self._found is not None:
            self._preview.update(Content(one_line(self._found[info.id], 300)))
            return

        async def look() -> None:
            said, told = await self._shelf.preview(info.id)
            if self._marked() == info:
                rows = [one_line(text, 200) for text in (said, told) if text]
                self._preview.update(Content("\n").join([Content(row) for row in rows]))

        self._do(look)
        if event.option_index >= len(self._rows) - 10 and self._found is None and len(self._rows) >= 90:
            self._do(self._more)

    @on(OptionList.OptionSelected)
    def _selected(self) -> None:
        info = self._marked()
        self.dismiss(info.id if info is not None else None)

    def action_ask(self, what: str) -> None:
        """Open the line in which a word or a name is typed."""
        info = self._marked()
        if what == "rename" and info is None:
            return
        self._asking = what
        self._input.placeholder = "words that were said" if what == "search" else "a new name"
        self._input.value = info.title if what == "rename" and info is not None else ""
        self._input.add_class("-open")
        self._input.focus()

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
        text, info = event.value.strip(), self._marked()
        self._close_line()
        if self._asking == "rename" and info is not None and text:
            self._do(lambda: self._rename(info.id, text))
        elif self._asking == "search":
            self._do(lambda: self._search(text))

    def _close_line(self) -> None:
        self._input.remove_class("-open")
        self._list.focus()

    async def _rename(self, session: str, title: str) -> None:
        await self._shelf.rename(session, title)
        await self._load()

    async def _search(self, words: str) -> None:
        self._found = await self._shelf.search(words) if words else None
        while self._found is not None and self._rows and set(self._found) - {info.id for info in self._rows}:
            page = await self._shelf.page(self._rows[-1].recent, but=self._here)
            self._rows += page
            if not page:
                break
        self._show()

    def action_trash(self) -> None:
        """Throw the marked session away; it can be brought back."""
        info = self._marked()
        if info is None or info.held:
            self._hint.update(Content("A session that is open in a window is not thrown away" if info else _HINT))
            return
        self._thrown.append(info.id)
        self._hint.update(Content("In the trash: u brings it back, `clew sessions purge` deletes it"))
        self._do(lambda: self._put(info.id, trashed=True))

    def action_undo(self) -> None:
        """Bring back what was thrown away last."""
        if self._thrown:
            session = self._thrown.pop()
            self._do(lambda: self._put(session, trashed=False))

    async def _put(self, session: str, *, trashed: bool) -> None:
        await self._shelf.trash(session, trashed=trashed)
        await self._load()

    def action_leave(self) -> None:
        """Close the line, else go back."""
        if self._input.has_class("-open"):
            self._close_line()
        else:
            self.dismiss(None)
