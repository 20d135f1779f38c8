"""What the list of sessions holds: one group for each directory, never mixed, each loaded as far as it is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from tui.agent.shelf import Shelf
    from tui.log.protocol import SessionInfo

__all__ = ["Group", "Line", "Picked", "lines", "place_of"]


class Picked(msgspec.Struct, frozen=True):
    """A session to go on with, and the directory it belongs to; `here` where that is this one."""

    shelf: Shelf
    session: str
    here: bool


class Group:
    """The sessions of one directory, the most recently used first."""

    def __init__(self, shelf: Shelf, what: str = "", place: str = "", *, but: str = "") -> None:
        self.shelf = shelf
        self.what = what
        self.place = place
        """Both stand above them; empty for this directory, which comes first."""
        self.rows: list[SessionInfo] = []
        self.more = True
        """Whether there may be older ones."""
        self._but = but

    async def load(self) -> None:
        """Read the newest ones anew. Raises `LogError`."""
        self.rows, self.more = await self.shelf.page(but=self._but)

    async def load_more(self) -> Sequence[SessionInfo]:
        """Read older ones and return them. Raises `LogError`."""
        older, self.more = await self.shelf.page(self.rows[-1].recent if self.rows else None, but=self._but)
        self.rows += older
        return older

    async def load_all(self, wanted: set[str]) -> None:
        """Read on until all of these are there. Raises `LogError`."""
        while self.more and wanted - {info.id for info in self.rows}:
            await self.load_more()


class Line(msgspec.Struct, frozen=True):
    """One row of the list: a session, or the heading of a group."""

    group: Group
    info: SessionInfo | None = None


def lines(groups: Sequence[Group], found: dict[str, str] | None) -> list[Line]:
    """Return the rows; with a search only what was found, and no heading above nothing."""
    shown: list[Line] = []
    for group in groups:
        rows = [Line(group, info) for info in group.rows if found is None or info.id in found]
        if rows and group.place:
            shown.append(Line(group))
        shown += rows
    return shown


def place_of(marked: Line | None, rows: Sequence[Line], at: int) -> int | None:
    """Return the row of what was marked, else of the session next to where it was; None where there is none."""
    ids = [line.info.id if line.info is not None else "" for line in rows]
    if marked is not None and marked.info is not None and marked.info.id in ids:
        return ids.index(marked.info.id)
    return min((place for place, name in enumerate(ids) if name), key=lambda place: abs(place - at), default=None)
