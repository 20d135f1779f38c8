"""`/search`: what was said, wherever it stands in the session. `/view`: what a start begins from."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Literal, cast

from textual.content import Content

from tui.log.words import said
from tui.screens.main import MainScreen
from tui.screens.pages import PickPage, TextPage
from tui.screens.paging import Pages
from tui.widgets.sanitise import one_line, sanitise

if TYPE_CHECKING:
    from tui.agent.agent import Agent
    from tui.agent.starting import Way
    from tui.log.found import Findings, Hit

__all__ = ["look_back"]

_MOST = 200
"""Hits that are listed."""


def look_back(screen: MainScreen, name: Literal["search", "view"], rest: str, pages: Pages) -> None:
    """Run one of the two commands."""
    if screen.link is None:
        screen.note("The session is not open yet", passing=True)
    elif name == "view":
        screen.link.do(lambda agent: _view(screen, agent, pages))
    elif rest:
        screen.link.do(lambda agent: _search(screen, agent, rest, pages))
    else:
        screen.note("/search takes the words to look for; F3 searches what is on the screen")


async def _search(screen: MainScreen, agent: Agent, words: str, pages: Pages) -> None:
    """List what was found; picking one shows all of it."""
    found = await agent.journal.log.search.find(words, scope="session", most=_MOST)
    if not found.hits:
        screen.note(_gaps(found) or f"Nothing in this session says {one_line(words, 40)}")
        return

    def picked(entry: str | None) -> None:
        hit = next((hit for hit in found.hits if hit.entry == entry), None)
        if hit is not None and screen.link is not None:
            screen.link.do(lambda agent: _show(agent, hit, pages))

    how = "" if found.exact else ", with all of its words"
    more = f"The newest {_MOST}; there are more. " if found.more else ""
    title = f"{one_line(words, 40)}: {len(found.hits)} found{how}, newest first"
    rows = tuple((hit.entry, _row(hit)) for hit in found.hits)
    pages.pick(PickPage(title, rows, below=more + _gaps(found)), picked)


def _row(hit: Hit) -> Content:
    where = f"{hit.depth:>6}" if hit.on_path else "branch"
    day = dt.datetime.fromtimestamp(hit.time / 1000, dt.UTC).astimezone().strftime("%m-%d %H:%M")
    return Content.assemble((f"{where}  {day}  {hit.kind:<7}  ", "$clew-dim"), one_line(hit.snippet, 300))


def _gaps(found: Findings) -> str:
    """Name what could not be searched."""
    named = ", ".join(f"{gap.low}" if gap.low == gap.high else f"{gap.low} to {gap.high}" for gap in found.gaps)
    return f"Entries {named} cannot be read: what stood there is unknown" if named else ""


async def _show(agent: Agent, hit: Hit, pages: Pages) -> None:
    """Show one entry, word for word."""
    passage = await agent.journal.log.search.passage(hit.entry)
    words = next((found for entry in passage.entries if (found := said(entry.body)) is not None), None)
    text = words[1] if words is not None else "It cannot be read any more."
    pages.read(TextPage(f"Entry {hit.depth}, {hit.kind}", lambda _width: Content(sanitise(text))))


async def _view(screen: MainScreen, agent: Agent, pages: Pages) -> None:
    """Take the other view; where one was refused, ask what to do instead."""
    starting = agent.starting
    refused = starting.refused
    if refused is None:
        screen.note(starting.toggle() or "This is decided: it can be chosen before the first message after a start")
        return

    def picked(way: str | None) -> None:
        told = starting.choose(cast("Way | None", way))
        if told:
            screen.note(f"{told}: Enter")

    rows = [("full", Content("Send the full view"))]
    if refused.needed:
        rows.append(("larger", Content(f"Allow {refused.needed:,} bytes instead of {starting.budget:,}")))
    if refused.cut:
        rows.append(("cut", Content("Name the previous request by its entry alone; `recall` finds its words")))
    pages.pick(PickPage(f"Nothing was sent; your words are in the editor. {refused.why}", tuple(rows)), picked)
