"""Trash, restore, purge: what is thrown away comes back, and what is deleted is nowhere any more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.support import clew, in_terminal
from tests.log.kit import note, prompt, result
from tui.log import LeaseHeld, SessionNotFound, Store
from tui.log.entries import UnknownBody
from tui.widgets.recall import history_file, read_history, remember

pytestmark = pytest.mark.anyio
_RESUMES = """
import anyio, functools, pathlib, sys
from tui.console.sessions import resumed_session
home, here = map(pathlib.Path, sys.argv[1:3])
print("resumed", anyio.run(functools.partial(resumed_session, home, here, sys.argv[3], ask=True)))
"""
SECRET = "the-blue-heron-flies-at-noon"


@pytest.fixture
def home(isolated: Path) -> Path:
    return isolated / "clew"


async def make(home: Path, project: Path, text: str = SECRET) -> str:
    """Make a session that holds the words in every place there is."""
    async with await Store.open(home, project) as store:
        session = await store.create(cwd=project)
        first = await session.append(prompt(text), note(text), result("c1", text))
        sha256 = await session.put_blob(f"whole {text}".encode())
        await session.append(UnknownBody("later", json.dumps({"see": sha256, "text": text}).encode()))
        await session.move(first[0].id)
        await session.append(note(f"other branch {text}"))
        await session.set_draft(f"draft {text}")
        await session.set_partial(f"partial {text}".encode())
        await session.set_partial(b"")
        assert (await session.search.find(text)).hits
        await session.close()
        return session.id


def holders(folder: Path, words: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and words.encode() in path.read_bytes()]


async def test_what_is_in_the_trash_comes_back(home: Path, tmp_path: Path) -> None:
    session = await make(home, tmp_path)
    assert clew("sessions", "trash", session[:20], cwd=tmp_path).returncode == 0
    assert json.loads(clew("sessions", "--json", cwd=tmp_path).stdout) == []
    assert holders(home, SECRET)
    assert clew("sessions", "restore", session, cwd=tmp_path).returncode == 0
    assert [row["id"] for row in json.loads(clew("sessions", "--json", cwd=tmp_path).stdout)] == [session]


async def test_what_is_purged_is_in_no_file_any_more(home: Path, tmp_path: Path) -> None:
    kept = await make(home, tmp_path, "kept words stay")
    session = await make(home, tmp_path)
    history = history_file(home, tmp_path.resolve())
    remember(history, SECRET)
    remember(history, "another prompt")
    spill = home / "spill" / session / "out.txt"
    spill.parent.mkdir(parents=True)
    spill.write_text(SECRET)
    assert clew("sessions", "trash", session, cwd=tmp_path).returncode == 0
    done = clew("sessions", "purge", "--yes", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"5 entries and 1 blobs" in done.stdout
    assert holders(home, SECRET) == []
    assert read_history(history).items == ("another prompt",)
    assert [row["id"] for row in json.loads(clew("sessions", "--json", cwd=tmp_path).stdout)] == [kept]
    async with await Store.open(home, tmp_path) as store:
        assert (await store.search.find("kept words")).hits
        with pytest.raises(SessionNotFound):
            await store.info(session)


async def test_nothing_is_deleted_without_a_yes(home: Path, tmp_path: Path) -> None:
    session = await make(home, tmp_path)
    done = clew("sessions", "purge", session, cwd=tmp_path)
    assert done.returncode == 1
    assert b"--yes" in done.stderr
    assert holders(home, SECRET)


async def test_a_fork_keeps_what_it_stands_on(home: Path, tmp_path: Path) -> None:
    async with await Store.open(home, tmp_path) as store:
        origin = await store.create(cwd=tmp_path, first=[prompt("shared"), note("b"), note(SECRET)])
        fork = await origin.fork((await origin.page())[1].id)
        await fork.append(note("of the fork"))
        await origin.close()
        done = await store.purge(origin.id)
        assert (done.entries, done.kept) == (1, 2)
        assert [entry.kind for entry in await fork.page()] == ["prompt", "notice", "notice"]
        with pytest.raises(SessionNotFound):
            await store.session(origin.id)
        assert [info.id for info in await store.sessions()] == [fork.id]
        await store.search.empty()
        assert await store.wipe()
    assert holders(home, SECRET) == []


async def test_a_blob_that_another_session_names_stays(home: Path, tmp_path: Path) -> None:
    async with await Store.open(home, tmp_path) as store:
        one, two = await store.create(cwd=tmp_path), await store.create(cwd=tmp_path)
        sha256 = await one.put_blob(b"shared output")
        for session in (one, two):
            await session.append(UnknownBody("names", json.dumps(sha256).encode()))
        await one.close()
        assert (await store.purge(one.id)).blobs == 0
        assert await two.blob(sha256) == b"shared output"
        await two.close()
        assert (await store.purge(two.id)).blobs == 1


async def test_a_session_that_is_open_elsewhere_is_not_purged(home: Path, tmp_path: Path) -> None:
    async with await Store.open(home, tmp_path) as store, await Store.open(home, tmp_path) as other:
        session = await store.create(cwd=tmp_path, first=[prompt("at work")])
        with pytest.raises(LeaseHeld):
            await other.purge(session.id)
        await session.append(note("goes on"))


async def test_a_purge_of_nothing_says_so(tmp_path: Path) -> None:
    done = clew("sessions", "purge", cwd=tmp_path)
    assert done.returncode == 0
    assert b"nothing in the trash" in done.stderr


async def test_the_sessions_of_a_renamed_directory_follow_by_a_command(home: Path, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    session = await make(home, old)
    remember(history_file(home, old), "an earlier prompt")
    old.rename(new)
    for words in (("-r", session, "-p", "go on"), ("-c", "-p", "go on")):
        refused = clew(*words, cwd=new)
        assert refused.returncode in (1, 2)
        assert b"clew sessions rebind" in refused.stderr
        assert str(old).encode() in refused.stderr
    assert json.loads(clew("sessions", "--json", cwd=new).stdout) == [], "nothing follows by itself"
    done = clew("sessions", "rebind", "../old", cwd=new)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"1 session(s) of ")
    assert [row["id"] for row in json.loads(clew("sessions", "--json", cwd=new).stdout)] == [session]
    assert read_history(history_file(home, new)).items == ("an earlier prompt",)
    assert clew("sessions", "rebind", str(old), cwd=new).returncode == 1


@pytest.mark.parametrize("answer", [b"y\n", b"n\n"])
async def test_resuming_by_id_asks_where_the_directory_was_renamed(home: Path, tmp_path: Path, answer: bytes) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    session = await make(home, old)
    old.rename(new)
    status, shown = in_terminal(str(home), str(new), session, typed=answer, cwd=new, program=("-c", _RESUMES))
    assert b"seems to be" in shown
    assert (f"resumed {session}".encode() in shown) is (answer == b"y\n")
    assert (status == 0) is (answer == b"y\n")
    assert bool(json.loads(clew("sessions", "--json", cwd=new).stdout)) is (answer == b"y\n")
