"""A process that dies at a chosen write of its log: forks for each order, so that its imports cost once.

Orders come on stdin, one JSON line each (`Order`); the answer to each is a line with how the child ended and
how many writes it had made.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any, Literal, cast

import anyio
import msgspec

from tui.agent.session import SessionOptions, open_session
from tui.log import SessionLog
from tui.log.entries import Body, Entry, Handoff
from tui.messages import Text, UserMessage
from tui.models.factory import ModelChoice


class Order(msgspec.Struct, frozen=True):
    """What to run, and when to die: at write number `at` (from 1; 0 never), or after the write of `phase`."""

    home: str
    cwd: str
    base_url: str
    text: str
    at: int = 0
    when: Literal["before", "after"] = "after"
    phase: str = ""
    step: int = 0
    """Die at this step of the event loop (from 1; 0 never)."""
    writes: str = ""
    """A file that gets a byte for each write."""


class DyingLog:
    """A session's log whose owner is killed at one of its writes."""

    def __init__(self, log: SessionLog, order: Order) -> None:
        self._log = log
        self._order = order
        self._count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, *bodies: Body) -> tuple[Entry, ...]:
        """Write as the log does, or die."""
        self._count += 1
        here = self._count == self._order.at
        if here and self._order.when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        entries = await self._log.append(*bodies)
        self._tell()
        reached = any(isinstance(body, Handoff) and body.phase == self._order.phase for body in bodies)
        if here or reached:
            os.kill(os.getpid(), signal.SIGKILL)
        return entries

    def _tell(self) -> None:
        with Path(self._order.writes).open("ab") as file:
            file.write(b".")


def options_of(order: Order) -> SessionOptions:
    """Return the options of the session that will die."""
    return SessionOptions(
        home=Path(order.home),
        cwd=Path(order.cwd),
        choice=ModelChoice("openai-chat", "scripted", f"{order.base_url}/v1", 32_000),
        environ={"PATH": "/usr/local/bin:/usr/bin:/bin"},
        approve="all",
        interactive=False,
        between=lambda log: cast("SessionLog", DyingLog(log, order)),
    )


class SteppingLoop(asyncio.SelectorEventLoop):
    """An event loop that counts what it is given to run, and dies at a chosen count: between any two awaits."""

    def __init__(self, order: Order) -> None:
        super().__init__()
        self._order = order
        self.steps = 0

    def call_soon(self, *arguments: Any, **options: Any) -> asyncio.Handle:
        """Count one step."""
        self.steps += 1
        if self.steps == self._order.step:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().call_soon(*arguments, **options)

    def close(self) -> None:
        """Leave the count behind."""
        if not self.is_closed():
            Path(self._order.writes + ".steps").write_text(str(self.steps))
        super().close()


async def run(order: Order) -> None:
    """Send the text and wait for the end that may not come."""
    async with open_session(options_of(order)) as agent:
        await agent.send(UserMessage((Text(order.text),)))
        await agent.settled()


def obey(order: Order) -> tuple[int, int]:
    """Run an order in a child of its own; return its wait status and how many writes it made."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            anyio.run(run, order, backend_options={"loop_factory": lambda: SteppingLoop(order)})
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    writes = Path(order.writes)
    return status, writes.stat().st_size if writes.exists() else 0


def main() -> None:
    """Obey orders until stdin ends."""
    for line in sys.stdin.buffer:
        status, writes = obey(msgspec.json.decode(line, type=Order))
        sys.stdout.write(f"{status} {writes}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
