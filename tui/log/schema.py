"""The tables of one project's database, and opening it: pragmas, versions, and what SQLite's errors mean here.

An entry's key is `segment << 32 | depth`, so that a stretch of a branch is one range of keys: its newest
page, and its newest entry of a kind, are index range scans however long the history is.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import msgspec

from tui.log import digest, lease, nodes
from tui.log.errors import Damaged, LogError, LogUnwritable, NewerSchema, SqliteUnfit
from tui.log.identity import identity_of
from tui.log.paths import create_private, is_network, private_folder, tighten
from tui.log.protocol import now_ms

__all__ = [
    "APPLICATION",
    "SCHEMA",
    "Database",
    "copy_database",
    "create",
    "is_empty",
    "open_memory",
    "open_plain",
    "open_project",
    "open_small",
    "require_sqlite",
    "translated",
    "utf8",
]

APPLICATION = 0x636C6577
SCHEMA = 2
"""Format of the tables. A newer program that stays readable for format N writes N as `min_reader`."""
MIN_READER = 1
"""Format 2 has landmarks beside the entries (`nodes.py`), and nothing else is changed."""
BUSY_SECONDS = 0.05
"""One wait for another's lock; the worker repeats it, since SQLite's own wait cannot be interrupted."""

_TABLES = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
CREATE TABLE session(
    id TEXT PRIMARY KEY,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    recent INTEGER NOT NULL UNIQUE,
    cwd BLOB NOT NULL,
    title BLOB NOT NULL DEFAULT x'',
    leaf_segment INTEGER,
    leaf_depth INTEGER,
    origin_segment INTEGER,
    origin_depth INTEGER,
    forked_from TEXT,
    forked_at TEXT,
    trashed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE segment(
    id INTEGER PRIMARY KEY,
    session TEXT NOT NULL REFERENCES session(id),
    parent_segment INTEGER REFERENCES segment(id),
    parent_depth INTEGER,
    start_depth INTEGER NOT NULL,
    CHECK (parent_segment IS NULL AND start_depth = 0 OR parent_segment < id AND start_depth = parent_depth + 1)
) STRICT;
CREATE INDEX segment_session ON segment(session);
CREATE TABLE entry(
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    time INTEGER NOT NULL,
    ref TEXT,
    body BLOB NOT NULL
) STRICT;
CREATE INDEX entry_kind ON entry(kind, key);
CREATE INDEX entry_ref ON entry(ref, kind, key) WHERE ref IS NOT NULL;
CREATE TABLE lease(
    session TEXT PRIMARY KEY REFERENCES session(id),
    generation INTEGER NOT NULL,
    pid INTEGER,
    host TEXT NOT NULL,
    boot TEXT NOT NULL,
    started TEXT NOT NULL,
    heartbeat INTEGER NOT NULL
) STRICT;
CREATE TABLE scratch(
    session TEXT NOT NULL REFERENCES session(id),
    name TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY(session, name)
) STRICT;
CREATE TABLE blob(sha256 TEXT PRIMARY KEY, size INTEGER NOT NULL, data BLOB NOT NULL) STRICT;
"""


class Database(msgspec.Struct, frozen=True):
    """An open database. `why_read_only` is empty where it can be written."""

    connection: sqlite3.Connection
    path: Path | None
    why_read_only: str = ""
    copy: Path | None = None
    """A private folder with a copy of it, to remove at the end."""


def require_sqlite() -> None:
    """Make sure this Python's SQLite is 3.37 or newer (strict tables) with FTS5. Raises `SqliteUnfit`."""
    if sqlite3.sqlite_version_info < (3, 37):
        raise SqliteUnfit(
            f"This Python has SQLite {sqlite3.sqlite_version}; clew needs 3.37 or newer. Nothing was changed. "
            "Use another Python build, or --no-session with one."
        )
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        try:
            db.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        except sqlite3.OperationalError as error:
            raise SqliteUnfit(
                f"This Python's SQLite has no full-text search (FTS5: {error}). Nothing was changed. "
                "Use another Python build."
            ) from error


