"""`/checkpoint`: another summary for the newest checkpoint, by the rules for every summary."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.handoffs import FILLER, Player, check_cycles, compact, holds, serving, wired, work
from tests.agent.support import bodies, path_of, said, session
from tests.support.provider import Reply
from tui.agent.agent import Agent
from tui.agent.checkpoint_wishes import rewrite, undo
from tui.context.checkpoint import SUMMARY_LIMIT
from tui.log.entries import Checkpoint, Handoff, Latch

pytestmark = pytest.mark.anyio
HANDED_OVER = (work(), Reply(calls=(compact("the note"),)), Reply(text="Done."))


async def handed_over(agent: Agent) -> Checkpoint:
    assert await said(agent, "the  task\t") == "answered"
    (made,) = bodies(await path_of(agent), Checkpoint)
    return made


async def test_the_edited_summary_takes_the_place_of_the_old_one_and_nothing_else_changes(tmp_path: Path) -> None:
    player = Player(*HANDED_OVER)
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        old = await handed_over(agent)
        entry = agent.requests.checkpoint
        assert entry is not None
        assert "was changed" in await rewrite(agent, "  Better words.\n")
        new = agent.requests.checkpoint_body
        assert new is not None
        assert (new.summary, new.supersedes, new.cycle, new.origin) == ("Better words.", entry.id, "", "manual")
        assert (new.first, new.last, new.last_depth, new.kept) == (old.first, old.last, old.last_depth, old.kept)
        assert (new.task, new.current, new.later, new.note) == (old.task, old.current, old.later, old.note)
        assert await said(agent, "more") == "answered"
        sent = player.asked[-1]
        assert holds(sent, "Better words.")
        assert not holds(sent, "What was done.")
        assert holds(sent, "the  task\t")
        assert holds(sent, "the note\n\n<continuation>"), "what came after the old checkpoint is still there"
        assert not holds(sent, FILLER)
        check_cycles(await path_of(agent))
        assert agent.compaction.state.done == 1


async def test_the_next_summary_is_merged_with_the_edited_one(tmp_path: Path) -> None:
    player = Player(*HANDED_OVER, work(), Reply(calls=(compact("next"),)))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        await handed_over(agent)
        await rewrite(agent, "Better words.")
        assert await said(agent, "more") == "answered"
        assert holds(player.summarised[-1], "Better words.")
        assert not holds(player.summarised[-1], "What was done.")
        check_cycles(await path_of(agent))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "blank"),
        (" \n\t", "blank"),
        ("x" * (SUMMARY_LIMIT + 1), f"{SUMMARY_LIMIT} are the most"),
        ("\u4f60" * 40_000, "does not fit"),
    ],
    ids=["nothing", "blank", "too long", "too many tokens"],
)
async def test_what_may_not_stand_changes_nothing(tmp_path: Path, text: str, why: str) -> None:
    async with serving(Player(*HANDED_OVER)) as provider, session(wired(tmp_path, provider)) as (agent, _):
        old = await handed_over(agent)
        assert why in await rewrite(agent, text)
        assert bodies(await path_of(agent), Checkpoint) == [old]


async def test_lone_surrogates_become_signs_and_undo_brings_the_old_summary_back(tmp_path: Path) -> None:
    async with serving(Player(*HANDED_OVER)) as provider, session(wired(tmp_path, provider)) as (agent, _):
        old = await handed_over(agent)
        await rewrite(agent, "broken \ud800 words")
        new = agent.requests.checkpoint_body
        assert new is not None
        assert new.summary == "broken \ufffd words"
        await undo(agent, confirmed=True)
        assert agent.requests.checkpoint_body == old
        assert agent.compaction.state.phase == "answered", "an edited checkpoint discharged no cycle"


async def test_without_a_checkpoint_there_is_nothing_to_change(tmp_path: Path) -> None:
    async with serving(Player()) as provider, session(wired(tmp_path, provider)) as (agent, _):
        assert "no checkpoint" in await rewrite(agent, "words")
        assert not bodies(await path_of(agent), Handoff)


async def test_what_is_latched_stays_latched(tmp_path: Path) -> None:
    full = Reply(text="Done.", tokens=(29_500, 0, 0, 10))
    player = Player(work(), Reply(calls=(compact("the note"),)), full, full)
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        await handed_over(agent)
        await agent.journal.append(Latch(on=True, tokens=29_500, hard=25_600))
        assert agent.requests.latched
        await rewrite(agent, "Better words.")
        assert agent.requests.latched
