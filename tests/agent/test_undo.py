"""`/compact undo`: the leaf moves before the newest checkpoint and its cycle is closed, in one transaction."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.handoffs import FILLER, Player, check_cycles, compact, holds, serving, wired, work
from tests.agent.support import bodies, path_of, said, session, until
from tests.agent.test_handoff_summaries import TOO_LONG
from tests.support.provider import Reply
from tui.agent.agent import Agent
from tui.agent.checkpoint_wishes import undo
from tui.agent.events import BranchMoved, PhaseChanged
from tui.agent.wishes import compact as make_checkpoint
from tui.agent.wishes import info_facts
from tui.log.entries import Checkpoint, Entry, Handoff, ModelChosen, Prompt, Queue
from tui.messages import Text, UserMessage

pytestmark = pytest.mark.anyio


async def undone(agent: Agent) -> str:
    told = await undo(agent, confirmed=True)
    assert not told.question
    return told.text


async def all_of(agent: Agent, leaf: str) -> list[Entry]:
    """Return the path that ended at `leaf`, which was left."""
    return await (await agent.journal.log.at(leaf)).page(limit=10_000)


async def test_an_answered_handoff_is_undone_and_the_conversation_is_as_before(tmp_path: Path) -> None:
    player = Player(work(), Reply(calls=(compact("the note"),)), work("touch after"), Reply(text="Done."))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, events):
        assert await said(agent, "the  task\t") == "answered"
        assert agent.compaction.state.done == 1
        left = agent.journal.log.leaf or ""
        question = await undo(agent)
        assert question.question
        assert "2 answers, 1 tool call" in question.text
        assert "stay in the log, on the other branch" in question.text
        assert agent.journal.log.leaf == left, "a question moves nothing"
        assert "undone" in await undone(agent)
        await until(events, lambda event: isinstance(event, BranchMoved))
        state = agent.compaction.state
        assert (state.phase, state.closed, state.done) == ("none", "undone", 0)
        path = await path_of(agent)
        assert not bodies(path, Checkpoint)
        assert [prompt.origin for prompt in bodies(path, Prompt)] == ["authored"]
        old = await all_of(agent, left)
        assert len(bodies(old, Checkpoint)) == 1
        assert bodies(old, Handoff)[-1].phase == "answered"
        assert await said(agent, "and now?") == "answered"
        assert holds(player.asked[-1], FILLER), "what was covered is sent again"
        check_cycles(await path_of(agent))
        facts = await info_facts(agent, persisted=True)
    assert facts.state.closed == "undone"


async def test_only_the_newest_checkpoint_is_undone_and_then_the_one_before(tmp_path: Path) -> None:
    player = Player(work(), Reply(text="one"), work(), Reply(text="two"))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        for text in ("first", "second"):
            assert await said(agent, text) == "answered"
            await make_checkpoint(agent)
            await agent.settled()
        made = bodies(await path_of(agent), Checkpoint)
        assert len(made) == 2
        await undone(agent)
        assert agent.requests.checkpoint_body == made[0]
        assert await said(agent, "third") == "answered"
        await undone(agent)
        assert agent.requests.checkpoint_body is None
        assert "no checkpoint" in await undone(agent)
        path = await path_of(agent)
    assert [prompt.message.authored for prompt in bodies(path, Prompt)] == ["first"]
    assert not bodies(path, Handoff), "a checkpoint that discharged no cycle closes none"


async def test_a_checkpoint_that_discharged_a_failed_handoff_closes_it_as_undone(tmp_path: Path) -> None:
    player = Player(
        work(), Reply(calls=(compact("the note"),)), summaries=(Reply(text=""), Reply(text=""), Reply(text="Good."))
    )
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        assert await said(agent, "go") == "needs-person"
        player.summaries[:] = [Reply(text="Good.")]
        await make_checkpoint(agent)
        assert (await agent.settled()).reason == "answered"
        await undone(agent)
        assert (agent.compaction.state.phase, agent.compaction.state.closed) == ("none", "undone")
        assert not agent.compaction.locked


async def test_a_checkpoint_made_within_an_exchange_leaves_no_exchange_open(tmp_path: Path) -> None:
    full = Reply(status=400, body=TOO_LONG)
    player = Player(work(), full, Reply(text="Done."))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        assert await said(agent, "go") == "answered"
        assert [made.origin for made in bodies(await path_of(agent), Checkpoint)] == ["overflow"]
        await undone(agent)
        assert not agent.journal.branch.exchange_open
    async with session(wired(tmp_path, provider, open="newest")) as (agent, _):
        assert agent.compaction.state.phase == "none"
        assert not agent.journal.branch.exchange_open
        assert not bodies(await path_of(agent), Checkpoint)


async def test_what_is_the_persons_stays_in_force(tmp_path: Path) -> None:
    player = Player(work(), Reply(text="one"))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        assert await said(agent, "first") == "answered"
        await make_checkpoint(agent)
        await agent.settled()
        await agent.use_approval("edits")
        await undone(agent)
        path = await path_of(agent)
    assert path[-1].kind == "approval"
    assert len(bodies(path, ModelChosen)) == 1
    assert not bodies(path, Queue)


async def test_nothing_is_undone_while_the_agent_is_at_work(tmp_path: Path) -> None:
    silent = Reply(text="What was done.", hold=True)
    player = Player(work(), Reply(calls=(compact("the note"),)), summaries=(silent, Reply(text="Good.")))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, events):
        await agent.send(UserMessage((Text("go"),)))
        await until(events, lambda event: isinstance(event, PhaseChanged) and event.phase == "compacting")
        assert "at work" in await undone(agent)
        provider.release()
        assert (await agent.settled()).reason == "answered"
