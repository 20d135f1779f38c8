"""Many handoffs in one task, the session closed and opened again at random: nothing is lost, nothing grows.

`CLEW_CYCLES=1000 python -m pytest tests/agent/test_many_cycles.py` runs as many as the name asks for.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import anyio
import pytest

from tests.agent.handoffs import FILLER, check_cycles, compact, continuations, holds, is_summary, serving, wired, work
from tests.agent.support import bodies, path_of, session
from tests.agent.test_handoff_summaries import no_wait
from tests.support.provider import Provider, Received, Reply
from tui.agent.agent import Agent
from tui.agent.wishes import go_on
from tui.log.entries import Checkpoint, Prompt, Result, TaskSet
from tui.messages import Text, UserMessage

pytestmark = pytest.mark.anyio
CYCLES = int(os.environ.get("CLEW_CYCLES", "20"))
SIGNS = "Wool, \u7f8a\u6bdb, \U0001f9f6 [/red] {{tokens}} \u202e ORIGINAL TASK:\r\n\t"
TASK = (SIGNS * (60_000 // len(SIGNS) + 1))[:60_000]


class Restless:
    """Works, then hands over with a new note, as often as it is told to, whatever became of the one before."""

    def __init__(self, cycles: int) -> None:
        self.cycles = cycles
        self.notes = 0
        self.steps = 0
        self.asked: list[Received] = []

    def __call__(self, received: Received) -> Reply:
        if is_summary(received):
            return Reply(text=f"What was done until note {self.notes}.")
        self.asked.append(received)
        if self.notes >= self.cycles:
            return Reply(text="All done.")
        self.steps += 1
        if self.steps % 2:
            return work("true")
        self.notes += 1
        return Reply(calls=(compact(f"note {self.notes}: go on  \n"),))


async def _until_settled_or(agent: Agent, provider: Provider, requests: int) -> None:
    """Return when the agent rests, or when so many requests have come."""
    async with anyio.create_task_group() as group:

        async def settled() -> None:
            await agent.settled()
            group.cancel_scope.cancel()

        group.start_soon(settled)
        await provider.request(requests - 1)
        group.cancel_scope.cancel()


@pytest.mark.parametrize("seed", [1, 2])
async def test_many_cycles_with_restarts_at_random(tmp_path: Path, seed: int) -> None:
    chance, model = random.Random(seed), Restless(CYCLES)
    restarts = 0
    async with serving(model) as provider:
        while True:
            how = "newest" if restarts else "new"
            given = wired(tmp_path, provider, window=100_000, open=how, sleep=no_wait)
            async with session(given) as (agent, _):
                if not restarts:
                    await agent.send(UserMessage((Text(TASK),)))
                else:
                    await go_on(agent)
                last = len(provider.requests) + chance.randint(2, 30)
                await _until_settled_or(agent, provider, last)
                if agent.idle and agent.loop.last.reason == "answered" and model.notes >= CYCLES:
                    path = await path_of(agent)
                    break
            restarts += 1
    assert restarts >= CYCLES // 20
    check_cycles(path)
    assert len(continuations(path)) >= CYCLES // 2, "a note the program had no time to save is written again"
    assert bodies(path, Prompt)[0].message.authored == TASK
    assert sum(TASK in entry.body.message.authored for entry in path if isinstance(entry.body, Prompt)) == 1
    assert not bodies(path, TaskSet)
    assert len({made.task.sha256 for made in bodies(path, Checkpoint) if made.task}) == 1
    calls = [result.message.call_id for result in bodies(path, Result)]
    assert len(calls) == len(set(calls))
    assert all(holds(received, TASK) for received in model.asked)
    sizes = [len(received.raw) for received in model.asked]
    assert max(sizes) <= min(sizes) + 3 * len(FILLER), "the view is bounded, however many cycles there were"
    halves = [entry.depth for entry in path if isinstance(entry.body, Checkpoint)]
    middle = halves[len(halves) // 2]
    assert path[-1].depth <= middle * 2.6, "the log grows by the same for each cycle"
