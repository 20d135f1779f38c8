"""Full disks, kills, damage, read-only folders, other versions: the old state or the new one, and a named reason."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest

from tests.log.kit import end, line_of, note, other_program, result, run, started, texts
from tui.log import (
    Damaged,
    LogError,
    LogUnwritable,
    NewerSchema,
    Session,
    SessionNotFound,
    Store,
    check,
    find_session,
)
from tui.log.paths import database_file
from tui.log.schema import copy_database, durable

pytestmark = pytest.mark.anyio

APPENDER = """
import asyncio, sys
from pathlib import Path
from tui.log import Store
from tui.log.entries import Notice

async def main(home):
    async with await Store.open(Path(home), Path(home)) as store:
        log = await store.create(cwd=home)
        print(log.id, flush=True)
        for number in range(100_000):
            await log.append(Notice(f"{number}a"), Notice(f"{number}b"))
            print(number, flush=True)

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.parametrize("after", [0, 1, 7, 40])
async def test_a_kill_leaves_whole_transactions_and_all_that_were_acknowledged(tmp_path: Path, after: int) -> None:
    program = other_program(APPENDER, str(tmp_path))
    session_id = line_of(program)
    acknowledged = -1
    while acknowledged < after:
        acknowledged = int(line_of(program))
    program.kill()
    end(program)
    async with await Store.open(tmp_path, tmp_path) as store:
        session = await store.session(session_id)
        seen = texts([entry async for page in session.entries() for entry in page])
        assert len(seen) >= 2 * (acknowledged + 1)
        assert seen == [f"{number}{half}" for number in range(len(seen) // 2) for half in "ab"]
        await session.append(note("after"))
        assert session.depth == len(seen)
    assert await check(database_file(tmp_path, tmp_path)) == []


FULL_DISK = """
import asyncio, os, resource, sys
from pathlib import Path
from tui.log import LogUnwritable, Store
from tui.log.entries import Notice

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

async def main(home):
    async with await Store.open(Path(home), Path(home)) as store:
        log = await store.create(cwd=home, first=[Notice("first")])
        leaf = log.leaf
        wal = store.path.with_name("log.sqlite-wal")
        for room in (0, 1, 5_000, 50_000):
            limit(wal.stat().st_size + room)
            try:
                await log.append(Notice("small"), Notice("x" * 200_000))
            except LogUnwritable as error:
                assert "was kept" in str(error) or "is kept" in str(error), error
            else:
                raise AssertionError("it should not fit")
            assert (log.leaf, log.depth, log.writable) == (leaf, 0, True)
            assert len(await log.page()) == 1
        limit(resource.RLIM_INFINITY)
        await log.append(Notice("after"))
        print(log.id)

asyncio.run(main(sys.argv[1]))
"""


async def test_a_full_disk_leaves_nothing_half_written_and_room_mends_it(tmp_path: Path) -> None:
    program = other_program(FULL_DISK, str(tmp_path))
    session_id = line_of(program)
    assert end(program) == 0
    async with await Store.open(tmp_path, tmp_path) as store:
        assert texts(await (await store.session(session_id)).page()) == ["first", "after"]
    assert await check(database_file(tmp_path, tmp_path)) == []


async def _written(home: Path, count: int = 1) -> str:
    async with await Store.open(home, home) as store:
        session = await store.create(cwd=home)
        for start in range(0, count, 1000):
            await session.append(*(note(f"note {number:06}") for number in range(start, min(count, start + 1000))))
    return session.id


def _poke(home: Path, *statements: str) -> None:
    db = sqlite3.connect(database_file(home, home))
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


async def test_reading_only_leaves_the_folder_as_it_is(tmp_path: Path) -> None:
    session_id = await _written(tmp_path)
    before = database_file(tmp_path, tmp_path).read_bytes()
    async with await Store.open(tmp_path, tmp_path, read_only=True) as store:
        assert store.why_read_only
        session = await store.session(session_id, write=False)
        assert texts(await session.page()) == ["note 000000"]
        for refused in (session.append(note("no")), store.session(session_id), session.fork(), store.trash(session_id)):
            with pytest.raises(LogUnwritable):
                await refused
        with pytest.raises(LogUnwritable):
            await store.create(cwd=tmp_path)
    assert database_file(tmp_path, tmp_path).read_bytes() == before


async def test_reading_only_where_nothing_is_makes_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with await Store.open(home, tmp_path, read_only=True) as store:
        assert await store.sessions() == []
    assert not home.exists()


async def test_a_file_whose_maker_was_gone_before_its_tables_is_no_session_and_no_damage(tmp_path: Path) -> None:
    path = database_file(tmp_path, tmp_path)
    path.parent.mkdir(parents=True)
    path.touch()
    assert await check(path) == []
    async with await Store.open(tmp_path, tmp_path, read_only=True) as store:
        assert await store.sessions() == []
    assert path.read_bytes() == b""
    with pytest.raises(SessionNotFound):
        await find_session(tmp_path, "abcd")
    async with await Store.open(tmp_path, tmp_path) as store:
        await store.create(cwd=tmp_path, first=[note("a")])
        assert len(await store.sessions()) == 1


NOBODY = """
import asyncio, os, sys, sqlite3
from pathlib import Path
from tui.log import LogUnwritable, Store
from tui.log.entries import Notice

home = Path(sys.argv[1])

async def import_all():  # while it may still read the interpreter's own folders
    async with await Store.open(home, Path("/"), read_only=True) as store:
        await store.sessions()

asyncio.run(import_all())
if os.getuid() == 0:
    for path in [home, *home.rglob("*")]:
        os.chown(path, 65534, 65534)
    os.setgid(65534)
    os.setuid(65534)
for path in [*home.rglob("*"), home]:
    path.chmod(0o500 if path.is_dir() else 0o400)

async def main():
    async with await Store.open(home, Path("/")) as store:
        assert store.why_read_only
        (info,) = await store.sessions()
        log = await store.session(info.id, write=False)
        print(len(await log.page()))
        try:
            await log.append(Notice("no"))
        except LogUnwritable as error:
            print("refused")
    try:
        await Store.open(home, Path("/elsewhere"))
    except LogUnwritable as error:
        print("cannot create")

try:
    asyncio.run(main())
finally:
    for path in [home, *home.rglob("*")]:
        path.chmod(0o700)
"""


async def test_a_folder_without_rights_opens_view_only() -> None:
    folder = Path(tempfile.mkdtemp())  # tmp_path lies in a folder that only this user may enter
    try:
        async with await Store.open(folder / "home", Path("/")) as store:
            await store.create(cwd="/", first=[note("a"), note("b")])
        folder.chmod(0o755)
        done = run(NOBODY, str(folder / "home"))
        assert (done.stdout.split("\n"), done.stderr) == (["2", "refused", "cannot create", ""], "")
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("place", ["home", "projects", "database"])
async def test_something_else_in_the_way_is_one_clear_error(tmp_path: Path, place: str) -> None:
    home = tmp_path / "home"
    path = database_file(home, tmp_path)
    way = {"home": home, "projects": home / "projects", "database": path}[place]
    way.parent.mkdir(parents=True, exist_ok=True)
    way.write_bytes(b"not what you think, and long enough to be looked at closely" * 100)
    with pytest.raises(Damaged if place == "database" else LogUnwritable) as error:
        await Store.open(home, tmp_path)
    assert str(way) in str(error.value)
    assert way.read_bytes().startswith(b"not what")


async def test_a_newer_log_that_can_still_be_read_is_viewed(tmp_path: Path) -> None:
    session_id = await _written(tmp_path)
    _poke(tmp_path, "PRAGMA user_version=7")
    async with await Store.open(tmp_path, tmp_path) as store:
        assert "newer" in store.why_read_only
        session = await store.session(session_id, write=False)
        assert texts(await session.page()) == ["note 000000"]
        with pytest.raises(LogUnwritable):
            await session.append(note("no"))


async def test_a_newer_log_that_cannot_be_read_is_refused_unchanged(tmp_path: Path) -> None:
    await _written(tmp_path)
    _poke(tmp_path, "PRAGMA user_version=7", "UPDATE meta SET value=x'37' WHERE name='min_reader'")
    before = database_file(tmp_path, tmp_path).read_bytes()
    for read_only in (False, True):
        with pytest.raises(NewerSchema, match="format 7"):
            await Store.open(tmp_path, tmp_path, read_only=read_only)
    assert database_file(tmp_path, tmp_path).read_bytes() == before


def overwrite_page(path: Path, marker: bytes) -> None:
    """Overwrite the table page that holds a text."""
    raw = bytearray(path.read_bytes())
    size = int.from_bytes(raw[16:18], "big")
    for start in range(0, len(raw), size):
        if raw[start] == 0x0D and marker in raw[start : start + size]:
            raw[start : start + size] = b"\xa5" * size
            path.write_bytes(raw)
            return
    raise AssertionError(marker)


async def _all_that_is_left(session: Session) -> tuple[list[int], tuple[tuple[int, int], ...]]:
    """Return the depths the whole path still gives, and the gaps it names at the end."""
    seen: list[int] = []
    try:
        async for page in session.entries():
            seen += [entry.depth for entry in page]
    except Damaged as error:
        return seen, error.gaps
    return seen, ()


async def test_a_damaged_page_is_a_named_gap_and_the_rest_is_kept(tmp_path: Path) -> None:
    session_id = await _written(tmp_path, 5000)
    path = database_file(tmp_path, tmp_path)
    overwrite_page(path, b"note 002500")
    before = path.read_bytes()
    findings = await check(path)
    assert findings
    assert all(finding.what and finding.where and finding.kept and finding.todo for finding in findings)
    assert path.read_bytes() == before
    async with await Store.open(tmp_path, tmp_path) as store:
        session = await store.session(session_id)
        assert len(await session.page()) == 1000  # opening and the newest page see nothing of it
        with pytest.raises(Damaged) as damage:
            await session.page(before=3000, limit=1000)
        ((low, high),) = damage.value.gaps
        assert low <= 2500 <= high
        depths = [entry.depth for entry in damage.value.kept]
        assert depths == [*range(2000, low), *range(high + 1, 3000)]
        assert (await session.page(before=low, limit=10))[-1].depth == low - 1
        seen, gaps = await _all_that_is_left(session)
        assert seen == [*range(low), *range(high + 1, 5000)]
        assert sum(last - first + 1 for first, last in gaps) == high - low + 1
        await session.append(note("goes on"))
        assert texts(await session.page(limit=1)) == ["goes on"]


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("DELETE FROM entry WHERE (key & 0xffffffff) = 1", "missing"),
        ("DELETE FROM entry WHERE (key & 0xffffffff) = 2", "leaf"),
        ("DELETE FROM segment", "no branch"),
        ('UPDATE entry SET body=\'{"type":"notice","text":null}\' WHERE (key & 0xffffffff) = 1', "understood"),
        ("UPDATE entry SET body=x'7b227f' WHERE (key & 0xffffffff) = 1", "understood"),
    ],
)
async def test_every_other_damage_is_named(tmp_path: Path, statement: str, word: str) -> None:
    session_id = await _written(tmp_path, 3)
    _poke(tmp_path, statement.replace("='{", "=CAST('{").replace("}'", "}' AS BLOB)"))
    assert any(word in finding.what for finding in await check(database_file(tmp_path, tmp_path)))
    async with await Store.open(tmp_path, tmp_path) as store:
        session = await store.session(session_id)
        if word == "understood":
            page = await session.page()
            assert [entry.kind for entry in page] == ["notice"] * 3
            assert texts(page) == ["note 000000", "note 000002"]
        else:
            with pytest.raises(Damaged) as damage:
                await session.page()
            assert damage.value.gaps


