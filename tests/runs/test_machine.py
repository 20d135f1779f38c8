"""R2, R4, R5, R8, R10, R13-R16 as rules of the pure machine and its gates."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.runs.gates import Bound, Claim, Complete, Hold, Live, Snapshot, Verify, Wedged, bound, judge
from tui.runs.machine import begin, next_item, step, waits_for
from tui.runs.plan import Bounds, Plan, PlanItem, Review
from tui.runs.state import (
    Answered,
    Card,
    Checked,
    CheckRun,
    Claimed,
    Completed,
    Event,
    Paused,
    Ready,
    Resumed,
    Reviewed,
    RunState,
    Started,
    Step,
    Stopped,
    Suspended,
    Worked,
)

CHECK = ("pytest", "-q")
PLAN = Plan("p", (PlanItem("one", (CHECK,)), PlanItem("two", (CHECK,)), PlanItem("three", (CHECK,))))
PASS = (CheckRun(CHECK, "pass", 0, tail="2 passed"),)
FAIL = (CheckRun(CHECK, "fail", 1, tail="1 failed"),)
BROKEN = (CheckRun(CHECK, "infrastructure", cause="it could not be started"),)
WORK = (Started(), Claimed(0))
READY = (*WORK, Ready("done"))


def after(*events: Event, plan: Plan = PLAN, took: int = 0) -> tuple[RunState, list[Card]]:
    state, told = begin(plan), list[Card]()
    for event in events:
        before = state
        state, cards = step(plan, state, Step(event, took))
        assert state is not before, f"{event} did not apply"
        told += cards
    return state, told


def refused(state: RunState, *events: Event, plan: Plan = PLAN) -> None:
    for event in events:
        same, cards = step(plan, state, Step(event))
        assert same is state, event
        assert not cards


def test_an_item_goes_from_pending_to_accepted() -> None:
    assert [item.status for item in after(Started())[0].items] == ["pending"] * 3
    assert after(*WORK)[0].items[0].status == "working"
    assert after(*READY)[0].items[0].status == "verifying"
    state, cards = after(*READY, Checked(PASS))
    assert state.items[0].status == "accepted"
    assert state.items[0].attempts == 1
    assert [card.what for card in cards] == ["started", "accepted"]
    assert next_item(state) == 1


def test_a_first_failure_goes_back_to_work_with_the_output_and_a_second_blocks_with_a_question() -> None:
    once, cards = after(*READY, Checked(FAIL))
    assert once.items[0].status == "working"
    assert "1 failed" in once.items[0].trouble
    assert cards[-1].what == "failed"
    twice, cards = after(*READY, Checked(FAIL), Ready("again"), Checked(FAIL))
    assert (twice.status, twice.items[0].status, twice.items[0].attempts) == ("blocked", "blocked", 2)
    assert waits_for(PLAN, twice) == twice.items[0].question == cards[-1].text
    assert "/run retry" in twice.items[0].question


BLOCKED = (*READY, Checked(FAIL), Ready("again"), Checked(FAIL))


def test_a_blocked_item_is_answered_with_retry_or_skip_and_with_nothing_else() -> None:
    blocked, _ = after(*BLOCKED)
    refused(blocked, Claimed(0), Claimed(1), Ready("x"), Checked(PASS), Completed(), Reviewed("human", True))
    retried, _ = after(*BLOCKED, Answered("retry", "look at the clock"))
    assert (retried.status, retried.items[0].status, retried.items[0].word) == (
        "active",
        "working",
        "look at the clock",
    )
    third, _ = after(*BLOCKED, Answered("retry"), Ready("x"), Checked(FAIL))
    assert (third.items[0].status, third.items[0].attempts) == ("working", 3)
    skipped, cards = after(*BLOCKED, Answered("skip"))
    assert (skipped.status, skipped.items[0].status, cards[-1].what) == ("active", "skipped", "skipped")


def test_infrastructure_burns_no_attempt_is_repeated_once_and_then_pauses() -> None:
    once, cards = after(*READY, Checked(BROKEN))
    assert (once.items[0].status, once.items[0].attempts, once.status) == ("verifying", 0, "active")
    assert cards[-1].what == "repeated"
    twice, cards = after(*READY, Checked(BROKEN), Checked(BROKEN))
    assert (twice.status, twice.why, twice.items[0].attempts) == ("paused", "infrastructure", 0)
    assert "pytest -q" in twice.detail
    assert "it could not be started" in twice.detail
    again, _ = after(*READY, Checked(BROKEN), Checked(BROKEN), Resumed(), Checked(PASS))
    assert again.items[0].status == "accepted"


def test_review_by_a_person() -> None:
    plan = msgspec.structs.replace(PLAN, review="human")
    waiting, cards = after(*READY, Checked(PASS, review=True), plan=plan)
    assert waiting.items[0].status == "verifying"
    assert [card.what for card in cards] == ["started", "review"]
    assert judge(Snapshot(plan, waiting, waiting.token)) == Hold("review")
    refused(waiting, Checked(PASS), Reviewed("agent", True), Completed(), Claimed(0), Claimed(1), plan=plan)
    accepted, _ = after(*READY, Checked(PASS, review=True), Reviewed("human", True), plan=plan)
    assert accepted.items[0].status == "accepted"
    revised, _ = after(*READY, Checked(PASS, review=True), Reviewed("human", False, "shorter"), plan=plan)
    assert (revised.items[0].status, revised.items[0].failures) == ("working", 1)
    assert "shorter" in revised.items[0].trouble
    skipped, _ = after(*READY, Checked(PASS, review=True), Answered("skip"), plan=plan)
    assert skipped.items[0].status == "skipped"


def test_review_by_an_agent_is_the_acceptance_and_a_revision_counts_as_a_failure() -> None:
    plan = msgspec.structs.replace(PLAN, review="agent")
    waiting, _ = after(*READY, Checked(PASS, review=True), plan=plan)
    assert judge(Snapshot(plan, waiting, waiting.token)) == Verify("review")
    refused(waiting, Reviewed("human", True), plan=plan)
    one = (*READY, Checked(PASS, review=True), Reviewed("agent", False, "no test"))
    assert after(*one, plan=plan)[0].items[0].status == "working"
    two = (*one, Ready("x"), Checked(PASS, review=True), Reviewed("agent", False, "still none"))
    assert after(*two, plan=plan)[0].status == "blocked"
    assert after(*one, Ready("x"), Checked(PASS, review=True), Reviewed("agent", True), plan=plan)[0].items[
        0
    ].status == ("accepted")


def test_an_item_without_checks_is_never_accepted_by_the_program_alone() -> None:
    plan = Plan("p", (PlanItem("one"),))
    waiting, _ = after(*READY, Checked((), review=True), plan=plan)
    assert "waits for your review" in waits_for(plan, waiting)


def test_the_agent_cannot_accept_or_skip() -> None:
    working, _ = after(*WORK)
    for event in (Ready("accepted"), Worked(progress=True)):
        state, _ = step(PLAN, working, Step(event))
        assert state.items[0].status in ("working", "verifying")


def test_complete_is_said_once_and_only_when_nothing_is_left() -> None:
    state, _ = after(*READY, Checked(PASS))
    refused(state, Completed())
    plan = Plan("p", (PlanItem("one", (CHECK,)),))
    done, cards = after(*READY, Checked(PASS), Completed(), plan=plan)
    assert (done.status, cards[-1].what) == ("complete", "complete")
    refused(done, Completed(), Resumed(), Stopped(), Started(), Suspended("x"), Paused("person"), Claimed(0), plan=plan)


def test_what_was_skipped_is_called_out_at_the_end() -> None:
    plan = Plan("p", (PlanItem("one", (CHECK,)),))
    _, cards = after(*BLOCKED, Answered("skip"), Completed(), plan=plan)
    assert "0 of 1 items accepted; skipped: 1." in cards[-1].text


def test_stopped_is_final() -> None:
    stopped, _ = after(*WORK, Stopped())
    refused(stopped, Resumed(), Claimed(0), Ready("x"), Answered("retry"), Started())


def test_a_run_that_is_suspended_or_paused_goes_on_by_a_persons_word_alone() -> None:
    suspended, cards = after(*WORK, Suspended("You wrote a message."))
    assert cards[-1].what == "suspended"
    refused(suspended, Claimed(0), Completed(), Suspended("again"))
    assert after(*WORK, Suspended("x"), Resumed())[0].runs
    paused, _ = after(*WORK, Paused("person"))
    assert (paused.status, paused.why) == ("paused", "person")
    refused(paused, Claimed(0), Ready("x"), Paused("bound"), Suspended("x"))
    assert after(*WORK, Paused("person"), Resumed())[0].runs


def test_what_a_person_or_an_end_changes_makes_scheduled_dispatches_stale() -> None:
    for events in ((Suspended("x"),), (Paused("person"),), (Suspended("x"), Resumed())):
        assert after(*WORK, *events)[0].token > after(*WORK)[0].token
    assert after(*WORK)[0].token == after(Started())[0].token


def test_time_counts_only_while_the_run_is_active() -> None:
    state, _ = after(*WORK, Suspended("x"), Resumed(), Paused("person"), took=1_000)
    assert state.active_ms == 3_000  # until the claim, until the suspension, and from the resume to the pause
    assert state.items[0].active_ms == 2_000
    assert after(Started(), took=-5_000)[0].active_ms == 0


# --- gates --------------------------------------------------------------------------------------


def snapshot(state: RunState, plan: Plan = PLAN, **changes: Any) -> Snapshot:
    return msgspec.structs.replace(Snapshot(plan, state, state.token), **changes)


ACTIVE, _ = after(Started())
GATES: list[tuple[dict[str, Any], str]] = [
    ({"queued": True}, "queued"),
    ({"busy": True}, "busy"),
    ({"handing_over": True}, "handoff"),
    ({"ours": False}, "lease"),
    ({"stored": "paused"}, "active"),
    ({"stored_seq": 7}, "contradiction"),
    ({"token": 0}, "token"),
]


def test_all_gates_open_gives_the_first_item() -> None:
    assert judge(snapshot(ACTIVE)) == Claim(0)


@pytest.mark.parametrize(("changes", "gate"), GATES)
def test_each_gate_alone_holds_the_dispatch(changes: dict[str, Any], gate: str) -> None:
    assert judge(snapshot(ACTIVE, **changes)) == Hold(gate)


def test_the_gates_are_judged_in_their_order() -> None:
    suspended, _ = after(Started(), Suspended("x"))
    closed: dict[str, Any] = {}
    for changes, gate in reversed(GATES):
        closed |= changes
        assert judge(snapshot(ACTIVE, **closed)) == Hold(gate)
    assert judge(snapshot(suspended, **closed)) == Hold("suspended")


def test_an_item_is_given_twice_without_progress_then_the_run_is_wedged() -> None:
    assert judge(snapshot(after(*WORK)[0])) == Claim(0)
    twice = (*WORK, Worked(turns=1), Claimed(0), Worked(turns=1))
    assert judge(snapshot(after(*twice)[0])) == Wedged()
    assert judge(snapshot(after(*twice, Worked(progress=True))[0])) == Claim(0)
    assert judge(snapshot(after(*WORK, Worked(turns=1), Ready("x"), Checked(FAIL))[0])) == Claim(0)
    assert judge(snapshot(after(*twice, Paused("wedged"), Resumed())[0])) == Claim(0)


@pytest.mark.parametrize(
    ("bounds", "events", "took", "said"),
    [
        (Bounds(max_items=1), (*READY, Checked(PASS)), 0, "1 items are done: the bound is 1."),
        (Bounds(max_items=1), (*BLOCKED, Answered("skip")), 0, "1 items are done: the bound is 1."),
        (Bounds(max_minutes=0.05), WORK, 6_000, "0.1 active minutes: the bound is 0.05."),
        (Bounds(max_cost=0.5), (*WORK, Worked(cost=0.5)), 0, "$0.50 spent: the bound is $0.50."),
        (Bounds(max_turns_per_item=2), (*WORK, Worked(turns=2)), 0, "2 turns on one item: the bound is 2."),
    ],
)
def test_a_bound_pauses_and_a_resume_lifts_it_by_as_much_again(
    bounds: Bounds, events: tuple[Event, ...], took: int, said: str
) -> None:
    plan = msgspec.structs.replace(PLAN, bounds=bounds)
    state, _ = after(*events, plan=plan, took=took)
    assert judge(snapshot(state, plan)) == Bound(said)
    resumed, _ = after(*events, Paused("bound", said), Resumed(), plan=plan, took=took)
    assert isinstance(judge(snapshot(resumed, plan)), Claim)


def test_what_the_running_exchange_adds_counts_too() -> None:
    assert bound(Bounds(max_turns_per_item=2), after(*WORK)[0], Live(turns=2))
    assert bound(Bounds(max_cost=1), after(*WORK)[0], Live(cost=1))
    assert bound(Bounds(max_minutes=1), after(*WORK)[0], Live(active_ms=60_000))
    assert not bound(Bounds(), after(*WORK)[0], Live(99, 99, 10**9))


def test_a_bound_that_is_reached_with_the_last_item_is_no_pause() -> None:
    plan = Plan("p", (PlanItem("one", (CHECK,)),), Bounds(max_items=1))
    assert judge(snapshot(after(*READY, Checked(PASS), plan=plan)[0], plan)) == Complete()


def test_an_item_that_is_ready_is_verified_before_anything_else() -> None:
    assert judge(snapshot(after(*READY)[0])) == Verify("checks")
    assert judge(snapshot(after(*READY)[0], queued=True)) == Hold("queued")
    assert judge(snapshot(after(*READY)[0], token=0)) == Hold("token")


# --- properties ---------------------------------------------------------------------------------

runs = st.sampled_from([PASS, FAIL, BROKEN])
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(Started),
    st.builds(Claimed, st.integers(0, 2)),
    st.builds(Worked, st.integers(0, 3), st.floats(0, 1), st.integers(0, 1), st.booleans()),
    st.builds(Ready, st.just("evidence")),
    st.builds(Checked, runs, st.booleans()),
    st.builds(Reviewed, st.sampled_from(["human", "agent"]), st.booleans(), st.just("text")),
    st.builds(Answered, st.sampled_from(["retry", "skip"]), st.just("text")),
    st.builds(Suspended, st.just("why")),
    st.builds(Resumed),
    st.builds(Paused, st.just("person")),
    st.builds(Completed),
    st.builds(Stopped),
)
ALLOWED = {
    "pending": {"working"},
    "working": {"verifying"},
    "verifying": {"accepted", "working", "blocked", "skipped"},
    "blocked": {"working", "skipped"},
    "accepted": set[str](),
    "skipped": set[str](),
}


@given(st.lists(st.tuples(events, st.integers(-10, 10_000)), max_size=60), st.sampled_from(get_args(Review)))
def test_any_events_keep_the_rules(taken: list[tuple[Event, int]], review: Any) -> None:
    plan = msgspec.structs.replace(PLAN, review=review)
    state = begin(plan)
    for event, took in taken:
        before = state
        state, cards = step(plan, state, Step(event, took))
        if state is before:
            assert not cards
            continue
        assert state.seq == before.seq + 1
        assert state.token >= before.token
        assert state.active_ms >= before.active_ms
        for old, new in zip(before.items, state.items, strict=True):
            assert new.status == old.status or new.status in ALLOWED[old.status], (event, old.status, new.status)
            if new.status == "accepted" and old.status != "accepted":
                assert isinstance(event, Checked | Reviewed)
                assert all(run.verdict == "pass" for run in new.evidence)
            if new.status == "skipped" and old.status != "skipped":
                assert isinstance(event, Answered)
            assert 0 <= new.attempts - old.attempts <= 1
        assert sum(item.status in ("working", "verifying", "blocked") for item in state.items) <= 1
        assert not before.over
        assert (state.status == "complete") <= (state.done == len(state.items))
        assert (state.status == "blocked") <= any(item.status == "blocked" for item in state.items)
        act = judge(Snapshot(plan, state, state.token))
        assert not isinstance(act, Claim) or (state.runs and act.item == next_item(state))
        assert not isinstance(act, Complete) or state.done == len(state.items)


@given(st.lists(events, max_size=40))
def test_the_state_is_what_its_events_lead_to(taken: list[Event]) -> None:
    state, kept = begin(PLAN), list[Step]()
    for event in taken:
        after_, _ = step(PLAN, state, Step(event, 7))
        if after_ is not state:
            kept.append(Step(event, 7))
            state = after_
    raw = msgspec.json.encode(kept)
    again = begin(PLAN)
    for one in msgspec.json.decode(raw, type=list[Step]):
        again, _ = step(PLAN, again, one)
    assert again == state
    assert msgspec.json.decode(msgspec.json.encode(state), type=RunState) == state
