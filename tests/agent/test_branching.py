"""Going to another place of the tree, editing an earlier prompt, forking, naming: over the wire, on a real log."""

from __future__ import annotations

from pathlib import Path

import anyio
import msgspec
import pytest

from tests.agent.handoffs import Player, check_cycles, compact, holds, serving, wired, work
from tests.agent.support import bash, bodies, path_of, said, session, texts, until
from tests.support.provider import Reply
from tui.agent.agent import Agent
from tui.agent.branching import Forked, earlier_prompts, fork, go, label, tree
from tui.agent.checkpoint_wishes import Told
from tui.agent.events import AnswerDelta, BranchMoved, PhaseChanged, QueueReturned, ToolProgress
from tui.agent.session import SessionOptions
from tui.context.tree import Spot, after
from tui.log import EntryNotFound
from tui.log.entries import (
    ApprovalMode,
    BranchSummary,
    Checkpoint,
    Entry,
    Label,
    Prompt,
    Result,
    Settled,
    TaskSet,
)
from tui.messages import Text, UserMessage

pytestmark = pytest.mark.anyio


def forked(given: SessionOptions, made: Forked | Told) -> SessionOptions:
    assert isinstance(made, Forked)
    return msgspec.structs.replace(given, open="id", session_id=made.session, arrives=True)


async def prompts(agent: Agent) -> list[str]:
    return [prompt.message.authored for prompt in bodies(await path_of(agent), Prompt)]


async def spot_of(agent: Agent, words: str) -> Spot:
    """Return where one stands after a prompt's exchange."""
    drawn = await tree(agent)
    node = next(node for run in drawn.runs for node in run.nodes if node.text == words)
    return after(drawn, node.id)


async def prompt_of(agent: Agent, words: str) -> Spot:
    """Return the place before a prompt."""
    node = next(node for run in (await tree(agent)).runs for node in run.nodes if node.text == words)
    return Spot(node.id, before=True)


async def whole(agent: Agent, leaf: str) -> list[Entry]:
    return await (await agent.journal.log.at(leaf)).page(limit=10_000)


async def test_the_request_after_a_move_knows_only_the_new_path(tmp_path: Path) -> None:
    player = Player(*(Reply(text=f"answer {n}") for n in range(1, 8)))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, events):
        for n in range(1, 6):
            await said(agent, f"turn {n}" + (" the marker is ZEBRA-7" if n == 5 else ""))
        left = agent.journal.log.leaf or ""
        before = await whole(agent, left)
        told = await go(agent, await spot_of(agent, "turn 2"))
        assert "not changed back" in told.text
        assert agent.idle
        await until(events, lambda event: isinstance(event, BranchMoved))
        assert await prompts(agent) == ["turn 1", "turn 2"]
        assert await said(agent, "what was the marker?") == "answered"
        assert "ZEBRA-7" not in texts(player.asked[-1])
        assert holds(player.asked[-1], "answer 2")
        assert await whole(agent, left) == before, "the branch that was left is what it was"
        (run, *_) = (await tree(agent)).runs
        assert [node.kind for node in run.nodes][-1] == "fork"


async def test_an_earlier_prompt_is_edited_on_a_branch_of_its_own(tmp_path: Path) -> None:
    async with serving(Player()) as provider, session(wired(tmp_path, provider)) as (agent, _):
        for words in ("first", "  second\t\r\n", "third"):
            await said(agent, words)
        told = await go(agent, await prompt_of(agent, "second"), edit=True)
        assert told.draft == "  second\t\r\n"
        assert await prompts(agent) == ["first"]
        assert [node.text for node in earlier_prompts(await tree(agent))] == ["first"]
        await said(agent, "second, better")
        assert await prompts(agent) == ["first", "second, better"]


async def test_a_prompt_that_had_waited_is_not_sent_twice_when_it_is_edited(tmp_path: Path) -> None:
    slow = Reply(text="slow " * 40, stop_at=100, stop_how="silence")
    async with serving(Player(slow)) as provider, session(wired(tmp_path, provider)) as (agent, events):
        await agent.send(UserMessage((Text("first"),)))
        await until(events, lambda event: isinstance(event, AnswerDelta))
        await agent.send(UserMessage((Text("waits"),)), "follow-up")
        provider.release()
        await agent.settled()
        assert await prompts(agent) == ["first", "waits"]
        told = await go(agent, await prompt_of(agent, "waits"), edit=True)
        assert told.draft == "waits"
        assert agent.queue == ()


