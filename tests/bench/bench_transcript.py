"""The cost of one frame of the transcript with 100 and with 10,000 messages above, and of opening and scrolling.

Run `python -m tests.bench.bench_transcript`. Both are measured in turn in one process, headless at 120x40, in
process CPU time; a frame is: a delta comes in, is flushed and painted.
"""

from __future__ import annotations

import asyncio
import statistics
import time

from textual.app import App, ComposeResult

from tests.bench.texts import markdown
from tui.widgets.transcript import Block, Transcript
from tui.widgets.transcript.blocks import AnswerBlock, PromptBlock

FRAMES = 60
ROUNDS = 5


class Stage(App[None]):
    """One transcript."""

    def compose(self) -> ComposeResult:
        yield Transcript()


def history(count: int) -> list[Block]:
    """Return `count` messages of about 60 tokens."""
    text = markdown(60 * 50)
    size = len(text) // 50
    return [
        AnswerBlock(f"a{n}", text[n % 50 * size : (n % 50 + 1) * size])
        if n % 2
        else PromptBlock(f"p{n}", f"prompt {n}")
        for n in range(count)
    ]


async def frames(count: int) -> dict[str, float]:
    """Return CPU seconds of opening `count` messages, of the median frame and of the median page-up."""
    app = Stage()
    async with app.run_test(size=(120, 40)) as pilot:
        transcript = app.query_one(Transcript)
        blocks = history(count)
        began = time.process_time()
        transcript.load(blocks)
        await pilot.pause()
        opened = time.process_time() - began
        transcript.stream_begin("live", "answer")
        deltas = markdown(2_000, seed=3)
        painted: list[float] = []
        for at in range(FRAMES):
            began = time.process_time()
            transcript.stream_write(deltas[at * 28 : at * 28 + 28])
            transcript.flush()
            await pilot.pause()
            painted.append(time.process_time() - began)
        pages: list[float] = []
        for _ in range(20):
            began = time.process_time()
            transcript.action_page_up()
            await pilot.pause()
            pages.append(time.process_time() - began)
    return {"open": opened, "frame": statistics.median(painted), "page": statistics.median(pages)}


def ratio(few: int = 100, many: int = 10_000, rounds: int = ROUNDS) -> dict[str, float]:
    """Return cost with `many` messages over cost with `few`, medians of rounds measured in turn."""
    asyncio.run(frames(few))
    found: list[dict[str, float]] = []
    for _ in range(rounds):
        small, large = asyncio.run(frames(few)), asyncio.run(frames(many))
        found.append({name: large[name] / small[name] for name in small})
    return {name: statistics.median(row[name] for row in found) for name in found[0]}


def main() -> None:
    """Print the figures."""
    for count in (100, 10_000):
        row = asyncio.run(frames(count))
        print(f"{count:6} messages: " + ", ".join(f"{name} {1000 * used:.2f} ms CPU" for name, used in row.items()))
    found = ratio()
    print("10,000 over 100 messages: " + ", ".join(f"{name} {value:.2f}" for name, value in found.items()))
    print("bar: frame at most 1.5")


if __name__ == "__main__":
    main()
