"""What headless modes decide and print, without a session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.agent.events import (
    AgentEvent,
    AnswerDelta,
    ApprovalAsked,
    EntryAdded,
    Failed,
    PhaseChanged,
    QueueChanged,
    QueuedText,
    RetryWaiting,
    ToolProgress,
    UsageChanged,
)
from tui.context.thresholds import Thresholds
from tui.headless.events import end_line, event_line, session_line
from tui.headless.notes import ending_note, notes, usage_note
from tui.headless.outcome import Ended, Exchanged, Exit, Opened, status_of
from tui.headless.sinks import TextSink
from tui.log.entries import Answer, Body, Entry, Notice, Prompt, Result, Settled, UnknownBody
from tui.log.jsonl import as_line, entry_object
from tui.messages import AssistantMessage, StopReason, Text, ToolCall, ToolResult, UserMessage
from tui.models.base import ModelInfo
from tui.tools.base import Effect, Preview

NASTY = "\x1b]52;c;YQ==\x07\x9b2J\x85\u2028\x7f\r\n\ttext ✓"


def entry(body: Body | UnknownBody) -> Entry:
    return Entry(id="e" * 32, parent=None, depth=0, time=1, body=body)


def answer(text: str, *calls: ToolCall) -> Answer:
    return Answer(AssistantMessage(content=(Text(text), *calls), stop=StopReason.COMPLETE))


def refusal() -> Result:
    return Result(ToolResult("c1", "bash", (Text("Refused."),), is_error=True), refused="denied")


def decoded(line: bytes) -> dict[str, Any]:
    assert line.endswith(b"\n")
    text = line.decode("utf-8")
    assert len(text.splitlines()) == 1
    assert not [char for char in text[:-1] if ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0]
    return json.loads(text)


EVENTS: list[tuple[str, AgentEvent]] = [
    ("entry", EntryAdded(entry(Notice(NASTY)))),
    ("phase", PhaseChanged("tools", NASTY)),
    ("text", AnswerDelta(NASTY)),
    ("progress", ToolProgress("c1", NASTY)),
    ("approval", ApprovalAsked("c1", NASTY, Preview(title=NASTY, effect=Effect.EXECUTE))),
    ("retry", RetryWaiting(NASTY, 1, 3, 0.5)),
    ("queue", QueueChanged((QueuedText("q", NASTY, "steer"),))),
    ("usage", UsageChanged(None, 0, 1000, "unknown")),
    ("failed", Failed(NASTY)),
]


@pytest.mark.parametrize(("word", "event"), EVENTS)
def test_an_event_is_one_safe_line_with_its_word(word: str, event: AgentEvent) -> None:
    assert decoded(event_line(event))["type"] == word


def test_every_kind_of_event_is_documented() -> None:
    readme = (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")
    for kind in get_args(AgentEvent):
        assert f"`{kind.__struct_config__.tag}`" in readme
    for reason in get_args(get_type_hints(Settled)["reason"]):
        assert f"`{reason}`" in readme


def test_the_first_and_last_lines() -> None:
    opened = Opened("id1", Path("/p/\udcff"), ModelInfo(id=NASTY, provider="openai-chat", window=9), persisted=True)
    first = decoded(session_line(opened))
    assert (first["type"], first["version"], first["session"], first["model"]) == ("session", 1, "id1", NASTY)
    last = decoded(end_line(Ended(Exit.ERROR, Settled("length", stop=StopReason.LENGTH), "cut")))
    assert (last["type"], last["status"], last["reason"], last["stop"]) == ("end", 1, "length", "length")
    assert last["text"] == "cut"


def test_an_entry_is_shown_with_its_kind_and_body() -> None:
    shown = decoded(as_line(entry_object(entry(Prompt(UserMessage((Text("hi"),)))))))
    assert (shown["kind"], shown["parent"], shown["depth"]) == ("prompt", None, 0)
    assert shown["body"]["message"]["content"] == [{"type": "text", "text": "hi"}]


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (b'{"type":"new", "x":[1, 99999999999999999999]}', {"type": "new", "x": [1, 99999999999999999999]}),
        (b'{"x":\n1}', {"base64": "eyJ4IjoKMX0="}),  # on one line its bytes could not be told
        (b"not json", {"base64": "bm90IGpzb24="}),
        (b"\xff", {"base64": "/w=="}),
        (b"", {"base64": ""}),
    ],
)
def test_an_entry_of_a_newer_version_survives(raw: bytes, body: object) -> None:
    assert decoded(as_line(entry_object(entry(UnknownBody("new", raw)))))["body"] == body


@given(st.text())
def test_any_text_survives_a_line(text: str) -> None:
    kept = text.encode("utf-8", "replace").decode()
    assert decoded(as_line({"text": kept}))["text"] == kept


@pytest.mark.parametrize(
    ("settled", "refused", "status"),
    [
        (Settled("answered"), False, 0),
        (Settled("answered"), True, 0),
        (Settled("length"), False, 1),
        (Settled("length"), True, 4),
        (Settled("empty"), False, 1),
        (Settled("empty"), True, 4),
        (Settled("refusal"), False, 1),
        (Settled("error"), False, 1),
        (Settled("context-full"), False, 1),
        (Settled("bound"), True, 3),
        (Settled("needs-person"), False, 4),
        (Settled("handoff"), False, 4),
        (Settled("aborted"), True, 130),
        (Settled("interrupted"), False, 130),
    ],
)
def test_exit_statuses(settled: Settled, refused: bool, status: int) -> None:
    assert status_of(settled, refused=refused) == status


def seen(*bodies: Body) -> Exchanged:
    exchanged = Exchanged()
    for body in bodies:
        exchanged.see(EntryAdded(entry(body)))
    return exchanged


def test_the_newest_answer_counts_and_a_new_exchange_begins_anew() -> None:
    prompt = Prompt(UserMessage((Text("x"),)))
    exchanged = seen(prompt, answer("first"), refusal(), answer("second"))
    assert (exchanged.text, exchanged.refused) == ("second", True)
    assert (seen(answer("old"), refusal(), prompt).text, seen(refusal(), prompt).refused) == ("", False)
    assert seen(refusal(), Prompt(UserMessage((Text("x"),)), steer=True)).refused


def test_notes_are_plain_single_lines() -> None:
    call = ToolCall(id="c", name="bash\x1b[2J", arguments={"command": "echo \x9b1\nrm"})
    bodies: list[Body] = [answer("x", call), Notice(NASTY), refusal()]
    lines = [line for body in bodies for line in notes(EntryAdded(entry(body)))]
    lines += notes(RetryWaiting(NASTY, 1, 3, 0.5)) + notes(Failed(NASTY))
    assert len(lines) == 5
    for line in lines:
        assert len(line.splitlines()) == 1
        assert not [char for char in line if ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0]
    assert notes(AnswerDelta("more")) == []


def test_a_tool_that_failed_is_told_by_the_line_that_says_why() -> None:
    def note(name: str, text: str) -> list[str]:
        result = ToolResult(call_id="c", name=name, content=(Text(text),), is_error=True)
        return notes(EntryAdded(entry(Result(message=result))))

    assert note("bash", "y\n" * 5_000 + "[stopped after 2 s: the time limit]") == [
        "bash failed: [stopped after 2 s: the time limit]"
    ]
    assert note("edit", "It is not there. The nearest is:\n  1  x") == ["edit failed: It is not there. The nearest is:"]
    assert note("", "There is no tool.") == ["(no name) failed: There is no tool."]
    assert len(note("read", "x" * 5_000)[0]) == 400


def test_a_failure_of_the_log_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    sink = TextSink()
    sink.event(Failed("The disk is full."))
    sink.end(Ended(Exit.ERROR, Settled("error", "The disk is full."), ""))
    sink.end(Ended(Exit.ERROR, Settled("error", "Something else."), ""))
    assert capsys.readouterr().err == "The disk is full.\nerror: Something else.\n"


def test_the_reason_is_always_shown_where_there_is_no_answer() -> None:
    assert ending_note(Settled("answered")) == ""
    assert ending_note(Settled("error", "It broke.")) == "error: It broke."
    assert ending_note(Settled("empty")).startswith("empty: ")


def test_the_context_is_shown_as_the_bar() -> None:
    limits = Thresholds(20_000, 12_000, 14_000, 16_000, 18_000)
    usage = UsageChanged(8_000, 1_000, 20_000, "reported", thresholds=limits)
    assert usage_note(usage) == "[#=======---~-!-|----] 40% 8,000 of 20,000 tokens, reported"
    assert "?%" in usage_note(UsageChanged(None, 0, 20_000, "unknown", thresholds=limits))
    assert usage_note(UsageChanged(1, 0, 20_000, "estimated")).isascii()
    assert usage_note(UsageChanged(1, 0, 20_000, "estimated", problem="It is wrong.")).endswith("It is wrong.")
