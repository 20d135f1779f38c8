"""`clew sessions`: what can be gone on with in this directory, and where a session given by its id is."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

from tui.console.ask import ask_rebind
from tui.log import LogError, SessionInfo, SessionNotFound, Store, find_session
from tui.log.identity import is_gone
from tui.log.jsonl import as_line
from tui.log.moved import moved_here, rebind
from tui.log.paths import database_file, real_project
from tui.messages import clean
from tui.plain import plain_line
from tui.streams import CannotStartError, say, write_bytes

__all__ = ["all_sessions", "list_sessions", "resumed_session", "session_row", "show_sessions", "wanted_session"]

PAGE = 200


async def list_sessions(home: Path, cwd: Path, limit: int = PAGE) -> list[SessionInfo]:
    """Return the newest sessions of this directory; nothing is created where there are none."""
    if not database_file(home, real_project(cwd)).exists():
        return []
    async with await Store.open(home, cwd, read_only=True) as store:
        return await store.sessions(limit=limit)


async def all_sessions(home: Path, cwd: Path) -> list[SessionInfo]:
    """Return every session of this directory, the most recently used first."""
    if not database_file(home, real_project(cwd)).exists():
        return []
    found: list[SessionInfo] = []
    async with await Store.open(home, cwd, read_only=True) as store:
        while page := await store.sessions(limit=PAGE, before=found[-1].recent if found else None):
            found += page
    return found


async def wanted_session(home: Path, cwd: Path, wanted: str) -> tuple[Path, str]:
    """Return the project and whole id of a session: by the start of its id, or the newest here.

    Raises `SessionNotFound` or `AmbiguousSession`.
    """
    if wanted:
        found = await find_session(home, wanted)
        for trouble in found.unreadable:
            say(f"clew: {trouble}")
        return found.project, found.session
    newest = await list_sessions(home, cwd, limit=1)
    if not newest:
        raise SessionNotFound("in this directory")
    return real_project(cwd), newest[0].id


async def resumed_session(home: Path, cwd: Path, wanted: str, *, ask: bool = False) -> str:
    """Return the whole id of the session to go on with here. Raises `CannotStartError`.

    `ask`: where its directory was moved here, a person can be asked whether all its sessions are to follow.
    """
    try:
        project, session_id = await wanted_session(home, cwd, wanted)
        if project == real_project(cwd):
            return session_id
        moved = any(found.project == project for found in moved_here(home, cwd))
        if moved and ask and ask_rebind(project, cwd):
            rebind(home, project, cwd)
            return session_id
    except LogError as error:
        raise CannotStartError(str(error)) from error
    there = plain_line(str(project))
    if moved:
        raise CannotStartError(
            f"Session {session_id} belongs to {there}, which seems to be this directory now. `clew sessions rebind "
            f"{there}` brings its sessions here."
        )
    if is_gone(project):
        raise CannotStartError(
            f"Session {session_id} belongs to {there}, which is not there. Go on with it once it is; or, in the "
            f"directory that took its place, `clew sessions rebind {there}`."
        )
    raise CannotStartError(f"Session {session_id} belongs to {there}; go on with it there: --cwd DIR.")


def session_row(info: SessionInfo) -> str:
    """Return one session as a line: id, when it was last used, its length, its title."""
    when = datetime.fromtimestamp(info.updated / 1000).astimezone()
    return f"{info.id}  {when:%Y-%m-%d %H:%M}  {info.entries:>6}  {plain_line(info.title, 100)}"


async def show_sessions(home: Path, cwd: Path, *, as_json: bool) -> int:
    """Print the sessions of this directory."""
    sessions = await all_sessions(home, cwd)
    if as_json:
        write_bytes(as_line([_as_object(info) for info in sessions]))
        return 0
    if not sessions:
        say("There is no session in this directory yet.")
    for info in sessions:
        sys.stdout.write(session_row(info) + "\n")
    return 0


def _as_object(info: SessionInfo) -> dict[str, str | int]:
    return {
        "id": info.id,
        "title": clean(info.title),
        "cwd": clean(str(info.cwd)),
        "created": info.created,
        "updated": info.updated,
        "entries": info.entries,
        "forked_from": info.forked_from,
        "forked_at": info.forked_at,
    }
