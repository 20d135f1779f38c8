"""What looking back finds: hits, passages and named gaps."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

import msgspec

from tui.log.entries import Entry
from tui.log.words import Said

__all__ = ["MOST_HITS", "Findings", "Gap", "Hit", "Passage", "Scope", "Search"]

Scope: TypeAlias = Literal["path", "session", "project"]
"""The active path, all branches of the session, or all sessions of the project outside the trash."""
MOST_HITS = 50


class Gap(msgspec.Struct, frozen=True):
    """Entries that cannot be read, both ends inclusive."""

    session: str
    low: int
    high: int


class Hit(msgspec.Struct, frozen=True):
    """An entry in which the words occur."""

    session: str
    entry: str
    """Its id."""
    depth: int
    time: int
    """Milliseconds since 1970, UTC."""
    kind: Said
    snippet: str
    on_path: bool
    """Whether it lies on the active path of the session that asks."""


class Findings(msgspec.Struct, frozen=True):
    """What a search found, newest first."""

    hits: tuple[Hit, ...] = ()
    more: bool = False
    """Whether there are more than were asked for."""
    gaps: tuple[Gap, ...] = ()
    """What could not be searched."""
    exact: bool = True
    """Whether the whole text was found; else all of its words."""


class Passage(msgspec.Struct, frozen=True):
    """Entries of one path, oldest first, and which of those asked for cannot be read."""

    entries: tuple[Entry, ...]
    gaps: tuple[tuple[int, int], ...]
    """Depths, both ends inclusive."""
    last: int
    """Depth of the last entry asked for, within the path."""


class Search(Protocol):
    """Looks through one session. Everything may raise `LogError`."""

    async def find(self, query: str, *, scope: Scope = "path", most: int = MOST_HITS, private: bool = True) -> Findings:
        """Return what was said; nothing for a blank query.

        `private` finds what was shown and never sent to a model, too.
        """
        ...

    async def passage(self, first: str, last: str = "", *, most: int = 200) -> Passage:
        """Return up to `most` entries from one to another, each named by its id or its depth; empty `last` is `first`.

        On the active path, else on the one that leads to `last`. Raises `EntryNotFound`.
        """
        ...

    async def catch_up(self, most: int) -> None:
        """Index up to `most` entries of the active path, so that the next search is quick."""
        ...
