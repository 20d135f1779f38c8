"""A row of the screen before it is painted, and the wrapping of styled text into rows.

Widths are in cells, never in characters; a grapheme is never cut, and a row is never wider than asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

__all__ = [
    "Colours",
    "Row",
    "Run",
    "cells",
    "coloured",
    "crop",
    "hard_breaks",
    "hard_rows",
    "indent",
    "plain_rows",
    "to_strip",
    "wrap",
]

Run: TypeAlias = tuple[str, Style]
"""Text of one style. `\\n` ends a line."""

_WORD = re.compile(r"[^ ]+ *| +")
# Between wide characters a line may break, but not before what closes or belongs to the one before.
_WIDE = "\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff01-\uff60\U00020000-\U0003fffd"
_MARKS = "\u0300-\u036f\u3001\u3002"  # combining marks, ideographic comma and stop
_STAYS = _MARKS + "\u300d\u300f\u3011\u3015\u3099\u309a\uff01\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\ufe0e\ufe0f\u200d"
_WIDE_WORD = re.compile(f"[{_WIDE}][{_STAYS}]* *|[^ {_WIDE}]+ *| +")


class Colours(Protocol):
    """Code that gets its colours when one of its rows is first painted: most of a long answer never is."""

    def row(self, at: int) -> tuple[Segment, ...]:
        """Return a row's segments, coloured."""
        ...


class Row(NamedTuple):
    """One row: its segments without padding on the right.

    `lead` counts the characters of decoration on the left, which selection and copying leave out.
    `join` is what the source has between this row and the next: a line end, or what wrapping took away.
    """

    segments: tuple[Segment, ...]
    lead: int = 0
    join: str = "\n"
    fill: Style | None = None
    """The style of the rest of the row, where it is not that of plain text."""
    late: tuple[Colours, int] | None = None
    """Where the last segment is plain code: its colours, and which row of them this is."""

    @property
    def text(self) -> str:
        """All characters, decoration too."""
        return "".join(segment.text for segment in self.segments)


def cells(text: str) -> int:
    """Return the cells `text` takes."""
    return len(text) if text.isascii() else cell_len(text)


def indent(row: Row, prefix: Sequence[Segment]) -> Row:
    """Return `row` with decoration put before it."""
    lead = row.lead
    for segment in prefix:
        lead += len(segment.text)
    return Row((*prefix, *row.segments), lead, row.join, row.fill, row.late)


def _graphemes(text: str) -> list[tuple[int, int, int]]:
    """Return start, end and cells of each grapheme; as wide as `cells` says, which counts odd joiners differently."""
    return [(a, b, max(size, cells(text[a:b])) if b - a > 1 else size) for a, b, size in split_graphemes(text)[0]]


def crop(text: str, width: int) -> tuple[str, str]:
    """Cut `text` where it fills at most `width` cells; the first part has at least one grapheme."""
    if text.isascii():
        at = max(1, width)
        return text[:at], text[at:]
    at = used = 0
    for start, end, size in _graphemes(text):
        if start and used + size > width:
            break
        at, used = end, used + size
    return text[:at], text[at:]


def wrap(runs: Sequence[Run], width: int) -> list[Row]:
    """Wrap styled text at spaces (and between wide characters) into rows of at most `width` cells.

    A word too long is cut. Words may change their style inside; that is no place to break.
    """
    width = max(1, width)
    rows: list[Row] = []
    for line in _lines(runs):
        text = line[0][0] if len(line) == 1 else "".join([run[0] for run in line])
        if cells(text) <= width:
            rows.append(Row(tuple([Segment(part, style) for part, style in line if part])))
            continue
        rows.extend(_cut(line, _breaks(text, width)))
    return rows


def _lines(runs: Sequence[Run]) -> list[list[Run]]:
    """Split runs at their line ends."""
    lines: list[list[Run]] = [[]]
    for text, style in runs:
        if "\n" not in text:
            lines[-1].append((text, style))
            continue
        first, *rest = text.split("\n")
        lines[-1].append((first, style))
        lines.extend([(part, style)] for part in rest)
    return lines