async def test_moving_while_a_tool_runs_asks_and_then_stops_it(tmp_path: Path) -> None:
    player = Player(Reply(text="one"), Reply(calls=(bash("echo begun; sleep 600"),)))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, events):
        await said(agent, "first")
        await agent.send(UserMessage((Text("second"),)))
        await until(events, lambda event: isinstance(event, ToolProgress))
        spot = await spot_of(agent, "first")
        assert (await go(agent, spot)).question
        assert not agent.idle
        left = agent.journal.log.leaf or ""
        assert not (await go(agent, spot, confirmed=True)).question
        assert agent.idle
        assert await prompts(agent) == ["first"]
        drawn = await tree(agent)
        old = await whole(
            agent, after(drawn, next(n.id for r in drawn.runs for n in r.nodes if n.text == "second")).entry
        )
        assert left in [entry.id for entry in old]
        assert len(bodies(old, Result)) == 1
        assert bodies(old, Settled)[-1].reason == "aborted"


async def test_a_place_in_the_middle_of_a_call_is_closed_as_unknown(tmp_path: Path) -> None:
    player = Player(Reply(calls=(bash("echo once >> ran"),)), Reply(text="done"))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        await said(agent, "run it")
        start = next(entry for entry in await path_of(agent) if entry.kind == "tool_started")
        told = await go(agent, Spot(start.id))
        assert "interrupted" in told.text
        (result,) = bodies(await path_of(agent), Result)
        assert result.refused == "unknown"
        assert bodies(await path_of(agent), Settled)[-1].reason == "interrupted"
        assert await said(agent, "and now?") == "answered"
        assert (tmp_path / "project" / "ran").read_text() == "once\n"


async def test_the_mode_of_approval_follows_the_branch(tmp_path: Path) -> None:
    async with serving(Player()) as provider, session(wired(tmp_path, provider)) as (agent, _):
        await said(agent, "first")
        await agent.use_approval("ask")
        await said(agent, "second")
        assert agent.approval == "ask"
        assert "Approval: all" in (await go(agent, await prompt_of(agent, "first"))).text
        assert agent.approval == "all"
        await go(agent, await spot_of(agent, "second"))
        assert agent.approval == "ask"
        assert bodies(await path_of(agent), ApprovalMode)[-1].mode == "ask"


