"""The list of sessions: pick one to go on with, search what was said, rename, export, throw away and bring back.

This directory's sessions come first, then those of the repository's other checkouts; all others when asked for.
"""

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

from tui.screens.session_groups import Group, Line, Picked, lines, place_of
from tui.screens.session_rows import heading_row, place_words, session_row
from tui.widgets.hints import Hint, hint_row
from tui.widgets.sanitise import one_line

if TYPE_CHECKING:
    from tui.agent.shelf import Shelf
    from tui.log.protocol import SessionInfo

__all__ = ["Exporter", "SessionsPage"]

_HINTS: tuple[Hint, ...] = (
    ("Enter", "open"),
    ("/", "search"),
    ("a", "all directories"),
    ("r", "rename"),
    ("e", "export"),
    ("d", "throw away"),
    ("u", "undo"),
    ("Esc", "back"),
)
_NARROW: tuple[Hint, ...] = (
    ("Enter", "open"),
    ("/", "search"),
    ("a", "all"),
    ("r", "name"),
    ("e", "export"),
    ("d", "trash"),
    ("Esc", "back"),
)
_NEAR_END = 10
"""Rows before the end of a group at which older ones are read."""

Exporter = Callable[[str, str], Awaitable[str]]
"""Writes the session of an id to a file and returns what is to be told."""


