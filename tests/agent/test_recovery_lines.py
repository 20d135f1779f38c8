"""What a person reads of an interruption: which call ran, what was not started, what waits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.agent.support import options
from tests.context.history import branch, extend, prompt
from tui.agent.events import QueuedText
from tui.agent.review import open_ends
from tui.agent.session import open_session
from tui.agent.settle import call_words, recovery
from tui.log import Store
from tui.log.entries import Answer, Body, Handoff, Note, Prompt, Result, Settled, Started, ToolStarted
from tui.messages import AssistantMessage, StopReason, Text, ToolCall, ToolResult, UserMessage

pytestmark = pytest.mark.anyio


def bash_named(name: str, command: str) -> ToolCall:
    return ToolCall(name, "bash", {"command": command})


def asked_for(*calls: ToolCall) -> Answer:
    return Answer(AssistantMessage(calls, StopReason.TOOL_CALLS))


def told(*tail: Body) -> str:
    bodies = recovery(branch(prompt("go"), *tail), None, exchange_open=True, left=lambda _call: "")
    (settled,) = [body for body in bodies if isinstance(body, Settled)]
    return settled.detail


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (bash_named("a", "pytest -q"), "`pytest -q`"),
        (bash_named("a", "\n  cd x &&\n  make all\n"), "`cd x &&`"),
        (bash_named("a", "x" * 100), "`" + "x" * 59 + "…`"),
        (ToolCall("a", "edit", {"path": "notes.txt", "edits": []}), "`edit notes.txt`"),
        (ToolCall("a", "grep", {"pattern": "TODO"}), "`grep TODO`"),
        (ToolCall("a", "bash", {"command": 7}), "`bash`"),
        (ToolCall("a", "context_info", {}), "`context_info`"),
    ],
)
def test_a_call_is_named_as_a_person_would(call: ToolCall, words: str) -> None:
    assert call_words(call) == words


def test_an_interruption_names_what_ran() -> None:
    one, two, three = (bash_named(name, f"run {name}") for name in "abc")
    assert told() == "The program ended."
    assert told(asked_for(one)) == "The program ended."
    assert told(asked_for(one), ToolStarted("a", "bash")) == "The program ended while running `run a`; effects unknown."
    running = [ToolStarted(name, "bash") for name in "abc"]
    assert "`run a` and `run b`; effects" in told(asked_for(one, two), *running[:2])
    assert "`run a` and `run b` and 1 more; effects" in told(asked_for(one, two, three), *running)


def test_the_review_says_what_is_done_and_what_is_open() -> None:
    done, ran, waited = (bash_named(name, f"run {name}") for name in "abc")
    tail: Sequence[Body] = (
        Prompt(UserMessage((Text("\n fix it\nplease"),))),
        asked_for(done, ran, waited),
        ToolStarted("a", "bash"),
        Result(ToolResult("a", "bash", (Text("ok"),))),
        ToolStarted("b", "bash"),
    )
    path = branch(prompt("old"), Settled("answered"), *tail)
    path = extend(path, *recovery(path, None, exchange_open=True, left=lambda _call: ""))
    rows = open_ends(path, (QueuedText("1", "and then", "follow-up"),))
    assert rows == [
        ("asked", "fix it"),
        ("done", "`run a`"),
        ("effects unknown", "`run b`"),
        ("not started", "`run c`"),
        ("interrupted", "The program ended while running `run b`; effects unknown."),
        ("waits (follow-up)", "and then"),
    ]


def test_the_review_shows_a_pending_note_and_of_an_empty_session_nothing() -> None:
    path = branch(prompt("go"), Note("n", "next: it\n"), Handoff(phase="failed", cycle="c", note="n"))
    assert open_ends(path, ())[-1] == ("handoff failed", "next: it")
    assert open_ends((), ()) == []


async def test_opening_offers_in_one_line_and_only_while_it_is_open(tmp_path: Path) -> None:
    given = options(tmp_path, None, open="newest")
    call = bash_named("a", "pytest")
    async with await Store.open(given.home, given.cwd) as store:
        first = (Started(str(given.cwd), "1"), Prompt(UserMessage((Text("go"),))), asked_for(call))
        await store.create(cwd=given.cwd, first=(*first, ToolStarted("a", "bash")))
    offers: list[str] = []
    lines: list[str] = []
    for _ in range(2):
        async with open_session(given, report=lines.append, offer=offers.append) as agent:
            assert agent.idle
    assert offers == ["Interrupted while running `pytest`; effects unknown. /continue goes on."]
    assert lines == []
