"""bash: one shell command in a session of its own, ended whole.

The call ends when the shell ends (plus a short grace for output on its way), not when the pipe closes:
a background process that holds the pipe cannot hang it (opencode#48414). What is left of the session is
then ended. The command has no terminal and no input, so that nothing can wait for a person.
"""

from __future__ import annotations

import errno
import math
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import anyio
import anyio.abc
import msgspec

from tui.messages import Json, ToolSpec, clean
from tui.tools import launch, processes
from tui.tools.base import Effect, Outcome, Preview, Tool, ToolContext, ToolError
from tui.tools.deception import deceptive, visible
from tui.tools.output import Live, Sink
from tui.tools.schema import arguments
from tui.tools.text import MAX_BYTES, MAX_LINES, Bounded

__all__ = ["BASH", "DEFAULT_TIMEOUT", "MAX_TIMEOUT", "End", "execute"]

DEFAULT_TIMEOUT = 120.0
"""Seconds a command may take; the setting `bash.timeout` changes it."""
MAX_TIMEOUT = 3_600.0
"""Most seconds a call may ask for; the setting `bash.max_timeout` changes it."""
DRAIN_GRACE = 0.15
"""Seconds that output may still come after the shell has ended."""
LEAVE_GRACE = 0.15
"""Seconds that processes in the background have after the shell has ended: a daemon needs them to leave."""
TERM_GRACE = 2.0
"""Seconds between TERM and KILL after the time limit."""
CANCEL_GRACE = 0.05
"""Seconds between TERM and KILL after Esc: the whole call must end within 0.2."""
LIVE_EVERY = 0.1
IDLE_AFTER = 30.0
"""Seconds without output after which the screen says so; the setting `bash.idle` changes it."""
KEEP_AFTER = 1.0
"""Seconds after which a command's output is written to its file as it comes."""
_LOOK_EVERY = 0.02
_FULL_BYTES = 1 << 20
_PIECE = 1 << 16

SPEC = ToolSpec(
    name="bash",
    description=(
        "Run a shell command in the working directory. There is no terminal and no input; stdout and stderr come "
        f"together, at most {MAX_LINES} lines or {MAX_BYTES // 1024} KiB of them (the whole is kept in a file). The "
        f"default time limit is {DEFAULT_TIMEOUT:.0f} s. Background processes end with the command; one that must "
        "outlive it needs setsid, with its output redirected to a file."
    ),
    parameters={
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command, as for bash -c."},
            "timeout": {"type": "number", "minimum": 0.1, "description": "Time limit in seconds."},
        },
        "required": ["command"],
        "additionalProperties": False,
    },
    short="Run a shell command: command, timeout (seconds).",
)

# Nothing may open an editor, a pager or a password prompt: it would wait for ever (pi#9936).
_QUIET: dict[str, str] = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "EDITOR": "false",
    "VISUAL": "false",
    # `true` keeps the message or the todo list that git offers: `git rebase --continue` goes on.
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
}
_LOUD = ("FORCE_COLOR", "CLICOLOR_FORCE", "COLORTERM")


class _Args(msgspec.Struct, frozen=True):
    command: str
    timeout: float | None = None


class End(msgspec.Struct, frozen=True):
    """How a command ended."""

    status: int | None
    """As from `wait`: negative for a signal; None where even KILL did not end it in time."""
    timed_out: bool
    stopped: int
    """Background processes of the session that were ended after the shell."""
    survivors: tuple[processes.Survivor, ...]
    seconds: float = 0.0


async def _preview(_ctx: ToolContext, args: Mapping[str, Json]) -> Preview:
    command = arguments(args, _Args).command
    title = visible(command.strip().split("\n", 1)[0])
    error = ""
    if "\0" in command or not command.strip():
        error = "The command is empty or holds a NUL. Nothing was run."
    return Preview(title, Effect.EXECUTE, command=command, warning=deceptive(command), error=error)


def _limit(ctx: ToolContext, asked: float | None) -> float:
    default = cast("float", ctx.settings.get("bash.timeout", DEFAULT_TIMEOUT))
    most = max(default, cast("float", ctx.settings.get("bash.max_timeout", MAX_TIMEOUT)))
    limit = default if asked is None else asked
    if not math.isfinite(limit) or limit <= 0 or limit > most:
        raise ToolError(f"The timeout must be above 0 and at most {most:g} seconds. Nothing was run.")
    return limit


def _environment(ctx: ToolContext) -> dict[str, str]:
    kept = {name: value for name, value in ctx.environ.items() if name not in _LOUD}
    return {**kept, **_QUIET}


def _shell(ctx: ToolContext) -> str:
    named = ctx.settings.get("bash.shell")
    path = ctx.environ.get("PATH", os.defpath)
    if not isinstance(named, str) or not named:
        return shutil.which("bash", path=path) or "/bin/sh"
    found = shutil.which(named, path=path)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, f"No such file or program as the shell {visible(named)}")
    return found


