"""A whole session as lines of JSON: every branch, every blob it names, nothing left out and nothing changed.

    header, (blob* entry)*, end

A blob stands before the first entry that names it and a parent before its children, so that whatever a cut
leaves of the file is whole in itself. `lines` and `importing` read it back byte for byte.
"""

from __future__ import annotations

import base64
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial

import msgspec

from tui.log import blobs, segments
from tui.log.entries import decode_body
from tui.log.errors import Damaged, SessionNotFound
from tui.log.jsonl import as_line, exact_text, shown_body
from tui.log.segments import Place, Span
from tui.log.session import Session
from tui.log.track import ref_of
from tui.messages import Json

__all__ = ["FORMAT", "Cover", "Plan", "branches", "export_lines", "named_blobs", "plan"]

FORMAT = 1
_PAGE = 200
_HASH = re.compile(rb'"([0-9a-f]{64})"')
_SESSION = (
    "SELECT id, title, cwd, created, updated, forked_from, forked_at, leaf_segment, leaf_depth FROM session WHERE id=?"
)

Cover = Callable[[bytes], bytes]
"""Takes secrets out of stored bytes; returns those without any as they are."""


class Plan(msgspec.Struct, frozen=True):
    """What of the database belongs to a session: stretches of keys, each after the one it hangs on."""

    header: dict[str, Json]
    runs: tuple[Span, ...]


class _Page(msgspec.Struct, frozen=True):
    """The lines of one stretch, and what they count."""

    lines: tuple[bytes, ...]
    entries: int
    blobs: int
    gaps: tuple[int, ...]
    named: frozenset[str]


def plan(db: sqlite3.Connection, session: str) -> Plan:
    """Return what belongs to a session: the path it was forked from, then its own branches.

    Raises `SessionNotFound`.
    """
    row = db.execute(_SESSION, (session,)).fetchone()
    if row is None:
        raise SessionNotFound(session)
    runs = tuple(_runs(db, session))
    return Plan(_header(db, row), runs)


def _header(db: sqlite3.Connection, row: tuple[object, ...]) -> dict[str, Json]:
    session, title, cwd, created, updated, origin, at, segment, depth = row
    leaf = None
    if isinstance(segment, int) and isinstance(depth, int):
        leaf = segments.find_id(db, (Span(segment, depth, depth),), depth)
    assert isinstance(title, bytes)
    assert isinstance(cwd, bytes)
    return {
        "clew": "session",
        "format": FORMAT,
        "id": session,
        "title": exact_text(title),
        "cwd": exact_text(cwd),
        "created": created,
        "updated": updated,
        "leaf": leaf,
        "forked_from": origin,
        "forked_at": at,
    }


def _runs(db: sqlite3.Connection, session: str) -> Iterator[Span]:
    """Yield the stretches of the path it was forked from, then each branch behind what it hangs on, each once."""
    origin = db.execute("SELECT origin_segment, origin_depth FROM session WHERE id=?", (session,)).fetchone()
    own: list[tuple[int]] = db.execute("SELECT id FROM segment WHERE session=? ORDER BY id", (session,)).fetchall()
    newest = "SELECT max(key) FROM entry WHERE key BETWEEN ? AND ?"
    lasts: list[int | None] = [db.execute(newest, _keys(segment, 0)).fetchone()[0] for (segment,) in own]
    ends = [
        None if None in origin else Place(*origin),
        *(segments.place_of(last) for last in lasts if last is not None),
    ]
    told: dict[int, int] = {}
    for end in ends:
        for span in reversed(segments.path_to(db, end)):
            low = max(span.low, told.get(span.segment, -1) + 1)
            if low <= span.high:
                told[span.segment] = span.high
                yield Span(span.segment, low, span.high)


def _keys(segment: int, low: int, high: int = 0xFFFF_FFFF) -> tuple[int, int]:
    return segment << 32 | low, segment << 32 | high


def _as_it_is(data: bytes) -> bytes:
    return data


