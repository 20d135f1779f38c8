"""The session hands over to itself: note and task byte for byte, one continuation, whatever comes between."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent.support import bash, bodies, options, path_of, said, session, texts, until
from tests.support.provider import Call, Provider, Reply
from tui.agent.events import PhaseChanged
from tui.log.entries import Answer, Checkpoint, Handoff, Note, Prompt, Result, Settled, ToolStarted
from tui.messages import Attachment, Text, UserMessage
from tui.models.factory import ModelChoice

pytestmark = pytest.mark.anyio
FILLER = "word " * 9_000
TASK = "Do the odd task:\t keep  this\r\n — 日本語 [/red] {{tokens}} \u2028 end  "
NOTE = "next: go on with part two\n\t— é 👩‍💻 \x1b[31m [/x] {{percent}} \u2028 done  "
LONG = NOTE + "x" * (24_000 - len(NOTE.encode("utf-16-le")) // 2)
"""Exactly as long as a note may be, in UTF-16 units."""
SUMMARY = "Goal: the odd task. Done: part one."


def compact(note: str) -> Call:
    return Call("self_compact", json.dumps({"note_to_self": note}))


def full(*calls: Call) -> Reply:
    """Return an answer that reports a context above the last mark of a window of 60,000."""
    return Reply(text="full now", calls=calls, tokens=(50_000, 0, 0, 10))


def content(request: Any) -> str:
    """Return all the words of a request's messages, decoded."""
    parts: list[str] = []
    for message in request.body["messages"]:
        said = message.get("content") or ""
        parts += [said] if isinstance(said, str) else [part.get("text", "") for part in said]
    return "\n".join(parts)


def work(*after: Reply, note: str = LONG) -> tuple[Reply, ...]:
    """Return replies: some work that fills the window, the note, then what `after` says."""
    return (
        Reply(calls=(bash("echo worked"),), tokens=(20_000, 0, 0, 10)),
        full(compact(note), bash("touch sibling")),
        *after,
    )


async def test_note_and_task_come_back_byte_for_byte(tmp_path: Path) -> None:
    replies = work(Reply(text=SUMMARY), Reply(text="All done."), Reply(text="And that."))
    async with (
        Provider(*replies) as provider,
        session(options(tmp_path, provider, window=60_000)) as (agent, _),
    ):
        await agent.send(UserMessage((Text(TASK), Attachment("log.txt", FILLER * 3))))
        assert (await agent.settled()).reason == "answered"
        path = await path_of(agent)
        assert await said(agent, "more") == "answered"
        states = [handoff.phase for handoff in bodies(path, Handoff)]
        assert states == ["saved", "compacting", "ready", "delivered", "answered"]
        assert [note.text for note in bodies(path, Note)] == [LONG]
        assert [prompt.origin for prompt in bodies(path, Prompt)] == ["authored", "continuation"]
        assert [checkpoint.summary for checkpoint in bodies(path, Checkpoint)] == [SUMMARY]
        assert not (tmp_path / "project" / "sibling").exists()
        assert [result.refused for result in bodies(path, Result)] == ["", "", "handoff"]
        asked, summary, continued, later = provider.requests[1:5]
        assert "tools" not in summary.body
        assert summary.body["messages"][-1]["role"] == "user"
        for request in (continued, later):
            assert LONG in content(request)
            assert TASK in content(request)
            assert SUMMARY in content(request)
            assert request.body["tools"] == asked.body["tools"]
        assert "worked" not in content(continued) or len(content(continued)) < len(content(asked))


@pytest.mark.parametrize("note", ["", " \n\t", LONG + "x", 7])
async def test_a_note_that_cannot_be_taken_changes_nothing(note: object, tmp_path: Path) -> None:
    call = Call("self_compact", json.dumps({"note_to_self": note}))
    async with (
        Provider(Reply(calls=(call, bash("echo ran"))), Reply(text="done")) as provider,
        session(options(tmp_path, provider, window=60_000)) as (agent, _),
    ):
        assert await said(agent, "go") == "answered"
        path = await path_of(agent)
    assert not bodies(path, Note)
    assert not bodies(path, Handoff)
    results = {result.message.name: result for result in bodies(path, Result)}
    assert results["self_compact"].message.is_error
    assert results["bash"].message.text.strip() == "ran"


async def test_at_hard_ordinary_calls_are_refused_and_after_three_a_checkpoint_is_made(tmp_path: Path) -> None:
    stubborn = full(bash("touch ran"))
    replies = (full(bash("echo once")), stubborn, stubborn, stubborn, Reply(text=SUMMARY), Reply(text="done"))
    async with (
        Provider(*replies) as provider,
        session(options(tmp_path, provider, window=60_000)) as (agent, _),
    ):
        await agent.send(UserMessage((Text(TASK), Attachment("log.txt", FILLER * 3))))
        assert (await agent.settled()).reason == "answered"
        path = await path_of(agent)
        assert [checkpoint.origin for checkpoint in bodies(path, Checkpoint)] == ["hard"]
        assert not (tmp_path / "project" / "ran").exists()
        assert [result.refused for result in bodies(path, Result)] == ["", "hard", "hard", "hard"]
        assert "self_compact" in texts(provider.requests[2])
        assert TASK in content(provider.requests[-1])


BAD = {
    "empty": Reply(text=" \n"),
    "tool-call": Reply(calls=(bash("touch ran"),)),
    "truncated": Reply(text="half", stop="length"),
    "provider-failure": Reply(status=400, body='{"error": {"message": "no"}}'),
}


ATTEMPTS = {"truncated": 2}
"""A cut summary is asked for once more, at half the length."""


