"""The main screen by its keys: questions, ladder, commands, and foreign text in every place it can stand."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec
import pytest
from textual.pilot import Pilot

from tests.app.stage import ASKED, DIFF, Stage, conversation, filled
from tests.app.waiting import until
from tui.agent.events import (
    AgentEvent,
    AnswerDelta,
    AnswerStarted,
    ApprovalAsked,
    ApprovalClosed,
    Failed,
    PhaseChanged,
    QueueChanged,
    QueuedText,
    QueueReturned,
    RetryWaiting,
    ThinkingDeltaShown,
    ToolProgress,
    UsageChanged,
)
from tui.commands.table import Typed
from tui.tools.base import Effect, Preview
from tui.widgets.approval import ApprovalPanel, question_body
from tui.widgets.banner import Banner
from tui.widgets.gate import PAUSE
from tui.widgets.status import StatusLine

pytestmark = pytest.mark.anyio


class Clock:
    """Time that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def stage(*events: AgentEvent) -> AsyncGenerator[tuple[Stage, Pilot[None], Clock]]:
    clock = Clock()
    app = Stage(events, key_clock=clock)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        yield app, pilot, clock


async def type_slowly(pilot: Pilot[None], clock: Clock, text: str, gap: float = 1 / 30) -> None:
    for char in text:
        clock.now += gap
        await pilot.press({"\n": "enter", " ": "space"}.get(char, char))


def note(app: Stage) -> str:
    return app.main.query_one(StatusLine).status.note


async def painted(pilot: Pilot[None], app: Stage) -> None:
    panel = app.main.query_one(ApprovalPanel)
    await until(pilot, lambda: panel.is_painted, "the question")


