"""Opening a session that was killed in each phase of its handoff, with a person at the screen."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import anyio
import msgspec
import pytest

from tests.agent.handoffs import check_cycles, continuations, holds, is_summary, phases
from tests.agent.support import bodies, path_of, said, session, until
from tests.faults.child import options_of
from tests.faults.forker import Forker, order_in
from tests.faults.orders import Order
from tests.faults.scenario import NOTE, TASK, Worker
from tests.support.provider import Provider, Received, Reply
from tui.agent.agent import Agent
from tui.agent.events import QueueReturned, Said
from tui.agent.session import SessionOptions, open_session
from tui.log.entries import Checkpoint, Handoff, Notice, Prompt
from tui.messages import Text, UserMessage

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def crasher() -> Iterator[Forker]:
    with Forker() as made:
        yield made


def reopened(order: Order) -> SessionOptions:
    return options_of(msgspec.structs.replace(order, act="finish", phase=""))


class Waits:
    """Lets a wait pass only when told; keeps the seconds that were asked for."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.over = anyio.Event()

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await self.over.wait()


def at_the_screen(order: Order, waits: Waits) -> SessionOptions:
    return msgspec.structs.replace(reopened(order), interactive=True, sleep=waits)


def killed_in(phase: str, tmp_path: Path, crasher: Forker, provider: Provider) -> Order:
    order = msgspec.structs.replace(order_in(tmp_path, provider), phase=phase)
    assert crasher.obey(order).status == signal.SIGKILL
    provider.requests.clear()
    return order


async def handed_over(agent: Agent) -> None:
    """Ask for the pending handoff to go on, as the key and the command do."""

    async def work() -> None:
        await agent.compaction.now("")

    agent.loop.job(work)
    assert (await agent.settled()).reason == "answered"


async def test_saved_waits_for_the_person_and_then_goes_on(tmp_path: Path, crasher: Forker) -> None:
    lines: list[str] = []
    with Provider(Worker(), repeat_last=True) as provider:
        order = killed_in("saved", tmp_path, crasher, provider)
        async with open_session(at_the_screen(order, Waits()), report=lines.append) as agent:
            assert agent.idle
            assert not provider.requests
            assert any("resume, edit its note, or drop it" in line for line in lines)
            await handed_over(agent)
            path = await path_of(agent)
    check_cycles(path)
    assert phases(path) == ["saved", "compacting", "ready", "delivered", "answered"]


async def test_a_summary_that_was_being_made_has_failed_and_its_note_is_kept(tmp_path: Path, crasher: Forker) -> None:
    with Provider(Worker(), repeat_last=True) as provider:
        order = killed_in("compacting", tmp_path, crasher, provider)
        async with session(at_the_screen(order, Waits())) as (agent, _):
            await agent.settled()
            assert (agent.compaction.state.phase, agent.compaction.state.error) == ("failed", "interrupted")
            assert not provider.requests
            await handed_over(agent)
            path = await path_of(agent)
    check_cycles(path)
    assert len(continuations(path)) == 1
    assert any(notice.code == "handoff-failed" for notice in bodies(path, Notice))


@pytest.mark.parametrize("phase", ["ready", "delivered"])
async def test_what_goes_on_by_itself_says_so_and_waits_three_seconds(
    phase: str, tmp_path: Path, crasher: Forker
) -> None:
    waits = Waits()
    with Provider(Worker(), repeat_last=True) as provider:
        order = killed_in(phase, tmp_path, crasher, provider)
        async with session(at_the_screen(order, waits)) as (agent, events):
            line = await until(events, lambda event: isinstance(event, Said))
            assert "Esc within 3 seconds" in line.text
            assert not provider.requests
            waits.over.set()
            assert (await agent.settled()).reason == "answered"
            path = await path_of(agent)
        assert waits.seconds == [3.0]
        first = provider.requests[0]
        assert holds(first, NOTE + "\n\n<continuation>")
        assert holds(first, "The program was interrupted") == (phase == "delivered")
    check_cycles(path)
    assert len(continuations(path)) == len(bodies(path, Checkpoint)) == 1
    assert bodies(path, Handoff)[-1].done == 1


@pytest.mark.parametrize("phase", ["ready", "delivered"])
async def test_escape_stops_what_would_go_on_and_only_the_person_starts_it(
    phase: str, tmp_path: Path, crasher: Forker
) -> None:
    with Provider(Worker(), repeat_last=True) as provider:
        order = killed_in(phase, tmp_path, crasher, provider)
        async with session(at_the_screen(order, Waits())) as (agent, events):
            await until(events, lambda event: isinstance(event, Said))
            await agent.send(UserMessage((Text("typed meanwhile"),)))
            await agent.interrupt()
            assert agent.compaction.state.stopped
            returned = await until(events, lambda event: isinstance(event, QueueReturned))
            assert returned.texts == ("typed meanwhile",)
        lines: list[str] = []
        async with open_session(at_the_screen(order, Waits()), report=lines.append) as agent:
            assert agent.idle
            assert not provider.requests
            assert any("stopped" in line for line in lines)
            assert await said(agent, "now do") == "answered"
            path = await path_of(agent)
    check_cycles(path)
    assert len(continuations(path)) == 1
    assert bodies(path, Handoff)[-1].phase == "answered"


async def test_closing_during_the_wait_changes_nothing(tmp_path: Path, crasher: Forker) -> None:
    with Provider(Worker(), repeat_last=True) as provider:
        order = killed_in("ready", tmp_path, crasher, provider)
        async with session(at_the_screen(order, Waits())) as (agent, events):
            await until(events, lambda event: isinstance(event, Said))
            del agent
        async with session(reopened(order)) as (agent, _):
            assert (await agent.settled()).reason == "answered"
            assert not agent.compaction.state.stopped


def failing(received: Received) -> Reply:
    return Reply(text="") if is_summary(received) else Reply(text="talk")


async def test_without_a_screen_a_failed_handoff_is_tried_once_more_and_keeps_the_prompt(
    tmp_path: Path, crasher: Forker
) -> None:
    with Provider(Worker(), repeat_last=True) as provider:
        order = killed_in("compacting", tmp_path, crasher, provider)
    with Provider(failing, repeat_last=True) as provider:
        given = reopened(msgspec.structs.replace(order, base_url=provider.base_url))
        async with session(given) as (agent, _):
            await agent.send(UserMessage((Text("the prompt"),)), "follow-up")
            assert (await agent.settled()).reason == "needs-person"
            assert [item.text for item in agent.queue] == ["the prompt"]
            assert agent.compaction.state.phase == "failed"
        tried = len(provider.requests)
        assert all(is_summary(received) for received in provider.requests)
    with Provider(Worker(), repeat_last=True) as provider:
        async with session(reopened(msgspec.structs.replace(order, base_url=provider.base_url))) as (agent, _):
            assert (await agent.settled()).reason == "answered"
            path = await path_of(agent)
    assert tried >= 1
    check_cycles(path)
    typed = [prompt.message.authored for prompt in bodies(path, Prompt) if prompt.origin == "authored"]
    assert typed == [TASK, "the prompt"]
