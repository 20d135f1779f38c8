"""A session that was cut off, at the screen: one line, one key to go on, one to look."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.app.painted import assert_sound, painted
from tests.app.test_session import Room, room
from tests.app.waiting import page_ready, until
from tui.log import Store
from tui.log.entries import Answer, ModelChosen, Prompt, Result, Settled, Started, ToolStarted
from tui.messages import AssistantMessage, StopReason, Text, ToolCall, UserMessage
from tui.models.rehearsal.script import ScriptedAnswer
from tui.screens.pages import TextPage
from tui.widgets.offer import Offer

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