class TestApproval:
    async def test_keys_of_a_message_never_answer_and_none_is_lost(self) -> None:
        """claude-code#43883: typed at 30 keys a second while the question arrives after the third."""
        async with stage() as (app, pilot, clock):
            await type_slowly(pilot, clock, "hel")
            app.main.show(ASKED)
            await painted(pilot, app)
            await type_slowly(pilot, clock, "lo world\ny1 \n")
            clock.now += 1
            await until(pilot, lambda: app.main.editor.text == "" or len(app.sent) == 2)
            assert app.decided == []
            typed = "".join(event.typed + "\n" for event in app.sent)
            assert (typed + app.main.editor.text).replace("\n", "").startswith("hello world")

    async def test_a_key_answers_after_a_pause(self) -> None:
        async with stage(ASKED) as (app, pilot, clock):
            await painted(pilot, app)
            clock.now += PAUSE + 0.01
            await pilot.press("y")
            await until(pilot, lambda: app.decided)
            assert app.decided[0].allowed
            assert app.decided[0].rule == ""

    async def test_a_key_without_a_pause_goes_into_the_draft(self) -> None:
        async with stage(ASKED) as (app, pilot, clock):
            await painted(pilot, app)
            clock.now += PAUSE / 2
            await pilot.press("y")
            assert app.decided == []
            assert app.main.editor.text == "y"

    @pytest.mark.parametrize("at", [0, 1])
    async def test_always_sends_the_rule_that_was_shown(self, at: int) -> None:
        async with stage(ASKED) as (app, pilot, clock):
            await painted(pilot, app)
            clock.now += 1
            await pilot.press("ab"[at])
            await until(pilot, lambda: app.decided)
            assert app.decided[0].rule == ASKED.suggestions[at]

    async def test_a_key_for_a_rule_that_is_not_offered_is_a_letter(self) -> None:
        one = msgspec.structs.replace(ASKED, suggestions=ASKED.suggestions[:1])
        async with stage(one) as (app, pilot, clock):
            await painted(pilot, app)
            clock.now += 1
            await pilot.press("b")
            assert app.decided == []
            assert app.main.editor.text == "b"

    @pytest.mark.parametrize("size", [(40, 12), (60, 20), (80, 24)])
    async def test_the_keys_are_in_view_however_long_the_change_is(self, size: tuple[int, int]) -> None:
        long = msgspec.structs.replace(ASKED.preview, diff=DIFF + " and so on\n" * 300)
        app = Stage([msgspec.structs.replace(ASKED, preview=long)])
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: app.main.query_one(ApprovalPanel).is_painted, "the question")
            keys = app.main.query_one("#question-keys").region
            assert keys.height >= 3
            assert app.main.query_one(ApprovalPanel).region.contains_region(keys)
            assert app.main.region.contains_region(app.main.editor.region)

    async def test_no_takes_a_reason(self) -> None:
        async with stage(ASKED) as (app, pilot, clock):
            await painted(pilot, app)
            clock.now += 1
            await pilot.press("n", *"why", "enter")
            await until(pilot, lambda: app.decided)
            assert not app.decided[0].allowed
            assert app.decided[0].reason == "why"
            await until(pilot, lambda: app.main.editor.has_focus)

    async def test_escape_refuses_and_stops(self) -> None:
        async with stage(ASKED) as (app, pilot, _):
            await painted(pilot, app)
            await pilot.press("escape")
            await until(pilot, lambda: app.decided)
            assert not app.decided[0].allowed
            assert app.decided[0].interrupt

    async def test_enter_is_never_an_answer(self) -> None:
        async with stage(ASKED) as (app, pilot, clock):
            await painted(pilot, app)
            clock.now += 1
            await pilot.press("enter")
            assert app.decided == []
            assert app.sent == []

    async def test_with_a_draft_only_tab_turns_to_the_question(self) -> None:
        async with stage() as (app, pilot, clock):
            await type_slowly(pilot, clock, "note")
            app.main.show(ASKED)
            await painted(pilot, app)
            clock.now += 5
            await pilot.press("y")
            assert app.main.editor.text == "notey"
            clock.now += 5
            await pilot.press("tab")
            clock.now += 5
            await pilot.press("y")
            await until(pilot, lambda: app.decided)
            assert app.main.editor.text == "notey"

    async def test_a_void_question_goes_away(self) -> None:
        async with stage(ASKED, ApprovalClosed("call-2")) as (app, pilot, clock):
            clock.now += 5
            await pilot.press("y")
            assert app.decided == []
            assert app.main.editor.text == "y"

    def test_shown_is_what_is_run(self) -> None:
        command = "rm -rf \u202e/tmp\x1b[2J\n[/red] \u200bx"
        shown = question_body(Preview(title="t", effect=Effect.EXECUTE, command=command, warning="w[/"))
        assert "rm -rf \\u202e/tmp\\x1b[2J" in shown.plain
        assert "[/red] \\u200bx" in shown.plain
        assert "w[/" in shown.plain

    def test_a_cut_says_so(self) -> None:
        shown = question_body(Preview(title="t", effect=Effect.EXECUTE, command="x" * 300_000))
        assert "100,000 more characters are not shown" in shown.plain


class TestLadder:
    async def test_a_draft_is_put_away_and_comes_back(self) -> None:
        async with stage() as (app, pilot, _):
            await pilot.press(*"work", "ctrl+c")
            assert app.main.editor.text == ""
            assert "Ctrl+Z" in note(app)
            await pilot.press("ctrl+z")
            assert app.main.editor.text == "work"
            assert app.quits == 0

    async def test_two_presses_leave_and_a_key_between_them_does_not(self) -> None:
        async with stage() as (app, pilot, _):
            await pilot.press("ctrl+c", "left", "ctrl+c")
            assert app.quits == 0
            assert "again" in note(app)
            await pilot.press("ctrl+c")
            await until(pilot, lambda: app.quits)

    async def test_ctrl_d_leaves_only_an_empty_editor(self) -> None:
        async with stage() as (app, pilot, _):
            await pilot.press("x", "ctrl+d")
            assert app.quits == 0
            await pilot.press("backspace", "ctrl+d")
            await until(pilot, lambda: app.quits)


