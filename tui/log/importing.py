"""Taking a session in from lines of JSON, in batches, so that other windows can write between them.

Nothing that is there is ever changed: an id that is taken stays with its owner. Where an entry's parent is
lost it follows the line before it, and a notice stands in the gap. Until its last batch it is no session yet;
what a kill leaves behind is taken away by the next try.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Sequence

import msgspec

from tui.log import blobs, digest, nodes, segments, track
from tui.log.entries import Entry, Notice, Prompt, decode_body, encode_body
from tui.log.errors import ImportRefused
from tui.log.lease import release
from tui.log.lines import BlobLine, EndLine, EntryLine, Fault, HeaderLine, Line, LineFault
from tui.log.purge import NAMELESS, purge
from tui.log.segments import Place
from tui.log.session import IMPORTED
from tui.log.track import Desk, Track
from tui.messages import new_id

_MOST_FILLED = 10_000
__all__ = ["Imported", "Taking", "begin", "finish", "head_of", "take_batch"]


class Taking(msgspec.Struct, frozen=True):
    """How far an import is; each batch leads to the next one of these."""

    head: HeaderLine
    line: Track
    first_segment: int
    """Segments from this number on were made by this import."""
    listing: bool = False
    """It came without a header and an end."""
    place: Place | None = None
    """Of the entry taken last."""
    entries: int = 0
    blobs: int = 0
    shared: int = 0
    """Entries that were here already, the same to the last byte: a fork's beginning is stored once."""
    origin: Place | None = None
    """The last of those it begins with: the session forks there, wherever its leaf is."""
    loose: Place | None = None
    """The last of those behind its own entries, as long as nothing of its own follows it."""
    said: int | None = None
    """How many entries the end line counts."""
    left_out: tuple[int, ...] = ()
    """Numbers of the lines left out since the entry taken last."""
    faults: tuple[LineFault, ...] = ()
    over: bool = False


class Imported(msgspec.Struct, frozen=True):
    """What came of it."""

    session: str
    title: str
    entries: int
    blobs: int
    shared: int
    faults: tuple[LineFault, ...]


def head_of(line: Line, cwd: str, now: int) -> tuple[HeaderLine, bool]:
    """Return the header that a file's first line is, or the one that a listing lacks, and whether it lacks it.

    Raises `ImportRefused` where it is no file of ours.
    """
    if isinstance(line, HeaderLine):
        return line, False
    if isinstance(line, EntryLine):
        return HeaderLine(new_id(now), b"", os.fsencode(cwd), line.time, now, None, None, None), True
    why = line.text if isinstance(line, LineFault) and line.fault == "newer-format" else "It was not written by clew."
    raise ImportRefused(f"The first line does not begin a session. {why} Nothing was changed.")


def begin(db: sqlite3.Connection, desk: Desk, head: HeaderLine, *, listing: bool) -> Taking:
    """Make the row that is no session yet, inside the caller's transaction. Raises `ImportRefused`, `LeaseHeld`."""
    found = db.execute("SELECT trashed FROM session WHERE id=?", (head.id,)).fetchone()
    if found is not None and found[0] != NAMELESS:
        where = "in the trash here" if found[0] else "here already"
        raise ImportRefused(f"Session {head.id} is {where}. An import never changes what is there; nothing was done.")
    if found is not None:
        desk.take(db, head.id)  # nobody else is importing it
        purge(db, head.id)
    db.execute(
        "INSERT INTO session(id, created, updated, recent, cwd, trashed) "
        "VALUES(?,?,?,(SELECT coalesce(max(recent), 0) + 1 FROM session),?,?) "
        "ON CONFLICT(id) DO UPDATE SET "
        "created=excluded.created, updated=excluded.updated, cwd=excluded.cwd, recent=excluded.recent",
        (head.id, head.created, head.updated, head.cwd, NAMELESS),
    )
    (last,) = db.execute("SELECT coalesce(max(id), 0) FROM segment").fetchone()
    line = Track(desk, head.id, desk.take(db, head.id), track.State())
    return Taking(head, line, last + 1, listing)


def take_batch(db: sqlite3.Connection, state: Taking, lines: Sequence[tuple[int, Line]]) -> Taking:
    """Insert the next lines inside the caller's transaction."""
    state.line.desk.check(db, state.line.lease, state.head.id)
    for number, line in lines:
        if state.over:
            break
        state = _take(db, state, number, line)
    return state