@pytest.mark.parametrize("body", ["null", "17", "[null]", "{}", '{"type":"prompt","message":null}', "[" * 20000])
async def test_a_body_of_any_shape_is_shown_as_unreadable(tmp_path: Path, body: str) -> None:
    session_id = await _written(tmp_path, 2)
    _poke(tmp_path, f"UPDATE entry SET kind='prompt', body=CAST('{body}' AS BLOB) WHERE (key & 0xffffffff) = 0")
    async with await Store.open(tmp_path, tmp_path) as store:
        session = await store.session(session_id)
        assert [entry.kind for entry in await session.page()] == ["prompt", "notice"]
        child = await session.fork((await session.page())[0].id)
        assert len(await child.page()) == 1


async def test_a_lost_parent_branch_loses_only_what_was_older(tmp_path: Path) -> None:
    async with await Store.open(tmp_path, tmp_path) as store:
        session = await store.create(cwd=tmp_path, first=[note("a"), note("b"), note("c")])
        await session.move((await session.page())[1].id)
        await session.append(note("d"))
    _poke(tmp_path, "DELETE FROM segment WHERE id=1")
    async with await Store.open(tmp_path, tmp_path) as store:
        session = await store.session(session.id)
        assert texts(await session.page(limit=1)) == ["d"]
        with pytest.raises(Damaged) as damage:
            await session.page()
        assert damage.value.gaps == ((0, 1),)
        assert texts(damage.value.kept) == ["d"]
        with pytest.raises(Damaged):
            await session.newest("prompt")
        await session.append(note("e"))
        assert texts(await session.page(limit=2)) == ["d", "e"]


