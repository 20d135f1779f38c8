"""A project that was moved or renamed: where it was, and its sessions brought to where it is now.

Nothing is ever bound anew without a person's word: a directory that is gone may be on a disk that is not there
today. Only look-ups in each project's own database, and only where this directory has no sessions yet.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from pathlib import Path

import msgspec

from tui.log import lease
from tui.log.catalogue import Catalogue, known_projects
from tui.log.errors import LogError, RebindRefused
from tui.log.identity import Identity, identity_of, is_gone
from tui.log.lease import process_start, this_owner
from tui.log.paths import database_file, private_folder, project_folder, real_project
from tui.log.protocol import now_ms
from tui.log.schema import open_plain, open_project, translated
from tui.log.track import infos

__all__ = ["Moved", "moved_here", "rebind"]


class Moved(msgspec.Struct, frozen=True):
    """A project whose directory seems to be this one now."""

    project: Path
    """Where it was."""
    sessions: int


def moved_here(home: Path, here: Path) -> tuple[Moved, ...]:
    """Return the projects that may have been moved to this directory; none where it has sessions of its own."""
    here = real_project(here)
    if _in_use(database_file(home, here)):
        return ()
    mine = identity_of(here)
    found = (_moved(path, here, mine) for path in known_projects(home))
    return tuple(moved for moved in found if moved is not None and moved.sessions)


def _moved(path: Path, here: Path, mine: Identity) -> Moved | None:
    found = _look(path)
    if found is None or found.project == here:
        return None  # its own, in which nothing was said yet
    linked = real_project(found.project) == here  # moved, and a link put where it was
    if linked or (is_gone(found.project) and found.known.fits(mine)):
        return Moved(found.project, found.sessions)
    return None


class _Seen(msgspec.Struct, frozen=True):
    project: Path
    known: Identity
    sessions: int


def _look(path: Path) -> _Seen | None:
    """Return what a database says of its project; None where it cannot be read: whoever looks for it is told."""
    try:
        database = open_project(path, path, read_only=True)
    except LogError:
        return None
    try:
        with translated(path):
            db = database.connection
            meta = {name: bytes(value) for name, value in db.execute("SELECT name, value FROM meta").fetchall()}
            (count,) = db.execute("SELECT count(*) FROM session WHERE trashed = 0").fetchone()
    except LogError:
        return None
    finally:
        database.connection.close()
        if database.copy is not None:
            shutil.rmtree(database.copy, ignore_errors=True)
    known = Identity(meta.get("inode", b"").decode(), meta.get("git", b"").decode())
    return _Seen(Path(os.fsdecode(meta.get("project", b""))), known, int(count))


def rebind(home: Path, old: Path, here: Path) -> int:
    """Make the sessions of a directory that was moved belong to this one; return how many. To be asked for.

    One rename of one file; the next start writes the new path into it. Raises `RebindRefused` where that would mix
    or tear anything, and then nothing was changed; `LogError` and `OSError` where it cannot be done.
    """
    here = real_project(here)
    target, place = project_folder(home, here), database_file(home, here)
    file = _file_of(home, old)
    if _in_use(place):
        raise RebindRefused(
            f"{here} has sessions of its own; they are never mixed with those of {old}, which stay as they are. "
            "`clew export ID --format jsonl` and `clew import FILE` bring a single one here."
        )
    if not is_gone(old) and real_project(old) != here:
        raise RebindRefused(f"{old} is still there, so its sessions stay with it. Nothing was changed.")
    _close(file, old)
    private_folder(target)
    if place.exists():
        _close(place, here)
    file.replace(place)
    for other in file.parent.iterdir():
        if not (target / other.name).exists():
            other.rename(target / other.name)
    with contextlib.suppress(OSError):  # what is there already stays in both
        file.parent.rmdir()
    return _told(home, here, place)


def _file_of(home: Path, old: Path) -> Path:
    """Return the database that says it is of `old`: where a link stands now, the path alone leads elsewhere."""
    for path in known_projects(home):
        seen = _look(path)
        if seen is not None and seen.project == old:
            return path
    raise RebindRefused(f"There are no sessions of {old}. Nothing was changed.")


def _in_use(place: Path) -> bool:
    """Whether anything was ever said in these sessions; one that cannot be read is not touched."""
    if not place.exists():
        return False
    try:
        with contextlib.closing(open_plain(place)) as db, translated(place):
            return bool(infos(db, 1, None, trashed=True, said=True))
    except (LogError, sqlite3.Error):
        return True


def _close(file: Path, old: Path) -> None:
    """Make the database one file. Raises `RebindRefused` where another window has it."""
    with translated(file), contextlib.closing(open_plain(file)) as db:
        me, now = this_owner(), now_ms()
        held = [row[0] for row in db.execute("SELECT session FROM lease WHERE pid IS NOT NULL")]
        if any(lease.alive(db, session, me, now, process_start) for session in held):
            raise RebindRefused(f"A session of {old} is open in another window. Close it there first.")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    if file.with_name(f"{file.name}-wal").exists():
        raise RebindRefused(f"Another window has the log of {old} open. Close it there first.")


def _told(home: Path, here: Path, place: Path) -> int:
    """Write the new path into the database (opening does) and the catalogue; return how many sessions there are."""
    db = open_project(place, here).connection
    with contextlib.closing(db), contextlib.closing(Catalogue(home)) as catalogue, translated(place):
        found = infos(db, 2**31, None, trashed=True)
        for info in found:
            catalogue.note(here, info)
    return sum(not info.trashed for info in found)
