"""The processes of a run that is killed: `python -m tests.runs.killed_child` forks each of them, as told on stdin."""

from __future__ import annotations

import msgspec

from tests.faults.breaking import Breaker
from tests.faults.child import Report, main, options_of, session_of
from tests.faults.orders import Order
from tests.runs.killed import PLAN
from tui.agent.agent import Agent
from tui.agent.session import open_session
from tui.agent.wishes import go_on
from tui.log.entries import Prompt
from tui.runs.attach import attach_runs, driver_of
from tui.runs.driver import RunDriver
from tui.runs.opening import begin_run, look_before_resume, look_before_start, resume_run
from tui.runs.state import Answered

ROUNDS = 8
"""Times a person says go on before a run counts as stuck."""


async def _dispatched(agent: Agent) -> int:
    """Return how many items the log says were given; memory holds only what is not behind a checkpoint."""
    path = await agent.journal.log.page(limit=100_000)
    return sum(isinstance(entry.body, Prompt) and entry.body.origin == "dispatch" for entry in path)


async def _say_on(agent: Agent, driver: RunDriver) -> None:
    """Do what a person would do to get the run done."""
    run = driver.book.open
    if run is None:
        assert not driver.book.trouble, driver.book.trouble
        found = await look_before_start(driver, PLAN)
        assert not found.problems, found.problems
        assert not await begin_run(driver, found, "")
    elif driver.book.armed and run.state.status == "blocked":
        await driver.answer(Answered("retry"))
    else:
        if agent.compaction.state.phase == "failed":
            await go_on(agent)
            await agent.settled()
        found = await look_before_resume(driver)
        assert not found.problems, found.problems
        assert not await resume_run(driver)
    await agent.settled()


async def act(order: Order, breaker: Breaker) -> Report:
    """Begin the run, or go on with it as a person would, until it is over."""
    session = "" if order.act == "play" else await session_of(order)
    given = msgspec.structs.replace(
        options_of(order), open="id" if session else "new", session_id=session, attach=attach_runs
    )
    async with open_session(given) as agent:
        driver = driver_of(agent)
        assert driver is not None
        before = await _dispatched(agent)
        await agent.settled()
        assert await _dispatched(agent) == before, "a restart gives nothing to the agent by itself"
        for _ in range(ROUNDS):
            if driver.book.run is not None and driver.book.run.state.over:
                break
            await _say_on(agent, driver)
        else:
            raise AssertionError(f"it is stuck: {driver.book.run}")
    return Report(counts=breaker.counts, broken=breaker.broken)


if __name__ == "__main__":
    main(act)