def utf8(raw: bytes) -> str:
    """Decode text of a database that may be damaged."""
    return raw.decode("utf-8", "replace")


def _connect(target: str) -> sqlite3.Connection:
    db = sqlite3.connect(target, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    db.text_factory = utf8
    db.execute("PRAGMA temp_store=MEMORY")
    db.execute("PRAGMA foreign_keys=ON")
    return db


def open_plain(path: Path) -> sqlite3.Connection:
    """Open a database file that is there, as it is. Raises `sqlite3.Error`."""
    return _connect(_uri(path, "mode=rw"))


def _uri(path: Path, options: str) -> str:
    return f"{path.absolute().as_uri()}?{options}"


def open_memory() -> Database:
    """Open an empty database that leaves nothing on disk."""
    require_sqlite()
    db = _connect(":memory:")
    for statement in _statements():
        db.execute(statement)
    return Database(db, None)


def _statements() -> tuple[str, ...]:
    return (*_TABLES.split(";"), *nodes.TABLES, digest.TABLE)


def open_project(path: Path, project: Path, *, read_only: bool = False) -> Database:
    """Open a project's database, creating it where that is allowed; view-only where it cannot be written.

    Raises `LogUnwritable`, `NewerSchema`, `Damaged` or `SqliteUnfit`.
    """
    require_sqlite()
    if read_only:
        return _view(path, "opened to read only") if path.exists() else _nothing(path)
    if path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return _view(path, f"{path.parent} cannot be written")
    private_folder(path.parent)
    create_private(path)
    for each in (path.parent.parent, path.parent, path):
        tighten(each)
    with translated(path):
        return _writable(path, project)


def _nothing(path: Path) -> Database:
    return msgspec.structs.replace(open_memory(), why_read_only=f"there is no session in {path} yet")


def _writable(path: Path, project: Path) -> Database:
    db = _connect(_uri(path, "mode=rw"))
    try:
        why = _version_trouble(db, path)
        if not why:
            durable(db, network=is_network(path))
            create(db, project)
            why = migrated(db, path)
        if not why:
            _patiently(db, digest.TABLE)
            _recognise(db, project)
        if why:
            db.execute("PRAGMA query_only=ON")
    except sqlite3.OperationalError as error:
        db.close()
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_READONLY:
            return _view(path, f"{path.parent} cannot be written")
        raise
    except BaseException:
        db.close()
        raise
    return Database(db, path, why)


def durable(db: sqlite3.Connection, *, network: bool) -> None:
    """Set what makes a commit survive a power cut. No WAL on a network file system: its index is shared memory."""
    wanted = "TRUNCATE" if network else "WAL"
    _patiently(db, f"PRAGMA journal_mode={wanted}")
    for pragma in ("synchronous=FULL", "fullfsync=ON", "checkpoint_fullfsync=ON"):
        db.execute(f"PRAGMA {pragma}")  # both fsync words do nothing but on macOS


def _patiently(db: sqlite3.Connection, sql: str, attempts: int = 100) -> None:
    """Repeat a statement while another window holds the lock, e.g. both create the database at once."""
    for attempt in range(attempts):
        try:
            db.execute(sql).fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or attempt == attempts - 1:
                raise
        else:
            return


def create(db: sqlite3.Connection, project: Path) -> None:
    """Make the tables, where there are none yet."""
    if db.execute("PRAGMA user_version").fetchone()[0]:
        return
    _patiently(db, "BEGIN IMMEDIATE")
    try:
        if not db.execute("PRAGMA user_version").fetchone()[0]:
            for statement in _statements():
                db.execute(statement)
            values = (*_known_by(project), ("min_reader", str(MIN_READER).encode()))
            db.executemany("INSERT INTO meta(name, value) VALUES(?,?)", values)
            db.execute(f"PRAGMA application_id={APPLICATION}")
            db.execute(f"PRAGMA user_version={SCHEMA}")
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _known_by(project: Path) -> tuple[tuple[str, bytes], ...]:
    """Return what a project's directory is found by again; one that is not there keeps what is known of it."""
    known = identity_of(project)
    own = (("inode", known.inode.encode()), ("git", known.git.encode())) if known.inode else ()
    return (("project", os.fsencode(project)), *own)


def _recognise(db: sqlite3.Connection, project: Path) -> None:
    """Write down what the project's directory is known by, where that has changed. The next start will do as well."""
    before = dict(db.execute("SELECT name, value FROM meta").fetchall())
    changed = [row for row in _known_by(project) if before.get(row[0]) != row[1]]
    with contextlib.suppress(sqlite3.OperationalError):
        db.executemany("INSERT OR REPLACE INTO meta(name, value) VALUES(?,?)", changed)


def migrated(db: sqlite3.Connection, path: Path) -> str:
    """Bring an older format up to this one in one transaction; return why that cannot be, with nothing changed.

    The entries are not touched. A program of the older format would write without what the new one keeps
    beside them, so that one must be gone; it can still read afterwards.
    """
    while True:
        seen = db.execute("PRAGMA data_version").fetchone()
        if db.execute("PRAGMA user_version").fetchone()[0] >= SCHEMA:
            return ""
        rows = nodes.scan(db)
        _patiently(db, "BEGIN IMMEDIATE")
        try:
            if lease.anyone(db, now_ms()):
                return f"an older clew still has a session open in {path}; close it to write here"
            if db.execute("PRAGMA data_version").fetchone() == seen:  # else another one wrote meanwhile: scan again
                _bring_up(db, rows)
            db.execute("COMMIT")
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")


def _bring_up(db: sqlite3.Connection, rows: list[nodes.Row]) -> None:
    for statement in nodes.TABLES:
        db.execute(statement)
    nodes.fill(db, rows)
    db.execute("UPDATE meta SET value=? WHERE name='min_reader'", (str(MIN_READER).encode(),))
    db.execute(f"PRAGMA user_version={SCHEMA}")


def _version_trouble(db: sqlite3.Connection, path: Path) -> str:
    """Return why a database may only be read; raise `NewerSchema` or `Damaged` where not even that."""
    if is_empty(db):
        return ""
    found = db.execute("PRAGMA user_version").fetchone()[0]
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise Damaged(f"{path} is not a log of clew, or its first page was overwritten.")
    if found <= SCHEMA:
        return ""
    row = db.execute("SELECT value FROM meta WHERE name='min_reader'").fetchone()
    if row is None or not bytes(row[0]).isdigit() or int(row[0]) > SCHEMA:
        raise NewerSchema(path, found, SCHEMA)
    return f"{path} was written by a newer version of clew"


def is_empty(db: sqlite3.Connection) -> bool:
    """Whether a database has no format and no tables yet: whoever made the file was gone before."""
    tables = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    return tables == 0 and db.execute("PRAGMA user_version").fetchone()[0] == 0


def _view(path: Path, why: str) -> Database:
    """Open to read only, from a copy where SQLite could not read in place without writing beside it."""
    with translated(path):
        for target, copy in _views(path):
            db = _connect(target)
            try:
                _version_trouble(db, path)
                if not is_empty(db):
                    return Database(db, path, why, copy)
            except sqlite3.OperationalError as error:
                db.close()
                if error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}:
                    raise
            except BaseException:
                db.close()
                raise
            else:
                db.close()
                if copy is not None:
                    shutil.rmtree(copy, ignore_errors=True)
                return _nothing(path)
    raise LogUnwritable(f"Cannot open {path} to read. Nothing was changed. Mend its rights or set CLEW_HOME.")


