"""A handoff beside odd input: a model that does not listen, notes in broken text, a window its server corrects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agent.handoffs import (
    FILLER,
    Player,
    check_cycles,
    compact,
    continuations,
    holds,
    is_summary,
    phases,
    serving,
    wired,
    work,
)
from tests.agent.support import bodies, path_of, said, session
from tests.support.provider import Call, Received, Reply
from tui.log.entries import Checkpoint, Note, Result, Settled

pytestmark = pytest.mark.anyio


class Stubborn:
    """Gives `first` and then makes the same call again and again, whatever it is told, until a checkpoint is there."""

    def __init__(self, *first: Reply, tokens: tuple[int, int, int, int] | None = None, summary: Reply) -> None:
        self.asked: list[Received] = []
        self._first = list(first)
        self._tokens = tokens
        self._summary = summary

    def __call__(self, received: Received) -> Reply:
        if is_summary(received):
            return self._summary
        self.asked.append(received)
        if self._first:
            return self._first.pop(0)
        # Without a bound a model that does not listen would be asked for ever: then this ends it, and the counts fail.
        ends = holds(received, SUMMARY) or len(self.asked) > 20
        return Reply(text="Enough.") if ends else Reply(text="Once more.", calls=(touch(),), tokens=self._tokens)


SUMMARY = "What was done before."
FULL = (30_000, 0, 0, 100)


def touch() -> Call:
    return Call("bash", json.dumps({"command": "echo x >> ran"}))


async def test_a_model_that_answers_every_refusal_at_hard_with_another_call_gets_a_checkpoint(tmp_path: Path) -> None:
    first = Reply(text=FILLER, piece=8_000, calls=(touch(),), tokens=FULL)
    player = Stubborn(first, tokens=FULL, summary=Reply(text=SUMMARY))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        assert await said(agent, "go") == "answered"
        path = await path_of(agent)
    assert [result.refused for result in bodies(path, Result)] == ["", "hard", "hard", "hard"]
    assert [checkpoint.origin for checkpoint in bodies(path, Checkpoint)] == ["hard"]
    assert len(player.asked) == 5
    assert (tmp_path / "project" / "ran").read_text() == "x\n"


async def test_a_model_that_does_not_stop_calling_while_a_handoff_has_failed_gives_way(tmp_path: Path) -> None:
    player = Stubborn(work(), Reply(calls=(compact("the note"),)), summary=Reply(status=401, body="{}"))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        assert await said(agent, "go") == "needs-person"
        asked = len(player.asked)
        await said(agent, "try something")
        path = await path_of(agent)
        assert agent.compaction.state.phase == "failed"
    assert len(player.asked) - asked == 3
    assert not (tmp_path / "project" / "ran").exists()
    assert [result.refused for result in bodies(path, Result)][-3:] == ["handoff"] * 3
    assert [settled.reason for settled in bodies(path, Settled)][-1] in ("handoff", "needs-person")


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (r"half \ud83d of it", "half \ufffd of it"),
        (r"\udc00\ud800", "\ufffd\ufffd"),
        (r"nul \u0000 end", "nul \x00 end"),
        (r"\u202e\u05d0\u05d1 \u200b\u200d\ufeff", "\u202e\u05d0\u05d1 \u200b\u200d\ufeff"),
        (r"\u200b", "\u200b"),
        (r"\ud83e\uddf6", "\U0001f9f6"),
    ],
    ids=["half a pair", "wrong way round", "nul", "right to left, no width", "no width alone", "a pair"],
)
async def test_a_note_arrives_as_it_was_written_and_what_is_no_text_as_signs(
    tmp_path: Path, written: str, kept: str
) -> None:
    call = Call("self_compact", f'{{"note_to_self": "{written}"}}')
    player = Player(work(), Reply(calls=(call,)))
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        assert await said(agent, "go") == "answered"
        path = await path_of(agent)
    check_cycles(path)
    assert [note.text for note in bodies(path, Note)] == [kept]
    assert len(continuations(path)) == 1
    assert holds(player.asked[-1], kept + "\n\n<continuation>")


@pytest.mark.parametrize("words", ["exceeds context length 16000", "maximum context length is 16k tokens"])
async def test_ctx10_a_window_that_a_refusal_names_counts_from_then_on(tmp_path: Path, words: str) -> None:
    refusal = Reply(status=400, body=json.dumps({"error": {"message": words}}))
    player = Player(work(), refusal)
    async with serving(player) as provider, session(wired(tmp_path, provider)) as (agent, _):
        assert await said(agent, "go") == "answered"
        path = await path_of(agent)
        assert agent.usage.window == 16_000
        assert agent.usage.thresholds is not None
        assert agent.usage.thresholds.cap == 14_400
    assert [checkpoint.origin for checkpoint in bodies(path, Checkpoint)] == ["overflow"]
    assert phases(path) == []
    assert [settled.reason for settled in bodies(path, Settled)] == ["answered"]
