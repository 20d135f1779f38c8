"""The processes of a trial: one that imported everything forks each of them.

Orders come on stdin, one JSON line each (`Order`); the answer to each is a line `Ended`.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import anyio
import msgspec

from tests.faults.breaking import Breaker, DyingLog
from tests.faults.orders import Counts, Order
from tests.faults.scenario import FOLLOW_UP, GO, GO_ON, SAID, STEER, TASK, WORDS
from tui.agent.agent import Agent, AgentStoppedError
from tui.agent.branching import fork, go
from tui.agent.broadcast import Subscription
from tui.agent.events import AgentEvent, EntryAdded, Failed, QueueReturned, Said
from tui.agent.session import SessionOptions, open_session
from tui.agent.wishes import go_on
from tui.context.tree import Spot
from tui.log import LogError, SessionLog, Store, paths
from tui.log.entries import Entry, Prompt
from tui.messages import Text, UserMessage
from tui.models.factory import ModelChoice
from tui.settings import Settings

__all__ = ["Ended", "Report", "main", "options_of", "session_of"]

SMALL = 4_000
"""Bytes of a conversation for which a summary is made, where one is to be."""
ROUNDS = 8
"""Times a person says how to go on before a session counts as stuck."""


class Report(msgspec.Struct, frozen=True):
    """What a process that was not killed says of itself."""

    counts: Counts = Counts()
    broken: bool = False
    """Whether its point was reached."""
    brief: bool = False
    """Whether the fault was so short that nothing may come of it."""
    refused: str = ""
    """Why the session could not be opened."""
    failed: str = ""
    """The banner."""
    writable: bool = True
    """Whether the agent says that it can go on writing."""
    shown: tuple[str, ...] = ()
    """Ids of the entries it holds to be saved."""
    before: int = 0
    """Entries on the path before it was opened."""
    opened: int = 0
    """Entries on the path when all had come to rest after the opening."""
    lines: tuple[str, ...] = ()
    """What the person was told while it was opened."""
    returned: tuple[str, ...] = ()
    """What went back to the editor."""
    outcome: str = ""
    """What came of saving a summary, or how the exchange ended."""
    modules: tuple[str, ...] = ()
    """What it imported."""


class Ended(msgspec.Struct, frozen=True):
    """How a process ended: its wait status, and what it said where it could."""

    status: int
    report: Report | None = None


async def session_of(order: Order) -> str:
    """Return the id of the session that was left, empty where none came about.

    Not by `-c`: that passes over a session in which nothing was said yet, and the trial is of this one.
    """
    async with await Store.open(Path(order.home), Path(order.project)) as store:
        return next((info.id for info in await store.sessions(limit=1)), "")


def options_of(order: Order) -> SessionOptions:
    """Return the options of a trial's session."""
    return SessionOptions(
        home=Path(order.home),
        cwd=Path(order.project),
        open="new" if order.act == "play" else "newest",
        choice=ModelChoice("openai-chat", "scripted", f"{order.base_url}/v1", 32_000),
        environ={"PATH": "/usr/local/bin:/usr/bin:/bin"},
        approve="all",
        interactive=order.act == "play" or order.screen,
        sleep=_at_once,
        between=lambda log: cast("SessionLog", DyingLog(log, order.phase)) if order.phase else log,
    )


async def _at_once(_seconds: float) -> None:
    """Let a wait pass."""
    await anyio.lowlevel.checkpoint()


class Ears:
    """Keeps what a person would see beside the log. `trouble` is called at the first banner."""

    def __init__(self, trouble: Callable[[], None]) -> None:
        self._trouble = trouble
        self.lines: list[str] = []
        self.returned: list[str] = []
        self.failed = ""

    def hear(self, event: AgentEvent) -> None:
        match event:
            case Said(text=text):
                self.lines.append(text)
            case QueueReturned(texts=texts):
                self.returned += texts
            case Failed(message=message):
                self.failed = message
                self._trouble()
            case _:
                pass

    async def listen(self, events: Subscription) -> None:
        async for event in events:
            self.hear(event)


# --- the first process


async def play(order: Order, ears: Ears) -> tuple[str, ...]:
    """Play the scenario; return the ids of what the agent holds to be saved."""
    held: tuple[str, ...] = ()
    async with (
        open_session(options_of(order), report=ears.lines.append) as agent,
        anyio.create_task_group() as group,
    ):
        group.start_soon(ears.listen, agent.subscribe())
        watched = agent.subscribe()
        with contextlib.suppress(AgentStoppedError, LogError):
            await say(agent, order, TASK)
            if not order.phase and await _tools_run(agent, watched):
                await say(agent, order, STEER)
                await say(agent, order, FOLLOW_UP)
            (Path(order.project) / GO).touch()
        await agent.settled()
        await anyio.lowlevel.checkpoint()
        shown = tuple(entry.id for entry in await agent.journal.log.page(limit=100_000))
        held = tuple(entry.id for entry in agent.branch)
        assert not agent.journal.failure or not agent.writable
        assert set(held) <= set(shown), "what is in memory is in the log"
        group.cancel_scope.cancel()
    return held


async def say(agent: Agent, order: Order, words: str) -> None:
    """Send one of the person's messages, and leave a mark when the first process has that acknowledged."""
    await agent.send(UserMessage((Text(words),)), "follow-up" if words == FOLLOW_UP else "steer")
    if order.act != "play":
        return
    if any(isinstance(entry.body, Prompt) and entry.body.message.authored == words for entry in agent.branch) or any(
        item.text == words for item in agent.queue
    ):
        with (Path(order.project).parent / SAID).open("ab") as file:
            file.write(b".")