async def export_lines(session: Session, cover: Cover = _as_it_is) -> AsyncIterator[bytes]:
    """Yield the lines, some together. What is damaged is left out, and raised as `Damaged` at the end."""
    found = await session.examine(lambda db: plan(db, session.id))
    entries = stored = 0
    gaps: list[int] = []
    named: set[str] = set()
    yield as_line(found.header)
    for part in _parts(found.runs):
        page = await session.examine(partial(_page, part=part, known=named, cover=cover))
        entries, stored = entries + page.entries, stored + page.blobs
        gaps += page.gaps
        named |= page.named
        yield b"".join(page.lines)
    yield as_line({"clew": "end", "entries": entries, "blobs": stored, "gaps": len(gaps)})
    if gaps:
        raise Damaged(f"{len(gaps)} entries of this session cannot be read: depths {gaps}. The rest is written.")


def _parts(runs: tuple[Span, ...]) -> Iterator[Span]:
    for span in runs:
        for low in range(span.low, span.high + 1, _PAGE):
            yield Span(span.segment, low, min(span.high, low + _PAGE - 1))


def _page(db: sqlite3.Connection, part: Span, known: set[str], cover: Cover) -> _Page:
    """Return the lines of one stretch. `known` blobs came before."""
    rows, before = _rows(db, part), _id_before(db, part)
    lines: list[bytes] = []
    named: set[str] = set()
    stored = 0
    for depth, row in sorted(rows.items()):
        parent = rows[depth - 1][1] if depth - 1 in rows else before if depth == part.low else None
        for sha256 in named_blobs(row[5]):
            line = _blob(db, sha256, cover) if sha256 not in known and sha256 not in named else None
            named.add(sha256)
            if line is not None:
                lines.append(as_line(line))
                stored += 1
        lines.append(as_line(_entry(row, parent, depth, cover)))
    gaps = tuple(depth for depth in range(part.low, part.high + 1) if depth not in rows)
    return _Page(tuple(lines), len(rows), stored, gaps, frozenset(named))


Row = tuple[int, str, str, int, str | None, bytes]
_SELECT = "SELECT key, id, kind, time, ref, body FROM entry WHERE key "


def _rows(db: sqlite3.Connection, part: Span) -> dict[int, Row]:
    keys = _keys(part.segment, part.low, part.high)
    try:
        return {row[0] & 0xFFFF_FFFF: row for row in db.execute(_SELECT + "BETWEEN ? AND ?", keys)}
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise
    return {depth: row for depth in range(part.low, part.high + 1) if (row := _one(db, part.segment, depth))}


def _one(db: sqlite3.Connection, segment: int, depth: int) -> Row | None:
    """Return one row; point look-ups lose only what lies on the damaged page."""
    try:
        return db.execute(_SELECT + "= ?", (segment << 32 | depth,)).fetchone()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise
        return None


def _id_before(db: sqlite3.Connection, part: Span) -> str | None:
    """Return the id of the entry that a stretch follows; None at the root, and where it is lost."""
    if part.low == 0:
        return None
    sql = "SELECT parent_segment, parent_depth FROM segment WHERE id=? AND start_depth=?"
    begins: tuple[int, int] | None = db.execute(sql, (part.segment, part.low)).fetchone()
    segment, depth = begins or (part.segment, part.low - 1)
    row = _one(db, segment, depth)
    return row[1] if row else None


def _entry(row: Row, parent: str | None, depth: int, cover: Cover) -> dict[str, Json]:
    _, name, kind, time, ref, body = row
    line: dict[str, Json] = {"id": name, "parent": parent, "depth": depth, "time": time, "kind": kind}
    if ref != ref_of(decode_body(kind, body)):
        line["ref"] = ref  # of a kind this version does not know
    line["body"] = shown_body(cover(body))
    return line


def named_blobs(body: bytes) -> list[str]:
    """Return what in an entry may name a blob. An unknown kind may name some too, so the bytes are searched."""
    return [match.decode() for match in _HASH.findall(body)]


def _blob(db: sqlite3.Connection, sha256: str, cover: Cover) -> dict[str, Json] | None:
    """Return the line of a blob; None where there is none of this hash."""
    try:
        data = blobs.get(db, sha256)
    except Damaged:
        return {"blob": sha256, "lost": "damaged"}
    if data is None:
        return None
    if cover(data) != data:
        return {"blob": sha256, "lost": "it holds a key"}
    return {"blob": sha256, "base64": base64.b64encode(data).decode()}


def branches(db: sqlite3.Connection, session: str) -> int:
    """Return how many branches a session has: each begins a segment; a fork that said nothing yet is one too."""
    return max(1, db.execute("SELECT count(*) FROM segment WHERE session=?", (session,)).fetchone()[0])
