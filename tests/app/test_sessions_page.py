"""The list of sessions in the app: what a row says, and that the picked one is opened."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot

from tests.app.painted import painted
from tests.app.test_session import Room, room
from tests.app.waiting import page_ready, until
from tests.log.kit import prompt
from tests.log.test_moved import checkout, git, said
from tui.log import RunWrite, Store
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


def titles(page: SessionsPage) -> list[str]:
    return [info.title for info in page.shown]


async def beside(tmp_path: Path) -> Path:
    """Make a checkout, another one of its repository, and a directory of neither, each with a session."""
    home, main = tmp_path / "home", checkout(tmp_path / "project")
    git(main, "worktree", "add", "-q", str(tmp_path / "side"))
    (tmp_path / "other").mkdir()
    await said(home, main, "the one here")
    await said(home, tmp_path / "side", "the one beside")
    await said(home, tmp_path / "other", "the one elsewhere")
    return home


async def test_other_checkouts_stand_under_a_heading_of_their_own(tmp_path: Path) -> None:
    await beside(tmp_path)
    async with room(tmp_path) as here:
        page = await opened(here)
        await picked(here.pilot, page, 2)
        assert titles(page) == ["the one here", "the one beside"]
        await until(here.pilot, lambda: any("the one beside" in row for row in painted(here.app.screen)), "its row")
        rows = painted(here.app.screen)
        at = next(at for at, row in enumerate(rows) if "Another checkout of this repository" in row)
        assert "the one here" in rows[at - 2]
        assert "the one beside" in rows[at + 1]
        assert not any("elsewhere" in row for row in rows)
        await here.pilot.press("escape")


async def test_all_directories_are_listed_and_searched_when_asked(tmp_path: Path) -> None:
    await beside(tmp_path)
    async with room(tmp_path) as here:
        page = await opened(here)
        await picked(here.pilot, page, 2)
        await here.pilot.press("slash", *"elsewhere", "enter")
        await picked(here.pilot, page, 0)
        await here.pilot.press("a")
        await picked(here.pilot, page, 3)
        await until(
            here.pilot, lambda: any("of all directories" in row for row in painted(here.app.screen)), "the title"
        )
        await here.pilot.press("slash", *"elsewhere", "enter")
        await until(here.pilot, lambda: titles(page) == ["the one elsewhere"], "what was found")
        await here.pilot.press("a")
        await until(here.pilot, lambda: titles(page) == ["the one here", "the one beside"], "this directory alone")
        await here.pilot.press("escape")


async def test_a_session_of_another_directory_is_gone_on_with_there(tmp_path: Path) -> None:
    await beside(tmp_path)
    async with room(tmp_path) as here:
        page = await opened(here)
        await picked(here.pilot, page, 2)
        await here.pilot.press("end")
        await here.pilot.press("enter")
        await until(here.pilot, lambda: not here.app.is_running, "the end of the app")
        assert here.app.elsewhere is not None
        assert here.app.elsewhere.project == tmp_path / "side"
        assert here.app.elsewhere.session == page.shown[1].id


async def test_a_session_is_exported_from_the_list(tmp_path: Path) -> None:
    first, _ = await make(tmp_path)
    written: list[tuple[str, str]] = []

    async def export(session: str, file: str) -> str:
        written.append((session, file))
        return f"Written to {file}"

    async with room(tmp_path) as here:
        here.app.options = msgspec.structs.replace(here.app.options, export=export)
        page = await opened(here)
        await picked(here.pilot, page, 2)
        await here.pilot.press("down", "e")
        await here.pilot.press(*["backspace"] * 60, *"out.html", "enter")
        await until(here.pilot, lambda: written, "the export")
        assert written == [(first, "out.html")]
        await until(here.pilot, lambda: any("Written to out.html" in row for row in painted(here.app.screen)))
        await here.pilot.press("escape")


async def test_a_row_says_whether_a_run_is_at_work(tmp_path: Path) -> None:
    first, _ = await make(tmp_path)
    async with await Store.open(tmp_path / "home", tmp_path / "project") as store:
        log = await store.session(first)
        generation = await log.runs.take("r1")
        await log.append(run=RunWrite("r1", generation, 1, b"e", b"s", "active", b"plan", "hash", "plan.toml"))
        row = {info.id: info for info in await store.sessions()}[first]
        assert state_words(row) == "run active"
        await log.append(run=RunWrite("r1", generation, 2, b"e", b"s", "paused"))
        await log.close()
        row = {info.id: info for info in await store.sessions()}[first]
        assert state_words(row) == "run paused"
        log = await store.session(first)
        await log.append(run=RunWrite("r1", generation, 3, b"e", b"s", "complete"))
        await log.close()
        row = {info.id: info for info in await store.sessions()}[first]
        assert state_words(row) == "interrupted"
