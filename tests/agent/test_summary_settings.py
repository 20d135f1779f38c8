"""What is set for summaries: another model, what follows where one fails, how long it may take, how often."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from tests.agent.handoffs import Player, check_cycles, compact, continuations, holds, is_summary, serving, wired, work
from tests.agent.support import bodies, path_of, said, session, until
from tests.agent.test_handoff_summaries import GOOD, TOO_LONG, no_wait
from tests.support.provider import Call, Received, Reply
from tui.agent.events import PhaseChanged
from tui.agent.wishes import compact as make_checkpoint
from tui.context.templates import PromptFolder
from tui.log.entries import Answer, Checkpoint, Handoff, Notice, Settled
from tui.messages import Text, UserMessage
from tui.settings import ModelSettings, Settings

pytestmark = pytest.mark.anyio
POINTER = Settings(on_summary_failure="pointer")
BAD = Reply(text="")
HANDS_OVER = (work(), Reply(calls=(compact("the note"),)))
FACT = "The port is 48213."


def full(tokens: int = 29_000) -> Reply:
    """Return work of an answer whose server says that the window is full."""
    reply = work()
    return Reply(text=reply.text, piece=reply.piece, calls=reply.calls, tokens=(tokens, 0, 0, 10))


async def test_without_a_summary_a_pointer_checkpoint_stands_in_and_recall_finds_the_facts(tmp_path: Path) -> None:
    recall = Reply(calls=(Call("recall", json.dumps({"query": "48213"})),))
    player = Player(work(f"echo {FACT}"), HANDS_OVER[1], recall, Reply(text="It is 48213."), summaries=(BAD,))
    async with serving(player) as provider, session(wired(tmp_path, provider, settings=POINTER)) as (agent, _):
        assert await said(agent, "which  port?") == "answered"
        path = await path_of(agent)
        assert agent.compaction.state.phase == "answered"
    (made,) = bodies(path, Checkpoint)
    assert (made.pointer, made.summary, made.origin) == (True, "", "self")
    assert "pointer" in [notice.code for notice in bodies(path, Notice)]
    continued, found = player.asked[2:]
    assert holds(continued, "which  port?")
    assert not holds(continued, FACT), "the fact is behind the checkpoint"
    assert holds(continued, "`recall`")
    assert holds(found, FACT)
    check_cycles(path)


async def test_a_pointer_stands_in_for_a_manual_summary_too_and_says_so(tmp_path: Path) -> None:
    player = Player(work(), summaries=(BAD,))
    async with serving(player) as provider, session(wired(tmp_path, provider, settings=POINTER)) as (agent, _):
        assert await said(agent, "go") == "answered"
        await make_checkpoint(agent)
        await agent.settled()
        path = await path_of(agent)
    assert [(made.pointer, made.origin) for made in bodies(path, Checkpoint)] == [(True, "manual")]
    assert "pointer" in [notice.code for notice in bodies(path, Notice)]


async def test_a_pointer_stands_in_where_the_template_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "summary.md").write_bytes(b"\xff")
    player = Player(*HANDS_OVER)
    async with serving(player) as provider:
        given = wired(tmp_path, provider, settings=POINTER, prompt_folders=(PromptFolder(tmp_path),))
        async with session(given) as (agent, _):
            assert await said(agent, "go") == "answered"
            path = await path_of(agent)
    assert [made.pointer for made in bodies(path, Checkpoint)] == [True]
    assert not player.summarised


async def test_esc_is_never_answered_with_a_pointer(tmp_path: Path) -> None:
    player = Player(*HANDS_OVER, summaries=(Reply(hold=True),))
    async with serving(player) as provider, session(wired(tmp_path, provider, settings=POINTER)) as (agent, _):
        await agent.send(UserMessage((Text("go"),)))
        await provider.request(2)
        await agent.interrupt()
        state = agent.compaction.state
        assert (state.phase, state.error) == ("failed", "aborted")
        assert not bodies(await path_of(agent), Checkpoint)


async def test_summaries_come_from_the_model_that_is_set_on_the_same_server(tmp_path: Path) -> None:
    player = Player(*HANDS_OVER)
    given = Settings(summary_model="small")
    async with serving(player) as provider, session(wired(tmp_path, provider, settings=given)) as (agent, _):
        assert await said(agent, "go") == "answered"
        path = await path_of(agent)
    assert {request.body["model"] for request in player.summarised} == {"small"}
    assert {request.body["model"] for request in player.asked} == {"scripted"}
    assert [made.model for made in bodies(path, Checkpoint)] == ["small"]


async def test_another_server_writes_the_summaries(tmp_path: Path) -> None:
    player, other = Player(*HANDS_OVER), Player()
    async with serving(player) as provider, serving(other) as second:
        given = Settings(summary_model="claude-small", summary_base_url=second.base_url, summary_provider="anthropic")
        async with session(wired(tmp_path, provider, settings=given)) as (agent, _):
            assert await said(agent, "go") == "answered"
    assert not player.summarised
    assert [request.path for request in other.summarised] == ["/v1/messages"]


async def test_the_window_of_the_summary_model_is_checked_first(tmp_path: Path) -> None:
    player = Player(*HANDS_OVER)
    given = Settings(summary_model="tiny", models={"tiny": ModelSettings(window=2_000)})
    async with serving(player) as provider, session(wired(tmp_path, provider, settings=given)) as (agent, _):
        assert await said(agent, "go") == "needs-person"
        state = agent.compaction.state
    assert (state.phase, state.error) == ("failed", "does-not-fit")
    assert "window" in state.detail
    assert not player.summarised


async def test_a_smaller_summary_model_gets_the_history_in_parts(tmp_path: Path) -> None:
    player = Player(*HANDS_OVER)
    given = Settings(summary_model="small", models={"small": ModelSettings(window=16_000)})
    async with serving(player) as provider, session(wired(tmp_path, provider, settings=given)) as (agent, events):
        await agent.send(UserMessage((Text("go"),)))
        part = await until(events, lambda event: isinstance(event, PhaseChanged) and event.detail.startswith("part 2"))
        assert part.phase == "compacting"
        assert (await agent.settled()).reason == "answered"
    assert len(player.summarised) > 1


async def test_a_summary_model_that_cannot_be_used_is_said_and_no_other_writes(tmp_path: Path) -> None:
    player = Player(*HANDS_OVER)
    given = Settings(summary_model="claude-small", summary_provider="anthropic")
    async with serving(player) as provider, session(wired(tmp_path, provider, settings=given)) as (agent, _):
        assert await said(agent, "go") == "needs-person"
        state = agent.compaction.state
    assert (state.phase, state.error) == ("failed", "provider-failure")
    assert "ANTHROPIC_API_KEY" in state.detail
    assert not player.summarised


@pytest.mark.parametrize("body", [TOO_LONG, TOO_LONG.replace("is 32000 tokens", "was exceeded")])
async def test_a_summary_request_the_server_finds_too_long_is_asked_for_in_smaller_parts(
    tmp_path: Path, body: str
) -> None:
    player = Player(work(), Reply(calls=(compact("the note"),)))

    def respond(received: Received) -> Reply:
        if is_summary(received) and len(received.raw) > 40_000:
            return Reply(status=400, body=body)
        return player(received)

    async with serving(respond) as provider, session(wired(tmp_path, provider)) as (agent, _):
        assert await said(agent, "go") == "answered"
        path = await path_of(agent)
    assert len(player.summarised) > 1
    check_cycles(path)


async def test_a_summary_that_sends_nothing_for_the_time_that_is_set_has_failed(tmp_path: Path) -> None:
    player = Player(*HANDS_OVER, summaries=(Reply(text="What was", stop_at=40, stop_how="silence"), GOOD))
    async with serving(player) as provider:
        given = wired(tmp_path, provider, settings=Settings(summary_idle=1), sleep=no_wait)
        async with session(given) as (agent, _):
            assert await said(agent, "go") == "needs-person"
            assert agent.compaction.state.error == "timeout"
            provider.release()
    assert len(player.summarised) == 1, "it had its time: asking again by itself would only double it"


async def test_checkpoints_without_work_between_them_end_at_the_number_that_is_set(tmp_path: Path) -> None:
    """A server whose report never falls: each checkpoint is full again at once (codex#35669)."""
    player = Player(*[full() if at % 2 else Reply(text="Plan.", tokens=(29_000, 0, 0, 10)) for at in range(40)])
    given = Settings(compaction="auto", most_checkpoints=2)
    async with serving(player) as provider, session(wired(tmp_path, provider, settings=given)) as (agent, _):
        for _ in range(4):
            await said(agent, "go on")
        path = await path_of(agent)
    made = [entry.body for entry in path if isinstance(entry.body, Checkpoint)]
    assert max(checkpoint.barren for checkpoint in made) <= 2


async def test_a_model_that_hands_over_again_and_again_without_work_ends_as_context_full(tmp_path: Path) -> None:
    def respond(received: Received) -> Reply:
        if is_summary(received):
            return GOOD
        asked.append(received)
        if len(asked) == 1:
            return full()
        calls = (compact(f"plan number {len(asked)}"),)
        return Reply(text="I plan anew. " * 2_000, piece=4_000, calls=calls, tokens=(29_000, 0, 0, 10))

    asked: list[Received] = []
    async with serving(respond) as provider, session(wired(tmp_path, provider)) as (agent, _):
        assert await said(agent, "go") == "context-full"
        path = await path_of(agent)
    assert len(bodies(path, Checkpoint)) == 5
    assert "in circles" in bodies(path, Settled)[-1].detail
    check_cycles(path)


async def test_while_the_thresholds_do_not_fit_a_handoff_and_the_command_still_work(tmp_path: Path) -> None:
    player = Player(Reply(text=work().text, piece=4_000), Reply(calls=(compact("the note"),)))
    given = Settings(compact_at="90k")
    async with serving(player) as provider, session(wired(tmp_path, provider, settings=given)) as (agent, _):
        assert await said(agent, "go") == "answered"
        assert await said(agent, "hand over") == "answered"
        path = await path_of(agent)
        assert len(continuations(path)) == 1
        assert [state.phase for state in bodies(path, Handoff)][-1] == "answered"
        player.turns.append(Reply(text=work().text, piece=4_000))
        assert await said(agent, "tell more") == "answered"
        await make_checkpoint(agent)
        await agent.settled()
        assert [made.origin for made in bodies(await path_of(agent), Checkpoint)] == ["self", "manual"]


@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic"])
async def test_what_a_summary_costs_is_in_the_checkpoint_and_in_the_sessions_cost(
    tmp_path: Path, protocol: str
) -> None:
    priced = {"openai-chat": "gpt-5.5", "anthropic": "claude-sonnet-5-5"}[protocol]
    player = Player(*HANDS_OVER)
    async with serving(player) as provider:
        given = wired(tmp_path, provider, protocol)
        assert given.choice is not None
        choice = msgspec.structs.replace(given.choice, model=priced)
        async with session(msgspec.structs.replace(given, choice=choice)) as (agent, _):
            assert await said(agent, "go") == "answered"
            path = await path_of(agent)
            total = agent.usage.cost
    (made,) = bodies(path, Checkpoint)
    assert made.cost
    answers = sum(answer.cost or 0.0 for answer in bodies(path, Answer))
    assert total is not None
    assert abs(total - made.cost - answers) < 1e-5
