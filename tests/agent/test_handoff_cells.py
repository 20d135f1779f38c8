"""The table of the handoff, cell by cell, on the public agent: an event in a phase, and the phase all ends in.

`CELLS` is the table. A phase or an event without its cell fails here; what each cell writes is in the tests of
the machine, what holds for every path is checked at the end of each cell.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

import msgspec
import pytest

from tests.agent.handoffs import Player, check_cycles, compact, continuations, serving, wired, work
from tests.agent.support import path_of, said
from tests.agent.test_handoff_summaries import no_wait
from tests.support.provider import Provider, Reply
from tui.agent.agent import Agent, AgentStoppedError
from tui.agent.session import SessionOptions, open_session
from tui.agent.wishes import compact as make_checkpoint
from tui.agent.wishes import drop_note, edit_note, go_on, hand_over
from tui.log import LogUnwritable, SessionLog
from tui.log.entries import Body, Entry, Handoff
from tui.messages import Text, UserMessage
from tui.models.factory import ModelChoice, open_model

pytestmark = pytest.mark.anyio
Phase: TypeAlias = Literal["none", "saved", "compacting", "ready", "delivered", "answered", "failed"]
Event: TypeAlias = Literal[
    "prompt",
    "/compact",
    "/self-compact-now",
    "/self-compact-edit",
    "/self-compact-drop",
    "/continue",
    "smaller model",
    "larger model",
    "Esc",
    "quit and open",
    "log lost and open",
]
PHASES: tuple[Phase, ...] = get_args(Phase)
EVENTS: tuple[Event, ...] = get_args(Event)

# In the order of PHASES; a summary that is being written gets its answer after the event.
CELLS: dict[Event, tuple[Phase, ...]] = {
    "prompt": ("none", "answered", "answered", "answered", "answered", "answered", "failed"),
    "/compact": ("none", "answered", "answered", "ready", "delivered", "answered", "answered"),
    "/self-compact-now": ("none", "answered", "answered", "answered", "answered", "answered", "answered"),
    "/self-compact-edit": ("none", "saved", "answered", "ready", "delivered", "answered", "saved"),
    "/self-compact-drop": ("none", "none", "none", "none", "none", "answered", "none"),
    "/continue": ("none", "answered", "answered", "answered", "answered", "answered", "answered"),
    "smaller model": ("none", "saved", "answered", "ready", "delivered", "answered", "failed"),
    "larger model": ("none", "saved", "answered", "ready", "delivered", "answered", "failed"),
    "Esc": ("none", "saved", "failed", "ready", "delivered", "answered", "failed"),
    "quit and open": ("none", "saved", "saved", "ready", "delivered", "answered", "failed"),
    "log lost and open": ("none", "saved", "failed", "ready", "delivered", "answered", "failed"),
}
NOTE = "the  note\t"
OTHER = "another note"


class Switch:
    """A log that refuses to write while `lost`, and that calls `seen` with what it has written."""

    def __init__(self) -> None:
        self.lost = False
        self.seen: Callable[[tuple[Body, ...]], None] = lambda _bodies: None

    def between(self, log: SessionLog) -> SessionLog:
        return cast("SessionLog", _Switched(log, self))


class _Switched:
    def __init__(self, log: SessionLog, switch: Switch) -> None:
        self._log = log
        self._switch = switch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, *bodies: Body) -> tuple[Entry, ...]:
        if self._switch.lost:
            raise LogUnwritable("The disk is full.")
        entries = await self._log.append(*bodies)
        self._switch.seen(bodies)
        return entries


class Stage:
    """A session that can be closed and opened again in the middle of a test."""

    def __init__(self, given: SessionOptions, provider: Provider, player: Player, switch: Switch) -> None:
        self._given = given
        self._stack = AsyncExitStack()
        self.provider = provider
        self.player = player
        self.switch = switch
        self.base_url = provider.base_url

    async def open(self, how: Literal["new", "newest"] = "new") -> Agent:
        given = msgspec.structs.replace(self._given, open=how, between=self.switch.between)
        self.agent = await self._stack.enter_async_context(open_session(given))
        return self.agent

    async def close(self) -> None:
        await self._stack.aclose()

    async def reopen(self) -> None:
        await self.close()
        self._stack = AsyncExitStack()
        await self.open("newest")

    async def started(self, requests: int) -> None:
        """Send the task, and wait until so many requests have reached the server."""
        await self.agent.send(UserMessage((Text("go"),)))
        await self.provider.request(requests - 1)


@asynccontextmanager
async def staged(tmp_path: Path, player: Player) -> AsyncGenerator[Stage]:
    async with serving(player) as provider:
        stage = Stage(wired(tmp_path, provider, sleep=no_wait), provider, player, Switch())
        await stage.open()
        try:
            yield stage
        finally:
            await stage.close()


HANDS_OVER = (work(), Reply(calls=(compact(NOTE),)))
HELD = Reply(text="What was done.", hold=True)
GOOD = Reply(text="What was done.")


def player_for(phase: Phase) -> Player:
    match phase:
        case "none":
            return Player(work(), Reply(text="Done."))
        case "answered":
            return Player(*HANDS_OVER, Reply(text="Done."), work(), Reply(text="Done."))
        case "saved" | "compacting":
            return Player(*HANDS_OVER, summaries=(HELD, GOOD))
        case "ready":
            return Player(*HANDS_OVER)
        case "delivered":
            return Player(*HANDS_OVER, Reply(text=work().text, piece=4_000, stop_at=-60, stop_how="silence"))
        case "failed":
            return Player(*HANDS_OVER, summaries=(Reply(text=""), GOOD))


async def bring(stage: Stage, phase: Phase) -> None:
    """Bring the session into a phase, with nothing running but the summary of `compacting`."""
    agent = stage.agent
    match phase:
        case "none" | "answered":
            assert await said(agent, "go") == "answered"
            if phase == "answered":
                assert await said(agent, "and more") == "answered"
        case "saved":
            await stage.started(3)
            await stage.reopen()
            stage.provider.release()
        case "compacting":
            await stage.started(3)
        case "ready":
            await _stopped_at(stage, phase)
        case "delivered":
            await stage.started(4)
            await stage.provider.sent(3, 2_000)
            await agent.interrupt()
            stage.provider.release()
        case "failed":
            assert await said(agent, "go") == "needs-person"
    assert stage.agent.compaction.state.phase == phase


async def _stopped_at(stage: Stage, phase: Phase) -> None:
    pressed: list[asyncio.Task[None]] = []

    def seen(written: tuple[Body, ...]) -> None:
        last = written[-1]
        if isinstance(last, Handoff) and last.phase == phase and not pressed:
            pressed.append(asyncio.get_running_loop().create_task(stage.agent.interrupt()))

    stage.switch.seen = seen
    await stage.agent.send(UserMessage((Text("go"),)))
    await stage.agent.settled()
    await pressed[0]


async def _model(stage: Stage, window: int) -> None:
    choice = ModelChoice("openai-chat", f"of {window}", f"{stage.base_url}/v1", window)
    await stage.agent.use_model(open_model(choice, {}))


async def _log_lost(stage: Stage) -> None:
    """Lose the log, try to go on, and open the session anew when it can be written again."""
    stage.switch.lost = True
    stage.provider.release()
    await stage.agent.settled()
    with suppress(AgentStoppedError, LogUnwritable):
        await stage.agent.send(UserMessage((Text("lost"),)))
    await stage.agent.settled()
    with pytest.raises(AgentStoppedError):
        stage.agent.check()
    before = stage.agent.compaction.state
    await stage.close()
    stage.switch.lost = False
    stage.switch.seen = lambda _bodies: None
    await stage.reopen()
    assert before.phase == stage.agent.compaction.state.phase or before.phase == "compacting"


async def happens(stage: Stage, event: Event) -> None:
    agent = stage.agent
    acts: dict[Event, Callable[[], Awaitable[object]]] = {
        "prompt": lambda: agent.send(UserMessage((Text("next"),))),
        "/compact": lambda: make_checkpoint(agent),
        "/self-compact-now": lambda: hand_over(agent),
        "/self-compact-edit": lambda: edit_note(agent, OTHER),
        "/self-compact-drop": lambda: drop_note(agent, confirmed=True),
        "/continue": lambda: go_on(agent),
        "smaller model": lambda: _model(stage, 20_000),
        "larger model": lambda: _model(stage, 64_000),
        "Esc": agent.interrupt,
        "quit and open": stage.reopen,
        "log lost and open": lambda: _log_lost(stage),
    }
    await acts[event]()
    stage.provider.release()
    await stage.agent.settled()


def test_every_cell_is_there() -> None:
    assert set(CELLS) == set(EVENTS)
    assert {event: len(row) for event, row in CELLS.items()} == dict.fromkeys(EVENTS, len(PHASES))


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("event", EVENTS)
async def test_cell(tmp_path: Path, event: Event, phase: Phase) -> None:
    async with staged(tmp_path, player_for(phase)) as stage:
        await bring(stage, phase)
        await happens(stage, event)
        path = await path_of(stage.agent)
        state = stage.agent.compaction.state
        wanted = CELLS[event][PHASES.index(phase)]
        assert state.phase == wanted
    check_cycles(path)
    changed = event == "/self-compact-edit" and phase in ("saved", "ready", "failed")
    texts = [prompt.message.authored.partition("\n\n<continuation>")[0] for prompt in continuations(path)]
    assert set(texts) <= {OTHER if changed and phase != "delivered" else NOTE}
    assert len(texts) == (wanted in ("answered", "delivered") or phase in ("delivered", "answered"))


async def test_ready_delivers_when_the_log_can_be_written_again(tmp_path: Path) -> None:
    async with staged(tmp_path, Player(*HANDS_OVER)) as stage:

        def seen(written: tuple[Body, ...]) -> None:
            last = written[-1]
            stage.switch.lost = isinstance(last, Handoff) and last.phase == "ready"

        stage.switch.seen = seen
        await stage.agent.send(UserMessage((Text("go"),)))
        await stage.agent.settled()
        assert not stage.agent.writable
        assert stage.agent.compaction.state.phase == "ready"
        assert len(stage.player.asked) == 2, "nothing goes on in memory only"
        stage.switch.lost = False
        stage.switch.seen = lambda _bodies: None
        await stage.reopen()
        assert (await stage.agent.settled()).reason == "answered"
        path = await path_of(stage.agent)
    check_cycles(path)
    assert len(continuations(path)) == 1
