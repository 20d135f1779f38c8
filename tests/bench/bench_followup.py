"""What a start from a summary costs, at a thousand and at a million entries: it must not grow with the log.

Run `python -m tests.bench.bench_followup [SIZE ...]` (1000 10000 100000 1000000). For each size a session of whole
exchanges ends in a summary for next time; then it is opened and asked one thing. Prints the median CPU milliseconds
from opening to the first byte of the request, the entries that were read, and the bytes of the request.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio
import msgspec

from tests.agent.handoffs import serving, wired
from tests.agent.support import said, session
from tests.bench.bench_log import turn
from tests.support.provider import Provider, Received, Reply
from tui.agent.session import SessionOptions
from tui.context.followup import FOLLOWUP_BUDGET
from tui.log import Store
from tui.log.entries import Body, Checkpoint, Settled

ROUNDS = 7
SUMMARY = "What was done, decided and left. " * 100


class Start(msgspec.Struct, frozen=True):
    """CPU milliseconds to the first byte, entries read, bytes of the conversation in the request."""

    cpu: float
    entries: int
    size: int


def exchange(number: int) -> list[Body]:
    """Return the six entries of one exchange that was answered."""
    return [*turn(number)[:5], Settled("answered")]


async def build(made: SessionOptions, count: int) -> None:
    """Write a session of about `count` entries whose newest is a summary for next time."""
    home = made.home
    async with await Store.open(home, made.cwd) as store:
        log = await store.create(cwd=str(made.cwd), first=exchange(0))
        first = (await log.page())[0]
        for start in range(1, count // 6, 200):
            await log.append(*(body for n in range(start, min(start + 200, count // 6)) for body in exchange(n)))
        last = (await log.page(limit=1))[-1]
        await log.append(Checkpoint("resume", first.id, last.id, last.depth, summary=SUMMARY))


async def begin(made: SessionOptions, provider: Provider, arrived: list[tuple[float, Received]]) -> Start:
    """Open the session, ask one thing, and tell what that cost."""
    before = time.process_time()
    async with session(msgspec.structs.replace(made, open="newest")) as (agent, _):
        read = len(agent.branch)
        await said(agent, "Go on.")
    when, received = arrived[-1]
    messages = [message for message in received.body["messages"] if message["role"] != "system"]
    return Start(1000 * (when - before), read, len(msgspec.json.encode(messages)))


async def measure(count: int) -> Start:
    """Return the medians at one size, each start from a copy of the same log."""
    arrived: list[tuple[float, Received]] = []

    def answer(received: Received) -> Reply:
        arrived.append((time.process_time(), received))
        return Reply(text="Done.")

    starts: list[Start] = []
    with tempfile.TemporaryDirectory() as folder, serving(answer) as provider:
        made = wired(Path(folder), provider, window=200_000)
        await build(made, count)
        async with session(msgspec.structs.replace(made, open="newest")):
            pass  # what the first opening of a file costs is not asked here
        for _ in range(ROUNDS):
            starts.append(await begin(made, provider, arrived))
            async with await Store.open(made.home, made.cwd) as store:
                log = await store.session((await store.sessions())[0].id)
                page = await log.page()
                last = page[-1]
                await log.append(Checkpoint("resume", page[0].id, last.id, last.depth, summary=SUMMARY))
    return Start(
        statistics.median(one.cpu for one in starts),
        max(one.entries for one in starts),
        max(one.size for one in starts),
    )


async def main(sizes: list[int]) -> None:
    """Print the figures."""
    found = {size: await measure(size) for size in sizes}
    for size, one in found.items():
        print(f"{size:>9,} entries: {one.cpu:6.1f} ms CPU, {one.entries} entries read, {one.size:,} bytes sent")
    least, most = found[sizes[0]], found[sizes[-1]]
    print(f"largest over smallest: CPU {most.cpu / least.cpu:.2f} (bar 1.3); budget {FOLLOWUP_BUDGET:,} bytes")


if __name__ == "__main__":
    anyio.run(main, [int(word) for word in sys.argv[1:]] or [1_000, 10_000, 100_000, 1_000_000])
