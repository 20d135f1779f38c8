"""The landmarks beside the entries: kept with them, made for an older format, and without them still drawn."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.log.kit import answer, end, line_of, note, other_program, prompt, raw, tell
from tui.log import Store
from tui.log.entries import Checkpoint, Label, Prompt
from tui.log.nodes import TreeFacts
from tui.log.paths import database_file
from tui.messages import Attachment, Image, Text, UserMessage

pytestmark = pytest.mark.anyio
BACK = ("DROP TABLE node", "DROP INDEX segment_parent", "PRAGMA user_version=1")
"""What makes a database of this format one of the format before it."""


async def grown(home: Path) -> tuple[str, TreeFacts]:
    """Write a session with every kind of landmark and a branch; return its id and what its tree is drawn from."""
    async with await Store.open(home, home) as store:
        session = await store.create(cwd=home, first=[note("begin")])
        first, _ = await session.append(prompt("  The first\n\ttask " + "x" * 400), answer("yes"))
        await session.append(Prompt(UserMessage((Text("ls"),)), origin="shell"), prompt("\N{SNOWMAN} [/red]\x1b[2J"))
        await session.append(Prompt(UserMessage((Text("and this"),)), steer=True), Label("begin", first.id))
        await session.append(Checkpoint("manual", first.id, first.id, 1, "What was\ndone."))
        await session.move(first.id)
        await session.append(prompt("another way"), Label("", first.id), Label("lost", "no such entry"))
        return session.id, await session.tree()


async def facts_of(home: Path, session_id: str, *, read_only: bool = False) -> TreeFacts:
    async with await Store.open(home, home, read_only=read_only) as store:
        session = await store.session(session_id, write=False)
        return await session.tree()


def change(home: Path, *statements: str) -> None:
    with raw(database_file(home, home)) as db:
        for statement in statements:
            db.execute(statement)


def version(home: Path) -> int:
    db = sqlite3.connect(database_file(home, home))
    found = db.execute("PRAGMA user_version").fetchone()[0]
    db.close()
    return int(found)


async def test_prompts_checkpoints_and_labels_are_landmarks_and_nothing_else_is(tmp_path: Path) -> None:
    _, facts = await grown(tmp_path)
    said = [(mark.kind, mark.head[:24]) for mark in facts.landmarks]
    assert said == [
        ("prompt", "The first task xxxxxxxxx"),
        ("prompt", "\N{SNOWMAN} [/red]\x1b[2J"),
        ("steer", "and this"),
        ("label", "begin"),
        ("checkpoint", "manual: What was done."),
        ("prompt", "another way"),
        ("label", ""),
        ("label", "lost"),
    ]
    assert max(len(mark.head) for mark in facts.landmarks) == 200
    labels = [mark for mark in facts.landmarks if mark.kind == "label"]
    assert labels[0].id == labels[1].id == facts.landmarks[0].id
    assert labels[0].about == facts.landmarks[0].place
    assert labels[2].about == labels[2].place  # what it names is not there


async def test_attached_matter_alone_has_a_row_too(tmp_path: Path) -> None:
    async with await Store.open(tmp_path, tmp_path) as store:
        session = await store.create(cwd=tmp_path)
        image = Image(sha256="0" * 64, media_type="image/png", width=1, height=1)
        await session.append(Prompt(UserMessage((Attachment(name="a", text="b"), image))))
        assert [mark.head for mark in (await session.tree()).landmarks] == ["(attached matter alone)"]


async def test_an_older_format_is_brought_up_in_place_and_draws_the_same(tmp_path: Path) -> None:
    session_id, before = await grown(tmp_path)
    change(tmp_path, *BACK)
    assert await facts_of(tmp_path, session_id) == before
    assert version(tmp_path) == 2


async def test_an_older_format_that_is_only_looked_at_stays_and_draws_the_same(tmp_path: Path) -> None:
    session_id, before = await grown(tmp_path)
    change(tmp_path, *BACK)
    assert await facts_of(tmp_path, session_id, read_only=True) == before
    assert version(tmp_path) == 1


async def test_a_program_of_the_older_format_may_still_read(tmp_path: Path) -> None:
    await grown(tmp_path)
    db = sqlite3.connect(database_file(tmp_path, tmp_path))
    assert db.execute("SELECT value FROM meta WHERE name='min_reader'").fetchone() == (b"1",)
    db.close()


OLDER = """
import asyncio, sys
from pathlib import Path
from tui.log import Store

