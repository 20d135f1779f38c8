"""Help and info pages as text, generated from what is really bound and really there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.binding import Binding, BindingType
from textual.content import Content

from tui.commands.table import COMMANDS, Command
from tui.widgets.sanitise import one_line

__all__ = ["help_content", "info_content", "key_name"]

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
    groups: Iterable[tuple[str, Sequence[BindingType]]], commands: Sequence[Command] = COMMANDS
) -> Content:
    """Return the commands, then keys by group."""
    rows: list[Content] = [Content.assemble(("Commands", "bold"))]
    rows += _pairs([(command.usage, command.about) for command in commands])
    for title, bindings in groups:
        rows += [Content(""), Content.assemble((title, "bold")), *_pairs(_described(bindings))]
    return Content("\n").join(rows)


def _described(bindings: Sequence[BindingType]) -> list[tuple[str, str]]:
    return [(key_name(b.key), b.description) for b in bindings if isinstance(b, Binding) and b.description]


def _pairs(pairs: Sequence[tuple[str, str]]) -> list[Content]:
    wide = min(34, max((len(left) for left, _ in pairs), default=0))
    return [
        Content.assemble((f"  {left.ljust(wide)}  ", "$clew-accent"), (right, "$clew-text")) for left, right in pairs
    ]


def info_content(rows: Sequence[tuple[str, str]]) -> Content:
    """Return facts as text, one to a row. Values may be foreign words: they are made visible, never read as markup."""
    return Content("\n").join(_pairs([(name, one_line(value, 600)) for name, value in rows]))
