"""A first start in a directory that was moved or renamed: whether the sessions it had may follow.

Asked before anything is opened or made here, and never answered by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from tui.screens.pages import PickPage
from tui.widgets.recall import follow
from tui.widgets.sanitise import one_line

if TYPE_CHECKING:
    from textual.app import App

    from tui.agent.session import SessionOptions
    from tui.log.moved import Moved

__all__ = ["ask_moved", "question"]


async def ask_moved(app: App[int], options: SessionOptions) -> str:
    """Ask once for each project this directory may have been; return what is to be told."""
    from anyio import to_thread

    from tui.log.errors import LogError
    from tui.log.moved import moved_here, rebind

    if not options.persist:
        return ""
    for moved in await to_thread.run_sync(moved_here, options.home, options.cwd):
        if await app.push_screen_wait(question(moved)) != "yes":
            continue
        try:
            count = await to_thread.run_sync(rebind, options.home, moved.project, options.cwd)
            await to_thread.run_sync(follow, options.home, moved.project, options.cwd)
        except (LogError, OSError) as error:
            return str(error)
        return f"{_many(count)} of {moved.project} belong{'s' if count == 1 else ''} here now: /resume shows them"
    return ""


def question(moved: Moved) -> PickPage:
    """Return the question, with the answer that changes nothing first."""
    old = one_line(str(moved.project), 200)
    rows = (
        ("no", Content("Begin anew here; they stay as they are")),
        ("yes", Content(f"Yes: {_many(moved.sessions)} of it belong{'s' if moved.sessions == 1 else ''} here now")),
    )
    return PickPage(
        f"Is this directory {old}, moved or renamed?", rows, below="No file of the project is changed either way."
    )


def _many(count: int) -> str:
    return "1 session" if count == 1 else f"{count:,} sessions"
