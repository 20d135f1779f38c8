"""The editor alone in an app: what is typed and pasted is what is sent."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from textual import events, on
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tests.app.waiting import until
from tui.messages import Attachment, Text, UserMessage
from tui.widgets.editor import Editor
from tui.widgets.keyboard import TypedBurst
from tui.widgets.recall import PromptHistory

pytestmark = pytest.mark.anyio


class Desk(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.sent: list[tuple[UserMessage, str]] = []

    def compose(self) -> ComposeResult:
        yield Editor()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {}

    @on(Editor.Submitted)
    def took(self, event: Editor.Submitted) -> None:
        self.sent.append((event.message, event.mode))
        self.query_one(Editor).accept(event.typed)

    @property
    def editor(self) -> Editor:
        return self.query_one(Editor)


@asynccontextmanager
async def desk() -> AsyncGenerator[tuple[Desk, Pilot[None]]]:
    app = Desk()
    async with app.run_test(size=(60, 20)) as pilot:
        app.editor.focus()
        await pilot.pause()
        yield app, pilot


def paste(app: Desk, text: str) -> None:
    app.editor.post_message(events.Paste(text))


async def test_enter_sends_exactly_what_was_typed() -> None:
    async with desk() as (app, pilot):
        await pilot.press(*"  a [/red] ", "tab", *"x ")
        await pilot.press("enter")
        await until(pilot, lambda: app.sent)
        assert app.sent[0][0].authored.startswith("  a [/red] ")
        assert app.sent[0][0].authored.endswith("x ")
        assert app.editor.text == ""


@pytest.mark.parametrize("key", ["shift+enter", "ctrl+j"])
async def test_a_new_line_is_not_a_send(key: str) -> None:
    async with desk() as (app, pilot):
        await pilot.press("a", key, "b")
        await pilot.pause(0.05)
        assert app.editor.text == "a\nb"
        assert app.sent == []


async def test_backslash_and_enter_is_a_new_line() -> None:
    async with desk() as (app, pilot):
        await pilot.press("a", "backslash", "enter")
        await until(pilot, lambda: app.editor.text == "a\n", "the new line")
        assert app.sent == []


async def test_alt_enter_sends_a_follow_up() -> None:
    async with desk() as (app, pilot):
        await pilot.press("a", "alt+enter")
        await until(pilot, lambda: app.sent)
        assert app.sent[0][1] == "follow-up"


async def test_blank_text_is_not_sent() -> None:
    async with desk() as (app, pilot):
        await pilot.press("space", "enter")
        await pilot.pause(0.05)
        assert app.sent == []
        assert app.editor.text == " "


async def test_ten_thousand_lines_are_one_chip_and_are_sent_whole() -> None:
    long = "".join(f"line {n}\t[/red] ä\n" for n in range(10_000))
    async with desk() as (app, pilot):
        await pilot.press(*"see ")
        paste(app, long)
        await until(pilot, lambda: "⟦pasted 10,000 lines" in app.editor.text)
        assert app.editor.draft == "see " + long
        assert app.sent == []
        await pilot.press("enter")
        await until(pilot, lambda: app.sent)
        text, chip = app.sent[0][0].content
        assert text == Text("see ")
        assert isinstance(chip, Attachment)
        assert chip.text == long


@pytest.mark.parametrize(
    "text",
    [
        "x" * 500_000,
        "out\x1b[201~\x1b[200~ \x1b[<35;20;18M \x1b]0;title\x07 end\n",
        "a\r\nb\r\nc\r\n",
        "one\u2028two\x85three\x0cfour",
        "short\nand plain\n",
    ],
)
async def test_any_paste_is_kept_byte_for_byte(text: str) -> None:
    async with desk() as (app, pilot):
        paste(app, text)
        await until(pilot, lambda: app.editor.text)
        assert app.editor.draft == text
        assert app.sent == []


async def test_a_chip_is_deleted_and_brought_back_as_one() -> None:
    async with desk() as (app, pilot):
        await pilot.press("a")
        paste(app, "x" * 5_000)
        await until(pilot, lambda: len(app.editor.text) > 1)
        await pilot.press("backspace")
        assert app.editor.text == "a"
        await pilot.press("ctrl+z")
        assert app.editor.draft == "a" + "x" * 5_000


async def test_typing_inside_a_chip_goes_behind_it() -> None:
    async with desk() as (app, pilot):
        paste(app, "x" * 5_000)
        await until(pilot, lambda: app.editor.text)
        app.editor.move_cursor((0, 3))
        await pilot.press("z")
        assert app.editor.draft == "x" * 5_000 + "z"


async def test_the_cursor_steps_over_a_chip_as_one() -> None:
    async with desk() as (app, pilot):
        await pilot.press("a")
        paste(app, "x" * 5_000)
        await until(pilot, lambda: len(app.editor.text) > 1)
        await pilot.press("left", "b", "right", "c")
        assert app.editor.draft == "ab" + "x" * 5_000 + "c"


async def test_a_step_is_a_grapheme() -> None:
    family, letter = "👩\u200d👩\u200d👧", "e\u0301"
    async with desk() as (app, pilot):
        for char in f"한{family}{letter}":
            app.editor.post_message(events.Key("x", char))
        await until(pilot, lambda: app.editor.text == f"한{family}{letter}", "every character typed")
        await pilot.press("left")
        assert app.editor.cursor_location == (0, 1 + len(family))
        await pilot.press("left", "delete")
        assert app.editor.text == f"한{letter}"
        await pilot.press("backspace", "right", "backspace")
        assert app.editor.text == ""


async def test_a_draft_that_was_put_away_comes_back() -> None:
    async with desk() as (app, pilot):
        await pilot.press(*"precious")
        assert app.editor.put_away()
        assert app.editor.text == ""
        assert not app.editor.put_away()
        await pilot.press("ctrl+z")
        assert app.editor.text == "precious"


async def test_up_and_down_walk_the_history_at_the_edges() -> None:
    async with desk() as (app, pilot):
        app.editor.recall = PromptHistory.of(("one", "two\nlines"))
        await pilot.press(*"draft", "up")
        assert app.editor.text == "two\nlines"
        await pilot.press("up", "up")
        assert app.editor.text == "one"
        await pilot.press("down", "down", "down")
        assert app.editor.text == "draft"


async def test_texts_given_back_stand_before_the_draft() -> None:
    async with desk() as (app, pilot):
        await pilot.press(*"own")
        app.editor.give_back(("first", "second"))
        assert app.editor.text == "first\nsecond\nown"


async def test_emoji_and_combining_marks_are_kept() -> None:
    async with desk() as (app, pilot):
        app.editor.show_draft("한국어 👩‍👩‍👧 é")
        await pilot.press("enter")
        await until(pilot, lambda: app.sent)
        assert app.sent[0][0].authored == "한국어 👩‍👩‍👧 é"


async def test_a_paste_without_brackets_in_many_pieces_is_one_chip() -> None:
    text = "".join(f"line {n} of a paste\r" for n in range(10_000))
    async with desk() as (app, pilot):
        for piece in (text[at : at + 4_095] for at in range(0, len(text), 4_095)):
            app.editor.post_message(TypedBurst(piece))
        await until(pilot, lambda: app.editor.draft == text.replace("\r", "\n"))
        assert app.editor.text.startswith("⟦pasted 10,000 lines · 1⟧")
        assert app.sent == []


async def test_a_line_end_cut_between_two_pieces_is_one_newline() -> None:
    async with desk() as (app, pilot):
        for piece in ("first line of a paste\r", "\nsecond line of a paste"):
            app.editor.post_message(TypedBurst(piece))
        await until(pilot, lambda: "second" in app.editor.text)
        assert app.editor.text == "first line of a paste\nsecond line of a paste"
