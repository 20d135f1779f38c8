"""The landmarks of a session's tree, kept beside the entries so that a tree is drawn without reading any of them.

A row for each authored prompt, checkpoint and label, written in the transaction of its entry: a few words and
a place, found by range of keys. It is derived: the entries alone are the truth, and `fill` makes it anew.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Literal, TypeAlias, TypeVar

import msgspec

from tui.log.entries import Body, Checkpoint, Entry, Label, Prompt, UnknownBody, decode_body
from tui.log.segments import Path, Place, Span, key_of, place_of

__all__ = [
    "KINDS",
    "TABLES",
    "BranchPoint",
    "Child",
    "Landmark",
    "Limb",
    "Row",
    "TreeFacts",
    "branch_points",
    "fill",
    "index",
    "read",
    "scan",
]

_NODE = """
CREATE TABLE node(
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    time INTEGER NOT NULL,
    about INTEGER NOT NULL,
    head BLOB NOT NULL
) STRICT
"""
TABLES = (_NODE, "CREATE INDEX segment_parent ON segment(parent_segment, parent_depth)")
"""What format 2 has beside format 1."""

HEAD_LETTERS = 200
"""Characters of a landmark's words that are kept: enough for a row, and for a search among rows."""

LandmarkKind: TypeAlias = Literal["prompt", "steer", "checkpoint", "label"]
Row: TypeAlias = tuple[int, str, LandmarkKind, int, int, bytes]
"""key, id, kind, time, key of what it is about, words"""
KINDS = ("prompt", "checkpoint", "label")
"""The kinds of entry that may be landmarks."""
_INSERT = "INSERT OR REPLACE INTO node(key, id, kind, time, about, head) VALUES(?,?,?,?,?,?)"


class Landmark(msgspec.Struct, frozen=True, gc=False):
    """An authored prompt, a checkpoint or a label."""

    place: Place
    id: str
    """Of the entry it is about."""
    kind: LandmarkKind
    time: int
    """Milliseconds since 1970, UTC."""
    about: Place
    """What a label names; all others are about themselves."""
    head: str
    """Its first words on one line."""


class Limb(msgspec.Struct, frozen=True):
    """The part of one segment that belongs to a session's tree, and where it grows from."""

    span: Span
    parent: Place | None
    tip: str
    """Id of its newest entry; empty where that cannot be read."""


class Child(msgspec.Struct, frozen=True):
    """A session that was forked from this one."""

    at: Place
    entry: str
    """Id of the entry it was forked at."""
    session: str
    title: str


class TreeFacts(msgspec.Struct, frozen=True):
    """All a tree is drawn from. Landmarks are in the order of their places, segment by segment."""

    limbs: tuple[Limb, ...]
    landmarks: tuple[Landmark, ...]
    joints: dict[Place, str]
    """Ids of the entries that a limb grows from."""
    leaf: Place | None
    children: tuple[Child, ...] = ()


class BranchPoint(msgspec.Struct, frozen=True):
    """An entry of a path after which other branches go on."""

    depth: int
    others: int


def head_of(body: Body | UnknownBody) -> tuple[LandmarkKind, str] | None:
    """Return the kind and the words of a landmark; None for an entry that is none."""
    match body:
        case Prompt(origin="authored", excluded=False):
            words = _short(body.message.authored) or "(attached matter alone)"
            return ("steer" if body.steer else "prompt"), words
        case Checkpoint():
            return "checkpoint", _short(f"{body.origin}: {body.summary[: 4 * HEAD_LETTERS]}")
        case Label():
            return "label", _short(body.text)
        case _:
            return None


def _short(text: str) -> str:
    return " ".join(text[: 4 * HEAD_LETTERS].split())[:HEAD_LETTERS]


def index(db: sqlite3.Connection, key: int, entry: Entry) -> None:
    """Keep the row of an entry that is a landmark, inside the transaction that writes it."""
    row = _row(db, key, entry)
    if row is not None:
        db.execute(_INSERT, row)


def _row(db: sqlite3.Connection, key: int, entry: Entry) -> Row | None:
    found = head_of(entry.body)
    if found is None:
        return None
    name, about = entry.id, key
    if isinstance(entry.body, Label):
        named = db.execute("SELECT id, key FROM entry WHERE id=?", (entry.body.about,)).fetchone()
        name, about = named or (name, key)
    return key, name, found[0], entry.time, about, found[1].encode("utf-8", "replace")


def scan(db: sqlite3.Connection) -> list[Row]:
    """Return the rows of all entries that can be read, for a database that has none yet. Not inside a transaction.

    One in which a damaged page was met cannot be written in any more.
    """
    return _scanned(db, 0, 2**62)


def fill(db: sqlite3.Connection, rows: list[Row]) -> None:
    """Keep rows that were made by a scan."""
    db.executemany(_INSERT, rows)


def _scanned(db: sqlite3.Connection, low: int, high: int) -> list[Row]:
    """Return the rows that the entries of a range of keys give, without the table; damaged ones are left out.

    Entry by entry: a range scan stops at a damaged page, where point look-ups lose that page's rows alone.
    """
    rows: list[Row] = []
    for key in sorted(key for kind in KINDS for key in _readable(_keys_of(db, kind, low, high))):
        for entry in _readable(_entry(db, key)):
            row = _row(db, key, entry)
            if row is not None:
                rows.append(row)
    return rows


T = TypeVar("T")


def _readable(found: Iterator[T]) -> Iterator[T]:
    """Yield what can be read; reading the damaged part itself tells of it (`segments.read`, the doctor)."""
    try:
        yield from found
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise


def _keys_of(db: sqlite3.Connection, kind: str, low: int, high: int) -> Iterator[int]:
    sql = "SELECT key FROM entry INDEXED BY entry_kind WHERE kind=? AND key BETWEEN ? AND ?"
    for (key,) in db.execute(sql, (kind, low, high)):
        yield key


