"""The log at two sizes: what must not grow with the history, and what a durable commit costs.

Run `python -m tests.bench.bench_log [SMALL LARGE]` (numbers of entries; 20000 and 200000). Prints medians and
the ratio large : small. Open, newest page and newest of a kind should stay near 1; the whole path grows with it.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from tui.log import Session, Store
from tui.log.entries import Answer, Body, Handoff, Notice, Prompt, Result, ToolStarted
from tui.messages import AssistantMessage, StopReason, Text, ToolResult, UserMessage

ROUNDS = 15
WORDS = "the thread runs through the whole labyrinth and back again " * 40


def turn(number: int) -> list[Body]:
    """Return the six entries of one exchange, about 2.5 kB each."""
    call = f"call-{number}"
    return [
        Prompt(UserMessage((Text(f"{number} {WORDS}"),))),
        Answer(AssistantMessage((Text(WORDS),), StopReason.TOOL_CALLS)),
        ToolStarted(call, "bash"),
        Result(ToolResult(call, "bash", (Text(WORDS),))),
        Answer(AssistantMessage((Text(WORDS),), StopReason.COMPLETE)),
        Notice(WORDS),
    ]


async def build(home: Path, count: int) -> str:
    """Write a session with about `count` entries and return its id. Its root holds a rare call and the only handoff."""
    async with await Store.open(home, home) as store:
        session = await store.create(cwd=home, first=[*turn(0), ToolStarted("rare", "rare"), Handoff("none")])
        for start in range(1, count // 6, 200):
            await session.append(*(body for number in range(start, start + 200) for body in turn(number)))
    return session.id


async def median(step: Callable[[], Awaitable[object]], rounds: int = ROUNDS) -> float:
    """Return the median milliseconds of a step."""
    times: list[float] = []
    for _ in range(rounds):
        begin = time.perf_counter()
        await step()
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1000


async def measure(home: Path, session_id: str) -> dict[str, float]:
    """Return the median milliseconds of each step."""

    async def open_and_close() -> None:
        async with await Store.open(home, home) as store:
            await store.session(session_id)

    figures = {"open and close": await median(open_and_close)}
    async with await Store.open(home, home) as store:
        session = await store.session(session_id)
        figures |= {
            "newest 1000 entries": await median(session.page),
            "newest of a common kind": await median(lambda: session.newest("answer")),
            "handoff state at the root": await median(lambda: session.newest("handoff")),
            "newest of a missing kind": await median(lambda: session.newest("checkpoint")),
            "look-up by call id": await median(lambda: session.find_ref("rare", "tool_started")),
            "list of sessions": await median(store.sessions),
            "durable commit": await median(lambda: session.append(Notice("one line")), 200),
            "whole path": await median(lambda: whole(session), 1),
        }
    return figures


async def whole(session: Session) -> int:
    """Read every entry."""
    return sum([len(page) async for page in session.entries()])


async def main(small: int, large: int) -> None:
    """Build, measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        sizes: list[dict[str, float]] = []
        for count in (small, large):
            home = Path(folder) / str(count)
            sizes.append(await measure(home, await build(home, count)))
        print(f"{'milliseconds (median)':28}{small:>12,}{large:>12,}{'ratio':>9}")
        for name, first in sizes[0].items():
            print(f"{name:28}{first:12.3f}{sizes[1][name]:12.3f}{sizes[1][name] / first:9.2f}")


if __name__ == "__main__":
    asyncio.run(main(*([int(word) for word in sys.argv[1:3]] if len(sys.argv) > 2 else (20_000, 200_000))))
