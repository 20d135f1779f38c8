"""What the person does about a handoff, and what the gate does without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agent.handoffs import (
    FILLER,
    Player,
    bash_call,
    check_cycles,
    compact,
    continuations,
    holds,
    phases,
    serving,
    wired,
    work,
)
from tests.agent.support import bodies, path_of, said, session, until
from tests.cli.support import clew
from tests.support.provider import Call, Reply
from tui.agent.agent import Agent
from tui.agent.events import PhaseChanged, QueueReturned
from tui.log.entries import Answer, Checkpoint, Handoff, Note, Prompt, Result, Settled
from tui.messages import Text, UserMessage
from tui.settings import Settings

pytestmark = pytest.mark.anyio
BAD = Reply(text="")
GOOD = Reply(text="What was done.")


def words(text: str) -> UserMessage:
    return UserMessage((Text(text),))


def failing(*more: Reply, summaries: tuple[Reply, ...] = (BAD,)) -> Player:
    """Return a player that works, hands over, and gets no summary at first."""
    return Player(work(), Reply(calls=(compact("the note"),)), *more, summaries=summaries)


async def now(agent: Agent) -> str:
    async def job() -> None:
        await agent.compaction.now("")

    agent.loop.job(job)
    return (await agent.settled()).reason


async def test_while_failed_the_model_may_talk_and_ordinary_calls_are_refused(tmp_path: Path) -> None:
    call = bash_call("touch ran")
    player = failing(Reply(calls=(call,)), Reply(calls=(Call("context_info"),)), Reply(text="I cannot."))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        assert await said(agent, "go") == "needs-person"
        assert await said(agent, "what is wrong?") == "needs-person"
        path = await path_of(agent)
    assert bodies(path, Settled)[-1].reason == "answered"
    assert bodies(path, Answer)[-1].message.text == "I cannot."
    assert not (tmp_path / "project" / "ran").exists()
    assert '"failed"' in bodies(path, Result)[-1].message.text, "context_info answers under every lock"
    assert bodies(path, Handoff)[-1].phase == "failed"


async def test_three_refused_answers_end_the_exchange_while_failed_and_nothing_else(tmp_path: Path) -> None:
    player = failing(*[Reply(calls=(bash_call("touch ran"),))] * 3)
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        await said(agent, "go")
        await said(agent, "try")
        assert len(player.asked) == 5
        assert agent.compaction.state.phase == "failed"
        player.summaries[:] = [GOOD]
        assert await now(agent) == "answered"
        path = await path_of(agent)
    check_cycles(path)
    assert len(bodies(path, Note)) == len(continuations(path)) == 1


async def test_a_model_calls_again_while_failed_and_the_cycle_goes_on(tmp_path: Path) -> None:
    player = failing(Reply(calls=(compact("the note"),)))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        await said(agent, "go")
        player.summaries[:] = [GOOD]
        assert await said(agent, "try again") == "answered"
        path = await path_of(agent)
    check_cycles(path)
    assert len(bodies(path, Note)) == 1
    assert len({handoff.cycle for handoff in bodies(path, Handoff)}) == 1


async def test_drop_asks_once_and_gives_the_note_up(tmp_path: Path) -> None:
    player = failing(Reply(calls=(bash_call("touch ran"),)))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        await said(agent, "go")
        assert "Give this handoff up?" in await agent.compaction.drop(confirmed=False)
        assert agent.compaction.state.phase == "failed"
        assert await agent.compaction.drop(confirmed=True) == ""
        assert await said(agent, "then do it") == "answered"
        path = await path_of(agent)
    assert (tmp_path / "project" / "ran").exists()
    assert not continuations(path)
    assert bodies(path, Handoff)[-1].closed == "dropped"


async def test_an_edited_note_is_what_is_delivered(tmp_path: Path) -> None:
    player = failing()
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        await said(agent, "go")
        player.summaries[:] = [GOOD]
        await agent.compaction.edit("better\r\n note ")
        assert await now(agent) == "answered"
        path = await path_of(agent)
    check_cycles(path)
    assert continuations(path)[0].message.authored.startswith("better\r\n note \n\n<")
    assert bodies(path, Handoff)[-1].done == 1


async def test_compact_makes_a_checkpoint_and_the_conversation_goes_on(tmp_path: Path) -> None:
    player = Player(work())
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        assert await said(agent, "the  task\t") == "answered"
        agent.loop.job(lambda: agent.compaction.compact("the file names"))
        await agent.settled()
        assert await said(agent, "more") == "answered"
        path = await path_of(agent)
    assert [checkpoint.origin for checkpoint in bodies(path, Checkpoint)] == ["manual"]
    assert holds(player.summarised[0], "the file names")
    assert holds(player.asked[-1], "the  task\t")
    assert not holds(player.asked[-1], FILLER)
    assert phases(path) == []


async def test_what_is_sent_while_the_summary_is_made_follows_the_continuation(tmp_path: Path) -> None:
    silent = Reply(text="What was done.", hold=True)
    player = Player(work(), Reply(calls=(compact("the note"),)), summaries=(silent, GOOD))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, events):
        await agent.send(words("go"))
        await until(events, lambda event: isinstance(event, PhaseChanged) and event.phase == "compacting")
        await agent.send(words("a steer"))
        await agent.send(words("a follow-up"), "follow-up")
        provider.release()
        assert (await agent.settled()).reason == "answered"
        path = await path_of(agent)
    assert [prompt.origin for prompt in bodies(path, Prompt)] == ["authored", "continuation", "authored", "authored"]
    assert [prompt.message.authored for prompt in bodies(path, Prompt)][2:] == ["a steer", "a follow-up"]
    assert not any(prompt.steer for prompt in bodies(path, Prompt))
    assert [settled.reason for settled in bodies(path, Settled)] == ["handoff", "answered", "answered", "answered"]


async def test_escape_in_the_continuation_stops_it_and_a_prompt_goes_on(tmp_path: Path) -> None:
    long = Reply(text="a long answer", stop_at=-60, stop_how="silence")
    player = Player(work(), Reply(calls=(compact("the note"),)), long, Reply(text="Done."))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, events):
        await agent.send(words("go"))
        await provider.sent(3, 100)
        await agent.send(words("queued"), "follow-up")
        await agent.interrupt()
        returned = await until(events, lambda event: isinstance(event, QueueReturned))
        assert returned.texts == ("queued",)
        assert (agent.compaction.state.phase, agent.compaction.state.stopped) == ("delivered", True)
        assert await said(agent, "go on") == "answered"
        path = await path_of(agent)
    check_cycles(path)
    assert bodies(path, Handoff)[-1].phase == "answered"
    assert holds(player.asked[-1], "the note\n\n<continuation>")


async def test_esc_while_the_summary_is_made_and_a_message_after_it(tmp_path: Path) -> None:
    silent = Reply(text="What was done.", stop_at=-40, stop_how="silence")
    player = Player(work(), Reply(calls=(compact("the note"),)), Reply(text="I wait."), summaries=(silent, GOOD))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        await agent.send(words("go"))
        await provider.sent(2, 100)
        await agent.interrupt()
        assert (agent.compaction.state.phase, agent.compaction.state.error) == ("failed", "aborted")
        await said(agent, "are you there?")
        assert await now(agent) == "answered"
        path = await path_of(agent)
    check_cycles(path)
    assert bodies(path, Handoff)[-1].attempts == 2
    assert bodies(path, Note)[0].text == "the note"


INVALID = Settings(compact_at="10", compact_soft_at="20")


async def test_thresholds_that_do_not_fit_fail_closed(tmp_path: Path) -> None:
    player = Player(Reply(calls=(bash_call("touch ran"), Call("context_info"))))
    async with serving(player) as provider, session(wired(tmp_path, provider, settings=INVALID)) as (agent, _):
        assert await said(agent, "go") == "needs-person"
        path = await path_of(agent)
    assert not (tmp_path / "project" / "ran").exists()
    assert {result.message.name: result.refused for result in bodies(path, Result)} == {
        "bash": "invalid-config",
        "context_info": "",
    }
    assert "thresholds do not fit" in next(r.message.text for r in bodies(path, Result) if r.refused)


@pytest.mark.parametrize("more", [{}, {"settings": Settings(compaction="off")}], ids=["self", "off"])
async def test_a_window_too_small_for_any_answer_is_said_and_nothing_is_sent(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    player = Player()
    async with (
        serving(player) as provider,
        session(wired(tmp_path, provider, window=1_000, **more)) as (agent, _),
    ):
        assert "tokens are left for the conversation" in agent.usage.problem
        assert await said(agent, "go") == "needs-person"
        settled = bodies(await path_of(agent), Settled)[-1]
        assert not provider.requests
    assert "larger window than 1000" in settled.detail
    assert "Nothing was sent" in settled.detail


def test_a_window_too_small_is_said_at_the_start_of_print_mode(tmp_path: Path) -> None:
    done = clew("-p", "go", "--window", "1000", "--provider", "rehearsal", cwd=tmp_path)
    assert done.returncode == 4, done.stderr
    assert b"tokens are left for the conversation" in done.stderr.splitlines()[0]
    assert done.stdout == b""


def test_thresholds_that_do_not_fit_end_print_mode_with_4(tmp_path: Path) -> None:
    with serving(Player(Reply(calls=(bash_call("touch ran"),)))) as provider:
        arguments = ["-p", "go", "--approve", "all", "--window", "32000", "--model", "scripted"]
        arguments += ["--base-url", f"{provider.base_url}/v1", "--compact-at", "10", "--compact-soft-at", "20"]
        done = clew(*arguments, cwd=tmp_path)
    assert done.returncode == 4, done.stderr
    assert b"invalid" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_a_failed_handoff_ends_print_mode_with_4_and_c_goes_on_with_it(tmp_path: Path) -> None:
    player = failing()
    with serving(player) as provider:
        arguments = ["-p", "go", "--approve", "all", "--window", "32000", "--model", "scripted"]
        arguments += ["--base-url", f"{provider.base_url}/v1"]
        failed = clew(*arguments, cwd=tmp_path)
        player.summaries[:] = [GOOD]
        done = clew("-c", *arguments, cwd=tmp_path)
    assert failed.returncode == 4, failed.stderr
    assert b"note" in failed.stderr
    assert done.returncode == 0, done.stderr
    assert holds(provider.requests[-1], "the note\n\n<continuation>")