def _views(path: Path) -> Iterator[tuple[str, Path | None]]:
    yield _uri(path, "mode=ro"), None
    # What a journal holds belongs to it: the last commits of a WAL, or the pages that a write cut off has changed.
    beside = [path.with_name(f"{path.name}-{kind}") for kind in ("wal", "journal")]
    if not any(file.exists() and file.stat().st_size for file in beside):
        yield _uri(path, "mode=ro&immutable=1"), None
        return
    folder = copy_database(path)
    yield _uri(folder / path.name, "mode=rw"), folder


_COPY = "import shutil, sys; [shutil.copyfile(*pair) for pair in zip(sys.argv[1::2], sys.argv[2::2])]"


def copy_database(path: Path) -> Path:
    """Copy a database and what belongs to it to a new private folder and return that.

    Another process copies: a descriptor closed in this one would drop this one's locks on the file. While
    someone may be writing, a read transaction keeps the WAL from being reset between the two files.
    """
    folder = Path(tempfile.mkdtemp(prefix="clew-"))  # 0700
    pairs: list[str] = []
    for name in (path.name, f"{path.name}-wal", f"{path.name}-journal"):
        if path.with_name(name).exists():
            pairs += [str(path.with_name(name)), str(folder / name)]
    with _reading(path):
        done = subprocess.run([sys.executable, "-I", "-c", _COPY, *pairs], capture_output=True, check=False)
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        raise LogUnwritable(
            f"Cannot copy {path} to look at it: {utf8(done.stderr).strip().splitlines()[-1:]}. "
            "Nothing was changed. Free space in the folder for temporary files."
        )
    return folder