async def _start(ctx: ToolContext, words: Callable[[], Sequence[str]], write_end: int) -> anyio.abc.Process:
    try:
        return await launch.start(
            [*words()],
            mark=ctx.call_id,
            cwd=ctx.cwd,
            env=_environment(ctx),
            stdout=write_end,
            stderr=subprocess.STDOUT,
        )
    except OSError as error:
        why = error.strerror or str(error)
        raise ToolError(f"The command could not be started: {why}. Nothing was run.") from error


async def _run(ctx: ToolContext, args: Mapping[str, Json]) -> Outcome:
    asked = arguments(args, _Args)
    preview = await _preview(ctx, args)
    if preview.error:
        raise ToolError(preview.error)
    limit = _limit(ctx, asked.timeout)
    sink = Sink(lambda: ctx.spill(ctx.call_id, ".txt"), ctx.bounds)
    try:
        end = await execute(ctx, lambda: (_shell(ctx), "-c", clean(asked.command)), limit, sink)
        return _outcome(asked.command, limit, sink, end)
    except anyio.get_cancelled_exc_class():
        ctx.leave(_left(asked.command, sink))
        raise
    finally:
        sink.close()


async def execute(ctx: ToolContext, words: Callable[[], Sequence[str]], limit: float, sink: Sink) -> End:
    """Run a program for at most `limit` seconds in a session of its own, its output into `sink`; leave nothing of it.

    `words` gives its name and arguments. Raises `ToolError` where it cannot be started.
    """
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    started = anyio.current_time()
    try:
        try:
            process = await _start(ctx, words, write_end)
        finally:
            os.close(write_end)
        try:
            end = await _attend(ctx, process, _Pipe(read_end, sink, Live(ctx.progress)), limit)
        finally:
            launch.release(process)
        return msgspec.structs.replace(end, seconds=anyio.current_time() - started)
    finally:
        os.close(read_end)


class _Pipe:
    """The reading end of a command's output, and where it goes."""

    def __init__(self, read_end: int, sink: Sink, live: Live) -> None:
        self.sink = sink
        self.live = live
        self.quiet_since = anyio.current_time()
        self._read_end = read_end
        self._closed = anyio.Event()

    async def pump(self) -> None:
        """Read until everybody has closed the other end."""
        while True:
            await anyio.wait_readable(self._read_end)
            try:
                piece = os.read(self._read_end, _PIECE)
            except BlockingIOError:
                continue
            if not piece:
                self._closed.set()
                return
            self.quiet_since = anyio.current_time()
            self.sink.feed(piece)
            self.live.feed(piece)
            # A command that prints for ever is slowed by its full pipe; the screen stays alive.
            await anyio.sleep(0.002 if self.sink.overflowing else 0)

    async def drained(self) -> None:
        """Wait until it is closed, for a short grace: somebody may hold it open for ever."""
        with anyio.move_on_after(DRAIN_GRACE):
            await self._closed.wait()


async def _attend(ctx: ToolContext, process: anyio.abc.Process, pipe: _Pipe, limit: float) -> End:
    """Wait for the end of the command, whatever it is, and leave nothing of its session behind."""
    finished = timed_out = False
    stopped = 0
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pipe.pump)
            tasks.start_soon(_show, ctx, pipe)
            with anyio.move_on_after(limit) as scope:
                await process.wait()
            timed_out = scope.cancelled_caught
            if timed_out:
                await _terminate(process, TERM_GRACE)
            else:
                await pipe.drained()
                await _settled(process)
            stopped = await _sweep(process)
            await pipe.drained()
            tasks.cancel_scope.cancel()
        finished = True
    finally:
        if not finished:
            await _end_now(ctx, process)
    pipe.live.flush(final=True)
    return End(process.returncode, timed_out, stopped, processes.marked(ctx.call_id))


async def _show(ctx: ToolContext, pipe: _Pipe) -> None:
    """Show what has come, or that nothing does, and keep it: a crash must not lose what a long command printed."""
    keeping_from = anyio.current_time() + KEEP_AFTER
    first = cast("float", ctx.settings.get("bash.idle", IDLE_AFTER))
    wait = first
    while True:
        await anyio.sleep(LIVE_EVERY)
        pipe.live.flush()
        now = anyio.current_time()
        if now >= keeping_from:
            pipe.sink.keep()
        quiet = now - pipe.quiet_since
        if quiet < first:
            wait = first
        elif quiet >= wait:
            # A program that waits for a key in a terminal it does not have looks just like this (pi#9936).
            ctx.progress(f"[no output for {quiet:.0f} s; the command has no terminal and no input. Esc stops it]\n")
            wait *= 2


