"""The handoff's table, cell by cell: what each event does in each state."""

from __future__ import annotations

from typing import TypeAlias

import msgspec
import pytest

from tests.contract.handoff import LATE, NOTE, OTHER, counter, made, names, state, written
from tui.context.handoff import is_locked, step
from tui.context.handoff_effects import Append, Effect, Reply, Say, StartSummary, Steer
from tui.context.handoff_events import (
    Arrived,
    Authored,
    BranchAway,
    CheckpointFailed,
    CheckpointMade,
    CompactAsked,
    DropAsked,
    EditAsked,
    Escaped,
    HandoffEvent,
    LogBack,
    LogLost,
    ModelChanged,
    NoteGiven,
    NowAsked,
    Quitting,
    Reloaded,
    ResumeAsked,
    Settles,
    SummaryAccepted,
    SummaryRefused,
    Undone,
)
from tui.log.entries import Checkpoint, Handoff, Latch, Note, Phase

ALL: tuple[Phase, ...] = ("none", "answered", "saved", "compacting", "ready", "delivered", "failed")
IDLE: tuple[Phase, ...] = ("none", "answered")

Cell: TypeAlias = tuple[str, HandoffEvent, Phase, Phase, list[str]]
"""Row, event, state before, phase after, effects in order."""

SAVES = ["Append", "Reply", "EndExchange"]
GOES_READY = ["Append", "Proceed"]
COMPACTS = ["Append", "StartSummary"]
FAILS = ["Append", "ReturnQueue"]
POINTER = made()

SAME = NoteGiven("call", NOTE)
SAME_AFTER_WORK = NoteGiven("call", NOTE, new_work=True)
ANOTHER = NoteGiven("call", OTHER)
INVALID = NoteGiven("call", "  ")
FRUITLESS = NoteGiven("call", OTHER, compactable=False)
GOOD = Settles()
BAD = Settles(complete=False, detail="length")
ACCEPTED = SummaryAccepted("a1", made())
REFUSED = SummaryRefused("a1", "truncated")
TEMPLATE = SummaryRefused("a1", "template", "not UTF-8")
BY_POINTER = SummaryRefused("a1", "timeout", pointer=POINTER)
ABORTED_POINTER = SummaryRefused("a1", "aborted", pointer=POINTER)
MANUAL_MADE = CheckpointMade("manual", made("manual"))
MANUAL_FAILED = CheckpointFailed("manual", "empty")
OVERFLOW_MADE = CheckpointMade("overflow", made("manual"))
OVERFLOW_FAILED = CheckpointFailed("overflow", "provider-failure")
WAITING = CompactAsked(running=True)
SMALLER = ModelChanged(latch=Latch(on=True, tokens=9, hard=8), fits=False, largest=1, needed=9_000)
LARGER = ModelChanged(latch=Latch(on=False, tokens=9, hard=800))


def row(name: str, event: HandoffEvent, **cells: tuple[Phase, list[str]]) -> list[Cell]:
    """Return the cells of one row; `idle` stands for none and answered."""
    found: list[Cell] = []
    for phase in ALL:
        key = "idle" if phase in IDLE and phase not in cells else phase
        if key in cells:
            after, effects = cells[key]
            found.append((name, event, phase, phase if key == "idle" and after == "none" else after, effects))
    return found


