"""Runs in the app: the strip, `/run` and `/goal`, by the keys a person presses; checks are real commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.test_session import Room, room
from tests.app.waiting import page_ready, until
from tui.agent.events import RunShown
from tui.models.rehearsal.script import ScriptedAnswer, ScriptedCall
from tui.screens.pages import PickPage, TextPage
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
        assert "Shop 2/2" in strip(here).render().plain
        await here.say("/run")
        await page_ready(here.pilot, TextPage)
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
