"""Finding a session in any project, with a catalogue that may be stale, damaged or gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.log.kit import Clock, note, prompt, raw
from tui.agent.shelf import Shelf
from tui.log import AmbiguousSession, SessionNotFound, Store, find_session, rebuild
from tui.log.paths import catalogue_file

pytestmark = pytest.mark.anyio


async def _two_projects(home: Path) -> tuple[str, str]:
    ids: list[str] = []
    for name in ("one", "two"):
        async with await Store.open(home, home / name, clock=Clock()) as store:
            ids.append((await store.create(cwd=home / name, first=[prompt(name)])).id)
    return ids[0], ids[1]


async def test_a_session_is_found_in_any_project(tmp_path: Path) -> None:
    one, two = await _two_projects(tmp_path)
    for session, name in ((one, "one"), (two, "two")):
        found = await find_session(tmp_path, session)
        assert (found.project, found.session, found.unreadable) == (tmp_path / name, session, ())
        assert (await find_session(tmp_path, session[:-1])).session == session


async def test_letters_that_fit_several_name_them(tmp_path: Path) -> None:
    one, two = await _two_projects(tmp_path)
    with pytest.raises(AmbiguousSession) as error:
        await find_session(tmp_path, one[:8])
    assert sorted(error.value.candidates) == sorted([one, two])


@pytest.mark.parametrize("letters", ["", "zzz", "%", "_", "'"])
async def test_letters_that_fit_none_are_not_found(tmp_path: Path, letters: str) -> None:
    with pytest.raises(SessionNotFound):
        await find_session(tmp_path / "nowhere", letters)
    await _two_projects(tmp_path)
    with pytest.raises(SessionNotFound):
        await find_session(tmp_path, letters)


@pytest.mark.parametrize("content", [None, b"", b"\xa5" * 5000])
async def test_the_catalogue_may_be_gone_or_damaged(tmp_path: Path, content: bytes | None) -> None:
    one, _ = await _two_projects(tmp_path)
    path = catalogue_file(tmp_path)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    assert (await find_session(tmp_path, one)).project == tmp_path / "one"
    async with await Store.open(tmp_path, tmp_path / "one") as store:
        session = await store.session(one)
        await session.append(note("goes on"))
        await session.set_title("new name")
        assert bool(store.trouble) is bool(content)


async def test_a_stale_line_of_the_catalogue_is_not_believed(tmp_path: Path) -> None:
    one, _ = await _two_projects(tmp_path)
    async with await Store.open(tmp_path, tmp_path / "one") as store:
        path = store.path
    path.unlink()
    with pytest.raises(SessionNotFound):
        await find_session(tmp_path, one)


async def test_it_can_be_written_anew(tmp_path: Path) -> None:
    one, _ = await _two_projects(tmp_path)
    catalogue_file(tmp_path).unlink()
    assert await rebuild(tmp_path) == (2, ())
    assert (await find_session(tmp_path, one)).session == one


async def test_a_list_of_sessions_reads_none_of_them(tmp_path: Path) -> None:
    """What it shows stands in rows of its own: with every entry gone it is the same to the letter."""
    async with await Store.open(tmp_path, tmp_path / "one", clock=Clock()) as store:
        for number in range(120):
            session = await store.create(cwd=tmp_path, first=[prompt(f"words {number}"), note("more")])
            await session.close()
        path = store.path
    shelf = Shelf(tmp_path, tmp_path / "one")
    before = await shelf.page()
    assert (before[0][0].title, before[0][0].state != "") == ("words 119", True)
    with raw(path) as db:
        db.execute("UPDATE entry SET body=x'00'")
        db.execute("DELETE FROM node")
    assert await shelf.page() == before
