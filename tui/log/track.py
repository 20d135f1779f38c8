"""One session's place in the database: what its window remembers, and each step as a plain function of a connection.

Everything here runs on the worker's thread inside its transaction. A step that writes returns the state it
leads to; that becomes the memory only after the commit.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any, TypeAlias

import msgspec

from tui.log import digest, nodes, runs, segments
from tui.log import lease as leases
from tui.log.entries import (
    Answer,
    ApprovalMode,
    Approved,
    Body,
    Entry,
    ModelChosen,
    Prompt,
    Result,
    ToolStarted,
    UnknownBody,
    decode_body,
    encode_body,
)
from tui.log.errors import Damaged, DuplicateResult, EntryNotFound, LeaseLost, LogUnwritable, SessionNotFound
from tui.log.lease import Lease, Owner
from tui.log.protocol import SessionInfo, SessionState
from tui.log.runs import RunWrite
from tui.log.segments import Place
from tui.messages import clean_json, new_id

__all__ = [
    "Clock",
    "Db",
    "Desk",
    "State",
    "Track",
    "create",
    "info_of",
    "infos",
    "ref_of",
    "rename",
    "state_of",
    "title_of",
    "trash",
]

Clock: TypeAlias = Callable[[], int]
Db: TypeAlias = sqlite3.Connection
TITLE_LETTERS = 80


class Desk:
    """What the open sessions of one store share. `held` belongs to the worker's thread."""

    def __init__(self, clock: Clock, find_me: Callable[[], Owner]) -> None:
        self.clock = clock
        self._find_me = find_me
        self.held: set[Lease] = set()

    @cached_property
    def me(self) -> Owner:
        """Who we are; looked up on the worker's thread, since macOS must ask other programs for it."""
        return self._find_me()

    def take(self, db: sqlite3.Connection, session: str, *, by_force: bool = False) -> Lease:
        """Take a lease inside a transaction. Raises `LeaseHeld`, unless `by_force`."""
        return leases.take(db, session, self.me, self.clock(), leases.process_start, by_force=by_force)

    def holder(self, db: sqlite3.Connection, session: str) -> str:
        """Return who writes a session, in words; empty where nobody who lives does."""
        return leases.alive(db, session, self.me, self.clock(), leases.process_start)

    def check(self, db: sqlite3.Connection, lease: Lease | None, session: str) -> None:
        """Make sure a write may go on. Raises `LeaseLost`, or `LogUnwritable` for a window that only follows."""
        if lease is None:
            raise LogUnwritable(
                f"Session {session} is open to follow only. Nothing was changed. Fork it to go on here."
            )
        try:
            leases.check(db, lease, self.clock())
        except LeaseLost:
            self.held.discard(lease)
            raise

    def beat_all(self, db: sqlite3.Connection) -> None:
        """Show a sign of life for all that is held, and notice what was taken over."""
        for lease in tuple(self.held):
            if not leases.beat(db, lease, self.clock()):
                self.held.discard(lease)

    def release_all(self, db: sqlite3.Connection) -> None:
        """Give everything back at the end."""
        for lease in tuple(self.held):
            leases.release(db, lease)
        self.held.clear()


class State(msgspec.Struct, frozen=True):
    """What a window remembers of its branch."""

    leaf: str | None = None
    path: segments.Path = ()

    @property
    def depth(self) -> int:
        """Depth of the leaf, -1 without one."""
        return self.path[0].high if self.path else -1

    @property
    def place(self) -> Place | None:
        """Where the leaf is."""
        return Place(self.path[0].segment, self.path[0].high) if self.path else None


class _Row(msgspec.Struct, frozen=True):
    leaf: Place | None
    origin: Place | None
    title: str