TABLE: list[Cell] = [
    *row(
        "self_compact same note",
        SAME,
        none=("saved", SAVES),
        answered=("saved", SAVES),
        saved=("saved", ["Reply"]),
        compacting=("compacting", ["Reply"]),
        ready=("ready", ["Reply"]),
        delivered=("delivered", ["Reply"]),
        failed=("saved", SAVES),
    ),
    *row("self_compact same note after new work", SAME_AFTER_WORK, delivered=("saved", SAVES)),
    *row(
        "self_compact another note",
        ANOTHER,
        none=("saved", SAVES),
        answered=("saved", SAVES),
        saved=("saved", ["Reply"]),
        compacting=("compacting", ["Reply"]),
        ready=("ready", ["Reply"]),
        delivered=("saved", SAVES),
        failed=("saved", SAVES),
    ),
    *row(
        "self_compact invalid note",
        INVALID,
        idle=("none", ["Reply"]),
        saved=("saved", ["Reply"]),
        compacting=("compacting", ["Reply"]),
        ready=("ready", ["Reply"]),
        delivered=("delivered", ["Reply"]),
        failed=("failed", ["Reply"]),
    ),
    *row(
        "self_compact not compactable",
        FRUITLESS,
        idle=("none", ["Reply"]),
        delivered=("delivered", ["Reply"]),
        failed=("ready", SAVES),
    ),
    *row("settles not compactable", Settles(compactable=False), saved=("ready", GOES_READY)),
    *row(
        "settles complete",
        GOOD,
        idle=("none", []),
        saved=("compacting", COMPACTS),
        ready=("delivered", ["Deliver"]),
        delivered=("answered", ["Append"]),
        failed=("failed", []),
    ),
    *row(
        "settles otherwise",
        BAD,
        idle=("none", []),
        saved=("compacting", COMPACTS),
        ready=("delivered", ["Deliver"]),
        delivered=("delivered", ["Say"]),
        failed=("failed", []),
    ),
    *row(
        "Esc",
        Escaped(),
        idle=("none", ["StopExchange"]),
        saved=("saved", ["StopExchange", "Append"]),
        compacting=("failed", ["AbortSummary", *FAILS]),
        ready=("ready", ["StopExchange", "Append"]),
        delivered=("delivered", ["StopExchange", "Append"]),
        failed=("failed", ["StopExchange"]),
    ),
    *row(
        "summary accepted",
        ACCEPTED,
        idle=("none", []),
        saved=("saved", []),
        compacting=("ready", GOES_READY),
        ready=("ready", []),
        delivered=("delivered", []),
        failed=("failed", []),
    ),
    *row(
        "summary not accepted",
        REFUSED,
        idle=("none", []),
        saved=("saved", []),
        compacting=("failed", FAILS),
        ready=("ready", []),
        delivered=("delivered", []),
        failed=("failed", []),
    ),
    *row("template unreadable", TEMPLATE, compacting=("failed", FAILS)),
    *row("summary not accepted, pointer", BY_POINTER, compacting=("ready", GOES_READY)),
    *row("summary aborted, pointer", ABORTED_POINTER, compacting=("failed", FAILS)),
    *row(
        "/compact succeeds",
        MANUAL_MADE,
        idle=("none", ["Append"]),
        saved=("ready", GOES_READY),
        compacting=("compacting", []),
        ready=("ready", []),
        delivered=("delivered", ["Append"]),
        failed=("ready", GOES_READY),
    ),
    *row(
        "/compact fails",
        MANUAL_FAILED,
        idle=("none", ["Say"]),
        saved=("failed", FAILS),
        delivered=("delivered", ["Say"]),
        failed=("failed", ["Append", "Say"]),
    ),
    *row(
        "/compact when idle",
        CompactAsked(running=False),
        idle=("none", ["StartSummary"]),
        saved=("saved", ["StartSummary"]),
        compacting=("compacting", ["Say"]),
        ready=("ready", ["Say"]),
        delivered=("delivered", ["StartSummary"]),
        failed=("failed", ["StartSummary"]),
    ),
    *row(
        "/compact while an exchange runs",
        WAITING,
        idle=("none", ["Say"]),
        saved=("saved", ["Say"]),
        delivered=("delivered", ["Say"]),
        failed=("failed", ["Say"]),
    ),
    *row(
        "overflow compaction succeeds",
        OVERFLOW_MADE,
        idle=("none", ["Append", "RepeatRequest"]),
        saved=("ready", ["EndExchange", *GOES_READY]),
        delivered=("delivered", ["Append", "RepeatRequest"]),
        failed=("failed", ["Append", "RepeatRequest"]),
    ),
    *row(
        "overflow compaction fails",
        OVERFLOW_FAILED,
        idle=("none", ["EndExchange"]),
        saved=("failed", ["EndExchange", *FAILS]),
        delivered=("delivered", ["EndExchange"]),
        failed=("failed", ["EndExchange"]),
    ),
    *row(
        "/self-compact-now",
        NowAsked(),
        idle=("none", ["Steer"]),
        saved=("compacting", COMPACTS),
        compacting=("compacting", ["Say"]),
        ready=("delivered", ["Deliver"]),
        delivered=("delivered", ["Steer"]),
        failed=("compacting", COMPACTS),
    ),
    *row(
        "/self-compact-edit",
        EditAsked(OTHER),
        idle=("none", ["Say"]),
        saved=("saved", ["Append", "Say"]),
        compacting=("compacting", ["Say"]),
        ready=("ready", ["Append", "Say"]),
        delivered=("delivered", ["Say"]),
        failed=("saved", ["Append", "Say"]),
    ),
    *row(
        "/self-compact-drop asks",
        DropAsked(),
        idle=("none", ["Say"]),
        saved=("saved", ["Ask"]),
        compacting=("compacting", ["Ask"]),
        ready=("ready", ["Ask"]),
        delivered=("delivered", ["Ask"]),
        failed=("failed", ["Ask"]),
    ),
    *row(
        "/self-compact-drop",
        DropAsked(confirmed=True),
        saved=("none", ["Append"]),
        compacting=("none", ["AbortSummary", "Append"]),
        ready=("none", ["Append"]),
        delivered=("none", ["Append"]),
        failed=("none", ["Append"]),
    ),
    *row(
        "authored message",
        Authored(),
        idle=("none", ["Accept"]),
        saved=("saved", ["Accept", "Proceed"]),
        compacting=("compacting", ["Accept"]),
        ready=("ready", ["Accept", "Proceed"]),
        delivered=("delivered", ["Accept"]),
        failed=("failed", ["Accept"]),
    ),
    *row(
        "branch away",
        BranchAway(),
        idle=("none", ["Move"]),
        saved=("saved", ["Move"]),
        compacting=("failed", ["AbortSummary", *FAILS, "Move"]),
        ready=("ready", ["Move"]),
        delivered=("delivered", ["Move"]),
        failed=("failed", ["Move"]),
    ),
    *row("branch away while the continuation runs", BranchAway(running=True), delivered=("delivered", ["Ask"])),
    *row(
        "branch away from a running continuation, confirmed",
        BranchAway(running=True, confirmed=True),
        delivered=("delivered", ["StopExchange", "Move"]),
    ),
    *[
        cell
        for how in ("back", "fork", "take-over")
        for cell in row(
            f"arrived by {how}",
            Arrived(how),
            idle=("none", []),
            saved=("saved", ["Say"]),
            compacting=("compacting", ["Say"]) if how == "fork" else ("failed", FAILS),
            ready=("ready", ["Say"]),
            delivered=("delivered", ["Say"]),
            failed=("failed", ["Say"]),
        )
    ],
    *row(
        "model, smaller window",
        SMALLER,
        idle=("none", ["Append", "StartSummary"]),
        saved=("saved", ["Say"]),
        compacting=("compacting", []),
        ready=("ready", ["Say"]),
        delivered=("delivered", ["Append", "StartSummary"]),
        failed=("failed", ["Say"]),
    ),
    *row(
        "model, larger window",
        LARGER,
        idle=("none", ["Append"]),
        saved=("saved", []),
        compacting=("compacting", []),
        ready=("ready", []),
        delivered=("delivered", ["Append"]),
        failed=("failed", []),
    ),
    *row(
        "quit",
        Quitting(),
        idle=("none", []),
        saved=("saved", []),
        compacting=("saved", ["AbortSummary", "Append"]),
        ready=("ready", []),
        delivered=("delivered", []),
        failed=("failed", []),
    ),
    *row(
        "crash, reload",
        Reloaded(),
        idle=("none", []),
        saved=("saved", []),
        compacting=("failed", FAILS),
        ready=("ready", ["Proceed"]),
        delivered=("delivered", ["Resume"]),
        failed=("failed", []),
    ),
    *[("log cannot be written", LogLost("disk full"), phase, phase, ["StopAgent"]) for phase in ALL],
    *row(
        "log can be written again",
        LogBack(),
        idle=("none", []),
        saved=("saved", []),
        compacting=("failed", FAILS),
        ready=("ready", ["Proceed"]),
        delivered=("delivered", []),
        failed=("failed", []),
    ),
    *row(
        "the one key, /continue",
        ResumeAsked(),
        idle=("none", ["Resume"]),
        saved=("compacting", COMPACTS),
        compacting=("compacting", ["Say"]),
        ready=("delivered", ["Deliver"]),
        delivered=("delivered", ["Resume"]),
        failed=("compacting", COMPACTS),
    ),
    *row(
        "/compact undo",
        Undone("c1"),
        idle=("none", []),
        saved=("none", ["Append"]),
        compacting=("none", ["Append"]),
        ready=("none", ["Append"]),
        delivered=("none", ["Append"]),
        failed=("none", ["Append"]),
    ),
    *[("/compact undo, of another checkpoint", Undone("other"), phase, phase, []) for phase in ALL],
]


