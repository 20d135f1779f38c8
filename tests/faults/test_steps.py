"""Some places at which a process dies in one step; `python -m tests.faults --steps` tries them all."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.faults.moving import ForkLane, MoveLane
from tests.faults.orders import Counts, Kind, Point
from tests.faults.report import commit
from tests.faults.saving import LEAST, SavingLane
from tests.faults.steps import StepLane
from tests.faults.test_matrix import UNREACHABLE
from tests.faults.vfs import library

SIZE: dict[Kind, int] = {"step": 5, "statement": 4, "power": 2, "full": 1, "ioerr": 1, "locked": 1}


def chosen(counts: Counts, seed: str) -> list[Point]:
    """Return a few places of each kind."""
    chance = random.Random(seed)
    return [
        Point(kind, at, chance.randrange(1000))
        for kind, size in SIZE.items()
        for at in chance.sample(range(1, counts.of(kind) + 1), min(size, counts.of(kind)))
    ]


def some_points(lane: StepLane, record_property: Callable[[str, object], None]) -> Counts:
    """Try a few places; return how many there are."""
    seed = commit()
    with lane:
        counts = lane.count()
        points = chosen(counts, seed)
        reached = sum(lane.run(point) for point in points)
    record_property("report", f"{lane.act} (seed {seed}): {len(points)} points, {reached} faults, losses: 0")
    assert reached >= len(points) - 2
    return counts


@pytest.mark.skipif(library() is None, reason=UNREACHABLE)
def test_a_summary_is_whole_or_not_there_wherever_its_process_dies(
    record_property: Callable[[str, object], None],
) -> None:
    counts = some_points(SavingLane(), record_property)
    for kind in SIZE:
        assert counts.of(kind) >= LEAST.of(kind), f"fewer places of kind {kind} than there were"


@pytest.mark.skipif(library() is None, reason=UNREACHABLE)
@pytest.mark.parametrize("act", ["move", "carry", "fork"])
def test_a_move_and_a_fork_are_whole_or_not_there_wherever_their_process_dies(
    act: str, record_property: Callable[[str, object], None]
) -> None:
    lane = ForkLane() if act == "fork" else MoveLane("carry" if act == "carry" else "move")
    some_points(lane, record_property)