class Track:
    """A session as one window sees it: its state, and the steps on it."""

    def __init__(self, desk: Desk, session: str, lease: Lease | None, state: State) -> None:
        self.desk = desk
        self.session = session
        self.lease = lease
        self.state = state

    @property
    def writable(self) -> bool:
        """Whether the lease is still held, as far as is known."""
        return self.lease in self.desk.held

    def hold(self) -> None:
        """Count the lease as held, once the transaction that took it is committed."""
        if self.lease is not None:
            self.desk.held.add(self.lease)

    def drop(self) -> None:
        """Count the lease as held no more, once the transaction that gave it back is committed."""
        if self.lease is not None:
            self.desk.held.discard(self.lease)

    def notice(self, db: sqlite3.Connection) -> None:
        """Count the lease as held no more where another window took it over."""
        if self.lease is not None and not leases.ours(db, self.lease):
            self.drop()

    def settle(self, state: State) -> None:
        """Take over the state a committed step led to."""
        self.state = state

    def current(self, db: sqlite3.Connection) -> segments.Path:
        """Return the path to read: as remembered by the writer, as stored for a window that follows."""
        if not self.writable:
            self.settle(self._stored(db, _row(db, self.session)))
        return self.state.path

    def _stored(self, db: sqlite3.Connection, row: _Row) -> State:
        """Return the state a row says, reusing what is remembered if only the leaf went on in its segment."""
        if row.leaf == self.state.place:
            return self.state
        path = segments.path_to(db, row.leaf)
        return State(segments.find_id(db, path, path[0].high) if path else None, path)

    def load(self, db: sqlite3.Connection) -> None:
        """Take over the stored state of a session just opened. Raises `SessionNotFound`."""
        self.settle(self._stored(db, _row(db, self.session)))

    def take_run(self, db: sqlite3.Connection, run: str) -> int:
        """Take the project's runs up for one of this session. Raises `RunHeld` and what `Desk.check` raises."""
        self.desk.check(db, self.lease, self.session)
        desk = self.desk

        def owner_of(session: str) -> str:
            return leases.alive(db, session, desk.me, desk.clock(), leases.process_start)

        return runs.take(db, run, self.session, owner_of)

    def append(
        self, db: sqlite3.Connection, bodies: Sequence[Body | UnknownBody], run: RunWrite | None = None
    ) -> tuple[State, tuple[Entry, ...]]:
        """Insert entries after the stored leaf and move it, and the step of a run with them.

        Raises `DuplicateResult`, `RunLost` and what `Desk.check` raises.
        """
        self.desk.check(db, self.lease, self.session)
        if run is not None:
            runs.write(db, self.session, self.desk.clock(), run)
        state = self._stored(db, _row(db, self.session))
        return self._written(db, state, bodies) if bodies else (state, ())

    def move(
        self, db: sqlite3.Connection, entry_id: str, bodies: Iterable[Body | UnknownBody] = ()
    ) -> tuple[State, tuple[Entry, ...]]:
        """Move the leaf to an entry of this session's tree and insert entries after it; raises as `append` does.

        Raises `EntryNotFound` too.
        """
        self.desk.check(db, self.lease, self.session)
        return self._written(db, State(entry_id, self.path_to(db, entry_id)), bodies)

    def _written(
        self, db: sqlite3.Connection, state: State, bodies: Iterable[Body | UnknownBody]
    ) -> tuple[State, tuple[Entry, ...]]:
        """Insert entries after `state` and make the newest one the leaf."""
        now = self.desk.clock()
        entries = tuple(_chained(state, bodies, now))
        _refuse_duplicates(db, state.path, entries)
        path = _open_segment(db, self.session, state) if entries else state.path
        follows, size = state == self._stored(db, _row(db, self.session)), 0
        for entry in entries:
            kind, raw = encode_body(entry.body)
            size += len(raw)
            key = path[0].segment << 32 | entry.depth
            values = (key, entry.id, kind, entry.time, ref_of(entry.body), raw)
            db.execute("INSERT INTO entry(key, id, kind, time, ref, body) VALUES(?,?,?,?,?,?)", values)
            nodes.index(db, key, entry)
        if entries:
            state = State(entries[-1].id, segments.extend(path, len(entries)))
        digest.note(db, self.session, state.path, entries, size=size, follows=follows)
        _move_leaf(db, self.session, state, now)
        _follow_up(db, self.session, entries)
        return state, entries

    def path_to(self, db: sqlite3.Connection, entry_id: str) -> segments.Path:
        """Return the path that ends at an entry of this session's tree. Raises `EntryNotFound`."""
        return segments.path_to(db, self.find(db, entry_id))

    def find(self, db: sqlite3.Connection, entry_id: str) -> Place:
        """Return the place of an entry of this session's tree, inherited ones included. Raises `EntryNotFound`."""
        found = db.execute("SELECT key FROM entry WHERE id=?", (entry_id,)).fetchone()
        if found is None:
            raise EntryNotFound(entry_id)
        place = segments.place_of(found[0])
        owner = db.execute("SELECT session FROM segment WHERE id=?", (place.segment,)).fetchone()
        if owner is None or owner[0] != self.session:
            inherited = segments.path_to(db, _row(db, self.session).origin)
            if not segments.covers(inherited, place):
                raise EntryNotFound(entry_id)
        return place

    def fork(self, db: sqlite3.Connection, entry_id: str | None, bodies: tuple[Body, ...] = ()) -> Track:
        """Insert a session that begins after an entry, with its first own entries.

        The leaf is looked up here and now (oh-my-pi#7474).
        """
        row = _row(db, self.session)
        place = self.find(db, entry_id) if entry_id else row.leaf
        cwd = db.execute("SELECT cwd FROM session WHERE id=?", (self.session,)).fetchone()[0]
        path = segments.path_to(db, place)
        at = segments.find_id(db, path, path[0].high) if path else None
        child = create(db, self.desk, bytes(cwd), row.title)
        if place is not None:
            db.execute(
                "UPDATE session SET leaf_segment=?, leaf_depth=?, origin_segment=?, origin_depth=? WHERE id=?",
                (place.segment, place.depth, place.segment, place.depth, child.session),
            )
        db.execute("UPDATE session SET forked_from=?, forked_at=? WHERE id=?", (self.session, at, child.session))
        child.settle(State(at, path))
        if bodies:
            child.settle(child.append(db, bodies)[0])
        return child

    def shared_depth(self, db: sqlite3.Connection, entry_id: str) -> int:
        """Return the depth of the newest entry that the active path and the one to an entry both have, or -1."""
        return segments.shared(self.current(db), self.path_to(db, entry_id))

    def tree(self, db: sqlite3.Connection) -> nodes.TreeFacts:
        """Return what the tree is drawn from, with the leaf as it is stored."""
        row = _row(db, self.session)
        return nodes.read(db, self.session, segments.path_to(db, row.origin), row.leaf)

    def branch_points(self, db: sqlite3.Connection) -> tuple[nodes.BranchPoint, ...]:
        """Return where other branches leave the active path, oldest first."""
        inherited = segments.path_to(db, _row(db, self.session).origin)
        return nodes.branch_points(db, self.session, inherited, self.current(db))

    def put_scratch(self, db: sqlite3.Connection, name: str, data: bytes) -> None:
        """Keep a small mutable row."""
        self.desk.check(db, self.lease, self.session)
        db.execute("INSERT OR REPLACE INTO scratch(session, name, data) VALUES(?,?,?)", (self.session, name, data))

    def scratch(self, db: sqlite3.Connection, name: str) -> bytes:
        """Return a mutable row, empty where there is none."""
        found = db.execute("SELECT data FROM scratch WHERE session=? AND name=?", (self.session, name)).fetchone()
        return bytes(found[0]) if found else b""

    def set_title(self, db: sqlite3.Connection, title: str) -> None:
        """Name the session."""
        self.desk.check(db, self.lease, self.session)
        db.execute("UPDATE session SET title=? WHERE id=?", (_utf8(title_of(title)), self.session))


