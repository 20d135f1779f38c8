"""Help and info pages as text, generated from what is really bound and really there."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from textual.binding import Binding, BindingType
from textual.content import Content

from tui.commands.table import COMMANDS, Command
from tui.screens.filter_page import Line
from tui.widgets.hints import key_name
from tui.widgets.sanitise import one_line

__all__ = ["help_lines", "info_content"]

Groups: TypeAlias = Iterable[tuple[str, Sequence[BindingType]]]
_LEFT = 26
"""Cells of the column with commands and keys."""

_LEAST = 24
"""Cells that the second column has at least."""


def help_lines(groups: Groups, keymap: Mapping[str, str], commands: Sequence[Command] = COMMANDS) -> list[Line]:
    """Return the commands, then the bindings by group with the keys they really have; a command gives its word."""
    lines = [
        (f"/{command.name} ", _row(command.usage, command.about, ""), f"{command.usage} {command.about}")
        for command in commands
    ]
    for title, bindings in groups:
        for binding in bindings:
            if isinstance(binding, Binding):
                name = binding.id or ""
                keys = key_name(keymap.get(name, binding.key))
                words = f"{keys} {binding.key} {binding.description} {name} {title}"
                lines.append(("", _row(keys, binding.description, name), words))
    return lines


def _row(left: str, about: str, name: str) -> Content:
    return Content.assemble(
        (f"{left:<{_LEFT}} ", "$clew-accent"), (about, "$clew-text"), (f"  {name}" if name else "", "$clew-dim")
    )


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
