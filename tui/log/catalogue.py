"""The catalogue: which session lies in which project's database. A convenience that can be rebuilt at any time.

It is never believed: a hit is checked in the project's own database, and a miss scans them all.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sqlite3
from collections.abc import Generator
from pathlib import Path

import msgspec

from tui.log import track
from tui.log.errors import AmbiguousSession, LogError, SessionNotFound
from tui.log.paths import catalogue_file, database_file, projects_folder
from tui.log.protocol import SessionInfo
from tui.log.schema import Database, open_project, open_small, translated, utf8

__all__ = ["Catalogue", "Found", "find_session", "known_projects", "projects_by_use", "rebuild"]

_VERSION = 1
_TABLES = """
DROP TABLE IF EXISTS session;
CREATE TABLE session(id TEXT PRIMARY KEY, project BLOB NOT NULL, title BLOB NOT NULL, updated INTEGER NOT NULL) STRICT
"""
_PUT = "INSERT OR REPLACE INTO session(id, project, title, updated) VALUES(?,?,?,?)"


class Found(msgspec.Struct, frozen=True):
    """Where a session is. `unreadable` are databases that could not be searched, with the reason."""

    project: Path
    session: str
    unreadable: tuple[str, ...] = ()


class Catalogue:
    """The writing side: one connection, used on one thread, opened when first needed."""

    def __init__(self, home: Path) -> None:
        self._path = catalogue_file(home)
        self._db: sqlite3.Connection | None = None
        self.trouble = ""
        """Why it could not be kept up to date; nothing depends on it."""

    def note(self, project: Path, info: SessionInfo) -> None:
        """Write down a session; a failure is kept in `trouble`, since the next search makes up for it."""
        try:
            if self._db is None:
                self._db = open_small(self._path, _TABLES, _VERSION)
            values = (info.id, os.fsencode(project), info.title.encode("utf-8", "replace"), info.updated)
            self._db.execute(_PUT, values)
        except (sqlite3.Error, LogError) as error:
            self.trouble = str(error)

    def forget(self, session: str) -> None:
        """Take a purged session out."""
        try:
            if self._db is None:
                self._db = open_small(self._path, _TABLES, _VERSION)
            self._db.execute("PRAGMA secure_delete=ON")
            self._db.execute("DELETE FROM session WHERE id=?", (session,))
        except (sqlite3.Error, LogError) as error:
            self.trouble = str(error)

    def close(self) -> None:
        """Close the connection."""
        if self._db is not None:
            self._db.close()
        self._db = None


async def find_session(home: Path, id_or_prefix: str) -> Found:
    """Return where the one session is whose id starts with these letters, in any project.

    Raises `SessionNotFound`, `AmbiguousSession`, or the error of a damaged database if that alone may hold it.
    """
    return await asyncio.to_thread(_find, home, id_or_prefix)


async def rebuild(home: Path) -> tuple[int, tuple[str, ...]]:
    """Write the catalogue anew from all project databases; return how many sessions, and what could not be read."""
    return await asyncio.to_thread(_rebuild, home)


def known_projects(home: Path) -> list[Path]:
    """Return the database files of all projects."""
    return sorted(projects_folder(home).glob("*/log.sqlite"))


def projects_by_use(home: Path) -> list[Path]:
    """Return the directories of all projects that can be read, those used last first."""
    found: list[tuple[float, Path]] = []
    for path in known_projects(home):
        with contextlib.suppress(LogError, OSError), _reading(path) as database, translated(path):
            row = database.connection.execute("SELECT value FROM meta WHERE name='project'").fetchone()
            if row is not None:
                found.append((_used(path), Path(os.fsdecode(bytes(row[0])))))
    return [project for _, project in sorted(found, reverse=True)]


def _used(path: Path) -> float:
    beside = path.with_name(f"{path.name}-wal")
    return max(each.stat().st_mtime for each in (path, beside) if each.exists())


def _find(home: Path, prefix: str) -> Found:
    if not prefix:
        raise SessionNotFound(prefix)
    hits = _catalogued(home, prefix)
    if len(hits) == 1 and hits[0].session == prefix:
        return hits[0]
    troubles: list[str] = []
    fault: LogError | None = None
    everywhere: dict[str, Found] = {}
    for path in known_projects(home):
        try:
            everywhere |= {found.session: found for found in _search(path, prefix)}
        except LogError as error:
            troubles.append(str(error))
            fault = error
    if len(everywhere) > 1 and prefix not in everywhere:
        raise AmbiguousSession(prefix, sorted(everywhere))
    found = everywhere.get(prefix) or next(iter(everywhere.values()), None)
    if found is not None:
        return msgspec.structs.replace(found, unreadable=tuple(troubles))
    raise fault or SessionNotFound(prefix)  # a damaged one is never called "not found"


def _catalogued(home: Path, session: str) -> list[Found]:
    """Return a hit of a whole id that its project's database confirms."""
    path = catalogue_file(home)
    if not path.exists():
        return []
    with contextlib.suppress(sqlite3.Error, LogError), contextlib.closing(_reader(path)) as db:
        for (project,) in db.execute("SELECT project FROM session WHERE id=?", (session,)).fetchall():
            return _confirmed(home, Path(os.fsdecode(bytes(project))), session)
    return []


def _confirmed(home: Path, project: Path, session: str) -> list[Found]:
    path = database_file(home, project)
    return [found for found in _search(path, session) if found.session == session] if path.exists() else []


def _reader(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=1)
    db.text_factory = utf8
    return db


@contextlib.contextmanager
def _reading(path: Path) -> Generator[Database]:
    database = open_project(path, path, read_only=True)
    try:
        yield database
    finally:
        database.connection.close()
        if database.copy is not None:
            shutil.rmtree(database.copy, ignore_errors=True)


def _search(path: Path, prefix: str) -> list[Found]:
    """Return the sessions of one database whose ids start with a prefix: an index range."""
    with _reading(path) as database, translated(path):
        db = database.connection
        project = db.execute("SELECT value FROM meta WHERE name='project'").fetchone()
        where = Path(os.fsdecode(bytes(project[0]))) if project else path.parent
        rows = db.execute(
            "SELECT id FROM session WHERE id >= ? AND id < ? AND trashed <= 1", (prefix, prefix + "\U0010ffff")
        )
        return [Found(where, row[0]) for row in rows]


def _rebuild(home: Path) -> tuple[int, tuple[str, ...]]:

    catalogue, troubles, count = Catalogue(home), list[str](), 0
    with contextlib.closing(catalogue):
        for path in known_projects(home):
            try:
                with _reading(path) as database, translated(path):
                    row = database.connection.execute("SELECT value FROM meta WHERE name='project'").fetchone()
                    for info in track.infos(database.connection, 2**31, None, trashed=True):
                        catalogue.note(Path(os.fsdecode(bytes(row[0]))), info)
                        count += 1
            except LogError as error:
                troubles.append(str(error))
    return count, (*troubles, *([catalogue.trouble] if catalogue.trouble else ()))
