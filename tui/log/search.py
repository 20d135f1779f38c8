"""Looking back: what was said anywhere on a path, in a session's branches, or in a project's sessions.

    query ──► needles ──► index and log ──► hits with snippets
    first, last ──► the entries themselves, in pages

Everything here only reads.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence

import msgspec

from tui.log import segments
from tui.log.errors import Damaged, EntryNotFound
from tui.log.found import MOST_HITS, Findings, Hit, Passage, Scope
from tui.log.index import Reach, Row, SearchIndex, Stretch
from tui.log.segments import Span
from tui.log.track import Track
from tui.log.words import KINDS_SAID, Said, needles, snippet
from tui.log.worker import Runner

__all__ = ["ProjectSearch", "SessionSearch"]

_ALL: tuple[Said, ...] = (*KINDS_SAID, "private")


class ProjectSearch:
    """Looks through all sessions of a project. `Store.search`."""

    def __init__(self, log: Runner, index: SearchIndex) -> None:
        self._log = log
        self._index = index

    async def find(self, query: str, *, most: int = MOST_HITS) -> Findings:
        """Return what was said in any session outside the trash; nothing for a blank query. Raises `LogError`."""
        reach = await self._log.read(_everything)
        return await _find(self._index, reach, _Wanted(query, most, _ALL))

    async def catch_up(self, most: int) -> None:
        """Index up to `most` entries, so that the next search is quick."""
        await self._index.catch_up(await self._log.read(_everything), most)

    async def empty(self) -> None:
        """Forget all words: to be called once a session was deleted for good. The rest is indexed anew by itself."""
        await self._index.empty()

    async def close(self) -> None:
        """Close the index."""
        await self._index.close()


class SessionSearch:
    """Looks through one session. See `Search` for what each method promises."""

    def __init__(self, log: Runner, index: SearchIndex, track: Track) -> None:
        self._log = log
        self._index = index
        self._track = track

    async def find(self, query: str, *, scope: Scope = "path", most: int = MOST_HITS, private: bool = True) -> Findings:
        """See `Search.find`."""
        path = await self._log.read(self._track.current)
        reach = await self._log.read(self._reach(scope, path))
        return await _find(self._index, reach, _Wanted(query, most, _ALL if private else KINDS_SAID, path))

    async def passage(self, first: str, last: str = "", *, most: int = 200) -> Passage:
        """See `Search.passage`."""

        def work(db: sqlite3.Connection) -> Passage:
            path = self._path_of(db, self._track.current(db), last or first)
            low, high = self._depth(db, path, first), self._depth(db, path, last or first)
            return _passage(db, path, min(low, high), max(low, high), most)

        return await self._log.read(work)

    async def catch_up(self, most: int) -> None:
        """See `Search.catch_up`."""
        path = await self._log.read(self._track.current)
        await self._index.catch_up(self._on_path(path), most)

    def _reach(self, scope: Scope, path: segments.Path) -> Callable[[sqlite3.Connection], Reach]:
        match scope:
            case "path":
                return lambda _db: self._on_path(path)
            case "session":
                return lambda db: _newest_first((*_segments_of(db, self._track.session), *self._on_path(path)))
            case "project":
                return _everything

    def _on_path(self, path: segments.Path) -> Reach:
        return tuple(Stretch(self._track.session, span) for span in path)

    def _path_of(self, db: sqlite3.Connection, path: segments.Path, name: str) -> segments.Path:
        """Return the active path where the entry lies on it, else the one that leads to the entry."""
        if name.isdecimal():
            return path
        place = self._track.find(db, name)
        return path if segments.covers(path, place) else segments.path_to(db, place)

    def _depth(self, db: sqlite3.Connection, path: segments.Path, name: str) -> int:
        if name.isdecimal() and len(name) < 12:
            return int(name)
        place = self._track.find(db, name)
        if not segments.covers(path, place):
            raise EntryNotFound(name)
        return place.depth


class _Wanted(msgspec.Struct, frozen=True):
    query: str
    most: int
    kinds: Sequence[Said]
    path: segments.Path = ()


async def _find(index: SearchIndex, reach: Reach, wanted: _Wanted) -> Findings:
    findings = Findings()
    owners = {stretch.span.segment: stretch.session for stretch in reach}
    for exact, needle in zip((True, False), needles(wanted.query), strict=False):
        rows, gaps = await index.find(reach, needle, wanted.most + 1, wanted.kinds)
        found = rows[: wanted.most]
        hits = tuple(_hit(row, owners, wanted.path, snippet(row.text, needle)) for row in found)
        findings = Findings(hits, len(rows) > len(found), tuple(gaps), exact)
        if hits:
            break
    return findings


def _hit(row: Row, owners: dict[int, str], path: segments.Path, piece: str) -> Hit:
    place = row.place
    on_path = segments.covers(path, place)
    return Hit(owners[place.segment], row.id, place.depth, row.time, row.kind, piece, on_path)


def _passage(db: sqlite3.Connection, path: segments.Path, low: int, high: int, most: int) -> Passage:
    last = min(high, path[0].high) if path else -1
    try:
        entries = segments.read(db, path, low, min(last, low + most - 1), limit=most, direction="up")
    except Damaged as error:
        return Passage(tuple(error.kept), tuple(error.gaps), last)
    return Passage(tuple(entries), (), last)


_SEGMENTS = (
    "SELECT g.session, g.id, g.start_depth, "
    "(SELECT max(e.key) FROM entry e WHERE e.key BETWEEN g.id << 32 AND (g.id << 32 | 0xffffffff)) FROM segment g "
)


def _segments_of(db: sqlite3.Connection, session: str) -> Reach:
    return _stretches(db.execute(f"{_SEGMENTS} WHERE g.session=? ORDER BY g.id DESC", (session,)))


def _everything(db: sqlite3.Connection) -> Reach:
    return _stretches(
        db.execute(f"{_SEGMENTS} JOIN session s ON s.id = g.session WHERE s.trashed = 0 ORDER BY g.id DESC")
    )


def _stretches(rows: Iterable[tuple[str, int, int, int | None]]) -> Reach:
    return tuple(
        Stretch(session, Span(segment, start, segments.place_of(newest).depth))
        for session, segment, start, newest in rows
        if newest is not None
    )


def _newest_first(found: Reach) -> Reach:
    """Return each segment once, as far as any of the stretches goes."""
    longest: dict[int, Stretch] = {}
    for stretch in found:
        held = longest.get(stretch.span.segment)
        if held is None or held.span.high < stretch.span.high:
            longest[stretch.span.segment] = stretch
    return tuple(sorted(longest.values(), key=lambda stretch: -stretch.span.segment))
