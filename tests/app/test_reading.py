"""Reading back: steps, folds, search and copying, by keys."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from textual import on
from textual.pilot import Pilot

from tests.app.painted import assert_sound, painted
from tests.app.stage import Stage, conversation, entries
from tests.app.waiting import until
from tui.agent.events import AgentEvent, AnswerDelta, AnswerStarted, EntryAdded
from tui.log.entries import Answer, Body, Prompt, Result, Settled, ToolStarted
from tui.messages import AssistantMessage, StopReason, Text, ToolCall, ToolResult, UserMessage
from tui.screens.reading import ReadingBars
from tui.widgets.reading_bars import BrowseBar, SearchBar
from tui.widgets.transcript.blocks import AnswerBlock, PromptBlock, ToolBlock

pytestmark = pytest.mark.anyio


class Reader(Stage):
    """A stage that remembers what leaves the screen."""

    copied: list[str]
    opened: list[tuple[str, str]]

    @on(ReadingBars.CopyAsked)
    def note_copy(self, event: ReadingBars.CopyAsked) -> None:
        self.copied.append(event.text)

    @on(ReadingBars.OpenAsked)
    def note_opening(self, event: ReadingBars.OpenAsked) -> None:
        self.opened.append((event.where, event.text))


def long_talk(turns: int = 30) -> list[AgentEvent]:
    bodies: list[Body] = []
    for n in range(turns):
        call = ToolCall(id=f"c{n}", name="bash", arguments={"command": f"make part{n}"})
        output = "\n".join(f"row {at} of {n}" for at in range(40))
        bodies += [
            Prompt(UserMessage((Text(f"question {n}"),))),
            Answer(AssistantMessage((Text(f"I look at {n}."), call), StopReason.TOOL_CALLS)),
            ToolStarted(f"c{n}", "bash"),
            Result(ToolResult(f"c{n}", "bash", (Text(output),)), details={"exit": 0}),
            Answer(AssistantMessage((Text(f"Answer {n}:\n\n```py\nprint({n})\n```\n"),), StopReason.COMPLETE)),
            Settled("answered", stop=StopReason.COMPLETE),
        ]
    return [EntryAdded(entry) for entry in entries(*bodies)]


@asynccontextmanager
async def reader(*events: AgentEvent, size: tuple[int, int] = (80, 24)) -> AsyncGenerator[tuple[Reader, Pilot[None]]]:
    app = Reader(events or long_talk())
    app.copied, app.opened = [], []
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.pause()
        yield app, pilot


async def browse(app: Reader, pilot: Pilot[None]) -> None:
    await pilot.press("f4")
    await until(pilot, lambda: isinstance(app.focused, BrowseBar), "the keyboard")


async def test_prompts_are_stepped_through_and_the_keyboard_stays() -> None:
    async with reader() as (app, pilot):
        transcript = app.main.feed.transcript
        await pilot.press("alt+up", "alt+up")
        block = transcript.marked_block
        assert isinstance(block, PromptBlock)
        assert block.text == "question 28"
        assert any("question 28" in row for row in painted(app.screen))
        assert app.main.editor.has_focus
        await pilot.press("alt+down")
        block = transcript.marked_block
        assert isinstance(block, PromptBlock)
        assert block.text == "question 29"
        await pilot.press("alt+down")
        assert transcript.following


async def test_each_block_is_marked_in_turn_and_always_in_view() -> None:
    async with reader() as (app, pilot):
        await browse(app, pilot)
        seen: list[str] = []
        for _ in range(12):
            block = app.main.feed.transcript.marked_block
            assert block is not None
            seen.append(block.id)
            assert sum(row.startswith("▌") for row in painted(app.screen)) >= 1
            assert_sound(app.screen)
            await pilot.press("up")
        assert len(set(seen)) == 12
        await pilot.press("escape")
        await until(pilot, lambda: app.main.editor.has_focus)
        assert app.main.feed.transcript.marked_block is None


async def test_a_block_folds_by_key_and_all_of_a_kind() -> None:
    async with reader() as (app, pilot):
        await browse(app, pilot)
        transcript = app.main.feed.transcript
        while not isinstance(transcript.marked_block, ToolBlock):
            await pilot.press("up")
        assert not any("row 0 of 29" in row for row in painted(app.screen))
        await pilot.press("enter")
        assert any("row 0 of 29" in row for row in painted(app.screen))
        await pilot.press("enter")
        assert not any("row 0 of 29" in row for row in painted(app.screen))
        tools = [block for block in transcript.document.blocks if isinstance(block, ToolBlock)]
        await pilot.press("t")
        assert all(map(transcript.document.is_open, tools))
        await pilot.press("t")
        assert not any(map(transcript.document.is_open, tools))


async def test_a_block_is_copied_as_it_was_written_and_its_code_alone() -> None:
    async with reader() as (app, pilot):
        await browse(app, pilot)
        while not isinstance(app.main.feed.transcript.marked_block, AnswerBlock):
            await pilot.press("up")
        await pilot.press("y", "x", "o", "e")
        await until(pilot, lambda: len(app.opened) == 2)
        assert app.copied == ["Answer 29:\n\n```py\nprint(29)\n```", "print(29)"]
        assert app.opened == [("page", app.copied[0]), ("edit", app.copied[0])]


async def test_hits_are_found_marked_and_gone_through_folded_ones_too() -> None:
    async with reader() as (app, pilot):
        await pilot.press("f3")
        await until(pilot, lambda: bool(app.main.query(SearchBar)) and app.focused is not app.main.editor)
        await pilot.press(*"ROW".lower(), "space", "0", "space", *"of")
        await until(pilot, lambda: any("30 found" in row for row in painted(app.screen)), "the count")
        await pilot.press("enter")
        assert any("row 0 of 29" in row for row in painted(app.screen))
        await pilot.press("enter")
        assert any("row 0 of 28" in row for row in painted(app.screen))
        await pilot.press("down")
        assert any("row 0 of 29" in row for row in painted(app.screen))
        await pilot.press("down")
        await until(pilot, lambda: any("no more" in row for row in painted(app.screen)))
        assert_sound(app.screen)
        await pilot.press("escape")
        await until(pilot, lambda: app.main.editor.has_focus)


async def test_reading_back_stays_put_while_text_streams_in() -> None:
    async with reader(*conversation(), *long_talk()) as (app, pilot):
        await pilot.press("alt+up", "alt+up", "alt+up")
        before = painted(app.screen)[:12]
        app.main.show(AnswerStarted("a"))
        for n in range(50):
            app.main.show(AnswerDelta(f"line {n}\n\n"))
        app.main.feed.transcript.flush()
        await pilot.pause()
        assert painted(app.screen)[:12] == before
