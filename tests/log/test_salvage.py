"""A clean copy of a damaged database: what can be read is in it, what is lost is named, the original is as it was."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import pytest

from tests.log.kit import note, prompt, result, started, texts
from tests.log.test_faults import overwrite_page
from tui.log import Damaged, Store, check
from tui.log.entries import Notice
from tui.log.paths import database_file
from tui.log.salvage import Rebuilt, rebuild_copy

pytestmark = pytest.mark.anyio


async def branched(home: Path) -> tuple[str, str]:
    """Write a session with a branch and a fork; return the ids of both sessions."""
    async with await Store.open(home, home) as store:
        session = await store.create(cwd=home, first=[prompt("the task"), *(note(f"a{n:05}") for n in range(600))])
        await session.append(started("c"), result("c"))
        fork = await session.fork((await session.page(limit=5))[0].id)
        await fork.append(note("forked"))
        await session.move((await session.page(limit=400))[0].id)
        await session.append(note("another way"))
        await session.set_draft("unsent")
        await session.put_blob(b"bytes")
        return session.id, fork.id


def poke(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA foreign_keys=OFF")
    db.execute("PRAGMA ignore_check_constraints=ON")
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def digests(path: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in path.parent.glob(f"{path.name}*")}


async def rebuilt_in_place(home: Path) -> tuple[Rebuilt, Path]:
    """Rebuild, check that nothing of the original changed and the copy is sound, then put the copy in its place."""
    path = database_file(home, home)
    before = digests(path)
    rebuilt = await rebuild_copy(path)
    assert digests(path) == before, "the original is never changed"
    assert rebuilt.path.parent == path.parent
    assert rebuilt.path.stat().st_mode & 0o777 == 0o600
    found = await check(rebuilt.path)
    assert not [finding for finding in found if "understood" not in finding.what], found
    for name in before:
        path.with_name(name).unlink()
    rebuilt.path.rename(path)
    return rebuilt, path


async def test_a_sound_database_comes_out_with_all_it_has(tmp_path: Path) -> None:
    one, two = await branched(tmp_path)
    async with await Store.open(tmp_path, tmp_path) as store:
        before = [await (await store.session(name, write=False)).page(limit=2000) for name in (one, two)]
    rebuilt, _ = await rebuilt_in_place(tmp_path)
    assert (rebuilt.lost, rebuilt.kept) == (0, 605)
    async with await Store.open(tmp_path, tmp_path) as store:
        assert [await (await store.session(name, write=False)).page(limit=2000) for name in (one, two)] == before
        session = await store.session(one)
        assert "the task" in [landmark.head for landmark in (await session.tree()).landmarks]
        assert await session.draft() == "unsent"
        assert await session.blob(hashlib.sha256(b"bytes").hexdigest()) == b"bytes"
        await session.append(note("goes on"))


async def test_a_damaged_page_costs_its_entries_alone(tmp_path: Path) -> None:
    one, two = await branched(tmp_path)
    path = database_file(tmp_path, tmp_path)
    poke(path)
    overwrite_page(path, b"a00300")
    rebuilt, _ = await rebuilt_in_place(tmp_path)
    assert 0 < rebuilt.lost < 100
    assert rebuilt.kept + rebuilt.lost == 605
    async with await Store.open(tmp_path, tmp_path) as store:
        page = await (await store.session(two)).page(limit=2000)
        assert [entry.depth for entry in page] == list(range(len(page)))
        lost = [entry for entry in page if isinstance(entry.body, Notice) and entry.body.code == "lost"]
        assert len(lost) == rebuilt.lost
        assert {"a00000", "a00590", "forked"} <= set(texts(page))
        assert (await store.info(one)).title == "the task"


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM entry WHERE (key & 0xffffffff) = 5",
        "DELETE FROM entry WHERE key = (SELECT leaf_segment << 32 | leaf_depth FROM session LIMIT 1)",
        "UPDATE session SET leaf_segment = 77, leaf_depth = 3",
        "DELETE FROM segment WHERE id = 1",
        "DELETE FROM segment",
        "DELETE FROM session",
        "UPDATE segment SET parent_segment = 99 WHERE parent_segment IS NOT NULL",
        "UPDATE segment SET parent_segment = id, parent_depth = start_depth - 1 WHERE id > 1",
        "UPDATE segment SET start_depth = 0 WHERE id > 1",
        "UPDATE segment SET parent_depth = 900000000 WHERE id > 1",
        "UPDATE entry SET body = x'7b227f' WHERE (key & 0xffffffff) = 4",
        "DELETE FROM meta",
        "DROP INDEX entry_kind",
    ],
)
async def test_every_damage_gives_a_sound_copy(tmp_path: Path, damage: str) -> None:
    await branched(tmp_path)
    poke(database_file(tmp_path, tmp_path), damage)
    rebuilt, _ = await rebuilt_in_place(tmp_path)
    assert rebuilt.kept >= 600
    async with await Store.open(tmp_path, tmp_path) as store:
        infos = await store.sessions()
        assert infos
        for info in infos:
            session = await store.session(info.id)
            page = await session.page(limit=2000)
            assert [entry.depth for entry in page] == list(range(len(page)))
            await session.append(note("goes on"))


async def test_two_results_of_a_call_become_one(tmp_path: Path) -> None:
    await branched(tmp_path)
    path = database_file(tmp_path, tmp_path)
    poke(path, "INSERT INTO entry SELECT key + 1, id || 'x', kind, time, ref, body FROM entry WHERE kind = 'result'")
    assert any("results" in finding.what for finding in await check(path))
    rebuilt, _ = await rebuilt_in_place(tmp_path)
    assert rebuilt.lost == 1


async def test_copies_do_not_write_over_each_other(tmp_path: Path) -> None:
    await branched(tmp_path)
    path = database_file(tmp_path, tmp_path)
    names = [(await rebuild_copy(path)).path.name for _ in range(3)]
    assert names == ["log.rebuilt.sqlite", "log.rebuilt-1.sqlite", "log.rebuilt-2.sqlite"]


async def test_what_is_no_database_leaves_nothing_behind(tmp_path: Path) -> None:
    path = database_file(tmp_path, tmp_path)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\xa5" * 8192)
    with pytest.raises(Damaged):
        await rebuild_copy(path)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == b"\xa5" * 8192
