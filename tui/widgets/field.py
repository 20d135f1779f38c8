"""A text area for foreign text: what stands in it is kept, what is drawn can be drawn, and a step is a grapheme.

Textual steps by code point and draws the cursor over one, which tears an emoji or a letter with marks
apart (agtx#85).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import split_graphemes
from rich.style import Style
from rich.text import Text
from textual.document._document import Location
from textual.widgets import TextArea

__all__ = ["TextField", "drawable", "span_at", "spans"]

_WIDTHLESS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")


def drawable(line: str) -> str:
    """Return the line with as many characters and cells, but none that steers a terminal or turns letters around."""
    if line.isascii() and (line.isprintable() or not _WIDTHLESS.search(line)):
        return line
    return _SURROGATE.sub("\ufffd", _WIDTHLESS.sub("\u2060", line)).replace("\xad", "-")


def spans(line: str) -> Iterator[tuple[int, int]]:
    """Yield where each grapheme of a line begins and ends."""
    if line.isascii():
        yield from ((at, at + 1) for at in range(len(line)))
        return
    for start, end, _ in split_graphemes(line)[0]:
        yield start, end


def span_at(line: str, column: int) -> tuple[int, int]:
    """Return the grapheme that `column` is in; at the end of the line an empty one."""
    if line[max(0, column - 1) : column + 2].isascii():
        return (column, column + 1) if column < len(line) else (len(line), len(line))
    return next(((a, b) for a, b in spans(line) if a <= column < b), (len(line), len(line)))


class _Line(Text):
    """A line whose styles never begin or end inside a grapheme."""

    def stylize(self, style: str | Style, start: int = 0, end: int | None = None) -> None:
        """Lay a style over whole graphemes."""
        line = self.plain
        if not line.isascii():
            start = span_at(line, start)[0] if start >= 0 else start
            if end is not None and 0 < end <= len(line):
                end = span_at(line, end - 1)[1]
        super().stylize(style, start, end)


class TextField(TextArea, inherit_bindings=False):
    """A text area that steps by grapheme and draws only what can be drawn."""

    def get_line(self, line_index: int) -> Text:
        """Return a line to be drawn: as many characters as are there."""
        return _Line(drawable(self.document.get_line(line_index)), end="", no_wrap=True)

    def index_of(self, location: Location) -> int:
        """Return how many characters of the text are before a place."""
        row, column = location
        return sum(len(self.document[at]) + 1 for at in range(row)) + column

    def place_of(self, index: int) -> Location:
        """Return the place with so many characters of the text before it."""
        row = 0
        while row + 1 < self.document.line_count and index > len(self.document[row]):
            index -= len(self.document[row]) + 1
            row += 1
        return row, min(index, len(self.document[row]))

    def unit(self, line: str, column: int) -> tuple[int, int]:
        """Return what the cursor steps over as one: the grapheme at `column`."""
        return span_at(line, column)

    def get_cursor_left_location(self) -> Location:
        """Return where the cursor goes to the left."""
        row, column = self.cursor_location
        if column == 0:
            return (row - 1, len(self.document[row - 1])) if row else (0, 0)
        return row, self.unit(self.document[row], column - 1)[0]

    def get_cursor_right_location(self) -> Location:
        """Return where the cursor goes to the right."""
        row, column = self.cursor_location
        line = self.document[row]
        if column >= len(line):
            return (row + 1, 0) if row + 1 < self.document.line_count else (row, column)
        return row, self.unit(line, column)[1]
