"""A run killed at some writes and steps, others for each commit: `python -m tests.runs` tries every write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from tests.faults.forker import Forker, order_in
from tests.faults.report import commit
from tests.runs.killed import CHECK, LEAST, Left, Maker, judge, look, try_points
from tests.support.provider import Provider
from tui.log.entries import Prompt, Result, RunCard
from tui.runs.state import Checked


def test_a_run_killed_anywhere_is_finished_exactly(record_property: Callable[[str, object], None]) -> None:
    seed = commit()
    outcome = try_points(10, 6, seed)
    record_property("report", outcome.line)
    assert not outcome.losses, "\n".join((f"seed {seed}", *outcome.losses))
    assert outcome.killed == outcome.tried
    assert outcome.counts.step >= LEAST.step
    assert outcome.counts.statement >= LEAST.statement


def doctored(left: Left) -> Iterator[Left]:
    """Yield what would be left if a promise had been broken."""
    path = left.path
    accepted = next(e for e in path if isinstance(e.body, RunCard) and e.body.what == "accepted")
    yield msgspec.structs.replace(left, path=(*path, accepted))
    for kind in (Prompt, Result):
        at = max(at for at, entry in enumerate(path) if isinstance(entry.body, kind) and _counts(entry.body))
        yield msgspec.structs.replace(left, path=path[:at] + path[at + 1 :])
    yield msgspec.structs.replace(left, ran=(*left.ran, left.ran[0]))
    yield msgspec.structs.replace(left, checked=left.checked[1:])
    at = next(at for at, step in enumerate(left.steps) if isinstance(step.event, Checked))
    yield msgspec.structs.replace(left, steps=(*left.steps, left.steps[at]))
    yield msgspec.structs.replace(left, raw=(*left.raw[:at], *left.raw[at + 1 :]))


def _counts(body: object) -> bool:
    return not isinstance(body, Prompt) or body.origin == "dispatch"


def test_the_judge_sees_what_is_lost_claimed_or_done_twice(tmp_path: Path) -> None:
    with Provider(Maker(), repeat_last=True) as provider, Forker("tests.runs.killed_child") as forker:
        place = order_in(tmp_path / "place", provider)
        (tmp_path / "place" / "project" / "check.sh").write_text(CHECK)
        assert forker.obey(place).status == 0
        left = look(place)
        judge(left)
        for other in doctored(left):
            with pytest.raises(AssertionError):
                judge(other)
