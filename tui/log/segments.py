"""Reading a branch: a chain of spans, newest first, each one range of keys in one segment.

All functions run on the worker's thread inside its transaction. What cannot be read becomes `Damaged` with
the exact depths, never an empty answer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from tui.log.entries import Entry, decode_body
from tui.log.errors import Damaged

__all__ = [
    "BUDGET",
    "Path",
    "Place",
    "Span",
    "covers",
    "extend",
    "find",
    "find_id",
    "find_ref",
    "has_ref",
    "key_of",
    "newest",
    "path_to",
    "place_of",
    "read",
    "shared",
]

BUDGET = 32 * 2**20
"""Bytes of bodies after which a page ends early; at least one entry is returned."""

Row: TypeAlias = tuple[int, str, str, int, bytes]
"""key, id, kind, time, body"""


class Place(msgspec.Struct, frozen=True, order=True, gc=False):
    """A position in the tree: a segment and an absolute depth."""

    segment: int
    depth: int


class Span(msgspec.Struct, frozen=True):
    """The part of a path that lies in one segment, both ends inclusive. Segment 0 stands for a lost part."""

    segment: int
    low: int
    high: int


Path: TypeAlias = tuple[Span, ...]
"""A branch, newest span first."""


def key_of(place: Place) -> int:
    """Return the key of the entry at a place."""
    return place.segment << 32 | place.depth


def place_of(key: int) -> Place:
    """Return the place of a key."""
    return Place(key >> 32, key & 0xFFFF_FFFF)


def path_to(db: sqlite3.Connection, leaf: Place | None) -> Path:
    """Return the path that ends at a leaf: one look-up for each branching point on it."""
    spans: list[Span] = []
    while leaf is not None:
        row = db.execute("SELECT parent_segment, start_depth FROM segment WHERE id=?", (leaf.segment,))
        parent, start = row.fetchone() or (None, -1)
        if not 0 <= start <= leaf.depth:
            return (*spans, Span(0, 0, leaf.depth))  # lost: whoever reads it is told so
        spans.append(Span(leaf.segment, start, leaf.depth))
        if start and (parent is None or parent >= leaf.segment):  # what was older is lost
            return (*spans, Span(0, 0, start - 1))
        leaf = Place(parent, start - 1) if start and parent is not None else None
    return tuple(spans)


def extend(path: Path, count: int) -> Path:
    """Return a path whose newest span is longer by `count` entries."""
    return (msgspec.structs.replace(path[0], high=path[0].high + count), *path[1:])


def covers(path: Path, place: Place) -> bool:
    """Whether a place lies on a path."""
    return any(span.segment == place.segment and span.low <= place.depth <= span.high for span in path)


def shared(one: Path, two: Path) -> int:
    """Return the depth of the newest entry two paths have in common; -1 where there is none."""
    highs = {span.segment: span.high for span in two}
    return next((min(span.high, highs[span.segment]) for span in one if span.segment in highs), -1)


class _Window(msgspec.Struct, frozen=True):
    """Which depths are wanted, inclusive, how many at most, and from which end they are counted."""

    low: int
    high: int
    limit: int
    direction: Literal["down", "up"]
    budget: int


_READ = {
    "down": "SELECT key, id, kind, time, body FROM entry WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT ?",
    "up": "SELECT key, id, kind, time, body FROM entry WHERE key BETWEEN ? AND ? ORDER BY key LIMIT ?",
}


def read(
    db: sqlite3.Connection,
    path: Path,
    low: int,
    high: int,
    *,
    limit: int,
    direction: Literal["down", "up"] = "down",
    budget: int = BUDGET,
) -> list[Entry]:
    """Return entries with depths from `low` to `high`, oldest first: at most `limit`, counted from one end.

    `down` takes the newest, `up` the oldest ones. Raises `Damaged` with what could be read.
    """
    high = min(high, path[0].high) if path else -1
    low = max(low, 0)
    if high < low or limit <= 0:
        return []
    try:
        rows = _collect(db, path, _Window(low, high, limit, direction, budget))
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise
        rows = None
    if rows is None:
        window = (max(low, high - limit + 1), high) if direction == "down" else (low, min(high, low + limit - 1))
        return _salvage(db, path, *window)
    rows.sort(key=_depth)
    return _entries(db, path, rows)


def _collect(db: sqlite3.Connection, path: Path, window: _Window) -> list[Row] | None:
    """Scan the spans; None where a depth is missing."""
    rows: list[Row] = []
    size = 0
    down = window.direction == "down"
    wanted = window.high if down else window.low
    for span in path if down else reversed(path):
        low, high = max(window.low, span.low), min(window.high, span.high)
        if low > high:
            continue
        keys = (span.segment << 32 | low, span.segment << 32 | high)
        for row in db.execute(_READ[window.direction], (*keys, window.limit - len(rows))):
            if _depth(row) != wanted:
                return None
            rows.append(row)
            wanted += -1 if down else 1
            size += len(row[4])
            if len(rows) == window.limit or size >= window.budget:
                return rows
        if wanted != (low - 1 if down else high + 1):
            return None
    return rows


def _salvage(db: sqlite3.Connection, path: Path, low: int, high: int) -> list[Entry]:
    """Look up each depth by itself: point look-ups lose only the damaged page's rows, where a scan stops."""
    rows: list[Row] = []
    gaps: list[tuple[int, int]] = []
    for depth in range(low, high + 1):
        row = _row_at(db, path, depth)
        if row is not None:
            rows.append(row)
        elif gaps and gaps[-1][1] == depth - 1:
            gaps[-1] = (gaps[-1][0], depth)
        else:
            gaps.append((depth, depth))
    kept = _entries(db, path, rows)
    if not gaps:
        return kept
    raise Damaged(f"Entries {_ranges(gaps)} of this branch cannot be read.", gaps=gaps, kept=kept)


