"""Runs in the app: the strip, `/run` and `/goal`, by the keys a person presses; checks are real commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.containers import VerticalScroll
from textual.widgets import Static

from tests.app.test_session import Room, room
from tests.app.waiting import page_ready, until
from tui.agent.events import RunShown
from tui.models.rehearsal.script import ScriptedAnswer, ScriptedCall
from tui.runs.plan import toml_plan
from tui.screens.board import BoardPage
from tui.screens.options import PlanGiven
from tui.screens.pages import EditPage, PickPage
from tui.widgets.glyphs import ASCII
from tui.widgets.run_strip import RunStrip, run_content
from tui.widgets.status import StatusLine

pytestmark = pytest.mark.anyio

PLAN = """
title = "Shop"
[[item]]
text = "Make the file"
checks = [["test", "-f", "made"]]
[[item]]
text = "Say hello"
checks = [["true"]]
"""


def strip(here: Room) -> RunStrip:
    return here.app.main.query_one(RunStrip)


def status(here: Room) -> str:
    run = strip(here).run
    return run.status if run is not None else ""


def note(here: Room) -> str:
    return here.app.main.query_one(StatusLine).status.note


def ready(text: str) -> ScriptedAnswer:
    return ScriptedAnswer(calls=(ScriptedCall("item_ready", {"evidence": text}),))


async def begun(here: Room, tmp_path: Path, *answers: ScriptedAnswer) -> None:
    """Start the plan: its checks are shown, and allowed by a yes."""
    (tmp_path / "plan.toml").write_text(PLAN)
    await here.use(*answers)
    await here.say(f"/run start {tmp_path / 'plan.toml'}")
    await page_ready(here.pilot, PickPage)
    assert not strip(here).display, "nothing without a run"
    await here.pilot.press("down", "enter")
    await until(here.pilot, lambda: strip(here).display, "the strip")


async def test_a_run_is_done_item_by_item_and_its_strip_says_so(tmp_path: Path) -> None:
    async with room(tmp_path, runs=True) as here:
        (tmp_path / "project" / "made").write_text("")
        await begun(
            here, tmp_path, ready("made"), ScriptedAnswer(text="Ended."), ready("hello"), ScriptedAnswer(text="Ended.")
        )
        await until(here.pilot, lambda: status(here) == "complete", "the end")
        run = strip(here).run
        assert run is not None
        assert (run.title, run.done, run.total) == ("Shop", 2, 2)
        await until(here.pilot, lambda: "Shop 2/2" in strip(here).render().plain, "the strip at the end")
        await here.say("/run")
        await page_ready(here.pilot, BoardPage)
        await here.pilot.press("escape")
        await until(here.pilot, lambda: here.app.screen is here.app.main)


async def test_a_check_that_fails_twice_blocks_and_an_answer_goes_on(tmp_path: Path) -> None:
    async with room(tmp_path, runs=True) as here:
        end = ScriptedAnswer(text="Ended.")
        await begun(here, tmp_path, ready("1"), end, ready("2"), end, ready("3"), end, ready("4"), end)
        await until(here.pilot, lambda: status(here) == "blocked", "the block")
        (tmp_path / "project" / "made").write_text("")
        await here.say("/run retry it is there now")
        await until(here.pilot, lambda: status(here) == "complete", "the end")


async def test_a_message_suspends_and_resume_goes_on(tmp_path: Path) -> None:
    async with room(tmp_path, runs=True) as here:
        (tmp_path / "project" / "made").write_text("")
        talk = ScriptedAnswer(text="I talk on and say nothing is ready.", times=400, pace=200)
        await begun(here, tmp_path, talk)
        await until(here.pilot, lambda: status(here) == "working")
        await here.pilot.press("escape")
        await until(here.pilot, lambda: status(here) == "waits" and here.link.agent.idle, "the suspension")
        end = ScriptedAnswer(text="Ended.")
        await here.use(ready("made"), end, ready("hello"), end)
        await here.say("/run resume")
        await until(here.pilot, lambda: status(here) == "complete", "the end")


def board(here: Room) -> str:
    """Return the text of the board."""
    return "\n".join(str(part.render()) for part in here.app.screen.query(Static))


async def opened_board(here: Room) -> BoardPage:
    await here.say("/run")
    await page_ready(here.pilot, BoardPage)
    page = here.app.screen
    assert isinstance(page, BoardPage)
    await until(here.pilot, lambda: "Shop" in board(here), "its rows")
    return page


async def test_the_board_shows_items_and_events_and_its_keys_answer_what_waits(tmp_path: Path) -> None:
    async with room(tmp_path, runs=True) as here:
        end = ScriptedAnswer(text="Ended.")
        await begun(here, tmp_path, ready("the first"), end, ready("the second"), end, ready("3"), end, ready("4"), end)
        await until(here.pilot, lambda: status(here) == "blocked", "the block")
        page = await opened_board(here)
        assert page.marked == 0
        shown = board(here)
        for part in (
            "Shop  0/2  blocked",
            "[!] 1. Make the file",
            "failed 2 times",
            "the second",
            "exit 1",
            "$ test -f",
        ):
            assert part in shown
        await here.pilot.press("e")
        await until(here.pilot, lambda: "checked fail $ test -f made" in board(here), "the events")
        await here.pilot.press("down", "r")
        await until(here.pilot, lambda: "Item 2 waits for no answer" in note(here))
        (tmp_path / "project" / "made").write_text("")
        await opened_board(here)
        await here.pilot.press("r")
        await page_ready(here.pilot, EditPage)
        await here.pilot.press("n", "o", "w", "ctrl+s")
        await until(here.pilot, lambda: status(here) == "complete", "the end")
        run = strip(here).run
        assert run is not None
        assert run.done == 2


async def test_the_board_leads_to_the_message_of_an_item(tmp_path: Path) -> None:
    async with room(tmp_path, runs=True) as here:
        (tmp_path / "project" / "made").write_text("")
        end = ScriptedAnswer(text="\n\n".join(f"Row {number}." for number in range(60)))
        await begun(here, tmp_path, ready("1"), end, ready("2"), end)
        await until(here.pilot, lambda: status(here) == "complete", "the end")
        await opened_board(here)
        await here.pilot.press("home", "enter")
        await until(here.pilot, lambda: here.app.screen is here.app.main)
        transcript = here.app.main.feed.transcript
        await until(here.pilot, lambda: transcript.marked_block is not None)
        await until(here.pilot, lambda: any("RUN ITEM 1 of 2" in row for row in here.rows), "the message, in view")


async def test_the_board_pauses_skips_and_stops_by_keys_and_asks_before_what_is_final(tmp_path: Path) -> None:
    async with room(tmp_path, runs=True) as here:
        end = ScriptedAnswer(text="Ended.")
        talk = ScriptedAnswer(text="I talk on and say nothing is ready.", times=400, pace=200)
        await begun(here, tmp_path, ready("1"), end, ready("2"), end, talk)
        await until(here.pilot, lambda: status(here) == "blocked", "the block")
        await opened_board(here)
        await here.pilot.press("s")
        await page_ready(here.pilot, PickPage)
        await here.pilot.press("down", "enter")
        await until(here.pilot, lambda: status(here) == "working", "the next item")
        await opened_board(here)
        await here.pilot.press("p")
        await until(here.pilot, lambda: status(here) == "paused" and here.link.agent.idle, "the pause")
        await opened_board(here)
        await here.pilot.press("x")
        await page_ready(here.pilot, PickPage)
        await here.pilot.press("enter")
        await until(here.pilot, lambda: here.app.screen is here.app.main)
        assert status(here) == "paused"
        await opened_board(here)
        await here.pilot.press("x")
        await page_ready(here.pilot, PickPage)
        await here.pilot.press("down", "enter")
        await until(here.pilot, lambda: status(here) == "stopped", "the stop")
        assert any("SKIPPED, not done: item 1" in row for row in here.rows)


async def test_a_plan_of_the_command_line_is_begun_after_its_checks_were_shown(tmp_path: Path) -> None:
    given = PlanGiven(toml_plan(PLAN), str(tmp_path / "plan.toml"))
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "made").write_text("")
    async with room(tmp_path, runs=True, plan=given) as here:
        await page_ready(here.pilot, PickPage)
        assert "test -f made" in board(here)
        end = ScriptedAnswer(text="Ended.")
        await here.use(ready("1"), end, ready("2"), end)
        await here.pilot.press("down", "enter")
        await until(here.pilot, lambda: status(here) == "complete", "the end")


async def test_a_blocked_run_of_before_is_answered_without_a_resume_first(tmp_path: Path) -> None:
    end = ScriptedAnswer(text="Ended.")
    async with room(tmp_path, runs=True) as here:
        await begun(here, tmp_path, ready("1"), end, ready("2"), end)
        await until(here.pilot, lambda: status(here) == "blocked", "the block")
    (tmp_path / "project" / "made").write_text("")
    async with room(tmp_path, runs=True, newest=True) as here:
        await until(here.pilot, lambda: status(here) == "blocked", "the state")
        await until(here.pilot, lambda: "/run retry or skip" in strip(here).render().plain, "the strip")
        await here.use(ready("3"), end, ready("4"), end)
        await here.say("/run retry")
        await until(here.pilot, lambda: status(here) == "complete", "the end")


async def test_all_checks_can_be_read_before_they_are_allowed(tmp_path: Path) -> None:
    items = "\n".join(f'[[item]]\ntext = "i"\nchecks = [["test", "-f", "file-{number}"]]' for number in range(60))
    given = PlanGiven(toml_plan(items), "")
    async with room(tmp_path, runs=True, plan=given) as here:
        await page_ready(here.pilot, PickPage)
        scroll = here.app.screen.query_one(VerticalScroll)
        await until(here.pilot, lambda: scroll.max_scroll_y > 20)
        for _ in range(20):
            await here.pilot.press("pagedown")
        await until(here.pilot, lambda: scroll.scroll_y == scroll.max_scroll_y, "the last check")


async def test_what_stands_in_the_way_is_said(tmp_path: Path) -> None:
    async with room(tmp_path, runs=True) as here:
        await here.say("/run start nowhere.toml")
        await until(here.pilot, lambda: "nowhere.toml" in note(here))
        await here.say("/run resume")
        await until(here.pilot, lambda: "no run" in note(here).lower())
        await here.say("/run dance")
        await until(here.pilot, lambda: "/run takes" in note(here))
        assert not strip(here).display


async def test_a_goal_is_a_run_of_one_item(tmp_path: Path) -> None:
    async with room(tmp_path, runs=True) as here:
        await here.use(ready("there"), ScriptedAnswer(text="Ended."))
        await here.say("/goal a quiet harbour")
        await until(here.pilot, lambda: status(here) == "waits for review", "the person's turn")
        await here.say("/run accept")
        await until(here.pilot, lambda: status(here) == "complete", "the end")


@pytest.mark.parametrize("width", [20, 58, 78, 118, 198])
def test_the_strip_is_one_row_of_the_width_whatever_is_in_it(width: int) -> None:
    run = RunShown(
        "A plan \x1b[31m日本語 [/red]" * 3,
        "working",
        3,
        12,
        number=4,
        item="漢字 " * 60,
        attempts=1,
        active_ms=754_000,
        max_minutes=30,
        cost=0.5,
        max_cost=2,
    )
    for glyphs in (ASCII,):
        row = run_content(run, width, run.active_ms, glyphs)
        assert row.cell_length <= width
        assert "\x1b" not in row.plain
    if width >= 58:
        assert "3/12" in row.plain
        assert "working" in row.plain
