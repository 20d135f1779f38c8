"""What must hold after any fault, judged from the log, the disk and what the model was asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.agent.handoffs import check_cycles, continuations, holds, is_summary
from tests.agent.support import bodies
from tests.faults.child import Report
from tests.faults.scenario import NOTE, RAN, TASK, WORDS
from tests.support.provider import Received
from tui.context.view import EFFECTS_UNKNOWN, NOT_STARTED
from tui.log.entries import Answer, Checkpoint, Entry, Handoff, Note, Prompt, Queue, Result, Settled, ToolStarted
from tui.messages import Text

__all__ = ["Left", "check_all", "check_opening", "check_shown"]

PHASES = ("saved", "compacting", "ready", "delivered", "answered")


class Left(msgspec.Struct, frozen=True):
    """What a trial left behind."""

    path: tuple[Entry, ...]
    project: Path
    said: int
    """Messages that were acknowledged before the fault."""
    requests: tuple[Received, ...]


def check_all(left: Left, last: Report) -> None:
    """Check what holds at the end of every trial."""
    path = list(left.path)
    _one_chain(path)
    _covered_or_kept(path)
    _handed_over(path)
    _one_result_per_call(path)
    _nothing_ran_twice(path, left.project)
    _all_words(path, left.said)
    for received in left.requests:
        assert not received.problems, received.problems
        assert is_summary(received) or holds(received, TASK), "the task is in each request, byte for byte"
    assert not last.refused
    assert not last.failed


def _one_chain(path: Sequence[Entry]) -> None:
    """Entries are only ever appended: one chain, each parent the entry before (invariants 1 and 7)."""
    assert [entry.depth for entry in path] == list(range(len(path)))
    assert [entry.parent for entry in path] == [None, *(entry.id for entry in path[:-1])]
    assert len({entry.id for entry in path}) == len(path)
    assert path[-1].kind in ("settled", "queue", "handoff"), path[-1].kind


def _covered_or_kept(path: Sequence[Entry]) -> None:
    """A checkpoint covers a range by ids; each entry is in exactly one of covered and kept (invariant 3)."""
    at = {entry.id: entry.depth for entry in path}
    for entry in path:
        if isinstance(entry.body, Checkpoint):
            body = entry.body
            assert body.summary.strip()
            assert at[body.last] == body.last_depth < entry.depth
            assert at[body.first] <= body.last_depth
            assert not body.kept or at[body.kept] == body.last_depth + 1
            assert body.task is not None
            assert path[body.task.depth].id == body.task.entry


def _handed_over(path: list[Entry]) -> None:
    """Four durable facts, in order, once (invariant 4): the note's bytes, one continuation, one checkpoint at most."""
    check_cycles(path)
    states = bodies(path, Handoff)
    assert {note.text for note in bodies(path, Note)} == {NOTE}
    assert [prompt.message.authored[: len(NOTE)] for prompt in continuations(path)] == [NOTE]
    assert len({state.cycle for state in states}) == 1
    assert len([made for made in bodies(path, Checkpoint) if made.cycle]) <= 1
    assert (states[-1].phase, states[-1].done, states[-1].closed) == ("answered", 1, "answered")
    reached = [state.phase for state in states if state.phase in PHASES]
    firsts = [reached.index(phase) for phase in PHASES if phase in reached]
    assert firsts == sorted(firsts)
    for phase in ("ready", "delivered", "answered"):
        assert len([state for state in states if state.phase == phase and not state.stopped]) == 1, phase


def _one_result_per_call(path: list[Entry]) -> None:
    """Journal before effect; each call has exactly one result (invariant 5)."""
    calls = [
        call.id for answer in bodies(path, Answer) if answer.message.stop.is_complete for call in answer.message.calls
    ]
    assert Counter(result.message.call_id for result in bodies(path, Result)) == Counter(calls)
    started = [entry.call_id for entry in bodies(path, ToolStarted)]
    assert len(set(started)) == len(started)
    for result in bodies(path, Result):
        text = "".join(part.text for part in result.message.content if isinstance(part, Text))
        match result.refused:
            case "unknown":
                assert EFFECTS_UNKNOWN in text
                assert result.message.call_id in started
            case "not-started":
                assert text == NOT_STARTED
                assert result.message.call_id not in started
            case "handoff":
                assert result.message.call_id not in started
            case "":
                assert result.message.name == "self_compact" or result.message.call_id in started
            case other:
                raise AssertionError(other)


def _nothing_ran_twice(path: list[Entry], project: Path) -> None:
    """No tool ran twice, none without a record of its start, and none that was refused (invariant 5)."""
    file = project / RAN
    ran = file.read_text().split() if file.exists() else []
    assert len(set(ran)) == len(ran)
    commands = {
        call.id: str(call.arguments.get("command", ""))
        for answer in bodies(path, Answer)
        for call in answer.message.calls
    }
    started = [commands[entry.call_id] for entry in bodies(path, ToolStarted)]
    for label in ran:
        assert any(f"echo {label} >>" in command for command in started), f"{label} ran without a record"
    for result in bodies(path, Result):
        command = commands[result.message.call_id]
        if not result.refused and command:
            assert command.split()[1] in ran, "what is said to be done is done"
        if result.refused in ("not-started", "handoff") and command:
            assert command.split()[1] not in ran, "what is said not to have run did not"