def _ranges(gaps: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"{low} to {high}" if low < high else str(low) for low, high in gaps)


def _row_at(db: sqlite3.Connection, path: Path, depth: int) -> Row | None:
    span = next((span for span in path if span.low <= depth <= span.high), None)
    if span is None or span.segment == 0:
        return None
    sql = "SELECT key, id, kind, time, body FROM entry WHERE key=?"
    try:
        return db.execute(sql, (span.segment << 32 | depth,)).fetchone()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise
        return None


def _depth(row: Row) -> int:
    return row[0] & 0xFFFF_FFFF


def _entries(db: sqlite3.Connection, path: Path, rows: Iterable[Row]) -> list[Entry]:
    return list(_linked(db, path, rows))


def _linked(db: sqlite3.Connection, path: Path, rows: Iterable[Row]) -> Iterator[Entry]:
    """Yield entries with their parents, which are implied: the entry one less deep on the path."""
    previous: Entry | None = None
    for row in rows:
        depth = _depth(row)
        if previous is not None and previous.depth == depth - 1:
            parent: str | None = previous.id
        else:
            parent = find_id(db, path, depth - 1)
        previous = Entry(row[1], parent, depth, row[3], decode_body(row[2], bytes(row[4])))
        yield previous


def find_id(db: sqlite3.Connection, path: Path, depth: int) -> str | None:
    """Return the id of the entry at a depth; None below 0, and where it cannot be read (reading it tells)."""
    row: Any = _row_at(db, path, depth) if depth >= 0 else None
    return row[1] if row else None


_NEWEST = (
    "SELECT key, id, kind, time, body FROM entry INDEXED BY entry_kind "
    "WHERE kind=? AND key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1"
)


def newest(db: sqlite3.Connection, path: Path, kind: str) -> Entry | None:
    """Return the newest entry of a kind on a path. Raises `Damaged` where a part that might hold it is lost."""
    for span in path:
        if span.segment == 0:
            raise Damaged(f"Entries {_ranges([(0, span.high)])} of this branch are lost.", gaps=[(span.low, span.high)])
        keys = (span.segment << 32 | span.low, span.segment << 32 | span.high)
        row = db.execute(_NEWEST, (kind, *keys)).fetchone()
        if row is not None:
            return _entries(db, path, [row])[0]
    return None


def find(db: sqlite3.Connection, path: Path, entry_id: str) -> Entry | None:
    """Return the entry of an id on a path."""
    row = db.execute("SELECT key FROM entry WHERE id=?", (entry_id,)).fetchone()
    place = place_of(row[0]) if row is not None else None
    if place is None or not covers(path, place):
        return None
    return read(db, path, place.depth, place.depth, limit=1)[0]


_REF = "SELECT key FROM entry INDEXED BY entry_ref WHERE ref=? AND kind=? ORDER BY key DESC"


def has_ref(db: sqlite3.Connection, path: Path, ref: str, kind: str) -> bool:
    """Whether an entry of a kind about `ref` is on a path, readable or not."""
    return any(covers(path, place_of(key)) for (key,) in db.execute(_REF, (ref, kind)))


def find_ref(db: sqlite3.Connection, path: Path, ref: str, kind: str) -> Entry | None:
    """Return the newest entry on a path of a kind that is about `ref`."""
    places = [place_of(key) for (key,) in db.execute(_REF, (ref, kind))]
    here = [place.depth for place in places if covers(path, place)]
    if not here:
        return None
    return read(db, path, max(here), max(here), limit=1)[0]
