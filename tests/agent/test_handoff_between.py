"""What comes between: Esc between two things, a note kept when it is asked for again, models and modes that change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from tests.agent.handoffs import Player, bash_call, check_cycles, compact, continuations, holds, serving, wired
from tests.agent.handoffs import work as working
from tests.agent.support import bodies, path_of, said, session, until
from tests.support.provider import Reply
from tui.agent.agent import Agent
from tui.agent.events import PhaseChanged, Said
from tui.log import SessionLog
from tui.log.entries import Body, Checkpoint, Entry, Handoff, Latch, Notice, Result, Settled
from tui.messages import Text, UserMessage
from tui.models.factory import ModelChoice, open_model
from tui.settings import Settings

pytestmark = pytest.mark.anyio
GOOD = Reply(text="What was done.")


class Watched:
    """A log that calls `seen` with what has just been written, before its writer goes on."""

    def __init__(self, log: SessionLog, seen: Callable[[tuple[Body, ...]], None]) -> None:
        self._log = log
        self._seen = seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, *bodies: Body) -> tuple[Entry, ...]:
        entries = await self._log.append(*bodies)
        self._seen(bodies)
        return entries


async def now(agent: Agent) -> str:
    async def job() -> None:
        await agent.compaction.now("")

    agent.loop.job(job)
    return (await agent.settled()).reason


@pytest.mark.parametrize("phase", ["saved", "ready"])
async def test_escape_between_two_steps_stops_there_and_the_command_goes_on(tmp_path: Path, phase: str) -> None:
    player = Player(working(), Reply(calls=(compact("the note"),)))
    pressed: list[asyncio.Task[None]] = []
    agents: list[Agent] = []

    def seen(written: tuple[Body, ...]) -> None:
        wanted = Settled if phase == "saved" else Handoff
        last = written[-1]
        if pressed or not isinstance(last, wanted) or (isinstance(last, Handoff) and last.phase != phase):
            return
        pressed.append(asyncio.get_running_loop().create_task(agents[0].interrupt()))

    def between(log: SessionLog) -> SessionLog:
        return cast("SessionLog", Watched(log, seen))

    async with serving(player) as provider:
        given = wired(tmp_path, provider, between=between)
        async with session(given) as (agent, _):
            agents.append(agent)
            await agent.send(UserMessage((Text("go"),)))
            await agent.settled()
            await pressed[0]
            state = agent.compaction.state
            assert agent.idle
            assert not continuations(await path_of(agent))
            assert state.stopped or state.phase == "failed"
            assert await now(agent) == "answered"
            path = await path_of(agent)
    check_cycles(path)
    assert len(continuations(path)) == 1


async def test_dropping_while_the_summary_is_made_ends_its_call(tmp_path: Path) -> None:
    silent = Reply(text="What was done.", stop_at=-40, stop_how="silence")
    player = Player(working(), Reply(calls=(compact("the note"),)), Reply(text="On."), summaries=(silent,))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, events):
        await agent.send(UserMessage((Text("go"),)))
        await until(events, lambda event: isinstance(event, PhaseChanged) and event.phase == "compacting")
        await provider.request(2)
        assert await agent.compaction.drop(confirmed=True) == ""
        await agent.settled()
        await provider.ended(2)
        assert provider.requests[2].closed_early
        assert agent.compaction.state.phase == "none"
        assert await said(agent, "go on") == "answered"
        assert not continuations(await path_of(agent))


async def test_auto_makes_a_checkpoint_at_hard_and_says_nothing_to_the_model(tmp_path: Path) -> None:
    full = msgspec.structs.replace(working(), tokens=(26_000, 0, 0, 100))
    player = Player(full)
    given = Settings(compaction="auto")
    async with serving(player) as provider, session(wired(tmp_path, provider, settings=given)) as (agent, _):
        assert await said(agent, "the  task") == "answered"
        path = await path_of(agent)
    assert [checkpoint.origin for checkpoint in bodies(path, Checkpoint)] == ["hard"]
    assert not any(result.refused for result in bodies(path, Result))
    assert holds(player.asked[-1], "the  task")


async def test_off_refuses_self_compact_and_compacts_on_command_alone(tmp_path: Path) -> None:
    full = msgspec.structs.replace(working(), tokens=(26_000, 0, 0, 100))
    player = Player(full, Reply(calls=(compact("the note"), bash_call("touch ran"))))
    given = Settings(compaction="off")
    async with serving(player) as provider, session(wired(tmp_path, provider, settings=given)) as (agent, _):
        assert await said(agent, "go") == "answered"
        agent.loop.job(lambda: agent.compaction.compact(""))
        await agent.settled()
        path = await path_of(agent)
    assert (tmp_path / "project" / "ran").exists()
    assert any("switched off" in result.message.text for result in bodies(path, Result))
    assert [checkpoint.origin for checkpoint in bodies(path, Checkpoint)] == ["manual"]


async def test_a_smaller_model_latches_at_once_and_says_what_a_pending_note_needs(tmp_path: Path) -> None:
    note = "words of the note " * 1_300
    player = Player(working(), Reply(calls=(compact(note),)), summaries=(Reply(text=""),))
    async with serving(player) as provider, session(wired(tmp_path, provider, window=60_000)) as (agent, events):
        assert await said(agent, "go") == "needs-person"
        choice = ModelChoice("openai-chat", "small", f"{provider.base_url}/v1", 9_000)
        await agent.use_model(open_model(choice, {}))
        told = await until(events, lambda event: isinstance(event, Said) and "too large" in event.text)
        assert "tokens" in told.text
        assert bodies(await path_of(agent), Latch)[-1].on
        back = ModelChoice("openai-chat", "large", f"{provider.base_url}/v1", 60_000)
        await agent.use_model(open_model(back, {}))
        player.summaries[:] = [GOOD]
        assert await now(agent) == "answered"
        path = await path_of(agent)
    check_cycles(path)
    assert holds(player.asked[-1], note)


async def test_each_level_is_said_once(tmp_path: Path) -> None:
    def at(tokens: int) -> Reply:
        return Reply(calls=(bash_call("true"),), tokens=(tokens, 0, 0, 10))

    player = Player(*[at(tokens) for tokens in (10_000, 19_500, 20_000, 23_000, 23_500)])
    player.turns.append(Reply(text="ok", tokens=(24_000, 0, 0, 1)))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        assert await said(agent, "go") == "answered"
        path = await path_of(agent)
    codes = [notice.code for notice in bodies(path, Notice)]
    assert codes == ["level-soft", "level-warning"]
