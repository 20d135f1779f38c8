"""`recall` and `write_notes` over a real log: what a model gets, word for word, bounded and with every gap named."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.log.kit import Clock, answer, prompt, raw, result
from tests.tools.support import make_context, run
from tui.log import MemorySession, SessionLog, Store
from tui.log.entries import Answer, Checkpoint, Notes, Pinned, Prompt, TaskSet
from tui.log.paths import database_file
from tui.messages import AssistantMessage, Json, StopReason, Text, Thinking, ToolCall, UserMessage
from tui.tools.base import Outcome, Tool, ToolError
from tui.tools.recall import NOTES_BYTES, PAGE, memory_tools
from tui.tools.registry import guarded
from tui.tools.schema import check

pytestmark = pytest.mark.anyio


def tools(log: SessionLog) -> tuple[Tool, Tool]:
    recall, notes = memory_tools(lambda: log.search, lambda text: log.append(Notes(text)))
    return guarded(recall), guarded(notes)


async def recall(log: SessionLog, folder: Path, **args: Json) -> str:
    assert check(tools(log)[0].spec.parameters, args) == ""
    return (await run(tools(log)[0], make_context(folder), **args)).text


@pytest.fixture
async def log() -> AsyncIterator[SessionLog]:
    session = MemorySession(clock=Clock())
    yield session
    await session.close()


@pytest.fixture
async def filled(log: SessionLog) -> SessionLog:
    call = ToolCall("c1", "bash", {"command": "pytest -q tests/価格"})
    await log.append(
        prompt("Fix the price parser"),
        Answer(AssistantMessage((Thinking("hidden"), Text("Running."), call), StopReason.TOOL_CALLS)),
        result("c1", "3 failed: 価格が違います"),
        answer("The parser is fixed."),
        Checkpoint(origin="self", first="", last="", last_depth=3, summary="Parser fixed, tests in tests/価格."),
        prompt("Go on with the invoices"),
    )
    return log


async def test_hits_name_their_entry_kind_and_words_across_checkpoints(filled: SessionLog, tmp_path: Path) -> None:
    text = await recall(filled, tmp_path, query="parser")
    assert text.splitlines() == [
        "3 hits on this path for the exact text, newest first.",
        "[4] summary, 2023-11-14 22:13 UTC: Parser fixed, tests in tests/価格.",
        "[3] answer, 2023-11-14 22:13 UTC: The parser is fixed.",
        "[0] prompt, 2023-11-14 22:13 UTC: Fix the price parser",
    ]


@pytest.mark.parametrize(
    ("query", "entries"),
    [("価格が", ["2"]), ("価", ["4", "2", "1"]), ("pytest -q", ["1"]), ("hidden", []), ("price invoices", [])],
)
async def test_chinese_japanese_arguments_and_short_queries(
    filled: SessionLog, tmp_path: Path, query: str, entries: list[str]
) -> None:
    text = await recall(filled, tmp_path, query=query)
    assert re.findall(r"^\[(\d+)\]", text, re.MULTILINE) == entries
    assert ("branches=true" in text) == (not entries)


async def test_fifty_hits_of_300_characters_at_most(log: SessionLog, tmp_path: Path) -> None:
    await log.append(*(prompt(f"needle {'hay ' * 500}") for _ in range(60)))
    lines = (await recall(log, tmp_path, query="needle")).splitlines()
    hits = [line for line in lines if line.startswith("[")]
    assert len(hits) == 50
    assert max(len(line) for line in hits) < 350
    assert lines[-1].startswith("There are more")


async def test_a_range_is_read_word_for_word(filled: SessionLog, tmp_path: Path) -> None:
    text = await recall(filled, tmp_path, first="1", last="2")
    assert text == (
        "[1] answer, 2023-11-14 22:13 UTC\nRunning.\nbash\ncommand: pytest -q tests/価格\n\n"
        "[2] result, 2023-11-14 22:13 UTC\nbash\n3 failed: 価格が違います"
    )


async def test_what_checkpoints_refer_to_is_read_by_id(log: SessionLog, tmp_path: Path) -> None:
    entries = await log.append(TaskSet("the whole task"), Pinned(("pin one", "pin two")))
    assert "the whole task" in await recall(log, tmp_path, first=entries[0].id)
    assert "pin one\npin two" in await recall(log, tmp_path, first=entries[1].id)


async def test_pages_lead_through_a_range_and_lose_nothing(log: SessionLog, tmp_path: Path) -> None:
    """Followed as it says, page after page gives every character once, however entries and pages fall."""
    texts = [f"<{number}>" + "abcdefghij" * size for number, size in enumerate((10, 3_000, 0, 1_199, 1_201, 5))]
    await log.append(*(prompt(text) for text in texts), *(prompt(f"<{number}>") for number in range(6, 600)))
    args: dict[str, Json] = {"first": "0", "last": "599"}
    read, pages = "", 0
    while args:
        page = await recall(log, tmp_path, **args)
        assert len(page) < PAGE + 12_000
        pages += 1
        body, _, more = page.partition("\n\nMore: recall with ")
        read += re.sub(r"(?:^|\n\n)\[\d+\] prompt, [^\n]*\n?", "", body)
        found = re.match(r'\{"first": "(\d+)", "last": "(\d+)"(?:, "skip": (\d+))?\}', more)
        args = {"first": found[1], "last": found[2], "skip": int(found[3] or 0)} if found else {}
    assert read == "".join(texts) + "".join(f"<{number}>" for number in range(6, 600))
    assert pages > 5


async def test_other_branches_only_when_asked_for(log: SessionLog, tmp_path: Path) -> None:
    first = await log.append(prompt("root"))
    away = await log.append(answer("left behind"))
    await log.move(first[0].id)
    await log.append(answer("the live one"))
    assert "Nothing was found" in await recall(log, tmp_path, query="left behind")
    assert f"[{away[0].id}, on another branch] answer" in await recall(log, tmp_path, query="left", branches=True)
    assert "left behind" in await recall(log, tmp_path, first=away[0].id)


async def test_what_was_never_sent_stays_unsent(log: SessionLog, tmp_path: Path) -> None:
    await log.append(Prompt(UserMessage((Text("secret listing"),)), origin="shell", excluded=True))
    assert "Nothing was found" in await recall(log, tmp_path, query="secret")
    assert "secret" not in await recall(log, tmp_path, first="0")


async def test_gaps_are_named(tmp_path: Path) -> None:
    async with await Store.open(tmp_path, tmp_path) as store:
        log = await store.create(cwd=tmp_path)
        await log.append(*(prompt(f"needle {number}") for number in range(8)))
    with raw(database_file(tmp_path, tmp_path)) as db:
        db.execute("DELETE FROM entry WHERE (key & 0xffffffff) IN (3, 4, 6)")
    async with await Store.open(tmp_path, tmp_path) as store:
        again = await store.session(log.id)
        words = "GAP: entries 3 to 4, 6 cannot be read"
        assert words in await recall(again, tmp_path, query="needle")
        assert words in await recall(again, tmp_path, first="0", last="7")


@pytest.mark.parametrize(
    "args", [{}, {"query": " \n"}, {"first": "nowhere"}, {"first": "0", "last": "0123456789abcdef"}]
)
async def test_what_cannot_be_looked_up_says_how_to_ask(
    filled: SessionLog, tmp_path: Path, args: dict[str, Json]
) -> None:
    with pytest.raises(ToolError, match=r"Give|give"):
        await recall(filled, tmp_path, **args)


async def test_a_range_beyond_the_end_says_so(filled: SessionLog, tmp_path: Path) -> None:
    assert await recall(filled, tmp_path, first="77") == "There is no entry 77 on this path."


async def write(log: SessionLog, folder: Path, text: str) -> Outcome:
    return await run(tools(log)[1], make_context(folder), text=text)


@pytest.mark.parametrize(
    "text", ["x" * NOTES_BYTES, "語" * (NOTES_BYTES // 3), "  a\r\n\tb\x00 ", ""], ids=["ascii", "wide", "odd", "empty"]
)
async def test_the_notepad_is_replaced_whole_byte_for_byte(log: SessionLog, tmp_path: Path, text: str) -> None:
    await write(log, tmp_path, "before")
    assert (await write(log, tmp_path, text)).text == f"The notepad holds {len(text.encode())} of 8192 bytes."
    newest = await log.newest("notes")
    assert newest is not None
    assert newest.body == Notes(text)


@pytest.mark.parametrize("text", ["x" * (NOTES_BYTES + 1), "語" * (NOTES_BYTES // 3 + 1)], ids=["ascii", "wide"])
async def test_notes_that_are_too_long_are_refused_with_their_size(log: SessionLog, tmp_path: Path, text: str) -> None:
    await write(log, tmp_path, "before")
    with pytest.raises(ToolError, match=f"{len(text.encode())} bytes of UTF-8, and 8192 are the most"):
        await write(log, tmp_path, text)
    newest = await log.newest("notes")
    assert newest is not None
    assert newest.body == Notes("before")