def run(before: Handoff, event: HandoffEvent) -> tuple[Handoff, tuple[Effect, ...]]:
    return step(before, event, counter())


@pytest.mark.parametrize(
    ("name", "event", "before", "after", "effects"), TABLE, ids=[f"{c[0]} | {c[2]}" for c in TABLE]
)
def test_cell(name: str, event: HandoffEvent, before: Phase, after: Phase, effects: list[str]) -> None:
    new, done = run(state(before), event)
    assert (new.phase, names(done)) == (after, effects)
    # The newest handoff entry that the effects write is the state; without one nothing has changed.
    handoffs = [body for body in written(done) if isinstance(body, Handoff)]
    assert new == (handoffs[-1] if handoffs else state(before))
    assert len(handoffs) <= 1


@pytest.mark.parametrize("event", sorted({cell[0] for cell in TABLE}))
def test_every_row_has_its_states(event: str) -> None:
    assert [cell for cell in TABLE if cell[0] == event]


@pytest.mark.parametrize("phase", ALL)
def test_locked_phases(phase: Phase) -> None:
    assert is_locked(state(phase)) is (phase in ("saved", "compacting", "ready", "failed"))


# --- what the cells say beyond phase and effects --------------------------------------------------


def reply(before: Handoff, event: HandoffEvent) -> Reply:
    return next(effect for effect in run(before, event)[1] if isinstance(effect, Reply))


