"""The key hints: one row, the most needed first, as many as fit."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget

__all__ = ["Hint", "KeyHints", "hint_row", "key_name"]

Hint = tuple[str, str]
"""The key as a person reads it, and what it does."""


_NAMES = {
    "ctrl": "Ctrl",
    "alt": "Alt",
    "shift": "Shift",
    "escape": "Esc",
    "enter": "Enter",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
    "home": "Home",
    "end": "End",
    "backspace": "Backspace",
    "delete": "Delete",
    "tab": "Tab",
    "underscore": "_",
    "question_mark": "?",
}


def key_name(keys: str) -> str:
    """Return keys as a person reads them: `ctrl+j,alt+enter` is `Ctrl+J or Alt+Enter`."""
    return " or ".join("+".join(map(_part_name, key.strip().split("+"))) for key in keys.split(","))


def _part_name(part: str) -> str:
    single = len(part) == 1 or part[1:].isdigit()  # a letter, or a function key
    return _NAMES.get(part, part.upper() if single else part)


def hint_row(hints: Sequence[Hint], width: int) -> Content:
    """Return as many hints as fit into `width` cells; never half a hint."""
    parts: list[tuple[str, str]] = []
    used = 0
    for key, about in hints:
        gap = 3 if parts else 0
        if used + gap + len(key) + 1 + len(about) > width:
            break
        used += gap + len(key) + 1 + len(about)
        parts += [(" " * gap + key, "$clew-text"), (f" {about}", "$clew-dim")]
    return Content.assemble(*parts)


class KeyHints(Widget):
    """One row, for ever."""

    DEFAULT_CSS = "KeyHints { height: 1; width: 1fr; padding: 0 1; }"

    def __init__(self) -> None:
        super().__init__(id="hints")
        self._hints: tuple[Hint, ...] = ()

    def show(self, hints: tuple[Hint, ...]) -> None:
        """Show these from now on."""
        if hints != self._hints:
            self._hints = hints
            self.refresh()

    def render(self) -> Content:
        """Return the row."""
        return hint_row(self._hints, self.size.width)
