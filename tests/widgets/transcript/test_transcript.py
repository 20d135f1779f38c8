"""The widget in an app, headless: scrolling, streaming, folding, selecting."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.pilot import Pilot
from textual.signal import Signal
from textual.strip import Strip

from tests.widgets.transcript.entries import SESSION
from tui.screens.fast import FastScreen
from tui.widgets.transcript import Added, BlockBuilder, Transcript, fold
from tui.widgets.transcript.blocks import AnswerBlock, Block, NoticeBlock, PromptBlock, ToolBlock

ROOT = Path(__file__).parents[3]
ASYNC = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Stage(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []
        self.copied: list[str] = []

    def compose(self) -> ComposeResult:
        yield Transcript(dom_id="transcript")

    def on_document_view_older_wanted(self) -> None:
        self.heard.append("older")

    def on_document_view_new_lines(self, event: Transcript.NewLines) -> None:
        self.heard.append(f"new {event.count}")

    def copy_to_clipboard(self, text: str) -> None:
        self.copied.append(text)

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)


Act = Callable[[Pilot[None], Stage, Transcript], Awaitable[None]]


def rows(transcript: Transcript) -> list[str]:
    region = Region(0, 0, transcript.size.width, transcript.size.height)
    return [strip.text.rstrip() for strip in transcript.render_lines(region)]


def many(count: int) -> list[Block]:
    return [
        block
        for n in range(count)
        for block in (PromptBlock(f"p{n}", f"prompt {n}"), AnswerBlock(f"a{n}", f"answer *{n}*\n\n- one\n- two\n"))
    ]


async def play(act: Act, size: tuple[int, int] = (60, 20)) -> None:
    app = Stage()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await act(pilot, app, app.transcript)


@ASYNC
async def test_the_end_is_in_view_and_stays() -> None:
    async def act(pilot: Pilot[None], _app: Stage, transcript: Transcript) -> None:
        transcript.load(many(100))
        assert rows(transcript)[-1] == " │ • two"
        transcript.append(NoticeBlock("n", "last [/red]"))
        await pilot.pause()
        assert rows(transcript)[-1] == " · last [/red]"
        assert transcript.following

    await play(act)


@ASYNC
async def test_growing_lays_out_nothing() -> None:
    async def act(pilot: Pilot[None], app: Stage, transcript: Transcript) -> None:
        transcript.load(many(30))
        await pilot.pause()
        layouts: list[str] = []
        signal = cast("Signal[object]", cast("Any", app.screen).screen_layout_refresh_signal)
        signal.subscribe(transcript, lambda _: layouts.append("layout"))
        transcript.stream_begin("live", "answer")
        for _ in range(20):
            transcript.stream_write("more words\n\n")
            transcript.flush()
            await pilot.pause()
        transcript.action_page_up()
        await pilot.pause()
        assert layouts == []

    await play(act)


@ASYNC
async def test_scrolled_up_nothing_moves_and_new_lines_are_counted() -> None:
    async def act(pilot: Pilot[None], app: Stage, transcript: Transcript) -> None:
        transcript.load(many(50))
        await pilot.press("pageup")
        before = rows(transcript)
        assert not transcript.following
        transcript.stream_begin("live", "answer")
        transcript.stream_write("a\n\nb")
        transcript.flush()
        transcript.replace(PromptBlock("p0", "now\nthis\nis\nlonger"))
        assert rows(transcript) == before
        assert transcript.new_lines == 4
        await pilot.press("end")
        assert transcript.following
        await pilot.pause()
        assert app.heard[-1] == "new 0"

    await play(act)


class Counted(Transcript):
    painted = 0

    def render_lines(self, crop: Region) -> list[Strip]:
        self.painted += 1
        return super().render_lines(crop)


class CountingStage(Stage):
    def get_default_screen(self) -> FastScreen:
        return FastScreen()

    def compose(self) -> ComposeResult:
        yield Counted(dom_id="transcript")


@ASYNC
async def test_what_is_out_of_view_paints_nothing() -> None:
    app = CountingStage()
    async with app.run_test(size=(60, 20)) as pilot:
        transcript = app.query_one(Counted)
        running = ToolBlock("call:c", "c", "bash", {"command": "make"}, state="running")
        transcript.load([*many(50), running])
        await pilot.press("home")
        await pilot.pause()
        for follows, wanted in ((False, False), (True, True)):
            before = transcript.painted
            for n in range(20):
                transcript.tool_progress("c", f"line {n}\n")
                transcript.flush()
                await pilot.pause()
            assert (transcript.painted > before) == wanted, follows
            await pilot.press("end")
            await pilot.pause()


@ASYNC
async def test_wheel_keys_and_home() -> None:
    async def act(pilot: Pilot[None], app: Stage, transcript: Transcript) -> None:
        transcript.load(many(50))
        transcript.focus()
        end = transcript.scroll_y
        await pilot.press("up")
        assert transcript.scroll_y == end - 1
        await pilot.press("down")
        assert transcript.following
        await pilot.press("home")
        assert rows(transcript)[1] == " ● prompt 0"
        await pilot.pause()
        assert "older" in app.heard
        transcript.scroll_to(y=30, animate=False)
        await pilot.pause()
        assert not transcript.following
        await pilot.press("pagedown", "end")
        assert rows(transcript)[-1] == " │ • two"

    await play(act)


@ASYNC
async def test_an_older_page_leaves_the_view_where_it_is() -> None:
    async def act(pilot: Pilot[None], app: Stage, transcript: Transcript) -> None:
        transcript.load(many(30)[20:])
        await pilot.press("home")
        await pilot.pause()
        before = rows(transcript)
        transcript.prepend(many(30)[:20])
        assert rows(transcript) == before
        await pilot.press("home")
        await pilot.pause()
        assert rows(transcript)[1] == " ● prompt 0"
        assert app.heard.count("older") >= 2

    await play(act)


@ASYNC
async def test_live_or_resumed_the_screen_is_the_same() -> None:
    async def act(pilot: Pilot[None], _app: Stage, transcript: Transcript) -> None:
        builder = BlockBuilder()
        for entry in SESSION:
            changes = builder.add(entry)
            words = [change.block for change in changes if isinstance(change, Added)]
            for block in words:
                if isinstance(block, AnswerBlock):
                    transcript.stream_begin(f"live {block.id}", "answer")
                    for at in range(0, len(block.text), 3):
                        transcript.stream_write(block.text[at : at + 3])
                        transcript.flush()
            transcript.stream_end(changes)
        await pilot.pause()
        end, blocks = rows(transcript), transcript.document.blocks
        await pilot.press("home")
        start = rows(transcript)
        transcript.load(fold(SESSION))
        assert transcript.document.blocks == blocks
        assert rows(transcript) == end
        await pilot.press("home")
        assert rows(transcript) == start

    await play(act)


@ASYNC
async def test_a_backlog_is_taken_in_portions() -> None:
    async def act(pilot: Pilot[None], _app: Stage, transcript: Transcript) -> None:
        transcript.stream_begin("live", "answer")
        transcript.stream_write("word " * 10_000)
        transcript.flush()
        first = transcript.document.heights.total
        transcript.stream_end([Added(AnswerBlock("a", "word " * 10_000))])
        await pilot.pause()
        assert first < transcript.document.heights.total / 3
        assert [block.id for block in transcript.document.blocks] == ["a"]

    await play(act)


@ASYNC
async def test_a_click_on_a_header_and_ctrl_o_unfold() -> None:
    async def act(pilot: Pilot[None], _app: Stage, transcript: Transcript) -> None:
        output = "\n".join(f"out {n}" for n in range(15))
        transcript.load([ToolBlock("call:c", "c", "bash", {"command": "ls"}, state="ok", output=output)])
        folded = rows(transcript)
        assert " │   … 5 earlier lines" in folded
        await pilot.click(transcript, offset=(6, 1))
        assert " │   out 0" in rows(transcript)
        await pilot.click(transcript, offset=(6, 4))
        assert " │   out 0" in rows(transcript), "only the header folds"
        await pilot.click(transcript, offset=(6, 1))
        assert rows(transcript) == folded
        await pilot.press("ctrl+o")
        assert " │   out 0" in rows(transcript)

    await play(act, (60, 30))


@ASYNC
async def test_a_resize_wraps_again_and_keeps_the_place() -> None:
    async def act(pilot: Pilot[None], _app: Stage, transcript: Transcript) -> None:
        transcript.load([AnswerBlock(f"a{n}", f"block {n} " + "word " * 60) for n in range(50)])
        transcript.scroll_to(y=transcript.document.heights.start(20), animate=False)
        await pilot.pause()
        top = next(row for row in rows(transcript) if "block" in row).split()[2]
        await pilot.resize_terminal(40, 12)
        await pilot.pause()
        assert next(row for row in rows(transcript) if "block" in row).split()[2] == top
        assert max(map(len, rows(transcript))) <= 39

    await play(act)


@ASYNC
async def test_selected_words_are_copied_without_gutter_and_wrapping() -> None:
    async def act(pilot: Pilot[None], app: Stage, transcript: Transcript) -> None:
        long = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron"
        transcript.load(
            [PromptBlock("p", "ask"), AnswerBlock("a", f"{long}\n\n- one\n- **two**"), NoticeBlock("n", "end")]
        )
        await pilot.mouse_down(transcript, offset=(3, 3))
        await pilot.hover(transcript, offset=(9, 4))
        await pilot.mouse_up(transcript, offset=(9, 4))
        await pilot.pause()
        picked = app.screen.get_selected_text()
        assert picked is not None
        assert long.startswith(picked)
        assert len(picked) > 50
        transcript.stream_begin("live", "answer")
        transcript.stream_write("streams in\n\n" * 40)
        transcript.flush()
        await pilot.pause()
        assert app.screen.get_selected_text() == picked
        app.screen.text_select_all()
        await pilot.pause()
        whole = app.screen.get_selected_text()
        assert whole is not None
        assert whole.startswith(f"ask\n{long}\n\n- one\n- **two**\nend\nstreams in")

    await play(act)


@ASYNC
async def test_selected_cells_are_painted_in_the_colour_of_the_selection() -> None:
    async def act(pilot: Pilot[None], _app: Stage, transcript: Transcript) -> None:
        transcript.load([AnswerBlock("a", "some 日本 words")])
        await pilot.mouse_down(transcript, offset=(3, 1))
        await pilot.hover(transcript, offset=(10, 1))
        await pilot.mouse_up(transcript, offset=(10, 1))
        await pilot.pause()
        strip = transcript.render_lines(Region(0, 1, transcript.size.width, 1))[0]
        background = transcript.document.look.theme.selection.bgcolor
        marked = "".join(part.text for part in strip if part.style and part.style.bgcolor == background)
        assert marked.startswith("some 日")
        assert strip.cell_length == transcript.size.width

    await play(act)


@ASYNC
async def test_live_output_of_a_tool() -> None:
    async def act(pilot: Pilot[None], _app: Stage, transcript: Transcript) -> None:
        transcript.load([ToolBlock("call:c", "c", "bash", {"command": "make"}, state="running")])
        transcript.tool_progress("c", "10%\r")
        transcript.tool_progress("c", "20%\n\x1b[31mred\x1b[0m [/red]")
        transcript.tool_progress("other", "never shown")
        transcript.flush()
        await pilot.pause()
        assert rows(transcript)[1:4] == [" ├─ bash  make  …", " │   20%", " │   red [/red]"]

    await play(act)


def test_the_first_paint_needs_no_parser_and_no_lexer() -> None:
    code = "import sys, tui.widgets.transcript; print({'markdown_it', 'pygments', 'httpx'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
