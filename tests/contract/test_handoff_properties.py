"""Any sequence of events keeps the invariants: a driver as simple as possible over an in-memory path."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contract.handoff import counter
from tui.context.continuation import continuation_text, delivery
from tui.context.handoff import step
from tui.context.handoff_effects import (
    Accept,
    Append,
    Deliver,
    EndExchange,
    Proceed,
    RepeatRequest,
    Resume,
    StartSummary,
    StopExchange,
)
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
from tui.log.entries import Body, Checkpoint, Handoff, Note, Prompt
from tui.messages import Text, UserMessage

NOTES = ["one", "two\r\n ", "\x00\u202e 界 {{tokens}}", "one"]
CHECKPOINT = Checkpoint("self", "e0", "e1", 1, "summary")


class Driver:
    """Does what the effects say, and nothing else."""

    def __init__(self) -> None:
        self.path: list[Body] = []
        self.running = False
        self.attempt = ""
        self.fresh = counter()
        self.states: list[Handoff] = [Handoff()]

    @property
    def state(self) -> Handoff:
        """Return the newest handoff entry: there is no other place to look."""
        return next((body for body in reversed(self.path) if isinstance(body, Handoff)), Handoff())

    def feed(self, event: HandoffEvent) -> None:
        proceed = False
        expected, effects = step(self.state, event, self.fresh)
        for effect in effects:
            match effect:
                case Append(bodies=bodies):
                    self.path += bodies
                case Deliver(handoff=handoff):
                    self.path += delivery(self._note(), handoff)
                    self.running = True
                case StartSummary(attempt=attempt):
                    self.attempt = attempt
                case EndExchange() | StopExchange():
                    self.running = False
                case Resume() | RepeatRequest() | Accept(how="send"):
                    self.running = True
                case Proceed():
                    proceed = True
                case _:
                    pass
        assert self.state == expected
        self.states.append(expected)
        if proceed and not self.running:
            self.feed(Settles())

    def _note(self) -> Note:
        note = next(body for body in reversed(self.path) if isinstance(body, Note))
        assert note.id == self.state.note
        return note

    def refresh(self, event: HandoffEvent) -> HandoffEvent:
        """Give summary results the attempt that runs, where the event does not want to be late."""
        if isinstance(event, SummaryAccepted) and event.attempt == "now":
            return SummaryAccepted(self.attempt, CHECKPOINT)
        if isinstance(event, SummaryRefused) and event.attempt == "now":
            return SummaryRefused(self.attempt, event.error, pointer=event.pointer)
        return event


facts = st.booleans()
events: st.SearchStrategy[HandoffEvent] = st.one_of(
    st.builds(NoteGiven, st.just("call"), st.sampled_from([*NOTES, " ", None]), facts, facts),
    st.builds(Settles, facts, facts),
    st.builds(Settles),
    st.just(Escaped()),
    st.builds(SummaryAccepted, st.sampled_from(["now", "now", "late"]), st.just(CHECKPOINT)),
    st.builds(SummaryRefused, st.sampled_from(["now", "late"]), st.sampled_from(["timeout", "aborted"])),
    st.builds(SummaryRefused, st.just("now"), st.just("timeout"), pointer=st.just(CHECKPOINT)),
    st.builds(CompactAsked, facts, facts),
    st.builds(CheckpointMade, st.sampled_from(["manual", "overflow", "hard"]), st.just(CHECKPOINT)),
    st.builds(CheckpointFailed, st.sampled_from(["manual", "overflow"]), st.just("empty")),
    st.builds(NowAsked, st.just(""), facts),
    st.builds(ResumeAsked, facts),
    st.builds(EditAsked, st.sampled_from([*NOTES, ""])),
    st.builds(DropAsked, facts),
    st.builds(Authored, facts),
    st.builds(BranchAway, facts, facts),
    st.builds(Arrived, st.sampled_from(["back", "fork", "take-over"])),
    st.builds(ModelChanged, fits=facts, largest=st.sampled_from([0, 24_000])),
    st.sampled_from([Quitting(), Reloaded(), LogLost("full"), LogBack(), Undone(), Undone("c1")]),
)


def run(sequence: list[HandoffEvent]) -> Driver:
    driver = Driver()
    for event in sequence:
        driver.feed(driver.refresh(event))
    return driver


@given(st.lists(events, max_size=40))
@settings(max_examples=300)
def test_any_sequence_keeps_the_invariants(sequence: list[HandoffEvent]) -> None:
    driver = run(sequence)
    sent = [body for body in driver.path if isinstance(body, Prompt) and body.origin == "continuation"]
    cycles = [prompt.queued for prompt in sent]
    assert len(set(cycles)) == len(cycles), "one continuation per cycle and path"
    made = [body.cycle for body in driver.path if isinstance(body, Checkpoint) and body.cycle]
    assert len(set(made)) == len(made), "one checkpoint per cycle"
    for prompt in sent:
        assert prompt.message == UserMessage((Text(continuation_text(note_of(driver, prompt.queued))),))
    counts = [state.done for state in driver.states]
    assert all(after - before in (0, 1) for before, after in itertools.pairwise(counts))
    assert counts[-1] <= len(set(cycles)), "each cycle is counted once, and only if it was delivered"


def note_of(driver: Driver, cycle: str) -> str:
    """Return the note that was in force when the cycle was delivered."""
    notes: dict[str, str] = {}
    found = ""
    for body in driver.path:
        if isinstance(body, Note):
            notes[body.id] = body.text
        if isinstance(body, Handoff) and body.cycle == cycle and body.phase == "delivered" and not found:
            found = notes[body.note]
    return found


@given(st.lists(events, max_size=25))
def test_a_locked_state_always_has_its_note(sequence: list[HandoffEvent]) -> None:
    driver = run(sequence)
    state = driver.state
    if state.phase != "none" and state.cycle:
        assert any(isinstance(body, Note) and body.id == state.note for body in driver.path)


@given(st.lists(events, max_size=25))
def test_from_anywhere_the_person_can_get_on(sequence: list[HandoffEvent]) -> None:
    """No state is a dead end: dropping always leads back to ordinary work."""
    driver = run(sequence)
    driver.feed(DropAsked(confirmed=True))
    assert driver.state.phase in ("none", "answered")


@given(st.lists(events, max_size=25))
def test_from_anywhere_the_one_key_finishes_the_handoff(sequence: list[HandoffEvent]) -> None:
    driver = run(sequence)
    if driver.state.phase in ("none", "answered"):
        return
    driver.running = False
    driver.feed(ResumeAsked())
    if driver.state.phase == "compacting":
        driver.feed(SummaryAccepted(driver.state.attempt, CHECKPOINT))
    assert driver.state.phase == "delivered"
    driver.feed(Settles())
    assert driver.state.phase == "answered"


@given(st.lists(events, max_size=20), st.integers(0, 20))
def test_state_is_a_function_of_the_path(sequence: list[HandoffEvent], cut: int) -> None:
    """A crash between two events loses nothing: a new process that reads the path goes on the same way."""
    whole = run(sequence)
    first = Driver()
    for event in sequence[:cut]:
        first.feed(first.refresh(event))
    second = Driver()
    second.path, second.running, second.attempt = [*first.path], first.running, first.attempt
    second.fresh = first.fresh
    for event in sequence[cut:]:
        second.feed(second.refresh(event))
    assert second.state == whole.state
