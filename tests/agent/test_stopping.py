"""Steers, follow-ups and Esc: when each message is delivered, what stops, and where waiting words go."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from tests.agent.support import bash, bodies, kinds, options, path_of, said, session, texts, until
from tests.support.provider import Provider, Reply
from tui.agent.events import (
    AnswerDelta,
    ApprovalAsked,
    ApprovalClosed,
    EntryAdded,
    PhaseChanged,
    QueueReturned,
    ToolProgress,
)
from tui.context.view import EFFECTS_UNKNOWN
from tui.log.entries import Answer, Prompt, Queue, Result, Settled, ToolStarted
from tui.messages import Attachment, StopReason, Text, UserMessage
from tui.models.factory import ModelChoice, open_model

pytestmark = pytest.mark.anyio
SILENT = Reply(text="half an answer", stop_at=-200, stop_how="silence")
"""An answer of which some comes at once and the rest when the provider is told."""


def words(text: str) -> UserMessage:
    return UserMessage((Text(text),))


def authored(prompts: list[Prompt]) -> list[tuple[str, bool]]:
    return [(prompt.message.authored, prompt.steer) for prompt in prompts]


async def test_a_steer_sent_while_the_answer_streams_follows_it_in_the_same_exchange(tmp_path: Path) -> None:
    async with (
        Provider(SILENT, Reply(text="second")) as provider,
        session(options(tmp_path, provider)) as (agent, events),
    ):
        await agent.send(words("first"))
        await until(events, lambda event: isinstance(event, AnswerDelta))
        await agent.send(words("and this"))
        provider.release()
        assert (await agent.settled()).reason == "answered"
        path = await path_of(agent)
    wanted = ["prompt", "answer", "prompt", "answer", "settled"]
    assert [kind for kind in kinds(path) if kind in wanted] == wanted
    assert authored(bodies(path, Prompt)) == [("first", False), ("and this", True)]
    assert [answer.message.stop for answer in bodies(path, Answer)] == [StopReason.COMPLETE] * 2


async def test_a_follow_up_sent_while_the_answer_streams_is_an_exchange_of_its_own(tmp_path: Path) -> None:
    async with (
        Provider(SILENT, Reply(text="second")) as provider,
        session(options(tmp_path, provider)) as (agent, events),
    ):
        await agent.send(words("first"))
        await until(events, lambda event: isinstance(event, AnswerDelta))
        await agent.send(words("then this"), "follow-up")
        provider.release()
        await agent.settled()
        path = await path_of(agent)
    wanted = ["prompt", "answer", "settled"]
    assert [kind for kind in kinds(path) if kind in wanted] == wanted * 2
    assert authored(bodies(path, Prompt)) == [("first", False), ("then this", False)]


async def test_a_message_taken_back_is_never_sent(tmp_path: Path) -> None:
    async with (
        Provider(SILENT, Reply(text="second")) as provider,
        session(options(tmp_path, provider)) as (agent, events),
    ):
        await agent.send(words("first"))
        await until(events, lambda event: isinstance(event, AnswerDelta))
        await agent.send(words("not this"))
        await agent.send(words("but this"), "follow-up")
        await agent.take_back(agent.queue[0].id)
        assert [item.text for item in agent.queue] == ["but this"]
        depth = (await path_of(agent))[-1].depth
        await agent.take_back("gone already")
        assert (await path_of(agent))[-1].depth == depth, "what is gone already changes nothing"
        provider.release()
        await agent.settled()
        assert authored(bodies(await path_of(agent), Prompt)) == [("first", False), ("but this", False)]
    assert "not this" not in texts(provider.requests[-1])


async def test_escape_returns_all_that_waits_and_the_next_prompt_is_alone(tmp_path: Path) -> None:
    async with (
        Provider(SILENT, Reply(text="fine")) as provider,
        session(options(tmp_path, provider)) as (agent, events),
    ):
        await agent.send(words("first"))
        await until(events, lambda event: isinstance(event, AnswerDelta))
        await agent.send(words(" a\tsteer "))
        await agent.send(words("later\r\n"), "follow-up")
        await agent.interrupt()
        returned = await until(events, lambda event: isinstance(event, QueueReturned))
        assert returned.texts == (" a\tsteer ", "later\r\n")
        assert agent.queue == ()
        assert await said(agent, "next") == "answered"
        path = await path_of(agent)
    assert authored(bodies(path, Prompt)) == [("first", False), ("next", False)]
    assert bodies(path, Queue)[-1].items == ()


PASTE = "line of a paste\n" * 400


@pytest.mark.parametrize(
    ("message", "back"),
    [
        (UserMessage((Text("see "), Attachment("paste 1", PASTE), Text(" there"))), f"see {PASTE} there"),
        (UserMessage((Attachment("paste 1", PASTE),)), PASTE),
        (UserMessage((Text("look at @notes.txt."),)), "look at @notes.txt."),
        (UserMessage((Attachment("stdin", "piped"), Text("sum up"))), "pipedsum up"),
    ],
)
async def test_what_was_pasted_comes_back_whole(tmp_path: Path, message: UserMessage, back: str) -> None:
    given = options(tmp_path, None)
    (given.cwd / "notes.txt").write_text("notes")
    async with (
        Provider(SILENT) as provider,
        session(options(tmp_path, provider)) as (agent, events),
    ):
        await agent.send(words("first"))
        await until(events, lambda event: isinstance(event, AnswerDelta))
        await agent.send(message)
        assert [item.text for item in agent.queue] == [back]
        await agent.interrupt()
        returned = await until(events, lambda event: isinstance(event, QueueReturned))
        assert isinstance(returned, QueueReturned)
        assert returned.texts == (back,)


async def test_without_an_editor_what_waits_stays_in_the_log_and_nothing_goes_on(tmp_path: Path) -> None:
    async with Provider(SILENT, Reply(text="no")) as provider:
        given = options(tmp_path, provider, interactive=False)
        async with session(given) as (agent, events):
            await agent.send(words("first"))
            await until(events, lambda event: isinstance(event, AnswerDelta))
            await agent.send(words("later"), "follow-up")
            await agent.interrupt()
            assert (await agent.settled()).reason == "aborted"
            assert [item.text for item in agent.queue] == ["later"]
        assert len(provider.requests) == 1


async def test_nothing_is_read_from_the_provider_after_escape(tmp_path: Path) -> None:
    async with Provider(SILENT) as provider, session(options(tmp_path, provider)) as (agent, events):
        await agent.send(words("talk"))
        await until(events, lambda event: isinstance(event, AnswerDelta))
        await agent.interrupt()
        kept = bodies(await path_of(agent), Answer)[-1].message
        received = await provider.ended(0)
        assert received.closed_early
        provider.release()
        await provider.idle()
        assert bodies(await path_of(agent), Answer)[-1].message == kept
    assert kept.stop is StopReason.ABORTED
    assert kept.text
    assert "half an answer".startswith(kept.text)


async def test_escape_before_the_first_token_leaves_no_answer(tmp_path: Path) -> None:
    async with Provider(Reply(hold=True)) as provider, session(options(tmp_path, provider)) as (agent, _):
        await agent.send(words("talk"))
        await provider.request(0)
        await agent.interrupt()
        path = await path_of(agent)
        assert (await provider.ended(0)).closed_early
    assert not bodies(path, Answer)
    assert [settled.reason for settled in bodies(path, Settled)] == ["aborted"]


async def test_escape_while_a_person_is_asked_closes_the_question_and_runs_nothing(tmp_path: Path) -> None:
    calls = (bash("touch one"), bash("touch two"))
    async with (
        Provider(Reply(calls=calls)) as provider,
        session(options(tmp_path, provider, approve="ask")) as (agent, events),
    ):
        await agent.send(words("go"))
        asked = await until(events, lambda event: isinstance(event, ApprovalAsked))
        await agent.interrupt()
        assert (await until(events, lambda event: isinstance(event, ApprovalClosed))).call_id == asked.call_id
        assert not agent.answer(asked.call_id, allowed=True), "an answer that comes too late does nothing"
        path = await path_of(agent)
    assert [result.refused for result in bodies(path, Result)] == ["not-started"] * 2
    assert not bodies(path, ToolStarted)
    assert not list((tmp_path / "project").iterdir())
    assert bodies(path, Settled)[-1].reason == "aborted"


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8, 13])
async def test_escape_before_the_exchange_has_begun_loses_no_word(steps: int, tmp_path: Path) -> None:
    """However few turns of the loop lie between: the words are in the log, or back in the editor."""
    async with (
        Provider(Reply(text="one", hold=True), Reply(text="two")) as provider,
        session(options(tmp_path, provider)) as (agent, events),
    ):
        async with anyio.create_task_group() as group:
            group.start_soon(agent.send, words("first"))
            for _ in range(steps):
                await asyncio.sleep(0)
            await agent.interrupt()
            group.start_soon(agent.interrupt)
        await agent.interrupt()
        assert (await agent.settled()).reason == "aborted"
        path = await path_of(agent)
        if bodies(path, Prompt):
            assert [settled.reason for settled in bodies(path, Settled)] == ["aborted"]
        else:
            assert (await until(events, lambda event: isinstance(event, QueueReturned))).texts == ("first",)
        provider.release()
        assert await said(agent, "second") == "answered", "an old Esc stops nothing that is sent later"


async def test_interrupting_twice_and_when_idle_is_the_same_as_once(tmp_path: Path) -> None:
    async with (
        Provider(SILENT, Reply(text="fine")) as provider,
        session(options(tmp_path, provider)) as (agent, events),
    ):
        await agent.interrupt()
        await agent.send(words("talk"))
        await until(events, lambda event: isinstance(event, AnswerDelta))
        async with anyio.create_task_group() as group:
            group.start_soon(agent.interrupt)
            group.start_soon(agent.interrupt)
        await agent.interrupt()
        assert len(bodies(await path_of(agent), Settled)) == 1
        assert await said(agent, "again") == "answered"
        assert len(bodies(await path_of(agent), Settled)) == 2


async def test_an_escape_that_comes_as_the_exchange_ends_does_not_stop_the_next(tmp_path: Path) -> None:
    async with (
        Provider(Reply(text="one"), Reply(text="two")) as provider,
        session(options(tmp_path, provider)) as (agent, events),
    ):
        await agent.send(words("first"))
        await until(events, lambda event: isinstance(event, EntryAdded) and event.entry.kind == "settled")
        await agent.interrupt()
        assert await said(agent, "second") == "answered"


async def test_a_process_a_tool_left_behind_is_gone_after_escape(tmp_path: Path) -> None:
    project = tmp_path / "project"
    async with (
        Provider(Reply(calls=(bash("(echo $BASHPID > pid; exec cat gate) & wait"), bash("cat gate")))) as provider,
        session(options(tmp_path, provider)) as (agent, events),
    ):
        os.mkfifo(project / "gate")
        os.mkfifo(project / "pid")
        await agent.send(words("wait"))
        for _ in range(2):
            await until(events, lambda event: isinstance(event, EntryAdded) and event.entry.kind == "tool_started")
        pid = int(await anyio.to_thread.run_sync((project / "pid").read_text))
        await agent.interrupt()
        path = await path_of(agent)
    assert not running(pid)
    assert [result.refused for result in bodies(path, Result)] == ["unknown"] * 2
    assert all("ffects" in result.message.text for result in bodies(path, Result))


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/status")
    return not (status.exists() and "State:\tZ" in status.read_text())


async def test_escape_keeps_what_a_command_had_printed(tmp_path: Path) -> None:
    async with (
        Provider(Reply(calls=(bash("seq 3000; cat gate"),)), Reply(text="fine")) as provider,
        session(options(tmp_path, provider)) as (agent, events),
    ):
        os.mkfifo(tmp_path / "project" / "gate")
        await agent.send(words("wait"))
        await until(events, lambda event: isinstance(event, ToolProgress) and "3000\n" in event.text)
        await agent.interrupt()
        (result,) = bodies(await path_of(agent), Result)
        assert await said(agent, "what did it print?") == "answered"
    assert result.message.text.startswith("1\n2\n")
    assert f"\n3000\n[{EFFECTS_UNKNOWN}]" in result.message.text
    assert len(result.message.text.encode()) < 52 * 1024
    assert result.refused == "unknown"
    assert len(Path(str(result.details["spill"])).read_bytes().split()) == 3000
    assert "2999" in texts(provider.requests[-1])
    assert "Effects unknown" in texts(provider.requests[-1])


async def test_escape_of_a_silent_command_says_so(tmp_path: Path) -> None:
    async with (
        Provider(Reply(calls=(bash("echo begun > pid; cat gate"),))) as provider,
        session(options(tmp_path, provider)) as (agent, _),
    ):
        for name in ("gate", "pid"):
            os.mkfifo(tmp_path / "project" / name)
        await agent.send(words("wait"))
        await anyio.to_thread.run_sync((tmp_path / "project" / "pid").read_text)
        await agent.interrupt()
        (result,) = bodies(await path_of(agent), Result)
    assert result.message.text == EFFECTS_UNKNOWN


async def test_leaving_while_an_answer_streams_is_written_down(tmp_path: Path) -> None:
    async with Provider(SILENT) as provider:
        given = options(tmp_path, provider)
        async with session(given) as (agent, events):
            await agent.send(words("talk"))
            await until(events, lambda event: isinstance(event, AnswerDelta))
            await agent.send(words("later"), "follow-up")
        async with session(options(tmp_path, provider, open="newest")) as (agent, _):
            path = await path_of(agent)
            assert agent.idle
            assert [item.text for item in agent.queue] == ["later"]
    assert bodies(path, Answer)[-1].message.stop is StopReason.ABORTED
    assert [settled.reason for settled in bodies(path, Settled)] == ["interrupted"]


async def test_another_model_chosen_while_the_old_one_answers_takes_the_next_request(tmp_path: Path) -> None:
    async with (
        Provider(SILENT) as first,
        Provider(Reply(text="from the other")) as second,
        session(options(tmp_path, first)) as (agent, events),
    ):
        await agent.send(words("talk"))
        await until(events, lambda event: isinstance(event, AnswerDelta))
        choice = ModelChoice("openai-chat", "other", f"{second.base_url}/v1", 32_000)
        await agent.use_model(open_model(choice, {}))
        first.release()
        assert (await agent.settled()).reason == "answered"
        assert await said(agent, "and now?") == "answered"
        answers = [answer.message for answer in bodies(await path_of(agent), Answer)]
    assert [(answer.text, answer.model) for answer in answers] == [
        ("half an answer", "scripted"),
        ("from the other", "other"),
    ]


async def test_every_phase_ends_idle(tmp_path: Path) -> None:
    async with Provider(Reply(text="one")) as provider, session(options(tmp_path, provider)) as (agent, events):
        assert await said(agent, "first") == "answered"
        phases: list[str] = []
        while not phases or phases[-1] != "idle":
            phases.append((await until(events, lambda event: isinstance(event, PhaseChanged))).phase)
    assert phases == ["requesting", "answering", "idle"]
