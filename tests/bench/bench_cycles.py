"""Handoffs in a row in one task, on a loopback server: the time of each cycle must not grow.

Run `python -m tests.bench.bench_cycles [CYCLES]` (1000). Prints the milliseconds per cycle of the first and the last
tenth, their ratio, the entries in the log, and the largest request of each. The ratio is to stay below 1.2.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio

from tests.agent.handoffs import serving, wired
from tests.agent.support import path_of, said, session
from tests.agent.test_many_cycles import TASK, Restless
from tests.support.provider import Received, Reply


class Timed(Restless):
    """Notes when each cycle's note was written, and how large the request was."""

    def __init__(self, cycles: int) -> None:
        super().__init__(cycles)
        self.times: list[float] = []
        self.sizes: list[int] = []
        self.kept: list[Received] = []
        """What the server keeps of all requests: forgotten here, or the bench would measure its own collector."""

    def __call__(self, received: Received) -> Reply:
        before = self.notes
        reply = super().__call__(received)
        if self.notes > before:
            self.times.append(time.perf_counter())
            self.sizes.append(len(received.raw))
        del self.kept[:-2]
        self.asked.clear()
        return reply


async def measure(cycles: int) -> None:
    """Run the cycles and print the figures."""
    model = Timed(cycles)
    with tempfile.TemporaryDirectory() as folder:
        async with serving(model) as provider, session(wired(Path(folder), provider, window=100_000)) as (agent, _):
            model.kept = provider.requests
            reason = await said(agent, TASK)
            entries = len(await path_of(agent))
    steps = [(after - before) * 1000 for before, after in zip(model.times, model.times[1:], strict=False)]
    tenth = max(1, len(steps) // 10)
    first, last = statistics.median(steps[:tenth]), statistics.median(steps[-tenth:])
    print(f"{reason}: {cycles} cycles, {entries} entries in the log")
    print(f"ms per cycle: first tenth {first:.1f}, last tenth {last:.1f}, ratio {last / first:.2f}")
    print(f"largest request: first tenth {max(model.sizes[:tenth])}, last tenth {max(model.sizes[-tenth:])} bytes")


if __name__ == "__main__":
    anyio.run(measure, int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
