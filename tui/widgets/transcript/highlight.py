"""Colours for code, bounded: beyond a size, a line length or a time a block stays plain (codex#33755)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from rich.segment import Segment
from rich.style import Style

from tui.widgets.theme import TranscriptTheme
from tui.widgets.transcript.rows import Run, hard_rows

if TYPE_CHECKING:
    from pygments.lexer import Lexer

__all__ = ["MAX_CHARS", "MAX_LINE", "MAX_SECONDS", "CodeColours", "code_lines"]

MAX_CHARS = 40_000
"""Characters of a block that are coloured (about 0.1 s)."""
MAX_LINE = 1_000
"""Characters of a line: lexers are regular expressions, and some of them are not linear."""
MAX_SECONDS = 0.5
"""CPU time after which a block is left plain."""

Role: TypeAlias = Literal["", "keyword", "string", "number", "comment", "function", "type", "operator"]

_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.\-]{1,30}")
_ROLES: tuple[tuple[str, Role], ...] = (
    ("Keyword.Type", "type"),
    ("Keyword", "keyword"),
    ("Literal.String", "string"),
    ("Literal.Number", "number"),
    ("Literal", "string"),
    ("Comment", "comment"),
    ("Name.Function", "function"),
    ("Name.Class", "type"),
    ("Name.Builtin", "function"),
    ("Name.Decorator", "function"),
    ("Name.Tag", "keyword"),
    ("Name.Attribute", "type"),
    ("Operator.Word", "keyword"),
    ("Operator", "operator"),
    ("Generic.Inserted", "string"),
    ("Generic.Deleted", "keyword"),
)


class CodeColours:
    """The coloured rows of a code block, cut hard at `width` cells; made when the first one is asked for."""

    def __init__(self, code: str, language: str, width: int, theme: TranscriptTheme) -> None:
        self._of = (code, language, width)
        self._theme = theme
        self._rows: list[tuple[Segment, ...]] = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CodeColours) and self._of == other._of and self._theme == other._theme

    def __hash__(self) -> int:
        return hash(self._of)

    def row(self, at: int) -> tuple[Segment, ...]:
        """Return the segments of a row."""
        if not self._rows:
            code, language, width = self._of
            lines = code_lines(code, language, self._theme)
            self._rows = [row.segments for line in lines for row in hard_rows(line, width)]
        return self._rows[at]


def code_lines(code: str, language: str, theme: TranscriptTheme) -> list[list[Run]]:
    """Return the lines of `code` as styled runs; an unknown language or too much of it gives plain lines."""
    tokens = _tokens(code, language) if language else None
    if tokens is None:
        return [[(line, theme.code_block)] for line in code.split("\n")]
    styles = _styles(theme)
    lines: list[list[Run]] = [[]]
    for role, text in tokens:
        style = styles[role]
        if "\n" not in text:
            lines[-1].append((text, style))
            continue
        first, *rest = text.split("\n")
        lines[-1].append((first, style))
        lines.extend([(part, style)] for part in rest)
    return lines


def _styles(theme: TranscriptTheme) -> dict[Role, Style]:
    return {
        "": theme.code_block,
        "keyword": theme.keyword,
        "string": theme.string,
        "number": theme.number,
        "comment": theme.comment,
        "function": theme.function,
        "type": theme.type,
        "operator": theme.operator,
    }


@lru_cache(maxsize=64)
def _tokens(code: str, language: str) -> tuple[tuple[Role, str], ...] | None:
    return tokenise(code, language, time.process_time)


def tokenise(code: str, language: str, clock: Callable[[], float]) -> tuple[tuple[Role, str], ...] | None:
    """Return roles and texts that join to `code`, or None where it is to stay plain. `clock` gives seconds."""
    if len(code) > MAX_CHARS or any(len(line) > MAX_LINE for line in code.split("\n")):
        return None
    lexer = _lexer(language)
    if lexer is None:
        return None
    limit = clock() + MAX_SECONDS
    found: list[tuple[Role, str]] = []
    for kind, text in lexer.get_tokens(code):
        role = _role(kind)
        if found and found[-1][0] == role:
            found[-1] = (role, found[-1][1] + text)
        else:
            found.append((role, text))
        if not len(found) % 64 and clock() > limit:
            return None
    # Some lexers normalise what they read; the person must see the code as it is.
    return tuple(found) if "".join([text for _, text in found]) == code else None


@lru_cache(maxsize=512)
def _role(kind: tuple[str, ...]) -> Role:
    name = ".".join(kind)
    for start, role in _ROLES:
        if name.startswith(start):
            return role
    return ""


@lru_cache(maxsize=128)
def _lexer(language: str) -> Lexer | None:
    if not _LANGUAGE.fullmatch(language):
        return None
    from pygments import lexers
    from pygments.util import ClassNotFound

    find = cast("Callable[..., Lexer]", vars(lexers)["get_lexer_by_name"])
    try:
        return find(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