@pytest.mark.parametrize("phase", IDLE)
def test_saved_is_one_transaction_of_note_and_state(phase: Phase) -> None:
    new, effects = run(state(phase), SAME)
    note, handoff = written(effects)
    assert isinstance(note, Note)
    assert note.text == NOTE
    assert handoff == new
    assert (new.note, new.cycle, new.done) == (note.id, "id2", 3)
    assert reply(state(phase), SAME).recorded


@pytest.mark.parametrize("phase", ["saved", "compacting", "ready"])
def test_same_note_again_is_a_success_and_another_an_error(phase: Phase) -> None:
    same, another = reply(state(phase), SAME), reply(state(phase), ANOTHER)
    assert (same.is_error, same.recorded) == (False, False)
    assert (another.is_error, another.recorded) == (True, False)
    assert "pending" in another.text


def test_the_same_note_after_delivery_is_refused_and_says_so() -> None:
    given = reply(state("delivered"), SAME)
    assert given.is_error
    assert "already delivered" in given.text


@pytest.mark.parametrize("event", [ANOTHER, SAME_AFTER_WORK])
def test_a_new_cycle_supersedes_the_unanswered_one_and_counts_it_once(event: HandoffEvent) -> None:
    new, _ = run(state("delivered"), event)
    assert (new.done, new.closed, new.replaces) == (4, "superseded", "c1")
    assert new.cycle != "c1"
    answered, _ = run(msgspec.structs.replace(new, phase="delivered"), GOOD)
    assert answered.done == 5


def test_the_failed_note_again_is_the_same_cycle() -> None:
    new, _ = run(state("failed"), SAME)
    assert (new.cycle, new.note, new.error) == ("c1", "n1", "")