def create(db: sqlite3.Connection, desk: Desk, cwd: bytes, title: str = "") -> Track:
    """Insert an empty session and take its lease."""
    now = desk.clock()
    session = new_id(now)
    db.execute(
        "INSERT INTO session(id, created, updated, recent, cwd, title) "
        "VALUES(?,?,?,(SELECT coalesce(max(recent), 0) + 1 FROM session),?,?)",
        (session, now, now, cwd, _utf8(title)),
    )
    return Track(desk, session, desk.take(db, session), State())


def _row(db: sqlite3.Connection, session: str) -> _Row:
    found = db.execute(
        "SELECT leaf_segment, leaf_depth, origin_segment, origin_depth, title FROM session WHERE id=?", (session,)
    ).fetchone()
    if found is None:
        raise SessionNotFound(session)
    leaf = None if found[0] is None or found[1] is None else Place(found[0], found[1])
    origin = None if found[2] is None or found[3] is None else Place(found[2], found[3])
    return _Row(leaf, origin, bytes(found[4]).decode("utf-8", "replace"))


def _chained(state: State, bodies: Iterable[Body | UnknownBody], now: int) -> Iterable[Entry]:
    parent, depth = state.leaf, state.depth
    for body in bodies:
        depth += 1
        entry = Entry(new_id(now), parent, depth, now, _storable(body))
        yield entry
        parent = entry.id


