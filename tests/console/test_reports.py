"""The sub-commands over real databases."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from tests.cli.support import clew
from tui.log import Store
from tui.log.entries import Notice, Prompt
from tui.log.paths import database_file, real_project
from tui.messages import Text, UserMessage

pytestmark = pytest.mark.anyio
NASTY = "title \x1b]52;c;YQ==\x07 \x9b2J ✓"


@pytest.fixture
def home(isolated: Path) -> Path:
    return isolated / "clew"


async def make(home: Path, project: Path, *texts: str) -> list[str]:
    """Make one session for each text; return their ids."""
    ids: list[str] = []
    async with await Store.open(home, project) as store:
        for text in texts:
            session = await store.create(cwd=project)
            await session.append(Prompt(UserMessage((Text(text),))), Notice("seen"))
            ids.append(session.id)
            await session.close()
    return ids


async def test_sessions_are_listed_newest_first_and_plain(home: Path, tmp_path: Path) -> None:
    ids = await make(home, tmp_path, "first", NASTY)
    done = clew("sessions", cwd=tmp_path)
    rows = done.stdout.decode().splitlines()
    assert [row.split()[0] for row in rows] == ids[::-1]
    assert b"\x1b" not in done.stdout
    assert "\x9b" not in done.stdout.decode()
    found = json.loads(clew("sessions", "--json", cwd=tmp_path).stdout)
    assert [info["id"] for info in found] == ids[::-1]
    assert found[1]["title"] == "first"
    assert found[1]["entries"] == 2


async def test_sessions_of_another_directory_are_not_listed(home: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    await make(home, tmp_path / "other", "x")
    assert json.loads(clew("sessions", "--json", cwd=tmp_path).stdout) == []


async def test_more_sessions_than_a_page_are_all_listed(home: Path, tmp_path: Path) -> None:
    ids = await make(home, tmp_path, *map(str, range(205)))
    found = json.loads(clew("sessions", "--json", cwd=tmp_path).stdout)
    assert [info["id"] for info in found] == ids[::-1]


async def test_log_prints_every_entry_of_the_newest_or_the_named_one(home: Path, tmp_path: Path) -> None:
    ids = await make(home, tmp_path, "first", NASTY)
    newest = [json.loads(line) for line in clew("log", cwd=tmp_path).stdout.splitlines()]
    assert [entry["kind"] for entry in newest] == ["prompt", "notice"]
    assert newest[0]["body"]["message"]["content"][0]["text"] == NASTY
    assert newest[1]["parent"] == newest[0]["id"]
    named = clew("log", ids[0], cwd=tmp_path).stdout
    assert b"first" in named
    assert b"\x1b" not in clew("log", cwd=tmp_path).stdout


async def test_log_finds_a_session_anywhere_by_its_id(home: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (session,) = await make(home, tmp_path / "other", "elsewhere")
    assert b"elsewhere" in clew("log", session, cwd=tmp_path).stdout


@pytest.mark.parametrize("argv", [["log"], ["log", "zz"], ["doctor", "zz"], ["log", "\x1b[2J"]])
async def test_what_is_not_there_is_one_sentence(argv: list[str], home: Path, tmp_path: Path) -> None:
    done = clew(*argv, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert len(done.stderr.splitlines()) == 1
    assert b"\x1b" not in done.stderr


async def test_a_session_of_another_directory_is_not_gone_on_with_here(home: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (session,) = await make(home, tmp_path / "other", "x")
    done = clew("-p", "go on", "-r", session, cwd=tmp_path)
    assert done.returncode == 1
    assert str(tmp_path / "other").encode() in done.stderr


async def test_doctor_finds_nothing_in_a_sound_log(home: Path, tmp_path: Path) -> None:
    (session,) = await make(home, tmp_path, "x")
    done = clew("doctor", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"nothing is wrong" in done.stdout
    report = json.loads(clew("doctor", session, "--json", cwd=tmp_path).stdout)
    assert (report["exists"], report["findings"]) == (True, [])


async def test_doctor_names_what_is_damaged(home: Path, tmp_path: Path) -> None:
    await make(home, tmp_path, "x")
    database = database_file(home, real_project(tmp_path))
    with sqlite3.connect(database) as db:
        db.execute("DELETE FROM entry WHERE kind = 'notice'")
    db.close()
    done = clew("doctor", cwd=tmp_path)
    assert done.returncode == 1
    assert b"do: " in done.stdout
    assert json.loads(clew("doctor", "--json", cwd=tmp_path).stdout)["findings"]


async def test_doctor_writes_a_clean_copy_and_leaves_the_original(home: Path, tmp_path: Path) -> None:
    await make(home, tmp_path, "x")
    database = database_file(home, real_project(tmp_path))
    with sqlite3.connect(database) as db:
        db.execute("DELETE FROM entry WHERE (key & 0xffffffff) = 1")
        db.commit()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    before = database.read_bytes()
    done = clew("doctor", "--rebuild", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"")
    copy = database.with_name("log.rebuilt.sqlite")
    assert str(copy).encode() in done.stderr
    assert b"1 that could not be read" in done.stderr
    assert database.read_bytes() == before
    told = json.loads(clew("doctor", "--rebuild", "--json", cwd=tmp_path).stdout)
    assert (told["lost"], told["rebuilt"]) == (1, str(database.with_name("log.rebuilt-1.sqlite")))
    database.unlink()
    copy.rename(database)
    assert clew("doctor", cwd=tmp_path).returncode == 0
    assert b"could not be read any more" in clew("log", cwd=tmp_path).stdout


def test_there_is_nothing_to_rebuild_where_nothing_is(tmp_path: Path) -> None:
    done = clew("doctor", "--rebuild", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"nothing to rebuild" in done.stderr
    assert clew("log", "--rebuild", cwd=tmp_path).returncode == 2


async def test_a_file_that_is_no_database_is_one_sentence(home: Path, tmp_path: Path) -> None:
    database = database_file(home, real_project(tmp_path))
    database.parent.mkdir(parents=True)
    database.write_bytes(os.urandom(8192))
    for argv in (["sessions"], ["log"], ["doctor"]):
        done = clew(*argv, cwd=tmp_path)
        assert done.returncode == 1
        assert b"should not happen" not in done.stderr
