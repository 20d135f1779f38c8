"""Looking back and beginning again, in the app: `/search`, F7, and what can be done where nothing was sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import OptionList, Static

from tests.app.test_handing_over import LONG, SUMMARY, command, everything, note_of, path, use
from tests.app.test_session import Room, room
from tests.app.waiting import page_ready, until
from tui.agent.wishes import compact
from tui.log.entries import Answer, Checkpoint, Prompt, ResumedFrom
from tui.messages import Text, UserMessage
from tui.models.rehearsal.script import ScriptedAnswer
from tui.screens.pages import PickPage, TextPage
from tui.settings import Settings

pytestmark = pytest.mark.anyio
SMALL = Settings(followup_budget=5_000)


async def saved(tmp_path: Path, words: str = "fix the parser") -> None:
    """Leave a long conversation with a summary for next time."""
    async with room(tmp_path, settings=SMALL) as here:
        await use(here, LONG, SUMMARY)
        await here.say(words)
        await here.settled()
        here.app.leave()
        await until(here.pilot, lambda: here.app.main.link is None, "the end of the session")


async def picking(here: Room) -> PickPage:
    await page_ready(here.pilot, PickPage)
    page = here.app.screen
    assert isinstance(page, PickPage)
    return page


def rows(page: PickPage) -> list[str]:
    found = page.query_one(OptionList)
    return [str(found.get_option_at_index(at).prompt) for at in range(found.option_count)]


async def send(here: Room, words: str) -> None:
    """Put a draft into the editor and press Enter."""
    editor = here.app.main.editor
    editor.show_draft(words)
    await until(here.pilot, lambda: editor.draft == words and here.app.focused is editor, "the draft")
    here.clock.now += 1
    await here.pilot.press("enter")
    here.clock.now += 1


async def resumed(here: Room) -> list[ResumedFrom]:
    return [entry.body for entry in await path(here) if isinstance(entry.body, ResumedFrom)]


async def test_a_key_takes_the_other_view_before_the_first_message(tmp_path: Path) -> None:
    await saved(tmp_path)
    async with room(tmp_path, newest=True, settings=SMALL) as here:
        await until(here.pilot, lambda: "F7: the full view instead" in note_of(here), "the line")
        await here.pilot.press("f7")
        await until(here.pilot, lambda: "Continues from the full view" in note_of(here), "the other view")
        await use(here, ScriptedAnswer(text="On we go."))
        await here.say("go on")
        await until(here.pilot, lambda: "On we go." in everything(here) and here.link.agent.idle, "the answer")
        assert not await resumed(here)
        await here.pilot.press("f7")
        await until(here.pilot, lambda: "This is decided" in note_of(here), "that it is too late")


@pytest.mark.parametrize(("down", "bounded"), [(0, False), (1, True)])
async def test_what_is_over_the_budget_is_asked_about_and_goes_out_as_chosen(
    tmp_path: Path, down: int, bounded: bool
) -> None:
    await saved(tmp_path)
    words = "x" * 6_000
    async with room(tmp_path, newest=True, settings=SMALL) as here:
        await use(here, ScriptedAnswer(text="On we go."))
        await send(here, words)
        page = await picking(here)
        assert "Nothing was sent" in str(page.query_one(Static).content)
        assert rows(page)[0] == "Send the full view"
        assert "instead of 5,000" in rows(page)[1]
        await here.pilot.press(*["down"] * down, "enter")
        await until(here.pilot, lambda: note_of(here).endswith("Enter"), "what Enter does now")
        assert here.app.main.editor.draft == words
        await send(here, words)
        await until(here.pilot, lambda: "On we go." in everything(here) and here.link.agent.idle, "the answer")
        assert bool(await resumed(here)) == bounded


async def test_a_request_that_is_too_long_can_be_named_by_its_entry(tmp_path: Path) -> None:
    await saved(tmp_path, "fix " + "the parser " * 20)
    checkpoint = Settings(followup_budget=5_000, resume_view="checkpoint")
    async with room(tmp_path, newest=True, settings=checkpoint) as here:
        await use(here, ScriptedAnswer(text="It is long."), ScriptedAnswer(text="On we go."))
        await here.pilot.press("f7")
        here.app.main.ask(UserMessage((Text("later " + "words " * 800),)))
        await until(here.pilot, lambda: "It is long." in everything(here) and here.link.agent.idle, "the answer")
    async with room(tmp_path, newest=True, settings=checkpoint) as here:
        await use(here, ScriptedAnswer(text="On we go."))
        await send(here, "go on")
        page = await picking(here)
        assert "`recall`" in rows(page)[-1]
        await here.pilot.press("up", "enter")
        await until(here.pilot, lambda: note_of(here).endswith("Enter"), "what Enter does now")
        await send(here, here.app.main.editor.draft)
        await until(here.pilot, lambda: "On we go." in everything(here) and here.link.agent.idle, "the answer")
        (taken,) = await resumed(here)
        assert (taken.request_shown, taken.request is not None) == (0, True)
        assert taken.request is not None
        asked = str(here.link.agent.requests.view())
        assert "words words" not in asked
        assert f"(whole in entry {taken.request.entry}: use `recall`)" in asked


async def test_left_alone_the_question_comes_again(tmp_path: Path) -> None:
    await saved(tmp_path)
    async with room(tmp_path, newest=True, settings=SMALL) as here:
        await use(here, ScriptedAnswer(text="On we go."))
        for _ in range(2):
            await send(here, "x" * 6_000)
            await picking(here)
            await here.pilot.press("escape")
            await until(here.pilot, lambda: here.app.screen is here.app.main, "the end of the question")
        assert here.app.main.editor.draft == "x" * 6_000
        assert len([entry for entry in await path(here) if isinstance(entry.body, Prompt)]) == 1


async def test_what_was_said_is_found_behind_a_checkpoint_and_shown_whole(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await use(here, LONG, LONG, LONG, SUMMARY)
        for number, words in enumerate(("the needle 価格 is here", "more", "still more"), 1):
            await send(here, words)
            await here.settled(number)
        here.link.do(lambda agent: compact(agent, ""))
        await until(here.pilot, lambda: bool(here.kind(Checkpoint)), "the checkpoint")
        await command(here, "/search 価格")
        page = await picking(here)
        assert len(rows(page)) == 1
        assert "the needle 価格 is here" in rows(page)[0]
        await here.pilot.press("enter")
        await page_ready(here.pilot, TextPage)
        assert "the needle 価格 is here" in str(here.app.screen.query(Static).last().content)
        await here.pilot.press("escape")
        await command(here, "/search nowhere at all")
        await until(here.pilot, lambda: "Nothing in this session says" in note_of(here), "that nothing was found")
        await command(here, "/search")
        await until(here.pilot, lambda: "takes the words" in note_of(here), "how it is typed")
        assert here.kind(Answer)