async def main():
    home = Path(sys.argv[1])
    async with await Store.open(home, home) as store:
        await store.session(sys.argv[2])
        print("open", flush=True)
        sys.stdin.readline()

asyncio.run(main())
"""


async def test_while_an_older_program_writes_nothing_is_brought_up(tmp_path: Path) -> None:
    session_id, before = await grown(tmp_path)
    older = other_program(OLDER, str(tmp_path), session_id)
    assert line_of(older) == "open"
    change(tmp_path, *BACK)
    async with await Store.open(tmp_path, tmp_path) as store:
        assert "older clew" in store.why_read_only
        assert await (await store.session(session_id, write=False)).tree() == before
    assert version(tmp_path) == 1
    tell(older, "leave")
    end(older)
    assert await facts_of(tmp_path, session_id) == before
    assert version(tmp_path) == 2


KILLED = """
import os, signal, sys
from pathlib import Path
from tui.log import nodes
from tui.log.schema import open_project

home, database, at = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
steps = 0
def trace(frame, event, arg):
    global steps
    if frame.f_globals.get("__name__") not in ("tui.log.schema", "tui.log.nodes"):
        return None
    steps += 1
    if steps == at:
        os.kill(os.getpid(), signal.SIGKILL)
    return trace
sys.settrace(trace)
open_project(database, home).connection.close()
sys.settrace(None)
print(steps)
"""


async def test_killed_anywhere_in_it_the_format_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    session_id, before = await grown(tmp_path)
    change(tmp_path, *BACK)
    kept = tmp_path / "kept"
    shutil.copytree(tmp_path / "projects", kept)
    whole = other_program(KILLED, str(tmp_path), str(database_file(tmp_path, tmp_path)), "0")
    steps = int(line_of(whole))
    end(whole)
    assert steps > 60
    for at in range(1, steps, 7):
        shutil.rmtree(tmp_path / "projects")
        shutil.copytree(kept, tmp_path / "projects")
        end(other_program(KILLED, str(tmp_path), str(database_file(tmp_path, tmp_path)), str(at)))
        assert version(tmp_path) in (1, 2)
        assert await facts_of(tmp_path, session_id) == before


async def test_a_damaged_page_does_not_stop_it(tmp_path: Path) -> None:
    async with await Store.open(tmp_path, tmp_path) as store:
        session = await store.create(cwd=tmp_path)
        for number in range(40):
            await session.append(prompt(f"number {number:04} " + "word " * 200))
    change(tmp_path, *BACK, "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")
    path = database_file(tmp_path, tmp_path)
    raw = bytearray(path.read_bytes())
    size = int.from_bytes(raw[16:18], "big")
    page = next(at for at in range(0, len(raw), size) if raw[at] == 0x0D and b"number 0017" in raw[at : at + size])
    raw[page : page + size] = b"\xa5" * size
    path.write_bytes(raw)
    heads = [mark.head[:11] for mark in (await facts_of(tmp_path, session.id)).landmarks]
    assert "number 0000" in heads
    assert "number 0039" in heads
    assert "number 0017" not in heads
    assert version(tmp_path) == 2


async def test_purged_words_are_gone_from_the_landmarks_too(tmp_path: Path) -> None:
    session_id, _ = await grown(tmp_path)
    async with await Store.open(tmp_path, tmp_path) as store:
        await store.trash(session_id)
        await store.purge(session_id)
    db = sqlite3.connect(database_file(tmp_path, tmp_path))
    assert not db.execute("SELECT * FROM node").fetchall()
    db.close()
