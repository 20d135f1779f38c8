"""A short list above the editor to pick from while typing: the slash commands."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tui.widgets.sanitise import one_line

__all__ = ["Choice", "PickMenu", "menu_rows"]

Choice = tuple[str, str, str]
"""What is put into the editor, how it is shown, what it does."""

_ROWS = 8


def menu_rows(choices: Sequence[Choice], at: int) -> Content:
    """Return the rows, the one at `at` marked."""
    first = max(0, min(at - _ROWS + 1, len(choices) - _ROWS)) if at >= _ROWS else 0
    shown = choices[first : first + _ROWS]
    wide = max((len(label) for _, label, _ in choices), default=0)
    rows = [
        Content.assemble(
            ("› " if first + n == at else "  ", "bold $clew-accent"),
            (one_line(label, 60).ljust(wide), "bold $clew-text" if first + n == at else "$clew-text"),
            (f"  {one_line(about, 200)}", "$clew-dim"),
        )
        for n, (_, label, about) in enumerate(shown)
    ]
    return Content("\n").join(rows)


class PickMenu(Static):
    """Hidden while there is nothing to pick. Gets its keys from the editor through `take`."""

    DEFAULT_CSS = """
    PickMenu { height: auto; max-height: 8; padding: 0 1; display: none; text-wrap: nowrap; text-overflow: ellipsis;
        background: $clew-surface; }
    PickMenu.-open { display: block; }
    """

    class Picked(Message):
        """Put this into the editor."""

        def __init__(self, text: str) -> None:
            self.text = text
            super().__init__()

    def __init__(self) -> None:
        super().__init__("", id="menu", markup=False)
        self._choices: tuple[Choice, ...] = ()
        self._at = 0
        self._completes = False

    def offer(self, choices: tuple[Choice, ...], *, completes: bool = False) -> None:
        """Show these; an empty tuple hides the menu. `completes`: Enter puts one into the draft instead of sending."""
        self._completes = completes
        self._at = self._at if choices == self._choices else 0
        self._choices = choices
        self.set_class(bool(choices), "-open")
        self.update(menu_rows(choices, self._at))

    @property
    def chosen(self) -> str:
        """What sending an unfinished word means; empty where the menu is not open."""
        return self._choices[self._at][0] if self._choices and not self._completes else ""

    def take(self, event: events.Key) -> bool:
        """Return whether the key was for the menu: up, down, Tab; Enter and Esc while a word is completed."""
        if not self._choices:
            return False
        match event.key:
            case "up" | "down" | "ctrl+p" | "ctrl+n":
                step = 1 if event.key in ("down", "ctrl+n") else -1
                self._at = (self._at + step) % len(self._choices)
                self.update(menu_rows(self._choices, self._at))
            case "escape" if self._completes:
                self.offer(())
            case "tab":
                self.post_message(self.Picked(self._choices[self._at][0]))
            case "enter" if self._completes:
                self.post_message(self.Picked(self._choices[self._at][0]))
            case _:
                return False
        return True
