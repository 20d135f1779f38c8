"""The sessions of a directory as a person keeps them: listed, searched, looked into, renamed, thrown away.

Each call opens the log for itself and closes it; nothing here takes a lease or reads more than it shows.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from anyio import to_thread

from tui.log import SessionInfo, Store
from tui.log.catalogue import projects_by_use
from tui.log.entries import Answer, Prompt
from tui.log.identity import worktrees
from tui.log.paths import database_file, real_project

__all__ = ["Shelf"]

_PAGE = 100


class Shelf(msgspec.Struct, frozen=True):
    """The sessions of one directory. Everything may raise `LogError`."""

    home: Path
    project: Path

    async def page(self, before: int | None = None, *, but: str = "") -> tuple[list[SessionInfo], bool]:
        """Return the next sessions in which somebody said or typed anything, `but` one, most recently used first.

        And whether there may be more.
        """
        if not database_file(self.home, real_project(self.project)).exists():
            return [], False
        async with await Store.open(self.home, self.project, read_only=True) as store:
            found = await store.sessions(limit=_PAGE, before=before, said=True)
        return [info for info in found if info.id != but], len(found) == _PAGE

    async def checkouts(self) -> list[Shelf]:
        """Return the shelves of this place in the repository's other checkouts, where there are any sessions."""
        return [self._of(project) for project in await to_thread.run_sync(self._checkouts)]

    def _checkouts(self) -> list[Path]:
        beside = worktrees(real_project(self.project))
        return [project for project in beside if database_file(self.home, project).exists()]

    async def everywhere(self) -> list[Shelf]:
        """Return the shelves of all other directories, the most recently used first."""
        here = real_project(self.project)
        found = await to_thread.run_sync(projects_by_use, self.home)
        return [self._of(project) for project in found if project != here]

    def _of(self, project: Path) -> Shelf:
        return msgspec.structs.replace(self, project=project)

    async def left(self, *, but: str) -> SessionInfo | None:
        """Return the newest session, `but` one, if it was cut off or something is pending in it and nobody has it open.

        A look at its row: nothing of it is read, and nothing goes on.
        """
        newest = next(iter((await self.page(but=but))[0]), None)
        if newest is None or newest.held:
            return None
        return newest if newest.state or newest.run else None

    async def search(self, words: str) -> dict[str, str]:
        """Return the sessions in which something like this was said, newest first, each with its first finding."""
        async with await Store.open(self.home, self.project) as store:
            found = await store.search.find(words, most=500)
        places: dict[str, str] = {}
        for hit in found.hits:
            places.setdefault(hit.session, hit.snippet)
        return places

    async def preview(self, session: str) -> tuple[str, str]:
        """Return what was said last in a session, and what was answered."""
        async with await Store.open(self.home, self.project, read_only=True) as store:
            log = await store.session(session, write=False)
            prompt, answer = await log.newest("prompt"), await log.newest("answer")
        said = prompt.body.message.authored if prompt and isinstance(prompt.body, Prompt) else ""
        told = answer.body.message.text if answer and isinstance(answer.body, Answer) else ""
        return said, told

    async def rename(self, session: str, title: str) -> None:
        """Name a session."""
        async with await Store.open(self.home, self.project) as store:
            await store.rename(session, title)

    async def trash(self, session: str, *, trashed: bool) -> None:
        """Throw a session away, or bring it back."""
        async with await Store.open(self.home, self.project) as store:
            await store.trash(session, trashed=trashed)
