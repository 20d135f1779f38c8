"""A session that was cut off, at the screen: one line, one key to go on, one to look."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.app.painted import assert_sound, painted
from tests.app.test_session import Room, room
from tests.app.waiting import page_ready, until
from tui.agent.shelf import Shelf
from tui.log import Store
from tui.log.entries import Answer, Handoff, ModelChosen, Prompt, Result, Settled, Started, ToolStarted
from tui.messages import AssistantMessage, StopReason, Text, ToolCall, UserMessage
from tui.models.rehearsal.script import ScriptedAnswer
from tui.screens.leftover import waiting_words
from tui.screens.pages import TextPage
from tui.widgets.offer import Offer
from tui.widgets.start import StartView
from tui.widgets.status import StatusLine

pytestmark = pytest.mark.anyio


async def left_running(tmp_path: Path, command: str) -> None:
    """Write what a session has that was killed while a command ran."""
    project = tmp_path / "project"
    project.mkdir()
    calls = (ToolCall("a", "bash", {"command": command}), ToolCall("b", "bash", {"command": "echo later"}))
    async with await Store.open(tmp_path / "home", project) as store:
        await store.create(
            cwd=project,
            first=(
                Started(str(project), "1"),
                ModelChosen("rehearsal", "rehearsal"),
                Prompt(UserMessage((Text("run the tests"),))),
                Answer(AssistantMessage(calls, StopReason.TOOL_CALLS)),
                ToolStarted("a", "bash"),
            ),
        )


def offered(here: Room) -> str:
    offer = here.app.main.query_one(Offer)
    return " ".join("".join(painted(here.app.main)[y] for y in range(offer.region.y, offer.region.bottom)).split())


async def test_it_says_what_ran_and_one_key_goes_on(tmp_path: Path) -> None:
    await left_running(tmp_path, "pytest -q [/red]")
    async with room(tmp_path, newest=True) as here:
        await until(here.pilot, lambda: "F6 review" in offered(here), "the offer")
        assert "Interrupted while running `pytest -q [/red]`; effects unknown. /continue goes on." in offered(here)
        assert_sound(here.app.main)
        assert here.link.agent.idle
        assert not here.kind(Answer)[1:], "nothing goes on by itself"
        await here.use(ScriptedAnswer(text="I looked: it is done."))
        await here.pilot.press("f5")
        await here.settled(2)
        await until(here.pilot, lambda: not here.app.main.query_one(Offer).has_class("-open"), "its end")
        ends = [settled.reason for settled in here.kind(Settled) if isinstance(settled, Settled)]
        assert ends == ["interrupted", "answered"]
        assert len(here.kind(Result)) == 2


async def test_one_key_shows_what_was_done_and_what_is_open(tmp_path: Path) -> None:
    await left_running(tmp_path, "pytest -q")
    async with room(tmp_path, newest=True) as here:
        await until(here.pilot, lambda: "F6 review" in offered(here), "the offer")
        await here.pilot.press("f6")
        await page_ready(here.pilot, TextPage)
        await until(here.pilot, lambda: "not started" in "\n".join(painted(here.app.screen)), "the page")
        shown = "\n".join(painted(here.app.screen))
        for row in ("effects unknown +`pytest -q`", "not started +`echo later`", "asked +run the tests"):
            assert re.search(row, shown), shown
        await here.pilot.press("escape")
        await until(here.pilot, lambda: here.app.screen is here.app.main, "the way back")
        assert here.app.main.query_one(Offer).has_class("-open"), "looking is no answer"
        assert len(here.kind(Settled)) == 1


async def test_a_new_session_offers_nothing(tmp_path: Path) -> None:
    await left_running(tmp_path, "pytest -q")
    async with room(tmp_path, newest=True) as here:
        await until(here.pilot, lambda: "F6 review" in offered(here), "the offer")
        before = here.link
        await here.say("/new")
        await until(here.pilot, lambda: here.app.main.link not in (None, before), "the new session")
        assert not here.app.main.query_one(Offer).has_class("-open")


async def test_a_start_beside_an_interrupted_session_says_so_and_one_key_opens_it(tmp_path: Path) -> None:
    await left_running(tmp_path, "pytest -q")
    async with room(tmp_path) as here:
        own = here.link.agent.session_id
        await until(here.pilot, lambda: "was interrupted" in start(here), "the offer")
        assert re.search(r"The newest session here was interrupted \(now\): run the tests", start(here))
        assert "F5 goes on with it" in start(here)
        assert not here.app.main.query_one(Offer).has_class("-open"), "it is not open, and nothing of it was settled"
        assert await entries(tmp_path) == 5
        await here.pilot.press("f5")
        await until(here.pilot, lambda: here.app.main.link is not None and here.link.agent.session_id != own)
        await until(here.pilot, lambda: "Interrupted while running" in offered(here), "its own line")
        assert not here.kind(Answer)[1:], "opening it runs nothing"


async def test_once_something_was_said_the_key_is_for_this_session(tmp_path: Path) -> None:
    await left_running(tmp_path, "pytest -q")
    async with room(tmp_path) as here:
        await until(here.pilot, lambda: "was interrupted" in start(here), "the offer")
        own = here.link.agent.session_id
        await here.use(ScriptedAnswer(text="Done."))
        await here.say("something else")
        await here.settled()
        await here.pilot.press("f5")
        await until(here.pilot, lambda: here.app.main.query_one(StatusLine).status.note, "what it says")
        assert here.link.agent.session_id == own


async def test_a_session_that_is_open_elsewhere_or_has_ended_is_not_offered(tmp_path: Path) -> None:
    await left_running(tmp_path, "pytest -q")
    shelf = Shelf(tmp_path / "home", tmp_path / "project")
    found = await shelf.left(but="")
    assert found is not None
    assert (
        waiting_words(found, found.updated + 7_200_000) == "The newest session here was interrupted (2h): run the tests"
    )
    assert await shelf.left(but=found.id) is None
    async with await Store.open(tmp_path / "home", tmp_path / "project") as store:
        log = await store.session(found.id)
        assert await shelf.left(but="") is None, "another window has it"
        await log.append(Settled("answered"))
        await log.close()
        assert await shelf.left(but="") is None
        log = await store.session(found.id)
        await log.append(Handoff("saved"))
        await log.close()
    found = await shelf.left(but="")
    assert found is not None
    assert waiting_words(found, found.updated).startswith("A handoff is pending in the newest session here (now)")


def start(here: Room) -> str:
    return " ".join(str(here.app.main.query_one(StartView).render()).split())


async def entries(tmp_path: Path) -> int:
    """Return how long the newest session is whose prompt was said."""
    async with await Store.open(tmp_path / "home", tmp_path / "project", read_only=True) as store:
        found = await store.newest()
        assert found is not None
        return found.entries
