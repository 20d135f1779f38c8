"""Where a person writes: what waits, the menu, the editor. What is typed leaves as a message or a command."""

from __future__ import annotations

from pathlib import Path

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from tui.commands.table import Typed, Unknown, matching, parse
from tui.messages import UserMessage
from tui.screens.look import Look
from tui.screens.options import AppOptions
from tui.widgets.editor import Editor, SendMode
from tui.widgets.menu import PickMenu
from tui.widgets.queued import QueuedMessages
from tui.widgets.recall import remember
from tui.widgets.sanitise import one_line

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
        self._history: Path | None = options.history
        self._look = look
        self._timer: Timer | None = None
        self.editor = Editor(clock=options.key_clock)
        self._menu = PickMenu()

    def compose(self) -> ComposeResult:
        """Return the rows from top to bottom."""
        yield QueuedMessages(self._look.glyphs)
        yield self._menu
        with Horizontal(id="composer"):
            yield Static(Content(self._look.glyphs.prompt), id="mark", markup=False)
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
            remember(self._history, draft)
        except OSError as error:
            reason = error.strerror or str(error)
            self.post_message(self.Noted(f"Earlier prompts cannot be kept ({reason}); the session has them"))

    @on(Editor.Submitted)
    def _submitted(self, event: Editor.Submitted) -> None:
        typed = self._menu.chosen or event.typed
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
        self._menu.offer(tuple((f"/{c.name}", c.usage, c.about) for c in matching(event.typed)))
        self.post_message(self.Changed(has_text=bool(event.typed)))
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_DRAFT_DELAY, self._want_saving, name="draft")

    def _want_saving(self) -> None:
        self.post_message(self.SaveWanted())

    @on(PickMenu.Picked)
    def _picked(self, event: PickMenu.Picked) -> None:
        self.editor.show_draft(event.text)