async def test_a_file_seen_on_another_branch_was_not_seen_on_this_one(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("old\n")
    player = Player(
        Reply(text="hello"),
        Reply(calls=(bash("cat a.txt"),)),
        Reply(text="seen"),
    )
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        await said(agent, "first")
        await said(agent, "second")
        (project / "a.txt").write_text("new\n")
        await go(agent, await spot_of(agent, "first"))
        assert (project / "a.txt").read_text() == "new\n"  # files are not changed back


async def test_a_summary_of_the_branch_left_goes_along_as_history(tmp_path: Path) -> None:
    player = Player(
        Reply(text="one"),
        Reply(calls=(bash("echo hi > made.txt"),)),
        Reply(text="two"),
        summaries=(Reply(text="They tried X."),),
    )
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        await said(agent, "OPENING words")
        await said(agent, "second: do ALPHA")
        told = await go(agent, await spot_of(agent, "OPENING words"), carry=True)
        assert not told.question
        (summary,) = bodies(await path_of(agent), BranchSummary)
        assert summary.summary == "They tried X."
        assert "second: do ALPHA" in texts(player.summarised[0])
        assert "OPENING" not in texts(player.summarised[0])
        assert not player.summarised[0].body.get("tools")
        assert await said(agent, "go on") == "answered"
        assert holds(player.asked[-1], "They tried X.")
        assert "HISTORY FROM ANOTHER BRANCH" in texts(player.asked[-1])
        situation = agent.requests.situation()
        asked = [request.words.entry for request in situation.requests.newest]
        assert summary not in asked
        assert len(asked) == 2  # what is asked for there is not asked for here


@pytest.mark.parametrize(
    "bad",
    [Reply(text=""), Reply(text="x", stop="length"), Reply(calls=(bash("echo ran >> ran"),)), Reply(text="x" * 60_000)],
)
async def test_a_summary_that_may_not_stand_moves_nothing(tmp_path: Path, bad: Reply) -> None:
    async with serving(Player(summaries=(bad,))) as provider, session(wired(tmp_path, provider)) as (agent, _):
        await said(agent, "first")
        await said(agent, "second")
        leaf = agent.journal.log.leaf
        told = await go(agent, await spot_of(agent, "first"), carry=True)
        assert told.text.startswith("Nothing was moved")
        assert agent.journal.log.leaf == leaf
        assert not (tmp_path / "project" / "ran").exists()
        assert await said(agent, "still here?") == "answered"


async def test_esc_while_the_summary_is_written_moves_nothing_and_late_words_come_back(tmp_path: Path) -> None:
    silent = Reply(text="half a summary and more", stop_at=300, stop_how="silence")
    async with serving(Player(summaries=(silent,))) as provider, session(wired(tmp_path, provider)) as (agent, events):
        await said(agent, "first")
        await said(agent, "second")
        leaf = agent.journal.log.leaf
        told: list[Told] = []

        async def moving() -> None:
            told.append(await go(agent, await spot_of(agent, "first"), carry=True))

        async with anyio.create_task_group() as group:
            group.start_soon(moving)
            await until(events, lambda event: isinstance(event, PhaseChanged) and event.phase == "compacting")
            await agent.send(UserMessage((Text("sent meanwhile"),)))
            await agent.interrupt()
        assert told[0].text.startswith("Stopped")
        assert bodies(await whole(agent, leaf or ""), BranchSummary) == []
        returned = await until(events, lambda event: isinstance(event, QueueReturned))
        assert returned.texts == ("sent meanwhile",)
        assert await prompts(agent) == ["first", "second"]


async def test_a_fork_is_a_session_of_its_own_and_leaves_its_parent_as_it_is(tmp_path: Path) -> None:
    given = None
    async with serving(Player()) as provider:
        given = wired(tmp_path, provider)
        async with session(given) as (agent, _):
            for words in ("one", "two", "three"):
                await said(agent, words)
            parent, before = agent.session_id, await path_of(agent)
            first = await fork(agent, await spot_of(agent, "one"))
            newest = await fork(agent, task="  another task\n")
            assert [entry.id for entry in await path_of(agent)] == [entry.id for entry in before]
        for made, kept in ((first, ["one"]), (newest, ["one", "two", "three"])):
            async with session(forked(given, made)) as (agent, _):
                assert agent.session_id != parent
                assert await prompts(agent) == kept
                assert await said(agent, "on its own") == "answered"
                tasks = [task.text for task in bodies(await path_of(agent), TaskSet)]
                assert tasks == ([] if made is first else ["  another task\n"])
        async with session(msgspec.structs.replace(given, open="id", session_id=parent)) as (agent, _):
            assert [entry.id for entry in await path_of(agent)][: len(before)] == [entry.id for entry in before]
            assert "on its own" not in await prompts(agent)


async def test_a_fork_of_a_pending_handoff_waits_and_can_finish_it(tmp_path: Path) -> None:
    failing = Reply(text="", stop="stop")
    player = Player(work(), Reply(calls=(compact("the note"),)), summaries=(failing, Reply(text="What was done.")))
    async with serving(player) as provider:
        given = wired(tmp_path, provider)
        async with session(given) as (agent, _):
            await said(agent, "the task")
            assert agent.compaction.state.phase == "failed"
            made = await fork(agent)
        asked = len(player.asked) + len(player.summarised)
        async with session(forked(given, made)) as (agent, _):
            await agent.settled()
            assert agent.compaction.state.phase == "failed"
            assert len(player.asked) + len(player.summarised) == asked, "arriving runs nothing"
            await agent.compaction.now("")
            assert agent.compaction.state.phase == "ready"
            assert await said(agent, "go on") == "answered"
            check_cycles(await path_of(agent))


async def test_a_branch_left_while_its_summary_is_written_has_failed_and_a_fork_is_refused(tmp_path: Path) -> None:
    silent = Reply(text="half a summary and more", stop_at=300, stop_how="silence")
    player = Player(work(), Reply(text="fine"), Reply(calls=(compact("the note"),)), summaries=(silent,))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, events):
        await said(agent, "first")
        await agent.send(UserMessage((Text("second"),)))
        await until(events, lambda event: isinstance(event, PhaseChanged) and event.phase == "compacting")
        refused = await fork(agent)
        assert isinstance(refused, Told)
        assert "fork when it is over" in refused.text
        spot = await spot_of(agent, "first")
        told = await go(agent, spot)
        assert not told.question
        assert agent.compaction.state.phase == "none"
        assert await prompts(agent) == ["first"]
        back = await go(agent, await spot_of(agent, "second"))
        assert agent.compaction.state.phase == "failed"
        assert agent.compaction.state.error == "aborted"
        assert "failed" in back.text
        assert not bodies(await path_of(agent), Checkpoint)


async def test_names_are_shown_in_the_tree_and_taken_away(tmp_path: Path) -> None:
    async with serving(Player()) as provider, session(wired(tmp_path, provider)) as (agent, _):
        await said(agent, "first")
        await label(agent, "works  [/red]")
        await label(agent, "works better")
        named = [node for run in (await tree(agent)).runs for node in run.nodes if node.label]
        assert [node.label for node in named] == ["works better"]
        await label(agent, "", named[0].id)
        assert not [node for run in (await tree(agent)).runs for node in run.nodes if node.label]
        assert len(bodies(await path_of(agent), Label)) == 3


async def test_a_place_that_is_not_there_is_an_error_and_nothing_moves(tmp_path: Path) -> None:
    async with serving(Player()) as provider, session(wired(tmp_path, provider)) as (agent, _):
        await said(agent, "first")
        leaf = agent.journal.log.leaf
        with pytest.raises(EntryNotFound):
            await go(agent, Spot("no such entry"))
        assert agent.journal.log.leaf == leaf
        assert await said(agent, "second") == "answered"
