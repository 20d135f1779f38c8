"""Whole cycles of the handoff through the public agent and both wire protocols."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.handoffs import (
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
from tests.agent.support import bodies, path_of, said, session
from tests.support.provider import Reply
from tui.log.entries import Checkpoint, Handoff, Note, Result, Settled, ToolStarted

pytestmark = pytest.mark.anyio
PROTOCOLS = pytest.mark.parametrize("protocol", ["openai-chat", "anthropic", "openai-responses"])

TASK = "Fix\tit.  \r\nKeep {{tokens}} and [/red]\u2028as they are. \U0001f9f6\n\n"
HARD_TEXT = "\r\n\t{{tokens}} [/red] \u2028 \x1b[31m \u202e\u05d0\u200b \x00 \U0001f9f6 e\u0301 ORIGINAL TASK:\n"


def odd_note(units: int) -> str:
    """Return a note of so many UTF-16 units that holds all that is easily lost, blanks at its end."""
    pairs = "\U0001f9f6" * 1_000
    size = len(HARD_TEXT) + HARD_TEXT.count("\U0001f9f6")
    return HARD_TEXT + pairs + "x" * (units - size - 2_000 - 4) + " \n\n\t"


@PROTOCOLS
async def test_several_handoffs_keep_note_and_task_byte_for_byte(tmp_path: Path, protocol: str) -> None:
    notes = [odd_note(24_000), "second note  \n", odd_note(3_000)]
    turns = [reply for note in notes for reply in (work(), Reply(text="I pause.", calls=(compact(note),)))]
    player = Player(*turns)
    async with serving(player) as provider, session(wired(tmp_path, provider, protocol, window=60_000)) as (agent, _):
        assert await said(agent, TASK) == "answered"
        path = await path_of(agent)
    check_cycles(path)
    assert [note.text for note in bodies(path, Note)] == notes
    assert len(continuations(path)) == len(bodies(path, Checkpoint)) == len(player.summarised) == 3
    after = [
        received for received in player.asked if any(holds(received, note + "\n\n<continuation>") for note in notes)
    ]
    assert len(after) >= 3
    assert all(holds(received, TASK) for received in player.asked)
    assert all(received.body["tools"] == player.asked[0].body["tools"] for received in player.asked)
    assert all(not received.problems for received in provider.requests)
    assert bodies(path, Handoff)[-1].phase == "answered"
    assert bodies(path, Handoff)[-1].done == 3
    assert len({checkpoint.task.sha256 for checkpoint in bodies(path, Checkpoint) if checkpoint.task}) == 1


@PROTOCOLS
async def test_the_summary_request_has_no_tools_and_ends_with_the_persons_side(tmp_path: Path, protocol: str) -> None:
    player = Player(work(), Reply(calls=(compact("note"),)))
    async with serving(player) as provider, session(wired(tmp_path, provider, protocol)) as (agent, _):
        assert await said(agent, "go") == "answered"
    body = player.summarised[0].body
    assert "tools" not in body
    assert (body.get("messages") or body["input"])[-1]["role"] == "user"


async def test_siblings_are_refused_whatever_their_order_and_text_is_kept(tmp_path: Path) -> None:
    last = Reply(text="Before I go.", calls=(bash_call("touch first"), compact("note"), bash_call("touch last")))
    player = Player(work(), last)
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        assert await said(agent, "go") == "answered"
        path = await path_of(agent)
    assert not list((tmp_path / "project").iterdir())
    assert len(bodies(path, ToolStarted)) == 1
    refused = [result for result in bodies(path, Result) if result.refused == "handoff"]
    assert len(refused) == 2
    assert [settled.reason for settled in bodies(path, Settled)] == ["handoff", "answered"]
    assert phases(path) == ["saved", "compacting", "ready", "delivered", "answered"]


@pytest.mark.parametrize("note", ["", " \n\t ", odd_note(24_001)])
async def test_a_note_that_cannot_be_taken_changes_nothing_and_its_siblings_run(tmp_path: Path, note: str) -> None:
    player = Player(work(), Reply(calls=(compact(note), bash_call("touch ran"))))
    async with serving(player) as provider, session(wired(tmp_path, provider, window=60_000)) as (agent, _):
        assert await said(agent, "go") == "answered"
        path = await path_of(agent)
    assert (tmp_path / "project" / "ran").exists()
    assert phases(path) == []
    assert not bodies(path, Note)
    assert any(result.message.is_error and result.message.name == "self_compact" for result in bodies(path, Result))


async def test_usage_is_unknown_between_the_checkpoint_and_the_next_answer(tmp_path: Path) -> None:
    player = Player(work(), Reply(calls=(compact("note"),)), Reply(status=401, body="{}"))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        assert await said(agent, "go") == "error"
        assert (agent.usage.tokens, agent.usage.source) == (None, "unknown")
        assert await said(agent, "again") == "answered"
        assert agent.usage.tokens is not None


async def test_nothing_to_compact_is_said_and_locks_nothing(tmp_path: Path) -> None:
    player = Player(Reply(calls=(compact("too early"),)))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        assert await said(agent, "go") == "answered"
        path = await path_of(agent)
    assert phases(path) == []
    assert "Nothing can be compacted yet" in bodies(path, Result)[0].message.text
