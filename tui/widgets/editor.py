"""The editor: several lines, sent byte for byte as typed.

It shows a draft and emits messages; it holds no session state. Enter goes through `burst`, pastes
through `chips`; the text area below never sees a character it would change.
"""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable
from typing import ClassVar, Literal

import msgspec
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from tui.messages import Attachment, Text, UserMessage, clean
from tui.widgets import chips
from tui.widgets.burst import LULL, QUIET, Burst, Do, KeyKind, quiet, step
from tui.widgets.chip_field import ChipField
from tui.widgets.keyboard import TypedBurst
from tui.widgets.recall import PromptHistory
from tui.widgets.vim import VimMode, VimState, press

__all__ = ["EDITOR_BINDINGS", "Editor", "SendMode"]

SendMode = Literal["steer", "follow-up"]


def _key(keys: str, action: str, name: str, about: str) -> Binding:
    return Binding(keys, action, about, show=False, id=f"editor.{name}")


EDITOR_BINDINGS: list[BindingType] = [
    _key("enter", "submit", "submit", "Send; while the agent works: steer it"),
    _key("alt+enter,ctrl+t", "submit_later", "submit_later", "Send as a follow-up, after this exchange"),
    _key("shift+enter,ctrl+j", "newline", "newline", "New line (also: \\ then Enter)"),
    _key("up", "older", "older", "Line up; at the top: earlier prompts"),
    _key("down", "newer", "newer", "Line down; at the bottom: later prompts"),
    _key("left", "cursor_left", "left", "Left"),
    _key("right", "cursor_right", "right", "Right"),
    _key("ctrl+left,alt+left,alt+b", "cursor_word_left", "word_left", "Word left"),
    _key("ctrl+right,alt+right,alt+f", "cursor_word_right", "word_right", "Word right"),
    _key("home,ctrl+a", "cursor_line_start", "line_start", "Start of line"),
    _key("end,ctrl+e", "cursor_line_end", "line_end", "End of line"),
    _key("shift+left", "cursor_left(True)", "select_left", "Select left"),
    _key("shift+right", "cursor_right(True)", "select_right", "Select right"),
    _key("shift+up", "cursor_up(True)", "select_up", "Select up"),
    _key("shift+down", "cursor_down(True)", "select_down", "Select down"),
    _key("shift+home", "cursor_line_start(True)", "select_line_start", "Select to start of line"),
    _key("shift+end", "cursor_line_end(True)", "select_line_end", "Select to end of line"),
    _key("ctrl+shift+left", "cursor_word_left(True)", "select_word_left", "Select word left"),
    _key("ctrl+shift+right", "cursor_word_right(True)", "select_word_right", "Select word right"),
    _key("backspace", "delete_left", "delete_left", "Delete left"),
    _key("delete", "delete_right", "delete_right", "Delete right"),
    _key("ctrl+w,alt+backspace", "delete_word_left", "delete_word_left", "Delete word left"),
    _key("alt+d", "delete_word_right", "delete_word_right", "Delete word right"),
    _key("ctrl+u", "delete_to_start_of_line", "delete_line_start", "Delete to start of line"),
    _key("ctrl+k", "delete_to_end_of_line", "delete_line_end", "Delete to end of line"),
    _key("ctrl+z,ctrl+underscore", "undo", "undo", "Undo; brings a cleared draft back"),
    _key("ctrl+y", "redo", "redo", "Redo"),
    _key("ctrl+g", "outside", "outside", "Open the draft, or the paste at the cursor, in $VISUAL or $EDITOR"),
    _key("ctrl+r", "recall", "recall", "Search the earlier prompts"),
    _key("ctrl+f", "cursor_right", "right_emacs", "Right"),
    _key("ctrl+b", "cursor_left", "left_emacs", "Left"),
    _key("ctrl+p", "older", "older_emacs", "Line up; at the top: earlier prompts"),
    _key("ctrl+n", "newer", "newer_emacs", "Line down; at the bottom: later prompts"),
    _key("alt+less_than_sign", "text_start", "text_start", "Start of the draft"),
    _key("alt+greater_than_sign", "text_end", "text_end", "End of the draft"),
    _key("ctrl+x", "cut", "cut", "Cut"),
    _key("ctrl+v", "paste", "paste", "Paste what was cut or copied here"),
]


def _nobody(_event: events.Key) -> bool:
    return False