def test_another_note_under_failed_is_a_new_cycle_that_names_the_old() -> None:
    new, _ = run(state("failed"), ANOTHER)
    assert (new.replaces, new.done) == ("c1", 3)
    assert new.cycle != "c1"


def test_under_failed_with_nothing_to_compact_the_new_note_waits_ready() -> None:
    new, effects = run(state("failed"), FRUITLESS)
    assert [type(body).__name__ for body in written(effects)] == ["Note", "Handoff"]
    assert new.phase == "ready"


@pytest.mark.parametrize("phase", ALL)
@pytest.mark.parametrize("note", ["", " \n\u00a0", None, 5, ["x"], "x" * 24_001, "\U0001f600" * 12_001])
def test_a_rejected_note_changes_nothing(phase: Phase, note: object) -> None:
    before = state(phase)
    new, effects = run(before, NoteGiven("call", note))
    assert new == before
    assert names(effects) == ["Reply"]


@pytest.mark.parametrize(
    "note", ["x" * 24_000, "\U0001f600" * 12_000, "\x00", "\u202e", "\u200b x", "[/red]{{tokens}}"]
)
def test_odd_notes_are_kept_as_they_are(note: str) -> None:
    _, effects = run(state("none"), NoteGiven("call", note))
    saved = written(effects)[0]
    assert isinstance(saved, Note)
    assert saved.text == note


def test_a_note_too_large_for_the_window_names_the_largest() -> None:
    given = reply(state("none"), NoteGiven("call", "x" * 9_000, largest=5_000))
    assert given.is_error
    assert "5000" in given.text


@pytest.mark.parametrize("phase", [*IDLE, "delivered"])
def test_not_compactable_says_so_and_nothing_is_locked(phase: Phase) -> None:
    given = reply(state(phase), FRUITLESS)
    assert given.is_error
    assert "Nothing can be compacted" in given.text


def test_a_settle_starts_a_summary_with_its_attempt_id() -> None:
    new, effects = run(state("saved"), GOOD)
    start = effects[-1]
    assert isinstance(start, StartSummary)
    assert (start.attempt, start.origin, new.attempt, new.attempts) == ("id1", "self", "id1", 1)


@pytest.mark.parametrize("phase", ["saved", "ready", "delivered"])
def test_once_stopped_nothing_goes_on_by_itself(phase: Phase) -> None:
    stopped = run(state(phase), Escaped())[0]
    assert stopped.stopped
    for event in (GOOD, BAD, Reloaded(), LogBack()):
        assert run(stopped, event) == (stopped, ())


@pytest.mark.parametrize("phase", ["saved", "ready", "delivered"])
def test_a_prompt_or_the_key_lifts_the_stop(phase: Phase) -> None:
    stopped = state(phase, stopped=True)
    assert not run(stopped, Authored())[0].stopped
    assert not run(stopped, ResumeAsked())[0].stopped


def test_esc_twice_writes_once() -> None:
    assert names(run(state("saved", stopped=True), Escaped())[1]) == ["StopExchange"]


@pytest.mark.parametrize("event", [SummaryAccepted(LATE, made()), SummaryRefused(LATE, "timeout")])
def test_a_late_result_is_void_by_attempt_id(event: HandoffEvent) -> None:
    assert run(state("compacting"), event) == (state("compacting"), ())


def test_checkpoint_and_ready_are_one_transaction_and_name_the_cycle() -> None:
    new, effects = run(state("compacting"), ACCEPTED)
    checkpoint, handoff = written(effects)
    assert isinstance(checkpoint, Checkpoint)
    assert checkpoint.cycle == "c1"
    assert handoff == new
    assert len([effect for effect in effects if isinstance(effect, Append)]) == 1


@pytest.mark.parametrize(
    ("event", "error"), [(REFUSED, "truncated"), (TEMPLATE, "template"), (ABORTED_POINTER, "aborted")]
)
def test_failed_keeps_note_and_lock_and_says_why_and_what_next(event: HandoffEvent, error: str) -> None:
    new, effects = run(state("compacting"), event)
    assert (new.error, new.note, new.cycle) == (error, "n1", "c1")
    said = written(effects)[0]
    assert "/self-compact-now" in str(said)
    assert "The note is kept" in str(said)