class SessionsPage(ModalScreen[Picked | None]):
    """Returns the session to open, or None. `do` runs what touches the log, beside the session."""

    DEFAULT_CSS = """
    SessionsPage { align: center middle; background: $clew-background 80%; }
    SessionsPage #sessions { width: 96%; max-width: 120; height: 90%; padding: 1 2; background: $clew-surface;
        border-left: outer $clew-accent; }
    SessionsPage #sessions-title { height: 1; text-style: bold; color: $clew-accent; }
    SessionsPage Input { height: 1; border: none; padding: 0; margin-top: 1; background: $clew-surface; display: none; }
    SessionsPage Input.-open { display: block; }
    SessionsPage OptionList { height: 1fr; margin-top: 1; }
    SessionsPage #sessions-preview { height: 2; color: $clew-dim; margin-top: 1; text-wrap: nowrap;
        text-overflow: ellipsis; }
    SessionsPage #sessions-hint { height: 1; color: $clew-dim; margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", "Back", show=False, id="sessions.back", priority=True),
        Binding("slash", "ask('search')", "Search what was said", show=False, id="sessions.search"),
        Binding("a", "widen", "All directories, or this one", show=False, id="sessions.all"),
        Binding("r", "ask('rename')", "Rename", show=False, id="sessions.rename"),
        Binding("e", "ask('export')", "Export to a file", show=False, id="sessions.export"),
        Binding("d", "trash", "Throw away", show=False, id="sessions.trash"),
        Binding("u", "undo", "Bring back what was thrown away", show=False, id="sessions.undo"),
    ]

    def __init__(
        self,
        shelf: Shelf,
        do: Callable[[Callable[[], Awaitable[None]]], None],
        *,
        here: str = "",
        export: Exporter | None = None,
    ) -> None:
        super().__init__()
        self._own = Group(shelf, but=here)
        self._groups = [self._own]
        self._lines: list[Line] = []
        self._do = do
        self._export = export
        self._all = False
        self._query = ""
        self._found: dict[str, str] | None = None
        self._thrown: list[tuple[Group, str]] = []
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
        width = min(120, self.size.width * 96 // 100) - 5
        self._hint.update(hint_row(_HINTS if width >= 90 else _NARROW, width))
        self.call_after_refresh(self._show)

    # What is in the list.

    async def _load(self) -> None:
        """Read this directory, the other checkouts, then, where they are wanted, all others: each shown at once."""
        await self._own.load()
        self._groups = [self._own]
        self._show()
        beside = await self._own.shelf.checkouts()
        await self._take(beside, "Another checkout of this repository: ")
        if self._all:
            known = {shelf.project for shelf in beside}
            await self._take([shelf for shelf in await self._own.shelf.everywhere() if shelf.project not in known], "")

    async def _take(self, shelves: Sequence[Shelf], what: str) -> None:
        for shelf in shelves:
            if not self.is_mounted:
                return
            group = Group(shelf, what, place_words(shelf.project))
            await group.load()
            self._groups.append(group)
            self._show()

    async def _more(self, group: Group) -> None:
        if group.more:
            await group.load_more()
            self._show()

    @property
    def shown(self) -> Sequence[SessionInfo]:
        """The sessions in the list, in order."""
        return [line.info for line in self._lines if line.info is not None]

    def _show(self) -> None:
        if not self.is_mounted:
            return
        marked, at = self._marked(), self._list.highlighted or 0
        self._lines = lines(self._groups, self._found)
        width, now = max(30, self._list.size.width - 3), time.time_ns() // 1_000_000
        self._list.clear_options()
        self._list.add_options(
            Option(heading_row(line.group.what, line.group.place, width), disabled=True)
            if line.info is None
            else Option(session_row(line.info, width, now))
            for line in self._lines
        )
        self._list.highlighted = place_of(marked, self._lines, at)
        words = f"{len(self.shown)} with “{one_line(self._query, 40)}”; / and Enter shows all"
        self._title.update(Content(_title(len(self.shown), everywhere=self._all) if self._found is None else words))
        if not self._lines:
            self._preview.update("")

    def _marked(self) -> Line | None:
        at = self._list.highlighted
        return self._lines[at] if at is not None and at < len(self._lines) and self._lines[at].info else None

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        line = self._marked()
        if line is None or line.info is None:
            return
        if self._found is not None:
            self._preview.update(Content(one_line(self._found[line.info.id], 300)))
            return
        session, group = line.info.id, line.group

        async def look() -> None:
            said, told = await group.shelf.preview(session)
            now = self._marked()
            if now is not None and now.info is not None and now.info.id == session:
                rows = [f"{mark} {one_line(text, 200)}" for mark, text in (("❯", said), ("◆", told)) if text]
                self._preview.update(Content("\n").join([Content(row) for row in rows]))

        self._do(look)
        after = self._lines[event.option_index : event.option_index + _NEAR_END]
        if group.more and (len(after) < _NEAR_END or after[-1].group is not group):
            self._do(lambda: self._more(group))

    @on(OptionList.OptionSelected)
    def _selected(self) -> None:
        line = self._marked()
        if line is not None and line.info is not None:
            self.dismiss(Picked(line.group.shelf, line.info.id, here=line.group is self._own))

    # What is done with it.

    def action_widen(self) -> None:
        """Show the sessions of all directories, or of this one again."""
        self._all = not self._all
        self._found = None
        self._do(self._load)

    def action_ask(self, what: str) -> None:
        """Open the line in which words, a name or a file are typed."""
        line = self._marked()
        if what != "search" and line is None:
            return
        info = line.info if line is not None else None
        self._asking = what
        self._input.placeholder = {
            "search": "words that were said",
            "rename": "a new name",
            "export": "a file that ends in .md, .html or .jsonl",
        }[what]
        before = {"rename": info.title if info else "", "export": f"clew-{info.id[-12:]}.md" if info else ""}
        self._input.value = before.get(what, "")
        self._input.add_class("-open")
        self._input.focus()

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
        text, line = event.value.strip(), self._marked()
        self._close_line()
        match self._asking:
            case "search":
                self._do(lambda: self._search(text))
            case "rename" if line is not None and text:
                self._do(lambda: self._rename(line, text))
            case "export" if line is not None and text:
                self._do(lambda: self._write(line, text))
            case _:
                pass

    def _close_line(self) -> None:
        self._input.remove_class("-open")
        self._list.focus()

    async def _rename(self, line: Line, title: str) -> None:
        if line.info is not None:
            await line.group.shelf.rename(line.info.id, title)
        await self._again(line.group)

    async def _write(self, line: Line, file: str) -> None:
        if line.info is not None and self._export is not None:
            self._hint.update(Content(one_line(await self._export(line.info.id, file), 200)))

    async def _search(self, words: str) -> None:
        """Look in one directory after the other; what is found is shown at once."""
        self._query, self._found = words, {} if words else None
        self._show()
        for group in self._groups if words else ():
            if not self.is_mounted or self._query != words:
                return
            found = await group.shelf.search(words)
            await group.load_all(set(found))
            self._found = {**(self._found or {}), **found}
            self._show()

    def action_trash(self) -> None:
        """Throw the marked session away; it can be brought back."""
        line = self._marked()
        if line is None or line.info is None:
            return
        if line.info.held:
            self._hint.update(Content("A session that is open in a window is not thrown away"))
            return
        session = line.info.id
        self._thrown.append((line.group, session))
        self._hint.update(Content("In the trash: u brings it back, `clew sessions purge` deletes it"))
        self._do(lambda: self._put(line.group, session, trashed=True))

    def action_undo(self) -> None:
        """Bring back what was thrown away last."""
        if self._thrown:
            group, session = self._thrown.pop()
            self._do(lambda: self._put(group, session, trashed=False))

    async def _put(self, group: Group, session: str, *, trashed: bool) -> None:
        await group.shelf.trash(session, trashed=trashed)
        await self._again(group)

    async def _again(self, group: Group) -> None:
        await group.load()
        self._show()

    def action_leave(self) -> None:
        """Close the line, else go back."""
        if self._input.has_class("-open"):
            self._close_line()
        else:
            self.dismiss(None)


def _title(count: int, *, everywhere: bool) -> str:
    if everywhere:
        return "Sessions of all directories"
    return "Sessions of this directory" if count else "There is no other session here yet; a looks everywhere"
