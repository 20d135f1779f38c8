"""The fold over what the person asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.context.history import answer, answered, branch, branches, call, prompt, result
from tui.context.render import words_of
from tui.context.requests import Follower, Requests, follow, requests_of
from tui.log.entries import Body, Checkpoint, Entry, Handoff, Notes, Pinned, Prompt, Settled, TaskSet
from tui.messages import Attachment, Text, UserMessage

HANDED = Settled("handoff")


def shown(entries: list[Entry]) -> tuple[str | None, str | None, list[tuple[str, bool]]]:
    """Return the words of task, current request and later ones with whether they are open."""
    words = {entry.id: words_of(entry) for entry in entries}
    state = requests_of(entries)
    current = state.current
    return (
        words[state.task.entry] if state.task else None,
        words[current.words.entry] if current else None,
        [(words[request.words.entry] or "", request.open) for request in state.later],
    )


def test_the_first_authored_message_is_the_task() -> None:
    entries = branch(prompt("!ls", origin="shell"), prompt("build it"), answer("ok"), answered())
    assert shown(entries) == ("build it", "build it", [])


def test_a_set_task_replaces_it_and_the_first_message_becomes_a_request() -> None:
    entries = branch(prompt("one"), answered(), prompt("two"), TaskSet("the real task"))
    assert shown(entries) == ("the real task", "two", [("one", False)])


def test_later_requests_newest_first_with_their_state() -> None:
    entries = branch(
        prompt("task"), answered(), prompt("b"), Settled("aborted"), prompt("c"), answered(), prompt("d"), answer("x")
    )
    assert shown(entries) == ("task", "d", [("c", False), ("b", True)])


def test_a_steer_shares_the_exchange() -> None:
    entries = branch(prompt("task"), prompt("not so", steer=True), answer("ok"), answered(), prompt("next"))
    assert shown(entries)[2] == [("not so", False)]
    assert requests_of(entries[:2]).current == requests_of(entries[:2]).newest[0]


@pytest.mark.parametrize("origin", ["shell", "command", "continuation", "dispatch"])
def test_what_is_not_authored_is_no_request(origin: str) -> None:
    other = Prompt(UserMessage((Text("x"),)), origin="shell" if origin == "shell" else "command")
    assert requests_of(branch(other, prompt("y", excluded=True))) == Requests()


def test_attached_matter_alone_is_no_request() -> None:
    assert requests_of(branch(Prompt(UserMessage((Attachment("a", "b"),))))) == Requests()


def test_a_reply_to_a_question_is_not_the_current_request() -> None:
    entries = branch(prompt("task"), answer("Which file?"), answered(), prompt("a.py"), answer("ok"))
    assert shown(entries) == ("task", "task", [("a.py", True)])


def test_a_long_answer_to_a_question_is_a_request_of_its_own() -> None:
    entries = branch(prompt("task"), answer("Anything else？"), answered(), prompt("x" * 500))
    assert shown(entries)[1] == "x" * 500


def test_through_a_handoff_the_request_stays_live_until_the_continuation_is_answered() -> None:
    before = [prompt("task"), answered(), prompt("do b"), answer("", call("c")), result("c"), Handoff("saved"), HANDED]
    after = [prompt("note", origin="continuation"), Handoff("delivered")]
    assert requests_of(branch(*before, *after)).newest[0].open
    assert not requests_of(branch(*before, *after, answer("done"), answered())).newest[0].open


def test_a_talk_beside_a_failed_handoff_answers_only_itself() -> None:
    entries = branch(prompt("task"), HANDED, Handoff("failed"), prompt("why?"), answer("so"), answered())
    assert [request.open for request in requests_of(entries).newest] == [False, True]


def test_after_a_drop_nothing_waits_any_more() -> None:
    entries = branch(prompt("task"), HANDED, Handoff(), prompt("again"), answer("ok"), answered())
    assert [request.open for request in requests_of(entries).newest] == [False, True]


def test_pins_are_the_newest_set() -> None:
    entries = branch(prompt("t"), Pinned(("a",)), Pinned(("a", "b")), Notes("n"))
    pins = requests_of(entries).pins
    assert pins is not None
    assert pins.entry == "e2"
    assert requests_of([*entries, *branch(Pinned(), start=4)]).pins is None


def test_a_checkpoint_carries_the_state_on() -> None:
    bodies: list[Body] = [prompt("task"), answered(), prompt("b"), Settled("aborted"), prompt("c"), HANDED]
    entries = branch(*bodies)
    state = requests_of(entries)
    current = state.current
    assert current is not None
    stored = Checkpoint(
        "self", "e0", "e5", 5, "s", task=state.task, current=current.words, current_live=True, later=state.later
    )
    rest = branch(stored, prompt("note", origin="continuation"), answer("done"), answered(), start=6)
    whole, resumed = requests_of([*entries, *rest[1:]]), requests_of(rest[1:], rest[0])
    # The task is known by its reference; the other requests are the same, with the same state.
    assert resumed.task == whole.task
    assert resumed.current == whole.current
    assert resumed.later == whole.later


def test_a_settle_in_the_kept_tail_answers_nothing_that_came_after_it() -> None:
    entries = branch(prompt("task"), answered(), prompt("b"), answer("ok"), answered(), prompt("c"))
    state = requests_of(entries)
    assert state.current is not None
    stored = Checkpoint(
        "manual", "e0", "e2", 2, "s", task=state.task, current=state.current.words, current_live=True, later=state.later
    )
    checkpoint = branch(stored, start=6)[0]
    assert [request.open for request in requests_of(entries[3:], checkpoint).newest] == [True, False]


@given(branches)
def test_one_at_a_time_is_the_same_as_at_once(entries: list[Entry]) -> None:
    state = Requests()
    for entry in entries:
        state = follow(state, entry)
    assert state == requests_of(entries)
    assert len({request.words.entry for request in state.newest}) == len(state.newest)


@given(branches, st.lists(st.integers(0, 40), max_size=5))
def test_followed_along_it_is_the_same_as_at_once(entries: list[Entry], places: list[int]) -> None:
    follower = Follower()
    for place in places:
        assert follower.along(entries[:place], None) == requests_of(entries[:place])
    assert follower.along(entries, None) == requests_of(entries)
    assert follower.along(entries[1:], None) == requests_of(entries[1:])
