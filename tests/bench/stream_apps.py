"""The programs that `bench_stream` runs in a pseudo-terminal: `python -m tests.bench.stream_apps NAME TOKENS`.

Each streams the same Markdown at full speed, prints its figures as one JSON line to the file named by
BENCH_RESULT, and ends. Each app imports what it needs itself, so that it pays for that alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from textual.app import App, ComposeResult
from textual.screen import Screen

from tests.bench.texts import markdown, tokens
from tui import garbage

YIELD_EVERY = 8
"""Deltas between two turns of the loop: a fast provider's network read brings several."""


class Streaming(App[None]):
    """Streams a text when it has been painted, and ends."""

    def __init__(self, token_count: int) -> None:
        super().__init__()
        self.token_count = token_count
        self.began = 0.0

    def on_mount(self) -> None:
        """Begin once the first frame is out."""
        self.call_after_refresh(self.go)

    def go(self) -> None:
        """Stream in a worker."""
        self.run_worker(self.play())

    async def play(self) -> None:
        """Measure the stream alone."""
        text = markdown(self.token_count)
        self.began = time.process_time()
        await self.stream(text)
        used = time.process_time() - self.began
        Path(os.environ["BENCH_RESULT"]).write_text(json.dumps({"stream_cpu": used}))
        self.exit()

    async def stream(self, text: str) -> None:
        """Show the text, and wait until it has been painted."""


class Empty(Streaming):
    """The smallest app: one Input, no text."""

    def compose(self) -> ComposeResult:
        from textual.widgets import Input

        yield Input()


class Ours(Streaming):
    """The transcript, on the screen the app has, with the app's way to look for garbage."""

    def __init__(self, token_count: int) -> None:
        garbage.hold()
        super().__init__(token_count)

    def go(self) -> None:
        """Stream in a worker."""
        garbage.release()
        super().go()

    def get_default_screen(self) -> Screen[None]:
        from tui.screens.fast import FastScreen

        return FastScreen()

    def compose(self) -> ComposeResult:
        from tui.widgets.transcript import Transcript

        yield Transcript()

    async def stream(self, text: str) -> None:
        from tui.widgets.transcript import Added, Transcript
        from tui.widgets.transcript.blocks import AnswerBlock

        transcript = self.query_one(Transcript)
        transcript.stream_begin("live", "answer")
        for at, piece in enumerate(tokens(text)):
            transcript.stream_write(piece)
            if at % YIELD_EVERY == 0:
                await asyncio.sleep(0)
        for _ in range(60_000):
            if not transcript.backlog:
                break
            await asyncio.sleep(0.01)
        transcript.stream_end([Added(AnswerBlock("answer", text))])
        await asyncio.sleep(0.05)


class Theirs(Streaming):
    """Textual's own Markdown widget with its stream."""

    CSS = "Screen { overflow-y: auto; }"

    def compose(self) -> ComposeResult:
        from textual.widgets import Markdown

        yield Markdown()

    async def stream(self, text: str) -> None:
        from textual.widgets import Markdown

        widget = self.query_one(Markdown)
        self.screen.anchor()
        stream = Markdown.get_stream(widget)
        for at, piece in enumerate(tokens(text)):
            await stream.write(piece)
            if at % YIELD_EVERY == 0:
                await asyncio.sleep(0)
        await stream.stop()
        await asyncio.sleep(0.05)


APPS: dict[str, type[Streaming]] = {"empty": Empty, "ours": Ours, "theirs": Theirs}

if __name__ == "__main__":
    APPS[sys.argv[1]](int(sys.argv[2])).run()