def _take(db: sqlite3.Connection, state: Taking, number: int, line: Line) -> Taking:
    match line:
        case EntryLine():
            return _entry(db, state, number, line)
        case BlobLine():
            if hashlib.sha256(line.data).hexdigest() != line.sha256:
                return _fault(state, number, "bad-blob", "A blob is not what its hash says. It was left out.")
            blobs.put(db, line.sha256, line.data)
            return msgspec.structs.replace(state, blobs=state.blobs + 1)
        case LineFault():
            return _left_out(msgspec.structs.replace(state, faults=(*state.faults, line)), number)
        case HeaderLine():
            told = _fault(state, number, "second-header", "Another session begins. It and what follows was left out.")
            return msgspec.structs.replace(told, over=True)
        case EndLine():
            return msgspec.structs.replace(state, said=line.entries, over=True)


def _fault(state: Taking, number: int, fault: Fault, text: str) -> Taking:
    return msgspec.structs.replace(state, faults=(*state.faults, LineFault(number, fault, text)))


def _left_out(state: Taking, number: int) -> Taking:
    return msgspec.structs.replace(state, left_out=(*state.left_out[-99:], number))


def _entry(db: sqlite3.Connection, state: Taking, number: int, line: EntryLine) -> Taking:
    found = db.execute("SELECT key, kind, time, ref, body FROM entry WHERE id=?", (line.id,)).fetchone()
    if found is None:
        state, parent = _parent(db, state, number, line)
        if state.loose is not None and parent != state.loose:
            state = _left_there(state, number)
        return _insert(db, state, parent, line)
    place = segments.place_of(found[0])
    if place.segment >= state.first_segment:
        return _fault(state, number, "duplicate-id", f"Entry {line.id} came before. The first one is kept.")
    if found[1:] == (line.kind, line.time, _ref(line), line.body) and _parent_id(db, place) == line.parent:
        return _shared(db, state, number, place)
    told = _fault(state, number, "id-taken", f"Another entry here has the id {line.id}. That one is kept.")
    return _left_out(told, number)


def _shared(db: sqlite3.Connection, state: Taking, number: int, place: Place) -> Taking:
    """Take an entry that is here already. Those at the beginning are what this session was forked from."""
    path = segments.path_to(db, place)
    begins = (
        state.entries == state.shared
        and state.loose is None
        and not state.left_out
        and (state.origin is None or segments.covers(path, state.origin))
    )
    if not begins and state.loose is not None and not segments.covers(path, state.loose):
        state = _left_there(state, number)
    return msgspec.structs.replace(
        state,
        place=place,
        entries=state.entries + 1,
        shared=state.shared + 1,
        left_out=(),
        origin=place if begins else state.origin,
        loose=None if begins else place,
    )


def _left_there(state: Taking, number: int) -> Taking:
    """Say that the end of a branch lies in another session alone: nothing of this one hangs on it."""
    told = _fault(state, number, "id-taken", "The branch before this is another session's here; it stays there alone.")
    return msgspec.structs.replace(told, loose=None)


def _ref(line: EntryLine) -> str | None:
    return line.ref if line.ref is not None else track.ref_of(decode_body(line.kind, line.body))


def _parent_id(db: sqlite3.Connection, place: Place) -> str | None:
    path = segments.path_to(db, place)
    return segments.find_id(db, path, place.depth - 1)


def _parent(db: sqlite3.Connection, state: Taking, number: int, line: EntryLine) -> tuple[Taking, Place | None]:
    """Return where an entry goes: after its parent, else after the line before it, with a notice in the gap."""
    if line.parent is None and state.entries == 0:
        return state, None
    found = db.execute("SELECT key FROM entry WHERE id=?", (line.parent,)).fetchone()
    if found is not None and _ours(db, state, segments.place_of(found[0])):
        return msgspec.structs.replace(state, left_out=()), segments.place_of(found[0])
    state = _fault(state, number, "parent-lost", "What it follows is lost. It follows the line before it now.")
    if state.place is None:
        return msgspec.structs.replace(state, left_out=()), None
    state = _fill(db, state, number, line)
    return msgspec.structs.replace(state, left_out=()), state.place


def _fill(db: sqlite3.Connection, state: Taking, number: int, line: EntryLine) -> Taking:
    """Put a notice where entries are lost, one for each: checkpoints count depths, so those must stay as they were."""
    place = _base(db, state, line.depth)
    missing = line.depth - 1 - place.depth
    numbers = ", ".join(map(str, state.left_out[:5])) + (" …" if len(state.left_out) > 5 else "")
    where = f" (left out: line {numbers})" if numbers else ""
    text = f"Something is missing here: line {number} of the imported file follows what is lost{where}."
    for _ in range(missing if 0 < missing <= _MOST_FILLED else 1):
        kind, raw = encode_body(Notice(text, "warning"))
        place = _put(db, state, place, EntryLine(new_id(line.time), None, -1, line.time, kind, None, raw))
        state, text = msgspec.structs.replace(state, place=place), "An entry is lost here."
    return state