def _storable(body: Body | UnknownBody) -> Body | UnknownBody:
    """Return a body as it will be read back; text nobody cleaned must not stop the journal."""
    if isinstance(body, UnknownBody):
        return body
    try:
        encode_body(body)
    except UnicodeEncodeError:
        kind = str(body.__struct_config__.tag)
        return decode_body(kind, msgspec.json.encode(clean_json(msgspec.to_builtins(body))))
    return body


def ref_of(body: Body | UnknownBody) -> str | None:
    """Return what an entry is about, for look-ups: the call id, or for a prompt the waiting message it delivers."""
    match body:
        case Result():
            return body.message.call_id
        case ToolStarted() | Approved():
            return body.call_id
        case Prompt():
            return body.queued or None
        case _:
            return None


def _refuse_duplicates(db: sqlite3.Connection, path: segments.Path, entries: Iterable[Entry]) -> None:
    """One result per call and path: the first durable one wins, a late one is not written (dsh-desktop#114)."""
    seen: set[str] = set()
    for entry in entries:
        if not isinstance(entry.body, Result):
            continue
        call = entry.body.message.call_id
        if call in seen or segments.has_ref(db, path, call, "result"):
            raise DuplicateResult(call)
        seen.add(call)


def _open_segment(db: sqlite3.Connection, session: str, state: State) -> segments.Path:
    """Return the path with a newest span that may grow: a new segment unless the leaf is the tip of an own one."""
    place = state.place
    if place is not None and _is_own_tip(db, session, place):
        return state.path
    if place is not None and not place.segment:
        raise Damaged("The branch this session stands on is lost: nothing can be added to it.")
    start = state.depth + 1
    made = db.execute(
        "INSERT INTO segment(session, parent_segment, parent_depth, start_depth) VALUES(?,?,?,?)",
        (session, place and place.segment, place and place.depth, start),
    )
    assert made.lastrowid is not None
    return (segments.Span(made.lastrowid, start, start - 1), *state.path)


def _is_own_tip(db: sqlite3.Connection, session: str, place: Place) -> bool:
    following = segments.key_of(place) + 1
    if db.execute("SELECT 1 FROM entry WHERE key=?", (following,)).fetchone():
        return False
    owner = db.execute("SELECT session FROM segment WHERE id=?", (place.segment,)).fetchone()
    return owner is not None and owner[0] == session


def _move_leaf(db: sqlite3.Connection, session: str, state: State, now: int) -> None:
    place = state.place
    assert place is not None
    db.execute(
        "UPDATE session SET leaf_segment=?, leaf_depth=?, updated=?, "
        "recent=(SELECT max(recent) FROM session) + (recent < (SELECT max(recent) FROM session)) WHERE id=?",
        (place.segment, place.depth, now, session),
    )


def _follow_up(db: sqlite3.Connection, session: str, entries: Iterable[Entry]) -> None:
    """Write what goes with some kinds: a first prompt names the session, an answer ends the growing one."""
    for entry in entries:
        if isinstance(entry.body, Prompt | ModelChosen | ApprovalMode):  # from here on its words are this user's
            db.execute("DELETE FROM scratch WHERE session=? AND name='imported'", (session,))
        match entry.body:
            case Prompt(origin="authored") if not _row(db, session).title:
                title = title_of(entry.body.message.authored)
                db.execute("UPDATE session SET title=? WHERE id=?", (_utf8(title), session))
            case Answer():
                db.execute("DELETE FROM scratch WHERE session=? AND name='partial'", (session,))
            case _:
                pass


