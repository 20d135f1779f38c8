"""Runs many trials on a few lanes and says how it went: points tried, faults injected, losses."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from threading import Lock, Thread

import msgspec

from tests.cli.support import ROOT
from tests.faults.matrix import Lane, Lost, Trial
from tests.faults.orders import KINDS, Counts

__all__ = ["Outcome", "commit", "try_all"]


class Outcome(msgspec.Struct, frozen=True):
    """What came of a number of trials."""

    counts: Counts
    tried: dict[str, int]
    """Points tried, for each kind."""
    injected: dict[str, int]
    """Those of them that were reached."""
    losses: tuple[str, ...]
    seconds: float

    @property
    def lines(self) -> tuple[str, ...]:
        """The report."""
        places, tried, injected = self.counts, sum(self.tried.values()), sum(self.injected.values())
        kinds = [f"{kind} {self.injected.get(kind, 0)}/{self.tried[kind]}" for kind in KINDS if kind in self.tried]
        all_of_them = (
            f"{places.step} steps of the loop, {places.statement} writing statements, {places.file} changes of files, "
            f"{places.transaction} transactions"
        )
        return (
            f"places in the scenario: {all_of_them}",
            f"points tried: {tried}, faults injected: {injected}, losses: {len(self.losses)} ({self.seconds:.0f} s)",
            f"injected/tried by kind: {', '.join(kinds)}",
            *self.losses,
        )


class _Tally:
    """What the lanes find out, together."""

    def __init__(self, trials: Sequence[Trial], tell: Callable[[str], None]) -> None:
        self._waiting: SimpleQueue[Trial] = SimpleQueue()
        for trial in trials:
            self._waiting.put(trial)
        self._tell = tell
        self._lock = Lock()
        self.tried: Counter[str] = Counter()
        self.injected: Counter[str] = Counter()
        self.losses: list[str] = []

    def work(self, lane: Lane) -> None:
        """Run what waits until nothing does."""
        while True:
            try:
                trial = self._waiting.get_nowait()
            except Empty:
                return
            try:
                faults, loss = lane.run(trial).faults, ""
            except Lost as error:
                faults, loss = 1, str(error)
            with self._lock:
                self._count(trial, faults, loss)

    def _count(self, trial: Trial, faults: int, loss: str) -> None:
        self.tried.update(point.kind for point in trial.points)
        self.injected.update(point.kind for point in trial.points[:faults])
        if loss:
            self.losses.append(loss)
            self._tell(f"LOSS {loss}")


def _quiet(_line: str) -> None:
    """Tell nobody."""


def try_all(
    choose: Callable[[Counts], Sequence[Trial]],
    *,
    lanes: int = 1,
    tell: Callable[[str], None] = _quiet,
    network: bool = False,
) -> Outcome:
    """Count the places, choose trials by them, run all on so many lanes. Raises `Lost` where nothing even works."""
    began = time.monotonic()
    with Lane(network=network) as lane:
        counts = lane.count()
        tally = _Tally(choose(counts), tell)
        others = [Thread(target=_another, args=(tally,), kwargs={"network": network}) for _ in range(lanes - 1)]
        for other in others:
            other.start()
        tally.work(lane)
        for other in others:
            other.join()
    return Outcome(counts, dict(tally.tried), dict(tally.injected), tuple(tally.losses), time.monotonic() - began)


def _another(tally: _Tally, *, network: bool) -> None:
    with Lane(network=network) as lane:
        lane.count()
        tally.work(lane)


def commit() -> str:
    """Return the commit that is checked out, for a choice that differs from one to the next."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "no commit"