@contextlib.contextmanager
def _reading(path: Path) -> Generator[None]:
    live = path.with_name(path.name + "-shm").exists()
    db = sqlite3.connect(_uri(path, "mode=ro"), uri=True, timeout=1, isolation_level=None) if live else None
    try:
        if db is not None:
            with contextlib.suppress(sqlite3.Error):  # a damaged one is copied as it is
                db.execute("BEGIN")
                db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        yield
    finally:
        if db is not None:
            db.close()


def open_small(path: Path, tables: str, version: int) -> sqlite3.Connection:
    """Open a small rebuildable database beside the logs; one of another version is emptied. Raises `sqlite3.Error`."""
    private_folder(path.parent)
    create_private(path)
    tighten(path)
    db = _connect(_uri(path, "mode=rw"))
    try:
        _patiently(db, f"PRAGMA journal_mode={'TRUNCATE' if is_network(path) else 'WAL'}")
        db.execute("PRAGMA synchronous=NORMAL")
        if db.execute("PRAGMA user_version").fetchone()[0] != version:
            db.executescript(f"BEGIN IMMEDIATE; {tables}; PRAGMA user_version={version}; COMMIT;")
    except BaseException:
        db.close()
        raise
    return db


_FULL = "The disk is full"
_WORDS = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_READONLY: "The log cannot be written (read-only)",
    sqlite3.SQLITE_PERM: "The log cannot be written (no permission)",
    sqlite3.SQLITE_IOERR: "Reading or writing the disk failed",
    sqlite3.SQLITE_CANTOPEN: "The log's files cannot be opened",
    sqlite3.SQLITE_BUSY: "Another program keeps the log locked",
    sqlite3.SQLITE_LOCKED: "Another program keeps the log locked",
    sqlite3.SQLITE_PROTOCOL: "Another program keeps the log locked",
    sqlite3.SQLITE_NOMEM: "There is not enough memory",
    sqlite3.SQLITE_TOOBIG: "It is larger than the log can hold",
}


@contextlib.contextmanager
def translated(path: Path | None) -> Generator[None]:
    """Turn SQLite's errors into ours: damage is `Damaged`, all else that stops a write is `LogUnwritable`."""
    try:
        yield
    except sqlite3.Error as error:
        raise _meaning(error, path) from error


def _meaning(error: sqlite3.Error, path: Path | None) -> LogError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return Damaged(f"A part of {path} cannot be read ({error}).")
    words = _WORDS.get(code, "The log could not be used")
    return LogUnwritable(
        f"{words} ({path}: {error}). What was saved before is kept; this step was not. "
        "Mend that and try again, or use another folder (CLEW_HOME)."
    )
