"""A process that dies while it makes the summary for next time: what the next start begins from.

say TASK ──► a long answer ──► [save, broken at a point] ──► say NEXT, as `clew -c -p` does
"""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
import msgspec

from tests.agent.handoffs import FILLER, holds, is_summary
from tests.agent.support import bodies
from tests.faults.child import Report
from tests.faults.forker import Forker, order_in
from tests.faults.matrix import Lost, read_path
from tests.faults.orders import KINDS, Counts, Order, Point
from tests.faults.scenario import TASK
from tests.support.provider import Provider, Received, Reply
from tui.log import check
from tui.log.entries import Answer, Checkpoint, Entry, Prompt, Receipt, ResumedFrom, Settled
from tui.log.paths import database_file

__all__ = ["LEAST", "SavingLane", "every_point"]

SUMMARY = "The summary for next time."
NEXT = "next \U0001f9f6\r\n"
LEAST = Counts(step=110, statement=70, file=40, transaction=3)
"""Places in a process that saves, from its opening to its end."""


def every_point() -> int:
    """Try every place, one after another, and print the report; return how many lost something."""
    losses: list[str] = []
    with SavingLane() as lane:
        counts = lane.count()
        points = [Point(kind, at, seed=at) for kind in KINDS for at in range(1, counts.of(kind) + 1)]
        reached = 0
        for point in points:
            try:
                reached += lane.run(point)
            except Lost as loss:
                losses.append(str(loss))
    print(f"saving a summary: points tried: {len(points)}, faults injected: {reached}, losses: {len(losses)}")
    print(*losses, sep="\n", end="")
    return len(losses)


def _answer(received: Received) -> Reply:
    if is_summary(received):
        return Reply(text=SUMMARY)
    return Reply(text="Second.") if holds(received, NEXT) else Reply(text=FILLER, piece=8_000)


class SavingLane:
    """One provider and one process that forks those that break; runs one trial after another."""

    def __init__(self) -> None:
        self._provider = Provider(_answer, repeat_last=True)
        self._forker = Forker()
        self._folder = tempfile.TemporaryDirectory(prefix="clew-saving-")
        self._number = 0

    def __enter__(self) -> Self:
        self._provider.__enter__()
        self._forker.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._forker.__exit__(kind, error, trace)
        self._provider.__exit__(kind, error, trace)
        self._folder.cleanup()

    def count(self) -> Counts:
        """Save unharmed, twice, and return how many places it has: the first shows what is imported late."""
        self._forker.obey(Order("import", modules=self._trial(None).modules))
        saved = self._trial(None)
        assert saved.outcome == "saved"
        return saved.counts

    def run(self, point: Point) -> bool:
        """Break at a point, go on; return whether the point was reached. Raises `Lost`."""
        try:
            return self._trial(point).broken
        except AssertionError as error:
            raise Lost(f"{point}: {error}") from error

    def _trial(self, point: Point | None) -> Report:
        self._number += 1
        self._provider.requests.clear()
        place = order_in(Path(self._folder.name) / str(self._number), self._provider)
        self._done(msgspec.structs.replace(place, act="say", words=TASK))
        before = read_path(place)
        ended = self._forker.obey(msgspec.structs.replace(place, act="save", point=point))
        killed = ended.status == signal.SIGKILL
        assert killed or (ended.status == 0 and ended.report is not None), ended.status
        saved = ended.report or Report(broken=True)
        self._done(msgspec.structs.replace(place, act="say", words=NEXT))
        _judge(before, read_path(place), saved, self._provider.requests)
        assert not anyio.run(check, database_file(Path(place.home), Path(place.project)))
        return saved

    def _done(self, order: Order) -> None:
        ended = self._forker.obey(order)
        assert ended.report is not None, ended.status
        assert ended.report.outcome == "answered", ended.report


def _judge(before: Sequence[Entry], path: Sequence[Entry], saved: Report, requests: Sequence[Received]) -> None:
    """Check what holds whatever happened: the answer as it was, the whole checkpoint or none, and one more turn."""
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
