"""What must be written to the terminal to get from one frame to the next. Pure: strips in, steps out.

A frame repaints whole widgets, but mostly a few words at the end of a row are new, or everything moved up.
`Painted` remembers what the terminal shows and finds the least that turns it into what is wanted: rows that
moved are scrolled by the terminal itself, of a changed row only the changed cells are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from operator import eq
from typing import TypeAlias

import msgspec
from rich.style import Style
from textual.strip import Strip

__all__ = ["Painted", "Part", "Put", "Scroll", "Step", "changed_cells", "encode", "shift"]

_STEADY = re.compile(r"[\x20-\x7e\xa1-\xac\xae-\u02ff\u2010-\u2027\u2190-\u2193\u2500-\u25ff\u2800-\u28ff]*")
"""Characters whose width no terminal disagrees on. A row with others is written whole, so that none drifts."""
_GAP = 12
"""Unchanged cells between two changed ones that are written too: to jump over them costs as much."""
_SCROLL_GAIN = 3
"""Rows a scroll must save: it costs some 20 bytes and, in a slow terminal, a redraw."""


class Part(msgspec.Struct, frozen=True):
    """Rows of one widget, from `y` down, each beginning at column `x` and equally wide."""

    x: int
    y: int
    strips: Sequence[Strip]


class Scroll(msgspec.Struct, frozen=True):
    """Rows `top` to `bottom` (both included) move up by `rows`, over the whole width; below them is room."""

    top: int
    bottom: int
    rows: int


class Put(msgspec.Struct, frozen=True):
    """A strip is written at a place."""

    x: int
    y: int
    strip: Strip


Step: TypeAlias = Scroll | Put


class Painted:
    """What the terminal shows, as far as it was painted through here: row, column, strip."""

    def __init__(self, width: int = 0) -> None:
        self._width = width
        self._rows: dict[int, dict[int, Strip]] = {}

    def forget(self, width: int) -> None:
        """Something else painted: nothing is known of a screen of `width` cells."""
        self._width = width
        self._rows = {}

    def paint(self, parts: Sequence[Part]) -> list[Step]:
        """Return the steps that show `parts`, and take them as done."""
        wanted = {(y, part.x): strip for part in parts for y, strip in enumerate(part.strips, part.y)}
        steps: list[Step] = []
        tallest = max(parts, key=lambda part: len(part.strips), default=None)
        scroll = self._scroll(tallest) if tallest is not None else None
        if scroll is not None:
            steps.append(scroll)
            self._move(scroll, wanted)
        for (y, x), strip in wanted.items():
            row = self._rows.setdefault(y, {})
            steps += _puts(x, y, row.get(x), strip)
            row[x] = strip
        return steps

    def _scroll(self, part: Part) -> Scroll | None:
        """Return how the terminal can move what is there: only where all of the rows' width is known."""
        rows = [self._rows.get(y, {}) for y in range(part.y, part.y + len(part.strips))]
        if not all(sum(strip.cell_length for strip in row.values()) == self._width for row in rows):
            return None
        by = shift([row.get(part.x) for row in rows], part.strips)
        return Scroll(part.y, part.y + len(rows) - 1, by) if by else None

    def _move(self, scroll: Scroll, wanted: dict[tuple[int, int], Strip]) -> None:
        """Do what the terminal does; what stands beside the part must not move with it, so it is wanted again."""
        band = range(scroll.top, scroll.bottom + 1)
        old = {y: self._rows.get(y, {}) for y in band}
        for y in band:
            for x, strip in old[y].items():
                wanted.setdefault((y, x), strip)
            self._rows[y] = dict(old.get(y + scroll.rows, {}))


def shift(old: Sequence[Strip | None], new: Sequence[Strip]) -> int:
    """Return by how many rows `new` is `old` moved up; 0 where writing the changed rows is not dearer."""
    size = min(len(old), len(new))
    best, most = 0, sum(map(eq, old, new)) + _SCROLL_GAIN - 1
    for by in range(1, size - most):
        if new[0] == old[by] or new[1] == old[by + 1]:
            same = sum(map(eq, old[by:], new))
            if same > most:
                best, most = by, same
    return best


def _puts(x: int, y: int, old: Strip | None, new: Strip) -> list[Put]:
    if old is None:
        return [Put(x, y, new)]
    whole = (0, new.cell_length)
    return [Put(x + a, y, new if (a, b) == whole else new.crop(a, b)) for a, b in changed_cells(old, new)]


def changed_cells(old: Strip, new: Strip) -> list[tuple[int, int]]:
    """Return the ranges of cells in which two rows differ; the whole row if in doubt."""
    if old is new or old == new:
        return []
    before, after = _cells(old), _cells(new)
    if len(before) != len(after) or not after:
        return [(0, new.cell_length)]
    ranges: list[tuple[int, int]] = []
    for at in (at for at, (one, other) in enumerate(zip(before, after, strict=True)) if one != other):
        if ranges and at - ranges[-1][1] <= _GAP:
            ranges[-1] = (ranges[-1][0], at + 1)
        else:
            ranges.append((at, at + 1))
    return ranges


def _cells(strip: Strip) -> list[tuple[str, Style | None]]:
    """Return each cell's character and style; nothing where a character's cells are not beyond doubt."""
    segments = list(strip)
    if any(segment.control or not _STEADY.fullmatch(segment.text) for segment in segments):
        return []
    return [(character, segment.style) for segment in segments for character in segment.text]


def encode(steps: Iterable[Step], render: Callable[[Strip], str]) -> str:
    """Return what the terminal must be sent. Line feeds at the lower margin scroll everywhere; SU does not."""
    return "".join(_encoded(step, render) for step in steps)


def _encoded(step: Step, render: Callable[[Strip], str]) -> str:
    match step:
        case Put(x, y, strip):
            return f"\x1b[{y + 1};{x + 1}H{render(strip)}"
        case Scroll(top, bottom, rows):
            feeds = "\n" * rows
            return f"\x1b[{top + 1};{bottom + 1}r\x1b[{bottom + 1};1H{feeds}\x1b[r"
