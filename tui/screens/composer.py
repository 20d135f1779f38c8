"""Where a person writes: what waits, the menu, the editor. What is typed leaves as a message or a command."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from tui.commands.completing import file_word, offers, put_word
from tui.commands.table import Name, Typed, Unknown, parse
from tui.messages import UserMessage, clean
from tui.screens.look import Look
from tui.screens.options import AppOptions
from tui.widgets.editor import Editor, SendMode
from tui.widgets.file_index import FileIndex
from tui.widgets.menu import PickMenu
from tui.widgets.queued import QueuedMessages
from tui.widgets.recall import remember
from tui.widgets.sanitise import one_line
from tui.widgets.vim import VimState

__all__ = ["Composer"]

_DRAFT_DELAY = 0.4
"""Seconds of quiet after which a draft is saved."""


class Composer(Vertical):
    """Posts what was written; keeps the draft until `accept` is called."""

    DEFAULT_CSS = """
    Composer { height: auto; }
    Composer #composer { height: auto; max-height: 33vh; min-height: 1; padding: 0 1; background: $clew-surface; }
    Composer #mark { width: 2; height: 1; color: $clew-accent; }
    Composer Editor { height: auto; max-height: 33vh; min-height: 1; width: 1fr; padding: 0; border: none;
        background: $clew-surface; color: $clew-text; scrollbar-size-vertical: 1; overflow-x: hidden; }
    """

    class CommandTyped(Message):
        """A command is to be run."""

        def __init__(self, command: Typed) -> None:
            self.command = command
            super().__init__()

    class Said(Message):
        """A message for the agent. `draft` is the whole text, to be accepted or kept."""

        def __init__(self, message: UserMessage, mode: SendMode, draft: str) -> None:
            self.message = message
            self.mode: SendMode = mode
            self.draft = draft
            super().__init__()

    class ShellTyped(Message):
        """A command of the shell is to be run; `private` keeps its output from the model."""

        def __init__(self, command: str, *, private: bool) -> None:
            self.command = command
            self.private = private
            super().__init__()

    class FilesFound(Message):
        """These files fit what stands after the `@`."""

        def __init__(self, query: str, paths: list[str]) -> None:
            self.query = query
            self.paths = paths
            super().__init__()

    class Noted(Message):
        """A word for the person."""

        def __init__(self, text: str) -> None:
            self.text = text
            super().__init__()

    class Changed(Message):
        """The editor now holds a draft, or none."""

        def __init__(self, *, has_text: bool) -> None:
            self.has_text = has_text
            super().__init__()

    class SaveWanted(Message):
        """The draft has been quiet for a while: keep it."""

    def __init__(self, options: AppOptions, look: Look) -> None:
        super().__init__()
        self._history: Callable[[], Path] | None = options.history
        self._look = look
        self._timer: Timer | None = None
        self.editor = Editor(clock=options.key_clock)
        self.editor.vim = VimState() if options.vim else None
        self._menu = PickMenu()
        self._mark = Static(Content(look.glyphs.prompt), id="mark", markup=False)
        self._cwd = options.cwd
        self._files: FileIndex | None = None
        self._word: str | None = None
        """What stands after the `@` that is being typed."""
        self.arguments: Mapping[Name, Sequence[str]] = {}
        """Words that commands take and only others know."""

    def compose(self) -> ComposeResult:
        """Return the rows from top to bottom."""
        yield QueuedMessages(self._look.glyphs)
        yield self._menu
        with Horizontal(id="composer"):
            yield self._mark
            yield self.editor

    def take(self, event: events.Key) -> bool:
        """Return whether the key was for the menu."""
        return self._menu.take(event)

    def accept(self, draft: str) -> None:
        """Take the draft away: it was sent."""
        self.editor.accept(draft)
        if self._history is None:
            return
        try:
            remember(self._history(), draft)
        except OSError as error:
            reason = error.strerror or str(error)
            self.post_message(self.Noted(f"Earlier prompts cannot be kept ({reason}); the session has them"))

    def edited_outside(self, before: str, after: str, chip: str) -> None:
        """Take what the person's editor made of the draft, or of one of its chips."""
        if after.endswith("\n") and not before.endswith("\n"):
            after = after[:-1]  # editors end a file with a line end; the draft had none
        if chip:
            self.editor.change_chip(chip, clean(after))
        elif after != before:
            self.editor.show_text(clean(after))

    @on(Editor.Submitted)
    def _submitted(self, event: Editor.Submitted) -> None:
        typed = self._menu.chosen or event.typed
        if typed.startswith("!") and typed.strip("! \n\t"):
            draft = self.editor.draft
            self.post_message(self.ShellTyped(draft.lstrip("!").strip(), private=draft.startswith("!!")))
            return
        match parse(typed):
            case Typed() as command:
                # Decided by what is seen, run with what was pasted: a chip's label is no task and no pin.
                whole = command if self._menu.chosen else parse(self.editor.draft)
                self.editor.accept(typed)
                self.post_message(self.CommandTyped(whole if isinstance(whole, Typed) else command))
            case Unknown(word=word, near=near):
                meant = f" Did you mean /{near[0]}?" if near else " /help lists them."
                self.post_message(self.Noted(f"There is no command /{one_line(word, 40)}.{meant}"))
            case None:
                self.post_message(self.Said(event.message, event.mode, self.editor.draft))

    @on(Editor.Edited)
    def _edited(self, event: Editor.Edited) -> None:
        self._word = file_word(event.before)
        if self._word is not None:
            self._find(self._word)
        else:
            self._menu.offer(offers(event.typed, self.arguments))
        self.post_message(self.Changed(has_text=bool(event.typed)))
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_DRAFT_DELAY, self._want_saving, name="draft")

    def _want_saving(self) -> None:
        self.post_message(self.SaveWanted())

    @work(thread=True, exclusive=True, group="files")
    def _find(self, query: str) -> None:
        """Look for files beside the loop: no key waits for it."""
        if self._files is None:
            self._files = FileIndex(self._cwd)
        found = self._files.search(query, stop=lambda: query != self._word)
        if found is not None:
            self.post_message(self.FilesFound(query, found))

    @on(FilesFound)
    def _found(self, event: FilesFound) -> None:
        event.stop()
        if event.query == self._word:
            self._menu.offer(tuple((path, path, "") for path in event.paths), completes=True)

    @on(PickMenu.Picked)
    def _picked(self, event: PickMenu.Picked) -> None:
        if self._word is None:
            self.editor.show_draft(event.text)
            return
        row, column = self.editor.cursor_location
        line = self.editor.document[row][:column]
        self.editor.replace(put_word(line, event.text), (row, 0), (row, column), maintain_selection_offset=False)

    @on(Editor.ModeChanged)
    def _mode_changed(self, event: Editor.ModeChanged) -> None:
        glyphs = self._look.glyphs
        self._mark.update(Content(glyphs.prompt if event.mode == "insert" else glyphs.normal))
