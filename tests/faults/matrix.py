"""Runs trials: counts the places, breaks a session at one, opens it again, has it finished, and judges."""

from __future__ import annotations

import random
import signal
import tempfile
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
import msgspec

from tests.faults.checks import Left, check_all, check_opening, check_shown
from tests.faults.child import Ended, Report
from tests.faults.forker import Forker, order_in
from tests.faults.orders import KINDS, Counts, Kind, Order, Point
from tests.faults.scenario import Worker, said
from tests.support.provider import Provider
from tui.log import Store, check
from tui.log.entries import Entry
from tui.log.paths import database_file

__all__ = ["LEAST", "Lane", "Lost", "Trial", "Tried", "every", "read_path", "sample"]

LEAST = Counts(step=410, statement=220, file=530, transaction=32)
"""Places in one run of the scenario. Fewer would mean that something is not written, or not seen, any more."""


class Trial(msgspec.Struct, frozen=True):
    """One session: where each of its processes breaks, one after another, before the last one finishes it."""

    points: tuple[Point, ...]
    screen: bool = False
    """Whether a person is at the screen when it is opened again."""

    def __str__(self) -> str:
        return "+".join(str(point) for point in self.points) + (" at the screen" if self.screen else "")


class Tried(msgspec.Struct, frozen=True):
    """How a trial went."""

    trial: Trial
    faults: int
    """How many of its points were reached."""


class Lost(AssertionError):
    """Something that was promised did not hold."""


class Lane:
    """One provider and one process that forks those that break; runs one trial after another."""

    def __init__(self, *, network: bool = False) -> None:
        self._provider = Provider(Worker(), repeat_last=True)
        self._network = network
        self._forker = Forker()
        self._folder = tempfile.TemporaryDirectory(prefix="clew-faults-")
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

    def _place(self) -> Order:
        self._number += 1
        self._provider.requests.clear()
        order = order_in(Path(self._folder.name) / str(self._number), self._provider)
        return msgspec.structs.replace(order, network=self._network)

    def count(self) -> Counts:
        """Run the scenario unharmed and return how many places it has. Raises `Lost` where even that fails."""
        self._unharmed()  # shows what is imported late; then nobody else need do that
        place, report = self._unharmed()
        entries = len(read_path(place))
        self._judge(place, Report(before=entries, opened=entries), screen=None)
        return report.counts

    def _unharmed(self) -> tuple[Order, Report]:
        place = self._place()
        ended = self._forker.obey(place)
        if ended.report is None or ended.status:
            raise Lost(f"the scenario itself ended with {ended.status}")
        self._forker.obey(Order("import", modules=ended.report.modules))
        return place, ended.report

    def run(self, trial: Trial) -> Tried:
        """Run one trial. Raises `Lost`, which names it."""
        place = self._place()
        try:
            return Tried(trial, self._run(place, trial))
        except Exception as error:
            raise Lost(f"{trial}: {_where(error)}: {error}") from error

    def _run(self, place: Order, trial: Trial) -> int:
        faults = 0
        for number, point in enumerate(trial.points):
            act = "finish" if number else "play"
            order = msgspec.structs.replace(place, act=act, point=point, screen=trial.screen)
            faults += self._broken(order, self._forker.obey(order))
        after = msgspec.structs.replace(place, act="finish", screen=trial.screen)
        ended = self._forker.obey(after)
        if ended.status or ended.report is None:
            raise Lost(f"what was left could not be finished (status {ended.status})")
        self._judge(place, ended.report, screen=trial.screen)
        return faults

    def _broken(self, order: Order, ended: Ended) -> int:
        """Judge how a process met its point; return 1 where it was reached."""
        killed = ended.status == signal.SIGKILL
        if killed:
            return 1
        if ended.status or ended.report is None:
            raise Lost(f"the process ended with status {ended.status}")
        if order.act == "play" and not ended.report.refused:
            check_shown(read_path(order), ended.report)
        return int(ended.report.broken)

    def _judge(self, place: Order, report: Report, *, screen: bool | None) -> None:
        project = Path(place.project)
        left = Left(tuple(read_path(place)), project, said(project), tuple(self._provider.requests))
        if screen is not None:
            check_opening(left, report.before, report.opened, screen=screen, report=report)
        check_all(left, report)
        found = anyio.run(check, database_file(Path(place.home), project))
        assert not found, found


def _where(error: Exception) -> str:
    """Return what was raised, and by which check."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {frame.name}, `{frame.line}`"


def read_path(place: Order) -> list[Entry]:
    """Return the path of the one session of a place, without touching it."""

    async def read() -> list[Entry]:
        async with await Store.open(Path(place.home), Path(place.project), read_only=True) as store:
            infos = await store.sessions()
            if not infos:
                return []
            return await (await store.session(infos[0].id, write=False)).page(limit=100_000)

    return anyio.run(read)


def every(counts: Counts, kinds: Sequence[Kind] = KINDS) -> list[Trial]:
    """Return one trial for every place, a person at the screen at every second one."""
    places = [Point(kind, at, seed=at) for kind in kinds for at in range(1, counts.of(kind) + 1)]
    return [Trial((point,), screen=point.at % 2 == 0) for point in places]


def sample(counts: Counts, size: int, seed: str) -> list[Trial]:
    """Return `size` trials, a few of each kind and some that break twice, chosen by `seed`."""
    chance = random.Random(seed)
    shares: Iterable[tuple[Kind, float]] = (
        ("step", 0.35),
        ("statement", 0.3),
        ("power", 0.15),
        ("full", 0.1),
        ("ioerr", 0.06),
        ("locked", 0.03),
    )
    found: list[Trial] = []
    for kind, share in shares:
        places = range(1, counts.of(kind) + 1)
        for at in chance.sample(places, min(len(places), max(1, round(size * share)))):
            points = (Point(kind, at, seed=len(found) if kind == "locked" else chance.randrange(1000)),)
            if kind in ("step", "statement") and chance.random() < 0.25:
                points += (Point(kind, chance.randint(1, counts.of(kind) // 2)),)
            found.append(Trial(points, screen=chance.random() < 0.5))
    return found
