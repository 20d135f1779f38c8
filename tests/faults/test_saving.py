"""Some places at which a process dies while it saves a summary; `python -m tests.faults --saving` tries them all."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.faults.orders import Counts, Kind, Point
from tests.faults.report import commit
from tests.faults.saving import LEAST, SavingLane
from tests.faults.test_matrix import UNREACHABLE
from tests.faults.vfs import library

SIZE: dict[Kind, int] = {"step": 6, "statement": 4, "power": 2, "full": 2, "ioerr": 1, "locked": 1}


def chosen(counts: Counts, seed: str) -> list[Point]:
    """Return a few places of each kind."""
    chance = random.Random(seed)
    return [
        Point(kind, at, chance.randrange(1000))
        for kind, size in SIZE.items()
        for at in chance.sample(range(1, counts.of(kind) + 1), size)
    ]


@pytest.mark.skipif(library() is None, reason=UNREACHABLE)
def test_a_summary_is_whole_or_not_there_wherever_its_process_dies(
    record_property: Callable[[str, object], None],
) -> None:
    seed = commit()
    with SavingLane() as lane:
        counts = lane.count()
        points = chosen(counts, seed)
        reached = sum(lane.run(point) for point in points)
    record_property("report", f"saving a summary (seed {seed}): {len(points)} points, {reached} faults, losses: 0")
    for kind in SIZE:
        assert counts.of(kind) >= LEAST.of(kind), f"fewer places of kind {kind} than there were"
    assert reached >= len(points) - 2