async def _tools_run(agent: Agent, events: Subscription) -> bool:
    """Wait until both tools run; False where the agent has stopped before."""
    started = 0
    async for event in events:
        if isinstance(event, Failed):
            return False
        started += isinstance(event, EntryAdded) and event.entry.kind == "tool_started"
        if started == 2:
            return True
    return not agent.idle


# --- the one that comes after


async def path_on_disk(order: Order) -> list[Entry] | None:
    """Return the path of the one session there is, without touching it; None where there is none."""
    async with await Store.open(Path(order.home), Path(order.project), read_only=True) as store:
        infos = await store.sessions()
        if not infos:
            return None
        log = await store.session(infos[0].id, write=False)
        return await log.page(limit=100_000)


async def finish(order: Order, ears: Ears) -> tuple[int, int]:
    """Open what was left, let it come to rest, then have it finished. Returns `before` and `opened`."""
    (Path(order.project) / GO).touch()
    left, opened = await path_on_disk(order), 0
    before = len(left or ())
    session = await session_of(order)
    given = msgspec.structs.replace(options_of(order), open="id" if session else "new", session_id=session)
    async with open_session(given, report=ears.lines.append) as agent, anyio.create_task_group() as group:
        group.start_soon(ears.listen, agent.subscribe())
        await agent.settled()
        opened = agent.journal.log.depth + 1
        for _ in range(ROUNDS):
            if not await _go_on(agent, order):
                break
        else:
            raise AssertionError(f"it is stuck: {agent.compaction.state}, {agent.queue}")
        group.cancel_scope.cancel()
    return before, opened


async def _go_on(agent: Agent, order: Order) -> bool:
    """Do what a person would do next; False where all is done."""
    missing = await _missing(agent)
    done = agent.compaction.state.phase == "answered" and agent.loop.last.reason == "answered"
    if missing:
        await say(agent, order, missing[0])
    elif done and not agent.queue and not agent.journal.branch.exchange_open:
        return False
    elif not order.screen or await go_on(agent):
        await agent.send(UserMessage((Text(GO_ON),)))
    await agent.settled()
    return True


async def _missing(agent: Agent) -> list[str]:
    """Return what the person meant to say and neither stands in the log nor waits."""
    path = await agent.journal.log.page(limit=100_000)
    known = {entry.body.message.authored for entry in path if isinstance(entry.body, Prompt)}
    known |= {item.text for item in agent.queue}
    return [words for words in WORDS if words not in known]


# --- one step: an exchange, the summary for next time, a move in the tree, a fork


async def one_step(order: Order, ears: Ears) -> str:
    """Do one thing in the session there is; return what came of it."""
    session = await session_of(order)
    given = msgspec.structs.replace(
        options_of(order),
        open="id" if session else "new",
        session_id=session,
        interactive=False,
        settings=Settings(followup_budget=SMALL),
    )
    outcome = ""
    async with open_session(given, report=ears.lines.append) as agent, anyio.create_task_group() as group:
        group.start_soon(ears.listen, agent.subscribe())
        await agent.settled()
        outcome = await _step(agent, order)
        group.cancel_scope.cancel()
    return outcome


async def _step(agent: Agent, order: Order) -> str:
    match order.act:
        case "save":
            return str(await agent.saver.save())
        case "move" | "carry":
            first = next(entry for entry in await agent.history_page(1 << 30, 1_000) if entry.kind == "settled")
            return (await go(agent, Spot(first.id), carry=order.act == "carry")).text
        case "fork":
            return str(await fork(agent))
        case _:
            await agent.send(UserMessage((Text(order.words),)))
            return str((await agent.settled()).reason)


# --- the process that forks them


async def _act(order: Order, breaker: Breaker) -> Report:
    ears = Ears(breaker.let_go)
    report = Report()
    try:
        if order.act == "play":
            report = Report(shown=await play(order, ears))
        elif order.act != "finish":
            report = Report(outcome=await one_step(order, ears))
        else:
            before, opened = await finish(order, ears)
            report = Report(before=before, opened=opened)
    except* LogError as errors:
        report = Report(refused=str(errors.exceptions[0]))
    return msgspec.structs.replace(
        report,
        counts=breaker.counts,
        broken=breaker.broken,
        brief=breaker.brief,
        failed=ears.failed,
        lines=tuple(ears.lines),
        returned=tuple(ears.returned),
    )


def _mount_network(order: Order) -> None:
    """Give this process a table of mounts in which the log lies on NFS."""
    table = Path(order.project).parent / "mounts"
    table.write_text(f"server:/home {os.path.realpath(Path(order.home).parent)} nfs4 rw 0 0\n")
    paths.MOUNTS = table


def obey(order: Order, act: Callable[[Order, Breaker], Awaitable[Report]]) -> Ended:
    """Run an order in a child of its own: what `act` does with it."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.close(reader)
            if order.network:
                _mount_network(order)
            breaker = Breaker(order)
            breaker.install()
            report = anyio.run(act, order, breaker, backend_options={"loop_factory": breaker.loop})
            if order.point is None:
                report = msgspec.structs.replace(report, modules=tuple(sys.modules))
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(msgspec.json.encode(report))
            status = 0
        except BaseException:  # nobody else would tell
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        raw = pipe.read()
    _, status = os.waitpid(pid, 0)
    return Ended(status, msgspec.json.decode(raw, type=Report) if raw else None)


def _import(names: tuple[str, ...]) -> Ended:
    for name in names:
        if name not in sys.modules and not name.startswith("__"):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    return Ended(0)


def main(act: Callable[[Order, Breaker], Awaitable[Report]] = _act) -> None:
    """Obey orders until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=Order)
        ended = _import(order.modules) if order.act == "import" else obey(order, act)
        sys.stdout.buffer.write(msgspec.json.encode(ended) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