class TestCommands:
    async def test_a_word_from_the_menu_runs(self) -> None:
        async with stage() as (app, pilot, clock):
            await pilot.press("slash", "s", "e", "l")
            await pilot.press("enter")
            clock.now += 1
            await until(pilot, lambda: app.commands)
            assert app.commands == [Typed("self-compact-info")]

    async def test_tab_completes(self) -> None:
        async with stage() as (app, pilot, clock):
            await pilot.press("slash", "m")
            clock.now += 1
            await pilot.press("tab")
            await until(pilot, lambda: app.main.editor.text == "/model")

    async def test_an_unknown_command_keeps_its_text(self) -> None:
        async with stage() as (app, pilot, clock):
            await pilot.press("slash", *"zap", "enter")
            clock.now += 1
            await until(pilot, lambda: note(app))
            assert "no command /zap" in note(app)
            assert app.main.editor.text == "/zap"
            assert app.commands == []

    async def test_no_session_yet_keeps_the_text(self) -> None:
        async with stage() as (app, pilot, clock):
            await pilot.press(*"hi", "enter")
            clock.now += 1
            await until(pilot, lambda: note(app))
            assert app.main.editor.text == "hi"


async def test_returned_texts_stand_in_the_editor() -> None:
    async with stage(QueueReturned(("one", "two"))) as (app, _, _clock):
        assert app.main.editor.text == "one\ntwo"


async def test_an_invalid_configuration_stands_as_long_as_it_lasts() -> None:
    broken = UsageChanged(900, 0, 1_000, "estimated", 0.0, None, "Only 0 tokens are left for the conversation.")
    async with stage(broken) as (app, pilot, _):
        banner = app.main.query_one(Banner)
        assert banner.has_class("-notice")
        assert "Only 0 tokens are left" in str(banner.render())
        app.main.show(filled(900))
        await pilot.pause()
        assert not banner.display
        banner.say("read only", "notice")
        app.main.show(broken)
        assert str(banner.render()) == "read only\nOnly 0 tokens are left for the conversation."


async def test_a_failed_log_leaves_a_banner_and_a_usable_editor() -> None:
    async with stage(Failed("No space left on device.")) as (app, pilot, _):
        assert app.main.query_one(Banner).has_class("-error")
        app.main.query_one(Banner).say("something smaller", "notice")
        assert app.main.query_one(Banner).has_class("-error")
        await pilot.press(*"copy me")
        assert "copy" in app.main.editor.text


@pytest.mark.parametrize(
    "text",
    [
        "Use [/INST] to close.",
        'f"{n} items[/dim]"',
        "end expected [/home/u/App/App.csproj]",
        "[/",
        "[/model/2013/a.jpg]",
        "ZCOUNT z (1 3 ... [b + should reply 3",
        "[0] Hello [00] foo arr[i] x[-1]",
        "\x1b[31mred\x1b]0;title\x07 \x9b2J \u202eabc",
    ],
)
async def test_foreign_text_is_shown_as_it_is_everywhere(text: str) -> None:
    events: list[AgentEvent] = [
        *conversation(),
        PhaseChanged("tools", text),
        QueueChanged((QueuedText("q", text, "steer"),)),
        AnswerStarted("a"),
        ThinkingDeltaShown(text),
        AnswerDelta(text),
        ToolProgress("call-1", text),
        UsageChanged(1, 0, 100, "reported"),
        RetryWaiting(text, 1, 2, 3.0),
        ApprovalAsked("c", text, Preview(title=text, effect=Effect.EDIT, diff=text, warning=text), (text,)),
        Failed(text),
    ]
    async with stage(*events) as (app, pilot, clock):
        app.main.note(text)
        app.main.editor.show_draft(text)
        await pilot.resize_terminal(60, 20)
        await pilot.press("slash", "enter")
        clock.now += 1
        await pilot.pause()
        rows = app.export_screenshot()
        assert "\x1b" not in rows
        assert "\x9b" not in rows
