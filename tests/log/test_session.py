"""What one session promises: order, parents, branches, forks, look-ups, mutable rows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.log.kit import Clock, answer, note, prompt, raw, result, started, texts
from tui.log import (
    Damaged,
    DuplicateResult,
    EntryNotFound,
    LogClosed,
    LogUnwritable,
    MemorySession,
    Session,
    SessionLog,
    SessionNotFound,
    Store,
)
from tui.log.entries import UnknownBody

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path / "home", tmp_path / "project") as store:
        yield store


@pytest.fixture(params=["disk", "memory"])
async def session(request: pytest.FixtureRequest, store: Store) -> AsyncIterator[SessionLog]:
    session: SessionLog = await store.create(cwd="/somewhere") if request.param == "disk" else MemorySession()
    yield session
    await session.close()


async def test_an_empty_session_has_no_leaf(session: SessionLog) -> None:
    assert (session.leaf, session.depth, session.writable) == (None, -1, True)
    assert await session.page() == []
    assert await session.newest("prompt") is None
    assert await session.append() == ()
    assert [page async for page in session.entries()] == []


async def test_entries_come_back_as_they_went_in_each_after_its_parent(session: SessionLog) -> None:
    first = await session.append(prompt("one"), answer("two"))
    second = await session.append(note("three"))
    page = await session.page()
    assert page == [*first, *second]
    assert [entry.parent for entry in page] == [None, page[0].id, page[1].id]
    assert [entry.depth for entry in page] == [0, 1, 2]
    assert (session.leaf, session.depth) == (page[2].id, 2)


@pytest.mark.parametrize(
    "text", ["a\x00b", "\u2028 \u2029 \x85 \x1c", "\r\n\r", "\ufeff", "𝄞 👩‍👩‍👧", "\x1b[2J", "\\ud800", ""]
)
async def test_every_text_comes_back_byte_for_byte(session: SessionLog, text: str) -> None:
    await session.append(prompt(text), note(text))
    await session.set_draft(text)
    assert [entry.body for entry in await session.page()] == [prompt(text), note(text)]
    assert await session.draft() == text


async def test_a_lone_surrogate_nobody_cleaned_does_not_stop_the_journal(session: SessionLog) -> None:
    (entry,) = await session.append(note("bad \ud800 text"))
    assert entry.body == note("bad \ufffd text")
    assert await session.page() == [entry]
    await session.set_draft("bad \ud800")
    assert await session.draft() == "bad ?"


async def test_pages_walk_back_to_the_root(session: SessionLog) -> None:
    await session.append(*(note(str(number)) for number in range(25)))
    seen: list[str] = []
    before: int | None = None
    while before != 0:
        page = await session.page(before=before, limit=10)
        seen = texts(page) + seen
        before = page[0].depth
    assert seen == [str(number) for number in range(25)]
    assert texts(await session.since(23)) == ["23", "24"]
    assert await session.since(25) == []
    assert await session.page(before=0) == []


async def test_a_page_of_huge_entries_ends_early_but_never_empty(session: SessionLog) -> None:
    await session.append(*(note(letter * 20_000_000) for letter in "abc"))
    assert [text[0] for text in texts(await session.page())] == ["b", "c"]
    assert [text[0] for page in [page async for page in session.entries()] for text in texts(page)] == ["a", "b", "c"]


async def test_the_newest_of_a_kind_is_looked_up_across_branches(session: SessionLog) -> None:
    entries = await session.append(prompt("root"), note("old"), note("later"))
    await session.move(entries[1].id)
    await session.append(answer("other way"))
    newest = await session.newest("notice")
    assert newest is not None
    assert newest.body == note("old")
    assert (await session.newest("answer")) == (await session.page())[-1]


async def test_moving_back_and_appending_opens_a_branch_and_loses_nothing(session: SessionLog) -> None:
    entries = await session.append(note("a"), note("b"), note("c"))
    await session.move(entries[0].id)
    assert (session.leaf, session.depth) == (entries[0].id, 0)
    await session.append(note("d"))
    assert texts(await session.page()) == ["a", "d"]
    await session.move(entries[2].id)
    assert texts(await session.page()) == ["a", "b", "c"]
    await session.append(note("e"))
    assert texts(await session.page()) == ["a", "b", "c", "e"]


async def test_a_move_and_what_is_written_there_are_one_transaction(session: SessionLog) -> None:
    entries = await session.append(result("call"), note("b"), note("c"))
    with pytest.raises(DuplicateResult):
        await session.move(entries[1].id, note("never"), result("call"))
    assert (session.leaf, texts(await session.page())) == (entries[2].id, ["b", "c"])
    (added,) = await session.move(entries[1].id, note("d"))
    assert (added.parent, session.leaf) == (entries[1].id, added.id)
    assert texts(await session.page()) == ["b", "d"]


async def test_any_path_can_be_read_and_the_leaf_stays(session: SessionLog) -> None:
    entries = await session.append(note("a"), note("b"), result("call"), note("c"))
    await session.move(entries[0].id, note("d"))
    there = await session.at(entries[2].id)
    assert texts(await there.page()) == ["a", "b"]
    assert [entry.kind for entry in await there.since(2)] == ["result"]
    assert [text for page in [page async for page in there.entries()] for text in texts(page)] == ["a", "b"]
    assert await there.newest("notice") == entries[1]
    assert await there.find_ref("call", "result") == entries[2]
    assert texts(await session.page()) == ["a", "d"]
    assert await session.find_ref("call", "result") is None
    with pytest.raises(EntryNotFound):
        await session.at("nothing")


async def test_moving_to_where_the_leaf_is_opens_no_branch_later(session: SessionLog) -> None:
    entries = await session.append(note("a"), note("b"))
    await session.move(entries[1].id)
    await session.append(note("c"))
    assert texts(await session.page()) == ["a", "b", "c"]


async def test_a_fork_writes_to_itself_and_names_its_parent(store: Store) -> None:
    parent = await store.create(cwd="/p", first=[prompt("the task"), note("b"), note("c")])
    at = (await parent.page())[1]
    child = await parent.fork(at.id)
    await child.append(note("mine"))
    await parent.append(note("theirs"))
    assert texts(await child.page()) == ["b", "mine"]
    assert texts(await parent.page()) == ["b", "c", "theirs"]
    info = await store.info(child.id)
    assert (info.forked_from, info.forked_at, info.title, info.cwd) == (parent.id, at.id, "the task", Path("/p"))


async def test_a_fork_of_the_first_entry_and_of_an_empty_session_names_its_parent(store: Store) -> None:
    parent = await store.create(cwd="/p")
    empty = await parent.fork()
    assert (await store.info(empty.id)).forked_from == parent.id
    (first,) = await parent.append(note("a"))
    child = await parent.fork(first.id)
    await child.append(note("b"))
    assert texts(await child.page()) == ["a", "b"]
    assert (await store.info(child.id)).forked_at == first.id
    await empty.append(note("c"))
    assert texts(await empty.page()) == ["c"]


async def test_a_fork_takes_the_leaf_as_it_is_active_not_the_newest_insert(session: SessionLog) -> None:
    entries = await session.append(note("a"), note("x"))
    await session.move(entries[0].id)
    await session.append(note("y"))
    await session.move(entries[1].id)
    child = await session.fork()
    assert texts(await child.page()) == ["a", "x"]
    await child.close()


async def test_a_fork_can_move_within_what_it_inherited_but_not_beyond(session: SessionLog) -> None:
    entries = await session.append(note("a"), note("b"), note("c"))
    child = await session.fork(entries[1].id)
    await child.append(note("d"))
    await child.move(entries[0].id)
    await child.append(note("e"))
    assert texts(await child.page()) == ["a", "e"]
    with pytest.raises(EntryNotFound):
        await child.move(entries[2].id)
    assert texts(await child.page()) == ["a", "e"]
    await child.close()


async def test_no_move_to_what_does_not_exist(session: SessionLog) -> None:
    await session.append(note("a"))
    with pytest.raises(EntryNotFound):
        await session.move("nothing")
    assert session.depth == 0


async def test_the_first_durable_result_of_a_call_wins(session: SessionLog) -> None:
    await session.append(started("c1"), started("c2"))
    await session.append(result("c1", "interrupted"))
    with pytest.raises(DuplicateResult):
        await session.append(note("late"), result("c1", "real"))
    assert texts(await session.page()) == []
    with pytest.raises(DuplicateResult):
        await session.append(result("c2"), result("c2"))
    await session.append(result("c2"))
    found = await session.find_ref("c1", "result")
    assert found is not None
    assert found.body == result("c1", "interrupted")


async def test_another_branch_has_results_of_its_own(session: SessionLog) -> None:
    entries = await session.append(started("c"), result("c", "one"))
    await session.move(entries[0].id)
    assert await session.find_ref("c", "result") is None
    await session.append(result("c", "two"))
    found = await session.find_ref("c", "result")
    assert found is not None
    assert found.body == result("c", "two")
    await session.move(entries[1].id)
    found = await session.find_ref("c", "result")
    assert found == entries[1]


async def test_a_delivered_message_is_found_by_its_waiting_id(session: SessionLog) -> None:
    (entry,) = await session.append(prompt("later", queued="w1"))
    assert await session.find_ref("w1", "prompt") == entry
    assert await session.find_ref("w2", "prompt") is None


async def test_the_first_prompt_names_the_session_until_somebody_does(session: SessionLog) -> None:
    await session.append(prompt("\n  " + "long " * 40 + "\nsecond line"))
    title = await session.title()
    assert title.startswith("long long")
    assert len(title) <= 80
    await session.append(prompt("other"))
    assert await session.title() == title
    await session.set_title("mine")
    await session.append(prompt("third"))
    assert await session.title() == "mine"


async def test_an_answer_ends_the_growing_one_in_the_same_transaction(session: SessionLog) -> None:
    assert await session.partial() == b""
    await session.set_partial(b"half\x00 an answer")
    await session.append(note("between"))
    assert await session.partial() == b"half\x00 an answer"
    await session.append(answer("a whole answer"))
    assert await session.partial() == b""


async def test_blobs_are_stored_once_and_found_by_hash(session: SessionLog) -> None:
    big = bytes(range(256)) * 1000
    name = await session.put_blob(big)
    assert await session.put_blob(big) == name
    assert await session.blob(name) == big
    assert await session.blob("0" * 64) is None
    assert await session.blob(await session.put_blob(b"")) == b""


async def test_a_closed_session_refuses_politely(session: SessionLog) -> None:
    await session.append(note("a"))
    await session.close()
    await session.close()
    assert not session.writable
    with pytest.raises(LogClosed):
        await session.append(note("b"))
    with pytest.raises(LogClosed):
        await session.page()


async def test_a_closed_store_refuses_politely(tmp_path: Path) -> None:
    store = await Store.open(tmp_path, tmp_path)
    session = await store.create(cwd=tmp_path)
    await store.close()
    await store.close()
    with pytest.raises(LogClosed):
        await session.append(note("b"))
    with pytest.raises(LogClosed):
        await store.sessions()


async def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "h", tmp_path) as store:
        session = await store.create(cwd=tmp_path, first=[note("a"), note("b")])
        entries = await session.page()
        await session.move(entries[0].id)
        await session.append(note("c"))
        await session.set_draft("unsent")
        written = await session.page()
    async with await Store.open(tmp_path / "h", tmp_path) as store:
        again = await store.session(session.id)
        assert await again.page() == written
        assert again.leaf == written[-1].id
        assert await again.draft() == "unsent"
        await again.append(note("d"))
        assert texts(await again.page()) == ["a", "c", "d"]


async def test_a_leaf_moved_back_is_still_there_after_a_restart(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "h", tmp_path) as store:
        session = await store.create(cwd=tmp_path, first=[note("a"), note("b")])
        await session.move((await session.page())[0].id)
    async with await Store.open(tmp_path / "h", tmp_path) as store:
        assert texts(await (await store.session(session.id)).page()) == ["a"]


async def test_sessions_are_listed_by_use_even_if_the_clock_goes_back(tmp_path: Path) -> None:
    clock = Clock()
    async with await Store.open(tmp_path / "h", tmp_path, clock=clock) as store:
        assert await store.newest() is None
        made: list[Session] = []
        for name in "abc":
            made.append(await store.create(cwd=tmp_path, first=[prompt(name)]))
            clock.now -= 5
        await made[0].append(note("used again"))
        first = await store.sessions(limit=2)
        rest = await store.sessions(limit=2, before=first[-1].recent)
        assert [info.title for info in first + rest] == ["a", "c", "b"]
        assert [info.entries for info in first + rest] == [2, 1, 1]
        await store.trash(made[0].id)
        newest = await store.newest()
        assert newest is not None
        assert newest.title == "c"
        await store.trash(made[0].id, trashed=False)
        assert [info.title for info in await store.sessions()] == ["a", "c", "b"]


async def test_what_is_not_there_is_not_found(store: Store) -> None:
    for write in (True, False):
        with pytest.raises(SessionNotFound):
            await store.session("nothing", write=write)
    with pytest.raises(SessionNotFound):
        await store.trash("nothing")


async def test_a_follower_sees_what_is_written_and_writes_nothing(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "h", tmp_path) as ours, await Store.open(tmp_path / "h", tmp_path) as theirs:
        writer = await ours.create(cwd=tmp_path, first=[note("a")])
        follower = await theirs.session(writer.id, write=False)
        assert texts(await follower.page()) == ["a"]
        assert not await follower.refresh()
        await writer.append(note("b"))
        assert await follower.refresh()
        assert follower.leaf == writer.leaf
        assert not await follower.refresh()
        entries = await writer.page()
        await writer.move(entries[0].id)
        await writer.append(note("c"))
        assert texts(await follower.page()) == ["a", "c"]
        assert not follower.writable
        with pytest.raises(LogUnwritable):
            await follower.append(note("no"))
        child = await follower.fork()
        await child.append(note("own"))
        assert texts(await child.page()) == ["a", "c", "own"]
        assert texts(await writer.page()) == ["a", "c"]


async def test_unknown_kinds_are_kept(session: SessionLog) -> None:
    strange = UnknownBody(kind="from-the-future", raw=b'{"type":"from-the-future","x":[1]}')
    await session.append(note("a"))
    await session.append(*[strange])
    assert (await session.page())[1].body == strange
    newest = await session.newest("from-the-future")
    assert newest is not None
    assert newest.body == strange


async def test_a_blob_that_no_longer_fits_its_hash_is_damage(tmp_path: Path) -> None:

    async with await Store.open(tmp_path / "h", tmp_path) as store:
        session = await store.create(cwd=tmp_path)
        name = await session.put_blob(b"the bytes")
    with raw(store.path) as db:
        db.execute("UPDATE blob SET data=x'00'")
    async with await Store.open(tmp_path / "h", tmp_path) as store:
        with pytest.raises(Damaged):
            await (await store.session(session.id)).blob(name)