def title_of(text: str) -> str:
    """Return the first line of a text that says anything, at most 80 characters."""
    line = next((line.strip() for line in text.split("\n") if line.strip()), "")
    return line if len(line) <= TITLE_LETTERS else line[: TITLE_LETTERS - 1].rstrip() + "…"


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def trash(db: sqlite3.Connection, session: str, *, trashed: bool) -> None:
    """Mark a session as thrown away, or not. Raises `SessionNotFound`."""
    if not db.execute("UPDATE session SET trashed=? WHERE id=?", (int(trashed), session)).rowcount:
        raise SessionNotFound(session)


def rename(db: sqlite3.Connection, session: str, title: str) -> None:
    """Name a session, whoever writes it. Raises `SessionNotFound`."""
    if not db.execute("UPDATE session SET title=? WHERE id=?", (_utf8(title_of(title)), session)).rowcount:
        raise SessionNotFound(session)


_INFO = (
    "SELECT s.id, s.title, s.cwd, s.created, s.updated, s.recent, s.leaf_depth, s.trashed, s.forked_from, s.forked_at, "
    "(SELECT count(*) FROM segment g WHERE g.session = s.id), "
    "EXISTS (SELECT 1 FROM scratch c WHERE c.session = s.id AND c.name = 'draft' AND length(c.data) > 0), "
)
_FIGURES = "d.size, d.open, d.ended, d.phase, d.said FROM session s LEFT JOIN digest d ON d.session = s.id "
_NO_FIGURES = "NULL, NULL, NULL, NULL, NULL FROM session s "


def _select(db: sqlite3.Connection) -> str:
    return _INFO + (_FIGURES if digest.exists(db) else _NO_FIGURES)


def infos(
    db: sqlite3.Connection, limit: int, before: int | None, *, trashed: bool, said: bool = False
) -> list[SessionInfo]:
    """Return sessions, the most recently used first; `said` leaves out those in which nobody said or typed anything."""
    spoken = " AND (s.title <> x'' OR s.id IN (SELECT session FROM scratch WHERE name='draft' AND length(data) > 0))"
    where = f"WHERE s.recent < ? AND s.trashed <= ?{spoken if said else ''} ORDER BY s.recent DESC LIMIT ?"
    rows = db.execute(_select(db) + where, (2**62 if before is None else before, int(trashed), limit))
    return [_info(row) for row in rows]


def info_of(db: sqlite3.Connection, session: str) -> SessionInfo:
    """Return one session. Raises `SessionNotFound`."""
    row = db.execute(_select(db) + "WHERE s.id=? AND s.trashed <= 1", (session,)).fetchone()
    if row is None:
        raise SessionNotFound(session)
    return _info(row)


def _info(row: tuple[Any, ...]) -> SessionInfo:
    session, title, cwd, created, updated, recent, depth, trashed, origin, at, branches, draft = row[:12]
    size, exchange_open, ended, phase, _said = row[12:]
    return SessionInfo(
        id=session,
        title=bytes(title).decode("utf-8", "replace"),
        cwd=FilePath(os.fsdecode(bytes(cwd))),
        created=created,
        updated=updated,
        recent=recent,
        entries=0 if depth is None else depth + 1,
        trashed=bool(trashed),
        forked_from=origin or "",
        forked_at=at or "",
        branches=max(1, branches),
        size=size,
        state=state_of(open_=bool(exchange_open), ended=ended or "", phase=phase or ""),
        draft=bool(draft),
    )


def state_of(*, open_: bool, ended: str, phase: str) -> SessionState:
    """Return what a session is in the middle of."""
    if phase in ("saved", "compacting", "ready", "failed"):
        return "handoff"
    return "interrupted" if open_ or ended == "interrupted" else ""
