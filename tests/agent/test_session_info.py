"""What is said of a session: the cycles of a path, from its entries alone."""

from __future__ import annotations

from tui.agent.session_info import NOTE_HEAD, cycles_of
from tui.log.entries import Body, Checkpoint, Entry, Handoff, Note
from tui.messages import Usage


def path(*bodies: Body) -> list[Entry]:
    return [Entry(id=f"e{n}", parent=None, depth=n, time=n, body=body) for n, body in enumerate(bodies)]


def test_a_cycle_from_its_note_to_its_answer() -> None:
    made = Checkpoint(
        "self",
        "e0",
        "e1",
        1,
        "what was done",
        cycle="c",
        seconds=2.5,
        usage=Usage(input=90, cache_read=10, output=7),
        cost=0.25,
    )
    (cycle,) = cycles_of(
        path(
            Note("n", "x" * 900),
            Handoff("saved", "c", "n", note_units=900),
            Handoff("compacting", "c", "n", note_units=900, attempts=1),
            made,
            Handoff("ready", "c", "n", note_units=900, attempts=1),
            Handoff("delivered", "c", "n", note_units=900, attempts=1),
            Handoff("answered", "c", "n", note_units=900, attempts=1, done=1, closed="answered"),
        )
    )
    assert (cycle.phase, cycle.closed, cycle.attempts, cycle.note_length) == ("answered", "answered", 1, 900)
    assert cycle.note_head == "x" * NOTE_HEAD
    assert (cycle.checkpoint, cycle.seconds, cycle.input_tokens, cycle.output_tokens) == ("e3", 2.5, 100, 7)
    assert cycle.cost == 0.25


def test_what_took_the_place_of_a_cycle_closes_it() -> None:
    found = cycles_of(
        path(
            Note("n", "one"),
            Handoff("delivered", "a", "n"),
            Note("m", "two"),
            Handoff("saved", "b", "m", replaces="a", done=1, closed="superseded"),
            Handoff(done=1, closed="dropped"),
        )
    )
    assert [(cycle.cycle, cycle.closed, cycle.note_head) for cycle in found] == [
        ("a", "superseded", "one"),
        ("b", "dropped", "two"),
    ]


def test_a_path_without_a_handoff_has_no_cycles() -> None:
    assert cycles_of(path(Handoff())) == []
