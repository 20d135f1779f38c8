"""A damaged session opens all the same: what is lost is a named gap, the rest is there, and it goes on."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.agent.support import bodies, options, path_of, said, session, texts
from tests.log.kit import note, prompt, result, started
from tests.log.test_faults import overwrite_page
from tests.support.provider import Provider, Reply
from tui.agent.session import open_session
from tui.log import NewerSchema, Store
from tui.log.entries import Answer, Entry, Prompt, Result, Settled, Started, ToolStarted, UnknownBody
from tui.log.gaps import GAP
from tui.log.paths import database_file
from tui.messages import AssistantMessage, StopReason, ToolCall
from tui.widgets.transcript.blocks import BlockBuilder, NoticeBlock

pytestmark = pytest.mark.anyio


async def lived(tmp_path: Path, notes: int = 0) -> Path:
    """Write a session that has a call with its result; return its database."""
    given = options(tmp_path, None)
    call = ToolCall("c", "bash", {"command": "make"})
    async with await Store.open(given.home, given.cwd) as store:
        log = await store.create(cwd=given.cwd, first=[Started(str(given.cwd), "1"), prompt("build it")])
        await log.append(Answer(AssistantMessage((call,), StopReason.TOOL_CALLS)), started("c"), result("c"))
        await log.append(Settled("answered"), *(note(f"filler {n:06} {'x' * 200}") for n in range(notes)))
        await log.append(prompt("and then?"), Settled("answered"))
    return database_file(given.home, given.cwd)


def poke(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA foreign_keys=OFF")
    db.execute("PRAGMA ignore_check_constraints=ON")
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def gaps(entries: list[Entry]) -> list[str]:
    return [entry.body.error for entry in entries if isinstance(entry.body, UnknownBody) and entry.body.kind == GAP]


async def goes_on(tmp_path: Path) -> tuple[list[Entry], list[Entry], str]:
    """Open it, say something; return what was held at once, the path afterwards, and what the model was shown."""
    async with Provider(Reply(text="done"), repeat_last=True) as provider:
        given = options(tmp_path, provider, open="newest")
        async with session(given) as (agent, _):
            await agent.settled()
            held = list(agent.branch)
            assert await said(agent, "go on") == "answered"
            path = await path_of(agent)
    return held, path, texts(provider.requests[-1])


@pytest.mark.parametrize(
    ("damage", "lost"),
    [
        ("DELETE FROM entry WHERE kind = 'prompt' AND (key & 0xffffffff) = 1", "Entry 1 "),
        ("DELETE FROM entry WHERE kind = 'result'", "Entry 4 "),
        ("DELETE FROM entry WHERE (key & 0xffffffff) IN (2, 3)", "Entries 2 to 3 "),
        ("DELETE FROM entry WHERE (key & 0xffffffff) = (SELECT leaf_depth FROM session)", "Entry 7 "),
    ],
)
async def test_a_lost_entry_is_a_named_gap_and_the_session_goes_on(tmp_path: Path, damage: str, lost: str) -> None:
    poke(await lived(tmp_path), damage)
    held, path, _ = await goes_on(tmp_path)
    assert any(line.startswith(lost) and "clew doctor" in line for line in gaps(held)), gaps(held)
    assert gaps(path) == gaps(held)
    assert [entry.body.message.authored for entry in path if isinstance(entry.body, Prompt)][-1] == "go on"
    assert isinstance(path[-1].body, Settled)


async def test_a_gap_is_shown_where_it_is_and_never_sent(tmp_path: Path) -> None:
    poke(await lived(tmp_path), "DELETE FROM entry WHERE (key & 0xffffffff) = 1")
    held, _, shown = await goes_on(tmp_path)
    builder = BlockBuilder()
    blocks = [change.block for entry in held for change in builder.add(entry, "none")]
    (gap,) = [block for block in blocks if isinstance(block, NoticeBlock) and "damaged or lost" in block.text]
    assert (gap.severity, gap.text[:8]) == ("warning", "Entry 1 ")
    assert "damaged or lost" not in shown
    assert "and then?" in shown


async def test_an_overwritten_page_costs_its_entries_and_no_more(tmp_path: Path) -> None:
    path = await lived(tmp_path, notes=900)
    poke(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    overwrite_page(path, b"filler 000450")
    held, whole, _ = await goes_on(tmp_path)
    assert gaps(held) == gaps(whole)
    (line,) = gaps(whole)
    assert line.startswith("Entries 4")
    assert len(bodies(whole, Prompt)) == 3


async def test_a_result_that_cannot_be_read_never_gets_a_second(tmp_path: Path) -> None:
    database = await lived(tmp_path)
    poke(database, "UPDATE entry SET body = x'00' WHERE kind = 'result'")
    _, path, _ = await goes_on(tmp_path)
    assert not bodies(path, Result)
    assert len([entry for entry in path if entry.kind == "result"]) == 1
    assert len(bodies(path, ToolStarted)) == 1


async def test_a_cycle_of_branches_costs_what_lies_behind_it(tmp_path: Path) -> None:
    database = await lived(tmp_path)
    given = options(tmp_path, None)
    async with await Store.open(given.home, given.cwd) as store:
        newest = await store.newest()
        assert newest is not None
        log = await store.session(newest.id)
        await log.move((await log.page())[2].id)
        await log.append(prompt("another way"), Settled("answered"))
    poke(database, "UPDATE segment SET parent_segment = id WHERE id = 2")
    held, path, _ = await goes_on(tmp_path)
    assert gaps(held) == gaps(path)
    assert gaps(held)[0].startswith("Entries 0 to ")


async def test_a_newer_form_is_refused_in_one_sentence_and_unchanged(tmp_path: Path) -> None:
    database = await lived(tmp_path)
    poke(database, "PRAGMA user_version=9", "UPDATE meta SET value=x'39' WHERE name='min_reader'")
    before = database.read_bytes()
    with pytest.raises(NewerSchema, match="format 9"):
        async with open_session(options(tmp_path, None, open="newest")):
            raise AssertionError("it must not open")
    assert database.read_bytes() == before
