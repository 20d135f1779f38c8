"""The colour of the thread: the limits in force, another model's defaults, the same when opened again."""

from __future__ import annotations

import msgspec
import pytest

from tests.app.stage import Stage, entries, filled
from tests.app.waiting import until
from tui.agent.events import EntryAdded
from tui.context.thresholds import Given, Thresholds, resolve
from tui.log.entries import Answer, Body, ModelChosen
from tui.messages import AssistantMessage, StopReason, Text, Usage
from tui.screens.feed import Levels
from tui.widgets.banner import Banner
from tui.widgets.status import StatusLine

pytestmark = pytest.mark.anyio


def answer(tokens: int) -> Body:
    return Answer(AssistantMessage((Text("So."),), StopReason.COMPLETE, usage=Usage(input=tokens)))


def limits(window: int, soft: str | None = None) -> Thresholds:
    found = resolve(Given(soft=soft), window)
    assert isinstance(found, Thresholds)
    return found


def test_levels_are_those_of_the_limits_that_were_set() -> None:
    path = entries(ModelChosen("p", "m", window=200_000), answer(30_000))
    assert [Levels(limits(200_000), "e0").at(entry) for entry in path][-1] == "ok"
    early = Levels(limits(200_000, soft="20k"), "e0")
    assert [early.at(entry) for entry in path] == ["none", "soft"]


def test_another_models_answers_keep_the_level_of_its_window() -> None:
    path = entries(
        ModelChosen("p", "small", window=24_000), answer(23_000), ModelChosen("p", "m", window=200_000), answer(24_000)
    )
    levels = Levels(limits(200_000), "e2")
    assert [levels.at(entry) for entry in path] == ["none", "hard", "hard", "ok"]


def test_without_limits_nothing_is_coloured() -> None:
    levels = Levels(None)
    assert [levels.at(entry) for entry in entries(answer(500_000))] == ["none"]


async def test_a_reported_problem_is_said_once() -> None:
    doubtful = msgspec.structs.replace(filled(10), problem="The server reports no usage.")
    app = Stage()
    async with app.run_test(size=(80, 24)) as pilot:
        app.main.show(doubtful)
        status = app.main.query_one(StatusLine)
        assert status.status.note == "The server reports no usage."
        app.main.note("")
        app.main.show(doubtful)
        app.main.show(EntryAdded(entries(answer(9))[0]))
        await pilot.pause()
        assert status.status.note == ""


@pytest.mark.parametrize("opened", [True, False])
async def test_a_session_that_ends_with_an_error_leaves_the_screen(opened: bool) -> None:
    app = Stage()
    async with app.run_test(size=(80, 24)) as pilot:
        app.main.stop("There is no key for api.example.com.", opened=opened)
        await until(pilot, lambda: app.main.query_one(Banner).display)
        said = str(app.main.query_one(Banner).render())
        assert "There is no key for api.example.com." in said
        assert ("could not be opened" in said) is not opened
        assert app.main.query_one(StatusLine).status.phase == "stopped"
        assert app.main.editor.has_focus
