"""A text field in which large or odd pastes, and images, stand as chips: one word each, sent whole."""

from __future__ import annotations

import itertools

from textual.widgets.text_area import Edit, EditResult

from tui.messages import Attachment, Text
from tui.widgets import chips
from tui.widgets.field import TextField, span_at

__all__ = ["ChipField"]


class ChipField(TextField, inherit_bindings=False):
    """Holds a draft, and what its chips stand for."""

    _chips: dict[str, str]

    @property
    def draft(self) -> str:
        """The draft, whole: pastes as they were."""
        return chips.whole(self.text, self._chips)

    def parts(self) -> tuple[Text | Attachment, ...]:
        """Return the draft as parts of a message."""
        return chips.parts(self.text, self._chips)

    def show_draft(self, text: str) -> None:
        """Put a stored draft, an earlier prompt or a returned message in place of what stands here (undoable)."""
        self._replace_all(self.standing(text))

    def show_text(self, text: str) -> None:
        """Put this text in place of what stands here; its words that name chips are those chips."""
        self._replace_all(text if not chips.is_odd(text) else self.standing(text))

    def give_back(self, texts: tuple[str, ...]) -> None:
        """Put texts that were waiting before the draft; nothing is lost."""
        own = self.text
        self._replace_all("\n".join([*(self.standing(text) for text in texts), *([own] if own else [])]))

    def _replace_all(self, text: str) -> None:
        self.replace(text, (0, 0), self.document.end, maintain_selection_offset=False)
        self.move_cursor(self.document.end)

    def standing(self, text: str) -> str:
        """Return what stands for `text` in the editor: itself, or a chip."""
        return self.chip(text) if chips.must_fold(text) else text

    def chip(self, text: str) -> str:
        """Return a chip that stands for `text`."""
        words = (chips.label(text, number) for number in itertools.count(1))
        word = next(word for word in words if self._chips.get(word, text) == text)
        self._chips = {**self._chips, word: text}
        return word

    def chip_here(self) -> str:
        """Return the chip at or directly before the cursor; empty where there is none."""
        row, column = self.cursor_location
        line = self.document[row]
        for at in (column, column - 1):
            span = chips.covering(line, at, self._chips, inside=False) if at >= 0 else None
            if span is not None:
                return line[slice(*span)]
        return ""

    def chip_text(self, word: str) -> str:
        """Return what a chip stands for."""
        return self._chips.get(word, "")

    def change_chip(self, word: str, text: str) -> None:
        """Let a chip stand for another text from now on, or that text stand here where it need not fold."""
        at = self.text.find(word)
        if at < 0 or self._chips.get(word) == text:
            return
        before = self.text[:at]
        row = before.count("\n")
        column = at - (before.rfind("\n") + 1)
        self.replace(self.standing(text), (row, column), (row, column + len(word)), maintain_selection_offset=False)

    def unit(self, line: str, column: int) -> tuple[int, int]:
        """Return what the cursor steps over as one: a chip, or a grapheme."""
        return chips.covering(line, column, self._chips, inside=False) or span_at(line, column)

    def edit(self, edit: Edit) -> EditResult:
        """Make an edit; one that would cut a chip takes the chip whole, one inside it goes behind it."""
        top, bottom = edit.top, edit.bottom
        start = chips.covering(self.document[top[0]], top[1], self._chips)
        end = chips.covering(self.document[bottom[0]], bottom[1], self._chips)
        if top == bottom and start is not None:
            top = bottom = (top[0], start[1])
        else:
            top = top if start is None else (top[0], start[0])
            bottom = bottom if end is None else (bottom[0], end[1])
        if (top, bottom) != (edit.top, edit.bottom):
            edit = Edit(edit.text, top, bottom, edit.maintain_selection_offset)
        return super().edit(edit)
