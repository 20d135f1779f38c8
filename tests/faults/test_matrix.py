"""Some places of the scenario, others for each commit: `python -m tests.faults` tries them all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.faults.matrix import LEAST, sample
from tests.faults.orders import KINDS
from tests.faults.report import commit, try_all
from tests.faults.vfs import library

SIZE = 44
"""Trials; about a second each."""


@pytest.mark.skipif(
    library() is None, reason="this Python's SQLite is built in and cannot be made to fail from outside"
)
def test_a_session_broken_anywhere_is_whole_again(record_property: Callable[[str, object], None]) -> None:
    seed = commit()
    outcome = try_all(lambda counts: sample(counts, SIZE, seed), lanes=1)
    record_property("report", f"crash matrix, a sample (seed {seed})\n" + "\n".join(outcome.lines))
    assert not outcome.losses, "\n".join((f"seed {seed}", *outcome.lines))
    for kind in KINDS:
        assert outcome.counts.of(kind) >= LEAST.of(kind), f"fewer places of kind {kind} than there were"
        assert outcome.injected[kind], f"no fault of kind {kind} was met"
