"""The pure parts of the frame: ladder, gate, commands, hints, status, queue, history, glyphs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.binding import Binding

from tui.agent.events import (
    AnswerDelta,
    AnswerStarted,
    Failed,
    PhaseChanged,
    QueueChanged,
    QueuedText,
    RetryWaiting,
)
from tui.commands.table import COMMANDS, Typed, Unknown, matching, parse
from tui.plain import needs_ascii
from tui.screens.bindings import GROUPS, judged
from tui.screens.help import help_lines
from tui.screens.progress import advance
from tui.widgets.gate import PAUSE, KeyGate
from tui.widgets.glyphs import ASCII
from tui.widgets.hints import hint_row, key_name
from tui.widgets.ladder import CONFIRM, Rung, climb
from tui.widgets.queued import ROWS, queued_rows
from tui.widgets.recall import PromptHistory, read_history, remember
from tui.widgets.status import Status, span, status_content


class TestLadder:
    def test_a_draft_is_put_away_first_whatever_runs(self) -> None:
        assert climb(draft=True, busy=True, armed_at=None, now=0) is Rung.PUT_AWAY
        assert climb(draft=True, busy=False, armed_at=0, now=0.1) is Rung.PUT_AWAY

    def test_then_work_is_stopped_and_only_then_a_second_press_leaves(self) -> None:
        assert climb(draft=False, busy=True, armed_at=None, now=0) is Rung.INTERRUPT
        assert climb(draft=False, busy=False, armed_at=None, now=0) is Rung.ARM
        assert climb(draft=False, busy=False, armed_at=0, now=CONFIRM) is Rung.QUIT

    def test_two_slow_presses_do_not_leave(self) -> None:
        assert climb(draft=False, busy=False, armed_at=0, now=CONFIRM + 0.1) is Rung.ARM


class TestGate:
    def test_no_key_counts_before_the_question_is_painted(self) -> None:
        assert not KeyGate().accepts(100)

    def test_a_key_counts_after_a_pause_on_both_sides(self) -> None:
        gate = KeyGate().pressed(9.9).shown(10)
        assert not gate.accepts(10 + PAUSE - 0.01)
        assert gate.accepts(10.01 + PAUSE)
        assert not gate.pressed(10.3).accepts(10.01 + PAUSE)

    def test_a_key_typed_before_the_paint_and_read_late_does_not_count(self) -> None:
        assert not KeyGate().shown(10).accepts(9.5)

    def test_wait_says_when_a_key_would_count(self) -> None:
        assert 0 < KeyGate().shown(10).wait(10.1) < PAUSE
        assert KeyGate().shown(10).wait(99) == 0


class TestCommands:
    def test_every_command_parses_to_itself(self) -> None:
        for command in COMMANDS:
            assert parse(f"/{command.name}") == Typed(command.name)
            assert parse(f"/{command.name.upper()}  x y \n") == Typed(command.name, "x y")

    @pytest.mark.parametrize("text", ["/usr/bin is broken", "hello", " /help", "/", "/1", "a /help", "// x"])
    def test_a_message_is_no_command(self, text: str) -> None:
        assert parse(text) is None

    def test_an_unknown_command_names_what_was_meant(self) -> None:
        assert parse("/quti") == Unknown("quti", ("quit",))
        assert parse("/zzz") == Unknown("zzz")

    def test_the_menu_closes_when_an_argument_begins(self) -> None:
        assert [command.name for command in matching("/m")] == ["model"]
        assert len(matching("/")) == len(COMMANDS)
        assert not matching("/model x")
        assert not matching("model")


class TestBindings:
    def test_every_binding_has_an_id_of_its_own(self) -> None:
        bindings = [binding for _, group in GROUPS for binding in group]
        ids = [binding.id for binding in bindings if isinstance(binding, Binding)]
        assert all(ids)
        assert len(set(ids)) == len(ids) == len(bindings)

    def test_help_lists_every_binding_and_command(self) -> None:
        text = "\n".join(row.plain for _, row, _ in help_lines(GROUPS, {"editor.undo": "f9"}))
        for _, group in GROUPS:
            for binding in group:
                assert isinstance(binding, Binding)
                assert binding.description in text
                assert binding.id is not None
                assert binding.id in text
        for command in COMMANDS:
            assert command.usage in text
        assert re.search(r"F9 +Undo", text)

    def test_no_two_bindings_that_work_together_share_a_key(self) -> None:
        everything = {b.id or "": b.key for _, group in GROUPS for b in group if isinstance(b, Binding)}
        used, notices = judged(everything)
        assert (used, notices) == (everything, [])

    def test_keys_are_named_as_a_person_reads_them(self) -> None:
        assert key_name("ctrl+j,alt+enter") == "Ctrl+J or Alt+Enter"
        assert key_name("pageup") == "PgUp"


class TestStatus:
    def test_spans(self) -> None:
        assert [span(s) for s in (0.4, 59, 65, 3720)] == ["0s", "59s", "1m 05s", "1h 02m"]

    def test_an_exchange_from_beginning_to_end(self) -> None:
        status = advance(Status(phase="idle"), PhaseChanged("requesting"), 10.0)
        status = advance(status, AnswerStarted("a"), 11.0)
        status = advance(status, PhaseChanged("answering"), 11.0)
        status = advance(status, AnswerDelta("x" * 400), 11.0)
        status = advance(status, QueueChanged((QueuedText("1", "x", "steer"),)), 12.0)
        line = status_content(status, 13.0, 0).plain
        assert "answering" in line
        assert "3s" in line
        assert "~50 tok/s" in line
        assert "1 waiting" in line

    def test_a_model_that_says_nothing_is_told_of(self) -> None:
        asked = advance(Status(phase="idle"), PhaseChanged("requesting"), 10.0)
        assert "no data" not in status_content(asked, 19.0, 0).plain
        assert "no data for 12s" in status_content(asked, 22.0, 0).plain
        answering = advance(asked, PhaseChanged("answering"), 22.0)
        heard = advance(advance(answering, AnswerDelta("x"), 25.0), AnswerDelta("y"), 33.0)
        assert "no data" not in status_content(heard, 36.0, 0).plain
        assert "no data for 31s" in status_content(heard, 64.0, 0).plain
        working = advance(heard, PhaseChanged("tools", "make"), 64.0)
        assert "no data" not in status_content(working, 99.0, 0).plain

    def test_a_retry_counts_down_and_the_reason_is_no_markup(self) -> None:
        status = advance(Status(), RetryWaiting("[/red] 429\x1b[2J", 1, 4, 3.0), 10.0)
        status = advance(status, PhaseChanged("retrying", "429"), 10.0)
        line = status_content(status, 11.5, 0).plain
        assert "trying again in 2s: [/red] 429\\x1b[2J (1 of 4)" in line

    def test_a_note_about_what_goes_on_ends_with_it(self) -> None:
        busy = Status(phase="tools", note="The agent is at work.", passing=True)
        assert advance(busy, PhaseChanged("requesting"), 1.0).note == busy.note
        rested = advance(advance(busy, PhaseChanged("requesting"), 1.0), PhaseChanged("idle"), 2.0)
        assert status_content(rested, 2.0, 0).plain.endswith("ready")
        idle = Status(phase="idle", note="There is nothing to go on with.", passing=True)
        assert not advance(idle, PhaseChanged("requesting"), 1.0).note

    def test_any_other_note_stands(self) -> None:
        status = advance(Status(phase="tools", note="Pinned"), PhaseChanged("idle"), 1.0)
        assert status.note == "Pinned"

    def test_a_failed_log_stops_the_clock(self) -> None:
        status = advance(Status(phase="answering"), Failed("disk full"), 1.0)
        assert not status.busy
        assert "stopped" in status_content(status, 2.0, 0).plain


def test_hints_are_whole_or_not_there() -> None:
    hints = (("Enter", "send"), ("Esc", "stop"))
    assert hint_row(hints, 80).plain == "Enter send   Esc stop"
    assert hint_row(hints, 20).plain == "Enter send"
    assert hint_row(hints, 5).plain == ""


def test_the_queue_never_grows_past_its_rows() -> None:
    items = tuple(QueuedText(str(n), f"[b]{n}\nx", "steer") for n in range(30))
    text = queued_rows(items).plain
    assert text.count("\n") == ROWS - 1
    assert "[b]0↵x" in text
    assert text.endswith("27 more waiting")


class TestHistory:
    def test_walks_back_and_forth_and_keeps_the_draft(self) -> None:
        history = PromptHistory.of(("one", "two"))
        history, text = history.older("draft")
        assert text == "two"
        history, text = history.older("two")
        assert text == "one"
        history, text = history.older("one")
        assert text is None
        history, text = history.newer()
        assert text == "two"
        history, text = history.newer()
        assert text == "draft"
        assert history.newer()[1] is None

    def test_the_file_is_private_and_gives_back_every_byte(self, tmp_path: Path) -> None:
        path = tmp_path / "deep" / "history.jsonl"
        texts = ("a\nb\t[/red]", "\u2028 世界 \x00\r\n", "last")
        for text in texts:
            remember(path, text)
        assert path.stat().st_mode & 0o777 == 0o600
        assert read_history(path).items == texts

    def test_a_torn_line_costs_only_itself(self, tmp_path: Path) -> None:
        path = tmp_path / "history.jsonl"
        path.write_bytes(b'"good"\n"torn')
        remember(path, "next")
        assert read_history(path).items == ("good", "next")

    def test_no_file_is_no_history(self, tmp_path: Path) -> None:
        assert read_history(tmp_path / "none") == PromptHistory()

    def test_the_same_prompt_twice_is_kept_once(self) -> None:
        assert PromptHistory().sent("x").sent("x").items == ("x",)


@pytest.mark.parametrize(
    ("environ", "ascii_only"),
    [
        ({"LANG": "C.UTF-8"}, False),
        ({"LANG": "en_US.utf8"}, False),
        ({}, False),
        ({"LANG": "C"}, True),
        ({"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, True),
        ({"LANG": "de_DE.ISO-8859-1"}, True),
        ({"LANG": "C.UTF-8", "CLEW_ASCII": "1"}, True),
    ],
)
def test_ascii_where_the_locale_asks_for_it(environ: dict[str, str], ascii_only: bool) -> None:
    assert needs_ascii(environ) is ascii_only


def test_ascii_glyphs_are_ascii() -> None:
    for name in ASCII.__struct_fields__:
        assert str(getattr(ASCII, name)).isascii()