def _all_words(path: list[Entry], said: int) -> None:
    """Each message of the person is there once, byte for byte, in order of their saying where all went well."""
    typed = [prompt.message.authored for prompt in bodies(path, Prompt) if prompt.origin == "authored"]
    for words in WORDS:
        assert typed.count(words) == 1, words
    assert typed[0] == TASK
    assert said <= len(WORDS)
    queues = bodies(path, Queue)
    assert not queues or not queues[-1].items


# --- at the moment of opening: the table of recovery


def check_opening(left: Left, before: int, opened: int, *, screen: bool, report: Report) -> None:
    """Check what opening did, and that it did no more: by the newest handoff and what follows it."""
    old, new = left.path[:before], left.path[before:opened]
    state = next((entry.body for entry in reversed(old) if isinstance(entry.body, Handoff)), Handoff())
    _open_calls_settled(old, new)
    _acknowledged(left, report)
    done = (len(bodies(list(new), Checkpoint)), len(continuations(list(new))), _answers(new))
    checkpoint = any(made.cycle == state.cycle for made in bodies(list(old), Checkpoint))
    phase = "ready" if checkpoint and state.phase in ("saved", "compacting", "failed") else state.phase
    match phase:
        case "none" | "answered":
            assert done == (0, 0, 0), "no model call, nothing handed over"
            _ended_once(old, new, report)
        case "saved":
            assert done == (0, 0, 0), "it stays locked"
            assert any("resume, edit" in line for line in report.lines)
        case "compacting" | "failed":
            assert screen or done[:2] == (1, 1), "with nobody to ask it is tried once more"
            assert not screen or done == (0, 0, 0)
            assert phase == "failed" or [each.error for each in bodies(list(new), Handoff)][:1] == ["interrupted"]
        case "ready":
            assert done[:2] == (0, 1), "delivered, without a second compaction"
            assert done[2] > 0
        case "delivered":
            assert done[:2] == (0, 0)
            assert done[2] > 0, "the continuation is taken up again"
    if new and screen and phase in ("ready", "delivered"):
        assert any("Esc within 3 seconds" in line for line in report.lines)


def _answers(entries: Sequence[Entry]) -> int:
    return sum(isinstance(entry.body, Answer) and entry.body.message.stop.is_complete for entry in entries)


def _ended_once(old: Sequence[Entry], new: Sequence[Entry], report: Report) -> None:
    """An exchange that was open ended as interrupted, and the person was told what was cut off."""
    last = next((entry.depth for entry in reversed(old) if isinstance(entry.body, Settled)), -1)
    was_open = any(entry.depth > last and isinstance(entry.body, Prompt | Answer | ToolStarted) for entry in old)
    ends = [entry.body.reason for entry in new if isinstance(entry.body, Settled)]
    assert ends == (["interrupted"] if was_open else [])
    running = _running(old)
    told = " ".join(report.lines)
    assert not was_open or "Interrupted" in told
    assert not running or ("effects unknown" in told and "`echo " in told)


def _running(entries: Sequence[Entry]) -> list[str]:
    finished = {entry.body.message.call_id for entry in entries if isinstance(entry.body, Result)}
    return [
        entry.body.call_id
        for entry in entries
        if isinstance(entry.body, ToolStarted) and entry.body.call_id not in finished
    ]


def _open_calls_settled(old: Sequence[Entry], new: Sequence[Entry]) -> None:
    """Each call without a result got it at once: what is known of it, before anything else went on."""
    calls = {
        call.id
        for entry in old
        if isinstance(entry.body, Answer) and entry.body.message.stop.is_complete
        for call in entry.body.message.calls
    }
    finished = {entry.body.message.call_id for entry in old if isinstance(entry.body, Result)}
    running = set(_running(old))
    given = {
        entry.body.message.call_id: entry.body.refused
        for entry in new
        if isinstance(entry.body, Result) and entry.body.message.call_id in calls
    }
    assert given == {call: "unknown" if call in running else "not-started" for call in calls - finished}


def _acknowledged(left: Left, report: Report) -> None:
    """What was acknowledged is in the log, waits there, or has gone back to the editor."""
    path = left.path[: report.opened]
    known = {entry.body.message.authored for entry in path if isinstance(entry.body, Prompt)}
    for entry in path:
        if isinstance(entry.body, Queue):
            known |= {item.message.authored for item in entry.body.items}
    for words in WORDS[: left.said]:
        assert words in known, f"acknowledged and lost: {words!r}"


def check_shown(path: Sequence[Entry], report: Report) -> None:
    """What a process that met a fault held to be saved is saved, in that order, and it said that it stopped."""
    ids = [entry.id for entry in path]
    where = [ids.index(shown) for shown in report.shown]
    assert where == sorted(where), "shown as saved"
    if report.brief:
        assert not report.failed, "a short wait is no trouble"
    elif report.failed:
        assert "kept" in report.failed
