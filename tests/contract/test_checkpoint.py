"""Checkpoints: the cut, what is carried, what gives way, how it reads, and any number of them in a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.context.history import answer, answered, branch, branches, call, extend, prompt, result
from tests.context.strict import faults
from tui.context.checkpoint import (
    NOTE_LIMIT,
    Budget,
    Plan,
    Situation,
    compactable,
    keep_budget,
    largest_note,
    note_fault,
    plan,
    utf16_units,
)
from tui.context.continuation import continuation_text, redelivery
from tui.context.estimate import estimate_message
from tui.context.render import PREFIX, TASK_LABEL, TASK_TRUNCATED, references, render_checkpoint, words_of
from tui.context.requests import requests_of
from tui.context.summary import serialise, with_summary
from tui.context.validate import ViewLimits, validate
from tui.context.view import effective, in_force, project
from tui.log.entries import (
    Answer,
    Body,
    Checkpoint,
    Entry,
    Handoff,
    Pinned,
    Prompt,
    Reference,
    Result,
    RunCard,
    Settled,
    TaskSet,
    UnknownBody,
)
from tui.messages import AssistantMessage, Message, StopReason, Text, UserMessage

LARGE = Budget(window=200_000, hard=160_000, overhead=8_000)
SMALL = Budget(window=8_192, hard=6_553, overhead=1_500)


def situation(entries: Sequence[Entry], *, note: str = "") -> Situation:
    checkpoint = in_force(entries)
    by_id = {entry.id: entry for entry in entries}

    def words(reference: Reference) -> str | None:
        return words_of(by_id[reference.entry]) if reference.entry in by_id else None

    return Situation(
        entries=entries,
        checkpoint=checkpoint,
        requests=requests_of(effective(entries, checkpoint), checkpoint),
        words=words,
        pending_note=note,
    )


def tokens(entries: Sequence[Entry]) -> int:
    return sum(estimate_message(message) for message in project(entries))


def planned(entries: Sequence[Entry], budget: Budget = LARGE, *, note: str = "", pending: str = "") -> Plan:
    used = tokens(entries) + budget.overhead
    return plan(situation(entries, note=pending), budget, "self", used=used, note=note)


def rendered(entries: Sequence[Entry]) -> str:
    first = project(entries)[0]
    assert isinstance(first, UserMessage)
    return first.authored


def compacted(entries: Sequence[Entry], budget: Budget = LARGE, summary: str = "SUMMARY", **more: str) -> list[Entry]:
    return extend(entries, with_summary(planned(entries, budget, **more), summary))


def work(rounds: int, size: int = 400) -> list[Body]:
    """Return turns of a call and its result, each about `size` tokens."""
    return [
        body
        for number in range(rounds)
        for body in (answer(f"step {number}", call(f"c{number}")), result(f"c{number}", "word " * size))
    ]


# --- the note -------------------------------------------------------------------------------------


def test_units_are_utf16() -> None:
    assert utf16_units("a界\U0001f600") == 4


@pytest.mark.parametrize("note", ["x", "x" * NOTE_LIMIT, "\U0001f600" * 12_000, "\u200b", "\x00"])
def test_a_valid_note(note: str) -> None:
    assert note_fault(note) == ""


def test_a_note_that_cannot_fit_names_the_largest_that_would() -> None:
    note = "word " * 4_800
    largest = largest_note(SMALL, note)
    assert 0 < largest < utf16_units(note)
    assert largest_note(SMALL, note[:largest]) == NOTE_LIMIT
    assert largest_note(LARGE, note) == NOTE_LIMIT


# --- the cut --------------------------------------------------------------------------------------


def test_the_keep_budget() -> None:
    assert keep_budget(8_192) == 819
    assert keep_budget(1_000_000) == 20_000


def test_the_newest_turns_within_the_budget_are_kept() -> None:
    entries = branch(prompt("task"), *work(100))
    made = planned(entries)
    kept = [entry for entry in entries if entry.depth > made.checkpoint.last_depth]
    assert made.checkpoint.kept == kept[0].id
    assert isinstance(kept[0].body, Answer)
    assert 19_000 < sum(estimate_message(m) for m in project(kept)) <= 20_000


def test_where_the_newest_turn_does_not_fit_nothing_is_kept() -> None:
    entries = branch(prompt("task"), *work(10), *work(1, size=30_000))
    made = planned(entries)
    assert made.checkpoint.kept == ""
    assert made.checkpoint.last == entries[-1].id


@pytest.mark.parametrize("size", [10, 400, 5_000, 9_000, 19_000])
def test_pair01_never_between_a_call_and_its_result(size: int) -> None:
    batch = [answer("four", *(call(f"t{n}") for n in range(4))), *(result(f"t{n}", "word " * size) for n in range(4))]
    entries = branch(prompt("task"), *work(60), *batch, answer("text"))
    made = planned(entries)
    kept = [entry for entry in entries if entry.depth > made.checkpoint.last_depth]
    sent = project(kept)
    repaired = [m for m in validate(sent, ViewLimits("m", "p")) if not isinstance(m, UserMessage)]
    assert repaired == [m for m in sent if not isinstance(m, UserMessage)]
    assert not any(isinstance(entry.body, Result) for entry in kept[:1])


def test_what_arrives_while_the_summary_is_made_is_kept() -> None:
    entries = branch(prompt("task"), *work(10), *work(1, size=30_000))
    made = planned(entries)
    arrived = branch(Handoff("compacting"), prompt("D"), start=len(entries))
    whole = extend([*entries, *arrived], with_summary(made, "SUMMARY", arrived=arrived))
    assert project(whole)[1:] == (UserMessage((Text("D"),)),)
    last = whole[-1].body
    assert isinstance(last, Checkpoint)
    assert last.kept == arrived[1].id


@given(branches, st.sampled_from([SMALL, LARGE, Budget(1_000, 900, 0)]))
def test_every_entry_is_covered_or_kept(entries: list[Entry], budget: Budget) -> None:
    made = planned(entries, budget)
    covered = {entry.id for entry in made.covered}
    kept = {entry.id for entry in effective(entries, None) if entry.depth > made.checkpoint.last_depth}
    assert covered.isdisjoint(kept)
    if made.covered:
        assert covered | kept == {entry.id for entry in entries}


def test_cmp13_marker_words_survive_five_checkpoints() -> None:
    entries = branch(prompt("task"))
    read: set[str] = set()
    for number in range(5):
        entries = extend(entries, answer(f"WORD{number}", call(f"k{number}")), result(f"k{number}", "word " * 9_000))
        entries = extend(entries, *work(3, size=3_000), answered())
        made = planned(entries)
        read |= {word for text in serialise(made.covered) for word in text.split() if word.startswith("WORD")}
        entries = extend(entries, with_summary(made, "SUMMARY"))
        in_view = {word for m in project(entries) if isinstance(m, AssistantMessage) for word in m.text.split()}
        assert {f"WORD{n}" for n in range(number + 1)} == read | {word for word in in_view if word.startswith("WORD")}


# --- is it worth it -------------------------------------------------------------------------------


def worth(entries: Sequence[Entry], budget: Budget = LARGE) -> bool:
    return compactable(situation(entries), budget, used=tokens(entries) + budget.overhead)


def test_a_short_conversation_is_not_compactable() -> None:
    assert not worth(branch(prompt("hi"), answer("there")))
    assert not worth([])


def test_a_long_one_is_and_right_after_a_checkpoint_no_more() -> None:
    entries = branch(prompt("task"), *work(200))
    assert worth(entries)
    assert not worth(compacted(entries))


def test_cmp01_a_view_full_of_protected_text_gains_nothing() -> None:
    entries = branch(prompt("word " * 5_200), answer("ok"))
    assert tokens(entries) > SMALL.hard - SMALL.overhead
    assert not worth(entries, SMALL)


def test_it_works_when_the_view_is_over_the_window() -> None:
    entries = branch(prompt("task"), *work(30, size=1_000), *work(1, size=60_000))
    assert tokens(entries) > 8 * SMALL.window
    made = planned(entries, SMALL)
    assert made.worth
    assert made.projected <= SMALL.hard


# --- what is carried ------------------------------------------------------------------------------


def test_the_order_of_the_rendering() -> None:
    entries = branch(prompt("TASK"), answered(), prompt("SECOND"), answered(), prompt("THIRD"), *work(100))
    text = rendered(compacted(entries, summary="THE SUMMARY"))
    places = [
        text.index(part)
        for part in (PREFIX, "THE SUMMARY", TASK_LABEL, "LATER REQUESTS", "CURRENT REQUEST", "WHERE TO LOOK")
    ]
    assert places == sorted(places)
    assert text.startswith(PREFIX)
    assert "[answered]\nSECOND" in text
    assert "[open]\nTHIRD" in text
    assert "the newer one rules" in text


@pytest.mark.parametrize(
    "task", ["  leading\r\n\ttabs\u00a0\u2028 ", "\u202ertl \x00 nul", TASK_LABEL + "\n\nCURRENT REQUEST", "界" * 500]
)
def test_task_and_requests_are_byte_for_byte(task: str) -> None:
    text = rendered(compacted(branch(prompt(task), answered(), prompt(task + "2"), *work(100)), summary=TASK_LABEL))
    assert f"{TASK_LABEL}\n{task}\n\n" in text
    assert f"[open]\n{task}2\n\n" in text


def test_a_task_of_sixty_thousand_is_whole_and_one_more_is_cut_with_the_line() -> None:
    budget = Budget(window=1_000_000, hard=270_000, overhead=8_000)
    whole, longer = "t" * 60_000, "t" * 60_001
    assert f"\n{whole}\n\n" in rendered(compacted(branch(prompt(whole), *work(100)), budget))
    text = rendered(compacted(branch(prompt(longer), *work(100)), budget))
    assert f"{TASK_LABEL}\n{whole}\n{TASK_TRUNCATED}\n" in text


def test_the_task_is_stored_once() -> None:
    entries = branch(prompt("t" * 60_000), *work(100))
    for _ in range(3):
        entries = compacted([*entries, *branch(*work(100), start=len(entries))])
    for entry in entries:
        if isinstance(entry.body, Checkpoint):
            assert len(msgspec.json.encode(entry.body)) < 5_000


def test_the_task_block_is_left_out_when_the_tail_holds_the_message() -> None:
    entries = branch(*work(100), prompt("TASK"), answer("ok"))
    text = rendered(compacted(entries))
    assert TASK_LABEL not in text
    assert "follows below" in text


def test_a_checkpoint_without_a_task_renders_none() -> None:
    checkpoint = Checkpoint("manual", "e0", "e1", 1, "s")
    assert TASK_LABEL not in render_checkpoint(checkpoint, lambda _: None)


def test_words_that_cannot_be_read_are_a_named_gap() -> None:
    checkpoint = Checkpoint("manual", "e0", "e1", 1, "s", task=Reference("e0", 0, "00", 4))
    assert "e0 cannot be read" in render_checkpoint(checkpoint, lambda _: None)
    assert "e0 cannot be read" in render_checkpoint(checkpoint, lambda _: "changed")


def test_set_task_pins_item_and_note_are_carried() -> None:
    dispatch = Prompt(UserMessage((Text("ITEM 3\n\tits words "),)), origin="dispatch")
    entries = branch(prompt("first"), TaskSet("THE TASK"), Pinned(("PIN ONE", "PIN TWO")), dispatch, *work(100))
    base = situation(entries, note="THE NOTE")
    made = plan(base, LARGE, "manual", used=100_000)
    text = render_checkpoint(made.checkpoint, base.words)
    assert f"{TASK_LABEL}\nTHE TASK" in text
    assert "PIN ONE\n\nPIN TWO" in text
    assert "RUN ITEM IN WORK (preserved verbatim):\nITEM 3\n\tits words \n" in text
    assert "NOTE TO SELF (verbatim, not yet answered):\nTHE NOTE" in text
    assert {reference.entry for reference in references(made.checkpoint)} >= {"e0", "e1", "e2"}


def test_an_unanswered_note_is_carried_only_if_its_continuation_is_covered() -> None:
    note = "THE NOTE \r\n"
    sent = Prompt(UserMessage((Text(continuation_text(note)),)), origin="continuation", queued="c1")
    covered = branch(prompt("t"), sent, *work(100))
    kept = branch(prompt("t"), *work(100), sent, answer("x"))
    assert planned(covered, pending=note).checkpoint.note == note
    assert planned(kept, pending=note).checkpoint.note == ""
    again = compacted(covered, note="", pending=note)
    again = [*again, *branch(*work(100), start=len(again))]
    assert planned(again, pending=note).checkpoint.note == note


def test_a_redelivery_is_a_pointer_where_the_view_still_has_the_note() -> None:
    note = "THE NOTE \r\n"
    view: list[Message] = [UserMessage((Text(continuation_text(note)),))]
    assert note not in redelivery(note, view)
    assert redelivery(note, []).startswith(note)


def test_files_and_failures_are_carried_on() -> None:
    read = msgspec.structs.replace(result("r"), details={"type": "read", "path": "/p/a.py"})
    edit = msgspec.structs.replace(result("e"), details={"type": "edit", "path": "/p/b.py"})
    entries = branch(
        prompt("t"),
        answer("", call("r"), call("e"), call("f", "bash", command="make")),
        read,
        edit,
        result("f", "make: no rule", "bash", is_error=True),
        *work(100),
    )
    once = compacted(entries)
    twice = compacted([*once, *branch(*work(100), start=len(once))])
    text = rendered(twice)
    assert "Files changed: /p/b.py" in text
    assert "Files read: /p/a.py" in text
    assert 'bash {"command":"make"}: make: no rule' in text


def test_one_huge_message_does_not_take_older_corrections_with_it() -> None:
    corrections = [body for n in range(5) for body in (prompt(f"correction {n}"), answered())]
    entries = branch(prompt("t"), answered(), *corrections, prompt("x" * 40_000), answered(), prompt("now"), *work(100))
    text = rendered(compacted(entries))
    assert all(f"correction {n}" in text for n in range(5))


# --- what gives way -------------------------------------------------------------------------------


def test_thirty_percent_stay_free_and_the_parts_give_way_in_order() -> None:
    entries = branch(
        prompt("task " * 300),
        answered(),
        prompt("older " * 200),
        answered(),
        Pinned(("pin " * 200,)),
        prompt("now " * 300),
    )
    entries = extend(entries, *work(40))
    free: list[tuple[int, int, int, int, int]] = []
    for hard in (30_000, 8_000, 6_000, 5_000, 4_500, 4_000, 3_500, 3_000, 2_600):
        budget = Budget(window=30_000, hard=hard, overhead=1_000)
        made = planned(entries, budget)
        assert made.projected <= budget.overhead + (hard - 1_000) * 70 // 100 + 1, hard
        a = made.checkpoint.allowance
        free.append((whole(a.later), whole(a.pins), whole(a.task), whole(a.current), made.summary_tokens))
    for column in range(5):
        values = [row[column] for row in free]
        assert values == sorted(values, reverse=True)
    gone = {
        name: next((n for n, row in enumerate(free) if row[c] < 10**6), 99) for c, name in enumerate(("later", "pins"))
    }
    task_cut = next((n for n, row in enumerate(free) if row[2] < 10**6), 99)
    current_cut = next((n for n, row in enumerate(free) if row[3] < 10**6), 99)
    assert gone["later"] <= gone["pins"] <= task_cut <= current_cut


def whole(points: int) -> int:
    return 10**9 if points < 0 else points


def test_only_the_rendering_is_cut_never_the_reference() -> None:
    entries = branch(prompt("task " * 3_000), *work(30))
    made = planned(entries, SMALL)
    assert made.checkpoint.task is not None
    assert made.checkpoint.task.size == 15_000
    assert 0 < made.checkpoint.allowance.task < 15_000
    text = rendered(extend(entries, with_summary(made, "s")))
    assert TASK_TRUNCATED in text
    assert "whole in entry e0" in text


def test_the_note_never_gives_way() -> None:
    entries = branch(prompt("task " * 3_000), *work(30))
    note = "note " * 2_000
    without, with_note = planned(entries, SMALL), planned(entries, SMALL, note=note)
    assert with_note.checkpoint.allowance.task < without.checkpoint.allowance.task
    assert with_note.projected <= SMALL.overhead + (SMALL.hard - SMALL.overhead) * 70 // 100 + 1


# --- progress -------------------------------------------------------------------------------------


def test_checkpoints_without_progress_are_counted() -> None:
    refused = result("x", refused="hard", is_error=True)
    entries = compacted(branch(prompt("t"), *work(100)))
    counts = [checkpoint_of(entries).barren]
    for _ in range(3):
        entries = compacted(extend(entries, answer("word " * 50_000, call("x")), refused, Settled("handoff")))
        counts.append(checkpoint_of(entries).barren)
    assert counts == [1, 2, 3, 4]
    assert checkpoint_of(compacted(extend(entries, prompt("new")))).barren == 1
    assert checkpoint_of(compacted(extend(entries, answer("", call("ok")), result("ok")))).barren == 1


def checkpoint_of(entries: Sequence[Entry]) -> Checkpoint:
    found = in_force(entries)
    assert found is not None
    assert isinstance(found.body, Checkpoint)
    return found.body


# --- many in a row --------------------------------------------------------------------------------


def test_a_hundred_cycles_keep_the_task_and_bound_the_view() -> None:
    task = "The task \u2028 \r\n界" * 100
    entries = branch(prompt(task))
    sizes: list[int] = []
    for number in range(100):
        base = len(entries)
        entries = extend(entries, *[renamed(body, f"{number}-") for body in work(12, size=500)])
        if number % 10 == 5:
            entries = extend(entries, answered(), prompt(f"correction {number}"))
        entries = compacted(entries, SMALL, summary="S" * 2_000)
        assert len(entries) <= base + 27
        text = rendered(entries)
        assert task in text
        sizes.append(tokens(entries))
    assert max(sizes[-50:]) <= max(sizes[:50]) + 50
    assert max(sizes) < SMALL.hard


def renamed(body: Body, prefix: str) -> Body:
    """Return a turn with call ids of its own."""
    match body:
        case Answer(message=message):
            parts = tuple(
                msgspec.structs.replace(part, id=prefix + part.id) if part in message.calls else part
                for part in message.content
                if not isinstance(part, Text)
            )
            return Answer(AssistantMessage((Text("go"), *parts), StopReason.TOOL_CALLS))
        case Result(message=message):
            return Result(msgspec.structs.replace(message, call_id=prefix + message.call_id))
        case _:
            return body


@given(branches, branches)
@settings(max_examples=60)
def test_after_any_checkpoint_the_view_is_legal(before: list[Entry], after: list[Entry]) -> None:
    entries = extend(before, *work(3))
    entries = extend(compacted(entries, SMALL), *(e.body for e in after if not isinstance(e.body, UnknownBody)))
    limits = ViewLimits("m", "p")
    assert faults(validate(project(entries), limits), limits) == []


@pytest.mark.parametrize("what", ["accepted", "skipped", "blocked", "complete", "stopped", "left"])
def test_a_run_item_is_carried_until_it_is_over(what: Any) -> None:
    dispatch = Prompt(UserMessage((Text("ITEM 3"),)), origin="dispatch")
    open_ = branch(prompt("first"), dispatch, RunCard("r", "suspended", "you typed"), *work(100))
    assert plan(situation(open_), LARGE, "manual", used=100_000).checkpoint.item is not None
    over = branch(prompt("first"), dispatch, RunCard("r", what, "it is over"), *work(100))
    assert plan(situation(over), LARGE, "manual", used=100_000).checkpoint.item is None