async def _terminate(process: anyio.abc.Process, grace: float) -> None:
    """TERM to the whole session; returns when all of it is gone or `grace` seconds are over."""
    processes.kill(processes.in_session(process.pid), signal.SIGTERM)
    with anyio.move_on_after(grace):
        await process.wait()
        for _ in range(int(grace / _LOOK_EVERY)):
            if not processes.in_session(process.pid):
                return
            await anyio.sleep(_LOOK_EVERY)


async def _settled(process: anyio.abc.Process) -> None:
    """Give what the shell just started a moment to end, or to leave the session as it was told to (setsid)."""
    for _ in range(int(LEAVE_GRACE / _LOOK_EVERY)):
        if not processes.in_session(process.pid):
            return
        await anyio.sleep(_LOOK_EVERY)


async def _sweep(process: anyio.abc.Process) -> int:
    """KILL what is left of the session, until nothing is; returns how many processes that were."""
    killed: set[int] = set()
    for _ in range(50):
        left = processes.in_session(process.pid)
        if not left:
            break
        killed.update(left)
        processes.kill(left, signal.SIGKILL)
        await anyio.sleep(0.01)
    with anyio.move_on_after(1):
        await process.wait()
    return len(killed - {process.pid})


async def _end_now(ctx: ToolContext, process: anyio.abc.Process) -> None:
    """After Esc: end the session, and daemons that left it, for nobody would hear of them."""
    with anyio.CancelScope(shield=True):
        await _terminate(process, CANCEL_GRACE)
        await _sweep(process)
        await _end_daemons(ctx.call_id)


async def _end_daemons(mark: str) -> None:
    """KILL what left the session, until it is gone: a signal that was sent has not yet arrived."""
    quiet = 0
    for _ in range(50):
        left = [survivor.pid for survivor in processes.marked(mark)]
        processes.kill(left, signal.SIGKILL)
        # Looked for twice: one that is just replacing its program shows no environment for a moment.
        quiet = 0 if left else quiet + 1
        if quiet == 2:
            return
        await anyio.sleep(0.01)


def _outcome(command: str, limit: float, sink: Sink, end: End) -> Outcome:
    output = sink.result()
    notes = _notes(limit, end)
    text = "\n".join([output.text or "(no output)", *(f"[{note}]" for note in notes)])
    failed = end.timed_out or end.status != 0
    return Outcome(text, failed, details=_details(command, sink, output, end), full=_full(sink, output))


def _left(command: str, sink: Sink) -> Outcome:
    """Return what a command had printed when it was stopped; after that nothing of it is left."""
    output = sink.result()
    details = _details(command, sink, output, End(None, timed_out=False, stopped=0, survivors=()))
    return Outcome(output.text, is_error=True, details={**details, "interrupted": True}, full=_full(sink, output))


def _full(sink: Sink, output: Bounded) -> bytes:
    """Return the whole output for the log where it was cut and is of moderate size; else the spill file has it."""
    return sink.whole(_FULL_BYTES) if output.cut else b""


def _details(command: str, sink: Sink, output: Bounded, end: End) -> dict[str, Json]:
    status = end.status
    return {
        "type": "bash",
        "command": clean(command),
        "exit": status,
        "signal": processes.signal_name(-status) if status is not None and status < 0 else "",
        "seconds": round(end.seconds, 3),
        "timed_out": end.timed_out,
        "truncated": output.cut,
        "bytes": sink.total,
        "spill": str(sink.path) if sink.path else "",
        "survivors": [{"pid": survivor.pid, "command": survivor.command} for survivor in end.survivors],
    }


def _notes(limit: float, end: End) -> list[str]:
    notes: list[str] = []
    if end.timed_out:
        notes.append(
            f"stopped after {limit:g} s: the time limit. What it printed until then is above. Ask for a longer "
            "timeout, or start it with setsid and its output in a file"
        )
    elif end.status is None:
        notes.append("the command did not end, even after KILL")
    elif end.status < 0:
        notes.append(f"ended by signal {-end.status} ({processes.signal_name(-end.status)})")
    elif end.status > 0:
        notes.append(f"exit status {end.status}{_by_signal(end.status)}")
    if end.stopped and not end.timed_out:
        them = "a background process was" if end.stopped == 1 else f"{end.stopped} background processes were"
        notes.append(f"{them} still running when the shell ended; ended with it")
    if end.survivors:
        listed = ", ".join(f"{survivor.pid} ({visible(survivor.command)})" for survivor in end.survivors)
        notes.append(f"still running in a session of its own: {listed}")
    return notes


def _by_signal(status: int) -> str:
    return f" (128 + {status - 128}: {processes.signal_name(status - 128)})" if 128 < status < 160 else ""


BASH = Tool(SPEC, Effect.EXECUTE, _preview, _run)
