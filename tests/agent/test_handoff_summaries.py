"""Summaries that cannot stand, requests that do not fit, and windows that are too small: nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from tests.agent.handoffs import (
    FILLER,
    Player,
    check_cycles,
    compact,
    continuations,
    holds,
    phases,
    serving,
    strings,
    wired,
    work,
)
from tests.agent.support import bodies, path_of, said, session
from tests.support.provider import Call, Received, Reply
from tui.agent.agent import Agent
from tui.context.checkpoint import SUMMARY_LIMIT
from tui.log.entries import Checkpoint, Handoff, Note, Settled, ToolStarted
from tui.messages import Attachment, Text, UserMessage
from tui.models.base import Model
from tui.models.http import Http
from tui.models.openai_chat import ChatModel

pytestmark = pytest.mark.anyio
GOOD = Reply(text="What was done.")
ENDLESS = Reply(text="and so on " * (SUMMARY_LIMIT // 4), piece=1_000)
BAD = {
    "empty": Reply(text=""),
    "blank": Reply(text=" \n\t"),
    "truncated": Reply(text="half a", stop="length"),
    "over-long": Reply(text="x" * 40_000, piece=1_000),
    "endless": ENDLESS,
    "tool-call": Reply(text="I look.", calls=(Call("bash", '{"command": "touch ran"}'),)),
    "dropped": Reply(text="half a summary", stop_at=-500),
    "500": Reply(status=500, body="{}"),
    "html": Reply(status=502, body="<html>Bad gateway</html>"),
}
CUT = {"anthropic": "max_tokens", "openai-responses": "max_output_tokens"}
"""What a protocol calls an answer that was cut, where it is not `length`."""
ERRORS = {
    "blank": ("empty",),
    "endless": ("truncated", "over-long"),
    "dropped": ("provider-failure",),
    "500": ("provider-failure",),
    "html": ("provider-failure",),
}
"""Where the reason is not the name itself."""


async def no_wait(_seconds: float) -> None:
    """Wait for nothing."""


async def now(agent: Agent) -> str:
    async def job() -> None:
        await agent.compaction.now("")

    agent.loop.job(job)
    return (await agent.settled()).reason


@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic", "openai-responses"])
@pytest.mark.parametrize("name", list(BAD))
async def test_a_bad_summary_fails_with_its_reason_and_nothing_is_lost(
    tmp_path: Path, name: str, protocol: str
) -> None:
    bad = BAD[name]
    if bad.stop == "length":
        bad = msgspec.structs.replace(bad, stop=CUT.get(protocol, "length"))
    player = Player(work(), Reply(calls=(compact("the note"),)), summaries=(bad,))
    async with serving(player) as provider, session(wired(tmp_path, provider, protocol, sleep=no_wait)) as (agent, _):
        assert await said(agent, "go") == "needs-person"
        state = agent.compaction.state
        assert (state.phase, state.error) == ("failed", state.error)
        assert state.error in ERRORS.get(name, (name,))
        path = await path_of(agent)
        assert not bodies(path, Checkpoint)
        assert [note.text for note in bodies(path, Note)] == ["the note"]
        assert not (tmp_path / "project" / "ran").exists()
        player.summaries[:] = [GOOD]
        assert await now(agent) == "answered"
        path = await path_of(agent)
    check_cycles(path)
    assert len(bodies(path, Note)) == len(continuations(path)) == len(bodies(path, Checkpoint)) == 1


TOO_LONG = json.dumps({"error": {"message": "This model's maximum context length is 32000 tokens.", "type": "x"}})


async def test_context_too_long_is_compacted_and_repeated_and_then_ends(tmp_path: Path) -> None:
    too_long = Reply(status=400, body=TOO_LONG)
    player = Player(work(), *[too_long] * 20)
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        assert await said(agent, "the task") == "context-full"
        path = await path_of(agent)
    assert [checkpoint.origin for checkpoint in bodies(path, Checkpoint)] == ["overflow"]
    assert len(player.asked) == 3, "the same request is not sent again once nothing more can be compacted"
    assert bodies(path, Settled)[-1].reason == "context-full"


async def test_overflow_whose_summary_fails_ends_and_keeps_all(tmp_path: Path) -> None:
    player = Player(work(), Reply(status=400, body=TOO_LONG), summaries=(Reply(text=""),))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        assert await said(agent, "the task") == "context-full"
        path = await path_of(agent)
    assert not bodies(path, Checkpoint)
    assert phases(path) == []
    assert len(bodies(path, ToolStarted)) == 1


async def test_overflow_in_the_continuation_carries_the_unanswered_note(tmp_path: Path) -> None:
    too_long = Reply(status=400, body=TOO_LONG)
    player = Player(work(), Reply(calls=(compact("the note"),)), work(), work(), too_long)
    async with serving(player) as provider, session(wired(tmp_path, provider, window=60_000)) as (agent, _):
        assert await said(agent, "the task") == "answered"
        path = await path_of(agent)
    check_cycles(path)
    assert [checkpoint.origin for checkpoint in bodies(path, Checkpoint)] == ["self", "overflow"]
    assert holds(player.asked[-1], "the note")
    assert len(continuations(path)) == 1
    assert bodies(path, Handoff)[-1].done == 1


async def test_a_huge_argument_is_cut_in_the_summary_and_stays_in_the_log(tmp_path: Path) -> None:
    huge = "data " * 30_000
    call = Call("write", json.dumps({"path": "big.txt", "content": huge}))
    player = Player(Reply(calls=(call,), piece=8_000, tokens=(9_000, 0, 0, 75_000)), summaries=(GOOD,))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        assert await said(agent, "write it") == "answered"
        path = await path_of(agent)
    assert (tmp_path / "project" / "big.txt").read_text() == huge
    assert bodies(path, Checkpoint)
    assert len(player.summarised) >= 1
    assert all(len("".join(strings(received.body))) < 60_000 for received in player.summarised)
    assert len(bodies(path, ToolStarted)) == 1


async def test_a_session_over_its_window_is_folded_range_by_range(tmp_path: Path) -> None:
    player = Player(work(), *[Reply(text=f"told {number}. " + FILLER, piece=8_000) for number in range(6)])
    async with serving(player) as provider:
        async with session(wired(tmp_path, provider, window=400_000)) as (agent, _):
            for number in range(7):
                assert await said(agent, f"tell {number}") == "answered"
        given = wired(tmp_path, provider, window=32_000, open="newest")
        async with session(given) as (agent, _):
            assert await said(agent, "and now?") == "answered"
            path = await path_of(agent)
    assert len(player.summarised) > 1, "one range after another"
    sent = "".join(text for received in player.summarised for text in strings(received.body["messages"]))
    assert all(f"told {number}. " in sent for number in range(5)), "every covered entry reaches some request"
    assert all(len(received.raw) < 32_000 * 5 for received in player.summarised)
    assert holds(player.asked[-1], "tell 0")
    assert holds(player.asked[-1], "and now?")
    assert bodies(path, Checkpoint)[0].origin == "overflow"


async def test_an_8k_model_hands_over(tmp_path: Path) -> None:
    small = "It goes on and is told about. " * 400
    turns = (
        Reply(text=small, calls=(Call("bash", '{"command": "echo worked"}'),)),
        Reply(calls=(compact("the note"),)),
    )
    player = Player(*turns)
    async with serving(player) as provider, session(wired(tmp_path, provider, window=8_000)) as (agent, _):
        assert await said(agent, "a small task") == "answered"
        path = await path_of(agent)
    check_cycles(path)
    assert len(bodies(path, Checkpoint)) == 1
    assert not holds(player.asked[-1], small)
    assert holds(player.asked[-1], "a small task")
    assert all(received.body.get("max_tokens", 0) < 8_000 for received in provider.requests)


def without_tools(model: Model, base_url: str) -> Model:
    info = msgspec.structs.replace(model.info, tools=False)
    return ChatModel(info, Http(base_url, None, "authorization"))


async def test_a_model_without_tools_gets_a_checkpoint_without_a_note_at_hard(tmp_path: Path) -> None:
    full = Reply(text=FILLER, piece=8_000, tokens=(26_000, 0, 0, 100))
    player = Talker(full)
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        await agent.use_model(without_tools(agent.model, f"{provider.base_url}/v1"))
        assert await said(agent, "talk  about it\t") == "answered"
        assert await said(agent, "and more") == "answered"
        path = await path_of(agent)
    assert [checkpoint.origin for checkpoint in bodies(path, Checkpoint)] == ["hard"]
    assert phases(path) == []
    assert not any(received.body.get("tools") for received in provider.requests)
    assert holds(provider.requests[-1], "and more")
    assert holds(provider.requests[-1], "talk  about it\t")
    assert not holds(provider.requests[-1], FILLER)


class Talker:
    """Answers once with `first`; summaries are told by their instruction, since no request has tools."""

    def __init__(self, first: Reply) -> None:
        self._first: Reply | None = first

    def __call__(self, received: Received) -> Reply:
        reply, self._first = self._first or GOOD, None
        return reply


async def test_attached_text_is_no_task(tmp_path: Path) -> None:
    player = Player(work(), Reply(calls=(compact("the note"),)))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        await agent.send(UserMessage((Text("the words"), Attachment("log.txt", "attached " * 100))))
        assert (await agent.settled()).reason == "answered"
        path = await path_of(agent)
    checkpoint = bodies(path, Checkpoint)[0]
    assert checkpoint.task is not None
    assert checkpoint.task.size == len("the words")
