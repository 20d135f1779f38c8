"""A process that dies while it makes the summary for next time: it is whole, or not there, and nothing else changes."""

from __future__ import annotations

from collections.abc import Sequence

from tests.agent.handoffs import FILLER, holds, is_summary
from tests.agent.support import bodies
from tests.faults.child import Report
from tests.faults.matrix import read_path
from tests.faults.orders import Counts, Order
from tests.faults.scenario import TASK
from tests.faults.steps import NEXT, StepLane
from tests.support.provider import Received, Reply
from tui.log.entries import Answer, Checkpoint, Entry, Prompt, Receipt, ResumedFrom, Settled

__all__ = ["LEAST", "SavingLane"]

SUMMARY = "The summary for next time."
LEAST = Counts(step=110, statement=70, file=40, transaction=3)
"""Places in a process that saves, from its opening to its end."""


def _answer(received: Received) -> Reply:
    if is_summary(received):
        return Reply(text=SUMMARY)
    return Reply(text="Second.") if holds(received, NEXT) else Reply(text=FILLER, piece=8_000)


class SavingLane(StepLane):
    """The answer stays as it was; the next start uses the whole checkpoint or the full view; there is one more turn."""

    act = "save"

    def __init__(self) -> None:
        super().__init__(_answer)

    def judge(self, place: Order, before: Sequence[Entry], done: Report, requests: Sequence[Received]) -> None:
        """See `StepLane.judge`."""
        path, saved = read_path(place), done
        assert list(path[: len(before)]) == list(before), "the answer and its end stand as they stood"
        after = list(path[len(before) :])
        made, receipts = bodies(after, Checkpoint), bodies(after, Receipt)
        assert len(made) + len(receipts) <= 1
        if saved.outcome == "saved":
            assert made, "what was said to be saved is"
        for checkpoint in made:
            assert (checkpoint.origin, checkpoint.summary, checkpoint.kept) == ("resume", SUMMARY, "")
            assert checkpoint.last == before[-1].id or checkpoint.last_depth < len(before)
        assert len(bodies(after, ResumedFrom)) == len(made), "a start uses it where there is one"
        assert [prompt.message.authored for prompt in bodies(after, Prompt)] == [NEXT]
        assert (len(bodies(after, Answer)), bodies(after, Settled)[-1].reason) == (1, "answered")
        asked = [received for received in requests if not is_summary(received)]
        assert len(asked) == 2, "no further turn of the task"
        assert not any(received.problems for received in requests)
        assert holds(asked[1], TASK)
        assert holds(asked[1], NEXT)
        assert holds(asked[1], SUMMARY) == bool(made)
        assert holds(asked[1], FILLER) != bool(made), "the one view or the other, whole"
