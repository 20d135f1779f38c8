"""`clew sessions trash|restore|purge|rebind`: sessions nobody needs any more, and those of a directory that moved."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from tui.console.ask import ask_purge
from tui.console.sessions import wanted_session
from tui.log import Session, Store
from tui.log.moved import rebind
from tui.log.paths import database_file, real_project
from tui.log.purge import said_in
from tui.messages import Attachment, UserMessage
from tui.plain import plain_line
from tui.settings import Places
from tui.streams import CannotStartError, is_terminal, say
from tui.widgets.recall import follow, forget, history_file

__all__ = ["keep_sessions"]


async def keep_sessions(own: Places, cwd: Path, words: Sequence[str], *, sure: bool) -> int:
    """Do what the first word says with the sessions the others name. Raises `CannotStartError`, `LogError`."""
    what, names = words[0], words[1:]
    match what:
        case "trash" | "restore" if names:
            for name in names:
                await _trash(own, cwd, name, trashed=what == "trash")
        case "purge":
            await _purge(own, cwd, names, sure=sure)
        case "rebind" if len(names) == 1:
            _rebind(own, Path(names[0]), cwd)
        case _:
            raise CannotStartError(
                "`clew sessions` takes trash ID, restore ID, purge [ID] or rebind DIR; alone it lists them."
            )
    return 0


def _rebind(own: Places, old: Path, cwd: Path) -> None:
    """Make the sessions of a directory that was moved here belong to this one: naming it is the word for it."""
    old = Path(os.path.normpath(Path.cwd() / old))  # not its real path: a link may stand where it was
    count = rebind(own.data, old, cwd)
    follow(own.data, old, real_project(cwd))
    sys.stdout.write(f"{count} session(s) of {plain_line(str(old))} belong to {plain_line(str(cwd))} now.\n")


async def _trash(own: Places, cwd: Path, name: str, *, trashed: bool) -> None:
    project, session = await wanted_session(own.data, cwd, name)
    async with await Store.open(own.data, project) as store:
        await store.trash(session, trashed=trashed)
        title = plain_line((await store.info(session)).title, 60)
    where = f"in the trash; `clew sessions restore {session}` brings it back" if trashed else "back"
    sys.stdout.write(f"{session}  {title}: {where}\n")


async def _purge(own: Places, cwd: Path, names: Sequence[str], *, sure: bool) -> None:
    """Delete the named sessions for good, or all that is in the trash of this directory."""
    wanted = [await wanted_session(own.data, cwd, name) for name in names]
    if not names:
        wanted = [(real_project(cwd), session) for session in await _in_trash(own.data, cwd)]
    if not wanted:
        say("There is nothing in the trash of this directory.")
        return
    if not sure and not (is_terminal(sys.stdin) and ask_purge(len(wanted))):
        raise CannotStartError("Nothing was deleted. It cannot be undone, so it needs a yes: --yes gives it.")
    for project in dict.fromkeys(project for project, _ in wanted):
        await _purge_in(own, project, [session for place, session in wanted if place == project])


async def _in_trash(home: Path, cwd: Path) -> list[str]:
    if not database_file(home, real_project(cwd)).exists():
        return []
    async with await Store.open(home, cwd, read_only=True) as store:
        return [*(info.id for info in await store.trashed()), *await store.leftovers()]


async def _purge_in(own: Places, project: Path, sessions: Sequence[str]) -> None:
    async with await Store.open(own.data, project) as store:
        for session in sessions:
            said = await _said(store, session)
            done = await store.purge(session)
            forget(history_file(own.data, project), lambda text, said=said: _is_of(text, said))
            shutil.rmtree(own.data / "spill" / session, ignore_errors=True)
            kept = f"; {done.kept} entries stay: a fork begins with them" if done.kept else ""
            sys.stdout.write(f"{session}: deleted, {done.entries} entries and {done.blobs} blobs{kept}\n")
        await store.search.empty()
        if not await store.wipe():
            say("Another window has the log open: the next purge shrinks the file; what was deleted is blank by now.")


async def _said(store: Store, session: str) -> list[UserMessage]:
    log: Session = await store.session(session, write=False)
    return await log.examine(lambda db: said_in(db, session))


def _is_of(text: str, said: Sequence[UserMessage]) -> bool:
    """Whether an earlier prompt was said in one of these messages; a large paste is an attachment there."""
    return any(
        text == message.authored or any(isinstance(part, Attachment) and part.text in text for part in message.content)
        for message in said
    )
