"""What the commands about the newest checkpoint show: its summary to change, with its parts; the undoing of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from tui.screens.main import MainScreen
from tui.screens.pages import EditPage, PickPage
from tui.screens.paging import Pages, tell_of
from tui.widgets.sanitise import one_line, sanitise

if TYPE_CHECKING:
    from tui.agent.agent import Agent
    from tui.widgets.transcript.blocks import CheckpointBlock

__all__ = ["ask_undo", "show_checkpoint"]

_SHOWN = 2_000
"""Characters of a part; the divider in the conversation opens to all of it."""


async def show_checkpoint(screen: MainScreen, agent: Agent, pages: Pages) -> None:
    """Show the newest checkpoint in force; its summary can be changed."""
    from tui.screens.feed import with_words
    from tui.widgets.transcript.blocks import CheckpointBlock, fold

    entry = agent.requests.checkpoint
    block = next(iter(fold([entry])), None) if entry is not None else None
    if not isinstance(block, CheckpointBlock):
        screen.note("There is no checkpoint yet; /compact makes one")
        return
    told = await with_words(block, agent, {})
    title = f"Checkpoint ({one_line(told.origin, 20)}, {one_line(told.figures, 200)}). The summary"
    pages.edit(EditPage(title, told.summary, _parts(told)), lambda text: _written(screen, text))


def _written(screen: MainScreen, text: str | None) -> None:
    if text is None:
        screen.note("The summary is as it was")
        return

    async def rewritten(agent: Agent) -> str:
        from tui.agent.checkpoint_wishes import rewrite

        return await rewrite(agent, text)

    tell_of(screen, rewritten)


def _parts(block: CheckpointBlock) -> Content:
    """Return every other part of a checkpoint under its label; they stand in the log and cannot be changed."""
    found: list[tuple[str, str]] = []
    for part in block.parts:
        text = sanitise((part.text or "").rstrip("\n"), cr="newline")
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}\n[… {len(text) - _SHOWN:,} characters more]"
        found += [(f"{one_line(part.label, 60)}\n", "bold $clew-accent"), (f"{shown}\n\n", "")]
    return Content.assemble(*found).rstrip()


async def ask_undo(screen: MainScreen, agent: Agent, pages: Pages) -> None:
    """Ask whether the newest checkpoint is taken back, and do it."""
    from tui.agent.checkpoint_wishes import undo

    told = await undo(agent)
    if not told.question:
        screen.note(told.text)
        return

    def answered(key: str | None) -> None:
        if key == "undo":
            tell_of(screen, _undone)

    rows = (("keep", Content("Keep it")), ("undo", Content("Undo it")))
    pages.pick(PickPage(told.text, rows), answered)


async def _undone(agent: Agent) -> str:
    from tui.agent.checkpoint_wishes import undo

    return (await undo(agent, confirmed=True)).text
