"""Looking back: words in any script, scopes, gaps, and an index that may be behind, gone or damaged at any time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.log.kit import answer, note, prompt, raw, result, started
from tui.log import EntryNotFound, MemorySession, SessionLog, Store
from tui.log.entries import Answer, Checkpoint, Prompt, UnknownBody
from tui.log.paths import database_file, search_file
from tui.log.words import matches, needles, said, snippet, trigrams
from tui.messages import AssistantMessage, Attachment, Refusal, StopReason, Text, Thinking, ToolCall, UserMessage

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


def index_of(tmp_path: Path) -> Path:
    return search_file(tmp_path / "home", tmp_path / "project")


async def depths(session: SessionLog, query: str, most: int = 50) -> list[int]:
    return [hit.depth for hit in (await session.search.find(query, most=most)).hits]


CALL = ToolCall("c1", "write", {"path": "src/Straße.py", "content": 'print("ünï")\nx = {"a": 1}', "lines": [1, 2]})
BODIES = (
    prompt('Fix the parser in src/lexer.py, it\'s 100% "wrong"'),
    Answer(AssistantMessage((Thinking("secret thought"), Text("I look first."), CALL), StopReason.TOOL_CALLS)),
    started("c1"),
    result("c1", "一二三四 漢字かな交じり文 finished: 改行を修正しました"),
    Answer(AssistantMessage((Refusal("I will not do that"),), StopReason.REFUSAL)),
    Prompt(UserMessage((Text("see this"), Attachment("stdin", "attached matter")))),
    Prompt(UserMessage((Text("a private listing"),)), origin="shell", excluded=True),
    Checkpoint(origin="self", first="", last="", last_depth=1, summary="The summary names zebra_function()."),
    note("a notice is not said by anybody"),
)


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("fix the PARSER", [0]),
        ('100% "wrong"', [0]),
        ("it's", [0]),
        ("%", [0]),
        ("_", [7]),
        ("src/Straße.py", [1]),
        ("STRASSE", []),
        ("ÜNÏ", [1]),
        ('x = {"a": 1}', [1]),
        ("[1,2]", [1]),
        ("write", [1]),
        ("secret thought", []),
        ("漢字かな", [3]),
        ("一二", [3]),
        ("修", [3]),
        ("改行を修正しました", [3]),
        ("漢字 修正", [3]),
        ("I will not", [4]),
        ("attached matter", [5]),
        ("private listing", [6]),
        ("zebra_function()", [7]),
        ("zebraXfunction", []),
        ("summary zebra_function", [7]),
        ("notice", []),
        ("look lexer", []),
        ("NOT parser OR zebra*", []),
        ('"', [1, 0]),
        ("\\", []),
        ("   ", []),
        ("", []),
    ],
)
async def test_words_are_found_as_they_were_said(session: SessionLog, query: str, where: list[int]) -> None:
    await session.append(*BODIES)
    assert await depths(session, query) == where


async def test_the_exact_text_comes_before_all_of_its_words(session: SessionLog) -> None:
    await session.append(prompt("blue then red"), prompt("red then blue"), prompt("red"))
    exact = await session.search.find("red then blue")
    words = await session.search.find("blue  red")
    assert ([hit.depth for hit in exact.hits], exact.exact) == ([1], True)
    assert ([hit.depth for hit in words.hits], words.exact) == ([1, 0], False)


async def test_what_was_never_sent_is_for_the_person_alone(session: SessionLog) -> None:
    await session.append(*BODIES)
    assert (await session.search.find("private listing", private=False)).hits == ()
    assert (await session.search.find("private listing")).hits[0].kind == "private"


async def test_at_most_as_many_as_asked_for_newest_first(session: SessionLog) -> None:
    await session.append(*(prompt(f"needle {number}") for number in range(60)))
    found = await session.search.find("needle")
    assert [hit.depth for hit in found.hits] == list(range(59, 9, -1))
    assert found.more
    assert not (await session.search.find("needle 59")).more


@pytest.mark.parametrize(
    "text", ["needle", "x" * 5_000 + "needle", "needle" + "x" * 5_000, "y" * 400 + " needle " + "z" * 400]
)
def test_a_snippet_has_300_characters_and_the_match(text: str) -> None:
    piece = snippet(text, ("needle",))
    assert len(piece) <= 300
    assert "needle" in piece
    assert "\n" not in snippet("a\nb\tneedle\r\nc", ("needle",))


async def test_only_this_path_unless_asked_for_others(session: SessionLog) -> None:
    first = await session.append(prompt("common root"))
    away = await session.append(answer("the lost branch"))
    await session.move(first[0].id)
    await session.append(answer("the live branch"))
    assert [hit.entry for hit in (await session.search.find("branch")).hits] == [session.leaf]
    every = (await session.search.find("branch", scope="session")).hits
    assert [(hit.entry, hit.on_path) for hit in every] == [(session.leaf, True), (away[0].id, False)]
    assert [hit.on_path for hit in (await session.search.find("root", scope="session")).hits] == [True]


async def test_a_fork_finds_what_it_inherited_and_no_more(store: Store) -> None:
    parent = await store.create(cwd="/somewhere")
    entries = await parent.append(prompt("inherited words"), answer("later words"))
    child = await parent.fork(entries[0].id)
    await child.append(answer("words of its own"))
    assert [hit.depth for hit in (await child.search.find("words")).hits] == [1, 0]
    assert [hit.session for hit in (await child.search.find("words", scope="session")).hits] == [child.id, child.id]


async def test_all_sessions_of_the_project_but_the_trash(store: Store) -> None:
    one, two, three = [await store.create(cwd="/somewhere") for _ in range(3)]
    for log in (one, two, three):
        await log.append(prompt("the same words"))
    await store.trash(three.id)
    assert [hit.session for hit in (await store.search.find("same words")).hits] == [two.id, one.id]
    assert [hit.session for hit in (await one.search.find("same", scope="project")).hits] == [two.id, one.id]


async def test_what_comes_later_is_found_too(session: SessionLog) -> None:
    for number in range(5):
        await session.append(prompt(f"needle {number}"))
        assert (await depths(session, "needle"))[0] == number


async def test_what_the_index_does_not_hold_yet_is_read_from_the_log(store: Store, tmp_path: Path) -> None:
    session = await store.create(cwd="/somewhere")
    await session.append(*(prompt(f"needle {number}") for number in range(6_000)))
    await session.search.catch_up(1_000)
    await session.append(*(prompt(f"needle {number}") for number in range(6_000, 12_100)))
    assert await depths(session, "needle 7") == [7_999 - number for number in range(50)]
    with raw(index_of(tmp_path)) as db:
        assert 1_000 < db.execute("SELECT count(*) FROM said").fetchone()[0] < 12_100
    assert await depths(session, "needle 12099") == [12_099]
    assert await depths(session, "3 needle", most=3) == [12_093, 12_083, 12_073]


@pytest.mark.parametrize("damage", ["not a database", "torn pages", "gone", "a folder"])
async def test_a_damaged_index_harms_nothing_and_is_made_anew(tmp_path: Path, damage: str) -> None:
    path = index_of(tmp_path)
    async with await Store.open(tmp_path / "home", tmp_path / "project") as store:
        session = await store.create(cwd="/somewhere")
        await session.append(*(prompt(f"needle {number} {'hay ' * 50}") for number in range(300)))
        assert len(await depths(session, "needle")) == 50
    match damage:
        case "not a database":
            path.write_bytes(b"nonsense" * 1000)
        case "torn pages":
            size = path.stat().st_size
            with path.open("r+b") as file:
                file.seek(8192)
                file.write(b"\xff" * (size - 8192))
        case "gone":
            path.unlink()
        case _:
            path.unlink()
            path.mkdir()
    async with await Store.open(tmp_path / "home", tmp_path / "project") as store:
        again = await store.session(session.id)
        assert await depths(again, "needle 123 hay") == [123]
        await again.append(prompt("goes on"))
        assert await depths(again, "goes on") == [300]
        assert len([entry async for page in again.entries() for entry in page]) == 301
    async with await Store.open(tmp_path / "home", tmp_path / "project") as store:
        assert await depths(await store.session(session.id), "needle 7 hay") == [7]


async def test_the_index_is_emptied_and_filled_again(store: Store, tmp_path: Path) -> None:
    session = await store.create(cwd="/somewhere")
    await session.append(prompt("needle"))
    assert await depths(session, "needle") == [0]
    await store.search.empty()
    assert not index_of(tmp_path).exists()
    assert await depths(session, "needle") == [0]


async def test_segments_whose_number_is_used_again_are_not_mixed_up(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "home", tmp_path / "project") as store:
        gone = await store.create(cwd="/somewhere")
        await gone.append(*(prompt(f"old words {number}") for number in range(5)))
        assert len(await depths(gone, "old words")) == 5
    with raw(database_file(tmp_path / "home", tmp_path / "project")) as db:
        db.executescript(
            "DELETE FROM entry; DELETE FROM lease; DELETE FROM scratch; DELETE FROM segment; DELETE FROM session"
        )
    async with await Store.open(tmp_path / "home", tmp_path / "project") as store:
        fresh = await store.create(cwd="/somewhere")
        await fresh.append(prompt("new words"), prompt("new words"))
        assert await depths(fresh, "old words") == []
        assert await depths(fresh, "new words") == [1, 0]


async def test_two_windows_share_one_index(store: Store, tmp_path: Path) -> None:
    session = await store.create(cwd="/somewhere")
    async with await Store.open(tmp_path / "home", tmp_path / "project") as other:
        follower = await other.session(session.id, write=False)
        for number in range(20):
            await session.append(prompt(f"needle {number}"))
            assert await depths(session, "needle") == await depths(follower, "needle") == list(range(number, -1, -1))


async def test_a_lost_entry_is_a_named_gap(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "home", tmp_path / "project") as store:
        session = await store.create(cwd="/somewhere")
        await session.append(*(prompt(f"needle {number}") for number in range(10)))
    with raw(database_file(tmp_path / "home", tmp_path / "project")) as db:
        db.execute("DELETE FROM entry WHERE (key & 0xffffffff) IN (3, 4, 7)")
    async with await Store.open(tmp_path / "home", tmp_path / "project") as store:
        again = await store.session(session.id)
        for _ in range(2):  # first while it is indexed, then from the index
            found = await again.search.find("needle")
            assert [hit.depth for hit in found.hits] == [9, 8, 6, 5, 2, 1, 0]
            assert [(gap.low, gap.high) for gap in found.gaps] == [(3, 4), (7, 7)]
        passage = await again.search.passage("2", "8")
        assert ([entry.depth for entry in passage.entries], passage.gaps) == ([2, 5, 6, 8], ((3, 4), (7, 7)))


async def test_an_entry_that_cannot_be_understood_is_a_gap_and_a_newer_kind_is_none(session: SessionLog) -> None:
    await session.append(prompt("needle"), UnknownBody("prompt", b"{"), UnknownBody("from-the-future", b"{}"))
    assert [(gap.low, gap.high) for gap in (await session.search.find("needle")).gaps] == [(1, 1)]


async def test_a_view_only_log_is_searched_without_an_index(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "home", tmp_path / "project") as store:
        session = await store.create(cwd="/somewhere")
        await session.append(prompt("needle"))
    async with await Store.open(tmp_path / "home", tmp_path / "project", read_only=True) as store:
        assert await depths(await store.session(session.id, write=False), "needle") == [0]
        assert not index_of(tmp_path).exists()


async def test_stretches_are_named_by_depth_or_id(session: SessionLog) -> None:
    entries = await session.append(*(prompt(f"entry {number}") for number in range(10)))
    assert [entry.depth for entry in (await session.search.passage("3")).entries] == [3]
    assert (await session.search.passage("3", "5")).entries == tuple(entries[3:6])
    assert (await session.search.passage("5", "3")).entries == tuple(entries[3:6])
    assert (await session.search.passage(entries[3].id, "900")).entries == tuple(entries[3:])
    assert (await session.search.passage("0", "9", most=4)).entries == tuple(entries[:4])
    assert (await session.search.passage("77")).entries == ()
    with pytest.raises(EntryNotFound):
        await session.search.passage("nowhere")


async def test_an_entry_of_another_branch_is_read_on_its_own_path(session: SessionLog) -> None:
    first = await session.append(prompt("root"), answer("one"))
    away = await session.append(prompt("two"))
    await session.move(first[0].id)
    await session.append(answer("elsewhere"))
    assert [entry.id for entry in (await session.search.passage(first[1].id, away[0].id)).entries] == [
        first[1].id,
        away[0].id,
    ]


@given(st.text(max_size=40), st.text(max_size=20), st.text(max_size=20))
def test_whatever_stands_in_a_text_is_found_in_it(query: str, before: str, after: str) -> None:
    for needle in needles(query)[:1]:
        words = said(prompt(f"{before} {query.strip()} {after}"))
        assert words is not None
        assert matches(words[1], needle)
        assert all(len(group) == 3 for group in trigrams(needle))


LETTERS = st.text(
    st.sampled_from("aAbBsSßẞiİıIéÉσςΣkK漢字か゛ \0\n\"%_\\'-*:^\U0001f600e\u0301"), min_size=1, max_size=6
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(LETTERS, min_size=1, max_size=12), data=st.data())
def test_the_index_finds_what_a_plain_look_finds(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], data: st.DataObject
) -> None:
    """No letter of any script, and no sign of a query language, makes the index miss an entry or invent one."""
    chosen = data.draw(st.sampled_from(texts))
    query = data.draw(st.sampled_from([chosen, chosen.upper(), chosen[1:], chosen[:2]]))
    home = tmp_path_factory.mktemp("home")

    async def both() -> tuple[list[int], list[int]]:
        async with await Store.open(home, home) as store:
            session = await store.create(cwd="/somewhere")
            await session.append(*(prompt(text) for text in texts))
            await session.search.catch_up(100)
            memory = MemorySession()
            await memory.append(*(prompt(text) for text in texts))
            found = await depths(session, query), await depths(memory, query)
            await memory.close()
            return found

    indexed, plain = anyio.run(both)
    assert indexed == plain
