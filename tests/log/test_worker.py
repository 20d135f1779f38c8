"""The thread: cancellation never parts memory from disk, and look-ups use their index."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import anyio
import pytest

from tests.log.kit import note, texts
from tui.log import Damaged, Store
from tui.log.schema import open_memory, open_project
from tui.log.segments import Span, newest, read
from tui.log.worker import Worker

pytestmark = pytest.mark.anyio


async def test_a_cancelled_scope_does_not_cut_a_write(tmp_path: Path) -> None:
    async with await Store.open(tmp_path, tmp_path) as store:
        session = await store.create(cwd=tmp_path)
        with anyio.CancelScope() as scope:
            scope.cancel()
            entries = await session.append(note("a"), note("b"))
            assert session.leaf == entries[-1].id
        assert texts(await session.page()) == ["a", "b"]


async def test_a_cancelled_task_hears_of_it_after_the_write_ended(tmp_path: Path) -> None:
    async with await Store.open(tmp_path, tmp_path) as store:
        session = await store.create(cwd=tmp_path)
        task = asyncio.ensure_future(session.append(note("a")))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert session.depth == 0
        await session.append(note("b"))
        assert texts(await session.page()) == ["a", "b"]


async def test_concurrent_appends_each_stay_whole_and_in_order(tmp_path: Path) -> None:
    async with await Store.open(tmp_path, tmp_path) as store:
        session = await store.create(cwd=tmp_path)
        async with anyio.create_task_group() as group:
            for number in range(30):
                group.start_soon(session.append, note(f"{number}a"), note(f"{number}b"))
        page = await session.page()
        assert [entry.parent for entry in page[1:]] == [entry.id for entry in page[:-1]]
        assert all(first[:-1] == second[:-1] for first, second in zip(*[iter(texts(page))] * 2, strict=True))


async def test_a_cancelled_read_ends_its_query() -> None:
    worker = Worker(open_memory, lambda _db: None, 10)
    await worker.start()
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    with anyio.move_on_after(0.05):
        await worker.read(lambda db: db.execute(endless).fetchone())
    assert await worker.read(lambda db: db.execute("SELECT 1").fetchone()) == (1,)
    await worker.stop()


async def test_signs_of_life_go_on_while_it_idles_and_while_it_works() -> None:
    beats: list[int] = []
    seen = asyncio.Event()
    loop = asyncio.get_running_loop()

    def tick(_db: sqlite3.Connection) -> None:
        beats.append(1)
        loop.call_soon_threadsafe(seen.set)

    worker = Worker(open_memory, tick, 0.01)
    await worker.start()
    await seen.wait()
    before = len(beats)
    while len(beats) < before + 3:
        await worker.read(lambda db: db.execute("SELECT 1").fetchone())
    await worker.stop()


def test_the_newest_of_a_kind_and_a_page_are_index_ranges(tmp_path: Path) -> None:
    db = open_project(tmp_path / "x" / "log.sqlite", tmp_path).connection
    statements: list[str] = []
    db.set_trace_callback(statements.append)
    newest(db, (Span(1, 0, 10),), "prompt")
    with pytest.raises(Damaged):  # there is nothing in it
        read(db, (Span(1, 0, 10),), 0, 10, limit=5)
    db.set_trace_callback(None)
    plans = [row[3] for sql in statements[:2] for row in db.execute("EXPLAIN QUERY PLAN " + sql)]
    db.close()
    assert [plan.replace("rowid", "key") for plan in plans] == [
        "SEARCH entry USING INDEX entry_kind (kind=? AND key>? AND key<?)",
        "SEARCH entry USING INTEGER PRIMARY KEY (key>? AND key<?)",
    ]