def _breaks(text: str, width: int) -> list[tuple[int, int, str]]:
    """Return for each row its start and end in `text` and what stands between it and the next row."""
    found: list[tuple[int, int, str]] = []
    start = bare_end = used = 0
    for match in (_WORD if text.isascii() else _WIDE_WORD).finditer(text):
        word = match[0]
        at = match.start()
        bare = word.rstrip(" ")
        size = cells(bare)
        if bare and used + size > width:
            if at > start:
                found.append((start, bare_end, text[bare_end:at]))
            start, used = at, 0
            if size > width:
                *full, (last, _) = hard_breaks(bare, width)
                found.extend((at + first, at + end, "") for first, end in full)
                start = at + last
                size = cells(bare[last:])
        if bare:
            bare_end = at + len(word.rstrip(" "))
        used += size + len(word) - len(word.rstrip(" "))
    end = max(start, bare_end) if used > width else len(text)
    found.append((start, end, text[end:] + "\n"))
    return found


def _cut(line: Sequence[Run], ranges: Sequence[tuple[int, int, str]]) -> list[Row]:
    """Return the rows of a line's runs, cut at character ranges that follow one another."""
    rows: list[Row] = []
    index = offset = 0  # the run, and where it begins in the line
    for start, end, join in ranges:
        segments: list[Segment] = []
        while index < len(line):
            text, style = line[index]
            piece = text[max(0, start - offset) : end - offset]
            if piece:
                segments.append(Segment(piece, style))
            if offset + len(text) > end:
                break
            offset += len(text)
            index += 1
        rows.append(Row(tuple(segments), 0, join))
    return rows


def hard_breaks(text: str, width: int) -> list[tuple[int, int]]:
    """Return the ranges of `text` that fill rows of `width` cells, in one pass (a line may have megabytes)."""
    width = max(1, width)
    size = len(text)
    if text.isascii():
        return [(at, min(size, at + width)) for at in range(0, size, width)] or [(0, 0)]
    ranges: list[tuple[int, int]] = []
    start = used = 0
    for at, _, cell in _graphemes(text):
        if used + cell > width and at > start:
            ranges.append((start, at))
            start, used = at, 0
        used += cell
    ranges.append((start, size))
    return ranges


def hard_rows(line: Sequence[Run], width: int, fill: Style | None = None) -> list[Row]:
    """Cut one line hard at `width` cells, as a terminal would: for output and code."""
    text = line[0][0] if len(line) == 1 else "".join([run[0] for run in line])
    if cells(text) <= width:
        return [Row(tuple([Segment(part, style) for part, style in line if part]), 0, "\n", fill)]
    ranges = hard_breaks(text, width)
    last = len(ranges) - 1
    rows = _cut(line, [(a, b, "" if at < last else "\n") for at, (a, b) in enumerate(ranges)])
    return [row._replace(fill=fill) for row in rows] if fill else rows


def plain_rows(text: str, width: int, style: Style, fill: Style | None = None) -> list[Row]:
    """Return the rows of text of one style, its lines cut hard."""
    return [row for line in text.split("\n") for row in hard_rows([(line, style)], width, fill)]


def coloured(row: Row) -> tuple[Segment, ...]:
    """Return the row's segments as they are painted."""
    if row.late is None:
        return row.segments
    colours, at = row.late
    return (*row.segments[:-1], *colours.row(at))


def to_strip(row: Row, width: int, base: Style) -> Strip:
    """Return the row as a strip of exactly `width` cells."""
    segments = coloured(row)
    used = 0
    for segment in segments:
        used += cells(segment.text)
    if used == width:
        return Strip(segments, width)
    if used < width:
        return Strip([*segments, Segment(" " * (width - used), row.fill or base)], width)
    return Strip(segments, used).crop(0, width)