def _entry(db: sqlite3.Connection, key: int) -> Iterator[Entry]:
    for name, kind, time, body in db.execute("SELECT id, kind, time, body FROM entry WHERE key=?", (key,)):
        yield Entry(name, None, 0, time, decode_body(kind, bytes(body)))


def read(db: sqlite3.Connection, session: str, inherited: Path, leaf: Place | None) -> TreeFacts:
    """Return what a session's tree is drawn from: index ranges alone, whatever the entries hold.

    `inherited` is the path the session was forked at, empty for one that was not.
    """
    limbs = [*_inherited(db, inherited), *_own(db, session)]
    rows = _kept if has_nodes(db) else _scanned
    return TreeFacts(
        limbs=tuple(limbs),
        landmarks=tuple(_landmark(row) for limb in limbs for row in rows(db, *_keys(limb.span))),
        joints=dict(_joints(db, session)),
        leaf=leaf,
        children=tuple(_children(db, session)),
    )


def _inherited(db: sqlite3.Connection, path: Path) -> Iterator[Limb]:
    for at, span in enumerate(path):
        older = path[at + 1] if at + 1 < len(path) else None
        yield Limb(span, older and Place(older.segment, older.high), _id_at(db, Place(span.segment, span.high)))


_OWN = (
    "SELECT s.id, s.parent_segment, s.parent_depth, s.start_depth, e.key, e.id FROM segment s JOIN entry e ON e.key = "
    "(SELECT max(key) FROM entry WHERE key BETWEEN s.id << 32 AND (s.id << 32 | 0xffffffff)) "
    "WHERE s.session=? ORDER BY s.id"
)


def _own(db: sqlite3.Connection, session: str) -> Iterator[Limb]:
    for segment, parent, depth, start, tip, name in db.execute(_OWN, (session,)):
        grows = None if parent is None else Place(parent, depth)
        yield Limb(Span(segment, start, place_of(tip).depth), grows, name)


def _joints(db: sqlite3.Connection, session: str) -> Iterator[tuple[Place, str]]:
    sql = (
        "SELECT e.key, e.id FROM segment s JOIN entry e ON e.key = (s.parent_segment << 32 | s.parent_depth) "
        "WHERE s.session=?"
    )
    for key, name in db.execute(sql, (session,)):
        yield place_of(key), name


def _keys(span: Span) -> tuple[int, int]:
    return key_of(Place(span.segment, span.low)), key_of(Place(span.segment, span.high))


def _kept(db: sqlite3.Connection, low: int, high: int) -> Iterator[Row]:
    sql = "SELECT key, id, kind, time, about, head FROM node WHERE key BETWEEN ? AND ? ORDER BY key"
    return iter(db.execute(sql, (low, high)))


def _landmark(row: Row) -> Landmark:
    key, name, kind, time, about, head = row
    return Landmark(place_of(key), name, kind, time, place_of(about), bytes(head).decode("utf-8", "replace"))


def has_nodes(db: sqlite3.Connection) -> bool:
    """Whether a database is of a format with landmarks; an older one may be open to read only."""
    return db.execute("PRAGMA user_version").fetchone()[0] != 1


def _children(db: sqlite3.Connection, session: str) -> Iterator[Child]:
    sql = (
        "SELECT id, title, origin_segment, origin_depth, forked_at FROM session "
        "WHERE forked_from=? AND trashed=0 AND origin_segment IS NOT NULL AND forked_at IS NOT NULL"
    )
    for name, title, segment, depth, at in db.execute(sql, (session,)):
        yield Child(Place(segment, depth), at, name, bytes(title).decode("utf-8", "replace"))


def _id_at(db: sqlite3.Connection, place: Place) -> str:
    row = db.execute("SELECT id FROM entry WHERE key=?", (key_of(place),)).fetchone()
    return row[0] if row else ""


def branch_points(db: sqlite3.Connection, session: str, inherited: Path, path: Path) -> tuple[BranchPoint, ...]:
    """Return where other branches of a session's tree leave a path, oldest first."""
    found: dict[int, int] = {}
    newer: Span | None = None
    for span in path:
        for depth, count in _grown(db, session, inherited, span):
            found[depth] = found.get(depth, 0) + count
        goes_on = _goes_on(db, session, inherited, span)
        found[span.high] = found.get(span.high, 0) + goes_on - (newer is not None)  # the path itself goes on there
        newer = span
    return tuple(BranchPoint(depth, found[depth]) for depth in sorted(found) if found[depth] > 0)


def _grown(db: sqlite3.Connection, session: str, inherited: Path, span: Span) -> Iterator[tuple[int, int]]:
    """Yield the depths of a span at which other segments of this session's tree begin, and how many do."""
    sql = (
        "SELECT parent_depth, count(*) FROM segment "
        "WHERE parent_segment=? AND parent_depth BETWEEN ? AND ? AND session=? GROUP BY parent_depth"
    )
    yield from db.execute(sql, (span.segment, span.low, span.high, session))
    for older in inherited[1:]:
        if older.segment == span.segment and older.high <= span.high:
            yield older.high, 1


def _goes_on(db: sqlite3.Connection, session: str, inherited: Path, span: Span) -> bool:
    """Whether the segment of a span goes on behind it in this session's tree."""
    if _owner(db, span.segment) == session:
        return bool(_id_at(db, Place(span.segment, span.high + 1)))
    return any(other.segment == span.segment and other.high > span.high for other in inherited)


def _owner(db: sqlite3.Connection, segment: int) -> str:
    row = db.execute("SELECT session FROM segment WHERE id=?", (segment,)).fetchone()
    return row[0] if row else ""
