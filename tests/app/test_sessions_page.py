"""The list of sessions in the app: what a row says, and that the picked one is opened."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.app.test_session import Room, room
from tests.app.waiting import page_ready, until
from tests.log.kit import prompt
from tui.log import Store
from tui.log.entries import Handoff, Settled
from tui.screens.session_rows import age, session_row, size_words, state_words
from tui.screens.sessions import SessionsPage

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("span", "words"), [(-5, "now"), (59_999, "now"), (60_000, "1m"), (3_600_000, "1h"), (90_000_000, "1d")]
)
def test_an_age_is_short(span: int, words: str) -> None:
    assert age(span) == words


@pytest.mark.parametrize(("size", "words"), [(None, ""), (0, "0b"), (2_048, "2.0k"), (30_000, "29k"), (2**31, "2.0G")])
def test_a_size_is_short(size: int | None, words: str) -> None:
    assert size_words(size) == words


async def make(tmp_path: Path) -> tuple[str, str]:
    """Make an interrupted session and one with a pending handoff, and an empty one."""
    (tmp_path / "project").mkdir(exist_ok=True)
    async with await Store.open(tmp_path / "home", tmp_path / "project") as store:
        first = await store.create(cwd=tmp_path, first=[prompt("the blue heron")])
        second = await store.create(cwd=tmp_path, first=[prompt("second"), Settled("handoff"), Handoff("saved")])
        await store.create(cwd=tmp_path)
        return first.id, second.id


async def test_rows_say_what_a_session_is_in_the_middle_of(tmp_path: Path) -> None:
    first, second = await make(tmp_path)
    async with await Store.open(tmp_path / "home", tmp_path / "project") as store:
        rows = await store.sessions(said=True)
        assert [(row.id, state_words(row)) for row in rows] == [(second, "handoff pending"), (first, "interrupted")]
        log = await store.session(first)
        await log.append(Settled("answered"))
        (row,) = [row for row in await store.sessions(said=True) if row.id == first]
        assert state_words(row) == "open elsewhere"
        await log.close()
        (row,) = [row for row in await store.sessions(said=True) if row.id == first]
        assert (state_words(row), row.branches, (row.size or 0) > 50) == ("", 1, True)
        for width in (30, 60, 118):
            assert session_row(rows[0], width, rows[0].updated).cell_length <= width


async def opened(here: Room) -> SessionsPage:
    await here.say("/resume")
    await page_ready(here.pilot, SessionsPage)
    page = here.app.screen
    assert isinstance(page, SessionsPage)
    return page


async def picked(pilot: Pilot[int], page: SessionsPage, count: int) -> None:
    await until(pilot, lambda: len(page.shown) == count, f"{count} rows")


async def test_the_picked_session_is_opened(tmp_path: Path) -> None:
    first, _ = await make(tmp_path)
    async with room(tmp_path) as here:
        page = await opened(here)
        await picked(here.pilot, page, 2)
        await here.pilot.press("down", "enter")
        await until(here.pilot, lambda: here.app.main.link is not None and here.link.agent.session_id == first)
        assert here.link.agent.writable


async def test_search_rename_trash_and_undo(tmp_path: Path) -> None:
    first, second = await make(tmp_path)
    async with room(tmp_path) as here:
        page = await opened(here)
        await picked(here.pilot, page, 2)
        await here.pilot.press("slash", *"heron", "enter")
        await picked(here.pilot, page, 1)
        assert page.shown[0].id == first
        await here.pilot.press("r", "end", *"2", "enter")
        await until(here.pilot, lambda: page.shown and page.shown[0].title == "the blue heron2")
        await here.pilot.press("slash", "enter")
        await picked(here.pilot, page, 2)
        await here.pilot.press("d")
        await until(here.pilot, lambda: len(page.shown) == 1)
        await here.pilot.press("u")
        await picked(here.pilot, page, 2)
        assert {row.id for row in page.shown} == {first, second}
        await here.pilot.press("escape")
        await until(here.pilot, lambda: here.app.screen is here.app.main)
