"""Some places of the scenario, others for each commit: `python -m tests.faults` tries them all."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from tests.faults.checks import Left, check_all
from tests.faults.forker import Forker, order_in
from tests.faults.matrix import LEAST, Trial, read_path, sample
from tests.faults.orders import KINDS, Point
from tests.faults.report import commit, try_all
from tests.faults.scenario import RAN, Worker, said
from tests.faults.vfs import library
from tests.support.provider import Provider
from tui.log.entries import Checkpoint, Entry, Note, Prompt, Result
from tui.log.paths import database_file

UNREACHABLE = "this Python's SQLite is built in and cannot be made to fail from outside"
SIZE = 44
"""Trials; about a second each."""


@pytest.mark.skipif(library() is None, reason=UNREACHABLE)
def test_a_session_broken_anywhere_is_whole_again(record_property: Callable[[str, object], None]) -> None:
    seed = commit()
    outcome = try_all(lambda counts: sample(counts, SIZE, seed), lanes=1)
    record_property("report", f"crash matrix, a sample (seed {seed})\n" + "\n".join(outcome.lines))
    assert not outcome.losses, "\n".join((f"seed {seed}", *outcome.lines))
    for kind in KINDS:
        assert outcome.counts.of(kind) >= LEAST.of(kind), f"fewer places of kind {kind} than there were"
        assert outcome.injected[kind], f"no fault of kind {kind} was met"


@pytest.mark.skipif(library() is None, reason=UNREACHABLE)
def test_nor_is_anything_lost_in_the_journal_of_a_network_file_system(
    record_property: Callable[[str, object], None],
) -> None:
    seed = commit()
    outcome = try_all(lambda counts: sample(counts, 12, seed), network=True)
    record_property("report", f"crash matrix, on a network file system (seed {seed})\n" + "\n".join(outcome.lines))
    assert not outcome.losses, "\n".join((f"seed {seed}", *outcome.lines))


@pytest.mark.skipif(library() is None, reason=UNREACHABLE)
def test_a_write_that_was_cut_off_is_rolled_back_for_who_only_looks() -> None:
    """A journal that is left holds the pages as they were: whoever reads without writing needs them too."""
    places = [Trial((Point("ioerr", at),)) for at in range(225, 240, 3)]
    outcome = try_all(lambda _counts: places, network=True)
    assert not outcome.losses, "\n".join(outcome.lines)


@pytest.mark.skipif(library() is None, reason=UNREACHABLE)
def test_that_journal_is_no_wal(tmp_path: Path) -> None:
    with Provider(Worker(), repeat_last=True) as provider, Forker() as forker:
        place = msgspec.structs.replace(order_in(tmp_path / "place", provider), network=True)
        assert forker.obey(place).status == 0
        found = database_file(Path(place.home), Path(place.project))
        with closing(sqlite3.connect(f"file:{found}?mode=ro", uri=True)) as db:
            assert db.execute("PRAGMA journal_mode").fetchone() != ("wal",)


def doctored(path: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Yield paths as they would be if a promise had been broken."""
    for kind in (Result, Prompt, Note, Checkpoint):
        at = next(at for at, entry in enumerate(path) if isinstance(entry.body, kind))
        yield [*path[:at], *path[at + 1 :]]
    note = next(entry for entry in path if isinstance(entry.body, Note))
    assert isinstance(note.body, Note)
    trimmed = msgspec.structs.replace(note, body=Note(note.body.id, note.body.text.strip()))
    yield [trimmed if entry is note else entry for entry in path]
    sent = next(at for at, entry in enumerate(path) if isinstance(entry.body, Prompt) and entry.body.queued)
    yield [*path[: sent + 1], path[sent], *path[sent + 1 :]]


@pytest.mark.skipif(library() is None, reason=UNREACHABLE)
def test_the_judge_sees_what_is_lost_or_done_twice(tmp_path: Path) -> None:
    with Provider(Worker(), repeat_last=True) as provider, Forker() as forker:
        place = order_in(tmp_path / "place", provider)
        ended = forker.obey(place)
        assert ended.report is not None
        path, project = read_path(place), Path(place.project)
        left = Left(tuple(path), project, said(project), tuple(provider.requests))
        check_all(left, ended.report)
        for other in doctored(path):
            with pytest.raises((AssertionError, KeyError)):
                check_all(msgspec.structs.replace(left, path=tuple(other)), ended.report)
        with (project / RAN).open("a") as file:
            file.write("first1\n")
        with pytest.raises(AssertionError):
            check_all(left, ended.report)
