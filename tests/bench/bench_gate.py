"""What judging the context costs beside building the request it goes with, at 10,000 entries on the branch.

Run `python -m tests.bench.bench_gate`. Prints the median milliseconds of both and their ratio, which is to stay below
0.02. Each round adds an entry first, so that nothing is remembered from the round before.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

import anyio

from tests.agent.handoffs import Player, serving, wired
from tests.agent.support import session
from tests.bench.bench_log import turn
from tui.agent.agent import Agent
from tui.log.entries import Settled

ROUNDS = 9


async def _round(agent: Agent) -> tuple[float, float]:
    await agent.journal.append(Settled("answered"))
    begun = time.perf_counter()
    await agent.requests.build(agent.model)
    built = time.perf_counter()
    agent.tell()
    await agent.gate.before_request()
    agent.gate.guidance()
    return (built - begun) * 1000, (time.perf_counter() - built) * 1000


async def measure() -> None:
    """Print the figures."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        provider = await stack.enter_async_context(serving(Player()))
        agent, _ = await stack.enter_async_context(session(wired(Path(folder), provider, window=20_000_000)))
        for number in range(1_667):
            await agent.journal.append(*turn(number))
        rounds = [await _round(agent) for _ in range(ROUNDS)]
    build, judge = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"build {build:.2f} ms, usage, gate and guidance {judge:.2f} ms, ratio {judge / build:.4f}")


if __name__ == "__main__":
    anyio.run(measure)