def _base(db: sqlite3.Connection, state: Taking, depth: int) -> Place:
    """Return what the first notice follows: the entry taken last, or what of its path is shallow enough."""
    assert state.place is not None
    if not 2 <= depth <= state.place.depth + 1:
        return state.place
    path = segments.path_to(db, state.place)
    span = next(span for span in path if span.low <= depth - 2 <= span.high)
    return Place(span.segment, depth - 2)


def _ours(db: sqlite3.Connection, state: Taking, place: Place) -> bool:
    """Whether a place was made by this import, or lies on what it shares: never another session's end."""
    if place.segment >= state.first_segment:
        return True
    known = (state.place, state.origin) if state.shared else ()
    return any(at is not None and segments.covers(segments.path_to(db, at), place) for at in known)


def _insert(db: sqlite3.Connection, state: Taking, parent: Place | None, line: EntryLine) -> Taking:
    place = _put(db, state, parent, line)
    return msgspec.structs.replace(state, place=place, entries=state.entries + 1, loose=None)


def _put(db: sqlite3.Connection, state: Taking, parent: Place | None, line: EntryLine) -> Place:
    """Insert an entry; what does not follow the one before it begins a branch, so that the lines keep their order."""
    follows = parent is not None and parent == state.place and parent.segment >= state.first_segment
    if follows and parent is not None:
        place = Place(parent.segment, parent.depth + 1)
    else:
        start = 0 if parent is None else parent.depth + 1
        values = (state.head.id, parent and parent.segment, parent and parent.depth, start)
        sql = "INSERT INTO segment(session, parent_segment, parent_depth, start_depth) VALUES(?,?,?,?)"
        made = db.execute(sql, values).lastrowid
        assert made is not None
        place = Place(made, start)
    values = (segments.key_of(place), line.id, line.kind, line.time, _ref(line), line.body)
    db.execute("INSERT INTO entry(key, id, kind, time, ref, body) VALUES(?,?,?,?,?,?)", values)
    if line.kind in nodes.KINDS:
        entry = Entry(line.id, None, place.depth, line.time, decode_body(line.kind, line.body))
        nodes.index(db, segments.key_of(place), entry)
    return place


def finish(db: sqlite3.Connection, state: Taking, number: int) -> Imported:
    """Make it a session, inside the caller's transaction. `number`: lines read. Raises `ImportRefused`."""
    state.line.desk.check(db, state.line.lease, state.head.id)
    if not state.entries:
        purge(db, state.head.id)
        raise ImportRefused("There is no entry in it. Nothing was changed.")
    if _cut_short(state):
        state = _fault(state, number + 1, "cut-short", "The file ends before its end. What came before is kept.")
    leaf, state = _leaf(db, state)
    if state.loose is not None:
        state = _left_there(state, number)
    path, origin = segments.path_to(db, leaf), state.origin
    title = state.head.title.decode("utf-8", "replace") or _title(db, path)
    db.execute(
        "UPDATE session SET leaf_segment=?, leaf_depth=?, origin_segment=?, origin_depth=?, forked_from=?, "
        "forked_at=?, title=?, trashed=0 WHERE id=?",
        (
            leaf.segment,
            leaf.depth,
            origin and origin.segment,
            origin and origin.depth,
            state.head.forked_from,
            state.head.forked_at,
            state.head.title or title.encode("utf-8", "replace"),
            state.head.id,
        ),
    )
    digest.recount(db, state.head.id, path)
    state.line.put_scratch(db, IMPORTED, b"1")
    if state.line.lease is not None:
        release(db, state.line.lease)
    faults = tuple(sorted(state.faults, key=lambda fault: fault.line))
    return Imported(state.head.id, title, state.entries, state.blobs, state.shared, faults)


def _cut_short(state: Taking) -> bool:
    """Whether the end of the file is missing, or counts entries that no line had."""
    if state.listing or (state.said is None and state.over):
        return False
    return state.said is None or (state.said > state.entries and not state.faults)


def _leaf(db: sqlite3.Connection, state: Taking) -> tuple[Place, Taking]:
    found = db.execute("SELECT key FROM entry WHERE id=?", (state.head.leaf,)).fetchone()
    place = segments.place_of(found[0]) if found else None
    if place is not None and _ours(db, state, place):
        return place, state
    if state.head.leaf is not None:
        what = "Where the session stood is lost. It stands at the last entry that was kept."
        state = _fault(state, 1, "leaf-lost", what)
    assert state.place is not None  # there is an entry
    return state.place, state


def _title(db: sqlite3.Connection, path: segments.Path) -> str:
    """Return a title as a session gets it: from the first authored prompt."""
    for entry in segments.read(db, path, 0, 2**32, limit=200, direction="up"):
        if isinstance(entry.body, Prompt) and entry.body.origin == "authored":
            return track.title_of(entry.body.message.authored)
    return ""
