"""A process that dies in one step of a person's: what the next process finds, and goes on from.

say TASK ──► … ──► [one step, broken at a point] ──► say NEXT, as `clew -c -p` does
"""

from __future__ import annotations

import signal
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import anyio
import msgspec

from tests.faults.child import Report
from tests.faults.forker import Forker, order_in
from tests.faults.matrix import Lost, read_path
from tests.faults.orders import KINDS, Counts, Order, Point
from tests.faults.scenario import TASK
from tests.support.provider import Provider, Received, Reply
from tui.log import check
from tui.log.entries import Entry
from tui.log.paths import database_file

__all__ = ["NEXT", "StepLane", "every_point"]

NEXT = "next \U0001f9f6\r\n"


class StepLane(ABC):
    """One provider and one process that forks those that break; runs one trial after another."""

    act: Literal["save", "move", "carry", "fork"]
    said: Sequence[str] = (TASK,)
    """What was said before the step."""

    def __init__(self, answer: Callable[[Received], Reply]) -> None:
        self._provider = Provider(answer, repeat_last=True)
        self._forker = Forker()
        self._folder = tempfile.TemporaryDirectory(prefix="clew-step-")
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

    @abstractmethod
    def judge(self, place: Order, before: Sequence[Entry], done: Report, requests: Sequence[Received]) -> None:
        """Check what holds whatever happened. `before`: the path before the step. Raises `AssertionError`."""

    def count(self) -> Counts:
        """Take the step unharmed, twice, and return how many places it has: the first shows what is imported late."""
        self._forker.obey(Order("import", modules=self._trial(None).modules))
        return self._trial(None).counts

    def run(self, point: Point) -> bool:
        """Break at a point, go on; return whether the point was reached. Raises `Lost`."""
        try:
            return self._trial(point).broken
        except AssertionError as error:
            raise Lost(f"{self.act} {point}: {error}") from error

    def _trial(self, point: Point | None) -> Report:
        self._number += 1
        self._provider.requests.clear()
        place = order_in(Path(self._folder.name) / str(self._number), self._provider)
        for words in self.said:
            self._done(msgspec.structs.replace(place, act="say", words=words))
        before = read_path(place)
        ended = self._forker.obey(msgspec.structs.replace(place, act=self.act, point=point))
        killed = ended.status == signal.SIGKILL
        assert killed or (ended.status == 0 and ended.report is not None), ended.status
        done = ended.report or Report(broken=True)
        self._done(msgspec.structs.replace(place, act="say", words=NEXT))
        self.judge(place, before, done, self._provider.requests)
        assert not anyio.run(check, database_file(Path(place.home), Path(place.project)))
        return done

    def _done(self, order: Order) -> None:
        ended = self._forker.obey(order)
        assert ended.report is not None, ended.status
        assert ended.report.outcome == "answered", ended.report


def every_point(lane: StepLane) -> int:
    """Try every place, one after another, and print the report; return how many lost something."""
    losses: list[str] = []
    with lane:
        counts = lane.count()
        points = [Point(kind, at, seed=at) for kind in KINDS for at in range(1, counts.of(kind) + 1)]
        reached = 0
        for point in points:
            try:
                reached += lane.run(point)
            except Lost as loss:
                losses.append(str(loss))
    print(f"{lane.act}: points tried: {len(points)}, faults injected: {reached}, losses: {len(losses)}")
    print(*losses, sep="\n", end="")
    return len(losses)
