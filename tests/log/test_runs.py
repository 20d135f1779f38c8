"""The rows of runs: one transaction for state, event and entries; one number that refuses whoever slept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tui.log import LeaseLost, MemorySession, RunHeld, RunLost, RunWrite, Session, Store
from tui.log.entries import RunCard

pytestmark = pytest.mark.anyio


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now


def first(generation: int, run: str = "r1", status: str = "active") -> RunWrite:
    return RunWrite(run, generation, 1, b"e1", b"s1", status, b"plan", "hash", "plan.toml")


def later(generation: int, seq: int, run: str = "r1", status: str = "active") -> RunWrite:
    return RunWrite(run, generation, seq, f"e{seq}".encode(), f"s{seq}".encode(), status)


def card(text: str = "begins") -> RunCard:
    return RunCard("r1", "started", text)


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    session = MemorySession()
    yield session
    await session.close()


async def begun(session: Session) -> int:
    generation = await session.runs.take("r1")
    await session.append(card(), run=first(generation))
    return generation


async def test_state_event_and_entries_are_written_together(session: Session) -> None:
    generation = await begun(session)
    await session.append(run=later(generation, 2))
    row = await session.runs.find("r1")
    assert row is not None
    assert (row.plan, row.plan_sha256, row.source, row.status, row.seq, row.state) == (
        *(b"plan", "hash", "plan.toml", "active", 2, b"s2"),
    )
    assert [(event.seq, event.event) for event in await session.runs.events("r1")] == [(1, b"e1"), (2, b"e2")]
    assert [entry.body for entry in await session.page()] == [card()]
    assert [found.id for found in await session.runs.all()] == ["r1"]


async def test_a_step_that_is_refused_writes_nothing_at_all(session: Session) -> None:
    generation = await begun(session)
    for wrong in (later(generation, 3), later(generation, 2, run="r2"), later(generation + 1, 2)):
        with pytest.raises(RunLost):
            await session.append(card("never"), run=wrong)
    assert len(await session.runs.events("r1")) == 1
    assert len(await session.page()) == 1


async def test_a_project_without_runs_has_none(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "home", tmp_path) as store:
        session = await store.create(cwd=tmp_path)
        assert await session.runs.all() == []
        assert await session.runs.find("r1") is None
        assert await session.runs.events("r1") == []


async def test_while_a_live_process_works_another_session_takes_no_run_up(tmp_path: Path) -> None:
    clock = Clock()
    home = tmp_path / "home"
    async with (
        await Store.open(home, tmp_path, clock=clock) as one,
        await Store.open(home, tmp_path, clock=clock) as two,
    ):
        first_session = await one.create(cwd=tmp_path)
        generation = await begun(first_session)
        other = await two.create(cwd=tmp_path)
        with pytest.raises(RunHeld, match=r"process \d+ on"):
            await other.runs.take("r2")
        await first_session.append(run=later(generation, 2, status="paused"))
        assert await other.runs.take("r2") == generation + 1


async def test_a_sleeper_whose_runs_were_taken_up_is_refused_though_its_session_is_its_own(tmp_path: Path) -> None:
    awake, asleep = Clock(), Clock()
    home = tmp_path / "home"
    async with (
        await Store.open(home, tmp_path, clock=asleep) as one,
        await Store.open(home, tmp_path, clock=awake) as two,
    ):
        sleeper = await one.create(cwd=tmp_path)
        old = await begun(sleeper)
        awake.now += 61_000
        other = await two.create(cwd=tmp_path)
        new = await other.runs.take("r2")
        await other.append(run=first(new, "r2"))
        asleep.now = awake.now
        with pytest.raises(RunLost):
            await sleeper.append(card("never"), run=later(old, 2))
        row = await other.runs.find("r1")
        assert row is not None
        assert (row.seq, row.state) == (1, b"s1")
        assert len(await sleeper.page()) == 1
        await sleeper.append(card("the session goes on"))


async def test_a_sleeper_whose_session_was_taken_over_is_refused(tmp_path: Path) -> None:
    awake, asleep = Clock(), Clock()
    home = tmp_path / "home"
    async with (
        await Store.open(home, tmp_path, clock=asleep) as one,
        await Store.open(home, tmp_path, clock=awake) as two,
    ):
        sleeper = await one.create(cwd=tmp_path)
        old = await begun(sleeper)
        awake.now += 61_000
        heir = await two.session(sleeper.id)
        new = await heir.runs.take("r1")
        await heir.append(run=later(new, 2))
        asleep.now = awake.now
        with pytest.raises(LeaseLost):
            await sleeper.append(card("never"), run=later(old, 2))
        assert [event.event for event in await heir.runs.events("r1")] == [b"e1", b"e2"]