class Editor(ChipField, inherit_bindings=False):
    """A draft. Posts `Submitted` when it is sent and `Edited` when it changes."""

    BINDINGS: ClassVar[list[BindingType]] = EDITOR_BINDINGS

    class Submitted(Message):
        """The draft goes to the agent (or is a command). The editor keeps it until `accept` is called."""

        def __init__(self, message: UserMessage, typed: str, mode: SendMode) -> None:
            self.message = message
            """Words and pasted matter, byte for byte."""
            self.typed = typed
            """The draft as it stands in the editor."""
            self.mode: SendMode = mode
            super().__init__()

    class OutsideWanted(Message):
        """Open this in the person's editor. `chip` is the chip it stands for, empty for the draft itself."""

        def __init__(self, text: str, chip: str) -> None:
            self.text = text
            self.chip = chip
            super().__init__()

    class RecallWanted(Message):
        """Search the earlier prompts, beginning with the draft."""

    class ModeChanged(Message):
        """Vim's mode is now this."""

        def __init__(self, mode: VimMode) -> None:
            self.mode: VimMode = mode
            super().__init__()

    class SearchWanted(Message):
        """Search the conversation."""

    class Edited(Message):
        """The draft is now this, whole; `before` is the line up to the cursor."""

        def __init__(self, typed: str, draft: str, before: str) -> None:
            self.typed = typed
            self.draft = draft
            self.before = before
            super().__init__()

    def __init__(self, *, clock: Callable[[], float] | None = None) -> None:
        super().__init__(
            id="editor",
            soft_wrap=True,
            show_line_numbers=False,
            tab_behavior="focus",
            highlight_cursor_line=False,
            compact=True,
            max_checkpoints=200,
        )
        self.cursor_blink = False
        self.gate: Callable[[events.Key], bool] = _nobody
        """Asked first for each key; True means it took it. For dialogs that share the keyboard."""
        self.recall = PromptHistory()
        self.vim: VimState | None = None
        """Vim's state, where its keys are wanted."""
        self._chips: dict[str, str] = {}
        self._burst = Burst()
        self._run_start = (0, 0)
        """Where the running burst began."""
        self._clock = clock

    # What others read and set.

    def accept(self, draft: str) -> None:
        """Remember the draft, which was taken, and start afresh."""
        self.recall = self.recall.sent(draft)
        self._chips = {}
        self.load_text("")

    def put_away(self) -> bool:
        """Clear the draft so that undo brings it back. Returns whether there was one."""
        if not self.text:
            return False
        self.history.checkpoint()
        self.recall = PromptHistory.of(self.recall.items)
        self.clear()
        self.history.checkpoint()
        return True

    # Keys.

    async def _on_key(self, event: events.Key) -> None:
        if self.gate(event):
            event.stop()
            event.prevent_default()
            return
        if self.vim is not None and self._vim_took(self.vim, event):
            event.stop()
            event.prevent_default()
            return
        at = event.time if self._clock is None else self._clock()
        if event.key == "tab" and at - self._burst.last < QUIET and self.text:
            # A tab inside a paste that came without brackets is text; nobody types this fast.
            event.stop()
            event.prevent_default()
            self._type("\t")
        self._burst, does = step(self._burst, self._kind(event), at)
        self._do(does)
        joins = _joins(event.character)
        if Do.INSERT not in does or joins:
            event.stop()
            event.prevent_default()
        if joins and event.character:
            self._type(event.character)
        if self._burst.waiting is not None:
            self.set_timer(QUIET * 1.2, self._check_quiet, name="burst")

    def _kind(self, event: events.Key) -> KeyKind:
        if event.key == "enter":
            bound = self.screen.active_bindings.get("enter")
            return "enter" if bound is not None and bound.binding.action == "submit" else "text"
        if event.key == "ctrl+j" and event.character == "\n":
            return "line-feed"
        return "text" if event.is_printable or event.key == "tab" or _joins(event.character) else "other"

    def _do(self, does: tuple[Do, ...]) -> None:
        for do in does:
            if do is Do.NEWLINE:
                self._type("\n")
            elif do is Do.SUBMIT:
                self._send("steer")

    def _check_quiet(self) -> None:
        now = time.monotonic() if self._clock is None else self._clock()
        self._burst, does = quiet(self._burst, now)
        self._do(does)
        if self._burst.waiting is not None:
            self.set_timer(QUIET, self._check_quiet, name="burst")

    def _type(self, text: str) -> None:
        self._replace_via_keyboard(text, *self.selection)

    def _vim_took(self, state: VimState, event: events.Key) -> bool:
        key = event.character if event.is_printable and event.character else event.key
        before = self.text
        step = press(state, key, before, self.index_of(self.cursor_location))
        self.vim = step.state
        if step.taken and step.text != before:
            self._become(step.text)
        if step.taken:
            self.move_cursor(self.place_of(step.at))
        if step.state.mode != state.mode:
            self.history.checkpoint()
            self.post_message(self.ModeChanged(step.state.mode))
        match step.does:
            case "undo":
                self.action_undo()
            case "redo":
                self.action_redo()
            case "search":
                self.post_message(self.SearchWanted())
            case "":
                pass
        return step.taken

    def _become(self, text: str) -> None:
        """Make the text this one by one small edit, so that undo goes back by what was done."""
        old = self.text
        most = min(len(old), len(text))
        first = next((at for at in range(most) if old[at] != text[at]), most)
        tail = next((n for n in range(most - first) if old[-1 - n] != text[-1 - n]), most - first)
        place = self.place_of
        self.history.checkpoint()
        self.replace(text[first : len(text) - tail], place(first), place(len(old) - tail))
        self.history.checkpoint()

    # Actions.

    def action_outside(self) -> None:
        """Ask for the person's own editor: for the paste at the cursor, else for the draft."""
        word = self.chip_here()
        self.post_message(self.OutsideWanted(self.chip_text(word) if word else self.text, word))

    def action_recall(self) -> None:
        """Ask for a search of the earlier prompts."""
        self.post_message(self.RecallWanted())

    def action_text_start(self) -> None:
        """Go to the start of the draft."""
        self.move_cursor((0, 0))

    def action_text_end(self) -> None:
        """Go to the end of the draft."""
        self.move_cursor(self.document.end)

    def action_submit(self) -> None:
        """Send the draft; reached where another key than Enter is bound to it."""
        self._send("steer")

    def action_submit_later(self) -> None:
        """Send the draft for after this exchange."""
        self._send("follow-up")

    def action_newline(self) -> None:
        """Start a new line."""
        self._type("\n")

    def action_older(self) -> None:
        """Go a line up, or at the first line to the prompt before."""
        if not self.cursor_at_first_line:
            self.action_cursor_up()
            return
        self.recall, text = self.recall.older(self.draft)
        self._walk_to(text)

    def action_newer(self) -> None:
        """Go a line down, or at the last line to the prompt after."""
        if not self.cursor_at_last_line:
            self.action_cursor_down()
            return
        self.recall, text = self.recall.newer()
        self._walk_to(text)

    def _walk_to(self, text: str | None) -> None:
        if text is not None:
            self.show_draft(text)

    def _send(self, mode: SendMode) -> None:
        row, column = self.cursor_location
        if mode == "steer" and self.document[row][:column].endswith("\\"):
            self.replace("\n", (row, column - 1), (row, column), maintain_selection_offset=False)
            return
        if not self.text.strip():
            return
        content = tuple(_cleaned(part) for part in self.parts())
        self.post_message(self.Submitted(UserMessage(content=content), self.text, mode))

    # Pastes and chips.

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        at = event.time if self._clock is None else self._clock()
        self.history.checkpoint()
        self._type(self.standing(chips.pasted(event.text)))
        self.history.checkpoint()
        self._burst = Burst(last=at, pasted=True)

    async def _on_typed_burst(self, event: TypedBurst) -> None:
        """Take a paste that came without brackets; its pieces become one chip where they are large."""
        event.stop()
        event.prevent_default()
        text, before = event.text, self._burst
        at = event.time if self._clock is None else self._clock()
        state, does = step(before, "text", at)
        self._do(does)
        if before.carriage and at - before.last < before.lull:
            text = text.removeprefix("\n")
        carriage = text.endswith("\r")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if not self._run_goes_on(before, at):
            self._run_start = min(self.selection)
        self._type(text)
        run = chips.whole(self.get_text_range(self._run_start, self.cursor_location), self._chips)
        if chips.must_fold(run):
            self.replace(self.standing(run), self._run_start, self.cursor_location, maintain_selection_offset=False)
        self._burst = Burst(last=at, newlines=state.newlines or "\n" in text, carriage=carriage, lull=LULL)

    def _run_goes_on(self, before: Burst, at: float) -> bool:
        return at - before.last < before.lull and self._run_start <= self.cursor_location

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Tell who saves drafts."""
        event.stop()
        row, column = self.cursor_location
        self.post_message(self.Edited(self.text, self.draft, self.document[row][:column]))


def _joins(character: str | None) -> bool:
    """Whether a key is a joiner or mark of direction, which Textual takes for no text: it is part of words."""
    return character is not None and len(character) == 1 and unicodedata.category(character) == "Cf"


def _cleaned(part: Text | Attachment) -> Text | Attachment:
    return msgspec.structs.replace(part, text=clean(part.text))
