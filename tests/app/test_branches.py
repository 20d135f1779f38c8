"""Branches in the app: the tree, an edited prompt, a fork, a name for a place; each by the keys a person presses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.screen import Screen

from tests.app.test_session import Room, room
from tests.app.waiting import page_ready, until
from tui.log.entries import Label, Prompt, TaskSet
from tui.models.rehearsal.script import ScriptedAnswer
from tui.screens.pages import EditPage, PickPage
from tui.screens.tree_page import TreePage
from tui.widgets.status import StatusLine

pytestmark = pytest.mark.anyio


async def talked(here: Room, *prompts: str) -> None:
    """Say each, and let it be answered."""
    await here.use(ScriptedAnswer(text="Done.", repeat=True))
    for count, text in enumerate(prompts, 1):
        await here.say(text)
        await here.settled(count)


def prompts(here: Room) -> list[str]:
    return [body.message.authored for body in here.kind(Prompt) if isinstance(body, Prompt)]


async def opened(here: Room, command: str, kind: type[Screen[Any]]) -> Any:
    await here.say(command)
    await page_ready(here.pilot, kind)
    return here.app.screen


async def back(here: Room) -> None:
    await until(here.pilot, lambda: here.app.screen is here.app.main, "the conversation")


async def test_the_tree_shows_the_prompts_and_enter_goes_there(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await talked(here, "one", "two")
        page = await opened(here, "/tree", TreePage)
        assert [row.node.text for row in page.rows if row.node is not None] == ["one", "two"]
        await here.pilot.press("home", "enter")
        await page_ready(here.pilot, PickPage)
        await here.pilot.press("enter")  # go on from there
        await back(here)
        await until(here.pilot, lambda: prompts(here) == ["one"], "the older place")
        assert not any("two" in row for row in here.rows)
        assert sum("another branch leaves the line here" in row for row in here.rows) == 1
        await here.say("three")
        await until(here.pilot, lambda: prompts(here) == ["one", "three"] and here.link.agent.idle)
        page = await opened(here, "/tree", TreePage)
        assert {row.node.text for row in page.rows if row.node is not None and row.node.kind == "prompt"} == {
            "one",
            "two",
            "three",
        }
        assert [row.node.text for row in page.rows if row.node is not None and row.node.id == page.here] == ["three"]
        await here.pilot.press("escape")
        await back(here)


async def test_the_tree_is_searched(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await talked(here, "the blue heron", "the [/red] lamp")
        page = await opened(here, "/tree", TreePage)
        await here.pilot.press("slash", *"heron")
        await until(here.pilot, lambda: len(page.rows) == 1, "the hit")
        await here.pilot.press("enter", "escape")
        await until(here.pilot, lambda: len(page.rows) == 2, "all rows")
        assert here.app.screen is page, "the first Esc ends the search alone"
        await here.pilot.press("escape")
        await back(here)


async def test_an_earlier_prompt_is_edited_on_a_branch_of_its_own(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await talked(here, "first words", "second words")
        await opened(here, "/rewind", PickPage)
        await here.pilot.press("enter")  # the newest
        await back(here)
        await until(here.pilot, lambda: here.app.main.editor.text == "second words", "its words")
        assert prompts(here) == ["first words"]
        await here.pilot.press("!")
        here.clock.now += 1
        await here.pilot.press("enter")
        here.clock.now += 1
        await until(here.pilot, lambda: prompts(here) == ["first words", "second words!"])


async def test_a_place_gets_a_name_and_loses_it(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await talked(here, "one")
        await here.say("/label before the storm")
        await until(here.pilot, lambda: [body.text for body in here.kind(Label) if isinstance(body, Label)])
        page = await opened(here, "/tree", TreePage)
        assert any(row.node is not None and row.node.label == "before the storm" for row in page.rows)
        await here.pilot.press("home", "l")
        await page_ready(here.pilot, EditPage)
        await here.pilot.press("escape")
        await back(here)


async def test_a_fork_is_a_new_session_and_the_old_one_stays(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await talked(here, "one")
        old = here.link.agent.session_id
        await here.say("/fork try it another way")
        await page_ready(here.pilot, PickPage)
        await here.pilot.press("enter")  # as the task
        await until(
            here.pilot,
            lambda: here.app.main.link is not None and here.link.agent.session_id != old and len(prompts(here)) == 2,
            "the fork",
        )
        assert prompts(here) == ["one", "try it another way"]
        assert here.kind(TaskSet)
        await until(here.pilot, lambda: here.link.agent.idle)


async def test_esc_twice_on_an_empty_editor_lists_the_earlier_prompts(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await talked(here, "one")
        await here.pilot.press("escape", "x", "escape")
        assert here.app.screen is here.app.main, "a key between, and a draft: neither is twice"
        await here.pilot.press("backspace", "escape", "escape")
        await page_ready(here.pilot, PickPage)
        await here.pilot.press("escape")
        await back(here)


async def test_nothing_to_rewind_is_said(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await here.say("/rewind")
        await until(here.pilot, lambda: "no earlier prompt" in here.app.main.query_one(StatusLine).status.note)