@pytest.mark.parametrize("error", list(BAD))
async def test_a_summary_that_may_not_stand_fails_and_is_tried_again_with_the_same_note(
    error: str, tmp_path: Path
) -> None:
    async with (
        Provider(*work(*([BAD[error]] * ATTEMPTS.get(error, 1)))) as provider,
        session(options(tmp_path, provider, window=60_000)) as (agent, _),
    ):
        await agent.send(UserMessage((Text(TASK), Attachment("log.txt", FILLER * 3))))
        assert (await agent.settled()).reason == "needs-person"
        assert (agent.compaction.state.phase, agent.compaction.state.error) == ("failed", error)
        assert not bodies(await path_of(agent), Checkpoint)
        assert not (tmp_path / "project" / "ran").exists()
        assert len(provider.requests) == 2 + ATTEMPTS.get(error, 1)
        provider.add(Reply(text=SUMMARY))
        provider.add(Reply(text="All done."))
        agent.loop.job(retry(agent))
        assert (await agent.settled()).reason == "answered"
        path = await path_of(agent)
        assert [note.text for note in bodies(path, Note)] == [LONG]
        assert len([prompt for prompt in bodies(path, Prompt) if prompt.origin == "continuation"]) == 1


def retry(agent: Any) -> Any:
    async def job() -> None:
        await agent.compaction.now("")

    return job


async def test_escape_during_the_summary_keeps_note_and_lock(tmp_path: Path) -> None:
    async with (
        Provider(*work(Reply(text=SUMMARY, hold=True))) as provider,
        session(options(tmp_path, provider, window=60_000)) as (agent, events),
    ):
        await agent.send(UserMessage((Text(TASK), Attachment("log.txt", FILLER * 3))))
        await until(events, lambda event: isinstance(event, PhaseChanged) and event.phase == "compacting")
        await provider.request(2)
        await agent.interrupt()
        state = agent.compaction.state
        assert (state.phase, state.error) == ("failed", "aborted")
        provider.add(Reply(text="I wait.", calls=(bash("touch ran"),)))
        provider.add(Reply(text="I wait."))
        await said(agent, "what now?")
        path = await path_of(agent)
    assert [result.refused for result in bodies(path, Result)][-1] == "handoff"
    assert not (tmp_path / "project" / "ran").exists()
    assert [note.text for note in bodies(path, Note)] == [LONG]


async def test_closing_during_the_summary_goes_back_to_saved_and_the_next_start_goes_on(tmp_path: Path) -> None:
    async with Provider(*work(Reply(text=SUMMARY, hold=True), Reply(text=SUMMARY), Reply(text="done"))) as provider:
        async with session(options(tmp_path, provider, window=60_000)) as (agent, _):
            await agent.send(UserMessage((Text(TASK), Attachment("log.txt", FILLER * 3))))
            await provider.request(2)
        async with session(options(tmp_path, provider, window=60_000, open="newest")) as (agent, _):
            assert (agent.compaction.state.phase, agent.compaction.state.attempts) == ("saved", 0)
            agent.loop.start()
            assert (await agent.settled()).reason == "answered"
            path = await path_of(agent)
    assert len([prompt for prompt in bodies(path, Prompt) if prompt.origin == "continuation"]) == 1
    assert LONG in content(provider.requests[-1])


async def test_a_request_that_does_not_fit_is_compacted_and_repeated_once(tmp_path: Path) -> None:
    message = "This model's maximum context length is 50000 tokens."
    error = json.dumps({"error": {"message": message, "code": "context_length_exceeded"}})
    replies = (
        Reply(calls=(bash("echo one"),), tokens=(2_000, 0, 0, 10)),
        Reply(status=400, body=error),
        Reply(text=SUMMARY),
        Reply(text="done"),
    )
    async with (
        Provider(*replies) as provider,
        session(options(tmp_path, provider, window=60_000)) as (agent, _),
    ):
        await agent.send(UserMessage((Text(TASK), Attachment("log.txt", FILLER * 3))))
        assert (await agent.settled()).reason == "answered"
        path = await path_of(agent)
    assert [checkpoint.origin for checkpoint in bodies(path, Checkpoint)] == ["overflow"]
    assert [settled.reason for settled in bodies(path, Settled)] == ["answered"]
    assert len(bodies(path, ToolStarted)) == 1


async def test_the_rehearsal_hands_over_several_times_in_one_task(tmp_path: Path) -> None:
    script = tmp_path / "fast.toml"
    script.write_text("pace = 0\n")
    given = options(tmp_path, None, choice=ModelChoice("rehearsal", str(script), window=12_000))
    names = [f"module_{number}" for number in range(12)]
    for name in names:
        body = "\n".join(f"def {name}_{n}() -> int:\n" + "    print(1 + 2)\n" * 60 for n in range(4))
        (given.cwd / f"{name}.py").write_text(body)
    task = "Please do these:\n" + "\n".join(f"{n}. list the functions in {name}.py" for n, name in enumerate(names, 1))
    async with session(given) as (agent, _):
        await agent.send(UserMessage((Text(task),)))
        assert (await agent.settled()).reason == "answered"
        path = await path_of(agent)
        checkpoints = bodies(path, Checkpoint)
        assert len(checkpoints) >= 2
        tasks = {checkpoint.task.entry for checkpoint in checkpoints if checkpoint.task is not None}
        first = next(entry for entry in path if isinstance(entry.body, Prompt))
        assert tasks == {first.id}
        answer = bodies(path, Answer)[-1].message.text
        assert all(name in answer for name in names)
        started = [entry for entry in path if isinstance(entry.body, ToolStarted) and entry.body.name == "read"]
        assert len(started) < 2 * len(names), "what is done is not done again"
