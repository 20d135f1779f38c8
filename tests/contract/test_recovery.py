"""Recovery, row by row."""

from __future__ import annotations

import msgspec
import pytest

from tests.context.history import answer, branch, call, prompt
from tests.contract.handoff import made, state
from tui.context.recovery import TailFacts, recover_handoff, tail_facts
from tui.log.entries import Body, Handoff, Phase, Prompt, Settled, ToolStarted
from tui.messages import StopReason, Text, UserMessage

CONTINUATION = Prompt(UserMessage((Text("note"),)), origin="continuation", queued="c1")
MADE = msgspec.structs.replace(made(), cycle="c1")


def opened(phase: Phase, *tail: Body, stopped: bool = False, headless: bool = False, arrived: bool = False) -> str:
    now = state(phase, stopped=stopped)
    facts = tail_facts(branch(prompt("go"), *tail), now)
    return recover_handoff(now, facts, "arrived" if arrived else "asked", headless=headless).act


SETTLED = Settled("handoff")


@pytest.mark.parametrize("phase", ["saved", "failed"])
def test_saved_and_failed_stay_locked(phase: Phase) -> None:
    assert opened(phase, SETTLED) == "wait"


def test_a_failed_one_is_retried_once_with_nobody_to_ask() -> None:
    assert opened("failed", SETTLED, headless=True) == "retry"
    assert opened("saved", SETTLED, headless=True) == "wait"


def test_compacting_without_a_checkpoint_was_interrupted() -> None:
    assert opened("compacting", SETTLED) == "fail-interrupted"


@pytest.mark.parametrize("phase", ["saved", "compacting", "failed", "ready"])
def test_a_checkpoint_of_the_cycle_means_deliver(phase: Phase) -> None:
    assert opened(phase, SETTLED, MADE) == "deliver"


def test_ready_without_a_checkpoint_is_delivered() -> None:
    assert opened("ready", SETTLED) == "deliver"


def test_a_checkpoint_of_another_cycle_means_nothing() -> None:
    assert opened("saved", SETTLED, made()) == "wait"


def test_a_continuation_in_the_log_is_never_followed_by_another() -> None:
    assert opened("ready", SETTLED, MADE, CONTINUATION) == "resume"


@pytest.mark.parametrize("phase", ["ready", "delivered"])
def test_stopped_by_the_person_waits(phase: Phase) -> None:
    assert opened(phase, SETTLED, *([CONTINUATION] if phase == "delivered" else []), stopped=True) == "wait"


@pytest.mark.parametrize("tail", [(), (answer("", call("c")),), (answer("", call("c")), ToolStarted("c", "read"))])
def test_delivered_with_an_open_exchange_is_resumed_and_its_calls_settled(tail: tuple[Body, ...]) -> None:
    now = state("delivered")
    found = recover_handoff(now, tail_facts(branch(prompt("go"), SETTLED, CONTINUATION, *tail), now), "asked")
    assert (found.act, found.settle_calls) == ("resume", True)


@pytest.mark.parametrize(
    ("end", "act"),
    [
        (Settled("error", stop=StopReason.DROPPED), "resume"),
        (Settled("error", stop=StopReason.STALLED), "resume"),
        (Settled("interrupted"), "resume"),
        (Settled("refusal", stop=StopReason.REFUSAL), "wait"),
        (Settled("length", stop=StopReason.LENGTH), "wait"),
        (Settled("error", "quota", StopReason.ERROR), "wait"),
        (Settled("aborted", stop=StopReason.ABORTED), "wait"),
        (Settled("context-full"), "wait"),
        (Settled("answered", stop=StopReason.COMPLETE), "settles"),
    ],
    ids=lambda value: value.reason + str(value.stop) if isinstance(value, Settled) else value,
)
def test_delivered_and_ended_without_an_answer(end: Settled, act: str) -> None:
    assert opened("delivered", SETTLED, CONTINUATION, end) == act


@pytest.mark.parametrize("phase", ["none", "answered"])
def test_an_open_exchange_waits_for_the_person(phase: Phase) -> None:
    assert opened(phase) == "wait"
    assert opened(phase, Settled("answered")) == "nothing"


@pytest.mark.parametrize("phase", ["saved", "ready", "delivered", "failed"])
def test_arriving_runs_nothing(phase: Phase) -> None:
    tail = (SETTLED, MADE) if phase == "ready" else (SETTLED, CONTINUATION)
    assert opened(phase, *tail, arrived=True, headless=True) in ("wait", "nothing")


def test_answered_asks_no_model() -> None:
    assert recover_handoff(Handoff(phase="answered"), TailFacts(), "asked").act == "nothing"