async def test_a_file_cut_short_is_damage_and_never_not_found(tmp_path: Path) -> None:
    session_id = await _written(tmp_path, 2000)
    path = database_file(tmp_path, tmp_path)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(LogError) as error:
        async with await Store.open(tmp_path, tmp_path) as store:
            await (await store.session(session_id)).page()
    assert isinstance(error.value, Damaged)
    assert await check(path)


async def test_a_damaged_database_is_named_in_a_search_and_others_are_found(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with await Store.open(home, tmp_path / "one") as store:
        lost = (await store.create(cwd=tmp_path)).id
    async with await Store.open(home, tmp_path / "two") as store:
        kept = (await store.create(cwd=tmp_path)).id
    (home / "catalogue.sqlite").unlink()
    database_file(home, tmp_path / "one").write_bytes(b"\xa5" * 8192)
    found = await find_session(home, kept[:30])
    assert (found.project, found.session) == (tmp_path / "two", kept)
    assert len(found.unreadable) == 1
    with pytest.raises(Damaged):
        await find_session(home, lost)
    database_file(home, tmp_path / "one").unlink()
    with pytest.raises(SessionNotFound):
        await find_session(home, lost)


async def test_a_lock_held_too_long_by_another_is_one_clear_error(tmp_path: Path) -> None:
    session_id = await _written(tmp_path)
    async with await Store.open(tmp_path, tmp_path) as store:
        session = await store.session(session_id)
        other = sqlite3.connect(store.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LogUnwritable, match="locked"):
            await session.append(note("no"))
        assert texts(await session.page()) == ["note 000000"]  # reading goes on
        other.execute("COMMIT")
        other.close()
        await session.append(note("yes"))
        assert session.depth == 1


async def test_one_result_for_ever_even_between_two_runs_of_the_program(tmp_path: Path) -> None:
    async with await Store.open(tmp_path, tmp_path) as store:
        session = await store.create(cwd=tmp_path, first=[started("c"), result("c", "real")])
    async with await Store.open(tmp_path, tmp_path) as store:
        again = await store.session(session.id)
        with pytest.raises(LogError, match="already has its result"):
            await again.append(result("c", "interrupted"))


async def test_a_check_of_a_live_database_sees_what_is_not_yet_moved_out_of_the_wal(tmp_path: Path) -> None:
    async with await Store.open(tmp_path, tmp_path) as store:
        session = await store.create(cwd=tmp_path, first=[note("a")])
        before = store.path.read_bytes()
        assert await check(store.path) == []
        copy = copy_database(store.path)
        db = sqlite3.connect(copy / store.path.name)
        assert db.execute("SELECT count(*) FROM entry").fetchone() == (1,)
        db.close()
        shutil.rmtree(copy)
        assert store.path.read_bytes() == before
        await session.append(note("b"))
        assert session.depth == 1


async def test_no_wal_on_a_network_file_system_even_where_there_was_one(tmp_path: Path) -> None:
    session_id = await _written(tmp_path)
    db = sqlite3.connect(database_file(tmp_path, tmp_path), isolation_level=None)
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    durable(db, network=True)
    assert db.execute("PRAGMA journal_mode").fetchone() == ("truncate",)
    assert db.execute("PRAGMA synchronous").fetchone() == (2,)
    db.close()
    async with await Store.open(tmp_path, tmp_path) as store:
        assert texts(await (await store.session(session_id)).page()) == ["note 000000"]
