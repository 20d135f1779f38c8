"""Reading back on the main screen: stepping through blocks, searching, copying, opening elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, assert_never

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from tui.widgets.reading_bars import BrowseBar, BrowseDo, SearchBar

if TYPE_CHECKING:
    from tui.screens.main import SessionView
    from tui.widgets.transcript.transcript import Transcript

__all__ = ["ReadingBars"]


class ReadingBars(Vertical):
    """The rows of reading back, and what their keys do on the screen they stand on."""

    DEFAULT_CSS = "ReadingBars { height: auto; }"

    class CopyAsked(Message):
        """Put this on the clipboard."""

        def __init__(self, text: str) -> None:
            self.text = text
            super().__init__()

    class OpenAsked(Message):
        """Show this in the pager or the editor; it is not changed."""

        def __init__(self, text: str, where: Literal["page", "edit"]) -> None:
            self.text = text
            self.where: Literal["page", "edit"] = where
            super().__init__()

    def __init__(self, screen: SessionView) -> None:
        super().__init__(id="reading")
        self._on = screen
        self._browse = BrowseBar(ascii_only=screen.look.ascii)
        self._search = SearchBar()

    def compose(self) -> ComposeResult:
        """Both rows; hidden while they are not needed."""
        yield self._browse
        yield self._search

    @property
    def _transcript(self) -> Transcript:
        return self._on.feed.transcript

    def step(self, way: Literal["older", "newer"], *, prompts: bool) -> None:
        """Mark the next block or prompt that way; at the beginning of what is loaded, read an older page."""
        if self._transcript.step(way, prompts=prompts):
            return
        if way == "newer":
            self._transcript.action_scroll_end()
        elif not self._read_older():
            self._transcript.action_scroll_home()

    def _read_older(self) -> bool:
        if self._on.link is None or self._on.feed.oldest <= 0:
            return False
        self._on.link.do(self._on.feed.show_older)
        self._on.note("An older page is read; press again")
        return True

    def browse(self) -> None:
        """Give the keyboard to the conversation, the newest block in view marked."""
        if self._transcript.marked_block is None:
            self._transcript.step("older")
        self.call_after_refresh(self._browse.open)

    def search(self) -> None:
        """Look for words in the conversation."""
        self.call_after_refresh(self._search.open)

    @on(SearchBar.Wanted)
    def _wanted(self, event: SearchBar.Wanted) -> None:
        count = self._transcript.look_for(event.query)
        self._search.tell(f"{count:,} found" if event.query.strip() else "")

    @on(SearchBar.Go)
    def _go(self, event: SearchBar.Go) -> None:
        if not self._search.query_text.strip() or self._transcript.next_hit(event.way):
            return
        if event.way == "newer" or not self._read_older():
            self._search.tell("no more that way")

    @on(SearchBar.Left)
    def _search_left(self) -> None:
        self._search.display = False
        self._transcript.look_for("")
        if self._browse.display:
            self._browse.open()
        else:
            self._leave()

    @on(BrowseBar.Asked)
    def _asked(self, event: BrowseBar.Asked) -> None:
        do: BrowseDo = event.do
        match do:
            case "older" | "newer":
                self.step(do, prompts=False)
            case "prompt_older":
                self.step("older", prompts=True)
            case "prompt_newer":
                self.step("newer", prompts=True)
            case "fold":
                self._transcript.toggle_marked()
            case "fold_tools":
                self._transcript.toggle_kind("tools")
            case "fold_thinking":
                self._transcript.toggle_kind("thinking")
            case "home" | "end":
                self._transcript.mark("")
                self._on.feed.act(do)
                self._transcript.step("older" if do == "end" else "newer")
            case "search":
                self.search()
            case "leave":
                self._browse.display = False
                self._leave()
            case "copy" | "copy_code" | "page" | "edit":
                self._take_out(do)
            case _:
                assert_never(do)

    def _leave(self) -> None:
        self._transcript.mark("")
        self._on.editor.focus()

    def _take_out(self, do: Literal["copy", "copy_code", "page", "edit"]) -> None:
        from tui.widgets.transcript.selection import code_of, source

        block = self._transcript.marked_block
        if block is None:
            return
        text = code_of(block) if do == "copy_code" else source(block)
        if not text:
            self._on.note("There is no code in this block" if do == "copy_code" else "There are no words in this block")
        elif do in ("page", "edit"):
            self.post_message(self.OpenAsked(text, do))
        else:
            self.post_message(self.CopyAsked(text))
