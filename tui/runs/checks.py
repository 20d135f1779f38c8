"""Runs one check: as `bash` runs a command, without a shell, with a time limit and bounded output."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from tui.messages import clean
from tui.runs.state import CheckRun, Verdict
from tui.tools.base import ToolContext, ToolError
from tui.tools.bash import End, execute
from tui.tools.output import Sink
from tui.tools.processes import signal_name

__all__ = ["CHECK_SECONDS", "TAIL_BYTES", "run_check"]

CHECK_SECONDS = 300.0
"""A check may take."""
TAIL_BYTES = 2_000
"""Of a check's output that are kept as evidence."""
_NOT_STARTED = (126, 127)
"""What a program ends with that could not be started after all: a missing interpreter, no right to run it."""


async def run_check(
    command: tuple[str, ...], ctx: ToolContext, now: Callable[[], int], limit: float = CHECK_SECONDS
) -> CheckRun:
    """Run `command` in the project's directory and return what it says. `now`: milliseconds since 1970, UTC.

    Cancelling ends it and everything it started.
    """
    if _program(command[0], ctx) is None:
        cause = f"there is no program {clean(command[0])!r} that can be run"
        return CheckRun(command, "infrastructure", cause=cause, at=now())
    sink = Sink(lambda: ctx.spill(ctx.call_id, ".txt"))
    try:
        end = await execute(ctx, lambda: command, limit, sink)
    except ToolError as error:
        return CheckRun(command, "infrastructure", cause=clean(str(error)), at=now())
    finally:
        sink.close()
    verdict, cause = _verdict(end, limit)
    return CheckRun(
        command,
        verdict,
        exit=end.status if verdict != "infrastructure" else None,
        cause=cause,
        tail=tail_of(sink.result().text),
        at=now(),
        seconds=round(end.seconds, 3),
    )


def _program(name: str, ctx: ToolContext) -> str | None:
    """Return the program a name means, as the process that runs it will find it."""
    if os.sep in name:
        path = Path(ctx.cwd, name)
        return str(path) if os.access(path, os.X_OK) and path.is_file() else None
    return shutil.which(name, path=ctx.environ.get("PATH", os.defpath))


def _verdict(end: End, limit: float) -> tuple[Verdict, str]:
    if end.timed_out:
        return "infrastructure", f"it was ended after {limit:g} s, the time limit"
    if end.status is None:
        return "infrastructure", "it did not end, even after KILL"
    if end.status < 0:
        return "infrastructure", f"it was killed ({signal_name(-end.status)})"
    if end.status in _NOT_STARTED:
        return "infrastructure", f"it could not be started (status {end.status})"
    return ("pass" if end.status == 0 else "fail"), ""


def tail_of(text: str, most: int = TAIL_BYTES) -> str:
    """Return the end of a text, at most `most` bytes of UTF-8, beginning at a whole character."""
    raw = clean(text).encode()
    return text if len(raw) <= most else raw[-most:].decode("utf-8", "ignore")
