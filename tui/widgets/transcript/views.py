"""The rows of one block: finished, or still being written; and the cache of the finished ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

from rich.segment import Segment
from textual.strip import Strip

from tui.widgets.theme import Level
from tui.widgets.transcript.markdown import Look
from tui.widgets.transcript.render import GUTTER, gutter, thinking_live
from tui.widgets.transcript.rows import Row, indent, to_strip
from tui.widgets.transcript.stream import StreamDoc

__all__ = ["CACHE_ROWS", "Done", "LiveAnswer", "LiveThinking", "View", "ViewCache"]

CACHE_ROWS = 6_000
"""Rows kept rendered: about 15 MB."""


class View(Protocol):
    """The rows of one block."""

    def __len__(self) -> int: ...

    def row(self, at: int) -> Row:
        """Return a row."""
        ...

    def strip(self, at: int, width: int, look: Look) -> Strip:
        """Return a row ready to be painted, of `width` cells."""
        ...


class Done:
    """A finished block; strips are made when they are first painted."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._strips: dict[int, Strip] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, at: int) -> Row:
        """Return a row."""
        return self._rows[at]

    def strip(self, at: int, width: int, look: Look) -> Strip:
        """Return a row ready to be painted, made once."""
        found = self._strips.get(at)
        if found is None:
            found = self._strips[at] = to_strip(self._rows[at], width, look.theme.text)
        return found


class LiveAnswer:
    """An answer that is being written. Row 0 separates, as in the finished block."""

    def __init__(self, width: int, look: Look, level: Level) -> None:
        self.doc = StreamDoc(max(1, width - GUTTER), look)
        self._bar: tuple[Segment, ...] = gutter(look, level)
        self._strips: dict[int, Strip] = {}

    def __len__(self) -> int:
        return len(self.doc) + 1

    def feed(self, text: str) -> None:
        """Add text."""
        self.doc.feed(text)

    @property
    def source(self) -> str:
        """The text so far."""
        return self.doc.source

    def row(self, at: int) -> Row:
        """Return a row."""
        return indent(self.doc.row(at - 1) if at else Row(()), self._bar)

    def strip(self, at: int, width: int, look: Look) -> Strip:
        """Return a row ready to be painted; what is frozen is made once."""
        if at > len(self.doc.frozen):
            return to_strip(self.row(at), width, look.theme.text)
        found = self._strips.get(at)
        if found is None:
            found = self._strips[at] = to_strip(self.row(at), width, look.theme.text)
        return found


class LiveThinking:
    """Reasoning that is being written: only its last rows are shown."""

    def __init__(self, width: int, look: Look, level: Level) -> None:
        self._width = width
        self._look = look
        self._level: Level = level
        self._parts: list[str] = []
        self._lines = 1
        self._recent = ""
        self._rows = thinking_live("", 1, width, look, level)

    def __len__(self) -> int:
        return len(self._rows)

    def feed(self, text: str) -> None:
        """Add text."""
        self._parts.append(text)
        self._lines += text.count("\n")
        self._recent = (self._recent + text)[-2_000:]
        self._rows = thinking_live(self._recent, self._lines, self._width, self._look, self._level)

    @property
    def source(self) -> str:
        """The text so far."""
        return "".join(self._parts)

    def row(self, at: int) -> Row:
        """Return a row."""
        return self._rows[at]

    def strip(self, at: int, width: int, look: Look) -> Strip:
        """Return a row ready to be painted."""
        return to_strip(self._rows[at], width, look.theme.text)


class ViewCache:
    """Finished views by block id, while their rows fit `limit`; the least recently seen go first."""

    def __init__(self, limit: int = CACHE_ROWS) -> None:
        self._limit = limit
        self._views: OrderedDict[str, Done] = OrderedDict()
        self.rows = 0

    def __contains__(self, name: object) -> bool:
        return name in self._views

    def get(self, name: str) -> Done | None:
        """Return a view and mark it as seen."""
        view = self._views.get(name)
        if view is not None:
            self._views.move_to_end(name)
        return view

    def keep(self, name: str, view: Done) -> None:
        """Add a view; the two newest always stay."""
        self.forget(name)
        self._views[name] = view
        self.rows += len(view)
        while self.rows > self._limit and len(self._views) > 2:
            _, old = self._views.popitem(last=False)
            self.rows -= len(old)

    def forget(self, name: str) -> None:
        """Drop a view, if it is there."""
        old = self._views.pop(name, None)
        if old is not None:
            self.rows -= len(old)

    def clear(self) -> None:
        """Drop all."""
        self._views.clear()
        self.rows = 0
