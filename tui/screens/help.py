"""Help and info pages as text, generated from what is really bound and really there."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from textual.binding import Binding, BindingType
from textual.content import Content

from tui.commands.table import COMMANDS, Command
from tui.widgets.sanitise import one_line

__all__ = ["help_content", "info_content", "key_name"]

_LEAST = 24
"""Cells that the second column has at least."""
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


def help_content(
    groups: Iterable[tuple[str, Sequence[BindingType]]], commands: Sequence[Command] = COMMANDS, width: int = 0
) -> Content:
    """Return the commands, then keys by group, in `width` cells (0: each on one row, however long)."""
    rows: list[Content] = [Content.assemble(("Commands", "bold"))]
    rows += _pairs([(command.usage, command.about) for command in commands], width)
    for title, bindings in groups:
        rows += [Content(""), Content.assemble((title, "bold")), *_pairs(_described(bindings), width)]
    return Content("\n").join(rows)


def _described(bindings: Sequence[BindingType]) -> list[tuple[str, str]]:
    return [(key_name(b.key), b.description) for b in bindings if isinstance(b, Binding) and b.description]


def _pairs(pairs: Sequence[tuple[str, str]], width: int) -> list[Content]:
    """Return rows of two columns; what is long goes on in its column, or below its name where that is narrow."""
    wide = min(34, max((len(left) for left, _ in pairs), default=0)) + 4
    below = 0 < width < wide + _LEAST
    indent = " " * (6 if below else wide)
    rows: list[Content] = []
    for left, right in pairs:
        lines = textwrap.wrap(right, max(_LEAST, width - len(indent))) if width else [right]
        head = f"  {left}" if below else f"  {left}".ljust(wide)
        first = () if below else ((lines[0] if lines else "", "$clew-text"),)
        rows.append(Content.assemble((head, "$clew-accent"), *first))
        rows += [Content.assemble((indent + line, "$clew-text")) for line in (lines if below else lines[1:])]
    return rows


def info_content(rows: Sequence[tuple[str, str]], width: int = 0) -> Content:
    """Return facts as text in `width` cells. Values may be foreign: they are made visible, never read as markup."""
    return Content("\n").join(_pairs([(one_line(name, 60), one_line(value, 600)) for name, value in rows], width))