def test_a_pointer_checkpoint_is_labelled_and_said() -> None:
    _, effects = run(state("compacting"), BY_POINTER)
    said, checkpoint, _ = written(effects)
    assert isinstance(checkpoint, Checkpoint)
    assert checkpoint.pointer
    assert "recall" in str(said)


@pytest.mark.parametrize("phase", ["saved", "failed"])
def test_a_manual_checkpoint_discharges_the_handoff(phase: Phase) -> None:
    checkpoint = written(run(state(phase), MANUAL_MADE)[1])[0]
    assert isinstance(checkpoint, Checkpoint)
    assert checkpoint.cycle == "c1"


@pytest.mark.parametrize(
    ("phase", "event"), [("failed", OVERFLOW_MADE), ("delivered", MANUAL_MADE), ("none", MANUAL_MADE)]
)
def test_other_checkpoints_discharge_nothing(phase: Phase, event: HandoffEvent) -> None:
    (checkpoint,) = written(run(state(phase), event)[1])
    assert isinstance(checkpoint, Checkpoint)
    assert checkpoint.cycle == ""


def test_a_failed_retry_by_compact_renews_the_error() -> None:
    assert run(state("failed"), MANUAL_FAILED)[0].error == "empty"


def test_now_asks_for_a_note_with_what_matters() -> None:
    steer = run(state("none"), NowAsked(about="the failing test"))[1][0]
    assert isinstance(steer, Steer)
    assert "self_compact" in steer.text
    assert "the failing test" in steer.text


@pytest.mark.parametrize("phase", ["saved", "failed"])
def test_now_and_edit_under_a_lock(phase: Phase) -> None:
    retried, _ = run(state(phase), NowAsked())
    assert (retried.cycle, retried.note) == ("c1", "n1")
    edited, _ = run(state(phase), EditAsked(OTHER))
    assert edited.replaces == "c1"
    assert edited.done == 3


@pytest.mark.parametrize("phase", ["saved", "failed"])
def test_now_with_nothing_to_compact_goes_straight_to_ready(phase: Phase) -> None:
    assert run(state(phase), NowAsked(compactable=False))[0].phase == "ready"


def test_a_blank_edit_changes_nothing() -> None:
    assert run(state("saved"), EditAsked(" "))[0] == state("saved")


@pytest.mark.parametrize(("phase", "done"), [("saved", 3), ("ready", 3), ("failed", 3), ("delivered", 4)])
def test_a_dropped_cycle_counts_only_if_it_was_delivered(phase: Phase, done: int) -> None:
    new, _ = run(state(phase), DropAsked(confirmed=True))
    assert (new.done, new.closed, new.cycle) == (done, "dropped", "")


@pytest.mark.parametrize(
    ("phase", "running", "how"),
    [
        ("none", False, "send"),
        ("none", True, "steer-or-queue"),
        ("saved", False, "queue"),
        ("compacting", False, "queue"),
        ("ready", False, "queue"),
        ("delivered", True, "steer-or-queue"),
        ("delivered", False, "send"),
        ("failed", False, "send"),
    ],
)
def test_what_becomes_of_an_authored_message(phase: Phase, running: bool, how: str) -> None:
    assert f"how={how!r}" in str(run(state(phase), Authored(running=running))[1])


def test_a_note_too_large_for_a_smaller_model_stays_and_the_size_is_named() -> None:
    said = run(state("saved"), SMALLER)[1][0]
    assert isinstance(said, Say)
    assert "9000" in said.text


def test_quitting_burns_no_attempt() -> None:
    new, _ = run(state("compacting"), Quitting())
    assert (new.attempts, new.attempt) == (0, "")


def test_answered_counts_the_cycle_once() -> None:
    new, _ = run(state("delivered"), GOOD)
    assert (new.done, new.closed) == (4, "answered")
    assert run(new, GOOD) == (new, ())
