"""When a person is called, and what their terminal is sent for it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.agent.events import (
    AgentEvent,
    ApprovalAsked,
    ApprovalClosed,
    EntryAdded,
    Failed,
    PhaseChanged,
    RunChanged,
    RunShown,
    Said,
)
from tui.log.entries import Entry, Handoff, Settled
from tui.settings import NotifyWord
from tui.tools.base import Effect, Preview
from tui.widgets.notification import Moment, Notification, Watch, decide, sequences, step
from tui.widgets.title import MOST, title, title_back

XTERM = {"TERM": "xterm-256color"}
NEEDED, DONE = Moment("needed", "bash waits"), Moment("done", "the answer is there")
ASKED = ApprovalAsked("c1", "bash", Preview("run it", Effect.READ))


def entry(body: Handoff | Settled) -> EntryAdded:
    return EntryAdded(Entry(id="e", parent=None, depth=0, time=0, body=body))


def run(status: str) -> RunChanged:
    return RunChanged(RunShown(title="mend", status=status, done=0, total=1))


def told(*events: AgentEvent) -> list[str]:
    """Return the moments of these events, a second apart."""
    watch, found = Watch(), list[str]()
    for now, event in enumerate(events):
        watch, moment = step(watch, event, float(now))
        if moment is not None:
            found.append(f"{moment.kind}: {moment.text}")
    return found


@pytest.mark.parametrize(
    ("events", "moments"),
    [
        ((PhaseChanged("idle"),), []),
        ((PhaseChanged("requesting"), PhaseChanged("idle"), PhaseChanged("idle")), ["done: the answer is there"]),
        ((PhaseChanged("requesting"), Said("x"), PhaseChanged("answering")), []),
        ((PhaseChanged("tools"), ASKED, PhaseChanged("idle")), ["needed: bash waits for your decision"]),
        (
            (PhaseChanged("tools"), ASKED, ApprovalClosed("c1"), PhaseChanged("idle")),
            ["needed: bash waits for your decision", "done: the answer is there"],
        ),
        ((Failed("disk full"),), ["needed: the session cannot be saved; the agent has stopped"]),
        ((Failed("taken", taken=True),), []),
        (
            (PhaseChanged("compacting"), entry(Handoff(phase="failed")), PhaseChanged("idle")),
            ["needed: a handoff failed"],
        ),
        ((entry(Handoff(phase="failed", stopped=True)),), []),
        ((entry(Handoff(phase="ready")),), []),
        ((entry(Settled("needs-person")),), ["needed: a person is needed"]),
        ((entry(Settled("error")),), ["needed: it stopped with an error"]),
        ((entry(Settled("answered")),), []),
        ((run("working"), run("blocked"), run("blocked")), ["needed: run mend is blocked"]),
        ((run("paused"), run("working"), run("paused")), ["needed: run mend is paused"] * 2),
        ((PhaseChanged("tools"), run("complete"), PhaseChanged("idle")), ["done: run mend is complete"]),
        ((run("stopped"), RunChanged(None)), []),
    ],
)
def test_what_a_person_may_want_to_know(events: tuple[AgentEvent, ...], moments: list[str]) -> None:
    assert told(*events) == moments


@pytest.mark.parametrize(
    ("moment", "front", "seconds", "way", "called"),
    [
        (NEEDED, False, 0.0, "both", True),
        (NEEDED, True, 99.0, "both", False),
        (NEEDED, None, 0.0, "both", False),
        (NEEDED, None, 10.0, "both", True),
        (DONE, False, 9.9, "both", False),
        (DONE, False, 10.0, "both", True),
        (DONE, True, 99.0, "both", False),
        (DONE, None, 10.0, "bell", True),
        (NEEDED, False, 99.0, "off", False),
    ],
)
def test_when_a_person_is_called(
    moment: Moment, front: bool | None, seconds: float, way: NotifyWord, called: bool
) -> None:
    found = decide(moment, front=front, seconds=seconds, way=way, after=10)
    assert (found is not None) is called
    if found is not None:
        assert (found.bell, found.terminal) == (True, way == "both")


@pytest.mark.parametrize(
    ("environ", "sent"),
    [
        (XTERM, "\x1b]9;clew: a;b\x07\x07"),
        ({"TERM": "xterm-kitty"}, "\x1b]99;i=clew;clew: a;b\x07\x07"),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, "\x1b]99;i=clew;clew: a;b\x07\x07"),
        ({"TERM": "foot"}, "\x1b]777;notify;clew;a,b\x07\x07"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "\x1b]777;notify;clew;a,b\x07\x07"),
        ({"TERM": "tmux-256color", "TMUX": "x"}, "\x1bPtmux;\x1b\x1b]9;clew: a;b\x07\x1b\\\x07"),
        ({"TERM": "screen", "STY": "1"}, "\x1bP\x1b]9;clew: a;b\x07\x1b\\\x07"),
        ({"TERM": "linux"}, "\x07"),
        ({"TERM": "dumb"}, ""),
        ({}, ""),
    ],
)
def test_each_terminal_is_sent_what_it_knows(environ: dict[str, str], sent: str) -> None:
    assert sequences(Notification("clew: a;b", bell=True, terminal=True), environ) == sent


def test_a_dumb_terminal_keeps_its_title() -> None:
    for term in ("", "dumb", "linux"):
        assert title("x", {"TERM": term}) == title_back({"TERM": term}) == ""
    assert (title("x", XTERM), title_back(XTERM)) == ("\x1b[22;2t\x1b]2;x\x07", "\x1b]2;\x07\x1b[23;2t")


HOSTILE = "a\x1b]52;c;YQ==\x07b\x1b\\\x9d0;evil\x9c\u202egnp\r\n\x1b[21t\x1bP$qm"
HARMLESS = re.compile(r"[^\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]*")


@pytest.mark.parametrize("term", ["xterm", "xterm-kitty", "foot"])
@given(text=st.one_of(st.just(HOSTILE), st.just("x" * 9000), st.text()))
def test_foreign_words_end_no_sequence_and_begin_none(term: str, text: str) -> None:
    found = decide(Moment("needed", text), front=False, seconds=0, way="terminal", after=0)
    assert found is not None
    for sent, head in ((sequences(found, {"TERM": term}), "\x1b]"), (title(text, {"TERM": term}), "\x1b[22;2t\x1b]")):
        assert sent.startswith(head)
        assert sent.endswith("\x07")
        body = sent.removeprefix(head)[:-1]
        assert HARMLESS.fullmatch(body), repr(body)
        assert len(body) <= MOST + 20
