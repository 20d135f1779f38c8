"""Reading a path that may be damaged: what is lost becomes a named gap among the entries, and the rest goes on.

A gap is an entry of kind `gap` that stands in memory alone: it is shown, never sent and never written.
"""

from __future__ import annotations

from collections.abc import Awaitable

from tui.log.entries import Entry, UnknownBody
from tui.log.errors import Damaged
from tui.log.protocol import PathReader

__all__ = ["GAP", "newest_of", "page_of", "since_of"]

GAP = "gap"


async def page_of(log: PathReader, before: int | None = None, limit: int = 1000) -> list[Entry]:
    """Return what `PathReader.page` does, with a gap for each part that cannot be read.

    Raises `Damaged` where it cannot be said which part that is.
    """
    return await _bridged(log.page(before, limit))


async def since_of(log: PathReader, depth: int) -> list[Entry]:
    """Return what `PathReader.since` does, with a gap for each part that cannot be read."""
    return await _bridged(log.since(depth))


async def newest_of(log: PathReader, kind: str) -> Entry | None:
    """Return the newest entry of a kind that can be read; where the index is damaged, by looking at all."""
    try:
        return await log.newest(kind)
    except Damaged:
        path = await since_of(log, 0)
        return next((entry for entry in reversed(path) if entry.kind == kind), None)


async def _bridged(reading: Awaitable[list[Entry]]) -> list[Entry]:
    try:
        return await reading
    except Damaged as error:
        if not error.gaps:
            raise
        return sorted((*error.kept, *map(_gap, error.gaps)), key=lambda entry: entry.depth)


def _gap(lost: tuple[int, int]) -> Entry:
    low, high = lost
    which = f"Entry {low} of this branch is" if low == high else f"Entries {low} to {high} of this branch are"
    words = f"{which} damaged or lost and cannot be read. The file was not changed; `clew doctor` says more."
    return Entry(f"{GAP}:{low}-{high}", None, low, 0, UnknownBody(GAP, b"", words))
